# SPDX-License-Identifier: GPL-2.0-or-later
"""report.html: a comparison as one page that needs nothing else.

Everything is in the file (style sheet, drawings); it holds no script and asks
nobody for anything, which its Content-Security-Policy also makes sure of.
`cint show --html` makes it again from results.json. The page is
templates/report.html.j2; here is what stands in it.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cint import steps
from cint.errors import CintError
from cint.measure import metrics, records, sampling, timers
from cint.results import (
    axes,
    cells,
    classes,
    colours,
    documents,
    lateness,
    previous,
    programs,
    sentences,
    table,
    tradeoff,
)

FILE = "report.html"
TEMPLATES = Path(__file__).with_name("templates")

Document = documents.Document


def write(document: Document, directory: Path) -> Path:
    """Write report.html into the results directory and return its path.

    Raises :class:`CintError` for a document that is not what `cint compare` wrote.
    """
    from jinja2 import UndefinedError  # noqa: PLC0415 - only in the environment

    path = directory / FILE
    try:
        text = render(document)
    except (KeyError, TypeError, AttributeError, UndefinedError) as err:
        raise CintError(f"{directory / 'results.json'}: not results of ./cint compare "
                        f"({type(err).__name__}: {err})") from None
    steps.write_atomic(path, text)
    return path


def fill(template: str, values: Mapping[str, object], **filters: Callable[..., str]) -> str:
    """A page of templates/ with these values, which are escaped, and what makes text of some."""
    import jinja2  # noqa: PLC0415 - only in the environment

    found = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True,
                               undefined=jinja2.StrictUndefined, trim_blocks=True,
                               lstrip_blocks=True)
    found.filters |= filters
    return found.get_template(template).render(values) + "\n"


def _words(value: object) -> str:
    """A value of results.json for a person."""
    if isinstance(value, Mapping):
        return ", ".join(f"{k}={v}" for k, v in value.items() if v != {}) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value in (None, "") else str(value)


# ---- the parts of the page ----------------------------------------------

def _figures(document: Document) -> list[dict[str, object]]:
    """The drawing that all others are about, and what each workload says in a line."""
    drawn = dict(tradeoff.points(document))
    found: list[dict[str, object]] = []
    for one in document["workloads"]:
        title = tradeoff.title(one)
        drawing = tradeoff.draw(title, drawn[title], tradeoff.timers(document, one["name"])) \
            if title in drawn else ""
        said = [text for text in (sentences.line(document, one),
                                  sentences.calibrated(document, one)) if text]
        if drawing or said:
            found.append({"title": title, "drawing": drawing, "said": [f"{one['title']}.", *said]})
    return found


#: The columns in which it is said who is best, and whether the most is.
_RANKED = {"iops": True, "mean_us": False, "ios_per_irq": True}


def _best(rows: Sequence[sampling.Row]) -> Mapping[str, Sequence[str]]:
    """The policies that are best in a column, where not all are."""
    found = {name: sentences.ranking(rows, name, most=most) for name, most in _RANKED.items()}
    return {name: [row.policy for row in one.best]
            for name, one in found.items() if one and not one.same}


#: Columns whose cells have a bar below the number.
_BARS = ("iops", "device_irqs", "cpu_percent")
#: The latencies that a range is drawn of.
_RANGE = ("p50_us", "p99_us", "p999_us")


def _cell(row: sampling.Row, metric: metrics.Metric, best: Sequence[str],
          drawing: str) -> dict[str, object] | str:
    """A value of a row with what stands around it, or what stands in its place."""
    value, ratio = row.values.get(metric.name), row.ratios.get(metric.name)
    if value is None:
        return "" if row.job is not None else "-"
    return {"text": table.number(value * metric.factor),
            "best": row.job is None and row.policy in best, "few": row.few(metric.name),
            "ratio": "" if ratio is None else f"{table.number(ratio)}x",
            "ends": [table.number(end * metric.factor) for end in row.range.get(metric.name, ())],
            "drawing": drawing}


@dataclass(frozen=True)
class _Drawn:
    """What the drawings in a workload's table share: the largest values, an axis, the colours."""

    most: Mapping[str, float]
    latency: axes.Axis | None
    colours: Mapping[str, str]

    @classmethod
    def of(cls, rows: Sequence[sampling.Row]) -> _Drawn:
        """Those of these rows."""
        known = {name: [v for row in rows if (v := row.values.get(name)) is not None]
                 for name in (*_BARS, *_RANGE)}
        ends = [v for name in _RANGE for v in known[name] if v > 0]
        return cls({name: max(known[name], default=0.0) for name in _BARS},
                   axes.axis(ends, 0, cells.WIDTH) if ends else None,
                   colours.of([row.policy for row in rows]))

    def bar(self, row: sampling.Row, name: str) -> str:
        """The bar of a value; empty where the column has none."""
        value = row.values.get(name)
        if name not in _BARS or value is None:
            return ""
        full = 100.0 if name == "cpu_percent" else self.most[name]
        return cells.bar(value, full, self.colours[row.policy])

    def latencies(self, row: sampling.Row) -> str:
        """The range of a row's latencies, empty where they are not known."""
        values = [v for name in _RANGE if (v := row.values.get(name)) is not None]
        if len(values) < len(_RANGE) or self.latency is None or min(values) <= 0:
            return ""
        return cells.spread(values, self.latency, self.colours[row.policy])


