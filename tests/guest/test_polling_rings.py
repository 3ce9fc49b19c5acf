# SPDX-License-Identifier: GPL-2.0-or-later
"""Rings that poll, and sleep first as since Linux 6.13: nothing is lost, whenever that changes.

The device says which queue the reads went to; that a thread slept, its voluntary switches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import disk_in, log_root
from marks import hint_machine
from serving import Guest, serving
from test_polling import DEVICE, IOS, counted

from cint import paths
from cint.guest import vm

HYBRID = "/sys/module/kernel/parameters/io_uring_hybrid_iopoll"
DEPTHS = (1, 8)
#: Reads so slow that a sleep is one, however busy the machine. Where it is, a ring whose thread
#: slept for too long once sleeps for next to nothing from then on: each job has a new ring.
MEDIUM = "custom:read-latency=2ms,write-latency=10us,units=8"
TRIES = 20
#: Reads that are verified: what a ring takes for complete has its data.
JOB = f"""\
[global]
filename={DEVICE}
direct=1
bs=4k
ioengine=io_uring
hipri=1
verify=crc32c
[ring]
"""
WRITTEN = f"{JOB}rw=write\nsize=4M\ndo_verify=0\n"
#: Two threads with a ring each, one of which has a thread of the kernel's that submits.
SHAKEN = (f"{JOB}rw=randread\nsize=4M\nnumjobs=2\niodepth=4\ntime_based=1\nruntime=4\nthread=1\n"
          "[submitted]\nrw=randread\nsize=4M\niodepth=4\ntime_based=1\nruntime=4\n"
          "sqthread_poll=1\nthread=1\n")
TOGGLE = f"""\
cat > /tmp/rings.fio <<'END'
{SHAKEN}END
fio --output=/tmp/rings.out /tmp/rings.fio & fio=$!
n=0
while kill -0 $fio 2>/dev/null; do
  n=$((n + 1)); echo $((n % 2)) > {HYBRID}
  kill -STOP $fio; kill -CONT $fio
  sleep 0.02
done
wait $fio || {{ cat /tmp/rings.out; exit 1; }}
[ $n -gt 4 ]
"""


def machine(directory: Path, kernel: Path = paths.KERNEL) -> vm.Machine:
    """One with a queue for polling, and a disk that keeps what is written."""
    polled = hint_machine("nvme.poll_queues=1 io_uring_hybrid_iopoll=1", kernel=kernel,
                          media=MEDIUM)
    return replace(polled, backend=disk_in(directory))


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """A guest whose rings sleep before they poll."""
    started = machine(tmp_path_factory.mktemp("rings"))
    with serving(started, log_root() / "polling-rings") as running:
        assert running.shell(f"cat {HYBRID}") == "Y\n"
        running.fio("written", WRITTEN)
        yield running


def switches(guest: Guest, depth: int) -> int:
    """How often the thread of a ring gave up the CPU by itself during its reads."""
    before = counted(guest)
    reply = guest.fio("reads", f"{JOB}rw=randread\nsize=4M\niodepth={depth}\nnumber_ios={IOS}\n")
    grown = counted(guest) - before
    assert grown.interrupts == 0 and grown.polled >= IOS, grown
    job, = reply["fio"]["jobs"]
    assert job["error"] == 0
    return int(job["ctx"])


@pytest.mark.parametrize("depth", DEPTHS)
def test_reads_are_slept_for(guest: Guest, depth: int) -> None:
    """Once at most, before the oldest is polled for; nobody sleeps where it is off."""
    guest.shell(f"echo 0 > {HYBRID}")
    awake = switches(guest, depth)
    assert awake < IOS // 4, awake
    guest.shell(f"echo 1 > {HYBRID}")
    # of several in flight the first poll finds most
    least = IOS // 2 if depth == 1 else 2
    for _ in range(TRIES):
        asleep = switches(guest, depth) - awake
        assert asleep < 2 * IOS, (awake, asleep)
        if asleep > least:
            return
    raise AssertionError((awake, asleep, least))


def shake(guest: Guest) -> None:
    """Toggle it, and stop the threads, while rings poll; what they read is verified."""
    guest.shell(TOGGLE, limit_s=240)
    assert guest.shell("grep -c 'err= 0' /tmp/rings.out") == "3\n"


def test_shaken(guest: Guest) -> None:
    """Nothing is lost, or anybody else's."""
    shake(guest)


@pytest.mark.slow
def test_kernel_finds_nothing(debug_kernel: Path, tmp_path: Path, logs: Path) -> None:
    """The same under lockdep and KASAN."""
    with serving(machine(tmp_path, debug_kernel), logs, 3 * vm.BOOT_LIMIT_S) as guest:
        guest.fio("written", WRITTEN)
        shake(guest)
        guest.shell("grep -q 'debug_locks: *1' /proc/lockdep_stats")
