# SPDX-License-Identifier: GPL-2.0-or-later
"""A grid of delta and thr under one load, and the values to choose.

The rule is the papers' method (cinterrupts 5.2). delta: the gap between completions that a given
share of all gaps, 99 % unless told otherwise, does not exceed. thr, with that delta: the smallest
value where throughput levels off. A replay has no CPU to saturate, so throughput is that of a
CPU-bound load with the papers' costs, 1 / (c_io + c_irq / b) with b CQEs an interrupt, and it has
levelled off when no larger thr of the grid is more than 2 % better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cint.device import words
from cint.errors import UsageError
from cint.measure import calibration

POINTS = 16
PLATEAU = 1.02
QUANTILES = ("50", "90", "95", "99", "99.9")
#: What is swept: parameters of a policy, typed as there.
AXES = {name: words.PARAMETERS["adaptive"][name] for name in ("delta", "thr")}


@dataclass(frozen=True)
class Point:
    """One cell of the grid."""

    delta_ns: int
    thr: int


@dataclass(frozen=True)
class Cell:
    """The replay's result there; `cost_ns` is the CPU time of an I/O with its interrupts."""

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
    """POINTS whole numbers, or fewer, from `low` to `high`, evenly spaced on a log scale.

    Times and counts need no more than two digits between the ends; 0 cannot be on a log
    scale and is put in front.
    """
    start = max(low, 1)
    ratio = high / start
    inner = [start * ratio ** (i / (POINTS - 1)) for i in range(POINTS)]
    values = {int(float(f"{value:.2g}")) for value in inner}
    return sorted({low, high} | {value for value in values if low <= value <= high})


def _bounds(name: str, text: str) -> tuple[int, int]:
    axis = AXES[name]
    low_text, dots, high_text = text.partition("..")
    low = int(axis.parse(low_text, "--sweep"))
    high = int(axis.parse(high_text, "--sweep")) if dots else low
    if low > high or not high:
        raise UsageError(f"--sweep {name}={text}: must run upwards; {name} is {axis.range()}")
    return low, high


def parse_grid(text: str) -> list[Point]:
    """The points of `delta=1us..50us,thr=1..256`, delta by delta; UsageError of other words."""
    axes: dict[str, list[int]] = {}
    for part in text.split(","):
        name, equals, bounds = part.partition("=")
        if name not in AXES or not equals or name in axes:
            raise UsageError(f"--sweep {text}: expected delta=LOW..HIGH,thr=LOW..HIGH, for "
                             "example delta=1us..50us,thr=1..256")
        axes[name] = spaced(*_bounds(name, bounds))
    if len(axes) < len(AXES):
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
    cost = calibration.PAPER_IO_NS + calibration.PAPER_IRQ_NS * irqs / max(completions, 1)
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
    """Cells and a proposal of the program's summary of points; UsageError of too few gaps."""
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
