# SPDX-License-Identifier: GPL-2.0-or-later
"""What the policies are about: interrupts for each I/O against latency, a point for each policy.

Points as data, and a drawing of them as SVG for the page; plots.py has the PNG.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from cint.measure import sampling
from cint.results import documents, table

X_LABEL = "interrupts per I/O"
Y_LABEL = "mean latency, us"
#: Values further apart than this are drawn on a logarithmic axis.
WIDE = 20.0

Ends = tuple[float, float] | None


@dataclass(frozen=True)
class Point:
    """One policy in one workload, with the ends of its repeats' values."""

    policy: str
    irqs: float
    latency: float
    irqs_range: Ends = None
    latency_range: Ends = None


def wide(values: Sequence[float]) -> bool:
    """Whether an axis for these values has to be logarithmic."""
    return min(values) > 0 and max(values) / min(values) > WIDE


def _point(row: sampling.Row) -> Point | None:
    merged, latency = row.values.get("ios_per_irq"), row.values.get("mean_us")
    if not merged or latency is None:
        return None
    ends = row.range.get("ios_per_irq")
    return Point(row.policy, 1 / merged, latency,
                 (1 / ends[1], 1 / ends[0]) if ends and ends[0] else None,
                 row.range.get("mean_us"))


def points(document: Mapping[str, Any]) -> list[tuple[str, list[Point]]]:
    """The points of each workload that has two or more, by its title."""
    rows = [r for r in documents.rows_from(document) if r.job is None]
    found = []
    for workload in document["workloads"]:
        mine = [p for r in rows if r.workload == workload["name"] and (p := _point(r))]
        job = workload.get("latency_job")
        if len(mine) > 1:
            found.append((f"{workload['name']} ({job} job)" if job else workload["name"], mine))
    return found


# ---- the page's drawing -------------------------------------------------

SIZE, _LEFT, _TOP, _BOTTOM, _RIGHT = 360, 46, 10, 40, 14
_HEIGHT = 260
_LINE = 13
MOST_TICKS = 6


@dataclass(frozen=True)
class _Axis:
    """From values to places in the drawing."""

    low: float
    high: float
    start: float
    end: float
    log: bool

    def at(self, value: float) -> float:
        """The place of a value."""
        low, high, here = ((math.log(v) for v in (self.low, self.high, value)) if self.log
                           else (self.low, self.high, value))
        return self.start + (self.end - self.start) * (here - low) / (high - low)

    def ticks(self) -> list[float]:
        """Values to name: powers of ten, or round numbers in even steps."""
        if not self.log:
            power = 10.0 ** math.floor(math.log10(self.high))
            step = next(s for s in (power / 5, power / 2, power, 2 * power)
                        if self.high / s <= MOST_TICKS)
            return [step * i for i in range(int(self.high / step) + 1)]
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        return [10.0**p for p in powers if self.low <= 10.0**p <= self.high]


def _axis(values: Sequence[float], start: float, end: float) -> _Axis:
    if wide(values):
        return _Axis(min(values) / 1.5, max(values) * 1.5, start, end, True)
    return _Axis(0.0, max(values) * 1.12 or 1.0, start, end, False)


def _grid(x: _Axis, y: _Axis) -> list[str]:
    parts = []
    for value in x.ticks():
        at = x.at(value)
        parts.append(f'<path class="grid" d="M{at:.1f} {y.start}V{y.end}"/><text class="k" '
                     f'x="{at:.1f}" y="{y.start + 14}" text-anchor="middle">'
                     f'{table.number(value)}</text>')
    for value in y.ticks():
        at = y.at(value)
        parts.append(f'<path class="grid" d="M{x.start} {at:.1f}H{x.end}"/><text class="k" '
                     f'x="{x.start - 6}" y="{at + 4:.1f}" text-anchor="end">'
                     f'{table.number(value)}</text>')
    middle = (x.start + x.end) / 2
    return [*parts, f'<text class="k" x="{middle}" y="{y.start + 30}" text-anchor="middle">'
                    f'{X_LABEL}{" (log scale)" if x.log else ""}</text>']


def _names(mine: Sequence[Point], x: _Axis, y: _Axis) -> list[str]:
    """The policies' names beside their points; points at one place share a label."""
    places: dict[tuple[int, int], list[str]] = {}
    for point in mine:
        cell = round(x.at(point.irqs) / 8), round(y.at(point.latency) / 8)
        places.setdefault(cell, []).append(point.policy)
    parts, taken = [], [float("-inf")]
    for (across, down), names in sorted(places.items(), key=lambda item: item[0][1]):
        at = max(down * 8 + 4.0, taken[-1] + _LINE)
        taken.append(at)
        right = across * 8 > (x.start + x.end) / 2
        parts.append(f'<text class="v" x="{across * 8 + (-7 if right else 7)}" y="{at:.0f}" '
                     f'text-anchor="{"end" if right else "start"}">'
                     f'{escape(table.cut(", ".join(names), 44))}</text>')
    return parts


def describe(title: str, mine: Sequence[Point]) -> str:
    """The drawing in words."""
    words = [f"{p.policy}: {table.number(p.irqs)} interrupts per I/O, {table.number(p.latency)} us"
             for p in mine]
    return f"Latency against interrupts in {title}. {'; '.join(words)}."


def draw(title: str, mine: Sequence[Point]) -> str:
    """One workload's points as an SVG element."""
    x = _axis([p.irqs for p in mine], _LEFT, SIZE - _RIGHT)
    y = _axis([p.latency for p in mine], _HEIGHT - _BOTTOM, _TOP)
    dots = [f'<circle class="s{i % 4}" cx="{x.at(p.irqs):.1f}" cy="{y.at(p.latency):.1f}" r="4"/>'
            for i, p in enumerate(mine)]
    return (f'<svg viewBox="0 0 {SIZE} {_HEIGHT}" role="img" '
            f'aria-label="{escape(describe(title, mine))}">'
            f'{"".join([*_grid(x, y), *dots, *_names(mine, x, y)])}</svg>')
