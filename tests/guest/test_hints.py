# SPDX-License-Identifier: GPL-2.0-or-later
"""What the patched guest kernel marks, as the device counts it.

Each case runs one program in the guest and looks at the device's counters of
commands by hint before and after.  Nothing is timed.  The defaults are bits of
the kernel parameter block.irq_hints; each case says which of them it needs and
must count nothing marked without them, so that a case that cannot fail shows.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import log_root
from marks import (
    ALL,
    BATCH,
    BDEV,
    DEFAULT,
    EXT4,
    FAST,
    FSYNC,
    JOURNAL,
    LAST,
    LATER,
    MKFS_EXT4,
    MKFS_XFS,
    MOUNT_EXT4,
    MSYNC,
    NEVER_WRITE_BACK,
    POLICY,
    QUIET,
    READ,
    SINGLE,
    SYNC,
    VFAT,
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
)
from serving import Guest, serving

from cint import paths


@pytest.fixture(scope="module")
def disks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """Images of namespaces 2 to 5: ext4, XFS, one the guest formats, ext4 with fast commits."""
    root = tmp_path_factory.mktemp("disks")
    return (make_disk(root / "ext4", *MKFS_EXT4), make_disk(root / "xfs", *MKFS_XFS),
            make_disk(root / "vfat"), make_disk(root / "fast", *MKFS_EXT4, "-O", "fast_commit"))


@pytest.fixture(scope="module")
def guest(disks: tuple[Path, ...]) -> Iterator[Guest]:
    """One guest for all cases: a block device and file systems behind one controller."""
    extra = [word for i, disk in enumerate(disks) for word in namespace(2 + i, disk)]
    machine = hint_machine(extra=tuple(extra))
    with serving(machine, log_root() / "hints") as running:
        running.shell(f"{names(1 + len(disks))} echo 4 > /proc/sys/vm/nr_hugepages;"
                      f"mkdosfs /tmp/ns4")
        yield running


@pytest.fixture(scope="module")
def files(guest: Guest) -> Iterator[Guest]:
    """The guest with its file systems, for the cases after those of the block device."""
    guest.shell(
        f"set -e; {QUIET}"
        f"mkdir -p {EXT4} {XFS} {VFAT} {FAST} /mnt/over;"
        f"{MOUNT_EXT4} /tmp/ns2 {EXT4};"
        f"mount -t xfs /tmp/ns3 {XFS};"
        f"mount -t vfat /tmp/ns4 {VFAT};"
        f"{MOUNT_EXT4} /tmp/ns5 {FAST};"
        f"mkdir {EXT4}/lower {EXT4}/upper {EXT4}/work;"
        f"for f in {EXT4}/file {EXT4}/lower/file {XFS}/file {VFAT}/file; do"
        " dd if=/dev/zero of=$f bs=1M count=32 2>/dev/null; done;"
        "mount -t overlay overlay -o"
        f" lowerdir={EXT4}/lower,upperdir={EXT4}/upper,workdir={EXT4}/work {OVER};"
        "sync")
    yield guest
    guest.shell(f"umount {OVER}; umount {EXT4} {XFS} {VFAT} {FAST}")


OVER = "/mnt/over"

Case = tuple[str, str, int, Marks]

#: Direct I/O on the block device: exact counts.  The third column is the policy
#: bit that makes the hints, 0 for those that the program asked for.
DIRECT: tuple[Case, ...] = (
    ("read", "--api=read --count=4", SYNC, Marks(urgent=4)),
    ("pread", "--api=pread --count=4", SYNC, Marks(urgent=4)),
    ("preadv2", "--api=preadv2 --count=4", SYNC, Marks(urgent=4)),
    ("write", "--op=write --api=read --count=4", SYNC, Marks(urgent=4)),
    ("pwrite", "--op=write --api=pread --count=4", SYNC, Marks(urgent=4)),
    ("pwritev2", "--op=write --api=preadv2 --count=4", SYNC, Marks(urgent=4)),
    ("said-urgent", "--hint=urgent --api=preadv2 --count=4", 0, Marks(urgent=4)),
    ("said-barrier", "--hint=barrier --api=preadv2 --count=4", 0, Marks(barrier=4)),
    ("said-unmarked", "--hint=unmarked --api=preadv2 --count=4", 0, Marks(unmarked=4)),
    ("write-unmarked", "--op=write --hint=unmarked --api=preadv2 --count=4", 0,
     Marks(unmarked=4)),
    # gaps, so that nothing is merged
    ("aio", "--api=aio --batch=8 --count=16 --stride=64k", BATCH, Marks(14, barrier=2)),
    ("aio-single", "--api=aio --count=3", BATCH | SINGLE, Marks(barrier=3)),
    ("aio-urgent", "--api=aio --batch=8 --count=8 --stride=64k --hint=urgent", 0,
     Marks(urgent=8)),
    ("aio-last-urgent", "--api=aio --batch=8 --count=8 --stride=64k --hint=urgent --mark=last",
     0, Marks(7, urgent=1)),
    ("aio-unmarked", "--api=aio --batch=8 --count=8 --stride=64k --hint=unmarked", 0,
     Marks(8)),
    ("aio-write", "--op=write --api=aio --batch=8 --count=8 --stride=64k", BATCH,
     Marks(7, barrier=1)),
    ("uring", "--api=uring --batch=8 --count=16 --stride=64k", BATCH, Marks(14, barrier=2)),
    # a call that waits, too, ends a batch of one; whether others do is a matter of policy
    ("uring-single", "--api=uring --count=3", BATCH, Marks(barrier=3)),
    ("uring-later", "--api=uring --batch=8 --count=16 --stride=64k --later", BATCH | LATER,
     Marks(14, barrier=2)),
    ("uring-later-single", "--api=uring --count=3 --later", BATCH | LATER | SINGLE,
     Marks(barrier=3)),
    ("uring-urgent", "--api=uring --batch=8 --count=8 --stride=64k --hint=urgent", 0,
     Marks(urgent=8)),
    ("uring-unmarked", "--api=uring --batch=8 --count=8 --stride=64k --hint=unmarked", 0,
     Marks(8)),
    # a batch may end with what is no I/O, and an entry be issued by a worker
    ("uring-nop", "--api=uring --batch=8 --count=16 --stride=64k --tail=nop", BATCH,
     Marks(14, barrier=2)),
    ("uring-nop-last", "--api=uring --batch=8 --count=16 --stride=64k --tail=nop", BATCH | LAST,
     Marks(14, barrier=2)),
    ("uring-timeout", "--api=uring --batch=8 --count=16 --stride=64k --tail=timeout", BATCH,
     Marks(14, barrier=2)),
    ("uring-async", "--api=uring --batch=8 --count=8 --stride=64k --async", BATCH,
     Marks(7, barrier=1)),
    ("uring-sqe128", "--api=uring --batch=8 --count=16 --stride=64k --sqe128 --tail=nop", BATCH,
     Marks(14, barrier=2)),
    ("uring-no-sqarray", "--api=uring --batch=8 --count=16 --stride=64k --no-sqarray --tail=nop",
     BATCH, Marks(14, barrier=2)),
    ("uring-link", "--api=uring --batch=4 --count=4 --stride=64k --link", BATCH,
     Marks(barrier=4)),
    # eight adjacent reads become one command, which must not lose the hint
    ("merge", "--api=aio --batch=8 --count=8", BATCH, Marks(barrier=1)),
    # of the first, who waits for it alone, and the last, which ends the batch: it is urgent
    ("merge-both", "--api=aio --batch=8 --count=8 --hint=urgent --mark=first", 0,
     Marks(urgent=1)),
    ("merge-both-uring", "--api=uring --batch=8 --count=8 --hint=urgent --mark=first", 0,
     Marks(urgent=1)),
    ("merge-both-write", "--op=write --api=aio --batch=8 --count=8 --hint=urgent --mark=first", 0,
     Marks(urgent=1)),
    ("merge-urgent", "--api=aio --batch=8 --count=8 --hint=urgent --mark=last", 0,
     Marks(urgent=1)),
    # contiguous memory goes by SGL, which has flags of its own in the same byte
    ("sgl", "--api=preadv2 --size=512k --huge --hint=urgent", 0, Marks(urgent=1)),
    ("sgl-barrier", "--api=preadv2 --size=512k --huge --hint=barrier", 0, Marks(barrier=1)),
)


def both_ways(guest: Guest, script: str, bit: int) -> tuple[Marks, Marks]:
    """What a script sends under one bit of the policy, and under all others."""
    return marks(guest, script, bit), marks(guest, script, DEFAULT & ~bit)


def expected(bit: int, wanted: Marks) -> tuple[Marks, Marks]:
    """The hints are there under the one bit that makes them, and only then."""
    return wanted, (wanted if bit == 0 else Marks(wanted.total))


def check_file(guest: Guest, script: str, bit: int, wanted: Marks) -> None:
    """The same, but a file system may do something of its own meanwhile."""
    found, without = marks(guest, script, bit), marks(guest, script, DEFAULT & ~bit & ~WAIT)
    assert (found.urgent, found.barrier) == (wanted.urgent, wanted.barrier)
    assert found.unmarked >= wanted.unmarked
    if bit:
        assert (without.urgent, without.barrier) == (0, 0)
        assert without.unmarked >= wanted.total


def test_block_device(guest: Guest) -> None:
    wrong = {name: got for name, options, bit, wanted in DIRECT
             if (got := both_ways(guest, hintio(options), bit)) != expected(bit, wanted)}
    assert wrong == {}


def test_again_from_worker(guest: Guest) -> None:
    """An I/O that would have blocked in the submission is issued again, with its hint.

    The last of the batch is among those.
    """
    depth = "/sys/block/$(basename $(readlink /tmp/ns1))/queue/nr_requests"
    event = "/sys/kernel/tracing/events/io_uring/io_uring_queue_async_work"
    guest.shell("mount -t tracefs none /sys/kernel/tracing 2>/dev/null;"
                f"cat {depth} > /tmp/depth; echo 4 > {depth}; echo 1 > {event}/enable")
    found = marks(guest, hintio("--api=uring --batch=16 --count=16 --stride=64k"), BATCH | LAST)
    again = guest.shell(f"echo 0 > {event}/enable; cat /tmp/depth > {depth};"
                        "grep -c queue_async_work: /sys/kernel/tracing/trace; true")
    assert int(again) > 0, "nothing had to be issued again"
    assert found == Marks(15, barrier=1)


@pytest.mark.parametrize("size", ["1m", "2m"])
def test_split(guest: Guest, size: str) -> None:
    """All commands of a large I/O are urgent, but only one of them ends a batch.

    The device takes 512 KiB at once and a bio has 256 pieces of memory at most,
    so 1 MiB is split and 2 MiB is several bios, too.
    """
    whole = marks(guest, hintio(f"--api=pread --size={size}"), SYNC)
    assert whole.urgent == whole.total >= 2
    batch = marks(guest, hintio(f"--api=aio --size={size}"), BATCH | SINGLE)
    assert batch.barrier == 1
    assert batch.unmarked == batch.total - 1 >= 1
    assert marks(guest, hintio(f"--api=aio --size={size}"), DEFAULT & ~BATCH).barrier == 0


def test_sqpoll(guest: Guest) -> None:
    """The kernel's thread takes what it finds, so a batch may come in pieces."""
    script = hintio("--api=uring --batch=8 --count=8 --stride=64k --sqpoll")
    found = marks(guest, script, BATCH | SINGLE)
    assert found.total == 8
    assert found.urgent == 0
    assert 1 <= found.barrier <= 8
    assert marks(guest, script, DEFAULT & ~BATCH) == Marks(8)


