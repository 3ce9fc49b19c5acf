# SPDX-License-Identifier: GPL-2.0-or-later
"""Where runs run: on this machine, or on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Protocol

from cint import bootstrap
from cint.errors import UsageError
from cint.guest import session
from cint.measure import runner
from cint.measure.plan import Places, RunPlan
from cint.measure.store import Store


class Where(Protocol):
    """Where runs run: something to submit `call` to, while it is entered."""

    @property
    def executor(self) -> Executor: ...

    @property
    def call(self) -> runner.Call: ...

    def __enter__(self) -> Where: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None: ...


def elsewhere(address: str, runs: Sequence[RunPlan], places: Places) -> Where:
    """The workers of the Dask scheduler at `address`; UsageError of a run that cannot go there."""
    for run in runs:
        if run.impure:
            raise UsageError(f"--cluster: {run.name} runs on this machine only: {run.impure}")
    bootstrap.install_extra("cluster")
    from cint.measure import cluster  # noqa: PLC0415 - needs the extra

    return cluster.Cluster.for_runs(address, runs, places)


def run_here(runs: Sequence[RunPlan], places: Places, logs: Callable[[RunPlan], Path], *,
             virtual: bool = True, store: Store | None = None, reuse: runner.Reuse | None = None,
             notify: session.Notify = session.silent, cluster: str = "") -> Iterator[runner.Done]:
    """All runs, with logs of all of them here, as they end.

    They run on this machine, or on the workers of the scheduler at the address `cluster`, of
    which `notify` hears nothing.
    """
    where: Where = (elsewhere(cluster, runs, places) if cluster else
                    runner.Local(runner.workers(virtual, len(runs)),
                                 runner.to_boot(runs, store, reuse), places, logs, notify))
    with where:
        for one in runner.run_all(runs, where.executor, where.call, store, reuse):
            if one.outcome is not None and (cluster or one.source == runner.STORED):
                one.outcome.write_logs(logs(one.run))
            yield one
