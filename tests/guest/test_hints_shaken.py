# SPDX-License-Identifier: GPL-2.0-or-later
"""The hints module comes and goes under load, and so do controllers under the module.

With ``--full``, on a kernel that is not the distribution's: Linux as it is upstream, with lockdep
and KASAN, with what else is between a program and the driver, and with the driver built in. Its
controllers are also taken from the distribution's kernel. Real time, for host and guest have to
answer each other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import release
from marks import Marks, hint_machine, hintio, make_disk, namespace, sent
from serving import Guest, serving
from test_foreign import (
    BOOT_LIMIT_S,
    CONTEXTS,
    LIMIT_S,
    MIB,
    TOOLS,
    Context,
    machine,
    running,
    through,
    tools_image,
)
from test_hints_module import ALLOWED, PARAMETERS
from test_unplug import DEVICE, PATH, is_plugged, plug, posted, wait_for
from test_unplug import machine as pluggable

from cint import paths, steps
from cint.build import hints as module
from cint.build import linux
from cint.guest import hints, kinds, vm
from cint.guest.qmp import NVME_PATH

pytestmark = pytest.mark.slow

#: Of test_foreign.py: what needs none of our patches. Resets are left out, for that kernel has
#: faults of its own there.
NAMES = ("crypt", "raid", "btrfs", "swap")
SCHEDULER = "/sys/block/$(basename $(readlink /tmp/ns1))/queue/scheduler"
PLACES = {name: CONTEXTS[name] for name in NAMES} | {
    "disk": Context(),
    # some of its I/O is sent by a thread of its own
    "thin": replace(CONTEXTS["thin"], meanwhile="", hints=False),
    "schedulers": Context(
        meanwhile=f"for i in 1 2 3 4; do for s in $(tr -d [] < {SCHEDULER}); do"
                  f" echo $s > {SCHEDULER}; sleep 0.2; done; done"),
}
RELOADS = 10
FILE = f"{TOOLS}/{module.NAME}.ko"
#: Loaded, read, switched and removed.
COMES_AND_GOES = f"""\
for i in $(seq {RELOADS}); do
    insmod {FILE}
    grep -qx 'nvme_setup_cmd on' {hints.DEBUGFS}/probes
    cat {hints.DEBUGFS}/* > /dev/null
    for j in 1 2 3; do echo 0 > {PARAMETERS}/on; echo 1 > {PARAMETERS}/on; done
    sleep 0.2
    rmmod {module.NAME}
done
insmod {FILE}
"""
#: It said what it should, and nothing is lost; and lockdep, which ends at its first finding, looks.
SOUND = (f"grep -q ' urgent [1-9]' {hints.DEBUGFS}/counters;"
         f"if grep lost {hints.DEBUGFS}/kinds; then exit 1; fi;"
         "grep -q 'debug_locks: *1' /proc/lockdep_stats")


@pytest.fixture(scope="module")
def built(checked_kernel: Path) -> Path:
    """The module for that kernel."""
    assert checked_kernel.exists()
    with steps.build_lock():
        return linux.build_module(linux.CHECKED, module.NAME, module.module_files())


@pytest.mark.parametrize("name", PLACES)
def test_comes_and_goes(name: str, built: Path, checked_kernel: Path, tmp_path: Path,
                        logs: Path) -> None:
    """While a load is verified and others change what is below it; then what waits is urgent."""
    place = PLACES[name]
    guest_machine = machine(checked_kernel, tmp_path, *place.append, files=(built,))
    meanwhile = f"sh -e /tmp/meanwhile & p=$!; {COMES_AND_GOES} wait $p;"
    with running(guest_machine, logs, allowed=ALLOWED) as guest:
        guest.write_file("/tmp/meanwhile", place.meanwhile.encode())
        guest.shell(f"set -e; {place.setup}", LIMIT_S)
        for file in place.files:
            through(guest, file, meanwhile)
            if place.hints:
                found = sent(guest, hintio("--api=pread --count=8", file))
                assert found == Marks(urgent=8), file
            guest.shell(f"set -e; {SOUND}")
            guest.shell(f"rmmod {module.NAME}")
        guest.shell(f"set -e; {place.then}", LIMIT_S)


# ---- copies -------------------------------------------------------------------------------------

COPIES_SIZE = 256 * MIB
BLOCK = 4096
BLOCKS = 512
DAMAGED = BLOCKS // 2
COPIES = "/mnt/copies"
ERRORS = "cat /sys/fs/btrfs/*/devinfo/1/error_stats"
AFRESH = "echo 3 > /proc/sys/vm/drop_caches; sha256sum"
#: Each has a file of its own: what was read once is whole again.
READS = {
    "direct": hintio(f"--api=pread --count={BLOCKS}", "{file}"),
    "batches": hintio(f"--api=aio --batch=16 --count={BLOCKS}", "{file}"),
    "rings": hintio(f"--api=uring --batch=16 --count={BLOCKS}", "{file}"),
    "cached": "cat {file} > /dev/null",
    "mapped": "fio --name=a --filename={file} --rw=read --bs=4k --ioengine=mmap --readonly",
}


