# SPDX-License-Identifier: GPL-2.0-or-later
"""Hints where somebody sits and waits: metadata, journals, swap, and what a batch is.

As in test_hints.py each case names the bits of the policy that make its hints, and has none without
them. File systems do I/O of their own, so unmarked commands are not counted exactly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from conftest import log_root
from marks import (
    ALL,
    BATCH,
    BDEV,
    DEFAULT,
    EXT4,
    FSYNC,
    FSYNC_LAST,
    JOURNAL,
    LATER,
    MKFS_EXT4,
    MKFS_XFS,
    MOUNT_EXT4,
    NEVER_S,
    QUIET,
    SINGLE,
    WAIT,
    XFS,
    Marks,
    hint_machine,
    hintio,
    make_disk,
    marks,
    names,
    namespace,
    set_policy,
    xfs_log_every,
)
from serving import Guest, serving

DROP = "echo 3 > /proc/sys/vm/drop_caches; "
MOUNTS = {EXT4: f"{MOUNT_EXT4},nodelalloc /tmp/ns2 {EXT4}",
          XFS: f"mount -t xfs /tmp/ns3 {XFS}"}
#: XFS writes its log in the background this often, where a test asks for it. It waits for the
#: last of these writes, whatever another test counts meanwhile: so elsewhere it does not write.
XFS_LOG_S = 3


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """A block device, ext4 that allocates when it is written to, XFS, and room to swap."""
    root = tmp_path_factory.mktemp("disks")
    disks = (make_disk(root / "ext4", *MKFS_EXT4), make_disk(root / "xfs", *MKFS_XFS),
             make_disk(root / "swap"))
    extra = [word for i, disk in enumerate(disks) for word in namespace(2 + i, disk)]
    with serving(hint_machine(extra=tuple(extra)), log_root() / "hint-waits") as running:
        running.shell(
            f"{names(4)} set -e; {QUIET}"
            f"mkdir -p {EXT4} {XFS};"
            f"{'; '.join(MOUNTS.values())};"
            f"for d in {EXT4} {XFS}; do"
            " dd if=/dev/zero of=$d/file bs=1M count=16 2>/dev/null; mkdir $d/dir;"
            " for i in $(seq 200); do : > $d/dir/$i; done; done; sync")
        yield running
        running.shell(f"umount {EXT4} {XFS}")


@pytest.mark.parametrize("where", [EXT4, XFS])
def test_metadata(guest: Guest, where: str) -> None:
    """Who mounts a file system and looks into a directory waits for block after block."""
    script = f"{MOUNTS[where]}; ls -l {where}/dir >/dev/null"
    guest.shell(f"umount {where}")
    assert marks(guest, script, WAIT).urgent >= 3
    guest.shell(f"umount {where}")
    without = marks(guest, script, BATCH | SINGLE | LATER)
    assert (without.urgent, without.barrier) == (0, 0)
    assert without.unmarked >= 3
    # mounting alone has waits of other kinds
    guest.shell(f"umount {where}; {MOUNTS[where]}")
    assert marks(guest, f"ls -l {where}/dir >/dev/null", WAIT).urgent >= 1


@pytest.mark.parametrize("where", [EXT4, XFS])
def test_rest_of_block(guest: Guest, where: str) -> None:
    """A buffered write of a part of a block waits for the block to be read."""
    guest.shell("sync")
    script = (f"{DROP} dd if=/dev/zero of={where}/file bs=100 seek=3 count=1 conv=notrunc"
              " 2>/dev/null")
    assert marks(guest, script, WAIT).urgent >= 1
    assert marks(guest, script, DEFAULT & ~WAIT).urgent == 0


#: On a device that takes page for page: neighbours are not one command.
SWAP_ON = ("mkswap /tmp/ns4 >/dev/null; swapon /tmp/ns4; mkdir -p /tmp/cg;"
           "echo 2 > /sys/block/$(basename $(readlink /tmp/ns4))/queue/nomerges;"
           "mount -t cgroup2 none /tmp/cg 2>/dev/null; echo +memory >"
           " /tmp/cg/cgroup.subtree_control; mkdir -p /tmp/cg/small")
#: A shell with 16 MB of text in a variable, most of which is swapped out before it is used.
SWAPPED = """\
mkfifo /tmp/go
sh -c 'echo $$ > /tmp/cg/small/cgroup.procs; x=$(head -c 16m /dev/zero | tr "\\0" a)
       echo 12M > /tmp/cg/small/memory.reclaim; echo > /tmp/out; read go < /tmp/go
       echo ${#x} > /tmp/length' >/dev/null 2>&1 &
while [ ! -e /tmp/out ]; do sleep 0.01; done; rm /tmp/out
"""
#: It is used. What it says is the number of its characters.
SWAP_IN = "echo > /tmp/go; until [ -s /tmp/length ]; do sleep 0.01; done; rm /tmp/go"


@pytest.fixture
def swap(guest: Guest) -> Iterator[Guest]:
    """Room to swap."""
    guest.shell(SWAP_ON)
    yield guest
    guest.shell("swapoff /tmp/ns4")


def test_swap_in(swap: Guest) -> None:
    """A thread waits for the page it needs, and not for those around it."""
    found = {}
    for policy in (WAIT, DEFAULT & ~WAIT):
        swap.shell(SWAPPED)
        found[policy] = marks(swap, SWAP_IN, policy)
        assert swap.shell("cat /tmp/length; rm /tmp/length") == "16777216\n"
    with_hints, without = found.values()
    assert with_hints.urgent >= 1
    assert with_hints.unmarked >= 1, "pages that are read ahead"
    assert with_hints.barrier == 0
    assert (without.urgent, without.barrier) == (0, 0)
    assert without.unmarked >= 2


def test_ordered_data(guest: Guest) -> None:
    """ext4: a commit waits for the data of another file, too, which is a batch of its own."""
    def barriers(policy: int, other: str) -> int:
        # sync(2) also wakes the flusher, which may come late and take the data.
        guest.shell(f"rm -f {EXT4}/other {EXT4}/empty; "
                    + hintio("--op=write --count=0 --sync=syncfs", f"{EXT4}/file"))
        return marks(guest, other + hintio("--op=write --count=0 --create --sync=fsync",
                                           f"{EXT4}/empty"), policy).barrier

    write = f"dd if=/dev/zero of={EXT4}/other bs=64k count=1 2>/dev/null; "
    assert barriers(JOURNAL, "") == 1
    assert barriers(JOURNAL, write) == 2
    assert barriers(DEFAULT & ~JOURNAL & ~WAIT, write) == 0


def test_log_force(guest: Guest) -> None:
    """XFS: who waits for a log force waits for the full buffers before the last one, too."""
    script = (f"mkdir {XFS}/many; for i in $(seq 500); do : > {XFS}/many/$i; done;"
              + hintio("--op=write --count=0 --sync=fsync", f"{XFS}/many/500")
              + f"; rm -r {XFS}/many")
    found = marks(guest, script, JOURNAL)
    assert found.urgent >= 1
    assert found.barrier >= 1
    without = marks(guest, script, DEFAULT & ~JOURNAL & ~FSYNC & ~WAIT)
    assert (without.urgent, without.barrier) == (0, 0)


def test_log_in_background(guest: Guest) -> None:
    """XFS: nobody waits for the log that is written every now and then.

    Unless nothing has changed since: then XFS writes once more, and waits for it.
    """
    remount = f"umount {XFS}; {{}} {MOUNTS[XFS]}"
    guest.shell(remount.format(xfs_log_every(XFS_LOG_S)))
    script = (f"end=$(($(date +%s) + {2 * XFS_LOG_S + 1}));"
              f"while [ $(date +%s) -lt $end ]; do touch {XFS}/new; done")
    found = marks(guest, script, JOURNAL)
    guest.shell(remount.format(xfs_log_every(NEVER_S)))
    assert found.total == found.unmarked >= 1


@pytest.mark.parametrize("where", [EXT4, XFS])
def test_last_write_of_fsync(guest: Guest, where: str) -> None:
    """One policy marks all data of an fsync, another one the last of it."""
    script = hintio("--op=write --api=pread --buffered --size=64k --stride=1m --count=8"
                    " --sync=fdatasync", f"{where}/file")
    each, last = marks(guest, script, FSYNC), marks(guest, script, FSYNC | FSYNC_LAST)
    assert each.urgent >= 3, "data and flush"
    assert each.barrier == 0
    assert last.barrier == 1
    assert 1 <= last.urgent < each.urgent, "the flush"
    assert last.unmarked >= 1


#: Submissions of one, and those that another call waits for: the bits that count them in.
BATCHES = {
    "aio-single": ("--api=aio --count=4", BATCH | SINGLE),
    "uring-single": ("--api=uring --count=4", BATCH),
    "uring-single-later": ("--api=uring --count=4 --later", BATCH | SINGLE | LATER),
    "aio": ("--api=aio --count=32 --batch=8 --stride=64k", BATCH),
    "uring": ("--api=uring --count=32 --batch=8 --stride=64k", BATCH),
    "uring-later": ("--api=uring --count=32 --batch=8 --stride=64k --later", BATCH | LATER),
    "uring-link-later": ("--api=uring --count=4 --batch=2 --stride=64k --link --later",
                         BATCH | LATER),
}


def test_what_is_a_batch(guest: Guest) -> None:
    """Four batches, or none if one of the bits is missing."""
    for name, (options, needed) in BATCHES.items():
        for policy in (needed, DEFAULT, ALL, *(DEFAULT & ~bit for bit in (BATCH, SINGLE, LATER))):
            wanted = 4 if policy & needed == needed else 0
            found = marks(guest, hintio(options), policy)
            assert (found.barrier, found.urgent) == (wanted, 0), (name, policy)


#: Three batches of eight, whose submitter waits for one completion at a time and takes all before
#: it submits more: which commands are an end. With aio it is known when it has waited.
ENDS = {"aio": [7, 8, 16], "uring": [0, 8, 16]}
EVENT = "/sys/kernel/tracing/events/nvme/nvme_setup_cmd"
#: A command of an I/O queue in the trace: its flags and its first block.
COMMAND = re.compile(r"qid=[1-9].* flags=0x(\w+), .* slba=(\d+)")
BARRIER = 0x08


@pytest.mark.parametrize("api", ENDS)
def test_which_is_the_end(guest: Guest, api: str) -> None:
    """Who waits for any completion has the first of a batch marked."""
    set_policy(guest, DEFAULT)
    said = guest.shell("mount -t tracefs none /sys/kernel/tracing 2>/dev/null;"
                       f"echo 1 > {EVENT}/enable; echo > /sys/kernel/tracing/trace;"
                       + hintio(f"--api={api} --batch=8 --count=24 --stride=64k")
                       + f"; echo 0 > {EVENT}/enable; cat /sys/kernel/tracing/trace")
    flags = {int(block): int(flags, 16) for flags, block in COMMAND.findall(said)}
    assert len(flags) == 24
    assert [i for i, block in enumerate(sorted(flags)) if flags[block] & BARRIER] == ENDS[api]


def test_fio_waits_in_another_call(guest: Guest) -> None:
    """fio submits and waits in two calls: without LATER its batches have no end."""
    job = (f"fio --name=a --filename={BDEV} --direct=1 --rw=randread --bs=4k --number_ios=64"
           " --ioengine=io_uring --iodepth=8 --iodepth_batch=8 --iodepth_batch_complete_min=8"
           " >/dev/null")
    assert marks(guest, job, BATCH | LATER | SINGLE) == Marks(56, barrier=8)
    assert marks(guest, job, DEFAULT & ~LATER) == Marks(64)


def test_fio_waits_for_pairs(guest: Guest) -> None:
    """Two pairs in flight, one waited for: each has an end, also that of who finds the other."""
    for engine in ("libaio", "io_uring"):
        job = (f"fio --name=a --filename={BDEV} --direct=1 --rw=randread --bs=4k --number_ios=64"
               f" --ioengine={engine} --iodepth=4 --iodepth_batch=2 --iodepth_batch_complete_min=2"
               " --iodepth_batch_complete_max=2 >/dev/null")
        assert marks(guest, job, DEFAULT) == Marks(32, barrier=32), engine


def test_discard(guest: Guest) -> None:
    """blkdiscard sits in submit_bio_wait()."""
    script = f"blkdiscard -o 0 -l 65536 {BDEV}"
    assert marks(guest, script, WAIT) == Marks(urgent=1)
    assert marks(guest, script, DEFAULT & ~WAIT) == Marks(1)
