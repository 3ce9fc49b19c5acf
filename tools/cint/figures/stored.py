# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages, drawings and the list of the figures, from the numbers in docs/figures.

The tree holds the list, and the drawings that documents show. The rest is made where it is wanted.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path

from cint import paths, steps
from cint.figures import catalog, document, draw, headline, page
from cint.figures.figure import Figure
from cint.figures.values import Data

#: Where ``./cint docs figures`` puts the pages and drawings of all figures.
PAGES = paths.BUILD / "docs/figures"
#: Drawings as they were made last, by what they were made of.
DRAWN = paths.BUILD / "docs/drawn"

Files = Iterator[tuple[Path, str]]


def _measured(figures: Sequence[Figure]) -> list[tuple[Figure, document.Entry]]:
    """Those whose numbers are stored."""
    found = ((figure, document.stored(figure.id)) for figure in figures)
    return [(figure, entry) for figure, entry in found if entry is not None]


def shown() -> set[str]:
    """The figures whose drawings documents show."""
    texts = (path.read_text("utf-8") for path in (paths.ROOT / "docs").glob("*.md"))
    return {name for text in texts for name in re.findall(r"\]\(figures/([\w.-]+)\.svg\)", text)}


@cache
def _code() -> str:
    """What all drawings are made by."""
    ours = steps.hash_files((paths.ROOT / "tools/cint").rglob("*.py"))
    return f"{ours} {metadata.version('matplotlib')}"


def _drawing(figure: Figure, entry: document.Entry) -> str:
    """A drawing, which takes a second to make, and is kept until its numbers or the tool change."""
    made_of = f"{_code()} {json.dumps(entry['data'], sort_keys=True)}"
    kept = DRAWN / f"{figure.id}-{hashlib.sha256(made_of.encode()).hexdigest()[:16]}.svg"
    if not kept.exists():
        steps.write_atomic(kept, draw.svg(figure, Data.from_dict(entry["data"])))
        for old in {*DRAWN.glob(f"{figure.id}-{'?' * 16}.svg")} - {kept}:
            old.unlink(missing_ok=True)
    return kept.read_text("utf-8")


def in_tree() -> Files:
    """The files of the tree that follow from the stored numbers, with their texts."""
    wanted, measured = shown(), _measured(catalog.figures())
    for figure, entry in measured:
        if figure.id in wanted:
            yield document.STORED / f"{figure.id}.svg", _drawing(figure, entry)
    if text := headline.svg():
        yield headline.PATH, text
    yield document.LIST, page.list_page([entry for _, entry in measured], catalog.not_done())


def pages(directory: Path, figures: Sequence[Figure] = ()) -> Files:
    """The page of each of these figures, by default all, and its drawing, below a directory."""
    for figure, entry in _measured(figures or catalog.figures()):
        yield directory / f"{figure.id}.md", page.figure_page(figure, entry)
        if figure.panels:
            yield directory / f"{figure.id}.svg", _drawing(figure, entry)


def write(files: Iterable[tuple[Path, str]]) -> list[Path]:
    """Write what differs; the files that did."""
    changed = [(path, text) for path, text in files
               if not path.exists() or path.read_text("utf-8") != text]
    for path, text in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return [path for path, _ in changed]
