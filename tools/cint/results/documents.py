# SPDX-License-Identifier: GPL-2.0-or-later
"""The results directory: results.json (versioned), results.csv, logs, plots.

The fields are those of measure/records.py, which ``docs/results.schema.json`` is made
from.  ``schema`` is their version: it grows when a field changes its meaning or goes
away; new fields do not raise it.
"""

from __future__ import annotations

import csv
import json
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, cast

from cint import ask, host, paths, steps
from cint.device import logpage
from cint.errors import CintError, UsageError
from cint.measure import apps, metrics, records, sampling

SCHEMA: Literal[1] = 1
#: The file of a directory of results.
FILE = "results.json"

Document = records.Comparison


def new_directory(kind: str) -> Path:
    """Make a directory for one run in results/, return it; CintError where all are there."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    for suffix in ("", *(f"-{n}" for n in range(2, 100))):
        path = paths.RESULTS / f"{stamp}-{kind}{suffix}"
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        return path
    raise CintError(f"cannot make a new directory in {paths.display(paths.RESULTS)}")


def check_place(out: Path) -> None:
    """Refuse, by UsageError, a directory that can neither be made nor written to."""
    there = out
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir():
        raise UsageError(f"--out {out}: {there} is no directory")
    if not os.access(there, os.W_OK | os.X_OK):
        raise UsageError(f"--out {out}: {there} cannot be written")


def check_empty(out: Path) -> Path:
    """Make a person's own directory; :class:`CintError` of one with something in it."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()):
            raise CintError(f"--out {out}: the directory is not empty",
                            hint="name a new one, or repeat the command that made it")
    except OSError as err:
        raise CintError(f"--out {out}: {err.strerror}") from None
    return out.resolve()


def scale_of_log(log: Path) -> float:
    """The CPU scale of the comparison in whose directory a log is (logs/POLICY/qemu.log); else 1.

    So many times as long as in the comparison's table are the times in the log.
    """
    try:
        document = load(log.resolve().parents[2])
    except (CintError, IndexError):
        return 1.0
    return document["scale"]["k"] if "scale" in document else 1.0


def point_latest(directory: Path) -> None:
    """Let results/latest name ``directory``, wherever it is."""
    inside = directory.parent == paths.RESULTS
    paths.RESULTS.mkdir(parents=True, exist_ok=True)
    steps.link_atomic(paths.RESULTS / "latest", directory.name if inside else str(directory))


# ---- provenance ---------------------------------------------------------

