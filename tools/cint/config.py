# SPDX-License-Identifier: GPL-2.0-or-later
"""A person's own defaults: a file with a table for each verb, whose keys are the verb's options.

What it says stands right behind the verb on the command line, so that the same option, typed,
comes later and wins; of one that may be repeated both count.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection, Container, Mapping
from pathlib import Path
from typing import Any

from cint import paths, units
from cint.errors import UsageError

#: Names the file; an empty text means none.
VARIABLE = "CINT_CONFIG"


def place() -> Path | None:
    """The file, whether there is one or not; None where none is wanted."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named) if named else None
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "cint.toml"


def words(verb: str, verbs: Container[str], known: Collection[str]) -> list[str]:
    """The file's options of a verb, as words of a command line.

    ``known`` are the verb's options. UsageError names the file, what is wrong in it, and what is
    valid. A file that the environment names has to be there.
    """
    path = place()
    tables = _read(path) if path else {}
    for name, table in tables.items():
        if name not in verbs:
            raise UsageError(f"{path}: [{name}]: no command of cint is called so",
                             hint="a table for each command, such as [compare]")
        if not isinstance(table, dict):
            raise UsageError(f"{path}: {name}: stands outside of a table, such as [compare]")
    found: list[str] = []
    for key, value in tables.get(verb, {}).items():
        if f"--{key}" not in known:
            raise UsageError(f"{path}: [{verb}] {key}: {verb} has no option --{key}"
                             f"{units.suggestion(f'--{key}', [*known])}")
        found += _option(f"--{key}", value, f"{path}: [{verb}] {key}")
    return found


def _read(path: Path) -> Mapping[str, Any]:
    named = VARIABLE in os.environ
    if not named and not path.exists():
        return {}
    text = paths.text_of(path, f"{VARIABLE}={path}" if named else None)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise UsageError(f"{path}: not TOML: {problem}") from None


def _option(option: str, value: object, where: str) -> list[str]:
    """An option with its value, one that has none, or one that is repeated."""
    if value is True:
        return [option]
    if isinstance(value, list):
        return [word for one in value for word in _option(option, one, where)]
    if isinstance(value, bool) or not isinstance(value, (str, int, float)) or value == "":
        raise UsageError(f"{where}: must be a text, a number, true, or a list of these; leave it "
                         "out where it is not wanted")
    return [f"{option}={value}"]
