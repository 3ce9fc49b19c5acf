# SPDX-License-Identifier: GPL-2.0-or-later
"""The configuration of one completion queue: the data of vendor feature D0h.

Its layout is that of NvmeCintFeature in hw/nvme/cint-abi.h, which parameter is in it says
coalesce/param-list.h. What a policy says nothing of has the device's own default.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cint import paths
from cint.device import logpage, params, words

SIZE = 64
FEATURE = 0xd0
_VERSION = struct.Struct("<H")
_FLAGS_AT = 3
_OOO, _RETUNE = 1, 2


@dataclass(frozen=True)
class Field:
    """Where a device property stands, how it is stored, and the device's default.

    Of an enumeration ``values`` are the names by number.
    """

    prop: str
    name: str
    at: int
    code: str
    default: words.Value
    values: tuple[str, ...] = ()

    def stored(self, value: words.Value) -> int:
        """The number for a value of the property."""
        return self.values.index(str(value)) if self.values else int(value)


_STRUCT = re.compile(r"typedef struct NvmeCintFeature {(.*?)}", re.DOTALL)
_MEMBER = re.compile(r"^ +uint(8|16|32|64)_t +(\w+)(?:\[(\d+)\])?;", re.MULTILINE)
_CODES = {"8": "B", "16": "H", "32": "I", "64": "Q"}


@dataclass(frozen=True)
class Member:
    """One member of NvmeCintFeature: its offset and size in bytes, and its code in ``struct``."""

    at: int
    size: int
    code: str


def _layout(text: str) -> dict[str, Member]:
    """The members of NvmeCintFeature by name; it has no gaps."""
    found: dict[str, Member] = {}
    at = 0
    whole = _STRUCT.search(text)
    for bits, name, count in _MEMBER.findall(whole[1] if whole else ""):
        found[name] = Member(at, int(bits) // 8 * int(count or 1), _CODES[bits])
        at += found[name].size
    return found


LAYOUT = _layout((paths.OVERLAY_NVME / "cint-abi.h").read_text("utf-8"))


def _fields() -> Iterator[Field]:
    policy = LAYOUT["policy"]
    yield Field("cint.policy", "policy", policy.at, policy.code, "cint", logpage.POLICIES)
    for param in params.ALL.values():
        if param.feature == "FIELD":
            member = LAYOUT[param.field]
            yield Field(param.prop, param.field, member.at, member.code, param.usual, param.values)


FIELDS = tuple(_fields())


#: Members that are no parameter's.
_OTHERS = {"version": f"version, {logpage.VERSION}",
           "policy": "policy, numbered as in the log page",
           "flags": "flags: bit 0 ooo, bit 1 storm retune (clear: hold); others 0"}
_UNITS = {"NS": ", ns", "MS": ", ms", "PER_S": ", per second", "NONE": ""}


def as_markdown() -> str:
    """The layout as a table (docs/interface.md has it)."""
    told = dict(_OTHERS)
    for param in params.ALL.values():
        numbered = ", ".join(f"{number} {value}" for number, value in enumerate(param.values))
        listed = f": {numbered}" if param.kind == "ENUM" else ""
        told[param.field] = param.name + _UNITS[param.unit] + listed
    lines = ["| offset | size | field |", "|---|---|---|"]
    lines += [f"| {member.at} | {member.size} | {told.get(name, 'reserved')} |"
              for name, member in LAYOUT.items()]
    return "\n".join(lines) + "\n"


def pack(kind: str, properties: Mapping[str, words.Value]) -> bytes:
    """The feature's data for a policy with these device properties, as the device takes them."""
    data = bytearray(SIZE)
    _VERSION.pack_into(data, 0, logpage.VERSION)
    given = {"cint.policy": kind, **properties}
    for field in FIELDS:
        value = field.stored(given.get(field.prop, field.default))
        struct.pack_into(f"<{field.code}", data, field.at, value)
    data[_FLAGS_AT] = ((_OOO if given.get("cint.ooo", "on") == "on" else 0)
                       | (_RETUNE if given.get("cint.storm") == "retune" else 0))
    return bytes(data)
