# SPDX-License-Identifier: GPL-2.0-or-later
"""figures.json and docs/figures/ID.json, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NotRequired, TypedDict

#: Of a run, a cell or one seed of it: its numbers by name.
Point = dict[str, float]


class Deviation(TypedDict):
    """The bounds within which a check fails that is known to fail, and why it does."""

    bounds: list[float]
    reason: str


class Check(TypedDict):
    """The result of a check; a bound that there is none of is null."""

    name: str
    unit: str
    paper: float | str | None
    measured: float
    seeds: list[float]
    bounds: list[float | None]
    verdict: str
    remark: str
    formula: str
    control: str
    beyond: NotRequired[int]
    deviation: NotRequired[Deviation]
    #: Where a claim is of several numbers: what came of each.
    cells: NotRequired[list[Check]]


def singly(found: Sequence[Check]) -> Iterator[Check]:
    """The checks of one number: of a claim of several those of each."""
    for check in found:
        yield from check.get("cells", [check])


def shown(found: Sequence[Check]) -> Iterator[Check]:
    """All of them: a claim of several numbers, then each of these."""
    for check in found:
        yield check
        yield from check.get("cells", [])


class Measured(TypedDict):
    """The numbers of a figure: see values.Data."""

    cells: dict[str, dict[str, list[Point]]]
    curves: dict[str, dict[str, list[list[float]]]]
    #: [us, kind, text]
    timelines: dict[str, list[list[Any]]]


class Facts(TypedDict):
    """The versions and the machine that figures were measured with."""

    commit: str
    conditions: str


class Entry(TypedDict):
    """One figure. What is stored in the tree has the facts, too."""

    id: str
    set: str
    title: str
    source: str
    slice_cpus: int
    verdict: str
    seeds: int
    #: The keys of its runs by name.
    runs: Mapping[str, str]
    #: What these were made of: by what a file is for the first digits of SHA-256 of each.
    files: NotRequired[Mapping[str, list[str]]]
    checks: list[Check]
    problem: str
    data: Measured
    commit: NotRequired[str]
    conditions: NotRequired[str]


class Undone(TypedDict):
    """A figure of the papers that is not here."""

    id: str
    set: str
    title: str
    reason: str


class Document(TypedDict):
    """figures.json."""

    figures: list[Entry]
    #: How many checks have which verdict.
    summary: Mapping[str, int]
    #: The same, with each number of a claim of several for itself.
    numbers: Mapping[str, int]
    not_done: list[Undone]
    quick: bool
    commit: str
    conditions: str
    wall_s: NotRequired[float]
