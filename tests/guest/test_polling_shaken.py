# SPDX-License-Identifier: GPL-2.0-or-later
"""Who polls is disturbed: by signals, time-outs, others on the queue, and queues that go.

Real time, two CPUs. Whether somebody sleeps is known from the device: his read is complete there,
and he has not ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import held
import pytest
from conftest import log_root
from marks import hint_machine, make_disk, names
from serving import Guest, serving
from switching import commands
from test_hint_paths import ACROSS, MAPPED, MIB
from test_polling import (
    DEVICE,
    ENDED,
    EVENTS,
    IOS,
    POLLING,
    QUEUE,
    SLOW_MEDIUM,
    counted,
    during,
    fallback,
    job,
    poll_stat,
)
from test_recovery import ABORTED, POLLED

from cint.guest import vm

SECOND = "/tmp/ns2"
PARAMETER = "/sys/module/nvme/parameters/poll_queues"
#: The longest that there is, in us.
LONG_SLEEP = 1_000_000
TRIES = 10


def delay(guest: Guest, us: int) -> None:
    """How long the first namespace's readers sleep; -1: not at all."""
    guest.shell(f"echo {us} > {QUEUE}/io_poll_delay")


def start(guest: Guest, options: str = DEVICE) -> None:
    """A read in the background."""
    guest.start("read", f"hintio --hipri {options}")


def while_asleep(guest: Guest, what: str) -> int:
    """Do something while a read's reader sleeps on; its exit code.

    Its completion is in the queue, and nobody but himself looks for it.
    """
    delay(guest, LONG_SLEEP)
    before = counted(guest).polled
    start(guest)
    while counted(guest).polled == before:
        pass
    assert counted(guest).polled == before + 1
    guest.shell(what)
    code, _ = guest.end("read")
    delay(guest, -1)
    return code


def until(guest: Guest, what: Callable[[], bool]) -> None:
    """Again and again: a busy machine may let the sleep end before anything happens."""
    for _ in range(TRIES):
        if what():
            return
    raise AssertionError(f"not once in {TRIES} times")


def sysfs(guest: Guest, device: str) -> str:
    """The queue directory of a device that may be called by a link."""
    name = guest.shell(f"basename $(readlink -f {device})").strip()
    return f"/sys/block/{name}/queue"


@pytest.fixture(scope="module")
def guest() -> Iterator[Guest]:
    """A slow medium, a queue for polling, and a namespace that can be stopped."""
    machine = hint_machine("nvme.poll_queues=1", extra=held.namespace(2), media=SLOW_MEDIUM)
    with serving(machine, log_root() / "polling-shaken", allowed=(ABORTED, POLLED)) as running:
        running.shell(names(2))
        yield running


@pytest.mark.parametrize(("signal", "code"), [("TERM", 143), ("KILL", 137)])
def test_signals_while_asleep(guest: Guest, signal: str, code: int) -> None:
    """A signal ends the program, and not the sleep: its buffer is the device's until then."""
    def once() -> bool:
        before = poll_stat(guest)
        found = while_asleep(guest, f"kill -{signal} $(pidof hintio) || true")
        grown = {name: count - before[name] for name, count in poll_stat(guest).items()}
        assert (grown["polled"], grown["slept"], grown["early"], grown["cut"]) == (1, 1, 1, 0)
        assert found in (0, code)
        return found == code

    until(guest, once)


def test_stopped_while_asleep(guest: Guest) -> None:
    """Nor does one that stops it."""
    before = poll_stat(guest)["cut"]
    stop = "for i in 1 2 3 4 5; do kill -STOP $(pidof hintio); kill -CONT $(pidof hintio); done; :"
    assert while_asleep(guest, stop) == 0
    assert poll_stat(guest)["cut"] == before


