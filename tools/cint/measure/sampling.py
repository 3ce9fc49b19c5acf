# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples and rows of the comparison, made from the agent's result messages.

A :class:`Sample` is one run of one workload under one policy, in guest time.
A :class:`Row` is what is printed: repeats joined, converted to reported time.

Rates are of the time in which all jobs of a group ran: see :func:`window`.
Interrupt rates are interrupts per I/O (both counted over the same time, from
the start of fio on) times the IOPS of that window, so that fio's start and ramp
do not dilute them.
"""

from __future__ import annotations

import dataclasses
import functools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from cint.device import logpage
from cint.guest import agent, drivers
from cint.measure import agreeing, apps, edges, fiojson, metrics, records, reported
from cint.measure.window import Window, window

USER_HZ = 100


#: What the device counted during one sample (I/O queues only).
DeviceDelta = logpage.Totals


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One run of one workload under one policy; guest time."""

    policy: str
    workload: str
    repeat: int
    jobs: Mapping[str, fiojson.JobStats]
    guest_interrupts: int | None
    elapsed_s: float
    cpu_share: float | None
    device: DeviceDelta | None
    fio_version: str | None = None
    #: I/Os that the guest's block device ended meanwhile.
    block_ios: int | None = None
    window: Window | None = None
    #: The workload it is part of, and which of its groups of jobs this is, of how many.
    whole: str = ""
    group: int = 1
    groups: int = 1
    seed: int | None = None
    #: What a person's own program told, by name, in guest time.
    said: Mapping[str, apps.Said] = field(default_factory=dict)
    #: How far its blocks agreed, where it could end by that.
    agreement: agreeing.Agreement | None = None

    def rate(self, job: str) -> float:
        """A job's I/Os per guest second while all jobs of the group ran."""
        return self.window.rates[job] if self.window else self.jobs[job].iops

    @property
    def iops(self) -> float:
        """I/Os per guest second, all jobs together, while all of them ran."""
        if self.window and self.window.total is not None:
            return self.window.total
        return sum(self.rate(name) for name in self.jobs)

    @property
    def ios(self) -> float:
        """I/Os of the time in which interrupts were counted."""
        if self.device is not None and self.device.cqes:
            return float(self.device.cqes)
        if self.block_ios:
            return float(self.block_ios)
        # A guest that counts none: fio's own count, which leaves its ramp out.
        return float(sum(j.ios for j in self.jobs.values()))


def cpu_share(before: agent.Edge, after: agent.Edge, vcpus: int) -> float | None:
    """Share of the CPUs' time that was not idle, 0 to 1.

    Of one CPU whose instructions are counted, one each ns, it is exact: the time that it was
    not halted. With several, time passes in PAUSE too, which is no idle time.
    """
    if vcpus == 1 and before.clock and after.clock and after.clock[0] > before.clock[0]:
        return (after.clock[1] - before.clock[1]) / (after.clock[0] - before.clock[0])
    ticks = (after.time_s - before.time_s) * vcpus * USER_HZ
    if ticks <= 0 or not after.cpu_ticks or not before.cpu_ticks:
        return None
    idle = sum(after.cpu_ticks.get(f, 0) - before.cpu_ticks.get(f, 0)
               for f in ("idle", "iowait"))
    return min(max(1 - idle / ticks, 0.0), 1.0)


def _cpu_edges(ran: agent.Ran) -> tuple[agent.Edge, agent.Edge]:
    """The time during which all jobs ran, else that of the whole fio process."""
    starts = agent.parse_edges(ran.stdout, "cint-pre")
    ends = agent.parse_edges(ran.stdout, "cint-post")
    if not starts or not ends:
        return ran.before.edge, ran.after.edge
    return max(starts, key=lambda e: e.time_s), min(ends, key=lambda e: e.time_s)


def device_delta(before: bytes | None, after: bytes | None) -> DeviceDelta | None:
    """The difference of two log pages (None: the device has none)."""
    if before is None or after is None:
        return None
    return logpage.since(logpage.decode(after).total(), logpage.decode(before).total())


