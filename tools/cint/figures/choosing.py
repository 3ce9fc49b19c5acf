# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, section 5.2: how delta and thr are chosen (Figures 18 and 19)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from cint.device import logpage, scale
from cint.errors import CintError
from cint.figures.base import Failure, Figure, Points, at_least, at_most, near
from cint.guest import agent, session
from cint.measure import comparison
from cint.measure.workloads import Workload, async_job, common


def _job(name: str, batch: int, runtime: float) -> Workload:
    """J-AIO(256,batch,batch)."""
    text = common(f"{runtime:g}s", f"{runtime / 5:g}s") + async_job(256, batch, batch)
    return Workload(name, f"libaio 4k random reads, depth 256, {name}", text, own=True)


def _jobs(runtime: float) -> dict[str, Workload]:
    return {"unbatched": _job("unbatched", 1, runtime), "batched": _job("batched", 16, runtime)}


# ---- Figure 18 -----------------------------------------------------------

#: The trace event that says when, by the device's own clock, a command is
#: done.  (A trace line's own time stamp is of the host.)
EVENT = "pci_nvme_cint_media"
_DUE = re.compile(rf"\b{EVENT} cqid (\d+) .*\bdue (\d+)")


def due_times(text: str, first_ns: int, last_ns: int) -> list[int]:
    """Completion times (device ns, sorted) of I/O commands in a trace and a span of time."""
    found = (match for match in map(_DUE.search, text.splitlines()) if match)
    times = [int(m[2]) for m in found if m[1] != "0"]
    return sorted(t for t in times if first_ns <= t <= last_ns)


def gaps_us(times: Sequence[int], k: float) -> list[float]:
    """Times between completions, reported us, sorted."""
    return sorted(scale.report_time(b - a, k) / 1000 for a, b in pairwise(times))


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest of the sorted ``values`` that is not below ``share`` of them."""
    if not values:
        raise CintError(f"no {EVENT} lines in the trace of the job's time")
    return values[min(int(share * len(values)), len(values) - 1)]


def measured_gaps(figure: Figure, outcome: session.Outcome, log: Path) -> dict[str, list[float]]:
    """The gaps of each workload of one guest; ``log`` is its qemu.log."""
    text = log.read_text(encoding="utf-8", errors="replace")
    gaps = {}
    for workload in figure.workloads:
        message = outcome.results[comparison.job_name(workload, 0)]
        first, last = (_device_time(message.get(edge)) for edge in ("before", "after"))
        gaps[workload.name] = gaps_us(due_times(text, first, last), figure.cpu_scale)
    return gaps


def _device_time(snap: object) -> int:
    page = agent.parse_snapshot(snap).nvme_log
    if page is None:
        raise CintError("the guest's snapshot has no log page D0h")
    return logpage.decode(page).time_ns


def check_gaps(gaps: Mapping[str, Sequence[float]]) -> list[Failure]:
    """Completions of a batched load come in bursts: p90 of the gaps is a third or less."""
    batched, single = (quantile(gaps[name], 0.9) for name in ("batched", "unbatched"))
    return at_most("p90 of the gaps, batched against unbatched", batched / single, 1 / 3)


def check_delta(points: Points) -> list[Failure]:
    """With delta = p90 of the unbatched gaps, adaptive merges 8 I/Os or more."""
    return [f for point in points.values()
            for f in at_least("I/Os per interrupt with delta = p90", 1 / point.irqs_per_io, 8)]


def _no_points(_points: Points) -> list[Failure]:
    return []


#: Gaps are read from the trace: see measured_gaps and check_gaps.
FIG18 = Figure("cint-fig18", "gaps between completions", "default",
               list(_jobs(0.05).values()), "optane", _no_points, trace=(EVENT,))


def fig18_delta(delta_us: float) -> Figure:
    """The second half of Figure 18: the delta that was found, at work."""
    return Figure("cint-fig18-delta", "adaptive with the delta found",
                  f"adaptive:delta={delta_us:.3f}us", [_jobs(0.1)["unbatched"]], "optane",
                  check_delta)


# ---- Figure 19 -----------------------------------------------------------

THRESHOLDS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 255)


def _policy(thr: int) -> str:
    return f"adaptive:thr={thr}"


def check_plateau(points: Points, job: str) -> list[Failure]:
    """Throughput levels out at thr 16 to 32, well above that of thr 1, which is thr 0's."""
    iops = {thr: points[_policy(thr), job].iops for thr in THRESHOLDS}
    return [*near(f"{job}: IOPS of thr 1 against thr 0", iops[1] / iops[0], 1, 0.02),
            *at_least(f"{job}: IOPS of thr 16 against thr 32", iops[16] / iops[32], 0.97),
            *at_least(f"{job}: IOPS of thr 32 against thr 1", iops[32] / iops[1], 1.2)]


def check_merged(points: Points, job: str, thr: int) -> list[Failure]:
    """I/Os per interrupt are at most thr and, to thr 8, at least 0.85 of it."""
    merged = 1 / points[_policy(thr), job].irqs_per_io
    claim = f"{job}: I/Os per interrupt at thr {thr}"
    # One in a thousand: the job's edges cut a burst.
    return [*at_most(claim, merged, max(thr, 1) * 1.001),
            *(at_least(claim, merged, 0.85 * thr) if thr <= 8 else [])]


def check_fig19(points: Points, job: str) -> list[Failure]:
    """All claims on one job."""
    return [*check_plateau(points, job),
            *(f for thr in THRESHOLDS for f in check_merged(points, job, thr))]


FIG19 = Figure("cint-fig19", "thr swept", ",".join(map(_policy, THRESHOLDS)),
               list(_jobs(0.1).values()), "optane",
               lambda points: [*check_fig19(points, "batched"),
                               *check_fig19(points, "unbatched")])

