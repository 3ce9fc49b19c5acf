# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures over the cost of an interrupt, and of hints against the best of timers."""

from collections.abc import Sequence
from itertools import pairwise

from cint.figures import jobs
from cint.figures.checks import Check, at_least, at_most, near, several, within
from cint.figures.columns import P999, USUAL, Column
from cint.figures.controls import instead, swap
from cint.figures.figure import COST_NS, CPU_SCALE, Figure, Group, Panel, Run, Series, runs
from cint.figures.library.auto_loads import AUTO, beside
from cint.figures.values import Cell, Constant, Expr, against, of_best, said, value
from cint.measure import calibration, workloads

# ---- the headline ratios over the cost: which of them depend on --irq-cost ----

#: ns added to an interrupt by --irq-cost; the handler's own comes on top.
COSTS = (0, COST_NS, 1000, 1500, 2000)
#: Up to here the guest handles most of default's interrupts one by one.
APART = COSTS[:3]
JOBS = (jobs.SYNC, jobs.aio(256, 16, 16))
#: What the guest's own handler costs, reported ns: what calibrate finds beside COST_NS.
OWN_NS = calibration.PAPER_IRQ_NS - COST_NS


def at(cost: int, policy: str) -> str:
    return f"{cost} ns/{policy}"


def of(cost: int, cell: str) -> Cell:
    return Cell(cell, f"{cost} ns/", "default")


def handled(cost: int, policy: str) -> Expr:
    """Interrupts that the guest handled, for an I/O."""
    run = at(cost, policy)
    return value("guest_irqs", run, "async") / value("iops", run, "async")


def by_rule(cost: int) -> Expr:
    """Throughput of cint against default over what c_io + c_irq x interrupts says."""
    def spent(policy: str) -> Expr:
        return calibration.PAPER_IO_NS + handled(cost, policy) * (OWN_NS + cost)

    return of(cost, "async").ratio("iops", "cint") / (spent("default") / spent("cint"))


def checks(cost: int, neighbour: int) -> list[Check]:
    other = swap(at(cost, "cint"), at(cost, "default"))
    return [
        within(f"{cost} ns: sync latency, cint against default",
               of(cost, "sync").ratio("mean_us", "cint"), 0.97, 1.03,
               swap(at(cost, "cint"), at(cost, "adaptive"))),
        at_least(f"{cost} ns: interrupts for an async I/O, default against cint",
                 against("irqs_per_io", at(cost, "default"), at(cost, "cint"), "async"), 15,
                 other),
        near(f"{cost} ns: async IOPS, cint against default, over the rule",
             by_rule(cost), 1, 0.05, instead(at(cost, "default"), at(neighbour, "default")),
             paper=None),
    ]


def merging() -> list[Check]:
    """Checks of the cost from which on the guest merges default's interrupts by itself."""
    last = COSTS[-1]
    return [
        *(at_least(f"async IOPS, cint against default, {b} ns against {a} ns",
                   of(b, "async").ratio("iops", "cint") / of(a, "async").ratio("iops", "cint"),
                   1.05, swap(at(a, "default"), at(b, "default"))) for a, b in pairwise(APART)),
        *(at_least(f"{cost} ns: interrupts that the guest handles for an async I/O of default's",
                   handled(cost, "default"), 0.75,
                   instead(at(cost, "default"), at(last, "default"))) for cost in APART),
        at_most(f"{last} ns: the same", handled(last, "default"), 0.6,
                instead(at(last, "default"), at(APART[-1], "default"))),
    ]


def series(label: str, name: str, cell: str) -> Series:
    return Series(label, [(float(cost), of(cost, cell).ratio(name, "cint")) for cost in COSTS])


SWEEP = Figure(
    "cost-sweep", "cost", "The headline ratios over the cost of an interrupt",
    "not a figure of a paper; the costs of cinterrupts, section 2",
    "What an interrupt costs decides how much throughput coalescing wins, and nothing else: lone "
    "reads keep default's latency under cint, and the device sends a fifteenth of the interrupts, "
    "at any cost. The gain ends where an interrupt takes as long as the next completion: then the "
    "guest's handler finds several, and merges by itself.",
    groups=tuple(Group(runs("default", "adaptive", "cint"), JOBS,
                       prefix=f"{cost} ns/", cost_ns=cost) for cost in COSTS),
    checks=(*(check for cost, neighbour in zip(COSTS, (COST_NS, 0, COST_NS, COST_NS, 1000),
                                               strict=True)
              for check in checks(cost, neighbour)), *merging()),
    panels=(
        Panel("async throughput", "cint against default",
              (series("IOPS", "iops", "async"),), "lines", "added cost of an interrupt, ns"),
        Panel("interrupts for an async I/O of default's", "interrupts", (
            Series("sent", [(float(c), value("irqs_per_io", at(c, "default"), "async"))
                            for c in COSTS]),
            Series("handled", [(float(c), handled(c, "default")) for c in COSTS])),
            "lines", "added cost of an interrupt, ns"),
        Panel("what does not depend on it", "cint against default",
              (series("sync latency", "mean_us", "sync"),
               series("async interrupts for an I/O", "irqs_per_io", "async")), "lines",
              "added cost of an interrupt, ns"),
    ),
    columns=(*USUAL, Column("handled by the guest, k/s", "guest_irqs", 1e-3)),
    notes=(f"--cpu-scale {CPU_SCALE:g}, the calibrated one; the calibrated cost is {COST_NS} ns, "
           f"with which an interrupt costs the papers' {calibration.PAPER_IRQ_NS:g} ns in all.",
           "The rule is the papers': an I/O costs c_io + c_irq x interrupts, with the papers' "
           f"{calibration.PAPER_IO_NS:g} ns for c_io, what was added and the handler's own "
           f"{OWN_NS:g} ns for c_irq, and the interrupts that the guest has handled, by its own "
           "count: one that arrives while another is handled is handled with it.",),
)

