# SPDX-License-Identifier: GPL-2.0-or-later
"""The controls of checks: every check has one, under which it must fail.

Two runs exchanged, a run taken for another, or the paper's value wrong by a factor. A check that
cannot fail says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cint.figures.values import Expr


@dataclass(frozen=True)
class Control:
    """A change that must make the check fail: data of other runs, or bounds times a factor."""

    renamed: Mapping[str, str] = field(default_factory=dict)
    factor: float = 1.0
    text: str = ""


def swap(one: str, two: str) -> Control:
    """Two runs' outcomes exchanged."""
    return Control({one: two, two: one}, text=f"{one} and {two} exchanged")


def instead(run: str, other: str) -> Control:
    """A run's outcome replaced by another's: that without the guest's hints, say. Also a job's."""
    return Control({run: other}, text=f"{other} in place of {run}")


def wrong(factor: float) -> Control:
    """The paper's value, and so the bounds, wrong by a factor."""
    return Control(factor=factor, text=f"the wanted value times {factor:g}")


def exchanged(measure: Expr) -> Control:
    """The two runs that a number is made of exchanged: the control of a check that names none."""
    one, two = measure.runs
    return swap(one, two)
