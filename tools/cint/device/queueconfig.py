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


def _layout(text: str) -> dict[str, tuple[int, str]]:
    """Where each member of NvmeCintFeature stands, and its code; it has no gaps."""
    found, at = {}, 0
    whole = _STRUCT.search(text)
    for bits, name, count in _MEMBER.findall(whole[1] if whole else ""):
        found[name] = at, _CODES[bits]
        at += int(bits) // 8 * int(count or 1)
    return found


def _fields() -> Iterator[Field]:
    layout = _layout((paths.OVERLAY_NVME / "cint-abi.h").read_text("utf-8"))
    yield Field("cint.policy", "policy", *layout["policy"], "cint", logpage.POLICIES)
    for param in params.ALL.values():
        if param.feature == "FIELD":
            yield Field(param.prop, param.field, *layout[param.field], param.usual, param.values)


FIELDS = tuple(_fields())


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
