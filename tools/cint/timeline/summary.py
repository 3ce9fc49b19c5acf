# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trace comes to: interrupts by reason, CQEs an interrupt, hold and reap times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from cint.timeline.events import HINTS, Trace

SCHEMA = 1
PERCENTILES = (50, 90, 99)
#: What a CQE waits for: an interrupt, and then the guest.
PHASES = ("hold", "reap")


def times(values: Sequence[int]) -> dict[str, float]:
    """How many there are, their mean, nearest-rank percentiles and largest; ns."""
    ordered = sorted(values)
    if not ordered:
        return {"count": 0}
    ranks = {f"p{q}": ordered[max(-(-q * len(ordered) // 100) - 1, 0)] for q in PERCENTILES}
    return {"count": len(ordered), "mean": sum(ordered) / len(ordered), **ranks,
            "max": ordered[-1]}


def waits(trace: Trace, cqid: int) -> dict[str, dict[str, list[int]]]:
    """Of a queue's CQEs every known time in ns, by hint and phase; hints that nobody gave are out.

    *hold* is from the post to the interrupt that tells of it, *reap* from there to the CQ head.
    What the guest takes by a status record it has at the interrupt: that has no *reap*.
    """
    found: dict[str, dict[str, list[int]]] = {}
    for command in trace.commands:
        if command.cqid != cqid or command.posted is None:
            continue
        mine = found.setdefault(command.hint, {phase: [] for phase in PHASES})
        if command.told is not None:
            mine["hold"].append(command.told - command.posted)
            if command.reaped is not None and not trace.by_record(command):
                mine["reap"].append(command.reaped - command.told)
    return {hint: found[hint] for hint in HINTS if hint in found}


def queues(trace: Trace) -> list[int]:
    """The completion queues that are named."""
    return sorted({c.cqid for c in trace.commands} | {i.cqid for i in trace.interrupts})


def _queue(trace: Trace, cqid: int) -> dict[str, Any]:
    posted = [c for c in trace.commands if c.cqid == cqid and c.posted is not None]
    sent = [i for i in trace.interrupts if i.cqid == cqid]
    return {
        "cqid": cqid, "cqes": len(posted), "interrupts": len(sent),
        "cqes_per_interrupt": len(posted) / len(sent) if sent else None,
        "by_record": sum(trace.by_record(c) for c in posted),
        "untold": sum(c.told is None for c in posted),
        "reasons": dict(Counter(i.reason for i in sent).most_common()),
        "hints": {hint: {phase: times(values) for phase, values in phases.items()}
                  for hint, phases in waits(trace, cqid).items()},
    }


def summarize(trace: Trace, scale: float = 1.0) -> dict[str, Any]:
    """The summary as one document; `scale` is what the log's times were divided by."""
    stamps = [t for c in trace.commands for t in (c.submitted, c.posted) if t is not None]
    return {"schema": SCHEMA, "events": trace.events, "cpu_scale": scale,
            "seconds": (max(stamps) - min(stamps)) / 1e9 if stamps else 0.0,
            "queues": [_queue(trace, cqid) for cqid in queues(trace)]}


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