# ---- every timer beside the policies that know who waits -----------------

#: us from the first completion to the interrupt.
TIMES = (2, 5, 10, 20, 50, 100)
#: us without a completion that end a burst.
DELTAS = (3, 6, 12, 24, 48)
OOO = "cint+ooo"
#: The timer with the most reads in all, the one before it, and a delta beyond which nothing is won.
BEST, SHORTER, CALIBRATED = "timer 20 us", "timer 10 us", "cint 12 us"
#: Sixty times as long, for one read in a thousand.
LONG = "long/"
MIXED, LONE = Cell("mixed", base="default"), Cell("sync", base="default")


def timer(us: int) -> Run:
    return Run(f"static:time={us}us", f"timer {us} us")


def cint(us: int, name: str = "cint", policy: str = "cint") -> Run:
    return Run(f"{policy}:delta={us}us", f"{name} {us} us")


def lines(name: str, of: Cell) -> tuple[Series, ...]:
    """Series over the time of a timer, and over delta of the two that know who waits."""
    return tuple(Series(what, [(us, of.ratio(name, f"{what} {us} us")) for us in swept])
                 for what, swept in (("timer", TIMES), ("cint", DELTAS), (OOO, DELTAS)))


TIMERS = Figure(
    "timers", "cost", "The best timer, and what hints add to it",
    "not a figure of a paper; the question of cinterrupts, section 3.3, and its 5.2 for delta",
    "A timer of 10 or 20 us saves as many interrupts as hints do, or more, and has a few percent "
    "more reads in all. Who waits pays for it: 1.30 and 1.85 times default's latency beside "
    "others, two and three times alone. With hints nobody who waits does, and delta need not be "
    "found exactly: beyond 12 us nothing changes, since what is urgent ends each burst.",
    groups=(Group((*runs("default", "adaptive", "vic"), *map(timer, TIMES), *map(cint, DELTAS),
                   *(cint(us, OOO, OOO) for us in DELTAS)),
                  (jobs.mix(16, 1, 1), jobs.SYNC)),
            Group((timer(20), cint(12)), (jobs.mix(16, 1, 1),), prefix=LONG, full_s=3.0)),
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
    columns=(*USUAL, P999),
    notes=("Out of order an Urgent completion tells of itself alone. Who waits gains a tenth, and "
           "the other job waits for the end of its burst, which at 12 us hardly comes: it is worth "
           "it where the others may wait.",),
)

# ---- the best timer of each load, beside the policies as they are --------

CROWD = beside("two beside", "two threads that read and wait, each with a slice of 0.1 ms,",
               f"{workloads.SLICED_SYNC}numjobs=2\ngroup_reporting\n")
LOADS = (jobs.SYNC, jobs.aio(256, 16, 16), jobs.mix(16, 1, 1), jobs.aio(32, 1, 1, "libaio 32"),
         CROWD)
ALONE, IN_BATCHES, BESIDE_ONE, ONE_BY_ONE, TWO = OF_LOADS = tuple(
    Cell(load.name, base="default") for load in LOADS)
BEST_TIMER = "best timer"
#: A timer that is never the best one of a load: who waits does so for longer than under any other.
LONGEST = "timer 100 us"
AS_THEY_ARE = ("adaptive", "vic", "cint", OOO, "auto")


def of_timers(load: Cell, numbers: Sequence[Expr]) -> Expr:
    """The number of the timer with most reads in a load; numbers are in the order of TIMES."""
    return of_best([load("iops", timer(us).title) for us in TIMES], numbers)


def best(name: str, load: Cell, by: Cell | None = None) -> Expr:
    """A value of the best timer in a load, or in one of that which is the best in another."""
    return of_timers(by or load, [load(name, timer(us).title) for us in TIMES])


def which(load: Cell) -> Expr:
    """The best timer in a load, us."""
    return of_timers(load, [Constant(us) for us in TIMES])


def shown(name: str) -> tuple[Series, ...]:
    """Bars of each load: the best timer, and the policies."""
    return (Series(BEST_TIMER, [(of.name, best(name, of) / of(name, "default"))
                                for of in OF_LOADS]),
            *(Series(run, [(of.name, of.ratio(name, run)) for of in OF_LOADS])
              for run in AS_THEY_ARE))


