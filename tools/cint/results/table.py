# SPDX-License-Identifier: GPL-2.0-or-later
"""The terminal table of a comparison: at most 120 columns, units in its head."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cint.measure import metrics, records, sampling

WIDTH = 120
MIN_NAME = 14
MAX_NAME = 26
RATIO_WIDTH = 6

#: Behind a percentile that goes by few I/Os.
FEW = "*"

Paint = Callable[..., str]


def plain(text: str, *styles: str) -> str:
    return text


@dataclass(frozen=True)
class Column:
    """One column: a metric's value, or its ratio to the baseline."""

    metric: metrics.Metric
    ratio: bool = False

    @property
    def head(self) -> str:
        """The first head line."""
        return "" if self.ratio else self.metric.head

    @property
    def unit(self) -> str:
        """The second one."""
        return "x" if self.ratio else self.metric.unit

    @property
    def width(self) -> int:
        """Its width, in columns of the terminal."""
        return RATIO_WIDTH if self.ratio else self.metric.width


COLUMNS = tuple(Column(metric, ratio) for metric in metrics.TABLE
                for ratio in (False, True) if metric.ratio_column or not ratio)


def number(value: float | None) -> str:
    """Four or five digits; never wider than six characters."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    size = abs(value)
    for limit, letter in ((1e8, "G"), (1e5, "M"), (1e2, "k")):
        if size >= limit * 999.995:
            return f"{value / limit / 10:.0f}{letter}"
    if size >= 999.95:
        return f"{value:.0f}"
    if size >= 99.995:
        return f"{value:.1f}"
    return f"{value:.2f}" if size >= 0.1 else f"{value:.3f}"


def _cell(column: Column, row: sampling.Row) -> str:
    source: Mapping[str, float | None] = row.ratios if column.ratio else row.values
    value = source.get(column.metric.name)
    if value is None:
        # An empty ratio is no news; an empty value says that it is not known.
        return "" if column.ratio or row.job is not None else "-"
    mark = "" if column.ratio or row.few(column.metric.name) is None else FEW
    return number(value if column.ratio else value * column.metric.factor) + mark


def few_notes(rows: Sequence[sampling.Row]) -> str:
    """How many I/Os are beyond each percentile that has the mark; empty where none has."""
    found = []
    for metric in metrics.named(*metrics.PERCENTILES):
        counts = [f"{row.few(metric.name)} ({_name(row).strip()})" for row in rows
                  if row.few(metric.name) is not None]
        found += [f"{metric.head} {', '.join(counts)}"] if counts else []
    return f"{FEW} fewer than {metrics.FEW_BEYOND} I/Os beyond it: {'; '.join(found)}" \
        if found else ""


def cut(text: str, width: int) -> str:
    """`text`, or its beginning and an ellipsis."""
    return text if len(text) <= width else text[:width - 1] + "…"


def time_of(*documents: records.Comparison) -> str:
    """Whose time the values are in, where it is not this machine's (docs/scaling.md)."""
    scaled = any(one.get("scale", {}).get("k", 1) != 1 for one in documents)
    return "reported time" if scaled else ""


#: Name of the line below a row of several repeats.
SPREAD = "  max-min, %"


def _width(column: Column, row: sampling.Row) -> str:
    width = None if column.ratio else row.width(column.metric.name)
    return "" if width is None else number(100 * width)


def _line(name: str, cells: Sequence[str], width: int) -> str:
    body = "".join(cell.rjust(c.width) for cell, c in zip(cells, COLUMNS, strict=True))
    return (cut(name, width).ljust(width) + body).rstrip()


def _name(row: sampling.Row) -> str:
    return row.policy if row.job is None else f"  {row.job} job"


def brief(rows: Sequence[sampling.Row]) -> str:
    """A policy's rows in one line: throughput, mean latency and I/Os an interrupt."""
    iops, mean, merged = metrics.named("iops", "mean_us", "ios_per_irq")

    def shown(row: sampling.Row, metric: metrics.Metric) -> str:
        value = row.values.get(metric.name)
        return number(None if value is None else value * metric.factor)

    return "; ".join(f"{row.workload} {shown(row, iops)} kIOPS, {shown(row, mean)} us, "
                     f"{shown(row, merged)} I/Os per irq" for row in rows if row.job is None)


def format_rows(rows: Sequence[sampling.Row], titles: Mapping[str, str],
                baseline: str, paint: Paint = plain, time: str = "") -> list[str]:
    """The table as lines; ``titles`` says what each workload is, ``time`` whose time it is."""
    longest = max((len(_name(r)) for r in rows), default=0)
    width = min(max(longest, MIN_NAME), MAX_NAME)
    lines: list[str] = []
    for workload in dict.fromkeys(r.workload for r in rows):
        mine = [r for r in rows if r.workload == workload]
        lines += ["", paint(cut(f"{workload}: {titles.get(workload, '')}", WIDTH), "bold"),
                  paint(_line("policy", [c.head for c in COLUMNS], width), "dim"),
                  paint(_line(time, [c.unit for c in COLUMNS], width), "dim")]
        for row in mine:
            text = _line(_name(row), [_cell(c, row) for c in COLUMNS], width)
            lines.append(paint(text, "dim") if row.job is not None else text)
            if row.range:
                lines.append(paint(_line(SPREAD, [_width(c, row) for c in COLUMNS], width), "dim"))
        lines += [paint(line, "dim") for line in textwrap.wrap(
            few_notes(mine), WIDTH, subsequent_indent="  ", break_on_hyphens=False)]
    lines += ["", f"x: ratio to '{baseline}' in the same workload. "
                  "hold: from a completion's post to its interrupt, mean."]
    if any(row.range for row in rows):
        lines.append("Values are medians of the repeats (percentiles: of all repeats together); "
                     "max-min: the largest")
        lines.append("less the smallest, in percent of the value.")
    return lines