def block(name: str, number: int) -> bytes:
    """What is in a block of a file; nowhere else on the disk."""
    return f"{name} {number:08} ".encode().ljust(BLOCK, b"#")


def content(name: str) -> bytes:
    """What a file has."""
    return b"".join(block(name, number) for number in range(BLOCKS))


def damaged(directory: Path) -> Path:
    """A file system whose every other block of each file is wrong in the copy that is read."""
    root = directory / "copies"
    root.mkdir()
    for name in READS:
        (root / name).write_bytes(content(name))
    image = make_disk(directory / "copies.img", "mkfs.btrfs", "-q", "-d", "dup", "-m", "dup",
                      "-r", str(root), size=COPIES_SIZE)
    data = bytearray(image.read_bytes())
    for name in READS:
        for number in range(0, BLOCKS, 2):
            first = data.find(block(name, number))
            assert data.find(block(name, number), first + 1) > 0
            data[first:first + BLOCK] = bytes(BLOCK)
    image.write_bytes(data)
    return image


def test_a_damaged_copy_is_read_around(built: Path, checked_kernel: Path, tmp_path: Path,
                                       logs: Path) -> None:
    """btrfs reads the other copy and mends the first; the module takes no structure for another."""
    bare = machine(checked_kernel, tmp_path, files=(built,))
    bare = replace(bare, extra=(*bare.extra, *namespace(8, damaged(tmp_path))))
    with running(bare, logs, allowed=(*ALLOWED, "BTRFS (warning|error|info)")) as guest:
        guest.shell(f"set -e; insmod {FILE}; mkdir -p {COPIES};"
                    f"mount -t btrfs /dev/nvme0n8 {COPIES}")
        for number, (name, script) in enumerate(READS.items(), 1):
            file = f"{COPIES}/{name}"
            guest.shell(f"set -e; {script.format(file=file)}", LIMIT_S)
            expected = hashlib.sha256(content(name)).hexdigest()
            assert expected in guest.shell(f"{AFRESH} {file}"), name
            assert f"corruption_errs {number * DAMAGED}\n" in guest.shell(ERRORS), name
        guest.shell(f"set -e; {SOUND}; umount {COPIES}; rmmod {module.NAME}")


# ---- controllers --------------------------------------------------------------------------------

