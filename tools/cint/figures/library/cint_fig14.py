# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Figure 14: Urgent out of order, as a timeline."""

from cint.figures import jobs, traces
from cint.figures.checks import at_least, instead, within, wrong
from cint.figures.model import Run
from cint.figures.values import Cell
from cint.measure import workloads

CELL = "mixed"
POLICIES = (Run("cint:thr=9", "cint"), Run("cint+ooo:thr=9", "cint+ooo"),
            Run("cint+ooo:thr=9,infer=off", "cint+ooo, no hints", hints=False))
JOB = jobs.few(CELL, "24 unmarked reads in flight beside a sync thread",
               jobs.batch("async", 24, 48, engine=workloads.UNMARKED), jobs.lone("sync", 8))
of = Cell(CELL)

FIGURE = traces.drawn(
    "cint-fig14", "Urgent out of order", "section 3.5, Figure 14",
    "With thr 9: an Urgent completion has an interrupt of its own, of the urgent class, which "
    "tells of it alone; the others wait for the ninth, in which it is counted.",
    policies=POLICIES, job=JOB,
    checks=(
        at_least("cint+ooo: urgent interrupts for an Urgent completion",
                 of("irqs.urgent", "cint+ooo") / of("dones.U", "cint+ooo"), 0.8,
                 instead("cint+ooo", "cint"), paper=1.0),
        within("cint+ooo: completions that an urgent interrupt tells of, at most",
               of("urgent_covers_most", "cint+ooo"), 1, 1, instead("cint+ooo", "cint"), paper=1),
        within("cint: urgent interrupts, in order", of("irqs.urgent", "cint"), 0, 0,
               instead("cint", "cint+ooo"), paper=0),
        within("cint+ooo: completions that a full interrupt tells of, at most",
               of("full_covers_most", "cint+ooo"), 7, 9, wrong(2), paper=9),
        within("without the guest's hints: Urgent completions",
               of("dones.U", "cint+ooo, no hints"), 0, 0,
               instead("cint+ooo, no hints", "cint+ooo")),
    ),
    notes=("An Urgent completion that is itself the ninth has a full interrupt.",),
)
