# SPDX-License-Identifier: GPL-2.0-or-later
"""Readers that make a figure's points of a guest's outcome.

A point has the metrics of a table row (:mod:`cint.measure.metrics`), and

    irqs_per_io      by the device's count
    sd_us            standard deviation of the latency
    thread_percent   CPU time of a job's thread, as the guest's kernel accounts it
    p9999_us, max_us  its far end, of as many I/Os as ios says
    cpu_per_io_us    time that the CPU was not idle, for each I/O
    head_us          mean time from a completion until the guest has seen it
    avoided_per_io, untold_per_io   by the device's count
    reason.NAME      share of the interrupts sent for that reason
    hint.NAME        share of the commands with that hint
    l_ios_per_irq, l_wait_us, t_ios_per_irq, t_wait_us   of queues by class of I/O
    cpu_us_per_io, idle_percent, mean_ratio, irqs_by_ratio   where the guest was probed
    run_us, gap_us   mean time on the CPU and without it of a job's threads, where asked for
    switches_per_s   how often a job's threads leave the CPU in a second, where asked for
    irq_us_per_io    CPU time in interrupts, as the guest's kernel accounts it, where asked for

One of a person's own program (:func:`told`) has what the device counted, and what the program
told, whose names say the unit, too: mean_us, throughput_per_s, cpu_percent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from cint.errors import CintError
from cint.figures import probe
from cint.figures.values import Data, Point, shortened
from cint.guest import agent, session
from cint.measure import boots, fiojson, reported, sampling
from cint.measure.settings import Settings
from cint.measure.workloads import Workload

FAR_PERCENTILE = 99.99
#: As many I/Os as have at least two beyond it.
FAR_COUNT = 20_000
#: What a program told: a cell, maybe, and the name of a number, which may end as p99.9 does.
_TOLD = re.compile(r"(?:(.+)\.)?([A-Za-z][A-Za-z0-9_-]*(?:\.\d+)?)")
_MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6, "min": 6e7}
_SUFFIXES = {"%": "_percent", "1/s": "_per_s"}
#: What a program calls how many of its operations a time is of, and what points call it.
_COUNT, _IOS = "count", "ios"
#: Of the guest's /proc/stat.
_TICK_NS = 10_000_000
#: Guest time. The user-space driver looks by itself after a second: what waits for so long was not
#: woken for.
LOST_NS = 900_000_000


@dataclass(frozen=True)
class Booted:
    """A guest's outcome, and what is needed to read it. ``log`` is QEMU's, with its trace."""

    name: str
    settings: Settings
    seeds: Sequence[int]
    outcome: session.Outcome
    log: str

    def message(self, workload: Workload, seed: int) -> agent.Message:
        """The agent's message of a job."""
        return self.outcome.results[boots.job_name(workload, seed)]

    def sample(self, workload: Workload, seed: int) -> sampling.Sample:
        """The sample of a fio job."""
        return sampling.sample(self.name, workload.name, seed, self.message(workload, seed),
                               self.settings.vcpus)

    def jobs(self) -> Iterator[tuple[Workload, int]]:
        """Each workload with each seed."""
        return product(self.settings.workloads, self.seeds)


Reader = Callable[[Booted, Data], None]


def points(boot: Booted, data: Data) -> None:
    """The points of all jobs of a guest."""
    cells = data.cells.setdefault(boot.name, {})
    for workload, seed in boot.jobs():
        one = boot.sample(workload, seed)
        if boot.settings.arms[0].engine.sleeps:
            check_woken(one)
        found = _points(one, workload, boot.settings.k, boot.message(workload, seed))
        for cell, point in found.items():
            cells.setdefault(cell, []).append(point)


def extended(boot: Booted, data: Data) -> Iterator[tuple[Workload, int, Point]]:
    """The points of all jobs of a guest; of each job the workload, the seed and its point, to which
    there is something to add.
    """
    points(boot, data)
    for workload in boot.settings.workloads:
        for seed, point in zip(boot.seeds, data.cells[boot.name][workload.name], strict=True):
            yield workload, seed, point


def told(boot: Booted, data: Data) -> None:
    """The points of a person's own programs: of the device, and what they told of themselves.

    Of a name with dots what stands before the last is a cell below the program's: read.mean of the
    program b is mean_us of the cell b.read. Raises :class:`CintError` of a program that tells
    nothing.
    """
    cells = data.cells.setdefault(boot.name, {})
    for workload, seed in boot.jobs():
        if workload.app is None:
            raise CintError(f"{boot.name}: {workload.name} is no program that tells numbers")
        one = sampling.app_sample(boot.name, workload.app, seed, boot.message(workload, seed),
                                  boot.settings.vcpus)
        for cell, point in _told(one, workload.name, boot.settings.k).items():
            cells.setdefault(cell, []).append(point)


