# SPDX-License-Identifier: GPL-2.0-or-later
"""Polling for synchronous I/O: who completes what is counted by the device.

A queue that is made for polling has no interrupts, so the device's counters of commands, of
completions and of interrupts say which way each request went. Nothing is timed.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from conftest import log_root
from marks import hint_machine
from serving import Guest, serving

from cint import paths
from cint.guest import agent, vm

DEVICE = "/dev/nvme0n1"
QUEUE = "/sys/block/nvme0n1/queue"
STAT = "/sys/kernel/debug/block/nvme0n1/poll_stat"
POLL_CQ = 3  # two CPUs have one each
IOS = 100
#: So slow that a wake-up is nothing beside it, however busy the machine.
SLOW_MEDIUM = "custom:read-latency=5ms,write-latency=5ms,units=8"
JOB = """\
[job]
filename={filename}
direct=1
rw=randread
bs={bs}
ioengine=pvsync2
hipri={hipri}
number_ios={ios}
size=32M
{more}
"""
#: What io_poll_mode says, what is written to get it, and whether it ever sleeps.
MODES = {
    "classic": ("io_poll_delay", "-1", False),
    "fixed": ("io_poll_delay", "20", True),
    "half-mean": ("io_poll_delay", "0", True),
    "half-mean-size": ("io_poll_mode", "half-mean-size", True),
    "min": ("io_poll_mode", "min", True),
    "ehp": ("io_poll_mode", "ehp", True),
    "pas": ("io_poll_mode", "pas", True),
    "adaptive": ("io_poll_mode", "adaptive", True),
}
#: What io_poll_delay shows for a mode.
DELAYS = {"classic": "-1", "fixed": "20"}


@dataclass(frozen=True)
class Counted:
    """What the device counted, of the queue for polling and of all with interrupts."""

    polled: int
    others: int
    interrupts: int
    hints: int
    avoided: int

    def __sub__(self, other: Counted) -> Counted:
        return Counted(self.polled - other.polled, self.others - other.others,
                       self.interrupts - other.interrupts, self.hints - other.hints,
                       self.avoided - other.avoided)


def counted(guest: Guest) -> Counted:
    """The device's counters now."""
    queues = [q for q in guest.stats()["queues"] if q["cqid"]]
    return Counted(
        sum(q["cqes"] for q in queues if q["cqid"] == POLL_CQ),
        sum(q["cqes"] for q in queues if q["cqid"] != POLL_CQ),
        sum(q["irqs"] for q in queues),
        sum(q["cmds-urgent"] + q["cmds-barrier"] for q in queues),
        sum(q["avoided"] for q in queues))


def job(hipri: int = 1, ios: int = IOS, bs: str = "4k", more: str = "",
        filename: str = DEVICE) -> str:
    """The text of a job that waits for each of its reads."""
    return JOB.format(hipri=hipri, ios=ios, bs=bs, more=more, filename=filename)


def during(guest: Guest, text: str) -> Counted:
    """What the device counts while a job runs."""
    before = counted(guest)
    guest.fio("job", text)
    return counted(guest) - before


def poll_stat(guest: Guest, stat: str = STAT) -> dict[str, int]:
    """What the kernel counts of requests that were polled for."""
    return {name: int(value) for name, value in
            (line.split() for line in guest.shell(f"cat {stat}").splitlines())}


def fallback(guest: Guest) -> int:
    """How many requests of those with RWF_HIPRI were not polled for."""
    return int(guest.shell(f"cat {QUEUE}/io_poll_fallback"))


def settings(guest: Guest) -> tuple[str, str]:
    """How the queue is polled: mode and delay."""
    mode, delay = guest.shell(f"cat {QUEUE}/io_poll_mode {QUEUE}/io_poll_delay").split()
    return mode, delay


@pytest.fixture(scope="module")
def polled() -> Iterator[Guest]:
    """A guest with a queue for polling."""
    machine = hint_machine("nvme.poll_queues=1", media=SLOW_MEDIUM)
    with serving(machine, log_root() / "polling") as running:
        assert running.shell(f"cat {QUEUE}/io_poll") == "1\n"
        yield running


