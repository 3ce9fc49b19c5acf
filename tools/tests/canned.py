# SPDX-License-Identifier: GPL-2.0-or-later
"""Made-up agent messages, fio results and log pages for the tests."""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from cint.device import logpage
from cint.measure import boots, comparison
from cint.measure.arms import Arm
from cint.measure.settings import Settings

INTERRUPTS = """\
           CPU0       CPU1
  0:         30          0   IO-APIC   2-edge      timer
 24:         11          2  PCI-MSIX-0000:00:03.0   0-edge      nvme0q0
 25:       {q1}          5  PCI-MSIX-0000:00:03.0   1-edge      nvme0q1
 26:          0          1  PCI-MSIX-0000:00:03.0   2-edge      nvme0q2
 27:          4          0  PCI-MSIX-0000:00:04.0   0-edge      virtio0-config
 28:         99          0  PCI-MSIX-0000:00:05.0   1-edge      nvme1q1
LOC:       4711          0   Local timer interrupts
"""
STAT = "cpu  10 0 20 {idle} 5 0 1 0 0 0\ncpu0 10 0 20 {idle} 5 0 1 0 0 0\nintr 1 2 3\n"


def guest(settings: Settings, arm: Arm | None = None, repeat: int = 0) -> boots.Guest:
    """A comparison's guest, by default that of the first row."""
    return boots.guest_for("a guest", settings, arm or settings.arms[0],
                           comparison.rounds_for(settings, repeat))


def hist(values: Mapping[int, int]) -> bytes:
    """A NvmeCintHist of value -> count."""
    buckets = [0] * logpage.HIST_BUCKETS
    for value, count in values.items():
        buckets[min(value.bit_length(), logpage.HIST_BUCKETS - 1)] += count
    total = sum(v * c for v, c in values.items())
    return struct.pack(f"<QQ{logpage.HIST_BUCKETS}Q", total, max(values, default=0), *buckets)


def record(cqid: int, cqes: int, irqs: int, hold: Mapping[int, int] | None = None,
           reasons: Mapping[int, int] | None = None, *, urgent: int = 0,
           answers: Sequence[int] = (0,) * 5) -> bytes:
    """A NvmeCintLogRecord; ``urgent`` of the commands have that hint, in CDW0."""
    head = struct.pack("<HHBBHIIQII", cqid, cqid, 2, 1, 0, 1024, 0, 18000, 32, 0)
    counters = struct.pack("<12Q", cqes, irqs, 0, *([0] * 9))
    hints = struct.pack("<8Q", cqes - urgent, urgent, 0, 0, urgent, 0, 0, 0)
    by_reason = [0] * len(logpage.RECORD["irqs_by_reason"].codes)
    for number, count in (reasons or {4: irqs}).items():
        by_reason[number] = count
    empty = hist({})
    body = (head + counters + hints + struct.pack("<32Q", *by_reason) + hist(hold or {})
            + empty * 2 + empty * 3 + empty + empty + struct.pack("<6Q", 0, *answers))
    return body.ljust(logpage.RECORD_SIZE, b"\0")


def submission_queue(sqid: int, commands: int, moved: int,
                     wait: Mapping[int, int] | None = None, *, priority: int = 0) -> bytes:
    """A NvmeCintLogSq of the CQ with the same number."""
    head = struct.pack("<HHB3xIIQQ", sqid, sqid, priority, 1024, 0, commands, moved)
    body = head.ljust(64, b"\0") + hist(wait or {0: commands})
    return body.ljust(logpage.SQ_RECORD_SIZE, b"\0")


def log(*records: bytes, version: int = 1, sqs: Sequence[bytes] = ()) -> bytes:
    """A whole log page."""
    header = struct.pack("<4sHHIHBBQQIH", b"CINT", version, 64, logpage.RECORD_SIZE, len(records),
                         2, 1, 12345, 0, logpage.SQ_RECORD_SIZE, len(sqs))
    return header.ljust(64, b"\0") + b"".join(records) + b"".join(sqs)


def snap(at_ns: int, q1: int, idle: int, page: bytes | None = None) -> dict[str, Any]:
    """A SNAP object."""
    return {"monotonic_ns": at_ns, "interrupts": INTERRUPTS.format(q1=q1),
            "stat": STAT.format(idle=idle),
            "nvme_log": base64.b64encode(page).decode() if page else None}


def fio_job(name: str, iops: float, bins: Mapping[int, int], error: int = 0) -> dict[str, Any]:
    """One entry of fio's "jobs"."""
    count = sum(bins.values())
    mean = sum(v * c for v, c in bins.items()) / count if count else 0.0
    empty = {"total_ios": 0, "iops": 0.0, "runtime": 0, "lat_ns": {"mean": 0.0}}
    read = {"total_ios": count, "iops": iops, "runtime": 1000,
            "lat_ns": {"mean": mean, "bins": {str(v): c for v, c in bins.items()}},
            "clat_ns": {"mean": mean}}
    return {"jobname": name, "error": error, "read": read if count else empty, "write": empty,
            "trim": empty, "sync": {"total_ios": 0}, "usr_cpu": 10.0, "sys_cpu": 20.0}


def fio(*jobs: dict[str, Any]) -> dict[str, Any]:
    """fio's JSON document."""
    return {"fio version": "fio-3.33", "jobs": list(jobs)}


def result(name: str, document: Any, before: Any, after: Any, **more: Any) -> dict[str, Any]:
    """A result message."""
    return {"type": "result", "name": name, "exit": 0, "signal": None, "timed_out": False,
            "stdout": "", "stderr": "", "fio": document, "before": before, "after": after,
            "elapsed_s": 1.0} | more


def sync_result(name: str, iops: float = 50_000.0, lat_ns: int = 20_000,
                irqs: int = 1000) -> dict[str, Any]:
    """A result of a workload named ``name`` with 1000 I/Os on a cint device."""
    page = log(record(0, 500, 500), record(1, 1000, irqs, {3000: 1000}, urgent=10))
    jobs = [fio_job("sync", iops, {lat_ns: 990, 2 * lat_ns: 10})]
    if name.startswith("mixed"):
        jobs.insert(0, fio_job("async", iops, {3 * lat_ns: 1000}))
    return result(name, fio(*jobs), snap(0, 100, 0, log(record(0, 400, 400))),
                  snap(1_000_000_000, 100 + irqs, 100, page))
