# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Figure 11: what a larger threshold costs the sync job."""

from cint.figures import jobs
from cint.figures.checks import Deviation, at_least, instead, near, swap, within
from cint.figures.model import NO_HINTS, Figure, Group, Panel, Run, Series, runs
from cint.figures.values import Expr, against, least, least_step, said, value

THRESHOLDS = (4, 8, 16, 32, 64)
CINT = Run("cint:delta=1ms,thr=65535", "cint")
#: Ratios to cint at each threshold.
PAPER = {"iops": (1.04, 1.11, 1.16, 1.19, 1.20), "mean_us": (1.7, 2.3, 3.2, 4.0, 6.8),
         "device_irqs": (2.1, 1.12, 0.59, 0.30, 0.15)}
PAPER_SYNC = (0.59, 0.44, 0.32, 0.25, 0.15)


def adaptive(thr: int) -> Run:
    """The gap never ends a burst: the threshold alone does."""
    return Run(f"adaptive:delta=1ms,thr={thr}", f"thr {thr}")


def of(name: str, thr: int, cell: str = "mixed") -> Expr:
    return value(name, f"thr {thr}", cell)


def to_cint(name: str, thr: int, cell: str = "mixed") -> Expr:
    return against(name, f"thr {thr}", "cint", cell)


BEHIND = said(
    "of the {:.0f} us at thr 4 the device holds a completion for {:.0f} us: the rest passes behind "
    "the other job's reads, of which up to 512 are submitted at once, and hides what thr adds up "
    "to 32", of("mean_us", 4), of("hold_us", 4))


def panel(title: str, name: str, paper: tuple[float, ...], cell: str = "mixed") -> Panel:
    return Panel(title, "adaptive, ratio to cint", (
        Series("here", [(t, to_cint(name, t, cell)) for t in THRESHOLDS]),
        Series("paper", list(zip(THRESHOLDS, paper, strict=True)), paper=True)),
        kind="lines", x="threshold", log_x=True)


FIGURE = Figure(
    "cint-fig11", "cinterrupts", "A larger threshold costs the sync job",
    "section 3.3, Figure 11",
    "Beside a deep asynchronous load the sync job's latency grows with adaptive's threshold; "
    "with Urgent it does not depend on one.",
    groups=(Group(runs(*map(adaptive, THRESHOLDS), CINT, NO_HINTS, Run("cint+ooo")),
                  (jobs.mix(512, 512, 1),)),),
    checks=(
        *(near(f"thr {t}: I/Os for an interrupt", of("ios_per_irq", t), t, 0.05,
               swap(f"thr {t}", f"thr {o}"))
          for t, o in zip(THRESHOLDS, (*THRESHOLDS[1:], 4), strict=True)),
        at_least("sync latency rises with thr: the least step",
                 least_step([of("mean_us", t) for t in THRESHOLDS]), 1.0001,
                 swap("thr 4", "thr 64")),
        at_least("sync latency, thr 64 against thr 4", of("mean_us", 64) / of("mean_us", 4), 3,
                 swap("thr 4", "thr 64"), paper=4.0, deviation=Deviation(1.9, 2.2, BEHIND)),
        at_least("interrupts at thr 8 against cint", to_cint("device_irqs", 8), 1,
                 instead("thr 8", "thr 32"), paper=1.12),
        within("interrupts at thr 16 against cint", to_cint("device_irqs", 16), 0, 1,
               instead("thr 16", "thr 4"), paper=0.59),
        at_least("total IOPS, the least of adaptive's against cint",
                 least([to_cint("iops", t) for t in THRESHOLDS]), 1.0001,
                 instead("thr 4", "cint"), paper=1.04, deviation=Deviation(0.97, 0.999, said(
                     "at thr 4 adaptive sends {:.2f} times cint's interrupts a second, in the "
                     "paper 2.1; at thr 8 it has {:.2f} times cint's reads, and the paper 1.11",
                     to_cint("device_irqs", 4), to_cint("iops", 8)))),
        at_least("sync latency, thr 32 against cint", to_cint("mean_us", 32), 2, paper=4.0),
        within("cint: interrupts for a sync read",
               value("irqs_per_io", "cint", "mixed") / value("hint.urgent", "cint", "mixed"),
               0.95, 1.05, instead("cint", "thr 4"), paper=1.0),
        at_least("cint: share of interrupts for the reason 'urgent'",
                 value("reason.urgent", "cint", "mixed"), 0.95, instead("cint", "cint, no hints")),
    ),
    panels=(panel("(a) total IOPS", "iops", PAPER["iops"]),
            panel("(b) sync IOPS", "iops", PAPER_SYNC, "mixed.sync"),
            panel("(c) sync latency", "mean_us", PAPER["mean_us"]),
            panel("(d) interrupts", "device_irqs", PAPER["device_irqs"])),
    notes=(
        "As in the published artefact the asynchronous job has 512 reads in flight, submits all "
        "that it has room for and reaps what there is; its reads are unmarked. delta is 1 ms, "
        "so that the threshold alone ends a burst.",
        "The sync job asks the scheduler for a slice of 0.1 ms.",
        "'cint, no hints' is the negative control: the policy as it is by default, with the "
        "guest's hints switched off and nothing inferred.",
    ),
)
