# SPDX-License-Identifier: GPL-2.0-or-later
"""The one maker of a measured guest: machine, jobs and set-up of a row, and their run.

``cint compare`` and ``cint figure`` differ in which jobs they ask for and what they add; all else
of a boot is decided here, so that the same words are the same run (:class:`plan.RunPlan`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cint import host
from cint.device import words
from cint.guest import agent, appdisk, engines, hints, kinds, session, steering, vm
from cint.measure import agreeing, edges, workloads
from cint.measure.apps import App
from cint.measure.arms import Arm
from cint.measure.plan import Files, Places, RunPlan
from cint.measure.settings import Settings
from cint.measure.workloads import Timing

#: The rounds of all jobs in one boot: what a round's jobs are called after the workload's name,
#: and their times with the seed.
Rounds = Mapping[int, Timing]


@dataclass(frozen=True, kw_only=True)
class Extra:
    """What one run has beside what its settings say."""

    #: Further patterns of QEMU's trace events.
    trace: Sequence[str] = ()
    #: Further options of the guest's kernel.
    append: Sequence[str] = ()
    #: Further commands for the guest before its jobs.
    setup: Sequence[tuple[str, ...]] = ()
    #: Properties of a second controller, if there is one.
    second: Sequence[tuple[str, words.Value]] = ()
    #: Whether it keeps what is written to it, until the guest is off.
    second_kept: bool = False
    #: In place of the kernel that the settings' guest boots.
    kernel: Path | None = None


NOTHING = Extra()


# ---- the machine --------------------------------------------------------

def _hint_words(settings: Settings, arm: Arm) -> tuple[str, ...]:
    """The driver's parameters for hints.

    Out of order, its handler takes exactly what an interrupt is for. That belongs to
    the rows that are about it: with any other policy the handler takes all it finds,
    as a driver that knows of none of this does.
    """
    words = hints.boot(hints.ON if settings.hints else hints.OFF, settings.guest, settings.extras)
    if settings.guest == "distro" or not settings.hints:  # nothing to reap out of order
        return words
    policy = arm.policy
    halves = (policy, policy.latency) if policy.latency else (policy,)
    ooo = any(half.properties.get("cint.ooo") == "on" for half in halves)
    return words if ooo else (*words, "nvme.ooo_urgent=0")


def _append(settings: Settings, arm: Arm) -> tuple[str, ...]:
    cost = settings.cost_applied_ns
    return (*((f"nvme.irq_cost_ns={cost}",) if cost else ()), *_hint_words(settings, arm),
            *arm.polling.boot(settings.vcpus),
            *arm.steering.boot())


def machine_for(settings: Settings, arm: Arm, accel: host.Accel, seed: int = 1) -> vm.Machine:
    """The guest of one row; the seed is QEMU's, and the medium's."""
    opts = "" if arm.policy.kind == "stock" else settings.device_opts
    machine = vm.Machine(settings.device_properties(arm.policy, seed), opts, seed=seed,
                         append=_append(settings, arm), vcpus=settings.vcpus,
                         slot_ns=settings.slot_ns, virtual=settings.virtual,
                         accel=accel.name, cpu=accel.cpu,
                         backend=vm.Backend(settings.drive), trace=settings.trace)
    app = settings.app
    if app is not None:
        machine = replace(machine, memory_mib=app.memory_mib,
                          backend=vm.Backend(appdisk.place(app.disk), snapshot=True))
    return arm.engine.dress(kinds.dress(machine, settings.guest, arm.hints,
                                       disk=app is not None, agrees=settings.rule is not None))


# ---- what it does -------------------------------------------------------

def job_name(workload: workloads.Workload, number: int) -> str:
    """The name of a workload's job in the round of this number."""
    return f"{workload.name}/{number}"


