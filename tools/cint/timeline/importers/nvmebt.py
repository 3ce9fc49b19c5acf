# SPDX-License-Identifier: GPL-2.0-or-later
"""The output of nvme.bt: the Linux driver's commands, by bpftrace.

A queue is the device's own, by its number; the admin queue is left out. Which commands rang a
doorbell together the driver's trace points do not tell: each is a batch of its own.
"""

from __future__ import annotations

from itertools import islice

from cint.errors import CintError, UsageError
from cint.timeline.importers.requests import Flight, Found, Request, lines_of

HEADER = "# nvme.bt"
VERSION = 1
EXPECTED = ("'S' with time, controller, qid, cid, opcode and flags, or 'C' with time, controller, "
            "qid, cid and status")
#: Where the hints are in byte 1 of a command (hw/nvme/cint-abi.h).
_HINTS_SHIFT, _HINTS = 2, 3
_LENGTHS = {"S": 6, "C": 5}


def _numbers(line: str) -> tuple[str, list[int]] | None:
    kind, _, rest = line.strip().partition(" ")
    words = rest.split()
    if len(words) != _LENGTHS.get(kind) or not all(word.isdigit() for word in words):
        return None
    return kind, [int(word) for word in words]


def _first(name: str, data: bytes) -> int:
    """The number of the line after the header; bpftrace prints lines of its own before it."""
    for line in islice(lines_of(name, data), 20):
        if line.text.startswith(HEADER):
            version = line.text.removeprefix(HEADER).strip()
            if version != str(VERSION):
                raise CintError(f"{name}: this is version {version} of nvme.bt's format; "
                                f"this tool reads version {VERSION}")
            return line.number + 1
    raise CintError(f"{name}: there is no line '{HEADER} {VERSION}' at its beginning",
                    hint="record with bpftrace tools/cint/timeline/importers/nvme.bt > FILE")


def read(name: str, data: bytes, device: str | None = None) -> Found:
    """Read a record; of several controllers, `device` (nvme0 or 0) says which."""
    found = Found()
    events = []
    for line in lines_of(name, data, _first(name, data)):
        event = _numbers(line.text)
        if event is not None:
            events.append(event)
        elif line.text.startswith("Lost "):
            found.remarks.append(f"bpftrace says: {line.text.strip()}")
        elif line.text.strip():
            line.unread(found, EXPECTED)
    _replay(found, events, _controller(name, {values[1] for _, values in events}, device))
    return found


def _controller(name: str, known: set[int], device: str | None) -> int | None:
    shown = ", ".join(f"nvme{number}" for number in sorted(known)) or "none"
    if device is not None:
        text = device.removeprefix("nvme")
        if not text.isdigit() or int(text) not in known:
            raise UsageError(f"--device {device}: {name} has none; it has {shown}")
        return int(text)
    if len(known) > 1:
        raise UsageError(f"{name} has {len(known)} controllers",
                         hint=f"choose with --device: {shown}")
    return next(iter(known), None)


def _replay(found: Found, events: list[tuple[str, list[int]]], controller: int | None) -> None:
    """Put the lines into the order of their times and match the ends with the beginnings."""
    flight = Flight(found)
    for kind, values in sorted(events, key=lambda event: event[1][0]):
        at, owner, qid, cid = values[:4]
        if owner != controller or qid == 0:
            continue
        if kind == "S":
            flight.begin((qid, cid), Request(qid, at, hints=values[5] >> _HINTS_SHIFT & _HINTS))
        else:
            flight.end((qid, cid), at, failed=values[4] != 0)
    flight.remark()
