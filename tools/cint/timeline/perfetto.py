# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace as a timeline that ui.perfetto.dev opens: Chrome's JSON trace format.

Processes and their tracks. Viewers show tracks by their numbers. Perfetto begins with the process
of most slices; Chrome's own viewer has processes in this order.

* vCPUs, where the log has QEMU's events of messages and local APICs: a slice for each interrupt of
  the device, from its arrival to the guest's consuming CQEs, or, where it takes them by status
  records, to the queue's next command or interrupt; marks for other senders' messages;
* vectors: a slice an interrupt, named by its reason, with an arrow to the vCPU;
* completion queues: a slice for the CQEs that an interrupt tells of, in it their being held and
  their being reaped, or, of those taken by status records, their slots' being kept; and a counter
  of CQEs that no interrupt has told of;
* each submission queue: a slice for each batch of SQEs, as long as their fetch took; and a lane for
  each command in flight at once, in a command's slice its phases (events.lives), with an arrow to
  the interrupt that tells of it.

Slices of a track nest: what overlaps otherwise is in lanes beside each other.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from cint.timeline.events import Command, Delivery, Interrupt, Trace, lives

#: Process numbers, also their order; that of SQ n is _SQ + n.
_VCPUS, _VECTORS, _CQS, _SQ = 1, 2, 3, 10
#: Numbers of tracks begin beyond all those of processes: Perfetto takes a track with its process'
#: number for the main one, and 0 for none.
_FIRST_TRACK = 1 << 17
#: The places of a submission queue's tracks.
_SUBMIT, _IN_FLIGHT = 0, 1
#: What takes no time, as an interrupt, has this width at the most, to be seen.
_WIDTH_NS = 100

Event = dict[str, Any]


def _us(ns: int) -> float:
    return ns / 1000


def _consumed(delivery: Delivery) -> int:
    """Where an interrupt's slice at a vCPU ends."""
    return delivery.at + _WIDTH_NS if delivery.until is None else delivery.until


def _widened(spans: Sequence[tuple[int, int, int]]) -> list[int]:
    """Where slices (track, begin, end) end: what is short is widened up to the track's next."""
    following: dict[int, int] = {}
    ends = []
    for track, begin, end in reversed(spans):
        wide = begin + _WIDTH_NS
        ends.append(max(end, min(wide, following.get(track, wide))))
        following[track] = begin
    return ends[::-1]


class _Lanes:
    """The lowest lane that is free, for slices in the order of their beginnings."""

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


class _Tracks:
    """The tracks of a process, each with a number that no other track or process has."""

    def __init__(self, pid: int, name: str, first: int) -> None:
        self.pid, self._name, self._first = pid, name, first
        self._numbers: dict[tuple[int, int], int] = {}
        self._names: dict[tuple[int, int], str] = {}
        self._lanes: dict[int, _Lanes] = {}

    def track(self, name: str, which: int, lane: int = 1) -> int:
        """The number of a track; `which` and `lane` are its place, `name` is for lane 1."""
        key = which, lane
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self._first + len(self._numbers)
            self._names[key] = name if lane == 1 else f"{name} ({lane})"
        return number

    def lane(self, name: str, which: int, begin: int, end: int) -> int:
        """The number of a track of `which` that is free from `begin` to `end`."""
        return self.track(name, which, self._take(which, begin, end))

    def _take(self, which: int, begin: int, end: int) -> int:
        return self._lanes.setdefault(which, _Lanes()).take(begin, end)

    def lanes(self, name: str, spans: Sequence[tuple[int, int, int]]) -> list[int]:
        """For each (which, begin, end) a track that is free, numbered by `which` and lane."""
        taken = [(which, self._take(which, begin, end)) for which, begin, end in spans]
        for which, lane in sorted(set(taken)):
            self.track(f"{name} {which}", which, lane)
        return [self._numbers[one] for one in taken]

    def named(self) -> Iterator[Event]:
        """Names and order of the process and its tracks."""
        if self._numbers or self.pid == _CQS:
            yield _about("process_name", self.pid, 0, name=self._name)
            yield _about("process_sort_index", self.pid, 0, sort_index=self.pid)
        for order, key in enumerate(sorted(self._numbers)):
            number = self._numbers[key]
            yield _about("thread_name", self.pid, number, name=self._names[key])
            yield _about("thread_sort_index", self.pid, number, sort_index=order)


