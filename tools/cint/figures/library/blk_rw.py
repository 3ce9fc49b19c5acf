# SPDX-License-Identifier: GPL-2.0-or-later
"""blk-switch, appendix: reads and writes."""

from dataclasses import replace

from cint.figures import switched
from cint.figures.checks import at_least, instead, swap
from cint.figures.model import Figure
from cint.figures.switched import OFF, PAID, PRIO, latency, of_l, of_t, pinned, throughput

#: Of T's requests so many in a hundred are reads.
READS = (100, 50, 0)
CELLS = {reads: f"{reads} % reads" for reads in READS}
WORKLOADS = tuple(
    pinned(cell, f"L beside T, {reads} % of whose requests are reads, on CPU 0",
           latency(), throughput(more=f"rw=randrw\nrwmixread={reads}\n"))
    for reads, cell in CELLS.items())
#: With reads alone it depends on the seed by how much.
DEVIATES = {100: replace(switched.MORE_OF_L, high=1.15), 50: switched.MORE_OF_L,
            0: switched.MORE_OF_L}


FIGURE = Figure(
    "blk-rw", "blk-switch", "Reads and writes", "appendix A, read and write ratios",
    "Latency and throughput keep their relation whatever part of T's requests are writes.",
    groups=switched.groups((OFF, PRIO), WORKLOADS),
    checks=tuple(
        check for reads, cell in CELLS.items() for check in (
            at_least(f"per byte: p99 of L, {cell}, off against prio",
                     of_l("p99_us", PAID + OFF, cell) / of_l("p99_us", PAID + PRIO, cell), 3,
                     swap(PAID + OFF, PAID + PRIO)),
            at_least(f"as it is: T, {cell}, prio against off",
                     of_t("iops", PRIO, cell) / of_t("iops", OFF, cell), 0.9,
                     instead(PRIO, PAID + PRIO),
                     deviation=DEVIATES[reads]))),
    panels=switched.bars((OFF, PRIO), tuple(CELLS.values())),
    columns=switched.COLUMNS,
    notes=(switched.NETWORK, switched.JOBS, switched.SCHEDULED),
    slow=True,
)
