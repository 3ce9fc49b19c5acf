# SPDX-License-Identifier: GPL-2.0-or-later
"""All results of `./cint compare` in results/: a list of them, and one by what a person types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, cast

from cint import paths
from cint.errors import CintError, UsageError
from cint.results import documents, table, unfinished

#: What a comparison leaves in its directory, beside drawings.
_LEFT = frozenset({documents.FILE, "results.csv", "report.html", "logs", unfinished.MARK,
                   unfinished.SAMPLES, unfinished.RUNS})


class Listed(TypedDict):
    """An entry as ``./cint results --json`` has it; null where it is not complete."""

    name: str
    path: str
    label: str | None
    created: str | None
    unfinished: str | None
    repeat_command: str | None
    version: str | None
    time: str | None
    policies: list[str]
    workloads: list[str]
    repeat: int | None
    quick: bool | None


@dataclass(frozen=True)
class Entry:
    """One results directory; ``document`` is None where there is no results.json."""

    path: Path
    document: documents.Document | None
    #: The command that goes on with it, if it is not complete.
    command: str | None

    @property
    def name(self) -> str:
        """The directory's name."""
        return self.path.name

    @property
    def label(self) -> str:
        """The label that --label gave."""
        return (self.document and self.document.get("label")) or ""

    def as_dict(self) -> Listed:
        """The entry as --json has it."""
        # Another version's may lack any field.
        found = self.document or cast(documents.Document, {})
        tool, parameters = found.get("tool"), found.get("parameters")
        return {"name": self.name, "path": str(self.path), "label": self.label or None,
                "created": found.get("created"), "unfinished": self.command,
                "repeat_command": found.get("repeat_command"),
                "version": tool.get("version") if tool else None, "time": found.get("time"),
                "policies": [p["name"] for p in found.get("policies") or ()],
                "workloads": [w["name"] for w in found.get("workloads") or ()],
                "repeat": parameters.get("repeat") if parameters else None,
                "quick": found.get("quick")}


def _entry(path: Path) -> Entry | None:
    command = unfinished.command_of(path)
    try:
        document = documents.load(path)
    except CintError:
        document = None
    if (document is None and command is None) or (document and document.get("kind") != "compare"):
        return None
    return Entry(path, document, command)


def entries() -> list[Entry]:
    """All in results/, the newest first; before them the last one if it is elsewhere (--out)."""
    inside = [path for path in sorted(paths.RESULTS.glob("*"), reverse=True)
              if path.is_dir() and not path.is_symlink()]
    latest = (paths.RESULTS / "latest").resolve()
    elsewhere = [latest] if latest.is_dir() and latest.parent != paths.RESULTS.resolve() else []
    found = [_entry(path) for path in (*elsewhere, *inside)]
    return [entry for entry in found if entry is not None]


def find(text: str, *, unfinished: bool = False) -> Path:
    """The directory of the results that a person means: a path, a name, `latest`, a label.

    A name or a label may be cut short while it is the only one; of several with a label it is the
    newest. With `unfinished` also one that has no results yet. Raises :class:`UsageError` where
    none or several are meant.
    """
    for path in (Path(text), paths.RESULTS / text):
        if (path / documents.FILE).is_file() or (path.is_file() and path.suffix == ".json"):
            return path
    known = [entry for entry in entries() if unfinished or entry.document is not None]
    labelled = [entry for entry in known if entry.label == text]
    begun = labelled[:1] or [entry for entry in known if entry.name.startswith(text)
                             or (text and entry.label.startswith(text))]
    if len(begun) == 1:
        return begun[0].path
    if begun:
        raise UsageError(f"{text}: {len(begun)} results begin so, such as {begun[0].name} and "
                         f"{begun[-1].name}")
    raise UsageError(f"{text}: there are no such results", hint=
                     "./cint results lists them; a directory, a name, its beginning, a label and "
                     "'latest' will do" if known else "there are none yet: ./cint compare makes "
                     "some; a directory with results.json will do, too")


def own(text: str) -> Path:
    """The directory of results to change; :class:`UsageError` of what `compare` did not make."""
    place = find(text, unfinished=True).resolve()
    if not place.is_dir():
        raise UsageError(f"{text}: that is a file; name the directory that has it")
    if _entry(place) is None:
        raise UsageError(f"{text}: these are not results of ./cint compare")
    return place


def alone(text: str) -> Path:
    """The directory to remove; :class:`UsageError` where somebody else has put things in it."""
    place = own(text)
    more = sorted(path.name for path in place.iterdir()
                  if path.name not in _LEFT and path.suffix != ".png")
    if more:
        raise UsageError(f"{text}: there is more in it than ./cint compare leaves: {more[0]}",
                         hint="remove it by hand")
    return place


def _cells(entry: Entry) -> list[str]:
    said = entry.as_dict()
    what = f"{len(said['policies'])} x {len(said['workloads'])}" if entry.document else ""
    if (said["repeat"] or 1) > 1:
        what += f" x {said['repeat']}"
    state = "unfinished" if entry.command else "quick" if said["quick"] else ""
    return [entry.name, entry.label, what, said["time"] or "", state, said["version"] or ""]


HEAD = ("name", "label", "runs", "time", "", "cint")


def format_lines(found: Sequence[Entry]) -> list[str]:
    """The list as a table."""
    rows = [list(HEAD), *map(_cells, found)]
    widths = [min(max(len(row[i]) for row in rows), 32) for i in range(len(HEAD))]
    return ["  ".join(table.cut(cell, width).ljust(width)
                      for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
