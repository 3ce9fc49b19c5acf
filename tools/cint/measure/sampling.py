# SPDX-License-Identifier: GPL-2.0-or-later
"""From the agent's result messages to the rows of the comparison.

A :class:`Sample` is one run of one workload under one policy, in guest time.
A :class:`Row` is what is printed: repeats joined, converted to reported time.

Interrupt rates are interrupts per I/O (both counted from the start of fio to
its end) times the IOPS of fio's measured time, so that fio's start and ramp do
not dilute them.
"""

from __future__ import annotations

import dataclasses
import functools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cint.device import logpage, scale
from cint.guest import agent
from cint.measure import fiojson, metrics

USER_HZ = 100


@dataclass(frozen=True)
class DeviceDelta:
    """What the device counted during one sample (I/O queues only)."""

    cqes: int
    interrupts: int
    hold_sum_ns: int
    hold_count: int
    lateness: logpage.Hist = field(default_factory=logpage.Hist)
    reasons: Mapping[str, int] = field(default_factory=dict)
    urgent_interrupts: int = 0
    hints: Mapping[str, int] = field(default_factory=dict)
    sources: Mapping[str, int] = field(default_factory=dict)

    @property
    def mean_hold_ns(self) -> float | None:
        """Mean time from a completion's post to its interrupt, guest ns."""
        return self.hold_sum_ns / self.hold_count if self.hold_count else None


@dataclass(frozen=True)
class Sample:
    """One run of one workload under one policy; guest time."""

    policy: str
    workload: str
    repeat: int
    jobs: Mapping[str, fiojson.JobStats]
    guest_interrupts: int
    elapsed_s: float
    cpu_share: float | None
    device: DeviceDelta | None
    fio_version: str | None = None

    @property
    def iops(self) -> float:
        """I/Os per guest second, all jobs together."""
        return sum(j.iops for j in self.jobs.values())

    @property
    def ios(self) -> float:
        """I/Os from the start of fio to its end."""
        if self.device is not None and self.device.cqes:
            return float(self.device.cqes)
        # No device counters: fio's own count, which leaves its ramp out.
        return float(sum(j.ios for j in self.jobs.values()))


def cpu_share(before: agent.Edge, after: agent.Edge, vcpus: int) -> float | None:
    """Share of the CPUs' time that was not idle, 0 to 1."""
    ticks = (after.time_s - before.time_s) * vcpus * USER_HZ
    if ticks <= 0 or not after.cpu_ticks or not before.cpu_ticks:
        return None
    idle = sum(after.cpu_ticks.get(f, 0) - before.cpu_ticks.get(f, 0)
               for f in ("idle", "iowait"))
    return min(max(1 - idle / ticks, 0.0), 1.0)


def _edges(message: agent.Message, before: agent.Snapshot,
           after: agent.Snapshot) -> tuple[agent.Edge, agent.Edge]:
    """The time during which all jobs ran, else that of the whole fio process."""
    text = str(message.get("stdout") or "")
    starts, ends = agent.parse_edges(text, "cint-pre"), agent.parse_edges(text, "cint-post")
    if not starts or not ends:
        return before.edge, after.edge
    return max(starts, key=lambda e: e.time_s), min(ends, key=lambda e: e.time_s)


def device_delta(before: bytes | None, after: bytes | None) -> DeviceDelta | None:
    """The difference of two log pages (None: the device has none)."""
    if before is None or after is None:
        return None
    first, last = logpage.decode(before).total(), logpage.decode(after).total()

    def more(now: Mapping[str, int], then: Mapping[str, int]) -> dict[str, int]:
        return {n: count - then.get(n, 0) for n, count in now.items() if count != then.get(n, 0)}

    return DeviceDelta(last.cqes - first.cqes, last.interrupts - first.interrupts,
                       last.hold_sum_ns - first.hold_sum_ns,
                       last.hold_count - first.hold_count,
                       last.lateness.since(first.lateness),
                       more(last.reasons, first.reasons),
                       last.urgent_interrupts - first.urgent_interrupts,
                       more(last.hints, first.hints), more(last.sources, first.sources))


def sample(policy: str, workload: str, repeat: int, message: agent.Message,
           vcpus: int) -> Sample:
    """Read one result message of a fio job."""
    before = agent.parse_snapshot(message.get("before"))
    after = agent.parse_snapshot(message.get("after"))
    document = message.get("fio")
    return Sample(policy, workload, repeat, fiojson.parse(document),
                  agent.queue_interrupts(before, after),
                  (after.monotonic_ns - before.monotonic_ns) / 1e9,
                  cpu_share(*_edges(message, before, after), vcpus),
                  device_delta(before.nvme_log, after.nvme_log), fiojson.version(document))


# ---- rows ---------------------------------------------------------------

