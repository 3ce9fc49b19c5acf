# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost of the device: QEMU with the load generator of tests/bench/load in place of a guest.

Two kinds of runs. Counted ones under callgrind, with a clock that is stepped as soon as
nothing but time is waited for: the same on every machine, busy or not. Timed ones in real
time, a round of all devices after the other, compared within a round.
"""

import json
import re
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from cint import paths
from cint.build import patches
from cint.errors import CintError
from cint.selftest import callgrind, runner
from cint.selftest.aims import Aimed, Shortfall
from cint.selftest.runner import Command

#: Bytes of the medium, and of a read.
MEDIUM = 1 << 30
BLOCK = 4096

#: Reads that are counted, and those before them that fill the queues.
COUNTED, COUNTED_WARMUP = 20_000, 4_000
#: Reads of a timed run by back end: about half a second.
TIMED = {"null": 500_000, "file": 300_000}
TIMED_WARMUP = 20_000
ROUNDS = 9

#: What cint=on is held against: it keeps guest RAM mapped unless told otherwise.
BASE = "off-cached"
#: Instructions that cint=on may add to a read of cint=off, both with guest RAM mapped.
AIM_ADDED = {"adaptive": 500, "cint": 500, "default": 1200, "default-pass": 500}
_EACH = "each function that a command passes through is in the table above"
KNOWN_ADDED = {
    "adaptive": Shortfall(663, _EACH),
    "cint": Shortfall(689, f"{_EACH}; it is watched whether the guest sleeps"),
    "default": Shortfall(1715, "QEMU takes some 800 instructions for a message, and there is one "
                               "for each CQE"),
    "default-pass": Shortfall(639, _EACH),
}
#: Instructions of a read that a function adds or saves, to be named.
PART = 5
#: Instructions that a read of a namespace in memory may take.
AIM_MEMORY = 1500
#: Per cent that cint=off may add to QEMU as it is with the same patches for upstream.
AIM_OFF = 0.5
#: Per cent that a read may cost more with 64 queues than with one.
AIM_FLAT = 10
#: Reads per second of CPU time, as ratios: (back end, arm, other) -> at least.
AIM_SPEED = {
    ("null", "off-cached", "pristine"): 3.0,
    ("null", "adaptive", "pristine"): 2.6,
    ("null", "off-cached", "virtio-lean"): 1.2,
    ("null", "adaptive", "virtio-lean"): 1.2,
    ("file", "adaptive", "pristine"): 2.4,
    ("file", "adaptive", "virtio-lean"): 1.0,
}
_TIME = "the instructions that it adds to a read take some 0.1 us, and the aim has room for less"
#: What three of four rounds reached where docs/cost.md's times are from: another run differs.
KNOWN_SPEED = {
    ("null", "adaptive", "pristine"): Shortfall(2.54, _TIME),
    ("null", "adaptive", "virtio-lean"): Shortfall(1.07, _TIME),
}

#: The file has no blocks: the kernel answers at once, and what is timed is the way there
#: and back. With data in it the machine's disk is what is timed.
BACK_ENDS = {
    "null": "driver=null-co,read-zeroes=off,size={size},node-name=d0",
    "file": "driver=file,filename={file},aio=native,cache.direct=on,node-name=d0",
}

_NVME = "nvme,id=t,serial=load,drive=d0,max_ioqpairs=64,msix_qsize=65"
#: A namespace in memory, all of which is there from the beginning.
_MEMORY = ("-object", f"memory-backend-ram,id=m0,prealloc=on,size={MEDIUM}",
           "-device", "nvme-ns,memdev=m0,nsid=1")


@dataclass(frozen=True)
class Rig:
    """One binary with one device, and what else that needs."""

    name: str
    binary: Path
    device: str
    more: tuple[str, ...] = ()


def _on(policy: str) -> Rig:
    return Rig(policy, paths.BENCH_CINT, f"{_NVME},cint=on,cint.policy={policy}")


_VIRTIO = "virtio-blk-pci,id=t,drive=d0,num-queues={queues},queue-size=1024,request-merging=off"

#: QEMU as it is; without eventfds that nobody needs; with all that is for upstream anyway; ours,
#: without and with guest RAM that is kept mapped, which it is with a policy; and with that the
#: medium in memory, which is counted only: in time it is as fast as memory is.
#: `default` sends a message for each CQE, `default-pass` one for each posting pass, as stock
#: does. `pointer` is left out: it needs a driver that moves its register. `virtio-lean` does
#: not clear 24 KiB of stack for each request, which QEMU 10.0 does.
RIGS = {arm.name: arm for arm in (
    Rig("pristine", paths.BENCH_PRISTINE, _NVME),
    Rig("wake", paths.BENCH_WAKE, _NVME),
    Rig("stock", paths.BENCH_STOCK, _NVME),
    Rig("off", paths.BENCH_CINT, f"{_NVME},cint=off"),
    Rig("off-cached", paths.BENCH_CINT, f"{_NVME},cint=off,queue-cache=on"),
    Rig("off-memory", paths.BENCH_CINT,
        f"{_NVME.replace(',drive=d0', '')},cint=off,queue-cache=on", _MEMORY),
    *map(_on, ("default", "static", "adaptive", "vic", "cint")),
    replace(_on("cint,cint.infer=learn"), name="cint-learn"),
    replace(_on("default,cint.each-cqe=off"), name="default-pass"),
    Rig("virtio-blk", paths.BENCH_STOCK, _VIRTIO),
    Rig("virtio-lean", paths.BENCH_VIRTIO, _VIRTIO),
)}
#: Neighbours are compared most.
TIMED_ARMS = ("pristine", "wake", "stock", "off", "off-cached", "default-pass", "adaptive",
              "virtio-lean", "virtio-blk", "cint", "cint-learn", "default")


@dataclass(frozen=True)
class Shape:
    """The load that is kept in flight."""

    queues: int = 1
    depth: int = 128
    batch: int = 32


SHAPE = Shape()
#: The same load in each queue, of one and of many.
FLAT = (Shape(1, 32, 16), Shape(64, 32, 16))
FLAT_RIGS = ("off", "off-cached", "default", "adaptive", "cint")


@dataclass(frozen=True)
class Count:
    """Instructions for each read; `qemu` has neither the allocator's nor the generator's.

    The allocator's differ from run to run with the layout of the heap, by more than what
    is to be told apart here; the device allocates nothing for a command.
    """

    arm: str
    queues: int
    depth: int
    batch: int
    nvme: float
    qemu: float
    allocator: float
    generator: float
    interrupts: float
    #: By function, those that are the allocator's left out; of the arms that have an aim.
    functions: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Speed:
    """One timed run."""

    arm: str
    back_end: str
    round: int
    reads_per_s: float
    cpu_us: float
    interrupts: float


#: glibc's, by function: it may be without source files.
_ALLOCATOR = re.compile(r"(_int_)?(malloc|calloc|realloc|memalign|free)\b|unlink_chunk"
                        r"|alloc_perturb|malloc_consolidate|sysmalloc|systrim")


# --- one run ------------------------------------------------------------------------------


def prepare() -> None:
    """The medium, and firmware whose CPU stops at once and for good: devices run without it."""
    halt = bytes((0xFA, 0xF4, 0xEB, 0xFD))  # cli; hlt; jmp to hlt
    paths.BENCH_FIRMWARE.parent.mkdir(parents=True, exist_ok=True)
    paths.BENCH_FIRMWARE.write_bytes(bytes(0xFFF0) + halt.ljust(16, b"\0"))
    with paths.BENCH_MEDIUM.open("wb") as stream:
        stream.truncate(MEDIUM)


def qemu_command(arm: Rig, back_end: str, shape: Shape, reads: int, warmup: int, *,
                 step: bool) -> list[str]:
    """QEMU's command line for one run. With `step` the clock stands still unless stepped."""
    blockdev = BACK_ENDS[back_end].format(size=MEDIUM, file=paths.in_option(paths.BENCH_MEDIUM))
    load = (f"load-generator,target=t,queues={shape.queues},depth={shape.depth},"
            f"batch={shape.batch},reads={reads},warmup={warmup},blocks={MEDIUM // BLOCK},"
            f"step={'on' if step else 'off'}")
    return [str(arm.binary), *paths.firmware_args(), "-nodefaults", "-no-user-config",
            "-display", "none", "-machine", "pc", "-accel", "qtest" if step else "tcg",
            "-m", "256", "-bios", str(paths.BENCH_FIRMWARE), "-blockdev", blockdev,
            "-device", arm.device.format(queues=shape.queues), *arm.more, "-device", load]


