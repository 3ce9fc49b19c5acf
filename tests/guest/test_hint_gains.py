# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel's own hints are worth where a program waits for a file system, in virtual time.

The same work under more and more of the policy's bits, in guests of their own. The table that was
measured is in docs/measured.md; a run writes it to hint-gains/table.md among the tests' logs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import SCALE, log_root, machine
from marks import (
    DEFAULT,
    EXT4,
    FSYNC_LAST,
    LATER,
    POLICY,
    SINGLE,
    WAIT,
    XFS,
    make_disk,
    names,
    namespace,
)
from serving import totals

from cint.device import scale
from cint.guest import agent, session
from cint.measure import settings

pytestmark = pytest.mark.slow

DIRECTORIES = 100
FILES = 2 * DIRECTORIES
FSYNCS = 200
#: Device policy and block.irq_hints of each guest.
GUESTS = {
    "default": ("default", 0),
    "no-hints": ("cint", 0),
    "callers": ("cint", DEFAULT & ~WAIT & ~SINGLE & ~LATER),
    "waits": ("cint", DEFAULT),
    "fsync-last": ("cint", DEFAULT | FSYNC_LAST),
}
PLACES = {"ext4": EXT4, "xfs": XFS}
#: What is put on the file systems does not differ from run to run.
UUID = "63696e74-0000-4000-8000-000000000001"
MKFS = {
    "ext4": ("mkfs.ext4", "-q", "-b", "4096", "-U", UUID, "-E",
             f"hash_seed={UUID},lazy_itable_init=0,lazy_journal_init=0"),
    "xfs": ("mkfs.xfs", "-q", "-m", f"uuid={UUID}"),
}
#: Files with names so long that each directory has a block of its own to be read. Writeback
#: begins as soon as there is something to write.
SETUP = f"""\
{names(3)}
set -e
echo 65536 > /proc/sys/vm/dirty_background_bytes
long=$(printf %0240d 0)
mkdir -p {EXT4} {XFS}
mount -t ext4 /tmp/ns2 {EXT4}
mount -t xfs /tmp/ns3 {XFS}
for d in {EXT4} {XFS}; do
    mkdir $d/many; (cd $d/many; mkdir $(seq {DIRECTORIES}))
    for i in $d/many/*; do echo data > $i/$long-1; echo data > $i/$long-2; done
    for f in data copy; do dd if=/dev/zero of=$d/$f bs=1M count=16 2>/dev/null; done
done
sync
echo {{policy}} > {POLICY}
"""
#: Both parts of the time are the reader's: finding the files, and what is in them.
READ = "cat {place}/many/*/* | wc -c"
#: Somebody waits for each fsync, nobody for the copy beside it. Its writes cannot be merged.
BESIDE = """\
[global]
directory={place}
ioengine=psync
fallocate=none
[waiter]
{waiter}
exitall=1
[writer]
filename=copy
rw=randwrite
bs=4k
size=16m
rate_iops=10000
time_based=1
runtime=600
"""
#: A log that grows by 1 KiB, and sixteen scattered blocks at once.
WAITERS = {
    "append": f"rw=write\nbs=1k\nsize={FSYNCS}k\nfsync=1",
    "scatter": f"filename=data\nrw=randwrite\nbs=4k\nsize=16m\nfsync=16"
               f"\nnumber_ios={16 * FSYNCS}",
}


@dataclass(frozen=True)
class Cost:
    """What one operation took: reported us, the device's commands and interrupts."""

    mean_us: float
    commands: float
    interrupts: float


def cost(result: agent.Message, count: int, ns: float | None = None) -> Cost:
    """Of a job with `count` operations; `ns` is their mean, if not the job's time."""
    edges = [agent.parse_snapshot(result[edge]).monotonic_ns for edge in ("before", "after")]
    used = totals(result)
    mean = ns if ns is not None else (edges[1] - edges[0]) / count
    return Cost(mean / SCALE / 1000, used.cqes / count, used.interrupts / count)


def fsync_ns(result: agent.Message) -> float:
    """The mean of an fsync."""
    job = next(j for j in result["fio"]["jobs"] if j["jobname"] == "waiter")
    assert job["sync"]["total_ios"] >= FSYNCS - 1, job["sync"]
    return float(job["sync"]["lat_ns"]["mean"])


