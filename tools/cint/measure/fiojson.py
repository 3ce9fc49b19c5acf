# SPDX-License-Identifier: GPL-2.0-or-later
"""fio's json+ output, as far as the comparison needs it.

Times are nanoseconds of the guest's clock.  Percentiles come from the json+
histogram, so that histograms of repeats and of several jobs can be added up
first.  A bin of fio's is 1/64 of a power of two wide: a percentile is exact to
about 1.6 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cint import units
from cint.errors import CintError

DIRECTIONS = ("read", "write", "trim")
#: Directions of which none took so much of a job's time came one after the other.
APART = 0.95
#: fio's own units of time.
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "m": 60.0, "h": 3600.0, "d": 86400.0}

Bins = dict[int, int]


@dataclass(frozen=True)
class JobStats:
    """One fio job, or several of the same name, over its measured time."""

    name: str
    ios: int
    iops: float
    mean_ns: float
    bins: Bins
    runtime_ms: int
    usr_percent: float = 0.0
    sys_percent: float = 0.0
    #: How long it was told to run; None where it was not.
    limit_ms: float | None = None
    #: Of all its threads: CPU time, time without the CPU, and how often they lost it or gave it up.
    on_cpu_ms: float = 0.0
    off_cpu_ms: float = 0.0
    switches: int = 0

    @property
    def active_ms(self) -> float:
        """How long it submitted I/Os: not while it only waited for the last ones."""
        return min(self.runtime_ms, self.limit_ms or self.runtime_ms)


class FioError(CintError):
    """fio's output is not what it should be."""


def merge_bins(parts: Iterable[Mapping[int, int]]) -> Bins:
    """Add histograms."""
    total: Bins = {}
    for part in parts:
        for value, count in part.items():
            total[value] = total.get(value, 0) + count
    return total


def percentile(bins: Mapping[int, int], percent: float) -> float | None:
    """The value below which ``percent`` of the samples lie (None: no samples)."""
    count = sum(bins.values())
    if not count:
        return None
    wanted = count * percent / 100
    seen = 0
    for value in sorted(bins):
        seen += bins[value]
        if seen >= wanted:
            return float(value)
    return float(max(bins))


def beyond(bins: Mapping[int, int], percent: float) -> int:
    """How many of the samples are larger than that of this rank: what its percentile goes by."""
    count = sum(bins.values())
    return count - math.ceil(count * percent / 100)


def _latency(direction: Mapping[str, Any]) -> Mapping[str, Any]:
    """The histogram-bearing latency: lat_ns when asked for, else clat_ns."""
    for name in ("lat_ns", "clat_ns"):
        part = direction.get(name)
        if isinstance(part, dict) and part.get("bins"):
            return part
    empty: dict[str, Any] = direction.get("lat_ns") or {}
    return empty


def combine(name: str, parts: Iterable[JobStats]) -> JobStats:
    """Several jobs that ran side by side as one."""
    jobs = list(parts)
    ios = sum(j.ios for j in jobs)
    mean = sum(j.mean_ns * j.ios for j in jobs) / ios if ios else 0.0
    return JobStats(name, ios, sum(j.iops for j in jobs), mean,
                    merge_bins(j.bins for j in jobs),
                    max((j.runtime_ms for j in jobs), default=0),
                    sum(j.usr_percent for j in jobs), sum(j.sys_percent for j in jobs),
                    max((j.limit_ms for j in jobs if j.limit_ms), default=None),
                    sum(j.on_cpu_ms for j in jobs), sum(j.off_cpu_ms for j in jobs),
                    sum(j.switches for j in jobs))


def pool(name: str, repeats: Iterable[JobStats]) -> JobStats:
    """Several runs of one job, one after the other, as one (IOPS: their mean)."""
    jobs = list(repeats)
    merged = combine(name, jobs)
    count = max(len(jobs), 1)
    return JobStats(name, merged.ios, merged.iops / count, merged.mean_ns, merged.bins,
                    merged.runtime_ms, merged.usr_percent / count, merged.sys_percent / count,
                    merged.limit_ms, merged.on_cpu_ms, merged.off_cpu_ms, merged.switches)


