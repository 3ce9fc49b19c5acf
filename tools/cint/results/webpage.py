# SPDX-License-Identifier: GPL-2.0-or-later
"""report.html: a comparison as one page that needs nothing else.

Everything is in the file (style sheet, drawings); it holds no script and asks
nobody for anything, which its Content-Security-Policy also makes sure of.
`cint show --html` makes it again from results.json.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from cint import steps
from cint.errors import CintError
from cint.measure import metrics, sampling, timers
from cint.results import (
    axes,
    cells,
    classes,
    colours,
    documents,
    lateness,
    previous,
    programs,
    sentences,
    table,
    tradeoff,
)

FILE = "report.html"
STYLE_FILE = Path(__file__).with_name("report.css")

Document = Mapping[str, Any]


def write(document: Document, directory: Path) -> Path:
    """Write report.html into the results directory and return its path."""
    path = directory / FILE
    try:
        text = render(document)
    except (KeyError, TypeError, AttributeError) as err:
        raise CintError(f"{directory / 'results.json'}: not results of ./cint compare "
                        f"({type(err).__name__}: {err})") from None
    steps.write_atomic(path, text)
    return path


# ---- pieces -------------------------------------------------------------

def _tag(name: str, content: str, **attributes: str) -> str:
    """An element; ``content`` is HTML, attribute values are plain text."""
    words = "".join(f' {k.rstrip("_").replace("_", "-")}="{escape(v)}"'
                    for k, v in attributes.items())
    return f"<{name}{words}>{content}</{name}>"


def _table(caption: str, head: Sequence[str], body: Iterable[str], kind: str = "") -> str:
    """A table that scrolls by itself when it is wider than the screen.

    ``head`` and ``body`` (rows, with their tags) are HTML.
    """
    cells = "".join(_tag("th", h, scope="col") for h in head)
    inner = _tag("thead", _tag("tr", cells)) + _tag("tbody", "\n".join(body))
    # The title stands outside, where it wraps instead of scrolling out of view.
    return (_tag("p", escape(caption), class_="cap")
            + _tag("div", _tag("table", inner, class_=kind, aria_label=caption), class_="scroll",
                   tabindex="0", role="region", aria_label=caption))


def _row(name: str, cells: Iterable[str], kind: str = "") -> str:
    """A table row; ``cells`` are HTML."""
    words = {"class_": kind} if kind else {}
    return _tag("tr", _tag("th", escape(name), scope="row")
                + "".join(_tag("td", c) for c in cells), **words)


def _pairs(caption: str, pairs: Iterable[tuple[str, object]]) -> str:
    return _table(caption, ("name", "value"),
                  [_row(name, [escape(str(value))]) for name, value in pairs], "text wide")


def _list(texts: Sequence[str]) -> str:
    """Plain texts as a list; empty without any."""
    return _tag("ul", "".join(_tag("li", escape(text)) for text in texts)) if texts else ""


def _details(summary: str, content: str) -> str:
    return _tag("details", _tag("summary", escape(summary)) + content)


def _pre(text: str) -> str:
    return _tag("pre", escape(text))


def _section(title: str, content: str) -> str:
    return f"\n<section>\n{_tag('h2', escape(title))}\n{content}\n</section>" if content else ""


# ---- the parts of the page ----------------------------------------------

def _top(document: Document) -> str:
    made = f"{document['created'].replace('T', ' ').replace('Z', ' UTC')}"
    parts = [_tag("h1", "NVMe interrupt policies compared"),
             _tag("p", escape(f"{made}, cint {document['tool']['version']}"), class_="dim"),
             _tag("p", escape(sentences.compared(document)))]
    warnings = [n.removeprefix(lateness.WARNING) for n in document["notes"]
                if n.startswith(lateness.WARNING)]
    parts += [_tag("p", f"<strong>Warning:</strong> {escape(w)}.", class_="warn")
              for w in warnings]
    return "\n".join(parts)


def _said(document: Document, workload: Mapping[str, Any]) -> str:
    """A workload in words."""
    texts = sentences.line(document, workload), sentences.calibrated(document, workload)
    return "".join(_tag("p", escape(text), class_="said") for text in texts if text)


def _trade_off(document: Document) -> str:
    """The drawing that all others are about, first, and what each workload says in a line."""
    drawn = dict(tradeoff.points(document))
    figures = []
    for one in document["workloads"]:
        title = tradeoff.title(one)
        line = tradeoff.timers(document, one["name"])
        drawing = tradeoff.draw(title, drawn[title], line) if title in drawn else ""
        words = _said(document, one)
        if drawing or words:
            figures.append(_tag("figure", _tag("figcaption", _tag("b", escape(title))) + drawing
                                + _tag("p", escape(f"{one['title']}."), class_="dim said")
                                + words))
    if not figures:
        return _list(sentences.limits(document))
    key = ("Filled: nothing else has fewer interrupts without a higher latency, or the reverse. "
           f"Differences of up to {tradeoff.SAME:.0%}, or within what the boots differ, are ties.")
    if document.get("timers"):
        times = ", ".join(map(str, timers.TIMES_US))
        key += f" The line is timers (static) of {times} us, whose runs were known already."
    return (_tag("div", "\n".join(figures), class_="plots") + _tag("p", escape(key), class_="dim")
            + _list(sentences.limits(document)))


#: The columns in which it is said who is best, and whether the most is.
_RANKED = {"iops": True, "mean_us": False, "ios_per_irq": True}


def _best(rows: Sequence[sampling.Row]) -> Mapping[str, Sequence[str]]:
    """The policies that are best in a column, where not all are."""
    found = {name: sentences.ranking(rows, name, most=most) for name, most in _RANKED.items()}
    return {name: [row.policy for row in one.best]
            for name, one in found.items() if one and not one.same}


#: Columns whose cells have a bar below the number.
_BARS = ("iops", "device_irqs", "cpu_percent")
#: The latencies that a range is drawn of.
_RANGE = ("p50_us", "p99_us", "p999_us")


def _value_cell(row: sampling.Row, metric: metrics.Metric, best: Sequence[str],
                drawing: str = "") -> str:
    value, ratio = row.values.get(metric.name), row.ratios.get(metric.name)
    if value is None:
        return "" if row.job is not None else "-"
    text = table.number(value * metric.factor)
    if row.job is None and row.policy in best:
        text = _tag("b", text)
    if (few := row.few(metric.name)) is not None:
        text += _tag("small", f"{table.FEW}{few} beyond", class_="few")
    if ratio is not None:
        text += _tag("small", f"{table.number(ratio)}x")
    ends = row.range.get(metric.name)
    if ends is not None:
        text += _tag("small", escape(" to ".join(table.number(end * metric.factor)
                                                 for end in ends)), class_="ends")
    return text + drawing


@dataclass(frozen=True)
class _Drawn:
    """What the drawings in a workload's table share: the largest values, an axis, the colours."""

    most: Mapping[str, float]
    latency: axes.Axis | None
    colours: Mapping[str, str]

    @classmethod
    def of(cls, rows: Sequence[sampling.Row]) -> _Drawn:
        """Those of these rows."""
        known = {name: [v for row in rows if (v := row.values.get(name)) is not None]
                 for name in (*_BARS, *_RANGE)}
        ends = [v for name in _RANGE for v in known[name] if v > 0]
        return cls({name: max(known[name], default=0.0) for name in _BARS},
                   axes.axis(ends, 0, cells.WIDTH) if ends else None,
                   colours.of([row.policy for row in rows]))

    def bar(self, row: sampling.Row, name: str) -> str:
        """The bar of a value; empty where the column has none."""
        value = row.values.get(name)
        if name not in _BARS or value is None:
            return ""
        full = 100.0 if name == "cpu_percent" else self.most[name]
        return cells.bar(value, full, self.colours[row.policy])

    def latencies(self, row: sampling.Row) -> str:
        """The range of a row's latencies, empty where they are not known."""
        values = [v for name in _RANGE if (v := row.values.get(name)) is not None]
        if len(values) < len(_RANGE) or self.latency is None or min(values) <= 0:
            return ""
        return cells.spread(values, self.latency, self.colours[row.policy])


