# SPDX-License-Identifier: GPL-2.0-or-later
"""Bytes that are outstanding are taken away again, however a request ends.

Requests fail, are aborted, are merged, wait in a cgroup's limit, and lose their controller, while
others are steered. The kernel may say what the test provoked, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import held
import pytest
from conftest import Boot, log_root, machine
from marks import hint_machine, make_disk, names
from serving import Guest, serving
from switching import (
    ALWAYS,
    DEEP,
    DEVICE,
    FEW,
    L0,
    L_BESIDE,
    QUEUE,
    T0,
    T1,
    check_nothing_is_outstanding,
    commands,
    during,
    hardware_queues,
    set_threshold,
)
from test_recovery import ABORTED, BAD_OFFSET, FAILED, POLLED, RESET, bad_backend

from cint.guest import agent, vm

#: A namespace whose backend can be stopped, and one with a sector that cannot be read.
STOPPED, BAD = "/tmp/ns2", "/tmp/ns3"
#: What is outstanding at a namespace, of all its hardware queues.
OUTSTANDING = """\
d=$(basename $(readlink -f {device})); cat /sys/block/$d/mq/*/switch_bytes
"""
#: Controllers whose commands fail, time out and are aborted say so.
SAID = (ABORTED, POLLED, RESET, FAILED)


def outstanding(guest: Guest, device: str) -> int:
    """Bytes of a namespace's requests that are under way."""
    script = OUTSTANDING.format(device=device)
    return sum(int(line) for line in guest.shell(script).splitlines())


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """Three namespaces; requests are steered from the second one on."""
    root = tmp_path_factory.mktemp("ends")
    machine = hint_machine("nvme.blk_switch=2", "nvme_core.io_timeout=1",
                           f"blk_switch.threshold={ALWAYS}")
    machine = replace(machine, extra=(
        *held.namespace(2), *bad_backend(make_disk(root / "bad", size=256 << 20)),
        "-device", f"nvme-ns,bus={vm.NVME_ID},drive=bad,nsid=3"))
    with serving(machine, log_root() / "blk-switch-ends", 3 * vm.BOOT_LIMIT_S, SAID) as running:
        running.shell(names(3))
        yield running


@pytest.mark.parametrize("how", ["", "ionice -c 1"])
def test_errors(guest: Guest, how: str) -> None:
    """A batch of which one request fails."""
    reply = guest.try_shell(f"taskset 1 {how} hintio --api=aio --batch=16 --count=16 --stride=64k "
                            f"--offset={BAD_OFFSET - (512 << 10)} {BAD}")
    assert reply["exit"] != 0
    assert "No data available" in reply["stderr"]
    assert outstanding(guest, BAD) == 0


@pytest.mark.parametrize("how", ["", "ionice -c 1"])
def test_aborts(guest: Guest, how: str) -> None:
    """A command that the driver gives up; its bytes are outstanding until then."""
    hold = held.Hold(guest, "read_aio")
    guest.shell("dmesg -c > /dev/null")
    hold.start(f"{how} hintio --size=64k {STOPPED}")
    assert outstanding(guest, STOPPED) == 65536
    guest.shell("until dmesg | grep -q 'timeout, aborting'; do sleep 0.05; done")
    hold.release()
    assert outstanding(guest, STOPPED) == 0


def test_merges(guest: Guest) -> None:
    """Bios that follow each other are one request in the plug, whose bytes are all of theirs.

    The look is over before the time-out of a second: behind that a held disk keeps the whole guest.
    """
    held.Hold(guest, "read_aio")
    before = commands(guest)
    seen = guest.shell(f"""
        (taskset 1 hintio --api=aio --batch=16 --count=16 --stride=4k {STOPPED} >/dev/null \
            && touch /tmp/merged) &
        for i in $(seq 50); do
            n=0; for b in $({OUTSTANDING.format(device=STOPPED).strip()}); do n=$((n + b)); done
            [ $n = {16 * 4096} ] && break
            sleep 0.01
        done
        echo $n
        """)
    held.resume(guest)
    assert int(seen) == 16 * 4096
    guest.shell("until [ -e /tmp/merged ]; do sleep 0.01; done")
    assert sum(commands(guest).values()) - sum(before.values()) < 16
    assert outstanding(guest, STOPPED) == 0


def test_limits(guest: Guest) -> None:
    """What waits in a cgroup's limit is not outstanding; what is let go is steered as any other."""
    guest.shell("""
        mkdir -p /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null
        echo +io > /sys/fs/cgroup/cgroup.subtree_control && mkdir -p /sys/fs/cgroup/slow
        echo "$(cat /sys/class/block/$(basename $(readlink -f /tmp/ns1))/dev) riops=200" \
            > /sys/fs/cgroup/slow/io.max
        """)
    found = during(guest, "echo $$ > /sys/fs/cgroup/slow/cgroup.procs; hintio --api=aio "
                          "--batch=16 --count=64 --stride=64k /tmp/ns1 >/dev/null")
    assert sum(found.values()) == 64
    assert set(found) <= {T0, T1}
    assert outstanding(guest, "/tmp/ns1") == 0


#: Readers on CPU 0, and how many of them have ended after half a minute.
READERS = """\
for reader in 1 2 3 4; do
    (taskset 1 hintio --count=100 --stride=4k /tmp/ns1 >/dev/null && echo >> /tmp/readers) &
done
for i in $(seq 300); do
    [ "$(wc -l < /tmp/readers)" = 4 ] && break
    sleep 0.1
done
wc -l < /tmp/readers
"""


def test_no_tag_to_wait_for_elsewhere() -> None:
    """Who waits for a tag waits for one of its own queue: what holds another's may be stuck.

    One tag a queue. CPU 1's is a namespace's that does not answer; whatever CPU 0 has to wait for
    is free again in no time.
    """
    machine = replace(
        hint_machine("nvme.blk_switch=2", "nvme.io_queue_depth=2", "nvme_core.io_timeout=200"),
        extra=held.namespace(2))
    with serving(machine, log_root() / "blk-switch-one-tag") as running:
        running.shell(f"{names(2)} echo -n > /tmp/readers")
        set_threshold(running, ALWAYS)
        hold = held.Hold(running, "read_aio")
        hold.start(f"taskset 2 hintio {STOPPED}")
        ended = running.shell(READERS)
        hold.release()
        assert ended == "4\n"
        assert outstanding(running, "/tmp/ns1") == 0


#: Of a block device that is gone, libaio reads nothing and says no error: fio goes on until it is
#: stopped, and would make a file of that name if it came too late.
WHILE_IT_GOES = "time_based\nruntime=1h\nallow_file_create=0"
#: Take the controller away under load of both classes; what becomes of fio is fio's affair.
REMOVE = f"""\
dev=$(basename $(readlink -f /sys/class/nvme/nvme0/device))
fio --eta=never /tmp/load.fio > /tmp/removed.out 2>&1 & load=$!
until [ $(awk '{{print $1}}' /sys/block/{DEVICE[5:]}/stat) -gt 1000 ]; do
    kill -0 $load || {{ cat /tmp/removed.out >&2; exit 1; }}
    sleep 0.05
done
echo 1 > /sys/bus/pci/devices/$dev/remove
kill $load 2>/dev/null; wait $load
[ -e {QUEUE} ] && exit 2
echo 1 > /sys/bus/pci/rescan
i=0; while [ ! -e {DEVICE} ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i + 1)); done
cat {QUEUE}/switch_mode
"""


def test_removal(tmp_path: Path) -> None:
    """The controller goes under load and comes back, with queues for both classes."""
    disk = make_disk(tmp_path / "disk", size=256 << 20)
    machine = replace(hint_machine("nvme.blk_switch=3"), backend=vm.Backend(disk))
    with serving(machine, log_root() / "blk-switch-removal", allowed=("I/O error",)) as running:
        set_threshold(running, FEW)
        load = DEEP.format(device=DEVICE, more=WHILE_IT_GOES) + L_BESIDE.replace(
            "number_ios=500", WHILE_IT_GOES)
        running.write_file("/tmp/load.fio", load.replace("number_ios=2000\n", "").encode())
        for _ in range(2):
            assert running.shell(REMOVE) == "app\n"
            check_nothing_is_outstanding(running)
            running.fio("again", DEEP.format(device=DEVICE, more=""))
            assert sum(hardware_queues(running, "steered")) > 0
        assert set(during(running, f"taskset 1 ionice -c 1 hintio --count=4 {DEVICE} >/dev/null")
                   ) == {L0}


#: T with many requests under way, which end together.
MANY = f"""\
[many]
filename={DEVICE}
direct=1
ioengine=libaio
rw=randread
bs=64k
iodepth=128
iodepth_batch_submit=64
iodepth_batch_complete_min=64
cpus_allowed=0
time_based
runtime=100ms
"""
L_MEANWHILE = L_BESIDE.replace("number_ios=500", "time_based\nruntime=100ms")
#: Who ended requests in batches, and from where: a line a request; and who sends what is in a plug.
TRACED = """\
mount -t tracefs none /sys/kernel/tracing 2>/dev/null
cd /sys/kernel/tracing && echo nvme_complete_batch_req blk_mq_flush_plug_list > set_ftrace_filter &&
    echo function > current_tracer
"""
TRACE = "cat /sys/kernel/tracing/trace; echo > /sys/kernel/tracing/trace"
#: `irq/24-nvme0q1-75  [000] ...  3.2: nvme_complete_batch_req <-nvme_irq_later`: the task, the
#: third flag, which is `h` or `H` in an interrupt and `.` in a task, and the caller.
ENDED = re.compile(r"^ *(\S+)-\d+ +\[\d+\] ..(.)\S* .*nvme_complete_batch_req <-(\w+)",
                   re.MULTILINE)


#: So many requests of T are sent, and the next who is to run may do so.
PIECE = "blk_mq_flush_plug_list <-blk_switch_cut_plug"
PIECES = 4


def test_who_ends(boot: Boot) -> None:
    """Beside L a thread ends T's requests, in batches; without L the interrupt. Virtual time.

    Beside L they are sent four at a time.
    """
    outcome = boot(
        machine("default", vcpus=2, append=("nvme.blk_switch=1",
                                            "nvme.complete_cost_ns_per_kib=2000")),
        agent.Plan((agent.Job("trace", argv=agent.exec_argv(TRACED)),
                    agent.Job("alone", fio=MANY),
                    agent.Job("of alone", argv=agent.exec_argv(TRACE)),
                    agent.Job("beside", fio=MANY + L_MEANWHILE),
                    agent.Job("of beside", argv=agent.exec_argv(TRACE)))))
    traces = [str(outcome.results[f"of {job}"]["stdout"]) for job in ("alone", "beside")]
    alone, beside = (ENDED.findall(trace) for trace in traces)
    assert len(alone) > 100
    assert {(where.lower(), by) for _, where, by in alone} == {("h", "nvme_pci_complete_batch")}
    later = [(task, where) for task, where, by in beside if by == "nvme_irq_later"]
    assert len(later) > 100
    assert {where for _, where in later} == {"."}
    assert all(re.fullmatch(r"irq/\d+-nvme0q1", task) for task, _ in later)
    assert PIECE not in traces[0]
    assert len(later) / 2 < PIECES * traces[1].count(PIECE) < len(later) * 2
