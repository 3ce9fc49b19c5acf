# SPDX-License-Identifier: GPL-2.0-or-later
"""A sweep as text and as heat maps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cint import units
from cint.errors import EXIT_OK
from cint.measure.sweep import Sweep
from cint.results import plots


def report(result: Sweep, *, as_json: bool) -> int:
    """Print the proposal and the thresholds under its delta."""
    if as_json:
        print(json.dumps(asdict(result)))
        return EXIT_OK
    delta = units.format_time(result.delta_ns)
    print(f"{result.quantile} % of the gaps between {result.completions} completions are at most "
          f"{units.format_time(result.gap_ns)}")
    if result.delta_clipped:
        print(f"delta={delta} is the grid's largest and spans fewer: let --sweep go further")
    print(f"proposed for policy {result.policy}: delta={delta}, thr={result.thr}")
    print(f"\n{'thr':>6} {'interrupts':>11} {'per second':>11} {'CQEs each':>10} "
          f"{'hold mean':>10} {'hold p99':>10} {'CPU ns/IO':>10}   (delta={delta})")
    for cell in result.column:
        mark = "  <- proposed" if cell.thr == result.thr else ""
        mean = units.format_time(round(cell.hold_mean_ns))
        print(f"{cell.thr:>6} {cell.interrupts:>11} {cell.interrupts_per_s:>11.0f} "
              f"{cell.cqes_per_interrupt:>10.2f} {mean:>10} "
              f"{units.format_time(cell.hold_p99_ns):>10} {cell.cost_ns:>10.0f}{mark}")
    return EXIT_OK


def _panel(plt: Any, axis: Any, result: Sweep, title: str, values: Sequence[float]) -> None:
    deltas = sorted({cell.delta_ns for cell in result.cells})
    thrs = sorted({cell.thr for cell in result.cells})
    rows = [[values[d * len(thrs) + t] for d in range(len(deltas))] for t in range(len(thrs))]
    # Neighbours differ by factors: the logarithm shows all of them. 0 stays off the scale.
    positive = [value for value in values if value > 0]
    norm = plt.matplotlib.colors.LogNorm(min(positive), max(positive)) \
        if positive and max(positive) > min(positive) else None
    colours = plt.get_cmap("viridis")
    image = axis.imshow(rows, origin="lower", aspect="auto", norm=norm,
                        cmap=colours.with_extremes(bad=colours(0.0)))
    axis.figure.colorbar(image, ax=axis)
    axis.set_xticks(range(len(deltas)), [units.format_time(d) for d in deltas], rotation=60,
                    fontsize=7)
    axis.set_yticks(range(len(thrs)), [str(t) for t in thrs], fontsize=7)
    axis.set_xlabel("delta")
    axis.set_ylabel("thr")
    axis.set_title(title)
    axis.plot(deltas.index(result.delta_ns), thrs.index(result.thr), marker="o", markersize=9,
              markerfacecolor="none", markeredgecolor="#D55E00", markeredgewidth=2)


def draw(result: Sweep, source: str, path: Path) -> None:
    """Heat maps of interrupts per second and mean added latency; a ring marks the proposal."""
    plt = plots.pyplot()
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.6))
    cells = result.cells
    _panel(plt, axes[0], result, "Interrupts per second", [c.interrupts_per_s for c in cells])
    _panel(plt, axes[1], result, "Added latency, mean, us", [c.hold_mean_ns / 1e3 for c in cells])
    figure.suptitle(f"{result.policy} over {result.completions} completions of {source}; "
                    f"proposed delta={units.format_time(result.delta_ns)}, thr={result.thr}",
                    fontsize=9)
    figure.tight_layout()
    plots.save(plt, figure, path)
