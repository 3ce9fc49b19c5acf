# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Figure 13: two threads with batches, as a timeline."""

from cint.figures import jobs, traces
from cint.figures.checks import at_most, instead, swap, within
from cint.figures.model import Run
from cint.figures.values import Cell

CELL = "threads"
POLICIES = (Run("adaptive"), Run("cint"),
            Run("cint:infer=off", "cint, no hints", hints=False))
#: With fewer chance decides whether adaptive mixes any in a seed.
BATCHES = 8
JOB = jobs.few(CELL, f"two threads, each {BATCHES} batches of 4 reads",
               jobs.batch("threads", 4, 4 * BATCHES, "numjobs=2\n"))
of = Cell(CELL)

FIGURE = traces.drawn(
    "cint-fig13", "Two threads with batches", "section 3.4, Figure 13",
    "Two threads submit a batch each and wait for it. Adaptive mixes them, and both wait for the "
    "end of the burst; with Barrier each batch has an interrupt of its own.",
    policies=POLICIES, job=JOB,
    checks=(
        within(f"cint: interrupts for {2 * BATCHES} batches", of("irqs", "cint"),
               2 * BATCHES, 2 * BATCHES,
               instead("cint", "cint, no hints"), paper="one each"),
        at_most("interrupts, adaptive against cint", of.ratio("irqs", "adaptive", "cint"), 0.99,
                paper="fewer"),
        at_most("end of the last batch, cint against adaptive",
                of.ratio(f"done_{8 * BATCHES}_us", "cint", "adaptive"), 0.99,
                swap("adaptive", "cint"), paper="earlier"),
    ),
)
