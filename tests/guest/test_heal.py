# SPDX-License-Identifier: GPL-2.0-or-later
"""The driver survives a status record that is not kept as it should be.

Anybody who may send admin commands can take the records away from the driver. It is to notice,
go back to completing in order at once, say so once, and be able to start again. No I/O may wait
for a time-out meanwhile, and the data must be right.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from overtaking import COUNTERS, ON_ONE_CPU, SYSFS, mix, parse_counters, shaken_machine
from serving import Guest, serving, unexpected
from test_recovery import FAILED

from cint.guest import vm

#: Memory that the kernel leaves alone: the device will write into it.
ELSEWHERE = 0x1000000
RESERVED = f"memmap=4K${ELSEWHERE:#x}"
#: More than any guest here has.
NOWHERE = 1 << 40
FALLBACK = "interrupt status records cannot be relied on, completing in order"
#: What somebody else sets the feature to: address and count.
FOREIGN = {"off": (0, 0), "elsewhere": (ELSEWHERE, 3), "one-record": (ELSEWHERE, 1),
           "no-memory": (NOWHERE, 3)}
LOAD = mix(numjobs=2).replace("=1M", "=2M")
#: Set while the load runs; then the load may end, or it hangs and the test with it.
MEDDLE = """\
fio --eta=never /tmp/mix.fio > /tmp/mix.out 2>&1 & load=$!
sleep 0.3
nvme set-feature /dev/nvme0 -f 0xd1 -l 16 -d /tmp/feature > /tmp/set.out || exit 3
wait $load || { cat /tmp/mix.out; exit 1; }
"""
#: Interrupts in a row that a record does not explain, before it is given up.
MAX_DOUBTS = 8
#: Each waits for its own interrupt; all on one CPU, and so on one queue.
LONE_READS = "taskset 1 hintio --api=preadv2 --hint=unmarked --count={} /dev/nvme0n1 >/dev/null"
#: No interrupt comes for unmarked entries for as long as the device can wait.
NO_INTERRUPT = {"cint.delta": 1_000_000_000, "cint.max-hold": 10_000_000_000, "cint.thr": 65535}
#: A read on the second CPU waits for its interrupt, and the first CPU's queue gets interrupts that
#: its record does not explain, each beside an entry that is held. Prints the interrupts of the
#: second CPU's queue until the read is done.
GIVE_UP_BESIDE = """\
irqs() { awk '/nvme0q2/ { print $2 + $3 }' /proc/interrupts; }
before=$(irqs)
taskset 2 hintio --api=preadv2 --hint=unmarked /dev/nvme0n1 > /dev/null & read=$!
sleep 0.1
taskset 1 hintio --api=aio --batch=2 --count=32 --stride=64k --hint=urgent --mark=last \
    /dev/nvme0n1 > /dev/null
