# SPDX-License-Identifier: GPL-2.0-or-later
"""The calibrated pair that is part of the tree, measured again."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import tell

from cint import host
from cint.measure import calibration, dispatch, runner
from cint.measure.settings import CALIBRATED
from cint.measure.store import Store

#: Other compilers make other binaries, and a few ns more or less of a handler.
COST_NS = 30
#: The pair is that of Debian 12's compiler; Debian 13's is 1 % below it.
SHARE = 0.01 if host.distribution().version == "12" else 0.02


def test_the_trees_pair_is_what_calibrate_measures(logs: Path) -> None:
    made = [calibration.run_for(thr, calibration.RUNTIME_S) for thr in calibration.THRESHOLDS]
    done = list(dispatch.run_here([run for run, _ in made], made[0][1],
                                  lambda run: logs / run.name.replace(" ", ""), store=Store(),
                                  reuse=runner.Reuse.from_environment()))
    tell(done)
    points = [calibration.point(thr, outcome) for thr, outcome
              in zip(calibration.THRESHOLDS, runner.outcomes(done), strict=True)]
    assert all(p.cpu_share is None or p.cpu_share >= calibration.MIN_CPU_SHARE for p in points)
    found = calibration.fit(points)
    assert found.worst < 0.02
    pair = calibration.proposal(found)
    assert pair["cpu_scale"] == pytest.approx(CALIBRATED["cpu_scale"], rel=SHARE)
    assert pair["irq_cost_ns"] == pytest.approx(CALIBRATED["irq_cost_ns"], abs=COST_NS)
