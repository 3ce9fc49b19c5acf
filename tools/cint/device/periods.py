# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a policy takes for what it does again and again: its longest time.

What is measured over less than several of these is one state of the policy, and not the policy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from cint import units
from cint.device import params, properties, words
from cint.device.properties import Policy, Value

#: A limit on the rate of interrupts holds over so many times the intervals that its mean goes by,
#: which are 2^ewma-shift (docs/policies.md, "Storm protection").
LIMIT_HOLDS = 16


def longest_ns(policy: Policy, k: float = 1.0, extras: str = properties.DEFAULT_EXTRAS,
               device_opts: str = "") -> float:
    """The longest time that a policy goes by, reported ns at scale ``k``; 0 where it keeps none.

    That is any parameter which is a time and which the policy reads, whatever it is called (of vic
    the epoch), and wherever the device has it from: the policy, what goes on beside it, further
    properties for the device, which win and are no reported ones, or the device's default.
    """
    if policy.kind == "stock":
        return 0.0
    return max(time for kind, props in _halves(policy, k, extras, device_opts)
               for time in (0, _limit_ns(props), *_times_ns(kind, props))) / k


def _halves(policy: Policy, k: float, extras: str,
            device_opts: str) -> Iterator[tuple[str, Mapping[str, Value]]]:
    """The policy of each class of queues, and the device's properties under it."""
    typed = _typed(device_opts)
    device = properties.policy_properties(policy, k, extras) | typed
    yield str(typed.get("cint.policy", policy.kind)), device
    if policy.latency:
        own = policy.latency
        yield own.kind, device | properties.policy_properties(own, k, extras)


def _typed(device_opts: str) -> dict[str, Value]:
    """The properties of ``name=value,name=value``; of one that is there twice the last."""
    found = (item.strip().partition("=") for item in device_opts.split(","))
    return {name: value for name, _, value in found}


def _number(props: Mapping[str, Value], param: params.Param) -> int:
    """A parameter's value; QEMU also takes 0x10 and 010. What is no number it refuses itself."""
    text = str(props.get(param.prop, param.default))
    octal = re.fullmatch(r"0[0-7]+", text)
    try:
        return int(text, 8 if octal else 0)
    except ValueError:
        return 0


def _times_ns(kind: str, props: Mapping[str, Value]) -> Iterator[int]:
    """Those that the policy reads; one that the device does not know it refuses itself."""
    for own in words.PARAMETERS.get(kind, {}).values():
        if own.bare and own.is_time:
            param = params.ALL[own.word]
            yield _number(props, param) * units.NS_PER[own.unit]


def _limit_ns(props: Mapping[str, Value]) -> int:
    """The time over which a limit on the rate holds."""
    rate = _number(props, params.ALL["max-irq-rate"])
    shift = _number(props, params.ALL["ewma-shift"])
    known = 0 <= shift <= params.ALL["ewma-shift"].high
    return (LIMIT_HOLDS << shift) * units.NS_PER["s"] // rate if rate > 0 and known else 0
