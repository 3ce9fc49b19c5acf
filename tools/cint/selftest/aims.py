# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures and what they are to be."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """A figure and what it is to be at the most, or at the least."""

    what: str
    value: float
    aim: float
    unit: str
    at_least: bool = False

    def within(self, slack: float) -> bool:
        """Whether the aim is met but for a factor."""
        if self.at_least:
            return self.value * slack >= self.aim
        return self.value <= self.aim * slack

    @property
    def passed(self) -> bool:
        """Whether the aim is met."""
        return self.within(1)

    def __str__(self) -> str:
        word = "at least" if self.at_least else "at most"
        return f"{self.what}: {self.value:.2f} {self.unit}, aim {word} {self.aim:g}"


def verdict(checks: Sequence[Check]) -> Iterator[str]:
    """One line for each aim that is missed, and how many are met."""
    missed = [check for check in checks if not check.passed]
    for check in missed:
        yield f"MISSED {check}"
    yield f"{len(checks) - len(missed)} of {len(checks)} aims met"
