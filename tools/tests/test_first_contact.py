# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/first-contact/measure.py: with a repository whose ./cint is a few lines of shell."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cint import paths

PROGRAM = paths.ROOT / "tests/first-contact/measure.py"

CINT = """\
#!/bin/sh
echo "packages: $*" >&2
[ ! -e "$XDG_CACHE_HOME/used" ] || echo "not empty" >&2
mkdir -p "$XDG_CACHE_HOME" build/logs && : >"$XDG_CACHE_HOME/used"
echo "  Build QEMU ... [1/2] (15 s)" >&2
printf 'made\\ncint: took 12 s, 20.3 s of CPU\\n' >build/logs/qemu.log
echo "default: sync 92.92 kIOPS, 10.16 us, 1.00 I/Os per irq" >&2
python3 -c 'sum(range(4000000))'
echo "the table"
echo "results: results/new"
sleep 0.3
echo "the pictures"
exit "${FAIL:-0}"
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One commit with that ./cint."""
    place = tmp_path / "source"
    place.mkdir()
    (place / "cint").write_text(CINT)
    (place / "cint").chmod(0o755)
    for words in (("init", "-q"), ("add", "cint"),
                  ("-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "one")):
        subprocess.run(["git", "-C", place, *words], check=True)
    return place


def measured(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, PROGRAM, *words], capture_output=True, text=True,
                          check=False)


def test_cold_is_a_clone_with_an_empty_cache(repository: Path, tmp_path: Path) -> None:
    place = tmp_path / "new"
    done = measured("cold", place, "--source", repository)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = done.stdout
    assert re.search(r"^ +\d+\.\d  packages: compare$", shown, re.MULTILINE)
    assert re.search(r"^ +\d+\.\d  the table$", shown, re.MULTILINE)
    assert "[1/2]" not in shown and "not empty" not in shown
    assert "steps:\n  qemu: 12 s, 20.3 s of CPU\n" in shown
    last = re.search(r"^cold: ([0-9.]+) s to the table, ([0-9.]+) s to its first row, "
                     r"([0-9.]+) s to the end; ([0-9.]+) s of CPU time, \d+ CPUs; "
                     r"others had \d+ % of them\n"
                     r"aim: 16 min 00 s: met$", shown, re.MULTILINE)
    assert last and float(last[2]) <= float(last[1]) < float(last[3]) and float(last[4]) > 0
    assert (place / "cint/build/logs/qemu.log").is_file() and (place / "cache/used").exists()
    # Nothing there is overwritten.
    again = measured("cold", place, "--source", repository)
    assert again.returncode == 2 and "is there already" in again.stderr


def test_warm_is_a_built_checkout_with_an_empty_cache(repository: Path) -> None:
    for _ in range(2):
        done = measured("warm", repository, "--", "./cint", "show", "x")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "packages: show x" in done.stdout and "not empty" not in done.stdout
        assert "\naim: 30.0 s: met\n" in done.stdout


def test_a_command_that_fails_is_no_measurement(repository: Path,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIL", "124")
    done = measured("warm", repository)
    assert done.returncode == 1
    assert done.stdout.endswith("the command failed with exit code 124\n")
    assert measured("warm", repository.parent).returncode == 2
