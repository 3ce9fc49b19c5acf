# SPDX-License-Identifier: GPL-2.0-or-later
"""Interrupts for each I/O against latency, which policies are about: a point for each policy.

Points as data, and a drawing of them as SVG for the page; plots.py has the PNG.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from cint.measure import records, sampling
from cint.results import axes, colours, documents, table
from cint.results.axes import Axis, Box

X_LABEL = "interrupts per I/O"
Y_LABEL = "mean latency, us"
#: Differences below this are called none (2 %).
SAME = 0.02

Ends = tuple[float, float] | None
Place = Callable[[float], float]


@dataclass(frozen=True)
class Point:
    """One policy in one workload, with the ends of its repeats' values."""

    policy: str
    irqs: float
    latency: float
    irqs_range: Ends = None
    latency_range: Ends = None


def _point(row: sampling.Row) -> Point | None:
    merged, latency = row.values.get("ios_per_irq"), row.values.get("mean_us")
    if not merged or latency is None:
        return None
    ends = row.range.get("ios_per_irq")
    return Point(row.policy, 1 / merged, latency,
                 (1 / ends[1], 1 / ends[0]) if ends and ends[0] else None,
                 row.range.get("mean_us"))


def title(workload: records.Workload) -> str:
    """The name of a workload, with the job whose latency it has."""
    job = workload.get("latency_job")
    return f"{workload['name']} ({job} job)" if job else str(workload["name"])


def points(document: documents.Document) -> list[tuple[str, list[Point]]]:
    """The points of each workload that has two or more, by its title."""
    rows = [r for r in documents.rows_from(document) if r.job is None]
    found = []
    for workload in document["workloads"]:
        mine = [p for r in rows if r.workload == workload["name"] and (p := _point(r))]
        if len(mine) > 1:
            found.append((title(workload), mine))
    return found


def timers(document: documents.Document, workload: str) -> list[Point]:
    """The timers of the document in a workload, as a line."""
    return [Point(one["policy"], 1 / one["ios_per_irq"], one["mean_us"])
            for one in document.get("timers", ())
            if one["workload"] == workload and one["ios_per_irq"] and one["mean_us"] is not None]


def _beats(one: Point, other: Point) -> bool:
    """Whether one is better in something by more than SAME, and in nothing worse."""
    pairs = ((one.irqs, other.irqs), (one.latency, other.latency))
    return (all(a <= b * (1 + SAME) for a, b in pairs)
            and any(a < b * (1 - SAME) for a, b in pairs))


def unbeaten(mine: Sequence[Point]) -> list[Point]:
    """The points to choose from: no other has less of one without more of the other."""
    return [p for p in mine if not any(_beats(other, p) for other in mine)]


# ---- the page's drawing -------------------------------------------------

SIZE, HEIGHT = 360, 270
_LEFT, _TOP, _BOTTOM, _RIGHT = 40, 22, 38, 10
_LINE = 14.0
#: Of a letter of the page's font at this size, in the mean.
_LETTER = 6.7
#: Names in a line of a label, in letters.
_WRAP = 26
#: Points as near as this have one label.
_NEAR = 6.0


def _grid(x: Axis, y: Axis) -> list[str]:
    parts = []
    for value in x.ticks():
        at = x.at(value)
        parts.append(f'<path class="grid" d="M{at:.1f} {y.start}V{y.end}"/><text class="k" '
                     f'x="{at:.1f}" y="{y.start + 15}" text-anchor="middle">{value:g}</text>')
    for value in y.ticks():
        at = y.at(value)
        parts.append(f'<path class="grid" d="M{x.start} {at:.1f}H{x.end}"/><text class="k" '
                     f'x="{x.start - 5}" y="{at + 4:.1f}" text-anchor="end">{value:g}</text>')
    words = f'{X_LABEL}{" (log scale)" if x.log else ""} ← better'
    return [*parts, f'<text class="k" x="{x.end}" y="{y.start + 31}" text-anchor="end">'
                    f'{words}</text>',
            f'<text class="k" x="0" y="11">{Y_LABEL}{" (log scale)" if y.log else ""} '
            '↓ better</text>']


@dataclass(frozen=True)
class Label:
    """The names of the policies at one place, where they stand, in lines."""

    dot: tuple[float, float]
    box: Box
    lines: Sequence[str]


