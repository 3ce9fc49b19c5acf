# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs on other machines, by Dask's distributed scheduler.

The client sends each worker the files that runs read (QEMU, firmware, kernel, image), by the
SHA-256 of their content, so that a worker compiles nothing; a worker keeps them in its user's
cache. One that cannot run them, or whose checkout of cint is another, is refused by name.

Needs the extra `cluster` (bootstrap.install_extra). A Dask worker does what it is sent: see
docs/cluster.md for who may reach it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import zlib
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import distributed

from cint import ask, paths, steps, ui
from cint.errors import CintError, UsageError
from cint.measure import plan, runner
from cint.measure.plan import Places, RunOutcome, RunPlan

#: How long the scheduler has to answer, and the first worker to be there.
CONNECT_S = 10.0
#: QEMU only says its version, but may have to be read from a slow disk first.
EXAMINE_S = 60.0


@cache
def code_digest() -> str:
    """SHA-256 (hex) of the tool's own code: client and worker have to be the same."""
    whole = hashlib.sha256()
    top = paths.TOOLS / "cint"
    for path in sorted(top.rglob("*.py")):
        text = path.read_bytes()
        whole.update(f"{path.relative_to(top)} {len(text)}\n".encode() + text)
    return whole.hexdigest()


# ---- the files of a worker ----------------------------------------------

def place(content: str, role: str) -> Path:
    """Where a worker keeps a file; QEMU finds firmware by its name."""
    return paths.CACHE / "files" / content / role.rpartition("/")[2]


def keep(content: str, role: str, packed: bytes) -> None:
    """Put a file there, unless it is; CintError if its content, checked either way, is another."""
    path = place(content, role)
    if path.is_file() and plan.content(path) == content:
        return
    with steps.replacing(path) as fresh:
        fresh.write_bytes(zlib.decompress(packed))
        fresh.chmod(0o755)
        if plan.content(fresh) != content:
            raise CintError(f"{role} came with another content than {content[:12]}...")


def examine(qemu: Path) -> None:
    """Raise :class:`CintError` where QEMU does not run."""
    try:
        done = ask.run([qemu, "--version"], timeout=EXAMINE_S)
    except (OSError, subprocess.TimeoutExpired) as err:
        raise CintError(f"it cannot run QEMU: {err}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["it said nothing"]
        raise CintError(f"it cannot run QEMU: {said[0]}")


class RefusedError(CintError):
    """A worker that cannot take part; `address` is the scheduler's name for it."""

    address = ""


class Supply(distributed.WorkerPlugin):  # type: ignore[misc]
    """The files that every worker is given when the client comes, or when the worker does."""

    def __init__(self, code: str, files: Mapping[str, tuple[str, bytes]]) -> None:
        self.code = code
        self.files = files

    def setup(self, worker: Any) -> None:
        """Prepare the worker: Dask calls it. CintError where its checkout is another."""
        try:
            if code_digest() != self.code:
                raise CintError("its checkout of cint is not the client's")
            for content, (role, packed) in self.files.items():
                keep(content, role, packed)
                if role == "qemu":
                    examine(place(content, role))
        except CintError as problem:
            refused = RefusedError(f"worker {worker.name} at {worker.address} is refused: "
                                   f"{problem.message}",
                                   hint="run ./cint worker there, from the same commit")
            refused.address = worker.address
            raise refused from None


def execute(run: RunPlan) -> RunOutcome:
    """One run, on a worker, whose name is in the :class:`CintError` of what goes wrong."""
    name = distributed.get_worker().name
    places = {content: place(content, role) for role, content in run.files}
    try:
        return runner.execute(run, places)
    except CintError as problem:
        # Its log stays behind, in a directory that is gone.
        raise CintError(f"{problem.message} (on worker {name})", hint=problem.hint,
                        code=problem.code) from None


# ---- the client ---------------------------------------------------------

def check_certificate(address: str) -> None:
    """Raise :class:`UsageError` where a tls:// address would be called without a certificate."""
    if not address.startswith("tls://"):
        return
    hint = "name its files: DASK_DISTRIBUTED__COMM__TLS__CA_FILE, ...; see docs/cluster.md"
    try:
        shown = distributed.Security().get_connection_args("client")["ssl_context"]
    except OSError as err:
        raise UsageError(f"--cluster {address}: the certificate cannot be read: {err}",
                         hint=hint) from None
    if shown is None:
        raise UsageError(f"--cluster {address}: there is no certificate to show", hint=hint)


@dataclass
class Cluster:
    """The workers of a scheduler in place of guests here; see :class:`cint.measure.runner.Local`.

    Entering it supplies all workers; those that come later are supplied as they come.
    """

    address: str
    places: Places
    roles: Mapping[str, str]
    #: What is submitted to the executor: a function of the worker's, not of this client.
    call = staticmethod(execute)

    @classmethod
    def for_runs(cls, address: str, runs: Iterable[RunPlan], places: Places) -> Cluster:
        """The cluster for these runs, whose files are here at `places`."""
        roles = {content: role for run in runs for role, content in run.files}
        return cls(address, places, roles)

    def __enter__(self) -> Cluster:
        check_certificate(self.address)
        try:
            self._client = distributed.Client(self.address, timeout=CONNECT_S,
                                              set_as_default=False)
        except (OSError, ValueError) as err:
            raise CintError(f"--cluster {self.address}: no Dask scheduler answers: {err}",
                            hint="./cint worker --scheduler starts one; see docs/cluster.md"
                            ) from None
        try:
            self._supply()
        except BaseException:
            self._client.close()
            raise
        self.executor: Executor = self._client.get_executor(pure=False)
        return self

    def _supply(self) -> None:
        files = {content: (role, zlib.compress(self.places[content].read_bytes(), 1))
                 for content, role in self.roles.items()}
        plugin = Supply(code_digest(), files)
        self._plugin = f"cint-{os.getpid()}-{self._client.id}"
        while True:
            workers = self._client.scheduler_info(n_workers=-1)["workers"]
            if not workers:
                raise CintError(f"--cluster {self.address}: the scheduler has no worker that can "
                                "take part", hint="start one: ./cint worker ADDRESS")
            try:
                self._client.register_plugin(plugin, name=self._plugin)
                break
            except RefusedError as refused:
                ui.warn(refused.message, refused.hint)
                self._client.retire_workers([refused.address], close_workers=True)
        ui.info(f"{len(workers)} workers at {self.address}")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is not None:
                self.executor.shutdown(wait=False, cancel_futures=True)
            self._client.unregister_worker_plugin(self._plugin)
        except Exception as err:  # the scheduler is gone, say: what ran is not less true
            ui.warn(f"--cluster {self.address}: {err}")
        finally:
            self._client.close()
