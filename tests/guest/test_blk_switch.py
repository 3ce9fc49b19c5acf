# SPDX-License-Identifier: GPL-2.0-or-later
"""Queues for I/O of the realtime class, and what is moved between CPUs.

The device counts the commands of each submission queue, so it says which way each request went.
Two CPUs: queues 1 and 2 are theirs for everything else (T), 3 and 4 for the realtime class (L).
Real time. Nothing is judged by the clock but that one wait is a multiple of another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import log_root
from marks import hint_machine, make_disk
from serving import Guest, serving
from switching import (
    ALWAYS,
    COUNT,
    DEEP,
    DEVICE,
    FEW,
    L0,
    L1,
    L_BESIDE,
    MEDIUM,
    MODES,
    NEVER,
    PARAMETERS,
    QUEUE,
    REALTIME,
    T0,
    T1,
    URGENT,
    barriers,
    check_nothing_is_outstanding,
    commands,
    during,
    hardware_queues,
    run_on,
    set_mode,
    set_threshold,
)

from cint.guest import vm


@pytest.fixture(scope="module")
def switched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """A guest with queues for both classes, whose disk keeps what is written."""
    disk = make_disk(tmp_path_factory.mktemp("blk-switch") / "disk", size=1 << 30)
    machine = replace(hint_machine("nvme.blk_switch=1"), backend=vm.Backend(disk))
    with serving(machine, log_root() / "blk-switch") as running:
        yield running


@pytest.fixture
def guest(switched: Guest) -> Iterator[Guest]:
    """The same, as it was at first, and with nothing outstanding in the end."""
    set_mode(switched, "prio")
    set_threshold(switched, 1 << 20)
    yield switched
    check_nothing_is_outstanding(switched)


def check_priorities(guest: Guest) -> None:
    """Queues of the realtime class are urgent, and all others medium."""
    queues = {q["sqid"]: q["priority"] for q in guest.stats()["submission-queues"]}
    assert {q: queues.pop(q) for q in (T0, T1, L0, L1)} == {
        T0: MEDIUM, T1: MEDIUM, L0: URGENT, L1: URGENT}
    assert set(queues.values()) <= {MEDIUM}


def test_queues(guest: Guest) -> None:
    """Two for each CPU."""
    check_priorities(guest)
    assert "2/2/0 default/read/poll queues" in guest.shell("dmesg")
    cpus = guest.shell("cat /sys/block/nvme0n1/mq/*/cpu_list").split()
    assert cpus == ["0", "1", "0", "1"]


@pytest.mark.parametrize("op", ["read", "write"])
@pytest.mark.parametrize("how", REALTIME)
@pytest.mark.parametrize("cpu", [0, 1])
def test_map(guest: Guest, cpu: int, how: str, op: str) -> None:
    """The class chooses the queue, whatever the operation; not where there are no classes."""
    script = run_on(cpu, REALTIME[how], f"--op={op} --count={COUNT}")
    assert during(guest, script) == {(L0 if how == "realtime" else T0) + cpu: COUNT}
    set_mode(guest, "off")
    assert during(guest, script) == {T0 + cpu: COUNT}


def test_class_of_a_request(guest: Guest) -> None:
    """One process, requests of both classes in one batch: none takes what the other got ready.

    io_uring says how many requests its plug is for, so that they are got ready together.
    """
    text = DEEP.format(device=DEVICE, more="cmdprio_percentage=50\ncmdprio_class=1\n")
    before = commands(guest)
    reply = guest.fio("classes", text.replace("libaio", "io_uring"))
    found = {q: n - before[q] for q, n in commands(guest).items()}
    sent = {prio["prioclass"]: prio["clat_ns"]["N"]
            for prio in reply["fio"]["jobs"][0]["read"]["prios"]}
    assert sum(sent.values()) == 2000
    assert min(sent.values()) > 800
    assert found == {T0: sent[0], T1: 0, L0: sent[1], L1: 0}


def test_class_of_a_cgroup(guest: Guest) -> None:
    """A cgroup makes its tasks' I/O realtime, which they may not ask for themselves."""
    guest.shell("mkdir -p /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null;"
                "echo +io > /sys/fs/cgroup/cgroup.subtree_control; mkdir -p /sys/fs/cgroup/fast;"
                "echo promote-to-rt > /sys/fs/cgroup/fast/io.prio.class")
    plain = run_on(0, "", f"--count={COUNT}")
    script = f"echo $$ > /sys/fs/cgroup/fast/cgroup.procs; {plain}"
    assert during(guest, script) == {L0: COUNT}
    assert during(guest, plain) == {T0: COUNT}


