# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks: what a paper says, between which bounds that has to come out here, and the verdict.

A percentile goes by the few I/Os beyond it, and some programs go another way with each seed. A
check of such a value is judged only where the I/Os are enough and the seeds agree with each other
better than with the bound; else it is undecided. Seeds that are the same sample count once.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cint.figures import records
from cint.figures.controls import Control, exchanged
from cint.figures.values import Data, Expr, Holding, View, Words, in_words, shortened
from cint.measure import metrics

PASS, FAIL, EXPECTED, QUICK = "pass", "fail", "expected-fail", "quick"
UNDECIDED = "undecided"
#: In the order of tables and summaries.
VERDICTS = (PASS, FAIL, EXPECTED, UNDECIDED, QUICK)
#: I/Os of all seeds that have to lie beyond a percentile; of seeds that are alike, those of one.
FEW_BEYOND = metrics.FEW_BEYOND
#: What the seeds' standard deviation may be of the distance from their median to the bound.
MOST_SPREAD = 0.5
INFINITY = float("inf")


@dataclass(frozen=True)
class Deviation:
    """A claim that is known not to hold here: where its value lies instead, and why."""

    low: float
    high: float
    reason: Words


@dataclass(frozen=True)
class Check:
    """One claim. ``paper`` is what the paper has, None where it gives no number."""

    name: str
    measure: Expr
    low: float
    high: float
    control: Control
    paper: float | str | None = None
    unit: str = ""
    deviation: Deviation | None = None
    #: A mean of a program that goes another way with each seed: as little sure as a percentile.
    wanders: bool = False
    #: What a claim of several numbers is made of; see :func:`several`.
    cells: Sequence[Check] = ()

    @property
    def bounds(self) -> str:
        """The bounds in words."""
        return bounds_text(self.low, self.high)


@dataclass(frozen=True)
class Result:
    """The result of a check: a value for each seed. ``reason``: why it deviates, if it may."""

    check: Check
    seeds: Sequence[float]
    verdict: str
    remark: str = ""
    reason: str = ""
    #: How many I/Os of all seeds are beyond the percentile that it is about, the least of several;
    #: seeds that are alike count once.
    beyond: int | None = None
    #: What came of each number of a claim of several.
    cells: Sequence[Result] = ()

    @property
    def measured(self) -> float:
        """The median of the seeds."""
        return statistics.median(self.seeds)

    def as_dict(self) -> records.Check:
        """The result as figures.json has it; None where there is no bound."""
        check, known = self.check, self.check.deviation
        found: records.Check = {
            "name": check.name, "unit": check.unit, "paper": check.paper,
            "measured": shortened(self.measured), "seeds": [shortened(s) for s in self.seeds],
            "bounds": [_finite(check.low), _finite(check.high)],
            "verdict": self.verdict, "remark": self.remark, "formula": check.measure.text,
            "control": check.control.text}
        if self.beyond is not None:
            found["beyond"] = self.beyond
        if known is not None:
            found["deviation"] = {"bounds": [known.low, known.high], "reason": self.reason}
        if self.cells:
            found["cells"] = [cell.as_dict() for cell in self.cells]
        return found


def _finite(bound: float) -> float | None:
    return None if abs(bound) == INFINITY else bound


def bounds_text(low: float | None, high: float | None) -> str:
    """Bounds in words."""
    if low is None or low == -INFINITY:
        return f"at most {high:.4g}"
    if high is None or high == INFINITY:
        return f"at least {low:.4g}"
    return f"{low:.4g} to {high:.4g}" if low != high else f"exactly {low:.4g}"


# ---- the kinds ------------------------------------------------------------

# Where a check is of two runs and names no control it is that these are exchanged.

def within(name: str, measure: Expr, low: float, high: float, control: Control | None = None,
           **more: Any) -> Check:
    """A claim that a number is from ``low`` to ``high``."""
    return Check(name, measure, low, high, control or exchanged(measure), **more)


def near(name: str, measure: Expr, wanted: float, rel: float, control: Control | None = None,
         **more: Any) -> Check:
    """``wanted``, which is the paper's value unless said otherwise, within a share of it."""
    more.setdefault("paper", wanted)
    return within(name, measure, wanted * (1 - rel), wanted * (1 + rel), control, **more)


def at_least(name: str, measure: Expr, low: float, control: Control | None = None,
             **more: Any) -> Check:
    """``low`` or more."""
    return within(name, measure, low, INFINITY, control, **more)


def at_most(name: str, measure: Expr, high: float, control: Control | None = None,
            **more: Any) -> Check:
    """``high`` or less."""
    return within(name, measure, -INFINITY, high, control, **more)


