# SPDX-License-Identifier: GPL-2.0-or-later
"""The key-value store on the device: its hints as the device counts them, its data verified.

It runs as `cint compare --app` has it; the root needs the package mirror once.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cint import paths

pytestmark = pytest.mark.slow

#: Few enough records that each run is short, a cache that has a quarter of them.
APP = """
programs = ["kvstore"]
size = "300M"
memory = "512M"
prepare = "./kvstore load --records=8000 --reserve=500 $DATA/kv"
run = '''
{run}
'''
"""
KV = "./kvstore run --cache=2m --ops=2000"


def compare(directory: Path, run: str) -> subprocess.CompletedProcess[str]:
    """Type it."""
    (directory / "kv.toml").write_text(APP.format(run=run))
    return subprocess.run(
        [paths.ROOT / "cint", "compare", "--app", directory / "kv.toml", "--policy",
         "default,cint", "--no-plots", "--no-previous", "--json"],
        capture_output=True, text=True, check=False, timeout=900)


def rows(directory: Path, run: str) -> list[dict[str, Any]]:
    """The rows of one that went well."""
    done = compare(directory, run)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    return found


def told(row: dict[str, Any], name: str) -> float:
    """A number that the store told."""
    return float(row["said"][name]["value"])


@pytest.mark.parametrize("letter", "abcdef")
def test_all_that_is_read_is_verified(tmp_path: Path, letter: str) -> None:
    ops = " --ops=300" if letter == "e" else ""
    for row in rows(tmp_path, f"{KV} --workload={letter}{ops} $DATA/kv"):
        assert told(row, "damaged") == 0
        assert told(row, "audited") >= 8000
        assert told(row, "verified") >= 1800
        assert told(row, "batch") > 8


def test_the_last_of_each_batch_is_a_barrier(tmp_path: Path) -> None:
    """By the kernel's rules, and by the store's own flags; `none` marks nothing of it."""
    seen = {}
    for hints in ("kernel", "barrier", "urgent", "none"):
        for row in rows(tmp_path, f"{KV} --workload=c --hints={hints} $DATA/kv"):
            if row["policy"] == "cint":
                seen[hints] = row
    ios = told(seen["kernel"], "reads")
    batches = ios / told(seen["kernel"], "batch")
    for hints in ("kernel", "barrier"):
        assert seen[hints]["hints"]["barrier"] >= 0.99 * batches
        assert seen[hints]["hints"]["barrier"] < 1.2 * batches + 20
    assert seen["urgent"]["hints"]["urgent"] >= 0.9 * ios
    assert seen["none"]["hints"].get("barrier", 0) < 0.1 * batches
    assert seen["kernel"]["ios_per_irq"] > 2 * seen["urgent"]["ios_per_irq"]


def test_data_that_is_damaged_is_found(tmp_path: Path) -> None:
    done = compare(tmp_path, "printf x | dd of=$DATA/kv bs=1 seek=1000000 conv=notrunc\nsync\n"
                             f"{KV} $DATA/kv")
    assert done.returncode == 1
    assert "failed with exit code 1" in done.stderr
    assert "1 items are damaged" in done.stderr
