# SPDX-License-Identifier: GPL-2.0-or-later
"""Policy auto over the loads that a device has to tell apart by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cint.figures import guessed
from cint.figures.checks import Check, Control, Deviation, at_least, at_most, instead, wrong
from cint.figures.guessed import ASYNC, CACHED, MIXED, RUNS, TOGETHER, WAITING
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
from cint.figures.values import Expr, against, least, most, value
from cint.measure.workloads import Workload

SLOW = "p3700/"
#: Where that does not hold, by the check's name.
KNOWN: Mapping[str, Deviation] = {
    "buffered: who waits, auto against hints": Deviation(1.0, 1.2, (
        "a read through the page cache has another buffer each time, of which nothing can be "
        "learned; auto goes by when it came, and in some seeds one in a hundred is told of late")),
}


def to_hints(name: str, cell: str, medium: str = "") -> Expr:
    return against(name, f"{medium}auto", f"{medium}hints", cell)


def default_and_hints(name: str, cell: str, medium: str) -> list[Expr]:
    return [value(name, f"{medium}{run}", cell) for run in ("default", "hints")]


def waiting(work: Workload) -> str:
    """The cell of the thread that waits."""
    return f"{work.name}.{work.latency_job}"


def floor(work: Workload, medium: str = "") -> Iterator[Check]:
    """No worse than the worse of those that it stands between."""
    reads = default_and_hints("iops", work.name, medium)
    name = f"{medium}{work.name}: reads, auto against the worse of default and hints"
    yield at_least(name, value("iops", f"{medium}auto", work.name) / least(reads), 0.95,
                   wrong(2), deviation=KNOWN.get(name))
    if work.latency_job:
        cell = waiting(work)
        times = default_and_hints("mean_us", cell, medium)
        name = f"{medium}{work.name}: who waits, auto against the worse of default and hints"
        yield at_most(name, value("mean_us", f"{medium}auto", cell) / most(times), 1.05,
                      instead(f"{medium}auto", f"{medium}adaptive"), deviation=KNOWN.get(name))


def as_good(name: str, measure: Expr, high: float, control: Control) -> Check:
    return at_most(name, measure, high, control, deviation=KNOWN.get(name))


def all_wait(work: Workload) -> Iterator[Check]:
    yield as_good(f"{work.name}: latency, auto against hints", to_hints("mean_us", work.name),
                  1.03, instead("auto", "adaptive"))


def nobody_waits(work: Workload) -> Iterator[Check]:
    name = f"{work.name}: reads, auto against hints"
    yield at_least(name, to_hints("iops", work.name), 0.97, wrong(2), deviation=KNOWN.get(name))
    yield as_good(f"{work.name}: interrupts, auto against hints",
                  to_hints("device_irqs", work.name), 1.15, wrong(0.1))


def some_wait(work: Workload) -> Iterator[Check]:
    bound = 1.05 if work in {MIXED, CACHED} else 1.10
    yield as_good(f"{work.name}: who waits, auto against hints",
                  to_hints("mean_us", waiting(work)), bound, instead("auto", "adaptive"))
    if work in {MIXED, CACHED}:
        yield as_good(f"{work.name}: interrupts a read, auto against hints",
                      to_hints("irqs_per_io", work.name), 1.15, instead("auto", "default"))


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
    checks=(
        *(check for work in WAITING for check in all_wait(work)),
        *(check for work in ASYNC for check in nobody_waits(work)),
        *(check for work in TOGETHER for check in some_wait(work)),
        *(check for work in ALL for check in floor(work)),
        *(check for work in guessed.SLOW for check in floor(work, SLOW)),
    ),
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
    left_out=("io_uring, several CPUs and queues, media gen2 and jittered, loads that change every "
              "50 ms, and the distribution's own kernel: not measured with this figure",),
    slow=True,
)
