# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Figures 18 and 19: the gaps that delta comes from, and thr swept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from claims import check
from conftest import log_root, run_figure

from cint.figures import base, choosing

pytestmark = pytest.mark.figures

Gaps = Mapping[str, Sequence[float]]


@pytest.fixture(scope="module")
def gaps() -> Gaps:
    """Times between completions, us, of each job."""
    directory = log_root() / choosing.FIG18.name
    outcome, = run_figure(choosing.FIG18, directory)
    return choosing.measured_gaps(choosing.FIG18, outcome, directory / "default" / "qemu.log")


IN_STEP = base.Deviation(0.45, 0.6, (
    "the job that reads one by one falls into step with the guest's own speed: nearly all its "
    "gaps are the 3.4 us that a read costs the CPU, where a real drive's jitter makes them vary"))


def test_fig18_gaps(gaps: Gaps) -> None:
    check(choosing.check_gaps(gaps), IN_STEP)


def test_fig18_delta(gaps: Gaps) -> None:
    figure = choosing.fig18_delta(choosing.quantile(gaps["unbatched"], 0.9))
    points = base.points(figure, run_figure(figure))
    check(figure.check(points))


@pytest.fixture(scope="module")
def sweep() -> base.Points:
    """One boot for each thr."""
    return base.points(choosing.FIG19, run_figure(choosing.FIG19))


@pytest.mark.slow
@pytest.mark.parametrize("job", ["batched", "unbatched"])
def test_fig19_throughput(sweep: base.Points, job: str) -> None:
    check(choosing.check_plateau(sweep, job))


REMAINDER = "a batch of 16 has a remainder: 16 completions take 16 / thr interrupts, rounded up"
#: I/Os per interrupt that are not from 0.85 thr to thr, by job and thr.
OTHERWISE = {
    ("batched", 3): base.Deviation(3.1, 3.3, (
        "the last completion of a batch of 16 is the first after 5 interrupts; the guest reaps it "
        "with the others before delta is over, so it needs none")),
    ("batched", 5): base.Deviation(3.9, 4.1, REMAINDER),
    ("batched", 7): base.Deviation(5.2, 5.45, REMAINDER),
    ("unbatched", 8): base.Deviation(5.4, 6.5, (
        "one gap in ten is 6.2 us, longer than delta = 6 us, and ends a burst before its 8th "
        "completion")),
}


@pytest.mark.slow
@pytest.mark.parametrize("thr", choosing.THRESHOLDS)
@pytest.mark.parametrize("job", ["batched", "unbatched"])
def test_fig19_interrupts(sweep: base.Points, job: str, thr: int) -> None:
    check(choosing.check_merged(sweep, job, thr), OTHERWISE.get((job, thr)))