def test_nowait(guest: Guest) -> None:
    """Who does not want to wait is not waiting."""
    job = ("fio --name=a --filename={0} --direct=1 --rw=read --bs=4k --size=16k"
           " --ioengine=pvsync2 --nowait={1} >/dev/null")
    assert marks(guest, job.format(BDEV, 0)) == Marks(urgent=4)
    assert marks(guest, job.format(BDEV, 1)) == Marks(4)


def test_buffered_block_device(guest: Guest) -> None:
    """Buffered writes mark nothing themselves; fsync and its flush do."""
    script = f"dd if=/dev/zero of={BDEV} bs=4k count=4 conv=fsync 2>/dev/null"
    found = marks(guest, script, FSYNC)
    assert found.urgent >= 2
    assert found.barrier == 0
    assert marks(guest, script, DEFAULT & ~FSYNC & ~READ & ~WAIT).urgent == 0


@pytest.mark.parametrize("where", [EXT4, XFS, VFAT, OVER])
def test_direct_file(files: Guest, where: str) -> None:
    """iomap, the older direct I/O and overlayfs do as the block device's own direct I/O does."""
    file = f"{where}/file"
    check_file(files, hintio("--api=pread --count=4", file), SYNC, Marks(urgent=4))
    for hint, wanted in (("unmarked", Marks(4)), ("urgent", Marks(urgent=4)),
                         ("barrier", Marks(barrier=4))):
        check_file(files, hintio(f"--api=preadv2 --count=4 --hint={hint}", file), 0, wanted)
    check_file(files, hintio("--api=aio --batch=8 --count=8 --stride=64k", file), BATCH,
               Marks(7, barrier=1))
    check_file(files, hintio("--api=aio --size=2m", file), BATCH | SINGLE, Marks(3, barrier=1))
    check_file(files, hintio("--api=uring --batch=8 --count=8 --stride=64k", file), BATCH,
               Marks(7, barrier=1))


