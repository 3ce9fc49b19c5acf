# SPDX-License-Identifier: GPL-2.0-or-later
"""The policy of docs/own-policy.md in guests: a copy of the tree builds its QEMU and measures."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from testkit import own_policy

from cint import paths

pytestmark = pytest.mark.slow

#: What a policy does not change is that of this tree.
TAKEN = ("venv", "kernel", "guest", "fio", "accel", "matplotlib")
BUILD = ("import os, sys; sys.path.insert(0, 'tools'); from cint.build import qemu; "
         "qemu.build(None, os.cpu_count() or 1)")
#: `./cint compare` without a look at what is built: paths in the stamps are this tree's.
COMPARE = ("import sys; sys.path.insert(0, 'tools'); from cint.build import setup; "
           "setup.ensure = lambda *words, **more: None; from cint.cli import main; "
           "sys.exit(main(sys.argv[1:]))")
POLICIES = "default,adaptive,half,half:thr=8"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy with the policy and a QEMU that has it."""
    target = tmp_path_factory.mktemp("half") / "cint"
    own_policy.copy_tree(target)
    own_policy.add(target)
    build = target / "build"
    build.mkdir()
    for name in TAKEN:
        if (paths.BUILD / name).exists():
            (build / name).symlink_to(paths.BUILD / name)
    shutil.copytree(paths.STAMPS, build / "stamps", ignore=shutil.ignore_patterns("qemu*"))
    done = own_policy.verb(target, code=BUILD, seconds=3600)
    assert done.returncode == 0, done.stderr[-3000:]
    yield target
    # Source and build are gigabytes.
    shutil.rmtree(target, ignore_errors=True)


def value(rows: Sequence[Mapping[str, Any]], workload: str, policy: str, name: str) -> float:
    """One number of the results."""
    [found] = [row[name] for row in rows
               if (row["workload"], row["policy"], row["job"]) == (workload, policy, None)]
    return float(found)


def check(rows: Sequence[Mapping[str, Any]]) -> None:
    """A lone command has its interrupt at once; with many in flight interrupts are saved."""
    for name in ("iops", "mean_us", "ios_per_irq"):
        assert value(rows, "sync", "half", name) == value(rows, "sync", "default", name)
    reasons = {(row["workload"], row["policy"]): set(row["reasons"]) for row in rows}
    assert reasons["sync", "half"] == {"ratio"} and reasons["async", "half"] == {"ratio", "time"}
    merged = [value(rows, "async", policy, "ios_per_irq")
              for policy in ("default", "half", "adaptive")]
    assert merged[0] == 1 and merged == sorted(set(merged))
    assert value(rows, "async", "half:thr=8", "ios_per_irq") <= 8
    assert value(rows, "async", "half", "iops") > value(rows, "async", "default", "iops")
    # Its timer is delta, 6 us from the first that waits.
    assert 0 < value(rows, "async", "half", "hold_us") <= 6


def test_compare_has_its_rows_and_marks(tree: Path) -> None:
    words = ("compare", "--policy", POLICIES, "--workload", "sync,async", "--runtime", "20ms",
             "--out", "compared", "--no-previous")
    done = own_policy.verb(tree, *words, code=COMPARE, seconds=3600)
    assert done.returncode == 0, done.stderr[-3000:]
    check(json.loads((tree / "compared/results.json").read_text("utf-8"))["rows"])
    assert "half:thr=8" in done.stdout
    assert ">half<" in (tree / "compared/report.html").read_text("utf-8")
    assert (tree / "compared/tradeoff.png").exists()


def test_a_papers_figure_has_it(tree: Path) -> None:
    """Its bars are beside the paper's policies', which are as they are without it."""
    done = own_policy.verb(tree, "figure", "cint-fig8", "--policy", "half", "--quick", "--out",
                           "figure", code=COMPARE, seconds=3600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    entry, = json.loads((tree / "figure/figures.json").read_text("utf-8"))["figures"]
    lone = {name: cells["sync"][0] for name, cells in entry["data"]["cells"].items()
            if "sync" in cells}
    assert list(lone) == ["default", "static100", "static20", "static6", "adaptive", "half"]
    assert lone["half"]["mean_us"] == lone["default"]["mean_us"] < lone["static6"]["mean_us"]
    assert {check["verdict"] for check in entry["checks"]} <= {"quick", "expected-fail"}
    assert (tree / "figure/cint-fig8.svg").read_text("utf-8").count(">half<") == 3
