# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests as QEMU's log of the device's trace events, which cint-replay reads.

A request is a command of its queue, from `submit` to `post`. There are no interrupts in it, and
no heads: whose they would be, another device's or another policy's, the replay is to find out.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import TextIO

from cint.timeline.events import PREFIX
from cint.timeline.importers.requests import Request

#: Of a completion queue of Linux; the tail of a log wraps there.
CQ_SIZE = 1024
#: A bit of an entry's status: the command failed, Internal Error.
_FAILED = 0x6 << 1
_CIDS = 1 << 16


class _Queue:
    """The state of one queue: its number, free command identifiers, the tail."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.inflight = 0
        self.tail = 0
        self.batch = 0
        self._free: list[int] = []
        self._used = 0

    def take(self) -> int | None:
        """A command identifier; None when all are in flight."""
        if self._free:
            cid = heapq.heappop(self._free)
        elif self._used < _CIDS:
            cid, self._used = self._used, self._used + 1
        else:
            return None
        self.inflight += 1
        return cid

    def give(self, cid: int) -> None:
        """The command is over."""
        heapq.heappush(self._free, cid)
        self.inflight -= 1


def _submit(queue: _Queue, request: Request, cid: int, at: int) -> str:
    queue.batch += 1
    return (f"{PREFIX}submit cqid {queue.number} sqid {queue.number} cid {cid} "
            f"hints {request.hints:#x} sources {int(bool(request.hints)):#x} "
            f"inflight {queue.inflight} at {at}\n")


def _post(queue: _Queue, request: Request, cid: int, at: int) -> str:
    queue.tail = (queue.tail + 1) % CQ_SIZE
    queue.give(cid)
    return (f"{PREFIX}post cqid {queue.number} sqid {queue.number} cid {cid} "
            f"hints {request.hints:#x} status {_FAILED if request.failed else 0:#x} "
            f"tail {queue.tail} at {at}\n")


def _doorbell(queue: _Queue, at: int) -> str:
    count, queue.batch = queue.batch, 0
    return f"{PREFIX}doorbell sqid {queue.number} count {count} at {at}\n"


def lines(requests: Sequence[Request]) -> Iterator[str]:
    """The log, from time 0 on."""
    ordered = sorted(requests, key=lambda one: one.begin)
    start = ordered[0].begin if ordered else 0
    queues: dict[int, _Queue] = {}
    ends: list[tuple[int, int, Request, int]] = []
    for index, request in enumerate(ordered):
        while ends and ends[0][0] <= request.begin:
            at, _, over, cid = heapq.heappop(ends)
            yield _post(queues[over.queue], over, cid, at - start)
        queue = queues.setdefault(request.queue, _Queue(request.queue))
        taken = queue.take()
        if taken is None:
            continue
        yield _submit(queue, request, taken, request.begin - start)
        if request.rings:
            yield _doorbell(queue, request.begin - start)
        if request.end is not None:
            heapq.heappush(ends, (max(request.end, request.begin), index, request, taken))
    while ends:
        at, _, over, cid = heapq.heappop(ends)
        yield _post(queues[over.queue], over, cid, at - start)


def write(requests: Sequence[Request], stream: TextIO) -> None:
    """Write the log."""
    stream.writelines(lines(requests))
