# SPDX-License-Identifier: GPL-2.0-or-later
"""index.html of `cint figure`: the paper's values beside ours, verdicts, reasons and drawings.

One file that needs nothing else, without scripts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from cint import steps
from cint.figures import catalog, checks, claims, page
from cint.figures.model import Figure
from cint.figures.values import Data, in_words
from cint.results import webpage

FILE = "index.html"
STYLE_FILE = Path(__file__).with_name("figures.css")

Entry = Mapping[str, Any]
_WORDS = {checks.PASS: "PASS", checks.FAIL: "FAIL", checks.EXPECTED: "EXPECTED FAIL",
          checks.QUICK: "QUICK"}


def write(directory: Path, figures: Sequence[Figure], document: Entry,
          drawings: Mapping[str, str]) -> Path:
    """Write index.html and return its path."""
    path = directory / FILE
    steps.write_atomic(path, render(figures, document, drawings))
    return path


def _badge(verdict: str) -> str:
    return f'<span class="badge {verdict}">{_WORDS[verdict]}</span>'


def _cells(cells: Sequence[str], tag: str = "td") -> str:
    return "<tr>" + "".join(f"<{tag}>{c}</{tag}>" for c in cells) + "</tr>"


def _table(head: Sequence[str], body: Sequence[str]) -> str:
    return (f'<div class="scroll"><table><thead>{_cells(head, "th")}</thead><tbody>'
            + "\n".join(body) + "</tbody></table></div>")


def _headline(figure: Figure, entry: Entry) -> str:
    """A figure's line of the overview: what became of the paper's claims, or the checks that say
    most.
    """
    found = claims.outcomes(figure, entry)
    if found:
        return "<br>".join(
            f"<b>{one.verdict}</b>: {escape(one.claim.text)} <small>{page.beside(one)}</small>"
            for one in found)
    numbers = [c for c in entry["checks"] if isinstance(c["paper"], (int, float))]
    # 0 and 1 are things that have to be so, rather than results
    shown = (sorted(numbers, key=lambda c: c["paper"] in (0, 1)) or entry["checks"])[:3]
    parts = [f"{escape(c['name'])}: <b>{page.number(c['measured'])}</b>"
             + (f" <small>(paper {page.number(c['paper'])})</small>" if c["paper"] else "")
             for c in shown]
    return "<br>".join(parts) or escape(entry["problem"])


def _overview(by_id: Mapping[str, Figure], document: Entry) -> str:
    body = [_cells([f'<a href="#{e["id"]}">{_tight(e["id"])}</a>', escape(e["title"]),
                    _badge(e["verdict"]), escape(page.summary_row(e)[1]),
                    _headline(by_id[e["id"]], e)])
            for e in document["figures"]]
    body += [_cells([_tight(n["id"]), escape(n["title"]),
                     '<span class="badge none">NOT DONE</span>', "", escape(n["reason"])])
             for n in document["not_done"]]
    return _table(["figure", "what", "verdict", "checks", "paper and here"], body)


def _tight(text: str) -> str:
    """On one line."""
    return escape(text).replace(" ", "&nbsp;").replace("-", "&#8209;")


def _reason(check: Entry) -> str:
    if check["verdict"] == checks.EXPECTED:
        return escape(page.expected(check))
    return escape(check["remark"])


def _check_row(check: Entry) -> str:
    unit = f" {check['unit']}" if check["unit"] else ""
    return _cells([_badge(check["verdict"]), escape(check["name"]),
                   escape(page.number(check["paper"])),
                   f"<b>{page.number(check['measured'])}</b>{_tight(unit)}",
                   _tight(page.spread(check["seeds"])), _tight(page.bounds(check["bounds"])),
                   _reason(check)])


def _numbers(figure: Figure, entry: Entry) -> str:
    data = Data.from_dict(entry["data"])
    if not page.rows(figure, data):
        return ""
    body = [_cells([*(escape(n) for n in name.split(" | ")), *cells])
            for name, cells in page.rows(figure, data)]
    head = ["run", "workload", *(escape(c.head) for c in page.shown(figure, data))]
    return (f"<details><summary>{page.numbers_title(entry)}</summary>"
            f"{_table(head, body)}</details>")


def _section(figure: Figure, entry: Entry, drawing: str) -> str:
    parts = [f'<section id="{figure.id}"><h2>{figure.id}: {escape(figure.title)} '
             f'{_badge(entry["verdict"])}</h2>',
             f'<p class="dim">{escape(catalog.FAMILIES[figure.family])}, '
             f"{escape(figure.source)}</p>", f"<p>{escape(figure.claim)}</p>"]
    if entry["problem"]:
        parts.append(f'<p class="warn">{escape(entry["problem"])}</p>')
    if drawing:
        parts.append(f'<figure class="plot">{drawing}</figure>')
    if entry["checks"]:
        parts.append(_table(["", "check", "paper", "here", "seeds", "wanted", "reason"],
                            [_check_row(c) for c in entry["checks"]]))
        data = Data.from_dict(entry["data"])
        parts += [f"<p>{escape(in_words(text, data))}</p>" for text in figure.notes]
    parts += [f"<p><b>Not done:</b> {escape(text)}</p>" for text in figure.left_out]
    parts.append(_numbers(figure, entry))
    return "\n".join([*parts, "</section>"])


def _top(document: Entry) -> str:
    total = document["summary"]
    words = ", ".join(f"{total[v]} {_WORDS[v]}" for v in _WORDS if total[v])
    quick = ("<p class='warn'>Made with --quick: short jobs and one seed; nothing here is a "
             "pass.</p>" if document["quick"] else "")
    return (f"<h1>The papers' figures, here</h1><p>{total['figures']} figures: {words}.</p>{quick}"
            f"<p class='dim'>{escape(document['commit'])}; {escape(document['conditions'])}</p>")


def render(figures: Sequence[Figure], document: Entry, drawings: Mapping[str, str]) -> str:
    """The whole page."""
    by_id = {figure.id: figure for figure in figures}
    body = [_top(document), _overview(by_id, document),
            *(_section(by_id[e["id"]], e, drawings.get(e["id"], ""))
              for e in document["figures"])]
    return webpage.whole("The papers' figures", STYLE_FILE, body, "light")
