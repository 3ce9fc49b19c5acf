# SPDX-License-Identifier: GPL-2.0-or-later
"""blk-switch, Figure 3(d): the niceness of an L that polls."""

from cint.figures import spinning
from cint.figures.checks import at_least, at_most
from cint.figures.model import Figure, Panel, Series
from cint.figures.spinning import (
    ALONE,
    SOLITARY,
    both,
    exchanged,
    latency,
    nice,
    of_l,
    t_left,
    throughput,
)
from cint.figures.values import least_step
from cint.measure.workloads import Workload

RUN = "EEVDF"
NICENESS = (-20, -15, -10, -5, 0)
CELLS = {niceness: f"nice {niceness}" for niceness in NICENESS}
FIRST, LAST = CELLS[-20], CELLS[0]
#: The weights that Linux gives to them (sched_prio_to_weight), and what T is left of the CPU.
WEIGHTS = {-20: 88761, -15: 29154, -10: 9548, -5: 3121, 0: 1024}
SHARES = {niceness: WEIGHTS[0] / (WEIGHTS[0] + weight) for niceness, weight in WEIGHTS.items()}
#: At the highest priority T has a turn every 0.13 s.
RUNTIME_S = 0.3


def at(niceness: int) -> Workload:
    """One L of this niceness beside T."""
    return both(CELLS[niceness], f"L, niceness {niceness}, beside T, niceness 0; both poll",
                latency(1, nice(niceness)), throughput())


def line(title: str, name: str) -> Panel:
    """A value of L's over its niceness."""
    return Panel(title, "us", (Series("here", [(n, of_l(name, RUN, c)) for n, c in CELLS.items()]),
                               ), kind="lines", x="L's niceness", log_y=True)


FIGURE = Figure(
    "blk-fig3d", "blk-switch", "Polling with priority: L's niceness", "section 2.2, Figure 3(d)",
    "The scheduler gives turns by niceness: from -20, with which T starves, to 0 L gets a smaller "
    "and smaller share of the CPU, and T more throughput, at the cost of L's latency.",
    groups=(spinning.group(RUN, (*SOLITARY, *(at(n) for n in NICENESS)), RUNTIME_S),),
    checks=(
        at_most(f"T beside L, {FIRST}, against alone", t_left(RUN, FIRST), 0.05,
                exchanged(FIRST, LAST), paper="near 0"),
        at_least("T, least step to a higher niceness",
                 least_step([t_left(RUN, cell) for cell in CELLS.values()]), 1.1,
                 exchanged(FIRST, LAST), paper="rises"),
        at_least("mean of L, least step to a higher niceness",
                 least_step([of_l("mean_us", RUN, cell) for cell in CELLS.values()]), 1.001,
                 exchanged(FIRST, LAST), paper="rises"),
        at_least(f"p99 of L, {LAST} against {FIRST}",
                 of_l("p99_us", RUN, LAST) / of_l("p99_us", RUN, FIRST), 5,
                 exchanged(FIRST, LAST), paper="rises"),
        at_most(f"p99 of L, {FIRST}, against alone",
                of_l("p99_us", RUN, FIRST) / of_l("p99_us", RUN, ALONE), 1.3,
                exchanged(FIRST, LAST), paper="as alone"),
    ),
    panels=(
        Panel("T's reads of 64 KiB, against alone", "", (
            Series("here", [(n, t_left(RUN, cell)) for n, cell in CELLS.items()]),
            Series("share by weight", [(n, SHARES[n]) for n in CELLS], paper=True)),
            kind="lines", x="L's niceness"),
        line("mean of L", "mean_us"), line("p99 of L", "p99_us"),
    ),
    columns=spinning.COLUMNS,
    notes=(spinning.APPLICATIONS, spinning.ONE_AFTER,
           "The scheduler is EEVDF (Linux 6.12), which takes its weights from the niceness as the "
           "paper's CFS did; hollow is the share that they leave to T.", spinning.TICKS,
           "A turn of T makes one of L's reads wait; at which percentile that is seen depends on "
           "how many reads L does until the next."),
)
