# SPDX-License-Identifier: GPL-2.0-or-later
"""fio's logs of each request: --write_lat_log, and --write_iolog.

A latency log has a line a request, when it ended: its time in whole milliseconds, its latency in
ns, and, since fio 3.39 with log_issue_time=1, when it was issued in ns (in the clat log only).
With that its times are exact. Without, the ends of one millisecond are spread evenly over it.

An I/O log has what was issued and, from version 3 on, when, in us; how long it took is not in
it. That comes from the completion latency log of the same job (log_offset=1, or there is nothing
to tell requests by) or is one time for all.

A queue is a file, as a job is a thread.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from cint.errors import CintError, UsageError
from cint.timeline.importers.requests import Found, Line, Request, lines_of

EXPECTED_LAT = ("a line of fio's latency log (time in ms, latency in ns, direction, block size, "
                "offset, priority[, issue time in ns])")
#: As fio numbers directions in its latency logs.
_DIRECTIONS = {"read": 0, "write": 1, "trim": 2}
_MS = 10**6
_OTHER_KINDS = {"slat": "submission times", "bw": "bandwidths", "iops": "rates"}
_OTHER_KIND = re.compile(rf"_({'|'.join(_OTHER_KINDS)})(?:\.\d+)?\.log$")
_VERSIONS = {"fio version 2 iolog": 2, "fio version 3 iolog": 3}
_FILE_ACTIONS = ("add", "open", "close")
_SYNCS = ("sync", "datasync", "sync_file_range")


@dataclass(slots=True)
class _Entry:
    """A line of a latency log."""

    ms: int
    latency: int
    direction: int
    offset: int
    issued: int


def _entry(line: str) -> _Entry | None:
    words = [word.strip() for word in line.split(",")]
    # fio 3.2x has the priority in hexadecimal.
    if not 4 <= len(words) <= 7 or not all(word.isdigit() for word in words[:4]):
        return None
    more = [int(word, 0) if word[:1].isdigit() else -1 for word in words[4:]]
    if -1 in more:
        return None
    offset, _, issued = [*more, 0, 0, 0][:3]
    return _Entry(int(words[0]), int(words[1]), int(words[2]), offset, issued)


def _entries(name: str, data: bytes, found: Found) -> list[_Entry]:
    entries = []
    for line in lines_of(name, data):
        entry = _entry(line.text)
        if entry is None:
            line.unread(found, EXPECTED_LAT)
            continue
        if line.text.split(",")[3].strip() == "0" and entry.latency:
            raise CintError(f"{name}:{line.number}: a block size of 0: this log has averages",
                            hint="record each request: without log_avg_msec")
        entries.append(entry)
    return entries


def _exact(queue: int, entries: Sequence[_Entry]) -> list[Request]:
    """Requests by issue times; those of the same time are one batch."""
    ordered = sorted(entries, key=lambda entry: entry.issued)
    found = []
    for _, batch in groupby(ordered, key=lambda entry: entry.issued):
        found += [Request(queue, one.issued, one.issued + one.latency, rings=False)
                  for one in batch]
        found[-1].rings = True
    return found


def _spread(queue: int, entries: Sequence[_Entry]) -> list[Request]:
    """Requests by ends in whole milliseconds; those of one are in the log's order."""
    found = []
    # The log of several jobs in one file begins anew with each.
    for ms, group in groupby(sorted(entries, key=lambda entry: entry.ms), key=lambda e: e.ms):
        same = list(group)
        for index, one in enumerate(same):
            end = ms * _MS + (2 * index + 1) * _MS // (2 * len(same))
            found.append(Request(queue, end - one.latency, end))
    return found


def _check_kind(name: str) -> None:
    """Refuse fio's other logs, whose lines look the same, by the names that fio gives them."""
    match = _OTHER_KIND.search(name)
    if match:
        raise CintError(f"{name}: fio calls a log of {_OTHER_KINDS[match[1]]} so, which is no time "
                        "of a request", hint="the clat log has them (--write_lat_log)")


def read_latencies(files: Sequence[tuple[str, bytes]]) -> Found:
    """Read latency logs, one a job."""
    found = Found()
    coarse = 0
    for queue, (name, data) in enumerate(files, 1):
        _check_kind(name)
        entries = _entries(name, data, found)
        exact = bool(entries) and all(entry.issued for entry in entries)
        coarse += bool(entries) and not exact
        found.requests += _exact(queue, entries) if exact else _spread(queue, entries)
    if coarse:
        found.remarks.append("the times are whole milliseconds: the completions of each are "
                             "spread evenly over it, and bursts are not seen (fio 3.39 has exact "
                             "ones in the clat log with log_issue_time=1)")
    return found


