# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint calibrate`: the guest's cost per I/O and per interrupt.

A CPU-bound load does 1 / (c_io + c_irq / b) I/Os a second, where b is the
number of I/Os per interrupt that the guest takes.  The threshold of the
adaptive policy sets b.  A straight line through (1/b, time per I/O) has c_io
as its start and c_irq as its slope.  The measurement is made without scaling
and without an added interrupt cost, in virtual time.

The medium must be faster than the guest, or the load is not CPU-bound; but its
completions must come one by one, or their interrupts merge in the guest and b
does not vary.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cint import agent, device, measure, paths, results, session, table, ui, vm, workloads
from cint.errors import EXIT_OK, CintError
from cint.settings import CALIBRATION_FILE, DEFAULT_COST_NS, DEFAULT_SCALE
from cint.workloads import Timing

# Bare metal, from the papers' throughput figures: time per I/O without
# interrupts and time per interrupt.
PAPER_IO_NS = 2450.0
PAPER_IRQ_NS = 800.0
THRESHOLDS = (1, 2, 4, 8, 16)
RUNTIME_S = 0.5
QUICK_RUNTIME_S = 0.1
MIN_CPU_SHARE = 0.95
# A 4 KiB completion each 3 us: the guest needs 6 to 9 us for an I/O and less
# than 2 us for an interrupt.
MEDIA = "custom:read-latency=1us,read-bandwidth=1365333333"
# Longer than any gap within a batch: thr alone decides, and the rest of a
# batch whose head was reaped early is not stranded.
DELTA = "100us"


@dataclass(frozen=True)
class Point:
    """One measurement; guest time.  ``ios_per_irq`` is by the guest's count."""

    thr: int
    ios_per_irq: float
    ns_per_io: float
    cpu_share: float | None


@dataclass(frozen=True)
class Fit:
    """The line through the points; ``worst`` is the largest relative residual."""

    c_io_ns: float
    c_irq_ns: float
    worst: float


def fit(points: Sequence[Point]) -> Fit:
    """Least squares of ns_per_io over 1/b; raise when it says nothing."""
    shares = [1 / p.ios_per_irq for p in points]
    times = [p.ns_per_io for p in points]
    if len(points) < 2 or max(shares) - min(shares) < 0.1:
        raise CintError("calibration: the I/Os per interrupt did not vary, nothing can be fitted",
                        hint="is the device's policy 'adaptive' working? try ./cint test guest")
    slope, start = statistics.linear_regression(shares, times)
    worst = max(abs(start + slope * s - t) / t for s, t in zip(shares, times, strict=True))
    return Fit(start, slope, worst)


def proposal(found: Fit) -> dict[str, float]:
    """Scale and cost that make the guest look like the papers' machines.

    The cost is what the guest's own interrupt lacks, in reported ns.
    """
    k = found.c_io_ns / PAPER_IO_NS
    return {"cpu_scale": round(k, 3),
            "irq_cost_ns": max(0, round(PAPER_IRQ_NS - found.c_irq_ns / k))}


def job_text(runtime_s: float) -> str:
    """J-AIO(256,16,16) as the comparison runs it."""
    return workloads.render(workloads.BUILT_IN["async"], Timing(runtime_s, runtime_s / 10), 1)


def task_for(thr: int, runtime_s: float, logs: Path) -> session.Task:
    """The guest for one threshold."""
    policy = device.parse_policy(f"adaptive:delta={DELTA},thr={thr}")
    props = device.device_properties(policy, device.parse_media(MEDIA), 1, virtual=True)
    plan = agent.Plan((agent.Job("async", fio=job_text(runtime_s), args=("--eta=never",)),))
    return session.Task(f"thr {thr}", vm.Machine(props), plan, logs / f"thr{thr}", runtime_s)


