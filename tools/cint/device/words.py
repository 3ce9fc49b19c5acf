# SPDX-License-Identifier: GPL-2.0-or-later
"""The policy language: parameters as a person types them, their units and ranges.

One language for every verb that takes a policy; docs/policies.md has it. cint-replay's parser
(replay/words.c) reads the same one, and tests/replay runs the same words through both. No rule
stands in either: what names a policy or a parameter is a line of the lists in coalesce/, or of
replay/word-list.h.

A time is a number with a unit. A parameter that has the name of its device property also takes
the property's own number, without a unit: ns, but ms for `epoch`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from cint import paths, units
from cint.device import params
from cint.errors import UsageError

Value = int | str


@dataclass(frozen=True)
class Parameter:
    """A word that may be typed after a policy's name, and the device property that it sets.

    ``values`` are those of an enumeration. Numbers run from ``low`` to ``high`` in the property's
    own unit: ``ns`` or ``ms`` of a time, else "" or the text that follows the number.
    """

    word: str
    prop: str
    values: tuple[str, ...] = ()
    low: int = 0
    high: int = 0
    unit: str = ""

    @property
    def is_time(self) -> bool:
        """Whether the value is a time."""
        return self.unit in units.NS_PER

    @property
    def bare(self) -> bool:
        """Whether a number without a unit is taken, as the property takes it."""
        return self.prop == f"cint.{self.word}"

    def range(self) -> str:
        """The valid values."""
        if self.values:
            return f"{', '.join(self.values[:-1])} or {self.values[-1]}"
        if self.is_time:
            return f"{self.shown(self.low)} to {self.shown(self.high)}"
        return f"{self.low} to {self.high}{self.unit}"

    def shown(self, value: float) -> str:
        """A value in the property's unit, as a person would type it."""
        if not self.is_time:
            return f"{value:g}"
        return units.format_time(value * units.NS_PER[self.unit]) if value else "0"

    def parse(self, text: str, owner: str) -> Value:
        """The value; raise :class:`UsageError` naming what is valid."""
        if self.values:
            found: Value | None = text if text in self.values else None
        else:
            found = self._number(text)
        if found is None:
            raise UsageError(f"{owner}: {self.word}={text}: expected {self._expected()}"
                             f"{self._meant(text)}{units.suggestion(text, self.values)}")
        return found

    def _meant(self, text: str) -> str:
        """What who typed a time so may have meant."""
        if self.is_time and text == "best":  # a sweep, and no value
            return f"; {self.word}=best is for ./cint compare"
        if self.is_time and text.isdigit() and not self.bare:
            return f"; for example {self.word}={text}us"
        return ""

    def _number(self, text: str) -> int | None:
        if not self.is_time or (self.bare and text.isdigit()):
            return units.whole(text, self.low, self.high)
        ns = units.quantity(text, units.NS_PER)
        if ns is None:
            return None
        value, rest = divmod(round(ns), units.NS_PER[self.unit])
        return value if not rest and self.low <= value <= self.high else None

    def _expected(self) -> str:
        if self.values:
            return self.range()
        if not self.is_time:
            return f"a number from {self.range()}"
        step = "whole milliseconds, " if self.unit == "ms" else ""
        bare = f" (without: {self.unit})" if self.bare else ""
        return f"a time, {step}{self.range()}, with ns, us, ms or s{bare}"


