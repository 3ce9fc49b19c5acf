# SPDX-License-Identifier: GPL-2.0-or-later
"""Further policies in a figure: one's own beside the paper's.

They do the jobs that the figure's policies do, and stand in its tables, bars and lines. What is
checked stays what the paper claims.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cint.device import properties
from cint.errors import UsageError
from cint.figures.figure import Figure, Group, Panel, Run, Series, settings_of
from cint.figures.values import Expr
from cint.guest import steering

Point = tuple[str | float | Expr, Expr | float]


def with_policies(figure: Figure, policies: Sequence[str]) -> Figure:
    """The figure with those of `--policy` that it lacks; :class:`UsageError` where none fit."""
    groups, like = [], dict[str, tuple[str, ...]]()
    for group in figure.groups:
        old, new = _runs_of(group), _further(group, policies)
        for run in new:
            _check(group, run)
        names = tuple(group.prefix + run.title for run in new)
        like |= {group.prefix + run.title: names for run in old
                 if new and _way(run) == _way(new[0])}
        groups.append(replace(group, runs=(*old, *new)) if new else group)
    if not like:
        raise UsageError(f"--policy: {figure.id} compares no policies that these could stand "
                         "beside, or has them all")
    return replace(figure, groups=tuple(groups),
                   panels=tuple(_wider(panel, like) for panel in figure.panels))


def _check(group: Group, run: Run) -> None:
    """Refuse, before anything is built, what the device would and what means nothing here."""
    chosen = settings_of(group, run, quick=False)
    properties.check_virtual([arm.policy for arm in chosen.arms])
    for arm in chosen.arms:
        steering.check_split(arm.policy, arm.steering)
        chosen.device_properties(arm.policy)


def _runs_of(group: Group) -> Sequence[Run]:
    """Those that are known before anything ran."""
    return () if callable(group.runs) else group.runs


def _way(run: Run) -> dict[str, Any]:
    """How a run's guest does I/O, whatever the policy."""
    return {name: getattr(run, name)
            for name in ("hints", "polling", "engine", "steering", "extras", "who")}


def _further(group: Group, policies: Sequence[str]) -> list[Run]:
    """The runs of these policies in a group that compares some."""
    old = _runs_of(group)
    if len({run.policy for run in old}) < 2:
        return []
    known = {name for run in old
             for name in (run.title, properties.parse_policy(run.policy).name)}
    ways = [_way(run) for run in old]
    shared = {name: value for name, value in ways[0].items() if all(w[name] == value for w in ways)}
    shared.setdefault("who", ways[0]["who"])  # rules that say nothing else come first
    return [Run(policy, **shared) for policy in policies if policy not in known]


# ---- drawings -----------------------------------------------------------

def _wider(panel: Panel, like: dict[str, tuple[str, ...]]) -> Panel:
    """The panel with what it shows of one run shown of the new ones, too."""
    sources = [*panel.sources]
    for run, cell in panel.sources if panel.kind == "curves" else ():
        sources += [(new, cell) for new in like.get(run, ()) if (new, cell) not in sources]
    ours = [series for series in panel.series if not series.paper]
    wider = {id(series): _more_points(series, like) for series in ours}
    found = [wider.get(id(series), series) for series in panel.series]
    if ours and all(wider[id(series)] is series for series in ours):
        found += _more_series(ours, like)
    return replace(panel, series=tuple(found), sources=tuple(sources))


def _more_points(series: Series, like: dict[str, tuple[str, ...]]) -> Series:
    """A series with a point for each policy: with one for each of the new."""
    if not all(isinstance(x, str) for x, _ in series.points):  # a line is of numbers
        return series
    named = [_runs(e) & like.keys() for _, e in series.points]
    counts = Counter(name for names in named for name in names)
    for (_, template), names in zip(series.points, named, strict=True):
        own = sorted(name for name in names if counts[name] == 1)
        if len(series.points) > 1 and own and isinstance(template, Expr):
            new: list[Point] = [(name, template.of_run(own[0], name)) for name in like[own[0]]]
            return replace(series, points=(*series.points, *new))
    return series


def _more_series(ours: Sequence[Series], like: dict[str, tuple[str, ...]]) -> list[Series]:
    """Where each series is a policy's: one for each of the new."""
    named = [set.intersection(*(_runs(e) for _, e in series.points)) & like.keys()
             if series.points else set() for series in ours]
    counts = Counter(name for names in named for name in names)
    for series, names in zip(ours, named, strict=True):
        own = sorted(name for name in names if counts[name] == 1)
        if len(ours) > 1 and own:
            return [replace(series, label=new, points=tuple(
                (_of_run(x, own[0], new), _of_run(e, own[0], new))
                for x, e in series.points)) for new in like[own[0]]]
    return []


def _of_run(value: Any, old: str, new: str) -> Any:
    """The same of another run, where it is of a run."""
    return value.of_run(old, new) if isinstance(value, Expr) else value


def _runs(expression: Expr | float) -> set[str]:
    """The runs that a point is about."""
    return set(expression.runs) if isinstance(expression, Expr) else set()
