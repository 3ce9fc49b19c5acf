# SPDX-License-Identifier: GPL-2.0-or-later
"""The finds of a reader: requests with their times, and remarks on the record."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from cint.errors import CintError


@dataclass(slots=True)
class Request:
    """One command; times in ns. Queues, numbered from 1, are what the record tells apart."""

    queue: int
    begin: int
    end: int | None = None
    #: The device's bits: 1 Urgent, 2 Barrier.
    hints: int = 0
    failed: bool = False
    #: The last one of a batch, which a doorbell follows.
    rings: bool = True


@dataclass
class Found:
    """The requests of a record, in any order, and remarks on it."""

    requests: list[Request] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


class Flight:
    """Requests that have begun, by what their end will name; the oldest of a name ends first."""

    def __init__(self, found: Found) -> None:
        self._found = found
        self._flying: defaultdict[Hashable, deque[Request]] = defaultdict(deque)
        #: Ends of what began before the record did.
        self.strangers = 0

    def begin(self, key: Hashable, request: Request) -> None:
        """A request begins."""
        self._found.requests.append(request)
        self.fly(key, request)

    def fly(self, key: Hashable, request: Request) -> None:
        """A request that has been found already begins, perhaps once more."""
        self._flying[key].append(request)

    def take_back(self, key: Hashable) -> Request | None:
        """The oldest request of that name is put back, to begin once more; None: there is none."""
        waiting = self._flying.get(key)
        return waiting.popleft() if waiting else None

    def end(self, key: Hashable, at: int, failed: bool = False) -> None:
        """The oldest request of that name ends."""
        waiting = self._flying.get(key)
        if not waiting:
            self.strangers += 1
            return
        request = waiting.popleft()
        request.end, request.failed = at, failed

    def remark(self, put_back: int = 0) -> None:
        """Say what had no beginning and what no end, such as what stayed put back."""
        open_still = sum(map(len, self._flying.values())) + put_back
        if self.strangers:
            self._found.remarks.append(f"{self.strangers} completions of requests that began "
                                       "before the record are left out")
        if open_still:
            self._found.remarks.append(f"{open_still} requests have no completion in the record")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a record, and where it is."""

    name: str
    number: int
    text: str
    last: bool = False

    def refuse(self, expected: str) -> NoReturn:
        """Raise a :class:`CintError`: it is not what it should be."""
        shown = self.text.strip()
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        raise CintError(f"{self.name}:{self.number}: expected {expected}, found '{shown}'")

    def unread(self, found: Found, expected: str) -> None:
        """It cannot be read: cut short if it is the last one, else a mistake."""
        if not self.last:
            self.refuse(expected)
        found.remarks.append(f"the last line is cut short and left out: {self.text.strip()[:40]}")


def lines_of(name: str, data: bytes, first: int = 1) -> Iterator[Line]:
    """The lines of a record from number `first` on."""
    texts = data.decode(errors="replace").splitlines()
    for number, text in enumerate(texts[first - 1:], first):
        yield Line(name, number, text, number == len(texts))
