# SPDX-License-Identifier: GPL-2.0-or-later
"""Resets of the controller while a CPU is offline, and resets that change nothing.

Real time, two CPUs. With more than one set of hardware queues the block layer shares them out anew
at a reset, and a queue whose CPUs had gone must not become that of a CPU which is there.
"""

from __future__ import annotations

import pytest
from conftest import log_root
from marks import hint_machine
from serving import Guest, serving
from switching import DEVICE
from test_chaos import NO_FAIR_SERVER

ROUNDS = 12
#: A queue that nobody can get a tag of is waited for without end.
LIMIT_S = 60
CPU = "/sys/devices/system/cpu/cpu1/online"
RESET = """\
cd /sys/class/nvme/nvme0; echo 1 > reset_controller; until grep -q live state; do sleep 0.01; done
"""
READ = f"hintio --count=8 {DEVICE} > /dev/null;"
#: What gives the disk more than one set of queues.
OPTIONS = ("nvme.write_queues=2", "nvme.poll_queues=1", "nvme.blk_switch=3")


@pytest.mark.parametrize("option", OPTIONS)
def test_offline(option: str) -> None:
    with serving(hint_machine(option), log_root() / f"resets-{option}") as guest:
        guest.shell(NO_FAIR_SERVER)
        for _ in range(ROUNDS):
            guest.shell(f"echo 0 > {CPU}; {READ} {RESET} {READ}", LIMIT_S)
            guest.shell(f"echo 1 > {CPU}; taskset 1 {READ} taskset 2 {READ} {RESET}"
                        f"taskset 1 {READ} taskset 2 {READ}", LIMIT_S)


def test_offline_with_other_queues() -> None:
    """Each reset makes other queues: what had been a CPU's that went becomes another one's."""
    machine = hint_machine("nvme.write_queues=2", "nvme.poll_queues=1")
    with serving(machine, log_root() / "resets-other") as guest:
        guest.shell(NO_FAIR_SERVER)
        for i in range(ROUNDS):
            count = f"echo {i % 2} > /sys/module/nvme/parameters/poll_queues;"
            guest.shell(f"echo 0 > {CPU}; {READ} {count} {RESET} {READ}", LIMIT_S)
            guest.shell(f"echo 1 > {CPU}; taskset 1 {READ} taskset 2 {READ}", LIMIT_S)


def queues(guest: Guest) -> str:
    """What the kernel's hardware queues are known by, which is new for each that is made."""
    return guest.shell("stat -c %i /sys/block/nvme0n1/mq/*")


def test_nothing_changes() -> None:
    """The queues stay through a reset, unless other ones are wanted."""
    with serving(hint_machine("nvme.poll_queues=1"), log_root() / "resets-same") as guest:
        before = queues(guest)
        for _ in range(3):
            guest.shell(f"{RESET} {READ} hintio --hipri --count=8 {DEVICE}")
        assert queues(guest) == before
        guest.shell(f"echo 0 > /sys/module/nvme/parameters/poll_queues; {RESET} {READ}")
        assert queues(guest) != before
