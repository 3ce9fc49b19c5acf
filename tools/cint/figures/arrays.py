# SPDX-License-Identifier: GPL-2.0-or-later
"""vIC's jobs: fio's libaio on the media `array` in place of Iometer on a disk array.

Counters and the CPU's idle time are read from inside the guest once an epoch,
from after the first epoch on, of which the job before decides the ratio.
"""

from __future__ import annotations

from cint.device import scale
from cint.figures import probe
from cint.figures.figure import CPU_SCALE
from cint.measure import workloads
from cint.measure.workloads import Workload, common

#: vIC's own epoch is 200 ms: a shorter one for shorter runs, of as many epochs.
EPOCH_S = 0.05
POLICY = "vic:epoch=50ms"
PROBES = 6
#: So that all probes come before the end: each takes CPU time, and comes a little late.
RUNTIME_S = (1.2 * PROBES + 1.5) * EPOCH_S
_FIRST_EPOCHS = 1.3
#: The array stops at 41.5 KIOPS of 8 KiB.
ARRAY_8K = f"array:read-bandwidth={41_500 * 8192}"


def _global(rw: str, bs: str, epoch_s: float) -> str:
    start, period = (scale.apply("fio", "runtime", s, CPU_SCALE)
                     for s in (_FIRST_EPOCHS * epoch_s, epoch_s))
    return common("{runtime_us}us", "{ramp_us}us", seed="{seed}", filename="{device}", rw=rw,
                  bs=bs, more=f"{probe.fio_option(start, period, PROBES)}\n")


def reads(depth: int, rw: str = "randread", bs: str = "4k", epoch_s: float = EPOCH_S) -> Workload:
    """libaio at a depth, submitted and reaped one by one."""
    return Workload(f"q{depth}", f"libaio, {bs} {rw}, depth {depth}",
                    _global(rw, bs, epoch_s) + workloads.async_job(depth, 1, 1))


def lone() -> Workload:
    """One read at a time."""
    return Workload("sync", "a thread that reads and waits (psync)",
                    _global("randread", "4k", EPOCH_S) + workloads.sync_job())


def ratio(cif: int, threshold: int = 4) -> float:
    """The ratio R that vIC's Algorithm 1 gives for so many commands in flight."""
    for times, found in ((1, 1.0), (2, 4 / 5), (3, 3 / 4), (4, 2 / 3)):
        if cif < times * threshold:
            return found
    return 1 / (cif // (2 * threshold))
