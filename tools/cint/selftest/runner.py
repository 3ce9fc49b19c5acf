# SPDX-License-Identifier: GPL-2.0-or-later
"""Running test programs of different kinds so that their results add up.

Every kind (a command, a TAP program, pytest) becomes a stream of `Result`.
"""

import json
import os
import re
import select
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from cint import ask, paths, steps
from cint.errors import CintError

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
#: A claim that is known not to hold failed as it is expected to, within its bounds.
EXPECTED = "expected"

_T = TypeVar("_T")
_One = TypeVar("_One")


@dataclass(frozen=True)
class Result:
    """The result of one test."""

    suite: str
    name: str
    status: str
    seconds: float
    log: Path | None = None
    reason: str = ""

    @property
    def rerun(self) -> str:
        """The command that runs just this test again."""
        return f"./cint test {self.suite} -k '{self.name}'"


@dataclass(frozen=True)
class Command:
    """A test that is a command: exit code 0 passes, 77 is a skip."""

    suite: str
    name: str
    argv: tuple[str, ...]
    cwd: Path = paths.ROOT
    env: tuple[tuple[str, str], ...] = ()
    limit_s: float = 120.0
    #: Looks at exit code and output; returns why the test failed, or None.
    judge: Callable[[int, str], str | None] | None = None
    #: Looks at the output when nothing failed; returns why the test did not run, or None.
    skipped: Callable[[str], str | None] | None = None
    #: Whether nothing may run beside it.
    alone: bool = False


@dataclass(frozen=True)
class Call:
    """A test that is a check of ours: it returns its log, and why it failed or an empty text."""

    suite: str
    name: str
    check: Callable[[], tuple[str, str]]
    alone: bool = False


Test = Command | Call


def selected(name: str, pattern: str | None, names: Sequence[str]) -> bool:
    """Whether `-k pattern` selects `name`: the exact name if there is one, else a part of it."""
    if not pattern:
        return True
    return name == pattern if pattern in names else pattern in name


def chosen(tests: Sequence[Test], pattern: str | None) -> list[Test]:
    """Those that `-k pattern` selects."""
    names = [test.name for test in tests]
    return [test for test in tests if selected(test.name, pattern, names)]


def log_path(suite: str, name: str) -> Path:
    """build/logs/test/<suite>/<name>.log"""
    safe = re.sub(r"[^A-Za-z0-9_.=-]+", "_", name).strip("_")[-150:]
    path = paths.TEST_LOGS / suite / f"{safe}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _capture(command: Command, log: Path) -> tuple[int | None, str]:
    """Run into `log`; the exit code, or None at the time limit, and the output."""
    with log.open("w+", encoding="utf-8", errors="replace") as stream:
        settings = " ".join(f"{key}={value}" for key, value in command.env)
        stream.write(f"+ cd {command.cwd} && {settings} {' '.join(command.argv)}\n")
        stream.flush()
        start = stream.tell()
        with subprocess.Popen(
            command.argv, cwd=command.cwd, env={**os.environ, **dict(command.env)},
            stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT, process_group=0,
        ) as child:
            try:
                code: int | None = child.wait(timeout=command.limit_s)
            except subprocess.TimeoutExpired:
                steps.end_group(child)
                code = None
            except BaseException:
                steps.end_group(child)
                raise
        stream.seek(start)
        return code, stream.read()


def _exit_reason(code: int, output: str) -> str:
    if code < 0:
        return f"ended by signal {-code}: {steps.meaningful_error(output.splitlines())}"
    return f"exit code {code}: {steps.meaningful_error(output.splitlines())}"