#: busybox wants a user's name.
NOBODY = "nobody:x:65534:65534::/:/bin/sh"


def test_unprivileged(guest: Guest) -> None:
    """The realtime class is for those who may have it; a user who may read the disk is T."""
    guest.shell(f"chmod 666 {DEVICE}; mkdir -p /etc; echo {NOBODY} >> /etc/passwd")
    user = "start-stop-daemon -S -c nobody -x"
    reads = f"taskset 1 {user} /bin/hintio -- --count=4 {DEVICE} >/dev/null"
    assert during(guest, reads) == {T0: 4}
    reply = guest.try_shell(f"{user} /bin/ionice -- -c 1 true 2>&1")
    assert reply["exit"] != 0
    assert "not permitted" in str(reply["stdout"])


def test_flushes(guest: Guest) -> None:
    """A flush goes where its request goes."""
    script = "--op=write --count=1 --sync=fsync"
    assert during(guest, run_on(0, "ionice -c 1", script)) == {L0: 2}
    assert during(guest, run_on(1, "", script)) == {T1: 2}


def test_steering(guest: Guest) -> None:
    """What the other CPU's queue gets is what the kernel has counted; none of it is L's."""
    set_mode(guest, "request")
    set_threshold(guest, FEW)
    steered = hardware_queues(guest, "steered")
    before = commands(guest)
    guest.fio("deep", DEEP.format(device=DEVICE, more=""))
    found = {q: n - before[q] for q, n in commands(guest).items()}
    moved = [b - a for a, b in zip(steered, hardware_queues(guest, "steered"), strict=True)]
    assert found[L0] == found[L1] == 0
    assert found[T0] + found[T1] == 2000
    assert moved == [0, found[T1], 0, 0]
    # How many depends on the host: a queue is as deep as completions are late.
    assert found[T1] > 0


@pytest.mark.parametrize(("mode", "threshold"), [("prio", FEW), ("request", NEVER),
                                                 ("off", FEW)])
def test_no_steering(guest: Guest, mode: str, threshold: int) -> None:
    """Not without being asked for, and not below the threshold."""
    set_mode(guest, mode)
    set_threshold(guest, threshold)
    before = commands(guest)
    guest.fio("deep", DEEP.format(device=DEVICE, more=""))
    assert {q: n - before[q] for q, n in commands(guest).items() if n != before[q]} == {T0: 2000}


def test_realtime_is_not_steered(guest: Guest) -> None:
    """However much of it there is."""
    set_mode(guest, "request")
    set_threshold(guest, FEW)
    before = commands(guest)
    guest.fio("deep", DEEP.format(device=DEVICE, more="prioclass=1\nprio=0\n"))
    assert {q: n - before[q] for q, n in commands(guest).items() if n != before[q]} == {L0: 2000}


def test_batches(guest: Guest) -> None:
    """A batch that is spread over two queues has an end on both."""
    script = run_on(0, "", "--api=aio --batch=16 --count=16 --stride=64k")
    for mode, ends in (("prio", {1: 1}), ("request", {1: 1, 2: 1})):
        set_mode(guest, mode)
        set_threshold(guest, ALWAYS)
        before = barriers(guest)
        assert sum(during(guest, script).values()) == 16
        found = {q: n - before[q] for q, n in barriers(guest).items() if n != before[q]}
        assert found == ends, mode


def test_unmarked_on_purpose(guest: Guest) -> None:
    """What was left unmarked on purpose stays so where it is spread over two queues."""
    set_mode(guest, "request")
    set_threshold(guest, ALWAYS)
    before = barriers(guest)
    script = run_on(0, "", "--api=aio --batch=16 --count=16 --stride=64k --hint=unmarked")
    assert len(during(guest, script)) == 2, "nothing was spread"
    assert barriers(guest) == before


