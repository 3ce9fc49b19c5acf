# SPDX-License-Identifier: GPL-2.0-or-later
"""calibrate.py: the fit, the proposal and what is stored."""

import json
from dataclasses import astuple, replace

import pytest
from canned import sync_result

from cint.errors import CintError
from cint.guest import session
from cint.measure import calibration, published
from cint.measure.calibration import Point
from cint.measure.published import Costs
from cint.measure.settings import CALIBRATED
from cint.verbs import calibrate

IO_NS, IRQ_NS = calibration.PAPER_IO_NS, calibration.PAPER_IRQ_NS


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
    (3 * IO_NS, 3 * (IRQ_NS - 740), 3.0, 740), (IO_NS, IRQ_NS, 1.0, 0), (IO_NS, 2000.0, 1.0, 0)])
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
    points = line(3 * IO_NS, 3 * (IRQ_NS - 740))
    document = calibrate.document_for(points, calibration.fit(points))
    assert document["proposal"] == {"cpu_scale": 3.0, "irq_cost_ns": 740}
    text = calibrate.text_for(document)
    assert "   -2.1 %  Figure 19, batched, an interrupt each\n" in text
    assert "--cpu-scale 3 --irq-cost 740" in text
    scale, cost = CALIBRATED.values()
    assert f"this tree's pair: {scale:g} and {cost:g}" in text
    json.dumps(document)


# ---- the papers' machine ---------------------------------------------------

def test_costs_that_explain_the_numbers_are_found() -> None:
    true = Costs(batched=2000.0, single=2500.0, waited=6000.0, interrupt=700.0)
    rows = [replace(row, ns=row.counts.times(true)) for row in published.ROWS if not row.is_ratio]
    found = published.fit(rows)
    assert astuple(found) == pytest.approx(astuple(true))
    assert all(abs(row.left(found)) < 1e-9 for row in rows)


def test_a_ratio_says_how_much_longer_an_io_takes() -> None:
    row = published._slower("r", 0.8, 10)
    # (1 + q) / (1 + q / b) is 1 / 0.8 where b is 10 / 0.8 I/Os for an interrupt
    assert row.left(Costs(batched=1.0, interrupt=(1 / 0.8 - 1) / (1 - 1 / 10))) == pytest.approx(0)
    assert row.left(Costs(batched=1.0)) > 0 > row.left(Costs(interrupt=1.0))


def test_what_is_published_is_explained() -> None:
    """No number is missed by more than some percent: they are of one machine."""
    found = published.costs()
    assert max(abs(row.left(found)) for row in published.ROWS) < 0.05
    for one in range(len(astuple(found))):
        worse = Costs(*(ns * (1.01 if n == one else 1) for n, ns in enumerate(astuple(found))))
        assert _squares(worse) > _squares(found)


def _squares(costs: Costs) -> float:
    return sum(row.left(costs) ** 2 for row in published.ROWS)


def test_figure_21_which_is_not_fitted_follows() -> None:
    """The thread that waits has half of the CPU under default: its reads, and half of the time
    that interrupts take from whoever runs.
    """
    found = published.costs()
    assert 69_666 * found.waited + 205_477 * found.interrupt / 2 == pytest.approx(0.5e9, rel=0.05)


def test_every_guest_is_unscaled(built: None) -> None:
    run, _ = calibration.run_for(8, 0.5)
    line = " ".join(run.argv)
    assert "cint.thr=8" in line
    assert "irq_cost" not in line
    assert "runtime=500000us" in str(run.jobs.jobs[0].fio)
