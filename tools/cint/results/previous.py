# SPDX-License-Identifier: GPL-2.0-or-later
"""The last result beside the new one, where the two can be compared.

Comparable means: the same parameters, clock, scale and interrupt cost, and for
each row the same device properties and the same fio job.  Other versions of the
tool, QEMU, the kernel or fio do not matter here: their effect is what a person
wants to see; they are named.
"""

from __future__ import annotations

from collections.abc import Callable

from cint import paths
from cint.errors import CintError
from cint.measure import metrics, records, sampling
from cint.results import documents, table

Document = documents.Document

_CELL = 18


def find(document: Document) -> records.Previous | None:
    """The entry ``previous`` of results.json, from results/latest; None without one."""
    latest = paths.RESULTS / "latest"
    try:
        old = documents.load(latest)
        return between(old, document, latest.resolve().name)
    except (CintError, KeyError, TypeError, AttributeError):
        # Made by another version of the tool, or damaged: there is nothing to compare with.
        return None


def between(old: Document, new: Document, directory: str) -> records.Previous | None:
    """The rows of ``old`` that are comparable with ``new``, and how much ``new`` differs."""
    if old["kind"] != new["kind"] or conditions(old) != conditions(new):
        return None
    before = {(r.policy, r.workload, r.job): r for r in documents.rows_from(old)}
    entries = []
    for row in documents.rows_from(new):
        other = before.get((row.policy, row.workload, row.job))
        if other is not None and same(old, new, row.policy, row.workload):
            entries.append(_entry(row, other))
    if not entries:
        return None
    return {"directory": directory, "created": old["created"], "changed": changed(old, new),
            "rows": entries}


def conditions(document: Document) -> dict[str, object]:
    """The conditions that have to be the same for any row to be comparable."""
    parameters = {"guest": "cint"} | document["parameters"]
    parameters = {"hints": parameters["guest"] != "distro",
                  "seeds": list(range(1, parameters["repeat"] + 1))} | parameters
    real = document["time"] == "real"
    return {"parameters": parameters, "time": document["time"], "scale": document["scale"]["k"],
            "irq_cost": {n: document["irq_cost"][n] for n in ("applied_ns", "in_force")},
            "accel": document["accel"]["name"],
            # Only real time depends on the machine.
            "host": (document["host"]["cpu"], document["host"]["cpus"]) if real else None}


def same(old: Document, new: Document, policy: str, workload: str) -> bool:
    """Whether a row's device properties and fio job were the same."""
    policies = [next((p["applied"] for p in d["policies"] if p["name"] == policy), None)
                for d in (old, new)]
    jobs = [next((w["fio"] for w in d["workloads"] if w["name"] == workload), None)
            for d in (old, new)]
    return policies[0] == policies[1] and jobs[0] == jobs[1]


def changed(old: Document, new: Document) -> dict[str, list[str]]:
    """The versions that differ: name to [before, now]."""
    def versions(document: Document) -> dict[str, str]:
        got = document["versions"]
        return {"cint": document["tool"]["version"], "QEMU": got["qemu"],
                "Linux": got["kernel"], "fio": got["fio"],
                "guest image": str(got["image"].get("sha256"))[:12]}

    before, now = versions(old), versions(new)
    return {name: [before[name], now[name]] for name in now if before[name] != now[name]}


def _entry(row: sampling.Row, other: sampling.Row) -> records.PreviousRow:
    values = {m: other.values.get(m) for m in metrics.NAMES}
    return {"policy": row.policy, "workload": row.workload, "job": row.job, "values": values,
            "change": {m: change(values[m], row.values.get(m)) for m in metrics.NAMES}}


def change(before: float | None, now: float | None) -> float | None:
    """(now - before) / before; None where that has no meaning."""
    if before is None or now is None:
        return None
    if before == now:
        return 0.0
    return (now - before) / before if before else None


def cell(before: float | None, fraction: float | None, factor: float = 1.0) -> str:
    """The previous value and the change since, e.g. ``416.4 (+0.0 %)``."""
    if before is None:
        return "-"
    text = table.number(before * factor)
    return text if fraction is None else f"{text} ({percent(fraction)})"


def compared(row: records.PreviousRow, metric: metrics.Metric) -> str:
    """The cell of one metric."""
    return cell(row["values"][metric.name], row["change"][metric.name], metric.factor)


def percent(fraction: float) -> str:
    """A change as a person reads it; never ``-0.0 %``."""
    return f"{round(100 * fraction, 1) + 0.0:+.1f} %"


def title(previous: records.Previous) -> str:
    """The title of the results that the numbers are compared with."""
    text = f"before ({previous['directory']}), and the change since"
    if previous["changed"]:
        text += f"; changed: {', '.join(previous['changed'])}"
    return text


def format_lines(previous: records.Previous | None,
                 paint: Callable[..., str] = table.plain) -> list[str]:
    """The block under the table, at most 120 columns; empty without a previous result."""
    if previous is None:
        return []
    rows = [r for r in previous["rows"] if r["job"] is None]
    head = "".join(f"{metric.title:>{_CELL}}" for metric in metrics.COMPARED)
    lines = ["", paint(table.cut(title(previous), table.WIDTH), "bold"),
             paint(f"{'':{table.MAX_NAME}}{head}", "dim")]
    for row in rows:
        shown = [compared(row, metric) for metric in metrics.COMPARED]
        name = table.cut(f"{row['workload']} {row['policy']}", table.MAX_NAME)
        lines.append(f"{name:{table.MAX_NAME}}" + "".join(f"{c:>{_CELL}}" for c in shown))
    return lines
