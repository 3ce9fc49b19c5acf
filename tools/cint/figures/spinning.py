# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs and runs of blk-switch's figures about SPDK: applications that poll, all on one CPU.

L reads 4 KiB and polls until it is there; T polls, too, with 32 reads of 64 KiB under way. Each is
a thread of one process on the driver in user space, with a queue pair of its own, and what they
share is the CPU.
"""

from __future__ import annotations

from collections.abc import Sequence

from cint.device import scale
from cint.figures.checks import Control
from cint.figures.model import CPU_SCALE, IOPS, MEAN, P99, Column, Group, Run
from cint.figures.reading import slices
from cint.figures.values import Expr, value
from cint.measure.workloads import COMMON, Workload

#: A read takes as long as the paper's by SPDK alone, a fifth of 118 us. There are more units and
#: slots than reads under way, so that only the CPU is shared.
READ_US = 20
MEDIA = f"custom:read-latency={READ_US}us,write-latency={READ_US}us,units=64,slots=64"
#: The applications have the first CPU. fio's own main thread, which wakes up 100 times a second of
#: the guest's and would end a turn each time, is sent to the other by the first job that begins.
CPUS = 2
_APART = "exec_prerun=taskset -p 2 $PPID\n"
ALONE, T_ALONE = "alone", "T alone"
#: The niceness of L that the paper calls SPDK+priority.
FIRST = -20
COLUMNS = (IOPS, MEAN, P99, Column("p99.9, us", "p999_us"), Column("longest, us", "max_us"),
           Column("thread, %", "thread_percent"), Column("run, us", "run_us"),
           Column("wait, us", "gap_us"))
APPLICATIONS = ("L and T are threads of one fio on the driver in userspace/ in place of processes "
                "of SPDK's perf, each with a queue pair of its own: one process has a controller. "
                "They have one CPU. A read takes 20 us of the medium, which has no limit of its "
                "bytes; behind the paper's network it takes SPDK 24 us. T has 32 reads of 64 KiB "
                "under way, in place of 8 of 128 KiB: with fewer it would wait for the medium, "
                "and its throughput would not be that of its share of the CPU.")
TICKS = ("A thread's turn ends at a tick, of which there is one every 4 ms of the guest's: "
         f"{4 / (CPU_SCALE * CPUS):.1f} ms as reported. fio's main thread, which wakes up now "
         "and then, is kept on another CPU, so that it ends nobody's turn.")
ONE_AFTER = ("T begins first and L once T is measured, so that T is not starved before it is: some "
             "10 ms, in which the command that L waits for is started, are all that T has without "
             "L. L ends last.")
#: Two turns: T has begun by then whoever had the CPU first.
_MARGIN_US = 16_000
#: T is measured from when {ramp_us} are over, and L begins with a command that takes a bit longer.
_AFTER_T = (f"exec_prerun=usleep {{ramp_us}} && usleep {_MARGIN_US}\n"
            "ramp_time=1ms\n")


def latency(threads: int = 1, more: str = "") -> str:
    """L's section."""
    return f"[latency]\nioengine=libaio\niodepth=1\nnumjobs={threads}\n{more}"


def throughput(more: str = "") -> str:
    """T's section."""
    return f"[throughput]\nioengine=libaio\nbs=64k\niodepth=32\n{_APART}{more}"


def nice(niceness: int) -> str:
    """L's options with this niceness, where T's is 0: see :data:`ONE_AFTER`."""
    return f"nice={niceness}\n{_AFTER_T}"


def asleep(us: int) -> str:
    """L's options where it sleeps for so long (reported) once it has submitted, then polls."""
    if not us:
        return ""
    ns = scale.apply_int("guest", "sleep_ns", 1000 * us, CPU_SCALE * CPUS)
    return f"interrupt_mode=sleep\nsleep_ns={ns}\n"


def sliced(us: int) -> str:
    """A section's option for a turn of so long (reported) at a time."""
    return f"slice_ns={scale.apply_int('guest', 'sched_runtime', 1000 * us, CPU_SCALE * CPUS)}\n"


def both(name: str, title: str, of_l: str, of_t: str) -> Workload:
    """L and T on CPU 0. T comes first: it is the one that may be starved."""
    return Workload(name, title, COMMON + of_t + of_l, latency_job="latency", split=True)


#: Each by itself.
SOLITARY = (Workload(ALONE, "a thread that reads 4 KiB and polls", COMMON + latency()),
            Workload(T_ALONE, "a thread that reads 64 KiB at depth 32 and polls",
                     COMMON + throughput()))


def group(name: str, workloads: Sequence[Workload], runtime_s: float) -> Group:
    """One guest, in which all poll unless a section says otherwise."""
    return Group((Run("default", name, engine="user:poll"),), workloads, MEDIA,
                 runtime_s=runtime_s, vcpus=CPUS, read=slices)


def of_l(name: str, run: str, cell: str) -> Expr:
    """A value of L's, beside T or alone."""
    return value(name, run, cell if cell == ALONE else f"{cell}.latency")


def of_t(name: str, run: str, cell: str) -> Expr:
    """A value of T's, beside L or alone."""
    return value(name, run, cell if cell == T_ALONE else f"{cell}.throughput")


def t_left(run: str, cell: str) -> Expr:
    """What T has of its throughput alone."""
    return of_t("iops", run, cell) / of_t("iops", run, T_ALONE)


def exchanged(one: str, two: str) -> Control:
    """A control: two workloads' outcomes exchanged, of both applications."""
    pairs = {f"{a}.{job}": f"{b}.{job}" for job in ("latency", "throughput")
             for a, b in ((one, two), (two, one))}
    return Control(pairs, text=f"{one} and {two} exchanged")


def instead(cell: str, other: str) -> Control:
    """A control: a workload's outcome replaced by that of an application alone."""
    return Control({f"{cell}.{job}": other for job in ("latency", "throughput")},
                   text=f"{other} in place of {cell}")