def _told(one: sampling.Sample, name: str, k: float) -> dict[str, Point]:
    row, = sampling.rows([one], k, None, split=False)
    merged = row.values.get("ios_per_irq")
    found: dict[str, Point] = {name: {
        **{n: x for n, x in row.values.items() if x is not None},
        **({"irqs_per_io": 1 / merged} if merged else {}),
        **_shares("reason", row.reasons), **_shares("hint", row.hints)}}
    for words, said in row.said.items():
        parts = _TOLD.fullmatch(words)
        if parts is None:
            raise CintError(f"{one.policy}: {name} told '{words}', which is no name of a number")
        cell = f"{name}.{parts[1]}" if parts[1] else name
        number, factor = _point_name(parts[2], said.unit)
        found.setdefault(cell, {})[number] = said.value * factor
    return found


def _point_name(name: str, unit: str) -> tuple[str, float]:
    """What points call a number that was told, and the factor to their unit."""
    if name == _COUNT and not unit:
        return _IOS, 1.0
    plain = name.replace(".", "")
    if unit in _MICROSECONDS:
        return f"{plain}_us", _MICROSECONDS[unit]
    return f"{plain}{_SUFFIXES.get(unit, '')}", 1.0


def check_woken(one: sampling.Sample) -> None:
    """:class:`CintError` where a process that sleeps until an interrupt was not woken for one.

    What was measured is then of how long it takes to find that out. Completions that are held back
    meanwhile are told of by max-hold; where all that is outstanding has been posted none are, and
    the time alone shows it.
    """
    device = one.device or sampling.DeviceDelta(0, 0, 0, 0)
    waited = max(device.post_to_head.max_ns,
                 *(ns for job in one.jobs.values() for ns in (0, *job.bins)))
    held = device.reasons.get("max-hold", 0)
    if held or waited >= LOST_NS:
        raise CintError(f"{one.policy}: in {one.workload} a process that slept until an interrupt "
                        f"was not woken: {held} interrupts of max-hold, and it waited for up to "
                        f"{waited / 1e6:.0f} ms of the guest's")


def exceedance(boot: Booted, data: Data) -> None:
    """The points, and as a curve which share of the I/Os takes longer than so long."""
    points(boot, data)
    curves = data.curves.setdefault(boot.name, {})
    for workload in boot.settings.workloads:
        bins = fiojson.merge_bins(job.bins for seed in boot.seeds
                                  for job in boot.sample(workload, seed).jobs.values())
        left, curve = sum(bins.values()), []
        for ns in sorted(bins):
            curve.append([shortened(reported.time(ns, boot.settings.k) / 1000),
                          shortened(left / sum(bins.values()))])
            left -= bins[ns]
        curves[workload.name] = curve


def slices(boot: Booted, data: Data) -> None:
    """The points, and for how long a job's threads have the CPU and are without it, on average."""
    _with_threads(boot, data, _turns)


def threads(boot: Booted, data: Data) -> None:
    """The points, and of a job's threads the CPU time, as fio reports it: usr and sys.

    Interrupts are not in it, nor what the CPU takes to fall asleep and to wake up.
    """
    _with_threads(boot, data, thread_time)


def handlers(boot: Booted, data: Data) -> None:
    """The points, and what the kernel accounts to interrupts, for each I/O."""
    for workload, seed, point in extended(boot, data):
        point["irq_us_per_io"] = 1e6 / point["iops"] * interrupt_share(
            str(boot.message(workload, seed).get("stdout") or ""))


def interrupt_share(text: str) -> float:
    """Share of the time between a job's edges, of which ``text`` tells, that interrupts took.

    From the kernel's switch to them to the switch back; hard and soft ones. Raises
    :class:`CintError` where the edges do not say.
    """
    starts, ends = agent.parse_edges(text, "cint-pre"), agent.parse_edges(text, "cint-post")
    if not starts or not ends or not starts[-1].clock or not ends[0].clock:
        raise CintError("the edges of a job do not say how much CPU time went to interrupts")
    ticks = sum(ends[0].cpu_ticks[kind] - starts[-1].cpu_ticks[kind]
                for kind in ("irq", "softirq"))
    return ticks * _TICK_NS / (ends[0].clock[0] - starts[-1].clock[0])


def _with_threads(boot: Booted, data: Data,
                  more: Callable[[fiojson.JobStats, float], Point]) -> None:
    points(boot, data)
    cells = data.cells[boot.name]
    for workload, seed in boot.jobs():
        one = boot.sample(workload, seed)
        for job, stats in one.jobs.items():
            cell = f"{workload.name}.{job}" if len(one.jobs) > 1 else workload.name
            cells[cell][boot.seeds.index(seed)] |= more(stats, boot.settings.k)


def _turns(job: fiojson.JobStats, k: float) -> Point:
    """Times on the CPU and off it, by the guest kernel's count of changes (getrusage)."""
    if not job.switches:
        return {}
    return {name: reported.time(1e3 * ms / job.switches, k)
            for name, ms in (("run_us", job.on_cpu_ms), ("gap_us", job.off_cpu_ms))}


