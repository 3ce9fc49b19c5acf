# SPDX-License-Identifier: GPL-2.0-or-later
"""Small drawings in the cells of the page's tables, as SVG text: bars, ranges and stacks.

Each has the number or the numbers it stands for beside it in the table, and in words for those who
do not see it. A policy has its own colour (:mod:`cint.results.colours`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from cint.results import colours, table
from cint.results.axes import Axis

#: Units of a drawing's own width; the style sheet decides how wide that is.
WIDTH = 100.0
_HEIGHT = 8.0
#: Of the parts of a stack, the largest first.
_PARTS = colours.OTHERS


def _svg(content: str, words: str, kind: str = "cell") -> str:
    return (f'<svg class="{kind}" viewBox="0 0 {WIDTH:g} {_HEIGHT:g}" preserveAspectRatio="none" '
            f'role="img" aria-label="{escape(words)}">{content}</svg>')


def _rect(left: float, width: float, colour: str, top: float = 0.0) -> str:
    return (f'<rect x="{left:.2f}" y="{top:g}" width="{max(width, 0.0):.2f}" '
            f'height="{_HEIGHT - 2 * top:g}" fill="{colour}"/>')


def bar(value: float, full: float, colour: str) -> str:
    """A bar from zero: `value` of `full`, the largest in its column."""
    share = value / full if full else 0.0
    return _svg(_rect(0, WIDTH * share, colour), f"{share:.0%} of the largest")


def spread(values: Sequence[float], axis: Axis, colour: str) -> str:
    """Latencies as a range: `values` are p50, p99 and p99.9, in the axis's unit.

    It is thick from p50 to p99 and thin up to p99.9.
    """
    low, most, end = (axis.at(value) for value in values)
    words = ", ".join(f"{name} {table.number(value)} us"
                      for name, value in zip(("p50", "p99", "p99.9"), values, strict=True))
    return _svg(_rect(low, end - low, colour, 3) + _rect(low, max(most - low, 1.5), colour), words)


def shades(names: Sequence[str]) -> dict[str, str]:
    """A colour for each part of a stack."""
    return {name: _PARTS[index] if index < len(_PARTS)
            else colours.paler(_PARTS[index % len(_PARTS)], index // len(_PARTS))
            for index, name in enumerate(names)}


def stack(parts: Mapping[str, int], colour: Mapping[str, str]) -> str:
    """Shares of a whole, one behind the other."""
    total = sum(parts.values())
    left, content, words = 0.0, "", []
    for name, count in parts.items():
        width = WIDTH * count / total if total else 0.0
        content += _rect(left, width, colour[name])
        left += width
        words.append(f"{name} {count / total:.1%}")
    return _svg(content, ", ".join(words), "cell stack")


def key(name: str, colour: str) -> str:
    """The mark of a stack's legend."""
    return (f'<svg class="key" viewBox="0 0 10 10" role="img" aria-label="{escape(name)}">'
            f'<rect width="10" height="10" fill="{colour}"/></svg>')
