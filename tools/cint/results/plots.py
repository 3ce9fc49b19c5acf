# SPDX-License-Identifier: GPL-2.0-or-later
"""PNG plots of a results.json.

Colours are Okabe and Ito's, which people with colour vision deficiencies can
tell apart; bars also carry their numbers.  Every figure names what it was made
from in its last line.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cint import paths
from cint.measure import metrics, sampling
from cint.measure.metrics import Drawing
from cint.results import documents, table

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442",
           "#000000")
# Above this ratio between the largest and the smallest bar a linear axis
# hides the small ones.
LOG_RATIO = 20.0
HEIGHT_IN = 3.8
# A wider figure has its workloads below each other.
MAX_WIDTH_IN = 16.0


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


def provenance(document: Mapping[str, Any]) -> str:
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


def _finish(plt: Any, figure: Any, document: Mapping[str, Any], path: Path) -> Path:
    note = textwrap.fill(provenance(document), 190)
    inch = 1 / figure.get_figheight()
    figure.tight_layout(rect=(0, (0.08 + 0.105 * (note.count("\n") + 1)) * inch, 1,
                              1 - 0.13 * inch))
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


def _bars(axis: Any, rows: Sequence[sampling.Row], drawing: Drawing, log: bool) -> None:
    """Grouped bars: a group for each row, a bar for each metric."""
    series = drawing.metrics
    width = 0.8 / len(series)
    shown: list[float] = []
    for index, metric in enumerate(series):
        known = [(x, row.values.get(metric.name)) for x, row in enumerate(rows)]
        points = [(x, v * metric.factor) for x, v in known if v is not None]
        places = [x + (index - (len(series) - 1) / 2) * width for x, _ in points]
        heights = [v for _, v in points]
        bars = axis.bar(places, heights, width * 0.92, label=metric.series,
                        color=COLOURS[index % len(COLOURS)])
        axis.bar_label(bars, [table.number(v) for v in heights], fontsize=6, padding=1,
                       rotation=90 if len(series) * len(rows) > 9 else 0)
        shown += heights
    axis.set_xticks(range(len(rows)))
    axis.set_xticklabels([r.policy.replace(":", ":\n").replace(",", ",\n") for r in rows],
                         rotation=30 if len(rows) > 5 else 0, fontsize=8)
    _axis(axis, shown, _axis_label(drawing), log)


def _figure(document: Mapping[str, Any], directory: Path, drawing: Drawing) -> Path | None:
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
    figure, axes = plt.subplots(lines, columns, squeeze=False,
                                figsize=(max(5.0, columns * width), 0.4 + HEIGHT_IN * lines))
    speaks = {w["name"]: w.get("latency_job") for w in document["workloads"]}
    for axis, workload in zip(axes.flat, workloads, strict=True):
        mine = [r for r in rows if r.workload == workload]
        _bars(axis, mine, drawing, log)
        job = speaks.get(workload) if drawing.name == "latency" else None
        axis.set_title(f"{workload} ({job} job)" if job else workload)
    if len(series) > 1:
        handles, names = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, names, frameon=False, fontsize=8, ncols=len(series),
                      loc="upper right")
    figure.suptitle(f"{drawing.title} by policy", x=0.01, ha="left", fontsize=11)
    return _finish(plt, figure, document, directory / f"{drawing.name}.png")


def write(document: Mapping[str, Any], directory: Path) -> list[Path]:
    """Write latency.png, iops.png and interrupts.png; return those written."""
    made = [_figure(document, directory, drawing) for drawing in metrics.DRAWINGS if drawing.png]
    return [path for path in made if path is not None]
