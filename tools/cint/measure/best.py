# SPDX-License-Identifier: GPL-2.0-or-later
"""Which rows of a swept timer a comparison shows: those that are best in one of its workloads.

They keep their own names and stand in every workload, so that the table also shows what a timer
that is best in one load costs in another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cint import host
from cint.device import properties
from cint.measure import comparison, records, timers
from cint.measure.arms import Arm
from cint.measure.sampling import Row, Sample
from cint.measure.settings import Settings
from cint.measure.store import Store


@dataclass(frozen=True)
class Found:
    """The result of a sweep: pairs of a workload and the name of its best row.

    There is a pair for each polling mode, engine, steering and kind of hints that is compared.
    """

    sweep: timers.Sweep
    best: tuple[tuple[str, str], ...]

    def note(self) -> str:
        """The remark under the table."""
        how = self.sweep.criterion
        tried = ", ".join(str(us) for us in timers.TIMES_US)
        names = ", ".join(f"{name} in {workload}" for workload, name in self.best)
        return (f"{self.sweep.typed}: timers of {tried} us were tried; {how.words} "
                f"{'has ' + names if names else 'is not known of any'}")

    def as_dict(self) -> records.Timer:
        """The record in results.json."""
        return {"typed": self.sweep.typed, "by": self.sweep.by,
                "tried": [policy.name for policy in self.sweep.policies],
                "best": [{"workload": workload, "policy": name} for workload, name in self.best]}


def _modes(settings: Settings, sweep: timers.Sweep) -> Iterator[list[Arm]]:
    """The rows of a sweep, those that differ in the timer alone together."""
    groups: dict[tuple[str, ...], list[Arm]] = {}
    swept = {policy.name for policy in sweep.policies}
    for arm in settings.arms:
        if arm.policy.name in swept:
            mode = arm.polling.name, arm.engine.name, arm.steering.name, arm.hints
            groups.setdefault(mode, []).append(arm)
    yield from groups.values()


def _search(settings: Settings, sweep: timers.Sweep, rows: Sequence[Row]) -> Found:
    best: list[tuple[str, str]] = []
    for workload in dict.fromkeys(row.workload for row in rows):
        for arms in _modes(settings, sweep):
            names = [arm.name for arm in arms]
            mine = [row for row in rows
                    if row.workload == workload and row.job is None and row.policy in names]
            found = timers.best_of(mine, sweep.criterion)
            if found is not None:
                best.append((workload, found.policy))
    return Found(sweep, tuple(best))


def chosen(settings: Settings, guests: comparison.Guests) \
        -> tuple[Settings, comparison.Guests, Found | None]:
    """The comparison with the best rows of its sweep, and what the sweep found.

    Rows of which a guest failed stay, so that the failure is seen.
    """
    sweep = settings.sweep
    if sweep is None:
        return settings, guests, None
    found = _search(settings, sweep, comparison.tabulate(settings, guests.samples))
    stays = {name for _, name in found.best} | {boot.arm.name for boot, _ in guests.failed}
    gone = {arm.name for arms in _modes(settings, sweep) for arm in arms
            if arm.policy.name not in sweep.beside} - stays
    shown = replace(settings, arms=[arm for arm in settings.arms if arm.name not in gone])
    kept = [one for one in guests.ended if one.boot.arm.name not in gone]
    return shown, comparison.Guests(kept), found


def line(settings: Settings, accel: host.Accel, store: Store) -> list[Row]:
    """The rows of all timers under these conditions, where the store has each of their runs.

    Nothing is booted for them. Empty where one is missing, or where the rows differ in more than
    the policy, so that there is not one line.
    """
    first = settings.arms[0]
    if any(replace(arm, policy=first.policy) != first for arm in settings.arms):
        return []
    swept = replace(settings, sweep=None, arms=[
        replace(first, policy=properties.parse_policy(f"static:time={us}us"))
        for us in timers.TIMES_US])
    samples: list[Sample] = []
    for asked in comparison.asked_for(comparison.compose(swept), accel):
        kept = store.get(asked.run.key()) if store.takes(asked.run) else None
        if kept is None:
            return []
        said = comparison.outcome_of(asked.boot, kept.parsed(asked.run.name))
        samples += comparison.samples_from(swept, said)
    return [row for row in comparison.tabulate(swept, samples) if row.job is None]
