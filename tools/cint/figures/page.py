# SPDX-License-Identifier: GPL-2.0-or-later
"""A page in Markdown for each figure, and docs/figures.md, which lists them."""

from __future__ import annotations

import statistics
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from cint.figures import catalog, checks, claims, records
from cint.figures.columns import Column
from cint.figures.figure import Figure, NotDone
from cint.figures.values import Data, in_words
from cint.results import table

Entry = records.Entry
WIDTH = 100

WORDS = {checks.PASS: "pass", checks.FAIL: "**FAIL**", checks.EXPECTED: "expected fail",
         checks.UNDECIDED: "undecided", checks.QUICK: "quick"}


def number(found: float | str | None) -> str:
    """A number as tables show it, or the words in its place."""
    if found is None:
        return ""
    return found if isinstance(found, str) else f"{found:.4g}"


def spread(found: Sequence[float]) -> str:
    """The seeds' smallest and largest, where they differ in what is shown."""
    low, high = number(min(found)), number(max(found))
    return "" if low == high else f"{low} to {high}"


def bounds(of: Sequence[float | None]) -> str:
    """A check's bounds."""
    return checks.bounds_text(of[0], of[1])


def rows(figure: Figure, data: Data) -> list[tuple[str, list[str]]]:
    """The table of measured numbers: run and workload, and a text for each column."""
    found: list[tuple[str, list[str]]] = []
    for run, cells in data.cells.items() if figure.columns else ():
        for cell, points in cells.items():
            found.append((f"{run} | {cell}", [_cell(c, points) for c in shown(figure, data)]))
    return found


def shown(figure: Figure, data: Data) -> list[Column]:
    """The columns that some run has."""
    points = [p for cells in data.cells.values() for seeds in cells.values() for p in seeds]
    return [c for c in figure.columns if any(c.name in p for p in points)]


def numbers_title(entry: Entry) -> str:
    """The title of the table of measured numbers."""
    return f"Numbers, median of {entry['seeds']} seeds"


def _cell(column: Column, points: Sequence[Mapping[str, float]]) -> str:
    known = [p[column.name] * column.factor for p in points if column.name in p]
    return table.number(statistics.median(known)) if known else ""


# ---- one figure -----------------------------------------------------------

