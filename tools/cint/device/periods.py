# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a policy takes for what it does again and again: its longest time.

What is measured over less than several of these is one state of the policy, and not the policy.
"""

from __future__ import annotations

from cint import units
from cint.device import params, words
from cint.device.properties import Policy

#: A limit on the rate of interrupts holds over so many times the intervals that its mean goes by,
#: which are 2^ewma-shift (docs/policies.md, "Storm protection").
LIMIT_HOLDS = 16


def longest_ns(policy: Policy) -> int:
    """The longest time among a policy's parameters, reported ns; 0 where it keeps none.

    That is any parameter which is a time, whatever it is called: of vic the epoch.
    """
    halves = (policy, policy.latency) if policy.latency else (policy,)
    return max(time for half in halves for time in (0, _limit_ns(half), *_times_ns(half)))


def _times_ns(policy: Policy) -> list[int]:
    known = ((words.BY_PROPERTY.get(name), value) for name, value in policy.properties.items())
    return [int(value) * units.NS_PER[own.unit] for own, value in known if own and own.is_time]


def _limit_ns(policy: Policy) -> int:
    """Over how long a limit on the rate holds."""
    rate = int(policy.properties.get("cint.max-irq-rate", 0))
    shift = int(policy.properties.get("cint.ewma-shift", params.ALL["ewma-shift"].default))
    return (LIMIT_HOLDS << shift) * units.NS_PER["s"] // rate if rate else 0