def test_time_out_while_asleep(guest: Guest) -> None:
    """The handling of a time-out finds what the reader has not looked for, and wakes him.

    The first read's timer, which comes later than it should, looks at the second one.
    """
    guest.shell(f"echo 50 > {QUEUE}/io_timeout")
    delay(guest, LONG_SLEEP)

    def once() -> bool:
        before = poll_stat(guest)["cut"]
        start(guest, f"--count=3 {DEVICE}")
        assert guest.end("read")[0] == 0
        return poll_stat(guest)["cut"] > before

    until(guest, once)
    delay(guest, -1)
    guest.shell(f"echo 30000 > {QUEUE}/io_timeout; dmesg | grep -q '{POLLED}'")
    assert during(guest, job()).polled == IOS


@pytest.mark.parametrize("us", [-1, 1000])
def test_time_out_of_what_is_polled(guest: Guest, us: int) -> None:
    """A command that the backend holds back is aborted; who polls for it goes on until it is."""
    queue = sysfs(guest, SECOND)
    guest.shell(f"echo 500 > {queue}/io_timeout; echo {us} > {queue}/io_poll_delay;"
                "dmesg -c > /dev/null")
    hold = held.Hold(guest, "read_aio")
    start(guest, SECOND)
    guest.shell("until dmesg | grep -q 'timeout, aborting'; do sleep 0.05; done")
    assert not guest.has_ended("read")
    guest.shell(":> /tmp/held.errors; :> /tmp/held.pids")
    hold.release()
    assert guest.end("read")[0] == 0
    guest.shell(f"echo 30000 > {queue}/io_timeout; hintio --hipri --count=10 {SECOND}")


def test_ring_and_sync_on_one_queue(guest: Guest) -> None:
    """Each completes the other's, whatever is written to io_poll_delay meanwhile."""
    both = (job(more="numjobs=2\n") + "[ring]\nioengine=io_uring\nhipri=1\niodepth=8\nbs=4k\n"
            f"filename={DEVICE}\ndirect=1\nrw=randread\nnumber_ios={4 * IOS}\nsize=32M\n")
    guest.write_file("/tmp/both.fio", both.encode())
    before = counted(guest)
    guest.start("both", "fio --eta=never /tmp/both.fio")
    for us in (100, 0, -1, 200_000, 0, 1, -1):
        delay(guest, us)
        guest.shell(f"echo adaptive > {QUEUE}/io_poll_mode; sleep 0.05")
    status, said = guest.end("both")
    assert status == 0, said
    found = counted(guest) - before
    assert (found.polled, found.others, found.interrupts) == (6 * IOS, 0, 0)


def reset(guest: Guest, controller: int, queues: int) -> None:
    """A controller comes back with so many queues for polling."""
    guest.shell(f"echo {queues} > {PARAMETER}; cd /sys/class/nvme/nvme{controller};"
                "echo 1 > reset_controller; until grep -q live state; do sleep 0.01; done")


def test_queue_goes_while_asleep(guest: Guest) -> None:
    """The reset completes what the sleeper has not looked for; there is no queue then."""
    gone = f"echo 0 > {PARAMETER}; echo 1 > /sys/class/nvme/nvme0/reset_controller"
    assert while_asleep(guest, gone) == 0
    guest.shell("until grep -q live /sys/class/nvme/nvme0/state; do sleep 0.01; done;"
                f"until [ $(cat {QUEUE}/io_poll) = 0 ]; do sleep 0.01; done")
    lost = fallback(guest)
    assert during(guest, job(ios=10)).polled == 0
    assert fallback(guest) == lost + 10
    reset(guest, 0, 1)
    assert during(guest, job(ios=10)).polled == 10


def test_queue_goes_while_in_flight(guest: Guest) -> None:
    """What the device has not completed is sent again, with or without a queue for polling."""
    for i in range(4):
        start(guest, f"--count=40 {DEVICE}")
        reset(guest, 0, i % 2)
        status, said = guest.end("read")
        assert status == 0, said
    assert guest.shell(f"cat {QUEUE}/io_poll") == "1\n"


READS = {"sync": "--hipri", "ring": "--api=uring --iopoll"}


