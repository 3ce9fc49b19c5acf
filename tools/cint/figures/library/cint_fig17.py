# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Figure 17: protection from storms of Urgent."""

from cint.figures import jobs
from cint.figures.checks import Deviation, at_least, at_most, instead, swap, within, wrong
from cint.figures.model import USUAL, Column, Figure, Group, Panel, Run, Series, runs
from cint.figures.values import Cell, said, value

LIMITS = (100_000, 50_000, 10_000)
ABOVE = 1_000_000
#: Of what there are without a limit, as the paper's 100K is of its 150K.
TWO_THIRDS = 150_000
JOBS = (jobs.sync(4, "storm"), jobs.sync(1, "calm"))
OFF = Run("cint", "off")
#: Of the storm; ratios are to a guest without a limit.
STORM = Cell("storm", base=OFF.title)
NO_HINTS = Run("cint:infer=off", "off, no hints", hints=False)
SHOWN = ("off", "100K", "50K", "10K")


def name(limit: int) -> str:
    return f"{limit // 1000}K"


def limited(limit: int) -> Run:
    return Run(f"cint:max-irq-rate={limit}", name(limit))


FIGURE = Figure(
    "cint-fig17", "cinterrupts", "Protection from storms of Urgent", "section 4.3, Figure 17",
    "Four threads mark all their reads Urgent. With a limit of 100,000 interrupts a second the "
    "device keeps to it, at no loss of throughput, and lets go when the storm is over.",
    groups=(
        Group(runs(OFF, NO_HINTS, *map(limited, (ABOVE, TWO_THIRDS, *LIMITS[:2]))), JOBS),
        # longer: the mean takes the same number of interrupts to find that there is a storm
        Group(runs(limited(LIMITS[2])), JOBS, runtime_s=0.15),
    ),
    checks=(
        *(at_most(f"limit {name(n)}: interrupts a second, against the limit",
                  STORM("device_irqs", name(n)) / n, 1.05, swap(name(n), "off"), paper="at most 1")
          for n in LIMITS),
        *(at_least(f"limit {name(n)}: interrupts a second, against the limit: it is used",
                   STORM("device_irqs", name(n)) / n, 0.5,
                   wrong(10) if n == min(LIMITS) else instead(name(n), name(min(LIMITS))))
          for n in LIMITS),
        at_least("limit of two thirds: throughput against none",
                 STORM.ratio("iops", name(TWO_THIRDS)), 1, instead(name(TWO_THIRDS), "10K"),
                 paper="slightly up"),
        at_most("limit of two thirds: latency against none",
                STORM.ratio("mean_us", name(TWO_THIRDS)), 1, instead(name(TWO_THIRDS), "10K"),
                paper="slightly down"),
        within("a limit above the natural rate: interrupts against none",
               STORM.ratio("device_irqs", name(ABOVE)), 0.98, 1.02, swap(name(ABOVE), "50K"),
               paper=1.0),
        at_least("limit 10K: mean latency", STORM("mean_us", "10K"), 100,
                 instead("10K", "100K"), paper="at least 100", unit="us",
                 deviation=Deviation(98.5, 99.99, (
                     "interrupts are 100 us apart, and of that a thread takes part to submit its "
                     "next read"))),
        within("after the storm: interrupts for a read, with limit 100K",
               value("irqs_per_io", "100K", "calm"), 0.95, 1.05, instead("calm", "storm"),
               paper=1.0),
        within("no limit: share of interrupts for the reason 'urgent'",
               STORM("reason.urgent", "off"), 1, 1, instead("off", "off, no hints")),
    ),
    panels=(
        Panel("interrupts", "thousands a second", (
            Series("here", [(r, STORM("device_irqs", r) / 1000) for r in SHOWN]),
            Series("paper", [("off", 150), ("100K", 100)], paper=True))),
        Panel("throughput", "ratio to no limit", (
            Series("here", [(r, STORM.ratio("iops", r)) for r in SHOWN]),)),
        Panel("mean latency", "us", (
            Series("here", [(r, STORM("mean_us", r)) for r in SHOWN]),)),
    ),
    columns=(*USUAL, Column("storm, share", "reason.storm")),
    notes=(
        "The mean interval is an EWMA with weight 1/128, as in the paper. 'calm' is one thread "
        "after the four, in the same guest.",
        said("Without a limit there are {:.0f},000 interrupts a second here, for a read that is "
             "waited for takes less CPU time than in the paper, where there are 150,000. The "
             f"paper's limit of 100K is two thirds of that, and {name(TWO_THIRDS)} here. Below "
             "that, 100K, each of the four reads in flight waits for its interrupt while the CPU "
             "is idle: {:.2f} of the throughput are left.",
             STORM("device_irqs", "off") / 1000, STORM.ratio("iops", "100K")),
    ),
)