# ---- I/O logs ---------------------------------------------------------------

@dataclass(slots=True)
class _Action:
    """A transfer of an I/O log; the time is None in version 2."""

    at: int | None
    direction: int
    offset: int


def _version(head: Line) -> int:
    text = head.text.strip()
    if text in _VERSIONS:
        return _VERSIONS[text]
    if text.startswith(("fio version", "fio iolog")):
        raise CintError(f"{head.name}: '{text}': this tool reads versions 2 and 3")
    return head.refuse("'fio version 2 iolog' or 'fio version 3 iolog'")


def _passed_over(words: list[str]) -> bool:
    """Whether it is a line that is known and no transfer."""
    return (len(words) == 2 and words[1] in _FILE_ACTIONS) \
        or (len(words) == 3 and words[1] == "wait" and words[2].isdigit()) \
        or (len(words) == 4 and words[1] in _SYNCS)


def _action(words: list[str], at: int | None) -> _Action | None:
    """A transfer; None if it is none."""
    if len(words) != 4 or words[1] not in _DIRECTIONS or not (words[2] + words[3]).isdigit():
        return None
    return _Action(at, _DIRECTIONS[words[1]], int(words[2]))


def _actions(name: str, data: bytes, found: Found) -> list[_Action]:
    lines = lines_of(name, data)
    version = _version(next(lines, Line(name, 1, "")))
    expected = f"a line of version {version} ({'time in us, ' if version == 3 else ''}file, " \
               "action, offset, length)"
    actions = []
    for line in lines:
        words = line.text.split()
        time = words.pop(0) if version == 3 and words else "0"
        at = int(time) * 1000 if version == 3 and time.isdigit() else None
        action = _action(words, at) if time.isdigit() else None
        if action is not None:
            actions.append(action)
        elif not (time.isdigit() and _passed_over(words)):
            line.unread(found, expected)
    return actions


class _Latencies:
    """How long each request takes: one time, or what the job's latency log says by offset."""

    def __init__(self, latency: int | None, log: tuple[str, bytes] | None, found: Found) -> None:
        self._one = latency
        self._by_place: defaultdict[tuple[int, int], deque[int]] = defaultdict(deque)
        self.unknown = 0
        if log is not None:
            _check_kind(log[0])
            entries = _entries(*log, found)
            if entries and not any(entry.offset for entry in entries):
                raise CintError(f"{log[0]}: all offsets are 0, so that requests cannot be told "
                                "apart", hint="record with log_offset=1")
            for entry in entries:
                self._by_place[entry.direction, entry.offset].append(entry.latency)

    def of(self, action: _Action) -> int | None:
        """The latency of a transfer; None if it is not known."""
        if self._one is not None:
            return self._one
        waiting = self._by_place.get((action.direction, action.offset))
        if waiting:
            return waiting.popleft()
        self.unknown += 1
        return None


def _closed_loop(actions: Sequence[_Action], latencies: _Latencies, depth: int) -> list[Request]:
    """Each begins when there are fewer than `depth` in flight, in the log's order."""
    ends = [0] * depth
    found = []
    for action in actions:
        latency = latencies.of(action)
        if latency is None:
            continue
        ends.sort()
        found.append(Request(1, ends[0], ends[0] + latency))
        ends[0] += latency
    return found


def read_io(file: tuple[str, bytes], latency: int | None, log: tuple[str, bytes] | None,
            depth: int | None) -> Found:
    """Read an I/O log. `latency` in ns, or the job's latency log `log`; `depth` for version 2.

    Raises :class:`UsageError` without the times that it needs.
    """
    if (latency is None) == (log is None):
        raise UsageError("an I/O log of fio does not say how long a request takes: give "
                         "--latency TIME, or --latency FILE with the job's clat log")
    found = Found()
    actions = _actions(*file, found)
    latencies = _Latencies(latency, log, found)
    if all(action.at is None for action in actions):
        if actions and depth is None:
            raise UsageError(f"{file[0]}: version 2 has no times: give --depth N, as many as were "
                             "in flight")
        found.requests = _closed_loop(actions, latencies, depth or 1)
        found.remarks.append(f"version 2 has no times: {depth or 1} requests are kept in flight")
    else:
        for action in actions:
            took = latencies.of(action)
            found.requests.append(Request(1, action.at or 0, None if took is None
                                          else (action.at or 0) + took))
    if latencies.unknown:
        found.remarks.append(f"{latencies.unknown} requests are not in the latency log")
    return found
