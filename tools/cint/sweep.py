# SPDX-License-Identifier: GPL-2.0-or-later
"""A grid of delta and thr under one load, and the values to choose.

The rule is the papers' method (cinterrupts 5.2). delta: the gap between completions that a given
share of all gaps, 99 % unless told otherwise, does not exceed. thr, with that delta: the smallest
value where throughput levels off. A replay has no CPU to saturate, so throughput is that of a
CPU-bound load with the papers' costs, 1 / (c_io + c_irq / b) with b CQEs an interrupt, and it has
levelled off when no larger thr of the grid is more than 2 % better.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cint import calibrate, device, plots
from cint.errors import EXIT_OK, UsageError

POINTS = 16
PLATEAU = 1.02
QUANTILES = ("50", "90", "95", "99", "99.9")
LIMITS = {"delta": (0, device.NS_PER["s"]), "thr": (0, device.MAX_THR)}


@dataclass(frozen=True)
class Point:
    """One cell of the grid."""

    delta_ns: int
    thr: int


@dataclass(frozen=True)
class Cell:
    """What the replay found there; `cost_ns` is the CPU time of an I/O with its interrupts."""

    delta_ns: int
    thr: int
    interrupts: int
    interrupts_per_s: float
    cqes_per_interrupt: float
    hold_mean_ns: float
    hold_p99_ns: int
    cost_ns: float


@dataclass(frozen=True)
class Sweep:
    """All cells, and the proposal with where it comes from."""

    policy: str
    completions: int
    quantile: str
    gap_ns: int
    delta_ns: int
    thr: int
    delta_clipped: bool
    cells: Sequence[Cell]

    @property
    def column(self) -> list[Cell]:
        """The cells of the chosen delta."""
        return [cell for cell in self.cells if cell.delta_ns == self.delta_ns]


# ---- the grid -----------------------------------------------------------

def spaced(low: int, high: int) -> list[int]:
    """Up to POINTS whole numbers from `low` to `high`, evenly spaced on a log scale.

    Times and counts need no more than two digits between the ends; 0 cannot be on a log
    scale and is put in front.
    """
    start = max(low, 1)
    ratio = high / start
    inner = [start * ratio ** (i / (POINTS - 1)) for i in range(POINTS)]
    values = {int(float(f"{value:.2g}")) for value in inner}
    return sorted({low, high} | {value for value in values if low <= value <= high})


def _bounds(name: str, text: str) -> tuple[int, int]:
    parse = device.parse_time if name == "delta" else _parse_thr
    low_text, dots, high_text = text.partition("..")
    low = parse(low_text, name)
    high = parse(high_text, name) if dots else low
    least, most = LIMITS[name]
    if not least <= low <= high <= most or not high:
        raise UsageError(f"--sweep {name}={text}: must run upwards, from {least} to {most} "
                         "at most" + (" ns" if name == "delta" else ""))
    return low, high


def _parse_thr(text: str, what: str) -> int:
    if not re.fullmatch(r"\d{1,5}", text):
        raise UsageError(f"--sweep {what}={text}: not a number; give thr=1..256 or thr=32")
    return int(text)


def parse_grid(text: str) -> list[Point]:
    """`delta=1us..50us,thr=1..256` as points, delta by delta."""
    axes: dict[str, list[int]] = {}
    for part in text.split(","):
        name, equals, bounds = part.partition("=")
        if name not in LIMITS or not equals or name in axes:
            raise UsageError(f"--sweep {text}: expected delta=LOW..HIGH,thr=LOW..HIGH, for "
                             "example delta=1us..50us,thr=1..256")
        axes[name] = spaced(*_bounds(name, bounds))
    if len(axes) < len(LIMITS):
        raise UsageError(f"--sweep {text}: delta and thr are both needed; a single value is a "
                         "range too, for example thr=32")
    return [Point(delta, thr) for delta in axes["delta"] for thr in axes["thr"]]


def arm(base: str, point: Point) -> str:
    """The policy `base` with the values of a point."""
    joint = "," if ":" in base else ":"
    return f"{base}{joint}delta={point.delta_ns},thr={point.thr}"


# ---- the choice ---------------------------------------------------------

def _cell(point: Point, found: Mapping[str, Any], completions: int) -> Cell:
    irqs = int(found["interrupts"])
    cost = calibrate.PAPER_IO_NS + calibrate.PAPER_IRQ_NS * irqs / max(completions, 1)
    return Cell(point.delta_ns, point.thr, irqs, found["interrupts_per_s"],
                found["cqes_per_interrupt"], found["hold"]["mean_ns"], found["hold_p99_ns"], cost)


def choose_delta(deltas: Sequence[int], gap_ns: int) -> tuple[int, bool]:
    """The smallest delta of the grid that spans `gap_ns`; whether the grid ended before.

    It has to be longer: a deadline that equals a completion's time expires first.
    """
    wide = [delta for delta in deltas if delta > gap_ns]
    return (min(wide), False) if wide else (max(deltas), True)


def choose_thr(column: Sequence[Cell]) -> int:
    """The smallest thr from which no larger one is more than 2 % better."""
    best = min(cell.cost_ns for cell in column)
    return min(cell.thr for cell in column if cell.cost_ns <= best * PLATEAU)


def evaluate(base: str, grid: Sequence[Point], quantile: str,
             summary: Mapping[str, Any]) -> Sweep:
    """The program's summary of all points, as cells and a proposal."""
    completions = int(summary["completions"])
    if completions < 2:
        raise UsageError(f"--sweep: the timeline has {completions} completions; gaps between "
                         "them are what delta is chosen from")
    cells = [_cell(point, found, completions)
             for point, found in zip(grid, summary["policies"], strict=True)]
    gap = int(summary["gap_ns"][f"p{quantile}"])
    delta, clipped = choose_delta([point.delta_ns for point in grid], gap)
    column = [cell for cell in cells if cell.delta_ns == delta]
    return Sweep(base, completions, quantile, gap, delta, choose_thr(column), clipped, cells)