def test_extending_write(files: Guest) -> None:
    """The submission waits for a write that extends a file, although it is asynchronous."""
    script = hintio("--op=write --api=aio --create", f"{EXT4}/longer")
    check_file(files, script, SYNC, Marks(urgent=1))


DIRTY = "dd if=/dev/zero of={0}/new bs=64k count=4 conv=notrunc 2>/dev/null; "


@pytest.mark.parametrize("where", [EXT4, XFS])
@pytest.mark.parametrize("sync", ["fsync", "fdatasync"])
def test_fsync(files: Guest, where: str, sync: str) -> None:
    """Data by the policy for fsync, the commit by the one for journals."""
    script = f"rm -f {where}/new; " + hintio(
        f"--op=write --api=pread --buffered --create --size=64k --count=4 --sync={sync}",
        f"{where}/new")
    assert marks(files, script, 0).urgent == 0
    data = marks(files, script, FSYNC)
    commit = marks(files, script, JOURNAL)
    both = marks(files, script, FSYNC | JOURNAL)
    assert data.urgent >= 1
    assert data.barrier == 0
    assert commit.urgent >= 1
    assert commit.unmarked >= 1, "the data must not be marked by the journal's bit"
    # How many log buffers a commit takes varies on XFS: its worker frees the removed file.
    assert both.urgent > data.urgent
    assert where == XFS or both.urgent > commit.urgent


