# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs and runs of the figures about the user-space driver (docs/userspace.md).

The paper's three ways: poll; sleep until the next completion; sleep until so many (k). They are the
driver's modes ``poll`` and ``coalesced``, on the policy ``pointer``; the last two differ in k, and
in nothing else. In the paper's system that is SPDK on a simulated Z-SSD.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cint.figures import reading
from cint.figures.columns import CPU, IOPS, IRQS, MERGED, Column
from cint.figures.model import Group, Panel, Run, Series
from cint.figures.values import Expr, value
from cint.measure.workloads import Workload, common

#: The paper's values of one load: by way, at its depths.
Paper = Mapping[str, Sequence[float]]
MEDIA = "zssd"
#: What rows call them: the driver's mode. The paper's names are polling, single-interrupt and
#: interrupt-coalescing mode.
POLL, SINGLE, COALESCED = "poll", "coalesced, k = 1", "coalesced"
WAYS = (POLL, SINGLE, COALESCED)
#: Seconds of each job: some 2000 I/Os of 128 KiB, so that those in flight at its ends do not
#: matter, and some ten thousand of 4 KiB.
LARGE_S, SMALL_S = 0.1, 0.02
#: Where the thread's CPU time counts, which fio has in whole ms of the guest's.
TIMED_S = 0.1
#: The paper's CPU (arm_test.sh of its published simulator): AtomicSimpleCPU at 3.2 GHz, which
#: executes an instruction in each cycle. An interrupt costs its instructions there, and no more.
CPU_SCALE, COST_NS = 3.2, 0
COLUMNS = (IOPS, CPU, IRQS, MERGED)
TIMED = (*COLUMNS, Column("CPU time of the thread, %", "thread_percent"),
         Column("the thread leaves the CPU, k/s", "switches_per_s", 1e-3))
ENGINE = ("fio is the same program under every way, with the engine cintio on the driver in "
          "userspace/ in place of SPDK; one thread, one CPU, a virtual IOMMU. What an interrupt "
          "costs beyond the guest's own instructions is spent by the engine when it is woken.")
MODES = ("Rows have the names of the driver's modes. The paper's single-interrupt mode is "
         f"'{SINGLE}', its interrupt-coalescing mode '{COALESCED}', with k as there: of 2, 8 and "
         "32 in flight 1, 2 and 8, of 16, 64 and 256 in flight 2, 8 and 32.")
ARM = ("The paper's machine is gem5's AtomicSimpleCPU at 3.2 GHz (arm_test.sh, published with it), "
       "whose memory takes no time: an instruction a cycle, and an interrupt costs its "
       f"instructions. Here that is a guest of {CPU_SCALE:g} instructions a ns (--cpu-scale "
       f"{CPU_SCALE:g}) without an added cost of interrupts, in place of the calibrated machine of "
       "other figures. It is an x86 with one CPU, the paper's an ARM with four.")
TIME = ("The CPU time is the thread's own, which fio says (usr and sys), and that is where the "
        "paper has its CPU usage from: its scripts (gem5_config, published with its SPDK) keep "
        "what fio prints, and nothing else. The interrupt's handler is not in it, nor what the CPU "
        "takes to fall asleep and to wake up; the column CPU has all of it.")


