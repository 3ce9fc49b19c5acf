# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes wrong while the driver leaves completions in the queue: time-outs, aborts, errors.

The other I/O goes on and its data carries checksums. The kernel may say what the test provoked, and
nothing else.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import held
import pytest
from conftest import log_root, note_races
from marks import BDEV, names
from overtaking import (
    COUNTERS,
    MIB,
    ON_EACH_CPU,
    SYNC_ONLY,
    check_ios,
    mix,
    parse_counters,
    shaken_machine,
    waiting_machine,
)
from serving import Guest, serving, unexpected

from cint.guest import agent, session, vm

#: Nothing but Urgent interrupts for longer than the driver waits: the others' time starts again
#: with each of them.
HELD_TOO_LONG = {"cint.delta": 1_000_000_000, "cint.max-hold": 10_000_000_000,
                 "cint.thr": 65535}
SLOW_STREAM = mix(sync="thinktime=300ms\nsize=64k", size="256k")
#: A namespace for commands that do not end as they should.
SECOND = "/tmp/ns2"
POLLED = r"timeout, completion polled"
ABORTED = r"timeout, aborting|Abort status: 0x0"
RESET = r"timeout, (reset|disable) controller"
FAILED = r"I/O error|(?i:unrecovered read|critical medium error)"


def test_held_too_long(disk: vm.Backend, logs: Path) -> None:
    """The driver finds the completions of commands that timed out where it has left them."""
    machine = waiting_machine(disk, (SYNC_ONLY, "nvme_core.io_timeout=1"))
    properties = dict(machine.properties) | HELD_TOO_LONG
    plan = agent.Plan((agent.Job("slow", fio=SLOW_STREAM, args=("--eta=never",)),
                       agent.Job("counters", argv=agent.exec_argv(f"cat {COUNTERS}"))))
    task = session.Task("held", replace(machine, properties=tuple(properties.items())), plan, logs)
    outcome = session.run_task(task)
    note_races(outcome.boot_races)
    assert re.search(POLLED, outcome.dmesg), "nothing timed out"
    assert unexpected(outcome.dmesg, (POLLED,)) == []
    check_ios(outcome.results["slow"], (320 << 10) // 4096)
    counted = parse_counters(str(outcome.results["counters"]["stdout"]))
    assert counted["held_max"] > 4
    assert counted["held"] == 0


@contextmanager
def recovering(machine: vm.Machine, logs: Path, *allowed: str,
               namespaces: int = 1) -> Iterator[Guest]:
    """A guest with the load in a file; it holds no entry in the end."""
    with serving(machine, logs, 3 * vm.BOOT_LIMIT_S, allowed) as guest:
        guest.shell(names(namespaces))
        load = mix(numjobs=2).replace("/dev/nvme0n1", BDEV)
        guest.write_file("/tmp/mix.fio", load.encode())
        yield guest
        assert parse_counters(guest.shell(f"cat {COUNTERS}"))["held"] == 0


LOAD = """\
(fio --eta=never /tmp/mix.fio > /tmp/mix.out 2>&1 || touch /tmp/mix.failed; touch /tmp/mix.done) &
"""
LOADED = """\
until [ -e /tmp/mix.done ]; do sleep 0.05; done
[ ! -e /tmp/mix.failed ] || { cat /tmp/mix.out; exit 1; }
rm /tmp/mix.done
"""


def test_abort(disk: vm.Backend, logs: Path) -> None:
    """A command the backend holds back is aborted beside others whose completions are held."""
    machine = shaken_machine(disk)
    machine = replace(machine, extra=held.namespace(2),
                      append=(*machine.append, "nvme_core.io_timeout=1"))
    with recovering(machine, logs, ABORTED, POLLED, RESET, namespaces=2) as guest:
        for hint in ("urgent", "unmarked"):
            hold = held.Hold(guest, "read_aio")
            guest.shell(f"dmesg -c > /dev/null; {LOAD}")
            hold.start(f"hintio --hint={hint} --offset=1m {SECOND}")
            guest.shell("until dmesg | grep -q 'timeout, aborting'; do sleep 0.05; done")
            hold.release()
            guest.shell(LOADED)


#: A sector that cannot be read, far from where the load is.
BAD_OFFSET = 200 * MIB


def bad_backend(image: Path) -> tuple[str, ...]:
    """QEMU's options for a third namespace on a file, of which one sector fails."""
    return ("-blockdev", json.dumps({
        "driver": "raw", "node-name": "bad",
        "file": {"driver": "blkdebug",
                 "inject-error": [{"event": "none", "iotype": "read", "errno": 5, "once": False,
                                   "sector": BAD_OFFSET // 512}],
                 "image": {"driver": "file", "filename": str(image)}}}))


def check_errors(guest: Guest, device: str, tries: Sequence[str]) -> None:
    """Each of several ways to read the bad sector fails, its neighbours are read."""
    for options in tries:
        for offset, good in ((BAD_OFFSET, False), (BAD_OFFSET + (64 << 10), True)):
            reply = guest.try_shell(f"hintio {options} --offset={offset} {device}")
            assert (reply["exit"] == 0) == good, (options, reply)
            assert good or "No data available" in reply["stderr"]


def test_errors(tmp_path: Path, disk: vm.Backend, logs: Path) -> None:
    """Completions with an error are held, taken early and taken in order as any other."""
    image = tmp_path / "bad.img"
    with image.open("wb") as file:
        file.truncate(256 * MIB)
    machine = replace(shaken_machine(disk), extra=(
        *bad_backend(image), "-device", f"nvme-ns,bus={vm.NVME_ID},drive=bad,nsid=2"))
    with recovering(machine, logs, FAILED, namespaces=2) as guest:
        load = mix(numjobs=2, sync=ON_EACH_CPU).replace("/dev/nvme0n1", BDEV)
        guest.write_file("/tmp/mix.fio", load.encode())
        guest.shell(LOAD)
        check_errors(guest, SECOND, (
            "--api=preadv2 --hint=urgent", "--api=preadv2 --hint=unmarked",
            "--api=aio --batch=4 --count=4 --stride=1m --hint=unmarked",
            "--api=aio --batch=4 --count=4 --stride=1m --hint=urgent --mark=last",
            "--api=uring --batch=4 --count=4 --stride=1m"))
        guest.shell(LOADED)
        counted = parse_counters(guest.shell(f"cat {COUNTERS}"))
        assert counted["reaped_ooo"] > 0


#: Linux 6.12's lockdep takes a freeze that a time-out begins and a reset ends for a leaked lock.
LEAKED = re.compile(r"""BUG: workqueue leaked atomic, lock or RCU: kworker/.*
 +preempt=0x00000000 lock=0->(\d+) RCU=0->0 workfn=blk_mq_timeout_work
\1 locks? held by kworker/.*:
(?: #\d+: \w+ \(&q->q_usage_counter\((?:io|queue)\).*, at: nvme_start_freeze\+.*
)+CPU: \d+ .* Not tainted .*
Workqueue: kblockd blk_mq_timeout_work
Call Trace:
 <TASK>
(?: .*
)+? </TASK>
""")
#: Its lines that each are taken for trouble; check_reports() wants them to be such a report.
LEAKED_LINES = (r"^BUG: workqueue leaked atomic, lock or RCU: kworker/|^Call Trace:$|"
                r"(RCU=0->0 workfn=|Workqueue: kblockd )blk_mq_timeout_work$")


#: How the kernel makes completions go wrong, of a hundred how many and how many at all, and what it
#: says of it. It drops them, so that commands time out and are aborted and the controller is reset;
#: or it gives them a status with which they are tried again.
INJECTED = {
    "lost": ("/sys/kernel/debug/fail_io_timeout", "echo 1 > /sys/block/nvme0n1/io-timeout-fail",
             2, 6, (ABORTED, POLLED, RESET, LEAKED_LINES)),
    "failed": ("/sys/kernel/debug/nvme0n1/fault_inject",
               "echo 0 > /sys/kernel/debug/nvme0n1/fault_inject/dont_retry", 10, 100, ()),
}
INJECT = """\
{prepare}
cd {directory}
echo 0 > verbose; echo 1 > interval; echo {times} > times; echo {percent} > probability
"""


def check_reports(messages: str) -> None:
    """The kernel complains of nothing else than LEAKED, whose lines the driver's may part."""
    others = "".join(line for line in messages.splitlines(keepends=True)
                     if not line.startswith("nvme nvme0: "))
    rest = LEAKED.sub("", others)
    assert not re.search(r"\bBUG\b|WARNING|Call Trace", rest), rest


@pytest.mark.slow
@pytest.mark.parametrize("kind", INJECTED)
def test_injected_faults(debug_kernel: Path, disk: vm.Backend, logs: Path, kind: str) -> None:
    """Completions are lost, or fail, beside held ones; the data is right and nothing stays."""
    directory, prepare, percent, times, said = INJECTED[kind]
    machine = shaken_machine(disk, debug_kernel)
    machine = replace(machine, append=(*machine.append, "nvme_core.io_timeout=2"))
    with recovering(machine, logs, *said) as guest:
        guest.shell(INJECT.format(directory=directory, prepare=prepare, percent=percent,
                                  times=times))
        guest.shell(LOAD)
        guest.shell(LOADED)
        assert int(guest.shell(f"cat {directory}/times")) == 0, "not all were injected"
        check_reports(guest.shell("dmesg"))
        guest.shell("grep -q 'debug_locks: *1' /proc/lockdep_stats")


#: How the driver lays out its queues: CPUs, what the kernel is told, the device is, and the driver
#: says of it (default, read and polled queues).
LAYOUTS = {
    "threadirqs": (2, ("threadirqs",), "", "2/0/0"),
    "write-queues": (2, ("nvme.write_queues=1",), "", "1/2/0"),
    "few-queues": (4, (), "max_ioqpairs=2", "2/0/0"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout(disk: vm.Backend, layout: str) -> None:
    """Out of order on other queues than one for each CPU.

    Of what is in different queues nothing overtakes anything, so all of it is in one.
    """
    vcpus, append, device_opts, shown = LAYOUTS[layout]
    machine = replace(shaken_machine(disk), vcpus=vcpus, append=(SYNC_ONLY, *append),
                      device_opts=device_opts)
    with serving(machine, log_root() / f"layout-{layout}") as guest:
        found = re.findall(r"(\d+/\d+/\d+) default/read/poll queues", guest.shell("dmesg"))
        assert found == [shown]
        cpus = guest.shell("cat /sys/block/nvme0n1/mq/0/cpu_list").replace(" ", "").strip()
        on_one_queue = mix(numjobs=2).replace("[global]", f"[global]\ncpus_allowed={cpus}")
        check_ios(guest.fio("mix", on_one_queue), 6 * MIB // 4096)
        counted = parse_counters(guest.shell(f"cat {COUNTERS}"))
        assert counted["held"] == 0
        assert counted["reaped_ooo"] > 0
        assert counted["urgent_only"] > 0


def on_both(text: str) -> str:
    """A fio job twice: for the first and the second controller."""
    common, *jobs = re.split(r"(?=^\[)", text.replace("filename=/dev/nvme0n1\n", ""),
                             flags=re.MULTILINE)[1:]
    return common + "".join(job.replace("]\n", f"{number}]\nfilename=/dev/nvme{number}n1\n")
                            for job in jobs for number in (0, 1))


def with_a_second(machine: vm.Machine, image: Path) -> vm.Machine:
    """The machine with another controller, nvme1, that is like its own."""
    with image.open("wb") as file:
        file.truncate(256 * MIB)
    props = ",".join(f"{name}={value}" for name, value in machine.properties)
    return replace(machine, extra=(
        *vm.Backend(image).args()[:1], f"driver=file,node-name=second,filename={image}",
        "-device", f"nvme,id=nvme1,serial=second,drive=second,{props}"))


def test_two_controllers(tmp_path: Path, disk: vm.Backend, logs: Path) -> None:
    """Each has its own records; one is switched while both are loaded."""
    machine = with_a_second(shaken_machine(disk), tmp_path / "second.img")
    with serving(machine, logs) as guest:
        both = on_both(mix(numjobs=2, sync=ON_EACH_CPU))
        policies = itertools.cycle(("default", "cint"))

        def step() -> None:
            guest.vm.qmp.set("cint.policy", next(policies), "/machine/peripheral/nvme1")

        check_ios(guest.fio_meanwhile("both", both, step), 12 * MIB // 4096)
        for number in (0, 1):
            counted = parse_counters(guest.shell(f"cat {COUNTERS[:-1]}{number}"))
            assert counted["held"] == 0
            assert counted["irqs"] > 0
        assert parse_counters(guest.shell(f"cat {COUNTERS}"))["reaped_ooo"] > 0


#: CPU 0 reads while CPU 1 has the other controller's registers appear and vanish in the memory map:
#: bit 1 of its PCI command register. Says how often.
MAPPED = """
set -e
device=$(readlink -f /sys/class/nvme/nvme1/device)
echo ${device##*/} > $device/driver/unbind
taskset 1 dd if=/dev/nvme0n1 of=/dev/null iflag=direct bs=4k count=20000 2>/dev/null &
times=0
while kill -0 $! 2>/dev/null; do
    for command in '\\002' '\\000'; do
        printf $command | taskset 2 dd of=$device/config bs=1 seek=4 conv=notrunc 2>/dev/null
    done
    times=$((times + 1))
done
wait $!
echo $times
"""


@pytest.mark.slow
def test_io_while_devices_are_mapped(tmp_path: Path, disk: vm.Backend, logs: Path) -> None:
    """No access of a vCPU goes astray while another changes where devices are.

    Without QEMU's repair most of such runs lose an EOI, so that nothing interrupts CPU 0 any more,
    or end QEMU.
    """
    machine = with_a_second(shaken_machine(disk), tmp_path / "second.img")
    with serving(machine, logs) as guest:
        assert int(guest.shell(MAPPED).split()[-1]) > 100
