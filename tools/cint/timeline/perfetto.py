# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace as a timeline that ui.perfetto.dev opens: Chrome's JSON trace format.

A process a submission queue, in it a lane for each command that is in flight at once, so that
slices of a lane nest. In each command's slice are its phases: device (fetched to posted), held
(posted to its interrupt) and reap (interrupt to the head passing it). A process of vectors has a
slice an interrupt, named by its reason, with an arrow from every command that it tells of; one of
completion queues counts the CQEs that no interrupt has told of. Where the log has QEMU's events of
messages and local APICs, a process of vCPUs has a track each: a slice for each interrupt of the
device, from its arrival to the guest's consuming CQEs, with an arrow from the vector; and marks
for what other senders' messages brought.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from typing import Any, TextIO

from cint.timeline.events import Command, Delivery, Trace, lives

#: Process numbers; that of SQ n is _SQ + n.
_VECTORS, _QUEUES, _VCPUS, _SQ = 1, 2, 3, 10
#: Tracks of a vCPU, for interrupts that wait at the same time; a mark is on the first.
_LANES_A_VCPU = 1000
#: An interrupt takes no time; this is what makes it seen, at the most.
_WIDTH_NS = 100

Event = dict[str, Any]


def _us(ns: int) -> float:
    return ns / 1000


class _Lanes:
    """The lowest lane that is free, for commands in the order of their beginnings."""

    def __init__(self) -> None:
        self._busy: list[tuple[int, int]] = []
        self._free: list[int] = []
        self._count = 0

    def take(self, begin: int, end: int) -> int:
        while self._busy and self._busy[0][0] <= begin:
            heapq.heappush(self._free, heapq.heappop(self._busy)[1])
        if self._free:
            lane = heapq.heappop(self._free)
        else:
            self._count += 1
            lane = self._count
        heapq.heappush(self._busy, (end, lane))
        return lane


def _name(what: str, pid: int, text: str, tid: int = 0) -> Event:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": text}}


def _slice(name: str, pid: int, tid: int, begin: int, end: int, **args: object) -> Event:
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": _us(begin),
            "dur": _us(end - begin), "args": args}


def _command(number: int, command: Command, phases: list[tuple[str, int, int]],
             lane: int) -> Iterator[Event]:
    pid = _SQ + command.sqid
    begin, end = phases[0][1], phases[-1][2]
    yield _slice(f"cid {command.cid}", pid, lane, begin, end, hint=command.hint,
                 cqid=command.cqid)
    for name, first, last in phases:
        yield _slice(name, pid, lane, first, last)
    if command.told is not None and command.interrupt is not None and command.posted is not None:
        # An arrow begins in a slice: at the end of the wait, or at the post if there was none.
        at = max(command.told - 1, command.posted)
        yield {"ph": "s", "id": number, "name": "told", "cat": "told", "pid": pid,
               "tid": lane, "ts": _us(at)}


def _interrupts(trace: Trace, arrows: dict[int, list[int]]) -> Iterator[Event]:
    last: dict[int, int] = {}
    ends: dict[int, int] = {}
    for index in range(len(trace.interrupts) - 1, -1, -1):
        one = trace.interrupts[index]
        ends[index] = min(one.at + _WIDTH_NS, last.get(one.vector, one.at + _WIDTH_NS))
        last[one.vector] = one.at
    for index, one in enumerate(trace.interrupts):
        yield _slice(one.reason, _VECTORS, one.vector, one.at, ends[index], cqid=one.cqid,
                     kind=one.kind, covered=one.covered)
        for number in arrows.get(index, ()):
            yield {"ph": "f", "bp": "e", "id": number, "name": "told", "cat": "told",
                   "pid": _VECTORS, "tid": one.vector, "ts": _us(one.at)}
    for vector in last:
        yield _name("thread_name", _VECTORS, f"vector {vector}", vector)