def alone() -> Check:
    return several("sync: hints leave a lone read as it is, which the best timer makes longer", [
        at_least("sync: latency, the best timer against cint",
                 best("mean_us", ALONE) / ALONE("mean_us", "cint"), 1.15,
                 instead("cint", SHORTER)),
        *(within(f"sync: latency, {run} against default", ALONE.ratio("mean_us", run),
                 0.97, 1.03, instead(run, SHORTER)) for run in ("cint", OOO, "auto")),
        at_least("sync: latency, the timer that is the best one in mixed against default",
                 best("mean_us", ALONE, BESIDE_ONE) / ALONE("mean_us", "default"), 2.5,
                 instead("default", SHORTER)),
    ])


def in_batches() -> Check:
    return several("async: hints add nothing, the best timer has as many reads for fewer "
                   "interrupts", [
        *(within(f"async: reads a second, {run} against the best timer",
                 IN_BATCHES("iops", run) / best("iops", IN_BATCHES), 0.97, 1.05,
                 instead(run, "default")) for run in ("adaptive", "cint", "auto")),
        at_least("async: interrupts a second, cint against the best timer",
                 IN_BATCHES("device_irqs", "cint") / best("device_irqs", IN_BATCHES), 1.1,
                 instead("cint", LONGEST)),
    ])


def together(of: Cell, title: str, low: float, more: Sequence[Check] = ()) -> Check:
    """What hints and auto's guesses add where somebody waits beside others, and what it costs."""
    name = of.name
    return several(f"{name}: {title}", [
        *(at_least(f"{name}: who waits, the best timer against {run}",
                   best("mean_us", of) / of("mean_us", run), low, instead(run, LONGEST))
          for run in ("cint", "auto")),
        at_most(f"{name}: who waits, cint against default", of.ratio("mean_us", "cint"), 1,
                instead("cint", SHORTER)),
        at_least(f"{name}: reads a second, the best timer against cint",
                 best("iops", of) / of("iops", "cint"), 1.05, instead("cint", BEST)),
        *more])


def one_by_one() -> Check:
    return several("libaio 32: hints add nothing and the best timer has more reads, as auto has", [
        at_least("libaio 32: reads a second, the best timer against cint",
                 best("iops", ONE_BY_ONE) / ONE_BY_ONE("iops", "cint"), 1.1,
                 instead("cint", "auto")),
        at_least("libaio 32: interrupts for an I/O, cint against default",
                 ONE_BY_ONE.ratio("irqs_per_io", "cint"), 0.5, instead("cint", "auto")),
        within("libaio 32: reads a second, auto against the best timer",
               ONE_BY_ONE("iops", "auto") / best("iops", ONE_BY_ONE), 0.95, 1.05,
               instead("auto", "default")),
    ])


BY_LOAD = Figure(
    "timers-loads", "cost", "The best timer of each load",
    "not a figure of a paper; the loads of the first comparison, and two more",
    "A lone read, and who waits beside others, has default's latency with hints, and longer with "
    "the best timer, which has more reads in all. Where nobody waits for one read hints add "
    "nothing to it: for batches they have as many reads, for a job that submits its reads one by "
    "one fewer. The timer is found anew for each load; auto, with nothing to find, is near the "
    "better of both in each.",
    groups=(Group((*runs("default", "adaptive", "vic", "cint", OOO), AUTO, *map(timer, TIMES)),
                  LOADS),),
    checks=(
        alone(), in_batches(),
        together(BESIDE_ONE, "hints leave who waits default's latency, which the best timer makes "
                 "longer, and take a few percent of the reads", 1.5,
                 [at_most("mixed: who waits, cint+ooo against cint",
                          BESIDE_ONE.ratio("mean_us", OOO, "cint"), 0.99)]),
        one_by_one(),
        together(TWO, "for two that wait hints do what they do for one", 1.4),
    ),
    panels=(
        *(Panel(title, "ratio to default", shown(name)) for title, name in (
            ("reads a second", "iops"), ("mean latency of who waits, or of all", "mean_us"),
            ("interrupts a second", "device_irqs"))),
        Panel("which timer is the best", "us",
              (Series(BEST_TIMER, [(of.name, which(of)) for of in OF_LOADS]),)),
    ),
    notes=(
        said("The best timer is, of those of 2 to 100 us, the one with the most reads in that "
             "load, as --policy static:time=best finds it: of {:.0f} us in sync, where a shorter "
             "one would do less harm and none is best, {:.0f} in async, {:.0f} in mixed, {:.0f} in "
             "libaio 32, {:.0f} in two beside. The other policies are as they are, with a delta of "
             "6 us.", *map(which, OF_LOADS)),
        "auto's guest gives no hints, which also spares it the work.",
        "libaio 32 submits each read by itself, so that its kernel marks each as the last of a "
        "batch: hints say of each that somebody waits for it.",
    ),
)
