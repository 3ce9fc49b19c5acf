# SPDX-License-Identifier: GPL-2.0-or-later
"""A comparison: a guest for each row and repeat, the same plan in all, the rows of samples."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cint import host, ui, units
from cint.errors import CintError
from cint.guest import drivers, session
from cint.measure import apps, boots, dispatch, runner, sampling, workloads
from cint.measure.arms import Arm
from cint.measure.plan import Places, RunPlan
from cint.measure.settings import Settings
from cint.measure.store import Store

#: The accelerator of virtual time.
VIRTUAL = host.Accel("tcg", "max", "virtual time needs instruction counting, which only TCG has")


def rounds_for(settings: Settings, repeat: int = 0) -> boots.Rounds:
    """The rounds of one guest: each job once, named by the repeat."""
    return {repeat: replace(settings.timing, seed=settings.seed + repeat)}


@dataclass(frozen=True)
class Turn:
    """One guest of a comparison: its row, and which of its repeats it is, from 0."""

    arm: Arm
    repeat: int
    several: bool = False

    @property
    def name(self) -> str:
        """Its name in progress and errors."""
        return f"{self.arm.name} #{self.repeat + 1}" if self.several else self.arm.name

    @property
    def slug(self) -> str:
        """The name of its directory of logs."""
        return f"{self.arm.slug}-{self.repeat + 1}" if self.repeat else self.arm.slug


def boots_for(settings: Settings) -> list[Turn]:
    """All guests: every row once, then every row again, so that all see the same host."""
    return [Turn(arm, repeat, settings.repeat > 1)
            for repeat in range(settings.repeat) for arm in settings.arms]


#: How guests boot and what they do, in their order, whether their files are there or not.
Composed = list[tuple[Turn, boots.Guest]]


def compose(settings: Settings) -> Composed:
    """All guests of a comparison."""
    found = []
    for boot in boots_for(settings):
        rounds = rounds_for(settings, boot.repeat)
        found.append((boot, boots.guest_for(boot.name, settings, boot.arm, rounds)))
    return found


@dataclass(frozen=True)
class Asked:
    """One guest of a comparison as it will boot: its run, and where its files are here."""

    boot: Turn
    guest: boots.Guest
    run: RunPlan
    places: Places


def asked_for(composed: Composed, accel: host.Accel = VIRTUAL) -> list[Asked]:
    """The runs of guests on this host; :class:`vm.VmError` where a file is missing."""
    here = [(boot, guest.on(accel)) for boot, guest in composed]
    return [Asked(boot, guest, *guest.run()) for boot, guest in here]


def samples_from(settings: Settings, outcome: session.Outcome) -> list[sampling.Sample]:
    """All samples of one guest, whose outcome has its row's name."""
    repeat = outcome.repeat
    if settings.app is not None:
        result = outcome.results[boots.job_name(settings.workloads[0], repeat)]
        return [replace(sampling.app_sample(outcome.name, settings.app, repeat, result,
                                            settings.vcpus), seed=settings.seed + repeat)]
    return [replace(one, seed=settings.seed + repeat) for w in settings.workloads
            for one in sampling.samples(outcome.name, w.name, repeat,
                                        outcome.results[boots.job_name(w, repeat)],
                                        settings.vcpus)]


def tabulate(settings: Settings, samples: Sequence[sampling.Sample]) -> list[sampling.Row]:
    """The table of all samples, with ratios, in the order typed."""
    if settings.app is not None:
        apps.check_units([one.said for one in samples], str(settings.app.path))
    found: list[sampling.Row] = []
    for workload in settings.workloads:
        groups = dict.fromkeys(s.workload for s in samples if s.whole == workload.name)
        for group, arm in itertools.product(groups, settings.arms):
            mine = [s for s in samples if s.workload == group and s.policy == arm.name]
            if mine:
                found += sampling.rows(mine, settings.k, workload.latency_job, workload.split)
    by_name = {arm.name: arm.engine.kind for arm in settings.arms}
    return sampling.with_ratios([replace(r, engine=by_name[r.policy]) for r in found],
                                settings.baseline)


def in_force(settings: Settings, outcomes: Sequence[session.Outcome]) -> bool:
    """Whether every guest really spends the interrupt cost: its kernel, or fio's engine."""
    if not settings.cost_applied_ns:
        return False
    users = {arm.name for arm in settings.arms if arm.engine.is_user}
    return all(settings.cost_applied_ns in _costs(o, o.name in users) for o in outcomes)


def _costs(outcome: session.Outcome, user: bool) -> set[int]:
    """The interrupt costs that a guest says it spends; one, if all is well."""
    if not user:
        return {int(outcome.facts.get("irq_cost_ns", 0))}
    said = [drivers.counts(str(m.get("stdout") or "")) for m in outcome.results.values()]
    costs = {one.cost_ns for one in said if one}
    return costs if len(costs) == 1 else set()


