# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint compare --app`: a program in a Debian of its own, on both file systems, to the end.

The root needs the package mirror once; a disk takes half a minute.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cint import paths

pytestmark = pytest.mark.slow

#: Data that is prepared once, changed by the run, and asked for: what is written is lost.
APP = """
filesystem = "{filesystem}"
size = "600M"
copy = ["seen"]
prepare = '''
echo prepared > $DATA/word
head -c 8388608 /dev/zero > $DATA/file
'''
run = '''
[ "$(cat $DATA/word)" = prepared ] && [ "$(cat seen)" = here ] || exit 9
[ "$(stat -f -c %T $DATA)" = {type} ] || exit 8
echo written > $DATA/word
dd if=$DATA/file of=/dev/null bs=4k count=500 iflag=direct 2> /dev/null
{more}
echo cint-metric reads 500
echo cint-metric uptime $(cut -d. -f1 /proc/uptime) s
'''
limit = "30s"
"""


def compare(directory: Path, text: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Type it."""
    (directory / "seen").write_text("here\n")
    (directory / "mine.toml").write_text(text)
    return subprocess.run(
        [paths.ROOT / "cint", "compare", "--app", directory / "mine.toml", "--policy",
         "default,cint", "--no-plots", "--no-previous", "--json", *more],
        capture_output=True, text=True, check=False, timeout=900)


def result(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The document of one that went well."""
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.parametrize(("filesystem", "kind"), [("ext4", "ext2/ext3"), ("xfs", "xfs")])
def test_a_program_runs_on_its_disk_and_leaves_it_as_it_was(tmp_path: Path, filesystem: str,
                                                            kind: str) -> None:
    text = APP.format(filesystem=filesystem, type=kind, more="")
    first = result(compare(tmp_path, text, "--fresh"))
    for row in first["rows"]:
        assert row["said"]["reads"] == {"value": 500, "unit": "", "ratio": 1}
    assert all(one["block_ios"] >= 500 for one in first["samples"])
    again = result(compare(tmp_path, text, "--fresh"))
    for one in (first, again):
        assert {run["source"] for run in one["runs"]} <= {"run", "checked"}
    assert [one["samples"] for one in (first, again)].count(first["samples"]) == 2
    assert {run["source"] for run in result(compare(tmp_path, text))["runs"]} == {"store"}


@pytest.mark.parametrize(("more", "said"), [
    ("exit 3", "failed with exit code 3"),
    ("false", "failed with exit code 1"),
    ("head -c 300000 /dev/zero | tr '\\0' x", "it printed more than 256 KiB"),
    ("head -c 900m /dev/zero > $DATA/much || exit 4", "No space left on device"),
    ("echo cint-metric bad x us", "x is no number"),
    ("sleep 40", "did not end within its time limit")])
def test_what_goes_wrong_is_said_in_a_line(tmp_path: Path, more: str, said: str) -> None:
    done = compare(tmp_path, APP.format(filesystem="ext4", type="ext2/ext3", more=more))
    assert done.returncode != 0
    (line,) = [one for one in done.stderr.splitlines() if one.startswith("cint: error")]
    assert said in line
    assert not done.stdout


def test_nothing_half_prepared_stays(tmp_path: Path) -> None:
    before = set(paths.DEBIAN.iterdir())
    text = APP.format(filesystem="ext4", type="x", more="").replace(
        "prepare = '''", "prepare = '''\nfalse")
    done = compare(tmp_path, text)
    assert done.returncode == 1
    assert "job 'prepare' failed with exit code 1" in done.stderr
    assert set(paths.DEBIAN.iterdir()) == before


def test_what_prepare_leaves_running_is_ended(tmp_path: Path) -> None:
    """A writer that ignores SIGTERM has the file system until it is killed; then it is whole."""
    text = """
size = "600M"
prepare = '''
(trap "" TERM; setsid sh -c "while :; do date >> $DATA/log; done") > /dev/null 2>&1 &
while [ ! -s $DATA/log ]; do sleep 1; done
'''
run = '''
dmesg | grep -q "recovery complete" && exit 5
echo cint-metric lines $(wc -l < $DATA/log)
'''
"""
    found = result(compare(tmp_path, text))
    assert all(row["said"]["lines"]["value"] > 0 for row in found["rows"])


def counted(directory: Path, how: str) -> dict[str, int]:
    """The shipped program that marks its own I/O, in one of its ways: commands by mark."""
    for name in ("marks.c", "marks.py"):
        shutil.copy(paths.ROOT / "apps" / name, directory)
    text = (paths.ROOT / "apps/marks.toml").read_text().replace("usual marked", how)
    found = result(compare(directory, text))
    row = found["rows"][-1]
    assert set(row["said"]) == {f"{by}.{what}.{how}" for by in ("c", "py")
                                for what in ("lookup", "scan")}
    hints: dict[str, int] = row["hints"]
    return hints


def test_a_program_marks_its_own_io(tmp_path: Path) -> None:
    """The kernel's marks, and the program's: 3500 lookups are Urgent in either."""
    usual, marked = counted(tmp_path, "usual"), counted(tmp_path, "marked")
    # each read of the ring ends a batch of one, each read of a thread is waited for
    assert usual["barrier"] > 3000
    assert usual["urgent"] > 3500
    assert marked.get("barrier", 0) < 100
    assert 3500 < marked["urgent"] < 6000
    assert marked["unmarked"] > marked["urgent"]


def test_rules_reach_a_program(tmp_path: Path) -> None:
    """Its system is another than the agent's, where the rules are."""
    rules = tmp_path / "mine.rules"
    rules.write_text("unmarked thread dd call read fd direct\n")
    text = APP.format(filesystem="ext4", type="ext2/ext3", more="")
    rows = result(compare(tmp_path, text, "--hints", f"on,preload:{rules}"))["rows"]
    urgent = {row["policy"]: row["hints"]["urgent"] for row in rows}
    usual = [count for name, count in urgent.items() if "preload" not in name]
    ruled = [count for name, count in urgent.items() if "preload" in name]
    assert min(usual) >= 500
    assert max(ruled) <= min(usual) - 500
