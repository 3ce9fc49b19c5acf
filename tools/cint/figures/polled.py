# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs and runs of the figures about polling.

Every job reads by pvsync2 with ``hipri`` whether its guest polls or not, so that rows differ in
what the kernel does and in nothing else. On one CPU; CPU time is by instructions.
"""

from __future__ import annotations

from collections.abc import Sequence

from cint.figures.columns import CPU, IOPS, IRQS, LONGEST, MEAN, P99, P999, Column
from cint.figures.figure import CPU_SCALE, Run
from cint.figures.values import Expr, value
from cint.guest import agent
from cint.measure import workloads
from cint.measure.workloads import COMMON, Workload

#: The card of the slides: 2.9 us in its DRAM, and a link of 1.6 GB/s.
CARD = "dram:read-per-kib=610ns,units=2"
WORDS = {"irq": "off", "classic": "classic", "half-mean": "half-mean",
         "half-mean by size": "half-mean-size", "6.13's minimum": "min", "EHP": "ehp",
         "PAS": "pas", "ours": "ours", "as in 2017": "irq-queue"}
IRQ, CLASSIC, HALF, BY_SIZE, LEAST, EHP, PAS, OURS, SHARED = WORDS
#: Guest ms in which half-mean gathers what it needs.
WARM_MS = 250
COLUMNS = (IOPS, MEAN, P99, Column("standard deviation, us", "sd_us"),
           CPU, Column("unseen, us", "head_us"),
           IRQS)
#: Of queues that have interrupts and are polled.
AVOIDED = Column("interrupts avoided, each I/O", "avoided_per_io")
FAR = (P999, Column("p99.99, us", "p9999_us"),
       LONGEST, Column("reads", "ios"))
ONE_CPU = ("CPU is the share of time in which the CPU was not halted, by the instructions that it "
           "executed; where it polls all the time that is 100 %.")
#: One of two counts of the CPU load.
LOAD = "thread_percent"
SHARES = (*COLUMNS, Column("CPU time of the thread, %", LOAD))
THREAD = ("The slides do not say how they took the CPU load, of which they have 100, 58 and 32 "
          "%. So it is judged by either count, and holds if it does by both: by all that the CPU "
          "is not idle for (the column CPU), and by the process's own, as the kernel accounts it "
          "and tools show it (fio's usr and sys). An interrupt that comes while the process is "
          "asleep is not in the second, nor what the CPU takes to fall asleep and to wake up: "
          "with interrupts the two are {:.0f} and {:.0f} %. That the slides have the second is "
          "likely: after a sleep of half the mean, some 2 us of 4.5, a process is away for 44 % "
          "of the time, and 58 % leaves nothing for the timer's interrupt and the way to sleep "
          "and back. But they do not say it.")
SCHEDULER = ("The scheduler is EEVDF (Linux 6.12, RUN_TO_PARITY and PLACE_LAG as they are by "
             "default), its slice scaled like all times; ticks come 250 times a second of the "
             f"guest's, {CPU_SCALE:.1f} times as often as on the machine it stands for.")
RING = """\
[ring]
ioengine=io_uring
iodepth={depth}
iodepth_batch_submit={depth}
iodepth_batch_complete_min=1
iodepth_batch_complete_max={depth}
"""
RINGS_SLEEP = ("A ring that polls sleeps first by the rule of Linux 6.13 (its "
               "IORING_SETUP_HYBRID_IOPOLL), in our 6.12: once for each read, for half the least "
               "time that one took beyond its sleep.")
#: A job that keeps the CPU busy, and reads nothing.
SPINS = "[spin]\nioengine=null\niodepth=1\nthread=0\n"
#: A process of SCHED_RR, which runs before all others.
REAL_TIME = "thread=0\nexec_prerun={rr_pre}\n"
#: A thread of SCHED_RR; its I/O is of the realtime class.
REAL_TIME_THREAD = "exec_prerun={rr_io_pre}\n"


def run(name: str, policy: str = "default", title: str = "") -> Run:
    """A run by its name in :data:`WORDS`; the figure may call it otherwise."""
    return Run(policy, title or name, polling=WORDS[name])


def runs(*names: str) -> tuple[Run, ...]:
    """Several."""
    return tuple(run(name) for name in names)


def section(name: str, bs: str, more: str = "") -> str:
    """A job's section: reads of one size, each waited for."""
    return f"[{name}]\nioengine=pvsync2\nhipri=1\niodepth=1\nbs={bs}\n{more}"


def job(name: str, title: str, *sections: str, latency: str | None = None) -> Workload:
    """Sections together on one CPU; ``latency`` is the one whose latency is the job's."""
    return Workload(name, title, COMMON + "".join(sections), latency_job=latency,
                    split=len(sections) > 1)


def ring(name: str, depth: int, more: str = "") -> Workload:
    """A thread that keeps so many reads in flight."""
    return job(name, f"a thread with {depth} reads of 4k in flight (io_uring)",
               RING.format(depth=depth) + more)


def alone(bs: str, name: str = "alone") -> Workload:
    """One thread, one size."""
    return job(name, f"a thread that reads {bs} and waits (pvsync2, hipri)", section("small", bs))


def beside(bs: str, large: str, name: str | None = None, more: str = "") -> Workload:
    """A thread with small reads beside one with large ones."""
    return job(name or f"with {large}", f"a thread that reads {bs} beside one that reads {large}, "
               "both wait (pvsync2, hipri)", section("small", bs), section("large", large, more),
               latency="small")


def readers(count: int) -> Workload:
    """Several threads, one size, all on one CPU."""
    return job(f"{count} readers", f"{count} threads that read 4k and wait (pvsync2, hipri)",
               section("small", "4k", f"numjobs={count}\ngroup_reporting\n"))


def beside_process() -> Workload:
    """A thread beside a process that keeps the CPU busy; its latency is the job's."""
    return job("beside", "a thread that reads 4k and waits (pvsync2, hipri) beside a CPU-bound "
               "process", section("small", "4k"), SPINS, latency="small")


def warm(*sizes: str) -> tuple[tuple[str, ...], ...]:
    """Commands before the jobs: reads of these sizes, so that a mean of them is known."""
    each = " ".join(
        f"--name=warm-{size} --filename={workloads.DEVICE_NODE} --direct=1 --rw=randread "
        f"--bs={size} --ioengine=pvsync2 --hipri=1 --time_based --runtime={WARM_MS}ms --size=1G "
        "--norandommap=1 --cpus_allowed=0 --thread=1" for size in sizes)
    return (agent.exec_argv(f"fio {each} >/dev/null"),)


def of(name: str, run: str, cell: str = "alone") -> Expr:
    """A value of a run."""
    return value(name, run, cell)


def ratio(name: str, run: str, base: str, cell: str = "alone") -> Expr:
    """A value as a ratio to another run's."""
    return of(name, run, cell) / of(name, base, cell)


def each(names: Sequence[str], name: str, cell: str) -> list[tuple[str, Expr]]:
    """Points of a drawing."""
    return [(run, of(name, run, cell)) for run in names]