@pytest.mark.parametrize("mode", MODES)
def test_bytes(guest: Guest, mode: str) -> None:
    """Splits, merges, flushes, discards and resets: what is counted is taken away again."""
    set_mode(guest, mode)
    set_threshold(guest, 65536)
    guest.shell(f"""
        fio --name=split --filename={DEVICE} --direct=1 --rw=randwrite --bs=2m --size=64m \
            --ioengine=libaio --iodepth=4 --number_ios=16 >/dev/null &
        ionice -c 1 fio --name=small --filename={DEVICE} --direct=1 --rw=randread --bs=4k \
            --size=64m --ioengine=psync --number_ios=500 >/dev/null &
        fio --name=buffered --filename={DEVICE} --rw=write --bs=4k --size=16m --offset=128m \
            --fsync=64 >/dev/null &
        fio --name=trim --filename={DEVICE} --direct=1 --rw=trim --bs=64k --offset=256m \
            --size=8m --ioengine=psync >/dev/null &
        sleep 0.2
        echo 1 > /sys/class/nvme/nvme0/reset_controller
        wait
        """)
    check_nothing_is_outstanding(guest)


def test_bytes_of_a_journal(tmp_path: Path, logs: Path) -> None:
    """A write that a flush goes before ends twice: by itself, and as the end of its sequence."""
    disk = make_disk(tmp_path / "disk", "mkfs.ext4", "-q", size=64 << 20)
    machine = replace(hint_machine("nvme.blk_switch=1"), backend=vm.Backend(disk))
    with serving(machine, logs) as guest:
        set_mode(guest, "prio")
        guest.shell(f"""
            set -e; mkdir -p /mnt/disk; mount -t ext4 {DEVICE} /mnt/disk
            for i in 1 2 3 4; do
                dd if=/dev/zero of=/mnt/disk/$i bs=4k count=4 conv=fsync
            done
            umount /mnt/disk
            """)
        check_nothing_is_outstanding(guest)


def test_mode_while_running(guest: Guest) -> None:
    """Modes, CPUs and thresholds change under I/O; what is read back is right."""
    guest.shell(f"""
        rm -f /tmp/verified
        (fio --name=verify --filename={DEVICE} --direct=1 --rw=randwrite --bs=8k --size=32m \
            --ioengine=libaio --iodepth=32 --iodepth_batch=8 --verify=crc32c --verify_fatal=1 \
            >/tmp/verify 2>&1 && touch /tmp/verified) &
        ionice -c 1 fio --name=realtime --filename={DEVICE} --direct=1 --rw=randread --bs=4k \
            --offset=64m --size=32m --ioengine=psync >/dev/null 2>&1 &
        for i in 1 2 3 4 5 6; do
            for mode in off app prio request; do
                echo $mode > {QUEUE}/switch_mode
                echo $((i * 8192)) > {PARAMETERS}/threshold
                sleep 0.05
            done
            echo $((i & 1)) > /sys/devices/system/cpu/cpu1/online
        done
        echo 1 > /sys/devices/system/cpu/cpu1/online
        wait
        [ -e /tmp/verified ] || {{ cat /tmp/verify >&2; exit 1; }}
        """)


def test_priority_in_the_device() -> None:
    """With one slot the realtime class waits for the command before it, others for all theirs."""
    machine = hint_machine("nvme.blk_switch=1",
                           media="custom:read-latency=5ms,write-latency=5ms,units=1,slots=1")
    with serving(machine, log_root() / "blk-switch-slots") as running:
        running.shell(f"""
            fio --name=deep --filename={DEVICE} --direct=1 --rw=randread --bs=4k --size=64m \
                --ioengine=libaio --iodepth=32 --number_ios=200 --cpus_allowed=0 >/dev/null &
            sleep 0.3
            taskset 1 ionice -c 1 hintio --count=20 {DEVICE} >/dev/null
            wait
            """)
        queues = {q["sqid"]: q for q in running.stats()["submission-queues"]}
        waits = {q: queues[q]["wait"]["sum-ns"] / queues[q]["commands"] for q in (T0, L0)}
        assert queues[L0]["commands"] >= 20
        assert waits[T0] > 6 * waits[L0]


