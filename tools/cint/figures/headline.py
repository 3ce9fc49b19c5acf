# SPDX-License-Identifier: GPL-2.0-or-later
"""The picture of the first page: every timer as a line, and the policies that know who waits.

It is drawn from the stored numbers of the figure `timers`: in the mixed load, the latency of the
job that waits over interrupts for each I/O. That of `auto`, whose guest says nothing, is from
`auto-grid`, which has the same load.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cint import paths
from cint.figures import document, draw
from cint.figures.library import auto_loads, cost
from cint.figures.values import Data
from cint.results import axes, colours, plots

PATH = paths.ROOT / "docs/images/headline.svg"
#: Small, so that its words can be read where it is as narrow as a phone.
_SIZE_IN = (6.2, 4.9)
_LETTERS_PT = 10.5
#: Of what is placed: words keep as many pixels from their mark as fit these letters.
_DPI = 84
#: Of words whose mark's colour is too pale for them.
_INK = {colours.POLICIES[name]: ink for name, ink in (
    ("static", "#8A5A00"), ("adaptive", "#1F6F9F"), ("default", "#333333"))}
#: us without a completion that end a burst, of those that are drawn.
_DELTAS = (3, 6, 12)
_WAITS = "mixed"


@dataclass(frozen=True)
class Mark:
    """One policy: interrupts for each I/O, mean latency of who waits in us, and its words."""

    x: float
    y: float
    words: str
    colour: str


@dataclass(frozen=True)
class Line:
    """Marks that belong together; a line where there are several."""

    name: str
    marks: Sequence[Mark]
    shape: str = "o"


def _mark(data: Data, run: str, words: str, colour: str) -> Mark:
    points = sorted(data.cells[run][_WAITS], key=lambda point: point["iops"])
    point = points[len(points) // 2]
    return Mark(1 / point["ios_per_irq"], point["mean_us"],
                f"{words} ({point['iops'] / 1000:.0f})", colour)


def lines_of(data: Data, guessed: Data | None) -> list[Line]:
    """The picture's lines, from the figures' numbers."""
    chosen = colours.POLICIES
    default = _mark(data, "default", "default, vic", chosen["default"])
    found = [Line("a timer of 2 to 100 us", [default, *(
        _mark(data, f"timer {us} us", f"{us} us", chosen["static"]) for us in cost.TIMES)])]
    found += [Line(f"{policy}, delta {_DELTAS[0]} to {_DELTAS[-1]} us", [
        _mark(data, f"{policy} {us} us", f"{us} us", chosen[policy]) for us in _DELTAS])
        for policy in ("cint", cost.OOO)]
    if guessed is not None:
        found.append(Line("auto, of a guest that says nothing",
                          [_mark(guessed, "auto", "auto", chosen["auto"])], "D"))
    return [*found, Line("", [_mark(data, "adaptive", "adaptive", chosen["adaptive"])])]


def _draw(axis: Any, line: Line) -> None:
    """A line in the colour of its last mark, and each mark in its own."""
    colour = line.marks[-1].colour
    axis.plot([one.x for one in line.marks], [one.y for one in line.marks], line.shape,
              linestyle="-" if line.marks[1:] else "", color=colour, label=line.name or None,
              markersize=7, linewidth=1.4)
    for one in line.marks:
        if one.colour != colour:
            axis.plot([one.x], [one.y], line.shape, color=one.colour, markersize=8, zorder=3)


def _frame(axis: Any) -> None:
    axis.set_yscale("log")
    axis.set_yticks([10, 20, 50, 100], ["10", "20", "50", "100"])
    axis.minorticks_off()
    axis.set_xlim(0, 1.08)
    axis.set_ylim(6, 180)
    axis.grid(color="#dddddd", linewidth=0.6)
    axis.set_xlabel("interrupts for each I/O (← better)")
    axis.set_ylabel("latency of who waits, us, log (↓ better)")
    axis.set_title("A thread that waits beside 16 reads in flight\n(thousand reads a second)",
                   fontsize=_LETTERS_PT + 1)
    axis.legend(frameon=False, fontsize=_LETTERS_PT, loc="upper right")


def _box(extent: Any) -> axes.Box:
    """The box of an extent in the drawing's pixels, of which the first row is at the bottom."""
    return axes.Box(extent.x0, -extent.y1, extent.x1, -extent.y0)


def _size(axis: Any, words: str) -> tuple[float, float]:
    """Width and height of a mark's words, in pixels."""
    text = axis.text(0.5, 20, words, fontsize=_LETTERS_PT)
    box = _box(text.get_window_extent())
    text.remove()
    return box.right - box.left, box.bottom - box.top


def _label(axis: Any, lines: Sequence[Line]) -> list[axes.Box]:
    """Write each mark's words where they cover nothing, and say where; after the layout.

    A thin line leads to words that stand away from their mark.
    """
    def at(one: Mark) -> tuple[float, float]:
        x, y = axis.transData.transform((one.x, one.y))
        return float(x), -float(y)

    every = [one for line in lines for one in line.marks]

    def back(x: float, y: float) -> Any:
        return axis.transData.inverted().transform((x, -y))

    # The crowded ones first: the others have room elsewhere.
    marks = sorted(every, key=lambda one: sum(math.dist(at(one), at(other)) for other in every))
    taken = [box for line in lines for box in axes.along([at(one) for one in line.marks])]
    boxes = axes.place([at(one) for one in marks], [_size(axis, one.words) for one in marks],
                       _box(axis.get_window_extent()),
                       [*taken, _box(axis.get_legend().get_window_extent())])
    for one, box in zip(marks, boxes, strict=True):
        text = axis.text(*back(box.left, box.bottom), one.words, fontsize=_LETTERS_PT,
                         color=_INK.get(one.colour, one.colour), va="bottom")
        text.set_in_layout(False)
        if axes.leader(box, at(one)):
            end = box.nearest(at(one))
            axis.plot(*zip((one.x, one.y), back(*end), strict=True), color="#888888",
                      linewidth=0.6, zorder=1)
    return boxes


def drawn(lines: Sequence[Line]) -> tuple[Any, list[axes.Box]]:
    """The drawing, and where the words of its marks stand, in pixels."""
    plt = plots.pyplot()
    plt.rcParams.update({"svg.hashsalt": "headline", "svg.fonttype": "none",
                         "font.size": _LETTERS_PT})
    drawing, axis = plt.subplots(layout="constrained", figsize=_SIZE_IN, dpi=_DPI)
    for line in lines:
        _draw(axis, line)
    _frame(axis)
    drawing.canvas.draw()
    drawing.set_layout_engine("none")
    return drawing, _label(axis, lines)


def svg() -> str:
    """The drawing; empty where the figure is not stored."""
    data, guessed = (None if entry is None else Data.from_dict(entry["data"])
                     for entry in map(document.stored, (cost.TIMERS.id, auto_loads.GRID.id)))
    if data is None:
        return ""
    return draw.as_text(drawn(lines_of(data, guessed))[0])
