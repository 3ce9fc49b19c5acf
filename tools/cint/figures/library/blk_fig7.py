# SPDX-License-Identifier: GPL-2.0-or-later
"""blk-switch, Figures 7 and 8: more and more L beside as many T as CPUs."""

from cint.figures import switched
from cint.figures.checks import at_least, at_most, instead
from cint.figures.model import Figure
from cint.figures.switched import APP, OFF, PAID, latency, of_l, of_t, throughput

CPUS = 2
COUNTS = (1, 2, 4)
CELLS = {count: f"{count} L" for count in COUNTS}
MOST = CELLS[COUNTS[-1]]
WORKLOADS = tuple(
    switched.anywhere(cell, f"{count} L beside {CPUS} T, all of which may run anywhere",
                      latency(count), throughput(CPUS)) for count, cell in CELLS.items())

FIGURE = Figure(
    "blk-fig7", "blk-switch", "More and more L", "section 5.2, Figures 7 and 8",
    "However many L there are, blk-switch keeps their latency low and T's throughput within a "
    "tenth of Linux's.",
    groups=switched.groups((OFF, APP), (switched.ALONE, *WORKLOADS), CPUS),
    checks=(
        at_least(f"per byte: p99 of {MOST}, off against app",
                 of_l(MOST, PAID).ratio("p99_us", OFF, APP), 3, paper="10 to 25"),
        at_least(f"per byte: mean of {MOST}, off against app",
                 of_l(MOST, PAID).ratio("mean_us", OFF, APP), 1.5, paper="28 to 110"),
        at_most("per byte, app: p99 of 1 L against alone",
                of_l("1 L")("p99_us", PAID + APP) / of_l("alone")("p99_us", PAID + APP), 1.3,
                instead(PAID + APP, PAID + OFF), deviation=switched.gives_way(PAID + APP, "1 L")),
        at_least(f"per byte: T beside {MOST}, app against off",
                 of_t(MOST, PAID).ratio("iops", APP, OFF), 0.9, instead(PAID + APP, APP),
                 paper="0.9", deviation=switched.more_of_l(0.4, 0.6, PAID + APP, PAID + OFF, MOST)),
    ),
    panels=switched.lines((OFF, APP), CELLS, "L applications", ("p99_us", "p999_us", "iops")),
    columns=switched.COLUMNS,
    notes=(switched.NETWORK, switched.JOBS, switched.SCHEDULED, switched.FAST_TICKS,
           "The paper has six cores, six T and up to twelve L."),
)