def test_journal_blocks(files: Guest) -> None:
    """jbd2: the blocks before the commit record are a batch, and urgent they are not.

    They are adjacent, hence one command: one urgent bio would make all of it urgent.
    """
    fsync = hintio("--op=write --count=0 --create --sync=fsync", f"{EXT4}/empty")
    script = f"rm -f {EXT4}/empty; {fsync}; rm {EXT4}/empty; {fsync}"
    found = marks(files, script, JOURNAL)
    assert found.barrier == 2, "two commits"
    assert found.urgent >= 4, "commit records and their flushes"
    assert marks(files, script, DEFAULT & ~JOURNAL & ~READ & ~WAIT).barrier == 0


@pytest.mark.parametrize("where", [EXT4, XFS])
def test_syncfs(files: Guest, where: str) -> None:
    script = DIRTY.format(where) + hintio("--op=write --count=0 --sync=syncfs", f"{where}/file")
    assert marks(files, script, FSYNC).urgent >= 1
    assert marks(files, script, DEFAULT & ~FSYNC & ~JOURNAL & ~READ & ~WAIT).urgent == 0


@pytest.mark.parametrize("where", [EXT4, XFS, VFAT])
@pytest.mark.parametrize("sync", ["sync", "range"])
def test_sync(files: Guest, where: str, sync: str) -> None:
    """sync(2), and sync_file_range(2) that waits."""
    script = DIRTY.format(where) + hintio(f"--op=write --count=0 --sync={sync}", f"{where}/new")
    found = marks(files, script, FSYNC)
    assert found.urgent >= (2 if (sync, where) == ("sync", EXT4) else 1), "data, a flush"
    assert found.barrier == 0
    assert marks(files, script, DEFAULT & ~FSYNC & ~JOURNAL & ~READ & ~WAIT).urgent == 0
    # sync(2) also wakes the flusher, which may come late: not into what is counted next.
    files.shell("sleep 0.3")


