# SPDX-License-Identifier: GPL-2.0-or-later
"""The structures of hw/nvme/cint-abi.h, read from its text: where a member is, and its numbers.

They are known where nothing is built; a test compares them with what a compiler makes of them.
All is little-endian, and there are no gaps.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from cint import paths

_TEXT = (paths.OVERLAY_NVME / "cint-abi.h").read_text("utf-8")
#: The header's numbers by name: definitions, and values of enumerations.
NUMBERS = {name: int(value) for name, value in
           re.findall(r"\b(NVME_CINT_\w+)(?: +=)? +(\d+)\b", _TEXT)}
_MEMBER = re.compile(r"^ +(\w+) +(\w+)(?:\[(\w+)\])?;", re.MULTILINE)
_CODES = {"uint8_t": "B", "uint16_t": "H", "uint32_t": "I", "uint64_t": "Q"}


@dataclass(frozen=True)
class Member:
    """One member: its offset and size in bytes, and a code of ``struct`` for each of its numbers.

    A member that is a structure has those of its members.
    """

    at: int
    size: int
    codes: str


Layout = Mapping[str, Member]


def layout(name: str) -> Layout:
    """The members of a structure by name, in their order."""
    whole = re.search(rf"^typedef struct {name} {{(.*?)^}}", _TEXT, re.MULTILINE | re.DOTALL)
    found: dict[str, Member] = {}
    at = 0
    for kind, member, count in _MEMBER.findall(whole[1] if whole else ""):
        one = _CODES.get(kind) or "".join(part.codes for part in layout(kind).values())
        codes = one * int(NUMBERS.get(count, count or 1))
        found[member] = Member(at, struct.calcsize(f"<{codes}"), codes)
        at += found[member].size
    return found


def size(members: Layout) -> int:
    """Bytes of a structure."""
    return sum(member.size for member in members.values())


def read(members: Layout, data: bytes) -> dict[str, tuple[int, ...]]:
    """The numbers of each member of a structure, which `data` begins with."""
    return {name: struct.unpack_from(f"<{member.codes}", data, member.at)
            for name, member in members.items()}
