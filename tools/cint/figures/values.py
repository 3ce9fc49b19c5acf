# SPDX-License-Identifier: GPL-2.0-or-later
"""Measured values, and the expressions over them that checks and plots are made of.

A figure's :class:`Data` has a point (numbers by name) for each run, cell and
seed. A cell is a workload, ``mixed``, or one of its jobs, ``mixed.sync``. An
:class:`Expr` is evaluated seed by seed, on a :class:`View` of one of them:

    value("mean_us", "adaptive", "sync") - value("mean_us", "default", "sync")
"""

from __future__ import annotations

import math
import re
import statistics
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from cint.errors import CintError
from cint.figures import records

#: Numbers by name: see :mod:`cint.figures.reading` for which there are.
Point = dict[str, float]
#: Where a number is: its name, run and cell.
Place = tuple[str, str, str]
#: Counts that are 0 when nothing is said of them.
_COUNTS = ("reason.", "hint.")
#: Of a count, for products that are whole numbers but for the last bit.
_ROUNDED = 1e-6
#: Significant digits that are kept of a measured value.
_DIGITS = 6


@dataclass
class Data:
    """The data of a figure's runs: points by run and cell, a list with one for each seed.

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

    def as_dict(self) -> records.Measured:
        """The data as figures.json and docs/figures have it."""
        cells = {run: {cell: [{n: shortened(x) for n, x in p.items()} for p in points]
                       for cell, points in found.items()}
                 for run, found in self.cells.items()}
        return {"cells": cells, "curves": self.curves, "timelines": self.timelines}

    @classmethod
    def from_dict(cls, document: records.Measured) -> Data:
        """The data of a dict of :meth:`as_dict`."""
        return cls(document["cells"], document["curves"], document["timelines"])


def shortened(number: float) -> float:
    """The number with the digits that are kept."""
    return float(f"{number:.{_DIGITS}g}")


@dataclass(frozen=True)
class View:
    """One seed of the data. ``renamed`` gives runs, or cells, the data of others, and ``moved`` one
    number that of another place: a control.
    """

    data: Data
    seed: int
    renamed: Mapping[str, str] = field(default_factory=dict)
    moved: Mapping[Place, Place] = field(default_factory=dict)

    def place(self, name: str, run: str, cell: str) -> Place:
        """Where a number is taken from."""
        as_it_is = name, self.renamed.get(run, run), self.renamed.get(cell, cell)
        return self.moved.get((name, run, cell), as_it_is)

    def number(self, name: str, run: str, cell: str) -> float:
        """One measured value; :class:`CintError` when the run lacks it."""
        name, source, cell = self.place(name, run, cell)
        try:
            point = self.data.cells[source][cell][self.seed]
        except (KeyError, IndexError):
            raise CintError(f"no measurement of '{cell}' under '{source}'") from None
        if name in point:
            return point[name]
        if name.startswith(_COUNTS):
            return 0.0
        raise CintError(f"'{cell}' under '{source}' has no {name}")


class Expr(ABC):
    """A number that is computed from a view: a tree of measured values."""

    #: What it is computed from.
    parts: tuple[Expr, ...] = ()

    @abstractmethod
    def of(self, view: View) -> float:
        """The number; :class:`CintError` where it was not measured."""

    @property
    @abstractmethod
    def text(self) -> str:
        """How it is computed, for a person."""

    @property
    def values(self) -> list[Value]:
        """The measured values in it, in the order of the text."""
        return [found for part in self.parts for found in part.values]

    @property
    def runs(self) -> tuple[str, ...]:
        """The runs that it is about, in the same order."""
        return tuple(dict.fromkeys(found.run for found in self.values))

    @property
    def percentiles(self) -> list[Value]:
        """The measured values in it that are percentiles."""
        return [found for found in self.values if found.rank is not None]

    def of_run(self, old: str, new: str) -> Expr:
        """The same with the run ``new`` in place of ``old``."""
        return self

    def __add__(self, other: Expr | float) -> Expr:
        return Computed("+", (self, _expr(other)))

    def __sub__(self, other: Expr | float) -> Expr:
        return Computed("-", (self, _expr(other)))

    def __mul__(self, other: Expr | float) -> Expr:
        return Computed("x", (self, _expr(other)))

    def __truediv__(self, other: Expr | float) -> Expr:
        return Computed("/", (self, _expr(other)))

    def __radd__(self, other: float) -> Expr:
        return Computed("+", (_expr(other), self))

    def __rsub__(self, other: float) -> Expr:
        return Computed("-", (_expr(other), self))

    def __rtruediv__(self, other: float) -> Expr:
        return Computed("/", (_expr(other), self))


def _divide(one: float, two: float) -> float:
    if not two:
        raise CintError("a ratio to nothing: the denominator was measured as 0")
    return one / two


def _expr(number: Expr | float) -> Expr:
    return number if isinstance(number, Expr) else Constant(number)


@dataclass(frozen=True)
class Constant(Expr):
    """The same number in every view."""

    number: float

    def of(self, view: View) -> float:
        return self.number

    @property
    def text(self) -> str:
        return f"{self.number:g}"


@dataclass(frozen=True)
class Value(Expr):
    """A measured value: what :mod:`cint.figures.reading` calls ``name``, of a run and cell."""

    name: str
    run: str
    cell: str

    def of(self, view: View) -> float:
        return view.number(self.name, self.run, self.cell)

    @property
    def text(self) -> str:
        return f"{self.name}[{self.run}, {self.cell}]"

    @property
    def values(self) -> list[Value]:
        return [self]

    def of_run(self, old: str, new: str) -> Expr:
        return replace(self, run=new) if self.run == old else self

    @property
    def place(self) -> Place:
        """Where it is."""
        return self.name, self.run, self.cell

    @property
    def rank(self) -> float | None:
        """The rank of a percentile: p99_us is of 99; None of all else."""
        found = re.search(r"(?:^|_)p(\d\d)(\d*)_us$", self.name)
        return float(f"{found[1]}.{found[2] or 0}") if found else None

    def beyond(self, data: Data) -> int:
        """How many I/Os of all seeds are beyond a percentile, on its shorter side: what it goes by.

        Seeds that have the same percentile, with as many I/Os beyond it, count once: what repeats
        itself in virtual time, on a medium that does not spread, is one sample however often it
        was taken.
        """
        assert self.rank is not None
        share = min(self.rank, 100 - self.rank) / 100
        samples = {(self.of(view), int(ios * share + _ROUNDED)): ios
                   for view, ios in self._counts(data)}
        return int(sum(samples.values()) * share + _ROUNDED)

    def _counts(self, data: Data) -> list[tuple[View, float]]:
        """Each seed, and how many I/Os it has."""
        views = [View(data, seed) for seed in range(data.seeds)]
        return [(view, view.number("ios", self.run, self.cell)) for view in views]


def _least_step(numbers: Sequence[float]) -> float:
    return min(_divide(after, before) for before, after in pairwise(numbers))


#: How numbers are computed from others, and the words for it.
_HOW: Mapping[str, tuple[Callable[[Sequence[float]], float], str]] = {
    "+": (sum, "({} + {})"), "-": (lambda pair: pair[0] - pair[1], "({} - {})"),
    "x": (math.prod, "({} x {})"), "/": (lambda pair: _divide(*pair), "({} / {})"),
    "min": (min, "min({})"), "max": (max, "max({})"), "step": (_least_step, "least step of {}")}


@dataclass(frozen=True)
class Computed(Expr):
    """A number of others: two joined by an arithmetic sign, or one of several."""

    how: str
    parts: tuple[Expr, ...]

    def of(self, view: View) -> float:
        return _HOW[self.how][0]([part.of(view) for part in self.parts])

    @property
    def text(self) -> str:
        form, texts = _HOW[self.how][1], [part.text for part in self.parts]
        return form.format(*texts) if form.count("{}") == 2 else form.format(", ".join(texts))

    def of_run(self, old: str, new: str) -> Expr:
        return replace(self, parts=tuple(part.of_run(old, new) for part in self.parts))


@dataclass(frozen=True)
class Holding(Expr):
    """How many of several numbers are within the bounds of each."""

    parts: tuple[Expr, ...]
    bounds: tuple[tuple[float, float], ...] = ()

    def of(self, view: View) -> float:
        return float(sum(low <= part.of(view) <= high for part, (low, high)
                         in zip(self.parts, self.bounds, strict=True)))

    @property
    def text(self) -> str:
        return f"how many of the {len(self.parts)} below are within their own bounds"

    def of_run(self, old: str, new: str) -> Expr:
        return replace(self, parts=tuple(part.of_run(old, new) for part in self.parts))


@dataclass(frozen=True)
class OfBest(Expr):
    """One of several numbers: that of the highest mark, of which there are as many.

    With each seed anew. Parts are the marks and then the numbers.
    """

    parts: tuple[Expr, ...]

    @property
    def _halves(self) -> tuple[Sequence[Expr], Sequence[Expr]]:
        half = len(self.parts) // 2
        return self.parts[:half], self.parts[half:]

    def of(self, view: View) -> float:
        marks, numbers = self._halves
        found = [mark.of(view) for mark in marks]
        return numbers[found.index(max(found))].of(view)

    @property
    def text(self) -> str:
        marks, numbers = (", ".join(part.text for part in half) for half in self._halves)
        return f"that of ({numbers}) with the most of ({marks})"

    def of_run(self, old: str, new: str) -> Expr:
        return replace(self, parts=tuple(part.of_run(old, new) for part in self.parts))


def value(name: str, run: str, cell: str) -> Expr:
    """A measured value."""
    return Value(name, run, cell)


def against(name: str, run: str, base: str, cell: str) -> Expr:
    """A measured value, as a ratio to that of another run."""
    return value(name, run, cell) / value(name, base, cell)


@dataclass(frozen=True)
class Cell:
    """The values of a cell: ``of = Cell("mixed")``, and ``of("iops", "cint")`` is one of them.

    ``prefix`` is what the names of its runs begin with, ``base`` the run that ratios are to.
    """

    name: str
    prefix: str = ""
    base: str = ""

    def __call__(self, name: str, run: str) -> Expr:
        """A value of a run."""
        return value(name, self.prefix + run, self.name)

    def ratio(self, name: str, run: str, base: str = "") -> Expr:
        """A value of a run as a ratio to that of another, by default of the base."""
        return self(name, run) / self(name, base or self.base)


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
    """The words as text."""
    return words if isinstance(words, str) else words.of(data)


def least(parts: Sequence[Expr]) -> Expr:
    """The smallest of several."""
    return Computed("min", tuple(parts))


def most(parts: Sequence[Expr]) -> Expr:
    """The largest of several."""
    return Computed("max", tuple(parts))


def least_step(parts: Sequence[Expr]) -> Expr:
    """The smallest ratio of one to the one before it: above 1 they rise."""
    return Computed("step", tuple(parts))


def of_best(marks: Sequence[Expr], numbers: Sequence[Expr]) -> Expr:
    """The number in the place of the highest mark: the latency of who has most reads, say."""
    return OfBest((*marks, *numbers))