def run_command(command: Command) -> Result:
    """Run one command as one test."""
    log = log_path(command.suite, command.name)
    started = time.monotonic()

    def result(status: str, reason: str = "") -> Result:
        seconds = time.monotonic() - started
        return Result(command.suite, command.name, status, seconds, log, reason)

    try:
        code, output = _capture(command, log)
    except OSError as problem:
        return result(FAILED, f"cannot run {command.argv[0]}: {problem.strerror}")
    if code is None:
        return result(FAILED, f"not finished after {command.limit_s:.0f} s")
    if command.judge is not None:
        if why := command.judge(code, output):
            return result(FAILED, why)
        missing = command.skipped(output) if command.skipped else None
        return result(SKIPPED, missing) if missing else result(PASSED)
    if code == 77:
        return result(SKIPPED, steps.meaningful_error(output.splitlines()))
    return result(FAILED, _exit_reason(code, output)) if code else result(PASSED)


def _run_call(call: Call) -> Result:
    log, deeper = log_path(call.suite, call.name), None
    started = time.monotonic()
    try:
        said, why = call.check()
    except CintError as problem:
        said = why = problem.message
        deeper = problem.log
    log.write_text(f"{said}\n", encoding="utf-8")
    return Result(call.suite, call.name, FAILED if why else PASSED, time.monotonic() - started,
                  deeper or log, why)


def run_test(test: Test) -> Result:
    """Run one test."""
    return _run_call(test) if isinstance(test, Call) else run_command(test)


def _side_by_side(run: Callable[[_One], _T], tests: Sequence[_One], jobs: int) -> Iterator[_T]:
    """What `run` gives for each test, `jobs` of them at a time, in the order they end."""
    pool = ThreadPoolExecutor(max_workers=max(jobs, 1))
    try:
        for future in as_completed([pool.submit(run, test) for test in tests]):
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def run_tests(tests: Sequence[Test], jobs: int) -> Iterator[Result]:
    """Run tests side by side; results in the order they end."""
    yield from _side_by_side(run_test, tests, jobs)


# --- TAP ----------------------------------------------------------------------------------

_TAP = re.compile(
    r"^(not )?ok\b\s*\d*\s*(?:- )?(.*?)\s*(?:#\s*(SKIP|TODO)\b\s*(.*))?$", re.IGNORECASE
)


def parse_tap(line: str) -> tuple[str, str, str] | None:
    """(name, status, reason) of a TAP result line at the outermost level, else None."""
    match = _TAP.match(line)
    if match is None:
        return None
    name = match[2] or "?"
    directive = (match[3] or "").upper()
    if directive == "SKIP":
        return name, SKIPPED, match[4]
    if match[1]:
        return name, (SKIPPED if directive == "TODO" else FAILED), match[4] or ""
    return name, PASSED, ""


def tap_results(output: str) -> list[tuple[str, str, str]]:
    """All results of a TAP program, as :func:`parse_tap` gives them."""
    return [parsed for parsed in map(parse_tap, output.splitlines()) if parsed]


def tap_planned(output: str) -> int | None:
    """The number of tests a TAP program announced."""
    match = re.search(r"^1\.\.(\d+)", output, re.MULTILINE)
    return int(match[1]) if match else None


def run_tap(command: Command) -> Iterator[Result]:
    """Run a TAP program; one result for each test in it.

    A program that ends early, or with an error that no test explains, is one more failure.
    `command.name` is put before their names.
    """
    log = log_path(command.suite, command.name)
    started = time.monotonic()
    code, output = _capture(command, log)
    seconds = time.monotonic() - started
    found = tap_results(output)
    share = seconds / max(len(found), 1)
    for name, status, reason in found:
        shown = f"{command.name}{name}"
        yield Result(command.suite, shown, status, share, log, reason)
    planned = tap_planned(output)
    failed = any(status == FAILED for _, status, _ in found)
    why = None
    if code is None:
        why = f"not finished after {command.limit_s:.0f} s"
    elif (code and not failed) or (planned is not None and len(found) < planned):
        why = f"{len(found)} of {planned} tests ran; {_exit_reason(code, output)}"
    elif planned is None and not found:
        why = "no tests in the output"
    if why:
        yield Result(command.suite, command.name, FAILED, seconds, log, why)


