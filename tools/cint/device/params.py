# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine's parameters, read from hw/nvme/coalesce/param-list.h as text.

So they are known where nothing is built; the device and cint-replay compile the same lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cint import paths

LIST = paths.OVERLAY_NVME / "coalesce/param-list.h"

_LINE = re.compile(
    r'^PARAM\("(?P<name>[\w-]+)", (?P<field>\w+), (?P<kind>BOOL|UINT|ENUM), (?P<low>\d+), '
    r'(?P<high>\d+), (?P<default>\d+), (?P<unit>NONE|NS|MS|PER_S), (?P<feature>\w+),\s*'
    r'(?:NULL|VALUES\((?P<values>[^)]*)\)),\s*(?P<help>(?:"[^"]*"\s*)+)\),$', re.MULTILINE)
_STRING = re.compile(r'"([^"]*)"')


@dataclass(frozen=True, kw_only=True)
class Param:
    """One line of the list: what the property ``cint.NAME`` takes, and where feature D0h has it.

    ``low``, ``high`` and ``default`` of a number are in ``unit``, which is NS, MS, PER_S or NONE;
    of an enumeration or a boolean they are indices of ``values``. ``feature`` is FIELD, NONE or
    the name of a flag.
    """

    name: str
    field: str
    kind: str
    low: int
    high: int
    default: int
    unit: str
    feature: str
    values: tuple[str, ...]
    help: str

    @property
    def prop(self) -> str:
        """The device's property."""
        return f"cint.{self.name}"

    def value(self, number: int) -> int | str:
        """A number of the list's as a property has it."""
        return self.values[number] if self.values else number

    def number(self, value: int | str) -> int:
        """A property's value as the list has it."""
        return self.values.index(str(value)) if self.values else int(value)

    @property
    def usual(self) -> int | str:
        """The default as a property has it."""
        return self.value(self.default)


def read(text: str) -> dict[str, Param]:
    """The lines of a list by name; ValueError where a line is not understood."""
    found = {}
    for line in _LINE.finditer(text):
        values = ("off", "on") if line["kind"] == "BOOL" else (
            tuple(_STRING.findall(line["values"] or "")))
        found[line["name"]] = Param(
            name=line["name"], field=line["field"], kind=line["kind"], low=int(line["low"]),
            high=int(line["high"]), default=int(line["default"]), unit=line["unit"],
            feature=line["feature"], values=values,
            help="".join(_STRING.findall(line["help"])))
    if len(found) != len(re.findall(r"^PARAM\(", text, re.MULTILINE)):
        raise ValueError(f"{paths.display(LIST)}: a line is not understood, or is there twice")
    return found


#: What stands before a range.
_BEFORE = {"NS": "ns, ", "MS": "ms, ", "PER_S": "per second, ", "NONE": ""}


def as_markdown() -> str:
    """The properties as a table (docs/interface.md has it)."""
    lines = ["| property | values | default | meaning |", "|---|---|---|---|"]
    for param in ALL.values():
        valid = ", ".join(param.values) or f"{_BEFORE[param.unit]}{param.low} to {param.high}"
        lines.append(f"| `{param.prop}` | {valid} | {param.usual} | {param.help} |")
    return "\n".join(lines) + "\n"


ALL = read(LIST.read_text("utf-8"))
#: From here on the engine takes THR and DELTA_NS for out of reach.
ENDLESS = {name: int(value) for name, value in re.findall(
    r"^#define CINT_ENDLESS_(\w+)\s+(\d+)$", LIST.with_name("coalesce.h").read_text("utf-8"),
    re.MULTILINE)}