def _result(document: Document, workload: records.Workload) -> dict[str, object]:
    """The table of a workload."""
    mine = [row for row in documents.rows_from(document) if row.workload == workload["name"]]
    drawn, best = _Drawn.of(mine), _best([row for row in mine if row.job is None])
    log = ", log" if drawn.latency is not None and drawn.latency.log else ""
    job = f"; latency: the {workload['latency_job']} job's" if workload.get("latency_job") else ""
    heads = [(metric.head, metric.unit) for metric in metrics.TABLE]
    heads.insert(1, ("latency", f"p50 to p99.9, us{log}"))
    rows = []
    for row in mine:
        shown = [_cell(row, metric, best.get(metric.name, ()), drawn.bar(row, metric.name))
                 for metric in metrics.TABLE]
        shown.insert(1, drawn.latencies(row))
        rows.append({"job": row.job, "name": f"{row.job} job" if row.job else row.policy,
                     "cells": shown})
    return {"title": f"{workload['name']}: {workload['title']}{job}", "rows": rows,
            "head": [("policy", table.time_of(document)), *heads]}


def _programs(document: Document) -> dict[str, object]:
    """What a person's own program told."""
    found = [row for row in documents.rows_from(document) if row.said]
    units = {name: one.unit for row in found for name, one in row.said.items()}
    return {"told_head": [("policy", ""), *units.items()],
            "told": [[row.policy, *(programs.cell(row, name) for name in units)]
                     for row in found]}


def _previous(document: Document) -> list[list[str]]:
    """The rows of the last result, beside which these stand."""
    return [[entry["workload"], entry["policy"],
             *(previous.compared(entry, metric) for metric in metrics.COMPARED)]
            for entry in (document.get("previous") or {"rows": ()})["rows"]
            if entry["job"] is None]


#: What the device's reasons mean.
REASONS = {
    "none": "no reason recorded", "each": "one for each completion", "urgent": "urgent command",
    "barrier": "barrier command", "thr": "threshold reached",
    "quiet": "no completion for delta", "time": "aggregation time over",
    "ratio": "vIC: the ratio's turn", "low-cif": "vIC: few commands in flight",
    "low-iops": "vIC: low rate", "pointer": "pointer reached",
    "drain": "nothing more in flight", "pressure": "queue nearly full",
    "max-hold": "held for the longest time allowed", "error": "error completion",
    "storm": "storm limiter", "kick": "the guest looked too early",
    "reconfigure": "policy or parameter changed", "admin": "admin queue",
}


#: What the hints of commands mean.
HINTS = {"none": "unmarked", "urgent": "somebody waits for it", "barrier": "last of a batch",
         "both": "acts as unmarked"}


def _counts(document: Document, caption: str, of: Callable[[sampling.Row], Mapping[str, int]],
            words: Mapping[str, str]) -> dict[str, object]:
    """Counts by name, the commonest first, with what the names mean."""
    rows = [(r, {name: count for name, count in of(r).items() if count})
            for r in documents.rows_from(document) if r.job is None and any(of(r).values())]
    total = Counter[str]()
    for _, counts in rows:
        total.update({name: count / sum(counts.values()) for name, count in counts.items()})
    names = [name for name, _ in total.most_common()]
    shades = cells.shades(names)
    return {
        "caption": caption,
        "names": [(name, words.get(name, ""), cells.key(name, shades[name])) for name in names],
        "rows": [{"workload": row.workload, "policy": row.policy,
                  "drawing": cells.stack({n: counts[n] for n in names if n in counts}, shades),
                  "counts": [counts.get(name, 0) for name in names]} for row, counts in rows]}


def _late(document: Document) -> list[tuple[bool, list[str]]]:
    """Whether a timer is too late, and its cells."""
    found = []
    for one in lateness.of_document(document):
        name, *others = lateness.cells(one)
        found.append((one.broken, [f"{name} (too late)" if one.broken else name, *others]))
    return found


def render(document: Document) -> str:
    """The whole page."""
    names, notes = [p["name"] for p in document["policies"]], document["notes"]
    return fill("report.html.j2", {
        "style": "report.css", "schemes": "light dark", "document": {"timers": (), **document},
        "title": f"Interrupt policies: {', '.join(names)}",
        "compared": sentences.compared(document),
        "warnings": [note.removeprefix(lateness.WARNING) for note in notes
                     if note.startswith(lateness.WARNING)],
        "notes": [note.removeprefix(lateness.WARNING) for note in notes],
        "figures": _figures(document), "limits": sentences.limits(document),
        "same": tradeoff.SAME, "timer_times": timers.TIMES_US,
        "results": [_result(document, one) for one in document["workloads"]],
        "few_mark": table.FEW, "few_beyond": metrics.FEW_BEYOND,
        "previous": _previous(document), "compared_titles": [m.title for m in metrics.COMPARED],
        "late": _late(document), "late_head": lateness.HEAD,
        **_programs(document),
        "classes": [one.cells() for one in classes.collect(documents.rows_from(document))],
        "class_head": classes.HEAD,
        "reasons": _counts(document, "Interrupts by reason, last repeat", lambda r: r.reasons,
                           REASONS),
        "hints": _counts(document, "Completed commands by hint, last repeat", lambda r: r.hints,
                         HINTS)},
        words=_words, shell=shlex.join)