wait $read
echo $(($(irqs) - before))
"""
#: The device waits for a second; a busy host may need longer for the whole.
GIVE_UP_TRIES = 10
#: Looks at the running load before its records freeze.
FREEZE_AFTER = 100
#: The driver's own ways to set the records again, under the same load.
AGAIN = {"attribute": f"echo 1 > {SYSFS}/ooo_urgent", "reset": "nvme reset /dev/nvme0",
         "off-and-on": f"echo 0 > {SYSFS}/ooo_urgent; echo 1 > {SYSFS}/ooo_urgent"}


def meddled_machine(disk: vm.Backend, *append: str) -> vm.Machine:
    """Two CPUs in real time, and memory for the records of somebody else."""
    machine = shaken_machine(disk)
    return replace(machine, append=(*machine.append, RESERVED, *append))


@pytest.fixture
def meddled(disk: vm.Backend, logs: Path) -> Iterator[Guest]:
    """A guest with the load in a file."""
    with serving(meddled_machine(disk), logs) as guest:
        guest.write_file("/tmp/mix.fio", LOAD.encode())
        yield guest


def fallbacks(guest: Guest) -> int:
    """How often the driver has given up its records."""
    return int(guest.shell(f"cat {SYSFS}/ooo_fallbacks"))


def is_on(guest: Guest) -> bool:
    """Whether the driver completes out of order."""
    return guest.shell(f"cat {SYSFS}/ooo_urgent") == "1\n"


def set_feature(guest: Guest, address: int, count: int) -> None:
    """Somebody else sets feature D1h while there is I/O, which must come to its end."""
    guest.write_file("/tmp/feature", struct.pack("<QII", address, count, 0))
    guest.shell(MEDDLE)


def check_out_of_order(guest: Guest) -> None:
    """Urgent completions overtake others again, and nothing is amiss."""
    before = parse_counters(guest.shell(f"cat {COUNTERS}"))["reaped_ooo"]
    guest.fio("again", ON_ONE_CPU)
    counted = parse_counters(guest.shell(f"cat {COUNTERS}"))
    assert counted["reaped_ooo"] > before
    assert counted["held"] == 0


def check_fallback(guest: Guest, times: int) -> None:
    """It has happened so often, was said as often, and no command timed out; forget it."""
    assert fallbacks(guest) == times
    messages = guest.shell("dmesg -c")
    assert messages.count(FALLBACK) == 1
    assert "polled" not in messages
    assert "timeout" not in messages


@pytest.mark.parametrize("kind", FOREIGN)
def test_foreign_record(meddled: Guest, kind: str) -> None:
    """Feature D1h is set behind the driver's back, again and again."""
    meddled.shell("dmesg -c > /tmp/boot.dmesg")
    for times, again in enumerate(AGAIN.values(), start=1):
        assert is_on(meddled)
        set_feature(meddled, *FOREIGN[kind])
        assert not is_on(meddled)
        check_fallback(meddled, times)
        if kind == "no-memory":
            # the device says that it has failed, and only a reset makes it forget
            meddled.shell("nvme reset /dev/nvme0")
        meddled.shell(again)
        assert is_on(meddled)
        check_out_of_order(meddled)
        assert fallbacks(meddled) == times


def test_frozen_record(meddled: Guest) -> None:
    """The device goes on as before, but writes no record any more."""
    meddled.shell("dmesg -c > /tmp/boot.dmesg")
    polls = iter(range(1_000_000))

    def freeze() -> None:
        if next(polls) == FREEZE_AFTER:
            meddled.vm.qmp.set("x-cint-freeze-records", True)

    meddled.fio_meanwhile("frozen", LOAD, freeze)
    assert next(polls) > FREEZE_AFTER
    meddled.fio("frozen-for-sure", LOAD)
    assert not is_on(meddled)
    check_fallback(meddled, 1)

    # it is as it was: found out again, and then well
    meddled.shell(AGAIN["attribute"])
    meddled.fio("still-frozen", LOAD)
    assert not is_on(meddled)
    check_fallback(meddled, 2)
    meddled.vm.qmp.set("x-cint-freeze-records", False)
    meddled.shell(AGAIN["off-and-on"])
    check_out_of_order(meddled)
    assert fallbacks(meddled) == 2


def test_doubt_releases_at_once(meddled: Guest) -> None:
    """Nothing stays in the queue while the driver is still in doubt, and it is not for long."""
    meddled.shell("dmesg -c > /tmp/boot.dmesg")
    meddled.vm.qmp.set("x-cint-freeze-records", True)
    meddled.shell(LONE_READS.format(MAX_DOUBTS - 1))
    assert fallbacks(meddled) == 0
    meddled.shell(LONE_READS.format(1))
    assert fallbacks(meddled) == 1
    meddled.shell("until dmesg | grep -q 'completing in order'; do sleep 0.01; done")
    check_fallback(meddled, 1)


def test_giving_up_polls_other_queues(meddled: Guest) -> None:
    """What waits in another queue is taken when the record is given up, not at its interrupt."""
    for name, value in NO_INTERRUPT.items():
        meddled.vm.qmp.set(name, value)
    for times in range(1, GIVE_UP_TRIES + 1):
        meddled.vm.qmp.set("x-cint-freeze-records", True)
        interrupts = int(meddled.shell(GIVE_UP_BESIDE))
        assert fallbacks(meddled) == times
        meddled.shell("until dmesg -c | grep -q 'completing in order'; do sleep 0.01; done")
        if not interrupts:
            return
        meddled.vm.qmp.set("x-cint-freeze-records", False)
        meddled.shell(AGAIN["attribute"])
    pytest.fail(f"the read waited for its interrupt {GIVE_UP_TRIES} times")


