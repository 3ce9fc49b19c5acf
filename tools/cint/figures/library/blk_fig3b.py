# SPDX-License-Identifier: GPL-2.0-or-later
"""blk-switch, Figure 3(b): time slices of applications that poll, and Figure 2's bars of SPDK."""

from cint.figures import checks, spinning
from cint.figures.checks import Deviation, at_least, at_most, swap
from cint.figures.model import Figure, Panel, Series
from cint.figures.spinning import (
    ALONE,
    FIRST,
    SOLITARY,
    T_ALONE,
    both,
    exchanged,
    instead,
    latency,
    nice,
    of_l,
    of_t,
    sliced,
    throughput,
)
from cint.figures.values import Expr, said
from cint.measure.workloads import Workload

FAIR, AS_CFS, PRIORITY = "EEVDF", "CFS's turns", "priority"
COUNTS = (1, 2, 4)
CELLS = {count: f"{count} L" for count in COUNTS}
ONE, TWO, FOUR = CELLS.values()
#: What CFS shared out among all that could run on a CPU, on a machine of two (sched_latency).
CFS_US = 12_000
RUNTIME_S = 0.2
#: Where turns are longer.
LONGER_S = 0.3


def beside(count: int, words: str, of_l: str = "", of_t: str = "") -> Workload:
    """So many L beside T."""
    return both(CELLS[count], f"{count} L beside T, {words}", latency(count, of_l),
                throughput(of_t))


