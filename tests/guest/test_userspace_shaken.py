# SPDX-License-Identifier: GPL-2.0-or-later
"""A process drives a controller while all that may happen to it does, in each mode.

Threads wait for any number of completions and take any number; the operator changes policy and
parameters; another thread resets the controller, which then goes from under them and comes back.
Virtual time: who waits for long was not woken, however busy the host is.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from serving import Guest, serving
from test_unplug import (
    BIND,
    DEVICE,
    DRIVE,
    GONE,
    PATH,
    is_plugged,
    plug,
    posted,
    wait_for,
)
from test_unplug import machine as with_second
from test_userspace import MODES
from waits import words

from cint.guest import agent, vm
from cint.guest.qmp import QmpError

#: I/Os of each mode, half of them before the controller goes and half behind: in the default run,
#: and with --full.
FEW, MANY = 80_000, int(os.environ.get("CINT_SHAKEN_IOS", "1000000"))
THREADS = 4
#: A reset wakes whoever waits: who was not woken is to be seen before.
RESET_MS, LATE_US, MAX_HOLD_NS = 100, 50_000, 50_000_000
CHECK = (f"cintio check $(cat /tmp/a) --mode {{mode}} --sleep 20000 --any --threads {THREADS} "
         f"--depth 16 --min 12 --blocks 1 --count {{count}} --resets {RESET_MS} {{more}}")
LIMIT_S = 900
#: Beside the modes: status records, and commands of both kinds.
WAYS = {**dict.fromkeys(MODES, ""), "interrupt-records": "--policy cint --records --hints"}
#: Of policies those that hold nothing for longer than delta.
CHOICES = {"cint.policy": ("pointer", "default", "static", "adaptive", "pointer"),
           "cint.thr": (1, 2, 8, 12), "cint.delta": (50_000, 200_000)}


class Operator:
    """Changes what he likes, and looks at what the device counts."""

    def __init__(self, guest: Guest, seed: str) -> None:
        self._qmp = guest.vm.qmp
        self._random = random.Random(seed)
        self.changes = 0

    def step(self) -> None:
        """A change, and that nobody was waited for too long."""
        name = self._random.choice(list(CHOICES))
        try:
            self._qmp.set(name, self._random.choice(CHOICES[name]), PATH)
            self.changes += 1
        except QmpError as error:
            assert error.message.startswith("QEMU refused"), error
        for queue in self._qmp.get("cint-stats", PATH)["queues"]:
            for reason in ("max-hold", "pressure"):
                assert not queue["irqs-by-reason"].get(reason, 0), (self.changes, queue)


def shake(guest: Guest, way: str, count: int) -> None:
    """Verified I/Os of one process."""
    operator = Operator(guest, way)
    guest.vm.qmp.set("cint.max-hold", MAX_HOLD_NS, PATH)
    guest.vm.qmp.set("cint.delta", CHOICES["cint.delta"][0], PATH)
    script = CHECK.format(mode=way.partition("-")[0], count=count, more=WAYS[way])
    reply = guest.shell_meanwhile(script, operator.step, LIMIT_S)
    assert agent.result_failure(reply) is None, reply
    queues = words(str(reply["stdout"]))
    assert [(queue["ios"], queue["errors"]) for queue in queues] == [(count, 0)] * THREADS
    longest_us = max(queue["longest_us"] for queue in queues)
    resets = [queue["resets"] for queue in queues]
    print(f"{way}: {operator.changes} changes, resets {resets}, longest wait {longest_us} us")
    assert longest_us < LATE_US, queues
    # what a reset took away the operator has seen before
    assert not any(queue.get("max_hold", 0) + queue.get("pressure", 0) for queue in queues), queues
    assert operator.changes > 10, operator.changes
    assert all(resets), resets


def pull(guest: Guest, mode: str) -> None:
    """The controller goes from under a process that drives it, and comes back."""
    address = guest.shell("A=$(cat /tmp/a)\n" + DRIVE.format(mode=mode)).strip()
    before = posted(guest)
    wait_for("the process drives it", lambda: posted(guest) > before + 1000)
    guest.vm.qmp.execute("device_del", id=DEVICE)
    status, _, text = guest.shell(GONE.format(address=address)).partition("\n")
    assert status == "1" and f"the kernel asks for {address}" in text, text
    wait_for("QEMU unplugs it", lambda: not is_plugged(guest))
    wait_for("QEMU lets go of its disk", lambda: plug(guest, virtual=True) == "")


@pytest.mark.parametrize("ios", [FEW, pytest.param(MANY, marks=pytest.mark.slow, id="many")])
@pytest.mark.parametrize("way", WAYS)
def test_shaken(disk: vm.Backend, tmp_path: Path, logs: Path, way: str, ios: int) -> None:
    """Nothing is lost, wrong or late."""
    host = with_second(disk, tmp_path / "second.img", virtual=True)
    count = -(-ios // (2 * THREADS))
    with serving(host, logs, 3 * vm.BOOT_LIMIT_S) as guest:
        guest.shell(f"{BIND}echo $A > /tmp/a")
        shake(guest, way, count)
        guest.shell("cintio unbind $(cat /tmp/a)")
        guest.shell(BIND)
        pull(guest, way.partition("-")[0])
        guest.shell(f"{BIND}echo $A > /tmp/a")
        shake(guest, way, count)
