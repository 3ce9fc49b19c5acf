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


def _throughput(rows: Sequence[sampling.Row], base: sampling.Row | None) -> str | None:
    known = _known(rows, "iops")
    if not known:
        return None
    if _close(known):
        return f"throughput is the same within {SAME:.0%} ({table.number(known[-1][0] / 1000)} k/s)"
    value, row = known[-1]
    if row is base:
        low, other = known[0]
        return (f"{row.policy} (the baseline) has the highest throughput, "
                f"{table.number(value / 1000)} k/s; {other.policy} the lowest, "
                f"{table.number(low / 1000)} k/s ({table.number(low / value)} times)")
    return (f"{row.policy} has the highest throughput, {table.number(value / 1000)} k/s"
            + _times(value, base.values.get("iops") if base else None))


def _latency(rows: Sequence[sampling.Row], base: sampling.Row | None,
             job: str | None) -> str | None:
    known = _known(rows, "mean_us")
    if not known:
        return None
    whose = f"the {job} job's mean latency" if job else "mean latency"
    if _close(known):
        return f"{whose} is the same within {SAME:.0%} ({table.number(known[-1][0])} us)"
    (low, first), (high, last) = known[0], known[-1]
    middle = base.values.get("mean_us") if base else None
    extra = _times(high, middle) if last is not base else _times(low, middle)
    if last is base:
        return (f"{whose} is highest under {last.policy} (the baseline), {table.number(high)} us, "
                f"and lowest under {first.policy}, {table.number(low)} us{extra}")
    return (f"{whose} is lowest under {first.policy}, {table.number(low)} us, and highest under "
            f"{last.policy}, {table.number(high)} us{extra}")


def _interrupts(rows: Sequence[sampling.Row], base: sampling.Row | None) -> str | None:
    known = [(v, r) for v, r in _known(rows, "ios_per_irq") if v]
    if not known:
        return None
    if _close(known):
        return f"I/Os per interrupt are the same, {table.number(known[-1][0])}"
    value, row = known[-1]
    middle = base.values.get("ios_per_irq") if base else None
    if middle and value - middle <= SAME * value:
        return f"no policy has more I/Os per interrupt than the baseline, {table.number(middle)}"
    against = f" (baseline: {table.number(middle)})" if middle and row is not base else ""
    return f"{row.policy} has the most I/Os per interrupt, {table.number(value)}{against}"


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


def paragraph(document: Document) -> str:
    """The reading of the numbers: one sentence a workload, then what limits it."""
    whole = [r for r in documents.rows_from(document) if r.job is None]
    loads = [(w, [r for r in whole if r.workload == w["name"]]) for w in document["workloads"]]
    found = [sentence(document, w, rows) for w, rows in loads]
    return " ".join([*(s for s in found if s), *limits(document)])


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
