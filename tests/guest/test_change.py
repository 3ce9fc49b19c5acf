# SPDX-License-Identifier: GPL-2.0-or-later
"""Policy and parameters change thousands of times under a guest that checks its data.

The qtests change them at exact moments (nvme-cint-change-test); here a real driver and
its interrupt handler are in the middle of their work.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conftest import machine
from serving import Guest, serving

from cint.guest import vm
from cint.guest.qmp import QmpError
from cint.measure import fiojson

MIB = 1 << 20
SIZE = 8 * MIB
BLOCK = 4096
JOBS = 2
CHANGES = 3000
REFUSED = "QEMU refused"
#: Randomly written and read back, with checksums; a new pattern in each round. Jobs follow.
VERIFY = """\
[global]
filename={disk}
direct=1
bs=4k
rw=randwrite
size={size}
randseed={seed}
verify=crc32c
verify_fatal=1
do_verify=1
"""
VERIFY_BOTH = VERIFY + """\
[deep]
ioengine=libaio
iodepth=32
iodepth_batch_submit=8
[shallow]
ioengine=libaio
offset={size}
iodepth=1
"""

POLICIES = ("default", "static", "adaptive", "vic", "cint", "pointer")
WORDS = {"cint.policy": POLICIES,
         "cint.barrier": ("relaxed", "strict", "generation"),
         "cint.infer": ("off", "batch", "all"),
         "cint.drain": ("auto", "on", "off"),
         "cint.storm": ("hold", "retune")}
SWITCHES = ("cint.ooo",)
#: Largest values, ns where they are times: short against the guest's patience, so that
#: rounds end, and long against the medium, so that completions are held.
NUMBERS = {"cint.delta": 1_000_000, "cint.thr": 70, "cint.kick-window": 500_000,
           "cint.max-irq-rate": 50_000, "cint.epoch": 20, "cint.cif-threshold": 8}
#: Of these 0 is no valid value, or one that goes with some policies only.
LEAST = {"cint.epoch": 1, "cint.cif-threshold": 2}


class Changer:
    """Random changes of the running device."""

    def __init__(self, guest: Guest, seed: int) -> None:
        self._guest = guest
        self._random = random.Random(seed)
        self.made = 0
        self.refused = 0
        self.policies: set[str] = set()

    def _choose(self) -> tuple[str, str | int | bool]:
        name = self._random.choice([*WORDS, *SWITCHES, *NUMBERS, "cint.policy", "cint.policy"])
        if name in WORDS:
            return name, self._random.choice(WORDS[name])
        if name in SWITCHES:
            return name, self._random.random() < 0.5
        return name, self._random.randint(LEAST.get(name, 0), NUMBERS[name])

    def change(self) -> None:
        """Make one change; one that contradicts what is set already is refused."""
        name, value = self._choose()
        try:
            self._guest.vm.qmp.set(name, value)
        except QmpError as error:
            assert error.message.startswith(REFUSED), error
            assert "storm=retune" in error.message, error
            self.refused += 1
            return
        self.made += 1
        if name == "cint.policy":
            self.policies.add(str(value))


def check_settled(stats: Mapping[str, Any], commands: int) -> None:
    """By the property cint-stats: nothing is in flight or held, and everything was posted."""
    queues = [q for q in stats["queues"] if q["cqid"]]
    assert [(q["inflight"], q["pending"]) for q in queues] == [(0, 0)] * len(queues)
    assert sum(q["cqes"] for q in queues) >= commands
    assert sum(q["irqs"] for q in queues) > 0


def test_changes_under_verification(tmp_path: Path, logs: Path) -> None:
    """No I/O is lost, late or wrong, and the guest's kernel has no complaint."""
    image = tmp_path / "disk.img"
    with image.open("wb") as file:
        file.truncate(JOBS * SIZE)
    rounds = 0
    plain = machine("adaptive", virtual=False, k=1, backend=vm.Backend(image))
    with serving(plain, logs) as guest:
        # Policies vic and pointer need a limit; the guest waits no longer than this.
        guest.vm.qmp.set("cint.max-hold", 5_000_000)
        changer = Changer(guest, seed=1)
        while changer.made < CHANGES or rounds < 2:
            rounds += 1
            job = VERIFY_BOTH.format(disk="/dev/nvme0n1", size=SIZE, seed=rounds)
            reply = guest.fio_meanwhile(f"round{rounds}", job, changer.change)
            jobs = fiojson.parse(reply["fio"])
            assert {name: job.ios for name, job in jobs.items()} == {
                "deep": 2 * SIZE // BLOCK, "shallow": 2 * SIZE // BLOCK}
        assert changer.policies == set(POLICIES)
        assert changer.refused < changer.made / 4
        check_settled(guest.stats(), rounds * JOBS * 2 * SIZE // BLOCK)
