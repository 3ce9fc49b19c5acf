# SPDX-License-Identifier: GPL-2.0-or-later
"""A person's own program as a workload: a file that describes it, its job, and what it says.

The file is TOML (docs/apps.md). The program runs in a Debian of its own on the device's namespace,
and tells its numbers in lines of its output, ``cint-metric NAME VALUE UNIT``.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cint import paths, units
from cint.errors import CintError, UsageError
from cint.guest import agent, appdisk
from cint.guest.appdisk import Disk
from cint.measure import reported

#: What a file can say, and its type.
KEYS: dict[str, type] = {"title": str, "release": str, "packages": list, "filesystem": str,
                         "size": str, "memory": str, "copy": list, "programs": list,
                         "prepare": str, "run": str, "limit": str}
#: Programs of this project that a disk can have beside its files: `./cint build` makes them.
PROGRAMS = ("kvstore",)
_SIZES = {"": 1, "M": 1 << 20, "G": 1 << 30}
MIN_MEMORY_MIB, MAX_MEMORY_MIB = 256, 65536
_LIMITS = {"": 1, "s": 1, "min": 60}
MAX_LIMIT_S = 3600
#: The longest script: it goes to the guest with the plan.
MAX_SCRIPT = 64 << 10
_LINE = re.compile(r"^cint-metric(?:[ \t]+(.*))?$", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
MAX_UNIT = 16
_TIMES = {"ns", "us", "ms", "s", "min"}


@dataclass(frozen=True)
class App:
    """A program: the disk that it begins with, its commands, and the guest that it has.

    ``limit_s`` is how long it may run, in seconds of the guest's clock.
    """

    path: Path
    title: str
    disk: Disk
    run: str
    limit_s: int
    memory_mib: int
    #: What of it is run, where that is not what the file says: see :meth:`part`.
    part_name: str = ""

    def part(self, name: str, title: str, run: str, limit_s: int) -> App:
        """Other commands on the same disk, under a name of their own; a limit as `limit_s`."""
        return replace(self, title=title, run=run, limit_s=limit_s, part_name=name)

    @property
    def name(self) -> str:
        """Its name in tables: the file's, or its part's."""
        return self.part_name or re.sub(r"[^A-Za-z0-9.]+", "-", self.path.stem).strip("-") or "app"


@dataclass(frozen=True)
class Said:
    """A number that a program told, and its unit, which may be empty."""

    value: float
    unit: str

    def reported(self, k: float) -> Said:
        """The same in reported time, where its unit is one of time or of a rate."""
        if self.unit in _TIMES:
            return Said(reported.time(self.value, k), self.unit)
        if self.unit.endswith(("/s", "/min")):
            return Said(reported.rate(self.value, k), self.unit)
        return self


# ---- the file -----------------------------------------------------------

def load(name: str | Path) -> App:
    """Read a description; :class:`UsageError` names what is wrong and what is valid."""
    path = Path(name)
    what = f"--app {path}"
    text = paths.text_of(path, what)
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise UsageError(f"{what}: not TOML: {problem}") from None
    _check_keys(what, found)
    memory = _size(what, "memory", found.get("memory", "1G")) >> 20
    if not MIN_MEMORY_MIB <= memory <= MAX_MEMORY_MIB:
        raise UsageError(f"{what}: memory = '{found['memory']}': from {MIN_MEMORY_MIB}M to "
                         f"{MAX_MEMORY_MIB >> 10}G")
    disk = Disk(what, found.get("release", appdisk.RELEASES[0]), tuple(found.get("packages", ())),
                found.get("filesystem", "ext4"),
                _size(what, "size", found.get("size", "1G")) & ~0xfff,
                (*(path.parent / name for name in found.get("copy", ())),
                 *_programs(what, found.get("programs", ()))),
                found.get("prepare", ""), max(memory, 1024))
    appdisk.check(disk)
    title = found.get("title", "").strip() or path.stem
    return App(path, title, disk, found["run"], _limit(what, found), memory)


def _check_keys(what: str, found: Mapping[str, Any]) -> None:
    for name, value in found.items():
        if name not in KEYS:
            raise UsageError(f"{what}: '{name}'{units.suggestion(name, KEYS)}; valid: "
                             f"{', '.join(KEYS)}")
        if not isinstance(value, KEYS[name]):
            kind = "a list of strings" if KEYS[name] is list else "a string"
            raise UsageError(f"{what}: {name} is not {kind}")
        if isinstance(value, list) and not all(isinstance(one, str) for one in value):
            raise UsageError(f"{what}: {name} is not a list of strings")
    if not found.get("run", "").strip():
        raise UsageError(f"{what}: 'run' is missing: the commands that are measured")
    for name, value in found.items():
        if "\0" in "".join(value):
            raise UsageError(f"{what}: {name} has a character of number 0")
    if not found.get("title", "").isprintable():
        raise UsageError(f"{what}: title is not one line of text")
    for name in ("prepare", "run"):
        if len(found.get(name, "").encode()) > MAX_SCRIPT:
            raise UsageError(f"{what}: {name} is longer than {MAX_SCRIPT >> 10} KiB; put it into a "
                             "file, and name that in 'copy'")


def _programs(what: str, names: Sequence[str]) -> Iterator[Path]:
    for name in names:
        if name not in PROGRAMS:
            raise UsageError(f"{what}: programs: '{name}'{units.suggestion(name, PROGRAMS)}; "
                             f"valid: {', '.join(PROGRAMS)}")
        yield paths.GUEST / name


def _size(what: str, name: str, text: str) -> int:
    size = units.quantity(text, _SIZES)
    if size is None:
        raise UsageError(f"{what}: {name} = '{text}': a number of bytes, or with M or G, such as "
                         "'2G'")
    return int(size)


def _limit(what: str, found: Mapping[str, Any]) -> int:
    seconds = units.quantity(found.get("limit", "60s"), _LIMITS)
    if seconds is None or not 1 <= seconds <= MAX_LIMIT_S:
        raise UsageError(f"{what}: limit = '{found['limit']}': the longest that it may run, from "
                         f"1s to {MAX_LIMIT_S // 60}min of the guest's clock")
    return math.ceil(seconds)


# ---- what it said -------------------------------------------------------

def parse_said(text: str, owner: str) -> dict[str, Said]:
    """The numbers in a program's output, by name, in its order; the last one of a name counts.

    CintError names a line that is none, a program that said nothing, and an output that was cut.
    """
    if len(text.encode("utf-8", "replace")) >= agent.OUTPUT_LIMIT:
        raise CintError(f"{owner}: it printed more than {agent.OUTPUT_LIMIT >> 10} KiB, of which "
                        "the beginning is lost", hint="have 'run' send what is no number to a "
                        "file, or to standard error")
    found: dict[str, Said] = {}
    for line in _LINE.finditer(text):
        name, said = _said((line[1] or "").split(), f"{owner}: '{_shown(line[0])}'")
        found[name] = said
    if not found:
        raise CintError(f"{owner}: the program told no number",
                        hint="a line of its output: cint-metric NAME VALUE UNIT")
    return found


def _shown(line: str) -> str:
    """A program's line, as a message can have it."""
    return "".join(c if c.isprintable() else "?" for c in line[:80]) + "..." * (len(line) > 80)