@pytest.mark.parametrize(("append", "device", "says"), [
    (("nvme.blk_switch=1", "nvme.write_queues=1"), "", "does not go with nvme.write_queues"),
    (("nvme.blk_switch=2",), "msix_qsize=4", "fewer than 4 vectors for I/O"),
    (("nvme.blk_switch=3",), "max_ioqpairs=3", "fewer than 4 queues for I/O"),
    ((), "", "")])
def test_without_queues(append: tuple[str, ...], device: str, says: str) -> None:
    """Where there are not two queues for each CPU there is one, and the log says why."""
    machine = replace(hint_machine(*append), device_opts=device)
    name = "-".join(["blk-switch-none", *append, device]).replace("=", "-")
    with serving(machine, log_root() / name, allowed=("nvme.blk_switch",)) as running:
        assert says in running.shell("dmesg")
        assert running.shell(f"cat {QUEUE}/switch_mode") == "off\n"
        assert running.try_shell(f"echo prio > {QUEUE}/switch_mode")["exit"] != 0
        running.shell(run_on(0, "ionice -c 1", f"--count={COUNT}"))
        if "write_queues" not in "".join(append):
            assert set(during(running, run_on(0, "ionice -c 1", "--count=4"))) == {T0}


RESET = """\
cd /sys/class/nvme/nvme0
echo 1 > reset_controller
until grep -q live state; do sleep 0.01; done
"""


@pytest.mark.parametrize(("at_boot", "counts"), [(0, (1, 0)), (1, (2, 0, 1))])
def test_reset_with_other_queues(at_boot: int, counts: tuple[int, ...]) -> None:
    """Queues that a reset is to add get what the classes leave, which is nothing more here.

    For polling there are some only where there were some at first.
    """
    machine = hint_machine("nvme.blk_switch=2", f"nvme.poll_queues={at_boot}")
    with serving(machine, log_root() / f"blk-switch-reset-{at_boot}") as running:
        for name in ("poll_queues", "write_queues"):
            for count in counts:
                running.shell(f"echo {count} > /sys/module/nvme/parameters/{name}; {RESET}")
                assert running.shell(f"cat {QUEUE}/switch_mode") == "request\n"
                check_priorities(running)
                assert during(running, run_on(0, "ionice -c 1", "--count=4")) == {L0: 4}
                assert during(running, run_on(1, "", "--count=4")) == {T1: 4}


#: The threads of I/O interrupts, with their nice value and scheduling policy.
THREADS = """\
for task in /proc/[0-9]*; do
    name=$(cat $task/comm)
    case $name in irq/*-nvme0q[1-9]*) echo ${name#*-} $(cut -d" " -f19,41 $task/stat);; esac
done | sort
"""


def test_threads(guest: Guest) -> None:
    """T's queues have a thread each, of the default class and nice once it has run; L's have none.

    Those that have not run are of SCHED_FIFO. A reset makes new ones.
    """
    guest.shell(RESET)
    guest.fio("both", DEEP.format(device=DEVICE, more="") + L_BESIDE)
    threads = dict(line.split(" ", 1) for line in guest.shell(THREADS).splitlines())
    assert set(threads) == {"nvme0q1", "nvme0q2"}
    assert threads["nvme0q1"] == "10 0"


#: Small requests that have all tags of CPU 1's queue, and less than the threshold outstanding. Each
#: takes 250 ms, or a busy machine would end them faster than it can send them.
TAGS = 15
FULL = f"""\
fio --name=full --filename={DEVICE} --direct=1 --rw=randread --bs=512 --size=64m \
    --ioengine=libaio --iodepth={2 * TAGS} --time_based --runtime=600 --cpus_allowed=1 \
    >/dev/null 2>&1 & full=$!
while [ $(cat /sys/block/nvme0n1/mq/1/switch_bytes) -lt {512 * TAGS} ]; do sleep 0.01; done
"""


