# SPDX-License-Identifier: GPL-2.0-or-later
"""A comparison as text: the table, what belongs under it, and where the rest is."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

from cint import paths, ui
from cint.results import classes, documents, lateness, previous, programs, table, webpage

NOTE_WIDTH = 100


def titles(document: documents.Document) -> dict[str, str]:
    """The titles above each workload's rows."""
    return {w["name"]: w["title"] + (f"; latency: the {w['latency_job']} job's"
                                     if w["latency_job"] else "")
            for w in document["workloads"]}


def print_table(document: documents.Document, where: Path) -> None:
    """All of it on standard output."""
    paint = ui.paint if sys.stdout.isatty() else table.plain
    lines = table.format_rows(documents.rows_from(document), titles(document),
                              document["baseline"], paint, table.time_of(document))
    lines += programs.format_lines(documents.rows_from(document), document["baseline"], paint)
    lines += classes.format_lines(documents.rows_from(document), paint)
    lines += lateness.format_lines(lateness.of_document(document), paint)
    lines += previous.format_lines(document.get("previous"), paint)
    lines += ["", *(line for note in document["notes"] for line in _note_lines(note, paint))]
    lines += [f"repeat: {document['repeat_command']}", f"results: {paths.display(where)}",
              f"report: {paths.display(where / webpage.FILE)}"]
    print("\n".join(lines).lstrip("\n"), flush=True)


def _note_lines(note: str, paint: table.Paint) -> list[str]:
    """A note in lines of the table's width, its further ones indented."""
    lines = textwrap.wrap(f"{note}.", NOTE_WIDTH, subsequent_indent="  ", break_on_hyphens=False,
                          break_long_words=False)
    return [paint(line, "yellow") for line in lines] if note.startswith(lateness.WARNING) else lines
