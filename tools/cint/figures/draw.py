# SPDX-License-Identifier: GPL-2.0-or-later
"""The panels of a figure as one SVG: ours filled, the paper's hollow, every seed shown."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

from cint.errors import CintError
from cint.figures.figure import Figure, Panel, Series
from cint.figures.values import Data, Expr, View
from cint.results import colours, plots

_COLUMNS = 2
_PANEL_IN = (4.1, 3.0)
_TIMELINE_IN = (8.2, 1.1)
#: So many numbers fit under a panel, and so many side by side above its bars.
_TICKS, _ABOVE = 8, 10
#: What is of the paper and beside nothing of ours.
_PAPER = "#555555"
#: A silence of more than so many us in a timeline is drawn as this much.
_SILENCE_US, _SHORTENED_US = 150.0, 15.0
#: Kinds of a timeline's events: colour, and where in the lane.
_MARKS = {"submit": ("#777777", 0.66), "complete": ("#0072B2", 0.3), "irq": ("#D55E00", 0.0)}
#: Events of a kind that are nearer than this share of the time are drawn in so many steps.
_NEAR, _STEPS, _STEP = 0.004, 4, 0.12


def svg(figure: Figure, data: Data) -> str:
    """The drawing; the same data give the same text."""
    plt = plots.pyplot()
    plt.rcParams.update({"svg.hashsalt": figure.id, "svg.fonttype": "none", "font.size": 10})
    timelines = [p for p in figure.panels if p.kind == "timeline"]
    drawing = _timelines(plt, timelines, data) if timelines else _grid(plt, figure, data)
    return as_text(drawing, bbox_inches="tight")


def as_text(drawing: Any, **how: Any) -> str:
    """A drawing as SVG, without what is not of it."""
    buffer = io.StringIO()
    drawing.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None}, **how)
    plots.pyplot().close(drawing)
    text = buffer.getvalue()
    return "\n".join(line.rstrip() for line in text[text.index("<svg"):].splitlines()) + "\n"


def _grid(plt: Any, figure: Figure, data: Data) -> Any:
    count = len(figure.panels)
    columns = min(count, _COLUMNS)
    lines = -(-count // columns)
    drawing, axes = plt.subplots(lines, columns, squeeze=False, layout="constrained",
                                 figsize=(_PANEL_IN[0] * columns, _PANEL_IN[1] * lines))
    drawing.get_layout_engine().set(hspace=0.1)
    for axis in list(axes.flat)[count:]:
        axis.set_visible(False)
    for axis, panel in zip(axes.flat, figure.panels, strict=False):
        {"bars": _bars, "lines": _lines, "tradeoff": _tradeoff,
         "curves": _curves}[panel.kind](axis, panel, data)
        axis.set_title(panel.title, fontsize=11, pad=_legend(axis))
        axis.set_ylabel(panel.y)
        axis.set_xlabel(panel.x)
        if panel.log_y:
            axis.set_yscale("log")
            _plain(axis.yaxis)
        if panel.log_x:
            _log_x(axis, panel)
    return drawing


def _log_x(axis: Any, panel: Panel) -> None:
    """A logarithmic axis with plain numbers: those of the points, if they are few."""
    axis.set_xscale("log")
    xs = sorted({float(x) for series in panel.series for x, _ in series.points
                 if not isinstance(x, Expr)})
    if 0 < len(xs) <= _TICKS:
        axis.set_xticks(xs)
        axis.minorticks_off()
    _plain(axis.xaxis)


def _plain(axis: Any) -> None:
    """A logarithmic axis without powers; between decades only where there is no decade."""
    axis.set_major_formatter("{x:g}")
    low, high = sorted(axis.get_view_interval())
    if high < 10 * low:
        axis.set_minor_formatter("{x:.3g}")


def _numbers(expression: Expr | float | str, data: Data) -> list[float]:
    """The value for each seed."""
    if not isinstance(expression, Expr):
        return [float(expression)]
    return [expression.of(View(data, seed)) for seed in range(data.seeds)]


def _middle(seeds: Sequence[float]) -> float:
    return sorted(seeds)[len(seeds) // 2]


def _colours(panel: Panel) -> dict[str, str]:
    """The colour of each line or bar, by label; the paper's line has that of ours beside it."""
    ours = [series.label for series in panel.series if not series.paper]
    found = colours.of(ours)
    for series in panel.series:
        if series.paper:
            found[series.label] = found.get(series.label.removesuffix(", paper"), _PAPER)
    return found


