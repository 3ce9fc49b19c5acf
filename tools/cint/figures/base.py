# SPDX-License-Identifier: GPL-2.0-or-later
"""What all figures share: the job, its run in guests, the points that come out.

Everything typed here and everything in a :class:`Point` is reported time (see
scale.py).  All runs are in virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cint.device import properties, scale
from cint.errors import CintError
from cint.figures import probe
from cint.guest import session
from cint.measure import comparison, runner, sampling, settings
from cint.measure.store import Store
from cint.measure.workloads import Timing, Workload

#: Used for what a job does not give: fio's own job texts carry their times.
_TIMING = Timing(1.0, 0.1)


@dataclass(frozen=True)
class Failure:
    """A claim that does not hold: which one, what was found, what it needs."""

    claim: str
    found: float
    wanted: str

    def __str__(self) -> str:
        return f"{self.claim}: {self.found:.4g}, must be {self.wanted}"


@dataclass(frozen=True)
class Deviation:
    """A claim that is known not to hold here: where its value lies instead, and why."""

    low: float
    high: float
    reason: str

    def explain(self, failures: Sequence[Failure]) -> str:
        """What to say of it; AssertionError unless exactly this is what was found."""
        assert failures, f"the claim holds now, no deviation is left to expect: {self.reason}"
        assert len(failures) == 1, [str(failure) for failure in failures]
        found = failures[0]
        bounds = f"expected here from {self.low:g} to {self.high:g}"
        assert self.low <= found.found <= self.high, f"{found}, {bounds}"
        return f"{found}; {bounds}: {self.reason}"


@dataclass(frozen=True)
class Point:
    """What one workload did under one policy.

    ``irqs_per_io`` is by the device's count; where the guest was probed while
    it ran (see probe.py), it and the values below it are of the time between
    the first probe and the last, else of the whole job.
    """

    iops: float
    mean_us: float
    irqs_per_io: float
    cpu_us_per_io: float | None = None
    idle_percent: float | None = None
    #: vIC: the delivery ratio in force at each probe.
    ratios: tuple[float, ...] = ()
    reasons: Mapping[str, int] = field(default_factory=dict)
    #: I/Os between the first probe and the last.
    ios: int = 0

    @property
    def mean_ratio(self) -> float | None:
        """vIC: the mean of the delivery ratios."""
        return sum(self.ratios) / len(self.ratios) if self.ratios else None


#: By policy and workload, as the job names them.
Points = Mapping[tuple[str, str], Point]
Check = Callable[[Points], list[Failure]]


@dataclass(frozen=True)
class Figure:
    """One figure: a guest for each policy, in it each workload in turn."""

    name: str
    title: str
    policies: str
    workloads: Sequence[Workload]
    media: str
    check: Check
    cpu_scale: float = settings.DEFAULT_SCALE
    cost_ns: int = settings.DEFAULT_COST_NS
    trace: tuple[str, ...] = ()

    def settings(self) -> settings.Settings:
        """The figure as ./cint compare would have it."""
        return settings.Settings(
            properties.parse_policies(self.policies), self.workloads,
            properties.parse_media(self.media), True, 1, _TIMING, 1, self.cpu_scale,
            self.cost_ns, False, None, "", self.name)


def run(figure: Figure, directory: Path, store: Store | None = None,
        reuse: runner.Reuse | None = None, *,
        told: Callable[[Sequence[runner.Done]], None] = lambda _: None) -> list[session.Outcome]:
    """Run the figure's guests; logs go to ``directory``/*policy*. ``told`` sees where from."""
    chosen = figure.settings()
    accel = comparison.choose_accel(True)
    made = [comparison.run_for(chosen, boot, accel, trace=figure.trace, setup=(probe.install(),))
            for boot in comparison.boots_for(chosen)]
    logs = {p.name: directory / p.slug for p in chosen.policies}
    done = list(runner.run_here([run for run, _ in made], made[0][1],
                                lambda run: logs[run.name], store=store, reuse=reuse))
    told(done)
    outcomes = runner.outcomes(done)
    for outcome in outcomes:
        if outcome.trouble:
            raise CintError(f"{figure.name}: {outcome.name}: guest kernel: {outcome.trouble[0]}")
    if chosen.cost_ns and not comparison.in_force(chosen, outcomes):
        raise CintError(f"{figure.name}: the guest kernel does not spend the interrupt cost")
    return outcomes


def points(figure: Figure, outcomes: Sequence[session.Outcome]) -> dict[tuple[str, str], Point]:
    """The points of a run."""
    chosen = figure.settings()
    rows = comparison.rows_from(chosen, [s for o in outcomes
                                         for s in comparison.samples_from(chosen, o)])
    texts = {(o.name, w.name): str(o.results[comparison.job_name(w, 0)].get("stdout") or "")
             for o in outcomes for w in chosen.workloads}
    return {(r.policy, r.workload): _point(r, texts[r.policy, r.workload], chosen.k)
            for r in rows if r.job is None}


def _point(row: sampling.Row, text: str, k: float) -> Point:
    merged = row.values.get("ios_per_irq")
    whole = Point(row.values.get("iops") or 0.0, row.values.get("mean_us") or 0.0,
                  1 / merged if merged else 0.0, reasons=row.reasons)
    seen = probe.parse(text)
    if len(seen) < 2:
        return whole
    first, last = seen[0], seen[-1]
    ios, time_ns = last.cqes - first.cqes, last.time_ns - first.time_ns
    if not ios or not time_ns:
        raise CintError(f"{row.workload}: no I/O between the first probe and the last")
    busy = probe.busy_share(seen)
    return replace(whole, irqs_per_io=(last.interrupts - first.interrupts) / ios,
                   cpu_us_per_io=busy * scale.report_time(time_ns, k) / 1000 / ios,
                   idle_percent=100 * (1 - busy), ios=ios,
                   ratios=tuple(p.ratio for p in seen[1:] if p.ratio is not None))


# ---- claims --------------------------------------------------------------

def near(claim: str, found: float, wanted: float, rel: float) -> list[Failure]:
    """``found`` within ``rel`` (a share) of ``wanted``."""
    if wanted and abs(found / wanted - 1) <= rel:
        return []
    return [Failure(claim, found, f"{wanted:.4g} +-{100 * rel:g} %")]


def at_least(claim: str, found: float, least: float) -> list[Failure]:
    """``found`` >= ``least``."""
    return [] if found >= least else [Failure(claim, found, f"at least {least:.4g}")]


def at_most(claim: str, found: float, most: float) -> list[Failure]:
    """``found`` <= ``most``."""
    return [] if found <= most else [Failure(claim, found, f"at most {most:.4g}")]


def less(claim: str, found: float, limit: float) -> list[Failure]:
    """``found`` < ``limit``."""
    return [] if found < limit else [Failure(claim, found, f"less than {limit:.4g}")]


def known(claim: str, value: float | None) -> float:
    """A value that a check needs; :class:`CintError` when the run has not got it."""
    if value is None:
        raise CintError(f"{claim}: the guest was not probed often enough")
    return value