def as_markdown() -> str:
    """The words as a table (docs/policies.md has it)."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for kind, table in PARAMETERS.items():
        for p in table.values():
            rows.setdefault((p.word, p.prop, p.range()), []).append(kind)
    lines = ["| typed | sets | valid | under |", "|---|---|---|---|"]
    for (word, prop, valid), kinds in rows.items():
        under = "any policy" if kinds == [k for k in PARAMETERS if k != "stock"] else \
            ", ".join(f"`{kind}`" for kind in kinds)
        lines.append(f"| `{word}` | `{prop}` | {valid} | {under} |")
    return "\n".join(lines) + "\n"


# ---- the table ----------------------------------------------------------

#: What follows a number.
_UNITS = {"NS": "ns", "MS": "ms", "PER_S": " a second", "NONE": ""}


def _parameter(param: params.Param) -> Parameter:
    """What is typed of a line of the device's list."""
    if param.values:
        values = ("on", "off") if param.kind == "BOOL" else param.values
        return Parameter(param.name, param.prop, values)
    return Parameter(param.name, param.prop, low=param.low, high=param.high,
                     unit=_UNITS[param.unit])


_WORDS = (paths.REPLAY_SRC / "word-list.h").read_text("utf-8")


def lines_of(kind: str) -> list[list[str]]:
    """The arguments of each line of a kind in replay/word-list.h, which cint-replay compiles."""
    found = re.findall(rf"^{kind}\((.*)\)$", _WORDS, re.MULTILINE)
    return [[word.strip(' "') for word in line.split(",")] for line in found]


_LINE = re.compile(r'^POLICY\("([\w-]+)",\s*\w+,\s*((?:"[^"]*"\s*)+)\)', re.MULTILINE)


def read_policies(text: str) -> dict[str, tuple[str, ...]]:
    """The policies of coalesce/policy-list.h, in order, with the parameters that each reads."""
    return {name: tuple("".join(re.findall('"([^"]*)"', reads)).split())
            for name, reads in _LINE.findall(text)}


def _words_of(kind: str, reads: Iterable[str]) -> tuple[Parameter, ...]:
    short = {param: word for policy, word, param in lines_of("SHORT_WORD") if policy == kind}
    found: list[Parameter] = []
    for prop in reads:
        if prop not in _OWN:
            continue
        if prop in short:
            found.append(replace(_OWN[prop], word=short[prop]))
        found.append(_OWN[prop])
    return (*found, *(p for name, p in _ALL.items() if name not in _OWN))


#: The device's policies, in the order of their numbers, and what each reads of its own.
POLICIES = read_policies((paths.OVERLAY_NVME / "coalesce/policy-list.h").read_text("utf-8"))
_ALL = {name: _parameter(param) for name, param in params.ALL.items()}
#: What goes on beside every policy: its value as a paper has it, and what listing it means.
BESIDE = {name: (params.ALL[name].value(int(value)), listed)
          for name, value, listed in lines_of("BESIDE")}
#: What only some policies read.
_OWN = {name: _ALL[name] for reads in POLICIES.values() for name in reads if name not in BESIDE}
_LISTS: dict[str, tuple[Parameter, ...]] = {
    "stock": (), **{kind: _words_of(kind, reads) for kind, reads in POLICIES.items()}}
#: By policy and word.
PARAMETERS: dict[str, dict[str, Parameter]] = {
    kind: {p.word: p for p in found} for kind, found in _LISTS.items()}
#: By device property.
BY_PROPERTY: dict[str, Parameter] = {
    p.prop: p for found in _LISTS.values() for p in found if p.bare}


def parse_settings(text: str, kind: str) -> dict[str, Value]:
    """The properties that ``k=v,k=v`` means under the policy ``kind``; UsageError of others."""
    known = PARAMETERS[kind]
    values: dict[str, Value] = {}
    for item in text.split(","):
        word, equals, value = item.partition("=")
        if word not in known:
            raise UsageError(f"{kind}: unknown parameter '{word}'{units.suggestion(word, known)}; "
                             f"{listing(known.values())}")
        if not equals:
            raise UsageError(f"{kind}: {word} needs a value: {word}={known[word].range()}")
        values[known[word].prop] = known[word].parse(value, kind)
    return values


def listing(known: Iterable[Parameter]) -> str:
    """All words with their ranges."""
    words = [f"{p.word} ({p.range()})" for p in known]
    return f"valid: {', '.join(words) or 'none'}"