def _result_rows(mine: Sequence[sampling.Row], drawn: _Drawn) -> list[str]:
    best = _best([row for row in mine if row.job is None])
    found = []
    for row in mine:
        shown = [_value_cell(row, metric, best.get(metric.name, ()), drawn.bar(row, metric.name))
                 for metric in metrics.TABLE]
        shown.insert(1, drawn.latencies(row))
        name = row.policy if row.job is None else f"{row.job} job"
        found.append(_row(name, shown, "job" if row.job is not None else ""))
    return found


def _head(drawn: _Drawn, time: str) -> list[str]:
    """The heads of a workload's table; ``time`` is whose time its values are in."""
    heads = [escape(metric.head) + _tag("small", escape(metric.unit)) for metric in metrics.TABLE]
    log = ", log" if drawn.latency is not None and drawn.latency.log else ""
    heads.insert(1, "latency" + _tag("small", f"p50 to p99.9, us{log}"))
    return ["policy" + (_tag("small", time) if time else ""), *heads]


def _results(document: Document) -> str:
    parts = []
    for one in document["workloads"]:
        title = f"{one['name']}: {one['title']}"
        if one.get("latency_job"):
            title += f"; latency: the {one['latency_job']} job's"
        mine = [row for row in documents.rows_from(document) if row.workload == one["name"]]
        drawn = _Drawn.of(mine)
        parts.append(_table(title, _head(drawn, table.time_of(document)),
                            _result_rows(mine, drawn)))
    key = (f"Bold: the best, and what ties with it. "
           f"x: ratio to {document['baseline']} in the same workload. Latencies are those from "
           "submission to completion as fio sees them; the drawing is thick from p50 to p99 and "
           "thin up to p99.9. device, guest: interrupts "
           "counted by the device and by the guest's kernel. hold: from a completion's post to "
           "its interrupt, mean. -: not known. "
           f"{table.FEW}: a percentile that goes by the few I/Os beyond it, fewer than "
           f"{metrics.FEW_BEYOND}. With several boots: medians (percentiles of all "
           "boots together), and from the smallest to the largest.")
    return "\n".join([*parts, _tag("p", escape(key), class_="dim")])


