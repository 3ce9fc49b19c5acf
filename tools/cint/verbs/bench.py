# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint bench`: what the engine and the device cost, and whether that is what was aimed at."""

import argparse
import csv
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cint import paths, ui
from cint.build import setup
from cint.errors import EXIT_FAILED, EXIT_OK
from cint.results import documents
from cint.selftest import aims, bench, load, loadthreads
from cint.selftest.aims import Aimed
from cint.selftest.bench import EngineRow

SCHEMA = 4


def _engine_table(rows: Sequence[EngineRow]) -> Iterator[str]:
    yield f"{'engine':<18}{'queues':>8}{'policy':>8}{'complete':>10}{'aim':>6}" \
          f"{'submit':>8}{'all':>8}{'interrupts':>12}{'ns':>8}"
    for row in rows:
        ns = "-" if row.ns is None else f"{row.ns:.1f}"
        yield f"{row.arm:<18}{row.queues:>8}{row.policy:>8.1f}{row.complete:>10.1f}" \
              f"{bench.aim_of(row.arm):>6}{row.submit:>8.1f}{row.events:>8.1f}" \
              f"{row.interrupts:>12.3f}{ns:>8}"
    slowest = max((row.ns for row in rows if row.ns is not None), default=None)
    if slowest is not None:
        yield f"slowest {slowest:.1f} ns, aim {bench.AIM_NS} ns on an idle machine"


def _sizes_table(state: dict[str, int], text: dict[str, int]) -> Iterator[str]:
    parts = ", ".join(f"{name} {size}" for name, size in state.items())
    yield f"state, bytes: {parts}"
    parts = ", ".join(f"{name} {size}" for name, size in sorted(text.items()))
    yield f"code, bytes: {parts}; all {sum(text.values())}"


def _write_csv(directory: Path, checks: Sequence[Aimed]) -> None:
    with (directory / "results.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("what", "value", "aim", "at_least", "unit", "passed", "expected"))
        writer.writerows((check.what, f"{check.value:.6g}", check.aim, check.at_least, check.unit,
                          check.passed, check.expected) for check in checks)


def declare(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Count the instructions of the engine for a completion under each policy and "
        "of the device for a read (valgrind's callgrind), time both, and compare with the aims. "
        "The device's load comes from a generator in place of a guest, for nvme and virtio-blk "
        "alike, in builds of QEMU made for that. Counts are the same on a busy machine; times are "
        "not, and are compared as ratios within a round.")
    parser.epilog = (
        "Exit code 1 when an aim is missed by more than is known. docs/cost.md explains "
        "the columns, and the aims that are known to be missed.")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--engine", action="store_true", help="only the engine, without QEMU")
    part.add_argument("--device", action="store_true", help="only the device")
    parser.add_argument("--counts", action="store_true",
                        help="count the device's instructions, but do not time it")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    parser.add_argument("--out", type=Path, metavar="DIR",
                        help="results directory, new or empty (default results/TIME-bench)")


@dataclass
class Report:
    """The measurement: rows by kind, checks and printed lines."""

    document: dict[str, Any]
    checks: list[Aimed]
    lines: list[str]


def _measure_engine(jobs: int, done: Callable[[str], None]) -> list[EngineRow]:
    """All arms with all numbers of queues. Times are taken one by one, after the counts."""
    pairs = [(arm, queues) for arm in bench.arms() for queues in bench.QUEUES]
    rows = []
    with ThreadPoolExecutor(max_workers=max(jobs, 1)) as pool:
        for row in pool.map(lambda pair: bench.count_engine(*pair), pairs):
            done(f"{row.arm}, {row.queues} queues")
            rows.append(row)
    return [bench.time_engine(row) for row in rows]


def _engine(jobs: int) -> Report:
    with ui.Progress("count the engine's instructions") as progress:
        rows = _measure_engine(jobs, progress.update)
    state, text = bench.state_bytes(), bench.text_sizes()
    return Report({"engine": [asdict(row) for row in rows], "state_bytes": state,
                   "text_bytes": text},
                  [*bench.count_checks(rows), *bench.state_checks(state)],
                  [*_engine_table(rows), "", *_sizes_table(state, text), ""])


def _device_counts(jobs: int) -> Report:
    with ui.Progress("count the device's instructions") as progress:
        rows = load.count_all(jobs, progress.update)
    return Report({"device_counts": [asdict(row) for row in rows]}, load.count_checks(rows),
                  [*load.count_table(rows), "", *load.parts_table(rows), ""])


def _device_speeds(_jobs: int) -> Report:
    with ui.Progress("time the device") as progress:
        rows = load.time_all(progress.update)
    return Report({"device_speeds": [asdict(row) for row in rows]}, load.speed_checks(rows),
                  [*load.speed_table(rows), ""])


def _device_threads(_jobs: int) -> Report:
    with ui.Progress("time IOThreads") as progress:
        rows = loadthreads.time_all(progress.update)
    return Report({"device_threads": [asdict(row) for row in rows]}, loadthreads.checks(rows),
                  [*loadthreads.table(rows), ""])


def _parts(args: argparse.Namespace) -> list[tuple[str, Callable[[int], Report]]]:
    """What is measured, and what has to be built for each."""
    engine = [] if args.device else [("engine", _engine)]
    counts = [] if args.engine else [("qemu-bench", _device_counts)]
    speeds = [] if args.engine or args.counts else [("qemu-bench", _device_speeds),
                                                    ("qemu-bench", _device_threads)]
    return [*engine, *counts, *speeds]


def run(args: argparse.Namespace) -> int:
    parts = _parts(args)
    setup.ensure(args, list(dict.fromkeys(target for target, _ in parts)), ("counting",))
    bench.need_tools()
    directory = documents.check_empty(args.out) if args.out else documents.new_directory("bench")
    reports = [measure(setup.jobs(args)) for _, measure in parts]
    checks = [check for report in reports for check in report.checks]
    document = {
        "schema": SCHEMA, "kind": "bench", "created": documents.utc_now(),
        "tool": {"version": documents.tool_version()}, "host": documents.host_info(),
        **{key: value for report in reports for key, value in report.document.items()},
        "checks": [{**asdict(check), "passed": check.passed, "expected": check.expected}
                   for check in checks],
    }
    documents.write_json(directory, document)
    _write_csv(directory, checks)
    lines = [*(line for report in reports for line in report.lines), *aims.verdict(checks)]
    (directory / "table.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(json.dumps(document, indent=1) if args.json else "\n".join(lines))
    ui.info(f"results: {paths.display(directory)}")
    return EXIT_OK if all(check.expected for check in checks) else EXIT_FAILED
