# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages and drawings of docs/figures, made again from the numbers that are stored beside them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cint.figures import catalog, document, draw, headline, page
from cint.figures.values import Data


def redrawn() -> Iterator[tuple[Path, str]]:
    """Every file that follows from the stored numbers, with the text that it should have."""
    entries = []
    for figure in catalog.figures():
        entry = document.stored(figure.id)
        if entry is None:
            continue
        entries.append(entry)
        place = document.STORED / f"{figure.id}.md"
        yield place, page.figure_page(figure, entry, entry)
        if figure.panels:
            yield place.with_suffix(".svg"), draw.svg(figure, Data.from_dict(entry["data"]))
    if text := headline.svg():
        yield headline.PATH, text
    yield document.LIST, page.list_page(entries, catalog.not_done())


def write() -> list[Path]:
    """Write what differs; the files that did."""
    changed = [(path, text) for path, text in redrawn()
               if not path.exists() or path.read_text("utf-8") != text]
    for path, text in changed:
        path.write_text(text, "utf-8")
    return [path for path, _ in changed]
