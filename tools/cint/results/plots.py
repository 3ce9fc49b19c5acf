# SPDX-License-Identifier: GPL-2.0-or-later
"""PNG plots of a results.json.

Colours are Okabe and Ito's, which people with colour vision deficiencies can
tell apart; bars also carry their numbers.  Every figure names what it was made
from in its last line.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cint import paths, steps
from cint.errors import UsageError
from cint.measure import metrics, sampling
from cint.measure.metrics import Drawing
from cint.results import axes, colours, documents, table, tradeoff

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442",
           "#000000")
# Above this ratio between the largest and the smallest bar a linear axis
# hides the small ones.
LOG_RATIO = 20.0
HEIGHT_IN = 3.8
#: What the name of a drawing may end in, where a person chooses it.
KINDS = (".png", ".svg", ".pdf")
# A wider figure has its workloads below each other.
MAX_WIDTH_IN = 16.0


def check_name(option: str, path: Path) -> None:
    """Refuse, by UsageError, a drawing's name of no known kind, or in no directory."""
    if path.suffix not in KINDS:
        raise UsageError(f"{option} {path}: the name has to end in {', '.join(KINDS)}")
    if not path.parent.is_dir():
        raise UsageError(f"{option} {path}: {path.parent} is no directory")


def pyplot() -> Any:
    """matplotlib without a display and without files in the home directory."""
    os.environ.setdefault("MPLCONFIGDIR", str(paths.BUILD / "matplotlib"))
    import matplotlib  # noqa: PLC0415 - slow to import, only needed here

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False,
                         "axes.axisbelow": True, "figure.dpi": 130, "axes.titlesize": 10,
                         "axes.titleweight": "bold"})
    return plt


def provenance(document: documents.Document) -> str:
    """One line on where a figure comes from."""
    scale, cost = document["scale"], document["irq_cost"]
    parts = [document["repeat_command"], f"cint {document['tool']['version']}",
             document["versions"]["qemu"].replace("QEMU emulator version ", "QEMU "),
             f"Linux {document['versions']['kernel']}", f"fio {document['versions']['fio']}",
             f"{document['time']} time on {document['accel']['name']}",
             f"cpu-scale {scale['k']:g}",
             f"irq-cost {cost['reported_ns']:g} ns" if cost["in_force"] else "no irq-cost",
             document["host"]["cpu"], document["created"]]
    return " | ".join(parts)


def _layout(figure: Any, document: documents.Document) -> str:
    """Arrange everything above the last lines, and return those."""
    note = textwrap.fill(provenance(document), 190)
    inch = 1 / figure.get_figheight()
    figure.tight_layout(rect=(0, (0.08 + 0.105 * (note.count("\n") + 1)) * inch, 1,
                              1 - 0.13 * inch))
    return note


def _finish(plt: Any, figure: Any, document: documents.Document, path: Path) -> Path:
    note = _layout(figure, document)
    inch = 1 / figure.get_figheight()
    figure.text(0.01, 0.04 * inch, note, fontsize=5.5, color="#555555", va="bottom")
    figure.savefig(path)
    plt.close(figure)
    return path


def _needs_log(rows: Sequence[sampling.Row], drawing: Drawing) -> bool:
    """Whether some workload's bars are too far apart for a linear axis."""
    for workload in {r.workload for r in rows}:
        values = [r.values.get(m.name) or 0.0 for r in rows if r.workload == workload
                  for m in drawing.metrics]
        positive = [v for v in values if v > 0]
        if positive and max(positive) / min(positive) > LOG_RATIO:
            return True
    return False


def _axis(axis: Any, values: Sequence[float], label: str, log: bool) -> None:
    positive = [v for v in values if v > 0]
    axis.set_ylabel(label)
    axis.grid(axis="y", color="#dddddd", linewidth=0.6)
    if positive and log:
        axis.set_yscale("log")
        axis.set_ylim(min(positive) / 2, max(positive) * 3)
        axis.set_ylabel(f"{label} (log scale)")
    elif positive:
        axis.set_ylim(0, max(positive) * 1.18)


