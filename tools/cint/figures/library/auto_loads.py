# SPDX-License-Identifier: GPL-2.0-or-later
"""Policy auto over the loads that a device has to tell apart by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cint.figures import guessed
from cint.figures.checks import Deviation, at_least, at_most, within
from cint.figures.columns import CPU, IOPS, IRQS, MEAN, P99, P999
from cint.figures.controls import Control, instead
from cint.figures.guessed import (
    APART,
    ASYNC,
    CACHED,
    FIXED,
    LIBAIO,
    MIXED,
    RUNS,
    SYNC,
    THREADS,
    TOGETHER,
    URING,
    WAITING,
    waiting,
)
from cint.figures.model import Figure, Group, Panel, Run, Series
from cint.figures.values import Expr, against
from cint.measure.workloads import Workload

# ---- load by load --------------------------------------------------------

SLOW = "p3700/"
#: Where that does not hold, by the check's name. What delta and thr are worth as they are tuned is
#: in auto-ablation, "no tuning".
KNOWN: Mapping[str, Deviation] = {
    "libaio 8: reads, auto against hints": Deviation(0.92, 0.9699, (
        "delta as it is tuned is too long for a job of eight on a drive that spreads: the CPU is "
        "idle for a tenth of the time. Without tuning it has 340 thousand reads, as with hints, "
        "for 95 thousand interrupts in place of 90")),
    "buffered: who waits, auto against hints": Deviation(1.0501, 1.2, (
        "delta as it is tuned is too long for who waits beside eight reads: without tuning it is "
        "14.1 to 14.6 us, at as many interrupts as with hints; tuned 15.4 to 16.5 at 0.7 of them")),
    f"{SLOW}libaio 32: reads, auto against the worse of default and hints": Deviation(0.92, 0.97, (
        "its completions come in bunches of which each ends after delta: the CPU is idle for a "
        "fifth of the time, under adaptive for a quarter, with 0.89 times default's reads")),
}


def to_default(name: str, works: Sequence[tuple[str, str]]) -> tuple[Series, ...]:
    return tuple(Series(run, [(title, against(name, run, "default", cell))
                              for title, cell in works])
                 for run in ("adaptive", "hints", "auto"))


def cells(works: Sequence[Workload]) -> list[tuple[str, str]]:
    return [(work.name, work.name) for work in works]


ALL = (*WAITING, *ASYNC, *TOGETHER)
BUSY = cells(ASYNC)

GRID = Figure(
    "auto-grid", "auto", "auto, load by load",
    "not a figure of a paper; cinterrupts, section 3, says that a device cannot know who waits",
    "The guest says nothing. With auto who waits has the latency that hints of the guest's kernel "
    "give, and a job with many reads in flight has its reads for fewer interrupts.",
    groups=(Group(RUNS, ALL, seeds=guessed.SEEDS, runtime_s=guessed.RUNTIME_S),
            Group(RUNS, guessed.SLOW, media="p3700", prefix=SLOW, seeds=guessed.SEEDS,
                  runtime_s=guessed.RUNTIME_S)),
    checks=guessed.expecting((
        *(check for work in WAITING for check in guessed.all_wait(work)),
        *(check for work in ASYNC for check in guessed.nobody_waits(work)),
        *(check for work in TOGETHER for check in guessed.some_wait(
            work, bound=1.05 if work in {MIXED, CACHED} else 1.10)),
        *(check for work in ALL for check in guessed.floor(work)),
        *(check for work in guessed.SLOW for check in guessed.floor(work, SLOW)),
    ), KNOWN),
    panels=(
        Panel("many in flight: reads a second", "ratio to default", to_default("iops", BUSY)),
        Panel("many in flight: interrupts a second", "ratio to default",
              to_default("device_irqs", BUSY)),
        Panel("who waits: mean latency", "ratio to default", to_default(
            "mean_us", [*((work.name, work.name) for work in WAITING),
                        *((work.name, waiting(work)) for work in TOGETHER)])),
        Panel("who waits: interrupts a second of all", "ratio to default",
              to_default("device_irqs", cells((*WAITING, *TOGETHER)))),
    ),
    columns=(IOPS, MEAN, P99, P999, IRQS, CPU),
    notes=("hints is cint with drain: the guest's kernel says who waits. The other rows are of "
           "guests that say nothing.",
           "Seeds are others than those that the policy's parameters were chosen by."),
    left_out=("the distribution's own kernel: not measured with this figure. io_uring, several "
              "CPUs and queues, media gen2 and jittered are in auto-machines, loads that change "
              "in auto-learning",),
)

# ---- on other media and machines, and with other ways to do I/O ----------

GEN2, JITTER, ONE_SQ, TWO_SQS = "gen2/", "jitter/", "one SQ/", "two SQs/"
KNOWN_THERE: Mapping[str, Deviation] = {
    f"{GEN2}mixed: who waits, auto against hints": Deviation(0.95, 1.12, (
        "a read takes 3.5 us there, less than the guest takes to answer it. With hints the seeds "
        "lie 6 % apart; in the seed that is best with hints auto has 2 % more than default")),
}


def group(prefix: str, *works: Workload, media: str = "optane", vcpus: int = 1,
          device_opts: str = "") -> Group:
    return Group(RUNS, works, media=media, prefix=prefix, vcpus=vcpus, device_opts=device_opts,
                 seeds=guessed.SEEDS, runtime_s=guessed.RUNTIME_S)


RINGS = (URING, FIXED)
MANY = (("", URING), ("", FIXED), (GEN2, LIBAIO[2]), (JITTER, LIBAIO[2]))
SOME = ((GEN2, MIXED), (JITTER, MIXED), (JITTER, CACHED), (ONE_SQ, APART), (TWO_SQS, APART))
WAIT = (*(("", work) for work in THREADS), (GEN2, SYNC), (JITTER, SYNC))


def bars(name: str, works: tuple[tuple[str, Workload], ...], waits: bool) -> tuple[Series, ...]:
    return tuple(Series(run, [
        (f"{prefix}{work.name}", against(name, f"{prefix}{run}", f"{prefix}default",
                                         waiting(work) if waits and work.latency_job
                                         else work.name))
        for prefix, work in works]) for run in ("adaptive", "hints", "auto"))


MACHINES = Figure(
    "auto-machines", "auto", "auto, on other media and machines",
    "not a figure of a paper",
    "On other media, with several CPUs and queues and with io_uring it is as on the machine of "
    "auto-grid.",
    groups=(
        group("", *RINGS, *THREADS),
        group(GEN2, SYNC, LIBAIO[2], MIXED, media="gen2"),
        group(JITTER, SYNC, LIBAIO[2], MIXED, CACHED, media="optane:spread=0,jitter=2252ns"),
        group(ONE_SQ, APART, vcpus=2, device_opts="max_ioqpairs=1"),
        group(TWO_SQS, APART, vcpus=2),
    ),
    checks=guessed.expecting((
        *(check for prefix, work in WAIT for check in guessed.all_wait(work, prefix)),
        *(check for prefix, work in MANY for check in guessed.nobody_waits(work, prefix)),
        *(check for prefix, work in SOME for check in guessed.some_wait(
            work, prefix, 1.05 if work in {MIXED, CACHED} else 1.10)),
        *(check for prefix, work in (*WAIT, *MANY, *SOME)
          for check in guessed.floor(work, prefix)),
    ), KNOWN_THERE),
    panels=(
        Panel("many in flight: reads a second", "ratio to default", bars("iops", MANY, False)),
        Panel("many in flight: interrupts a second", "ratio to default",
              bars("device_irqs", MANY, False)),
        Panel("who waits: mean latency", "ratio to default", bars("mean_us", (*WAIT, *SOME), True)),
        Panel("who waits: interrupts a second of all", "ratio to default",
              bars("device_irqs", (*WAIT, *SOME), False)),
    ),
    columns=(IOPS, MEAN, P99, P999, IRQS, CPU),
    notes=("hints is cint with drain: the guest's kernel says who waits. The other rows are of "
           "guests that say nothing. Seeds are those of auto-grid.",),
    left_out=("more than two CPUs and queues, and the distribution's own kernel: not measured",),
)

# ---- what each part of it is worth: the same loads without it ------------

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


WAITS = [*cells(WAITING), *((work.name, f"{work.name}.{work.latency_job}") for work in TOGETHER)]

ABLATION = Figure(
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
    columns=(IOPS, MEAN, P99, P999, IRQS, CPU),
)