#: What else may happen to a driver while it gives its records up.
BESIDE = {
    "reset": f"echo 1 > {SYSFS}/reset_controller",
    "switched-off": f"echo 0 > {SYSFS}/ooo_urgent",
    "removed": """\
dev=$(basename $(readlink -f /sys/class/nvme/nvme0/device))
echo 1 > /sys/bus/pci/devices/$dev/remove
echo 1 > /sys/bus/pci/rescan
until [ -b /dev/nvme0n1 ]; do sleep 0.01; done
""",
}
#: Reads that are held, overtaken and lost sight of; a removal makes them fail.
GIVE_UP_AND = """\
for cpu in 1 2; do
    taskset $cpu hintio --api=aio --batch=8 --count=160 --stride=64k --hint=urgent \
        --mark=last /dev/nvme0n1 > /dev/null 2>&1 &
done
sleep {after}
{beside}
wait
echo 1 > {sysfs}/ooo_urgent
"""
#: When it happens, in seconds after the reads begin.
BESIDE_AFTER = [0.01 * n for n in range(8)]


@pytest.mark.slow
@pytest.mark.parametrize("beside", BESIDE)
def test_giving_up_beside(debug_kernel: Path, disk: vm.Backend, logs: Path, beside: str) -> None:
    """It gives its records up while it is reset, switched off or removed, under KASAN.

    No interrupt is late. The driver clears the records with each reset: one of before, which the
    device does not clear either, would look as if it was written.
    """
    machine = replace(meddled_machine(disk, "nvme_core.io_timeout=2"), kernel=debug_kernel)
    with serving(machine, logs, 3 * vm.BOOT_LIMIT_S) as guest:
        guest.vm.qmp.set("x-cint-freeze-records", True)
        for after in BESIDE_AFTER:
            guest.shell(GIVE_UP_AND.format(after=after, beside=BESIDE[beside], sysfs=SYSFS))
        guest.vm.qmp.set("x-cint-freeze-records", False)
        messages = guest.shell("dmesg -c")
        assert messages.count(FALLBACK) > 1
        assert unexpected(messages, (FALLBACK, FAILED)) == []
        guest.shell(AGAIN["reset"])
        check_out_of_order(guest)
        guest.shell("grep -q 'debug_locks: *1' /proc/lockdep_stats")


def test_refused_record(meddled: Guest) -> None:
    """A feature that the device refuses changes nothing."""
    meddled.write_file("/tmp/feature", struct.pack("<QII", ELSEWHERE, 0, 0))
    reply = meddled.try_shell("nvme set-feature /dev/nvme0 -f 0xd1 -l 16 -d /tmp/feature")
    assert reply["exit"] != 0
    check_out_of_order(meddled)
    assert is_on(meddled)
    assert fallbacks(meddled) == 0


def test_reset_behind_its_back(meddled: Guest) -> None:
    """A reset by somebody else is a reset: nothing is lost, nothing is given up."""
    meddled.shell(MEDDLE.replace("nvme set-feature /dev/nvme0 -f 0xd1 -l 16 -d /tmp/feature",
                                 "nvme reset /dev/nvme0"))
    assert is_on(meddled)
    check_out_of_order(meddled)
    assert fallbacks(meddled) == 0


def test_handler_in_a_thread(disk: vm.Backend, logs: Path) -> None:
    """With `threadirqs` too, entries are held, overtaken and released, and no record doubted."""
    with serving(meddled_machine(disk, "threadirqs"), logs) as guest:
        assert guest.shell("ps | grep -c '[i]rq/.*nvme0q1'").strip() != "0"
        for _ in range(3):
            check_out_of_order(guest)
        assert is_on(guest)
        assert fallbacks(guest) == 0
        guest.write_file("/tmp/mix.fio", LOAD.encode())
        guest.shell("dmesg -c > /tmp/boot.dmesg")
        set_feature(guest, *FOREIGN["off"])
        check_fallback(guest, 1)
