# SPDX-License-Identifier: GPL-2.0-or-later
"""Measured times and rates as those of the machine that the guest stands for.

Which results are times and which are rates says the table of :mod:`cint.device.scale`.
"""

from __future__ import annotations

from cint.device import scale


def time(ns: float, k: float, what: str = "latency") -> float:
    """A time of the guest's, in any unit, by a row of the results."""
    return ns / k if _kind(what) is scale.Kind.TIME else ns


def rate(per_second: float, k: float, what: str = "IOPS") -> float:
    """Events in a second of the guest's, by a row of the results."""
    return per_second * k if _kind(what) is scale.Kind.RATE else per_second


def _kind(what: str) -> scale.Kind | None:
    row = scale.entry("result", what)
    return row.kind if row else None
