# SPDX-License-Identifier: GPL-2.0-or-later
"""Bar charts of a results.json as SVG text, for the page report.html.

Bars lie, begin at zero and carry their numbers, so that a narrow screen and a
black-and-white print show everything.  Colours come from the page's style sheet
(classes ``s0`` to ``s3``): one drawing serves light and dark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from cint.measure import metrics, sampling
from cint.measure.metrics import Drawing
from cint.results import documents, table

WIDTH = 360
_BAR = 14
_GAP = 3
_NAME = 19
_BETWEEN = 9
_LEFT = 46
_RIGHT = 98


def _known(chart: Drawing, rows: Sequence[sampling.Row]) -> list[float]:
    values = [(row.values.get(metric.name), metric.factor)
              for row in rows for metric in chart.metrics]
    return [value * factor for value, factor in values if value is not None]


def _bar(chart: Drawing, row: sampling.Row, index: int, y: float, most: float) -> str:
    metric = chart.metrics[index]
    value = row.values.get(metric.name)
    label = (f'<text class="k" x="{_LEFT - 6}" y="{y + 11}" text-anchor="end">'
             f'{escape(metric.series)}</text>')
    if value is None:
        return f'{label}<text class="k" x="{_LEFT}" y="{y + 11}">not known</text>'
    shown = value * metric.factor
    width = max(1.0, (WIDTH - _LEFT - _RIGHT) * shown / most) if most else 1.0
    ratio = row.ratios.get(metric.name)
    text = table.number(shown) + (f" ({table.number(ratio)}x)" if ratio is not None else "")
    return (f'{label}<rect class="s{index}" x="{_LEFT}" y="{y}" width="{width:.1f}" '
            f'height="{_BAR}" rx="2"/>'
            f'<text class="v" x="{_LEFT + width + 5:.1f}" y="{y + 11}">{text}</text>')


def _group(chart: Drawing, row: sampling.Row, y: float, most: float) -> tuple[str, float]:
    """One policy: its name and its bars; also where the next group begins."""
    parts = [f'<text class="p" x="0" y="{y + 12}">{escape(table.cut(row.policy, 48))}</text>']
    y += _NAME
    for index in range(len(chart.metrics)):
        parts.append(_bar(chart, row, index, y, most))
        y += _BAR + _GAP
    return "".join(parts), y + _BETWEEN


def describe(chart: Drawing, title: str, rows: Sequence[sampling.Row]) -> str:
    """The drawing in words, for those who do not see it."""
    parts = []
    for row in rows:
        values = [(metric, row.values.get(metric.name)) for metric in chart.metrics]
        words = [f"{metric.series} {table.number(value * metric.factor)}"
                 for metric, value in values if value is not None]
        parts.append(f"{row.policy}: {', '.join(words) or 'not known'}")
    return f"{chart.title} in {title}, {chart.unit}. {'; '.join(parts)}."


def draw(chart: Drawing, title: str, rows: Sequence[sampling.Row]) -> str | None:
    """One workload's chart as an SVG element; None when nothing is known."""
    known = _known(chart, rows)
    if not known:
        return None
    y, parts = 0.0, []
    for row in rows:
        text, y = _group(chart, row, y, max(*known, chart.full))
        parts.append(text)
    return (f'<svg viewBox="0 0 {WIDTH} {y - _BETWEEN:.0f}" role="img" '
            f'aria-label="{escape(describe(chart, title, rows))}">{"".join(parts)}</svg>')


def draw_all(document: Mapping[str, Any]) -> list[tuple[Drawing, list[tuple[str, str]]]]:
    """Every chart with its drawings: (title of the workload, SVG)."""
    rows = [r for r in documents.rows_from(document) if r.job is None]
    speaks = {w["name"]: w.get("latency_job") for w in document["workloads"]}
    found = []
    for chart in metrics.DRAWINGS:
        drawings = []
        for workload in dict.fromkeys(r.workload for r in rows):
            job = speaks.get(workload) if chart.name == "latency" else None
            title = f"{workload} ({job} job)" if job else workload
            svg = draw(chart, title, [r for r in rows if r.workload == workload])
            drawings += [(title, svg)] if svg else []
        found += [(chart, drawings)] if drawings else []
    return found
