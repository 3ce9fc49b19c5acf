# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of the user guide that are made from the parsers: the verbs, and a verb's options."""

from __future__ import annotations

import re
from collections.abc import Mapping

from cint import cli

#: The page of a verb, in docs/, where it has one.
PAGES: Mapping[str, str] = {
    "compare": "compare.md", "run": "run.md", "replay": "replay.md", "install": "existing-vm.md",
    "libvirt": "existing-vm.md", "hints": "hints-module.md", "show": "compare.md",
    "diff": "compare.md#results-of-before", "results": "compare.md#results-of-before",
    "trace": "trace.md", "top": "trace.md#live", "figure": "figure.md", "calibrate": "figure.md",
    "build": "first-contact.md", "test": "development.md", "doctor": "first-contact.md",
    "worker": "cluster.md", "docs": "contributing.md", "patches": "porting.md",
    "port": "porting.md", "bench": "cost.md",
}


def cell(text: str) -> str:
    """Text in a cell of a table."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def verbs() -> str:
    """Every verb, by what it is for, with its page."""
    lines = ["| for | verb | what it does |", "|---|---|---|"]
    for group, found in cli.GROUPS.items():
        for verb, text in found.items():
            shown = f"[{verb}]({PAGES[verb]})" if verb in PAGES else verb
            lines.append(f"| {group} | {shown} | {cell(text)} |")
            group = ""  # noqa: PLW2901 - said once
    return "\n".join(lines) + "\n"


def options(verb: str) -> str:
    """The options of one verb."""
    from cint.manual import commands  # noqa: PLC0415 - imports all verbs

    command, = (one for one in commands.commands() if one.name == verb)
    lines = ["| option | meaning |", "|---|---|"]
    for one in command.options:
        shown = one.shown.replace("|", "\\|")
        lines.append(f"| `{shown}` | {cell(one.help)} |")
    return "\n".join(lines) + "\n"
