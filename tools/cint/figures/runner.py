# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the guests that figures need, and puts what they gave together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from cint import paths
from cint.device import properties, words
from cint.errors import CintError
from cint.figures import probe
from cint.figures.figure import Figure, Group, Run, settings_of
from cint.figures.reading import Booted
from cint.figures.values import Data
from cint.measure import boots, comparison, dispatch, runner, workloads
from cint.measure.plan import Places, RunPlan
from cint.measure.settings import Settings
from cint.measure.store import Store


@dataclass(frozen=True)
class Wanted:
    """One guest of a figure."""

    figure: Figure
    group: Group
    run: Run
    quick: bool

    @property
    def name(self) -> str:
        """Its name in the figure's expressions."""
        return self.group.prefix + self.run.title

    @property
    def title(self) -> str:
        """Its name in progress and errors; there is no other of this title."""
        return f"{self.figure.id}: {self.name}"

    def logs(self, directory: Path) -> Path:
        """Where its logs go."""
        slug = "".join(c if c.isalnum() or c in ".-" else "-" for c in self.name)
        return directory / self.figure.id / slug

    @property
    def seeds(self) -> Sequence[int]:
        """The seeds of its jobs."""
        return self.group.seeds[:1] if self.quick else self.group.seeds

    @cached_property
    def settings(self) -> Settings:
        """The settings that ./cint compare would have."""
        return settings_of(self.group, self.run, self.quick)

    def guest_seconds(self) -> float:
        """How long its jobs take in the guest."""
        chosen = self.settings
        return len(self.seeds) * sum(workloads.guest_seconds(w, chosen.timing, chosen.k)
                                     for w in chosen.workloads)


def extra_of(wanted: Wanted) -> boots.Extra:
    """The additions of its group to the guest."""
    group = wanted.group
    told = (f"preempt={group.preempt}",) if group.preempt else ()
    return boots.Extra(trace=group.trace, append=(*group.append, *told), second=second_of(wanted),
                       second_kept=group.second_kept,
                       kernel=paths.LINUX_PREEMPT_BUILD / "vmlinux" if group.preempt else None,
                       setup=(*group.setup, *([probe.install()] if group.probed else [])))


def rounds_of(wanted: Wanted) -> boots.Rounds:
    """Every job once for each seed, in one boot."""
    timing = wanted.settings.timing
    return {seed: replace(timing, seed=seed) for seed in wanted.seeds}


def second_of(wanted: Wanted) -> list[tuple[str, words.Value]]:
    """The properties of a second controller, of the same policy."""
    if not wanted.group.second:
        return []
    chosen = wanted.settings
    return properties.device_properties(chosen.arms[0].policy,
                                        properties.parse_media(wanted.group.second), chosen.k,
                                        chosen.virtual, chosen.extras)


def run_of(wanted: Wanted) -> tuple[RunPlan, Places]:
    """The run, and where its files are here."""
    chosen, rounds, extra = wanted.settings, rounds_of(wanted), extra_of(wanted)
    guest = boots.guest_for(wanted.title, chosen, chosen.arms[0], rounds, extra=extra)
    return guest.on(comparison.VIRTUAL).run()


def read(wanted: Wanted, done: runner.Done, data: Data) -> None:
    """Put a guest's outcome into the figure's data; CintError where it is not what was asked."""
    outcome = done.said
    if done.outcome is None or outcome is None:
        assert done.problem is not None
        raise done.problem
    if outcome.trouble:
        raise CintError(f"{wanted.title}: guest kernel: {outcome.trouble[0]}")
    named = replace(outcome, name=wanted.settings.arms[0].name)
    if wanted.settings.cost_ns and not comparison.in_force(wanted.settings, [named]):
        raise CintError(f"{wanted.title}: the guest does not spend the interrupt cost")
    log = done.outcome.trace.decode("utf-8", "replace")
    wanted.group.read(Booted(wanted.name, wanted.settings, wanted.seeds, outcome, log), data)


def known_runs(figure: Figure, quick: bool) -> list[Wanted]:
    """The guests that are known before anything ran."""
    return [Wanted(figure, group, run, quick) for group in figure.groups
            if not callable(group.runs) for run in group.runs]


def later_runs(figure: Figure, quick: bool, data: Data) -> list[Wanted]:
    """The guests that depend on what the others gave."""
    return [Wanted(figure, group, run, quick) for group in figure.groups
            if callable(group.runs) for run in group.runs(data)]


def to_boot(wanted: Sequence[Wanted], store: Store | None, reuse: runner.Reuse) -> list[Wanted]:
    """Those that will be booted: each run once, and none that is taken from the store."""
    runs = {run_of(one)[0].key(): one for one in wanted}
    if store is None or reuse.fresh:
        return list(runs.values())
    return [one for key, one in runs.items() if not store.has(key)]


def estimate(wanted: Sequence[Wanted], at_once: int) -> float:
    """Host seconds for all of them, on idle CPUs."""
    return runner.estimate(len(wanted), sum(w.guest_seconds() for w in wanted), at_once)


# ---- many -----------------------------------------------------------------

@dataclass(frozen=True)
class Session:
    """How guests are run: where logs go, the store, and who is told of each that ended."""

    quick: bool
    directory: Path
    store: Store | None
    reuse: runner.Reuse
    told: Callable[[Wanted, runner.Done], None]
    #: The Dask scheduler whose workers run them; empty: this machine.
    cluster: str = ""

    def run(self, wanted: Sequence[Wanted]) -> Iterator[tuple[Wanted, runner.Done]]:
        """The guests as they end, those that the store has first."""
        made = [run_of(one) for one in wanted]
        places = {content: path for _, found in made for content, path in found.items()}
        logs = {run.name: one.logs(self.directory)
                for one, (run, _) in zip(wanted, made, strict=True)}
        for done in dispatch.run_here([run for run, _ in made], places,
                                      lambda run: logs[run.name], store=self.store,
                                      reuse=self.reuse, cluster=self.cluster):
            self.told(wanted[done.index], done)
            yield wanted[done.index], done


Found = dict[str, tuple[Wanted, runner.Done]]


def _data(figure: Figure, found: Found, how: Session) -> Data | CintError:
    """The data of a figure, in its order, or why there is none.

    The guests that depend on the others run now.
    """
    data = Data()
    try:
        for one in known_runs(figure, how.quick):
            read(*found[one.title], data)
        more = later_runs(figure, how.quick, data)
        later = {one.title: (one, done) for one, done in how.run(more)} if more else {}
        for one in more:
            read(*later[one.title], data)
    except CintError as problem:
        return problem
    return data


def measure(figures: Sequence[Figure], how: Session) -> Iterator[tuple[Figure, Data | CintError]]:
    """The data of each figure, or why there is none, as they are complete."""
    wanted = [one for figure in figures for one in known_runs(figure, how.quick)]
    left = Counter(one.figure.id for one in wanted)
    found: Found = {}
    depending: list[Figure] = []
    for one, done in how.run(wanted):
        found[one.title] = (one, done)
        left[one.figure.id] -= 1
        if left[one.figure.id]:
            continue
        if any(callable(group.runs) for group in one.figure.groups):
            depending.append(one.figure)
        else:
            yield one.figure, _data(one.figure, found, how)
    for figure in depending:
        yield figure, _data(figure, found, how)