def _programs(document: Document) -> str:
    """What a person's own program told."""
    found = [row for row in documents.rows_from(document) if row.said]
    if not found:
        return ""
    units = {name: one.unit for row in found for name, one in row.said.items()}
    rows = [_row(row.policy, [escape(programs.cell(row, name)) for name in units])
            for row in found]
    heads = [escape(name) + _tag("small", escape(unit)) for name, unit in units.items()]
    text = f"In brackets: the ratio to {document['baseline']}. Medians where there are repeats."
    return (_table("What the program told", ["policy", *heads], rows)
            + _tag("p", escape(text), class_="dim"))


def _previous(document: Document) -> str:
    before = document.get("previous")
    if not before:
        return ""
    head = ["workload", "policy", *(escape(metric.title) for metric in metrics.COMPARED)]
    body = []
    for entry in (e for e in before["rows"] if e["job"] is None):
        cells = [previous.compared(entry, metric) for metric in metrics.COMPARED]
        body.append(_row(entry["workload"], [escape(c) for c in (entry["policy"], *cells)]))
    changed = [f"{name} {old}, now {new}" for name, (old, new) in before["changed"].items()]
    text = f"Different since: {'; '.join(changed)}." if changed else "The versions are the same."
    return (_table(f"The values of {before['directory']}, and the change since", head, body, "two")
            + _tag("p", escape(text), class_="dim"))


