# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole commands: interrupted, killed, two at once. What a person types, as a process."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cint import cli, paths
from cint.errors import EXIT_INTERRUPTED

HERE = Path(__file__).parent
WORDS = ("compare", "--policy", "default,adaptive,vic", "--no-plots", "--workload", "sync")
#: A machine may be busy.
LIMIT_S = 240.0


def start(directory: Path, *words: str, guest: str = "ok", only: str = "") -> subprocess.Popen[str]:
    """Start ./cint; its guests have the directory in their environment."""
    env = {**os.environ, "PYTHONPATH": f"{HERE}:{paths.TOOLS}", "FAKE_GUEST": guest,
           "FAKE_ONLY": only, "CINT_PLAYED": str(directory)}
    return subprocess.Popen([sys.executable, HERE / "played.py", directory, *words], env=env,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def guests(directory: Path) -> list[int]:
    """The guests that run for that directory."""
    mark = f"CINT_PLAYED={directory}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            mine = mark in (process / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if mine and any(word.endswith(b"fake_qemu.py") for word in words[:2]):
            found.append(int(process.name))
    return found


def wait_until(done: object, directory: Path) -> None:
    """Until `done(directory)` says so."""
    deadline = time.monotonic() + LIMIT_S
    assert callable(done)
    while not done(directory):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command_leaves_no_guest(tmp_path: Path, number: signal.Signals) -> None:
    with start(tmp_path, *WORDS, guest="hang") as command:
        wait_until(guests, tmp_path)
        command.send_signal(number)
        _, said = command.communicate(timeout=LIMIT_S)
    assert command.returncode == EXIT_INTERRUPTED
    assert said.splitlines()[-1].endswith("interrupted; the same command goes on where it stopped")
    assert guests(tmp_path) == []


def has_two(directory: Path) -> bool:
    """Whether two guests' samples are kept."""
    kept = list((directory / "results").glob("*/samples.jsonl"))
    policies = {json.loads(line)["policy"] for path in kept
                for line in path.read_text("utf-8").splitlines()}
    return len(policies) == 2


def test_a_killed_command_goes_on_where_it_was(tmp_path: Path) -> None:
    with start(tmp_path, *WORDS, guest="silent", only="cint.policy=vic") as command:
        wait_until(has_two, tmp_path)
        command.kill()
        command.communicate()
    for left in guests(tmp_path):
        os.kill(left, signal.SIGKILL)
    with start(tmp_path, *WORDS) as again:
        table, said = again.communicate(timeout=LIMIT_S)
    assert again.returncode == 0, said
    assert "going on in" in said and "2 of 3 runs from the store" in said
    assert all(policy in table for policy in ("default", "adaptive", "vic"))
    assert len(list((tmp_path / "results").glob("*-compare*"))) == 1


def test_two_commands_at_once_do_not_harm_each_other(tmp_path: Path) -> None:
    with start(tmp_path, *WORDS) as one, start(tmp_path, *WORDS) as other:
        said = [command.communicate(timeout=LIMIT_S)[1] for command in (one, other)]
    assert (one.returncode, other.returncode) == (0, 0), said
    made = [path for path in (tmp_path / "results").glob("*-compare*") if not path.is_symlink()]
    documents = [json.loads((path / "results.json").read_text("utf-8")) for path in made]
    assert documents and all(document["rows"] == documents[0]["rows"] for document in documents)
    assert not list((tmp_path / "results").glob("*/unfinished.json"))
    assert guests(tmp_path) == []


def test_checking_the_series_sets_up_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr("cint.build.setup.ensure", lambda *given, **_: asked.append(given[1:]))
    monkeypatch.setattr("cint.build.series.check", lambda _: 0)
    assert cli.main(["patches", "check"]) == 0
    assert asked == [((), ("sources",))]
    monkeypatch.setattr("cint.build.series_build.check", lambda *_: None)
    assert cli.main(["patches", "check", "--build"]) == 0
    assert asked[1:] == [((), ("sources", "series"))]