def test_fast_commit(files: Guest) -> None:
    """ext4: the last block of a fast commit is urgent, and so is the flush before it."""
    name = f"{FAST}/quick"
    write = hintio("--op=write --api=pread --buffered --offset={0}k --sync=fsync", name)
    fast = "grep -h commits /proc/fs/ext4/*/fc_info"
    files.shell(f"touch {name}; sync; " + write.format(0))
    before = files.shell(fast)
    found = marks(files, write.format(4), JOURNAL)
    assert files.shell(fast) != before, "no fast commit"
    assert found.urgent == 2
    assert found.barrier == 0, "that would be a full commit"
    assert marks(files, write.format(8), DEFAULT & ~JOURNAL & ~FSYNC & ~READ & ~WAIT).urgent == 0


@pytest.mark.parametrize("where", [EXT4, XFS, VFAT])
def test_msync(files: Guest, where: str) -> None:
    """Of the pieces of a mapping that msync writes the last one is marked."""
    script = hintio("--op=write --api=mmap --stride=1m --count=8 --sync=msync", f"{where}/file")
    found = marks(files, script, MSYNC)
    assert found.barrier == 1
    assert found.urgent == 0
    assert found.unmarked >= 7
    assert marks(files, script, DEFAULT & ~MSYNC & ~JOURNAL).barrier == 0


@pytest.mark.parametrize("where", [EXT4, XFS])
def test_background_writeback(files: Guest, where: str) -> None:
    """Nobody waits for it, so nothing is marked."""
    files.shell("sync")
    script = (DIRTY.format(where) +
              "cd /proc/sys/vm; old=$(cat dirty_expire_centisecs); echo 1 > dirty_expire_centisecs;"
              "echo 10 > dirty_writeback_centisecs;"
              "for i in $(seq 100); do"
              " grep -Eq '^(Dirty|Writeback): +[1-9]' /proc/meminfo || break; sleep 0.05; done;"
              f"{NEVER_WRITE_BACK}"
              "echo $old > dirty_expire_centisecs")
    found = marks(files, script, DEFAULT & ~JOURNAL & ~READ & ~WAIT)
    assert found.total == found.unmarked >= 1


@pytest.mark.parametrize("where", [EXT4, XFS, VFAT])
@pytest.mark.parametrize("api", ["read", "mmap"])
def test_page_cache_misses(files: Guest, where: str, api: str) -> None:
    """A miss is urgent; what readahead fetches beyond it is not."""
    how = "--buffered --api=read" if api == "read" else "--api=mmap"
    drop = "echo 1 > /proc/sys/vm/drop_caches; "
    script = drop + hintio(f"{how} --offset=8m --size=4k --count=1", f"{where}/file")
    assert marks(files, script, READ).urgent == 1
    assert marks(files, script, DEFAULT & ~READ & ~WAIT).urgent == 0


