# SPDX-License-Identifier: GPL-2.0-or-later
"""Policy auto on other media and machines, and with other ways to do I/O."""

from __future__ import annotations

from collections.abc import Mapping

from cint.figures import guessed
from cint.figures.checks import Deviation
from cint.figures.guessed import (
    APART,
    CACHED,
    FIXED,
    LIBAIO,
    MIXED,
    RUNS,
    SYNC,
    THREADS,
    URING,
    waiting,
)
from cint.figures.model import CPU, IOPS, IRQS, MEAN, P99, Column, Figure, Group, Panel, Series
from cint.figures.values import against
from cint.measure.workloads import Workload

GEN2, JITTER, ONE_SQ, TWO_SQS = "gen2/", "jitter/", "one SQ/", "two SQs/"
KNOWN: Mapping[str, Deviation] = {
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


FIGURE = Figure(
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
    ), KNOWN),
    panels=(
        Panel("many in flight: reads a second", "ratio to default", bars("iops", MANY, False)),
        Panel("many in flight: interrupts a second", "ratio to default",
              bars("device_irqs", MANY, False)),
        Panel("who waits: mean latency", "ratio to default", bars("mean_us", (*WAIT, *SOME), True)),
        Panel("who waits: interrupts a second of all", "ratio to default",
              bars("device_irqs", (*WAIT, *SOME), False)),
    ),
    columns=(IOPS, MEAN, P99, Column("p99.9, us", "p999_us"), IRQS, CPU),
    notes=("hints is cint with drain: the guest's kernel says who waits. The other rows are of "
           "guests that say nothing. Seeds are those of auto-grid.",),
    left_out=("more than two CPUs and queues, and the distribution's own kernel: not measured",),
)