#: Sets D to the second controller's disk, when it is there.
FIND = """\
until grep -q second /sys/class/nvme/*/serial; do sleep 0.05; done
D=/dev/$(basename $(dirname $(grep -l second /sys/class/nvme/*/serial)))n1
until [ -b $D ]; do sleep 0.05; done
"""
#: Reads of it by several means, until it goes. Then a read is told of no data and of no error, for
#: which fio does not end.
READ = f"""{FIND}
fio --name=a --filename=$D --rw=randread --bs=4k --ioengine=libaio --iodepth=8 --direct=1 \
    --iodepth_batch=4 --time_based --runtime=600 --name=b --filename=$D --rw=randread --bs=4k \
    --ioengine=psync --direct=1 --time_based --runtime=600 & p=$!
while [ -b $D ]; do sleep 0.05; done
kill $p
wait $p || true
"""
RELOADED = (f"until [ -e /tmp/enough ]; do rmmod {module.NAME}; insmod {{file}};"
            f" cat {hints.DEBUGFS}/* > /dev/null; sleep 0.1; done")
#: Either controller may have come first.
MOUNT_TOOLS = f"""\
until f=$(grep -lx 2 /sys/block/nvme*n*/nsid); do sleep 0.05; done
mkdir -p {TOOLS}; mount -t ext4 -o ro /dev/$(basename $(dirname $f)) {TOOLS}
"""
ROUNDS = 4


@pytest.fixture(params=["checked", release.USUAL])
def unplugged(request: pytest.FixtureRequest, disk: vm.Backend, tmp_path: Path,
              logs: Path) -> Iterator[tuple[Guest, str]]:
    """A guest with a second controller below a root port, and where the module is in there."""
    bare = replace(pluggable(disk, tmp_path / "second.img"), iommu=False,
                   initramfs=paths.INITRAMFS, properties=hint_machine().properties)
    if request.param == release.USUAL:
        with steps.build_lock():
            release.build_module()
        machine, file = kinds.dress(bare, "distro", hints.MODULE), module.GUEST_FILE
        limit_s = kinds.BOOT_LIMIT_S
    else:
        kernel, built = (request.getfixturevalue(name) for name in ("checked_kernel", "built"))
        tools = tools_image(tmp_path, (), (built,))
        machine = replace(bare, kernel=kernel, extra=(*bare.extra, *namespace(2, tools)))
        file, limit_s = FILE, BOOT_LIMIT_S
    with serving(machine, logs, limit_s, ALLOWED) as guest:
        if file == FILE:
            guest.shell(MOUNT_TOOLS)
        yield guest, file


def urgent(guest: Guest, path: str) -> int:
    """Urgent commands that a controller has had."""
    stats = guest.vm.qmp.get("cint-stats", path)
    return sum(queue["cmds-urgent"] for queue in stats["queues"] if queue["cqid"])


def test_controllers_come_and_go(unplugged: tuple[Guest, str]) -> None:
    """Unplugged under load, also while the module is loaded and removed; then both have hints."""
    guest, file = unplugged
    guest.shell(f"insmod {file}")
    for number in range(ROUNDS):
        guest.start("load", READ)
        wait_for("it is read from", lambda: posted(guest) > 500)
        if number % 2:
            guest.shell("rm -f /tmp/enough")
            guest.start("reload", RELOADED.format(file=file))
        guest.vm.qmp.execute("device_del", id=DEVICE)
        wait_for("QEMU unplugs it", lambda: not is_plugged(guest))
        guest.end("load", LIMIT_S)
        if number % 2:
            guest.shell("touch /tmp/enough")
            assert guest.end("reload") == (0, "")
        wait_for("QEMU lets go of its disk", lambda: plug(guest) == "")
        guest.shell(FIND, LIMIT_S)
    read = hintio("--api=pread --count=8", "$D")
    second, first = urgent(guest, PATH), urgent(guest, NVME_PATH)
    guest.shell(f"{FIND} {read}; D=/dev/$(basename $(dirname $(grep -l cint "
                f"/sys/class/nvme/*/serial)))n1; {read}")
    assert (urgent(guest, PATH) - second, urgent(guest, NVME_PATH) - first) == (8, 8)
    guest.shell(f"rmmod {module.NAME}")