def several(name: str, cells: Sequence[Check]) -> Check:
    """A claim of several numbers, each with its own bounds, control and maybe deviation.

    It holds if all of them do. Where some deviate as is expected of each it is an expected failure;
    it fails if any does.
    """
    return Check(name, Holding(tuple(cell.measure for cell in cells),
                               tuple((cell.low, cell.high) for cell in cells)),
                 len(cells), len(cells), Control(text="that of each number"), cells=tuple(cells))


def singly(found: Sequence[Check]) -> Iterator[Check]:
    """The checks of one number: of a claim of several those of each."""
    for check in found:
        yield from check.cells or (check,)


def worst(verdicts: Sequence[str]) -> str:
    """The verdict of all together."""
    return next((v for v in (FAIL, QUICK, UNDECIDED, EXPECTED) if v in verdicts), PASS)


# ---- verdicts -------------------------------------------------------------

def _all(seeds: Sequence[float], low: float, high: float) -> bool:
    return all(low <= s <= high for s in seeds)


def held(seeds: Sequence[float], low: float | None, high: float | None) -> str:
    """How many of the seeds are within the bounds, where some are and some are not."""
    inside = sum(_all([s], -INFINITY if low is None else low, INFINITY if high is None else high)
                 for s in seeds)
    return f"holds with {inside} of {len(seeds)} seeds" if 0 < inside < len(seeds) else ""


def _judge(check: Check, seeds: Sequence[float], reason: str = "",
           factor: float = 1.0) -> tuple[str, str]:
    """Verdict and remark. Every seed has to be within the bounds: none is left out."""
    known = check.deviation
    if _all(seeds, check.low * factor, check.high * factor):
        if known is None:
            return PASS, ""
        return FAIL, f"the claim holds now, no deviation is left to expect: {reason}"
    if known is not None and _all(seeds, known.low * factor, known.high * factor):
        return EXPECTED, reason
    return FAIL, "" if known is None else (
        f"expected to deviate, but only {bounds_text(known.low, known.high)}: {reason}")


def _seeds(check: Check, data: Data, control: Control | None = None) -> list[float]:
    made = control or Control()
    return [check.measure.of(View(data, seed, made.renamed, made.moved))
            for seed in range(data.seeds)]


def _doubt(check: Check, seeds: Sequence[float], beyond: int | None) -> str:
    """Why a check cannot be judged that may not be; empty if it can, as any other check."""
    if beyond is None and not check.wanders:
        return ""
    if beyond is not None and beyond < FEW_BEYOND:
        return f"{beyond} I/Os are beyond the percentile, it takes {FEW_BEYOND}"
    margin = min(abs(statistics.median(seeds) - bound) for bound in (check.low, check.high))
    spread = statistics.stdev(seeds) if len(seeds) > 1 else 0.0
    if spread > MOST_SPREAD * margin:
        return (f"the seeds' standard deviation is {spread:.3g}, and their median {margin:.3g} "
                "from the bound: it takes twice as much")
    return ""


def judge(check: Check, data: Data, quick: bool = False) -> Result:
    """The check on measured data. A quick run is never a pass, and no percentile of one fails that
    goes by too few I/Os.
    """
    if check.cells:
        return _judge_each(check, data, quick)
    seeds = _seeds(check, data)
    reason = in_words(check.deviation.reason, data) if check.deviation else ""
    beyond = min((one.beyond(data) for one in check.measure.percentiles), default=None)
    verdict, remark = _judge(check, seeds, reason)
    if doubt := _doubt(check, seeds, beyond):
        verdict, remark = UNDECIDED, doubt
    holds = verdict in (PASS, EXPECTED, UNDECIDED) or _all(seeds, check.low, check.high)
    if quick and holds:
        return Result(check, seeds, QUICK, "", reason, beyond)
    return Result(check, seeds, verdict, remark, reason, beyond)


def _judge_each(check: Check, data: Data, quick: bool) -> Result:
    """A claim of several numbers: as bad as the worst of them; the remark names what fails."""
    found = [judge(cell, data, quick) for cell in check.cells]
    failing = [f"{r.check.name}{': ' if r.remark else ''}{r.remark}" for r in found
               if r.verdict == FAIL]
    return Result(check, _seeds(check, data), worst([r.verdict for r in found]),
                  "; ".join(failing), cells=found)


def judge_control(check: Check, data: Data) -> str:
    """The verdict under the check's control, which has to be FAIL: of several numbers each one's.

    A control whose value cannot be had raises :class:`CintError`: it shows nothing.
    """
    if check.cells:
        found = [judge_control(cell, data) for cell in check.cells]
        return next((verdict for verdict in found if verdict != FAIL), FAIL)
    control = check.control
    return _judge(check, _seeds(check, data, control), factor=control.factor)[0]
