# SPDX-License-Identifier: GPL-2.0-or-later
"""What the drawings of a comparison share: axes with round ticks, and where labels fit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

#: Values further apart than this are drawn on a logarithmic axis.
WIDE = 20.0
MOST_TICKS = 6


def wide(values: Sequence[float]) -> bool:
    """Whether an axis for these values has to be logarithmic."""
    return min(values) > 0 and max(values) / min(values) > WIDE


@dataclass(frozen=True)
class Axis:
    """From values to places in a drawing."""

    low: float
    high: float
    start: float
    end: float
    log: bool

    def at(self, value: float) -> float:
        """The place of a value."""
        low, high, here = ((math.log(v) for v in (self.low, self.high, value)) if self.log
                           else (self.low, self.high, value))
        return self.start + (self.end - self.start) * (here - low) / (high - low)

    def ticks(self) -> list[float]:
        """Values to name: round numbers in even steps, or 1, 2 and 5 times powers of ten."""
        if not self.log:
            power = 10.0 ** math.floor(math.log10(self.high))
            step = next(s for s in (power / 5, power / 2, power, 2 * power)
                        if self.high / s <= MOST_TICKS)
            return [step * i for i in range(int(self.high / step) + 1)]
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for steps in ((1, 2, 5), (1, 3), (1,)):
            found = [s * 10.0**p for p in powers for s in steps
                     if self.low <= s * 10.0**p <= self.high]
            if len(found) <= MOST_TICKS:
                break
        return found


def axis(values: Sequence[float], start: float, end: float) -> Axis:
    """An axis that has all these values well inside; from 0 unless they are far apart."""
    if wide(values):
        return Axis(min(values) / 1.5, max(values) * 1.5, start, end, True)
    return Axis(0.0, max(values) * 1.12 or 1.0, start, end, False)


# ---- labels ----------------------------------------------------------------

@dataclass(frozen=True)
class Box:
    """A rectangle; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Whether the two have a point in common."""
        return (self.left < other.right and other.left < self.right
                and self.top < other.bottom and other.top < self.bottom)

    def within(self, other: Box) -> bool:
        """Whether it lies in the other."""
        return (self.left >= other.left and self.right <= other.right
                and self.top >= other.top and self.bottom <= other.bottom)


#: A label keeps so far from the middle of its dot; and half of what a dot takes.
NEAR = 7.5
_DOT = 5.0
#: How far a label may go further when there is no room.
_FURTHER = (0.0, 8.0, 16.0, 26.0, 38.0, 52.0, 70.0)
_WAYS = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1))


def _around(x: float, y: float, width: float, height: float) -> Iterator[Box]:
    """Where a label of this size may stand, the nearest first."""
    for further in _FURTHER:
        for across, down in _WAYS:
            gap = NEAR + further
            left = {1: x + gap, -1: x - gap - width, 0: x - width / 2}[across]
            top = {1: y + gap, -1: y - gap - height, 0: y - height / 2}[down]
            yield Box(left, top, left + width, top + height)


def place(dots: Sequence[tuple[float, float]], sizes: Sequence[tuple[float, float]],
          inside: Box) -> list[Box]:
    """A box for the label of each dot, such that none covers another, a dot, or the frame.

    Where nothing is free the first place inside is taken.
    """
    squares = [Box(x - _DOT, y - _DOT, x + _DOT, y + _DOT) for x, y in dots]
    taken: list[Box] = []
    for (x, y), (width, height) in zip(dots, sizes, strict=True):
        found = [box for box in _around(x, y, width, height) if box.within(inside)]
        free = [box for box in found if not any(box.meets(o) for o in (*squares, *taken))]
        taken.append((free or found or [next(_around(x, y, width, height))])[0])
    return taken
