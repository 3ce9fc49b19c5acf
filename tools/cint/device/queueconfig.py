# SPDX-License-Identifier: GPL-2.0-or-later
"""The configuration of one completion queue: the data of vendor feature D0h.

Its layout is that of NvmeCintFeature in hw/nvme/cint-abi.h, which parameter is in it says
coalesce/param-list.h. What a policy says nothing of has the device's own default.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from cint.device import abi, logpage, params, properties, words

FEATURE = 0xd0
LAYOUT = abi.layout("NvmeCintFeature")
SIZE = abi.size(LAYOUT)
_OOO, _RETUNE = 1, 2


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


def of_latency(policy: properties.Policy, k: float, extras: str) -> bytes | None:
    """The data for the queues of the realtime class, where they have a policy of their own."""
    own = policy.latency
    return None if own is None else pack(own.kind, properties.policy_properties(own, k, extras))


def pack(kind: str, props: Mapping[str, words.Value]) -> bytes:
    """The feature's data for a policy with these device properties, as the device takes them."""
    numbers = {"version": logpage.VERSION, "policy": logpage.POLICIES.index(kind),
               "flags": (_OOO if props.get("cint.ooo", "on") == "on" else 0)
               | (_RETUNE if props.get("cint.storm") == "retune" else 0)}
    for param in params.ALL.values():
        if param.feature == "FIELD":
            numbers[param.field] = param.number(props.get(param.prop, param.usual))
    data = bytearray(SIZE)
    for name, number in numbers.items():
        struct.pack_into(f"<{LAYOUT[name].codes}", data, LAYOUT[name].at, number)
    return bytes(data)
