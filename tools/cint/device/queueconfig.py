# SPDX-License-Identifier: GPL-2.0-or-later
"""The configuration of one completion queue: the data of vendor feature D0h.

The layout is that of NvmeCintFeature in hw/nvme/cint-abi.h; tools/tests/test_queueconfig.py
compares the two. What a policy says nothing of has the device's own default.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from cint.device import logpage, words

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


FIELDS = (
    Field("cint.policy", "policy", 2, "B", "cint", logpage.POLICIES),
    Field("cint.barrier", "barrier", 4, "B", "relaxed", ("relaxed", "strict", "generation")),
    Field("cint.infer", "infer", 5, "B", "off", ("off", "batch", "all")),
    Field("cint.drain", "drain", 6, "B", "auto", ("auto", "on", "off")),
    Field("cint.each-cqe", "each_cqe", 7, "B", "on", ("off", "on")),
    Field("cint.delta", "delta_ns", 8, "I", 6000),
    Field("cint.thr", "thr", 12, "H", 32),
    Field("cint.static-thr", "static_thr", 14, "H", 0),
    Field("cint.static-time", "static_time_ns", 16, "I", 0),
    Field("cint.max-irq-rate", "max_irq_rate", 20, "I", 0),
    Field("cint.ewma-shift", "ewma_shift", 24, "B", 7),
    Field("cint.vic-scope", "vic_scope", 25, "B", "controller", ("controller", "cq")),
    Field("cint.vic-ratios", "vic_ratios", 26, "B", "full", ("full", "coarse")),
    Field("cint.cif-threshold", "cif_threshold", 28, "H", 4),
    Field("cint.max-skip", "max_skip", 30, "H", 0),
    Field("cint.iops-threshold", "iops_threshold", 32, "I", 2000),
    Field("cint.epoch", "epoch_ms", 36, "I", 200),
    Field("cint.kick-window", "kick_window_ns", 40, "I", 0),
    Field("cint.max-hold", "max_hold_ns", 48, "Q", 10_000_000),
)


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