def _said(words: list[str], where: str) -> tuple[str, Said]:
    if not 2 <= len(words) <= 3 or not _NAME.fullmatch(words[0]):
        raise CintError(f"{where}: it is cint-metric NAME VALUE UNIT, such as "
                        "cint-metric commit 1234 1/s")
    unit = words[2] if len(words) == 3 else ""
    if len(unit) > MAX_UNIT or not unit.isprintable():
        raise CintError(f"{where}: a unit is at most {MAX_UNIT} characters that can be printed")
    return words[0], Said(_number(words[1], where), unit)


def _number(word: str, where: str) -> float:
    if not _NUMBER.fullmatch(word) or not math.isfinite(float(word)):
        raise CintError(f"{where}: {_shown(word)} is no number")
    return float(word)


def check_units(told: Iterable[Mapping[str, Said]], owner: str) -> None:
    """Refuse, by CintError, a number in several units: medians and ratios would say nothing."""
    units: dict[str, str] = {}
    for name, said in (pair for one in told for pair in one.items()):
        if units.setdefault(name, said.unit) != said.unit:
            both = " and ".join(f"'{unit}'" for unit in sorted((units[name], said.unit)))
            raise CintError(f"{owner}: '{name}' was told in units {both}",
                            hint="one unit for a number, in all runs")