@pytest.mark.parametrize("where", [EXT4, XFS])
def test_readahead(files: Guest, where: str) -> None:
    script = ("echo 1 > /proc/sys/vm/drop_caches; " +
              hintio("--buffered --api=read --size=4k --count=2048", f"{where}/file"))
    found = marks(files, script, READ)
    assert found.urgent >= 1
    assert found.unmarked > found.urgent, "readahead in advance"


#: A device that only interrupts for a Barrier, or long after it should have.
WAITS = (("cint.max-hold", 10_000_000_000), ("cint.policy", "cint"), ("cint.thr", 65535),
         ("cint.delta", 100_000_000), ("cint.drain", "off"))


def interrupts_for(guest: Guest, reason: str, script: str, policy: int) -> int:
    """Interrupts that the device sent for one reason while a script ran."""
    def count() -> int:
        return sum(int(q["irqs-by-reason"][reason]) for q in guest.stats()["queues"] if q["cqid"])

    set_policy(guest, policy)
    before = count()
    guest.shell(script)
    return count() - before


#: Batches that end with a Barrier: what makes them, the bit for it, and how many there are.
BATCHES = {
    "aio": (hintio("--api=aio --batch=16 --count=32 --stride=64k"), BATCH, 2),
    "aio-merged": (hintio("--api=aio --batch=16 --count=32"), BATCH, 2),
    "aio-split": (hintio("--api=aio --size=2m"), BATCH | SINGLE, 1),
    "aio-write": (hintio("--op=write --api=aio --batch=16 --count=32 --stride=64k"), BATCH, 2),
    "uring": (hintio("--api=uring --batch=16 --count=32 --stride=64k --tail=nop"), BATCH, 2),
    "uring-link": (hintio("--api=uring --batch=4 --count=4 --stride=64k --link"), BATCH, 4),
    **{f"aio{where}": (hintio("--api=aio --batch=16 --count=32 --stride=64k", f"{where}/file"),
                       BATCH, 2) for where in (EXT4, XFS, VFAT)},
    **{f"msync{where}": (hintio("--op=write --api=mmap --stride=1m --count=8 --sync=msync",
                                f"{where}/file"), MSYNC, 1) for where in (EXT4, XFS, VFAT)},
    "jbd2": (f"rm -f {EXT4}/e; {hintio('--op=write --count=0 --create --sync=fsync', EXT4 + '/e')}",
             JOURNAL, 1),
}


def test_barriers_interrupt(files: Guest) -> None:
    """Each batch costs one interrupt with that reason, and none with its bit off."""
    old = {name: files.vm.qmp.get(name) for name, _ in WAITS}
    for name, value in WAITS:
        files.vm.qmp.set(name, value)
    found = {name: (interrupts_for(files, "barrier", script, bit),
                    interrupts_for(files, "barrier", script, DEFAULT & ~bit))
             for name, (script, bit, _) in BATCHES.items()}
    for name, value in reversed(old.items()):
        files.vm.qmp.set(name, value)
    assert found == {name: (batches, 0) for name, (_, _, batches) in BATCHES.items()}


def sgl_transfers(guest: Guest, script: str) -> int:
    """How often the device read an SGL meanwhile."""
    log = guest.vm.logs / "qemu.log"
    event = {"name": "pci_nvme_map_sgl"}
    guest.vm.qmp.execute("trace-event-set-state", enable=True, **event)
    before = log.read_text(errors="replace").count(event["name"])
    guest.shell(script)
    guest.vm.qmp.execute("trace-event-set-state", enable=False, **event)
    return log.read_text(errors="replace").count(event["name"]) - before


