# SPDX-License-Identifier: GPL-2.0-or-later
"""Decoder of the vendor log page D0h.

The layout is read from hw/nvme/cint-abi.h (see abi.py). Header and records say their own size;
fields are only added in reserved space or behind it, so that a newer device can be read by an
older tool.
"""

from __future__ import annotations

import functools
import operator
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from cint.device import abi, words
from cint.errors import CintError

MAGIC = b"CINT"
VERSION = abi.NUMBERS["NVME_CINT_VERSION"]

POLICIES = tuple(words.POLICIES)
REASONS = ("none", "each", "urgent", "barrier", "thr", "quiet", "time", "ratio", "low-cif",
           "low-iops", "pointer", "drain", "pressure", "max-hold", "error", "storm", "kick",
           "reconfigure", "admin")
CLASSES = ("unmarked", "urgent", "barrier")
#: What hint a command had, and where from.
HINTS = ("none", "urgent", "barrier", "both")
SOURCES = ("cdw0", "cdw13", "inferred", "latency")
HIST_BUCKETS = abi.NUMBERS["NVME_CINT_HIST_BUCKETS"]

HEADER, RECORD, SQ_RECORD = map(abi.layout, (
    "NvmeCintLogHeader", "NvmeCintLogRecord", "NvmeCintLogSq"))
HEADER_SIZE, RECORD_SIZE, SQ_RECORD_SIZE = map(abi.size, (HEADER, RECORD, SQ_RECORD))
#: The members that count: those of 64 bits but for the state that is in force.
_COUNTERS = tuple(name for name, member in RECORD.items()
                  if member.codes == "Q" and name != "delta_ns")


class LogPageError(CintError):
    """The log page cannot be read."""


@dataclass(frozen=True)
class Hist:
    """A time distribution: bucket b counts [2^(b-1), 2^b) ns, bucket 0 counts 0 ns."""

    sum_ns: int = 0
    max_ns: int = 0
    buckets: tuple[int, ...] = (0,) * HIST_BUCKETS

    @property
    def count(self) -> int:
        """Values counted."""
        return sum(self.buckets)

    @property
    def mean_ns(self) -> float | None:
        """The mean, exact; None without values."""
        return self.sum_ns / self.count if self.count else None

    @property
    def top_ns(self) -> int:
        """The upper edge of the highest bucket in use, 0 without values."""
        return max((1 << b for b, count in enumerate(self.buckets) if count and b), default=0)

    def at_most_ns(self, percent: float) -> int | None:
        """A bound that `percent` of the values do not exceed: a bucket's edge, or the maximum."""
        need, seen = self.count * percent / 100, 0
        for bucket, count in enumerate(self.buckets):
            seen += count
            if count and seen >= need:
                edge = 1 << bucket if bucket else 0
                return self.max_ns if bucket == HIST_BUCKETS - 1 else min(edge, self.max_ns)
        return None

    def plus(self, other: Hist) -> Hist:
        """Both together."""
        return Hist(self.sum_ns + other.sum_ns, max(self.max_ns, other.max_ns),
                    tuple(a + b for a, b in zip(self.buckets, other.buckets, strict=True)))

    def since(self, earlier: Hist) -> Hist:
        """The values since `earlier`.

        The maximum is exact when it grew; else it is a bound, because the
        device keeps only the largest value since the queue was created.
        """
        buckets = tuple(a - b for a, b in zip(self.buckets, earlier.buckets, strict=True))
        rest = Hist(self.sum_ns - earlier.sum_ns, 0, buckets)
        grew = self.max_ns > earlier.max_ns or buckets[-1]
        return Hist(rest.sum_ns, self.max_ns if grew else min(self.max_ns, rest.top_ns), buckets)


@dataclass(frozen=True)
class Answers:
    """First head doorbells after a message: sums over their ns since it, and their CQEs."""

    count: int = 0
    ns: int = 0
    cqes: int = 0
    cqes_cqes: int = 0
    ns_cqes: int = 0

    @property
    def price_ns(self) -> tuple[float, float] | None:
        """The ns of an interrupt by itself and for each CQE, by least squares.

        None where all answers had the same number of CQEs: there is no telling the two apart.
        """
        spread = self.count * self.cqes_cqes - self.cqes * self.cqes
        if spread <= 0:
            return None
        each = (self.count * self.ns_cqes - self.ns * self.cqes) / spread
        return (self.ns - each * self.cqes) / self.count, each


