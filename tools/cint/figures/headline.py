# SPDX-License-Identifier: GPL-2.0-or-later
"""The picture of the first page: every timer as a line, and the policies that know who waits.

It is drawn from the stored numbers of the figure `timers`: in the mixed load, the latency of the
job that waits over interrupts for each I/O. That of `auto`, whose guest says nothing, is from
`auto-grid`, which has the same load.
"""

from __future__ import annotations

import io
from typing import Any

from cint import paths
from cint.figures import document
from cint.figures.library import auto_grid, timers
from cint.figures.values import Data
from cint.results import colours, plots

PATH = paths.ROOT / "docs/images/headline.svg"
_SIZE_IN = (7.6, 4.4)
#: Where each label stands beside its mark, points; by the name of its run.
_BESIDE = {
    "default": (4, 16, "right"), "adaptive": (8, -3, "left"), "auto": (-8, -14, "right"),
    "timer 2 us": (-2, 8, "right"),
    "cint 12 us": (-2, 8, "right"), "cint 3 us": (0, -14, "center"), "cint 6 us": (0, 8, "center"),
    "cint+ooo 3 us": (8, 6, "left"), "cint+ooo 6 us": (-2, -14, "center"),
    "cint+ooo 12 us": (0, -14, "center"),
}


def _at(data: Data, run: str) -> tuple[float, float, float]:
    """Interrupts for each I/O, mean latency of who waits in us, thousand reads a second."""
    points = sorted(data.cells[run]["mixed"], key=lambda point: point["iops"])
    point = points[len(points) // 2]
    return 1 / point["ios_per_irq"], point["mean_us"], point["iops"] / 1000


def _stored(name: str) -> Data | None:
    entry = document.stored(name)
    return None if entry is None else Data.from_dict(entry["data"])


def _line(axis: Any, data: Data, label: str, names: list[str], colour: str) -> None:
    found = [_at(data, name) for name in names]
    axis.plot([x for x, _, _ in found], [y for _, y, _ in found], "o-", color=colour, label=label,
              markersize=6, linewidth=1.4)


def _say(axis: Any, data: Data, name: str, words: str, colour: str) -> None:
    x, y, reads = _at(data, name)
    right, up, where = _BESIDE.get(name, (7, 3, "left"))
    axis.annotate(f"{words} ({reads:.0f})", (x, y), (right, up), textcoords="offset points",
                  ha=where, fontsize=9, color=colour)


def svg() -> str:
    """The drawing; empty where the figure is not stored."""
    data, guessed = _stored(timers.FIGURE.id), _stored(auto_grid.FIGURE.id)
    if data is None:
        return ""
    plt = plots.pyplot()
    plt.rcParams.update({"svg.hashsalt": "headline", "svg.fonttype": "none", "font.size": 10})
    drawing, axis = plt.subplots(layout="constrained", figsize=_SIZE_IN)
    chosen = colours.POLICIES
    _line(axis, data, "a timer of 2 to 100 us", ["default", *(f"timer {us} us"
                                                             for us in timers.TIMES)],
          chosen["static"])
    _line(axis, data, "cint, delta 3 to 12 us", [f"cint {us} us" for us in (3, 6, 12)],
          chosen["cint"])
    _line(axis, data, "cint+ooo, delta 3 to 12 us", [f"cint+ooo {us} us" for us in (3, 6, 12)],
          chosen["cint+ooo"])
    for name in ("default", "adaptive"):
        x, y, _ = _at(data, name)
        axis.plot([x], [y], "o", color=chosen[name], markersize=8, zorder=3)
        _say(axis, data, name, "default, vic" if name == "default" else name, "#333333")
    if guessed is not None:
        x, y, _ = _at(guessed, "auto")
        axis.plot([x], [y], "D", color=chosen["auto"], markersize=8, zorder=3,
                  label="auto, of a guest that says nothing")
        _say(axis, guessed, "auto", "auto", chosen["auto"])
    for us in timers.TIMES:
        _say(axis, data, f"timer {us} us", f"{us} us", "#9A6700")
    for policy in ("cint", timers.OOO):
        for us in (3, 6, 12):
            _say(axis, data, f"{policy} {us} us", f"{us} us", chosen[policy])
    axis.set_yscale("log")
    axis.set_yticks([10, 20, 50, 100], ["10", "20", "50", "100"])
    axis.minorticks_off()
    axis.set_xlim(0, 1.08)
    axis.set_ylim(8.5, 150)
    axis.grid(color="#dddddd", linewidth=0.6)
    axis.set_xlabel("interrupts for each I/O (← better)")
    axis.set_ylabel("latency of who waits, us, log (↓ better)")
    axis.set_title("A thread that waits beside 16 reads in flight (thousand reads a second)",
                   fontsize=11)
    axis.legend(frameon=False, fontsize=9, loc="upper right")
    buffer = io.StringIO()
    drawing.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(drawing)
    text = buffer.getvalue()
    return "\n".join(line.rstrip() for line in text[text.index("<svg"):].splitlines()) + "\n"
