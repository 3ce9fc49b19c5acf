# SPDX-License-Identifier: GPL-2.0-or-later
"""What each part of policy auto is worth: the same loads without it."""

from __future__ import annotations

from collections.abc import Sequence

from cint.figures import guessed
from cint.figures.checks import Control, at_least, at_most, instead, within
from cint.figures.guessed import ASYNC, TOGETHER, WAITING
from cint.figures.model import CPU, IOPS, IRQS, MEAN, P99, Column, Figure, Group, Panel, Run, Series
from cint.figures.values import Expr, against
from cint.measure.workloads import Workload

BUFFERS, CONTENT, TUNE, DRAIN, PRICE = WITHOUT = (
    Run("cint:infer=content,tune=on,drain=on", "no buffers", hints=False),
    Run("cint:infer=learn,tune=on,drain=on", "no content", hints=False),
    Run("cint:infer=both,drain=on", "no tuning", hints=False),
    Run("cint:infer=both,tune=on,drain=off", "no drain", hints=False),
    Run("price:infer=both", "price", hints=False),
)


def to_auto(name: str, works: Sequence[tuple[str, str]]) -> tuple[Series, ...]:
    return tuple(Series(run.title, [(title, against(name, run.title, "auto", cell))
                                    for title, cell in works]) for run in WITHOUT)


def ratio(name: str, run: Run, cell: str) -> Expr:
    return against(name, run.title, "auto", cell)


def as_it_is(run: Run) -> Control:
    """Nothing left out."""
    return instead(run.title, "auto")


def cells(works: Sequence[Workload]) -> list[tuple[str, str]]:
    return [(work.name, work.name) for work in works]


WAITS = [*cells(WAITING), *((work.name, f"{work.name}.{work.latency_job}") for work in TOGETHER)]
ALL = (*WAITING, *ASYNC, *TOGETHER)

FIGURE = Figure(
    "auto-ablation", "auto", "auto, with a part left out",
    "not a figure of a paper",
    "Buffers, tuning and drain are each worth something, in one load or another. The rule of the "
    "price of an interrupt, in place of delta and thr, holds who waits for too long.",
    groups=(Group((guessed.DEFAULT, guessed.HINTS, guessed.AUTO, *WITHOUT), ALL,
                  seeds=guessed.SEEDS, runtime_s=guessed.RUNTIME_S),),
    checks=(
        at_least("mixed: who waits, without buffers", ratio("mean_us", BUFFERS, "mixed.sync"),
                 1.08, as_it_is(BUFFERS)),
        at_least("mixed: interrupts, without tuning", ratio("device_irqs", TUNE, "mixed"), 1.1,
                 as_it_is(TUNE)),
        at_least("bursts: interrupts, without tuning", ratio("device_irqs", TUNE, "bursts"), 1.15,
                 as_it_is(TUNE)),
        at_most("bursts: reads, without drain", ratio("iops", DRAIN, "bursts"), 0.92,
                as_it_is(DRAIN)),
        at_most("libaio 32: reads, without drain", ratio("iops", DRAIN, "libaio 32"), 0.97,
                as_it_is(DRAIN)),
        within("mixed: reads, without content", ratio("iops", CONTENT, "mixed"), 0.99, 1.01,
               instead(CONTENT.title, BUFFERS.title)),
        at_least("sync: latency, by the price", ratio("mean_us", PRICE, "sync"), 1.15,
                 as_it_is(PRICE)),
        at_least("mixed: who waits, by the price", ratio("mean_us", PRICE, "mixed.sync"), 1.03,
                 as_it_is(PRICE)),
        at_least("libaio 32: interrupts, by the price", ratio("device_irqs", PRICE, "libaio 32"),
                 1.8, as_it_is(PRICE)),
    ),
    panels=(
        Panel("many in flight: reads a second", "ratio to auto", to_auto("iops", cells(ASYNC))),
        Panel("many in flight: interrupts a second", "ratio to auto",
              to_auto("device_irqs", cells(ASYNC))),
        Panel("who waits: mean latency", "ratio to auto", to_auto("mean_us", WAITS)),
        Panel("who waits: interrupts a second of all", "ratio to auto",
              to_auto("device_irqs", cells((*WAITING, *TOGETHER)))),
    ),
    notes=("All numbers are against auto. no buffers: cint with infer=content, whose lone command "
           "is Urgent; no content: infer=learn; no tuning: delta and thr as set; no drain; price: "
           "policy price with infer=both, in place of delta and thr.",
           "Loads are reads alone, so content changes none of them; what is made durable is what "
           "it is for.",
           "Without tuning eight reads in flight, and who waits beside them by buffered reads, are "
           "served better: delta as it is tuned is too long there. Four threads that all wait have "
           "0.85 to 1.09 times the reads without buffers, by seed."),
    columns=(IOPS, MEAN, P99, Column("p99.9, us", "p999_us"), IRQS, CPU),
)
