# SPDX-License-Identifier: GPL-2.0-or-later
"""What the patched guest kernel marks, as the device counts it.

Each case runs one program in the guest and looks at the device's counters of
commands by hint before and after.  Nothing is timed.  The defaults are bits of
the kernel parameter block.irq_hints; each case says which of them it needs and
must count nothing marked without them, so that a case that cannot fail shows.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import log_root
from serving import Guest, serving

from cint.device import properties
from cint.guest import vm
from cint.measure import comparison

SYNC, BATCH, FSYNC, JOURNAL, MSYNC, READ = 1, 2, 4, 8, 16, 32
DEFAULT = 63
POLICY = "/sys/module/block/parameters/irq_hints"
DISK_SIZE = 512 << 20  # XFS refuses less than 300 MB
BDEV, EXT4, XFS = "/tmp/ns1", "/mnt/ext4", "/mnt/xfs"

#: Namespaces are found at the same time, so their names do not tell which is which.
NAMES = """\
for n in 1 2 3; do
    for i in $(seq 200); do
        f=$(grep -lx $n /sys/block/nvme0n*/nsid) && break
        sleep 0.05
    done
    ln -s /dev/$(basename $(dirname $f)) /tmp/ns$n
done
"""


@dataclass(frozen=True)
class Marks:
    """Commands of all I/O queues, by hint."""

    unmarked: int = 0
    urgent: int = 0
    barrier: int = 0

    @property
    def total(self) -> int:
        """Commands."""
        return self.unmarked + self.urgent + self.barrier


def counters(guest: Guest) -> tuple[int, ...]:
    """The device's counters now; both hints at once must never be on the wire."""
    queues = [q for q in guest.stats()["queues"] if q["cqid"]]
    assert sum(q["cmds-both-hints"] for q in queues) == 0
    return tuple(sum(q[f"cmds-{name}"] for q in queues)
                 for name in ("unmarked", "urgent", "barrier"))


def marks(guest: Guest, script: str, policy: int = DEFAULT) -> Marks:
    """What a script in the guest sends under a policy."""
    guest.shell(f"echo {policy} > {POLICY}")
    before = counters(guest)
    guest.shell(script)
    return Marks(*(b - a for a, b in zip(before, counters(guest), strict=True)))


def hintio(options: str, file: str = BDEV) -> str:
    """The command line of the tool that does the I/O."""
    return f"hintio {options} {file} >/dev/null"


def make_disk(path: Path, *mkfs: str) -> Path:
    """A raw image with a file system; the test is skipped without the tool for it."""
    tool = shutil.which(mkfs[0], path="/usr/sbin:/sbin:/usr/bin:/bin")
    if tool is None:
        pytest.skip(f"{mkfs[0]} is not installed")
    with path.open("wb") as file:
        file.truncate(DISK_SIZE)
    subprocess.run([tool, *mkfs[1:], str(path)], check=True, capture_output=True)
    return path


def namespace(number: int, image: Path) -> tuple[str, ...]:
    """QEMU's options for one more namespace."""
    name = str(image).replace(",", ",,")
    return ("-blockdev", f"driver=file,node-name=d{number},filename={name}",
            "-device", f"nvme-ns,bus={vm.NVME_ID},drive=d{number},nsid={number}")


def hint_machine(*append: str, extra: tuple[str, ...] = ()) -> vm.Machine:
    """A guest in real time whose device interrupts for each completion."""
    accel = comparison.choose_accel(False)
    props = properties.device_properties(properties.parse_policy("default"),
                                         properties.parse_media("optane"), 1, virtual=False)
    return vm.Machine(props, virtual=False, accel=accel.name, cpu=accel.cpu, append=append,
                      vcpus=2, extra=extra)