def labels(mine: Sequence[Point], x: Place, y: Place, inside: Box, size: tuple[float, float],
           line: Sequence[Point] = ()) -> list[Label]:
    """Where the names go, not on the line of timers; points at one place share a label.

    ``x`` and ``y`` give the place of a value, ``size`` a letter's width and height.
    """
    letter, height = size
    groups: list[list[Point]] = []
    for point in sorted(mine, key=lambda p: -y(p.latency)):
        near = [group for group in groups
                if max(abs(x(group[0].irqs) - x(point.irqs)),
                       abs(y(group[0].latency) - y(point.latency))) < _NEAR]
        if not near:
            near = [[]]
            groups += near
        near[0].append(point)
    dots = [(x(group[0].irqs), y(group[0].latency)) for group in groups]
    names = [", ".join(p.policy for p in mine if p in group) for group in groups]
    texts = [textwrap.wrap(text, _WRAP, break_on_hyphens=False) for text in names]
    boxes = axes.place(dots, [(letter * max(map(len, text)), height * len(text))
                              for text in texts], inside,
                       axes.along([(x(p.irqs), y(p.latency)) for p in line]))
    return [Label(*three) for three in zip(dots, boxes, texts, strict=True)]


def _leader(at: tuple[float, float], box: Box) -> str:
    """A thin line from a dot to a label that stands away from it."""
    if not axes.leader(box, at):
        return ""
    x, y = box.nearest(at)
    return f'<path class="lead" d="M{at[0]:.1f} {at[1]:.1f}L{x:.1f} {y:.1f}"/>'


def _names(mine: Sequence[Point], line: Sequence[Point], x: Axis, y: Axis) -> list[str]:
    """The policies' names beside their points."""
    parts = []
    inside = Box(x.start + 3, y.end, x.end + 6, y.start - 3)
    for label in labels(mine, x.at, y.at, inside, (_LETTER, _LINE), line):
        left = label.box.right < label.dot[0]
        place = f'x="{label.box.right if left else label.box.left:.1f}"'
        anchor = ' text-anchor="end"' if left else ""
        parts.append(_leader(label.dot, label.box))
        parts += [f'<text class="v" {place} y="{label.box.top + _LINE * i + 11:.1f}"{anchor}>'
                  f'{escape(words)}</text>' for i, words in enumerate(label.lines)]
    return parts


def _marks(mine: Sequence[Point], x: Axis, y: Axis) -> list[str]:
    """A dot for each policy, and a line over its boots' values in either direction."""
    best = unbeaten(mine)
    chosen = colours.of([p.policy for p in mine])
    parts = []
    for p in mine:
        across, down = f"{x.at(p.irqs):.1f}", f"{y.at(p.latency):.1f}"
        colour = chosen[p.policy]
        fill = colour if p in best else "none"
        for ends, path in ((p.irqs_range, "M{0:.1f} " + down + "H{1:.1f}"),
                           (p.latency_range, "M" + across + " {0:.1f}V{1:.1f}")):
            if ends:
                to = x if ends is p.irqs_range else y
                parts.append(f'<path class="ends" stroke="{colour}" '
                             f'd="{path.format(*map(to.at, ends))}"/>')
        parts.append(f'<circle cx="{across}" cy="{down}" r="4.5" fill="{fill}" '
                     f'stroke="{colour}" stroke-width="1.6"/>')
    return parts


def describe(title: str, mine: Sequence[Point]) -> str:
    """The drawing in words."""
    words = [f"{p.policy}: {table.number(p.irqs)} interrupts per I/O, {table.number(p.latency)} us"
             for p in mine]
    return f"Latency against interrupts in {title}. {'; '.join(words)}."


def _spans(values: Sequence[float], ranges: Sequence[Ends]) -> list[float]:
    return [*values, *(end for ends in ranges if ends for end in ends)]


def _line(line: Sequence[Point], x: Axis, y: Axis) -> str:
    """The timers, from the shortest to the longest, behind the policies' dots."""
    if not line:
        return ""
    colour = colours.POLICIES["static"]
    path = "L".join(f"{x.at(p.irqs):.1f} {y.at(p.latency):.1f}" for p in line)
    dots = "".join(f'<circle cx="{x.at(p.irqs):.1f}" cy="{y.at(p.latency):.1f}" r="2" '
                   f'fill="{colour}"/>' for p in line)
    return f'<path class="timers" stroke="{colour}" d="M{path}"/>{dots}'


def draw(title: str, mine: Sequence[Point], line: Sequence[Point] = ()) -> str:
    """One workload's points as an SVG element, and a line of timers behind them."""
    every = [*mine, *line]
    x = axes.axis(_spans([p.irqs for p in every], [p.irqs_range for p in every]),
                  _LEFT, SIZE - _RIGHT)
    y = axes.axis(_spans([p.latency for p in every], [p.latency_range for p in every]),
                  HEIGHT - _BOTTOM, _TOP)
    return (f'<svg viewBox="0 0 {SIZE} {HEIGHT}" role="img" '
            f'aria-label="{escape(describe(title, mine))}">'
            f'{"".join([*_grid(x, y), _line(line, x, y), *_marks(mine, x, y)])}'
            f'{"".join(_names(mine, line, x, y))}</svg>')
