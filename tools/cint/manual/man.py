# SPDX-License-Identifier: GPL-2.0-or-later
"""cint(1): the manual page, from the parsers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from cint import __version__, cli, paths, steps
from cint.manual import commands
from cint.manual.commands import Argument, Command

FILE = paths.BUILD / "docs/cint.1"

#: Places that the page names, and what is there.
_FILES = {
    "results/": "what compare leaves: report.html, results.json, tables, drawings, logs",
    "build/": "everything that is built; cint clean removes it",
    "build/logs/": "a log of each step, and of each test",
    "~/.cache/cint": "downloads, the compiler's cache, the store of runs",
}


def _plain(text: str) -> str:
    """Text that roff shows as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(f"\\&{line}" if line[:1] in (".", "'") else line
                     for line in text.splitlines())


def _bold(text: str) -> str:
    return f"\\fB{_plain(text)}\\fR"


def _shown(argument: Argument) -> str:
    """An option with bold flags and a slanted value."""
    value = f"\\fI{_plain(argument.value)}\\fR" if argument.value else ""
    value = f"[{value}]" if argument.may_miss and argument.flags else value
    flags = ", ".join(map(_bold, argument.flags))
    return f"{flags} {value}" if flags and value else flags or value


def _arguments(found: Iterable[Argument]) -> list[str]:
    lines = []
    for one in found:
        text = _plain(re.sub(r"\s+", " ", one.help)) or "\\&"
        # The help names the values only where the parser does not check them.
        if one.words and not one.joined and not all(w in one.help + one.value for w in one.words):
            text += f"\nOne of {_plain(', '.join(one.words))}."
        lines += [".TP", _shown(one), text]
    return lines


def _verbatim(text: str) -> list[str]:
    return [".PP", ".nf", _plain(text), ".fi"] if text else []


def _prose(text: str) -> list[str]:
    """A description: paragraphs are wrapped again, lists with an indent stay as they are."""
    lines = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        raw = re.search(r"^ ", block, re.MULTILINE)
        lines += _verbatim(block) if raw else [".PP", _plain(block)]
    return lines


def _verb(command: Command) -> list[str]:
    places = "".join(f" {place.value}" for place in command.arguments)
    return [f".SS {_plain(f'cint {command.name} [options]{places}')}", *_prose(command.description),
            *_arguments(command.arguments), *_arguments(command.options),
            *_verbatim(command.epilog)]


def _pairs(pairs: Iterable[tuple[str, str]]) -> list[str]:
    return [line for name, text in pairs for line in (".TP", _bold(name), _plain(text))]


def text(found: Sequence[Command]) -> str:
    """The page as roff."""
    lines = [f'.TH CINT 1 "" "cint {__version__}" "User Commands"',
             ".SH NAME", "cint \\- when QEMU's NVMe controller interrupts: build, run, compare",
             ".SH SYNOPSIS", f"{_bold('cint')} [\\fIcommon options\\fR] \\fICOMMAND\\fR "
             "[\\fIoptions\\fR]", ".SH DESCRIPTION", *_prose(cli.DESCRIPTION),
             ".SH COMMANDS", *_pairs((c.name, f"{c.summary}.") for c in found),
             ".SH COMMON OPTIONS", *_arguments(commands.common()),
             ".SH THE COMMANDS ONE BY ONE"]
    for command in found:
        lines += _verb(command)
    lines += [".SH ENVIRONMENT", *_pairs(cli.ENVIRONMENT.items()),
              ".SH EXIT STATUS", *_pairs(cli.EXIT_CODES.items()),
              ".SH FILES", *_pairs(_FILES.items()),
              ".SH SEE ALSO", f"{_bold('qemu-system-x86_64')}(1), {_bold('fio')}(1), "
              f"{_bold('nvme')}(1); docs/ of the source tree, and its site: {_bold('cint docs')}."]
    return "\n".join(lines) + "\n"


def write() -> Path:
    """Write the page and return its path."""
    FILE.parent.mkdir(parents=True, exist_ok=True)
    steps.write_atomic(FILE, text(commands.commands()))
    return FILE