def plan(policy: int) -> agent.Plan:
    """Reads of cold files and fsyncs, on both file systems."""
    jobs = [agent.Job("setup", argv=agent.exec_argv(SETUP.format(policy=policy)))]
    for number, (kind, place) in enumerate(PLACES.items(), 2):
        jobs += [
            agent.Job(f"cold/{kind}", argv=agent.exec_argv(
                f"umount {place}; mount -t {kind} /tmp/ns{number} {place}")),
            agent.Job(f"read/{kind}", argv=agent.exec_argv(READ.format(place=place))),
            *(agent.Job(f"{name}/{kind}", fio=BESIDE.format(place=place, waiter=waiter),
                        args=("--eta=never",)) for name, waiter in WAITERS.items()),
            agent.Job(f"end/{kind}", argv=agent.exec_argv(f"umount {place}")),
        ]
    return agent.Plan(tuple(jobs), session.slice_setup(scale.slice_permille(SCALE)))


def measure(name: str, root: Path) -> dict[str, Cost]:
    """One guest: costs by job."""
    device, policy = GUESTS[name]
    disks = [make_disk(root / kind, *MKFS[kind]) for kind in PLACES]
    extra = [word for i, disk in enumerate(disks) for word in namespace(2 + i, disk)]
    cost_ns = round(settings.DEFAULT_COST_NS * SCALE)
    guest = machine(device, extra=tuple(extra),
                    append=(f"nvme.irq_cost_ns={cost_ns}", "nvme.ooo_urgent=0"))
    outcome = session.run_task(session.Task(
        name, guest, plan(policy), log_root() / "hint-gains" / name, 30))
    assert outcome.trouble == []
    found = {}
    for kind in PLACES:
        found[f"read/{kind}"] = cost(outcome.results[f"read/{kind}"], FILES)
        for waiter in WAITERS:
            done = outcome.results[f"{waiter}/{kind}"]
            found[f"{waiter}/{kind}"] = cost(done, FSYNCS, fsync_ns(done))
    return found


Table = Mapping[str, Mapping[str, Cost]]


def as_text(table: Table) -> str:
    """The table, as docs/measured.md has it."""
    lines = ["| operation | guest | mean, us | commands | interrupts |", "|---|---|---|---|---|"]
    for job in next(iter(table.values())):
        for name, costs in table.items():
            c = costs[job]
            lines.append(f"| {job} | {name} | {c.mean_us:.1f} | {c.commands:.2f}"
                         f" | {c.interrupts:.2f} |")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """All guests, one after the other."""
    found = {name: measure(name, tmp_path_factory.mktemp("disks")) for name in GUESTS}
    (log_root() / "hint-gains/table.md").write_text(as_text(found), encoding="utf-8")
    return found


@pytest.mark.parametrize("kind", PLACES)
def test_cold_reads(table: Table, kind: str) -> None:
    """Who waits for metadata gains by the marks at the waits, no interrupt more."""
    none, callers, waits = (table[guest][f"read/{kind}"]
                            for guest in ("no-hints", "callers", "waits"))
    assert waits.mean_us < callers.mean_us < none.mean_us
    assert waits.mean_us < 0.93 * none.mean_us
    assert waits.interrupts <= 1.01 * table["default"][f"read/{kind}"].interrupts


@pytest.mark.parametrize("kind", PLACES)
def test_fsync_of_a_log(table: Table, kind: str) -> None:
    """As early as with an interrupt for everything, which the copy beside it does not get."""
    default, none, waits = (table[guest][f"append/{kind}"]
                            for guest in ("default", "no-hints", "waits"))
    assert waits.mean_us < 0.85 * none.mean_us
    assert waits.mean_us < 1.02 * default.mean_us
    assert waits.interrupts < 0.8 * default.interrupts


@pytest.mark.parametrize("kind", PLACES)
def test_fsync_of_much(table: Table, kind: str) -> None:
    """One interrupt for sixteen blocks does as well as one for each."""
    each, last = (table[guest][f"scatter/{kind}"] for guest in ("waits", "fsync-last"))
    assert last.interrupts < 0.2 * each.interrupts
    assert last.mean_us < 1.02 * each.mean_us
