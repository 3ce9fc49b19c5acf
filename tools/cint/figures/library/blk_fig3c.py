# SPDX-License-Identifier: GPL-2.0-or-later
"""blk-switch, Figure 3(c): an L of higher priority that sleeps once it has submitted."""

from collections.abc import Sequence

from cint.figures import spinning
from cint.figures.checks import Deviation, at_least, at_most
from cint.figures.model import Figure, Panel, Series
from cint.figures.spinning import (
    ALONE,
    FIRST,
    SOLITARY,
    asleep,
    both,
    exchanged,
    latency,
    nice,
    of_l,
    t_left,
    throughput,
)
from cint.figures.values import Expr, least_step, said
from cint.measure.workloads import Workload

RUN = "priority"
SLEEPS = (0, 5, 10, 25, 50, 100, 200)
CELLS = {us: f"{us} us" for us in SLEEPS}
NONE, BRIEF, LONGEST = CELLS[0], CELLS[10], CELLS[200]
#: Longer than a read takes.
LONG = tuple(cell for us, cell in CELLS.items() if us > spinning.READ_US)
RUNTIME_S = 0.3


def resting(us: int) -> Workload:
    """One L that sleeps for so long, beside T."""
    rests = f"sleeps for {us} us once it has submitted" if us else "polls all the time"
    return both(CELLS[us], f"L, niceness {FIRST}, {rests}, beside T",
                latency(1, f"{nice(FIRST)}{asleep(us)}"), throughput())


def rises(name: str, cells: Sequence[str]) -> Expr:
    """The least step of a value of L's to a longer sleep."""
    return least_step([of_l(name, RUN, cell) for cell in cells])


def line(title: str, name: str) -> Panel:
    """A value of L's over the interval."""
    return Panel(title, "us", (Series("here", [(us, of_l(name, RUN, cell))
                                               for us, cell in CELLS.items()]),),
                 kind="lines", x="L sleeps for, us")


FIGURE = Figure(
    "blk-fig3c", "blk-switch", "Polling with priority: L that sleeps", "section 2.2, Figure 3(c)",
    "Beside an L of higher priority that polls, T starves. If L sleeps after submission T gets the "
    "CPU meanwhile: the longer, the more throughput it has, and the higher is L's latency.",
    groups=(spinning.group(RUN, (*SOLITARY, *(resting(us) for us in SLEEPS)), RUNTIME_S),),
    checks=(
        at_most("T beside an L that polls, against alone", t_left(RUN, NONE), 0.05,
                exchanged(NONE, LONGEST), paper="near 0"),
        at_least("T, least step to a longer sleep",
                 least_step([t_left(RUN, cell) for cell in CELLS.values()]), 1.001,
                 exchanged(BRIEF, LONGEST), paper="rises"),
        at_least(f"T beside an L that sleeps for {LONGEST}, against alone",
                 t_left(RUN, LONGEST), 0.8, exchanged(NONE, LONGEST)),
        *(at_least(f"{what} of L, least step to a longer sleep, from {LONG[0]} on",
                   rises(name, LONG), 1.1, exchanged(LONG[0], LONGEST), paper="rises")
          for what, name in (("mean", "mean_us"), ("p99", "p99_us"))),
        at_least(f"mean of L that sleeps for {BRIEF}, against one that polls",
                 of_l("mean_us", RUN, BRIEF) / of_l("mean_us", RUN, NONE), 1.1,
                 exchanged(NONE, LONGEST), paper="rises", deviation=Deviation(0.98, 1.099, said(
                     "the read itself takes longer than that, and L, asleep meanwhile, is awake in "
                     "time: with its niceness it takes the CPU from T at once, but for a few reads "
                     "(the longest takes {:.0f} us). Until then a sleep costs L nothing and gives "
                     "T {:.0f} % of its throughput alone", of_l("max_us", RUN, BRIEF),
                     t_left(RUN, BRIEF) * 100))),
        at_most("p99 of L that polls, against alone",
                of_l("p99_us", RUN, NONE) / of_l("p99_us", RUN, ALONE), 1.3,
                exchanged(NONE, LONGEST), paper="as alone"),
    ),
    panels=(
        Panel("T's reads of 64 KiB, against alone", "", (
            Series("here", [(us, t_left(RUN, cell)) for us, cell in CELLS.items()]),),
            kind="lines", x="L sleeps for, us"),
        line("mean of L", "mean_us"), line("p99 of L", "p99_us"),
    ),
    columns=spinning.COLUMNS,
    notes=(spinning.APPLICATIONS, spinning.ONE_AFTER,
           f"L's niceness is {FIRST}, T's 0; the scheduler is EEVDF (Linux 6.12), the paper's was "
           "CFS. L sleeps from its submission on (clock_nanosleep) and polls for what is then left "
           "of the read.", spinning.TICKS),
)
