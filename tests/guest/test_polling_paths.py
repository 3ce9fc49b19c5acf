# SPDX-License-Identifier: GPL-2.0-or-later
"""Synchronous I/O that is polled for, through other layers: mappings, file systems, limits.

Wherever a request may be kept back, cut, or sent by somebody else, its submitter must not wait for
an interrupt that does not come, nor poll for one that does. Data carries checksums.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import held
import pytest
from conftest import log_root
from marks import (
    BDEV,
    EXT4,
    MKFS_EXT4,
    MKFS_XFS,
    XFS,
    hint_machine,
    make_disk,
    names,
    namespace,
)
from serving import Guest, serving
from test_hint_merges import AHEAD, HELD, busy_machine, schedule
from test_hint_paths import ACROSS, LOOP, MAPPED, TABLE
from test_polling import DEVICE, IOS, counted, during, job, poll_stat

from cint import paths
from cint.guest import vm

VERIFIED = """\
[job]
directory={where}
ioengine=pvsync2
hipri=1
direct=1
rw={rw}
bs={bs}
size=2M
verify=crc32c
verify_fatal=1
{more}
"""
#: More than a second for what the job reads.
THROTTLE = """\
mkdir -p /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null
echo +io > /sys/fs/cgroup/cgroup.subtree_control && mkdir -p /sys/fs/cgroup/slow
echo "$(cat /sys/block/nvme0n1/dev) rbps=1048576" > /sys/fs/cgroup/slow/io.max
"""


@pytest.fixture(scope="module")
def guest() -> Iterator[Guest]:
    """A queue for polling, a mapped device and a loop device over one namespace."""
    machine = hint_machine("nvme.poll_queues=1", "dm_mod.waitfor=/dev/nvme0n1",
                           f'"dm-mod.create=mapped,,,rw,{",".join(TABLE)}"', "max_loop=1")
    with serving(machine, log_root() / "polling-paths") as running:
        running.shell(f"{names(1)} mknod -m 600 {LOOP} b 7 0 2>/dev/null; losetup {LOOP} {BDEV}")
        yield running
        running.shell(f"losetup -d {LOOP}")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """A queue for polling and two file systems."""
    root = tmp_path_factory.mktemp("polling")
    extra = (*namespace(2, make_disk(root / "ext4", *MKFS_EXT4)),
             *namespace(3, make_disk(root / "xfs", *MKFS_XFS)))
    with serving(hint_machine("nvme.poll_queues=1", extra=extra),
                 log_root() / "polling-files") as running:
        running.shell(f"{names(3)} mkdir -p {EXT4} {XFS};"
                      f"mount -t ext4 /tmp/ns2 {EXT4} && mount -t xfs /tmp/ns3 {XFS}")
        yield running
        running.shell(f"umount {EXT4} {XFS}")


def test_mapped(guest: Guest) -> None:
    """A mapping passes on that somebody polls; what is cut for two targets has interrupts."""
    found = during(guest, job(filename=MAPPED))
    assert (found.polled, found.others, found.interrupts) == (IOS, 0, 0)
    across = job(filename=MAPPED, bs="16k", ios=10,
                 more=f"offset={ACROSS}\nsize=16k\ntime_based\nruntime=0")
    across = across.replace("size=32M\n", "").replace("rw=randread", "rw=read\nloops=10")
    found = during(guest, across)
    assert (found.polled + found.others) == 20
    assert found.interrupts == found.others


def test_loop(guest: Guest) -> None:
    """A device that cannot be polled at all."""
    before = int(guest.shell("cat /sys/block/loop0/queue/io_poll_fallback"))
    guest.fio("loop", job(filename=LOOP, ios=20))
    assert int(guest.shell("cat /sys/block/loop0/queue/io_poll_fallback")) - before == 20


@pytest.mark.parametrize("where", [EXT4, XFS])
@pytest.mark.parametrize("bs", ["4k", "64k", "4k-256k"])
def test_files(files: Guest, where: str, bs: str) -> None:
    """New blocks, the same again, and reads; most of it is polled for."""
    before = counted(files)
    size = "bsrange" if "-" in bs else "bs"
    for rw in ("write", "randwrite"):
        text = VERIFIED.format(where=where, rw=rw, bs=bs, more="").replace("bs=", f"{size}=")
        files.fio(f"{rw}", text)
    found = counted(files) - before
    assert found.polled >= (2 << 20) // (256 << 10)


def test_extending(files: Guest) -> None:
    """A block that has to be filled with zeros around what is written has several parts."""
    for where in (EXT4, XFS):
        files.fio("odd", VERIFIED.format(where=where, rw="randwrite", bs="512",
                                         more="filename=odd\nsize=64k\nfile_append=0"))


def test_throttled(guest: Guest) -> None:
    """What a limit keeps back is looked for once it goes on."""
    guest.shell(THROTTLE)
    guest.write_file("/tmp/slow.fio", job(ios=40, bs="32k").encode())
    before = counted(guest)
    guest.shell("echo $$ > /sys/fs/cgroup/slow/cgroup.procs && fio --eta=never /tmp/slow.fio")
    found = counted(guest) - before
    assert found.polled == 40
    assert (found.others, found.interrupts) == (0, 0)


# ---- a busy device -----------------------------------------------------------------------------

#: Of the namespace that is held.
HELD_STAT = f"/sys/kernel/debug/block/$(basename $(readlink {HELD}))/poll_stat"


def busy(kernel: Path = paths.KERNEL) -> vm.Machine:
    """A guest with one command at a time in flight on each queue.

    It has a CPU more: who looks on where somebody polls does not see him poll.
    """
    machine = busy_machine(kernel)
    return replace(machine, vcpus=2, append=(*machine.append, "nvme.poll_queues=1"))


def read(kib: int, polled: bool) -> str:
    """4 KiB at an offset, always on the same CPU and so through the same queue of its kind."""
    return f"taskset 2 hintio --offset={kib}k {'--hipri' if polled else ''} {HELD}"


def behind(guest: Guest, polled: bool, waiting: list[str], last: str = "") -> tuple[int, int]:
    """What comes of reads that meet in the scheduler while one queue is held, besides two ahead.

    `last` goes to the other queue, which is not held.
    """
    before = counted(guest)
    hold = held.Hold(guest, "read_aio")
    for command in [*(read(kib, polled) for kib in AHEAD), *waiting]:
        hold.start(command)
    if last:
        guest.shell(f"{last} >/dev/null 2>>/tmp/held.errors & echo $! >> /tmp/held.pids; sleep 0.1")
    hold.release()
    found = counted(guest) - before
    return (found.polled - 2, found.others) if polled else (found.polled, found.others - 2)


def test_polled_merge() -> None:
    """Each of two who poll for parts of one request knows its queue, and finds it complete."""
    with serving(busy(), log_root() / "polling-merge") as guest:
        guest.shell(names(2))
        schedule(guest, "kyber")
        for first, second, commands in ((32, 36, 1), (36, 32, 1), (32, 40, 2)):
            before = poll_stat(guest, HELD_STAT)["polled"]
            assert behind(guest, True, [read(first, True), read(second, True)]) == (commands, 0)
            # who waits for a bio without a queue does not count as one who polls
            assert poll_stat(guest, HELD_STAT)["polled"] - before == len(AHEAD) + 2


@pytest.mark.slow
def test_polled_and_others_do_not_merge(debug_kernel: Path, logs: Path) -> None:
    """A scheduler that sees both kinds leaves them apart, as bios and as requests."""
    with serving(busy(debug_kernel), logs, 3 * vm.BOOT_LIMIT_S) as guest:
        guest.shell(names(2))
        schedule(guest, "mq-deadline")
        assert behind(guest, False, [read(32, False), read(36, False)]) == (0, 1)
        for first, second in ((32, 36), (36, 32)):
            assert behind(guest, False, [read(first, False)], read(second, True)) == (1, 1)
            assert behind(guest, True, [read(first, True)], read(second, False)) == (1, 1)
        apart = [read(32, False), read(40, False)]
        assert behind(guest, False, apart, read(36, True)) == (1, 2)


# ---- a mapping that is suspended ---------------------------------------------------------------

DMSETUP = "/mnt/tools/dmsetup"


def tools_disk(root: Path) -> Path:
    """A file system with the host's dmsetup and all that it loads."""
    dmsetup = shutil.which("dmsetup", path="/usr/sbin:/sbin")
    if dmsetup is None:
        pytest.fail("dmsetup is not installed: ./cint test guest installs it")
    tree = root / "tree"
    tree.mkdir()
    listed = subprocess.run(["ldd", dmsetup], capture_output=True, text=True, check=True).stdout
    for file in (dmsetup, *re.findall(r"(/\S+) \(0x", listed)):
        shutil.copy(file, tree)
    return make_disk(root / "tools.img", *MKFS_EXT4, "-d", str(tree))


