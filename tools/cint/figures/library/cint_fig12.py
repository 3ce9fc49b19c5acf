# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Figure 12: Barrier, with batches of four."""

from cint.figures import jobs
from cint.figures.checks import at_least, at_most, instead, near, swap, within
from cint.figures.model import USUAL, Column, Figure, Group, Panel, Run, Series
from cint.figures.values import Cell

THREADS = (1, 2, 4)
POLICIES = (Run("default"), Run("adaptive"), Run("cint:thr=65535", "cint"),
            Run("cint:thr=65535,infer=off", "cint, no hints", hints=False))
#: IOPS, latency, CPU, interrupts of default and adaptive: ratios to cint, by threads.
PAPER = {1: ((1.10, 0.90, 1.32, 4.40), (0.80, 1.31, 0.81, 0.80)),
         2: ((0.85, 1.18, 1.01, 3.42), (0.71, 1.45, 0.65, 0.44)),
         4: ((0.88, 1.14, 1.01, 3.51), (1.01, 0.99, 1.00, 0.99))}
METRICS = (("IOPS", "iops"), ("latency", "mean_us"), ("CPU", "cpu_percent"),
           ("interrupts", "device_irqs"))


def of(threads: int) -> Cell:
    return Cell(f"{threads} thread{'s' if threads > 1 else ''}", base="cint")


def panel(title: str, name: str, index: int) -> Panel:
    series = []
    for number, run in enumerate(("default", "adaptive")):
        series += [
            Series(run, [(of(n).name, of(n).ratio(name, run)) for n in THREADS]),
            Series(f"{run}, paper", [(of(n).name, PAPER[n][number][index]) for n in THREADS],
                   paper=True)]
    return Panel(title, "ratio to cint", series)


FIGURE = Figure(
    "cint-fig12", "cinterrupts", "Barrier, with batches of four", "section 3.4, Figure 12",
    "Threads submit four reads and wait for all: with Barrier there is an interrupt for each "
    "batch, at its end, whatever the number of threads.",
    groups=(Group(POLICIES, tuple(jobs.aio(4, 4, 4, of(n).name, threads=n) for n in THREADS)),),
    checks=(
        *(near(f"{of(n).name}: I/Os for an interrupt, cint", of(n)("ios_per_irq", "cint"), 4, 0.03,
               swap("cint", "default")) for n in THREADS),
        *(near(f"{of(n).name}: I/Os for an interrupt, default", of(n)("ios_per_irq", "default"), 1,
               0.02, swap("cint", "default")) for n in THREADS),
        *(at_least(f"{of(n).name}: share of cint's interrupts for the reason 'barrier'",
                   of(n)("reason.barrier", "cint"), 0.98, instead("cint", "cint, no hints"))
          for n in THREADS),
        at_least("1 thread: latency, cint against default",
                 of(1).ratio("mean_us", "cint", "default"), 1.0001, paper=round(1 / 0.90, 3)),
        near("1 thread: latency, adaptive above cint",
             of(1)("mean_us", "adaptive") - of(1)("mean_us", "cint"), 6, 0.20, unit="us"),
        at_least("2 threads: IOPS, cint against default", of(2).ratio("iops", "cint", "default"),
                 1.0001, paper=round(1 / 0.85, 3)),
        at_most("2 threads: IOPS, adaptive against default",
                of(2).ratio("iops", "adaptive", "default"), 0.9999, instead("adaptive", "cint"),
                paper=round(0.71 / 0.85, 3)),
        at_least("4 threads: IOPS, cint against default", of(4).ratio("iops", "cint", "default"),
                 1.0001, paper=round(1 / 0.88, 3)),
        within("4 threads: IOPS, adaptive against cint", of(4).ratio("iops", "adaptive"), 0.96,
               1.04, instead("adaptive", "default"), paper=1.01),
    ),
    panels=tuple(panel(title, name, index) for index, (title, name) in enumerate(METRICS)),
    columns=(*USUAL, Column("barrier, share", "reason.barrier")),
    notes=(
        "The kernel marks the last of each batch with a Barrier by itself. cint has no threshold, "
        "as in the paper.",
    ),
)