@pytest.mark.parametrize("how", READS)
def test_queue_goes_with_a_read(how: str) -> None:
    """A read that the device has when its queue is to go ends before; the reset waits for it."""
    machine = hint_machine("nvme.poll_queues=1", media="custom:read-latency=1s,write-latency=1ms")
    with serving(machine, log_root() / f"polling-goes-{how}") as running:
        before = commands(running)
        running.start("read", f"hintio {READS[how]} {DEVICE}")
        while commands(running) == before:
            pass
        reset(running, 0, 0)
        status, said = running.end("read")
        assert status == 0, said
        assert running.shell(f"cat {QUEUE}/io_poll") == "0\n"


# ---- two controllers ---------------------------------------------------------------------------

BOTH = ("/dev/nvme0n1", "/dev/nvme1n1")
#: A mapping whose halves are on two controllers, and where they meet.
JOINED = tuple(f"{i * 32 * MIB} {32 * MIB} linear {device} 0" for i, device in enumerate(BOTH))
FIRST, LAST = "size=32M", "offset=32M\nsize=32M"


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """Two controllers with two queues for polling each, and a mapping over both."""
    root = tmp_path_factory.mktemp("joined")
    images = [make_disk(root / name, size=256 << 20) for name in ("first.img", "second.img")]
    machine = hint_machine("nvme.poll_queues=2", f"dm_mod.waitfor={','.join(BOTH)}",
                           f'"dm-mod.create=mapped,,,rw,{",".join(JOINED)}"')
    props = ",".join(f"{name}={value}" for name, value in machine.properties)
    machine = replace(machine, backend=vm.Backend(images[0]), extra=(
        "-blockdev", f"driver=file,node-name=second,filename={images[1]}",
        "-device", f"nvme,id=nvme1,serial=second,drive=second,{props}"))
    with serving(machine, log_root() / "polling-joined") as running:
        yield running


def interrupts(guest: Guest, controller: int) -> int:
    """Of a controller's I/O queues, as the kernel counts them."""
    count = f"/nvme{controller}q[1-9]/ {{ n += $2 + $3 }} END {{ print n + 0 }}"
    return int(guest.shell(f"awk '{count}' /proc/interrupts"))


def mapped(guest: Guest, where: str) -> tuple[int, int]:
    """Interrupts of each controller while reads of a part of the mapping are polled for."""
    before = [interrupts(guest, i) for i in (0, 1)]
    guest.fio("mapped", job(filename=MAPPED, more=where).replace("size=32M\n", "", 1))
    first, second = (interrupts(guest, i) - before[i] for i in (0, 1))
    return first, second


def test_one_of_two_without_queues(joined: Guest) -> None:
    """A mapping over both goes on; what is on the one without has interrupts."""
    assert (mapped(joined, FIRST), mapped(joined, LAST)) == ((0, 0), (0, 0))
    reset(joined, 1, 0)
    assert joined.shell("cat /sys/block/nvme[01]n1/queue/io_poll").split() == ["1", "0"]
    assert mapped(joined, FIRST) == (0, 0)
    assert mapped(joined, LAST) == (0, IOS)
    joined.shell(f"hintio --hipri --repeat=10 --size=16k --offset={ACROSS} {MAPPED}")
    reply = joined.try_shell(f"hintio --api=uring --iopoll --offset=40m {MAPPED}")
    assert "not supported" in reply["stderr"]
    reset(joined, 1, 2)
    assert (mapped(joined, FIRST), mapped(joined, LAST)) == ((0, 0), (0, 0))


@pytest.mark.slow
def test_cpu_goes_with_its_queue(joined: Guest) -> None:
    """Each CPU has a queue for polling; the reads of the one that goes are polled for elsewhere."""
    for value in (-1, 1000):
        joined.shell(f"echo {value} > {QUEUE}/io_poll_delay; {POLLING}")
        joined.shell(f"sleep 0.3; {EVENTS['cpu']}")
        joined.shell(ENDED)
    delay(joined, -1)
    before = poll_stat(joined)["polled"]
    joined.fio("after", job(more="cpus_allowed=1"))
    assert poll_stat(joined)["polled"] - before == IOS
