# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint calibrate`: measure the guest's cost per I/O and per interrupt."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from cint import paths, ui
from cint.errors import EXIT_OK
from cint.measure import calibration, dispatch, published, runner
from cint.measure.calibration import Fit, Point
from cint.measure.settings import CALIBRATED, DEFAULT_COST_NS, DEFAULT_SCALE
from cint.measure.store import Store
from cint.options import store as store_options
from cint.results import documents, table


def declare(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Measure what an I/O and an interrupt cost the guest, in virtual time, and "
        "propose --cpu-scale and --irq-cost for ./cint compare. The pair that is measured for this "
        "tree is part of it: --cpu-scale calibrated --irq-cost calibrated; ./cint test measures it "
        "again.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--quick", action="store_true", help="shorter jobs")
    store_options.add_store_options(parser)
    store_options.add_cluster_option(parser)


def document_for(points: Sequence[Point], found: Fit) -> dict[str, Any]:
    """The document of --json."""
    return {"schema": documents.SCHEMA, "kind": "calibration", "created": documents.utc_now(),
            "tool": {"version": documents.tool_version()}, "host": documents.host_info(),
            "versions": {"qemu": documents.qemu_version()},
            "points": [asdict(p) for p in points],
            "c_io_ns": round(found.c_io_ns, 1), "c_irq_ns": round(found.c_irq_ns, 1),
            "worst_residual": round(found.worst, 4),
            "papers": {"c_io_ns": calibration.PAPER_IO_NS, "c_irq_ns": calibration.PAPER_IRQ_NS,
                       "costs_ns": asdict(published.costs()),
                       "residuals": {row.what: round(row.left(published.costs()), 4)
                                     for row in published.ROWS}},
            "proposal": calibration.proposal(found),
            "calibrated": CALIBRATED,
            "defaults": {"cpu_scale": DEFAULT_SCALE, "irq_cost_ns": DEFAULT_COST_NS}}


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
        "papers' machine, from all that is published of it: an I/O takes {batched:.0f} ns in "
        "batches of 16, {single:.0f} one by one, {waited:.0f} for a thread that waits; an "
        "interrupt {interrupt:.0f}".format(**papers["costs_ns"]),
        *(f"  {100 * left:+5.1f} %  {what}" for what, left in papers["residuals"].items()),
        f"proposal: --cpu-scale {offer['cpu_scale']:g} --irq-cost {offer['irq_cost_ns']:g} "
        f"(defaults: {DEFAULT_SCALE:g} and {DEFAULT_COST_NS})",
        f"this tree's pair: {CALIBRATED['cpu_scale']:g} and {CALIBRATED['irq_cost_ns']:g}; use it: "
        "./cint compare --cpu-scale calibrated --irq-cost calibrated"])


def run(args: argparse.Namespace) -> int:
    from cint.build import setup  # noqa: PLC0415 - slow to import, and not for --help

    store_options.check(args)
    setup.ensure(args, ("qemu", "linux", "image"))
    runtime_s = calibration.QUICK_RUNTIME_S if args.quick else calibration.RUNTIME_S
    logs = paths.LOGS / "calibrate"
    made = [calibration.run_for(thr, runtime_s) for thr in calibration.THRESHOLDS]
    runs, reuse = [run for run, _ in made], store_options.reuse_from(args)
    with ui.Progress(f"calibrate: {len(runs)} guests"):
        done = list(dispatch.run_here(runs, made[0][1],
                                      lambda run: logs / run.name.replace(" ", ""),
                                      store=Store(), reuse=reuse, cluster=args.cluster))
    if taken := runner.summary(done, reuse):
        ui.info(taken)
    outcomes = runner.outcomes(done)
    points = [calibration.point(thr, o)
              for thr, o in zip(calibration.THRESHOLDS, outcomes, strict=True)]
    idle = [p for p in points
            if p.cpu_share is not None and p.cpu_share < calibration.MIN_CPU_SHARE]
    if idle:
        ui.warn(f"the guest's CPU was not busy all the time (thr {idle[0].thr}); "
                "the costs are too high")
    document = document_for(points, calibration.fit(points))
    print(json.dumps(document, indent=1) if args.json else text_for(document))
    return EXIT_OK
