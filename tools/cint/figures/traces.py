# SPDX-License-Identifier: GPL-2.0-or-later
"""Readings of QEMU's trace of the device: gaps between completions, and timelines.

Times are of the device's clock, which in virtual time is the guest's; a trace
line's own time stamp is of the host and is not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from cint.device import logpage
from cint.errors import CintError
from cint.figures.reading import Booted, extended
from cint.figures.values import Data, Point, shortened
from cint.guest import agent
from cint.measure import reported
from cint.timeline.events import PREFIX, fields

#: The trace event that says when, by the device's own clock, a command is done.
MEDIA = f"{PREFIX}media"
#: What a timeline is made of.
EVENTS = tuple(f"{PREFIX}{name}" for name in ("submit", "post", "irq"))
#: Events that are drawn by another name.
_KINDS = {"submit": "submit", "post": "complete"}
HINTS = {0: "", 1: "U", 2: "B"}
#: Percentages of the gaps that a curve has.
_CURVE = tuple(range(1, 100))


def _io_events(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The name and the fields of each event of an I/O queue, in order."""
    for line in text.splitlines():
        found = fields(line)
        if found and found[1].get("cqid", "0") != "0":
            yield found


# ---- gaps -----------------------------------------------------------------

def due_times(text: str, first_ns: int, last_ns: int) -> list[int]:
    """Completion times (device ns, sorted) of I/O commands in a trace and a span of time."""
    times = [int(event["due"]) for name, event in _io_events(text) if name == "media"]
    return sorted(t for t in times if first_ns <= t <= last_ns)


def gaps_us(times: Sequence[int], k: float) -> list[float]:
    """Times between completions, reported us, sorted."""
    return sorted(reported.time(b - a, k) / 1000 for a, b in pairwise(times))


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest of the sorted ``values`` not below a ``share`` of them; CintError of none."""
    if not values:
        raise CintError(f"no {MEDIA} lines in the trace of the job's time")
    return values[min(int(share * len(values)), len(values) - 1)]


def span(message: agent.Message) -> tuple[int, int]:
    """The device's clock before a job and after it; :class:`CintError` without a log page."""
    first, last = (agent.parse_snapshot(message.get(e)).nvme_log for e in ("before", "after"))
    if first is None or last is None:
        raise CintError("the guest's snapshot has no log page D0h")
    return logpage.decode(first).time_ns, logpage.decode(last).time_ns


def gaps(boot: Booted, data: Data) -> None:
    """Points as ever, with the quantiles of the gaps; their distribution as a curve."""
    curves = data.curves.setdefault(boot.name, {})
    for workload, seed, point in extended(boot, data):
        times = due_times(boot.log, *span(boot.message(workload, seed)))
        found = gaps_us(times, boot.settings.k)
        point |= {f"gap_p{p}_us": quantile(found, p / 100) for p in (10, 50, 90, 95, 99)}
        curves.setdefault(workload.name, [[shortened(quantile(found, p / 100)), p]
                                          for p in _CURVE])


# ---- over time ----

#: Reported us of a window in which interrupts are counted.
WINDOW_US = 500.0
#: Windows of which the mean has to be near the steady state, and how near.
_SETTLED_WINDOWS, _SETTLED = 4, 1.25


