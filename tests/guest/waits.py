# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a process that sleeps until an interrupt was not woken for what was there.

By how long it waited, in virtual time: there nothing else takes so long, however busy the host.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: The driver looks by itself after a second: nobody waits for so long but who was not woken.
LOST_US = 900_000


def words(text: str) -> list[dict[str, int]]:
    """What `cintio check` says of each queue."""
    return [{name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", line)}
            for line in text.splitlines() if line.startswith("queue=")]


def is_late(queue: Mapping[str, int]) -> bool:
    """Whether somebody was not woken for what was there.

    max-hold tells of it only while others are still in flight. Who waits for all that is
    outstanding has had his interrupt, and the controller holds nothing.
    """
    return queue.get("max_hold", 0) > 0 or queue["longest_us"] >= LOST_US


def slowest_us(document: Any) -> float:
    """What the slowest I/O of a fio took, from its submission."""
    return max(float(job[way]["clat_ns"].get("max", 0)) for job in document["jobs"]
               for way in ("read", "write")) / 1000
