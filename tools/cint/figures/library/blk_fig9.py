# SPDX-License-Identifier: GPL-2.0-or-later
"""blk-switch, Figure 9: more and more threads of one L beside the threads of one T."""

from dataclasses import replace

from cint.figures import switched
from cint.figures.checks import Check, Control, Deviation, at_least, instead, near, swap
from cint.figures.library import blk_fig7
from cint.figures.library.blk_fig7 import CELLS, CPUS, MOST
from cint.figures.model import Figure, Group, Panel, Series
from cint.figures.polled import REAL_TIME_THREAD
from cint.figures.switched import APP, OFF, PAID, latency, of_l, of_t, throughput
from cint.figures.values import Expr, said

THREADS, PROCESSES = "threads, ", "processes, "
#: The paper's "exactly the same trend": of Figure 7's ratios, and of its bound for the mean.
TOLERANCE = 0.25
WORKLOADS = tuple(
    switched.anywhere(cell, f"{count} threads of L beside {CPUS} of T, all of which may run "
                      "anywhere", latency(count, REAL_TIME_THREAD), throughput(CPUS))
    for count, cell in CELLS.items())


def called(prefix: str, groups: tuple[Group, ...]) -> tuple[Group, ...]:
    """The groups, whose runs have another name."""
    return tuple(replace(group, prefix=prefix + group.prefix) for group in groups)


def gain(who: str, name: str = "p99_us") -> Expr:
    """L's latency as a ratio of off to app, at the most L."""
    return of_l(MOST, who + PAID).ratio(name, OFF, APP)


def kept(who: str) -> Expr:
    """What T has under app of its throughput under off, at the most L."""
    return of_t(MOST, who + PAID).ratio("iops", APP, OFF)


def same(what: str, ratio: Expr, other: Expr, control: Control,
         deviation: Deviation | None = None) -> Check:
    """A ratio of threads, against that of processes."""
    return near(f"per byte: {what}, threads against processes", ratio / other, 1, TOLERANCE,
                control, paper="the same trend", deviation=deviation)


#: Two controls: the modes exchanged for threads, and a T whose bytes cost nothing.
EXCHANGED = swap(f"{THREADS}{PAID}{OFF}", f"{THREADS}{PAID}{APP}")
FREE = instead(f"{THREADS}{PAID}{OFF}", f"{THREADS}{OFF}")

FIGURE = Figure(
    "blk-fig9", "blk-switch", "More and more threads of one L", "section 5.2, Figures 9 and 8",
    "With one T and one L of several threads in place of as many processes the trend is exactly "
    "that of Figure 7.",
    groups=(*called(THREADS, switched.groups((OFF, APP), WORKLOADS, CPUS)),
            *called(PROCESSES, tuple(blk_fig7.FIGURE.groups))),
    checks=(
        at_least(f"per byte: p99 of {MOST}, off against app", gain(THREADS), 3,
                 EXCHANGED, paper="as Figure 7"),
        at_least(f"per byte: mean of {MOST}, off against app", gain(THREADS, "mean_us"),
                 1.5 * (1 - TOLERANCE), EXCHANGED, paper="as Figure 7"),
        at_least(f"per byte: T beside {MOST}, app against off", kept(THREADS), 0.9, FREE,
                 paper="as Figure 7",
                 deviation=switched.more_of_l(0.4, 0.6, THREADS + PAID + APP, THREADS + PAID + OFF,
                                              MOST)),
        same(f"p99 of {MOST}, off against app", gain(THREADS), gain(PROCESSES), EXCHANGED,
             Deviation(1.05, 1.5, said(
                 "four L wait longer in mode off if they are threads, and as long in mode app: "
                 "{:.0f} and {:.0f} us, as processes {:.0f} and {:.0f}",
                 *(of_l(MOST)("p99_us", f"{who}{PAID}{mode}")
                   for who in (THREADS, PROCESSES) for mode in (OFF, APP))))),
        same(f"mean of {MOST}, off against app", gain(THREADS, "mean_us"),
             gain(PROCESSES, "mean_us"), EXCHANGED),
        same(f"T beside {MOST}, app against off", kept(THREADS), kept(PROCESSES), FREE),
    ),
    panels=tuple(
        Panel(f"{title}: {what}", unit, tuple(
            Series(f"{who}{mode}", [(count, read(cell)(name, f"{who}{prefix}{mode}"))
                                    for count, cell in CELLS.items()])
            for who in (THREADS, PROCESSES) for mode in (OFF, APP)), kind="lines",
            x="threads of L")
        for prefix, title in switched.TITLES.items()
        for what, unit, read, name in (("p99 of L", "us", of_l, "p99_us"),
                                       ("p99.9 of L", "us", of_l, "p999_us"),
                                       ("T's requests of 64 KiB", "per s", of_t, "iops"))),
    columns=switched.COLUMNS,
    notes=(switched.NETWORK, switched.JOBS,
           "All threads, L's and T's, are of one process of fio. The runs of processes are those "
           "of blk-fig7, where L are processes.",
           "L's threads are of SCHED_RR, as L's processes are in the other figures.",
           switched.FAST_TICKS, "The paper has six cores, six threads of T and up to twelve of L."),
)