@pytest.fixture(scope="module")
def disks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Images with ext4 and XFS."""
    root = tmp_path_factory.mktemp("disks")
    return (make_disk(root / "ext4", "mkfs.ext4", "-q", "-b", "4096",
                      "-E", "lazy_itable_init=0,lazy_journal_init=0"),
            make_disk(root / "xfs", "mkfs.xfs", "-q"))


@pytest.fixture(scope="module")
def guest(disks: tuple[Path, Path]) -> Iterator[Guest]:
    """One guest for all cases: a block device, ext4 and XFS behind one controller."""
    extra = namespace(2, disks[0]) + namespace(3, disks[1])
    with serving(hint_machine(extra=extra), log_root() / "hints") as running:
        running.shell(f"{NAMES}echo 4 > /proc/sys/vm/nr_hugepages")
        yield running


@pytest.fixture(scope="module")
def files(guest: Guest) -> Iterator[Guest]:
    """The guest with both file systems, for the cases after those of the block device."""
    guest.shell(
        # No writeback but what a test asks for; XFS's own is a worker of the log.
        "set -e; echo 0 > /proc/sys/vm/dirty_writeback_centisecs;"
        "echo 720000 > /proc/sys/fs/xfs/xfssyncd_centisecs;"
        f"mkdir -p {EXT4} {XFS};"
        f"mount -t ext4 -o commit=900 /tmp/ns2 {EXT4};"
        f"mount -t xfs /tmp/ns3 {XFS};"
        f"for d in {EXT4} {XFS}; do"
        " dd if=/dev/zero of=$d/file bs=1M count=32 2>/dev/null; done; sync")
    yield guest
    guest.shell(f"umount {EXT4} {XFS}")


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
    ("aio-single", "--api=aio --count=3", BATCH, Marks(barrier=3)),
    ("aio-urgent", "--api=aio --batch=8 --count=8 --stride=64k --hint=urgent", 0,
     Marks(urgent=8)),
    ("aio-last-urgent", "--api=aio --batch=8 --count=8 --stride=64k --hint=urgent --mark=last",
     0, Marks(7, urgent=1)),
    ("aio-unmarked", "--api=aio --batch=8 --count=8 --stride=64k --hint=unmarked", 0,
     Marks(8)),
    ("aio-write", "--op=write --api=aio --batch=8 --count=8 --stride=64k", BATCH,
     Marks(7, barrier=1)),
    ("uring", "--api=uring --batch=8 --count=16 --stride=64k", BATCH, Marks(14, barrier=2)),
    ("uring-urgent", "--api=uring --batch=8 --count=8 --stride=64k --hint=urgent", 0,
     Marks(urgent=8)),
    ("uring-unmarked", "--api=uring --batch=8 --count=8 --stride=64k --hint=unmarked", 0,
     Marks(8)),
    ("uring-link", "--api=uring --batch=4 --count=4 --stride=64k --link", BATCH,
     Marks(barrier=4)),
    # eight adjacent reads become one command, which must not lose the hint
    ("merge", "--api=aio --batch=8 --count=8", BATCH, Marks(barrier=1)),
    ("merge-urgent", "--api=aio --batch=8 --count=8 --hint=urgent --mark=last", 0,
     Marks(urgent=1)),
    # contiguous memory goes by SGL, which has flags of its own in the same byte
    ("sgl", "--api=preadv2 --size=512k --huge --hint=urgent", 0, Marks(urgent=1)),
    ("sgl-barrier", "--api=preadv2 --size=512k --huge --hint=barrier", 0, Marks(barrier=1)),
)


def check(guest: Guest, script: str, bit: int, wanted: Marks) -> None:
    """The hints are there under the one bit that makes them, and only then."""
    assert marks(guest, script, bit) == wanted
    without = marks(guest, script, DEFAULT & ~bit)
    assert without == (wanted if bit == 0 else Marks(wanted.total))


def check_file(guest: Guest, script: str, bit: int, wanted: Marks) -> None:
    """The same, but a file system may do something of its own meanwhile."""
    found, without = marks(guest, script, bit), marks(guest, script, DEFAULT & ~bit)
    assert (found.urgent, found.barrier) == (wanted.urgent, wanted.barrier)
    assert found.unmarked >= wanted.unmarked
    if bit:
        assert (without.urgent, without.barrier) == (0, 0)
        assert without.unmarked >= wanted.total


@pytest.mark.parametrize(("options", "bit", "wanted"), [c[1:] for c in DIRECT],
                         ids=[c[0] for c in DIRECT])
def test_block_device(guest: Guest, options: str, bit: int, wanted: Marks) -> None:
    check(guest, hintio(options), bit, wanted)


@pytest.mark.parametrize("size", ["1m", "2m"])
def test_split(guest: Guest, size: str) -> None:
    """All commands of a large I/O are urgent, but only one of them ends a batch.

    The device takes 512 KiB at once and a bio has 256 pieces of memory at most,
    so 1 MiB is split and 2 MiB is several bios, too.
    """
    whole = marks(guest, hintio(f"--api=pread --size={size}"), SYNC)
    assert whole.urgent == whole.total >= 2
    batch = marks(guest, hintio(f"--api=aio --size={size}"), BATCH)
    assert batch.barrier == 1
    assert batch.unmarked == batch.total - 1 >= 1
    assert marks(guest, hintio(f"--api=aio --size={size}"), DEFAULT & ~BATCH).barrier == 0


def test_sqpoll(guest: Guest) -> None:
    """The kernel's thread takes what it finds, so a batch may come in pieces."""
    script = hintio("--api=uring --batch=8 --count=8 --stride=64k --sqpoll")
    found = marks(guest, script, BATCH)
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
    assert marks(guest, script, DEFAULT & ~FSYNC & ~READ).urgent == 0