def parse_result(text: str) -> dict[str, int] | None:
    """The line that the generator prints, among whatever else is printed."""
    lines = [line for line in text.splitlines() if line.startswith('{"reads"')]
    return {str(key): int(value) for key, value in json.loads(lines[-1]).items()} if lines else None


def run(name: str, argv: Sequence[str]) -> dict[str, int]:
    """One run of the generator: what it printed; :class:`CintError` if it failed or gave none."""
    done = runner.run_command(Command("bench", name, tuple(argv), limit_s=900.0))
    if done.status != runner.PASSED:
        raise CintError(f"{name}: {done.reason}", log=done.log)
    assert done.log is not None
    found = parse_result(done.log.read_text("utf-8", errors="replace"))
    if found is None:
        raise CintError(f"{name}: the load generator printed no result", log=done.log)
    return found


def count_of(arm: str, shape: Shape, profile: callgrind.Profile, reads: int,
             interrupts: int) -> Count:
    """A run's instructions by whose they are."""
    def cost(part: str) -> int:
        return sum(cost for file, cost in profile.files.items() if part in file)

    own = cost(patches.LOAD_INSIDE)
    heap = sum(cost for name, cost in profile.functions.items() if _ALLOCATOR.match(name))
    functions = {name: cost / reads for name, cost in profile.functions.items()
                 if not _ALLOCATOR.match(name)} if arm in (BASE, *AIM_ADDED) else {}
    return Count(arm, shape.queues, shape.depth, shape.batch, cost("hw/nvme") / reads,
                 (profile.total - own - heap) / reads, heap / reads, own / reads,
                 interrupts / reads, functions)


