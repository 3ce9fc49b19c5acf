# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs and runs of the figures about blk-switch.

L reads 4 KiB of the realtime class and waits; T has so many reads of 64 KiB under way, in batches.

The paper's head-of-line blocking is receive processing, which a local controller does not have. So
that the shapes can be looked at each figure has its runs twice: as they are, and with the CPU
spending 315 ns for each KiB of a completion, as the paper's cores did at 26 Gb/s, at most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from cint.figures.checks import Deviation
from cint.figures.columns import CPU, IOPS, MEAN, P50, P99, P999, THREAD
from cint.figures.controls import Control
from cint.figures.figure import CPU_SCALE, Group, Panel, Run, Series
from cint.figures.polled import REAL_TIME
from cint.figures.values import Cell, said
from cint.guest import steering
from cint.measure.workloads import ANYWHERE, COMMON, Workload

#: With the latency of an Optane drive and no limit of its bytes, as the paper's target in memory:
#: the CPU is what there is too little of. It takes 8 commands at a time.
MEDIA = "custom:read-latency=7us,write-latency=7us,units=8,slots=8"
#: Of what the paper's cores took for each KiB that a network delivers, reported.
COST_NS_PER_KIB = 315
#: What the runs with that cost are called, and the titles of both.
PAID = "per byte/"
TITLES = {"": "as it is", PAID: f"{COST_NS_PER_KIB} ns per KiB"}
MODES = tuple(steering.MODES)
OFF, PRIO, REQUEST, APP = MODES
DEPTH, BATCH = 32, 16
#: Seconds of each job with --quick, and at full length without a cost of bytes and with it: L does
#: ten thousand reads in three seeds, also where it waits for T. Where seeds come out alike a figure
#: has so many in each.
RUNTIME_S = 0.03
FULL_S = {"": 0.06, PAID: 0.2}
#: Physically contiguous buffers: where they are decides how much work a request of T is.
HUGE = "iomem=mmaphuge\n"
HUGE_PAGES = "hugepages=8"
COLUMNS = (IOPS, MEAN, P50, P99, P999, CPU, THREAD)
NETWORK = ("The paper's storage is behind a network of 100 Gb/s, and its factors are those of "
           "receiving from it; they are not promised here.")
JOBS = (f"The medium has no limit of its bytes, so that the CPU is what there is too little of, as "
        f"with the paper's target in memory. T submits and reaps {BATCH} reads at a time, so that "
        "they end together, as those do that a network delivers in bulk.")
SCHEDULED = ("L is a process of SCHED_RR in all runs: the CPU is its own as soon as it can run. "
             "What the fair scheduler does with a thread that waits is in blk-fig15.")
SAME_DEVICE = ("Requests that are steered stay in one device; what moves is the interrupt and the "
               "end of the request. Where the device is the bottleneck nothing is gained.")
FAST_TICKS = ("Application steering looks every 10 ms of the guest's: with two CPUs that is "
              f"{2 * CPU_SCALE:.1f} times as often as on the machine that it stands for.")


def latency(threads: int = 1, more: str = REAL_TIME) -> str:
    """L's section."""
    return f"[latency]\nioengine=psync\nprioclass=1\nprio=0\nnumjobs={threads}\n{more}"


def throughput(threads: int = 1, bs: str = "64k", depth: int = DEPTH, batch: int = BATCH,
               more: str = "") -> str:
    """T's section."""
    return (f"[throughput]\nioengine=libaio\nbs={bs}\niodepth={depth}\nnumjobs={threads}\n"
            f"iodepth_batch_submit={batch}\niodepth_batch_complete_min={batch}\n"
            f"iodepth_batch_complete_max={depth if batch == 1 else batch}\n{more}")


def pinned(name: str, title: str, *sections: str) -> Workload:
    """Jobs on CPU 0."""
    return _workload(name, title, COMMON, sections)


def anywhere(name: str, title: str, *sections: str) -> Workload:
    """Jobs whose threads may run on every CPU."""
    return _workload(name, title, ANYWHERE, sections)


def _workload(name: str, title: str, head: str, sections: Sequence[str]) -> Workload:
    """Whose latency is L's, and which has a row for each if there are both."""
    return Workload(name, title, head + "".join(sections), split=len(sections) > 1,
                    latency_job="latency" if len(sections) > 1 else None)


