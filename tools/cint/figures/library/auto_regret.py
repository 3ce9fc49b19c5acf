# SPDX-License-Identifier: GPL-2.0-or-later
"""How far policies are from the best that there could be for a record, and what that is worth."""

from __future__ import annotations

from collections.abc import Sequence

from cint.figures import guessed, regret
from cint.figures.checks import at_least, at_most, instead, wrong
from cint.figures.guessed import ADAPTIVE, AUTO, DEFAULT, LIBAIO, MIXED
from cint.figures.model import (
    COST_NS,
    CPU_SCALE,
    IOPS,
    IRQS,
    MEAN,
    Column,
    Figure,
    Group,
    Panel,
    Run,
    Series,
)
from cint.figures.values import Expr, against, value

#: Of an interrupt, in the guest's time: what the guest is made to spend on it.
PRICE_NS = round(COST_NS * CPU_SCALE)
POLICIES = ("default", "adaptive", "auto")
#: The guest whose job is a thread and others says who waits; in the other one nobody waits.
RECORD, SILENT, LOOP = "record", "silent record", "loop/"
MANY = LIBAIO[2]


def of(policy: str, weight: float, cell: str) -> Expr:
    run = SILENT if cell == MANY.name else RECORD
    return value(regret.name_of(policy, weight), run, cell)


def lines(cell: str, weights: Sequence[float]) -> tuple[Series, ...]:
    return tuple(Series(policy, [(weight, of(policy, weight, cell)) for weight in weights])
                 for policy in POLICIES)


FIGURE = Figure(
    "auto-regret", "auto", "How far from the best, and what that is worth",
    "not a figure of a paper; the optimum of dynamic TCP acknowledgement, with weights",
    "Where the others' waiting is worth nothing, auto is nearest to the best. As a ranking the "
    "distance is of no use: by it auto is worst for a job that has most reads under auto, since it "
    "knows nothing of what a guest does once it is told.",
    groups=(
        *(Group((run,), (work,), seeds=guessed.SEEDS, runtime_s=guessed.RUNTIME_S,
                trace=regret.EVENTS, read=regret.reader(PRICE_NS, *POLICIES))
          for run, work in ((Run("default", RECORD), MIXED),
                            (Run("default", SILENT, hints=False), MANY))),
        Group((DEFAULT, ADAPTIVE, AUTO), (MANY, MIXED), prefix=LOOP, seeds=guessed.SEEDS,
              runtime_s=guessed.RUNTIME_S),
    ),
    checks=(
        at_most("mixed, w = 0: regret of auto against adaptive's",
                of("auto", 0, "mixed") / of("adaptive", 0, "mixed"), 0.6,
                wrong(0.1)),
        at_least("libaio 32, w = 1: regret of auto", of("auto", 1, MANY.name), 3, wrong(10)),
        at_least("libaio 32, the closed loop: reads of auto against default",
                 against("iops", f"{LOOP}auto", f"{LOOP}default", MANY.name), 1.2,
                 instead(f"{LOOP}auto", f"{LOOP}default")),
    ),
    panels=(
        Panel("mixed", "cost, ratio to the least", lines("mixed", regret.WEIGHTS), "lines",
              "weight of those that nobody waits for", log_y=True),
        Panel("libaio at depth 32", "cost, ratio to the least",
              lines(MANY.name, regret.WEIGHTS[1:]), "lines",
              "weight of those that nobody waits for", log_y=True),
        Panel("the closed loop: reads a second", "ratio to default", tuple(
            Series(policy, [(cell, against("iops", LOOP + policy, f"{LOOP}default", cell))
                            for cell in (MANY.name, MIXED.name)]) for policy in POLICIES)),
    ),
    columns=(IOPS, MEAN, IRQS, *(Column(f"regret of {policy}, w = {weight:g}",
                                        regret.name_of(policy, weight))
                                 for policy in POLICIES for weight in (0, 1))),
    notes=("Records are of default. In mixed the guest gives hints: these say who waits, and the "
           f"policies do not hear them. An interrupt costs {PRICE_NS} ns of the guest's.",
           "For libaio, where nobody waits, w = 0 has no line: one interrupt at the end is best "
           "then."),
)