def _timers(document: Document) -> str:
    found = lateness.of_document(document)
    if not found:
        return ""
    rows = []
    for one in found:
        name, *cells = lateness.cells(one)
        marked = f"{name} (too late)" if one.broken else name
        rows.append(_row(marked, [escape(c) for c in cells], "late" if one.broken else ""))
    text = ("The host wakes QEMU's timers late. got: the time asked for plus the mean lateness, "
            "for interrupts that a timer sent. Percentiles and maxima are upper bounds: the device "
            "counts in buckets that are powers of two wide. too late: by more than the whole time "
            "asked for, on average.")
    return (_table("Asked for, achieved and lateness, us", [escape(h) for h in lateness.HEAD], rows,
                   "two")
            + _tag("p", escape(text), class_="dim"))


def _classes(document: Document) -> str:
    found = classes.collect(documents.rows_from(document))
    if not found:
        return ""
    rows = [_row(name, [escape(c) for c in cells])
            for name, *cells in (one.cells() for one in found)]
    text = ("L is I/O of the realtime class, T all other. wait: from doorbell to fetch, the mean. "
            "Last repeat.")
    return (_table("By class of I/O, as the device counts", [escape(h) for h in classes.HEAD],
                   rows, "two") + _tag("p", escape(text), class_="dim"))


#: What the device's reasons mean.
REASONS = {
    "none": "no reason recorded", "each": "one for each completion", "urgent": "urgent command",
    "barrier": "barrier command", "thr": "threshold reached",
    "quiet": "no completion for delta", "time": "aggregation time over",
    "ratio": "vIC: the ratio's turn", "low-cif": "vIC: few commands in flight",
    "low-iops": "vIC: low rate", "pointer": "pointer reached",
    "drain": "nothing more in flight", "pressure": "queue nearly full",
    "max-hold": "held for the longest time allowed", "error": "error completion",
    "storm": "storm limiter", "kick": "the guest looked too early",
    "reconfigure": "policy or parameter changed", "admin": "admin queue",
}


def _share(count: int, total: int) -> str:
    return f"{count}{_tag('small', f'{100 * count / total:.1f} %')}" if count else "0"


#: What the hints of commands mean.
HINTS = {"none": "unmarked", "urgent": "somebody waits for it", "barrier": "last of a batch",
         "both": "acts as unmarked"}


def _counts(document: Document, title: str, of: Callable[[sampling.Row], Mapping[str, int]],
            words: Mapping[str, str]) -> str:
    """Counts by name as stacked bars, with what the names mean, and all numbers below."""
    rows = [(r, {name: count for name, count in of(r).items() if count})
            for r in documents.rows_from(document) if r.job is None and any(of(r).values())]
    if not rows:
        return ""
    total = Counter[str]()
    for _, counts in rows:
        total.update({name: count / sum(counts.values()) for name, count in counts.items()})
    names = [name for name, _ in total.most_common()]
    shades = cells.shades(names)
    drawn = [_row(row.workload, [escape(row.policy), cells.stack(
        {name: counts[name] for name in names if name in counts}, shades)])
        for row, counts in rows]
    legend = "".join(_tag("li", cells.key(name, shades[name]) + " " + _tag("b", escape(name))
                          + f" {escape(words.get(name, ''))}") for name in names)
    head = ["workload", "policy", *(f"{escape(n)}{_tag('small', escape(words.get(n, '')))}"
                                    for n in names)]
    numbers = [_row(row.workload, [escape(row.policy), *(
        _share(counts.get(name, 0), sum(counts.values())) for name in names)])
        for row, counts in rows]
    return (_table(title, ("workload", "policy", "share"), drawn, "two stacks")
            + _tag("ul", legend, class_="legend")
            + _details("The numbers", _table(f"{title}, in numbers", head, numbers, "two")))


def _reasons(document: Document) -> str:
    return _counts(document, "Interrupts by reason, last repeat", lambda r: r.reasons, REASONS)


def _hints(document: Document) -> str:
    return _counts(document, "Completed commands by hint, last repeat", lambda r: r.hints, HINTS)


def _text(value: object) -> str:
    """A value of results.json for a person."""
    if isinstance(value, Mapping):
        return ", ".join(f"{k}={v}" for k, v in value.items() if v != {}) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value in (None, "") else str(value)


