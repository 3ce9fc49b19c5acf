# SPDX-License-Identifier: GPL-2.0-or-later
"""index.html of `cint figure`: the paper's values beside ours, verdicts, reasons and drawings.

One file that needs nothing else, without scripts: templates/figures.html.j2 of cint.results, and
here what stands in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from cint import steps
from cint.figures import catalog, checks, claims, page, records
from cint.figures.figure import Figure
from cint.figures.values import Data, in_words
from cint.results import webpage

FILE = "index.html"

Entry = records.Entry
_WORDS = {checks.PASS: "PASS", checks.FAIL: "FAIL", checks.EXPECTED: "EXPECTED FAIL",
          checks.UNDECIDED: "UNDECIDED", checks.QUICK: "QUICK"}


def write(directory: Path, figures: Sequence[Figure], document: records.Document,
          drawings: Mapping[str, str]) -> Path:
    """Write index.html and return its path."""
    path = directory / FILE
    steps.write_atomic(path, render(figures, document, drawings))
    return path


def _telling(entry: Entry) -> Sequence[records.Check]:
    """The checks that say most: of numbers of the paper, before those that have to be 0 or 1."""
    numbers = [c for c in records.singly(entry["checks"]) if isinstance(c["paper"], (int, float))]
    return (sorted(numbers, key=lambda c: c["paper"] in (0, 1)) or entry["checks"])[:3]


def _values(figure: Figure, entry: Entry, drawing: str) -> dict[str, object]:
    """What the page has of one figure."""
    data = Data.from_dict(entry["data"])
    return {**entry, "checks": [*records.shown(entry["checks"])], "figure": figure,
            "family": catalog.FAMILIES[figure.family], "drawing": drawing,
            "checked": page.summary_row(entry)[1],
            "claims": claims.outcomes(figure, entry), "telling": _telling(entry),
            "notes": [in_words(text, data) for text in figure.notes] if entry["checks"] else [],
            "rows": page.rows(figure, data), "heads": [c.head for c in page.shown(figure, data)]}


def _tight(text: str) -> str:
    """The text on one line: no space or hyphen where it breaks."""
    return text.replace(" ", "\N{NO-BREAK SPACE}").replace("-", "\N{NON-BREAKING HYPHEN}")


def render(figures: Sequence[Figure], document: records.Document,
           drawings: Mapping[str, str]) -> str:
    """The whole page."""
    by_id = {figure.id: figure for figure in figures}
    return webpage.fill("figures.html.j2", {
        "title": "The papers' figures", "style": "figures.css", "schemes": "light",
        "document": document, "names": _WORDS, "EXPECTED": checks.EXPECTED,
        "figures": [_values(by_id[e["id"]], e, drawings.get(e["id"], ""))
                    for e in document["figures"]]},
        tight=_tight, number=page.number, spread=page.spread, bounds=page.bounds,
        beyond=page.beyond, beside=page.beside, expected=page.expected,
        numbers_title=page.numbers_title)