def _style(series: Series, colour: str) -> dict[str, Any]:
    if series.paper:
        return {"facecolor": "none", "edgecolor": _PAPER, "linewidth": 1.0}
    return {"facecolor": colour}


def _by_name(names: Sequence[str], colour: str) -> list[str]:
    """The colour of each bar: its own where some are named after policies, else the series'."""
    if not any(map(colours.policy_of, names)):
        return [colour] * len(names)
    return [colours.of(names)[name] for name in names]


def _bars(axis: Any, panel: Panel, data: Data) -> None:
    names = list(dict.fromkeys(str(x) for s in panel.series for x, _ in s.points))
    width = 0.8 / len(panel.series)
    upright = {"rotation": 90, "va": "bottom"} if len(names) * len(panel.series) > _ABOVE else {}
    chosen = _colours(panel)
    for index, series in enumerate(panel.series):
        places = [names.index(str(x)) + (index - (len(panel.series) - 1) / 2) * width
                  for x, _ in series.points]
        seeds = [_numbers(e, data) for _, e in series.points]
        heights = [_middle(s) for s in seeds]
        style = _style(series, chosen[series.label])
        if not series.paper and colours.policy_of(series.label) is None:
            # bars of policies have the policies' colours, whatever they are a series of
            style["facecolor"] = _by_name([str(x) for x, _ in series.points],
                                          chosen[series.label])
        if panel.log_y:
            # a bar's length says nothing without a zero
            axis.scatter(places, heights, 22, label=series.label, **style)
        else:
            axis.bar(places, heights, width * 0.92, label=series.label, **style)
        for place, height in zip(places, heights, strict=True):
            axis.annotate(_short(height), (place, height), textcoords="offset points",
                          xytext=(0, 4 if panel.log_y or upright else 2), ha="center", fontsize=8,
                          **upright)
        for place, found in zip(places, seeds, strict=True):
            axis.plot([place] * len(found), found, ".", color="#333333", markersize=2)
    axis.set_xticks(range(len(names)))
    turned = {"rotation": 20, "ha": "right", "rotation_mode": "anchor"} if len(names) > 3 else {}
    axis.set_xticklabels(names, fontsize=9, **turned)
    axis.margins(y=0.2 if upright else 0.15)


def _lines(axis: Any, panel: Panel, data: Data) -> None:
    chosen = _colours(panel)
    for series in panel.series:
        xs = [_numbers(x, data)[0] for x, _ in series.points]
        seeds = [_numbers(e, data) for _, e in series.points]
        colour = chosen[series.label]
        axis.plot(xs, [_middle(s) for s in seeds], "--" if series.paper else "-",
                  marker="o", markersize=3, markerfacecolor="none" if series.paper else colour,
                  color=colour, linewidth=1.2, label=series.label)
        if not series.paper:
            axis.fill_between(xs, [min(s) for s in seeds], [max(s) for s in seeds],
                              color=colour, alpha=0.2, linewidth=0)


def _tradeoff(axis: Any, panel: Panel, data: Data) -> None:
    """A dot for each series, every seed beside it; the best is below on the left."""
    chosen = _colours(panel)
    for series in panel.series:
        for place, (x, y) in enumerate(series.points):
            found = _numbers(x, data), _numbers(y, data)
            axis.scatter(*map(_middle, found), 36, label="" if place else series.label,
                         **_style(series, chosen[series.label]))
            axis.plot(*found, ".", color="#333333", markersize=2)
    axis.set_xlim(left=0)
    axis.margins(y=0.15)


