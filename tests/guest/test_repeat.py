# SPDX-License-Identifier: GPL-2.0-or-later
"""Two runs of the same comparison in virtual time agree within 0.5 %."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import make_settings, run_policies

from cint.measure import metrics, sampling, workloads

AGREE = 0.005


def run(directory: Path) -> list[sampling.Row]:
    """All workloads under the two policies furthest apart."""
    chosen = make_settings("default,adaptive", list(workloads.BUILT_IN.values()), 0.15)
    return run_policies(chosen, directory, stored=False)


@pytest.fixture
def two_runs(logs: Path) -> tuple[list[sampling.Row], list[sampling.Row]]:
    """The same comparison twice."""
    return run(logs / "first"), run(logs / "second")


def test_two_runs_agree(two_runs: tuple[list[sampling.Row], list[sampling.Row]]) -> None:
    apart = []
    for one, two in zip(*two_runs, strict=True):
        assert (one.policy, one.workload, one.job) == (two.policy, two.workload, two.job)
        for metric in metrics.NAMES:
            a, b = one.values.get(metric), two.values.get(metric)
            assert (a is None) == (b is None)
            if a and b and abs(a / b - 1) > AGREE:
                apart.append((one.policy, one.workload, one.job, metric, a, b))
    assert apart == []
