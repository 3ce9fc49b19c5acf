# SPDX-License-Identifier: GPL-2.0-or-later
"""The layers of hw/nvme: who includes and uses whom, and what hw/nvme/layers.txt allows.

`python -m testkit.device_layers [DIR]` prints the picture of a directory of C files: whose
functions and tables each one uses, and the cycles among them. It knows C only as far as this
tree's style goes: a definition begins in column 0, and a function's body ends there.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from cint import paths

TABLE = "layers.txt"

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
_NAME = re.compile(r"\b[A-Za-z_]\w+\b")
_FUNCTION = re.compile(r"^([A-Za-z_][^;={}()#]*?)\b(\w+)\([^;{}]*\)\n\{(.*?)^\}",
                       re.MULTILINE | re.DOTALL)
_OBJECT = re.compile(r"^const [\w *]*?\b(\w+)(?:\[\w*\])* = ", re.MULTILINE)
_POLICY = re.compile(r"\bNVME_CINT_POLICY_([A-Z]+)\b")

Graph = dict[str, set[str]]


def _sources(directory: Path) -> dict[str, str]:
    """The C files of a directory without their comments, by their path inside it."""
    return {str(path.relative_to(directory)): _COMMENT.sub("", path.read_text("utf-8"))
            for path in sorted(directory.rglob("*.[ch]"))}


def includes(directory: Path) -> Graph:
    """The files of the directory that each file includes."""
    files = _sources(directory)
    top = directory.resolve()
    found: Graph = {}
    for name, text in files.items():
        aims = [(top / name).parent / other for other in _INCLUDE.findall(text)]
        found[name] = {str(aim.resolve().relative_to(top)) for aim in aims
                       if aim.is_file() and aim.resolve().is_relative_to(top)}
    return found


def _homes(files: dict[str, str]) -> dict[str, set[str]]:
    """Where each function and table is: for an inline one, where those are that it uses."""
    homes: dict[str, set[str]] = {}
    for file, text in files.items():
        if file.endswith(".c"):
            own = [name for kind, name, _ in _FUNCTION.findall(text) if "static" not in kind]
            homes.update({name: {file} for name in (*own, *_OBJECT.findall(text))})
    for file, text in files.items():
        if file.endswith(".h"):
            homes.update({name: set().union(*(homes.get(used, set())
                                              for used in _NAME.findall(body)))
                          for _, name, body in _FUNCTION.findall(text)})
    return homes


def uses(directory: Path) -> Graph:
    """The .c files whose functions and tables each .c file uses."""
    files = _sources(directory)
    homes = _homes(files)
    return {file: set().union(*(homes.get(name, set()) for name in _NAME.findall(text))) - {file}
            for file, text in files.items() if file.endswith(".c")}


def _reachable(graph: Graph, start: str) -> set[str]:
    seen: set[str] = set()
    todo = [start]
    while todo:
        new = graph.get(todo.pop(), set()) - seen
        seen |= new
        todo += new
    return seen


def cycles(graph: Graph) -> list[list[str]]:
    """The groups of files that reach each other."""
    reach = {file: _reachable(graph, file) for file in graph}
    groups = {frozenset(other for other in reach[file] if file in reach.get(other, set()))
              for file in graph}
    return sorted(sorted(group) for group in groups if group)


@dataclass(frozen=True)
class Layers:
    """The table: the height of each file, 0 at the bottom."""

    height: dict[str, int]

    def of(self, file: str) -> int | None:
        """The height of a file, None if the table has it not.

        A line of NAME/* is that of the directory's files with no line of their own.
        """
        path = Path(file)
        for name in (file, str(path.with_suffix("")), str(path.parent / "*")):
            if name in self.height:
                return self.height[name]
        return None

    def wrong(self, graph: Graph, verb: str) -> list[str]:
        """The edges that do not go down, as sentences."""
        found = []
        for file, aims in graph.items():
            for aim in sorted(aims):
                above, below = self.of(file), self.of(aim)
                own = Path(file).with_suffix("") == Path(aim).with_suffix("")
                if above is not None and below is not None and below >= above and not own:
                    found.append(f"{file} {verb} {aim}, which is not below it")
        return found


def read_table(text: str) -> Layers:
    """layers.txt: a line is a layer, the highest first."""
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return Layers({name: len(lines) - number for number, line in enumerate(lines, 1)
                   for name in line})


def faults(directory: Path, using: Graph | None = None) -> list[str]:
    """What the directory has that its table does not allow, or the table and not it.

    `using` is who uses whom, where objects tell; else the sources do.
    """
    layers = read_table((directory / TABLE).read_text("utf-8"))
    files = _sources(directory)
    known = set(files) | {str(Path(file).with_suffix("")) for file in files}
    return [
        *(f"{file} is not in {TABLE}" for file in files if layers.of(file) is None),
        *(f"{TABLE} names {name}, which is not there" for name in layers.height
          if name not in known and not name.endswith("/*")),
        *layers.wrong(includes(directory), "includes"),
        *layers.wrong(uses(directory) if using is None else using, "uses"),
    ]


def policies_named(directory: Path) -> set[tuple[str, str]]:
    """(file, policy) wherever a file names a policy by its identifier."""
    return {(file, name.lower()) for file, text in _sources(directory).items()
            for name in _POLICY.findall(text)}


def _summary(what: str, graph: Graph) -> list[str]:
    found = cycles(graph)
    return [f"{what}: {sum(map(len, graph.values()))}, {sum(map(len, found))} files in cycles",
            *(f"  cycle: {' '.join(group)}" for group in found)]


def picture(directory: Path) -> list[str]:
    """Who uses whom, then how many includes and uses there are, and their cycles."""
    return [*uses_as_text(uses(directory)), *_summary("includes", includes(directory))]


def uses_as_text(using: Graph) -> list[str]:
    """Who uses whom, then how many uses there are, and their cycles."""
    return [*(f"{file}: {' '.join(sorted(aims)) or '-'}" for file, aims in using.items()),
            *_summary("uses", using)]


if __name__ == "__main__":
    print("\n".join(picture(Path(sys.argv[1]) if len(sys.argv) > 1 else paths.OVERLAY_NVME)))
