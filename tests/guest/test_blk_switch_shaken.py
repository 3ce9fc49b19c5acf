# SPDX-License-Identifier: GPL-2.0-or-later
"""Queues by class of I/O while everything changes: nothing is lost, and data is right.

Real time, two CPUs. I/O of both classes is verified; with ``--full`` on the kernel that checks
itself, too.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from conftest import log_root
from marks import hint_machine, make_disk
from serving import Guest, serving
from switching import (
    DEVICE,
    FEW,
    L0,
    PARAMETERS,
    QUEUE,
    check_nothing_is_outstanding,
    during,
    run_on,
    set_mode,
    set_threshold,
)

from cint import paths
from cint.guest import vm

#: Verified writes of T, so deep that it is steered, in batches and one by one, and of L; they go on
#: until they are told to end, and say so.
LOAD = """\
[global]
filename={device}
direct=1
rw=randwrite
verify=crc32c
verify_fatal=1
do_verify=1
[deep]
bs=16k
size=16m
ioengine=libaio
iodepth=64
iodepth_batch=16
[uring]
offset=16m
bs=4k
size=8m
ioengine=io_uring
iodepth=16
iodepth_batch=4
[latency]
offset=24m
bs=4k
size=2m
ioengine=psync
prioclass=1
prio=0
"""
START = """\
rm -f /tmp/stop /tmp/load.failed /tmp/load.runs
(while [ ! -e /tmp/stop ]; do
    fio --eta=never /tmp/load.fio > /tmp/load.out 2>&1 || mv /tmp/load.out /tmp/load.failed
    [ ! -e /tmp/load.failed ] || break
    echo 1 >> /tmp/load.runs
done; touch /tmp/load.ended) > /dev/null 2>&1 &
"""
ENDED = """\
touch /tmp/stop
while [ ! -e /tmp/load.ended ]; do sleep 0.1; done
rm /tmp/load.ended
[ ! -e /tmp/load.failed ] || { cat /tmp/load.failed >&2; exit 1; }
[ -s /tmp/load.runs ]
"""
#: Beside a load of real-time class a shell gets little of a busy host's CPUs.
EVENT_LIMIT_S = 600
#: What happens meanwhile.
EVENTS = {
    "reset": "for i in 1 2 3 4; do echo 1 > /sys/class/nvme/nvme0/reset_controller;"
             "sleep 0.3; done",
    "cpu": "for i in 1 2 3 4; do echo 0 > /sys/devices/system/cpu/cpu1/online; sleep 0.2;"
           "echo 1 > /sys/devices/system/cpu/cpu1/online; sleep 0.2; done",
    "modes": f"for i in $(seq 20); do for mode in off prio request app; do"
             f" echo $mode > {QUEUE}/switch_mode; sleep 0.01; done; done",
    "thresholds": f"for i in $(seq 20); do for n in 1 4096 {FEW} 1048576; do"
                  f" echo $n > {PARAMETERS}/threshold; sleep 0.01; done; done",
    "scheduler": f"for i in 1 2 3; do for s in kyber none; do echo $s > {QUEUE}/scheduler;"
                 "sleep 0.2; done; done",
    "freeze": f"for i in $(seq 20); do echo $((512 + i)) > {QUEUE}/nr_requests 2>/dev/null;"
              f"echo $((128 - i % 2 * 64)) > {QUEUE}/max_sectors_kb; done;"
              f"cat {QUEUE}/max_hw_sectors_kb > {QUEUE}/max_sectors_kb",
    "signals": "for i in $(seq 50); do for pid in $(pidof fio); do kill -STOP $pid;"
               "kill -CONT $pid; done; done; true",
}


def survive(guest: Guest) -> None:
    """All events, in the mode that does everything."""
    guest.write_file("/tmp/load.fio", LOAD.format(device=DEVICE).encode())
    for event, script in EVENTS.items():
        set_mode(guest, "app")
        set_threshold(guest, FEW)
        guest.shell(START)
        guest.shell(f"sleep 0.5; {script}", EVENT_LIMIT_S)
        guest.shell(ENDED)
        guest.shell(f"echo none > {QUEUE}/scheduler")
        check_nothing_is_outstanding(guest)
        set_mode(guest, "prio")
        assert during(guest, run_on(0, "ionice -c 1", "--count=4")) == {L0: 4}, event


def shaken(kernel: Path, disk: Path) -> vm.Machine:
    """A guest with queues by class, whose disk keeps what is written."""
    return replace(hint_machine("nvme.blk_switch=3", kernel=kernel), backend=vm.Backend(disk))


def test_survival(tmp_path: Path) -> None:
    disk = make_disk(tmp_path / "disk", size=256 << 20)
    with serving(shaken(paths.KERNEL, disk), log_root() / "blk-switch-shaken") as guest:
        survive(guest)


@pytest.mark.slow
def test_kernel_finds_nothing(debug_kernel: Path, tmp_path: Path) -> None:
    """The same under lockdep and KASAN, which also know who sleeps where he may not."""
    disk = make_disk(tmp_path / "disk", size=256 << 20)
    with serving(shaken(debug_kernel, disk), log_root() / "blk-switch-debug",
                 3 * vm.BOOT_LIMIT_S) as guest:
        guest.shell("[ -e /proc/lockdep ] && zcat /proc/config.gz | grep -q ^CONFIG_KASAN=y")
        survive(guest)
        guest.shell("grep -q 'debug_locks: *1' /proc/lockdep_stats")
