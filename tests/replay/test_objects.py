# SPDX-License-Identifier: GPL-2.0-or-later
"""The layers of the programs that the engine's build makes, by the symbols of their objects."""

import subprocess
from pathlib import Path

import pytest
from testkit import device_layers, objects

from cint import paths
from cint.errors import CintError


@pytest.mark.parametrize("program", objects.PROGRAMS)
def test_a_program_keeps_its_layers(program: str) -> None:
    directory = paths.ENGINE_BUILD / objects.PROGRAMS[program]
    assert objects.faults(program) == []
    assert device_layers.cycles(objects.uses(directory)) == []
    # Every file of it is looked at, and each uses something or is used.
    using = objects.uses(directory)
    sources = {path.name for path in (paths.ROOT / program).glob("*.c")}
    assert set(using) == sources - {"test.c"}
    assert set(using) <= {*(file for file, aims in using.items() if aims),
                          *(aim for aims in using.values() for aim in aims)}


def compiled(place: Path, **files: str) -> Path:
    """A directory of objects as meson leaves them."""
    for name, text in files.items():
        source = place / f"{name}.c"
        source.write_text(text)
        subprocess.run(["gcc", "-c", source, "-o", place / f"{name}.c.o"], check=True)
    return place


def test_uses_are_calls_tables_and_addresses(tmp_path: Path) -> None:
    place = compiled(
        tmp_path,
        top="extern int f(int), table[2]; int g(void); int main(void) { return f(table[0]); }",
        middle="int f(int); extern int (*const p)(void); int f(int x) { return x + p(); }",
        bottom="static int f(void) { return 1; }\nint table[2]; int (*const p)(void) = f;",
        alone="/* f() table */ static int f(void) { return 2; } int h(void) { return f(); }")
    assert objects.uses(place) == {"top.c": {"middle.c", "bottom.c"}, "middle.c": {"bottom.c"},
                                   "bottom.c": set(), "alone.c": set()}


def test_a_circle_is_a_fault(tmp_path: Path) -> None:
    place = compiled(tmp_path, one="int b(void); int a(void) { return b(); }",
                     two="int a(void); int b(void) { return a(); }")
    using = objects.uses(place)
    assert device_layers.cycles(using) == [["one.c", "two.c"]]
    (tmp_path / "layers.txt").write_text("one\ntwo\n")
    assert device_layers.faults(place, using) == ["two.c uses one.c, which is not below it"]


def test_without_objects_nothing_is_claimed(tmp_path: Path) -> None:
    with pytest.raises(CintError, match="there are no objects"):
        objects.uses(tmp_path)