def test_suspended(tmp_path: Path) -> None:
    """What a suspended mapping keeps back is sent by a worker later, and is not polled for then."""
    machine = hint_machine("nvme.poll_queues=1", extra=namespace(2, tools_disk(tmp_path)))
    # a namespace may be found as any device, so that the mapping is made of the one that it is
    table = "\n".join(TABLE).replace(DEVICE, "'$(readlink -f /tmp/ns1)'")
    with serving(machine, log_root() / "polling-suspended") as guest:
        guest.shell(f"{names(2)} mkdir -p /mnt/tools && mount -t ext4 -o ro /tmp/ns2 /mnt/tools")
        guest.shell("[ -e /dev/mapper/control ] || { mkdir -p /dev/mapper;"
                    "mknod /dev/mapper/control c 10 236; }")
        dm = f"cd /mnt/tools; LD_LIBRARY_PATH=. ./ld-linux-x86-64.so.2 {DMSETUP} --noudevsync"
        guest.shell(f"{dm} --noudevrules create mapped --table '{table}'")
        # once before, so that nothing of it has to be read
        guest.shell(f"{dm} suspend mapped; {dm} resume mapped; {dm} suspend mapped;"
                    f"hintio --hipri {MAPPED} > /tmp/one 2>&1 & echo $! > /tmp/pid;"
                    "until grep -q '^State:.D' /proc/$!/status; do sleep 0.1; done")
        before = counted(guest)
        guest.shell(f"{dm} resume mapped; while [ -e /proc/$(cat /tmp/pid) ]; do sleep 0.1; done")
        found = counted(guest) - before
        assert (found.polled, found.others) == (0, 1)
        before = counted(guest)
        guest.write_file("/tmp/job.fio", job(filename=MAPPED, ios=2000).encode())
        guest.shell("(fio --eta=never /tmp/job.fio > /tmp/out 2>&1; echo $? > /tmp/code) &")
        for _ in range(5):
            guest.shell(f"{dm} suspend mapped; sleep 0.1; {dm} resume mapped; sleep 0.1")
        guest.shell("until [ -s /tmp/code ]; do sleep 0.1; done; cat /tmp/out;"
                    "[ $(cat /tmp/code) = 0 ]")
        found = counted(guest) - before
        guest.shell("umount /mnt/tools")
    assert found.polled > 1000
