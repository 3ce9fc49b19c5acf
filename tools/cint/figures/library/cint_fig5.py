# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Figure 5: polling and hybrid polling against interrupts, on one core."""

from cint.figures import polled
from cint.figures.checks import Deviation, at_least, at_most, instead, swap, within
from cint.figures.model import Figure, Group, Panel, Series
from cint.figures.polled import BY_SIZE, CLASSIC, IRQ, OURS, ratio
from cint.figures.values import Expr, constant, said, value

NAMES = (IRQ, CLASSIC, BY_SIZE, OURS)
ONE, TWO, MIXED = "alone", "two", "with 64k"
LONE = "one thread/"
JOBS = (
    polled.job(TWO, "two threads that read 4k and wait (pvsync2, hipri)",
               polled.section("small", "4k", "numjobs=2\ngroup_reporting\n")),
    polled.beside("4k", "64k"),
)
#: IOPS, latency and CPU against interrupts, by case: polling, hybrid.
PAPER = {ONE: ((1.17, 0.84, 3.21), (1.13, 0.86, 2.10)),
         TWO: ((1.04, 0.96, 1.47), (1.06, 0.95, 1.47)),
         MIXED: ((None, None, None), (1.0, 1.0, 2.7))}


def one(name: str, run: str) -> Expr:
    return value(name, f"{LONE}{run}", ONE)


def against(name: str, run: str, base: str, case: str) -> Expr:
    """A run's value as a ratio to another's."""
    return one(name, run) / one(name, base) if case == ONE else ratio(name, run, base, case)


def panel(title: str, name: str, index: int) -> Panel:
    known = [(case, PAPER[case][1][index]) for case in PAPER]
    return Panel(title, "ratio to interrupts", (
        *(Series(run, [(case, against(name, run, IRQ, case)) for case in PAPER])
          for run in (CLASSIC, BY_SIZE, OURS)),
        Series("paper, hybrid", [(c, v) for c, v in known if v is not None], paper=True)))


FIGURE = Figure(
    "cint-fig5", "cinterrupts", "Polling and hybrid polling on one core", "section 2, Figure 5",
    "Hybrid polling does well for one thread with one size; with two threads it takes all of the "
    "CPU for little, and with two sizes it is no faster than interrupts.",
    groups=(
        # by itself: half the mean is that of the job before for as long as a window lasts
        Group(polled.runs(*NAMES), (polled.alone("4k"),), prefix=LONE, runtime_s=0.1,
              setup=polled.warm("4k")),
        Group(polled.runs(*NAMES), JOBS, runtime_s=0.1, setup=polled.warm("4k")),
    ),
    checks=(
        at_least("one thread: CPU, polled", one("cpu_percent", CLASSIC), 99,
                 swap(f"{LONE}{CLASSIC}", f"{LONE}{IRQ}"), paper=100, unit="%"),
        at_most("one thread: latency, hybrid against polled",
                against("mean_us", BY_SIZE, CLASSIC, ONE), 1.05,
                instead(f"{LONE}{BY_SIZE}", f"{LONE}{IRQ}"),
                paper=round(0.86 / 0.84, 3)),
        at_most("one thread: CPU, hybrid against polled",
                against("cpu_percent", BY_SIZE, CLASSIC, ONE), 0.75,
                swap(f"{LONE}{BY_SIZE}", f"{LONE}{CLASSIC}"),
                paper=round(2.10 / 3.21, 3)),
        at_least("two threads: CPU, hybrid against polled",
                 ratio("cpu_percent", BY_SIZE, CLASSIC, TWO), 0.95, instead(BY_SIZE, IRQ),
                 paper=1.0, deviation=Deviation(0.76, 1.0, said(
                     "half the mean is too long where two share a CPU: a completion is unseen for "
                     "{:.1f} us, with one thread for {:.2f}, and for {:.0f} % of the time both "
                     "sleep",
                     value("head_us", BY_SIZE, TWO), one("head_us", BY_SIZE),
                     constant(100) - value("cpu_percent", BY_SIZE, TWO)))),
        within("two sizes: latency of 4 KiB, hybrid against interrupts",
               ratio("mean_us", BY_SIZE, IRQ, MIXED), 0.85, 1.15, instead(BY_SIZE, CLASSIC),
               paper=1.0),
        at_least("two sizes: CPU, hybrid against interrupts",
                 ratio("cpu_percent", BY_SIZE, IRQ, MIXED), 2.16, instead(BY_SIZE, IRQ),
                 paper=2.7, deviation=Deviation(1.8, 2.15, said(
                     "two threads that sleep for half of their time leave {:.0f} % of the CPU "
                     "idle here, and interrupts take {:.0f} %",
                     constant(100) - value("cpu_percent", BY_SIZE, MIXED),
                     value("cpu_percent", IRQ, MIXED)))),
        at_most("one thread: latency, ours against polled",
                against("mean_us", OURS, CLASSIC, ONE), 1.10,
                instead(f"{LONE}{OURS}", f"{LONE}{IRQ}")),
        at_most("one thread: CPU, ours against polled",
                against("cpu_percent", OURS, CLASSIC, ONE), 0.60,
                swap(f"{LONE}{OURS}", f"{LONE}{CLASSIC}")),
        at_most("two sizes: latency of 4 KiB, ours against polled",
                ratio("mean_us", OURS, CLASSIC, MIXED), 1.10, instead(OURS, IRQ),
                deviation=Deviation(1.0, 1.3, said(
                    "small reads that poll all the time keep the CPU from the job with large ones, "
                    "which does {:.1f} thousand a second then and {:.1f} with ours; behind one of "
                    "these a small read takes {:.0f} us instead of {:.0f}",
                    value("iops", CLASSIC, f"{MIXED}.large") / 1000,
                    value("iops", OURS, f"{MIXED}.large") / 1000,
                    value("p99_us", OURS, MIXED), value("p50_us", OURS, MIXED)))),
        at_most("two sizes: CPU, ours against polled",
                ratio("cpu_percent", OURS, CLASSIC, MIXED), 0.60, swap(OURS, CLASSIC),
                deviation=Deviation(0.9, 0.97, said(
                    "a small read takes {:.0f} us or, behind a large one, {:.0f}: ours follows the "
                    "fast ones, not to be late for them, and polls for the rest",
                    value("p50_us", OURS, MIXED), value("p99_us", OURS, MIXED)))),
    ),
    panels=(panel("IOPS", "iops", 0), panel("latency of 4 KiB", "mean_us", 1),
            panel("CPU", "cpu_percent", 2)),
    columns=polled.COLUMNS,
    notes=(polled.ONE_CPU, polled.SCHEDULER,
           "'hybrid' is half the mean time of the same direction and size, as the paper's Linux "
           "5.0 had it."),
    slow=True, sets=("polling",),
)