@pytest.mark.parametrize("where", [EXT4, XFS])
def test_direct_file(files: Guest, where: str) -> None:
    """iomap passes on what the block device's own direct I/O does."""
    file = f"{where}/file"
    check_file(files, hintio("--api=pread --count=4", file), SYNC, Marks(urgent=4))
    check_file(files, hintio("--api=preadv2 --count=4 --hint=unmarked", file), 0, Marks(4))
    check_file(files, hintio("--api=aio --batch=8 --count=8 --stride=64k", file), BATCH,
               Marks(7, barrier=1))
    check_file(files, hintio("--api=aio --size=2m", file), BATCH, Marks(3, barrier=1))
    check_file(files, hintio("--api=uring --batch=8 --count=8 --stride=64k", file), BATCH,
               Marks(7, barrier=1))


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
    assert both.urgent > max(data.urgent, commit.urgent)


def test_journal_blocks(files: Guest) -> None:
    """jbd2: the blocks before the commit record are a batch, and urgent they are not.

    They are adjacent, hence one command: one urgent bio would make all of it urgent.
    """
    fsync = hintio("--op=write --count=0 --create --sync=fsync", f"{EXT4}/empty")
    script = f"rm -f {EXT4}/empty; {fsync}; rm {EXT4}/empty; {fsync}"
    found = marks(files, script, JOURNAL)
    assert found.barrier == 2, "two commits"
    assert found.urgent >= 4, "commit records and their flushes"
    assert marks(files, script, DEFAULT & ~JOURNAL & ~READ).barrier == 0


@pytest.mark.parametrize("where", [EXT4, XFS])
def test_syncfs(files: Guest, where: str) -> None:
    script = DIRTY.format(where) + hintio("--op=write --count=0 --sync=syncfs", f"{where}/file")
    assert marks(files, script, FSYNC).urgent >= 1
    assert marks(files, script, DEFAULT & ~FSYNC & ~JOURNAL & ~READ).urgent == 0


@pytest.mark.parametrize("where", [EXT4, XFS])
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
              "echo 0 > dirty_writeback_centisecs;"
              "echo $old > dirty_expire_centisecs")
    found = marks(files, script, DEFAULT & ~JOURNAL & ~READ)
    assert found.total == found.unmarked >= 1


@pytest.mark.parametrize("where", [EXT4, XFS])
@pytest.mark.parametrize("api", ["read", "mmap"])
def test_page_cache_misses(files: Guest, where: str, api: str) -> None:
    """A miss is urgent; what readahead fetches beyond it is not."""
    how = "--buffered --api=read" if api == "read" else "--api=mmap"
    drop = "echo 1 > /proc/sys/vm/drop_caches; "
    script = drop + hintio(f"{how} --offset=8m --size=4k --count=1", f"{where}/file")
    assert marks(files, script, READ).urgent == 1
    assert marks(files, script, DEFAULT & ~READ).urgent == 0


@pytest.mark.parametrize("where", [EXT4, XFS])
def test_readahead(files: Guest, where: str) -> None:
    script = ("echo 1 > /proc/sys/vm/drop_caches; " +
              hintio("--buffered --api=read --size=4k --count=2048", f"{where}/file"))
    found = marks(files, script, READ)
    assert found.urgent >= 1
    assert found.unmarked > found.urgent, "readahead in advance"


def test_who_may_not(guest: Guest) -> None:
    """A value with unknown bits is refused and changes nothing."""
    guest.shell(f"echo 5 > {POLICY}")
    for wrong in ("64", "-1", "all"):
        assert guest.try_shell(f"echo {wrong} > {POLICY}")["exit"] != 0
    assert guest.shell(f"cat {POLICY}").strip() == "5"


def test_driver_switch_and_kunit(logs: Path) -> None:
    """nvme.irq_hints=0 sends nothing marked; the kernel's own tests pass."""
    with serving(hint_machine("nvme.irq_hints=0", "kunit.enable=1"), logs) as guest:
        guest.shell(NAMES.replace("1 2 3", "1"))
        assert marks(guest, hintio("--api=pread --count=4")) == Marks(4)
        assert marks(guest, hintio("--api=preadv2 --hint=urgent --count=4")) == Marks(4)
        results = guest.shell("mount -t debugfs none /sys/kernel/debug 2>/dev/null;"
                              "cat /sys/kernel/debug/kunit/*/results")
        lines = [line.split() for line in results.splitlines()]
        assert "blk-irq-hints" in {words[-1] for words in lines if words[:1] == ["ok"]}
        assert [words for words in lines if words[:2] == ["not", "ok"]] == []
