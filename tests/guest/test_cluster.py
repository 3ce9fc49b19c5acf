# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests on two workers of the loopback interface: the same bytes as here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import make_settings, tell

from cint import paths
from cint.measure import comparison, dispatch, plan, runner
from cint.measure.store import Store
from cint.measure.workloads import BUILT_IN

START_S = 120


@contextmanager
def started(log: Path, said: str, *words: str, **more: str) -> Iterator[re.Match[str]]:
    """`./cint worker` with these words; waits until its log has what matches `said`."""
    env = {**os.environ, "PYTHONPATH": str(paths.TOOLS), **more}
    with log.open("wb") as file:
        process = subprocess.Popen([sys.executable, "-m", "cint", "worker", *words], stdout=file,
                                   stderr=file, env=env)
    try:
        deadline = time.monotonic() + START_S
        while not (found := re.search(said, log.read_text("utf-8"))):
            assert process.poll() is None and time.monotonic() < deadline, log.read_text("utf-8")
            time.sleep(0.2)
        yield found
    finally:
        process.terminate()
        process.wait()


@pytest.mark.slow
def test_two_workers_give_the_same_bytes(logs: Path, tmp_path: Path) -> None:
    chosen = make_settings("default,adaptive,cint,cint+ooo", [BUILT_IN["mixed"]], 0.05)
    asked = comparison.asked_for(comparison.compose(chosen))
    runs, places = [one.run for one in asked], asked[0].places
    here = list(dispatch.run_here(runs, places, lambda run: logs / "here" / run.name, store=Store(),
                                  reuse=runner.Reuse.from_environment()))
    tell(here)
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    with started(logs / "scheduler.log", r"Scheduler at: +(\S+)", "--scheduler", "--port",
                 "0") as at, \
            started(logs / "one.log", "Registered to", at[1], "--guests", "1", **cache), \
            started(logs / "two.log", "Registered to", at[1], "--guests", "1", **cache):
        there = list(dispatch.run_here(runs, places, lambda run: logs / "there" / run.name,
                                       cluster=at[1]))
    local = {one.index: one.outcome for one in here}
    assert len(there) == len(runs)
    for one in there:
        mine = local[one.index]
        assert one.problem is None and one.outcome is not None and mine is not None
        assert plan.difference(mine, one.outcome) is None
        assert one.outcome.argv[0].startswith(str(tmp_path))
