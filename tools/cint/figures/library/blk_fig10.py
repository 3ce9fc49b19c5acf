# SPDX-License-Identifier: GPL-2.0-or-later
"""blk-switch, Figure 10: deeper and deeper T."""

from cint.figures import switched
from cint.figures.checks import at_least, at_most, instead
from cint.figures.model import Figure
from cint.figures.switched import APP, BATCH, OFF, PAID, latency, of_l, of_t, throughput

CPUS = 2
DEPTHS = (1, 4, 16, 64)
CELLS = {depth: f"depth {depth}" for depth in DEPTHS}
DEEPEST = CELLS[DEPTHS[-1]]
WORKLOADS = tuple(
    switched.anywhere(cell, f"{CPUS} L beside {CPUS} T at depth {depth}, which may run anywhere",
                      latency(CPUS), throughput(CPUS, depth=depth, batch=min(depth, BATCH)))
    for depth, cell in CELLS.items())

FIGURE = Figure(
    "blk-fig10", "blk-switch", "Deeper and deeper T", "section 5.2, Figure 10",
    "As the load by T grows Linux's latency grows with it, and blk-switch's stays.",
    groups=switched.groups((OFF, APP), WORKLOADS, CPUS),
    checks=(
        at_least("per byte, off: p99 of L, deepest against depth 1",
                 of_l(DEEPEST)("p99_us", PAID + OFF) / of_l("depth 1")("p99_us", PAID + OFF), 3,
                 switched.another(DEEPEST, "depth 1"), paper="grows"),
        at_most("per byte, app: p99 of L, deepest against depth 1",
                of_l(DEEPEST)("p99_us", PAID + APP) / of_l("depth 1")("p99_us", PAID + APP), 1.3,
                instead(PAID + APP, PAID + OFF), paper="stays"),
        at_least("per byte: p99 of L at the deepest, off against app",
                 of_l(DEEPEST, PAID).ratio("p99_us", OFF, APP), 2, paper="2 to 8"),
        at_least("per byte: T at the deepest, app against off",
                 of_t(DEEPEST, PAID).ratio("iops", APP, OFF), 0.9, instead(PAID + OFF, OFF),
                 paper="0.9",
                 deviation=switched.more_of_l(0.65, 0.85, PAID + APP, PAID + OFF, DEEPEST)),
    ),
    panels=switched.lines((OFF, APP), CELLS, "depth of each T", log_x=True),
    columns=switched.COLUMNS,
    notes=(switched.NETWORK, switched.JOBS, switched.SCHEDULED, switched.SAME_DEVICE,
           switched.FAST_TICKS, "The paper has six L and six T on six cores."),
)
