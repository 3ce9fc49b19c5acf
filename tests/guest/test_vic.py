# SPDX-License-Identifier: GPL-2.0-or-later
"""vIC: Table 1, Tables 2 to 6 and its low rates, in virtual time.

The jobs and their claims are in tools/cint/figures/vic.py; what was measured
is in docs/figures.md.
"""

from __future__ import annotations

import pytest
from claims import check
from conftest import run_figure

from cint.device import scale
from cint.figures import base, vic

pytestmark = pytest.mark.figures

BORDER = ("one completion that waits for its interrupt leaves the commands in flight below the "
          "table's row: part of the epochs have the ratio of the row before; test_tab1_inside has "
          "depths that stay in the row")
#: Interrupts per I/O at depths that are the first of their row.
BORDERS = {16: base.Deviation(0.55, 0.62, BORDER), 24: base.Deviation(0.40, 0.46, BORDER),
           64: base.Deviation(0.134, 0.149, BORDER), 128: base.Deviation(0.0665, 0.0715, BORDER)}


def run(figure: base.Figure) -> base.Points:
    """The points of a figure."""
    return base.points(figure, run_figure(figure))


@pytest.fixture(scope="module")
def tab1() -> base.Points:
    """All depths in one boot."""
    return run(vic.TAB1)


@pytest.mark.slow
@pytest.mark.parametrize("depth", vic.TAB1_DEPTHS)
def test_tab1(tab1: base.Points, depth: int) -> None:
    check(vic.check_tab1(tab1, vic.TAB1_POLICY, {depth: vic.ratio(depth)}), BORDERS.get(depth))


@pytest.mark.slow
def test_tab1_runs_for_ten_epochs(tab1: base.Points) -> None:
    """One probe an epoch; the first one is not among the ratios."""
    assert {len(p.ratios) for p in tab1.values()} == {vic.TAB1_SHAPE.probes - 1}


@pytest.mark.slow
def test_epoch_is_scaled(tab1: base.Points) -> None:
    figure = vic.TAB1
    properties = dict(figure.settings().policies[0].properties)
    assert properties["cint.epoch"] == 50
    assert scale.apply_int("device", "cint.epoch", 50, figure.cpu_scale) == 150
    assert len(tab1) == len(vic.TAB1_DEPTHS)


def test_tab1_inside() -> None:
    points = run(vic.TAB1_EXACT)
    check(vic.TAB1_EXACT.check(points))


def test_low_rate() -> None:
    check(vic.LOW_RATE.check(run(vic.LOW_RATE)))


def test_low() -> None:
    check(vic.LOW.check(run(vic.LOW)))


# ---- Tables 2 to 6 -------------------------------------------------------

@pytest.fixture(scope="module", params=[vic.TAB23, vic.TAB45], ids=lambda f: f.name)
def table(request: pytest.FixtureRequest) -> base.Points:
    """4 KiB reads (Tables 2 and 3), 8 KiB reads (Tables 4 and 5)."""
    return run(request.param)


@pytest.mark.slow
@pytest.mark.parametrize("depth", vic.DEPTHS)
def test_tables_throughput(table: base.Points, depth: int) -> None:
    check(vic.check_throughput(table, depth))


@pytest.mark.slow
@pytest.mark.parametrize("depth", vic.DEPTHS)
def test_tables_cost(table: base.Points, depth: int) -> None:
    check(vic.check_cost(table, depth))


@pytest.mark.slow
def test_tables_interrupts_fall_with_the_depth(table: base.Points) -> None:
    check(vic.check_falling(table))


@pytest.mark.slow
def test_tab6() -> None:
    """The policy's own cost is of the host and not in virtual time: it is not checked."""
    check(vic.TAB6.check(run(vic.TAB6)))
