# SPDX-License-Identifier: GPL-2.0-or-later
"""The module that gives hints from the distribution's kernel as it is (docs/hints-module.md).

What it marks is counted by the device, and by the module itself by kind. The other controller of
the guest is stock QEMU's, which counts nothing: what it is sent the driver's own trace event tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pages
import pytest
import release
from conftest import log_root
from marks import (
    BDEV,
    EXT4,
    MKFS_EXT4,
    MKFS_XFS,
    MOUNT_EXT4,
    NEVER_WRITE_BACK,
    QUIET,
    XFS,
    Marks,
    hint_machine,
    hintio,
    make_disk,
    names,
    namespace,
    sent,
)
from serving import Guest, serving
from test_hint_waits import SWAP_IN, SWAP_ON, SWAPPED

from cint import paths, steps
from cint.build import distro, sources
from cint.build import hints as module
from cint.guest import hints, kinds

OTHER = "/tmp/other"
#: Which of the two controllers is which, and their disks by namespace.
NAMES = """\
cd /sys/class/nvme
until grep -lq other */serial && [ "$(cat */nvme*n*/nsid | wc -l)" = 5 ]; do sleep 0.05; done
other=$(dirname $(grep -l other */serial))
for f in */nvme*n*/nsid; do
    disk=$(basename $(dirname $f))
    case $f in $other/*) ln -s /dev/$disk /tmp/other;; *) ln -s /dev/$disk /tmp/ns$(cat $f);; esac
done
"""
#: Nothing went wrong.
ALLOWED = release.ALLOWED
PARAMETERS = f"/sys/module/{module.NAME}/parameters"
SCHEDULER = f"/sys/block/$(basename $(readlink {BDEV}))/queue/scheduler"
EVENT = "/sys/kernel/tracing/events/nvme/nvme_setup_cmd"
#: Functions of the driver and the block layer with the tracepoints of the module's probes, and more
#: bytes than each has.
TRACED = ("nvme_setup_cmd", "nvme_complete_rq", "blk_mq_flush_plug_list")
FUNCTION_SIZE = 4096
#: How often it comes and goes; more with --full.
RELOADS, MORE_RELOADS = 4, 100
#: Namespaces 2 and 3, with a file each.
FILE_SYSTEMS = (f"mkdir -p {EXT4} {XFS}; {MOUNT_EXT4} /tmp/ns2 {EXT4}; mount -t xfs /tmp/ns3 {XFS};"
                f"for f in {EXT4} {XFS}; do"
                " dd if=/dev/zero of=$f/file bs=1M count=16 2>/dev/null; mkdir -p $f/dir;"
                " for i in $(seq 200); do : > $f/dir/$i; done; done; sync")
DIRTY = "dd if=/dev/zero of={0}/file bs=64k count=16 conv=notrunc 2>/dev/null; "
VERIFY = """\
[{}]
filename={}
direct=1
bs=4k
size={}m
offset=64m
rw=randwrite
ioengine=libaio
iodepth=16
iodepth_batch_submit=4
verify=crc32c
verify_fatal=1
"""


@pytest.fixture(scope="module", params=release.kernels(*release.OTHERS))
def built(request: pytest.FixtureRequest) -> Iterator[Path]:
    """The module for the distribution's kernel, made ready if its headers can be had."""
    with release.using(request.param):
        with steps.build_lock():
            release.build_module()
        yield paths.DISTRO_HINTS


@pytest.mark.parametrize("name", release.OTHERS)
def test_builds_for_other_releases(name: str) -> None:
    """Where their packages are here; with --full they are fetched and booted."""
    with release.using(name):
        if not any(sources.complete(module.HEADERS, one.version)
                   for one in sources.downloaded(distro.KERNEL)
                   if one.release in distro.KERNEL.releases):
            pytest.skip("its packages are not here")
        with steps.build_lock():
            release.build_module()
        assert paths.DISTRO_HINTS.exists()


@pytest.fixture(scope="module")
def disks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """Namespaces 2 to 4, ext4, XFS and room to swap; and the other controller's."""
    root = tmp_path_factory.mktemp("disks")
    return (make_disk(root / "ext4", *MKFS_EXT4), make_disk(root / "xfs", *MKFS_XFS),
            make_disk(root / "swap"), make_disk(root / "other", size=128 << 20))


@pytest.fixture(scope="module")
def guest(built: Path, disks: tuple[Path, ...]) -> Iterator[Guest]:
    """The distribution's kernel with a cint controller, one of stock QEMU, and no module yet."""
    assert built.exists()
    machine = hint_machine(extra=(
        *(word for n, disk in enumerate(disks[:3], 2) for word in namespace(n, disk)),
        "-blockdev", f"driver=file,node-name=other,filename={disks[3]}",
        "-device", "nvme,id=nvme1,serial=other,drive=other"))
    machine = kinds.dress(machine, "distro", hints.MODULE)
    with serving(machine, log_root() / "hints-module", kinds.BOOT_LIMIT_S, ALLOWED) as running:
        running.shell(f"set -e; {NAMES} for m in $(cat /lib/modules/more-order); do"
                      " insmod $m || true; done;"
                      "mount -t tracefs none /sys/kernel/tracing 2>/dev/null || true;"
                      f"{QUIET} {FILE_SYSTEMS}")
        yield running
        running.shell(f"umount {EXT4} {XFS}")


def load(guest: Guest) -> None:
    """As ./cint compare does: fails unless a controller takes hints."""
    (command,) = hints.setup(hints.MODULE, "distro")
    guest.shell(str(command[-1]))


def below_a_scheduler(guest: Guest) -> None:
    """Have the module see ends of batches there, which begins with the first batch."""
    batch = hintio(DIRECT["aio"][0])
    guest.shell(f"echo mq-deadline > {SCHEDULER}; {batch}; echo none > {SCHEDULER};"
                f"until grep -qx 'block_unplug on' {hints.DEBUGFS}/probes; do sleep 0.05; done")


def traced(guest: Guest) -> list[int]:
    """Where those functions are in memory."""
    rows = (line.split() for line in guest.shell(
        f"grep -F {' '.join(f'-e {name}' for name in TRACED)} /proc/kallsyms").splitlines())
    found = [int(row[0], 16) for row in rows if row[2].split(".")[0] in TRACED]
    assert len(found) >= len(TRACED)
    return found


def instructions(guest: Guest, functions: list[int], file: Path) -> bytes:
    """The code of functions as it is in memory: patched where a tracepoint is on."""
    found = b""
    for address in functions:
        guest.vm.qmp.execute("memsave", val=address, size=FUNCTION_SIZE, filename=str(file))
        found += file.read_bytes()
    return found


@pytest.fixture(scope="module")
def untouched(guest: Guest, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[int], bytes]:
    """Functions with tracepoints, and their code before the module was ever loaded."""
    functions = traced(guest)
    return functions, instructions(guest, functions, tmp_path_factory.mktemp("code") / "code")


@pytest.fixture(scope="module")
def marking(guest: Guest, untouched: tuple[list[int], bytes]) -> Guest:
    """The guest with the module."""
    assert untouched
    assert sent(guest, hintio("--api=pread --count=4")) == Marks(4)
    load(guest)
    return guest


def by_kind(guest: Guest) -> dict[tuple[str, str], tuple[int, ...]]:
    """What the module counted: of controller and kind how many urgent, barrier, unmarked."""
    rows = [line.split() for line in guest.shell(f"cat {hints.DEBUGFS}/counters").splitlines()]
    return {(row[0], row[1]): tuple(map(int, row[3::2])) for row in rows}


def probes(guest: Guest) -> dict[str, str]:
    """Each tracepoint, and whether the module has a probe there."""
    return dict(line.split() for line in guest.shell(f"cat {hints.DEBUGFS}/probes").splitlines())


#: What is done, on which file, and what is marked; our kernel marks the same by test_hints.py.
DIRECT = {
    "pread": ("--api=pread --count=64", Marks(urgent=64)),
    "pwrite": ("--op=write --api=pread --count=64", Marks(urgent=64)),
    "aio": ("--api=aio --batch=8 --count=64 --stride=64k", Marks(56, barrier=8)),
    "aio-write": ("--op=write --api=aio --batch=8 --count=64 --stride=64k", Marks(56, barrier=8)),
    "merge": ("--api=aio --batch=8 --count=8", Marks(barrier=1)),
    "uring": ("--api=uring --batch=8 --count=64 --stride=64k", Marks(56, barrier=8)),
}


@pytest.mark.parametrize("file", [BDEV, f"{EXT4}/file", f"{XFS}/file"])
def test_direct(marking: Guest, file: str) -> None:
    """Direct I/O on a block device, ext4 and XFS: exact counts."""
    assert ({name: sent(marking, hintio(options, file)) for name, (options, _) in DIRECT.items()}
            == {name: wanted for name, (_, wanted) in DIRECT.items()})
    # In how many commands depends on the kernel.
    large = sent(marking, hintio("--api=pread --size=2m --count=4", file))
    assert large.urgent == large.total >= 16


def test_below_a_scheduler(marking: Guest) -> None:
    """A batch has its end there as well, and so has one that is merged.

    On one CPU, for a scheduler that is handed requests on another one sends them from there.
    """
    file = SCHEDULER
    below_a_scheduler(marking)
    known = re.findall(r"[a-z-]+", marking.shell(f"cat {file}"))
    assert {"none", "mq-deadline"} <= set(known)
    for name in known:
        marking.shell(f"echo {name} > {file}")
        found = {what: sent(marking, f"taskset 1 {hintio(options)}")
                 for what, (options, _) in DIRECT.items()}
        assert found == {what: wanted for what, (_, wanted) in DIRECT.items()}, name
    marking.shell(f"echo none > {file}")


def test_batches_of_one(marking: Guest) -> None:
    """An io_submit() of one is no batch, unless the parameter says so; then it is as ours."""
    single, split = hintio("--api=aio --count=8"), hintio("--api=aio --size=2m --count=2")
    assert sent(marking, single) == Marks(8)
    marking.shell(f"echo 2 > {PARAMETERS}/batches")
    assert sent(marking, single) == Marks(barrier=8)
    parts = sent(marking, split)
    # One for each bio, of which a kernel may make several, and none for what it is split into.
    assert 2 <= parts.barrier < parts.unmarked
    assert parts.urgent == 0
    marking.shell(f"echo 0 > {PARAMETERS}/batches")
    assert sent(marking, hintio(DIRECT["aio"][0])) == Marks(64)
    marking.shell(f"echo 1 > {PARAMETERS}/batches")


@pytest.mark.parametrize("where", [EXT4, XFS])
def test_who_waits_elsewhere(marking: Guest, where: str) -> None:
    """An fsync is urgent in all its parts; background writeback and readahead are not."""
    fsync = sent(marking, DIRTY.format(where) + hintio("--op=write --count=0 --sync=fsync",
                                                       f"{where}/file"))
    assert fsync.urgent >= 3
    assert fsync.unmarked == 0
    drop = "echo 1 > /proc/sys/vm/drop_caches; "
    miss = hintio("--buffered --api=read --offset=8m --size=4k --count=1", f"{where}/file")
    assert sent(marking, drop + miss) == Marks(urgent=1)
    ahead = sent(marking, drop + hintio("--buffered --api=read --size=4k --count=2048",
                                        f"{where}/file"))
    assert ahead.unmarked > 32 * ahead.urgent
    before = by_kind(marking)
    marking.shell(DIRTY.format(where) +
                  "cd /proc/sys/vm; old=$(cat dirty_expire_centisecs);"
                  "echo 1 > dirty_expire_centisecs; echo 10 > dirty_writeback_centisecs;"
                  "for i in $(seq 100); do"
                  " grep -Eq '^(Dirty|Writeback): +[1-9]' /proc/meminfo || break; sleep 0.05; done;"
                  f"{NEVER_WRITE_BACK} echo $old > dirty_expire_centisecs")
    after = by_kind(marking)
    (name,) = {controller for controller, _ in after}
    assert after[name, "later"][2] > before[name, "later"][2]
    assert after[name, "writeback"] == before[name, "writeback"]


def test_priority_is_the_users_word(marking: Guest) -> None:
    """The realtime class is urgent whoever waits, the idle class is not; by the module's kinds."""
    aio, wait = hintio("--api=aio --count=4"), hintio("--api=pread --count=4")
    assert sent(marking, f"ionice -c 1 {aio}") == Marks(urgent=4)
    assert sent(marking, f"ionice -c 3 {wait}") == Marks(4)
    marking.shell(f"echo 1 > {PARAMETERS}/kinds")
    assert sent(marking, f"ionice -c 1 {aio}") == Marks(4)
    assert marking.try_shell(f"echo 8192 > {PARAMETERS}/kinds")["exit"] != 0
    marking.shell(f"echo 8191 > {PARAMETERS}/kinds")


def test_in_the_standards_words(marking: Guest) -> None:
    """Access Latency instead of reserved bits, which has no word for a batch."""
    read, batch = hintio("--api=pread --count=4"), hintio(DIRECT["aio"][0])
    marking.shell(f"echo 1 > {PARAMETERS}/standard")
    assert sent(marking, read) == Marks(urgent=4)
    (own,) = dsmgmt(marking, read).values()
    assert own == [0x30] * 4
    assert sent(marking, batch) == Marks(64)
    marking.shell(f"echo 0 > {PARAMETERS}/standard")
    assert sent(marking, batch) == DIRECT["aio"][1]


def dsmgmt(guest: Guest, script: str) -> dict[str, list[int]]:
    """CDW13 of the I/O commands by disk while a script runs, as the driver traces them."""
    text = guest.shell(f"echo > /sys/kernel/tracing/trace; echo 1 > {EVENT}/enable; {script};"
                       f"echo 0 > {EVENT}/enable; cat /sys/kernel/tracing/trace")
    found: dict[str, list[int]] = {}
    for disk, value in re.findall(r"disk=(\w+),.*dsmgmt=(\d+)", text):
        found.setdefault(disk, []).append(int(value))
    return found


def test_only_who_takes_hints(marking: Guest) -> None:
    """The other controller has said nothing: its commands are as they were."""
    script = f"{hintio('--api=pread --count=4')}; {hintio('--api=pread --count=4', OTHER)}"
    own, other = (marking.shell(f"basename $(readlink {link})").strip() for link in (BDEV, OTHER))
    assert dsmgmt(marking, script) == {own: [256] * 4, other: [0] * 4}
    (name,) = {controller for controller, _ in by_kind(marking)}
    assert marking.shell(f"ls -d /sys/class/nvme/{name}/{own}")


def test_switch(marking: Guest, untouched: tuple[list[int], bytes], tmp_path: Path) -> None:
    """Off is without any probe, the kernel's code as it was before: not an instruction is more.

    On asks the controllers again. So does a reset of one.
    """
    read, file = hintio("--api=pread --count=4"), tmp_path / "code"
    functions, before = untouched
    below_a_scheduler(marking)
    assert set(probes(marking).values()) == {"on"}
    assert instructions(marking, functions, file) != before
    marking.shell(f"echo 0 > {PARAMETERS}/on")
    assert set(probes(marking).values()) == {"off"}
    assert instructions(marking, functions, file) == before
    assert marking.shell(f"cat {hints.DEBUGFS}/counters") == ""
    assert sent(marking, read) == Marks(4)
    marking.shell(f"echo 1 > {PARAMETERS}/on")
    assert sent(marking, read) == Marks(urgent=4)
    marking.shell("for c in /sys/class/nvme/*; do echo 1 > $c/reset_controller; done")
    assert sent(marking, read) == Marks(urgent=4)


@pytest.mark.parametrize("reloads", [
    RELOADS, pytest.param(MORE_RELOADS, marks=pytest.mark.slow)])
def test_comes_and_goes_under_load(marking: Guest, reloads: int) -> None:
    """Loaded and removed while fio verifies what it wrote; what is sent afterwards is marked."""
    jobs = (("other", OTHER), ("ext4", f"{EXT4}/verify"))
    text = "".join(VERIFY.format(name, file, 2 * reloads) for name, file in jobs)
    marking.write_file("/tmp/verify.fio", text.encode())
    marking.start("fio", "fio /tmp/verify.fio --eta=never")
    for _ in range(reloads):
        marking.shell(f"rmmod {module.NAME}")
        load(marking)
        marking.shell(f"echo 0 > {PARAMETERS}/on; echo 1 > {PARAMETERS}/on")
    status, text = marking.end("fio")
    assert status == 0, text
    assert sent(marking, hintio("--api=pread --count=4")) == Marks(urgent=4)


def test_is_removed(marking: Guest) -> None:
    """Nothing is marked any more, and the kernel has nothing to say."""
    marking.shell(f"rmmod {module.NAME}")
    assert sent(marking, hintio("--api=pread --count=4")) == Marks(4)


#: Rows of the table in docs/hints-module.md: what is done on each of the three files ...
EACH = {
    "pread": "--api=pread --count=64",
    "pwrite": "--op=write --api=pread --count=64",
    "pread of 2 MiB": "--api=pread --size=2m --count=8",
    "aio, batches of 16": "--api=aio --batch=16 --count=64 --stride=64k",
    "aio, batches of 8 that merge": "--api=aio --batch=8 --count=64",
    "aio, batches of 2": "--api=aio --batch=2 --count=64 --stride=64k",
    "aio, one by one": "--api=aio --count=64",
    "io_uring, batches of 16": "--api=uring --batch=16 --count=64 --stride=64k",
    "page cache, random": "--buffered --api=pread --size=4k --stride=512k --count=24",
    "page cache, in order": "--buffered --api=read --size=4k --count=2048",
}
#: ... and on the file systems.
ON_FILES = {
    "fsync": DIRTY + hintio("--op=write --count=0 --sync=fsync", "{0}/file"),
    "fdatasync": DIRTY + hintio("--op=write --count=0 --sync=fdatasync", "{0}/file"),
    "new file, fsync": "for i in 1 2 3 4 5 6 7 8; do rm -f {0}/new; " + hintio(
        "--op=write --count=0 --create --sync=fsync", "{0}/new") + "; done",
    "pwrite that extends": "rm -f {0}/longer; " + hintio(
        "--op=write --api=pread --count=16 --create", "{0}/longer"),
    "msync": hintio("--op=write --api=mmap --stride=1m --count=8 --sync=msync", "{0}/file"),
    "directory that is not cached": "echo 3 > /proc/sys/vm/drop_caches; ls -l {0}/dir >/dev/null",
}
PLACES = {"block device": BDEV, "ext4": f"{EXT4}/file", "XFS": f"{XFS}/file"}
#: These have to agree: who waits in direct I/O, and in an fsync.
SURE = ("pread", "pwrite", "fsync", "fdatasync", "batches of 16", "merge")
SURE_SHARE = 0.99


def scripts() -> dict[str, str]:
    """Rows of the table."""
    drop = "echo 1 > /proc/sys/vm/drop_caches; "
    found = {f"{where}: {name}": (drop if "cache" in name else "") + hintio(options, file)
             for where, file in PLACES.items() for name, options in EACH.items()}
    return found | {f"{where}: {name}": script.format(PLACES[where].rpartition("/")[0])
                    for where in ("ext4", "XFS") for name, script in ON_FILES.items()}


def rows(guest: Guest) -> dict[str, Marks]:
    """What a kernel marks of each."""
    found = {name: sent(guest, script) for name, script in scripts().items()}
    guest.shell(SWAP_ON)
    guest.shell(SWAPPED)
    found["swap-in"] = sent(guest, SWAP_IN)
    guest.shell("swapoff /tmp/ns4")
    return found


def agreement(ours: Marks, its: Marks) -> float:
    """The share of commands that have the same mark, of those that both kernels send.

    Another version writes more blocks for a new file, or reads ahead in other steps.
    """
    pairs = ((ours.unmarked, its.unmarked), (ours.urgent, its.urgent), (ours.barrier, its.barrier))
    return sum(map(min, pairs)) / max(min(ours.total, its.total), 1)


def as_table(ours: Mapping[str, Marks], its: Mapping[str, Marks]) -> str:
    """The marks of both kernels and how they agree, a row each, as docs/hints-module.md has it."""
    lines = ["| | our kernel | module | agreement |", "|---|---|---|---|"]
    for name, mark in ours.items():
        cells = [f"{m.urgent} / {m.barrier} / {m.unmarked}" for m in (mark, its[name])]
        lines.append(f"| {name} | {' | '.join(cells)} | {agreement(mark, its[name]):.0%} |")
    return "\n".join(lines) + "\n"


def test_the_driver_comes_after_it(guest: Guest) -> None:
    """As where the module is loaded early and the driver when its device is found."""
    load(guest)
    guest.shell(f"set -e; umount {EXT4} {XFS}; rmmod nvme; rmmod nvme_core")
    assert probes(guest) == {"nvme_setup_cmd": "absent", "nvme_complete_rq": "absent",
                             "block_unplug": "idle"}
    guest.shell("set -e; for m in $(grep nvme /lib/modules/load-order); do"
                " insmod $m 2>/dev/null || true; done;"
                f"rm /tmp/ns? {OTHER}; {NAMES} {FILE_SYSTEMS}")
    assert probes(guest) == {"nvme_setup_cmd": "on", "nvme_complete_rq": "on",
                             "block_unplug": "idle"}
    assert sent(guest, hintio("--api=pread --count=4")) == Marks(urgent=4)
    assert dsmgmt(guest, hintio("--api=pread --count=4", OTHER)).popitem()[1] == [0] * 4
    guest.shell(f"rmmod {module.NAME}")


@pytest.mark.slow
def test_agreement(guest: Guest, disks: tuple[Path, ...],
                   request: pytest.FixtureRequest) -> None:
    """The module's marks beside our kernel's, row by row; the table is left in the logs."""
    load(guest)
    its = rows(guest)
    images = [disk.with_name(f"{disk.name}-ours") for disk in disks[:3]]
    for image, mkfs in zip(images, (MKFS_EXT4, MKFS_XFS, ()), strict=True):
        make_disk(image, *mkfs)
    machine = hint_machine(extra=tuple(word for n, image in enumerate(images, 2)
                                       for word in namespace(n, image)))
    with serving(machine, log_root() / "hints-module-ours") as ours_guest:
        ours_guest.shell(f"set -e; {names(4)} {QUIET} {FILE_SYSTEMS}")
        ours = rows(ours_guest)
        ours_guest.shell(f"umount {EXT4} {XFS}")
    kernel = request.node.callspec.params["built"]
    text = as_table(ours, its)
    (log_root() / f"hints-module-agreement-{kernel}.md").write_text(text, "utf-8")
    if kernel == release.USUAL:
        pages.keep_table("hints-module.md", "On block devices, ext4 and XFS:\n", text)
    wrong = [name for name in ours if any(word in name for word in SURE)
             and agreement(ours[name], its[name]) < SURE_SHARE]
    assert wrong == []
