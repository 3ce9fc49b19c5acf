# SPDX-License-Identifier: GPL-2.0-or-later
"""Docstrings of the tool: what they begin with, and that they name the errors which are raised."""

import ast
from collections.abc import Iterator
from pathlib import Path

from cint import paths

MODULES = sorted((paths.TOOLS / "cint").rglob("*.py"))
#: Words that say how something is related to a thing which is not named.
RELATIONS = frozenset({
    "after", "against", "as", "at", "because", "before", "beside", "between", "by", "for", "from",
    "if", "in", "into", "like", "not", "of", "on", "over", "so", "that", "to", "under", "until",
    "up", "with", "within", "without"})
#: Whose errors are known without a word: a verb's, and what argparse calls.
USUAL = frozenset({"run", "error"})

Documented = ast.Module | ast.ClassDef | ast.FunctionDef


def documented(tree: ast.Module) -> Iterator[tuple[Documented, str]]:
    for node in ast.walk(tree):
        if isinstance(node, Documented):
            yield node, ast.get_docstring(node) or ""


def public(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    """Functions and methods that others may call."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from public(node)
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node


def raised(node: ast.AST) -> Iterator[str]:
    """The classes of errors that a function raises by itself, without what stands in it."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(part, ast.Raise) and isinstance(part.exc, ast.Call):
            name = ast.unparse(part.exc.func).rpartition(".")[2]
            if name[0].isupper():
                yield name
        yield from raised(part)


def unnamed(tree: ast.Module, usual: frozenset[str] = USUAL) -> list[str]:
    return [f"{node.name}: {name}" for node in public(tree) if node.name not in usual
            for name in dict.fromkeys(raised(node)) if name not in (ast.get_docstring(node) or "")]


def unbegun(tree: ast.Module) -> list[str]:
    return [f"{getattr(node, 'name', 'the module')}: {text.splitlines()[0]}"
            for node, text in documented(tree) if text and text.split()[0].lower() in RELATIONS]


def read(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def test_what_is_looked_for_is_found() -> None:
    tree = ast.parse('def f():\n    """Of x."""\n    raise errors.CintError("x")\n'
                     'def _g():\n    raise CintError("x")\n'
                     'class C:\n    def h(self):\n        """The ValueError."""\n'
                     '        raise ValueError(self)\n')
    assert unnamed(tree) == ["f: CintError"]
    assert unbegun(tree) == ["f: Of x."]


def test_public_functions_name_the_errors_that_they_raise() -> None:
    found = [f"{path}: {one}" for path in MODULES for one in unnamed(
        read(path), USUAL if path.parent.name == "verbs" else USUAL - {"run"})]
    assert found == []


def test_docstrings_begin_with_a_noun_or_a_verb() -> None:
    assert [f"{path}: {one}" for path in MODULES for one in unbegun(read(path))] == []
