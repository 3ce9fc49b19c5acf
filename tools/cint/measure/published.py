# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost of an I/O and of an interrupt on cinterrupts' machine, from all that it publishes.

Each published number says how much CPU time some I/Os and interrupts take together, on a CPU that
does nothing else. Four costs explain them: an I/O of libaio in batches of 16, one of libaio one by
one, one that a thread waits for, and an interrupt. They are fitted to all of these numbers at once,
by least squares of what is left relative to each number. Times are ns.

Not among them is what says nothing of a busy CPU: Figure 10's adaptive, whose threads are both
asleep for a part of the time, and the shares of Figures 3 and 21, which are ratios of these costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import cache


@dataclass(frozen=True)
class Costs:
    """CPU time of one of each, ns; in a row, how many of each there are."""

    batched: float = 0.0
    single: float = 0.0
    waited: float = 0.0
    interrupt: float = 0.0

    def times(self, other: Costs) -> float:
        """The CPU time of so many of each."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        return sum((float(a * b) for a, b in pairs), 0.0)


@dataclass(frozen=True)
class Published:
    """A published number: ``counts`` take ``ns`` of CPU time. A ratio of two loads is a row of
    which the difference takes nothing, in proportion to ``ns``, the longer one's time.
    """

    what: str
    counts: Costs
    ns: float
    is_ratio: bool = False

    def left(self, costs: Costs) -> float:
        """The share of it by which the costs miss the number; above 0 where they are too high."""
        return self.counts.times(costs) / self.ns - (0 if self.is_ratio else 1)


def _rate(what: str, per_s: float, counts: Costs) -> Published:
    return Published(what, counts, 1e9 / per_s)


def _slower(what: str, share: float, irqs: float) -> Published:
    """default, with an interrupt each, has this share of cint's throughput and so many times its
    interrupts a second: one I/O of default's takes as long as 1 / share of cint's.
    """
    counts = Costs(batched=1 / share - 1, interrupt=1 / irqs - 1)
    return Published(what, counts, 1e9 / DEFAULT_PER_S, is_ratio=True)


#: Reads a second of Figure 19, libaio in batches and one by one: an interrupt each, and at a
#: threshold of 32, with 20,000 interrupts a second.
DEFAULT_PER_S, BATCHED_PER_S, SINGLE_PER_S, MERGED_SINGLE_PER_S = 325e3, 440e3, 275e3, 368e3
MERGED_IRQS_PER_S = 20e3

ROWS = (
    _rate("Figure 19, batched, an interrupt each", DEFAULT_PER_S, Costs(batched=1, interrupt=1)),
    _rate("Figure 19, batched, thr 32", BATCHED_PER_S,
          Costs(batched=1, interrupt=MERGED_IRQS_PER_S / BATCHED_PER_S)),
    _rate("Figure 19, one by one, an interrupt each", SINGLE_PER_S, Costs(single=1, interrupt=1)),
    _rate("Figure 19, one by one, thr 32", MERGED_SINGLE_PER_S,
          Costs(single=1, interrupt=MERGED_IRQS_PER_S / MERGED_SINGLE_PER_S)),
    _slower("Figure 20, Optane, default against cint", 0.74, 12.39),
    _slower("Figure 20, P3700, default against cint", 0.76, 15.39),
    Published("Figure 10, default, a second",
              Costs(single=205_272 - 69_666, waited=69_666, interrupt=205_477), 1e9),
    Published("Figure 10, cint, a second",
              Costs(single=246_086 - 75_040, waited=75_040, interrupt=75_043), 1e9),
    _rate("Figure 17, four threads that wait", 150e3, Costs(waited=1, interrupt=1)),
    Published("Figure 4, an interrupt", Costs(interrupt=1), 740),
)


def fit(rows: Sequence[Published] = ROWS) -> Costs:
    """The costs with the least squares of what is left."""
    lines = [[count / row.ns for count in astuple(row.counts)] for row in rows]
    wanted = [0.0 if row.is_ratio else 1.0 for row in rows]
    columns = list(zip(*lines, strict=True))
    normal = [[sum(a * b for a, b in zip(one, two, strict=True)) for two in columns]
              + [sum(a * b for a, b in zip(one, wanted, strict=True))] for one in columns]
    return Costs(*_solved(normal))


def _solved(rows: list[list[float]]) -> list[float]:
    """The unknowns of as many equations, each with its right side at the end (Gauss-Jordan)."""
    for pivot in range(len(rows)):
        best = max(range(pivot, len(rows)), key=lambda row: abs(rows[row][pivot]))
        rows[pivot], rows[best] = rows[best], rows[pivot]
        rows[pivot] = [x / rows[pivot][pivot] for x in rows[pivot]]
        for other in range(len(rows)):
            if other != pivot:
                factor = rows[other][pivot]
                rows[other] = [x - factor * y
                               for x, y in zip(rows[other], rows[pivot], strict=True)]
    return [row[-1] for row in rows]


@cache
def costs() -> Costs:
    """Those of cinterrupts' machine, to the ns."""
    return Costs(*(float(round(ns)) for ns in astuple(fit())))
