# SPDX-License-Identifier: GPL-2.0-or-later
"""blk-switch, appendix: reads and writes."""

from dataclasses import replace

from cint.figures import switched
from cint.figures.checks import Check, at_least, instead, several, within
from cint.figures.model import Figure
from cint.figures.switched import (
    HUGE,
    HUGE_PAGES,
    OFF,
    PAID,
    PRIO,
    latency,
    of_l,
    of_t,
    pinned,
    throughput,
)
from cint.figures.values import Expr

#: Of T's requests so many in a hundred are reads.
READS = (100, 50, 0)
CELLS = {reads: f"{reads} % reads" for reads in READS}
WORKLOADS = tuple(
    pinned(cell, f"L beside T, {reads} % of whose requests are reads, on CPU 0",
           latency(), throughput(more=f"rw=randrw\nrwmixread={reads}\n{HUGE}"))
    for reads, cell in CELLS.items())
ALL_READS = CELLS[READS[0]]
#: In mode off L has fewer reads beside such a T.
FULL_S = {**switched.FULL_S, PAID: 0.26}


def kept(cell: str, prefix: str = "") -> Expr:
    """What T has under prio of its throughput under off."""
    return of_t(cell, prefix).ratio("iops", PRIO, OFF)


def left(cell: str) -> Check:
    """T beside L, in mode prio."""
    return at_least(f"{cell}: prio against off", kept(cell, PAID), 0.85, instead(PAID + OFF, OFF),
                    paper="as Figure 7",
                    deviation=switched.more_of_l(0.65, 0.85, PAID + PRIO, PAID + OFF, cell))


FIGURE = Figure(
    "blk-rw", "blk-switch", "Reads and writes", "appendix A, read and write ratios",
    "Latency and throughput keep their relation whatever part of T's requests are writes.",
    groups=tuple(replace(group, append=(*group.append, HUGE_PAGES))
                 for group in switched.groups((OFF, PRIO), WORKLOADS, full_s=FULL_S)),
    checks=(
        *(at_least(f"per byte: p99 of L, {cell}, off against prio",
                   of_l(cell, PAID).ratio("p99_us", OFF, PRIO), 3, paper="as Figure 7")
          for cell in CELLS.values()),
        several("per byte: T keeps its throughput", [*map(left, CELLS.values())]),
        *(within(f"as it is: T, {cell} against {ALL_READS}, prio against off",
                 kept(cell) / kept(ALL_READS), 0.9, 1.1,
                 instead(f"{cell}.throughput", f"{ALL_READS}.latency"), paper="the same relation")
          for cell in CELLS.values() if cell != ALL_READS),
    ),
    panels=switched.bars((OFF, PRIO), tuple(CELLS.values())),
    columns=switched.COLUMNS,
    notes=(switched.NETWORK, switched.JOBS, switched.SCHEDULED),
)
