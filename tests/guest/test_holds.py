# SPDX-License-Identifier: GPL-2.0-or-later
"""What holds.py says of a queue after the second of two looks. No guest."""

from __future__ import annotations

from collections import Counter

import pytest
from holds import Waits, unexcused_ns

from cint.device import logpage
from cint.device.properties import MAX_HOLD_NS

TOP = logpage.HIST_BUCKETS - 1
#: Before the first look: a late timer, and what waited for it.
NOTHING: tuple[tuple[int, ...], ...] = ((), ())
LATE_ONE = ((15_000_000, 40_000_000), (30_000_000,))


def hist(*values_ns: int) -> logpage.Hist:
    """A distribution of these."""
    buckets = Counter(min(value.bit_length(), TOP) for value in values_ns)
    return logpage.Hist(sum(values_ns), max(values_ns, default=0),
                        tuple(buckets[bucket] for bucket in range(TOP + 1)))


@pytest.mark.parametrize(("before", "holds", "late", "unexcused"), [
    (NOTHING, (10_000_000,), (), 0),
    (NOTHING, (10_000_001,), (), 1),
    (NOTHING, (9_000_000, 10_060_000), (50_000, 60_000), 0),
    (NOTHING, (10_060_000,), (50_000,), 10_000),
    # what was late before excuses nothing now, as far as buckets tell
    (LATE_ONE, (50_000_000,), (), 40_000_000),
    (LATE_ONE, (38_000_000,), (), (1 << 25) - MAX_HOLD_NS),
    (LATE_ONE, (38_000_000,), (28_000_000,), 0),
    (LATE_ONE, (9_000_000,), (), 0),
    (LATE_ONE, (), (), 0),
])
def test_what_is_excused(before: tuple[tuple[int, ...], ...], holds: tuple[int, ...],
                         late: tuple[int, ...], unexcused: int) -> None:
    earlier = Waits(hist(*before[0]), hist(*before[1]))
    later = Waits(hist(*before[0], *holds), hist(*before[1], *late))
    assert unexcused_ns(later, earlier, MAX_HOLD_NS) == unexcused
