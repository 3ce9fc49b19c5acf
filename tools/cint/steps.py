# SPDX-License-Identifier: GPL-2.0-or-later
"""Long steps: one log each, progress while they run, stamps that make them idempotent.

A step runs commands, shows how far it is, and leaves build/logs/<step>.log. When a
command fails the step ends in a StepError with the last meaningful line of that log.
A stamp, build/stamps/<step>.json, says what a finished step was made from.
"""

import fcntl
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any

from cint import ask, paths, ui
from cint.errors import CintError

#: Turns a line of output into what to show, or None to leave the display alone.
LineParser = Callable[[str], str | None]

_NINJA = re.compile(r"^\[(\d+)/(\d+)\]")
_ERROR = re.compile(
    r"\b(error|fatal|undefined reference|no space left|cannot|unable|not found|denied)\b"
    r"|^E:|^\*\*\*",
    re.IGNORECASE,
)
#: Lines that only say that something before them failed.
_ECHO = re.compile(
    r"^(ninja: |make(\[\d+\])?: |\[\d+/\d+\] |FAILED: |\s*[\^~|]+\s*$|\s*\d+ \| )"
    r"|errors? generated|cc1: all"
)


class StepError(CintError):
    """A step's command failed; the message says which step and why in one line."""


def ninja_progress(text: str) -> str | None:
    """Progress of ninja: the `[done/total]` at the start of its lines."""
    match = _NINJA.match(text)
    return f"[{match[1]}/{match[2]}]" if match else None


def counter(pattern: str, total: int | None = None) -> LineParser:
    """Progress by counting the lines that match `pattern`; `total` when it is known."""
    regex = re.compile(pattern)
    seen = 0

    def parse(text: str) -> str | None:
        nonlocal seen
        if not regex.match(text):
            return None
        seen += 1
        return f"[{seen}/{max(total, seen)}]" if total else f"[{seen}]"

    return parse


def meaningful_error(lines: Sequence[str]) -> str:
    """The last line that says what went wrong, else the last line that says anything."""
    for text in reversed(lines):
        if _ERROR.search(text) and not _ECHO.search(text):
            return text.strip()
    for text in reversed(lines):
        if text.strip():
            return text.strip()
    return "no output"