def _output(argv: Sequence[str]) -> str | None:
    try:
        done = ask.run(argv, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 and done.stdout.strip() else None


def tool_version() -> str:
    """`git describe` of this checkout, or ``unknown``."""
    git = ["git", "-C", str(paths.ROOT), "describe", "--always", "--dirty", "--tags"]
    return _output(git) or "unknown"


def qemu_version(qemu: Path = paths.QEMU) -> str:
    """The first line of QEMU's --version."""
    return (_output([str(qemu), "--version"]) or "unknown").splitlines()[0]


def image_versions(initramfs: Path) -> dict[str, object]:
    """The versions of a guest image's programs, and its checksum, as it says itself."""
    manifest = ask.json_of(initramfs.with_name(paths.MANIFEST.name))
    if not manifest:
        return {}
    image = manifest.get("image")
    return {**manifest.get("versions", {}),
            "sha256": image.get("sha256") if isinstance(image, dict) else None}


def host_info() -> records.Host:
    """The machine that ran it."""
    return {"cpu": host.cpu_model(), "cpus": host.cpu_count(), "kernel": platform.release(),
            "memory_mib": host.memory_bytes() >> 20}


def utc_now() -> str:
    """The time now as results.json has it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# ---- files --------------------------------------------------------------

def _hist_dict(hist: logpage.Hist) -> records.Hist:
    """A distribution as results.json has it; bounds because buckets are powers of two wide."""
    return {"count": hist.count, "sum_ns": hist.sum_ns, "max_ns": hist.max_ns,
            "p50_ns": hist.at_most_ns(50), "p99_ns": hist.at_most_ns(99),
            "buckets": list(hist.buckets)}


def sample_dict(one: sampling.Sample) -> records.Sample:
    """One sample as results.json has it: guest time, nothing converted."""
    jobs: dict[str, records.Job] = {
        name: {"ios": j.ios, "iops": j.iops, "mean_ns": j.mean_ns, "runtime_ms": j.runtime_ms,
               "usr_percent": j.usr_percent, "sys_percent": j.sys_percent,
               "bins": [(v, j.bins[v]) for v in sorted(j.bins)]}
        for name, j in one.jobs.items()}
    window: records.Window | None = None if one.window is None else {
        "seconds": one.window.seconds, "even": one.window.even, "rates": dict(one.window.rates)}
    if window and one.window and one.window.total is not None:
        window["total"] = one.window.total
    found: records.Sample = {
        "policy": one.policy, "workload": one.workload, "repeat": one.repeat,
        "seed": one.seed, "group": one.group, "block_ios": one.block_ios, "window": window,
        "elapsed_s": one.elapsed_s, "guest_interrupts": one.guest_interrupts,
        "cpu_share": one.cpu_share, "device": _device_dict(one.device) if one.device else None,
        "jobs": jobs}
    if one.agreement:
        found["agreement"] = {
            "agreed": one.agreement.agreed, "seconds": one.agreement.seconds,
            "errors": {name: job.error for name, job in one.agreement.jobs.items()}}
    if one.said:
        found["said"] = {name: asdict(said) for name, said in one.said.items()}
    return found


def _device_dict(device: sampling.DeviceDelta) -> records.Device:
    return {"cqes": device.cqes, "interrupts": device.interrupts,
            "mean_hold_ns": device.mean_hold_ns,
            "mean_post_to_head_ns": device.post_to_head.mean_ns,
            "avoided": device.avoided, "untold": device.untold,
            "mean_lateness_ns": device.lateness.mean_ns, "lateness": _hist_dict(device.lateness),
            "reasons": dict(device.reasons), "urgent_interrupts": device.urgent_interrupts,
            "hints": dict(device.hints), "sources": dict(device.sources),
            "classes": {name: {"commands": found.commands, "bytes": found.bytes,
                               "wait_ns": found.wait.mean_ns, "cqes": found.cqes,
                               "interrupts": found.interrupts}
                        for name, found in device.classes.items()}}


def write_json(directory: Path, document: Mapping[str, object]) -> Path:
    """Write results.json."""
    path = directory / FILE
    steps.write_atomic(path, json.dumps(document, indent=1) + "\n")
    return path


CSV_COLUMNS = ("workload", "policy", "job", *metrics.NAMES, "spread",
               *(f"{name}_ratio" for name in metrics.RATIOS), "repeats",
               *(f"{name}_{end}" for name in metrics.NAMES for end in ("min", "max")), "engine")


def _csv_row(row: sampling.Row) -> list[str]:
    values = [row.values.get(m) for m in metrics.NAMES]
    ratios = [row.ratios.get(m) for m in metrics.RATIOS]
    ends = [end for m in metrics.NAMES for end in row.range.get(m, (None, None))]
    numbers = [f"{v:.6g}" if v is not None else ""
               for v in [*values, row.spread, *ratios, row.repeats, *ends]]
    return [row.workload, row.policy, row.job or "", *numbers, row.engine]


def write_csv(directory: Path, table: Iterable[sampling.Row]) -> Path:
    """Write results.csv: one line a row, reported units, empty where unknown."""
    path = directory / "results.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(CSV_COLUMNS)
        writer.writerows(_csv_row(row) for row in table)
    return path


def rows_from(document: Document) -> list[sampling.Row]:
    """The rows of a results.json, for plots and comparisons of two runs."""
    return [_row(cast(dict[str, Any], row)) for row in document["rows"]]


def _row(found: Mapping[str, Any]) -> sampling.Row:
    """A row of results.json; what an older one has not is as usual."""
    said = found.get("said", {})
    return sampling.Row(
        values={m: found[m] for m in metrics.NAMES}, agreement=found.get("agreement"),
        said={name: apps.Said(one["value"], one["unit"]) for name, one in said.items()},
        said_ratios={name: one["ratio"] for name, one in said.items()},
        **{name: found[name] for name in sampling.SAME if name in found})


def load(path: Path) -> Document:
    """Read a results.json, or of the directory that has it; CintError where it is none."""
    file = path / FILE if path.is_dir() else path
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as err:
        raise CintError(f"{file}: cannot be read ({err})") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise CintError(f"{file}: not results of schema {SCHEMA}")
    return cast(Document, document)