# ---- output -------------------------------------------------------------

def report(result: Sweep, *, as_json: bool) -> int:
    """Print the proposal and the thresholds under its delta."""
    if as_json:
        print(json.dumps(asdict(result)))
        return EXIT_OK
    delta = device.format_time(result.delta_ns)
    print(f"{result.quantile} % of the gaps between {result.completions} completions are at most "
          f"{device.format_time(result.gap_ns)}")
    if result.delta_clipped:
        print(f"delta={delta} is the grid's largest and spans fewer: let --sweep go further")
    print(f"proposed for policy {result.policy}: delta={delta}, thr={result.thr}")
    print(f"\n{'thr':>6} {'interrupts':>11} {'per second':>11} {'CQEs each':>10} "
          f"{'hold mean':>10} {'hold p99':>10} {'CPU ns/IO':>10}   (delta={delta})")
    for cell in result.column:
        mark = "  <- proposed" if cell.thr == result.thr else ""
        mean = device.format_time(round(cell.hold_mean_ns))
        print(f"{cell.thr:>6} {cell.interrupts:>11} {cell.interrupts_per_s:>11.0f} "
              f"{cell.cqes_per_interrupt:>10.2f} {mean:>10} "
              f"{device.format_time(cell.hold_p99_ns):>10} {cell.cost_ns:>10.0f}{mark}")
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
    axis.set_xticks(range(len(deltas)), [device.format_time(d) for d in deltas], rotation=60,
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
                    f"proposed delta={device.format_time(result.delta_ns)}, thr={result.thr}",
                    fontsize=9)
    figure.tight_layout()
    try:
        figure.savefig(path)
    except (OSError, ValueError) as problem:
        raise UsageError(f"--plot {path}: {problem}") from None
    finally:
        plt.close(figure)
