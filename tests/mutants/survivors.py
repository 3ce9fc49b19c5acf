# SPDX-License-Identifier: GPL-2.0-or-later
"""The mutants that no test can tell from the code as it is: survivors.txt, and why."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench import CAUGHT, SURVIVED
from operators import Mutant

FILE = Path(__file__).with_name("survivors.txt")


@dataclass(frozen=True)
class Survivor:
    """A mutant that is known to survive, as it was when it was judged."""

    name: str
    change: str
    reason: str


@cache
def known() -> dict[str, Survivor]:
    """All of them, by name. A line has the name, what becomes of what, and the reason."""
    found = {}
    for line in FILE.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            name, change, reason = (part.strip() for part in line.split(" ## "))
            found[name] = Survivor(name, change, reason)
    return found


def surprise(mutant: Mutant, what: str) -> str:
    """Why a verdict is not as it is known; nothing if it is."""
    survivor = known().get(mutant.name)
    if survivor and survivor.change != mutant.change:
        return "LISTED AS ANOTHER"
    if what == SURVIVED:
        return "" if survivor else "SURVIVED"
    return "LISTED, AND CAUGHT" if survivor and what == CAUGHT else ""
