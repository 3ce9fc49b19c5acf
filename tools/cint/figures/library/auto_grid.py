# SPDX-License-Identifier: GPL-2.0-or-later
"""Policy auto over the loads that a device has to tell apart by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cint.figures import guessed
from cint.figures.checks import Deviation
from cint.figures.guessed import ASYNC, CACHED, MIXED, RUNS, TOGETHER, WAITING, waiting
from cint.figures.model import (
    CPU,
    IOPS,
    IRQS,
    MEAN,
    P99,
    Column,
    Figure,
    Group,
    Panel,
    Series,
)
from cint.figures.values import against
from cint.measure.workloads import Workload

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

FIGURE = Figure(
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
    columns=(IOPS, MEAN, P99, Column("p99.9, us", "p999_us"), IRQS, CPU),
    notes=("hints is cint with drain: the guest's kernel says who waits. The other rows are of "
           "guests that say nothing.",
           "Seeds are others than those that the policy's parameters were chosen by."),
    left_out=("the distribution's own kernel: not measured with this figure. io_uring, several "
              "CPUs and queues, media gen2 and jittered are in auto-machines, loads that change "
              "in auto-learning",),
)