@dataclass(frozen=True)
class Row:
    """One line of the table; reported time.  ``job`` is None for the whole workload.

    ``spread`` is (largest - smallest) / median of the repeats' IOPS. ``lateness``
    is that of the device's timers, all repeats together: see :func:`_lateness`.
    """

    policy: str
    workload: str
    job: str | None
    values: Mapping[str, float | None]
    spread: float | None = None
    ratios: Mapping[str, float | None] = field(default_factory=dict)
    reasons: Mapping[str, int] = field(default_factory=dict)
    lateness: Mapping[str, float | None] = field(default_factory=dict)
    hints: Mapping[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The row as results.json has it."""
        return {"policy": self.policy, "workload": self.workload, "job": self.job,
                **{m: self.values.get(m) for m in metrics.NAMES}, "spread": self.spread,
                "ratios": dict(self.ratios), "reasons": dict(self.reasons),
                "lateness": dict(self.lateness), "hints": dict(self.hints)}


def _median(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return statistics.median(known) if known else None


def _spread(values: Sequence[float]) -> float | None:
    middle = statistics.median(values) if values else 0.0
    if len(values) < 2 or not middle:
        return None
    return (max(values) - min(values)) / middle


def _latencies(stats: fiojson.JobStats, k: float) -> dict[str, float | None]:
    def us(ns: float | None) -> float | None:
        return None if ns is None else scale.report_time(ns, k) / 1000

    p50, p99, p999 = (us(fiojson.percentile(stats.bins, p)) for p in fiojson.PERCENTILES)
    return {"mean_us": us(stats.mean_ns) if stats.ios else None,
            "p50_us": p50, "p99_us": p99, "p999_us": p999}


def _interrupts(one: Sample, k: float) -> dict[str, float | None]:
    ios, device = one.ios, one.device
    rate = scale.report_rate(one.iops, k)
    guest = one.guest_interrupts / ios * rate if ios else None
    count = device.interrupts if device else one.guest_interrupts
    hold = device.mean_hold_ns if device else None
    return {"device_irqs": device.interrupts / ios * rate if device and ios else None,
            "guest_irqs": guest,
            "ios_per_irq": ios / count if count else None,
            "hold_us": None if hold is None else scale.report_time(hold, k) / 1000,
            "cpu_percent": None if one.cpu_share is None else 100 * one.cpu_share}


def _lateness(samples: Sequence[Sample], k: float) -> dict[str, float | None]:
    """From an interrupt's deadline to the interrupt, reported us; empty: no timer ran out.

    Percentiles are upper bounds, because the device's buckets are powers of two wide.
    """
    late = [s.device.lateness for s in samples if s.device]
    whole = functools.reduce(logpage.Hist.plus, late, logpage.Hist())
    if not whole.count:
        return {}

    def us(ns: float | None) -> float | None:
        return None if ns is None else scale.report_time(ns, k) / 1000

    return {"count": whole.count, "mean_us": us(whole.mean_ns),
            "p50_us": us(whole.at_most_ns(50)), "p99_us": us(whole.at_most_ns(99)),
            "max_us": us(whole.max_ns)}


def _pooled(samples: Sequence[Sample], job: str | None) -> fiojson.JobStats:
    """One job (None: all jobs together) over all repeats."""
    parts = [fiojson.combine(s.workload, s.jobs.values()) if job is None else s.jobs[job]
             for s in samples]
    return fiojson.pool(job or samples[0].workload, parts)


def rows(samples: Sequence[Sample], k: float, latency_job: str | None, split: bool) -> list[Row]:
    """Rows of one workload under one policy; ``samples`` are its repeats.

    The first row is the whole workload; with ``split`` a row for each job
    follows.  ``latency_job`` names the job that gives the first row its
    latencies.
    """
    first = samples[0]
    interrupts = [_interrupts(s, k) for s in samples]
    values: dict[str, float | None] = {m: _median([i[m] for i in interrupts])
                                       for m in interrupts[0]}
    values["iops"] = _median([scale.report_rate(s.iops, k) for s in samples])
    speaks = latency_job if latency_job in first.jobs else None
    values |= _latencies(_pooled(samples, speaks), k)
    last = samples[-1].device or DeviceDelta(0, 0, 0, 0)
    result = [Row(first.policy, first.workload, None, values,
                  _spread([s.iops for s in samples]), reasons=last.reasons,
                  lateness=_lateness(samples, k), hints=last.hints)]
    for job in first.jobs if split and len(first.jobs) > 1 else ():
        own = [s.jobs[job].iops for s in samples]
        part = _latencies(_pooled(samples, job), k)
        part["iops"] = _median([scale.report_rate(i, k) for i in own])
        result.append(Row(first.policy, first.workload, job, part, _spread(own)))
    return result


def with_ratios(table: Sequence[Row], baseline: str) -> list[Row]:
    """Add each row's ratios to the baseline's row of the same workload and job."""
    base = {(r.workload, r.job): r for r in table if r.policy == baseline}
    return [_ratio_row(row, base.get((row.workload, row.job))) for row in table]


def _ratio_row(row: Row, base: Row | None) -> Row:
    def ratio(metric: str) -> float | None:
        mine, other = row.values.get(metric), base.values.get(metric) if base else None
        return mine / other if mine is not None and other else None

    return dataclasses.replace(row, ratios={m: ratio(m) for m in metrics.RATIOS})
