# SPDX-License-Identifier: GPL-2.0-or-later
"""How long completions waited, as curves: what share of them waited no longer than a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cint.results import plots

#: A drawing has no more rows than this.
ROWS = 8
_WIDTH_IN, _ROW_IN = 9.0, 2.5
#: A curve has no more points than this.
_POINTS = 500
#: Below this many us the axis is linear, and begins at 0: who is told at once has held nothing.
_LINEAR_US = 1.0
#: The lines that are drawn across, in %.
_PERCENT = (50, 90, 99)


@dataclass(frozen=True)
class Lane:
    """A row of the drawing: its title, and by phase and name the times in ns."""

    title: str
    phases: Mapping[str, Mapping[str, Sequence[int]]]


def curve(times: Sequence[int]) -> tuple[list[float], list[float]]:
    """Times in us, and for each what share in % is at most that: of nearest rank, as the table."""
    ordered = sorted(times)
    count = len(ordered)
    points = min(count, _POINTS)
    ranks = [max(-(-count * i // points), 1) for i in range(1, points + 1)]
    # From the least time upwards: the first share is reached there.
    return ([ordered[0] / 1e3, *(ordered[rank - 1] / 1e3 for rank in ranks)],
            [0.0, *(100 * rank / count for rank in ranks)])


def _panel(axis: Any, phase: str, curves: Mapping[str, Sequence[int]],
           colours: Mapping[str, str]) -> None:
    for name, times in curves.items():
        if times:
            xs, shares = curve(times)
            axis.plot(xs, shares, drawstyle="steps-post", linewidth=1.4, color=colours[name],
                      label=f"{name} ({len(times)})")
    for share in _PERCENT:
        axis.axhline(share, color="#dddddd", linewidth=0.6, zorder=0)
    axis.set_ylim(0, 102)
    axis.set_yticks([0, *_PERCENT], ["0", *(str(share) for share in _PERCENT)], fontsize=7)
    axis.set_title(phase, fontsize=9)
    if any(curves.values()):
        axis.legend(frameon=False, fontsize=7, loc="best")
    else:
        axis.text(0.5, 0.4, "none is known", transform=axis.transAxes, ha="center", fontsize=8)


def _axis(axis: Any) -> None:
    axis.set_xscale("symlog", linthresh=_LINEAR_US, linscale=0.3, subs=range(2, 10))
    # A curve at 0 stands beside the axis, not on it.
    axis.set_xlim(left=-0.1)
    axis.xaxis.set_major_formatter("{x:g}")
    axis.set_xlabel("us")


def draw(rows: Sequence[Lane], source: str, path: Path) -> None:
    """Draw a row of panels each, a panel a phase, a curve a name; PNG, SVG or PDF by the suffix."""
    plt = plots.pyplot()
    names = list(dict.fromkeys(name for row in rows for curves in row.phases.values()
                               for name in curves))
    colours = {name: plots.COLOURS[i % len(plots.COLOURS)] for i, name in enumerate(names)}
    columns = max(len(row.phases) for row in rows)
    figure, grid = plt.subplots(len(rows), columns, squeeze=False, sharex="col",
                                layout="constrained",
                                figsize=(_WIDTH_IN, 0.5 + _ROW_IN * len(rows)))
    for axes, row in zip(grid, rows, strict=True):
        for axis, (phase, curves) in zip(axes, row.phases.items(), strict=True):
            _panel(axis, f"{row.title}: {phase}", curves, colours)
        axes[0].set_ylabel("% of CQEs, at most")
    for axis in grid[-1]:
        _axis(axis)
    figure.suptitle(source, x=0.01, ha="left", fontsize=9)
    plots.save(plt, figure, path)
