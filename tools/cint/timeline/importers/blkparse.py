# SPDX-License-Identifier: GPL-2.0-or-later
"""blkparse's text, in its own format (no -f): D is a request's issue to the driver, C its end.

A queue is a CPU, as blk-mq has it where each CPU has its own: CPU 0 has queue 1. The requests
that an unplug (U) hands down are one batch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from cint.errors import CintError, UsageError
from cint.timeline.importers.requests import Flight, Found, Request, lines_of

EXPECTED = "a line of blkparse ('259,0 0 1 0.000000000 123 D R 0 + 8 [fio]')"

_EVENT = re.compile(r"\s*(?P<device>\d+,\d+)\s+(?P<cpu>\d+)\s+(?P<sequence>\d+)\s+"
                    r"(?P<seconds>\d+)\.(?P<ns>\d{9})\s+(?P<pid>\d+)\s+"
                    r"(?P<action>[A-Z]{1,2}|m)\s+(?P<rest>\S.*)$")
_EXTENT = re.compile(r"(?P<rwbs>[A-Z]+)\s+(?:\([0-9a-f ]*\)\s*)?(?P<sector>\d+)"
                     r"(?:\s\+\s(?P<count>\d+))?.*?\[(?P<what>[^]]*)\]\s*$")
#: What blkparse prints after the events.
_SUMMARY = re.compile(r"(CPU ?\d+ \(|Total \(|Throughput |Events \(|Skips: )")
#: How the kernel's own events begin: a byte of version, then this.
BINARY = b"tae"


class _Reader:
    def __init__(self, device: str | None) -> None:
        self.found = Found()
        self.devices: set[str] = set()
        self._device = device
        self._flight = Flight(self.found)
        #: The CPU and process of an unplug, and how many of its requests are still to come.
        self._plug: tuple[str, str] | None = None
        self._left = 0

    def event(self, match: re.Match[str]) -> bool:
        """Take an event; false if its text is not what its action has."""
        self.devices.add(match["device"])
        if self._device not in (None, match["device"]) or match["action"] not in "UDC":
            return True
        if match["action"] == "U":
            count = re.search(r"\]\s*(\d+)", match["rest"])
            self._plug = match["cpu"], match["pid"]
            self._left = int(count[1]) if count else 0
            return count is not None
        extent = _EXTENT.match(match["rest"])
        if extent is None:
            return False
        at = int(match["seconds"]) * 10**9 + int(match["ns"])
        # What a flush or a discard covers is not the transfer's size, but both events have it.
        key = match["device"], extent["sector"], extent["count"], extent["rwbs"][:1]
        if match["action"] == "C":
            self._flight.end(key, at, extent["what"] not in ("", "0"))
            return True
        self._flight.begin(key, Request(int(match["cpu"]) + 1, at, rings=self._rings(match)))
        return True

    def _rings(self, match: re.Match[str]) -> bool:
        """Whether a doorbell follows a request: after the last of an unplug, or a lone one."""
        if self._plug != (match["cpu"], match["pid"]) or not self._left:
            return True
        self._left -= 1
        return self._left == 0

    def done(self) -> Found:
        self._flight.remark()
        return self.found


def read(name: str, data: bytes, device: str | None = None) -> Found:
    """Read blkparse's output; of several devices, `device` (MAJOR,MINOR) says which."""
    if data[1:4] == BINARY:
        raise CintError(f"{name}: this is what blktrace writes, not blkparse's text",
                        hint="blkparse -i NAME > record.txt")
    reader = _Reader(device)
    for line in lines_of(name, data):
        if _SUMMARY.match(line.text):
            break
        match = _EVENT.match(line.text)
        if line.text.strip() and (match is None or not reader.event(match)):
            line.unread(reader.found, EXPECTED)
    _check_device(name, reader.devices, device)
    return reader.done()


def _check_device(name: str, devices: set[str], chosen: str | None) -> None:
    known: Sequence[str] = sorted(devices)
    if chosen is not None and chosen not in devices:
        raise UsageError(f"--device {chosen}: {name} has none; it has {', '.join(known) or 'none'}")
    if chosen is None and len(known) > 1:
        raise UsageError(f"{name} has {len(known)} devices",
                         hint=f"choose with --device: {', '.join(known)}")
