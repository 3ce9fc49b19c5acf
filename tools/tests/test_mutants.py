# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutants: what operators make of C, how they are named, and that all that is listed is there."""

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cint import paths

MUTANTS = paths.ROOT / "tests/mutants"
sys.path.insert(0, str(MUTANTS))
operators: Any = importlib.import_module("operators")

SOURCE = """\
#include <stdbool.h>
#define MOST 3      /* of a < b */
#define LESS(a, b) ((a) < (b))
/* if (a < b) */
static const char *text = "a < b && c";

int clamp(int a, int b)
{
    CINT_MUST(a < MOST);
    if (a < b && b > 0) {
        a += 2;
    }
    return a < b ? a : b;
}

void nothing(int *a)
{
    int first = 1;

    *a = first;
    (*a)++;
}
"""


def made(text: str = SOURCE) -> dict[str, str]:
    """What becomes of what, by the mutants' names."""
    return {mutant.name: mutant.change for mutant in operators.mutants("f.c", text)}


@pytest.mark.parametrize(("name", "change"), {
    "f.c:MOST:constant:1": "3 => 4",
    "f.c:clamp:negate:1": "a < b && b > 0 => !(a < b && b > 0)",
    "f.c:clamp:condition:1": "a < b && b > 0 => 0",
    "f.c:clamp:logic:1": "a < b && b > 0 => a < b || b > 0",
    "f.c:clamp:operand:2": "a < b && b > 0 => b > 0",
    "f.c:clamp:relation:1": "a < b => a <= b",
    "f.c:clamp:statement:1": "a += 2; => ;",
    "f.c:clamp:assignment:1": "a += 2 => a -= 2",
    "f.c:clamp:constant:3": "2 => 1",
    "f.c:nothing:early:1": "int first = 1; => return; int first = 1;",
    "f.c:nothing:increment:1": "(*a)++ => (*a)--",
}.items())
def test_operators(name: str, change: str) -> None:
    assert made().get(name) == change, made()


def test_comments_strings_macros_and_checks_are_left_alone() -> None:
    mutants = operators.mutants("f.c", SOURCE)
    lines = {SOURCE.count("\n", 0, mutant.start) + 1 for mutant in mutants}
    assert not lines & {3, 4, 5, 9}, lines


def test_names_survive_edits_of_other_functions() -> None:
    before = made()
    after = made(SOURCE.replace("*a = first;", "*a = first < 7 ? first + 1 : 0;"))
    mine = {name: change for name, change in before.items() if ":clamp:" in name}
    assert mine.items() <= after.items()


def switched_program(place: Path) -> tuple[Path, list[Any]]:
    """A program with all mutants of a text, chosen by its first argument."""
    text = SOURCE.replace("CINT_MUST(a < MOST);", "")
    chosen = [mutant for mutant in operators.mutants("f.c", text) if mutant.kind != "constant"]
    body = operators.switched(text, [(f"cint_mutant == {n}", m) for n, m in enumerate(chosen, 1)])
    assert body.count("\n") == text.count("\n")
    main = ("#include <stdio.h>\n#include <stdlib.h>\nstatic int cint_mutant;\n" + body +
            "int main(int argc, char **argv)\n{\n    int x = 0;\n"
            "    cint_mutant = atoi(argv[1]);\n    nothing(&x);\n"
            "    printf(\"%d %d %d %d\\n\", clamp(1, 2), clamp(5, 2), clamp(-3, -1), x);\n}\n")
    source = place / "switched.c"
    source.write_text(main)
    subprocess.run(["gcc", "-w", source, "-o", place / "switched"], check=True)
    return place / "switched", chosen


def test_switched_is_what_is_applied(tmp_path: Path) -> None:
    program, chosen = switched_program(tmp_path)

    def says(number: int) -> str:
        return subprocess.run([program, str(number)], check=True, capture_output=True,
                              text=True).stdout

    assert says(0) == "2 2 -3 2\n"
    seen = {mutant.name: says(number) for number, mutant in enumerate(chosen, 1)}
    assert seen["f.c:clamp:assignment:1"] == "-1 2 -3 2\n"
    assert seen["f.c:nothing:increment:1"].endswith(" 0\n")
    assert seen["f.c:nothing:early:1"].endswith(" 0\n")
    assert sum(line != says(0) for line in seen.values()) > len(seen) / 2


@pytest.mark.parametrize("program", ["mutate.py", "device.py"])
def test_everything_listed_has_its_place(program: str) -> None:
    done = subprocess.run([sys.executable, MUTANTS / program, "--check"], text=True,
                          capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