def _wrap(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def beyond(check: records.Check) -> str:
    """How many I/Os of all seeds are beyond the percentile that a check is about."""
    return f"{check['beyond']:,} beyond" if "beyond" in check else ""


def _check_row(check: records.Check) -> str:
    unit = f" {check['unit']}" if check["unit"] else ""
    unit += f", {beyond(check)}" if beyond(check) else ""
    verdict = WORDS[check["verdict"]]
    return (f"| {check['name']} | {number(check['paper'])} | {number(check['measured'])}{unit} "
            f"| {spread(check['seeds'])} | {bounds(check['bounds'])} | {verdict} |")


def expected(check: records.Check) -> str:
    """The bounds within which a check deviates, how many of the seeds do not, and why it does."""
    if "deviation" not in check:
        return "as is expected of those below"
    low, high = check["deviation"]["bounds"]
    held = checks.held(check["seeds"], *check["bounds"])
    return (f"expected here {low:g} to {high:g}{f' ({held})' if held else ''}, because "
            f"{check['deviation']['reason']}")


# ---- the claims -----------------------------------------------------------

def beside(outcome: claims.Outcome) -> str:
    """The paper's number and ours, where the claim has one."""
    if outcome.paper is None:
        return ""
    return f"paper {number(outcome.paper)}, here {number(outcome.here)}"


_HOW_MANY = {claims.REPRODUCED: "reproduced:", claims.SHAPE: "in their shape only:",
             claims.NOT: "not reproduced:", claims.OPEN: "undecided:"}


def in_a_sentence(found: Sequence[claims.Outcome]) -> str:
    """How many of a figure's claims are reproduced, in their shape only, or not."""
    total = Counter(outcome.verdict for outcome in found)
    if len(total) == 1:
        return f"{next(iter(total)).capitalize()}."
    words = [f"{_HOW_MANY[v]} {total[v]}" for v in claims.VERDICTS if total[v]]
    return f"Of {len(found)} claims {' and '.join([', '.join(words[:-1]), words[-1]])}."


def _claims(figure: Figure, entry: Entry) -> list[str]:
    """Each claim of the paper with this figure, and what became of it."""
    found = claims.outcomes(figure, entry)
    if not found:
        return []
    lines = [f"| {one.claim.text} | {one.verdict} | {number(one.paper)} | {number(one.here)} |"
             for one in found]
    return [in_a_sentence(found),
            _table(["the paper claims", "verdict", "paper", "here"], lines, "claims")]


#: Rows of a table that a page shows at once.
_FOLDED_ROWS = 20


def _table(head: Sequence[str], body: Sequence[str], what: str) -> str:
    """A table; a long one is folded, so that a page is read in a minute."""
    text = "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *body])
    if len(body) <= _FOLDED_ROWS:
        return text
    return f'<details><summary>{len(body)} {what}</summary>\n\n{text}\n\n</details>'


#: Of these verdicts a page says why.
_WHY: tuple[tuple[str, str, Callable[[records.Check], str]], ...] = (
    (checks.EXPECTED, "Where it differs from the paper, and why:", expected),
    (checks.UNDECIDED, "What these runs do not decide:", lambda check: check["remark"]))


def _reasons(entry: Entry) -> Iterator[str]:
    """Why what deviates does, and why what is undecided is."""
    for verdict, head, why in _WHY:
        found = [_wrap(f"* {check['name']}: {number(check['measured'])}, wanted "
                       f"{bounds(check['bounds'])}; {why(check)}.")
                 for check in records.singly(entry["checks"]) if check["verdict"] == verdict]
        if found:
            yield from (head, "\n".join(found))


def figure_page(figure: Figure, entry: Entry) -> str:
    """The page of one figure, as it is stored: with the facts."""
    data = Data.from_dict(entry["data"])
    parts = [f"# {figure.id}: {figure.title}", _wrap(
        f"{catalog.FAMILIES[figure.family]}, {figure.source}. Made by `./cint figure --docs "
        f"{figure.id}` at {entry['commit']}; do not edit."), _wrap(figure.claim),
        *_claims(figure, entry), f"![{figure.title}]({figure.id}.svg)", "## Checks",
        _table(["check", "paper", "here", "seeds", "wanted", "verdict"],
               [*map(_check_row, records.shown(entry["checks"]))], "checks")]
    parts += _reasons(entry)
    if figure.notes or figure.left_out:
        parts += ["## Remarks", *(_wrap(in_words(text, data)) for text in figure.notes),
                  *(_wrap(f"Not done: {text}") for text in figure.left_out)]
    found = rows(figure, data)
    if found:
        heads = [c.head for c in shown(figure, data)]
        parts += [f"## {numbers_title(entry)}",
                  _table(["run", "workload", *heads],
                         [f"| {name} | {' | '.join(cells)} |" for name, cells in found], "rows")]
    parts += ["## Jobs", "\n".join(
        f"* {w}" for w in dict.fromkeys(f"`{w.name}`: {w.title}; media `{g.media}`"
                                        for g in figure.groups for w in g.workloads))]
    return "\n\n".join(parts) + "\n"


# ---- the list -------------------------------------------------------------

def in_words_of(found: Sequence[records.Check]) -> str:
    """How many of them have which verdict."""
    total = Counter(check["verdict"] for check in found)
    return ", ".join(f"{total[name]} {word}" for name, word in WORDS.items() if total[name])


def counted(found: Sequence[records.Check]) -> str:
    """How many checks have which verdict; and how many numbers, where a check has several."""
    numbers = [*records.singly(found)]
    if len(numbers) == len(found):
        return in_words_of(found)
    return f"{in_words_of(found)}; by single numbers {in_words_of(numbers)}"


def summary_row(entry: Entry) -> tuple[str, str]:
    """A figure's verdict, and how many checks of it have which, in words."""
    return entry["verdict"], counted(entry["checks"]) or entry["problem"]


def _checks(entries: Sequence[Entry]) -> list[records.Check]:
    return [check for entry in entries for check in entry["checks"]]


def list_page(entries: Sequence[Entry], missing: Sequence[NotDone]) -> str:
    """docs/figures.md: all figures, by paper."""
    commits = sorted({entry["commit"] for entry in entries})
    parts = ["# The papers' figures, measured", _wrap(_of_claims(entries)),
             _wrap(f"{len(entries)} figures: {counted(_checks(entries))}. {_NUMBERS}"),
             _wrap(_WHERE)]
    for family, paper in catalog.FAMILIES.items():
        mine = [entry for entry in entries if entry["set"] == family]
        parts += [f"## {paper}", *([_wrap(f"{counted(_checks(mine))}.")] if mine else []),
                  _family(family, entries, missing)]
    parts += ["## How they are judged", _wrap(_HOW), _wrap(_NEAR), _wrap(
        f"Every number here is of `./cint figure --all --docs`, measured at {', '.join(commits)} "
        f"({'; '.join(sorted({e['conditions'] for e in entries}))}). Do not edit: the command "
        "writes this page, and a test compares it with what is stored beside it.")]
    return "\n\n".join(parts) + "\n"


def _became_of(found: Sequence[claims.Outcome]) -> str:
    """How many came out in which way, in words."""
    total = Counter(outcome.verdict for outcome in found)
    undecided = f"; {total[claims.OPEN]} are undecided" if total[claims.OPEN] else ""
    return (f"{total[claims.REPRODUCED]} are reproduced, {total[claims.SHAPE]} in their shape "
            f"only, {total[claims.NOT]} are not{undecided}")


def _of_claims(entries: Sequence[Entry]) -> str:
    """How many of the papers' claims came out, and of the numbers that these are made of."""
    known = {entry["id"]: entry for entry in entries}
    each = [outcomes for figure in catalog.figures() if figure.id in known
            and (outcomes := claims.outcomes(figure, known[figure.id]))]
    found = [outcome for outcomes in each for outcome in outcomes]
    singly = [outcome for figure in catalog.figures() if figure.id in known
              for outcome in claims.one_by_one(figure, known[figure.id])]
    return (f"{len(each)} figures are of papers. Of their {len(found)} claims {_became_of(found)}. "
            f"Of the {len(singly)} numbers that these claims are made of, each taken for itself, "
            f"{_became_of(singly)}: a claim is as good as its worst number, and a sweep "
            "has many. A claim is reproduced if all of its checks hold and "
            "each number that the paper has came out near it: within a quarter, and of a ratio by "
            "half to twice as far from 1. Only its shape is if a number is farther off, or if a "
            "ratio that does not hold is at least on the paper's side of 1. [How they are "
            "judged](#how-they-are-judged) has the rule in full.")


_NUMBERS = (
    "What a paper says in one sentence of several numbers is one check, which holds if each of "
    "them does. Each number has bounds, a control, and where it is expected to fail a reason of "
    "its own; so both are counted here, checks and single numbers. [How they are "
    "judged](#how-they-are-judged).")
_FEW = f"{100 * (claims.LIKE - 1):.0f} %"
_NEAR = (
    "A claim is reproduced if its checks hold and its numbers are near the paper's, which is "
    "within a quarter of it. Of a ratio, of one run to another or of a number to what it should "
    "be, it also counts how far it is from 1, since almost any is within a quarter of "
    f"one that is almost 1. Where the paper's is more than {_FEW} from 1 that is a "
    "difference: ours has to be on the same side of 1, by half to twice as much in logarithms. By "
    "more or less it is the shape only; if a seed is on the other side, the claim is not "
    f"reproduced, whatever its check allows. Where it is within {_FEW} the two are "
    f"alike, and ours has to be within {_FEW} of 1 as well, or it is the shape "
    "only. The exceptions are where the paper says otherwise of its numbers: RocksDB's reads "
    "under default and cint are the same to it \"within error bounds\", and what vIC adds to a "
    "throughput is an increase.")
_HOW = (
    "The runs are in virtual time ([scaling.md](scaling.md)): they repeat byte for byte on any "
    "machine, and each is kept in the store of runs, so that the command goes on where it "
    "stopped. Every check is judged with three seeds of fio's random reads, and holds only if it "
    "does with each; it also has a control, runs or single numbers exchanged, under which it must "
    "fail, which `./cint test tool` shows for what is stored. An expected failure "
    "has bounds and a reason, whose measured numbers are of the same runs, and is a failure "
    "outside of them, or if the claim holds after all. A check of a percentile is judged only if "
    f"{checks.FEW_BEYOND} I/Os of all seeds or more are beyond it and the seeds' standard "
    "deviation is at most half of the distance from their median to the bound; else it is "
    "undecided. Seeds that have the same percentile with as many I/Os beyond it count once there: "
    "they are one sample. A mean of RocksDB beside a writer may be undecided, too, by its seeds. "
    "Where our kernel gives hints it marks the end of every submission, as the paper has it "
    "(`block.irq_hints=1535`), unless the remarks of a page say otherwise. So they do where the "
    "machine is another than the calibrated one, because its paper has published it. "
    "What else was measured is in [measured.md](measured.md).")
_WHERE = (
    "Each name leads to what was measured and judged. `./cint docs figures` makes the page of each "
    "from it, with its drawing, the reasons of what is expected to fail, and the numbers as a "
    "table, below `build/docs/figures/`; the site has them, too.")


def _family(family: str, entries: Sequence[Entry], missing: Sequence[NotDone]) -> str:
    lines = ["| figure | what | the paper's claims, and what became of them | checks |",
             "|---|---|---|---|"]
    known = {entry["id"]: entry for entry in entries}
    for figure in catalog.figures():
        if figure.family != family:
            continue
        entry = known.get(figure.id)
        if entry is None:
            lines.append(f"| {figure.id} | {figure.title} | not measured at this commit | |")
        else:
            lines.append(f'| <a id="{figure.id}"></a>[{figure.id}](figures/{figure.id}.json) '
                         f"| {figure.title} | {_became(figure, entry)} "
                         f"| {counted(entry['checks'])} |")
    lines += [f"| {n.id} | {n.title} | not done: {n.reason} | |"
              for n in missing if n.family == family]
    return "\n".join(lines)


def _became(figure: Figure, entry: Entry) -> str:
    """A line for each claim; for what is of no paper, what it is to show."""
    found = claims.outcomes(figure, entry)
    if not found:
        return f"of no paper: {figure.claim}"
    return "<br>".join(
        f"**{one.verdict}**: {one.claim.text}{f' ({beside(one)})' if beside(one) else ''}"
        for one in found)
