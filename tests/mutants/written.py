# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutants that are written by hand: a rule broken as no operator breaks it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from operators import Mutant

#: How the new text takes the old one's place where both are compiled in: as a statement, as a
#: value, or by itself. In any of them ON stands for "is chosen".
STATEMENT, EXPRESSION, TEXT = "statement", "expression", "text"


class LostPlaceError(Exception):
    """What a mutant changes is not there any more, or not once."""


@dataclass(frozen=True)
class Written:
    """`old`, the first behind `after`, becomes `new`."""

    what: str
    #: From the top of the tree that it is in: ours, QEMU's, or the kernel's.
    file: str
    old: str
    new: str
    #: Who should notice: of the device qtests, of the kernel tests of guests.
    tests: tuple[str, ...] = ()
    after: str = ""
    kind: str = TEXT
    #: In place of a name made of `what`.
    short: str = ""
    #: What it leaves behind in a guest would be seen by tests of others.
    alone: bool = False

    @property
    def name(self) -> str:
        """What it is called beside others of its table."""
        return self.short or re.sub(r"[^a-z0-9]+", "-", self.what.lower()).strip("-")

    def mutant(self, text: str) -> Mutant:
        """It as one of the file `text`."""
        behind = text.find(self.after)
        start = text.find(self.old, max(behind, 0))
        if start < 0 or behind < 0:
            raise LostPlaceError(f"{self.file}: {self.what}: no such place any more")
        if not self.after and not self.tests and text.count(self.old) != 1:
            raise LostPlaceError(f"{self.file}: {self.what}: several places")
        new = re.sub(r"\bON\b", "1", self.new)
        return Mutant(f"{self.file}:written:{self.name}", start, self.old, new, self.kind)

    def switched(self, chosen: str) -> str:
        """C that is `new` if `chosen` is true, and else `old`."""
        if self.kind == STATEMENT:
            return f"if ({chosen}) {{ {self.new} }} else {{ {self.old} }}"
        if self.kind == EXPRESSION:
            return f"({chosen} ? ({self.new}) : ({self.old}))"
        return re.sub(r"\bON\b", f"({chosen})", self.new)


def statement(what: str, file: str, old: str, tests: tuple[str, ...], after: str = "",
              new: str = "") -> Written:
    """A statement that is left out, or another one."""
    return Written(what, file, old, new, tests, after, STATEMENT)


def all_switched(text: str, chosen: Iterable[tuple[str, Written]]) -> str:
    """A source file with mutants, each in force when its condition holds."""
    for condition, mutation in chosen:
        start = mutation.mutant(text).start
        text = text[:start] + mutation.switched(condition) + text[start + len(mutation.old):]
    return text
