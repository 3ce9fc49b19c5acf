# SPDX-License-Identifier: GPL-2.0-or-later
"""blkparse's text, in its own format (no -f): D is a request's issue to the driver, C its end.

A queue is a CPU, as blk-mq has it where each CPU has its own: CPU 0 has queue 1. The requests
that an unplug (U) hands down are one batch. A request that is put back (R) begins with its last
issue. Lines need not be in order. What a request is merged of (M, F), split from (X) or remapped
from (A) plays no part: the driver gets it whole.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from cint.errors import CintError, UsageError
from cint.timeline.importers.requests import Flight, Found, Request, lines_of

EXPECTED = "a line of blkparse ('259,0 0 1 0.000000000 123 D R 0 + 8 [fio]')"

_LINE = re.compile(r"\s*(?P<device>\d+,\d+)\s+(?P<cpu>\d+)\s+(?P<sequence>\d+)\s+"
                   r"(?P<seconds>\d+)\.(?P<ns>\d{9})\s+(?P<pid>\d+)\s+"
                   r"(?P<action>[A-Z]{1,2}|m)\s+(?P<rest>\S.*)$")
#: Flags; an extent, which a flush has not; how long it took (blkparse -t); who, or the error.
_EXTENT = re.compile(r"(?P<rwbs>[A-Z]+)\s+(?:(?P<sector>\d+)(?:\s\+\s(?P<count>\d+))?\s+)?"
                     r"(?:\(\s*\d+\)\s+)?\[(?P<what>.*)\]\s*$")
#: A passthrough command has its bytes in the place of an extent.
_PASSTHROUGH = re.compile(r"[A-Z]+\s+(?:\d+\s+)?\([0-9a-f]{2}(?: [0-9a-f]{2})*(?: \.\.)? ?\)\s+\[")
_UNPLUG = re.compile(r"\]\s*(\d+)")
#: What blkparse prints after the events.
_SUMMARY = re.compile(r"(CPU ?\d+ \(|Total \(|Throughput |Events \(|Skips: )")
#: How the kernel's own events begin: a byte of version, then this.
BINARY = b"tae"
#: Actions that say something of a request at the driver, or of what is handed down together.
_ACTIONS = frozenset(("Q", "U", "D", "C", "R"))


@dataclass(slots=True)
class _Event:
    """A line: for U, `count` are the requests that it hands down."""

    at: int
    action: str
    device: str
    cpu: int
    pid: str
    name: Hashable = None
    failed: bool = False
    count: int = 0


def _event(match: re.Match[str]) -> _Event | None:
    """What a line says; None if its text is not what its action has."""
    event = _Event(int(match["seconds"]) * 10**9 + int(match["ns"]), match["action"],
                   match["device"], int(match["cpu"]), match["pid"])
    if event.action == "U":
        count = _UNPLUG.search(match["rest"])
        event.count = int(count[1]) if count else 0
        return event if count else None
    if event.action == "Q":
        return event
    extent = _EXTENT.match(match["rest"])
    if extent is None:
        return None
    # What a flush or a discard covers is not the transfer's size, but both events have it.
    event.name = extent["sector"] or "0", extent["count"], extent["rwbs"][:1]
    event.failed = extent["what"] not in ("", "0")
    return event


class _Device:
    """The requests of one device, in the order of their times."""

    def __init__(self) -> None:
        self.found = Found()
        self._flight = Flight(self.found)
        self._back: dict[Hashable, Request] = {}
        #: Who handed down the open batch, how many are still to come, the last one that came.
        self._plug: tuple[int, str] | None = None
        self._left = 0
        self._last: Request | None = None

    def take(self, event: _Event) -> None:
        """Take an event."""
        if event.action == "C":
            self._flight.end(event.name, event.at, event.failed)
        elif event.action == "R":
            request = self._flight.take_back(event.name)
            if request is not None:
                self._back[event.name] = request
        elif event.action == "D":
            self._issue(event)
        elif self._plug == (event.cpu, event.pid) or event.action == "U":
            self._ring()
            self._plug, self._left = (event.cpu, event.pid), event.count

    def _ring(self) -> None:
        """A batch is over, though fewer came than were said: others were merged or put back."""
        if self._left and self._last is not None:
            self._last.rings = True
        self._left, self._last = 0, None

    def _issue(self, event: _Event) -> None:
        batched = self._left > 0 and self._plug == (event.cpu, event.pid)
        request = self._back.pop(event.name, None)
        if request is None:
            request = Request(event.cpu + 1, event.at)
            self.found.requests.append(request)
        request.queue, request.begin, request.rings = event.cpu + 1, event.at, True
        if batched:
            self._left -= 1
            self._last, request.rings = request, self._left == 0
        self._flight.fly(event.name, request)

    def done(self) -> Found:
        """The requests that were found."""
        self._ring()
        self._flight.remark(len(self._back))
        return self.found


def _events(name: str, data: bytes, found: Found) -> list[_Event]:
    """The events of a record, by time; how many lines are left out is said."""
    events, passed = [], 0
    for line in lines_of(name, data):
        if _SUMMARY.match(line.text):
            break
        match = _LINE.match(line.text)
        if match is None:
            if line.text.strip():
                line.unread(found, EXPECTED)
        elif match["action"] in _ACTIONS:
            event = _event(match)
            if event is not None:
                events.append(event)
            elif _PASSTHROUGH.match(match["rest"]):
                passed += match["action"] == "D"
            else:
                line.unread(found, EXPECTED)
    if passed:
        found.remarks.append(f"{passed} passthrough commands are left out")
    return sorted(events, key=lambda event: event.at)


def read(name: str, data: bytes, device: str | None = None) -> Found:
    """Read blkparse's output, of `device` (MAJOR,MINOR) if several; CintError of blktrace's own."""
    if data[1:4] == BINARY:
        raise CintError(f"{name}: this is what blktrace writes, not blkparse's text",
                        hint="blkparse -i NAME > record.txt")
    whole = Found()
    devices: defaultdict[str, _Device] = defaultdict(_Device)
    for event in _events(name, data, whole):
        devices[event.device].take(event)
    # A mapper's device has ends of its own but hands its requests on, to one of the others.
    issuing = sorted(key for key, one in devices.items() if one.found.requests)
    chosen = _choose(name, issuing, device)
    found = devices[chosen].done() if chosen else Found()
    found.remarks = whole.remarks + found.remarks
    return found


def _choose(name: str, known: Sequence[str], chosen: str | None) -> str | None:
    """The device to read; None if there is none."""
    if chosen is not None and chosen not in known:
        raise UsageError(f"--device {chosen}: {name} has no requests of it; it has those of "
                         f"{', '.join(known) or 'none'}")
    if chosen is None and len(known) > 1:
        raise UsageError(f"{name} has {len(known)} devices",
                         hint=f"choose with --device: {', '.join(known)}")
    return chosen or next(iter(known), None)