def _parameters(document: Document) -> str:
    scale, cost = document["scale"], document["irq_cost"]
    force = "" if cost["in_force"] or not cost["applied_ns"] else " (not in force)"
    pairs: list[tuple[str, object]] = [
        ("time", document["time"]),
        ("accelerator", f"{document['accel']['name']}: {document['accel']['reason']}"),
        ("cpu-scale", f"{scale['k']:g}"),
        ("interrupt cost", f"{cost['reported_ns']} ns, {cost['applied_ns']} ns in the guest"
         + force),
        *((name.replace("_", " "), _text(v)) for name, v in document["parameters"].items())]
    policies = [_row(p["name"], [escape(_text(p["properties"])), escape(_text(p["applied"]))])
                for p in document["policies"]]
    return (_pairs("Parameters, reported values", pairs)
            + _table("Policies", ("policy", "asked for", "given to the device"), policies,
                     "text wide"))


def _versions(document: Document) -> str:
    host, versions = document["host"], document["versions"]
    pairs: list[tuple[str, object]] = [
        ("cint", document["tool"]["version"]), ("QEMU", versions["qemu"]),
        ("guest's kernel", versions["kernel"]), ("fio", versions["fio"]),
        ("guest's image", _text(versions["image"])),
        ("host", f"{host['cpu']}, {host['cpus']} CPUs, {host['memory_mib']} MiB, "
                 f"kernel {host['kernel']}"),
        ("guests took", f"{document['wall_s']:.0f} s")]
    return _pairs("Versions and machine", pairs)


def _commands(document: Document) -> str:
    parts = [_details(f"QEMU for {p['name']}", _pre(shlex.join(p["qemu"])))
             for p in document["policies"]]
    parts += [_details(f"commands of {w['name']}", _pre(w["app"]["run"])) if "app" in w else
              _details(f"fio job {w['name']}, as the guest had it", _pre(w["fio"]))
              for w in document["workloads"]]
    if document["scale"]["k"] != 1:
        rows = [_row(f"{s['where']}: {s['name']}", [escape(_factor(s)), escape(s["note"])])
                for s in document["scale"]["table"]]
        parts.append(_details("What was scaled", _table(
            "Factor from the reported value to the guest's", ("name", "factor", "note"), rows,
            "text wide")))
    return "\n".join(parts)


def _factor(entry: Document) -> str:
    return "not scaled" if entry["factor"] is None else f"{entry['factor']:g}"


def _notes(document: Document) -> str:
    return _list([n.removeprefix(lateness.WARNING) for n in document["notes"]])


def _repeat(document: Document) -> str:
    return (_pre(document["repeat_command"])
            + _tag("p", "Beside this page: results.json (everything, with a schema), results.csv "
                        "(the table) and logs.", class_="dim"))


PARTS: Sequence[tuple[str, Callable[[Document], str]]] = (
    ("Latency against interrupts", _trade_off), ("Results", _results),
    ("The program's own numbers", _programs), ("Beside the last result", _previous),
    ("Timers in real time", _timers),
    ("Classes of I/O", _classes),
    ("Reasons of interrupts", _reasons), ("Hints of commands", _hints), ("Notes", _notes),
    ("How to repeat it", _repeat), ("Parameters", _parameters), ("Versions", _versions),
    ("Command lines and jobs", _commands))


def whole(title: str, style_file: Path, parts: Sequence[str], schemes: str) -> str:
    """A page that needs no other file and runs nothing; `schemes`: colours its style has."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="color-scheme" content="{schemes}">
<title>{escape(title)}</title>
<style>
{style_file.read_text(encoding="utf-8")}</style>
</head>
<body>
<main>
{"".join(parts)}
</main>
</body>
</html>
"""


def render(document: Document) -> str:
    """The whole page."""
    title = f"Interrupt policies: {', '.join(p['name'] for p in document['policies'])}"
    body = [_top(document), *(_section(name, part(document)) for name, part in PARTS)]
    return whole(title, STYLE_FILE, body, "light dark")
