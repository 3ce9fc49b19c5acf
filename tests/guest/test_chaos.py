# SPDX-License-Identifier: GPL-2.0-or-later
"""A thousand things that may happen to a driver, in any order, under verified load.

Real time, two CPUs. CINT_CHAOS_ROUNDS and CINT_CHAOS_SEED set how long, and what happens.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from overtaking import (
    CHANGES,
    COUNTERS,
    MIB,
    ON_ONE_CPU,
    PARAMETER,
    POLL,
    SYSFS,
    parse_counters,
    shaken_machine,
)
from serving import Guest
from test_recovery import FAILED, recovering

from cint import paths
from cint.guest import vm

ROUNDS = int(os.environ.get("CINT_CHAOS_ROUNDS", "1000"))
SEED = int(os.environ.get("CINT_CHAOS_SEED", "1"))
#: Verified and polled I/O on the first controller, which must not fail, and reads of the second one
#: that may.
LOAD = """\
load() {
    while [ ! -e /tmp/stop ]; do
        fio --eta=never $1 > $1.out 2>&1 || { cat $1.out >&2; touch $1.failed; break; }
        echo done >> $1.runs
    done
    touch $1.end
}
careless() {
    while [ ! -e /tmp/stop ]; do
        for disk in /dev/nvme[1-9]*n1; do
            hintio --api=aio --batch=8 --count=64 --stride=64k $disk
        done
        sleep 0.01
    done > /dev/null 2>&1
    touch /tmp/careless.end
}
load /tmp/mix.fio & load /tmp/poll.fio & careless &
"""
END = """\
touch /tmp/stop
until [ -e /tmp/mix.fio.end ] && [ -e /tmp/poll.fio.end ] && [ -e /tmp/careless.end ]; do
    sleep 0.1
done
for job in mix poll; do
    [ ! -e /tmp/$job.fio.failed ] || { cat /tmp/$job.fio.out; exit 1; }
done
wc -l < /tmp/mix.fio.runs
"""
#: Linux 6.12's fair servers lose count when their CPU goes (WARNING at task_non_contending, in
#: sched_cpu_dying): none of them here.
NO_FAIR_SERVER = """\
for cpu in /sys/kernel/debug/sched/fair_server/cpu*; do echo 0 > $cpu/runtime; done
"""
#: The second controller goes and comes back.
HOTPLUG = """\
dev={device}
echo 1 > /sys/bus/pci/devices/$dev/remove
echo 1 > /sys/bus/pci/rescan
"""


def second_device(guest: Guest) -> str:
    """The PCI address of the controller that is not the first."""
    first = guest.shell(f"basename $(readlink -f {SYSFS}/device)").strip()
    every = guest.shell("ls /sys/bus/pci/drivers/nvme").split()
    found = [name for name in every if re.match(r"0000:", name) and name != first]
    assert len(found) == 1
    return found[0]


def actions(guest: Guest, device: str) -> list[tuple[int, str, Callable[[random.Random], None]]]:
    """What may happen: how often of a hundred times, its name, and how."""
    def script(text: str) -> Callable[[random.Random], None]:
        def run(rng: random.Random) -> None:
            guest.shell(text.format(rng.randint(0, 1)))

        return run

    def policy(rng: random.Random) -> None:
        for name, value in rng.choice(CHANGES).items():
            guest.vm.qmp.set(name, value)

    return [(30, "policy", policy),
            (25, "ooo", script(f"echo {{0}} > {SYSFS}/ooo_urgent")),
            (15, "parameter", script(f"echo {{0}} > {PARAMETER}")),
            (20, "reset", script(f"echo 1 > {SYSFS}/reset_controller")),
            (5, "cpu", script("echo {0} > /sys/devices/system/cpu/cpu1/online")),
            (5, "hotplug", script(HOTPLUG.format(device=device)))]


def chaos(guest: Guest, rounds: int, seed: int) -> dict[str, int]:
    """Let things happen; how often each did."""
    rng = random.Random(seed)
    table = actions(guest, second_device(guest))
    happened = dict.fromkeys((name for _, name, _ in table), 0)
    for _ in range(rounds):
        _, name, act = rng.choices(table, [weight for weight, _, _ in table])[0]
        act(rng)
        happened[name] += 1
    return happened


def settle(guest: Guest) -> None:
    """As it was before."""
    for name, value in CHANGES[-1].items():
        guest.vm.qmp.set(name, value)
    guest.vm.qmp.set("cint.policy", "cint")
    guest.shell("echo 1 > /sys/devices/system/cpu/cpu1/online;"
                f"echo 1 > {PARAMETER}; echo 1 > {SYSFS}/ooo_urgent")


def survive(guest: Guest) -> None:
    """Chaos, then everything as usual."""
    guest.write_file("/tmp/poll.fio", POLL.encode())
    guest.shell(NO_FAIR_SERVER)
    guest.shell(LOAD)
    happened = chaos(guest, ROUNDS, SEED)
    assert min(happened.values()) > 0, happened
    settle(guest)
    assert int(guest.shell(END)) > 0
    before = parse_counters(guest.shell(f"cat {COUNTERS}"))
    guest.fio("settled", ON_ONE_CPU)
    after = parse_counters(guest.shell(f"cat {COUNTERS}"))
    assert after["reaped_ooo"] > before["reaped_ooo"]


def machine(backend: vm.Backend, second: Path, kernel: Path = paths.KERNEL) -> vm.Machine:
    """A guest with a second controller, which may be taken away."""
    with second.open("wb") as file:
        file.truncate(256 * MIB)
    guest = shaken_machine(backend, kernel)
    props = ",".join(f"{name}={value}" for name, value in guest.properties)
    return replace(guest, extra=(
        "-blockdev", f"driver=file,node-name=second,filename={second}",
        "-device", f"nvme,id=nvme1,serial=second,drive=second,{props}"))


@pytest.mark.slow
def test_chaos(disk: vm.Backend, tmp_path: Path, logs: Path) -> None:
    with recovering(machine(disk, tmp_path / "second.img"), logs, FAILED) as guest:
        survive(guest)


@pytest.mark.slow
def test_chaos_debug_kernel(debug_kernel: Path, disk: vm.Backend, tmp_path: Path,
                            logs: Path) -> None:
    """The same under lockdep and KASAN."""
    started = machine(disk, tmp_path / "second.img", debug_kernel)
    with recovering(started, logs, FAILED) as guest:
        survive(guest)
        guest.shell("grep -q 'debug_locks: *1' /proc/lockdep_stats")
