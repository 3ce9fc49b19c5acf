# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's cost per I/O and per interrupt.

A CPU-bound load does 1 / (c_io + c_irq / b) I/Os a second, where b is the
number of I/Os per interrupt that the guest takes.  The threshold of the
adaptive policy sets b.  A straight line through (1/b, time per I/O) has c_io
as its start and c_irq as its slope.  The measurement is made without scaling
and without an added interrupt cost, in virtual time.

The medium must be faster than the guest, or the load is not CPU-bound; but its
completions must come one by one, or their interrupts merge in the guest and b
does not vary.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from cint.device import properties
from cint.errors import CintError
from cint.guest import agent, session, vm
from cint.measure import published, sampling, workloads
from cint.measure.plan import Files, Places, RunPlan
from cint.measure.workloads import Timing

#: cinterrupts' machine: time per I/O of this load without interrupts, and time per interrupt.
PAPER_IO_NS = published.costs().batched
PAPER_IRQ_NS = published.costs().interrupt
THRESHOLDS = (1, 2, 4, 8, 16)
RUNTIME_S = 0.5
QUICK_RUNTIME_S = 0.1
MIN_CPU_SHARE = 0.95
# A 4 KiB completion each 3 us: the guest needs 6 to 9 us for an I/O and less
# than 2 us for an interrupt.
MEDIA = "custom:read-latency=1us,read-bandwidth=1365333333"
# Longer than any gap within a batch: thr alone decides, and the rest of a
# batch whose head was reaped early is not stranded.
DELTA = "100us"


@dataclass(frozen=True)
class Point:
    """One measurement; guest time.  ``ios_per_irq`` is by the guest's count."""

    thr: int
    ios_per_irq: float
    ns_per_io: float
    cpu_share: float | None


@dataclass(frozen=True)
class Fit:
    """The line through the points; ``worst`` is the largest relative residual."""

    c_io_ns: float
    c_irq_ns: float
    worst: float


def fit(points: Sequence[Point]) -> Fit:
    """Least squares of ns_per_io over 1/b; :class:`CintError` when it says nothing."""
    shares = [1 / p.ios_per_irq for p in points]
    times = [p.ns_per_io for p in points]
    if len(points) < 2 or max(shares) - min(shares) < 0.1:
        raise CintError("calibration: the I/Os per interrupt did not vary, nothing can be fitted",
                        hint="is the device's policy 'adaptive' working? try ./cint test guest")
    slope, start = statistics.linear_regression(shares, times)
    worst = max(abs(start + slope * s - t) / t for s, t in zip(shares, times, strict=True))
    return Fit(start, slope, worst)


def proposal(found: Fit) -> dict[str, float]:
    """Scale and cost that make the guest look like the papers' machines.

    The cost is what the guest's own interrupt lacks, in reported ns.
    """
    k = found.c_io_ns / PAPER_IO_NS
    return {"cpu_scale": round(k, 3),
            "irq_cost_ns": max(0, round(PAPER_IRQ_NS - found.c_irq_ns / k))}


def job_text(runtime_s: float) -> str:
    """J-AIO(256,16,16) as the comparison runs it."""
    return workloads.render(workloads.BUILT_IN["async"], Timing(runtime_s, runtime_s / 10), 1)


def run_for(thr: int, runtime_s: float) -> tuple[RunPlan, Places]:
    """The run for one threshold, and where its files are here."""
    policy = properties.parse_policy(f"adaptive:delta={DELTA},thr={thr}")
    props = properties.device_properties(policy, properties.parse_media(MEDIA), 1, virtual=True)
    plan = agent.Plan((agent.Job("async", fio=job_text(runtime_s), args=("--eta=never",)),))
    machine = vm.Machine(props)
    files = Files.of(machine)
    run = RunPlan.of(f"thr {thr}", machine, plan, files, job_seconds=runtime_s)
    return run, files.places


def point(thr: int, outcome: session.Outcome) -> Point:
    """One guest's result; :class:`CintError` of a device without counters."""
    one = sampling.sample("adaptive", "async", 0, outcome.results["async"], 1)
    seen = one.guest_interrupts
    if one.device is None or seen is None or not one.device.cqes or not one.iops:
        raise CintError("calibration: the device has no counters (log page D0h)",
                        hint="run ./cint build")
    return Point(thr, one.device.cqes / max(seen, 1), 1e9 / one.iops,
                 one.cpu_share)
