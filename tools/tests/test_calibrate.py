# SPDX-License-Identifier: GPL-2.0-or-later
"""calibrate.py: the fit, the proposal and what is stored."""

import json

import pytest
from canned import sync_result

from cint.errors import CintError
from cint.guest import session
from cint.measure import calibration
from cint.measure.calibration import Point
from cint.measure.settings import CALIBRATED
from cint.verbs import calibrate


def line(c_io: float, c_irq: float, noise: float = 0.0) -> list[Point]:
    """Points on a line, with alternating noise."""
    return [Point(thr, thr, (c_io + c_irq / thr) * (1 + noise * (-1) ** n), 1.0)
            for n, thr in enumerate(calibration.THRESHOLDS)]


def test_fit_finds_the_line() -> None:
    found = calibration.fit(line(7350.0, 1500.0))
    assert found.c_io_ns == pytest.approx(7350)
    assert found.c_irq_ns == pytest.approx(1500)
    assert found.worst < 1e-9


def test_fit_says_how_bad_it_is() -> None:
    assert calibration.fit(line(7350.0, 1500.0, 0.02)).worst == pytest.approx(0.02, abs=0.015)


def test_nothing_to_fit() -> None:
    with pytest.raises(CintError, match="did not vary"):
        calibration.fit([Point(t, 1.0, 100.0, 1.0) for t in (1, 2, 4)])


@pytest.mark.parametrize(("c_io", "c_irq", "scale", "cost"), [
    (7350.0, 180.0, 3.0, 740), (2450.0, 800.0, 1.0, 0), (2450.0, 2000.0, 1.0, 0)])
def test_proposal(c_io: float, c_irq: float, scale: float, cost: int) -> None:
    got = calibration.proposal(calibration.Fit(c_io, c_irq, 0.0))
    assert got == {"cpu_scale": pytest.approx(scale), "irq_cost_ns": cost}


def test_points_come_from_the_device() -> None:
    outcome = session.Outcome("thr 4", results={"async": sync_result("async", irqs=250)})
    got = calibration.point(4, outcome)
    assert got.ios_per_irq == 4.0
    assert got.ns_per_io == pytest.approx(20_000)
    message = sync_result("async")
    message["after"]["nvme_log"] = None
    with pytest.raises(CintError, match="no counters"):
        calibration.point(4, session.Outcome("thr 4", results={"async": message}))


def test_the_proposal_is_printed_beside_the_trees_pair() -> None:
    points = line(7350.0, 180.0)
    document = calibrate.document_for(points, calibration.fit(points))
    assert document["proposal"] == {"cpu_scale": 3.0, "irq_cost_ns": 740}
    text = calibrate.text_for(document)
    assert "--cpu-scale 3 --irq-cost 740" in text
    scale, cost = CALIBRATED.values()
    assert f"this tree's pair: {scale:g} and {cost:g}" in text
    json.dumps(document)


def test_every_guest_is_unscaled(built: None) -> None:
    run, _ = calibration.run_for(8, 0.5)
    line = " ".join(run.argv)
    assert "cint.thr=8" in line
    assert "irq_cost" not in line
    assert "runtime=500000us" in str(run.jobs.jobs[0].fio)
