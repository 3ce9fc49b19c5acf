# SPDX-License-Identifier: GPL-2.0-or-later
"""Unattended guests: run a plan from boot to power-off, several side by side.

In virtual time a guest's results do not depend on the host's load, so guests
run in parallel, one a core.  In real time they run one after the other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from cint import host
from cint.errors import CintError
from cint.guest import agent
from cint.guest.vm import BOOT_LIMIT_S, CancelledError, Machine, Vm

# The longest silence while a job runs: the host may need this many times the
# guest's seconds (an emulated busy guest needs 3 to 10), plus a fixed part.
SLOWEST = 60.0
GRACE_S = 60.0

# Reports facts of the running guest as lines of name=value.  The cost is read
# back from the kernel, because a kernel without the parameter ignores the
# option silently.
FACTS_JOB = "cint-facts"
FACTS_SCRIPT = """
p=/sys/module/nvme/parameters/irq_cost_ns
[ -r $p ] && echo irq_cost_ns=$(cat $p)
for h in irq_hints ooo_urgent; do
  for p in /sys/module/nvme*/parameters/$h; do [ -r $p ] && echo $h=$(cat $p); done
done
s=/sys/kernel/debug/sched/base_slice_ns
[ -r $s ] && echo base_slice_ns=$(cat $s)
c=/sys/devices/system/clocksource/clocksource0/current_clocksource
[ -r $c ] && echo clocksource=$(cat $c)
echo scheduler=$(cat /sys/block/nvme0n1/queue/scheduler 2>/dev/null)
exit 0
"""
SLICE_SCRIPT = """
s=/sys/kernel/debug/sched/base_slice_ns
[ -w $s ] && echo $(( $(cat $s) * {permille} / 1000 )) > $s
exit 0
"""


@dataclass(frozen=True)
class Task:
    """One guest: its machine, its plan, where its logs go.

    ``job_seconds`` is the guest time of the longest job.
    """

    name: str
    machine: Machine
    plan: agent.Plan
    logs: Path
    job_seconds: float = 60.0
    boot_limit_s: float = BOOT_LIMIT_S


@dataclass
class Outcome:
    """What a finished guest left."""

    name: str
    argv: list[str] = field(default_factory=list)
    boot_wall_s: float = 0.0
    hello: agent.Message = field(default_factory=dict)
    results: dict[str, agent.Message] = field(default_factory=dict)
    dmesg: str = ""

    @property
    def facts(self) -> Mapping[str, str]:
        """What the facts job printed."""
        text = str(self.results.get(FACTS_JOB, {}).get("stdout") or "")
        pairs = (line.partition("=") for line in text.splitlines())
        return {name: value.strip() for name, sep, value in pairs if sep}

    @property
    def trouble(self) -> list[str]:
        """Kernel messages that should not be there."""
        return agent.dmesg_trouble(self.dmesg)


def scale_setup(k: float) -> tuple[tuple[str, ...], ...]:
    """Setup commands that scale what the guest's kernel keeps by itself."""
    if k == 1:
        return ()
    return (agent.exec_argv(SLICE_SCRIPT.format(permille=round(k * 1000))),)


def facts_job() -> agent.Job:
    """The job whose output is :attr:`Outcome.facts`."""
    return agent.Job(FACTS_JOB, argv=agent.exec_argv(FACTS_SCRIPT), timeout_s=10)


Notify = Callable[[str, str, bool], None]


def _silent(task: str, job: str, done: bool) -> None:
    """Default for ``notify``: say nothing."""


def run_task(task: Task, notify: Notify = _silent,
             cancel: threading.Event | None = None) -> Outcome:
    """Run one guest to its end; a job that failed raises :class:`CintError`.

    ``notify(task, job, done)`` is called, from this thread, at each edge of a
    job.
    """
    outcome = Outcome(task.name)
    limit = GRACE_S + SLOWEST * task.job_seconds
    with Vm(task.machine, task.plan, task.logs, task.boot_limit_s, cancel) as guest:
        outcome.argv, outcome.hello = guest.argv, guest.hello
        outcome.boot_wall_s = guest.boot_wall_s
        for message in guest.messages(limit, f"{task.name}: the guest hangs"):
            _take(message, outcome, task, notify)
        guest.wait_exit()
    return outcome


def _take(message: agent.Message, outcome: Outcome, task: Task, notify: Notify) -> None:
    kind, name = message.get("type"), str(message.get("name", ""))
    if kind == "start":
        notify(task.name, name, False)
    elif kind == "result":
        failure = agent.result_failure(message)
        if failure:
            raise CintError(f"{task.name}: {failure}", log=task.logs / "agent.log")
        outcome.results[name] = message
        notify(task.name, name, True)
    elif kind == "dmesg":
        outcome.dmesg += str(message.get("text", ""))


def workers(virtual: bool, count: int) -> int:
    """How many guests at once: one a core in virtual time, else one."""
    return max(1, min(count, host.cpu_count())) if virtual else 1


def run_tasks(tasks: Sequence[Task], at_once: int, notify: Notify = _silent) -> list[Outcome]:
    """Run all guests; the first failure ends the others and is raised."""
    cancel = threading.Event()
    with ThreadPoolExecutor(at_once) as pool:
        futures = [pool.submit(run_task, task, notify, cancel) for task in tasks]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        except BaseException:
            cancel.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        failure = _first_failure(futures)
        if failure is not None:
            cancel.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise failure
    return [future.result() for future in futures]


def _first_failure(futures: Sequence[Future[Outcome]]) -> BaseException | None:
    """The failure to report: never the echo of another guest's."""
    failures = [f.exception() for f in futures if f.done() and not f.cancelled()]
    real = [e for e in failures if e is not None and not isinstance(e, CancelledError)]
    return real[0] if real else None
