# SPDX-License-Identifier: GPL-2.0-or-later
"""Steps, stamps and the lock."""

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from cint import paths, steps


def test_ninja_progress_is_read_from_the_start_of_a_line() -> None:
    assert steps.ninja_progress("[12/1900] Compiling C object x.o") == "[12/1900]"
    assert steps.ninja_progress("warning: [1/2]") is None


def test_counter_never_shows_more_than_its_total() -> None:
    count = steps.counter("  CC ", 1)
    assert [count("  CC a.o"), count("other"), count("  CC b.o")] == ["[1/1]", None, "[2/2]"]


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["a.c:1:2: error: 'x' undeclared", "  1 | x", "    | ^", "ninja: build stopped: "
          "subcommand failed."], "a.c:1:2: error: 'x' undeclared"),
        (["/a.c:9:2: error: #error no", "  9 | #error no", "    |  ^~~~~",
          "make: *** [Makefile:1: a.o] Error 1"], "/a.c:9:2: error: #error no"),
        (["ld: undefined reference to `f'", "collect2: error: ld returned 1 exit status"],
         "collect2: error: ld returned 1 exit status"),
        (["E: Unable to locate package foo"], "E: Unable to locate package foo"),
        (["fine", "make: *** [Makefile:1: all] Error 2"], "make: *** [Makefile:1: all] Error 2"),
        (["nothing special", ""], "nothing special"),
        ([], "no output"),
    ],
)
def test_meaningful_error(lines: list[str], reason: str) -> None:
    assert steps.meaningful_error(lines) == reason


def test_a_step_logs_its_commands_and_output(
    sandbox: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with steps.step("demo", "Demonstrate") as step:
        code, tail = step.run(["sh", "-c", "echo hello; echo oops >&2"])
        step.summary("two lines")
    assert (code, tail) == (0, ["hello", "oops"])
    log = (sandbox / "build/logs/demo.log").read_text()
    *said, took = log.splitlines()[1:]
    assert said == ["hello", "oops"]
    assert re.fullmatch(r"cint: took [0-9.]+ s, [0-9.]+ s of CPU", took)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "ok    Demonstrate (" in shown.err
    assert ", two lines)" in shown.err


def test_a_failed_step_says_why_and_where(
    sandbox: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(steps.StepError) as caught, steps.step("demo", "Demonstrate") as step:
        step.run(["sh", "-c", "echo 'x.c:1: error: bad'; exit 3"], hint="mend it")
    assert caught.value.message == "Demonstrate: x.c:1: error: bad"
    assert caught.value.hint == "mend it"
    assert caught.value.log == sandbox / "build/logs/demo.log"
    assert "FAIL  Demonstrate" in capsys.readouterr().err


def test_a_missing_program_is_named(sandbox: Path) -> None:
    with pytest.raises(steps.StepError, match="cannot run no-such-program"), \
            steps.step("demo", "Demonstrate") as step:
        step.run(["no-such-program"])


def test_end_group_ends_grandchildren_that_ignore_term(sandbox: Path) -> None:
    child = subprocess.Popen(
        ["sh", "-c", "trap '' TERM; sleep 100 & echo $!; wait; sleep 100"],
        stdout=subprocess.PIPE, text=True, process_group=0)
    assert child.stdout is not None
    grandchild = int(child.stdout.readline())
    steps.end_group(child, grace_s=0.2)
    assert child.returncode is not None
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and _alive(grandchild):
        time.sleep(0.02)
    assert not _alive(grandchild)
    child.stdout.close()


def _alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_stamps_know_inputs_and_outputs(sandbox: Path) -> None:
    output = sandbox / "output"
    stamp = steps.Stamp("demo")
    assert not stamp.current({"a": 1})
    stamp.write({"a": 1, "b": ("x",)}, version="7")
    assert stamp.current({"a": 1, "b": ["x"]})
    assert not stamp.current({"a": 2, "b": ["x"]})
    assert not stamp.current({"a": 1, "b": ["x"]}, output)
    output.touch()
    assert stamp.current({"a": 1, "b": ["x"]}, output)
    assert stamp.facts() == {"version": "7"}
    stamp.remove()
    assert not stamp.current({"a": 1, "b": ["x"]})


def test_a_damaged_stamp_is_no_stamp(sandbox: Path) -> None:
    stamp = steps.Stamp("demo")
    stamp.write({"a": 1})
    stamp.path.write_text("{")
    assert not stamp.current({"a": 1})
    assert stamp.facts() == {}


def test_hash_files_sees_names_and_contents(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("x")
    two.write_text("x")
    assert steps.hash_files([one], tmp_path) != steps.hash_files([two], tmp_path)
    before = steps.hash_files([one, two], tmp_path)
    assert before == steps.hash_files([two, one], tmp_path)
    two.write_text("y")
    assert before != steps.hash_files([one, two], tmp_path)


def test_the_lock_is_taken_once_by_one_process(sandbox: Path) -> None:
    with steps.build_lock(), steps.build_lock():
        assert paths.LOCK.read_text().strip() == str(os.getpid())


def test_the_lock_makes_another_process_wait(
    sandbox: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths.BUILD.mkdir()
    holder = subprocess.Popen(
        [sys.executable, "-c",
         "import fcntl, sys; f = open(sys.argv[1], 'a+'); fcntl.flock(f, fcntl.LOCK_EX);"
         "f.write('4711'); f.flush(); print('ready', flush=True); sys.stdin.read()",
         str(paths.LOCK)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdin is not None and holder.stdout is not None
    holder.stdout.readline()
    threading.Timer(0.7, holder.stdin.close).start()
    started = time.monotonic()
    with steps.build_lock():
        assert time.monotonic() - started > 0.5
    holder.wait()
    holder.stdout.close()


# ---- all of a file or nothing --------------------------------------------------------------

def test_a_block_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "new/file"
    steps.write_atomic(path, "before")
    with pytest.raises(KeyError), steps.replacing(path) as fresh:
        fresh.write_text("half")
        raise KeyError
    assert path.read_text() == "before"
    assert list(path.parent.iterdir()) == [path]


def test_a_file_and_a_link_take_the_place_of_what_was_there(tmp_path: Path) -> None:
    source, path, link = tmp_path / "source", tmp_path / "file", tmp_path / "link"
    source.write_bytes(b"\x00\xff")
    source.chmod(0o750)
    steps.copy_atomic(source, path)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"\x00\xff", 0o750)
    steps.write_atomic(path, b"\xfe")
    assert path.read_bytes() == b"\xfe"
    for aim in ("file", "source", "nowhere"):
        steps.link_atomic(link, aim)
        assert str(link.readlink()) == aim
    assert sorted(tmp_path.iterdir()) == [path, link, source]


def test_only_one_place_writes_beside_and_renames() -> None:
    """Directories apart: sources that are downloaded and unpacked."""
    renames = re.compile(r"\.(replace|rename)\((\w+\.)*\w*(path|link|place|target|final|tree)\)")
    found = {path.name for path in (paths.TOOLS / "cint").rglob("*.py")
             if renames.search(path.read_text("utf-8"))}
    assert found == {"steps.py", "sources.py"}