def _direction(name: str, part: Mapping[str, Any]) -> JobStats | None:
    ios = int(part.get("total_ios", 0))
    if not ios:
        return None
    latency = _latency(part)
    bins = {int(v): int(c) for v, c in latency.get("bins", {}).items()}
    return JobStats(name, ios, float(part["iops"]), float(latency.get("mean", 0.0)), bins,
                    int(part.get("runtime", 0)))


def _both(name: str, parts: Sequence[JobStats], elapsed_ms: float) -> JobStats:
    """A job's reads and writes: at the same time, or one after the other, as `verify` has it."""
    whole = combine(name, parts)
    took = sum(part.runtime_ms for part in parts)
    if whole.runtime_ms < APART * elapsed_ms and 0 < took < elapsed_ms / APART:
        return replace(whole, iops=1000 * whole.ios / took, runtime_ms=took)
    return whole


def _limit_ms(options: Mapping[str, Any]) -> float | None:
    """The option runtime, if the job has one that can be read."""
    text = str(options.get("runtime") or options.get("timeout") or "")
    seconds = units.quantity(text.lower().replace(" ", ""), {**SECONDS, "": 1.0})
    return seconds * 1000 if seconds else None


def _job(entry: Mapping[str, Any], common: Mapping[str, Any]) -> JobStats:
    name = str(entry.get("jobname", "?"))
    if entry.get("error"):
        raise FioError(f"fio job '{name}' failed with error {entry['error']}",
                       hint="fio's own words are in agent.log")
    parts = [_direction(name, entry[d]) for d in DIRECTIONS if isinstance(entry.get(d), dict)]
    whole = _both(name, [p for p in parts if p], float(entry.get("job_runtime", 0.0)))
    if not whole.ios and entry.get("job_runtime") == 0:
        raise FioError(f"fio job '{name}' did not begin", hint="fio's own words are in agent.log")
    usr, sys = float(entry.get("usr_cpu", 0.0)), float(entry.get("sys_cpu", 0.0))
    elapsed = float(entry.get("job_runtime", 0.0))
    on_cpu = min((usr + sys) / 100, 1.0) * elapsed
    return JobStats(name, whole.ios, whole.iops, whole.mean_ns, whole.bins, whole.runtime_ms,
                    usr, sys, _limit_ms({**common, **(entry.get("job options") or {})}),
                    on_cpu, elapsed - on_cpu, int(entry.get("ctx", 0)))


def groups(document: Any) -> list[dict[str, JobStats]]:
    """fio's JSON document: its groups of jobs, in each the jobs by name, in the file's order.

    fio begins a group at a job that waits for all before it (`stonewall`), and where `new_group`
    says so. Raises :class:`FioError` where it has none, or cannot be read.
    """
    if not isinstance(document, dict) or not document.get("jobs"):
        raise FioError("fio gave no results", hint="its own words are in agent.log")
    common = document.get("global options") or {}
    found: dict[int, dict[str, list[JobStats]]] = {}
    try:
        for entry in document["jobs"]:
            job = _job(entry, common)
            group = found.setdefault(int(entry.get("groupid", 0)), {})
            group.setdefault(job.name, []).append(job)
    except (AttributeError, KeyError, TypeError, ValueError) as err:
        raise FioError(f"fio's results cannot be read ({err!r})") from None
    return [{name: combine(name, parts) for name, parts in group.items()}
            for group in found.values()]


def parse(document: Any) -> dict[str, JobStats]:
    """All jobs by name, whenever they ran."""
    return joined(groups(document))


def joined(groups_: Sequence[Mapping[str, JobStats]]) -> dict[str, JobStats]:
    """Groups that ran side by side as one."""
    together: dict[str, list[JobStats]] = {}
    for group in groups_:
        for name, job in group.items():
            together.setdefault(name, []).append(job)
    return {name: combine(name, parts) for name, parts in together.items()}


def version(document: Any) -> str | None:
    """fio's version, as it says itself."""
    return str(document["fio version"]) if isinstance(document, dict) and \
        "fio version" in document else None
