# SPDX-License-Identifier: GPL-2.0-or-later
"""The time in which all jobs of a group ran, and what each of them did in it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cint.measure import agreeing, edges, fiojson

#: Jobs whose times differ by less ran side by side: their own rates may be added.
EVEN = 0.01
#: So much of the shortest job's time may others begin later; the script at their edges takes some.
LATE = 0.1


@dataclass(frozen=True)
class Window:
    """The time in which all jobs of a group ran, guest seconds, and each job's rate in it.

    ``even`` tells that no job ran longer than another. Where some had ended before others began
    ``seconds`` are 0, the rates are each job's own, and ``total`` is that of all while any ran.
    """

    seconds: float
    rates: Mapping[str, float]
    even: bool
    total: float | None = None


def _same(values: Sequence[float]) -> bool:
    return max(values) - min(values) <= max(EVEN * min(values), 2.0)


def window(jobs: Mapping[str, fiojson.JobStats], found: Sequence[edges.Edge] = (),
           said: agreeing.Agreement | None = None) -> Window:
    """The window of a group, from fio's own times; ``found`` are the edges of its jobs.

    Where fio looked at all of them at once until their end it has ``said`` what each did from then
    on.
    A job that only waited for its last I/Os after its time was over did all of them before.
    For one that ran longer than the others fio does not say what it did meanwhile: that is
    the namespace's count between the edges, less what the others did; without edges it is
    taken to have been as fast as on average.
    """
    if said and _to_the_end(jobs, said):
        return Window(said.seconds, {name: said.rate(name) for name in jobs}, even=True)
    whole = [job.runtime_ms for job in jobs.values()]
    active = {name: job.active_ms for name, job in jobs.items()}
    seconds = min(active.values()) / 1000
    own = {name: job.iops for name, job in jobs.items()}
    if _begin_late(found, seconds):
        return _of_late(own, found)
    if _same([*whole, *active.values()]):
        return Window(seconds, own, even=True)
    rates = {name: 1000 * job.ios / active[name] if job.ios and active[name] else job.iops
             for name, job in jobs.items()}
    if _same(list(active.values())):
        return Window(seconds, rates, even=True)
    longer = [n for n in jobs if not _same([active[n], 1000 * seconds])]
    rest = _counted_rate(found)
    if rest is not None:
        left = max(rest - sum(r for n, r in rates.items() if n not in longer), 0.0)
        total = sum(rates[n] for n in longer)
        rates |= {n: left * rates[n] / total if total else 0.0 for n in longer}
    return Window(seconds, rates, even=False)


def _begin_late(found: Sequence[edges.Edge], seconds: float) -> bool:
    """Whether some jobs began well after others, as fio's startdelay has it."""
    starts = [e.time_ns for e in found if e.start]
    return len(starts) > 1 and starts[-1] - starts[0] > 1e9 * LATE * seconds


def _of_late(own: Mapping[str, float], found: Sequence[edges.Edge]) -> Window:
    """What was counted while all of them ran, each with its part of that; or while any did."""
    counted = _counted_rate(found)
    if counted is None:
        return Window(0.0, own, even=False, total=_busy_rate(found))
    all_own = sum(own.values())
    starts, ends = ([e.time_ns for e in found if e.start is start] for start in (True, False))
    return Window((ends[0] - starts[-1]) / 1e9,
                  {name: counted * rate / all_own if all_own else 0.0
                   for name, rate in own.items()}, even=False)


def _busy_rate(found: Sequence[edges.Edge]) -> float:
    """I/Os per second of the time in which any job ran."""
    running, busy_ns = 0, 0
    for before, after in itertools.pairwise(found):
        running += 1 if before.start else -1
        busy_ns += after.time_ns - before.time_ns if running else 0
    return 1e9 * (found[-1].ios - found[0].ios) / busy_ns if busy_ns else 0.0


def _to_the_end(jobs: Mapping[str, fiojson.JobStats], said: agreeing.Agreement) -> bool:
    """Whether all jobs ended, together, where fio had last looked.

    It looks no more once one of them does something else than I/O: it has ended, or verifies.
    """
    whole = [job.runtime_ms for job in jobs.values()]
    known = set(said.jobs) == set(jobs)
    return known and (said.agreed or (_same(whole) and
                                      1000 * said.seconds >= agreeing.EARLY * max(whole)))


def _counted_rate(found: Sequence[edges.Edge]) -> float | None:
    """I/Os per second from the last start of a job to the first end of one."""
    starts = [e for e in found if e.start]
    ends = [e for e in found if not e.start]
    if not starts or not ends or ends[0].time_ns <= starts[-1].time_ns:
        return None
    return 1e9 * (ends[0].ios - starts[-1].ios) / (ends[0].time_ns - starts[-1].time_ns)