def _axis_label(drawing: Drawing) -> str:
    """The unit, with what it is of where it is a short one."""
    return drawing.unit if " " in drawing.unit else f"{drawing.title.lower()}, {drawing.unit}"


def _marks(axis: Any, rows: Sequence[sampling.Row], drawing: Drawing, log: bool) -> None:
    """A group for each row, in it each metric: a bar, or a dot where bars have no length.

    A bar on a logarithmic axis is as long as its arbitrary foot makes it. With several boots a
    line spans from the smallest value to the largest.
    """
    series = drawing.metrics
    width = 0.8 / len(series)
    shown: list[float] = []
    for index, metric in enumerate(series):
        known = [(x, row, v) for x, row in enumerate(rows)
                 if (v := row.values.get(metric.name)) is not None]
        places = [x + (index - (len(series) - 1) / 2) * width for x, _, _ in known]
        heights = [v * metric.factor for _, _, v in known]
        colour = COLOURS[index % len(COLOURS)]
        if log:
            axis.plot(places, heights, "o", color=colour, label=metric.head, markersize=4)
        else:
            axis.bar(places, heights, width * 0.92, label=metric.head, color=colour)
        for place, height, (_, row, _) in zip(places, heights, known, strict=True):
            ends = [end * metric.factor for end in row.range.get(metric.name, (height, height))]
            if row.range:
                axis.plot([place, place], ends, "-", color="#000000", linewidth=0.8)
            axis.annotate(table.number(height), (place, max(height, *ends)), (0, 3),
                          textcoords="offset points", ha="center", va="bottom", fontsize=6,
                          rotation=90 if len(series) * len(rows) > 9 else 0)
        shown += heights
    axis.set_xticks(range(len(rows)))
    axis.set_xticklabels([r.policy.replace(":", ":\n").replace(",", ",\n") for r in rows],
                         rotation=30 if len(rows) > 5 else 0, fontsize=8)
    _axis(axis, shown, _axis_label(drawing), log)


def _figure(document: documents.Document, directory: Path, drawing: Drawing) -> Path | None:
    series = drawing.metrics
    rows = [r for r in documents.rows_from(document) if r.job is None]
    workloads = list(dict.fromkeys(r.workload for r in rows))
    if not any(r.values.get(m.name) is not None for r in rows for m in series):
        return None
    plt = pyplot()
    log = _needs_log(rows, drawing)
    count = len(workloads)
    policies = len({r.policy for r in rows})
    width = max(3.6, 0.28 * policies * len(series) + 1.2)
    columns = count if count * width <= MAX_WIDTH_IN else 1
    lines = count // columns
    figure, grid = plt.subplots(lines, columns, squeeze=False,
                                figsize=(max(5.0, columns * width), 0.4 + HEIGHT_IN * lines))
    speaks = {w["name"]: w.get("latency_job") for w in document["workloads"]}
    for axis, workload in zip(grid.flat, workloads, strict=True):
        mine = [r for r in rows if r.workload == workload]
        _marks(axis, mine, drawing, log)
        job = speaks.get(workload) if drawing.name == "latency" else None
        axis.set_title(f"{workload} ({job} job)" if job else workload)
    if len(series) > 1:
        handles, names = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, names, frameon=False, fontsize=8, ncols=len(series),
                      loc="upper right")
    figure.suptitle(f"{drawing.title} by policy", x=0.01, ha="left", fontsize=11)
    return _finish(plt, figure, document, directory / f"{drawing.name}.png")


# ---- what a short latency costs -----------------------------------------

#: Of a label's letters, in pixels of the PNG.
_LETTER_PX, _LINE_PX = 9.0, 19.0