def _curves(axis: Any, panel: Panel, data: Data) -> None:
    one_job = len({cell for _, cell in panel.sources}) == 1
    names = [run if one_job else cell for run, cell in panel.sources]
    chosen = colours.of(names)
    for name, (run, cell) in zip(names, panel.sources, strict=True):
        points = data.curves[run][cell]
        axis.plot([x for x, _ in points], [y for _, y in points], drawstyle="steps-post",
                  color=chosen[name], linewidth=1.2, label=name)
    if not panel.log_y:
        axis.set_ylim(0, 100)


def _short(height: float) -> str:
    """Three digits at most, two behind the point."""
    size = abs(height)
    return f"{height:,.{0 if size >= 100 else 1 if size >= 10 else 2}f}"


def _legend(axis: Any) -> float:
    """Above the axes, where it covers nothing; how far up the title has to go, points."""
    _, labels = axis.get_legend_handles_labels()
    if len(labels) < 2:
        return 6
    columns = 2 if len(labels) > 3 or max(map(len, labels)) > 12 else len(labels)
    axis.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1),
                borderaxespad=0.1, ncols=columns, handlelength=1.5, columnspacing=1.0)
    return 6 + 13.5 * -(-len(labels) // columns)


# ---- timelines ------------------------------------------------------------

def _timelines(plt: Any, panels: Sequence[Panel], data: Data) -> Any:
    """A lane for each run, time to the right."""
    lanes = [(panel, run, cell) for panel in panels for run, cell in panel.sources]
    drawing, axes = plt.subplots(len(lanes), 1, squeeze=False, layout="constrained",
                                 sharex=len(panels) == 1,
                                 figsize=(_TIMELINE_IN[0], 0.5 + _TIMELINE_IN[1] * len(lanes)))
    for axis, (panel, run, _) in zip(axes.flat, lanes, strict=True):
        if run not in data.timelines:
            raise CintError(f"there is no timeline of '{run}'")
        _lane(axis, data.timelines[run])
        axis.set_ylabel(re.sub(r"[/:]", "\n", run), rotation=0, ha="right", va="center")
        axis.set_xlabel(panel.x if axis is axes.flat[-1] else "")
    drawing.suptitle("submitted (grey), completed (blue), interrupt (red: full, hollow: urgent)",
                     fontsize=10)
    return drawing


def _shortened(found: Sequence[Sequence[Any]]) -> tuple[list[list[Any]], list[float]]:
    """The events without long silences, and where those were."""
    events: list[list[Any]] = []
    cuts: list[float] = []
    before, shift = 0.0, 0.0
    for at, kind, words in found:
        if at - before > _SILENCE_US:
            shift += at - before - _SHORTENED_US
            cuts.append(at - shift - _SHORTENED_US / 2)
        events.append([at - shift, kind, words])
        before = at
    return events, cuts


def _lane(axis: Any, found: Sequence[Sequence[Any]]) -> None:
    events, cuts = _shortened(found)
    for at in cuts:
        axis.annotate("//", (at, -0.3), ha="center", va="center", fontsize=10)
    near = _NEAR * max((at for at, _, _ in events), default=0.0)
    last: dict[str, tuple[float, int]] = {}
    for at, kind, words in events:
        colour, height = _MARKS[kind]
        before, step = last.get(kind, (-near - 1, 0))
        # one above the other where they would cover each other
        step = (step + 1) % _STEPS if at - before <= near else 0
        last[kind] = at, step
        height += step * _STEP
        hollow = words.startswith("urgent")
        axis.plot([at], [height], "^" if kind == "irq" else "|", color=colour,
                  markersize=7 if kind == "irq" else 6,
                  markerfacecolor="none" if hollow else colour)
        note = words.split()[-1] if kind == "irq" else words
        if note:
            axis.annotate(note, (at, height), textcoords="offset points", xytext=(4, 1),
                          fontsize=8, color=colour)
    axis.set_ylim(-0.3, 1)
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)
