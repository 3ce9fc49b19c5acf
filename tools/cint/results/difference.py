# SPDX-License-Identifier: GPL-2.0-or-later
"""Two results side by side: what was different about them, and what came out different.

Unlike the block about the last result (previous.py), which only compares what was made under
the same conditions, this compares whatever a person names, and says what the conditions were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cint.errors import CintError
from cint.measure import metrics, sampling
from cint.results import documents, previous, table

Document = documents.Document

_CELL = 24


def between(one: Document, two: Document) -> dict[str, Any]:
    """Conditions, versions, rows of both, `two` against `one`; CintError without common rows."""
    pairs = list(_pairs(documents.rows_from(one), documents.rows_from(two)))
    if not pairs:
        raise CintError("the two results have no row in common: no policy in the same workload")
    return {"conditions": dict(conditions(one, two)), "versions": previous.changed(one, two),
            "policies": [list(names) for names in dict.fromkeys(
                (before.policy, now.policy) for before, now in pairs
                if before.policy != now.policy)],
            "time": table.time_of(one, two), "rows": [_row(one, two, *pair) for pair in pairs]}


def _pairs(one: Sequence[sampling.Row],
           two: Sequence[sampling.Row]) -> Iterator[tuple[sampling.Row, sampling.Row]]:
    """Rows that belong together: of one policy, or the only others of a kind of policy.

    So `adaptive` is compared with `adaptive:delta=10us`, where there is no other adaptive.
    """
    exact = {(r.policy, r.workload, r.job): r for r in one}
    alike = _by_kind(one, {(r.policy, r.workload, r.job) for r in two})
    others = _by_kind(two, set(exact))
    for row in two:
        before = exact.get((row.policy, row.workload, row.job))
        kind = _kind(row)
        if before is None and len(alike.get(kind, ())) == len(others[kind]) == 1:
            before = alike[kind][0]
        if before is not None:
            yield before, row


def _kind(row: sampling.Row) -> tuple[str, str, str | None]:
    """Policy without parameters but with modes, workload and job."""
    name, _, mode = row.policy.partition("/")
    return f"{name.partition(':')[0]}/{mode}", row.workload, row.job


def _by_kind(rows: Sequence[sampling.Row], apart: set[tuple[str, str, str | None]]) \
        -> dict[tuple[str, str, str | None], list[sampling.Row]]:
    """Rows by kind, but for those of the policies in `apart`."""
    found: dict[tuple[str, str, str | None], list[sampling.Row]] = {}
    for row in rows:
        if (row.policy, row.workload, row.job) not in apart:
            found.setdefault(_kind(row), []).append(row)
    return found


def conditions(one: Document, two: Document) -> Iterator[tuple[str, list[Any]]]:
    """The parameters that differ, by name, of each."""
    before, now = _flat(previous.conditions(one)), _flat(previous.conditions(two))
    for name in {**before, **now}:
        if before.get(name) != now.get(name):
            yield name, [before.get(name), now.get(name)]


def _flat(tree: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        key = name if not above or above == "parameters" else f"{above}.{name}"
        flat |= _flat(value, key) if isinstance(value, Mapping) and value else {key: value}
    return flat


def _row(one: Document, two: Document, before: sampling.Row, now: sampling.Row) -> dict[str, Any]:
    values = {m: [before.values.get(m), now.values.get(m)] for m in metrics.NAMES}
    return {"policy": now.policy, "workload": now.workload, "job": now.job,
            "same": before.policy == now.policy
            and previous.same(one, two, now.policy, now.workload), "values": values,
            "change": {m: previous.change(*pair) for m, pair in values.items()},
            "within_spread": {m: overlap(before, now, m) for m in metrics.NAMES}}


#: A change that is worth a look.
NOTABLE = 0.005


def is_changed(row: Mapping[str, Any]) -> bool:
    """Whether a row has a value that is notably another one, beyond the repeats' spread."""
    return any(abs(change) > NOTABLE and not row["within_spread"][name]
               for name, change in row["change"].items() if change is not None)


def overlap(before: sampling.Row, now: sampling.Row, metric: str) -> bool | None:
    """Whether the repeats of both have values in common; None without repeats."""
    one, two = before.range.get(metric), now.range.get(metric)
    return one[0] <= two[1] and two[0] <= one[1] if one and two else None


def _cell(row: Mapping[str, Any], metric: metrics.Metric) -> str:
    before, now = row["values"][metric.name]
    if before is None or now is None:
        return "-"
    change = row["change"][metric.name]
    inside = row["within_spread"][metric.name]
    mark = "~" if inside else ""
    text = f"{table.number(before * metric.factor)} {table.number(now * metric.factor)}"
    return text if change is None else f"{text} {mark}{previous.percent(change)}"


def format_lines(found: Mapping[str, Any], names: tuple[str, str],
                 paint: table.Paint = table.plain) -> list[str]:
    """The difference as text, at most 120 columns wide but for long values of conditions."""
    lines = [f"{name}: {_said(one)}, then {_said(two)}"
             for name, (one, two) in {**found["conditions"], **found["versions"]}.items()]
    lines += [f"policy: {one}, then {two}" for one, two in found["policies"]]
    head = "".join(f"{metric.title:>{_CELL}}" for metric in metrics.COMPARED[:3])
    more = metrics.COMPARED[3:]
    for shown, title in ((metrics.COMPARED[:3], head),
                         (more, "".join(f"{m.title:>{_CELL}}" for m in more))):
        lines += ["", paint(f"{names[0]}, then {names[1]}", "bold"),
                  paint(f"{found['time']:{table.MAX_NAME}}{title}", "dim")]
        lines += [_line(row, shown) for row in found["rows"] if row["job"] is None]
    notes = []
    if any(not row["same"] for row in found["rows"]):
        notes.append("*: the device's properties or the fio job are not the same.")
    if any(inside for row in found["rows"] for inside in row["within_spread"].values()):
        notes.append("~: the repeats of both have values in common.")
    return [*lines, *(["", *notes] if notes else [])]


def _line(row: Mapping[str, Any], shown: tuple[metrics.Metric, ...]) -> str:
    name = f"{row['workload']} {row['policy']}{'' if row['same'] else ' *'}"
    return (f"{table.cut(name, table.MAX_NAME):{table.MAX_NAME}}"
            + "".join(f"{_cell(row, metric):>{_CELL}}" for metric in shown))


def _said(value: Any) -> str:
    return "none" if value is None else str(value)