def samples(policy: str, workload: str, repeat: int, message: agent.Message,
            vcpus: int) -> list[Sample]:
    """Read one result message of a fio job: a sample for each group of jobs that ran together."""
    ran = agent.Ran.of(message)
    groups = fiojson.groups(ran.fio)
    seen = edges.parse(ran.stdout)
    if edges.by_group(seen, 1) and len(seen) >= 2 * sum(map(len, groups)):
        # fio's own groups need not be one after the other
        groups = [fiojson.joined(groups)]
    found = edges.by_group(seen, len(groups))
    if len(groups) == 1:
        # Of jobs that ran one after the other, though they are a group, there are edges as well.
        one = Sample(policy=policy, workload=workload, repeat=repeat, jobs=groups[0],
                     guest_interrupts=None, elapsed_s=0.0, cpu_share=None, device=None,
                     fio_version=fiojson.version(ran.fio), whole=workload)
        return [_whole(one, ran, vcpus, found[0] if found else seen)]
    last = Count.of(ran.before)
    result = []
    for number, jobs in enumerate(groups, 1):
        mine = found[number - 1] if found else []
        one = Sample(policy=policy, workload=f"{workload}/{number}", repeat=repeat, jobs=jobs,
                     guest_interrupts=None, elapsed_s=0.0, cpu_share=None, device=None,
                     fio_version=fiojson.version(ran.fio), whole=workload, group=number,
                     groups=len(groups), window=window(jobs, mine))
        result.append(_group(one, mine, last, vcpus))
        if mine:
            last = Count.at(mine[-1])
    return result


def sample(policy: str, workload: str, repeat: int, message: agent.Message,
           vcpus: int) -> Sample:
    """The same of jobs that all ran together."""
    one, = samples(policy, workload, repeat, message, vcpus)
    return one


def app_sample(policy: str, app: apps.App, repeat: int, message: agent.Message,
               vcpus: int) -> Sample:
    """Read the result message of a person's own program, whose I/Os the device counts."""
    ran = agent.Ran.of(message)
    before, after = ran.before, ran.after
    ios = after.ios - before.ios if after.ios is not None and before.ios is not None else 0
    elapsed = (after.monotonic_ns - before.monotonic_ns) / 1e9
    stats = fiojson.JobStats(app.name, ios, ios / elapsed, 0.0, {}, round(1000 * elapsed))
    return Sample(policy=policy, workload=app.name, repeat=repeat, jobs={app.name: stats},
                  guest_interrupts=agent.queue_interrupts(before, after), elapsed_s=elapsed,
                  cpu_share=cpu_share(*_cpu_edges(ran), vcpus),
                  device=device_delta(before.nvme_log, after.nvme_log), block_ios=ios,
                  whole=app.name,
                  said=apps.parse_said(ran.stdout, f"{policy}: {app.path}"))


def _whole(one: Sample, ran: agent.Ran, vcpus: int,
           found: Sequence[edges.Edge]) -> Sample:
    """The only group of jobs is all that ran between the agent's two looks."""
    before, after = ran.before, ran.after
    said = agreeing.parse_said(ran.stdout)
    common = window(one.jobs, found, said)
    if not common.even and found and common.seconds:
        # What came after some jobs had ended is no part of the time they ran together.
        return _group(dataclasses.replace(one, window=common), found, Count.of(before), vcpus)
    ios = after.ios - before.ios if after.ios is not None and before.ios is not None else None
    one = dataclasses.replace(
        one, window=common, block_ios=ios, agreement=said,
        guest_interrupts=agent.queue_interrupts(before, after),
        elapsed_s=(after.monotonic_ns - before.monotonic_ns) / 1e9,
        cpu_share=cpu_share(*_cpu_edges(ran), vcpus),
        device=device_delta(before.nvme_log, after.nvme_log))
    return _by_user(one, drivers.counts(ran.stdout), vcpus)


def _by_user(one: Sample, counts: drivers.Counts | None, vcpus: int) -> Sample:
    """The sample of a process that drove the controller itself, which counts from its start."""
    if counts is None:
        return one
    device = (dataclasses.replace(logpage.decode(counts.page).total(), classes={})
              if counts.page else None)
    share = counts.cpu_share if vcpus == 1 else None
    return dataclasses.replace(one, guest_interrupts=counts.interrupts, device=device,
                               block_ios=None,
                               cpu_share=one.cpu_share if share is None else share)


@dataclass(frozen=True)
class Count:
    """The counts until some moment."""

    ios: int | None
    interrupts: int
    page: bytes | None

    @classmethod
    def of(cls, snap: agent.Snapshot) -> Count:
        """When the guest's agent looked."""
        return cls(snap.ios, agent.all_queue_interrupts(snap), snap.nvme_log)

    @classmethod
    def at(cls, edge: edges.Edge) -> Count:
        """The counts at a job's edge."""
        return cls(edge.ios, edge.interrupts, edge.page)


def _group(one: Sample, found: Sequence[edges.Edge], last: Count, vcpus: int) -> Sample:
    """The sample with what was counted from ``last`` on, until the first of its jobs ended."""
    if not found:
        return one
    end = next(e for e in found if not e.start)
    start = [e for e in found if e.start][-1]
    share = cpu_share(start.cpu, end.cpu, vcpus) if start.cpu and end.cpu else None
    return dataclasses.replace(
        one, guest_interrupts=end.interrupts - last.interrupts,
        elapsed_s=(found[-1].time_ns - found[0].time_ns) / 1e9, cpu_share=share,
        device=device_delta(last.page, end.page),
        block_ios=None if last.ios is None else end.ios - last.ios)


