# SPDX-License-Identifier: GPL-2.0-or-later
"""Every timer beside the policies that know who waits: what hints add to the best of timers."""

from cint.figures import jobs
from cint.figures.checks import at_least, at_most, instead, swap, within
from cint.figures.model import USUAL, Column, Figure, Group, Panel, Run, Series, runs
from cint.figures.values import Expr, against, value

#: us from the first completion to the interrupt.
TIMES = (2, 5, 10, 20, 50, 100)
#: us without a completion that end a burst.
DELTAS = (3, 6, 12, 24, 48)
#: That with the most reads, and its like: where it is, the checks ask.
BEST, CALIBRATED = "timer 10 us", "cint 12 us"
OOO = "cint+ooo"


def timer(us: int) -> Run:
    return Run(f"static:time={us}us", f"timer {us} us")


def cint(us: int, name: str = "cint", policy: str = "cint") -> Run:
    return Run(f"{policy}:delta={us}us", f"{name} {us} us")


def to_default(name: str, run: str, cell: str) -> Expr:
    return against(name, run, "default", cell)


def lines(name: str, cell: str) -> tuple[Series, ...]:
    """Over the time of a timer, and over delta of the two that know who waits."""
    return (
        Series("timer", [(us, to_default(name, f"timer {us} us", cell)) for us in TIMES]),
        Series("cint", [(us, to_default(name, f"cint {us} us", cell)) for us in DELTAS]),
        Series(OOO, [(us, to_default(name, f"{OOO} {us} us", cell)) for us in DELTAS]),
    )


FIGURE = Figure(
    "timers", "cost", "The best timer, and what hints add to it",
    "not a figure of a paper; the question of cinterrupts, section 3.3, and its 5.2 for delta",
    "A timer of the right time has the throughput of a policy that is told who waits, where a "
    "load keeps the drive busy. What it cannot do is to end early: it doubles a lone read's time, "
    "which hints leave as it is.",
    groups=(Group((*runs("default", "adaptive", "vic"), *map(timer, TIMES), *map(cint, DELTAS),
                   *(cint(us, OOO, OOO) for us in DELTAS)),
                  (jobs.mix(16, 1, 1), jobs.SYNC)),),
    checks=(),
    panels=tuple(
        Panel(title, "ratio to default", lines(name, cell), "lines",
              "time of the timer, or delta, us", log_x=True)
        for title, name, cell in (
            ("mixed: reads a second", "iops", "mixed"),
            ("mixed: who waits, mean", "mean_us", "mixed"),
            ("mixed: interrupts a second", "device_irqs", "mixed"),
            ("a lone read, mean", "mean_us", "sync"))),
    columns=(*USUAL, Column("p99.9, us", "p999_us")),
    slow=True,
)
