# SPDX-License-Identifier: GPL-2.0-or-later
"""Queues by class of I/O in the guest, as ``--steering`` says (docs/blk-switch.md).

With anything but ``off`` each CPU has two queues with interrupts, one of them for I/O of the
realtime class. The completion queues of that class may have a policy of their own: `split`.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass

from cint import units
from cint.device import properties, queueconfig
from cint.errors import UsageError
from cint.guest import agent

OFF = "off"
#: Words of --steering, which are the kernel's (queue/switch_mode), and of nvme.blk_switch.
MODES = {OFF: 0, "prio": 1, "request": 2, "app": 3}
VALID = ", ".join(MODES)
QUEUE = "/sys/block/nvme0n1/queue"


@dataclass(frozen=True)
class Steering:
    """One mode."""

    name: str = OFF

    @property
    def steers(self) -> bool:
        """Whether there are queues by class."""
        return self.name != OFF

    def boot(self) -> tuple[str, ...]:
        """Options of the guest's kernel."""
        return (f"nvme.blk_switch={MODES[self.name]}",) if self.steers else ()

    def setup(self) -> tuple[tuple[str, ...], ...]:
        """A command for the guest before its jobs, which fails if the mode is not in force."""
        if not self.steers:
            return ()
        return (agent.exec_argv(
            f"grep -qx {self.name} {QUEUE}/switch_mode || "
            f"{{ echo the guest has no queues for --steering {self.name} >&2; exit 1; }}"),)


def parse(text: str) -> Steering:
    """One mode; :class:`UsageError` names what is valid."""
    if text not in MODES:
        raise UsageError(f"--steering {text}: there is no such mode"
                         f"{units.suggestion(text, MODES)}; valid: {VALID}")
    return Steering(text)


def check_split(policy: properties.Policy, mode: Steering) -> None:
    """Refuse, by :class:`UsageError`, two policies where there is one queue."""
    if policy.latency and not mode.steers:
        raise UsageError(f"policy '{policy.name}': with --steering off there is one queue for both "
                         "classes", hint="use --steering prio, request or app")


def latency_queues(vcpus: int) -> range:
    """The completion queues of the realtime class: behind one for each CPU."""
    return range(vcpus + 1, 2 * vcpus + 1)


def split_setup(data: bytes | None, vcpus: int) -> tuple[tuple[str, ...], ...]:
    """A command that gives the queues of the realtime class their own configuration, if any."""
    if data is None:
        return ()
    sets = "".join(f"nvme set-feature /dev/nvme0 -f {queueconfig.FEATURE:#x} --value={cq} "
                   f"--data=/tmp/latency --data-len={queueconfig.SIZE} >/dev/null || exit 1; "
                   for cq in latency_queues(vcpus))
    return (agent.exec_argv(
        f"echo {base64.b64encode(data).decode()} | base64 -d >/tmp/latency; {sets}true"),)
