# SPDX-License-Identifier: GPL-2.0-or-later
"""Two readings of cint-stats, as QMP gives it, and the rates between them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cint.device import logpage
from cint.device.logpage import Answers

Stats = Mapping[str, Any]
_HINTS = ("unmarked", "urgent", "barrier")


#: In place of a policy: the admin queue is not coalesced.
NEVER = "-"


@dataclass(frozen=True)
class Queue:
    """One completion queue between two readings. Rates are per second of the device's time."""

    cqid: int
    vector: int
    policy: str
    cqes_per_s: float
    irqs_per_s: float
    cqes_per_irq: float | None
    #: Mean time from a CQE's post to its interrupt, all hints, in us.
    hold_us: float | None
    #: Mean time from an interrupt to the head doorbell that answers it, in us.
    answer_us: float | None
    #: Of that, what does not depend on the CQEs, and what each of them takes, by least squares.
    price_us: float | None
    price_cqe_us: float | None
    reasons: Mapping[str, int]
    inflight: int
    pending: int
    delta_ns: int
    thr: int
    #: vIC's ratio, up and skip; 0 where it does not act.
    ratio: tuple[int, int]
    storm_ewma_ns: int
    storm_held: int
    #: Share of the commands that somebody waits for, as the guest says or the device believes.
    waited_percent: float | None
    #: Buffers that the device has learned of, and those of them that somebody waits for.
    buffers: int
    waited_buffers: int


def _total(queue: Stats, what: str) -> tuple[int, int]:
    """Sum and count of a distribution over all hints."""
    found = [queue[f"{what}-{hint}"] for hint in _HINTS]
    return sum(one["sum-ns"] for one in found), sum(sum(one["buckets"]) for one in found)


def _answers(queue: Stats) -> Answers:
    """What the guest has answered; nothing of a device that does not count it."""
    found = queue.get("answers", {})
    return Answers(*(int(found.get(name, 0))
                     for name in ("count", "ns", "cqes", "cqes-cqes", "ns-cqes")))


def _prices(answers: Answers) -> tuple[float | None, float | None, float | None]:
    """Mean answer, and what an interrupt and each CQE take of it, in us."""
    line = answers.price_ns
    return (answers.ns / answers.count / 1e3 if answers.count else None,
            line[0] / 1e3 if line else None, line[1] / 1e3 if line else None)


def _row(before: Stats, now: Stats, seconds: float, feeders: Sequence[Stats]) -> Queue:
    def more(name: str) -> int:
        return int(now[name]) - int(before.get(name, 0))

    old_hold = _total(before, "hold") if before else (0, 0)
    hold = [a - b for a, b in zip(_total(now, "hold"), old_hold, strict=True)]
    was = before.get("irqs-by-reason", {})
    reasons = {name: count - was.get(name, 0) for name, count in now["irqs-by-reason"].items()}
    return Queue(
        now["cqid"], now["vector"], now["policy"] if now["cqid"] else NEVER,
        more("cqes") / seconds if seconds else 0.0, more("irqs") / seconds if seconds else 0.0,
        more("cqes") / more("irqs") if more("irqs") else None,
        hold[0] / hold[1] / 1e3 if hold[1] else None,
        *_prices(logpage.since(_answers(now), _answers(before))),
        dict(sorted(((n, c) for n, c in reasons.items() if c), key=lambda one: -one[1])),
        now["inflight"], now["pending"], now["delta-ns"], now["thr"],
        (now["ratio-up"], now["ratio-skip"]), now["storm-ewma-ns"], more("storm-held"),
        100 * more("cmds-urgent") / more("cqes") if now["cqid"] and more("cqes") else None,
        *(sum(int(queue[name]) for queue in feeders) for name in ("buffers", "waited-buffers")))


BARS = "▁▂▃▄▅▆▇█"
#: Readings that a line of bars shows.
READINGS = 16


class History:
    """Interrupts a second of each queue, at the last readings."""

    def __init__(self) -> None:
        self._of: dict[int, deque[float]] = {}

    def add(self, found: Sequence[Queue]) -> None:
        """One reading more; a queue that is not in it has gone."""
        self._of = {row.cqid: self._of.get(row.cqid, deque(maxlen=READINGS)) for row in found}
        for row in found:
            self._of[row.cqid].append(row.irqs_per_s)

    def bars(self, cqid: int) -> str:
        """A bar a reading, the latest at the right; the highest is that of the most interrupts."""
        values = self._of.get(cqid, ())
        most = max(values, default=0.0)
        line = "".join(BARS[round(value / most * (len(BARS) - 1))] if most else BARS[0]
                       for value in values)
        return f"{line:>{READINGS}}"


