# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs: from the store where their outcome is known, else by an executor, as they end.

Any `concurrent.futures.Executor` will do. :class:`Local` is guests on this machine. What is
submitted is a call with a :class:`RunPlan` that gives a :class:`RunOutcome`; :func:`execute`
is the whole of it, and can be pickled as they can.
"""

from __future__ import annotations

import os
import random
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path

from cint import host, paths, ui
from cint.errors import CintError
from cint.guest import session, vm
from cint.measure.plan import Places, RunOutcome, RunPlan, difference
from cint.measure.store import Store

Call = Callable[[RunPlan], RunOutcome]

#: Where the outcome of a run is from: a guest; the store; both, and they are the same.
RAN, STORED, CHECKED = "run", "store", "checked"
#: Host seconds that a guest's second takes in virtual time, and a boot; for estimates only.
SECONDS_PER_GUEST_SECOND = 2.2
SECONDS_PER_BOOT = 4.0
#: The share of what was taken from the store that --full runs again.
TENTH = 0.1


@dataclass(frozen=True)
class Reuse:
    """The use of the store: all there is, nothing, or all of it with a share run again.

    ``seed`` chooses that share.
    """

    fresh: bool = False
    share: float = 0.0
    seed: int = 0

    @classmethod
    def of(cls, *, fresh: bool, full: bool, seed: int | None = None) -> Reuse:
        """The choice that the options say; a seed is drawn where it is needed and not given."""
        if not full:
            return cls(fresh)
        return cls(fresh, TENTH, secrets.randbelow(10**6) if seed is None else seed)

    @classmethod
    def from_environment(cls) -> Reuse:
        """The choice that `./cint test` passes in CINT_RUNS: fresh, full:SEED or nothing."""
        words, _, seed = os.environ.get("CINT_RUNS", "").partition(":")
        return cls(words == "fresh", TENTH if words == "full" else 0.0, int(seed or 0))

    def again(self, found: Sequence[int]) -> set[int]:
        """Which of the runs that were found are run again: the share of them, at least one."""
        if self.fresh:
            return set(found)
        count = min(len(found), max(1, round(self.share * len(found)))) if self.share else 0
        return set(random.Random(self.seed).sample(sorted(found), count))


@dataclass(frozen=True)
class Done:
    """A run that ended: `index` is its place among those asked for; either outcome or problem."""

    index: int
    run: RunPlan
    outcome: RunOutcome | None
    problem: CintError | None = None
    source: str = RAN

    @property
    def said(self) -> session.Outcome | None:
        """Its guest's outcome, under the name of the run."""
        return None if self.outcome is None else self.outcome.parsed(self.run.name)


# ---- one run ------------------------------------------------------------

def execute(run: RunPlan, places: Places, logs: Path | None = None,
            notify: session.Notify | None = None,
            cancel: threading.Event | None = None) -> RunOutcome:
    """Boot the guest with the files at `places` and follow it to its end.

    `logs` receives its logs as it runs. Raises :class:`CintError` when anything fails.
    """
    if logs is None:
        with tempfile.TemporaryDirectory(prefix="cint-run-") as directory:
            return replace(execute(run, places, Path(directory), notify, cancel), boot_races=())
    started = time.monotonic()
    boot = session.Boot(run.name, run.command(places), run.jobs, logs, run.job_seconds,
                        run.boot_limit_s)
    done = session.run(boot, notify or session.silent, cancel)
    printed = (logs / "qemu.log").read_bytes()
    return RunOutcome(run.key(), (logs / "agent.log").read_bytes(),
                      (logs / "console.log").read_bytes(),
                      printed.removeprefix(session.log_head(done.argv)), tuple(done.argv),
                      done.boot_wall_s, time.monotonic() - started, done.boot_races)


def workers(virtual: bool, count: int) -> int:
    """How many guests at once: one a core in virtual time, else one."""
    return max(1, min(count, host.cpu_count())) if virtual else 1


class Turns:
    """Which of `count` runs may begin, where `at_once` keep the machine busy.

    Of seven guests on two CPUs the last would run beside an idle CPU. So those that remain
    when they are at most 1.5 times as many as the CPUs begin together: they share the CPUs,
    and end at about the same time. In virtual time that does not change their results.
    """

    def __init__(self, at_once: int, count: int) -> None:
        self._at_once = at_once
        self._together = at_once * 3 // 2 if at_once > 1 else 0
        self._waiting = count
        self._running = 0
        self._last_round = count <= self._together
        self._changed = threading.Condition()
        #: So many may run at the same time.
        self.most = at_once + self._together

    def __enter__(self) -> None:
        """Wait for the turn of one run."""
        with self._changed:
            self._changed.wait_for(lambda: self._last_round or self._running < self._at_once)
            self._running += 1
            self._waiting -= 1
            # Should there be more than were counted, they do not belong to the last round.
            self._last_round = self._last_round and self._waiting > 0

    def __exit__(self, *_: object) -> None:
        """Note that the run has ended."""
        with self._changed:
            self._running -= 1
            self._last_round = 0 < self._waiting <= self._together
            self._changed.notify_all()


