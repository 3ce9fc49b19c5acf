# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads whose urgent completions overtake others, guests for them, and what the driver counts.

For the tests of what may happen to a driver meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from cint import paths
from cint.guest import agent, vm
from cint.measure import comparison, fiojson

MIB = 1 << 20
SYSFS = "/sys/class/nvme/nvme0"
PARAMETER = "/sys/module/nvme/parameters/ooo_urgent"
COUNTERS = "/sys/kernel/debug/nvme-ooo/nvme0"
#: Unmarked completions wait long enough for urgent ones to overtake them.
WAITING: Mapping[str, int | str] = {
    "cint": "on", "cint.policy": "cint", "cint.delta": 2_000_000, "cint.thr": 64,
    "cint.drain": "off", "cint.media": "optane"}
#: Only a blocking caller's I/O is marked: what is submitted in batches stays unmarked.
SYNC_ONLY = "block.irq_hints=1"
#: A thread that waits for each of its writes beside one that keeps many in flight.
MIX = """\
[global]
filename=/dev/nvme0n1
direct=1
bs=4k
rw=randwrite
verify=crc32c
verify_fatal=1
[sync]
ioengine=psync
numjobs={numjobs}
offset_increment=1M
{sync}
[async]
ioengine=libaio
iodepth=32
iodepth_batch_complete_min=1
size={size}
offset=64M
"""
#: Polled reads, which no interrupt may take.
POLL = """\
[poll]
filename=/dev/nvme0n1
direct=1
bs=4k
rw=randread
ioengine=io_uring
hipri=1
iodepth=4
size=2M
offset=128M
"""
#: What the host may change meanwhile; the last one is how a guest begins.
CHANGES: tuple[Mapping[str, int | str], ...] = (
    {"cint.policy": "default"}, {"cint.policy": "adaptive", "cint.delta": 20_000},
    {"cint.policy": "cint", "cint.barrier": "strict"}, {"cint.ooo": False}, {"cint.thr": 1},
    {"cint.ooo": True, "cint.thr": 64, "cint.delta": 2_000_000, "cint.barrier": "relaxed"})


def mix(numjobs: int = 1, sync: str = "size=1M", size: str = "4M") -> str:
    """The text of the mixed job; `sync` are options of those that wait, `size` is the other's."""
    return MIX.format(numjobs=numjobs, sync=sync, size=size)


#: Both kinds of I/O on one queue of several.
ON_ONE_CPU = mix().replace("[global]", "[global]\ncpus_allowed=0")
#: Of two that wait one on each of two CPUs: wherever the other job is, it shares a queue with one.
ON_EACH_CPU = "size=1M\ncpus_allowed=0,1\ncpus_allowed_policy=split"


def waiting_machine(backend: vm.Backend, append: tuple[str, ...] = (SYNC_ONLY,),
                    device_opts: str = "") -> vm.Machine:
    """A guest whose unmarked completions wait."""
    accel = comparison.choose_accel(True)
    return vm.Machine(tuple(WAITING.items()), virtual=True, accel=accel.name, cpu=accel.cpu,
                      backend=backend, device_opts=device_opts, append=append)


def shaken_machine(backend: vm.Backend, kernel: Path = paths.KERNEL) -> vm.Machine:
    """The same in real time, with two CPUs and a queue for polling."""
    accel = comparison.choose_accel(False)
    return replace(waiting_machine(backend, (SYNC_ONLY, "nvme.poll_queues=1")), virtual=False,
                   accel=accel.name, cpu=accel.cpu, vcpus=2, kernel=kernel)


def parse_counters(text: str) -> dict[str, int]:
    """The driver's counters, all queues together; held_max is the maximum."""
    names, *rows = (line.split() for line in text.splitlines())
    assert names[0] == "qid"
    columns = list(zip(*[[int(word) for word in row] for row in rows], strict=True))
    return {name: max(column) if name == "held_max" else sum(column)
            for name, column in zip(names[1:], columns[1:], strict=True)} | {"queues": len(rows)}


def check_ios(result: agent.Message, ios: int) -> None:
    """All I/O of a verifying job took place."""
    assert sum(s.ios for s in fiojson.parse(result["fio"]).values()) >= ios
