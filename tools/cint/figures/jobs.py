# SPDX-License-Identifier: GPL-2.0-or-later
"""The fio jobs of the papers' figures, 4 KiB random reads on one CPU unless said otherwise.

``sync``: one thread reads and waits. ``aio(q, b, c)``: libaio at depth q, b
submitted at once, c at least reaped at once. ``mix``: both, on the same CPU.
"""

from __future__ import annotations

from cint.measure import workloads
from cint.measure.workloads import COMMON, Workload

#: The kernel gives the sync job's reads the hint Urgent, and a batch's last a Barrier.
SYNC = Workload("sync", "a thread that reads and waits (psync)", COMMON + workloads.sync_job())


def sync(threads: int, name: str = "sync") -> Workload:
    """Several threads that read and wait."""
    return Workload(name, f"{threads} threads that read and wait (psync)",
                    COMMON + workloads.sync_job() + f"numjobs={threads}\ngroup_reporting\n")


def aio(depth: int, submit: int, complete: int, name: str = "async", *,
        threads: int = 1, engine: str = "libaio") -> Workload:
    """libaio, or another engine; the kernel marks the last of each batch with a Barrier."""
    job = workloads.async_job(depth, submit, complete, f"ioengine={engine}\n")
    many = f"numjobs={threads}\ngroup_reporting\n" if threads > 1 else ""
    by = f"{threads} threads, each " if threads > 1 else ""
    return Workload(name, f"{by}{engine}, depth {depth}, batches of {submit}",
                    COMMON + job + many)


def mix(depth: int, submit: int, complete: int, name: str = "mixed", *, sliced: bool = True,
        marked: bool = False, more: str = "", spins_us: int = 0) -> Workload:
    """libaio, whose reads are unmarked as in the papers, beside the sync job.

    ``sliced``: the sync job asks the scheduler for a slice of 0.1 ms, in place
    of what CFS, the papers' scheduler, gave a thread that slept. ``marked``: the
    kernel marks the last read of a batch. ``more`` goes to the asynchronous job. ``spins_us``, of
    the guest's: what the sync thread spends on the CPU after each read. fio spins for a thinktime
    that is shorter than a sleep can be.
    """
    engine = workloads.LIBAIO if marked else workloads.UNMARKED
    waits = workloads.SLICED_SYNC if sliced else workloads.sync_job()
    waits += f"thinktime={spins_us}\n" if spins_us else ""
    return Workload(name, f"libaio at depth {depth}, batches of {submit}, "
                    f"{'marked' if marked else 'unmarked'}, beside a sync thread"
                    f"{' with a slice of 0.1 ms' if sliced else ''}",
                    COMMON + workloads.async_job(depth, submit, complete, engine) + more + waits,
                    latency_job="sync", split=True)


#: For jobs of a few reads, which have no time to run: their lines in [global].
_FEW = workloads.common(None, None, seed="{seed}", filename="{device}")


def few(name: str, title: str, *sections: str) -> Workload:
    """A job of a few reads, for a timeline; each section has its number_ios."""
    return Workload(name, title, _FEW + "".join(sections))


def batch(name: str, depth: int, count: int, more: str = "",
          engine: str = workloads.LIBAIO) -> str:
    """A section of ``count`` reads in batches of ``depth``, for :func:`few`."""
    text = workloads.async_job(depth, depth, depth, engine, name=name)
    return f"{text}number_ios={count}\n{more}"


def lone(name: str, count: int, more: str = "") -> str:
    """A section of ``count`` reads, each waited for, for :func:`few`."""
    return f"{workloads.sync_job(name)}number_ios={count}\n{more}"