def turns(count: int) -> Workload:
    """The same where each thread asks for the turn that CFS would have given it."""
    turn = sliced(CFS_US // (count + 1))
    return beside(count, f"each with turns of {CFS_US / 1000 / (count + 1):g} ms", turn, turn)


def longer(name: str, run: str, cell: str, base: str) -> Expr:
    """A value of L's as a ratio to that beside fewer."""
    return of_l(name, run, cell) / of_l(name, run, base)


def lost(cell: str, run: str = FAIR) -> Expr:
    """By how many times T has less throughput than alone."""
    return of_t("iops", FAIR, T_ALONE) / of_t("iops", run, cell)


def lines(title: str, unit: str, name: str, runs: tuple[str, ...], log_y: bool = False) -> Panel:
    """A value of L's over their count."""
    return Panel(title, unit, tuple(
        Series(run, [(count, of_l(name, run, cell)) for count, cell in CELLS.items()])
        for run in runs), kind="lines", x="L applications", log_y=log_y)


FIGURE = Figure(
    "blk-fig3b", "blk-switch", "Polling applications that share a CPU",
    "section 2.2, Figures 3(b) and 2 (SPDK)",
    "The fair scheduler gives each application that polls a turn. The more of them there are, the "
    "shorter is the turn and the longer the wait for the next, by which L's latency and T's "
    "throughput suffer. With priority for L the throughput of T is near zero.",
    groups=(
        spinning.group(FAIR, (*SOLITARY, *(beside(n, "all poll") for n in COUNTS)), RUNTIME_S),
        spinning.group(AS_CFS, tuple(turns(n) for n in COUNTS), LONGER_S),
        spinning.group(PRIORITY, tuple(beside(n, f"L with niceness {FIRST}", nice(FIRST))
                                       for n in COUNTS), LONGER_S)),
    checks=(
        at_most(f"{FAIR}: turn of an L, {FOUR} against {ONE}", longer("run_us", FAIR, FOUR, ONE),
                0.7, checks.instead(FAIR, AS_CFS), paper="shrinks",
                deviation=Deviation(0.8, 1.3, said(
                    "EEVDF does not share out a period among all that can run, as CFS did: a "
                    "turn is of one length however many there are, {:.2f} ms of one L beside T",
                    of_l("run_us", FAIR, ONE) / 1000))),
        at_most(f"{AS_CFS}: turn of an L, {FOUR} against {ONE}",
                longer("run_us", AS_CFS, FOUR, ONE), 0.7, exchanged(ONE, FOUR), paper="shrinks"),
        *(at_least(f"{run}: wait for the next turn, {FOUR} against {ONE}",
                   longer("gap_us", run, FOUR, ONE), low, exchanged(ONE, FOUR), paper="grows")
          for run, low in ((FAIR, 2), (AS_CFS, 1.2))),
        at_least(f"{FAIR}: p99 of L, {ONE} beside T against alone",
                 of_l("p99_us", FAIR, ONE) / of_l("p99_us", FAIR, ALONE), 5,
                 instead(ONE, ALONE), paper=5),
        at_least(f"{FAIR}: p99 of L, {FOUR} against {ONE}", longer("p99_us", FAIR, FOUR, ONE),
                 2, exchanged(ONE, FOUR), paper=22),
        at_least(f"{FAIR}: mean of L, {FOUR} against {ONE}", longer("mean_us", FAIR, FOUR, ONE),
                 1.5, exchanged(ONE, FOUR), paper="grows"),
        at_least(f"{FAIR}: T alone against beside {ONE}", lost(ONE), 1.8, instead(ONE, T_ALONE),
                 paper="2.4"),
        at_least(f"{FAIR}: T alone against beside {FOUR}", lost(FOUR), 4, exchanged(ONE, FOUR),
                 paper="6.2"),
        at_most(f"{PRIORITY}: p99 of L, {ONE} beside T against alone",
                of_l("p99_us", PRIORITY, ONE) / of_l("p99_us", FAIR, ALONE), 1.3,
                checks.instead(PRIORITY, FAIR), paper="as alone"),
        *(at_most(f"{PRIORITY}: T beside {cell} against alone", 1 / lost(cell, PRIORITY), 0.05,
                  swap(PRIORITY, AS_CFS), paper="near 0") for cell in CELLS.values()),
        at_least(f"{PRIORITY}: mean of L, {FOUR} against {ONE}",
                 longer("mean_us", PRIORITY, FOUR, ONE), 2, exchanged(ONE, FOUR), paper="grows"),
    ),
    panels=(
        *(Panel(f"{run}: turns of an L", "us", tuple(
            Series(what, [(cell, of_l(name, run, cell)) for cell in CELLS.values()])
            for what, name in (("run", "run_us"), ("wait", "gap_us")))) for run in (FAIR, AS_CFS)),
        lines("mean of L", "us", "mean_us", (FAIR, AS_CFS, PRIORITY), log_y=True),
        lines("p99 of L", "us", "p99_us", (FAIR, AS_CFS, PRIORITY), log_y=True),
        lines("p99.9 of L", "us", "p999_us", (FAIR, AS_CFS, PRIORITY), log_y=True),
        Panel("T's reads of 64 KiB, against alone", "", tuple(
            Series(run, [(count, 1 / lost(cell, run)) for count, cell in CELLS.items()])
            for run in (FAIR, AS_CFS, PRIORITY)), kind="lines", x="L applications"),
    ),
    columns=spinning.COLUMNS,
    notes=(spinning.APPLICATIONS,
           "The guest's scheduler is EEVDF (Linux 6.12); the paper's was CFS. "
           f"In '{AS_CFS}' each thread asks (sched_setattr) for a share of {CFS_US // 1000} ms, as "
           "CFS would have given it.", spinning.TICKS,
           "Run and wait are CPU time and time without the CPU by changes of context, as the "
           "guest's kernel counts both for each thread (getrusage); the paper took them from a "
           "trace of the scheduler.",
           f"'{PRIORITY}' is the paper's SPDK+priority: L's niceness is {FIRST}, T's 0. "
           + spinning.ONE_AFTER,
           f"In a turn under {FAIR} an L does fewer than a hundred reads, so that the wait for the "
           f"next is seen at the 99th percentile, as in the paper; in '{AS_CFS}' it does more, and "
           "the wait is beyond it."),
)