#: L by itself.
ALONE = pinned("alone", "a process of the realtime class that reads 4 KiB and waits", latency())


def runs(*modes: str) -> tuple[Run, ...]:
    """A run for each mode, under the policy that interrupts for each completion."""
    return tuple(Run("default", mode, steering=mode) for mode in modes)


def cost(vcpus: int) -> str:
    """The option that makes the guest spend the cost of bytes, scaled as its times are."""
    return f"nvme.complete_cost_ns_per_kib={round(COST_NS_PER_KIB * CPU_SCALE * vcpus)}"


def groups(modes: Sequence[str], workloads: Sequence[Workload], vcpus: int = 2,
           full_s: Mapping[str, float] = MappingProxyType(FULL_S),
           second: str = "") -> tuple[Group, ...]:
    """The runs without and with a cost of bytes; `second`: the medium of another controller."""
    return tuple(Group(runs(*modes), workloads, MEDIA, prefix, RUNTIME_S, full_s[prefix],
                       vcpus=vcpus, append=append, second=second)
                 for prefix, append in (("", ()), (PAID, (cost(vcpus),))))


def of_l(cell: str, prefix: str = "") -> Cell:
    """L's value in a workload, beside T or alone."""
    return Cell(cell if cell == ALONE.name else f"{cell}.latency", prefix)


def of_t(cell: str, prefix: str = "") -> Cell:
    """T's value in one, beside L."""
    return Cell(f"{cell}.throughput", prefix)


def gives_way(run: str, cell: str) -> Deviation:
    """Why L is never quite as if it were alone."""
    return Deviation(1.3001, 2.1, said(
        "T's requests are sent and ended four at a time, and in between the guest's kernel gives "
        "way to no thread (PREEMPT_VOLUNTARY): at the 99th percentile L's read takes {:.1f} us "
        "more than alone. It is not the controller: with 64 slots it is no less (blk-fig15)",
        of_l(cell)("p99_us", run) - of_l(ALONE.name)("p99_us", run)))


def more_of_l(low: float, high: float, one: str, off: str, cell: str) -> Deviation:
    """Why T has less of the CPU beside L in a run than in mode off."""
    return Deviation(low, high, said(
        "L waits less and so does {:.1f} times as many reads in the same time, on the same CPUs; "
        "where L has one rate in both modes T keeps all but a fiftieth (blk-held)",
        of_l(cell).ratio("iops", one, off)))


def another(cell: str, other: str) -> Control:
    """A control: a workload's outcome replaced by another's, of both classes."""
    return Control({f"{cell}.{job}": other if other == ALONE.name else f"{other}.{job}"
                    for job in ("latency", "throughput")}, text=f"{other} in place of {cell}")


#: What is drawn: its title and unit, and whose it is.
_WHAT = {"p99_us": ("p99 of L", "us", of_l), "p999_us": ("p99.9 of L", "us", of_l),
         "iops": ("T's requests of 64 KiB", "per s", of_t)}


def over(modes: Sequence[str], cells: Mapping[Any, str], names: Sequence[str],
         **more: Any) -> tuple[Panel, ...]:
    """Drawings of both kinds of runs: these values of L and T by mode, over their workloads."""
    return tuple(Panel(f"{title}: {what}", unit, tuple(
        Series(mode, [(at, of(cell, prefix)(name, mode)) for at, cell in cells.items()])
        for mode in modes), **more)
        for prefix, title in TITLES.items()
        for name, (what, unit, of) in ((name, _WHAT[name]) for name in names))


def bars(modes: Sequence[str], cells: Sequence[str]) -> tuple[Panel, ...]:
    """p99 of L and T's requests, by workload and mode."""
    return over(modes, {cell: cell for cell in cells}, ("p99_us", "iops"))


def lines(modes: Sequence[str], cells: Mapping[int, str], x: str,
          names: Sequence[str] = ("p99_us", "iops"), log_x: bool = False) -> tuple[Panel, ...]:
    """The same over a number: the workload for each of its values."""
    return over(modes, cells, names, kind="lines", x=x, log_x=log_x)