def render(settings: Settings, arm: Arm, workload: workloads.Workload,
           timing: Timing) -> str:
    """A workload's job text in one of the rows: engine and shortest run may differ."""
    before, device = "", workloads.DEVICE_NODE
    if arm.engine.is_user:
        ooo = arm.policy.properties.get("cint.ooo") == "on"
        options = arm.engine.options(settings.k, cost_ns=settings.cost_applied_ns,
                                     records=settings.hints and ooo)
        text = workloads.driven_text(workload.template, options, settings.hints)
        workload, device = replace(workload, template=text, edges=False), engines.FILENAME
    elif rule := settings.rule_of(workload):
        before = rule.options(timing.runtime_s, settings.period_s(arm), settings.k)
    return before + workloads.render(workload, timing, settings.k, device)


def _app_job(app: App, name: str, seed: int) -> agent.Job:
    """A program, with the CPUs' accounts at its edges; its exit code is the job's."""
    script = (f"echo {workloads.look('pre')}; {appdisk.inside(app.run, seed)}; code=$?; "
              f"echo {workloads.look('post')}; exit $code")
    return agent.Job(name, argv=agent.exec_argv(script), timeout_s=app.limit_s)


def _jobs(settings: Settings, arm: Arm, rounds: Rounds) -> list[agent.Job]:
    found = [session.facts_job()]
    for number, timing in rounds.items():
        for workload in settings.workloads:
            if workload.app:
                name = job_name(workload, number)
                found.append(_app_job(workload.app, name, timing.seed))
                continue
            seconds = workloads.guest_seconds(workload, timing, settings.k)
            more = agreeing.ARGS if settings.rule_of(workload) else ()
            found.append(agent.Job(job_name(workload, number),
                                   fio=render(settings, arm, workload, timing),
                                   args=("--eta=never", *more), timeout_s=round(30 + 3 * seconds)))
    return found


def setup_for(settings: Settings, arm: Arm) -> tuple[tuple[str, ...], ...]:
    """Commands before the jobs: the scheduler's slice, edges of jobs, polling, engine, queues."""
    counted = any(w.edges for w in settings.workloads) and not arm.engine.is_user
    return (*session.scale_setup(settings.k, settings.vcpus),
            *hints.setup(arm.hints, settings.guest),
            *arm.polling.setup(settings.k), *arm.engine.setup(),
            *arm.steering.setup(),
            *steering.split_setup(arm.policy, settings.vcpus, settings.k, settings.extras),
            *([edges.install()] if counted else []),
            *([appdisk.mount_argv(settings.app.disk.filesystem)] if settings.app else []))


def plan_for(settings: Settings, arm: Arm, rounds: Rounds,
             setup: Sequence[tuple[str, ...]] = ()) -> agent.Plan:
    """What a row's guest does; ``setup`` are further commands before the jobs."""
    return agent.Plan(tuple(_jobs(settings, arm, rounds)),
                      (*setup_for(settings, arm), *setup))


# ---- the run ------------------------------------------------------------

@dataclass(frozen=True)
class Guest:
    """A guest that can be booted: its machine, what it does, and how long that may take."""

    name: str
    machine: vm.Machine
    plan: agent.Plan
    job_seconds: float
    boot_limit_s: float

    def run(self) -> tuple[RunPlan, Places]:
        """Its run, and where its files are here; :class:`vm.VmError` where one is not there."""
        files = Files.of(self.machine)
        return RunPlan.of(self.name, self.machine, self.plan, files, job_seconds=self.job_seconds,
                          boot_limit_s=self.boot_limit_s), files.places


def guest_for(name: str, settings: Settings, arm: Arm, rounds: Rounds,
              accel: host.Accel, *, extra: Extra = NOTHING) -> Guest:
    """One guest; the first round's seed is QEMU's, and the medium's, whose times go on from round
    to round."""
    longest = max(workloads.guest_seconds(w, settings.timing, settings.k)
                  for w in settings.workloads)
    machine = machine_for(settings, arm, accel, next(iter(rounds.values())).seed)
    machine = replace(machine, trace=(*machine.trace, *extra.trace), second=extra.second,
                      second_kept=extra.second_kept, append=(*machine.append, *extra.append),
                      kernel=extra.kernel or machine.kernel)
    return Guest(name, machine, plan_for(settings, arm, rounds, extra.setup), longest,
                 settings.boot_limit_s)