def rows(before: Stats | None, now: Stats) -> list[Queue]:
    """Each queue that there is now; without an earlier reading, since the device began.

    A queue that counts less than before is a new one of that number.
    """
    old = {one["cqid"]: one for one in before["queues"]} if before else {}
    seconds = (now["time-ns"] - (before["time-ns"] if before else 0)) / 1e9
    found = []
    for queue in now["queues"]:
        earlier = old.get(queue["cqid"], {})
        fresh = earlier and earlier["cqes"] > queue["cqes"]
        feeders = [one for one in now["submission-queues"] if one["cqid"] == queue["cqid"]]
        found.append(_row({} if fresh else earlier, queue, seconds, feeders))
    return found


def _belief(row: Queue) -> str:
    """What the device believes, where it has learned."""
    if not row.buffers or row.waited_percent is None:
        return ""
    return (f"  [{row.waited_percent:.0f} % look waited for; so do {row.waited_buffers} of "
            f"{row.buffers} buffers]")


def _price(row: Queue) -> str:
    """What an interrupt costs the guest, from message to head doorbell."""
    if row.price_us is None or row.price_cqe_us is None:
        return "" if row.answer_us is None else f"  [answered in {row.answer_us:.2f} us]"
    return f"  [answered in {row.price_us:.2f} us + {row.price_cqe_us:.3f} us a CQE]"


def _known(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


#: A terminal that is narrower gets the short table.
NARROW = 60


def _short(found: list[Queue]) -> list[str]:
    return [f"{'CQ':>5}{'CQE/s':>7}{'irq/s':>7}",
            *(f"{row.cqid:>5}{row.cqes_per_s:>7.0f}{row.irqs_per_s:>7.0f}" for row in found)]


#: One that is narrower has no bars; one that is narrower still no limits, so that the reasons are
#: the last to go. What is written to a file has all.
BARS_FROM, LIMITS_FROM, ALL = 112, 152, 10_000


@dataclass(frozen=True)
class _Column:
    """One of the table: its head, at the right of so many letters, and what a row has there."""

    head: str
    width: int
    show: Callable[[Queue], object]
    #: The narrowest terminal that has it.
    since: int = NARROW


def _of_a_policy(show: Callable[[Queue], object]) -> Callable[[Queue], object]:
    """What only a queue that is coalesced has."""
    return lambda row: "-" if row.policy == NEVER else show(row)


def _columns(names: Mapping[str, str], history: History | None) -> list[_Column]:
    bars = [] if history is None else [_Column(
        "irqs/s before", READINGS + 1, lambda row: history.bars(row.cqid), BARS_FROM)]
    return [
        _Column("CQ", 5, lambda row: row.cqid), _Column("vec", 6, lambda row: row.vector),
        _Column("policy", 11, lambda row: names.get(row.policy, row.policy)),
        _Column("CQEs/s", 9, lambda row: f"{row.cqes_per_s:.0f}"),
        _Column("irqs/s", 10, lambda row: f"{row.irqs_per_s:.0f}"), *bars,
        _Column("CQEs/irq", 10, lambda row: _known(row.cqes_per_irq)),
        _Column("hold us", 9, lambda row: _known(row.hold_us)),
        _Column("in fl.", 7, lambda row: row.inflight, LIMITS_FROM),
        _Column("pend.", 6, lambda row: row.pending, LIMITS_FROM),
        _Column("delta us", 9, _of_a_policy(lambda row: f"{row.delta_ns / 1e3:g}"), LIMITS_FROM),
        _Column("thr", 6, _of_a_policy(lambda row: row.thr), LIMITS_FROM),
        _Column("R", 6, lambda row: "{}/{}".format(*row.ratio) if row.ratio[1] else "-",
                LIMITS_FROM),
    ]


def _why(row: Queue) -> str:
    """The reasons of its interrupts, and what else there is to say."""
    storm = f"  [storm: mean interval {row.storm_ewma_ns} ns, {row.storm_held} held]" \
        if row.storm_held else ""
    reasons = " ".join(f"{name} {count}" for name, count in row.reasons.items())
    return f"{reasons}{_price(row)}{_belief(row)}{storm}"


def as_text(found: list[Queue], columns: int = ALL, history: History | None = None,
            names: Mapping[str, str] | None = None) -> list[str]:
    """The rows as a table, a short one where there is little room, with bars where there is much.

    ``history`` is None where there is one reading only. ``names`` has what a policy of a queue is
    called, where that is not its kind.
    """
    if columns < NARROW:
        return _short(found)
    shown = [one for one in _columns(names or {}, history) if columns >= one.since]
    return ["".join(f"{one.head:>{one.width}}" for one in shown) + "  reasons",
            *("".join(f"{one.show(row):>{one.width}}" for one in shown) + f"  {_why(row)}"
              for row in found)]
