# SPDX-License-Identifier: GPL-2.0-or-later
"""Decoder of the vendor log page D0h.

The layout is that of hw/nvme/cint-abi.h; tools/tests/test_logpage.py compares
the two.  Everything is little-endian.  Header and records say their own size;
fields are only added in reserved space or behind it, so that a newer device can
be read by an older tool.
"""

from __future__ import annotations

import functools
import operator
import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field

from cint.device import words
from cint.errors import CintError

MAGIC = b"CINT"
VERSION = 1

POLICIES = tuple(words.POLICIES)
REASONS = ("none", "each", "urgent", "barrier", "thr", "quiet", "time", "ratio", "low-cif",
           "low-iops", "pointer", "drain", "pressure", "max-hold", "error", "storm", "kick",
           "reconfigure", "admin")
CLASSES = ("unmarked", "urgent", "barrier")
#: What hint a command had, and where from.
HINTS = ("none", "urgent", "barrier", "both")
SOURCES = ("cdw0", "cdw13", "inferred", "latency")
NR_REASONS = 32
NR_HINTS = 4
NR_SOURCES = 4
HIST_BUCKETS = 32

_HEADER = struct.Struct("<4sHHIHBBQQIH")
# cqid .. pending, the fields before the 64-bit counters.
_RECORD_HEAD = struct.Struct("<HHBBHIIQII")
_COUNTERS = ("cqes", "irqs_full", "irqs_urgent", "irqs_masked", "avoided", "reruns",
             "ratio_up", "ratio_skip", "storm_ewma_ns", "storm_held", "pointer_arms",
             "pointer_rejects")
_COUNTERS_AT = 32
_HINTS_AT = 128
_SOURCES_AT = 160
_REASONS_AT = 192
_HOLD_AT = 448
_REAP_AT = 1264
_LATENESS_AT = 2080
_POST_TO_HEAD_AT = 2352
_UNTOLD_AT = 2624
_ANSWERS = struct.Struct("<5Q")
_ANSWERS_AT = 2632
_HIST = struct.Struct(f"<QQ{HIST_BUCKETS}Q")
RECORD_SIZE = 3072
# sqid, cqid, priority, sq_size, backlog, commands, bytes.
_SQ_RECORD = struct.Struct("<HHB3xIIQQ")
_SQ_WAIT_AT = 64
_SQ_BELIEF = struct.Struct("<III")
_SQ_BELIEF_AT = 336
SQ_RECORD_SIZE = 384

#: Where the decoder looks, for the test that compares it with the header.
OFFSETS: Mapping[str, int] = {
    **{name: _COUNTERS_AT + 8 * i for i, name in enumerate(_COUNTERS)},
    "cqid": 0, "vector": 2, "policy": 4, "irq_enabled": 5, "cq_size": 8, "inflight": 12,
    "delta_ns": 16, "thr": 24, "pending": 28, "cmds_by_hint": _HINTS_AT,
    "cmds_by_source": _SOURCES_AT, "irqs_by_reason": _REASONS_AT,
    "hold": _HOLD_AT, "reap": _REAP_AT, "lateness": _LATENESS_AT,
    "post_to_head": _POST_TO_HEAD_AT, "untold": _UNTOLD_AT,
    "answers": _ANSWERS_AT}
SQ_OFFSETS: Mapping[str, int] = {
    "sqid": 0, "cqid": 2, "priority": 4, "sq_size": 8, "backlog": 12, "commands": 16, "bytes": 24,
    "wait": _SQ_WAIT_AT, "buffers": _SQ_BELIEF_AT, "waited_buffers": _SQ_BELIEF_AT + 4,
    "fresh": _SQ_BELIEF_AT + 8}


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
        """What came after `earlier`.

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

    def since(self, earlier: Answers) -> Answers:
        """What came after `earlier`."""
        return Answers(*(a - b for a, b in zip(astuple(self), astuple(earlier), strict=True)))

    @property
    def price_ns(self) -> tuple[float, float] | None:
        """What an interrupt takes by itself and for each CQE, by least squares, in ns.

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


