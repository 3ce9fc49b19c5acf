# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures over the cost of an interrupt, and of hints against the best of timers."""

from itertools import pairwise

from cint.figures import jobs
from cint.figures.checks import Check, at_least, at_most, near, within
from cint.figures.columns import P999, USUAL, Column
from cint.figures.controls import instead, swap
from cint.figures.model import COST_NS, CPU_SCALE, Figure, Group, Panel, Run, Series, runs
from cint.figures.values import Cell, Expr, against, value
from cint.measure import calibration

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
    "more reads in all. Who waits pays for it: 1.3 to 1.7 times default's latency beside others, "
    "two or three times alone. With hints nobody who waits does, and delta need not be found "
    "exactly: beyond 12 us nothing changes, since what is urgent ends each burst.",
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
