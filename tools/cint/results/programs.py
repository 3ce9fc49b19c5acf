# SPDX-License-Identifier: GPL-2.0-or-later
"""The numbers of a person's own program, as a table under that of the device."""

from __future__ import annotations

from collections.abc import Sequence

from cint.measure import apps, sampling
from cint.results import table

#: The narrowest and the widest column of a number, and that of its ratio.
_LEAST, _MOST, _RATIO = 9, 30, 7


def format_lines(rows: Sequence[sampling.Row], baseline: str,
                 paint: table.Paint = table.plain) -> list[str]:
    """The lines; none where no program told anything."""
    told = [row for row in rows if row.said]
    names = list(dict.fromkeys(name for row in told for name in row.said))
    lines = [line for block in _blocks(told, names) for line in _block(told, block, paint)]
    return [*lines, f"What the program told; x: ratio to '{baseline}'."] if lines else []


def _name_width(rows: Sequence[sampling.Row]) -> int:
    return max(table.MIN_NAME, *(len(row.policy) for row in rows))


def _width(name: str, unit: str) -> int:
    return min(max(len(name) + 2, len(unit) + 2, _LEAST), _MOST)


def _units(rows: Sequence[sampling.Row]) -> dict[str, str]:
    """The unit of each number, by its name."""
    return {name: one.unit for row in reversed(rows) for name, one in row.said.items()}


def _blocks(rows: Sequence[sampling.Row], names: Sequence[str]) -> list[list[str]]:
    """The numbers that stand beside each other, as many as the table is wide."""
    blocks: list[list[str]] = []
    left = 0
    units = _units(rows)
    for name in names:
        if (needed := _width(name, units[name]) + _RATIO) > left:
            blocks.append([])
            left = table.WIDTH - _name_width(rows)
        blocks[-1].append(name)
        left -= needed
    return blocks


def _block(rows: Sequence[sampling.Row], names: Sequence[str], paint: table.Paint) -> list[str]:
    width = _name_width(rows)
    units = _units(rows)
    columns = {name: _width(name, units[name]) for name in names}
    head = "".join(table.cut(name, _MOST - 1).rjust(columns[name]) + "".rjust(_RATIO)
                   for name in names)
    unit = "".join(units[name].rjust(columns[name]) + "x".rjust(_RATIO) for name in names)
    lines = ["", paint("policy".ljust(width) + head.rstrip(), "dim"),
             paint("".ljust(width) + unit, "dim")]
    return [*lines, *(row.policy.ljust(width)
                      + "".join(_cell(row, name, columns[name]) for name in names)
                      for row in rows)]


def _value(one: apps.Said | None) -> str:
    """Five digits, or all before the point."""
    if one is None:
        return "-"
    return f"{one.value:.0f}" if abs(one.value) >= 1e5 else f"{one.value:.5g}"


def cell(row: sampling.Row, name: str) -> str:
    """A number and its ratio in one cell."""
    one, ratio = row.said.get(name), row.said_ratios.get(name)
    return _value(one) + (
        "" if ratio is None else f" ({table.number(ratio)})")


def _cell(row: sampling.Row, name: str, width: int) -> str:
    one, ratio = row.said.get(name), row.said_ratios.get(name)
    shown = "" if ratio is None else table.number(ratio)
    return _value(one).rjust(width) + shown.rjust(_RATIO)
