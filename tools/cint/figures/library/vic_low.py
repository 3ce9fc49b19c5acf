# SPDX-License-Identifier: GPL-2.0-or-later
"""vIC at low rates: a lone reader, coarse ratios, and no floor for the rate."""

from cint.figures.arrays import POLICY, RUNTIME_S, lone, reads
from cint.figures.checks import at_least, at_most, instead, swap, within, wrong
from cint.figures.model import IOPS, MEAN, Column, Figure, Group, Panel, Run, Series, runs
from cint.figures.values import Cell, against, value

COARSE = Run(f"{POLICY},ratios=coarse", "only 1 and 1/2")
NO_FLOOR = Run("vic:iops-threshold=0", "no floor")
#: 32 reads at a time of 32 ms each are 1000 a second. fio's own rate_iops will not do: it
#: waits for all reads in flight before it sleeps, so that they come in bursts. The spread
#: keeps reads that were reaped together from ending together.
SLOW = "custom:read-latency=32ms,write-latency=32ms,jitter=8ms"
SLOW_EPOCH_S = 0.2
rare = Cell("q32", "slow/")

#: What waiting for the completion that interrupts adds, at the most.
ADDED = rare("mean_us", "no floor") - rare("mean_us", "default")
BOUND = (1 / rare("mean_ratio", "no floor") - 1) / rare("iops", "no floor") * 1e6

FIGURE = Figure(
    "vic-low", "vic", "Low rates", "sections 3.2 and 5",
    "A lone reader does not notice vIC; below 2000 I/Os a second every one interrupts, since "
    "each would wait for the next; and with ratios between 1 and 1/2 moderate depths lose "
    "nothing.",
    groups=(
        Group(runs("default", Run(POLICY, "vic"), COARSE), (lone(), reads(6)), "array",
              runtime_s=RUNTIME_S, probed=True),
        Group(runs("default", "vic", NO_FLOOR), (reads(32, epoch_s=SLOW_EPOCH_S),), SLOW, "slow/",
              runtime_s=RUNTIME_S * 4, probed=True),
    ),
    checks=(
        at_most("lone reader: latency against default",
                against("mean_us", "vic", "default", "sync"), 1.02, wrong(0.9), paper=1.0),
        within("lone reader: interrupts for a read", value("irqs_per_io", "vic", "sync"), 0.999,
               1.001, instead("sync", "q6"), paper=1.0),
        within("lone reader: share of interrupts for the reason 'low-cif' or 'low-iops'",
               value("reason.low-cif", "vic", "sync") + value("reason.low-iops", "vic", "sync"),
               0.999, 1, instead("vic", "default"), paper="no timer"),
        at_least("depth 6: IOPS with 4/5 against 1/2 only",
                 against("iops", "vic", "only 1 and 1/2", "q6"), 1.0001, paper="at least 1"),
        within("depth 6: interrupts for an I/O with 1/2 only",
               value("irqs_per_io", "only 1 and 1/2", "q6"), 0.5, 0.75,
               swap("vic", "only 1 and 1/2"), paper="1/2, or 1 below 4"),
        within("1000 reads a second: interrupts for a read", rare("irqs_per_io", "vic"), 0.999,
               1.001, swap("slow/vic", "slow/no floor"), paper=1.0),
        at_most("1000 reads a second: latency against default",
                rare.ratio("mean_us", "vic", "default"), 1.02, swap("slow/vic", "slow/no floor"),
                paper=1.0),
        at_least("1000 reads a second without iopsThreshold: 1/R",
                 1 / rare("mean_ratio", "no floor"), 2, instead("slow/no floor", "slow/vic")),
        within("the same: latency added, against (1/R - 1) / IOPS", ADDED / BOUND, 0.4, 1,
               instead("slow/default", "slow/no floor"), paper="0.4 to 1"),
    ),
    panels=(
        Panel("1000 reads a second", "mean latency, ms", (
            Series("here", [(r, rare("mean_us", r) / 1000)
                            for r in ("default", "vic", "no floor")]),)),
        Panel("1000 reads a second", "interrupts for a read", (
            Series("here", [(r, rare("irqs_per_io", r))
                            for r in ("default", "vic", "no floor")]),)),
    ),
    columns=(IOPS, MEAN, Column("interrupts for an I/O", "irqs_per_io"),
             Column("mean R", "mean_ratio")),
    notes=(
        "The rate comes from the medium (32 ms, jitter 8 ms, 32 in flight): fio's rate_iops "
        "waits for all reads in flight before it sleeps, so that they come in bursts.",
        "One check was made wider (commit 2462283): interrupts for an I/O with 1/2 only, 0.5 to "
        "0.75, before 0.45 to 0.55. The commands in flight are below 4 in part of the epochs, and "
        "there each has its interrupt.",
    ),
)
