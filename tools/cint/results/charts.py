# SPDX-License-Identifier: GPL-2.0-or-later
"""Dot charts of a results.json as SVG text, for the page report.html.

A line for each policy, a mark for each number, and the number that matters in figures beside it,
so that a narrow screen and a black-and-white print show everything. Marks have no length: an axis
need not begin at zero. Colours come from the page's style sheet (classes ``s0`` to ``s3``): one
drawing serves light and dark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from cint.measure import metrics, sampling
from cint.measure.metrics import Drawing
from cint.results import axes, documents, table, tradeoff
from cint.results.axes import Axis

WIDTH = 360
_RIGHT = 96
_ROW = 22
_TOP = 4
_BOTTOM = 20
#: The names stand beside their lines if they are no longer than this, in letters.
_SHORT = 14
_LETTER = 7.0

#: Marks by the number's place among those of one drawing: no two alike without colour.
_SHAPES = ("M{l:.1f} {y:.1f}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
           "M{x:.1f} {t:.1f}L{r:.1f} {y:.1f}L{x:.1f} {b:.1f}L{l:.1f} {y:.1f}z",
           "M{x:.1f} {t:.1f}L{r:.1f} {b:.1f}L{l:.1f} {b:.1f}z",
           "M{l:.1f} {t:.1f}H{r:.1f}V{b:.1f}H{l:.1f}z")


def mark(index: int, x: float, y: float) -> str:
    """The mark of the number with this place."""
    path = _SHAPES[index].format(x=x, y=y, l=x - 4, r=x + 4, t=y - 4, b=y + 4)
    return f'<path class="s{index}" d="{path}"/>'


def _value(row: sampling.Row, metric: metrics.Metric) -> float | None:
    value = row.values.get(metric.name)
    return None if value is None else value * metric.factor


def _known(chart: Drawing, rows: Sequence[sampling.Row]) -> list[float]:
    """Every value that is drawn, the ends of the boots' too."""
    values = [v for row in rows for m in chart.metrics if (v := _value(row, m)) is not None]
    return values + [end * m.factor for row in rows for m in chart.metrics
                     for end in row.range.get(m.name, ())]


def _axis(chart: Drawing, rows: Sequence[sampling.Row]) -> Axis:
    longest = max(len(row.policy) for row in rows)
    left = longest * _LETTER + 8 if longest <= _SHORT else 8
    found = axes.axis(_known(chart, rows), left, WIDTH - _RIGHT)
    return Axis(0.0, chart.full, left, WIDTH - _RIGHT, False) if chart.full else found


def _told(chart: Drawing, row: sampling.Row) -> str:
    """The number beside the line: of the first metric that is known."""
    for metric in chart.metrics:
        value, ratio = _value(row, metric), row.ratios.get(metric.name)
        if value is not None:
            return table.number(value) + (f" ({table.number(ratio)}x)" if ratio is not None
                                          else "")
    return "not known"


def _line(chart: Drawing, row: sampling.Row, axis: Axis, y: float) -> str:
    """One policy's marks on their line, the boots' ends behind them, and a number."""
    places = [(i, m, axis.at(v)) for i, m in enumerate(chart.metrics)
              if (v := _value(row, m)) is not None]
    parts = [f'<path class="grid" d="M{axis.start:.1f} {y:.1f}H{axis.end:.1f}"/>']
    if len(places) > 1:
        across = [at for _, _, at in places]
        parts.append(f'<path class="span" d="M{min(across):.1f} {y:.1f}H{max(across):.1f}"/>')
    for index, metric, _ in places:
        ends = [axis.at(end * metric.factor) for end in row.range.get(metric.name, ())]
        if ends:
            parts.append(f'<path class="ends s{index}" d="M{ends[0]:.1f} {y:.1f}'
                         f'H{ends[1]:.1f}"/>')
    # The first mark is drawn last: it is the one that the number belongs to.
    parts += [mark(i, at, y) for i, _, at in reversed(places)]
    return "".join([*parts, f'<text class="v" x="{axis.end + 9:.1f}" y="{y + 4:.1f}">'
                            f'{_told(chart, row)}</text>'])