@dataclass(frozen=True)
class Record:
    """Counters of one completion queue (``cqid`` 0 is the admin queue)."""

    cqid: int
    vector: int
    policy: str
    delta_ns: int
    thr: int
    counters: Mapping[str, int]
    hints: Mapping[str, int]
    sources: Mapping[str, int]
    reasons: Mapping[str, int]
    hold: Sequence[Hist]
    reap: Sequence[Hist]
    lateness: Hist
    post_to_head: Hist
    answers: Answers

    @property
    def ratio(self) -> float | None:
        """vIC's delivery ratio now in force (None: another policy)."""
        skip = self.counters["ratio_skip"]
        return self.counters["ratio_up"] / skip if skip else None


@dataclass(frozen=True)
class SubmissionQueue:
    """Counters of one I/O submission queue; ``priority`` is QPRIO, 0 urgent to 3 low."""

    sqid: int
    cqid: int
    priority: int
    backlog: int
    commands: int
    bytes: int
    #: From the doorbell to the fetch.
    wait: Hist
    #: Known by what was learned of them, now, and those of them that somebody waits for.
    buffers: int = 0
    waited_buffers: int = 0
    #: Of 256 commands, those whose buffer was new.
    fresh: int = 0


@dataclass(frozen=True)
class Traffic:
    """The traffic of a class of I/O."""

    commands: int = 0
    bytes: int = 0
    #: From the doorbell to the fetch.
    wait: Hist = field(default_factory=Hist)
    cqes: int = 0
    interrupts: int = 0


@dataclass(frozen=True)
class Totals:
    """Sums over the I/O completion queues."""

    cqes: int = 0
    interrupts: int = 0
    urgent_interrupts: int = 0
    hold_sum_ns: int = 0
    hold_count: int = 0
    lateness: Hist = field(default_factory=Hist)
    reasons: Mapping[str, int] = field(default_factory=dict)
    hints: Mapping[str, int] = field(default_factory=dict)
    sources: Mapping[str, int] = field(default_factory=dict)
    #: From a CQE's post until the guest has consumed it.
    post_to_head: Hist = field(default_factory=Hist)
    #: Interrupts that were put off and needed no more, and CQEs that none had told of.
    avoided: int = 0
    untold: int = 0
    #: By class of I/O, where the guest has queues for each.
    classes: Mapping[str, Traffic] = field(default_factory=dict)

    @property
    def mean_hold_ns(self) -> float | None:
        """Mean time from a completion's post to its interrupt."""
        return self.hold_sum_ns / self.hold_count if self.hold_count else None


Counted = TypeVar("Counted", Answers, Totals)


def since(now: Counted, earlier: Counted) -> Counted:
    """The counts since `earlier`; of counts by name those that changed."""
    found: Counted = _less(now, earlier)
    return found


def _less(now: Any, earlier: Any) -> Any:
    if isinstance(now, int):
        return now - earlier
    if isinstance(now, Hist):
        return now.since(earlier)
    if isinstance(now, Mapping):
        rest = {name: _less(one, earlier.get(name, type(one)())) for name, one in now.items()}
        return {name: one for name, one in rest.items() if one != 0}
    return type(now)(**{one.name: _less(getattr(now, one.name), getattr(earlier, one.name))
                        for one in fields(now)})


#: QPRIO of the queues for I/O of the realtime class; all others of theirs are lower.
URGENT_CLASS = 0


