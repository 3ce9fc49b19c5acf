# SPDX-License-Identifier: GPL-2.0-or-later
"""The headline ratios over what an interrupt costs: which of them depend on --irq-cost."""

from itertools import pairwise

from cint.figures import jobs
from cint.figures.checks import Check, at_least, at_most, instead, near, swap, within
from cint.figures.model import COST_NS, CPU_SCALE, USUAL, Column, Figure, Group, Panel, Series, runs
from cint.figures.values import Cell, Expr, against, value
from cint.measure import calibration

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
    """From which cost on the guest merges default's interrupts by itself."""
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


FIGURE = Figure(
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
