# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures and what they are to be."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Shortfall:
    """An aim that is known to be missed: what is found at worst instead, and why."""

    worst: float
    reason: str


@dataclass(frozen=True)
class Aimed:
    """A figure and what it is to be at the most, or at the least."""

    what: str
    value: float
    aim: float
    unit: str
    at_least: bool = False
    known: Shortfall | None = None

    def _reaches(self, bound: float, slack: float = 1) -> bool:
        if self.at_least:
            return self.value * slack >= bound
        return self.value <= bound * slack

    def within(self, slack: float) -> bool:
        """Whether the aim is met but for a factor; or the worst known, where that is further."""
        if self.known is None or replace(self, value=self.known.worst)._reaches(self.aim, slack):
            return self._reaches(self.aim, slack)
        return self._reaches(self.known.worst, slack)

    @property
    def passed(self) -> bool:
        """Whether the aim is met."""
        return self._reaches(self.aim)

    @property
    def expected(self) -> bool:
        """Whether the aim is met, or missed by no more than is known."""
        return self.passed or (self.known is not None and self._reaches(self.known.worst))

    def __str__(self) -> str:
        word = "at least" if self.at_least else "at most"
        return f"{self.what}: {self.value:.2f} {self.unit}, aim {word} {self.aim:g}"


def _shortfall_line(check: Aimed, known: Shortfall) -> str:
    if check.passed:
        return f"MET AFTER ALL {check}; no longer to be expected: {known.reason}"
    word = "short as known" if check.expected else "MISSED by more than is known"
    return f"{word}: {check}, known {known.worst:g} at worst: {known.reason}"


def verdict(checks: Sequence[Aimed]) -> Iterator[str]:
    """One line for each aim that is missed, known or not, and how many are met."""
    for check in checks:
        if check.known is not None:
            yield _shortfall_line(check, check.known)
        elif not check.passed:
            yield f"MISSED {check}"
    short = sum(check.expected and not check.passed for check in checks)
    known = f", {short} short as known" if short else ""
    yield f"{sum(check.passed for check in checks)} of {len(checks)} aims met{known}"
