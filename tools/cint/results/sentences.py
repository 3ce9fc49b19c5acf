# SPDX-License-Identifier: GPL-2.0-or-later
"""A comparison in sentences, made from its numbers and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cint.measure import records, sampling
from cint.results import documents, lateness, table, tradeoff

Document = documents.Document


def _list(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _several(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def compared(document: Document) -> str:
    """The comparison in one sentence."""
    names = [p["name"] for p in document["policies"]]
    loads = [w["name"] for w in document["workloads"]]
    media, cpus = document["parameters"]["media"]["name"], document["parameters"]["vcpus"]
    seconds, repeat = document["parameters"]["runtime_s"], document["parameters"]["repeat"]
    auto = document["parameters"].get("auto_error")
    runs = f"{seconds:g} s" if auto is None else \
        f"at most {seconds:g} s (until ten blocks agree to {100 * auto:g} %)"
    runs += (f", {repeat} times (medians)" if repeat > 1 else "")
    kernel = "the distribution's kernel" if document["parameters"].get("guest") == "distro" \
        else f"Linux {document['versions']['kernel']}"
    return (f"{_several(len(names), 'policy', 'policies')} ({_list(names)}) in "
            f"{_several(len(loads), 'workload', 'workloads')} ({_list(loads)}), each run for "
            f"{runs}, in {document['time']} time, on the medium {media}, in a guest with "
            f"{_several(cpus, 'CPU', 'CPUs')} and {kernel}.")


def _tied(value: float, best: float, row: sampling.Row, leader: sampling.Row,
          metric: str) -> bool:
    """Whether a value is as good as the best: within SAME, or within what boots differ by."""
    if abs(value - best) <= tradeoff.SAME * max(value, best):
        return True
    mine, its = row.range.get(metric), leader.range.get(metric)
    return bool(mine and its and mine[0] <= its[1] and its[0] <= mine[1])


@dataclass(frozen=True)
class Ranking:
    """The rows of a workload by one metric: who is best, ties included, and who is last."""

    metric: str
    #: Of the first of the best.
    value: float
    best: tuple[sampling.Row, ...]
    worst: sampling.Row
    #: Whether all are as good as the best.
    same: bool


def ranking(rows: Sequence[sampling.Row], metric: str, *, most: bool) -> Ranking | None:
    """The rows by a metric of which the most, or the least, is best; None when none is known."""
    known = [(value, row) for row in rows if (value := row.values.get(metric))]
    if not known:
        return None
    ordered = sorted(known, key=lambda pair: -pair[0] if most else pair[0])
    value, leader = ordered[0]
    best = tuple(row for v, row in known if _tied(v, value, row, leader, metric))
    return Ranking(metric, value, best, ordered[-1][1], len(best) == len(known))


def _against(found: Ranking, base: sampling.Row | None) -> str:
    """The best value in proportion to the baseline's; the worst to it if that is the best."""
    if base is None or not base.values.get(found.metric):
        return ""
    if any(row is base for row in found.best):
        ratio = (found.worst.values[found.metric] or 0.0) / found.value
        return f"; {found.worst.policy}: {table.number(ratio)} times that"
    ratio = found.value / (base.values[found.metric] or 1.0)
    return f", {table.number(ratio)} times {base.policy}'s"


def _claims(rows: Sequence[sampling.Row], base: sampling.Row | None,
            job: str | None) -> list[tuple[Ranking, str, str]]:
    """The rankings of a workload, each as what is best and as what is the same."""
    whose = f" of the {job} job" if job else ""
    found = []
    for metric, most, words, thing in (
            ("mean_us", False, f"the lowest latency{whose}", f"mean latency{whose}"),
            ("iops", True, "the highest throughput", "throughput"),
            ("ios_per_irq", True, "the fewest interrupts", "interrupts")):
        one = ranking(rows, metric, most=most)
        if one is None:
            continue
        shown = {"mean_us": f"{table.number(one.value)} us",
                 "iops": f"{table.number(one.value / 1000)} k/s",
                 "ios_per_irq": f"{table.number(1 / one.value)} per I/O"}[metric]
        # Interrupts are told per I/O, the inverse of the metric.
        extra = _against(one, base) if metric != "ios_per_irq" else _irqs_of(one, base)
        found.append((one, f"{words} ({shown}{extra})", f"the same {thing} ({shown})"))
    return found


def _irqs_of(found: Ranking, base: sampling.Row | None) -> str:
    merged = base.values.get("ios_per_irq") if base else None
    if base is None or not merged or any(row is base for row in found.best):
        return ""
    return f", {base.policy} {table.number(1 / merged)}"


def line(document: Document, workload: records.Workload) -> str | None:
    """One workload in one sentence: ties are named as such. None without numbers."""
    rows = [r for r in documents.rows_from(document)
            if r.job is None and r.workload == workload["name"]]
    base = next((r for r in rows if r.policy == document["baseline"]), None)
    claims = _claims(rows, base, workload.get("latency_job"))
    if len(rows) < 2 or not claims:
        return None
    leaders: dict[tuple[str, ...], list[str]] = {}
    for found, best, _ in claims:
        if not found.same:
            leaders.setdefault(tuple(row.policy for row in found.best), []).append(best)
    parts = [f"{_list(names)} {'has' if len(names) == 1 else 'tie for'} {_list(texts)}"
             for names, texts in leaders.items()]
    same = [text for found, _, text in claims if found.same]
    return "; ".join([*parts, *([f"all have {_list(same)}"] if same else [])]) + "."


def calibrated(document: Document, workload: records.Workload) -> str | None:
    """Whether cint interrupts for those who wait, and for nobody else."""
    kinds = {p["name"]: p["kind"] for p in document["policies"]}
    parts = []
    for row in documents.rows_from(document):
        # Of an I/O, as the drawing above has them: rates say more where there is more throughput.
        latency, merged = row.ratios.get("mean_us"), row.ratios.get("ios_per_irq")
        if (row.workload == workload["name"] and row.job is None and workload.get("latency_job")
                and kinds[row.policy] == "cint" and latency and merged):
            parts.append(f"{row.policy} {table.number(latency)} times the latency at "
                         f"{table.number(1 / merged)} times the interrupts for an I/O")
    return f"Against {document['baseline']}: {'; '.join(parts)}." if parts else None


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
