# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line as data, read from the parsers: what the manual and completion are made of.

One source: an option that is added to a verb is in its help, in the manual page, in the shells'
completion and known to the check of the documents without a further line.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from cint import cli
from cint.device import properties, words
from cint.figures import catalog
from cint.guest import polling, steering
from cint.measure import workloads
from cint.selftest import suites

#: What a value's name in the help says of it: a file of the person's.
_FILES = frozenset({"FILE", "DIR", "JOBFILE", "LOG", "SOCKET"})


def _policies() -> Sequence[str]:
    """All names: those of a default comparison first, then the device's others."""
    named = properties.DEFAULT_POLICIES.split(",")
    return list(dict.fromkeys([*named, *words.POLICIES, "stock"]))


def _targets() -> Sequence[str]:
    from cint.build import setup  # noqa: PLC0415 - only where the words are asked for

    return [*setup.TARGETS, *setup.OPTIONAL]


#: Words that the parsers leave to a later check, by the value's name or the option.
_WORDS: Mapping[str, Callable[[], Sequence[str]]] = {
    "--policy": _policies, "--what-if": _policies,
    "--workload": lambda: list(workloads.BUILT_IN),
    "--media": lambda: list(properties.PROFILES),
    "--polling": lambda: [word.split(":")[0] for word in polling.VALID.split(", ")],
    "--steering": lambda: list(steering.MODES),
    "--set SET": lambda: list(catalog.FAMILIES),
    "SUITE": lambda: [suite.name for suite in suites.SUITES],
    "TARGET": _targets,
    "ID": lambda: [figure.id for figure in catalog.figures()],
}
#: Of these several can be typed, separated by commas.
_LISTS = frozenset({"--policy", "--workload", "--what-if", "--polling", "--steering"})


@dataclass(frozen=True)
class Argument:
    """An option, or what is typed without one (``flags`` is empty)."""

    flags: tuple[str, ...]
    #: The value's name; empty if it takes none.
    value: str
    help: str
    #: What may be typed, where that is a list.
    words: tuple[str, ...] = ()
    #: Whether several of the words are typed with commas between.
    joined: bool = False
    #: Whether a file is named.
    is_file: bool = False
    #: Whether the value may be left out.
    may_miss: bool = False

    @property
    def shown(self) -> str:
        """The words that stand in a list of options."""
        if not self.flags:
            return self.value
        value = f"[{self.value}]" if self.may_miss and self.value else self.value
        return ", ".join(self.flags) + (f" {value}" if value else "")


@dataclass(frozen=True)
class Command:
    """A verb."""

    name: str
    summary: str
    usage: str
    description: str
    epilog: str
    arguments: tuple[Argument, ...]
    options: tuple[Argument, ...]


def _words(action: argparse.Action, value: str) -> tuple[str, ...]:
    if action.choices:
        return tuple(map(str, action.choices))
    keys = [f"{flag} {value}" for flag in action.option_strings]
    for key in (*keys, *action.option_strings, *(() if action.option_strings else (value,))):
        if key in _WORDS:
            return tuple(_WORDS[key]())
    return ()


def _value(action: argparse.Action) -> str:
    """The name of an action's value; empty if it takes none."""
    if action.nargs == 0:
        return ""
    if action.metavar:
        return str(action.metavar)
    if action.choices:
        return "|".join(map(str, action.choices))
    return action.dest.upper()


def _argument(action: argparse.Action) -> Argument:
    value = _value(action)
    said = (action.help or "") % {"default": action.default}
    return Argument(tuple(action.option_strings), value, said,
                    _words(action, value), bool(_LISTS & set(action.option_strings)),
                    value.rsplit("-", 1)[-1] in _FILES, action.nargs in ("?", "*"))


def _command(name: str, parser: argparse.ArgumentParser) -> Command:
    own = [_argument(action) for action in parser._actions
           if argparse.SUPPRESS not in (action.default, action.help)]
    usage = parser.format_usage().removeprefix("usage: ").rstrip("\n")
    return Command(name, cli.VERBS[name], usage, (parser.description or "").strip("\n"),
                   (parser.epilog or "").strip("\n"),
                   tuple(a for a in own if not a.flags), tuple(a for a in own if a.flags))


@cache
def commands() -> tuple[Command, ...]:
    """All verbs, in the order of the help."""
    parser = cli.build_parser(list(cli.VERBS))
    verbs = next(action for action in parser._actions
                 if isinstance(action, argparse._SubParsersAction))
    return tuple(_command(name, verbs.choices[name]) for name in cli.VERBS)


@cache
def common() -> tuple[Argument, ...]:
    """The options of every verb."""
    parser = cli.build_parser([])
    return tuple(_argument(action) for action in parser._actions if action.option_strings)
