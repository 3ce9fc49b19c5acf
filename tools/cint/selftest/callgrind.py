# SPDX-License-Identifier: GPL-2.0-or-later
"""Instruction counts of a program, by valgrind's tool callgrind.

Counts are the same on a busy machine and on an idle one, which times are not.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cint.errors import CintError
from cint.selftest import runner
from cint.selftest.runner import Command

_NAMED = re.compile(r"^(c?f[linei]|c?fn|c?ob)=(?:\((\d+)\))? ?(.*)$")
_COST = re.compile(r"^(?:[+-]?\d+|\*) (\d+)$")


@dataclass
class Profile:
    """The profile of one run."""

    #: All instructions that were counted.
    total: int = 0
    #: Instructions by source file; those of inlined functions belong to their own file.
    files: "Counter[str]" = field(default_factory=Counter)
    #: Instructions by function, without what it calls.
    functions: "Counter[str]" = field(default_factory=Counter)
    #: Instructions of calls, with all that they call, by (caller, called).
    calls: "Counter[tuple[str, str]]" = field(default_factory=Counter)


class _Names:
    """Callgrind writes a name once and its number from then on."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}

    def resolve(self, kind: str, number: str | None, name: str) -> str:
        if number is None:
            return name
        # All keywords for files share their numbers, and so do fn and cfn.
        space = kind.removeprefix("c")
        key = ("file" if space in ("fl", "fi", "fe") else space, number)
        if name:
            self._known[key] = name
        return self._known[key]


def parse(lines: Iterable[str]) -> Profile:
    """Read a profile in callgrind's format, of one event and without jumps."""
    profile, names = Profile(), _Names()
    file = function = called = ""
    is_call = False
    for line in lines:
        named = _NAMED.match(line)
        if named:
            value = names.resolve(named[1], named[2], named[3])
            if named[1] in ("fl", "fi", "fe"):
                file = value
            elif named[1] == "fn":
                function = value
            elif named[1] == "cfn":
                called = value
            continue
        if line.startswith("calls="):
            is_call = True
            continue
        cost = _COST.match(line.rstrip())
        if not cost:
            continue
        if is_call:
            profile.calls[function, called] += int(cost[1])
        else:
            profile.files[file] += int(cost[1])
            profile.functions[function] += int(cost[1])
        is_call = False
    profile.total = sum(profile.functions.values())
    return profile


def command(program: Sequence[str], out: Path, options: Sequence[str] = ()) -> tuple[str, ...]:
    """The command line that runs `program` under callgrind and writes its profile to `out`."""
    return ("valgrind", "--tool=callgrind", "--error-exitcode=99",
            f"--callgrind-out-file={out}", *options, *program)


def load(out: Path) -> Profile:
    """Read the profile that a run left; :class:`CintError` where it left none, or counted none."""
    try:
        with out.open(encoding="utf-8", errors="replace") as stream:
            profile = parse(stream)
    except OSError as problem:
        raise CintError(f"callgrind left no profile: {problem.strerror}",
                        hint="is valgrind installed and does it know this CPU?") from None
    if not profile.total:
        raise CintError(f"callgrind counted nothing ({out})")
    return profile


def run(name: str, program: Sequence[str], out: Path, options: Sequence[str] = ()) -> Profile:
    """Run `program` under callgrind, its log that of bench's test `name`; CintError if it fails."""
    done = runner.run_command(Command("bench", name, command(program, out, options),
                                      limit_s=900.0))
    if done.status != runner.PASSED:
        raise CintError(f"{name}: {done.reason}", log=done.log)
    return load(out)
