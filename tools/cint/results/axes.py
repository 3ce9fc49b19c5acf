# SPDX-License-Identifier: GPL-2.0-or-later
"""Axes with round ticks, and places for labels, which the drawings of a comparison share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

#: Values further apart than this are drawn on a logarithmic axis.
WIDE = 20.0
MOST_TICKS = 6


def wide(values: Sequence[float]) -> bool:
    """Whether an axis for these values has to be logarithmic."""
    return min(values) > 0 and max(values) / min(values) > WIDE


@dataclass(frozen=True)
class Axis:
    """A scale from values to places in a drawing."""

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

Dot = tuple[float, float]


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

    def nearest(self, dot: Dot) -> Dot:
        """The one of its points that is nearest to a dot."""
        return (min(max(dot[0], self.left), self.right), min(max(dot[1], self.top), self.bottom))

    def distance(self, dot: Dot) -> float:
        """The distance from a dot."""
        return math.dist(self.nearest(dot), dot)

    def within(self, other: Box) -> bool:
        """Whether it lies in the other."""
        return (self.left >= other.left and self.right <= other.right
                and self.top >= other.top and self.bottom <= other.bottom)


#: A label keeps so far from the middle of its dot; and half of what a dot takes.
NEAR = 7.5
_DOT = 5.0
#: Of the boxes along a line.
_STEP = 6.0
#: How far a label may go further when there is no room.
_FURTHER = (0.0, 8.0, 16.0, 26.0, 38.0, 52.0, 70.0)
#: What counts as much as so many pixels of distance: a pixel that another dot is too near, and a
#: label below the line that leads to this one.
_UNCLEAR, _CROSSED = 3.0, 60.0
_WAYS = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1),
         (0.5, -1), (0.5, 1), (-0.5, -1), (-0.5, 1))


def _around(x: float, y: float, width: float, height: float) -> Iterator[Box]:
    """Where a label of this size may stand, the nearest first."""
    for further in _FURTHER:
        for across, down in _WAYS:
            gap = NEAR + further
            left = {1: x + gap, -1: x - gap - width, 0: x - width / 2,
                    0.5: x - width / 5, -0.5: x - width * 4 / 5}[across]
            top = {1: y + gap, -1: y - gap - height, 0: y - height / 2}[down]
            yield Box(left, top, left + width, top + height)


def along(line: Sequence[Dot]) -> list[Box]:
    """The space of a line through these places, as boxes that follow it."""
    found = []
    for (x, y), (to_x, to_y) in pairwise(line):
        steps = math.ceil(max(abs(to_x - x), abs(to_y - y)) / _STEP) or 1
        ends = [(x + (to_x - x) * i / steps, y + (to_y - y) * i / steps) for i in range(steps + 1)]
        found += [Box(min(a, c) - 1, min(b, d) - 1, max(a, c) + 1, max(b, d) + 1)
                  for (a, b), (c, d) in pairwise(ends)]
    return found


def place(dots: Sequence[Dot], sizes: Sequence[tuple[float, float]], inside: Box,
          taken: Sequence[Box] = ()) -> list[Box]:
    """A box for the label of each dot, such that none covers another, a dot, or the frame.

    Nor what is ``taken`` by other things, nor the line that leads from another dot to its label.
    Of those it is near its dot, and not as near to another. Where nothing is free, it is the first
    place inside.
    """
    squares = [*taken, *(Box(x - _DOT, y - _DOT, x + _DOT, y + _DOT) for x, y in dots)]
    placed: list[Box] = []
    leaders: list[Box] = []
    for dot, size in zip(dots, sizes, strict=True):
        around = list(_around(*dot, *size))
        found = [box for box in around if box.within(inside)]
        free = [box for box in found
                if not any(box.meets(other) for other in (*squares, *placed, *leaders))]
        others = [other for other in dots if other != dot]
        box = min(free, key=lambda one: _cost(one, dot, others, placed)) if free \
            else (found or around)[0]
        placed.append(box)
        leaders += leader(box, dot)
    return placed


def leader(box: Box, dot: Dot) -> list[Box]:
    """The line from a dot to a label that stands away from it; none to one beside it."""
    x, y = box.nearest(dot)
    return along([dot, (x, y)]) if max(abs(x - dot[0]), abs(y - dot[1])) > NEAR else []


def _cost(box: Box, dot: Dot, others: Sequence[Dot], placed: Sequence[Box]) -> float:
    """How much there is against a place: how far it is, and whose it looks like."""
    far = box.distance(dot)
    between = min((box.distance(other) for other in others), default=math.inf) - far
    crossed = any(part.meets(other) for part in leader(box, dot) for other in placed)
    return far + _UNCLEAR * max(0.0, NEAR - between) + (_CROSSED if crossed else 0.0)
