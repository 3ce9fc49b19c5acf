# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Figure 9: the end of a batch, as a timeline."""

from cint.figures import jobs, traces
from cint.figures.checks import instead, near, swap, within
from cint.figures.model import Run
from cint.figures.values import Expr, value

CELL = "batch"
POLICIES = (Run("default"), Run("adaptive"), Run("cint"),
            Run("cint:infer=off", "cint, no hints", hints=False))
JOB = jobs.few(CELL, "a batch of 4 reads", jobs.batch("batch", 4, 4))


def waits(run: str) -> Expr:
    """From the batch's last completion to the interrupt that tells of it."""
    return value("irq_1_us", run, CELL) - value("done_4_us", run, CELL)


FIGURE = traces.drawn(
    "cint-fig9", "The end of a batch", "section 3.2, Figure 9",
    "Adaptive finds that a batch has ended only when delta is over; the Barrier on its last "
    "request says so at once.",
    policies=POLICIES, job=JOB,
    checks=(
        near("adaptive: from the last completion to the interrupt", waits("adaptive"), 6, 0.02,
             swap("adaptive", "cint"), unit="us"),
        within("cint: from the last completion to the interrupt", waits("cint"), 0, 0.1,
               instead("cint", "cint, no hints"), unit="us", paper=0),
        *(within(f"{run}: interrupts for the batch", value("irqs", run, CELL), 1, 1,
                 instead(run, "default"), paper=1) for run in ("adaptive", "cint")),
        within("default: interrupts for the batch", value("irqs", "default", CELL), 4, 4,
               instead("default", "cint"), paper=4),
    ),
    notes=("The kernel marks the last read of a batch by itself.",),
)