# ---- rows ---------------------------------------------------------------

@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table; reported time.  ``job`` is None for the whole workload.

    ``spread`` is (largest - smallest) / median of the repeats' IOPS, ``range`` the
    smallest and the largest value of each metric, empty without repeats. ``lateness``
    is that of the device's timers, all repeats together: see :func:`_lateness`.
    ``window_s`` is how long all jobs of the group ran, and ``even`` whether none ran
    longer.
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
    range: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    repeats: int = 1
    window_s: float | None = None
    even: bool = True
    #: Who drove the controller: kernel or user.
    engine: str = drivers.KERNEL
    #: How many I/Os of all repeats are beyond each percentile.
    beyond: Mapping[str, int] = field(default_factory=dict)
    #: By class of I/O what the device counted, last repeat: see :func:`_classes`.
    classes: Mapping[str, records.RowClass] = field(default_factory=dict)
    #: What a person's own program told: medians of the repeats, and the ratios to the baseline.
    said: Mapping[str, apps.Said] = field(default_factory=dict)
    said_ratios: Mapping[str, float | None] = field(default_factory=dict)
    #: How far blocks of its runs agreed, where these could end by that.
    agreement: records.Agreement | None = None

    def as_dict(self) -> records.Row:
        """The row as results.json has it."""
        row = {name: getattr(self, name) for name in SAME}
        if self.said:
            row["said"] = {name: {"value": one.value, "unit": one.unit,
                                  "ratio": self.said_ratios.get(name)}
                           for name, one in self.said.items()}
        if self.agreement:
            row["agreement"] = self.agreement
        return cast(records.Row, {**row, **{m: self.values.get(m) for m in metrics.NAMES}})

    def few(self, metric: str) -> int | None:
        """How many I/Os are beyond this percentile, if these are few; else None."""
        count = self.beyond.get(metric)
        known = self.values.get(metric) is not None
        return count if known and count is not None and count < metrics.FEW_BEYOND else None

    def width(self, metric: str) -> float | None:
        """(largest - smallest) / median of a metric's repeats."""
        ends, middle = self.range.get(metric), self.values.get(metric)
        return (ends[1] - ends[0]) / middle if ends and middle else None


#: The fields of a row that results.json has as they are.
SAME = tuple(one.name for one in dataclasses.fields(Row)
             if one.name not in {"values", "said", "said_ratios", "agreement"})


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
        return None if ns is None else reported.time(ns, k) / 1000

    return {"mean_us": us(stats.mean_ns) if stats.ios and stats.mean_ns else None,
            **{name: us(fiojson.percentile(stats.bins, rank))
               for name, rank in metrics.PERCENTILES.items()}}


def _interrupts(one: Sample, k: float) -> dict[str, float | None]:
    ios, device = one.ios, one.device
    rate = reported.rate(one.iops, k, "interrupts")
    seen = one.guest_interrupts
    guest = seen / ios * rate if ios and seen is not None else None
    count = device.interrupts if device else seen
    hold = device.mean_hold_ns if device else None
    return {"device_irqs": device.interrupts / ios * rate if device and ios else None,
            "guest_irqs": guest,
            "ios_per_irq": ios / count if count else None,
            "hold_us": None if hold is None else reported.time(hold, k, "hold time") / 1000,
            "cpu_percent": None if one.cpu_share is None else 100 * one.cpu_share}


def _lateness(samples: Sequence[Sample], k: float) -> dict[str, float | None]:
    """Time from a deadline to its interrupt, reported us; empty: no timer ran out.

    Percentiles are upper bounds, because the device's buckets are powers of two wide.
    """
    late = [s.device.lateness for s in samples if s.device]
    whole = functools.reduce(logpage.Hist.plus, late, logpage.Hist())
    if not whole.count:
        return {}

    def us(ns: float | None) -> float | None:
        return None if ns is None else reported.time(ns, k) / 1000

    return {"count": whole.count, "mean_us": us(whole.mean_ns),
            "p50_us": us(whole.at_most_ns(50)), "p99_us": us(whole.at_most_ns(99)),
            "max_us": us(whole.max_ns)}


def _classes(device: DeviceDelta, k: float) -> dict[str, records.RowClass]:
    """Counts by class of I/O; the time that a command waits for its fetch is reported us."""
    return {name: {"commands": found.commands, "bytes": found.bytes,
                   "wait_us": (None if found.wait.mean_ns is None
                               else reported.time(found.wait.mean_ns, k) / 1000),
                   "interrupts": found.interrupts,
                   "ios_per_irq": found.cqes / found.interrupts if found.interrupts else None}
            for name, found in device.classes.items()}