class _Counter:
    """Progress: jobs done of all, and what runs now."""

    def __init__(self, progress: ui.Progress, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0
        self._now: dict[str, str] = {}
        progress.update(f"[0/{total}] booting")

    def skip(self, jobs: int) -> None:
        """Count so many jobs that need not run."""
        self._done += jobs
        self._progress.update(f"[{self._done}/{self._total}]")

    def notify(self, task: str, job: str, done: bool) -> None:
        """Called at each edge of a job, from the guests' threads."""
        if job == session.FACTS_JOB:
            return
        self._done += done
        self._now[task] = job.partition("/")[0]
        running = ", ".join(f"{t}: {j}" for t, j in self._now.items() if j)
        if done:
            self._now[task] = ""
        self._progress.update(f"[{self._done}/{self._total}] {running}")


def choose_accel(virtual: bool) -> host.Accel:
    """The accelerator and why; :class:`CintError` where none works."""
    if virtual:
        return VIRTUAL
    choice = host.choose_accel()
    if choice.name == "none":
        raise CintError(f"no accelerator works here: {choice.reason}", hint="see ./cint doctor")
    return choice


def _many(count: int, one: str, several: str | None = None) -> str:
    return f"{count} {one if count == 1 else several or one + 's'}"


def identity(asked: Sequence[Asked]) -> str:
    """The identity of a comparison: a hash of its runs' keys, which are all that decides it."""
    keys = [one.run.key() for one in asked]
    return hashlib.sha256(" ".join(keys).encode()).hexdigest()


@dataclass(frozen=True)
class Ended:
    """A guest that has ended; what came of it and what it measured, if it ran to its end."""

    boot: Turn
    guest: boots.Guest
    done: runner.Done
    outcome: session.Outcome | None
    samples: Sequence[sampling.Sample]


@dataclass(frozen=True)
class Guests:
    """The guests of a comparison that have ended, in the order in which they were asked for."""

    ended: Sequence[Ended]

    @property
    def done(self) -> list[runner.Done]:
        """The runs as they ended: from where, and how long each took."""
        return [one.done for one in self.ended]

    @property
    def outcomes(self) -> list[session.Outcome]:
        """The outcomes of those that ran to their end."""
        return [one.outcome for one in self.ended if one.outcome is not None]

    @property
    def failed(self) -> list[tuple[Turn, CintError]]:
        """The guests that did not, and why."""
        return [(one.boot, one.done.problem) for one in self.ended if one.done.problem]

    @property
    def samples(self) -> list[sampling.Sample]:
        """All that was measured."""
        return [sample for one in self.ended for sample in one.samples]


def run_guests(settings: Settings, asked: Sequence[Asked], directory: Path,
               store: Store | None = None, reuse: runner.Reuse | None = None, *,
               cluster: str = "", told: Callable[[Ended], None] = lambda _: None) -> Guests:
    """Boot every guest and run its plan; one that fails loses only itself.

    ``told`` hears of each guest that ran to its end, when it has.
    """
    reuse = reuse or runner.Reuse()
    runs = [one.run for one in asked]
    places = {content: path for one in asked for content, path in one.places.items()}
    logs = {one.run.name: directory / "logs" / one.boot.slug for one in asked}
    ended: dict[int, Ended] = {}
    with ui.Progress("compare") as progress:
        counter = _Counter(progress, _announce(settings, runs, store, reuse))
        for done in dispatch.run_here(runs, places, lambda run: logs[run.name],
                                      virtual=settings.virtual, store=store, reuse=reuse,
                                      notify=counter.notify, cluster=cluster):
            if cluster or done.source == runner.STORED:
                counter.skip(len(settings.workloads))
            one = asked[done.index]
            outcome = outcome_of(one.boot, said) if (said := done.said) else None
            samples = samples_from(settings, outcome) if outcome else []
            ended[done.index] = Ended(one.boot, one.guest, done, outcome, samples)
            if outcome is not None:
                told(ended[done.index])
    return Guests([ended[index] for index in sorted(ended)])


def outcome_of(boot: Turn, said: session.Outcome) -> session.Outcome:
    """The outcome of a boot, with the name of its row."""
    return replace(said, name=boot.arm.name, repeat=boot.repeat)


def _announce(settings: Settings, runs: Sequence[RunPlan], store: Store | None,
              reuse: runner.Reuse) -> int:
    """Say what will run, and how long it takes where that can be told; how many jobs that is."""
    total = len(runs) * len(settings.workloads)
    at_once = runner.workers(settings.virtual, len(runs))
    where = f"on {_many(at_once, 'CPU')}" if settings.virtual else "one guest at a time"
    ui.info(f"comparing {_many(len(settings.arms), 'policy', 'policies')} in "
            f"{_many(len(settings.workloads), 'workload')}: {_many(total, 'run')}"
            f"{_lasting(settings)}, {where}"
            f"{_to_boot(settings, runs, store, reuse) if settings.virtual else ''}")
    return total


def _lasting(settings: Settings) -> str:
    """How long its jobs run, in words; nothing where a job file does not say."""
    known = {workloads.runtime_s(w, settings.timing) for w in settings.workloads}
    ends = sorted({units.format_time(s * 1e9): s for s in known if s is not None}.items(),
                  key=lambda one: one[1])
    if None in known:
        return ""
    most = "at most " if any(settings.rule_of(w) for w in settings.workloads) else ""
    return f" of {most}{ends[0][0]}" + (f" to {ends[-1][0]}" if len(ends) > 1 else "")


def _to_boot(settings: Settings, runs: Sequence[RunPlan], store: Store | None,
             reuse: runner.Reuse) -> str:
    """How many guests will be booted, and for how long, in words."""
    boot = runner.to_boot(runs, store, reuse)
    seconds = boot * sum(workloads.guest_seconds(w, settings.timing, settings.k)
                         for w in settings.workloads)
    took = runner.estimate(boot, seconds, runner.workers(True, max(boot, 1)))
    # Of a program only its limit is known, and of runs that end by themselves.
    word = "at most" if settings.app or settings.rule else "about"
    about = f", {word} {ui.duration(took)} on idle CPUs" if boot else ""
    timers = f" ({len(settings.sweep.policies)} timers)" if settings.sweep else ""
    return f"; {_many(len(runs), 'guest')}{timers}, {boot} of them to boot{about}"