def count(arm: Rig, shape: Shape = SHAPE) -> Count:
    """Count the instructions of reads from a medium that costs nothing."""
    warmup = max(COUNTED_WARMUP, 2 * shape.queues * shape.depth)
    argv = qemu_command(arm, "null", shape, COUNTED, warmup, step=True)
    with tempfile.TemporaryDirectory(prefix="cint-bench-") as place:
        out = Path(place) / "callgrind.out"
        found = run(f"count-{arm.name}-{shape.queues}-{shape.depth}",
                    callgrind.command(argv, out, ("--collect-atstart=no",)))
        profile = callgrind.load(out)
    return count_of(arm.name, shape, profile, found["reads"], found["interrupts"])


def time(arm: Rig, back_end: str, number: int) -> Speed:
    """Time reads in real time."""
    argv = qemu_command(arm, back_end, SHAPE, TIMED[back_end], TIMED_WARMUP, step=False)
    found = run(f"time-{arm.name}-{back_end}", argv)
    reads = found["reads"]
    return Speed(arm.name, back_end, number, reads / found["wall_ns"] * 1e9,
                 found["cpu_ns"] / reads / 1e3, found["interrupts"] / reads)


# --- all runs -----------------------------------------------------------------------------


#: Not virtio-blk as it is: callgrind counts `rep stos` by the byte, with which it clears 24 KiB
#: of stack for each request.
_COUNTED_CELLS = [*((arm, SHAPE) for arm in RIGS.values() if arm.name != "virtio-blk"),
                  *((RIGS[name], shape) for name in FLAT_RIGS for shape in FLAT)]


def count_some(names: Sequence[str]) -> list[Count]:
    """The arms named, with the shape that most is about."""
    prepare()
    return [count(RIGS[name]) for name in names]


def count_all(jobs: int, done: Callable[[str], None]) -> list[Count]:
    """Every arm, and some with one and with many queues."""
    prepare()
    rows = []
    with ThreadPoolExecutor(max_workers=max(jobs, 1)) as pool:
        for row in pool.map(lambda cell: count(*cell), _COUNTED_CELLS):
            done(f"{row.arm}, {row.queues} queues")
            rows.append(row)
    return rows


def time_all(done: Callable[[str], None]) -> list[Speed]:
    """Rounds of all arms, one run at a time."""
    prepare()
    rows = []
    for number in range(ROUNDS):
        for back_end in BACK_ENDS:
            for name in TIMED_ARMS:
                done(f"round {number + 1} of {ROUNDS}: {name}, {back_end}")
                rows.append(time(RIGS[name], back_end, number))
    return rows


def ratios(rows: Sequence[Speed], back_end: str, arm: str, other: str) -> list[float]:
    """CPU time of a read of `other` by that of `arm`, in each round, in order.

    The main loop is busy all the time, so on an idle machine these are reads per second too.
    """
    taken = {(row.arm, row.round): row.cpu_us for row in rows if row.back_end == back_end}
    return sorted(taken[other, number] / value
                  for (name, number), value in taken.items() if name == arm)


def ratio(rows: Sequence[Speed], back_end: str, arm: str, other: str) -> float:
    """The median of the rounds' ratios."""
    return statistics.median(ratios(rows, back_end, arm, other))


# --- aims ---------------------------------------------------------------------------------


def _main(rows: Sequence[Count]) -> dict[str, Count]:
    shape = (SHAPE.queues, SHAPE.depth, SHAPE.batch)
    return {row.arm: row for row in rows if (row.queues, row.depth, row.batch) == shape}


def off_check(rows: Sequence[Count]) -> Aimed:
    """The check of what cint=off adds to QEMU with the same patches for upstream."""
    main = _main(rows)
    return Aimed("a read with cint=off against stock",
                 100 * (main["off"].qemu / main["stock"].qemu - 1), AIM_OFF, "%")


