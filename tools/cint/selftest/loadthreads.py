# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost of reads that IOThreads serve: of nvme, and of virtio-blk, in rounds.

The load generator, which stands for the guest, is the main loop's, and it sends the messages. So
a read takes CPU time of two threads, all of which is counted: that of the process.
"""

import json
import os
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from cint import paths
from cint.selftest import load
from cint.selftest.aims import Aimed
from cint.selftest.load import Rig, Shape

#: Two IOThreads, the generator, and room for whatever else the machine does.
CORES = 4
#: The medium costs nothing.
BACK_END = "null"
READS = load.TIMED[BACK_END]
ROUNDS = 9

_IOTHREADS = ("-object", "iothread,id=io0", "-object", "iothread,id=io1")
_NVME = {"driver": "nvme", "id": "t", "serial": "load", "drive": "d0", "max_ioqpairs": 2,
         "msix_qsize": 3}
_VIRTIO = {"driver": "virtio-blk-pci", "id": "t", "drive": "d0", "queue-size": 1024,
           "request-merging": False}
_ONE = {"iothread": "io0"}
#: Queues by turns.
_TWO = {"iothread-vq-mapping": [{"iothread": "io0"}, {"iothread": "io1"}]}
_ADAPTIVE = {"cint": True, "cint.policy": "adaptive"}


@dataclass(frozen=True)
class Served:
    """A device, how many queues of it are under load, and in which threads."""

    arm: Rig
    queues: int


def _served(name: str, device: dict[str, object], queues: int = 1) -> Served:
    binary = paths.BENCH_VIRTIO if device["driver"] != "nvme" else paths.BENCH_CINT
    words = json.dumps(device).replace("{", "{{").replace("}", "}}")
    return Served(Rig(name, binary, words, _IOTHREADS), queues)


_VIRTIO_2 = {**_VIRTIO, "num-queues": 2}
#: Neighbours are compared.
SERVED = {served.arm.name: served for served in (
    _served("off", {**_NVME, "queue-cache": "on"}),
    _served("off-iothread", {**_NVME, **_ONE}),
    _served("virtio-iothread", {**_VIRTIO, "num-queues": 1, **_ONE}),
    _served("adaptive-iothread", {**_NVME, **_ADAPTIVE, **_ONE}),
    _served("off-2-on-1", {**_NVME, **_ONE}, 2),
    _served("off-2-on-2", {**_NVME, **_TWO}, 2),
    _served("virtio-2-on-1", {**_VIRTIO_2, **_ONE}, 2),
    _served("virtio-2-on-2", {**_VIRTIO_2, **_TWO}, 2),
)}

#: Reads by CPU time of the process and by the clock: (arm, other) -> at least.
AIM_SPEED = {("off-iothread", "virtio-iothread"): 1.0,
             ("adaptive-iothread", "virtio-iothread"): 1.0}
#: Reads by the clock, of two queues on two IOThreads against one IOThread.
AIM_TWO = 1.7


@dataclass(frozen=True)
class Run:
    """One timed run."""

    arm: str
    round: int
    reads_per_s: float
    process_us: float
    main_us: float
    interrupts: float


def time(served: Served, number: int) -> Run:
    """Time reads in real time."""
    shape = Shape(queues=served.queues)
    argv = load.qemu_command(served.arm, BACK_END, shape, READS, load.TIMED_WARMUP, step=False)
    found = load.run(f"time-{served.arm.name}", argv)
    reads = found["reads"]
    return Run(served.arm.name, number, reads / found["wall_ns"] * 1e9,
               found["process_ns"] / reads / 1e3, found["cpu_ns"] / reads / 1e3,
               found["interrupts"] / reads)


def time_all(done: Callable[[str], None]) -> list[Run]:
    """Rounds of all devices, one run at a time."""
    load.prepare()
    rows = []
    for number in range(ROUNDS):
        for name, served in SERVED.items():
            done(f"round {number + 1} of {ROUNDS}: {name}")
            rows.append(time(served, number))
    return rows


def _ratio(rows: Sequence[Run], arm: str, other: str, value: Callable[[Run], float]) -> float:
    """The median of the rounds' ratios."""
    by_round = {(row.arm, row.round): value(row) for row in rows}
    return statistics.median(by_round[arm, row.round] / by_round[other, row.round]
                             for row in rows if row.arm == arm)


def by_clock(rows: Sequence[Run], arm: str, other: str) -> float:
    """How many times the reads a second."""
    return _ratio(rows, arm, other, lambda row: row.reads_per_s)


def by_cpu(rows: Sequence[Run], arm: str, other: str) -> float:
    """How many times the reads a second of the process's CPU time."""
    return _ratio(rows, arm, other, lambda row: 1 / row.process_us)


def checks(rows: Sequence[Run], cores: int | None = None) -> list[Aimed]:
    """Times against their aims; what takes more cores than there are is not held."""
    found = []
    for (arm, other), aim in AIM_SPEED.items():
        found += [Aimed(f"{arm} against {other}", by_cpu(rows, arm, other), aim,
                        "times the reads a second of the process's CPU time", at_least=True),
                  Aimed(f"{arm} against {other}", by_clock(rows, arm, other), aim,
                        "times the reads a second", at_least=True)]
    if (cores or os.cpu_count() or 1) >= CORES:
        found.append(Aimed("off-2-on-2 against off-2-on-1",
                           by_clock(rows, "off-2-on-2", "off-2-on-1"), AIM_TWO,
                           "times the reads a second", at_least=True))
    return found


def table(rows: Sequence[Run]) -> Iterator[str]:
    """Medians over the rounds; the ratios are of a round."""
    yield f"{'reads in IOThreads':<20}{'K reads/s':>11}{'process us':>12}{'main us':>9}" \
          f"{'interrupts':>12}{'CPU / virtio':>14}{'clock / virtio':>16}"
    for name, served in SERVED.items():
        own = [row for row in rows if row.arm == name]
        other = {1: "virtio-iothread", 2: "virtio-2-on-1"}[served.queues]
        reads_per_s, process, main, interrupts = (
            statistics.median(value) for value in zip(
                *((row.reads_per_s, row.process_us, row.main_us, row.interrupts) for row in own),
                strict=True))
        yield f"{name:<20}{reads_per_s / 1e3:>11.0f}{process:>12.3f}{main:>9.3f}" \
              f"{interrupts:>12.3f}{by_cpu(rows, name, other):>14.2f}" \
              f"{by_clock(rows, name, other):>16.2f}"
    yield f"two queues on two IOThreads against one: nvme " \
          f"{by_clock(rows, 'off-2-on-2', 'off-2-on-1'):.2f}, virtio-blk " \
          f"{by_clock(rows, 'virtio-2-on-2', 'virtio-2-on-1'):.2f} times the reads a second"