def _children_cpu_s() -> float:
    """CPU seconds of all commands that have ended, with what they started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Step:
    """One step under way. Use `step(...)` to make one.

    The last line of a finished step's log says what it took: `cint: took 12 s, 20.3 s of CPU`.
    """

    def __init__(self, name: str, title: str) -> None:
        self.name = name
        self.title = title
        self.log = paths.LOGS / f"{name}.log"
        self._progress = ui.Progress(title)
        self._log: IO[str] | None = None
        self._summary = ""
        self._quiet = False
        self._cpu_before_s = 0.0

    def __enter__(self) -> "Step":
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._log = self.log.open("w", encoding="utf-8", errors="replace")
        self._cpu_before_s = _children_cpu_s()
        self._progress.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._progress.__exit__(kind)
        took = ui.duration(self._progress.elapsed())
        if kind is None:
            self.write(f"cint: took {took}, {_children_cpu_s() - self._cpu_before_s:.1f} s of CPU")
        if self._log is not None:
            self._log.close()
        if kind is None:
            if not self._quiet:
                tail = f", {self._summary}" if self._summary else ""
                ui.line(f"{ui.paint('ok', 'green')}    {self.title} ({took}{tail})")
        elif not issubclass(kind, KeyboardInterrupt):
            ui.line(f"{ui.paint('FAIL', 'red', 'bold')}  {self.title} ({took})")

    def update(self, text: str) -> None:
        """Show how far the step is."""
        self._progress.update(text)

    def summary(self, text: str) -> None:
        """Set the words that end the line printed when the step is done."""
        self._summary = text

    def quiet(self) -> None:
        """Print no line at the end: there was nothing to do."""
        self._quiet = True

    def write(self, text: str) -> None:
        """A line of our own in the step's log."""
        if self._log is not None:
            self._log.write(text + "\n")
            self._log.flush()

    def fail(self, reason: str, hint: str | None = None) -> StepError:
        """The error to raise when this step cannot go on."""
        self.write(f"cint: {reason}")
        return StepError(f"{self.title}: {reason}", hint=hint, log=self.log)

    def run(self, argv: Sequence[str | Path], *, cwd: Path | None = None,
            env: Mapping[str, str] | None = None, parse: LineParser | None = None,
            check: bool = True, hint: str | None = None) -> tuple[int, list[str]]:
        """Run a command into the log; return its exit code and its last lines.

        `env` is added to the environment. With `check`, a failing command raises
        StepError. Interrupting the tool ends the command and everything it started.
        """
        words = [str(word) for word in argv]
        where = cwd or paths.ROOT
        self.write(f"+ cd {where} && {' '.join(words)}")
        tail: list[str] = []
        try:
            code = self._run(words, where, {**os.environ, "LC_ALL": "C.UTF-8", **(env or {})},
                             parse, tail)
        except FileNotFoundError as problem:
            raise self.fail(f"cannot run {problem.filename}: no such file", hint) from problem
        if check and code:
            reason = meaningful_error(tail)
            raise StepError(f"{self.title}: {reason}", hint=hint, log=self.log)
        return code, tail

    def _run(self, words: list[str], cwd: Path, env: dict[str, str], parse: LineParser | None,
             tail: list[str]) -> int:
        assert self._log is not None
        with subprocess.Popen(words, cwd=cwd, env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", process_group=0) as child:
            try:
                assert child.stdout is not None
                for text in child.stdout:
                    self._log.write(text)
                    tail.append(text.rstrip("\n"))
                    del tail[:-400]
                    shown = parse(text) if parse else None
                    if shown:
                        self._progress.update(shown)
                self._log.flush()
                return child.wait()
            except BaseException:
                end_group(child)
                raise


def end_group(child: "subprocess.Popen[Any]", grace_s: float = 5.0) -> None:
    """End `child` and everything in its process group: politely, then not."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, number)
        except ProcessLookupError:
            return
        try:
            child.wait(timeout=grace_s)
            return
        except subprocess.TimeoutExpired:
            continue


def step(name: str, title: str) -> Step:
    """A step with log build/logs/<name>.log, shown as `title`; use it with `with`."""
    return Step(name, title)


class Stamp:
    """The inputs of a finished step: build/stamps/<name>.json."""

    def __init__(self, name: str) -> None:
        self.path = paths.STAMPS / f"{name}.json"

    def current(self, inputs: Mapping[str, Any], *outputs: Path) -> bool:
        """Whether the step was finished with these inputs and its outputs are still there."""
        same = ask.json_of(self.path).get("inputs") == json.loads(json.dumps(inputs))
        return same and all(output.exists() for output in outputs)

    def facts(self) -> dict[str, Any]:
        """The facts that the step recorded about its result."""
        facts = ask.json_of(self.path).get("facts")
        return facts if isinstance(facts, dict) else {}

    def write(self, inputs: Mapping[str, Any], **facts: Any) -> None:
        """The step is finished."""
        write_atomic(self.path, json.dumps({"inputs": inputs, "facts": facts}, indent=1) + "\n")

    def remove(self) -> None:
        """The step is about to change its outputs: until it ends it is not finished."""
        self.path.unlink(missing_ok=True)


def once(name: str, title: str, inputs: Mapping[str, Any], outputs: Sequence[Path],
         make: Callable[[Step], Mapping[str, Any] | None]) -> bool:
    """Run a step, unless it was finished with these inputs; whether there was something to do.

    ``make`` does it, and returns facts about the result if there are any.
    """
    stamp = Stamp(name)
    if stamp.current(inputs, *outputs):
        return False
    stamp.remove()
    with step(name, title) as under_way:
        facts = make(under_way)
    stamp.write(inputs, **(facts or {}))
    return True


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name beside `path` for a file or link that takes its place when the block ends.

    So a reader, or an interrupted run, never sees half of it, and a program that runs keeps the
    file that it has. Nothing is left of a block that fails, and `path` is what it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    fresh.unlink(missing_ok=True)
    try:
        yield fresh
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write `path`, all of it or nothing; text as UTF-8."""
    with replacing(path) as fresh:
        fresh.write_bytes(content.encode() if isinstance(content, str) else content)


def copy_atomic(source: Path, path: Path) -> None:
    """Copy a file with its mode and times, all of it or nothing."""
    with replacing(path) as fresh:
        shutil.copy2(source, fresh)


def link_atomic(path: Path, aim: str) -> None:
    """Have the symbolic link `path` name `aim`, at any moment either that or what it named."""
    with replacing(path) as fresh:
        fresh.symlink_to(aim)


def hash_files(files: Iterable[Path], base: Path = paths.ROOT) -> str:
    """One SHA-256 over the names (relative to `base`) and contents of `files`."""
    total = hashlib.sha256()
    for path in sorted(files):
        name = os.path.relpath(path, base)
        total.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


def hash_file(path: Path) -> str:
    """SHA-256 of a file of any size."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def ccache_env() -> dict[str, str]:
    """Environment of every compiler run.

    The cache is the user's, shared by all checkouts: paths below the checkout are
    made relative and the build directory is left out of the hash, so a second
    clone finds what the first one compiled.
    """
    return {
        "CCACHE_DIR": str(paths.CCACHE),
        "CCACHE_BASEDIR": str(paths.ROOT),
        "CCACHE_NOHASHDIR": "1",
        "CCACHE_MAXSIZE": "5G",
    }


#: Locks this process holds: taking one of them again is no wait.
_held: set[Path] = set()


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold a lock file; another process that holds it is waited for, and said so."""
    if path in _held:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as handle:
        _take_lock(handle)
        _held.add(path)
        try:
            yield
        finally:
            _held.discard(path)


def build_lock() -> AbstractContextManager[None]:
    """Only one cint changes build/ at a time."""
    return lock(paths.LOCK)


def _take_lock(handle: IO[str]) -> None:
    if not _try_lock(handle):
        handle.seek(0)
        owner = handle.read().strip() or "unknown"
        with ui.Progress(f"waiting for another cint (process {owner}) to finish building"):
            while not _try_lock(handle):
                time.sleep(0.3)
    handle.seek(0)
    handle.truncate()
    handle.write(f"{os.getpid()}\n")
    handle.flush()


def _try_lock(handle: IO[str]) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
