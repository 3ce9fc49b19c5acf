# SPDX-License-Identifier: GPL-2.0-or-later
"""vIC, Table 6: where the CPU time goes."""

from cint.figures.arrays import ARRAY_8K
from cint.figures.checks import at_least, at_most, swap
from cint.figures.model import Figure, Panel, Series
from cint.figures.tables import COLUMNS, groups
from cint.figures.values import value

IDLE = {run: value("idle_percent", run, "q64") for run in ("default", "vic")}

FIGURE = Figure(
    "vic-tab6", "vic", "Where the CPU time goes, 8 KiB at depth 64", "section 4.2, Table 6",
    "With an interrupt for one read in eight the guest's CPU is idle for longer.",
    groups("8k", ARRAY_8K, (64,)),
    checks=(
        at_most("interrupts for an I/O", value("irqs_per_io", "vic", "q64"), 1 / 4,
                swap("vic", "default"), paper=round(11 / 41.5, 3)),
        at_least("points of idle time gained", IDLE["vic"] - IDLE["default"], 2, paper=6.4,
                 unit="points"),
    ),
    panels=(Panel("idle time of the guest's CPU", "%", (
        Series("here", list(IDLE.items())),
        Series("paper", [("default", 65.0), ("vic", 71.4)], paper=True))),),
    columns=COLUMNS,
    left_out=("what the policy itself costs the host (at most half a point in the paper): device "
              "emulation takes no virtual time. docs/cost.md has its instructions.",),
)
