# SPDX-License-Identifier: GPL-2.0-or-later
"""A build directory and a cache of its own for every test of the tool."""

from pathlib import Path

import pytest

from cint import paths, steps


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
