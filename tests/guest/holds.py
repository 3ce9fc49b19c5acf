# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether completions waited for longer than max-hold, seen from the host while a load runs.

A busy host's timers are late, and the device counts by how much. So what waited too long has to be
excused by a timer of the same queue that was as late between the same two looks.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cint.device import logpage
from cint.guest.qmp import Qmp

#: Between two looks, which take the device's time.
EVERY_S = 0.5


@dataclass(frozen=True)
class Waits:
    """Of a queue since its creation: how long completions waited, how late timers were."""

    hold: logpage.Hist = field(default_factory=logpage.Hist)
    lateness: logpage.Hist = field(default_factory=logpage.Hist)


def hist(counted: Mapping[str, Any]) -> logpage.Hist:
    """A distribution as cint-stats has it."""
    return logpage.Hist(counted["sum-ns"], counted["max-ns"], tuple(counted["buckets"]))


def waits(queue: Mapping[str, Any]) -> Waits:
    """A queue of cint-stats; all classes of completions together."""
    hold = logpage.Hist()
    for name in logpage.CLASSES:
        hold = hold.plus(hist(queue[f"hold-{name}"]))
    return Waits(hold, hist(queue["lateness"]))


def at_least_ns(later: logpage.Hist, earlier: logpage.Hist) -> int:
    """What the largest value in between was at least; exact where it is the largest of all."""
    if later.max_ns > earlier.max_ns:
        return later.max_ns
    grown = [bucket for bucket, count in enumerate(later.since(earlier).buckets) if count]
    return 1 << grown[-1] - 1 if grown and grown[-1] else 0


def unexcused_ns(later: Waits, earlier: Waits, max_hold_ns: int) -> int:
    """By how much a completion waited too long in between, beyond what the timers were late."""
    late = later.lateness.since(earlier.lateness).max_ns
    return max(0, at_least_ns(later.hold, earlier.hold) - max_hold_ns - late)


class Watch:
    """The queues of a controller, looked at now and then."""

    def __init__(self, qmp: Qmp, path: str, max_hold_ns: int) -> None:
        """`path` is QEMU's of the controller."""
        self._qmp, self._path, self._max_hold_ns = qmp, path, max_hold_ns
        self._seen: dict[int, Waits] = {}
        self._looked = 0.0

    def begin(self) -> None:
        """The queues may be others than before."""
        self._seen = {}

    def look(self) -> None:
        """Nothing that was not excused has waited since the last look."""
        for queue in self._qmp.get("cint-stats", self._path)["queues"]:
            now, cqid = waits(queue), queue["cqid"]
            if cqid:
                before = self._seen.get(cqid, Waits())
                assert unexcused_ns(now, before, self._max_hold_ns) == 0, (cqid, before, now)
                self._seen[cqid] = now
        self._looked = time.monotonic()

    def look_at_times(self) -> None:
        """The same, when it is time to."""
        if time.monotonic() >= self._looked + EVERY_S:
            self.look()