@dataclass(frozen=True)
class Load:
    """A job of the paper: how it reads or writes, and at which depths it waits for how many."""

    name: str
    rw: str
    bs: str
    batches: tuple[tuple[int, int], ...]

    @property
    def bytes(self) -> int:
        """In one I/O."""
        return int(self.bs.removesuffix("k")) << 10

    @property
    def prefix(self) -> str:
        """The values of all loads of this size."""
        return f"{self.bs}/"

    def run(self, way: str) -> str:
        """What a figure calls the guest that does it in this way."""
        return self.prefix + way

    def cell(self, depth: int) -> str:
        """What a figure calls it."""
        return f"{self.name} {depth}"

    @property
    def cells(self) -> tuple[str, ...]:
        """At all depths."""
        return tuple(self.cell(depth) for depth, _ in self.batches)

    @property
    def largest(self) -> str:
        """At the largest depth."""
        return self.cells[-1]

    def job(self, depth: int, least: int) -> Workload:
        """At a depth; waits for at least so many."""
        return Workload(
            self.cell(depth), f"{self.bs} {self.rw}, depth {depth}",
            _head(self.rw, self.bs, "gtod_reduce=1\n") + "[job]\nioengine=libaio\n"
            f"iodepth={depth}\niodepth_batch_complete_min={least}\n"
            f"iodepth_batch_complete_max={depth}\n")

    def jobs(self, batched: bool) -> list[Workload]:
        """At all depths; batched: as many at once as in the paper, else one."""
        return [self.job(depth, least if batched else 1) for depth, least in self.batches]


def _head(rw: str, bs: str, more: str = "") -> str:
    return common("{runtime_us}us", "{ramp_us}us", seed="{seed}", filename="{device}", rw=rw,
                  bs=bs, more=f"{more}exec_prerun={{pre}}\nexec_postrun={{post}}\n")


_LARGE, _SMALL = ((2, 1), (8, 2), (32, 8)), ((16, 2), (64, 8), (256, 32))
SEQREAD = Load("seqread", "read", "128k", _LARGE)
SEQWRITE = Load("seqwrite", "write", "128k", _LARGE)
RANDREAD = Load("randread", "randread", "4k", _SMALL)
RANDWRITE = Load("randwrite", "randwrite", "4k", _SMALL)
LARGE, SMALL = (SEQREAD, SEQWRITE), (RANDREAD, RANDWRITE)
LOADS = (*LARGE, *SMALL)


def way(name: str) -> Run:
    """A run of one of them."""
    return Run("pointer", name, engine="user:poll" if name == POLL else "user:coalesced")


def on_arm(group: Group) -> Group:
    """The group on the paper's machine."""
    return replace(group, cpu_scale=CPU_SCALE, cost_ns=COST_NS)


def throughput() -> tuple[Group, ...]:
    """The guests of Figures 3 and 4."""
    return tuple(
        on_arm(Group(tuple(way(name) for name in ways),
                     [job for load in loads for job in load.jobs(batched)], MEDIA, loads[0].prefix,
                     runtime_s=TIMED_S, read=reading.threads))
        for loads in (LARGE, SMALL)
        for ways, batched in (((POLL, SINGLE), False), ((COALESCED,), True)))


def timed(name: str, title: str, rw: str, bs: str, options: str) -> Workload:
    """A job that notes how long each I/O takes."""
    return Workload(name, title, f"{_head(rw, bs)}[job]\nioengine=libaio\n{options}")


def lone(load: Load) -> Workload:
    """One I/O at a time."""
    return timed(load.name, f"{load.bs} {load.rw}, depth 1", load.rw, load.bs, "iodepth=1\n")


def of(load: Load, name: str, way: str, cell: str) -> Expr:
    """A value of one of its cells."""
    return value(name, load.run(way), cell)


def rate(load: Load, way: str, depth: int) -> Expr:
    """MB/s."""
    return of(load, "iops", way, load.cell(depth)) * (load.bytes / 1e6)


def panel(load: Load, y: str, values: Mapping[str, Sequence[Expr]],
          paper: Paper) -> Panel:
    """A drawing of one load over the depth, with the paper's values."""
    depths = [depth for depth, _ in load.batches]
    return Panel(f"{load.bs} {load.rw}", y, (
        *(Series(name, list(zip(depths, values[name], strict=True))) for name in values),
        *(Series(f"{name}, paper", list(zip(depths, paper[name], strict=True)), paper=True)
          for name in paper)), kind="lines", x="I/Os in flight", log_x=True)

