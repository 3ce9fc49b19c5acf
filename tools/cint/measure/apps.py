# SPDX-License-Identifier: GPL-2.0-or-later
"""A person's own program as a workload: a file that describes it, its job, and what it says.

The file is TOML (docs/apps.md). The program runs in a Debian of its own on the device's namespace,
and tells its numbers in lines of its output, ``cint-metric NAME VALUE UNIT``.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cint import paths, units
from cint.device import scale
from cint.errors import CintError, UsageError
from cint.guest import appdisk
from cint.guest.appdisk import Disk

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
_LINE = re.compile(r"^cint-metric(?:\s+(.*))?$", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
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

    @property
    def name(self) -> str:
        """What tables call it: the file's name."""
        return re.sub(r"[^A-Za-z0-9.]+", "-", self.path.stem).strip("-") or "app"


@dataclass(frozen=True)
class Said:
    """A number that a program told, and its unit, which may be empty."""

    value: float
    unit: str

    def reported(self, k: float) -> Said:
        """The same in reported time, where its unit is one of time or of a rate."""
        if self.unit in _TIMES:
            return Said(scale.report_time(self.value, k), self.unit)
        if self.unit.endswith(("/s", "/min")):
            return Said(scale.report_rate(self.value, k), self.unit)
        return self


# ---- the file -----------------------------------------------------------

def load(path: Path) -> App:
    """Read a description; :class:`UsageError` names what is wrong and what is valid."""
    what = f"--app {path}"
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(f"{what}: cannot be read ({problem})") from None
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
    return App(path, found.get("title", path.stem), disk, found["run"], _limit(what, found),
               memory)


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

    CintError names a line that is none, and a program that said nothing.
    """
    found: dict[str, Said] = {}
    for line in _LINE.finditer(text):
        words = (line[1] or "").split()
        if not 2 <= len(words) <= 3 or not _NAME.fullmatch(words[0]):
            raise CintError(f"{owner}: '{line[0]}': it is cint-metric NAME VALUE UNIT, such as "
                            "cint-metric commit 1234 1/s")
        found[words[0]] = Said(_number(words[1], line[0], owner), (*words, "")[2])
    if not found:
        raise CintError(f"{owner}: the program told no number",
                        hint="a line of its output: cint-metric NAME VALUE UNIT")
    return found


def _number(word: str, line: str, owner: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise CintError(f"{owner}: '{line}': {word} is no number")
    return value
