# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace as a timeline that ui.perfetto.dev opens: Chrome's JSON trace format.

Processes, from top to bottom, and their tracks:

* vCPUs, where the log has QEMU's events of messages and local APICs: a slice for each interrupt of
  the device, from its arrival to the guest's consuming CQEs; marks for other senders' messages;
* vectors: a slice an interrupt, named by its reason, with an arrow to the vCPU;
* completion queues: a slice for the CQEs that an interrupt tells of, in it their being held and
  their being reaped; and a counter of CQEs that no interrupt has told of;
* each submission queue: a lane for each command in flight at once, in a command's slice its phases
  (events.lives), with an arrow to the interrupt that tells of it.

Slices of a track nest: what overlaps otherwise is in lanes beside each other.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from typing import Any, TextIO

from cint.timeline.events import Command, Delivery, Interrupt, Trace, lives

#: Process numbers, also their order; that of SQ n is _SQ + n.
_VCPUS, _VECTORS, _CQS, _SQ = 1, 2, 3, 10
#: Numbers of tracks begin beyond all those of processes: Perfetto takes a track with its process'
#: number for the main one, and 0 for none.
_FIRST_TRACK = 1 << 17
#: An interrupt takes no time; this is what makes it seen, at the most.
_WIDTH_NS = 100

Event = dict[str, Any]


def _us(ns: int) -> float:
    return ns / 1000


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
        lanes = self._lanes.setdefault(which, _Lanes())
        return self.track(name, which, lanes.take(begin, end))

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
        yield from self._commands()
        yield from self._interrupts()
        yield from self._completions()
        yield from self._pending()
        yield from self._vcpus()
        for tracks in self._processes.values():
            yield from tracks.named()

    # ---- submission queues ---------------------------------------------------

    def _commands(self) -> Iterator[Event]:
        known = [(command, phases) for command, phases in lives(self._trace) if phases]
        known.sort(key=lambda one: one[1][0][1])
        for number, (command, phases) in enumerate(known):
            tracks = self._tracks(_SQ + command.sqid, f"SQ {command.sqid}")
            tid = tracks.lane("in flight", 0, phases[0][1], phases[-1][2])
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

    def _ends(self) -> list[int]:
        """Where each interrupt's slice ends: before the next one of its vector."""
        following: dict[int, int] = {}
        ends = []
        for one in reversed(self._trace.interrupts):
            ends.append(min(one.at + _WIDTH_NS, following.get(one.vector, one.at + _WIDTH_NS)))
            following[one.vector] = one.at
        return ends[::-1]

    def _vector(self, vector: int) -> int:
        return self._tracks(_VECTORS, "vectors").track(f"vector {vector}", vector)

    def _interrupts(self) -> Iterator[Event]:
        ends = self._ends()
        for index, one in enumerate(self._trace.interrupts):
            tid = self._vector(one.vector)
            yield _slice(one.reason, _VECTORS, tid, one.at, ends[index], cqid=one.cqid,
                         kind=one.kind, covered=one.covered)
            for number in self._arrows.get(index, ()):
                yield _arrow("told", number, "f", (_VECTORS, tid), one.at)

    # ---- completion queues -----------------------------------------------------

    def _completions(self) -> Iterator[Event]:
        tracks = self._tracks(_CQS, "completion queues")
        for index, (count, first, last) in sorted(self._told.items(), key=lambda one: one[1][1]):
            one = self._trace.interrupts[index]
            tid = tracks.lane(f"CQ {one.cqid}", one.cqid, first, max(last, one.at))
            yield _slice(f"{count} CQE{'s' if count > 1 else ''}: {one.reason}", _CQS, tid, first,
                         max(last, one.at), vector=one.vector, kind=one.kind)
            if first < one.at:
                yield _slice("held", _CQS, tid, first, one.at)
            if one.at < last:
                yield _slice("reap", _CQS, tid, one.at, last)

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
        number = 0
        others: dict[tuple[int, int], list[int]] = {}
        for delivery in self._trace.deliveries:
            for cpu in delivery.cpus:
                if delivery.interrupt is None:
                    others.setdefault((cpu, delivery.at), []).append(delivery.vector)
                    continue
                sent = self._trace.interrupts[delivery.interrupt]
                yield from self._arrived(number, cpu, sent, delivery)
                number += 1
        tracks = self._tracks(_VCPUS, "vCPUs")
        for (cpu, at), vectors in others.items():
            # Those of one time in one mark: they would be drawn below each other.
            yield {"ph": "i", "s": "t", "name": f"{len(vectors)} others" if len(vectors) > 1 else
                   f"vector {vectors[0]}", "pid": _VCPUS, "tid": tracks.track(f"vCPU {cpu}", cpu),
                   "ts": _us(at), "args": {"vectors": sorted(set(vectors))}}

    def _arrived(self, number: int, cpu: int, sent: Interrupt,
                 delivery: Delivery) -> Iterator[Event]:
        """An interrupt of the device at a vCPU, with the arrow from its vector."""
        end = delivery.at + _WIDTH_NS if delivery.until is None else delivery.until
        tid = self._tracks(_VCPUS, "vCPUs").lane(f"vCPU {cpu}", cpu, delivery.at, end)
        yield _slice(f"CQ {sent.cqid}: {sent.reason}", _VCPUS, tid, delivery.at, end,
                     apic_vector=delivery.vector, vector=sent.vector, covered=sent.covered)
        vector = _VECTORS, self._vector(sent.vector)
        yield _arrow("message", number, "s", vector, delivery.at)
        yield _arrow("message", number, "f", (_VCPUS, tid), delivery.at)


def write(trace: Trace, stream: TextIO) -> None:
    """Write the timeline, an event a line."""
    stream.write('{"displayTimeUnit":"ns","traceEvents":[\n')
    for number, event in enumerate(_Timeline(trace).events()):
        stream.write(("," if number else "") + json.dumps(event, separators=(",", ":")) + "\n")
    stream.write("]}\n")