def thread_time(job: fiojson.JobStats, k: float) -> Point:
    """CPU time of a job's threads, and how often they leave the CPU, of their own will or not.

    fio cuts usr and sys to whole ms: half a ms of each is added.
    """
    cut = 100 / job.runtime_ms
    return {"thread_percent": job.usr_percent + job.sys_percent + cut,
            "switches_per_s": reported.rate(1e3 * job.switches / job.runtime_ms, k)}


def _points(one: sampling.Sample, workload: Workload, k: float,
            message: agent.Message) -> dict[str, Point]:
    rows = sampling.rows([one], k, workload.latency_job, workload.split)
    found: dict[str, Point] = {}
    for row in rows:
        point: Point = {n: x for n, x in row.values.items() if x is not None}
        if row.job is None:
            point |= _whole(row, message, k) | _seen(one.device, k)
            if "cpu_percent" in point and point["iops"]:
                point["cpu_per_io_us"] = point["cpu_percent"] * 1e4 / point["iops"]
        job = row.job or workload.latency_job or next(iter(one.jobs))
        if row.job:
            point["thread_percent"] = one.jobs[job].usr_percent + one.jobs[job].sys_percent
        point |= _distribution(one.jobs[job].bins, k)
        found[f"{workload.name}.{row.job}" if row.job else workload.name] = point
    return found


def _whole(row: sampling.Row, message: agent.Message, k: float) -> Point:
    merged = row.values.get("ios_per_irq")
    point: Point = {"irqs_per_io": 1 / merged} if merged else {}
    point |= _shares("reason", row.reasons) | _shares("hint", row.hints)
    for name, counts in row.classes.items():
        point |= {f"{name}_{what}": found for what in ("ios_per_irq", "wait_us")
                  if (found := counts[what]) is not None}
    return point | _probed(probe.parse(str(message.get("stdout") or "")), k)


def _shares(what: str, counts: Mapping[str, int]) -> Point:
    total = sum(counts.values())
    return {f"{what}.{name}": count / total for name, count in counts.items()}


def _seen(device: sampling.DeviceDelta | None, k: float) -> Point:
    """When the guest saw its completions, and how."""
    if device is None or not device.cqes or device.post_to_head.mean_ns is None:
        return {}
    return {"head_us": reported.time(device.post_to_head.mean_ns, k) / 1000,
            "avoided_per_io": device.avoided / device.cqes,
            "untold_per_io": device.untold / device.cqes}


def _distribution(bins: Mapping[int, int], k: float) -> Point:
    """What a row has not: spread and far end."""
    count = sum(bins.values())
    found: Point = {"sd_us": _deviation(bins, k), "ios": float(count)}
    if count:
        found["max_us"] = reported.time(max(bins), k) / 1000
        far = fiojson.percentile(bins, FAR_PERCENTILE)
        if count >= FAR_COUNT and far is not None:
            found["p9999_us"] = reported.time(far, k) / 1000
    return found


def _deviation(bins: Mapping[int, int], k: float) -> float:
    count = sum(bins.values())
    if not count:
        return 0.0
    mean = sum(v * n for v, n in bins.items()) / count
    variance = sum(n * (v - mean) ** 2 for v, n in bins.items()) / count
    return reported.time(variance ** 0.5, k) / 1000


def _probed(seen: Sequence[probe.Probe], k: float) -> Point:
    """What the probes say, of the time between the first and the last of them."""
    if len(seen) < 2:
        return {}
    first, last = seen[0], seen[-1]
    ios, time_ns = last.cqes - first.cqes, last.time_ns - first.time_ns
    if not ios or not time_ns:
        raise CintError("no I/O between the first probe of the guest and the last")
    busy = probe.busy_share(seen)
    found: Point = {"irqs_per_io": (last.interrupts - first.interrupts) / ios,
                    "cpu_us_per_io": busy * reported.time(time_ns, k) / 1000 / ios,
                    "idle_percent": 100 * (1 - busy), "probes": float(len(seen))}
    ratios = [p.ratio for p in seen[1:] if p.ratio is not None]
    if ratios:
        found["mean_ratio"] = sum(ratios) / len(ratios)
        found["irqs_by_ratio"] = _by_ratio(seen)
    return found


def _by_ratio(seen: Sequence[probe.Probe]) -> float:
    """Interrupts for an I/O against the policy's ratio.

    Of the time between two probes that saw the same ratio: a probe is not when an epoch ends, so
    that nobody knows which ratio stood for how much of the others.
    """
    pairs = [(a, b) for a, b in pairwise(seen) if a.ratio and b.ratio and b.cqes > a.cqes]
    steady = [(a, b) for a, b in pairs if a.ratio == b.ratio] or pairs
    if not steady:
        raise CintError("no I/O between two probes of the guest that saw a ratio")
    wanted = sum((b.cqes - a.cqes) * (b.ratio or 0) for a, b in steady)
    return sum(b.interrupts - a.interrupts for a, b in steady) / wanted