def _arrived(trace: Trace, number: int, delivery: Delivery, tid: int) -> Iterator[Event]:
    """An interrupt of the device at a vCPU, with the arrow from its vector."""
    assert delivery.interrupt is not None
    sent = trace.interrupts[delivery.interrupt]
    until = delivery.at + _WIDTH_NS if delivery.until is None else delivery.until
    yield _slice(f"CQ {sent.cqid}: {sent.reason}", _VCPUS, tid, delivery.at, until,
                 apic_vector=delivery.vector, vector=sent.vector, covered=sent.covered)
    for end, pid, track in (("s", _VECTORS, sent.vector), ("f", _VCPUS, tid)):
        yield {"ph": end, **({"bp": "e"} if end == "f" else {}), "id": number, "name": "message",
               "cat": "message", "pid": pid, "tid": track, "ts": _us(delivery.at)}


def _vcpus(trace: Trace) -> Iterator[Event]:
    lanes: dict[int, _Lanes] = {}
    tracks: dict[int, str] = {}
    number = 0
    for delivery in trace.deliveries:
        for cpu in delivery.cpus:
            first = cpu * _LANES_A_VCPU
            tracks.setdefault(first, f"vCPU {cpu}")
            if delivery.interrupt is None:
                yield {"ph": "i", "s": "t", "name": f"vector {delivery.vector}", "pid": _VCPUS,
                       "tid": first, "ts": _us(delivery.at)}
                continue
            end = delivery.at + _WIDTH_NS if delivery.until is None else delivery.until
            lane = lanes.setdefault(cpu, _Lanes()).take(delivery.at, end)
            tracks.setdefault(first + lane - 1, f"vCPU {cpu} ({lane})")
            yield from _arrived(trace, number, delivery, first + lane - 1)
            number += 1
    if tracks:
        yield _name("process_name", _VCPUS, "vCPUs")
    for tid, text in tracks.items():
        yield _name("thread_name", _VCPUS, text, tid)


def _pending(trace: Trace) -> Iterator[Event]:
    changes = [(time, sign, c.cqid) for c in trace.commands if c.posted is not None
               for time, sign in ((c.posted, 1), (c.told or c.reaped, -1)) if time is not None]
    count: dict[int, int] = {}
    for time, sign, cqid in sorted(changes):
        count[cqid] = count.get(cqid, 0) + sign
        yield {"ph": "C", "name": f"CQ {cqid}: untold CQEs", "pid": _QUEUES, "ts": _us(time),
               "args": {"CQEs": count[cqid]}}


def events(trace: Trace) -> Iterator[Event]:
    """All events of the timeline."""
    yield _name("process_name", _VECTORS, "vectors")
    yield _name("process_name", _QUEUES, "completion queues")
    lanes: dict[int, _Lanes] = {}
    named: set[tuple[int, int]] = set()
    arrows: dict[int, list[int]] = {}
    known = [(command, phases) for command, phases in lives(trace) if phases]
    known.sort(key=lambda one: one[1][0][1])
    for number, (command, phases) in enumerate(known):
        pid = _SQ + command.sqid
        if command.sqid not in lanes:
            lanes[command.sqid] = _Lanes()
            yield _name("process_name", pid, f"SQ {command.sqid}")
        lane = lanes[command.sqid].take(phases[0][1], phases[-1][2])
        if (pid, lane) not in named:
            named.add((pid, lane))
            yield _name("thread_name", pid, f"in flight {lane}", lane)
        if command.interrupt is not None:
            arrows.setdefault(command.interrupt, []).append(number)
        yield from _command(number, command, phases, lane)
    yield from _interrupts(trace, arrows)
    yield from _pending(trace)
    yield from _vcpus(trace)


def write(trace: Trace, stream: TextIO) -> None:
    """Write the timeline, an event a line."""
    stream.write('{"displayTimeUnit":"ns","traceEvents":[\n')
    for number, event in enumerate(events(trace)):
        stream.write(("," if number else "") + json.dumps(event, separators=(",", ":")) + "\n")
    stream.write("]}\n")
