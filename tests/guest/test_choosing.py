# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Figures 18 and 19: the gaps that delta comes from, and thr swept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from conftest import log_root

from cint.figures import base, choosing

pytestmark = pytest.mark.figures

Gaps = Mapping[str, Sequence[float]]


@pytest.fixture(scope="module")
def gaps() -> Gaps:
    """Times between completions, us, of each job."""
    directory = log_root() / choosing.FIG18.name
    outcome, = base.run(choosing.FIG18, directory)
    return choosing.measured_gaps(choosing.FIG18, outcome, directory / "default" / "qemu.log")


@pytest.mark.xfail(strict=True, reason=(
    "the job that reads one by one falls into step with the guest's own speed: nearly all its "
    "gaps are the 3.4 us that a read costs the CPU, where a real drive's jitter makes them vary"))
def test_fig18_gaps(gaps: Gaps) -> None:
    assert [str(f) for f in choosing.check_gaps(gaps)] == []


def test_fig18_delta(gaps: Gaps) -> None:
    figure = choosing.fig18_delta(choosing.quantile(gaps["unbatched"], 0.9))
    points = base.points(figure, base.run(figure, log_root() / figure.name))
    assert [str(f) for f in figure.check(points)] == []


@pytest.fixture(scope="module")
def sweep() -> base.Points:
    """One boot for each thr."""
    return base.points(choosing.FIG19, base.run(choosing.FIG19, log_root() / "cint-fig19"))


@pytest.mark.slow
@pytest.mark.parametrize("job", ["batched", "unbatched"])
def test_fig19_throughput(sweep: base.Points, job: str) -> None:
    assert [str(f) for f in choosing.check_plateau(sweep, job)] == []


REMAINDER = "a batch of 16 has a remainder: 16 completions take 16 / thr interrupts, rounded up"
OTHERWISE = {
    ("batched", 3): ("the last completion of a batch of 16 is the first after 5 interrupts; the "
                     "guest reaps it with the others before delta is over, so it needs none"),
    ("batched", 5): REMAINDER, ("batched", 7): REMAINDER,
    ("unbatched", 8): ("one gap in ten is 6.2 us, longer than delta = 6 us, and ends a burst "
                       "before its 8th completion"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("job", "thr"), [
    pytest.param(job, thr, marks=pytest.mark.xfail(strict=True, reason=OTHERWISE[job, thr])
                 if (job, thr) in OTHERWISE else ())
    for job in ("batched", "unbatched") for thr in choosing.THRESHOLDS])
def test_fig19_interrupts(sweep: base.Points, job: str, thr: int) -> None:
    assert [str(f) for f in choosing.check_merged(sweep, job, thr)] == []
