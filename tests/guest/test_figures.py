# SPDX-License-Identifier: GPL-2.0-or-later
"""The papers' figures as ./cint figure has them: quick by default, at full length with --full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from conftest import log_root, tell

from cint.errors import CintError
from cint.figures import catalog, checks, document, freshness, programs
from cint.figures import runner as figures
from cint.figures.figure import Figure, on_cpus
from cint.figures.values import Data
from cint.measure import runner
from cint.measure.store import Store

pytestmark = pytest.mark.figures

ALL = catalog.figures()
SHORT = [figure for figure in ALL if figure.short]


def measured(figure: Figure, quick: bool) -> Data:
    """What the figure's guests give; they run once."""
    return _measured(figure.id, quick)


@cache
def _measured(name: str, quick: bool) -> Data:
    figure, = catalog.choose([name], None, everything=False)
    return run(figure, quick, log_root() / ("quick" if quick else "figures"))


def run(figure: Figure, quick: bool, directory: Path) -> Data:
    """What the figure's guests give; disks of programs are made first."""
    programs.make_disks([figure])
    how = figures.Session(quick, directory, Store(), runner.Reuse.from_environment(),
                          lambda wanted, done: tell([done]))
    (_, found), = figures.measure([figure], how)
    if isinstance(found, CintError):
        raise found
    return found


def failures(figure: Figure, data: Data, quick: bool) -> list[str]:
    """The checks that fail, in words."""
    results = [checks.judge(check, data, quick) for check in figure.checks]
    return [f"{r.check.name}: {r.seeds}, wanted {r.check.bounds}; {r.remark}"
            for r in results if r.verdict == checks.FAIL]


def named(figure: Figure) -> str:
    return figure.id


@pytest.mark.parametrize("figure", SHORT, ids=named)
def test_quick(figure: Figure) -> None:
    """Short jobs, one seed: every value is where it has to be, which is not yet a pass."""
    data = measured(figure, quick=True)
    assert failures(figure, data, quick=True) == []
    # not one of them is a pass
    assert {checks.judge(c, data, quick=True).verdict for c in figure.checks} == {checks.QUICK}


def test_what_is_stored_is_of_this_tree(
        record_property: Callable[[str, object], None]) -> None:
    """Figures of other guests are named in a remark; ./cint figure --stale makes that an error."""
    late = {figure.id: why for figure in ALL
            if (entry := document.stored(figure.id)) and (why := freshness.stale(figure, entry))}
    if late:
        kinds = Counter(why.partition("; of ")[2] or "files that nobody noted"
                        for why in late.values())
        which = ", ".join(f"{count} of {kind}" for kind, count in kinds.most_common())
        record_property("remark", f"{len(late)} of {len(ALL)} figures in docs/figures are of "
                                  f"other guests than this tree's: {which}: {', '.join(late)}")


@pytest.mark.parametrize("vcpus", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_on_several_cpus(vcpus: int, logs: Path) -> None:
    """--vcpus: the jobs run on the first of them, and everything comes out as on one."""
    figure, = catalog.choose(["cint-fig9"], None, everything=False)
    assert failures(figure, run(on_cpus(figure, vcpus), True, logs), quick=True) == []


def expect(*missed: checks.Result) -> None:
    """End a test with those that deviate as much as is known: an expected failure if there are."""
    if missed:
        pytest.xfail("; ".join(f"{r.check.name}: {r.measured:.4g}, wanted {r.check.bounds}: "
                               f"{r.remark}" for r in missed))


def _each(kind: Callable[[checks.Check], bool]) -> list[tuple[Figure, checks.Check]]:
    return [(figure, check) for figure in ALL for check in figure.checks if kind(check)]


@pytest.mark.slow
@pytest.mark.parametrize("figure", ALL, ids=named)
def test_figure(figure: Figure) -> None:
    assert failures(figure, measured(figure, quick=False), quick=False) == []


@pytest.mark.slow
@pytest.mark.parametrize(("figure", "check"), _each(lambda check: check.deviation is not None),
                         ids=lambda one: one.id if isinstance(one, Figure) else one.name)
def test_deviation(figure: Figure, check: checks.Check) -> None:
    """What is known not to hold deviates as much as is known, and for the reason given; of a
    percentile that may be undecided.
    """
    result = checks.judge(check, measured(figure, quick=False))
    assert result.verdict in (checks.EXPECTED, checks.UNDECIDED), (result.seeds, check.bounds,
                                                                   result.remark)
    expect(result)


@pytest.mark.slow
@pytest.mark.parametrize("figure", ALL, ids=named)
def test_controls(figure: Figure) -> None:
    """Runs exchanged, or the paper's value wrong: every check fails."""
    data = measured(figure, quick=False)
    blind = [c.name for c in figure.checks if checks.judge_control(c, data) != checks.FAIL]
    assert blind == []
