# SPDX-License-Identifier: GPL-2.0-or-later
"""The summary of a trace: interrupts by reason, CQEs an interrupt, hold and reap times."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cint.timeline.events import COMMAND, HINTS, INTERRUPT, NONE, Trace, text

SCHEMA = 1
PERCENTILES = (50, 90, 99)
#: What a CQE waits for.
PHASES = ("hold", "reap")


def times(values: Sequence[int]) -> dict[str, float]:
    """How many there are, their mean, nearest-rank percentiles and largest; ns."""
    ordered = sorted(values)
    if not ordered:
        return {"count": 0}
    ranks = {f"p{q}": ordered[max(-(-q * len(ordered) // 100) - 1, 0)] for q in PERCENTILES}
    return {"count": len(ordered), "mean": sum(ordered) / len(ordered), **ranks,
            "max": ordered[-1]}


@dataclass(slots=True)
class Waits:
    """The waits of a queue's CQEs of a hint: every known time in ns, and how many have none.

    *hold* is from the post to the interrupt that tells of it, *reap* from there to the CQ head.
    What the guest takes by a status record it has at the interrupt: that has no *reap*.
    """

    hold: list[int] = field(default_factory=list)
    reap: list[int] = field(default_factory=list)
    untold: int = 0
    by_record: int = 0

    @property
    def phases(self) -> dict[str, list[int]]:
        """The phases that a CQE waits in: for an interrupt, and then for the guest."""
        return dict(zip(PHASES, (self.hold, self.reap), strict=True))


@dataclass(slots=True)
class Queue:
    """A completion queue: its CQEs by hint, its interrupts by reason."""

    hints: dict[int, Waits] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def waits(self) -> dict[str, Waits]:
        """The waits by the hints' names, in their order; hints that nobody gave are out."""
        return {HINTS[hint]: self.hints[hint] for hint in sorted(self.hints)}


def queues(trace: Trace) -> dict[int, Queue]:
    """The completion queues that are named."""
    found: defaultdict[int, Queue] = defaultdict(Queue)
    # No object a command: there are millions.
    for _, _, _, posted, told, reaped, _, cqid, _, _, hint, by_record in trace.rows(COMMAND):
        hints = found[cqid].hints
        if posted == NONE:
            continue
        mine = hints.get(hint)
        if mine is None:
            mine = hints[hint] = Waits()
        if told == NONE:
            mine.untold += 1
            continue
        mine.hold.append(told - posted)
        if by_record:
            mine.by_record += 1
        elif reaped != NONE:
            mine.reap.append(reaped - told)
    for *_, cqid, _, reason in trace.rows(INTERRUPT):
        found[cqid].reasons[text(reason)] += 1
    return dict(sorted(found.items()))


def _queue(cqid: int, queue: Queue) -> dict[str, Any]:
    waits = queue.waits
    untold = sum(one.untold for one in waits.values())
    cqes, sent = untold + sum(len(one.hold) for one in waits.values()), queue.reasons.total()
    return {
        "cqid": cqid, "cqes": cqes, "interrupts": sent,
        "cqes_per_interrupt": cqes / sent if sent else None,
        "by_record": sum(one.by_record for one in waits.values()),
        "untold": untold,
        "reasons": dict(queue.reasons.most_common()),
        "hints": {hint: {phase: times(values) for phase, values in one.phases.items()}
                  for hint, one in waits.items()},
    }


def summarize(trace: Trace, scale: float = 1.0) -> dict[str, Any]:
    """The summary as one document; `scale` is what the log's times were divided by."""
    return {"schema": SCHEMA, "events": trace.events, "cpu_scale": scale,
            "seconds": trace.ns / 1e9,
            "queues": [_queue(cqid, queue) for cqid, queue in queues(trace).items()]}


def _us(found: dict[str, float]) -> str:
    keys = ("mean", *(f"p{q}" for q in PERCENTILES), "max")
    if not found["count"]:
        return "".join(f"{'-':>10}" for _ in keys)
    return "".join(f"{found[key] / 1e3:10.2f}" for key in keys)


def as_text(summary: dict[str, Any]) -> str:
    """The summary for a person."""
    scale = summary["cpu_scale"]
    whose = "device time" if scale == 1 else \
        f"reported time ({scale:g} times as long in the guest and in the log; --guest-time)"
    lines = [f"{summary['events']} events in {summary['seconds']:.6f} s of {whose}"]
    for queue in summary["queues"]:
        merged = queue["cqes_per_interrupt"]
        lines += ["", f"CQ {queue['cqid']}: {queue['cqes']} CQEs, {queue['interrupts']} interrupts"
                      + (f", {merged:.2f} CQEs per interrupt" if merged else "")
                      + (f", {queue['untold']} CQEs without one" if queue["untold"] else "")
                      + (f", {queue['by_record']} CQEs taken by status records at the interrupt"
                         if queue["by_record"] else "")]
        if queue["reasons"]:
            lines.append("  reasons: " + ", ".join(f"{name} {count}" for name, count
                                                   in queue["reasons"].items()))
        if queue["hints"]:
            lines.append(f"  {'us':<16}{'CQEs':>8}" + "".join(
                f"{key:>10}" for key in ("mean", *(f"p{q}" for q in PERCENTILES), "max")))
        for hint, phases in queue["hints"].items():
            for phase, found in phases.items():
                lines.append(f"  {hint + ' ' + phase:<16}{found['count']:>8}{_us(found)}")
    return "\n".join(lines)
