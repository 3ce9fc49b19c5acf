# SPDX-License-Identifier: GPL-2.0-or-later
"""What becomes of hints on ways that are decided rather than obvious, as the device's interrupts.

O_NONBLOCK, device mapper, loop: the policy is one under which the device interrupts for hints only,
or so late that it does not count. Each case names the bit of block.irq_hints that makes its hints;
with all others there is no such interrupt. No file system is mounted, so nothing else is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from conftest import log_root
from marks import BATCH, BDEV, DEFAULT, READ, SYNC, WAIT, hint_machine, hintio, names, set_policy
from serving import Guest, serving

MAPPED, LOOP = "/dev/dm-0", "/dev/loop0"
#: Two targets that meet at 32 MiB, over the same namespace.
MIB = 2048  # sectors
TABLE = (f"0 {32 * MIB} linear /dev/nvme0n1 0",
         f"{32 * MIB} {32 * MIB} linear /dev/nvme0n1 {64 * MIB}")
ACROSS = (32 << 20) - 8192
#: Only hints interrupt.
HINTS_ONLY = (("cint.max-hold", 10_000_000_000), ("cint.policy", "cint"), ("cint.thr", 65535),
              ("cint.delta", 100_000_000))


@pytest.fixture(scope="module")
def guest() -> Iterator[Guest]:
    """A mapped device and a loop device over one namespace."""
    machine = hint_machine("dm_mod.waitfor=/dev/nvme0n1",
                           f'"dm-mod.create=mapped,,,rw,{",".join(TABLE)}"', "max_loop=1")
    with serving(replace(machine, vcpus=1), log_root() / "hint-paths") as running:
        running.shell(f"{names(1)} mknod -m 600 {LOOP} b 7 0 2>/dev/null;"
                      f"losetup {LOOP} {BDEV}")
        for name, value in HINTS_ONLY:
            running.vm.qmp.set(name, value)
        yield running
        running.shell(f"losetup -d {LOOP}")


def interrupts(guest: Guest, script: str, policy: int) -> tuple[int, int]:
    """Interrupts that the device sent because of an Urgent command, and of a Barrier."""
    def count() -> list[int]:
        queues = [q["irqs-by-reason"] for q in guest.stats()["queues"] if q["cqid"]]
        return [sum(q[reason] for q in queues) for reason in ("urgent", "barrier")]

    set_policy(guest, policy)
    before = count()
    guest.shell(script)
    urgent, barrier = (b - a for a, b in zip(before, count(), strict=True))
    return urgent, barrier


BATCHED = "--api=aio --batch=8 --count=16 --stride=64k"
#: What is done, the bit that marks it, and the interrupts for it: (urgent, barrier).
CASES = {
    # the I/O blocks all the same
    "nonblock": (hintio("--api=pread --nonblock --count=4"), SYNC, (4, 0)),
    "nonblock-aio": (hintio(f"{BATCHED} --nonblock"), BATCH, (0, 2)),
    # a clone has the hints of the original
    "dm": (hintio("--api=pread --count=4", MAPPED), SYNC, (4, 0)),
    "dm-aio": (hintio(BATCHED, MAPPED), BATCH, (0, 2)),
    # each piece of what is cut for two targets is urgent, and ends the batch
    "dm-across": (hintio(f"--api=pread --size=16k --offset={ACROSS}", MAPPED), SYNC, (2, 0)),
    "dm-across-aio": (hintio(f"--api=aio --batch=2 --count=2 --size=16k --offset={ACROSS - 16384}",
                             MAPPED), BATCH, (0, 2)),
}


def test_hints_arrive(guest: Guest) -> None:
    found = {name: (interrupts(guest, script, bit), interrupts(guest, script, DEFAULT & ~bit))
             for name, (script, bit, _) in CASES.items()}
    assert found == {name: (wanted, (0, 0)) for name, (_, _, wanted) in CASES.items()}


@pytest.mark.parametrize("hint", ["unmarked", "urgent", "barrier"])
def test_loop_reads_by_itself(guest: Guest, hint: str) -> None:
    """A loop device's own reads through the page cache are urgent, whatever was asked above."""
    script = ("echo 3 > /proc/sys/vm/drop_caches; "
              + hintio(f"--api=preadv2 --hint={hint} --count=4 --stride=4m", LOOP))
    urgent, barrier = interrupts(guest, script, READ)
    assert urgent >= 4
    assert barrier == 0
    assert interrupts(guest, script, DEFAULT & ~READ & ~WAIT) == (0, 0)
