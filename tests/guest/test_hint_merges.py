# SPDX-License-Identifier: GPL-2.0-or-later
"""Hints of I/O that meets other I/O while the device is busy: in a scheduler, in a flush.

The device takes one command at a time here and stops at the first one, so that what comes after it
has to wait in the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import held
import pytest
from conftest import log_root
from marks import (
    BATCH,
    FSYNC,
    WAIT,
    Marks,
    counters,
    hint_machine,
    hintio,
    marks,
    names,
    set_policy,
    since,
)
from serving import Guest, serving

from cint import paths
from cint.guest import vm

HELD = "/tmp/ns2"
#: Requests that may wait in the scheduler.
SCHEDULED = 64


#: Two devices on each namespace: whoever discards has the whole device to himself until it is done.
MAPPED = ";".join(f"ns{number}-{part},,,rw,0 2048 linear /dev/nvme0n{number} {(8 + part) * 2048}"
                  for number in (1, 2) for part in (0, 1))
DISCARD = "blkdiscard -l 65536 /dev/dm-$((2 * $(readlink {held} | sed 's/.*n//') - {back}))"


def busy_machine(kernel: Path = paths.KERNEL) -> vm.Machine:
    """A guest that has one command at a time in flight."""
    machine = hint_machine("nvme.io_queue_depth=2", "dm_mod.waitfor=/dev/nvme0n1,/dev/nvme0n2",
                           f'"dm-mod.create={MAPPED}"', extra=held.namespace(2), kernel=kernel)
    return replace(machine, vcpus=1)


def schedule(guest: Guest, scheduler: str) -> None:
    """Choose the scheduler of the namespace that can be held.

    Linux 6.12's mq-deadline takes as its limit of writes the number of requests before the change.
    """
    guest.shell(f"cd /sys/block/$(basename $(readlink {HELD}))/queue; echo {scheduler} > scheduler;"
                f"echo {SCHEDULED} > nr_requests; [ ! -e iosched/async_depth ] ||"
                f" echo {SCHEDULED} > iosched/async_depth")


@pytest.fixture(scope="module")
def guest() -> Iterator[Guest]:
    """A guest with a namespace that can be held."""
    with serving(busy_machine(), log_root() / "hint-merges") as running:
        running.shell(names(2))
        schedule(running, "kyber")
        yield running


def read(kib: int, hint: str, op: str = "read") -> str:
    """4 KiB of direct I/O at an offset."""
    return f"hintio --op={op} --api=preadv2 --offset={kib}k --hint={hint} {HELD}"


def behind(guest: Guest, event: str, commands: list[str]) -> Marks:
    """What the device sees of commands that meet while it is held; each follows the one before."""
    set_policy(guest, 0)
    before = counters(guest)
    hold = held.Hold(guest, event)
    for command in commands:
        hold.start(command)
    hold.release()
    return since(guest, before)


#: In the device, then next in line for it: these two meet nobody.
AHEAD = (1024, 2048)


def merged(guest: Guest, op: str, hints: list[tuple[int, str]]) -> Marks:
    """What becomes of adjacent I/O that waits in the scheduler, besides the two ahead of it."""
    ahead = [read(kib, "unmarked", op) for kib in AHEAD]
    found = behind(guest, f"{op}_aio", ahead + [read(kib, hint, op) for kib, hint in hints])
    return Marks(found.unmarked - len(ahead), found.urgent, found.barrier)


#: What a request that was scheduled first turns into, by the I/O put before or behind it.
BIO_MERGES = {
    "front-urgent": ([(36, "unmarked"), (32, "urgent")], Marks(urgent=1)),
    "front-barrier": ([(36, "unmarked"), (32, "barrier")], Marks(barrier=1)),
    "front-both": ([(36, "barrier"), (32, "urgent")], Marks(urgent=1)),
    "front-none": ([(36, "unmarked"), (32, "unmarked")], Marks(1)),
    "back-urgent": ([(32, "unmarked"), (36, "urgent")], Marks(urgent=1)),
    "back-both": ([(32, "urgent"), (36, "barrier")], Marks(urgent=1)),
    "apart": ([(32, "unmarked"), (40, "urgent")], Marks(1, urgent=1)),
}


def wrong_merges(guest: Guest, cases: dict[str, tuple[list[tuple[int, str]], Marks]],
                 ) -> dict[tuple[str, str], Marks]:
    """The cases that went wrong, with what came out."""
    return {(name, op): got for name, (hints, wanted) in cases.items() for op in ("read", "write")
            if (got := merged(guest, op, hints)) != wanted}


def test_merge_in_scheduler(guest: Guest) -> None:
    assert wrong_merges(guest, BIO_MERGES) == {}


#: A request of its own that meets another one when a third fills the gap.
REQUEST_MERGES = {
    "gap-next-urgent": ([(32, "unmarked"), (40, "urgent"), (36, "unmarked")], Marks(urgent=1)),
    "gap-next-barrier": ([(32, "unmarked"), (40, "barrier"), (36, "unmarked")], Marks(barrier=1)),
    "gap-both": ([(32, "barrier"), (40, "urgent"), (36, "unmarked")], Marks(urgent=1)),
    "gap-filler": ([(32, "unmarked"), (40, "unmarked"), (36, "urgent")], Marks(urgent=1)),
}


@pytest.mark.slow
def test_requests_merge(debug_kernel: Path, logs: Path) -> None:
    """A scheduler that merges requests with each other."""
    with serving(busy_machine(debug_kernel), logs, 3 * vm.BOOT_LIMIT_S) as debug:
        debug.shell(names(2))
        schedule(debug, "mq-deadline")
        assert wrong_merges(debug, BIO_MERGES | REQUEST_MERGES) == {}


@pytest.mark.slow
def test_32_bit_programs(debug_kernel: Path, logs: Path) -> None:
    with serving(hint_machine(kernel=debug_kernel), logs, 3 * vm.BOOT_LIMIT_S) as debug:
        debug.shell(names(1))
        for options, wanted in (("", Marks(14, barrier=2)), ("--hint=urgent", Marks(urgent=16)),
                                ("--hint=urgent --mark=first", Marks(12, urgent=2, barrier=2))):
            script = hintio(f"--api=aio32 --batch=8 --count=16 --stride=64k {options}")
            assert marks(debug, script, BATCH) == wanted


def test_discards_merge(guest: Guest) -> None:
    """Discards become ranges of one command, which is as urgent as any of them."""
    ahead = [read(kib, "unmarked") for kib in AHEAD]
    for first, second, wanted in ((0, WAIT, Marks(urgent=1)), (WAIT, 0, Marks(urgent=1)),
                                  (0, 0, Marks(1))):
        set_policy(guest, 0)
        before = counters(guest)
        hold = held.Hold(guest, "read_aio")
        for command in ahead:
            hold.start(command)
        for back, policy in ((2, first), (1, second)):
            set_policy(guest, policy)
            hold.start(DISCARD.format(held=HELD, back=back))
        hold.release()
        found = since(guest, before)
        assert found == Marks(wanted.unmarked + len(ahead), wanted.urgent, wanted.barrier)


def test_flush_of_several(guest: Guest) -> None:
    """Who waits for a flush that is under way shares the next one, which is as urgent as any."""
    fsync = f"hintio --op=write --count=0 --sync=fsync {HELD}"
    for order, wanted in (((0, 0, FSYNC), Marks(1, urgent=1)), ((0, FSYNC, 0), Marks(1, urgent=1)),
                          ((FSYNC, 0, 0), Marks(1, urgent=1)), ((0, 0, 0), Marks(2))):
        before = counters(guest)
        hold = held.Hold(guest, "flush_to_os")
        for policy in order:
            set_policy(guest, policy)
            hold.start(fsync)
        hold.release()
        found = since(guest, before)
        assert found == wanted, order