@dataclass(frozen=True)
class Traffic:
    """What went through the queues of a class of I/O."""

    commands: int = 0
    bytes: int = 0
    #: From the doorbell to the fetch.
    wait: Hist = field(default_factory=Hist)
    cqes: int = 0
    interrupts: int = 0

    def since(self, earlier: Traffic) -> Traffic:
        """What came after `earlier`."""
        return Traffic(self.commands - earlier.commands, self.bytes - earlier.bytes,
                       self.wait.since(earlier.wait), self.cqes - earlier.cqes,
                       self.interrupts - earlier.interrupts)


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
            sum(r.counters["avoided"] for r in queues), sum(r.counters["untold"] for r in queues))

    def by_class(self) -> dict[str, Traffic]:
        """By class of I/O, `l` and `t`; empty of a driver that has no queues for each of them."""
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


def _hist(data: bytes, offset: int) -> Hist:
    sum_ns, max_ns, *buckets = _HIST.unpack_from(data, offset)
    return Hist(sum_ns, max_ns, tuple(buckets))


def _counts(data: bytes, offset: int, names: Sequence[str], number: int,
            what: str) -> dict[str, int]:
    """Counters that are not 0, by name; numbers that this tool has no name for by ``what``."""
    counts = struct.unpack_from(f"<{number}Q", data, offset)
    known = [*names, *(f"{what}-{n}" for n in range(len(names), number))]
    return {name: count for name, count in zip(known, counts, strict=True) if count}


def _record(data: bytes) -> Record:
    cqid, vector, policy, _, _, _, _, delta, thr, _ = _RECORD_HEAD.unpack_from(data)
    counters = struct.unpack_from(f"<{len(_COUNTERS)}Q", data, _COUNTERS_AT)
    (untold,) = struct.unpack_from("<Q", data, _UNTOLD_AT)
    classes = range(len(CLASSES))
    return Record(cqid, vector, _policy(policy), delta, thr,
                  {**dict(zip(_COUNTERS, counters, strict=True)), "untold": untold},
                  _counts(data, _HINTS_AT, HINTS, NR_HINTS, "hint"),
                  _counts(data, _SOURCES_AT, SOURCES, NR_SOURCES, "source"),
                  _counts(data, _REASONS_AT, REASONS, NR_REASONS, "reason"),
                  [_hist(data, _HOLD_AT + c * _HIST.size) for c in classes],
                  [_hist(data, _REAP_AT + c * _HIST.size) for c in classes],
                  _hist(data, _LATENESS_AT), _hist(data, _POST_TO_HEAD_AT),
                  Answers(*_ANSWERS.unpack_from(data, _ANSWERS_AT)))


def _submission_queue(data: bytes) -> SubmissionQueue:
    sqid, cqid, priority, _, backlog, commands, moved = _SQ_RECORD.unpack_from(data)
    return SubmissionQueue(sqid, cqid, priority, backlog, commands, moved,
                           _hist(data, _SQ_WAIT_AT), *_SQ_BELIEF.unpack_from(data, _SQ_BELIEF_AT))


def _submission_queues(data: bytes, size: int, count: int) -> list[SubmissionQueue]:
    """The submission queues whose records are complete; they follow the completion queues'."""
    if count and size < SQ_RECORD_SIZE:
        raise LogPageError(f"log page D0h: submission queues have records of {size} bytes, not of "
                           f"{SQ_RECORD_SIZE} at least")
    whole = min(count, len(data) // size if size else 0)
    return [_submission_queue(data[at:at + size]) for at in range(0, whole * size, size)]


def decode(data: bytes) -> LogPage:
    """Decode a whole page; raise :class:`LogPageError` when it is not one."""
    if len(data) < _HEADER.size or data[:4] != MAGIC:
        raise LogPageError("log page D0h: no CINT header; is this a cint device?")
    (_, version, header_size, size, count, policy, virtual, now, instructions, sq_size,
     sq_count) = _HEADER.unpack_from(data)
    if version != VERSION or size < RECORD_SIZE:
        raise LogPageError(f"log page D0h: version {version} with records of {size} bytes; this "
                           f"tool reads version {VERSION}", hint="run ./cint build")
    end = header_size + count * size
    if len(data) < end:
        raise LogPageError(f"log page D0h: {len(data)} bytes, but {count} records need {end}")
    records = [_record(data[at:at + size]) for at in range(header_size, end, size)]
    return LogPage(_policy(policy), bool(virtual), now, instructions, records,
                   _submission_queues(data[end:], sq_size, sq_count))
