# SPDX-License-Identifier: GPL-2.0-or-later
"""Helpers of the tests of queues by class: which queue got what, and what is outstanding."""

from __future__ import annotations

from serving import Guest

DEVICE = "/dev/nvme0n1"
QUEUE = "/sys/block/nvme0n1/queue"
PARAMETERS = "/sys/module/blk_switch/parameters"
T0, T1, L0, L1 = 1, 2, 3, 4
COUNT = 16
MODES = ("off", "prio", "request", "app")
#: What of the class has to do with a request: a prefix of its command.
REALTIME = {"realtime": "ionice -c 1", "best-effort": "ionice -c 2 -n 0", "idle": "ionice -c 3",
            "none": ""}
URGENT, MEDIUM = 0, 2
#: So little that a queue is full with one request, or with a few, and so much that none ever is.
ALWAYS, FEW, NEVER = 4096, 65536, 1 << 40

DEEP = """\
[deep]
filename={device}
direct=1
rw=randread
bs=4k
size=64M
ioengine=libaio
iodepth=64
iodepth_batch=16
number_ios=2000
cpus_allowed=0
{more}
"""

#: A second job: a reader of the realtime class on the same CPU.
L_BESIDE = """\
[l]
filename=/dev/nvme0n1
direct=1
rw=randread
bs=4k
size=64M
ioengine=psync
number_ios=500
cpus_allowed=0
prioclass=1
prio=0
"""


def commands(guest: Guest) -> dict[int, int]:
    """Commands fetched from each submission queue."""
    return {q["sqid"]: q["commands"] for q in guest.stats()["submission-queues"]}


def during(guest: Guest, script: str) -> dict[int, int]:
    """The queues that got commands from a script, and how many."""
    before = commands(guest)
    guest.shell(script)
    return {sqid: count - before[sqid] for sqid, count in commands(guest).items()
            if count != before[sqid]}


def barriers(guest: Guest) -> dict[int, int]:
    """Commands that were marked as the end of a batch, by completion queue."""
    return {q["cqid"]: q["cmds-barrier"] for q in guest.stats()["queues"] if q["cqid"]}


def hardware_queues(guest: Guest, what: str) -> list[int]:
    """A number of each of the kernel's hardware queues, in their order."""
    script = f"for i in 0 1 2 3; do cat /sys/block/nvme0n1/mq/$i/switch_{what}; done"
    return [int(line) for line in guest.shell(script).splitlines()]


def set_mode(guest: Guest, mode: str) -> None:
    """What the block device does with the classes."""
    guest.shell(f"echo {mode} > {QUEUE}/switch_mode")


def set_threshold(guest: Guest, threshold: int) -> None:
    """From how many bytes on requests are sent elsewhere."""
    guest.shell(f"echo {threshold} > {PARAMETERS}/threshold")


def check_nothing_is_outstanding(guest: Guest) -> None:
    """Bytes are back at zero, and the device has nothing in flight either."""
    assert hardware_queues(guest, "bytes") == [0, 0, 0, 0]
    assert [q["inflight"] for q in guest.stats()["queues"] if q["cqid"]] == [0, 0, 0, 0]


def run_on(cpu: int, how: str, options: str) -> str:
    """A script that does I/O on a CPU, as a process of some class."""
    return f"taskset {1 << cpu} {how} hintio {options} {DEVICE} >/dev/null"
