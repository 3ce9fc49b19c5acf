# SPDX-License-Identifier: GPL-2.0-or-later
"""A results directory while it is made: samples as they end, and where an interrupted one goes on.

`unfinished.json` says what is being made; whoever makes it holds a lock on it. The same
command finds it and goes on in that directory. In virtual time the store of runs has what is
done already; outcomes that are kept nowhere else, as those in real time, are in `runs/` of the
directory until it is complete.
"""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

from cint import ask, paths
from cint.errors import CintError
from cint.measure import records
from cint.measure.store import Journal
from cint.results import documents

MARK = "unfinished.json"
SAMPLES = "samples.jsonl"
RUNS = "runs"


class Unfinished:
    """The directory of one comparison; use it as a context manager until it is complete.

    `identity` stands for everything that decides the result.
    """

    def __init__(self, path: Path, lock: IO[str]) -> None:
        self.path = path
        self.runs = path / RUNS
        self._lock = lock
        (path / SAMPLES).write_bytes(b"")

    def __enter__(self) -> Unfinished:
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.close()

    def journal(self, *, fresh: bool) -> Journal:
        """Where runs are kept that the store does not take; `fresh`: none from before."""
        if fresh:
            shutil.rmtree(self.runs, ignore_errors=True)
        return Journal(self.runs)

    def add(self, samples: Iterable[records.Sample]) -> None:
        """Keep the samples of a guest that has ended."""
        with (self.path / SAMPLES).open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(sample) + "\n" for sample in samples)

    def complete(self) -> None:
        """All is in results.json."""
        for name in (MARK, SAMPLES):
            (self.path / name).unlink(missing_ok=True)
        shutil.rmtree(self.runs, ignore_errors=True)


def _claim(path: Path, said: Mapping[str, object]) -> Unfinished | None:
    """Take a directory, new or not; None if another process makes it now."""
    lock = (path / MARK).open("a+", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    lock.truncate(0)
    lock.write(json.dumps(said) + "\n")
    lock.flush()
    return Unfinished(path, lock)


def _said(path: Path) -> dict[str, object]:
    """What an unfinished directory says it is."""
    return ask.json_of(path / MARK)


def begin(out: Path | None, kind: str, command: str, identity: str) -> tuple[Unfinished, bool]:
    """The directory to work in, and whether it is one that was begun before.

    `out` is a person's own choice: new, empty, begun by the same command, or its finished
    results, which are made again.
    """
    said = {"kind": kind, "command": command, "identity": identity}
    if out is not None:
        return _own(out, said)
    for path in sorted(paths.RESULTS.glob(f"*-{kind}*"), reverse=True):
        if _said(path).get("identity") == identity and (found := _claim(path, said)):
            return found, True
    made = _claim(documents.new_directory(kind), said)
    assert made is not None
    return made, False


def check(out: Path, command: str) -> None:
    """Refuse a directory that `begin` would, as far as that is known before anything is built."""
    documents.check_place(out)
    if out.is_dir() and not (out / MARK).exists() and not _is_of(out, command):
        documents.check_empty(out)


def _own(out: Path, said: Mapping[str, object]) -> tuple[Unfinished, bool]:
    begun = _said(out).get("identity") == said["identity"]
    if not begun and not _is_of(out, str(said["command"])):
        documents.check_empty(out)
    found = _claim(out.resolve(), said)
    if found is None:
        raise CintError(f"--out {out}: another cint is making these results just now")
    if not begun:
        shutil.rmtree(found.runs, ignore_errors=True)
    return found, begun


def _is_of(out: Path, command: str) -> bool:
    """Whether a directory has the results of the same command, or a part of them."""
    said = (_said(out).get("command"),
            ask.json_of(out / documents.FILE).get("repeat_command"))
    return command in said


def being_made(path: Path) -> bool:
    """Whether a process makes it now."""
    if not (path / MARK).is_file():
        return False
    with (path / MARK).open(encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def has_runs(path: Path) -> bool:
    """Whether any of its runs has ended, so that the same command has something to go on from."""
    samples = path / SAMPLES
    return (samples.is_file() and samples.stat().st_size > 0) or any((path / RUNS).glob("*"))


def command_of(path: Path) -> str | None:
    """The command that would go on in an unfinished directory; None if there is none."""
    command = _said(path).get("command")
    return str(command) if command else None
