# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads, runs and claims for policy auto, whose guests give no hints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from cint.figures import jobs
from cint.figures.checks import Check, Deviation, at_least, at_most
from cint.figures.controls import Control, instead, wrong
from cint.figures.model import Run
from cint.figures.values import Expr, against, least, most, value
from cint.measure import workloads
from cint.measure.workloads import COMMON, Workload

#: A thread that computes between its reads, and one whose reads go through the page cache, where
#: each has another buffer.
THINKS = "thinktime=15us\n"
BUFFERED = "direct=0\nfadvise_hint=random\n"


def reader(name: str, more: str = "") -> str:
    """A section of a thread that reads and waits."""
    return workloads.sync_job(name) + more


def beside(name: str, title: str, waiting: str) -> Workload:
    """``waiting`` beside libaio at depth 16, whose reads the guest's kernel does not mark."""
    return Workload(name, f"{title} beside libaio at depth 16, one by one",
                    COMMON + waiting + workloads.async_job(16, 1, 1, workloads.UNMARKED),
                    latency_job="sync", split=True)


SYNC = jobs.SYNC
SYNC_4 = jobs.sync(4, "sync 4")
BATCHES = (jobs.aio(16, 4, 4, "batches of 4"), jobs.aio(256, 16, 16, "batches of 16"))
LIBAIO = tuple(jobs.aio(depth, 1, 1, f"libaio {depth}") for depth in (2, 8, 32, 256))
MIXED = jobs.mix(16, 1, 1)
THINK = Workload("think", "two threads that read and wait; one thinks for 15 us in between",
                 COMMON + reader("fast") + reader("sync", THINKS), latency_job="sync", split=True)
CROWD = beside("crowd", "four threads that read and wait",
               reader("sync", "numjobs=4\ngroup_reporting\n"))
CACHED = beside("buffered", "a thread that reads through the page cache and waits",
                reader("sync", BUFFERED))
BURSTS = Workload("bursts", "libaio at depth 32 that rests for 0.1 ms after 32 reads",
                  COMMON + workloads.async_job(32, 1, 1)
                  + "thinktime=100us\nthinktime_blocks=32\n")
URING = Workload("io_uring", "io_uring, depth 32, one by one",
                 COMMON + workloads.async_job(32, 1, 1).replace("libaio", "io_uring"))
FIXED = Workload("io_uring fixed", "io_uring with fixed buffers, depth 32, one by one",
                 URING.template + "fixedbufs=1\n")
#: A thread on one CPU and a job on another.
APART = Workload("apart", "a thread that reads and waits, and on another CPU libaio at depth 16",
                 COMMON + reader("sync")
                 + workloads.async_job(16, 1, 1, workloads.UNMARKED) + "cpus_allowed=1\n",
                 latency_job="sync", split=True)
THREADS = tuple(jobs.sync(count, f"sync {count}") for count in (2, 8, 16))
#: Where all wait, where nobody waits for one of them alone, and where some do.
WAITING = (SYNC, SYNC_4)
ASYNC = (*BATCHES, *LIBAIO, BURSTS)
TOGETHER = (MIXED, THINK, CROWD, CACHED)
#: On a medium that takes ten times as long.
SLOW = (LIBAIO[2], MIXED)

DEFAULT = Run("default", hints=False)
ADAPTIVE = Run("adaptive", hints=False)
#: The guest says who waits.
HINTS = Run("cint:drain=on", "hints")
AUTO = Run("auto", hints=False)
RUNS = (DEFAULT, ADAPTIVE, HINTS, AUTO)
#: Others than those that the policy's parameters were chosen by.
SEEDS = (4, 5, 6)
RUNTIME_S = 0.02


# ---- claims, of runs whose names begin with ``prefix`` -----------------------

def waiting(work: Workload) -> str:
    """The cell of the thread that waits."""
    return f"{work.name}.{work.latency_job}"


def to_hints(name: str, cell: str, prefix: str = "") -> Expr:
    return against(name, f"{prefix}auto", f"{prefix}hints", cell)


def _default_and_hints(name: str, cell: str, prefix: str) -> list[Expr]:
    return [value(name, f"{prefix}{run}", cell) for run in ("default", "hints")]


def floor(work: Workload, prefix: str = "") -> Iterator[Check]:
    """No worse than the worse of those that it stands between."""
    reads = _default_and_hints("iops", work.name, prefix)
    yield at_least(f"{prefix}{work.name}: reads, auto against the worse of default and hints",
                   value("iops", f"{prefix}auto", work.name) / least(reads), 0.95, wrong(2))
    if work.latency_job:
        cell = waiting(work)
        times = _default_and_hints("mean_us", cell, prefix)
        yield at_most(
            f"{prefix}{work.name}: who waits, auto against the worse of default and hints",
            value("mean_us", f"{prefix}auto", cell) / most(times), 1.05,
            _in_place_of_auto(prefix, "adaptive"))


#: So many wait that adaptive has its threshold at once, and so few are in flight that auto
#: interrupts for each.
_FULL, _FEW = ("sync 16",), ("libaio 2",)


def _in_place_of_auto(prefix: str, other: str) -> Control:
    return instead(f"{prefix}auto", f"{prefix}{other}")


def all_wait(work: Workload, prefix: str = "") -> Iterator[Check]:
    """As fast as with hints."""
    yield at_most(f"{prefix}{work.name}: latency, auto against hints",
                  to_hints("mean_us", work.name, prefix), 1.03, _slower(prefix, work.name))


def _slower(prefix: str, name: str) -> Control:
    """Where adaptive is faster than auto it stands in for hints."""
    taken = "hints" if name in _FULL else "auto"
    return instead(f"{prefix}{taken}", f"{prefix}adaptive")


def nobody_waits(work: Workload, prefix: str = "") -> Iterator[Check]:
    """As many reads as with hints, for as few interrupts."""
    yield at_least(f"{prefix}{work.name}: reads, auto against hints",
                   to_hints("iops", work.name, prefix), 0.97,
                   _in_place_of_auto(prefix, "adaptive" if work.name in _FEW else "default"))
    yield at_most(f"{prefix}{work.name}: interrupts, auto against hints",
                  to_hints("device_irqs", work.name, prefix), 1.15,
                  wrong(0.1) if work.name in _FEW else _in_place_of_auto(prefix, "default"))


def some_wait(work: Workload, prefix: str = "", bound: float = 1.10) -> Iterator[Check]:
    """Who waits is as fast as with hints; where that is to be exact, for as few interrupts."""
    exact = bound < 1.10
    yield at_most(f"{prefix}{work.name}: who waits, auto against hints",
                  to_hints("mean_us", waiting(work), prefix), bound,
                  _in_place_of_auto(prefix, "adaptive"))
    if exact:
        yield at_most(f"{prefix}{work.name}: interrupts a read, auto against hints",
                      to_hints("irqs_per_io", work.name, prefix), 1.15,
                      _in_place_of_auto(prefix, "default"))


def expecting(checks: Iterable[Check], known: Mapping[str, Deviation]) -> tuple[Check, ...]:
    """The checks, with what is known of some that do not hold, by their names."""
    return tuple(replace(check, deviation=known.get(check.name)) for check in checks)
