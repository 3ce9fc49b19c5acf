# SPDX-License-Identifier: GPL-2.0-or-later
"""The one table of scaled parameters, and the arithmetic that goes with it.

In virtual time the guest is a CPU of one instruction per nanosecond, which is
slower than the machines the papers measured.  ``--cpu-scale k`` says how much
slower.  Every time that the guest or the device must keep is multiplied by
``k`` before the run, every rate is divided by ``k``, and every time and rate
that comes out is converted back before it is printed.  What the table marks
``FIXED`` cannot be scaled and stays as it is; that is a known error of the
method and is printed with ``./cint compare --dry-run``.

"Reported" values are what a person types and reads; "applied" values are what
QEMU, the guest kernel and fio are given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, TypedDict

from cint.device import params
from cint.errors import UsageError

MAX_SCALE = 64.0
#: The length of a CPU's turn in virtual time where there are several, in guest ns, and the
#: shortest that the cost of interrupts may lead to.
SLOT_NS = 1009
MIN_SLOT_NS = 251


class Kind(Enum):
    """How a parameter follows the CPU scale."""

    TIME = "time"    # applied = reported * k
    RATE = "rate"    # applied = reported / k
    FIXED = "fixed"  # cannot be scaled


@dataclass(frozen=True)
class Entry:
    """One row of the table.

    ``name`` is the parameter as its owner spells it, ``where`` is who keeps
    it (device, guest, fio, result), ``unit`` its unit, ``note`` a remark.
    """

    name: str
    kind: Kind
    where: str
    unit: str
    note: str


#: How the engine's parameters follow, who keeps them, and the unit, by the unit in their list.
_UNITS = {"NS": (Kind.TIME, "device", "ns"), "MS": (Kind.TIME, "device", "ms"),
          "PER_S": (Kind.RATE, "device", "1/s")}

TABLE: tuple[Entry, ...] = (
    # Device.
    Entry("cint.media.read-latency", Kind.TIME, "device", "ns",
          "medium, reads"),
    Entry("cint.media.write-latency", Kind.TIME, "device", "ns",
          "medium, writes"),
    Entry("cint.media.read-per-kib", Kind.TIME, "device", "ns",
          "medium, per KiB read"),
    Entry("cint.media.write-per-kib", Kind.TIME, "device", "ns",
          "medium, per KiB written"),
    Entry("cint.media.spread", Kind.TIME, "device", "ns",
          "medium, spread of a burst's service time"),
    Entry("cint.media.jitter", Kind.TIME, "device", "ns",
          "medium, spread of each command's service time"),
    Entry("cint.media.read-bandwidth", Kind.RATE, "device", "bytes/s",
          "medium, 0 stays unlimited"),
    Entry("cint.media.write-bandwidth", Kind.RATE, "device", "bytes/s",
          "medium, 0 stays unlimited"),
    *(Entry(p.prop, *_UNITS[p.unit], p.help) for p in params.ALL.values() if p.unit in _UNITS),
    # Guest kernel.
    Entry("nvme.irq_cost_ns", Kind.TIME, "guest", "ns",
          "busy-wait that stands for interrupt exit and entry"),
    Entry("io_poll_delay", Kind.TIME, "guest", "us",
          "fixed sleep before polling, rounded to 1 us of the guest"),
    Entry("sleep_ns", Kind.TIME, "guest", "ns",
          "--engine user:sleep: sleep before polling"),
    Entry("sched/base_slice_ns", Kind.TIME, "guest", "ns",
          "scheduler slice (debugfs)"),
    Entry("sched_runtime", Kind.TIME, "guest", "ns",
          "scheduler slice of the sync job in mixed (sched_setattr)"),
    # fio.
    Entry("runtime", Kind.TIME, "fio", "s", "--runtime is reported time"),
    Entry("ramp_time", Kind.TIME, "fio", "s", ""),
    Entry("startdelay", Kind.TIME, "fio", "s", ""),
    Entry("timeout", Kind.TIME, "fio", "s", "another name of runtime"),
    Entry("thinktime", Kind.TIME, "fio", "us", ""),
    Entry("thinktime_spin", Kind.TIME, "fio", "us", ""),
    Entry("thinktime_iotime", Kind.TIME, "fio", "s", ""),
    Entry("agree_look", Kind.TIME, "fio", "us", "--runtime auto: from look to look"),
    Entry("agree_after", Kind.TIME, "fio", "us", "--runtime auto: no run is shorter"),
    Entry("latency_target", Kind.TIME, "fio", "us", ""),
    Entry("latency_window", Kind.TIME, "fio", "us", ""),
    Entry("max_latency", Kind.TIME, "fio", "us", ""),
    Entry("rate", Kind.RATE, "fio", "bytes/s", ""),
    Entry("rate_min", Kind.RATE, "fio", "bytes/s", ""),
    Entry("rate_iops", Kind.RATE, "fio", "IOPS", ""),
    Entry("rate_iops_min", Kind.RATE, "fio", "IOPS", ""),
    # Results.
    Entry("latency", Kind.TIME, "result", "ns",
          "fio latencies: divided by k before printing"),
    Entry("hold time", Kind.TIME, "result", "ns",
          "device hold time: divided by k before printing"),
    Entry("IOPS", Kind.RATE, "result", "1/s",
          "multiplied by k before printing"),
    Entry("interrupts", Kind.RATE, "result", "1/s",
          "multiplied by k before printing"),
    # What cannot follow.
    Entry("timer tick", Kind.FIXED, "guest", "CONFIG_HZ",
          "ticks come k times as often per reported second"),
    Entry("kernel time-outs", Kind.FIXED, "guest", "s",
          "NVMe I/O time-out 30 s, RCU and lock-up detectors: far away"),
    Entry("BLK_SWITCH_INTERVAL_MS", Kind.FIXED, "guest", "10 ms",
          "--steering app: decides k times as often per reported second"),
    Entry("CPU accounting", Kind.FIXED, "guest", "10 ms",
          "of /proc/stat, where instructions are not counted; CPU shares are ratios"),
    Entry("cache and TLB misses", Kind.FIXED, "guest", "",
          "every instruction takes 1 ns"),
    Entry("DMA and register access", Kind.FIXED, "device", "",
          "a doorbell write costs one instruction; nothing is scaled"),
    Entry("per-instruction cost", Kind.FIXED, "guest", "",
          "k is one number for kernel, fio and interrupt handler alike"),
)

_BY_NAME: dict[tuple[str, str], Entry] = {(e.where, e.name): e for e in TABLE}


def parse(text: str, other: str = "") -> float:
    """The value of --cpu-scale, or UsageError, which names what ``other`` may be typed."""
    try:
        k = float(text)
    except ValueError:
        raise UsageError(f"--cpu-scale {text}: give a number such as 3{other}") from None
    if not 0.1 <= k <= MAX_SCALE:
        raise UsageError(f"--cpu-scale {k:g}: must be from 0.1 to "
                        f"{MAX_SCALE:g}; 1 switches scaling off")
    return k


def entry(where: str, name: str) -> Entry | None:
    """Return the row for ``name`` kept by ``where``, or None."""
    return _BY_NAME.get((where, name))


def apply(where: str, name: str, value: float, k: float) -> float:
    """Turn a reported value into the applied one.

    A name that is not in the table is returned as it is (counts, sizes,
    seeds).
    """
    row = entry(where, name)
    if row is None or row.kind is Kind.FIXED:
        return value
    return value * k if row.kind is Kind.TIME else value / k


def apply_int(where: str, name: str, value: int, k: float) -> int:
    """The same as :func:`apply`, rounded to an integer; a non-zero value stays >= 1."""
    scaled = round(apply(where, name, value, k))
    return max(scaled, 1) if value > 0 else scaled


def undo(where: str, name: str, value: float, k: float) -> float:
    """Turn an applied value into the reported one."""
    row = entry(where, name)
    if row is None or row.kind is Kind.FIXED:
        return value
    return value / k if row.kind is Kind.TIME else value * k


def slot_ns(cost_ns: int, cpu_scale: float) -> int:
    """The length of a CPU's turn where several share the instructions, in guest ns.

    Shorter turns cost the host more, longer ones delay interrupts. The guest waits out the
    cost of an interrupt on the clock. If that is a whole number of rounds, it takes the same
    of the CPU's own turns whenever it begins, and as much as on one CPU; else it mostly ends
    in another CPU's turn, and takes more. A prime number is no multiple of the length of a
    loop in which the guest waits for another CPU.
    """
    wait = cost_ns * cpu_scale
    if wait < MIN_SLOT_NS:
        return SLOT_NS
    slot = int(wait / max(1, round(wait / SLOT_NS)))
    return next(n for n in range(slot, 1, -1) if all(n % i for i in range(2, math.isqrt(n) + 1)))


def slice_permille(k: float, vcpus: int = 1) -> int:
    """The scheduler's slice in the guest, permille of what Linux takes there.

    It becomes that of one CPU, however many there are, for which Linux makes it longer: what runs
    on one of them does not depend on the others then. Where nothing is scaled it stays.
    """
    longer = 1 + int(math.log2(min(vcpus, 8)))
    return 1000 if k == 1 else round(apply("guest", "sched/base_slice_ns", 1000, k) / longer)


class Scaled(TypedDict):
    """How one parameter follows the CPU scale, in results.json."""

    where: str
    name: str
    kind: Annotated[str, {"enum": [kind.value for kind in Kind]}]
    unit: str
    factor: float | None
    note: str


def as_rows(k: float) -> list[Scaled]:
    """Return the table as plain data for results.json and --dry-run."""
    factor = {Kind.TIME: k, Kind.RATE: 1.0 / k, Kind.FIXED: None}
    return [{"where": e.where, "name": e.name, "kind": e.kind.value,
             "unit": e.unit, "factor": factor[e.kind], "note": e.note}
            for e in TABLE]


def as_markdown() -> str:
    """Return the table in Markdown (docs/scaling.md has it)."""
    verb = {Kind.TIME: "x k", Kind.RATE: "/ k", Kind.FIXED: "not scaled"}
    lines = ["| kept by | parameter | unit | applied | remark |",
             "|---|---|---|---|---|"]
    lines += [f"| {e.where} | `{e.name}` | {e.unit} | {verb[e.kind]} | "
              f"{e.note} |" for e in TABLE]
    return "\n".join(lines) + "\n"
