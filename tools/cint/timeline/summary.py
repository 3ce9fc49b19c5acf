# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trace comes to: interrupts by reason, CQEs an interrupt, hold and reap times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from cint.timeline.events import HINTS, Command, Trace

SCHEMA = 1
PERCENTILES = (50, 90, 99)


def times(values: Sequence[int]) -> dict[str, float]:
    """How many there are, their mean, nearest-rank percentiles and largest; ns."""
    ordered = sorted(values)
    if not ordered:
        return {"count": 0}
    ranks = {f"p{q}": ordered[max(-(-q * len(ordered) // 100) - 1, 0)] for q in PERCENTILES}
    return {"count": len(ordered), "mean": sum(ordered) / len(ordered), **ranks,
            "max": ordered[-1]}


def _between(commands: Sequence[Command], begin: str, end: str) -> dict[str, float]:
    pairs = ((getattr(c, begin), getattr(c, end)) for c in commands)
    return times([last - first for first, last in pairs if first is not None and last is not None])


def _queue(trace: Trace, cqid: int) -> dict[str, Any]:
    commands = [c for c in trace.commands if c.cqid == cqid]
    sent = [i for i in trace.interrupts if i.cqid == cqid]
    posted = [c for c in commands if c.posted is not None]
    by_hint = {hint: [c for c in posted if c.hint == hint] for hint in HINTS}
    return {
        "cqid": cqid, "cqes": len(posted), "interrupts": len(sent),
        "cqes_per_interrupt": len(posted) / len(sent) if sent else None,
        "untold": sum(c.told is None for c in posted),
        "reasons": dict(Counter(i.reason for i in sent).most_common()),
        "hints": {hint: {"hold": _between(mine, "posted", "told"),
                         "reap": _between(mine, "told", "reaped")}
                  for hint, mine in by_hint.items() if mine},
    }


def summarize(trace: Trace) -> dict[str, Any]:
    """The summary as one document."""
    cqids = sorted({c.cqid for c in trace.commands} | {i.cqid for i in trace.interrupts})
    stamps = [t for c in trace.commands for t in (c.submitted, c.posted) if t is not None]
    return {"schema": SCHEMA, "events": trace.events,
            "seconds": (max(stamps) - min(stamps)) / 1e9 if stamps else 0.0,
            "queues": [_queue(trace, cqid) for cqid in cqids]}


def _us(found: dict[str, float]) -> str:
    keys = ("mean", *(f"p{q}" for q in PERCENTILES), "max")
    if not found["count"]:
        return "".join(f"{'-':>10}" for _ in keys)
    return "".join(f"{found[key] / 1e3:10.2f}" for key in keys)


def as_text(summary: dict[str, Any]) -> str:
    """The summary for a person."""
    lines = [f"{summary['events']} events in {summary['seconds']:.6f} s of device time"]
    for queue in summary["queues"]:
        merged = queue["cqes_per_interrupt"]
        lines += ["", f"CQ {queue['cqid']}: {queue['cqes']} CQEs, {queue['interrupts']} interrupts"
                      + (f", {merged:.2f} CQEs per interrupt" if merged else "")
                      + (f", {queue['untold']} CQEs without one" if queue["untold"] else "")]
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