def _trade_off_axis(axis: Any, points: Sequence[tradeoff.Point]) -> None:
    axis.grid(color="#dddddd", linewidth=0.6)
    best = tradeoff.unbeaten(points)
    chosen = colours.of([point.policy for point in points])
    for point in points:
        colour = chosen[point.policy]
        for ends, across in ((point.irqs_range, True), (point.latency_range, False)):
            if ends:
                places = [point.irqs] * 2 if not across else list(ends)
                heights = [point.latency] * 2 if across else list(ends)
                axis.plot(places, heights, "-", color=colour, linewidth=4, alpha=0.35)
        axis.plot([point.irqs], [point.latency], "o", color=colour, markersize=6,
                  markerfacecolor=colour if point in best else "white")
    for axis_of, values in ((axis.xaxis, [p.irqs for p in points]),
                            (axis.yaxis, [p.latency for p in points])):
        if axes.wide(values):
            axis_of.axes.set(**{f"{axis_of.axis_name}scale": "log"})
            axis_of.set_major_formatter("{x:g}")
        else:
            axis_of.axes.set(**{f"{axis_of.axis_name}lim": (0, max(values) * 1.12)})
    axis.set_xlabel(f"{tradeoff.X_LABEL} (← better)")


def _label(axis: Any, points: Sequence[tradeoff.Point]) -> None:
    """The policies' names where they cover nothing; after the layout, which they leave alone."""
    frame = axis.get_window_extent()
    inside = axes.Box(frame.x0 + 4, -frame.y1, frame.x1 + 4, -frame.y0 - 4)

    def across(value: float) -> float:
        return float(axis.transData.transform((value, points[0].latency))[0])

    def down(value: float) -> float:
        return -float(axis.transData.transform((points[0].irqs, value))[1])

    for one in tradeoff.labels(points, across, down, inside, (_LETTER_PX, _LINE_PX)):
        left = one.box.right < one.dot[0]
        x = (one.box.right if left else one.box.left) - one.dot[0]
        text = axis.annotate("\n".join(one.lines), axis.transData.inverted().transform(
            (one.dot[0], -one.dot[1])), (x, one.dot[1] - (one.box.top + one.box.bottom) / 2),
            fontsize=8, textcoords="offset pixels", ha="right" if left else "left",
            va="center_baseline" if len(one.lines) == 1 else "center")
        text.set_in_layout(False)


def _trade_off(document: documents.Document, directory: Path) -> Path | None:
    """tradeoff.png: a mark for each policy, left and low is better."""
    found = tradeoff.points(document)
    if not found:
        return None
    plt = pyplot()
    figure, grid = plt.subplots(1, len(found), squeeze=False,
                                figsize=(max(5.0, 3.6 * len(found)), 0.9 + HEIGHT_IN))
    for axis, (title, mine) in zip(grid.flat, found, strict=True):
        _trade_off_axis(axis, mine)
        axis.set_title(title)
    grid[0][0].set_ylabel(f"{tradeoff.Y_LABEL} (↓ better)")
    figure.suptitle("Latency against interrupts; filled: no other policy has less of one without "
                    "more of the other", x=0.01, ha="left", fontsize=10)
    path = directory / "tradeoff.png"
    _layout(figure, document)
    for axis, (_, mine) in zip(grid.flat, found, strict=True):
        _label(axis, mine)
    return _finish(plt, figure, document, path)


def write(document: documents.Document, directory: Path) -> list[Path]:
    """Write latency.png, iops.png, interrupts.png and tradeoff.png; return those written."""
    made = [_figure(document, directory, drawing) for drawing in metrics.DRAWINGS]
    made.append(_trade_off(document, directory))
    return [path for path in made if path is not None]


def save(plt: Any, figure: Any, path: Path) -> None:
    """Write what --plot asks for, by the suffix, forget the figure; UsageError if it cannot."""
    try:
        # Whole or not at all: half a file looks like a drawing.
        with steps.replacing(path) as fresh:
            figure.savefig(fresh, format=path.suffix.removeprefix("."))
    except (OSError, ValueError) as problem:
        raise UsageError(f"--plot {path}: {problem}") from None
    finally:
        plt.close(figure)