def _foot(chart: Drawing, axis: Axis, y: float, base: sampling.Row | None) -> str:
    """Ticks below the lines, and the baseline's value through all of them."""
    parts = [f'<path class="grid" d="M{axis.at(v):.1f} {y - 3:.1f}v4"/><text class="k" '
             f'x="{axis.at(v):.1f}" y="{y + 13:.1f}" text-anchor="middle">{v:g}</text>'
             for v in axis.ticks()]
    value = _value(base, chart.told) if base is not None else None
    if value is not None and not chart.full:
        parts.append(f'<path class="base" d="M{axis.at(value):.1f} {_TOP}V{y - 3:.1f}"/>')
    return "".join(parts)


def describe(chart: Drawing, title: str, rows: Sequence[sampling.Row]) -> str:
    """The drawing in words, for those who do not see it."""
    parts = []
    for row in rows:
        values = [(metric, row.values.get(metric.name)) for metric in chart.metrics]
        words = [f"{metric.series} {table.number(value * metric.factor)}"
                 for metric, value in values if value is not None]
        parts.append(f"{row.policy}: {', '.join(words) or 'not known'}")
    return f"{chart.title} in {title}, {chart.unit}. {'; '.join(parts)}."


def draw(chart: Drawing, title: str, rows: Sequence[sampling.Row],
         baseline: str = "") -> str | None:
    """One workload's chart as an SVG element; None when nothing is known."""
    if not _known(chart, rows):
        return None
    axis = _axis(chart, rows)
    beside = axis.start > 8
    y, lines = float(_TOP), []
    for row in rows:
        y += 0 if beside else _ROW - 6
        lines.append(f'<text class="p" x="0" y="{y + (_ROW / 2 + 4 if beside else 0):.1f}">'
                     f'{escape(table.cut(row.policy, 48))}</text>'
                     + _line(chart, row, axis, y + _ROW / 2))
        y += _ROW
    base = next((row for row in rows if row.policy == baseline), None)
    return (f'<svg viewBox="0 0 {WIDTH} {y + _BOTTOM:.0f}" role="img" '
            f'aria-label="{escape(describe(chart, title, rows))}">'
            f'{_foot(chart, axis, y, base)}{"".join(lines)}</svg>')


def legend(chart: Drawing) -> str:
    """The marks of a chart with several numbers, as an SVG element; empty for one."""
    if len(chart.metrics) < 2:
        return ""
    parts, x = [], 6.0
    for index, metric in enumerate(chart.metrics):
        parts.append(f'{mark(index, x, 8)}<text class="k" x="{x + 9:.1f}" y="12">'
                     f'{escape(metric.series)}</text>')
        x += 24 + 7 * len(metric.series)
    return (f'<svg class="legend" viewBox="0 0 {WIDTH} 16" role="img" '
            f'aria-label="marks: {escape(", ".join(m.series for m in chart.metrics))}">'
            f'{"".join(parts)}</svg>')


def draw_all(document: Mapping[str, Any]) -> list[tuple[Drawing, list[tuple[str, str]]]]:
    """Every chart with its drawings: (title of the workload, SVG)."""
    rows = [r for r in documents.rows_from(document) if r.job is None]
    titles = {w["name"]: tradeoff.title(w) for w in document["workloads"]}
    found = []
    for chart in metrics.DRAWINGS:
        drawings = []
        for workload in dict.fromkeys(r.workload for r in rows):
            title = titles.get(workload, workload) if chart.name == "latency" else workload
            svg = draw(chart, title, [r for r in rows if r.workload == workload],
                       document["baseline"])
            drawings += [(title, svg)] if svg else []
        found += [(chart, drawings)] if drawings else []
    return found