def _added(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Counts by name, added."""
    return dict(functools.reduce(operator.add, map(Counter, counts), Counter()))


@dataclass(frozen=True)
class LogPage:
    """A decoded log page.

    ``time_ns`` is the device's clock; ``instructions`` those of all vCPUs so far, with
    ``-icount`` (0 without), so that on one vCPU the rest of the time was idle.
    """

    policy: str
    virtual_time: bool
    time_ns: int
    instructions: int
    records: Sequence[Record]
    #: None of a device that does not count them, or of a page that was read without its end.
    submission_queues: Sequence[SubmissionQueue] = ()

    def total(self) -> Totals:
        """Sums over the I/O completion queues."""
        queues = [r for r in self.records if r.cqid]
        holds = [h for r in queues for h in r.hold]
        return Totals(
            sum(r.counters["cqes"] for r in queues),
            sum(r.counters["irqs_full"] + r.counters["irqs_urgent"] for r in queues),
            sum(r.counters["irqs_urgent"] for r in queues),
            sum(h.sum_ns for h in holds), sum(h.count for h in holds),
            functools.reduce(Hist.plus, (r.lateness for r in queues), Hist()),
            _added(r.reasons for r in queues), _added(r.hints for r in queues),
            _added(r.sources for r in queues),
            functools.reduce(Hist.plus, (r.post_to_head for r in queues), Hist()),
            sum(r.counters["avoided"] for r in queues), sum(r.counters["untold"] for r in queues),
            self.by_class())

    def by_class(self) -> dict[str, Traffic]:
        """Traffic by class of I/O, `l` and `t`; empty of a driver without queues for each."""
        queues = self.submission_queues
        urgent = {q.sqid for q in queues if q.priority == URGENT_CLASS}
        if not urgent or len(urgent) == len(queues):
            return {}
        return {name: self._traffic([q for q in queues if (q.sqid in urgent) == (name == "l")])
                for name in ("l", "t")}

    def _traffic(self, queues: Sequence[SubmissionQueue]) -> Traffic:
        cqs = {q.cqid for q in queues}
        counters = [r.counters for r in self.records if r.cqid in cqs]
        return Traffic(sum(q.commands for q in queues), sum(q.bytes for q in queues),
                       functools.reduce(Hist.plus, (q.wait for q in queues), Hist()),
                       sum(c["cqes"] for c in counters),
                       sum(c["irqs_full"] + c["irqs_urgent"] for c in counters))


def _policy(number: int) -> str:
    return POLICIES[number] if number < len(POLICIES) else f"policy-{number}"


def _hists(numbers: Sequence[int]) -> list[Hist]:
    """The distributions that a member is made of."""
    whole = 2 + HIST_BUCKETS
    return [Hist(numbers[at], numbers[at + 1], tuple(numbers[at + 2:at + whole]))
            for at in range(0, len(numbers), whole)]


def _counts(counts: Sequence[int], names: Sequence[str], what: str) -> dict[str, int]:
    """Counters that are not 0, by name; numbers that this tool has no name for by ``what``."""
    known = [*names, *(f"{what}-{n}" for n in range(len(names), len(counts)))]
    return {name: count for name, count in zip(known, counts, strict=True) if count}


def _record(data: bytes) -> Record:
    found = abi.read(RECORD, data)
    one = {name: numbers[0] for name, numbers in found.items()}
    return Record(one["cqid"], one["vector"], _policy(one["policy"]), one["delta_ns"], one["thr"],
                  {name: one[name] for name in _COUNTERS},
                  _counts(found["cmds_by_hint"], HINTS, "hint"),
                  _counts(found["cmds_by_source"], SOURCES, "source"),
                  _counts(found["irqs_by_reason"], REASONS, "reason"),
                  _hists(found["hold"]), _hists(found["reap"]), _hists(found["lateness"])[0],
                  _hists(found["post_to_head"])[0], Answers(*found["answers"]))


def _submission_queue(data: bytes) -> SubmissionQueue:
    found = abi.read(SQ_RECORD, data)
    counts = {one.name: found[one.name][0] for one in fields(SubmissionQueue)}
    return SubmissionQueue(**counts | {"wait": _hists(found["wait"])[0]})  # type: ignore[arg-type]


def _submission_queues(data: bytes, size: int, count: int) -> list[SubmissionQueue]:
    """The submission queues whose records are complete; they follow the completion queues'."""
    if count and size < SQ_RECORD_SIZE:
        raise LogPageError(f"log page D0h: submission queues have records of {size} bytes, not of "
                           f"{SQ_RECORD_SIZE} at least")
    whole = min(count, len(data) // size if size else 0)
    return [_submission_queue(data[at:at + size]) for at in range(0, whole * size, size)]


def decode(data: bytes) -> LogPage:
    """Decode a whole page; raise :class:`LogPageError` when it is not one."""
    if len(data) < HEADER_SIZE or data[:4] != MAGIC:
        raise LogPageError("log page D0h: no CINT header; is this a cint device?")
    head = {name: numbers[0] for name, numbers in abi.read(HEADER, data).items()}
    version, size, count = head["version"], head["record_size"], head["records"]
    if version != VERSION or size < RECORD_SIZE:
        raise LogPageError(f"log page D0h: version {version} with records of {size} bytes; this "
                           f"tool reads version {VERSION}", hint="run ./cint build")
    end = head["header_size"] + count * size
    if len(data) < end:
        raise LogPageError(f"log page D0h: {len(data)} bytes, but {count} records need {end}")
    records = [_record(data[at:at + size]) for at in range(head["header_size"], end, size)]
    return LogPage(_policy(head["policy"]), bool(head["virtual_time"]), head["time_ns"],
                   head["instructions"], records,
                   _submission_queues(data[end:], head["sq_record_size"], head["sq_records"]))
