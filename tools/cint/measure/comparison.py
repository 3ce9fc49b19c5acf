# SPDX-License-Identifier: GPL-2.0-or-later
"""A comparison: a guest for each policy, all with the same plan, and the rows of their samples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cint import host, ui, units
from cint.device import properties
from cint.errors import CintError
from cint.guest import agent, kinds, session, vm
from cint.measure import sampling, workloads
from cint.measure.settings import Settings
from cint.measure.workloads import Timing


def _hint_words(settings: Settings, policy: properties.Policy) -> tuple[str, ...]:
    """What the guest's driver is told about hints.

    Out of order, its handler takes exactly what an interrupt is for. That belongs to
    the rows that are about it: with any other policy the handler takes all it finds,
    as a driver that knows of none of this does.
    """
    if settings.guest == "distro":  # whose kernel knows neither option
        return ()
    if not settings.hints:
        return ("nvme.irq_hints=0",)
    return () if policy.properties.get("cint.ooo") == "on" else ("nvme.ooo_urgent=0",)


def _append(settings: Settings, policy: properties.Policy) -> tuple[str, ...]:
    cost = settings.cost_applied_ns
    return (*((f"nvme.irq_cost_ns={cost}",) if cost else ()), *_hint_words(settings, policy))


def machine_for(settings: Settings, policy: properties.Policy, accel: host.Accel) -> vm.Machine:
    """The guest for one policy."""
    props = properties.device_properties(policy, settings.media, settings.k, settings.virtual)
    opts = "" if policy.kind == "stock" else settings.device_opts
    machine = vm.Machine(props, opts, append=_append(settings, policy), vcpus=settings.vcpus,
                         virtual=settings.virtual, accel=accel.name, cpu=accel.cpu,
                         backend=vm.Backend(settings.drive))
    return kinds.dress(machine, settings.guest)


def job_name(workload: workloads.Workload, repeat: int) -> str:
    """A job's name in the plan."""
    return f"{workload.name}/{repeat}"


def plan_for(settings: Settings) -> agent.Plan:
    """What every guest does; the same for all policies."""
    jobs = [session.facts_job()]
    for repeat in range(settings.repeat):
        timing = Timing(settings.timing.runtime_s, settings.timing.ramp_s, seed=repeat + 1)
        for workload in settings.workloads:
            seconds = workloads.guest_seconds(workload, timing, settings.k)
            jobs.append(agent.Job(job_name(workload, repeat),
                                  fio=workloads.render(workload, timing, settings.k),
                                  args=("--eta=never",), timeout_s=round(30 + 3 * seconds)))
    return agent.Plan(tuple(jobs), session.scale_setup(settings.k))


def longest_job(settings: Settings) -> float:
    """Guest seconds of the longest job."""
    return max(workloads.guest_seconds(w, settings.timing, settings.k)
               for w in settings.workloads)


def samples_from(settings: Settings, outcome: session.Outcome) -> list[sampling.Sample]:
    """All samples of one guest."""
    return [sampling.sample(outcome.name, w.name, r, outcome.results[job_name(w, r)],
                           settings.vcpus)
            for r in range(settings.repeat) for w in settings.workloads]


def rows_from(settings: Settings, samples: Sequence[sampling.Sample]) -> list[sampling.Row]:
    """The table of all samples, with ratios, in the order typed."""
    found: list[sampling.Row] = []
    for workload in settings.workloads:
        for policy in settings.policies:
            mine = [s for s in samples
                    if s.workload == workload.name and s.policy == policy.name]
            found += sampling.rows(mine, settings.k, workload.latency_job, workload.split)
    return sampling.with_ratios(found, settings.baseline)


def in_force(settings: Settings, outcomes: Sequence[session.Outcome]) -> bool:
    """Whether every guest's kernel really spends the interrupt cost."""
    if not settings.cost_applied_ns:
        return False
    wanted = str(settings.cost_applied_ns)
    return all(o.facts.get("irq_cost_ns") == wanted for o in outcomes)


class _Counter:
    """Progress: jobs done of all, and what runs now."""

    def __init__(self, progress: ui.Progress, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0
        self._now: dict[str, str] = {}
        progress.update(f"[0/{total}] booting")

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
    """The accelerator and why."""
    if virtual:
        return host.Accel("tcg", "max", "virtual time needs instruction counting, which only "
                                        "TCG has")
    choice = host.choose_accel()
    if choice.name == "none":
        raise CintError(f"no accelerator works here: {choice.reason}", hint="see ./cint doctor")
    return choice


def _many(count: int, one: str, several: str | None = None) -> str:
    return f"{count} {one if count == 1 else several or one + 's'}"


def run_guests(settings: Settings, accel: host.Accel, directory: Path) -> list[session.Outcome]:
    """Boot every guest and run the plan; outcomes are in the policies' order."""
    plan = plan_for(settings)
    tasks = [session.Task(p.name, machine_for(settings, p, accel), plan,
                          directory / "logs" / p.slug, longest_job(settings),
                          settings.boot_limit_s) for p in settings.policies]
    at_once = session.workers(settings.virtual, len(tasks))
    total = len(tasks) * settings.repeat * len(settings.workloads)
    ui.info(f"comparing {_many(len(tasks), 'policy', 'policies')} in "
            f"{_many(len(settings.workloads), 'workload')}: {_many(total, 'run')} of "
            f"{units.format_time(settings.timing.runtime_s * 1e9)}, "
            f"{_many(at_once, 'guest')} at a time")
    with ui.Progress("compare") as progress:
        return session.run_tasks(tasks, at_once, _Counter(progress, total).notify)