def point(thr: int, outcome: session.Outcome) -> Point:
    """Read one guest's result."""
    one = measure.sample("adaptive", "async", 0, outcome.results["async"], 1)
    if one.device is None or not one.device.cqes or not one.iops:
        raise CintError("calibration: the device has no counters (log page D0h)",
                        hint="run ./cint build")
    return Point(thr, one.device.cqes / max(one.guest_interrupts, 1), 1e9 / one.iops,
                 one.cpu_share)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "calibrate", help="measure the guest's cost per I/O and per interrupt",
        description="Measure what an I/O and an interrupt cost the guest, in virtual time, and "
        "propose --cpu-scale and --irq-cost for ./cint compare. The result is stored; compare "
        "uses it only with --cpu-scale calibrated and --irq-cost calibrated.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--quick", action="store_true", help="shorter jobs")


def document_for(points: Sequence[Point], found: Fit) -> dict[str, Any]:
    """What is stored and printed with --json."""
    return {"schema": results.SCHEMA, "kind": "calibration", "created": results.utc_now(),
            "tool": {"version": results.tool_version()}, "host": results.host_info(),
            "versions": {"qemu": results.qemu_version()},
            "points": [asdict(p) for p in points],
            "c_io_ns": round(found.c_io_ns, 1), "c_irq_ns": round(found.c_irq_ns, 1),
            "worst_residual": round(found.worst, 4),
            "papers": {"c_io_ns": PAPER_IO_NS, "c_irq_ns": PAPER_IRQ_NS},
            "proposal": proposal(found),
            "defaults": {"cpu_scale": DEFAULT_SCALE, "irq_cost_ns": DEFAULT_COST_NS}}


def store(document: dict[str, Any]) -> None:
    """Keep the result for compare."""
    CALIBRATION_FILE.parent.mkdir(parents=True, exist_ok=True)
    temporary = CALIBRATION_FILE.with_suffix(".tmp")
    temporary.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    temporary.replace(CALIBRATION_FILE)


def text_for(document: dict[str, Any]) -> str:
    """The report for a person."""
    lines = ["   thr   I/Os per irq   guest ns per I/O   CPU %"]
    for p in document["points"]:
        share = None if p["cpu_share"] is None else 100 * p["cpu_share"]
        lines.append(f"{p['thr']:6d}{p['ios_per_irq']:15.2f}{p['ns_per_io']:19.1f}"
                     f"{table.number(share):>8}")
    offer, papers = document["proposal"], document["papers"]
    return "\n".join([
        *lines, "",
        "time per I/O = c_io + c_irq / (I/Os per interrupt); "
        f"largest deviation {100 * document['worst_residual']:.1f} %",
        f"c_io   {document['c_io_ns']:8.0f} ns in the guest; papers' machine "
        f"{papers['c_io_ns']:.0f} ns",
        f"c_irq  {document['c_irq_ns']:8.0f} ns in the guest; papers' machine "
        f"{papers['c_irq_ns']:.0f} ns",
        f"proposal: --cpu-scale {offer['cpu_scale']:g} --irq-cost {offer['irq_cost_ns']:g} "
        f"(defaults: {DEFAULT_SCALE:g} and {DEFAULT_COST_NS})",
        "use it:   ./cint compare --cpu-scale calibrated --irq-cost calibrated",
        f"stored:   {paths.display(CALIBRATION_FILE)}"])


def run(args: argparse.Namespace) -> int:
    """Run the verb; the exit code."""
    from cint import setup  # noqa: PLC0415 - slow to import, and not for --help

    setup.ensure(args, ("qemu", "linux", "image"))
    runtime_s = QUICK_RUNTIME_S if args.quick else RUNTIME_S
    logs = paths.LOGS / "calibrate"
    tasks = [task_for(thr, runtime_s, logs) for thr in THRESHOLDS]
    with ui.Progress(f"calibrate: {len(tasks)} guests"):
        outcomes = session.run_tasks(tasks, session.workers(True, len(tasks)))
    points = [point(thr, o) for thr, o in zip(THRESHOLDS, outcomes, strict=True)]
    idle = [p for p in points if p.cpu_share is not None and p.cpu_share < MIN_CPU_SHARE]
    if idle:
        ui.warn(f"the guest's CPU was not busy all the time (thr {idle[0].thr}); "
                "the costs are too high")
    document = document_for(points, fit(points))
    store(document)
    print(json.dumps(document, indent=1) if args.json else text_for(document))
    return EXIT_OK
