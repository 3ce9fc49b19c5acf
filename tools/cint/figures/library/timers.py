# SPDX-License-Identifier: GPL-2.0-or-later
"""Every timer beside the policies that know who waits: what hints add to the best of timers."""

from cint.figures import jobs
from cint.figures.checks import at_least, at_most, instead, within
from cint.figures.model import USUAL, Column, Figure, Group, Panel, Run, Series, runs
from cint.figures.values import Cell

#: us from the first completion to the interrupt.
TIMES = (2, 5, 10, 20, 50, 100)
#: us without a completion that end a burst.
DELTAS = (3, 6, 12, 24, 48)
OOO = "cint+ooo"
#: The timer with the most reads in all, the one before it, and a delta beyond which nothing is won.
BEST, SHORTER, CALIBRATED = "timer 20 us", "timer 10 us", "cint 12 us"
#: Twenty times as long, for one read in a thousand.
LONG = "long/"
MIXED, LONE = Cell("mixed", base="default"), Cell("sync", base="default")


def timer(us: int) -> Run:
    return Run(f"static:time={us}us", f"timer {us} us")


def cint(us: int, name: str = "cint", policy: str = "cint") -> Run:
    return Run(f"{policy}:delta={us}us", f"{name} {us} us")


def lines(name: str, of: Cell) -> tuple[Series, ...]:
    """Over the time of a timer, and over delta of the two that know who waits."""
    return tuple(Series(what, [(us, of.ratio(name, f"{what} {us} us")) for us in swept])
                 for what, swept in (("timer", TIMES), ("cint", DELTAS), (OOO, DELTAS)))


FIGURE = Figure(
    "timers", "cost", "The best timer, and what hints add to it",
    "not a figure of a paper; the question of cinterrupts, section 3.3, and its 5.2 for delta",
    "A timer of 10 or 20 us saves as many interrupts as hints do, or more, and has a few percent "
    "more reads in all. Who waits pays for it: 1.3 to 1.7 times default's latency beside others, "
    "two or three times alone. With hints nobody who waits does, and delta need not be found "
    "exactly: beyond 12 us nothing changes, since what is urgent ends each burst.",
    groups=(Group((*runs("default", "adaptive", "vic"), *map(timer, TIMES), *map(cint, DELTAS),
                   *(cint(us, OOO, OOO) for us in DELTAS)),
                  (jobs.mix(16, 1, 1), jobs.SYNC)),
            Group((timer(20), cint(12)), (jobs.mix(16, 1, 1),), prefix=LONG, full_s=1.0)),
    checks=(
        at_least("lone read, timer of 10 us against default", LONE.ratio("mean_us", SHORTER), 1.8,
                 instead(SHORTER, CALIBRATED)),
        at_least("lone read, timer of 20 us against default", LONE.ratio("mean_us", BEST), 2.7,
                 instead(BEST, CALIBRATED)),
        *(within(f"lone read, cint with delta {us} us against default",
                 LONE.ratio("mean_us", f"cint {us} us"), 0.97, 1.03,
                 instead(f"cint {us} us", SHORTER)) for us in DELTAS),
        at_least("mixed, reads a second: the best timer against cint at 12 us",
                 MIXED.ratio("iops", BEST, CALIBRATED), 1.02),
        at_least("mixed, reads a second: cint at 12 us against default",
                 MIXED.ratio("iops", CALIBRATED), 1.1),
        at_least("mixed, reads a second: cint at 12 us against 6 us",
                 MIXED.ratio("iops", CALIBRATED, "cint 6 us"), 1.03),
        within("mixed, reads a second: cint at 48 us against 12 us",
               MIXED.ratio("iops", "cint 48 us", CALIBRATED), 0.98, 1.02,
               instead("cint 48 us", "timer 50 us")),
        within("mixed, interrupts a second: cint at 12 us against a timer of 10 us",
               MIXED.ratio("device_irqs", CALIBRATED, SHORTER), 0.85, 1.15,
               instead(CALIBRATED, "default")),
        at_most("mixed, who waits: cint at 12 us against default",
                MIXED.ratio("mean_us", CALIBRATED), 1, instead(CALIBRATED, SHORTER)),
        at_least("mixed, who waits: a timer of 10 us against cint at 12 us",
                 MIXED.ratio("mean_us", SHORTER, CALIBRATED), 1.2),
        at_least("mixed, who waits: the best timer against cint at 12 us",
                 MIXED.ratio("mean_us", BEST, CALIBRATED), 1.5),
        at_least("mixed, who waits, 99.9 %: the best timer against cint at 12 us",
                 MIXED.ratio("p999_us", LONG + BEST, LONG + CALIBRATED), 1.4),
        at_most("mixed, who waits: cint+ooo at 12 us against cint",
                MIXED.ratio("mean_us", f"{OOO} 12 us", CALIBRATED), 0.97),
        at_most("mixed, reads a second: cint+ooo at 12 us against cint",
                MIXED.ratio("iops", f"{OOO} 12 us", CALIBRATED), 0.7),
    ),
    panels=tuple(
        Panel(title, "ratio to default", lines(name, of), "lines",
              "time of the timer, or delta, us", log_x=True)
        for title, name, of in (
            ("mixed: reads a second", "iops", MIXED),
            ("mixed: who waits, mean", "mean_us", MIXED),
            ("mixed: interrupts a second", "device_irqs", MIXED),
            ("a lone read, mean", "mean_us", LONE))),
    columns=(*USUAL, Column("p99.9, us", "p999_us")),
    notes=("Out of order an Urgent completion tells of itself alone. Who waits gains a tenth, and "
           "the other job waits for the end of its burst, which at 12 us hardly comes: it is worth "
           "it where the others may wait.",),
)
