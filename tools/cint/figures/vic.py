# SPDX-License-Identifier: GPL-2.0-or-later
"""vIC (ATC'11): Table 1, Tables 2 to 6, and what its sections 3.2 and 5 say of low rates.

A disk array behind a hypervisor's LSI adapter there, the media `array` here;
fio's libaio in place of Iometer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cint.device import scale
from cint.figures import probe
from cint.figures.base import Failure, Figure, Points, at_least, at_most, known, less, near
from cint.measure import settings
from cint.measure.workloads import Workload, async_job, common, sync_job

K = settings.DEFAULT_SCALE
EPOCH_S = 0.2
#: Probes a job, one an epoch: so many epochs but one lie between first and last.
PROBES = 8
#: The first probe comes after the first epoch, of which the job before decides the ratio.
FIRST_EPOCHS = 1.3


@dataclass(frozen=True)
class Shape:
    """What is read and how often it is looked at; ``epoch_s`` is the policy's."""

    rw: str = "randread"
    bs: str = "4k"
    probes: int = PROBES
    epoch_s: float = EPOCH_S

    def text(self, job: str) -> str:
        """The whole job file."""
        ramp = FIRST_EPOCHS * self.epoch_s
        start, period = (scale.apply("fio", "runtime", s, K) for s in (ramp, self.epoch_s))
        # A probe takes CPU time, so that they come a little later than once an epoch.
        runtime = (1.1 * self.probes + 0.3) * self.epoch_s
        more = probe.fio_option(start, period, self.probes)
        return common(f"{runtime:g}s", f"{ramp:g}s", rw=self.rw, bs=self.bs, more=f"{more}\n") + job


def reads(depth: int, shape: Shape) -> Workload:
    """J-AIO(depth,1,1), probed once an epoch."""
    return Workload(f"q{depth}", f"libaio {shape.bs} {shape.rw}, depth {depth}",
                    shape.text(async_job(depth, 1, 1)), own=True)


