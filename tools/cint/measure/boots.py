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
from cint.device import periods, queueconfig, words
from cint.guest import agent, appdisk, drivers, hints, kinds, session, steering, vm
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
    """Additions of one run to what its settings say."""

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


# ---- its jobs -----------------------------------------------------------

def job_name(workload: workloads.Workload, number: int) -> str:
    """The name of a workload's job in the round of this number."""
    return f"{workload.name}/{number}"


def render(settings: Settings, arm: Arm, workload: workloads.Workload,
           timing: Timing) -> str:
    """A workload's job text in one of the rows: engine and shortest run may differ."""
    k, device = settings.k, workloads.DEVICE_NODE
    rule = None if arm.engine.is_user else settings.rule_of(workload)
    if arm.engine.is_user:
        options = arm.engine.options(k, cost_ns=settings.cost_applied_ns,
                                     records=settings.hints and arm.policy.out_of_order)
        text = workloads.driven_text(workload.template, options, settings.hints)
        workload, device = replace(workload, template=text, edges=False), drivers.FILENAME
    text = workloads.render(workload, timing, k, device)
    if rule is None:
        return text
    period_ns = periods.longest_ns(arm.policy, k, settings.extras, settings.device_opts)
    return rule.options(timing.runtime_s, max(period_ns / 1e9, arm.polling.period_s / k), k) + text


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


# ---- what its kernel is told --------------------------------------------

Commands = tuple[tuple[str, ...], ...]


def told(settings: Settings, arm: Arm, queues: bytes | None) -> tuple[tuple[str, ...], Commands]:
    """The kernel's options, and the commands before the jobs.

    ``queues`` is the configuration of the realtime class's queues, where it has a policy.

    Out of order, the driver's handler takes exactly what an interrupt is for. That belongs to
    the rows that are about it: with any other policy the handler takes all it finds,
    as a driver that knows of none of this does.
    """
    cost, policy, guest = settings.cost_applied_ns, arm.policy, settings.guest
    halves = (policy, policy.latency) if policy.latency else (policy,)
    in_order = (settings.hints and guest != "distro"
                and not any(half.out_of_order for half in halves))
    counted = any(w.edges for w in settings.workloads) and not arm.engine.is_user
    options = (*((f"nvme.irq_cost_ns={cost}",) if cost else ()),
               *hints.boot(hints.ON if settings.hints else hints.OFF, guest, settings.extras),
               *(("nvme.ooo_urgent=0",) if in_order else ()),
               *arm.polling.boot(settings.vcpus), *arm.steering.boot())
    commands = (*session.slice_setup(settings.slice_permille),
                *hints.setup(arm.hints, guest),
                *arm.polling.setup(settings.k), *arm.engine.setup(),
                *arm.steering.setup(),
                *steering.split_setup(queues, settings.vcpus),
                *([edges.install()] if counted else []),
                *([appdisk.mount_argv(settings.app.disk.filesystem)] if settings.app else []))
    return options, commands


# ---- the run ------------------------------------------------------------

@dataclass(frozen=True)
class Guest:
    """A guest that can be booted: its machine, what it does, and how long that may take."""

    name: str
    machine: vm.Machine
    plan: agent.Plan
    job_seconds: float
    boot_limit_s: float
    #: A file system of a person's own program, which may be made only after this.
    disk: appdisk.Disk | None = None

    def on(self, accel: host.Accel) -> Guest:
        """The same on this host: with its accelerator, and the disk where it is."""
        machine = replace(self.machine, accel=accel.name, cpu=accel.cpu)
        if self.disk is not None:
            machine = replace(machine, backend=vm.Backend(appdisk.place(self.disk), snapshot=True))
        return replace(self, machine=machine)

    def run(self) -> tuple[RunPlan, Places]:
        """Its run, and where its files are here; :class:`vm.VmError` where one is not there."""
        files = Files.of(self.machine)
        return RunPlan.of(self.name, self.machine, self.plan, files, job_seconds=self.job_seconds,
                          boot_limit_s=self.boot_limit_s), files.places


def guest_for(name: str, settings: Settings, arm: Arm, rounds: Rounds, *,
              extra: Extra = NOTHING) -> Guest:
    """One guest, whose times go on from round to round.

    The first round's seed is QEMU's, and the medium's.
    """
    seed, app = next(iter(rounds.values())).seed, settings.app
    device = settings.device_properties(arm.policy, seed)
    longest = max(workloads.guest_seconds(w, settings.timing, settings.k)
                  for w in settings.workloads)
    jobs = _jobs(settings, arm, rounds)
    queues = queueconfig.of_latency(arm.policy, settings.k, settings.extras)
    options, commands = told(settings, arm, queues)
    machine = vm.Machine(device, "" if arm.policy.kind == "stock" else settings.device_opts,
                         seed=seed, append=options, vcpus=settings.vcpus, slot_ns=settings.slot_ns,
                         virtual=settings.virtual, backend=vm.Backend(settings.drive),
                         trace=(*settings.trace, *extra.trace), second=extra.second,
                         second_kept=extra.second_kept)
    if app is not None:
        machine = replace(machine, memory_mib=app.memory_mib)
    machine = arm.engine.dress(kinds.dress(machine, settings.guest, arm.hints,
                                           disk=app is not None, agrees=settings.rule is not None))
    machine = replace(machine, append=(*machine.append, *extra.append),
                      kernel=extra.kernel or machine.kernel)
    return Guest(name, machine, agent.Plan(tuple(jobs), (*commands, *extra.setup)), longest,
                 settings.boot_limit_s, app.disk if app else None)
