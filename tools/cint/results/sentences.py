# SPDX-License-Identifier: GPL-2.0-or-later
"""What a comparison says, in sentences made from its numbers and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cint.measure import sampling
from cint.results import documents, lateness, table

#: Differences below this are called none (2 %).
SAME = 0.02

Document = Mapping[str, Any]


def _list(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _several(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def compared(document: Document) -> str:
    """What was compared, in one sentence."""
    names = [p["name"] for p in document["policies"]]
    loads = [w["name"] for w in document["workloads"]]
    media, cpus = document["parameters"]["media"]["name"], document["parameters"]["vcpus"]
    seconds, repeat = document["parameters"]["runtime_s"], document["parameters"]["repeat"]
    runs = f"{seconds:g} s" + (f", {repeat} times (medians)" if repeat > 1 else "")
    kernel = "the distribution's kernel" if document["parameters"].get("guest") == "distro" \
        else f"Linux {document['versions']['kernel']}"
    return (f"{_several(len(names), 'policy', 'policies')} ({_list(names)}) in "
            f"{_several(len(loads), 'workload', 'workloads')} ({_list(loads)}), each run for "
            f"{runs}, in {document['time']} time, on the medium {media}, in a guest with "
            f"{_several(cpus, 'CPU', 'CPUs')} and {kernel}.")


def _known(rows: Sequence[sampling.Row], metric: str) -> list[tuple[float, sampling.Row]]:
    found = [(value, row) for row in rows if (value := row.values.get(metric)) is not None]
    return sorted(found, key=lambda pair: pair[0])


def _times(value: float, base: float | None) -> str:
    return f", {table.number(value / base)} times the baseline's" if base else ""


def _close(known: Sequence[tuple[float, sampling.Row]]) -> bool:
    return known[-1][0] - known[0][0] <= SAME * known[-1][0]


def _leaders(rows: Sequence[sampling.Row], known: Sequence[tuple[float, sampling.Row]],
             most: bool) -> list[sampling.Row]:
    """All that are no further than SAME from the largest (or the smallest) known value."""
    end = known[-1][0] if most else known[0][0]
    near = [row for value, row in known if abs(value - end) <= SAME * max(value, end)]
    return [row for row in rows if any(row is one for one in near)]


def _names(rows: Sequence[sampling.Row], base: sampling.Row | None) -> str:
    return _list([row.policy + (" (the baseline)" if row is base else "") for row in rows])


def _throughput(rows: Sequence[sampling.Row], base: sampling.Row | None) -> str | None:
    known = _known(rows, "iops")
    if not known:
        return None
    if _close(known):
        return f"throughput is the same within {SAME:.0%} ({table.number(known[-1][0] / 1000)} k/s)"
    best, worst = _leaders(rows, known, True), _leaders(rows, known, False)
    high, low = known[-1][0], known[0][0]
    text = (f"{_names(best, base)} {'has' if len(best) == 1 else 'have'} the highest throughput, "
            f"{table.number(high / 1000)} k/s")
    if base in best:
        return (f"{text}; {_names(worst, base)} the lowest, {table.number(low / 1000)} k/s "
                f"({table.number(low / high)} times)")
    return text + _times(high, base.values.get("iops") if base else None)


def _latency(rows: Sequence[sampling.Row], base: sampling.Row | None,
             job: str | None) -> str | None:
    known = _known(rows, "mean_us")
    if not known:
        return None
    whose = f"the {job} job's mean latency" if job else "mean latency"
    if _close(known):
        return f"{whose} is the same within {SAME:.0%} ({table.number(known[-1][0])} us)"
    best, worst = _leaders(rows, known, False), _leaders(rows, known, True)
    (low, _), (high, _) = known[0], known[-1]
    middle = base.values.get("mean_us") if base else None
    extra = _times(low, middle) if base in worst else _times(high, middle)
    first = f"lowest under {_names(best, base)}, {table.number(low)} us"
    last = f"highest under {_names(worst, base)}, {table.number(high)} us"
    if base in worst:
        return f"{whose} is {last}, and {first}{extra}"
    return f"{whose} is {first}, and {last}{extra}"


def _interrupts(rows: Sequence[sampling.Row], base: sampling.Row | None) -> str | None:
    known = [(v, r) for v, r in _known(rows, "ios_per_irq") if v]
    if not known:
        return None
    if _close(known):
        return f"I/Os per interrupt are the same, {table.number(known[-1][0])}"
    value, best = known[-1][0], _leaders(rows, known, True)
    middle = base.values.get("ios_per_irq") if base else None
    if middle and base in best:
        return f"no policy has more I/Os per interrupt than the baseline, {table.number(middle)}"
    against = f" (baseline: {table.number(middle)})" if middle else ""
    return (f"{_list([row.policy for row in best])} {'has' if len(best) == 1 else 'have'} the most "
            f"I/Os per interrupt, {table.number(value)}{against}")


def _calibrated(document: Document, rows: Sequence[sampling.Row], base: sampling.Row | None,
                job: str | None) -> str | None:
    """Whether cint interrupts for those who wait, and for nobody else."""
    kinds = {p["name"]: p["kind"] for p in document["policies"]}
    parts = []
    for row in rows:
        latency, interrupts = row.ratios.get("mean_us"), row.ratios.get("device_irqs")
        if kinds[row.policy] == "cint" and latency and interrupts and base and job:
            parts.append(f"under {row.policy} the {job} job's latency is {table.number(latency)} "
                         f"times {base.policy}'s, at {table.number(interrupts)} times its "
                         "interrupts")
    return "; ".join(parts) or None


def sentence(document: Document, workload: Mapping[str, Any],
             rows: Sequence[sampling.Row]) -> str | None:
    """What one workload says; None without numbers."""
    base = next((r for r in rows if r.policy == document["baseline"]), None)
    parts = [_throughput(rows, base), _latency(rows, base, workload.get("latency_job")),
             _interrupts(rows, base),
             _calibrated(document, rows, base, workload.get("latency_job"))]
    words = [p for p in parts if p]
    return f"In {workload['name']}, {'; '.join(words)}." if words else None


def readings(document: Document) -> list[str]:
    """The reading of the numbers: a sentence a workload, then what limits it.

    What lies within SAME of the best is as good as the best, and named with it.
    """
    whole = [r for r in documents.rows_from(document) if r.job is None]
    loads = [(w, [r for r in whole if r.workload == w["name"]]) for w in document["workloads"]]
    found = [sentence(document, w, rows) for w, rows in loads]
    return [*(s for s in found if s), *limits(document)]


def limits(document: Document) -> list[str]:
    """Why the numbers may not carry a conclusion."""
    found = []
    if document["quick"]:
        found.append("The jobs were too short for conclusions.")
    if len(document["policies"]) == 1:
        found.append("There is one policy only, so nothing to compare it with.")
    if document["time"] == "virtual" and not document["irq_cost"]["in_force"]:
        found.append("Interrupts cost the guest nothing extra here, so ratios of throughput say "
                     "little about hardware.")
    broken = list(dict.fromkeys(t.policy for t in lateness.of_document(document) if t.broken))
    if broken:
        found.append(f"The host could not keep the times of {_list(broken)}: those rows are not "
                     "the policy that was asked for.")
    if document["time"] == "real":
        found.append("In real time the host's load is part of every number.")
    spread = [r["spread"] for r in document["rows"] if r["spread"] is not None]
    if spread:
        found.append(f"Repeats of one run differ by up to {max(spread):.1%} in throughput.")
    return found