def _about(what: str, pid: int, tid: int, **args: object) -> Event:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": args}


def _slice(name: str, pid: int, tid: int, begin: int, end: int, **args: object) -> Event:
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": _us(begin),
            "dur": _us(end - begin), "args": args}


def _arrow(what: str, number: int, end: str, place: tuple[int, int], at: int) -> Event:
    """One end of an arrow: `s`, its start, or `f`, its finish, in a track's slice of that time."""
    return {"ph": end, **({"bp": "e"} if end == "f" else {}), "id": number, "name": what,
            "cat": what, "pid": place[0], "tid": place[1], "ts": _us(at)}


class _Timeline:
    """All events of a timeline, process by process."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._processes: dict[int, _Tracks] = {}
        #: The arrows that end at an interrupt, by its number in the trace.
        self._arrows: dict[int, list[int]] = {}
        #: Of the CQEs that an interrupt tells of: how many, the first post, the last reaping.
        self._told: dict[int, tuple[int, int, int]] = {}

    def _tracks(self, pid: int, name: str) -> _Tracks:
        if pid not in self._processes:
            # No process has as many tracks as there are command identifiers, twice.
            first = _FIRST_TRACK * (1 + len(self._processes))
            self._processes[pid] = _Tracks(pid, name, first)
        return self._processes[pid]

    def events(self) -> Iterator[Event]:
        """All of them; names come last, when all are known."""
        yield from self._batches()
        yield from self._commands()
        yield from self._interrupts()
        yield from self._completions()
        yield from self._pending()
        yield from self._vcpus()
        for tracks in self._processes.values():
            yield from tracks.named()

    # ---- submission queues ---------------------------------------------------

    def _batches(self) -> Iterator[Event]:
        """What was fetched together; in virtual time that is at one instant."""
        spans = [(one.sqid, one.begin, one.end) for one in self._trace.batches]
        for one, end in zip(self._trace.batches, _widened(spans), strict=True):
            pid = _SQ + one.sqid
            tid = self._tracks(pid, f"SQ {one.sqid}").track("submit", _SUBMIT)
            yield _slice(f"{one.count} SQE{'s' if one.count > 1 else ''}", pid, tid, one.begin, end)

    def _commands(self) -> Iterator[Event]:
        known = [(command, phases) for command, phases in lives(self._trace) if phases]
        known.sort(key=lambda one: one[1][0][1])
        for number, (command, phases) in enumerate(known):
            tracks = self._tracks(_SQ + command.sqid, f"SQ {command.sqid}")
            tid = tracks.lane("in flight", _IN_FLIGHT, phases[0][1], phases[-1][2])
            if command.interrupt is not None:
                self._tells(command.interrupt, number, command)
            yield from self._command(number, command, phases, tid)

    def _tells(self, interrupt: int, number: int, command: Command) -> None:
        """Note that an interrupt tells of a command."""
        self._arrows.setdefault(interrupt, []).append(number)
        at = self._trace.interrupts[interrupt].at
        posted = at if command.posted is None else command.posted
        reaped = at if command.reaped is None else command.reaped
        count, first, last = self._told.get(interrupt, (0, posted, reaped))
        self._told[interrupt] = count + 1, min(first, posted), max(last, reaped)

    @staticmethod
    def _command(number: int, command: Command, phases: list[tuple[str, int, int]],
                 tid: int) -> Iterator[Event]:
        pid = _SQ + command.sqid
        yield _slice(f"cid {command.cid}", pid, tid, phases[0][1], phases[-1][2],
                     hint=command.hint, cqid=command.cqid)
        for name, first, last in phases:
            # Without the others that take no time: they would be drawn in what begins then.
            if first < last or last == phases[-1][2]:
                yield _slice(name, pid, tid, first, last)
        if command.told is not None and command.posted is not None:
            # An arrow begins in a slice: at the end of the wait, or with what follows.
            yield _arrow("told", number, "s", (pid, tid), max(command.told - 1, command.posted))

    # ---- vectors ---------------------------------------------------------------

    def _vector(self, vector: int) -> int:
        return self._tracks(_VECTORS, "vectors").track(f"vector {vector}", vector)

    def _interrupts(self) -> Iterator[Event]:
        for vector in sorted({one.vector for one in self._trace.interrupts}):
            self._vector(vector)
        ends = _widened([(one.vector, one.at, one.at) for one in self._trace.interrupts])
        for index, one in enumerate(self._trace.interrupts):
            tid = self._vector(one.vector)
            yield _slice(one.reason, _VECTORS, tid, one.at, ends[index], cqid=one.cqid,
                         kind=one.kind, covered=one.covered)
            for number in self._arrows.get(index, ()):
                yield _arrow("told", number, "f", (_VECTORS, tid), one.at)

    # ---- completion queues -----------------------------------------------------

    def _completions(self) -> Iterator[Event]:
        told = [(self._trace.interrupts[index], *found) for index, found
                in sorted(self._told.items(), key=lambda one: one[1][1])]
        spans = [(one.cqid, first, max(last, one.at)) for one, _, first, last in told]
        tracks = self._tracks(_CQS, "completion queues").lanes("CQ", spans)
        for (one, count, first, last), tid in zip(told, tracks, strict=True):
            yield _slice(f"{count} CQE{'s' if count > 1 else ''}: {one.reason}", _CQS, tid, first,
                         max(last, one.at), vector=one.vector, kind=one.kind)
            if first < one.at:
                yield _slice("held", _CQS, tid, first, one.at)
            if one.at < last:
                yield _slice("slots kept" if one.by_record else "reap", _CQS, tid, one.at, last)

    def _pending(self) -> Iterator[Event]:
        changes = [(time, sign, c.cqid) for c in self._trace.commands if c.posted is not None
                   for time, sign in ((c.posted, 1), (c.told or c.reaped, -1)) if time is not None]
        count: dict[int, int] = {}
        for time, sign, cqid in sorted(changes):
            count[cqid] = count.get(cqid, 0) + sign
            yield {"ph": "C", "name": f"CQ {cqid}: untold CQEs", "pid": _CQS, "ts": _us(time),
                   "args": {"CQEs": count[cqid]}}

    # ---- vCPUs -----------------------------------------------------------------

    def _vcpus(self) -> Iterator[Event]:
        """Interrupts of the device, and then marks, for which a track has to be known."""
        ours = [(delivery, cpu, delivery.interrupt) for delivery in self._trace.deliveries
                for cpu in delivery.cpus if delivery.interrupt is not None]
        tracks = self._tracks(_VCPUS, "vCPUs")
        numbers = tracks.lanes("vCPU", [(cpu, one.at, _consumed(one)) for one, cpu, _ in ours])
        for number, ((delivery, _, interrupt), tid) in enumerate(zip(ours, numbers, strict=True)):
            sent = self._trace.interrupts[interrupt]
            yield from self._arrived(number, tid, sent, delivery)
        others: dict[tuple[int, int], list[int]] = {}
        for delivery in self._trace.deliveries:
            if delivery.interrupt is None:
                for cpu in delivery.cpus:
                    others.setdefault((cpu, delivery.at), []).append(delivery.vector)
        for (cpu, at), vectors in others.items():
            # Those of one time in one mark: they would be drawn below each other.
            yield {"ph": "i", "s": "t", "name": f"{len(vectors)} others" if len(vectors) > 1 else
                   f"vector {vectors[0]}", "pid": _VCPUS, "tid": tracks.track(f"vCPU {cpu}", cpu),
                   "ts": _us(at), "args": {"vectors": sorted(set(vectors))}}

    def _arrived(self, number: int, tid: int, sent: Interrupt,
                 delivery: Delivery) -> Iterator[Event]:
        """An interrupt of the device at a vCPU, with the arrow from its vector."""
        yield _slice(f"CQ {sent.cqid}: {sent.reason}", _VCPUS, tid, delivery.at,
                     _consumed(delivery), apic_vector=delivery.vector, vector=sent.vector,
                     covered=sent.covered)
        vector = _VECTORS, self._vector(sent.vector)
        yield _arrow("message", number, "s", vector, delivery.at)
        yield _arrow("message", number, "f", (_VCPUS, tid), delivery.at)


def write(trace: Trace, stream: TextIO) -> None:
    """Write the timeline, an event a line."""
    stream.write('{"displayTimeUnit":"ns","traceEvents":[\n')
    for number, event in enumerate(_Timeline(trace).events()):
        stream.write(("," if number else "") + json.dumps(event, separators=(",", ":")) + "\n")
    stream.write("]}\n")
