# SPDX-License-Identifier: GPL-2.0-or-later
"""A build directory and a cache of its own for every test of the tool."""

from pathlib import Path

import pytest

from cint import config, paths, steps
from cint.guest import vm
from cint.measure import plan


@pytest.fixture(autouse=True)
def runs(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of runs of the test's own, firmware to run with, and nobody's own defaults."""
    monkeypatch.setenv(config.VARIABLE, "")
    runs, firmware = (tmp_path_factory.mktemp(name) for name in ("runs", "firmware"))
    monkeypatch.setattr(paths, "RUNS", runs)
    for name in (*plan.FIRMWARE, *plan.ENTRY.values()):
        (firmware / name).write_text(name)
    monkeypatch.setattr(paths, "FIRMWARE_DIRS", (firmware,))
    return runs


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some files in place of what is built."""
    monkeypatch.setattr(vm, "check_files", lambda _: None)
    monkeypatch.setattr(plan, "digest", lambda path: f"digest of {path.name}")


@pytest.fixture
def sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point everything generated below `tmp_path`."""
    build = tmp_path / "build"
    for name, value in {
        "BUILD": build, "LOGS": build / "logs", "STAMPS": build / "stamps", "SRC": build / "src",
        "LOCK": build / "lock", "TEST_LOGS": build / "logs/test", "DOWNLOADS": tmp_path / "down",
        "OWN": build / "own",
        "CACHE": tmp_path / "cache", "APT": tmp_path / "apt", "RESULTS": tmp_path / "results",
    }.items():
        monkeypatch.setattr(paths, name, value)
    monkeypatch.setattr(steps, "_held", set())
    return tmp_path
