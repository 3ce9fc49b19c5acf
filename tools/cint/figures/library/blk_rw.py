# SPDX-License-Identifier: GPL-2.0-or-later
"""blk-switch, appendix: reads and writes."""

from cint.figures import switched
from cint.figures.checks import at_least, instead, swap, within
from cint.figures.model import Figure
from cint.figures.switched import OFF, PAID, PRIO, latency, of_l, of_t, pinned, throughput
from cint.figures.values import Expr

#: Of T's requests so many in a hundred are reads.
READS = (100, 50, 0)
CELLS = {reads: f"{reads} % reads" for reads in READS}
WORKLOADS = tuple(
    pinned(cell, f"L beside T, {reads} % of whose requests are reads, on CPU 0",
           latency(), throughput(more=f"rw=randrw\nrwmixread={reads}\n"))
    for reads, cell in CELLS.items())
ALL_READS = CELLS[READS[0]]


def kept(cell: str, prefix: str = "") -> Expr:
    """What T has under prio of its throughput under off."""
    return of_t("iops", prefix + PRIO, cell) / of_t("iops", prefix + OFF, cell)


FIGURE = Figure(
    "blk-rw", "blk-switch", "Reads and writes", "appendix A, read and write ratios",
    "Latency and throughput keep their relation whatever part of T's requests are writes.",
    groups=switched.groups((OFF, PRIO), WORKLOADS),
    checks=(
        *(check for cell in CELLS.values() for check in (
            at_least(f"per byte: p99 of L, {cell}, off against prio",
                     of_l("p99_us", PAID + OFF, cell) / of_l("p99_us", PAID + PRIO, cell), 3,
                     swap(PAID + OFF, PAID + PRIO), paper="as Figure 7"),
            at_least(f"per byte: T, {cell}, prio against off", kept(cell, PAID), 0.85,
                     instead(PAID + OFF, OFF), paper="as Figure 7"))),
        *(within(f"as it is: T, {cell} against {ALL_READS}, prio against off",
                 kept(cell) / kept(ALL_READS), 0.9, 1.1,
                 instead(f"{cell}.throughput", f"{ALL_READS}.latency"), paper="the same relation")
          for cell in CELLS.values() if cell != ALL_READS),
    ),
    panels=switched.bars((OFF, PRIO), tuple(CELLS.values())),
    columns=switched.COLUMNS,
    notes=(switched.NETWORK, switched.JOBS, switched.SCHEDULED),
    slow=True,
)
