# SPDX-License-Identifier: GPL-2.0-or-later
"""An unattended guest: its plan from boot to power-off, and what came of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cint.errors import CintError
from cint.guest import agent
from cint.guest.vm import BOOT_LIMIT_S, Machine, Vm, command, shell_line

# The longest silence while a job runs: the host may need this many times the
# guest's seconds (an emulated busy guest needs 2 to 10), plus a fixed part.
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
class Boot:
    """A guest to be started: QEMU's command line, its plan, where its logs go.

    ``job_seconds`` is the guest time of the longest job.
    """

    name: str
    command: Sequence[str]
    plan: agent.Plan
    logs: Path
    job_seconds: float = 60.0
    boot_limit_s: float = BOOT_LIMIT_S


@dataclass(frozen=True)
class Task:
    """The same, of a machine."""

    name: str
    machine: Machine
    plan: agent.Plan
    logs: Path
    job_seconds: float = 60.0
    boot_limit_s: float = BOOT_LIMIT_S

    def boot(self) -> Boot:
        """The boot of the machine's command line; its files have to be there."""
        return Boot(self.name, command(self.machine), self.plan, self.logs, self.job_seconds,
                    self.boot_limit_s)


@dataclass
class Outcome:
    """The outcome of a finished guest."""

    name: str
    argv: list[str] = field(default_factory=list)
    boot_wall_s: float = 0.0
    #: The logs of boots that one of vm.RACES ended; the guest was started again.
    boot_races: tuple[Path, ...] = ()
    hello: agent.Message = field(default_factory=dict)
    results: dict[str, agent.Message] = field(default_factory=dict)
    dmesg: str = ""
    #: Where the same is run several times: which of them this is, from 0.
    repeat: int = 0

    @property
    def facts(self) -> Mapping[str, str]:
        """The facts that their job printed."""
        text = str(self.results.get(FACTS_JOB, {}).get("stdout") or "")
        pairs = (line.partition("=") for line in text.splitlines())
        return {name: value.strip() for name, sep, value in pairs if sep}

    @property
    def trouble(self) -> list[str]:
        """Kernel messages that should not be there."""
        return agent.dmesg_trouble(self.dmesg)


def slice_setup(permille: int) -> tuple[tuple[str, ...], ...]:
    """The setup command that makes the scheduler's slice so many permille of the kernel's own."""
    if permille == 1000:
        return ()
    return (agent.exec_argv(SLICE_SCRIPT.format(permille=permille)),)


def facts_job() -> agent.Job:
    """The job whose output is :attr:`Outcome.facts`."""
    return agent.Job(FACTS_JOB, argv=agent.exec_argv(FACTS_SCRIPT), timeout_s=10)


Notify = Callable[[str, str, bool], None]


def silent(task: str, job: str, done: bool) -> None:
    """Default for ``notify``: say nothing."""


def run_task(task: Task) -> Outcome:
    """Run one guest to its end: see :func:`run`."""
    return run(task.boot())


def run(boot: Boot, notify: Notify = silent,
        cancel: threading.Event | None = None) -> Outcome:
    """Run one guest to its end; a job that failed raises :class:`CintError`.

    ``notify(name, job, done)`` is called, from this thread, at each edge of a
    job.  Setting ``cancel`` ends the guest within a second.
    """
    outcome = Outcome(boot.name)
    limit = GRACE_S + SLOWEST * boot.job_seconds
    with Vm(boot.command, boot.plan, boot.logs, boot.boot_limit_s, cancel) as guest:
        outcome.argv, outcome.hello = guest.argv, guest.hello
        outcome.boot_wall_s, outcome.boot_races = guest.boot_wall_s, tuple(guest.boot_races)
        for message in guest.messages(limit, boot.name):
            _take(message, outcome, boot.logs / "agent.log", notify)
        guest.wait_exit()
    return outcome


def log_head(argv: Sequence[str]) -> bytes:
    """The beginning of qemu.log."""
    return (shell_line(argv) + "\n").encode()


def read(name: str, text: bytes) -> Outcome:
    """The outcome of a guest that ran to its end, from its agent's messages (agent.log)."""
    outcome = Outcome(name)
    for message in map(agent.parse_line, agent.LineBuffer().feed(text)):
        if message.get("type") == "hello":
            outcome.hello = message
        _take(message, outcome, None, silent)
    return outcome


def _take(message: agent.Message, outcome: Outcome, log: Path | None, notify: Notify) -> None:
    kind, name = message.get("type"), str(message.get("name", ""))
    if kind == "start":
        notify(outcome.name, name, False)
    elif kind == "result":
        failure = agent.result_failure(message)
        if failure:
            raise CintError(f"{outcome.name}: {failure}", log=log)
        outcome.results[name] = message
        notify(outcome.name, name, True)
    elif kind == "dmesg":
        outcome.dmesg += str(message.get("text", ""))