def test_sgl(guest: Guest) -> None:
    """The cases for it go by SGL, which has flags in the byte of the hints."""
    limit = "/sys/module/nvme/parameters/sgl_threshold"
    script = hintio("--api=preadv2 --size=512k --huge --hint=urgent --count=2")
    assert sgl_transfers(guest, script) == 2
    guest.shell(f"cat {limit} > /tmp/limit; echo 0 > {limit}")
    assert sgl_transfers(guest, script) == 0
    assert marks(guest, script) == Marks(urgent=2)
    guest.shell(f"cat /tmp/limit > {limit}")


def test_who_may_not(guest: Guest) -> None:
    """A value with unknown bits is refused and changes nothing."""
    set_policy(guest, 5)
    for wrong in (str(ALL + 1), "-1", "all"):
        assert guest.try_shell(f"echo {wrong} > {POLICY}")["exit"] != 0
    assert guest.shell(f"cat {POLICY}").strip() == "5"


#: The kernel's own suites: the option that builds each, and how many cases it has at least.
KUNIT = {"blk-irq-hints": ("BLK_IRQ_HINTS", 5), "blk-poll-est": ("BLK_POLL_EST", 17),
         "blk-switch-policy": ("BLK_SWITCH_POLICY", 15), "nvme_ooo": ("NVME_OOO", 18)}


def passed(results: str) -> dict[str, int]:
    """Suites of a KUnit report in which all went well, with the number of cases that they have.

    Linux 6.12 has a line for each case, 7.3 only for the suite.
    """
    lines = [line.split() for line in results.splitlines()]
    assert [words for words in lines if words[:2] == ["not", "ok"]] == []
    assert [words for words in lines if "SKIP" in words] == []
    suites, planned, cases = {}, 0, 0
    for words, line in zip(lines, results.splitlines(), strict=True):
        if line.startswith("    1.."):
            planned, cases = int(words[0][3:]), 0
        elif words[:1] == ["ok"] and line.startswith(" "):
            cases += 1
        elif words[:1] == ["ok"]:
            assert cases in (0, planned), (words, cases, planned)
            suites[words[2]] = planned
    return suites


def test_driver_switch_and_kunit(logs: Path) -> None:
    """nvme.irq_hints=0 sends nothing marked; the kernel's own tests pass, those that it has."""
    with serving(hint_machine("nvme.irq_hints=0", "kunit.enable=1"), logs) as guest:
        guest.shell(names(1))
        assert marks(guest, hintio("--api=pread --count=4")) == Marks(4)
        assert marks(guest, hintio("--api=preadv2 --hint=urgent --count=4")) == Marks(4)
        results = guest.shell("mount -t debugfs none /sys/kernel/debug 2>/dev/null;"
                              "cat /sys/kernel/debug/kunit/*/results")
        built = guest.shell("zcat /proc/config.gz").splitlines()
        wanted = {name: count for name, (option, count) in KUNIT.items()
                  if f"CONFIG_{option}_KUNIT_TEST=y" in built}
        ran = passed(results)
        assert "blk-irq-hints" in wanted
        assert {name: min(count, ran.get(name, 0)) for name, count in wanted.items()} == wanted


def test_kselftest(tmp_path: Path, logs: Path) -> None:
    """The series' own selftest of the flags, on ext4: all pass, and none is skipped."""
    directory = paths.LINUX_SRC / "tools/testing/selftests/filesystems"
    (tmp_path / "root").mkdir()
    subprocess.run(["gcc", "-static", "-O2", "-o", tmp_path / "root/selftest",
                    directory / "rwf_irq_hints.c"], check=True)
    disk = make_disk(tmp_path / "disk", *MKFS_EXT4, "-d", str(tmp_path / "root"))
    with serving(hint_machine(extra=namespace(2, disk)), logs) as guest:
        said = guest.shell(f"{names(2)} mkdir -p {EXT4}; {MOUNT_EXT4} /tmp/ns2 {EXT4};"
                           f"cd {EXT4}; ./selftest")
        totals = re.findall(r"(\w+):(\d+)", said.rpartition("Totals:")[2])
        assert [total for total in totals if total[1] != "0"] == [("pass", "8")], said