def test_no_tag_elsewhere() -> None:
    """What may not wait has its own queue's tags where the one that it was sent to has none."""
    machine = hint_machine("nvme.blk_switch=2", f"nvme.io_queue_depth={TAGS + 1}",
                           media="custom:read-latency=250ms,write-latency=250ms")
    with serving(machine, log_root() / "blk-switch-tags") as running:
        set_threshold(running, 2 * 512 * TAGS)
        found = during(running, f"""
            {FULL}
            fio --name=large --filename={DEVICE} --direct=1 --rw=randread --bs=64k --size=64m \
                --ioengine=libaio --iodepth=4 --nowait=1 --number_ios=12 --cpus_allowed=0
            failed=$?
            kill $full
            wait $full
            exit $failed
            """)
        assert found[T0] > 6
        check_nothing_is_outstanding(running)


#: A task of a realtime class that never sleeps on CPU 1, which may have all of it. It ends with
#: what follows, or, if that hangs, after a minute. The fair server can be switched off only while
#: there is no limit (EBUSY), and stays off: 6.12 warns of the bandwidth when one without runtime is
#: stopped while others run.
LOOP = """\
mount -t debugfs none /sys/kernel/debug 2>/dev/null
fair=/sys/kernel/debug/sched/fair_server/cpu1/runtime
limit=/proc/sys/kernel/sched_rt_runtime_us
limit_was=$(cat $limit)
echo -1 > $limit
[ $(cat $fair) = 0 ] || echo 0 > $fair
[ $(cat $fair) = 0 ] || exit 1
rm -f /tmp/over
taskset 2 sh -c 'slice $$ rr && while :; do :; done' & loop=$!
taskset 1 sh -c "sleep 60; touch /tmp/over; kill $loop" >/dev/null 2>&1 & dog=$!
sleep 0.5
"""
LOOP_ENDS = """\
kill $loop && ran=yes
kill $dog
echo $limit_was > $limit
[ ! -e /tmp/over ] && [ "$ran" = yes ]
"""


def test_realtime_loop(guest: Guest) -> None:
    """A task that does no I/O, and lets no other one run on its CPU, keeps nobody from ending.

    The other CPU's requests are sent there, since nothing is outstanding.
    """
    set_mode(guest, "request")
    set_threshold(guest, FEW)
    steered = hardware_queues(guest, "steered")
    guest.shell(f"""
        {LOOP}
        taskset 1 fio --name=deep --filename={DEVICE} --direct=1 --rw=randread --bs=4k \
            --size=64m --ioengine=libaio --iodepth=64 --number_ios=200 >/dev/null
        {LOOP_ENDS}
        """)
    moved = [b - a for a, b in zip(steered, hardware_queues(guest, "steered"), strict=True)]
    assert moved[1] > 0


def test_applications() -> None:
    """A task that may run anywhere is moved away from L; one that may not stays; masks stay."""
    with serving(hint_machine("nvme.blk_switch=3"), log_root() / "blk-switch-app") as running:
        moved = {mode: wide_task_beside_l(running, mode) for mode in ("request", "app")}
        assert moved["request"] == 0
        assert moved["app"] > 0
        set_mode(running, "app")
        before = commands(running)
        count = moves(running)
        running.fio("pinned", DEEP.format(device=DEVICE, more="") + L_BESIDE)
        assert moves(running) == count
        assert commands(running)[T1] == before[T1]
        check_nothing_is_outstanding(running)


def moves(guest: Guest) -> int:
    """Tasks that were moved."""
    return int(guest.shell(f"cat {QUEUE}/switch_moved"))


def wide_task_beside_l(guest: Guest, mode: str) -> int:
    """How often a task is moved that may run on both CPUs, and is put beside L again and again.

    The scheduler may move it first, which nothing can be said about; its mask stays.
    """
    set_mode(guest, mode)
    set_threshold(guest, NEVER)
    before = moves(guest)
    masks = guest.shell(f"""
        taskset 1 ionice -c 1 hintio --api=preadv2 --repeat=100000000 {DEVICE} >/dev/null & l=$!
        taskset 1 hintio --api=aio --batch=16 --size=64k --count=200000 --stride=4k {DEVICE} \
            >/dev/null & t=$!
        for i in 1 2 3 4 5 6 7 8 9 10; do
            taskset -p 1 $t >/dev/null
            sleep 0.03
            taskset -p 3 $t >/dev/null
            sleep 0.1
            grep Cpus_allowed: /proc/$t/status
        done
        kill $t $l
        wait
        true
        """)
    assert set(masks.split()[1::2]) == {"3"}, masks
    return moves(guest) - before