def ratio(cif: int, threshold: int = 4) -> float:
    """The ratio R that vIC's Algorithm 1 gives for so many commands in flight."""
    for times, value in ((1, 1.0), (2, 4 / 5), (3, 3 / 4), (4, 2 / 3)):
        if cif < times * threshold:
            return value
    return 1 / (cif // (2 * threshold))


# ---- Table 1 -------------------------------------------------------------

TAB1_DEPTHS = (2, 6, 10, 14, 16, 24, 64, 128)
#: Depths at which the commands in flight stay in the row of the table, though
#: up to 1/R - 1 finished ones wait for their interrupt.
TAB1_INSIDE = {17: 1 / 2, 26: 1 / 3, 71: 1 / 8, 143: 1 / 16}


def check_tab1(points: Points, policy: str, expected: dict[int, float]) -> list[Failure]:
    """Interrupts per I/O at each depth are the table's, within 5 %."""
    failures = []
    for depth, wanted in expected.items():
        point = points[policy, f"q{depth}"]
        failures += near(f"interrupts per I/O at depth {depth}", point.irqs_per_io, wanted, 0.05)
    return failures


#: A shorter epoch than vIC's 200 ms, for a short test.
TAB1_SHAPE = Shape(probes=11, epoch_s=0.05)
TAB1_POLICY = "vic:epoch=50ms"
#: Some spread, as every array has: without any, reads submitted together stay
#: together, and the commands in flight are not about the depth at all times.
TAB1_MEDIA = "array:jitter=100us"
TAB1 = Figure("vic-tab1", "delivery ratio by commands in flight", TAB1_POLICY,
              [reads(q, TAB1_SHAPE) for q in TAB1_DEPTHS], TAB1_MEDIA,
              lambda points: check_tab1(points, TAB1_POLICY, {q: ratio(q) for q in TAB1_DEPTHS}))
#: The text's smallest ratio is 6.25 %: max-skip 16, for 143 commands would give 1/17.
TAB1_MAX = f"{TAB1_POLICY},max-skip=16"
TAB1_EXACT = Figure("vic-tab1-inside", "the same, with depths away from the borders", TAB1_MAX,
                    [reads(q, TAB1_SHAPE) for q in TAB1_INSIDE], TAB1_MEDIA,
                    lambda points: check_tab1(points, TAB1_MAX, TAB1_INSIDE))


# ---- Tables 2 to 6 -------------------------------------------------------

DEPTHS = (8, 16, 32, 64)
#: The array stops at 41.5 KIOPS of 8 KiB.
ARRAY_8K = f"array:read-bandwidth={41_500 * 8192}"


def check_throughput(points: Points, depth: int) -> list[Failure]:
    """vIC costs no throughput."""
    on, off = points["vic", f"q{depth}"], points["default", f"q{depth}"]
    return at_least(f"depth {depth}: IOPS against default", on.iops / off.iops, 0.98)


def check_cost(points: Points, depth: int) -> list[Failure]:
    """An I/O takes no more CPU time (less at the last depth); interrupts are as the ratio says."""
    on, off = points["vic", f"q{depth}"], points["default", f"q{depth}"]
    mean = known(f"ratio at depth {depth}", on.mean_ratio)
    cost = [known(f"CPU at depth {depth}", p.cpu_us_per_io) for p in (on, off)]
    claim = f"depth {depth}: CPU time of an I/O against default"
    return [*(less(claim, cost[0] / cost[1], 1.0) if depth == DEPTHS[-1]
              else at_most(claim, cost[0] / cost[1], 1.01)),
            *near(f"depth {depth}: interrupts per I/O, against the mean ratio",
                  on.irqs_per_io, mean, 0.10),
            *at_least(f"depth {depth}: mean ratio", mean, ratio(depth) - 1e-9)]


def check_falling(points: Points) -> list[Failure]:
    """Interrupts per I/O do not rise with the depth."""
    rates = [points["vic", f"q{depth}"].irqs_per_io for depth in DEPTHS]
    return [f for depth, before, after in zip(DEPTHS[1:], rates, rates[1:], strict=False)
            for f in at_most(f"depth {depth}: interrupts per I/O against a smaller depth",
                             after, before)]


def check_table(points: Points) -> list[Failure]:
    """Tables 2 to 5: all of the above."""
    return [*(f for depth in DEPTHS for check in (check_throughput, check_cost)
              for f in check(points, depth)), *check_falling(points)]


def check_tab6(points: Points) -> list[Failure]:
    """Table 6: idle time rises by 2 points when at most one I/O in 4 interrupts.

    The other half of the table, the policy's own cost (at most 0.5 points), is
    time of the host's CPU, which virtual time does not show.
    """
    on, off = points["vic", "q64"], points["default", "q64"]
    rise = known("idle time", on.idle_percent) - known("idle time", off.idle_percent)
    return [*at_most("interrupts per I/O at depth 64", on.irqs_per_io, 1 / 4),
            *at_least("points of idle time gained at depth 64", rise, 2.0)]


def _table_jobs(bs: str, depths: Sequence[int] = DEPTHS) -> list[Workload]:
    return [reads(q, Shape("read", bs)) for q in depths]


TAB23 = Figure("vic-tab2", "4 KiB sequential reads (Tables 2 and 3)", "default,vic",
               _table_jobs("4k"), "array", check_table)
TAB45 = Figure("vic-tab4", "8 KiB sequential reads (Tables 4 and 5)", "default,vic",
               _table_jobs("8k"), ARRAY_8K, check_table)
TAB6 = Figure("vic-tab6", "where the CPU time goes, 8 KiB at depth 64 (Table 6)", "default,vic",
              _table_jobs("8k", (64,)), ARRAY_8K, check_tab6)


# ---- low rates -----------------------------------------------------------

COARSE = "vic:ratios=coarse"
NO_FLOOR = "vic:iops-threshold=0"
#: 32 reads at a time of 32 ms each are 1000 a second.  fio's own rate_iops will
#: not do: it waits for all reads in flight before it sleeps, so that they come
#: in bursts.  The spread keeps reads that were reaped together from ending together.
SLOW = "custom:read-latency=32ms,write-latency=32ms,jitter=8ms"


def check_low(points: Points) -> list[Failure]:
    """A lone reader does not notice vIC; 4/5 at depth 6 is no slower than 1/2."""
    sync = [points[p, "sync"].mean_us for p in ("vic", "default")]
    depth6 = [points[p, "q6"].iops for p in ("vic", COARSE)]
    late = points["vic", "sync"].reasons.get("max-hold", 0)
    return [*at_most("sync latency against default", sync[0] / sync[1], 1.02),
            *at_most("sync reads that only max-hold ended", late, 0),
            *near("interrupts per sync read", points["vic", "sync"].irqs_per_io, 1, 0.001),
            *at_least("IOPS at depth 6 with 4/5 against 1/2", depth6[0] / depth6[1], 1.0)]


def check_low_rate(points: Points) -> list[Failure]:
    """Below iopsThreshold every I/O interrupts; without it they wait for one another."""
    base, gated, free = (points[p, "q32"] for p in ("default", "vic", NO_FLOOR))
    skip = 1 / known("ratio", free.mean_ratio)
    added = free.mean_us - base.mean_us
    bound_us = (skip - 1) / free.iops * 1e6
    return [*near("interrupts per I/O below 2000 IOPS", gated.irqs_per_io, 1, 0.001),
            *at_most("latency below 2000 IOPS against default", gated.mean_us / base.mean_us, 1.02),
            *at_least("1/R without iopsThreshold", skip, 2),
            *at_least("us added without iopsThreshold", added, 0.8 * bound_us / 2),
            *at_most("us added without iopsThreshold", added, bound_us)]


_SYNC = Workload("sync", "psync 4k random reads, depth 1",
                 Shape(probes=3).text(sync_job()), own=True)
LOW = Figure("vic-low", "a lone reader, and coarse ratios", f"default,vic,{COARSE}",
             [_SYNC, reads(6, Shape(probes=5))], "array", check_low)
LOW_RATE = Figure("vic-low-rate", "1000 reads a second, 32 in flight", f"default,vic,{NO_FLOOR}",
                  [reads(32, Shape(probes=6))], SLOW, check_low_rate)
