# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint bench`: what the engine and the device cost, and whether that is what was aimed at."""

import argparse
import csv
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cint import paths, ui
from cint.build import setup
from cint.errors import EXIT_FAILED, EXIT_OK
from cint.results import documents
from cint.selftest import bench
from cint.selftest.bench import Check, DeviceRow, EngineRow

SCHEMA = 1


def _engine_table(rows: Sequence[EngineRow]) -> Iterator[str]:
    yield f"{'engine':<18}{'queues':>8}{'policy':>8}{'complete':>10}{'aim':>6}{'all':>8}" \
          f"{'interrupts':>12}{'ns':>8}"
    for row in rows:
        ns = "-" if row.ns is None else f"{row.ns:.1f}"
        yield f"{row.arm:<18}{row.queues:>8}{row.policy:>8.1f}{row.complete:>10.1f}" \
              f"{bench.aim_of(row.arm):>6}{row.events:>8.1f}{row.interrupts:>12.3f}{ns:>8}"
    slowest = max((row.ns for row in rows if row.ns is not None), default=None)
    if slowest is not None:
        yield f"slowest {slowest:.1f} ns, aim {bench.AIM_NS} ns on an idle machine"


def _device_table(rows: Sequence[DeviceRow]) -> Iterator[str]:
    yield f"{'device':<18}{'hw/nvme':>10}{'QEMU':>10}"
    for row in rows:
        yield f"{row.arm:<18}{row.nvme:>10.1f}{row.qemu:>10.0f}"


def _sizes_table(state: dict[str, int], text: dict[str, int]) -> Iterator[str]:
    parts = ", ".join(f"{name} {size}" for name, size in state.items())
    yield f"state, bytes: {parts}"
    parts = ", ".join(f"{name} {size}" for name, size in sorted(text.items()))
    yield f"code, bytes: {parts}; all {sum(text.values())}"


def _verdict(checks: Sequence[Check]) -> Iterator[str]:
    missed = [check for check in checks if not check.passed]
    for check in missed:
        yield f"MISSED {check.what}: {check.value:.2f} {check.unit}, aim {check.aim:g}"
    yield f"{len(checks) - len(missed)} of {len(checks)} aims met"


def _document(engine: Sequence[EngineRow], device: Sequence[DeviceRow], state: dict[str, int],
              text: dict[str, int], checks: Sequence[Check]) -> dict[str, Any]:
    return {
        "schema": SCHEMA, "kind": "bench", "created": documents.utc_now(),
        "tool": {"version": documents.tool_version()}, "host": documents.host_info(),
        "engine": [asdict(row) for row in engine], "device": [asdict(row) for row in device],
        "state_bytes": state, "text_bytes": text,
        "checks": [{**asdict(check), "passed": check.passed} for check in checks],
    }


def _write_csv(directory: Path, document: dict[str, Any]) -> None:
    with (directory / "results.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("what", "value", "aim", "unit", "passed"))
        writer.writerows((check["what"], f"{check['value']:.6g}", check["aim"], check["unit"],
                          check["passed"]) for check in document["checks"])


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "bench", help="count what the engine and the device cost",
        description="Count the instructions of the engine for a completion under each policy and "
        "of the device for a read (valgrind's callgrind), measure the engine's time, and compare "
        "with the aims. Counts are the same on a busy machine; times are not.",
        epilog="Exit code 1 when an aim is missed. docs/cost.md explains the columns.",
    )
    parser.add_argument("--engine", action="store_true", help="only the engine, without QEMU")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    parser.add_argument("--out", type=Path, metavar="DIR",
                        help="results directory, new or empty (default results/TIME-bench)")


def _measure_engine(jobs: int, done: Callable[[str], None]) -> list[EngineRow]:
    """All bench.arms with all numbers of queues. Times are taken one by one, after the counts."""
    pairs = [(arm, queues) for arm in bench.arms() for queues in bench.QUEUES]
    rows = []
    with ThreadPoolExecutor(max_workers=max(jobs, 1)) as pool:
        for row in pool.map(lambda pair: bench.count_engine(*pair), pairs):
            done(f"{row.arm}, {row.queues} queues")
            rows.append(row)
    return [bench.time_engine(row) for row in rows]


def _measure_device(jobs: int, done: Callable[[str], None]) -> list[DeviceRow]:
    rows = []
    with ThreadPoolExecutor(max_workers=max(jobs, 1)) as pool:
        for row in pool.map(bench.count_device, bench.device_arms()):
            done(row.arm)
            rows.append(row)
    return rows


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    setup.ensure(args, ("engine",) if args.engine else ("engine", "qemu"))
    bench.need_tools()
    directory = documents.new_directory(args.out, "bench")
    jobs = setup.jobs(args)
    with ui.Progress("count the engine's instructions") as progress:
        engine = _measure_engine(jobs, progress.update)
    device: list[DeviceRow] = []
    if not args.engine:
        with ui.Progress("count the device's instructions") as progress:
            device = _measure_device(jobs, progress.update)
    state, text = bench.state_bytes(), bench.text_sizes()
    checks = [*bench.count_checks(engine), *bench.state_checks(state),
              *(bench.device_checks(device) if device else [])]
    document = _document(engine, device, state, text, checks)
    documents.write_json(directory, document)
    _write_csv(directory, document)
    lines = [*_engine_table(engine), "", *(_device_table(device) if device else ()), "",
             *_sizes_table(state, text), "", *_verdict(checks)]
    (directory / "table.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(json.dumps(document, indent=1) if args.json else "\n".join(lines))
    ui.info(f"results: {paths.display(directory)}")
    return EXIT_OK if all(check.passed for check in checks) else EXIT_FAILED