def run_taps(commands: Sequence[Command], jobs: int) -> Iterator[Result]:
    """Run TAP programs side by side; the results of one together, in the order they end."""
    for results in _side_by_side(lambda command: list(run_tap(command)), commands, jobs):
        yield from results


# --- pytest -------------------------------------------------------------------------------


#: A suite that takes longer hangs.
PYTEST_LIMIT_S = 3000.0


def run_pytest(suite: str, directory: Path, *, marker: str = "", pattern: str | None = None,
               jobs: int = 1, env: Mapping[str, str] | None = None,
               limit_s: float = PYTEST_LIMIT_S) -> Iterator[Result]:
    """Run the pytest files of `directory`; results as they happen.

    With `jobs`, that many processes run at once, each with a file at a time.
    """
    logs = paths.TEST_LOGS / suite
    logs.mkdir(parents=True, exist_ok=True)
    log = logs / "pytest.log"
    reader, writer = os.pipe()
    argv = [str(paths.VENV / "bin/python"), "-m", "pytest", "-q", "--continue-on-collection-errors",
            "-p", "cint.selftest.pytest_events",
            "-p", "no:cacheprovider", "-c", str(paths.TOOLS / "pyproject.toml"),
            "--rootdir", str(paths.ROOT), str(directory)]
    if marker:
        argv += ["-m", marker]
    if jobs > 1:
        # a process that crashed and was replaced can leave xdist 3.8 waiting for ever
        argv += ["-n", str(jobs), "--dist", "loadfile", "--max-worker-restart=0"]
    settings = {**os.environ, "CINT_TEST_EVENTS": str(writer), "CINT_TEST_LOGS": str(logs),
                "CINT_TEST_FILTER": pattern or "", **(env or {})}
    started = time.monotonic()
    count = 0
    with log.open("w") as stream, subprocess.Popen(
        argv, cwd=paths.ROOT, env=settings, stdin=subprocess.DEVNULL, stdout=stream,
        stderr=subprocess.STDOUT, pass_fds=(writer,), process_group=0,
    ) as child:
        os.close(writer)
        try:
            for event in _events(reader, started + limit_s):
                count += 1
                yield Result(suite, event["name"], event["status"], event["seconds"],
                             Path(event["log"]), event["reason"])
            timed_out = time.monotonic() >= started + limit_s
            if timed_out:
                steps.end_group(child)
            code = child.wait()
        except BaseException:
            steps.end_group(child)
            raise
        finally:
            os.close(reader)
    # 0 all passed, 1 some failed (told already), 5 none collected.
    if timed_out or code not in (0, 1, 5) or (code == 1 and not count):
        why = f"not finished after {limit_s:.0f} s" if timed_out else f"pytest ended with {code}"
        yield Result(suite, "pytest", FAILED, time.monotonic() - started, log, why)
    elif code == 5 and not count and not pattern:
        yield Result(suite, "pytest", SKIPPED, 0.0, log, f"no tests in {paths.display(directory)}")


def list_pytest(directory: Path, marker: str = "") -> list[str]:
    """The names of the tests in `directory`, without running them."""
    argv = [str(paths.VENV / "bin/python"), "-m", "pytest", "--collect-only", "-q",
            "-p", "no:cacheprovider", "-c", str(paths.TOOLS / "pyproject.toml"),
            "--rootdir", str(paths.ROOT), str(directory), *(["-m", marker] if marker else [])]
    done = ask.run(argv, cwd=paths.ROOT)
    return [f"{Path(path).stem}::{rest}" for path, mark, rest
            in (line.partition("::") for line in done.stdout.splitlines()) if mark]


def _events(reader: int, deadline: float) -> Iterator[dict[str, Any]]:
    """JSON lines from a pipe until it is closed or the time is over."""
    pending = b""
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([reader], [], [], left)[0]:
            return
        chunk = os.read(reader, 65536)
        if not chunk:
            return
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            yield json.loads(line)
