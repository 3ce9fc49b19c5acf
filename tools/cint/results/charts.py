# SPDX-License-Identifier: GPL-2.0-or-later
"""Bar charts of a results.json as SVG text, for the page report.html.

Bars lie, begin at zero and carry their numbers, so that a narrow screen and a
black-and-white print show everything.  Colours come from the page's style sheet
(classes ``s0`` to ``s3``): one drawing serves light and dark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from cint.measure import sampling
from cint.results import documents, table

WIDTH = 360
_BAR = 14
_GAP = 3
_NAME = 19
_BETWEEN = 9
_LEFT = 46
_RIGHT = 98


@dataclass(frozen=True)
class Chart:
    """One kind of chart: its title, unit, and the metrics shown as bars."""

    title: str
    unit: str
    series: Sequence[tuple[str, str]]
    factor: float
    #: The end of the axis, when the unit has one.
    full: float = 0.0


CHARTS = (
    Chart("Throughput", "thousand I/Os per second", (("iops", "IOPS"),), 1e-3),
    Chart("Latency", "us",
          (("p50_us", "p50"), ("mean_us", "mean"), ("p99_us", "p99"), ("p999_us", "p99.9")), 1.0),
    Chart("Interrupts", "thousand interrupts per second",
          (("device_irqs", "device"), ("guest_irqs", "guest")), 1e-3),
    Chart("CPU", "% of the guest's CPUs", (("cpu_percent", "busy"),), 1.0,
          100.0),
)


def _known(chart: Chart, rows: Sequence[sampling.Row]) -> list[float]:
    values = [row.values.get(metric) for row in rows for metric, _ in chart.series]
    return [v * chart.factor for v in values if v is not None]


def _bar(chart: Chart, row: sampling.Row, index: int, y: float, most: float) -> str:
    metric, name = chart.series[index]
    value = row.values.get(metric)
    label = f'<text class="k" x="{_LEFT - 6}" y="{y + 11}" text-anchor="end">{escape(name)}</text>'
    if value is None:
        return f'{label}<text class="k" x="{_LEFT}" y="{y + 11}">not known</text>'
    shown = value * chart.factor
    width = max(1.0, (WIDTH - _LEFT - _RIGHT) * shown / most) if most else 1.0
    ratio = row.ratios.get(metric)
    text = table.number(shown) + (f" ({table.number(ratio)}x)" if ratio is not None else "")
    return (f'{label}<rect class="s{index}" x="{_LEFT}" y="{y}" width="{width:.1f}" '
            f'height="{_BAR}" rx="2"/>'
            f'<text class="v" x="{_LEFT + width + 5:.1f}" y="{y + 11}">{text}</text>')


def _group(chart: Chart, row: sampling.Row, y: float, most: float) -> tuple[str, float]:
    """One policy: its name and its bars; also where the next group begins."""
    parts = [f'<text class="p" x="0" y="{y + 12}">{escape(table.cut(row.policy, 48))}</text>']
    y += _NAME
    for index in range(len(chart.series)):
        parts.append(_bar(chart, row, index, y, most))
        y += _BAR + _GAP
    return "".join(parts), y + _BETWEEN


def describe(chart: Chart, title: str, rows: Sequence[sampling.Row]) -> str:
    """The drawing in words, for those who do not see it."""
    parts = []
    for row in rows:
        values = [(name, row.values.get(metric)) for metric, name in chart.series]
        words = [f"{name} {table.number(v * chart.factor)}" for name, v in values if v is not None]
        parts.append(f"{row.policy}: {', '.join(words) or 'not known'}")
    return f"{chart.title} in {title}, {chart.unit}. {'; '.join(parts)}."


def draw(chart: Chart, title: str, rows: Sequence[sampling.Row]) -> str | None:
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


def draw_all(document: Mapping[str, Any]) -> list[tuple[Chart, list[tuple[str, str]]]]:
    """Every chart with its drawings: (title of the workload, SVG)."""
    rows = [r for r in documents.rows_from(document) if r.job is None]
    speaks = {w["name"]: w.get("latency_job") for w in document["workloads"]}
    found = []
    for chart in CHARTS:
        drawings = []
        for workload in dict.fromkeys(r.workload for r in rows):
            job = speaks.get(workload) if chart.title == "Latency" else None
            title = f"{workload} ({job} job)" if job else workload
            svg = draw(chart, title, [r for r in rows if r.workload == workload])
            drawings += [(title, svg)] if svg else []
        found += [(chart, drawings)] if drawings else []
    return found