@pytest.fixture(scope="module")
def interrupted() -> Iterator[Guest]:
    """A guest without."""
    with serving(hint_machine(), log_root() / "polling-none") as running:
        assert running.shell(f"cat {QUEUE}/io_poll") == "0\n"
        yield running


def test_control(polled: Guest) -> None:
    """Without the flag each read has an interrupt, and nothing is polled for."""
    found = during(polled, job(hipri=0))
    assert (found.polled, found.others) == (0, IOS)
    assert found.interrupts == IOS
    assert found.hints == IOS


def grown_by(guest: Guest, text: str) -> dict[str, int]:
    """What the kernel's counts grow by while a job is polled for, which is all that happens."""
    before = poll_stat(guest), fallback(guest)
    found = during(guest, text)
    assert (found.polled, found.others) == (IOS, 0)
    assert (found.interrupts, found.hints) == (0, 0)
    grown = {key: count - before[0][key] for key, count in poll_stat(guest).items()}
    assert grown["polled"] == found.polled
    assert fallback(guest) == before[1]
    return grown


@pytest.mark.parametrize("mode", MODES)
def test_modes(polled: Guest, mode: str) -> None:
    """Each way to sleep: completions only where there are no interrupts, and no hints."""
    name, value, sleeps = MODES[mode]
    polled.shell(f"echo {value} > {QUEUE}/{name}")
    assert settings(polled) == (mode, DELAYS.get(mode, "0"))
    # more than one window of 100 ms, when a mean begins to count
    grown = grown_by(polled, job())
    for _ in range(20 if mode == "ehp" else 0):
        # It polls for the first read of each 10 ms: on a busy machine that may be every one.
        if grown["slept"] > IOS // 10:
            break
        grown = grown_by(polled, job())
    assert (grown["slept"] > IOS // 10) == sleeps
    assert (grown["sleep_ns"] > 0) == sleeps
    if mode == "fixed":
        assert (grown["slept"], grown["sleep_ns"]) == (IOS, IOS * 20_000)


def test_without_high_resolution(logs: Path) -> None:
    """Where timers last a tick at least nobody sleeps for less, in no mode."""
    with serving(hint_machine("nvme.poll_queues=1 highres=off"), logs) as guest:
        for mode, (name, value, _) in MODES.items():
            guest.shell(f"echo {value} > {QUEUE}/{name}")
            grown = grown_by(guest, job())
            assert (grown["polled"], grown["slept"]) == (IOS, 0), mode


@pytest.mark.parametrize(("name", "value"), [
    ("io_poll_delay", "-2"), ("io_poll_delay", "1000001"), ("io_poll_delay", "soon"),
    ("io_poll_mode", "half"), ("io_poll_strict", "maybe"), ("io_poll", "perhaps")])
def test_refused(polled: Guest, name: str, value: str) -> None:
    """What is no value changes nothing."""
    before = polled.shell(f"grep . {QUEUE}/io_poll*")
    assert polled.try_shell(f"echo {value} > {QUEUE}/{name}")["exit"] != 0
    assert polled.shell(f"grep . {QUEUE}/io_poll*") == before


def test_off_and_on(polled: Guest) -> None:
    """io_poll=0 gives synchronous I/O interrupts; a ring that polls has none, and goes on."""
    polled.shell(f"echo 0 > {QUEUE}/io_poll")
    before = fallback(polled)
    found = during(polled, job())
    assert (found.polled, found.others, found.interrupts) == (0, IOS, IOS)
    assert fallback(polled) - before == IOS
    assert polled.shell(f"cat {QUEUE}/io_poll") == "0\n"
    polled.shell(f"hintio --api=uring --iopoll {DEVICE}")
    polled.shell(f"echo 1 > {QUEUE}/io_poll")
    assert during(polled, job()).polled == IOS
    polled.shell(f"hintio --api=uring --iopoll {DEVICE}")


def test_split(polled: Guest) -> None:
    """What is larger than the device takes is split, and completes by interrupt."""
    polled.shell(f"echo 64 > {QUEUE}/max_sectors_kb")
    before = fallback(polled)
    found = during(polled, job(bs="256k", ios=20))
    polled.shell(f"cat {QUEUE}/max_hw_sectors_kb > {QUEUE}/max_sectors_kb")
    assert (found.polled, found.others) == (0, 80)
    assert fallback(polled) - before == 20


def test_several_bios(polled: Guest) -> None:
    """Nor is what does not fit into one bio polled for."""
    before = fallback(polled)
    found = during(polled, job(bs="2m", ios=4))
    assert found.polled == 0
    assert found.interrupts == found.others
    assert fallback(polled) - before == 4


def idle_ms(guest: Guest, setting: str, text: str) -> int:
    """How long the CPU that reads was idle meanwhile."""
    stat = "awk '/^cpu1 /{print 10 * ($5 + $6)}' /proc/stat"  # by USER_HZ: 100
    guest.shell(f"echo {setting}")
    before = int(guest.shell(stat))
    guest.fio("idle", text)
    return int(guest.shell(stat)) - before


def test_idle(polled: Guest) -> None:
    """Who polls all the time leaves nothing of the CPU; who sleeps first, as long as he sleeps."""
    ios, sleep_us = 300, 4000
    of_cpu = "cpus_allowed=1"
    off = idle_ms(polled, "", job(hipri=0, ios=ios, more=of_cpu))
    classic = idle_ms(polled, f"-1 > {QUEUE}/io_poll_delay", job(ios=ios, more=of_cpu))
    fixed = idle_ms(polled, f"{sleep_us} > {QUEUE}/io_poll_delay", job(ios=ios, more=of_cpu))
    polled.shell(f"echo -1 > {QUEUE}/io_poll_delay")
    assert classic < off / 2
    assert fixed - classic > ios * sleep_us // 1000 / 2


def test_hint_without_queues(interrupted: Guest) -> None:
    """Without queues for it the flag is a hint: interrupts, counted, and told once."""
    found = during(interrupted, job())
    assert (found.polled, found.others, found.interrupts) == (0, IOS, IOS)
    assert found.hints == IOS, "somebody waits, as without the flag"
    assert fallback(interrupted) == IOS
    during(interrupted, job(ios=10))
    assert interrupted.shell("dmesg | grep -c 'RWF_HIPRI is a hint'") == "1\n"
    for name in ("io_poll", "io_poll_mode"):
        assert interrupted.shell(f"[ -e {QUEUE}/{name} ] && echo yes") == "yes\n"
    assert interrupted.try_shell(f"echo 1 > {QUEUE}/io_poll")["exit"] != 0


def test_strict(interrupted: Guest) -> None:
    """Who wants to be told that nothing is polled gets an error."""
    interrupted.shell(f"echo 1 > {QUEUE}/io_poll_strict")
    before = counted(interrupted)
    reply = interrupted.command(cmd="fio", name="job", fio=job(ios=10), args=["--eta=never"])
    assert agent.result_failure(reply) is not None
    assert "not supported" in str(reply)
    assert counted(interrupted) == before
    interrupted.shell(f"echo 0 > {QUEUE}/io_poll_strict")
    assert during(interrupted, job(ios=10)).interrupts == 10


def test_rings_keep_their_error(interrupted: Guest) -> None:
    """A ring that polls has asked for more than a hint."""
    reply = interrupted.try_shell(f"hintio --api=uring --iopoll {DEVICE}")
    assert reply["exit"] != 0
    assert "not supported" in reply["stderr"]


def test_queues_that_come_too_late() -> None:
    """Queues for polling that are asked for once the driver is there take nobody's interrupts.

    A request without one would end when it times out, which the kernel says.
    """
    with serving(hint_machine("nvme_core.io_timeout=1"), log_root() / "polling-late") as running:
        running.shell(f"echo 1 > /sys/module/nvme/parameters/poll_queues; {RESET};"
                      "until grep -q live /sys/class/nvme/nvme0/state; do sleep 0.01; done")
        for cpu in (0, 1):
            found = during(running, job(hipri=0, ios=4, more=f"cpus_allowed={cpu}"))
            assert (found.others, found.interrupts) == (4, 4), cpu
        assert "2/0/0 default" in running.shell("dmesg | grep default/read/poll | tail -n 1")


# ---- queues with interrupts --------------------------------------------------------------------

#: An unmarked completion may wait; the device must not send its interrupt as the queue is empty.
WAITS = {"cint.policy": "cint", "cint.drain": "off", "cint.delta": 100_000_000, "cint.thr": 64}
MANY, PARTS = 300_000, 6


def irq_machine(*append: str) -> vm.Machine:
    """A guest that polls the queues that have interrupts."""
    return hint_machine("nvme.poll_irq_queues=1", *append)


def check_irq_queues(guest: Guest, ios: int) -> None:
    """Reads that are polled for there: unmarked, and their interrupts are not sent."""
    assert guest.shell(f"cat {QUEUE}/io_poll") == "1\n"
    for name, value in WAITS.items():
        guest.vm.qmp.set(name, value)
    before = poll_stat(guest)
    found = during(guest, job(ios=ios))
    assert found.others == ios
    assert found.hints == 0
    assert found.interrupts < ios // 2
    assert found.avoided > ios // 2
    assert poll_stat(guest)["polled"] - before["polled"] == ios
    assert fallback(guest) == 0


def test_irq_queues(request: pytest.FixtureRequest) -> None:
    """Also where each completion has its interrupt, which finds its completion taken."""
    with serving(irq_machine(), log_root() / request.node.name) as guest:
        found = during(guest, job(ios=2000))
        assert (found.others, found.hints) == (2000, 0)
        check_irq_queues(guest, 2000)
        guest.vm.qmp.set("cint.policy", "default")
        found = during(guest, job(hipri=0))
        assert (found.interrupts, found.hints) == (IOS, IOS)
        guest.fio("both", job(ios=2000, more="numjobs=2") + "[other]\nioengine=libaio\n"
                  "iodepth=8\nfilename=/dev/nvme0n1\ndirect=1\nrw=randread\nbs=4k\n"
                  "number_ios=4000\nsize=32M\n")
        assert guest.try_shell(f"hintio --api=uring --iopoll {DEVICE}")["exit"] != 0


def test_irq_queues_compared(logs: Path) -> None:
    """`cint compare` says how many interrupts polling made needless."""
    argv = [str(paths.ROOT / "cint"), "compare", "--policy", "default,cint", "--workload", "sync",
            "--polling", "off,irq-queue", "--runtime", "10ms", "--no-plots", "--no-previous",
            "--out", str(logs), "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    devices = {one["policy"]: one["device"] for one in json.loads(done.stdout)["samples"]}
    assert set(devices) == {"default", "cint", "default/irq-queue", "cint/irq-queue"}
    assert {devices[name]["avoided"] for name in ("default", "cint")} == {0}
    coalesced, at_once = devices["cint/irq-queue"], devices["default/irq-queue"]
    assert coalesced["avoided"] > 0.9 * coalesced["cqes"]
    assert coalesced["interrupts"] < 0.1 * at_once["interrupts"]


@pytest.mark.slow
def test_irq_queues_for_long(request: pytest.FixtureRequest) -> None:
    """So many interrupts that find nothing would disable their vector."""
    with serving(irq_machine(), log_root() / request.node.name) as guest:
        before = counted(guest)
        for _ in range(PARTS):
            guest.fio("long", job(ios=MANY // PARTS, more=f"io_size={MANY * 4096}"))
        found = counted(guest) - before
        assert found.others == MANY
        assert found.interrupts > MANY * 2 // 3
        check_irq_queues(guest, 2000)


# ---- what may happen meanwhile -----------------------------------------------------------------

#: Reads that are polled for, until a file is there; each must succeed.
POLLING = f"""\
cat > /tmp/poll.fio <<END
[global]
filename={DEVICE}
direct=1
ioengine=pvsync2
hipri=1
size=4M
[verified]
rw=randwrite
bs=4k
verify=crc32c
verify_fatal=1
[mixed]
rw=randread
bsrange=4k-128k
offset=32M
[same-cpu]
rw=randread
bs=4k
offset=64M
cpus_allowed=0
END
rm -f /tmp/stop /tmp/poll.failed /tmp/poll.runs
(while [ ! -e /tmp/stop ]; do
    fio --eta=never /tmp/poll.fio > /tmp/poll.out 2>&1 ||
        {{ cat /tmp/poll.out > /tmp/poll.failed; break; }}
    echo done >> /tmp/poll.runs
done; touch /tmp/poll.ended) &
"""
ENDED = """\
touch /tmp/stop
while [ ! -e /tmp/poll.ended ]; do sleep 0.1; done
rm /tmp/poll.ended
[ ! -e /tmp/poll.failed ] || { cat /tmp/poll.failed; exit 1; }
[ -s /tmp/poll.runs ]
"""
RESET = "echo 1 > /sys/class/nvme/nvme0/reset_controller"
#: What happens to the driver and the block layer while there are requests.
EVENTS = {
    "reset": f"for i in 1 2 3 4; do {RESET}; sleep 0.3; done",
    "cpu": "for i in 1 2 3 4; do echo 0 > /sys/devices/system/cpu/cpu1/online; sleep 0.2;"
           "echo 1 > /sys/devices/system/cpu/cpu1/online; sleep 0.2; done",
    "freeze": f"for i in $(seq 40); do echo $((i % 2)) > {QUEUE}/io_poll;"
              f"echo $((512 + i)) > {QUEUE}/nr_requests 2>/dev/null;"
              f"echo $((128 - i % 2 * 64)) > {QUEUE}/max_sectors_kb; done;"
              f"echo 1 > {QUEUE}/io_poll; cat {QUEUE}/max_hw_sectors_kb > {QUEUE}/max_sectors_kb",
    "modes": "for i in $(seq 10); do for mode in classic half-mean half-mean-size min ehp pas"
             " adaptive;"
             f"do echo $mode > {QUEUE}/io_poll_mode; echo 30 > {QUEUE}/io_poll_delay; done; done",
    "signals": "for i in $(seq 50); do for pid in $(pidof fio); do kill -STOP $pid;"
               "kill -CONT $pid; done; done; true",
    "scheduler": f"for i in 1 2 3; do for s in kyber none; do echo $s > {QUEUE}/scheduler;"
                 "sleep 0.1; done; done",
    "queues-go": "echo 0 > /sys/module/nvme/parameters/poll_queues;"
                 f"{RESET}; sleep 1; echo 1 > /sys/module/nvme/parameters/poll_queues;"
                 f"{RESET}; sleep 1",
}


def survive(guest: Guest, polls: bool = True) -> None:
    """All events, with each way to sleep; no request is lost, and data is right."""
    for mode in ("classic", "fixed", "adaptive"):
        name, value, _ = MODES[mode]
        for event, script in EVENTS.items():
            if not polls and event == "queues-go":
                continue
            guest.shell(f"echo {value} > {QUEUE}/{name}; {POLLING}")
            guest.shell(f"sleep 0.5; {script}")
            guest.shell(ENDED)
            assert guest.shell(f"cat {QUEUE}/io_poll") == "1\n", event
    before = poll_stat(guest)["polled"]
    guest.fio("after", job())
    assert poll_stat(guest)["polled"] - before == IOS


@pytest.mark.parametrize("how", ["poll_queues", "poll_irq_queues"])
def test_survival(request: pytest.FixtureRequest, disk: vm.Backend, how: str) -> None:
    machine = replace(hint_machine(f"nvme.{how}=1"), backend=disk)
    with serving(machine, log_root() / request.node.name) as guest:
        survive(guest, how == "poll_queues")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["poll_queues", "poll_irq_queues"])
def test_kernel_finds_nothing(request: pytest.FixtureRequest, debug_kernel: Path,
                              disk: vm.Backend, how: str) -> None:
    """The same under lockdep and KASAN, which also know who sleeps where he may not."""
    machine = replace(hint_machine(f"nvme.{how}=1", kernel=debug_kernel), backend=disk)
    with serving(machine, log_root() / request.node.name, 3 * vm.BOOT_LIMIT_S) as guest:
        guest.shell("[ -e /proc/lockdep ] && zcat /proc/config.gz | grep -q ^CONFIG_KASAN=y")
        survive(guest, how == "poll_queues")
        guest.shell("grep -q 'debug_locks: *1' /proc/lockdep_stats")
