# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads and runs for policy auto, whose guests give no hints."""

from __future__ import annotations

from cint.figures import jobs
from cint.figures.model import Run
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
