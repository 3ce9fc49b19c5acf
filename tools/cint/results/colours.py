# SPDX-License-Identifier: GPL-2.0-or-later
"""A colour for each policy, the same in every drawing.

They are Okabe and Ito's, which people with colour vision deficiencies can tell apart, and grey for
`default`, which the others are compared with. A further row of the same policy, with other
parameters or modes, has the same colour, paler.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

#: By the word that a policy's name begins with; the longest that fits counts.
POLICIES = {
    "default": "#666666", "stock": "#000000", "static": "#E69F00", "timer": "#E69F00",
    "nvme": "#E69F00",
    "adaptive": "#56B4E9", "vic": "#CC79A7", "cint": "#0072B2", "cint+ooo": "#009E73",
    "pointer": "#D55E00", "auto": "#8C564B", "split": "#7A5195", "price": "#F0E442",
}
#: For what is no policy, in this order.
OTHERS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#8C564B", "#000000")
#: How much paler each further one of a policy is: the share of white in it.
_PALER = 0.4
_BEGINS = re.compile(
    rf"({'|'.join(re.escape(word) for word in sorted(POLICIES, key=len, reverse=True))})"
    r"(?![a-z])")


def policy_of(name: str) -> str | None:
    """The word of :data:`POLICIES` that a row's or a line's name begins with."""
    found = _BEGINS.match(name)
    return found[1] if found else None


def paler(colour: str, times: int) -> str:
    """A colour with white in it, so many times."""
    keep = (1 - _PALER) ** times
    parts = [int(colour[at:at + 2], 16) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - (255 - part) * keep):02X}" for part in parts)


def of(names: Sequence[str]) -> dict[str, str]:
    """A colour for each name: the policy's, else one that no policy among them has."""
    seen: dict[str, int] = {}
    found: dict[str, str] = {}
    for name in dict.fromkeys(names):
        word = policy_of(name)
        if word is not None:
            found[name] = paler(POLICIES[word], seen.get(POLICIES[word], 0))
            seen[POLICIES[word]] = seen.get(POLICIES[word], 0) + 1
    free = [colour for colour in OTHERS if colour not in seen] or list(OTHERS)
    for index, name in enumerate(name for name in dict.fromkeys(names) if name not in found):
        found[name] = free[index % len(free)]
    return found