def windows(found: Sequence[Sequence[Any]], us: float) -> list[tuple[int, int]]:
    """Interrupts and completions of each window of so many us; the last, which ends early, is left
    out.
    """
    counts = [(0, 0)] * int(found[-1][0] // us if found else 0)
    for at, kind, _ in found:
        number = int(at // us)
        if number < len(counts) and kind in ("irq", "complete"):
            irqs, dones = counts[number]
            counts[number] = (irqs + (kind == "irq"), dones + (kind == "complete"))
    return counts


def _per_completion(counts: Sequence[tuple[int, int]]) -> float:
    dones = sum(done for _, done in counts)
    return sum(irqs for irqs, _ in counts) / dones if dones else 0.0


def settled_after(counts: Sequence[tuple[int, int]]) -> int:
    """The windows until interrupts for a completion are what they are in the second half."""
    steady = _per_completion(counts[len(counts) // 2:])
    for number in range(len(counts)):
        if _per_completion(counts[number:number + _SETTLED_WINDOWS]) <= _SETTLED * steady:
            return number
    return len(counts)


def phases(counts: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """The phases between windows in which nothing was done."""
    found: list[list[tuple[int, int]]] = [[]]
    for one in counts:
        if one[1]:
            found[-1].append(one)
        elif found[-1]:
            found.append([])
    return [phase for phase in found if phase]


def learning(boot: Booted, data: Data) -> None:
    """``learned_ms``, of the phase that took longest; ``first_irqs_per_io``, of the first window;
    ``steady_irqs_per_io``, of the first phase's second half; over time as a curve.
    """
    cells = data.cells.setdefault(boot.name, {})
    curves = data.curves.setdefault(boot.name, {})
    for workload, seed in boot.jobs():
        found = events(boot.log, *span(boot.message(workload, seed)), boot.settings.k)
        counts = windows(found, WINDOW_US)
        parts = phases(counts)
        cells.setdefault(workload.name, []).append({
            "learned_ms": max(map(settled_after, parts)) * WINDOW_US / 1000,
            "first_irqs_per_io": _per_completion(parts[0][:1]),
            "steady_irqs_per_io": _per_completion(parts[0][len(parts[0]) // 2:])})
        curves.setdefault(workload.name, [
            [shortened(n * WINDOW_US / 1000), shortened(_per_completion([one]))]
            for n, one in enumerate(counts) if one[1]])


# ---- timelines ------------------------------------------------------------

def events(text: str, first_ns: int, last_ns: int, k: float) -> list[list[Any]]:
    """Submissions, completions and interrupts of the I/O queues, [reported us, kind, text].

    A submission and a completion have their hint, an interrupt has its class,
    its reason and how many completions it is the first to tell of.
    """
    found: list[tuple[int, str, str]] = []
    for name, event in _io_events(text):
        if name in _KINDS:
            words = HINTS.get(int(event["hints"], 0), "")
            found.append((int(event["at"]), _KINDS[name], words))
        elif name == "irq":
            words = f"{event['class']} {event['reason']} {event['covered']}"
            found.append((int(event["at"]), "irq", words))
    inside = [one for one in found if first_ns <= one[0] <= last_ns]
    start = inside[0][0] if inside else 0
    return [[shortened(reported.time(at - start, k) / 1000), kind, words]
            for at, kind, words in inside]


def timeline(boot: Booted, data: Data) -> None:
    """The events of the guest's only job with its first seed, and of each seed in numbers.

    ``irqs``, ``irqs.CLASS``, ``irq_N_us`` (when the Nth was sent, from the first
    submission), ``irq_last_us``, ``irq_N_covers``, ``CLASS_covers_most``, ``done_N_us`` (the
    Nth completion), ``dones``, ``dones.U`` and ``dones.B`` (of those, by hint).
    """
    cells = data.cells.setdefault(boot.name, {})
    for workload, seed in boot.jobs():
        found = events(boot.log, *span(boot.message(workload, seed)), boot.settings.k)
        data.timelines.setdefault(boot.name, found)
        cells.setdefault(workload.name, []).append(numbers(found))


def numbers(found: Sequence[Sequence[Any]]) -> Point:
    """A timeline as a point."""
    point: Point = {"irqs": 0.0, "irqs.full": 0.0, "irqs.urgent": 0.0, "dones": 0.0,
                    "dones.U": 0.0, "dones.B": 0.0, "full_covers_most": 0.0,
                    "urgent_covers_most": 0.0}
    for at, kind, words in found:
        if kind == "complete":
            point["dones"] += 1
            point[f"done_{point['dones']:.0f}_us"] = at
            if words:
                point[f"dones.{words}"] += 1
        elif kind == "irq":
            of_class, _, covers = words.split()
            point["irqs"] += 1
            point[f"irqs.{of_class}"] += 1
            point[f"irq_{point['irqs']:.0f}_us"] = point["irq_last_us"] = at
            point[f"irq_{point['irqs']:.0f}_covers"] = float(covers)
            most = f"{of_class}_covers_most"
            point[most] = max(point[most], float(covers))
    return point