def _pooled(samples: Sequence[Sample], job: str | None) -> fiojson.JobStats:
    """One job (None: all jobs together) over all repeats."""
    parts = [fiojson.combine(s.workload, s.jobs.values()) if job is None else s.jobs[job]
             for s in samples]
    return fiojson.pool(job or samples[0].workload, parts)


def _range(parts: Sequence[Mapping[str, float | None]]) -> dict[str, tuple[float, float]]:
    """The smallest and the largest value of each metric."""
    known = {m: [v for p in parts if (v := p.get(m)) is not None] for m in metrics.NAMES}
    return {m: (min(v), max(v)) for m, v in known.items() if len(v) > 1}


def _once(one: Sample, k: float, job: str | None, speaks: str | None) -> dict[str, float | None]:
    """The values of one repeat, of one job or of the whole workload."""
    if job is not None:
        return {"iops": reported.rate(one.rate(job), k), **_latencies(one.jobs[job], k)}
    return {"iops": reported.rate(one.iops, k), **_interrupts(one, k),
            **_latencies(_pooled([one], speaks), k)}


def rows(samples: Sequence[Sample], k: float, latency_job: str | None, split: bool) -> list[Row]:
    """Rows of one workload under one policy; ``samples`` are its repeats.

    The first row is the whole workload; with ``split`` a row for each job
    follows.  ``latency_job`` names the job that gives the first row its
    latencies.
    """
    first = samples[0]
    speaks = latency_job if latency_job in first.jobs else None
    last = samples[-1].device or DeviceDelta()
    jobs = list(first.jobs) if split and len(first.jobs) > 1 else []
    result = [_row(samples, k, job, speaks) for job in (None, *jobs)]
    result[0] = dataclasses.replace(result[0], reasons=last.reasons, hints=last.hints,
                                    lateness=_lateness(samples, k), classes=_classes(last, k))
    return result


def _row(samples: Sequence[Sample], k: float, job: str | None, speaks: str | None) -> Row:
    """One row: medians of the repeats; latencies from the histograms of all repeats."""
    first, windows = samples[0], [s.window for s in samples if s.window]
    parts = [_once(s, k, job, speaks) for s in samples]
    values = {m: _median([p[m] for p in parts]) for m in parts[0]}
    pooled = _pooled(samples, job or speaks)
    values |= _latencies(pooled, k)
    return Row(policy=first.policy, workload=first.workload, job=job, values=values,
               beyond={name: fiojson.beyond(pooled.bins, rank)
                       for name, rank in metrics.PERCENTILES.items()},
               spread=_spread([p["iops"] or 0.0 for p in parts]), range=_range(parts),
               repeats=len(samples),
               window_s=_median([reported.time(w.seconds, k) for w in windows]),
               even=all(w.even for w in windows), said=_said(samples, k) if job is None else {},
               agreement=_agreement(samples, job, k))


def _agreement(samples: Sequence[Sample], job: str | None, k: float) -> records.Agreement | None:
    """How far the blocks of all repeats agreed, of one job or of the workload's worst."""
    found = [one.agreement for one in samples if one.agreement]
    if not found:
        return None
    errors = [one.error if job is None else one.jobs[job].error for one in found]
    known = [error for error in errors if error is not None]
    times = [reported.time(one.seconds, k) for one in found]
    return {"agreed": sum(one.agreed for one in found), "longest_s": round(max(times), 6),
            "error": max(known) if len(known) == len(errors) else None}


def _said(samples: Sequence[Sample], k: float) -> dict[str, apps.Said]:
    """Medians of what all repeats of a program told, in reported time."""
    told = [{name: one.reported(k) for name, one in s.said.items()} for s in samples]
    names = [name for name in told[0] if all(name in one for one in told)]
    return {name: apps.Said(statistics.median(one[name].value for one in told),
                            told[0][name].unit) for name in names}


def with_ratios(table: Sequence[Row], baseline: str) -> list[Row]:
    """Add each row's ratios to the baseline's row of the same workload and job."""
    base = {(r.workload, r.job): r for r in table if r.policy == baseline}
    return [_ratio_row(row, base.get((row.workload, row.job))) for row in table]


def _ratio_row(row: Row, base: Row | None) -> Row:
    def ratio(metric: str) -> float | None:
        mine, other = row.values.get(metric), base.values.get(metric) if base else None
        return mine / other if mine is not None and other else None

    told = base.said if base else {}
    return dataclasses.replace(
        row, ratios={m: ratio(m) for m in metrics.RATIOS},
        said_ratios={name: one.value / told[name].value if name in told and told[name].value
                     else None for name, one in row.said.items()})