def count_checks(rows: Sequence[Count]) -> list[Aimed]:
    """Instructions against their aims."""
    main = _main(rows)
    checks = [off_check(rows)]
    checks += [Aimed(f"cint=on, {name}, adds to a read", main[name].qemu - main[BASE].qemu, aim,
                     "instructions", known=KNOWN_ADDED.get(name))
               for name, aim in AIM_ADDED.items()]
    checks.append(Aimed("a read of a namespace in memory, cint=off", main["off-memory"].qemu,
                        AIM_MEMORY, "instructions"))
    flat = {(row.arm, row.queues): row.qemu for row in rows if row.depth == FLAT[0].depth}
    return checks + [Aimed(f"{name}, {FLAT[1].queues} queues against {FLAT[0].queues}",
                           100 * (flat[name, FLAT[1].queues] / flat[name, FLAT[0].queues] - 1),
                           AIM_FLAT, "%") for name in FLAT_RIGS]


def speed_checks(rows: Sequence[Speed]) -> list[Aimed]:
    """CPU times against their aims."""
    return [Aimed(f"{back_end}, {arm} against {other}", ratio(rows, back_end, arm, other), aim,
                  "times the reads a second of CPU time", at_least=True,
                  known=KNOWN_SPEED.get((back_end, arm, other)))
            for (back_end, arm, other), aim in AIM_SPEED.items()]


# --- tables -------------------------------------------------------------------------------


def count_table(rows: Sequence[Count]) -> Iterator[str]:
    """Instructions for each read."""
    yield f"{'instructions a read':<20}{'queues':>8}{'depth':>7}{'batch':>7}{'hw/nvme':>10}" \
          f"{'QEMU':>8}{'- cached':>10}{'interrupts':>12}{'malloc':>8}{'generator':>11}"
    base = {(row.queues, row.depth): row.qemu for row in rows if row.arm == BASE}
    for row in rows:
        added = row.qemu - base[row.queues, row.depth]
        yield f"{row.arm:<20}{row.queues:>8}{row.depth:>7}{row.batch:>7}{row.nvme:>10.0f}" \
              f"{row.qemu:>8.0f}{added:>+10.0f}{row.interrupts:>12.3f}{row.allocator:>8.0f}" \
              f"{row.generator:>11.0f}"


def parts_of(main: dict[str, Count], arm: str) -> dict[str, float]:
    """The instructions that `arm` adds to a read, by function, the most first, from PART on."""
    base, own = main[BASE].functions, main[arm].functions
    added = {name: own.get(name, 0) - base.get(name, 0) for name in {*base, *own}}
    return {name: added[name] for name in sorted(added, key=lambda name: (-added[name], name))
            if abs(added[name]) >= PART}


def parts_table(rows: Sequence[Count]) -> Iterator[str]:
    """Where the instructions go that cint=on adds."""
    main = _main(rows)
    for arm in AIM_ADDED:
        parts = parts_of(main, arm)
        whole = main[arm].qemu - main[BASE].qemu
        yield f"{arm} adds {whole:.0f} instructions to a read:"
        yield from (f"{value:>+10.0f}  {name}" for name, value in parts.items())
        yield f"{whole - sum(parts.values()):>+10.0f}  less than {PART} each"


def _spread(values: Sequence[float]) -> str:
    """The median, and what half of the rounds lie between."""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:.2f} ({low:.2f}-{high:.2f})"


def speed_table(rows: Sequence[Speed]) -> Iterator[str]:
    """Medians over the rounds; of ratios within a round also the middle half."""
    yield f"{'reads in real time':<20}{'back end':>9}{'CPU us':>8}{'least':>7}{'/ pristine':>19}" \
          f"{'/ virtio-lean':>19}{'K reads/s':>11}{'interrupts':>12}"
    for back_end in BACK_ENDS:
        for name in TIMED_ARMS:
            own = [row for row in rows if (row.arm, row.back_end) == (name, back_end)]
            reads_per_s = statistics.median(row.reads_per_s for row in own)
            cpu_us = [row.cpu_us for row in own]
            interrupts = statistics.median(row.interrupts for row in own)
            yield f"{name:<20}{back_end:>9}{statistics.median(cpu_us):>8.3f}{min(cpu_us):>7.3f}" \
                  f"{_spread(ratios(rows, back_end, name, 'pristine')):>19}" \
                  f"{_spread(ratios(rows, back_end, name, 'virtio-lean')):>19}" \
                  f"{reads_per_s / 1e3:>11.0f}{interrupts:>12.3f}"
