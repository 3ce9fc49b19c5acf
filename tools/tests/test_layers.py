# SPDX-License-Identifier: GPL-2.0-or-later
"""Which package of the tool imports which: as their docstrings say, and never in a circle."""

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from cint import cli, paths

TOP = paths.TOOLS / "cint"
PACKAGES = sorted(path.parent.name for path in TOP.glob("*/__init__.py"))


def allowed(package: str) -> set[str]:
    """What the package's docstring says that it may import."""
    text = ast.get_docstring(ast.parse((TOP / package / "__init__.py").read_text("utf-8")))
    match = re.search(r"^May import: ([a-z,\s]+)\.$", text or "", re.MULTILINE)
    assert match, f"{package}/__init__.py says nothing about what it may import"
    return set(re.split(r",\s", match[1]))


def imported(text: str) -> Iterator[str]:
    """The packages of the tool that a module's text imports; `base` is none of them."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, "a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for parts in (name.split(".") for name in names):
            if parts[0] == "cint" and len(parts) > 1:
                yield parts[1] if parts[1] in PACKAGES else "base"


def used(modules: Iterator[Path]) -> set[str]:
    return {found for path in modules for found in imported(path.read_text("utf-8"))}


def test_every_import_is_seen() -> None:
    assert set(imported("from cint import paths, verbs")) == {"base", "verbs"}
    assert set(imported("from cint.guest.vm import Vm")) == {"guest"}
    assert set(imported("def f():\n    import cint.build.setup, os")) == {"build"}
    assert set(imported("import sys\nfrom pathlib import Path")) == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_what_its_docstring_says(package: str) -> None:
    # Also the other way round: a package that is named is imported.
    assert used((TOP / package).rglob("*.py")) - {package} == allowed(package)


def test_the_base_imports_no_package() -> None:
    assert used(TOP.glob("*.py")) == {"base"}


def test_packages_do_not_import_in_a_circle() -> None:
    order = [*TopologicalSorter({p: allowed(p) for p in PACKAGES}).static_order()]
    assert order[0] == "base"
    assert order[-1] in {"figures", "verbs"}


def test_modules_do_not_import_in_a_circle() -> None:
    """Late imports, below a function, count."""
    known = {".".join(path.relative_to(paths.TOOLS).with_suffix("").parts): path
             for path in TOP.rglob("*.py")}
    needs = {}
    for name, path in known.items():
        found = [node for node in ast.walk(ast.parse(path.read_text("utf-8")))
                 if isinstance(node, ast.ImportFrom)]
        needs[name] = known.keys() & {place for node in found for place in (
            node.module or "", *(f"{node.module}.{one.name}" for one in node.names))}
    assert "cint.measure.runner" in needs["cint.measure.cluster"]
    assert [*TopologicalSorter(needs).static_order()]


def test_verbs_do_not_import_each_other() -> None:
    for path in (TOP / "verbs").glob("*.py"):
        assert "verbs" not in set(imported(path.read_text("utf-8"))), path.name


def test_who_knows_the_command_line() -> None:
    """Verbs, the options that they share, and what describes them; nothing that works for them."""
    knows = {path.relative_to(TOP).parts[0] for path in TOP.rglob("*.py")
             if re.search(r"^import argparse$", path.read_text("utf-8"), re.MULTILINE)}
    # What is to be built, and from which trees, is the same of all verbs.
    assert knows == {"cli.py", "build", "manual", "options", "verbs"}
    assert used((TOP / "build").rglob("*.py")).isdisjoint({"options", "verbs"})


def test_each_verb_is_a_module() -> None:
    modules = {path.stem for path in (TOP / "verbs").glob("*.py")} - {"__init__"}
    assert modules == set(cli.VERBS)


#: What a row of a comparison is, what boots, and what is judged.
NOUNS = {"Arm", "Boot", "Check", "Row"}


def test_a_noun_is_one_class() -> None:
    """Beside the records, which say how one is written down."""
    found: dict[str, list[str]] = {}
    for path in TOP.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name in NOUNS and path.stem != "records":
                found.setdefault(node.name, []).append(str(path.relative_to(TOP)))
    assert found == {"Arm": ["measure/arms.py"], "Boot": ["guest/session.py"],
                     "Check": ["figures/checks.py"], "Row": ["measure/sampling.py"]}
