# SPDX-License-Identifier: GPL-2.0-or-later
"""Times, counts and lists as a person types them, in options and in parameters alike.

A time is a number with a unit (``6us``, ``1.5ms``), a count has digits only.
Errors name what was typed, as it was typed, and what is valid.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TypeVar

from cint.errors import UsageError

NS_PER = {"ns": 1, "us": 1000, "ms": 1_000_000, "s": 1_000_000_000}
MAX_TIME_NS = 10 * NS_PER["s"]


class Named(Protocol):
    """A thing that a word of an option stands for."""

    @property
    def name(self) -> str:
        """The word for it in messages."""


OneOf = TypeVar("OneOf", bound=Named)


def quantity(text: str, factors: Mapping[str, float]) -> float | None:
    """``text``, a number and one of the units in ``factors``, in the basic unit; else None.

    The unit may be left out where ``factors`` has an empty one.
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([a-zA-Z]*)", text)
    if not match or match[2] not in factors:
        return None
    return float(match[1]) * factors[match[2]]


def suggestion(text: str, known: Iterable[str]) -> str:
    """``; did you mean X?``, or nothing where no known word is like it."""
    near = difflib.get_close_matches(text, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def whole(text: str, low: int, high: int) -> int | None:
    """``text``, digits only, if it is a number from ``low`` to ``high``; else None."""
    if not re.fullmatch(r"[0-9]{1,18}", text) or not low <= int(text) <= high:
        return None
    return int(text)


def _typed(what: str, text: str) -> str:
    """Options are typed with a space, parameters with an equals sign, in an option too."""
    is_option = what.startswith("-") and " " not in what
    return f"{what} {text}" if is_option else f"{what}={text}"


def parse_time(text: str, what: str, default_unit: str | None = None) -> int:
    """A time in ns; raise :class:`UsageError` naming ``what``."""
    factors: dict[str, float] = dict(NS_PER)
    if default_unit is not None:
        factors[""] = NS_PER[default_unit]
    ns = quantity(text, factors)
    if ns is None:
        raise UsageError(f"{_typed(what, text)}: not a time; give a number and a unit "
                         "(ns, us, ms or s), for example 6us")
    if ns > MAX_TIME_NS:
        raise UsageError(f"{_typed(what, text)}: must be at most {format_time(MAX_TIME_NS)}")
    return round(ns)


def format_time(ns: float) -> str:
    """Nanoseconds as a short text that :func:`parse_time` reads back."""
    for unit in ("s", "ms", "us"):
        if ns >= NS_PER[unit]:
            return f"{ns / NS_PER[unit]:.6g}{unit}"
    return f"{ns:.6g}ns"


def parse_count(text: str, what: str, low: int, high: int) -> int:
    """A number from ``low`` to ``high``; raise :class:`UsageError` naming ``what``."""
    found = whole(text, low, high)
    if found is None:
        raise UsageError(f"{_typed(what, text)}: must be a number from {low} to {high}")
    return found


def count(low: int, high: int, what: str) -> Callable[[str], int]:
    """A parser for argparse: numbers from ``low`` to ``high`` for the option ``what``."""
    return lambda text: parse_count(text, what, low, high)


def each_once(parse: Callable[[str], OneOf], option: str) -> Callable[[str], list[OneOf]]:
    """A parser for argparse: words separated by commas; what is given twice is refused."""
    def parse_all(text: str) -> list[OneOf]:
        found = [parse(word.strip()) for word in text.split(",")]
        for one in found:
            if found.count(one) > 1:
                raise UsageError(f"{option}: '{one.name}' is given twice")
        return found

    return parse_all
