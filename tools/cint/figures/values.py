# SPDX-License-Identifier: GPL-2.0-or-later
"""Measured values, and the expressions over them that checks and plots are made of.

A figure's :class:`Data` has a point (numbers by name) for each run, cell and
seed. A cell is a workload, ``mixed``, or one of its jobs, ``mixed.sync``. An
:class:`Expr` is evaluated seed by seed, on a :class:`View` of one of them:

    value("mean_us", "adaptive", "sync") - value("mean_us", "default", "sync")
"""

from __future__ import annotations

import operator
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from cint.errors import CintError

#: Numbers by name: see :mod:`cint.figures.reading` for which there are.
Point = dict[str, float]
#: Counts that are 0 when nothing is said of them.
_COUNTS = ("reason.", "hint.")
#: Significant digits that are kept of a measured value.
_DIGITS = 6


@dataclass
class Data:
    """What a figure's runs gave: points by run and cell, a list with one for each seed.

    ``curves`` and ``timelines`` are there for figures that draw more than points.
    """

    cells: dict[str, dict[str, list[Point]]] = field(default_factory=dict)
    #: By run and cell: pairs of x and y.
    curves: dict[str, dict[str, list[list[float]]]] = field(default_factory=dict)
    #: By run: events of the device, [us, kind, text].
    timelines: dict[str, list[list[Any]]] = field(default_factory=dict)

    @property
    def seeds(self) -> int:
        """How many seeds every cell has."""
        return min((len(points) for run in self.cells.values() for points in run.values()),
                   default=0)

    def as_dict(self) -> dict[str, Any]:
        """As figures.json and docs/figures have it."""
        cells = {run: {cell: [{n: shortened(x) for n, x in p.items()} for p in points]
                       for cell, points in found.items()}
                 for run, found in self.cells.items()}
        return {"cells": cells, "curves": self.curves, "timelines": self.timelines}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Data:
        """What :meth:`as_dict` gave."""
        return cls(document["cells"], document["curves"], document["timelines"])


def shortened(number: float) -> float:
    """The number with the digits that are kept."""
    return float(f"{number:.{_DIGITS}g}")


@dataclass(frozen=True)
class View:
    """One seed of the data. ``renamed`` gives runs, or cells, the data of others: a control."""

    data: Data
    seed: int
    renamed: Mapping[str, str] = field(default_factory=dict)

    def number(self, name: str, run: str, cell: str) -> float:
        """One measured value; :class:`CintError` when the run has not got it."""
        source, cell = self.renamed.get(run, run), self.renamed.get(cell, cell)
        try:
            point = self.data.cells[source][cell][self.seed]
        except (KeyError, IndexError):
            raise CintError(f"no measurement of '{cell}' under '{source}'") from None
        if name in point:
            return point[name]
        if name.startswith(_COUNTS):
            return 0.0
        raise CintError(f"'{cell}' under '{source}' has no {name}")


@dataclass(frozen=True)
class Expr:
    """A number that is computed from a view; ``text`` says how, for a person."""

    of: Callable[[View], float]
    text: str

    def _with(self, other: Expr | float, sign: str,
              join: Callable[[float, float], float], swap: bool = False) -> Expr:
        there = other if isinstance(other, Expr) else constant(other)
        one, two = (there, self) if swap else (self, there)
        return Expr(lambda view: join(one.of(view), two.of(view)),
                    f"({one.text} {sign} {two.text})")

    def __add__(self, other: Expr | float) -> Expr:
        return self._with(other, "+", operator.add)

    def __sub__(self, other: Expr | float) -> Expr:
        return self._with(other, "-", operator.sub)

    def __mul__(self, other: Expr | float) -> Expr:
        return self._with(other, "x", operator.mul)

    def __truediv__(self, other: Expr | float) -> Expr:
        return self._with(other, "/", _divide)

    def __radd__(self, other: float) -> Expr:
        return self._with(other, "+", operator.add, swap=True)

    def __rtruediv__(self, other: float) -> Expr:
        return self._with(other, "/", _divide, swap=True)


def _divide(one: float, two: float) -> float:
    if not two:
        raise CintError("a ratio to nothing: the denominator was measured as 0")
    return one / two


def constant(number: float) -> Expr:
    """The same number in every view."""
    return Expr(lambda view: number, f"{number:g}")


def value(name: str, run: str, cell: str) -> Expr:
    """A measured value."""
    return Expr(lambda view: view.number(name, run, cell), f"{name}[{run}, {cell}]")


def against(name: str, run: str, base: str, cell: str) -> Expr:
    """A measured value, as a ratio to that of another run."""
    return value(name, run, cell) / value(name, base, cell)


@dataclass(frozen=True)
class Said:
    """Words with measured numbers: each pair of braces stands for the median of the seeds."""

    text: str
    numbers: Sequence[Expr]

    def of(self, data: Data) -> str:
        """The words."""
        return self.text.format(*(
            statistics.median(number.of(View(data, seed)) for seed in range(data.seeds))
            for number in self.numbers))


#: What a figure says in words.
Words = str | Said


def said(text: str, *numbers: Expr) -> Said:
    """Words in which measured numbers stand."""
    return Said(text, numbers)


def in_words(words: Words, data: Data) -> str:
    """As text."""
    return words if isinstance(words, str) else words.of(data)


def least(parts: Sequence[Expr]) -> Expr:
    """The smallest of several."""
    return Expr(lambda view: min(p.of(view) for p in parts),
                f"min({', '.join(p.text for p in parts)})")


def most(parts: Sequence[Expr]) -> Expr:
    """The largest of several."""
    return Expr(lambda view: max(p.of(view) for p in parts),
                f"max({', '.join(p.text for p in parts)})")


def least_step(parts: Sequence[Expr]) -> Expr:
    """The smallest ratio of one to the one before it: above 1 they rise."""
    steps = [b / a for a, b in pairwise(parts)]
    return Expr(least(steps).of, f"least step of {', '.join(p.text for p in parts)}")
