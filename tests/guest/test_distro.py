# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest that knows nothing of cint: the distribution's own kernel under every policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import SCALE, make_settings, value
from serving import Guest, guest_interrupts, serving, totals

from cint import paths, steps
from cint.build import distro
from cint.device import properties
from cint.errors import CintError
from cint.guest import agent, kinds, vm
from cint.measure import comparison, fiojson, workloads
from cint.results import assembly

MIB = 1 << 20
SIZE = 8 * MIB
BLOCK = 4096
#: Slow enough that an emulated CPU keeps many commands in flight.
MEDIA = "ssd80"

#: cint.policy, and what else is set while the guest runs.
POLICIES: Mapping[str, Mapping[str, int | str]] = {
    "default": {},
    "static": {"cint.static-time": 100_000, "cint.static-thr": 16},
    "adaptive": {"cint.delta": 6_000, "cint.thr": 32},
    "vic": {"cint.cif-threshold": 2, "cint.iops-threshold": 100, "cint.epoch": 20},
    "cint": {"cint.infer": "all"},
    "pointer": {},
}
#: An interrupt for each completion. A driver that writes no pointer is silent about it.
EACH = ("default", "pointer")
#: What only these policies give as the reason of an interrupt.
OWN_REASONS = {"default": {"each"}, "static": {"thr", "time"}, "adaptive": {"thr", "quiet"},
               "vic": {"ratio", "low-cif", "low-iops"}, "cint": {"urgent", "barrier"},
               "pointer": {"each"}}
#: hintio's exit code
NO_HINTS = 77
VERIFY = """\
[verify]
filename=/dev/nvme0n1
direct=1
bs=4k
rw=randwrite
ioengine=libaio
iodepth=32
iodepth_batch_submit=8
verify=crc32c
verify_fatal=1
do_verify=1
size={size}
offset={offset}
randseed={seed}
"""


@pytest.fixture(scope="module")
def built() -> str:
    """The release of the distribution's kernel, made ready if it can be had."""
    try:
        with steps.build_lock():
            distro.build()
    except CintError as problem:
        if paths.DISTRO_INITRAMFS.exists():
            raise
        pytest.skip(f"no kernel of the distribution: {problem.message}")
    return str(steps.Stamp("distro-kernel").facts()["release"])


@pytest.fixture
def disk(tmp_path: Path) -> vm.Backend:
    """A namespace that keeps what is written."""
    image = tmp_path / "disk.img"
    with image.open("wb") as file:
        file.truncate(len(POLICIES) * SIZE)
    return vm.Backend(image)


def plain_machine(backend: vm.Backend) -> vm.Machine:
    """A guest in real time with the device as a user gets it: drain and max-hold on."""
    accel = comparison.choose_accel(False)
    props = properties.device_properties(properties.parse_policy("default"),
                                         properties.parse_media(MEDIA), 1, virtual=False,
                                         extras="device")
    machine = vm.Machine(props, virtual=False, accel=accel.name, cpu=accel.cpu, backend=backend)
    return kinds.dress(machine, "distro")


def check_policy(guest: Guest, number: int, policy: str) -> None:
    """Write and read back under one policy; the device must have decided by it."""
    for name, setting in POLICIES[policy].items():
        guest.vm.qmp.set(name, setting)
    guest.vm.qmp.set("cint.policy", policy)
    assert guest.stats()["policy"] == policy
    result = guest.fio(policy, VERIFY.format(size=SIZE, offset=number * SIZE, seed=number + 1))
    (job,) = fiojson.parse(result["fio"]).values()
    counted = totals(result)
    assert counted.cqes >= 2 * SIZE // BLOCK, (policy, job)
    assert 0 < counted.interrupts <= counted.cqes
    assert sum(counted.reasons.values()) == counted.interrupts
    assert any(counted.reasons.get(r, 0) > 0 for r in OWN_REASONS[policy]), counted.reasons
    assert 0 < guest_interrupts(result) <= counted.interrupts
    if policy not in EACH:
        assert counted.interrupts < counted.cqes, policy


def check_no_hints(guest: Guest) -> None:
    """A kernel without hints is named as such, by both tools that give them."""
    for api in ("preadv2", "aio", "uring"):
        reply = guest.try_shell(f"hintio --api={api} --hint=urgent /dev/nvme0n1")
        assert reply["exit"] == NO_HINTS, reply
        assert "this kernel has no completion hints" in str(reply["stderr"])
        guest.shell(f"hintio --api={api} /dev/nvme0n1")
    reply = guest.try_shell("hintio --api=aio --batch=8 --count=8 --mark=last --hint=barrier "
                            "/dev/nvme0n1")
    assert reply["exit"] == NO_HINTS, reply
    for engine in ("hint_psync", "hint_libaio", "hint_io_uring"):
        job = f"fio --name=j --ioengine={engine} --filename=/dev/nvme0n1 --size=64k --direct=1"
        reply = guest.try_shell(f"{job} --hint=barrier 2>&1")
        assert reply["exit"], reply
        assert "this kernel has no completion hints" in str(reply["stdout"])
        guest.shell(f"{job} --hint=default")


def test_every_policy(built: str, disk: vm.Backend, logs: Path) -> None:
    """One boot: fio's checksums hold, and nothing timed out, under every policy."""
    with serving(plain_machine(disk), logs, kinds.BOOT_LIMIT_S) as guest:
        assert guest.vm.hello["kernel"] == built
        assert guest.shell("ls /sys/module/nvme/parameters").find("irq_cost_ns") < 0
        check_no_hints(guest)
        for number, policy in enumerate(POLICIES):
            check_policy(guest, number, policy)
        assert guest.shell("cat /proc/sys/kernel/tainted").strip() == "0"
        again = VERIFY.replace("do_verify=1", "verify_only=1")
        for number, policy in enumerate(POLICIES):
            guest.fio(f"again-{policy}",
                      again.format(size=SIZE, offset=number * SIZE, seed=number + 1))


@pytest.mark.slow
def test_virtual_time(built: str, logs: Path) -> None:
    """A comparison as ./cint compare --guest distro makes it; it says what it lacks."""
    chosen = replace(make_settings("default,adaptive", [workloads.BUILT_IN["async"]], 0.05,
                                   cost_ns=0),
                     guest="distro", boot_limit_s=kinds.BOOT_LIMIT_S)
    accel = comparison.choose_accel(True)
    asked = comparison.asked_for(comparison.compose(chosen))
    guests = comparison.run_guests(chosen, asked, logs)
    assert guests.failed == []
    outcomes = guests.outcomes
    assert [o.trouble for o in outcomes] == [[], []]
    assert [o.hello["kernel"] for o in outcomes] == [built, built]
    rows = comparison.tabulate(chosen, guests.samples)
    assert chosen.k == SCALE
    assert (value(rows, "adaptive", "async", "ios_per_irq")
            > 4 * value(rows, "default", "async", "ios_per_irq"))
    notes = " ".join(assembly.notes_for(chosen, outcomes, accel, rows))
    assert "uncalibrated" in notes
    assert "not patched" in notes
    assert agent.dmesg_trouble(outcomes[0].dmesg) == []
