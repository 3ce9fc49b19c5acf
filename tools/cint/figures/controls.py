# SPDX-License-Identifier: GPL-2.0-or-later
"""The controls of checks: every check has one, under which it must fail.

Two runs exchanged, or a run, a job or one number taken for another. A check that cannot fail says
nothing. Where no exchange of a figure's runs makes it fail the wanted value is wrong by a factor:
the tests name these, and why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cint.figures.values import Expr, Place, Value


@dataclass(frozen=True)
class Control:
    """A change that must make the check fail: data of other runs, or bounds times a factor."""

    renamed: Mapping[str, str] = field(default_factory=dict)
    moved: Mapping[Place, Place] = field(default_factory=dict)
    factor: float = 1.0
    text: str = ""


def swap(one: str, two: str) -> Control:
    """Two runs' outcomes exchanged."""
    return Control({one: two, two: one}, text=f"{one} and {two} exchanged")


def instead(run: str, other: str) -> Control:
    """A run's outcome replaced by another's: that without the guest's hints, say. Also a job's."""
    return Control({run: other}, text=f"{other} in place of {run}")


def mistaken(one: Expr, other: Expr) -> Control:
    """One measured number replaced by another: of the same run's job at another depth, say."""
    assert isinstance(one, Value) and isinstance(other, Value)
    return Control(moved={one.place: other.place}, text=f"{other.text} in place of {one.text}")


def together(*controls: Control) -> Control:
    """Several exchanges at once."""
    return Control({old: new for one in controls for old, new in one.renamed.items()},
                   {old: new for one in controls for old, new in one.moved.items()},
                   text=", ".join(one.text for one in controls))


def wrong(factor: float) -> Control:
    """The paper's value, and so the bounds, wrong by a factor."""
    return Control(factor=factor, text=f"the wanted value times {factor:g}")


def exchanged(measure: Expr) -> Control:
    """The two runs that a number is made of exchanged: the control of a check that names none."""
    one, two = measure.runs
    return swap(one, two)
