# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest that takes commands, for tests that change the device between jobs.

Real time only: commands reach the guest whenever the host sends them.
"""

from __future__ import annotations

import base64
import json
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conftest import note_races

from cint.device import logpage
from cint.guest import agent, vm

JOB_LIMIT_S = 120
POLL_S = 0.001
#: A script in the background; its status is in a file when it has ended, however it does,
#: with all that it said.
_START = """\
rm -f /tmp/{name}.status
((
{script}
)
echo $? >/tmp/{name}.code; mv /tmp/{name}.code /tmp/{name}.status) >/tmp/{name}.said 2>&1 &
"""
_ENDED = "[ -e /tmp/{name}.status ]"
_END = f"until {_ENDED}; do sleep 0.02; done; cat /tmp/{{name}}.status /tmp/{{name}}.said"


def unexpected(dmesg: str, allowed: Sequence[str]) -> list[str]:
    """Trouble in the kernel's messages, besides the patterns of what a test provoked."""
    return [line for line in agent.dmesg_trouble(dmesg)
            if not any(re.search(pattern, line) for pattern in allowed)]


class Guest:
    """Commands to a running guest; each waits for its reply."""

    def __init__(self, running: vm.Vm) -> None:
        self.vm = running
        self._last = 0

    def _send(self, request: dict[str, Any]) -> None:
        self._last += 1
        request = {"id": self._last, "timeout_s": JOB_LIMIT_S} | request
        self.vm.send(json.dumps(request).encode())

    def command(self, **request: Any) -> agent.Message:
        """Send one command and return the reply."""
        self._send(request)
        limit_s = 2 * request.get("timeout_s", JOB_LIMIT_S)
        while True:
            reply = self.vm.next_message(limit_s, f"command {request['cmd']}")
            if reply.get("id") == self._last:
                return reply

    def try_shell(self, script: str, limit_s: int = JOB_LIMIT_S) -> agent.Message:
        """Run a shell script, whatever becomes of it."""
        return self.command(cmd="exec", name="shell", argv=["sh", "-c", script], timeout_s=limit_s)

    def shell(self, script: str, limit_s: int = JOB_LIMIT_S) -> str:
        """The output of a shell script, which must succeed."""
        reply = self.try_shell(script, limit_s)
        assert agent.result_failure(reply) is None, (script, reply)
        return str(reply["stdout"])

    def start(self, name: str, script: str) -> None:
        """Run a shell script in the background."""
        self.shell(_START.format(name=name, script=script))

    def has_ended(self, name: str) -> bool:
        """Whether what was started under that name has."""
        return agent.result_failure(self.try_shell(_ENDED.format(name=name))) is None

    def end(self, name: str, limit_s: int = JOB_LIMIT_S) -> tuple[int, str]:
        """Wait for what was started under that name: its exit status, and what it said."""
        status, _, text = self.shell(_END.format(name=name), limit_s).partition("\n")
        return int(status), text

    def read_binary(self, command: str) -> bytes:
        """The output of a command that prints bytes."""
        return base64.b64decode(self.shell(f"{command} | base64"))

    def write_file(self, path: str, data: bytes) -> None:
        """Make a file in the guest."""
        text = base64.b64encode(data).decode()
        self.shell(f"echo {text} | base64 -d > {shlex.quote(path)}")

    def fio(self, name: str, text: str) -> agent.Message:
        """Run a fio job, which must succeed."""
        reply = self.command(cmd="fio", name=name, fio=text, args=["--eta=never"])
        assert agent.result_failure(reply) is None, reply
        return reply

    def meanwhile(self, step: Callable[[], None], limit_s: int = JOB_LIMIT_S,
                  **request: Any) -> agent.Message:
        """Send one command, and ``step`` again and again until its reply comes."""
        self._send(request | {"timeout_s": limit_s})
        while True:
            reply = self.vm.try_message(POLL_S)
            if reply and reply.get("id") == self._last:
                return reply
            step()

    def fio_meanwhile(self, name: str, text: str, step: Callable[[], None],
                      limit_s: int = JOB_LIMIT_S) -> agent.Message:
        """Run a fio job, which must succeed, and ``step`` again and again until it ends."""
        reply = self.meanwhile(step, limit_s, cmd="fio", name=name, fio=text, args=["--eta=never"])
        assert agent.result_failure(reply) is None, reply
        return reply

    def shell_meanwhile(self, script: str, step: Callable[[], None],
                        limit_s: int = JOB_LIMIT_S) -> agent.Message:
        """Run a shell script, whatever becomes of it, and ``step`` until it ends."""
        return self.meanwhile(step, limit_s, cmd="exec", name="shell", argv=["sh", "-c", script])

    def stats(self) -> dict[str, Any]:
        """The device's counters, as the host sees them."""
        found: dict[str, Any] = self.vm.qmp.get("cint-stats")
        return found

    def power_off(self, allowed: Sequence[str] = ()) -> None:
        """Check the kernel's messages and end the guest."""
        assert unexpected(self.shell("dmesg"), allowed) == []
        self.vm.send(json.dumps({"id": 0, "cmd": "poweroff"}).encode())
        self.vm.wait_exit()


@contextmanager
def serving(machine: vm.Machine, logs: Path, boot_limit_s: float = vm.BOOT_LIMIT_S,
            allowed: Sequence[str] = ()) -> Iterator[Guest]:
    """A guest until the end of the block; it must have behaved by then.

    Its kernel may have said what the patterns `allowed` match.
    """
    with vm.Vm(vm.command(machine), agent.Plan(then="serve"), logs, boot_limit_s) as running:
        note_races(running.boot_races)
        running.expect("done", 30, "the agent does not serve")
        guest = Guest(running)
        yield guest
        guest.power_off(allowed)


def totals(result: agent.Message) -> logpage.Totals:
    """What the I/O queues counted during a job, by the log page that the guest read."""
    first, last = (agent.parse_snapshot(result[s]).nvme_log for s in ("before", "after"))
    assert first is not None
    assert last is not None
    before, after = logpage.decode(first).total(), logpage.decode(last).total()
    return logpage.Totals(cqes=after.cqes - before.cqes,
                          interrupts=after.interrupts - before.interrupts,
                          reasons={name: count - before.reasons.get(name, 0)
                                   for name, count in after.reasons.items()})


def guest_interrupts(result: agent.Message) -> int:
    """What the guest's kernel counted during a job."""
    before, after = (agent.parse_snapshot(result[edge]) for edge in ("before", "after"))
    return agent.queue_interrupts(before, after)
