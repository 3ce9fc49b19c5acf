# SPDX-License-Identifier: GPL-2.0-or-later
"""``static:time=best``: a sweep of the timer, and what makes one of them the best.

The word stands for a row with each time of :data:`TIMES_US`; :mod:`cint.measure.best` then keeps
the best rows. ``by=`` says what is best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cint import units
from cint.device import properties
from cint.errors import UsageError
from cint.measure.sampling import Row

#: Aggregation times that are tried, us from the first pending completion to the interrupt.
TIMES_US = (2, 5, 10, 20, 50, 100)
#: Values that differ by less are as good as each other; then the criterion's second metric counts.
SAME = 0.01


@dataclass(frozen=True)
class Criterion:
    """The criterion of the best: a metric and whether the most is best; then a second pair."""

    words: str
    metric: str
    most: bool
    then: str
    then_most: bool


#: By the word behind ``by=``; the first is the default.
CRITERIA = {
    "iops": Criterion("the most I/Os a second", "iops", True, "mean_us", False),
    "latency": Criterion("the lowest mean latency", "mean_us", False, "iops", True),
    "interrupts": Criterion("the most I/Os per interrupt", "ios_per_irq", True, "mean_us", False),
}
USUAL = next(iter(CRITERIA))


@dataclass(frozen=True)
class Sweep:
    """``static:time=best`` of a command line, and the policies that it stands for."""

    typed: str
    policies: tuple[properties.Policy, ...]
    by: str
    #: Names of those that were typed by themselves, too, and so are shown in any case.
    beside: frozenset[str] = frozenset()

    @property
    def criterion(self) -> Criterion:
        """The criterion of its words."""
        return CRITERIA[self.by]


def is_sweep(text: str) -> bool:
    """Whether one typed policy is a sweep."""
    head, _, rest = text.partition(":")
    return head == "static" and "time=best" in rest.split(",")


def expand(text: str) -> tuple[str, Sweep | None]:
    """A list of policies with the sweep written out, and the sweep; UsageError of two."""
    typed = properties.split_list(text)
    sweeps = [one for one in typed if is_sweep(one)]
    if not sweeps:
        return text, None
    if len(sweeps) > 1:
        raise UsageError(f"--policy {sweeps[1]}: there is a sweep of the timer already, "
                         f"{sweeps[0]}", hint="compare them one after the other")
    names, by = _written_out(sweeps[0])
    beside = frozenset(name for name in names if name in typed)
    at = typed.index(sweeps[0])
    words = [*typed[:at], *(name for name in names if name not in beside), *typed[at + 1:]]
    policies = tuple(properties.parse_policy(name) for name in names)
    return ",".join(words), Sweep(sweeps[0], policies, by, beside)


def _written_out(text: str) -> tuple[list[str], str]:
    """The policies that a sweep stands for, as they would be typed, and its criterion."""
    items = text.partition(":")[2].split(",")
    by = [item.removeprefix("by=") for item in items if item.startswith("by=")] or [USUAL]
    if len(by) > 1 or by[0] not in CRITERIA:
        raise UsageError(f"policy '{text}': by={by[-1]}: by is one of {', '.join(CRITERIA)}"
                         f"{units.suggestion(by[-1], CRITERIA)}")
    rest = [item for item in items if not item.startswith("by=") and item != "time=best"]
    return ["static:" + ",".join([f"time={us}us", *rest]) for us in TIMES_US], by[0]


def best_of(rows: Sequence[Row], how: Criterion) -> Row | None:
    """The best of a workload's rows, the first of those that tie; None if no value is known."""
    near = _nearest(rows, how.metric, how.most)
    first = _nearest(near, how.then, how.then_most) or near
    return first[0] if first else None


def _nearest(rows: Sequence[Row], metric: str, most: bool) -> list[Row]:
    """The rows within SAME of the best in one metric."""
    known = [(value, row) for row in rows if (value := row.values.get(metric)) is not None]
    if not known:
        return []
    top = (max if most else min)(value for value, _ in known)
    return [row for value, row in known if abs(value - top) <= SAME * max(value, top)]