class Local:
    """Guests on this machine, `at_once` of `count` at a time, the last of them together.

    Leaving it by an exception ends them.
    """

    def __init__(self, at_once: int, count: int, places: Places, logs: Callable[[RunPlan], Path],
                 notify: session.Notify = session.silent) -> None:
        self._turns = Turns(at_once, count)
        self.executor = ThreadPoolExecutor(self._turns.most)
        self._places = places
        self._logs = logs
        self._notify = notify
        self._cancel = threading.Event()

    def call(self, run: RunPlan) -> RunOutcome:
        """The work that an executor is given; CancelledError once the others have been stopped."""
        with self._turns:
            if self._cancel.is_set():
                raise vm.CancelledError("stopped")
            return execute(run, self._places, self._logs(run), self._notify, self._cancel)

    def __enter__(self) -> Local:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._cancel.set()
        self.executor.shutdown(wait=True, cancel_futures=True)


# ---- many ---------------------------------------------------------------

def run_all(runs: Sequence[RunPlan], executor: Executor, call: Call, store: Store | None = None,
            reuse: Reuse | None = None) -> Iterator[Done]:
    """Yield the runs as they end, those that the store has first.

    Runs of one key run once. A run that fails loses only itself. When the caller stops, what
    has not begun is dropped.
    """
    reuse = reuse or Reuse()
    kept = [store.get(run.key()) if store and store.takes(run) else None for run in runs]
    again = reuse.again([i for i, outcome in enumerate(kept) if outcome])
    taken = {i for i, outcome in enumerate(kept) if outcome is not None and i not in again}
    open_runs = _submit({i: run for i, run in enumerate(runs) if i not in taken}, executor, call)
    try:
        for index in sorted(taken):
            yield Done(index, runs[index], kept[index], source=STORED)
        while open_runs:
            for future in wait(open_runs, return_when=FIRST_COMPLETED).done:
                for index in open_runs.pop(future):
                    yield _ended(index, runs[index], future, kept[index], store)
    finally:
        for future in open_runs:
            future.cancel()
        if store is not None:
            store.prune()


def estimate(guests: int, guest_seconds: float, at_once: int) -> float:
    """Host seconds of so many guests with so many seconds of virtual time in all, on idle CPUs."""
    return (SECONDS_PER_BOOT * guests + SECONDS_PER_GUEST_SECOND * guest_seconds) / at_once


def _submit(runs: Mapping[int, RunPlan], executor: Executor,
            call: Call) -> dict[Future[RunOutcome], list[int]]:
    """Futures of all runs, with the indices of those that each is for."""
    waiting: dict[Future[RunOutcome], list[int]] = {}
    by_key: dict[str, Future[RunOutcome]] = {}
    for index, run in runs.items():
        key = f"{index}" if run.impure else run.key()
        if key not in by_key:
            by_key[key] = executor.submit(call, run)
        waiting.setdefault(by_key[key], []).append(index)
    return waiting


def to_boot(runs: Sequence[RunPlan], store: Store | None, reuse: Reuse | None) -> int:
    """How many guests that will be, as far as can be told without reading the store."""
    keys = {f"{index}" if run.impure else run.key() for index, run in enumerate(runs)
            if store is None or not (store.takes(run) and store.has(run.key()))
            or (reuse and reuse.fresh)}
    return len(keys)


def _ended(index: int, run: RunPlan, future: Future[RunOutcome], kept: RunOutcome | None,
           store: Store | None) -> Done:
    try:
        outcome = future.result()
    except CintError as problem:
        return Done(index, run, None, problem)
    except Exception as problem:
        found = CintError(f"{run.name}: {type(problem).__name__}: {problem}")
        found.__cause__ = problem
        return Done(index, run, None, found)
    if kept is not None:
        apart = difference(kept, outcome)
        if apart:
            return Done(index, run, None, _different(run, kept, outcome, apart), CHECKED)
        return Done(index, run, outcome, source=CHECKED)
    if store is not None and store.takes(run):
        _keep(store, outcome)
    return Done(index, run, outcome)


def _keep(store: Store, outcome: RunOutcome) -> None:
    try:
        store.put(outcome)
    except OSError as err:
        ui.warn(f"a run cannot be kept in {store.directory}: {err.strerror}")


def _different(run: RunPlan, kept: RunOutcome, fresh: RunOutcome, apart: str) -> CintError:
    """The error; both outcomes are left as directories that can be compared."""
    base = paths.LOGS / "runs" / run.key()[:12]
    for name, outcome in (("stored", kept), ("fresh", fresh)):
        (base / name).mkdir(parents=True, exist_ok=True)
        for part, text in outcome.parts().items():
            (base / name / part).write_bytes(text)
    part = apart.partition(" ")[0]
    return CintError(f"{run.name}: run {run.key()[:12]} is not what the store has: {apart} on",
                     hint=f"compare {paths.display(base / 'stored' / part)} with "
                          f"{paths.display(base / 'fresh' / part)}; './cint clean --runs' "
                          "empties the store", log=base / "fresh" / part)


# ---- what is said -------------------------------------------------------

def summary(done: Sequence[Done], reuse: Reuse) -> str:
    """`12 of 21 runs from the store`; empty without any."""
    stored = [one for one in done if one.source != RAN]
    if not stored:
        return ""
    text = f"{len(stored)} of {len(done)} runs from the store"
    checked = [one for one in stored if one.source == CHECKED]
    if checked:
        same = sum(one.problem is None for one in checked)
        drawn = "" if reuse.fresh else f" (drawn with seed {reuse.seed})"
        text += f"; {len(checked)} run again{drawn}: {same} with the same bytes"
    return text


def outcomes(done: Sequence[Done]) -> list[session.Outcome]:
    """The outcomes of all runs, in the order they were asked for; raises the first problem."""
    for one in done:
        if one.problem is not None:
            raise one.problem
    said = (one.said for one in sorted(done, key=lambda d: d.index))
    return [one for one in said if one is not None]
