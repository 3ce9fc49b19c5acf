# SPDX-License-Identifier: GPL-2.0-or-later
"""Test programs of all kinds become results that add up."""

import re
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from cint import cli, paths
from cint.errors import CintError, UsageError
from cint.selftest import fuzz, runner, suites, volumes
from cint.selftest.runner import FAILED, PASSED, SKIPPED, Command
from cint.verbs import test


@pytest.mark.parametrize(
    ("line", "parsed"),
    [
        ("ok 1 /rules/drain", ("/rules/drain", PASSED, "")),
        ("ok 2 - named so", ("named so", PASSED, "")),
        ("not ok 3 /rules/x - ERROR:a.c:1", ("/rules/x - ERROR:a.c:1", FAILED, "")),
        ("ok 4 /x # SKIP no device", ("/x", SKIPPED, "no device")),
        ("not ok 5 /x # TODO later", ("/x", SKIPPED, "later")),
        ("# a comment", None),
        ("okay", None),
        ("1..4", None),
    ],
)
def test_parse_tap(line: str, parsed: tuple[str, str, str] | None) -> None:
    assert runner.parse_tap(line) == parsed


def shell(text: str, name: str = "prog", **more: object) -> Command:
    return Command("demo", name, ("sh", "-c", text), **more)  # type: ignore[arg-type]


def outcomes(command: Command) -> list[tuple[str, str]]:
    return [(result.name, result.status) for result in runner.run_tap(command)]


def test_each_line_of_tap_is_a_result(sandbox: Path) -> None:
    assert outcomes(shell("echo 1..3; echo ok 1 /a; echo not ok 2 /b; echo 'ok 3 /c # SKIP no';"
                          "exit 1")) \
        == [("prog/a", PASSED), ("prog/b", FAILED), ("prog/c", SKIPPED)]


def test_a_tap_program_that_aborts_is_one_more_failure(sandbox: Path) -> None:
    results = list(runner.run_tap(shell("echo 1..3; echo ok 1 /a; kill -ABRT $$")))
    assert [(result.name, result.status) for result in results] == [("prog/a", PASSED),
                                                                    ("prog", FAILED)]
    assert results[1].reason.startswith("1 of 3 tests ran; ended by signal 6")


def test_a_tap_program_without_tests_fails(sandbox: Path) -> None:
    assert outcomes(shell("true")) == [("prog", FAILED)]


def test_a_tap_program_that_hangs_fails(sandbox: Path) -> None:
    (first, last) = runner.run_tap(shell("echo 1..2; echo ok 1 /a; sleep 60", limit_s=0.3))
    assert (first.status, last.status) == (PASSED, FAILED)
    assert "not finished after" in last.reason


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ("true", PASSED, ""),
        ("echo 'no such device'; exit 77", SKIPPED, "no such device"),
        ("echo 'x: error: bad'; exit 1", FAILED, "exit code 1: x: error: bad"),
        ("sleep 60", FAILED, "not finished after 0 s"),
    ],
)
def test_commands(sandbox: Path, text: str, status: str, reason: str) -> None:
    result = runner.run_command(shell(text, limit_s=0.4))
    assert (result.status, result.reason) == (status, reason)
    assert result.log is not None and result.log.exists()


def test_a_missing_program_is_a_failure_not_a_crash(sandbox: Path) -> None:
    result = runner.run_command(Command("demo", "x", ("./no-such-program",)))
    assert (result.status, result.reason) == (FAILED, "cannot run ./no-such-program: No such file "
                                                      "or directory")


def test_commands_run_side_by_side(sandbox: Path) -> None:
    commands = [shell("sleep 0.3", "slow"), shell("true", "quick")]
    assert [result.name for result in runner.run_tests(commands, 2)] == ["quick", "slow"]


def test_selection_prefers_the_exact_name() -> None:
    names = ["a/b", "a/bc"]
    assert [name for name in names if runner.selected(name, "a/b", names)] == ["a/b"]
    assert [name for name in names if runner.selected(name, "a", names)] == names
    assert [name for name in names if runner.selected(name, None, names)] == names


PYTEST_FILE = """\
import pytest

def test_good(): pass

def test_bad():
    print("seen in the log")
    assert 1 == 2

@pytest.mark.skip(reason="no device")
def test_skipped(): pass

@pytest.fixture
def broken():
    yield
    raise OSError("teardown")

def test_teardown(broken): pass
"""


@pytest.fixture
def python_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let the runner use the Python that runs this test."""
    venv = tmp_path / "venv/bin"
    venv.mkdir(parents=True)
    (venv / "python").symlink_to(sys.executable)
    monkeypatch.setattr("cint.paths.VENV", venv.parent)
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))


def run_pytest(directory: Path, **more: object) -> dict[str, runner.Result]:
    found = runner.run_pytest("demo", directory, **more)  # type: ignore[arg-type]
    return {result.name: result for result in found}


def test_pytest_results_arrive_one_by_one(sandbox: Path, python_here: None) -> None:
    (sandbox / "t").mkdir()
    (sandbox / "t/test_some.py").write_text(PYTEST_FILE)
    (sandbox / "t/test_broken.py").write_text("import no_such_module\n")
    found = run_pytest(sandbox / "t")
    assert {name: result.status for name, result in found.items()} == {
        "test_broken": FAILED, "test_some::test_good": PASSED, "test_some::test_bad": FAILED,
        "test_some::test_skipped": SKIPPED, "test_some::test_teardown": FAILED,
    }
    bad = found["test_some::test_bad"]
    assert bad.log is not None and "seen in the log" in bad.log.read_text()
    assert "assert 1 == 2" in bad.reason
    assert found["test_some::test_skipped"].reason == "no device"


def test_pytest_runs_one_test_alone(sandbox: Path, python_here: None) -> None:
    (sandbox / "t").mkdir()
    (sandbox / "t/test_some.py").write_text(PYTEST_FILE)
    assert list(run_pytest(sandbox / "t", pattern="test_some::test_good")) \
        == ["test_some::test_good"]


def test_programs_run_side_by_side(sandbox: Path) -> None:
    """Each waits for the other, and their results do not mix."""
    def waiting(own: str, other: str) -> Command:
        return Command("demo", own, ("sh", "-c", f"echo 1..2; echo ok 1 /first; : >{own}; "
                                     f"until [ -e {other} ]; do sleep .01; done; "
                                     "echo ok 2 /second"), cwd=sandbox, limit_s=60.0)

    found = [result.name for result in
             runner.run_taps([waiting("a", "b"), waiting("b", "a")], jobs=2)]
    assert sorted([found[:2], found[2:]]) == [["a/first", "a/second"], ["b/first", "b/second"]]


def test_processes_have_a_file_each(sandbox: Path, python_here: None) -> None:
    """Of two at a time; one that cannot be imported, or ends its process, is told once."""
    (sandbox / "t").mkdir()
    for name in "abc":
        (sandbox / f"t/test_{name}.py").write_text(
            "import os\n" + "".join(f"def test_{n}():\n    print('pid', os.getpid(), '.')\n"
                                    for n in (1, 2)))
    (sandbox / "t/test_broken.py").write_text("import no_such_module\n")
    (sandbox / "t/test_crash.py").write_text("import os\ndef test_it():\n    os.abort()\n")
    found = list(runner.run_pytest("demo", sandbox / "t", jobs=2))
    assert sorted((result.name, result.status) for result in found) == sorted([
        *((f"test_{name}::test_{n}", PASSED) for name in "abc" for n in (1, 2)),
        ("test_broken", FAILED), ("test_crash::test_it", FAILED)])
    logs = {r.name: r.log.read_text() for r in found if r.log is not None}
    by_file = {name: {re.findall(r"pid \d+", logs[f"test_{name}::test_{n}"])[0] for n in (1, 2)}
               for name in "abc"}
    assert all(len(pids) == 1 for pids in by_file.values())
    assert "crashed" in logs["test_crash::test_it"]


def test_an_expected_failure_says_why(
    sandbox: Path, python_here: None, capsys: pytest.CaptureFixture[str]
) -> None:
    (sandbox / "t").mkdir()
    (sandbox / "t" / "test_x.py").write_text(
        "import pytest\n"
        "def test_claim():\n    pytest.xfail('the medium is too even')\n")
    result, = run_pytest(sandbox / "t").values()
    assert result.status == runner.EXPECTED
    assert result.reason == "the medium is too even"
    test.show(result)
    assert re.fullmatch(r"xfail demo: test_x::test_claim \(.*\): the medium is too even\n",
                        capsys.readouterr().out)


def test_only_the_helper_with_bounds_expects_failures() -> None:
    """pytest's own mark has no bounds and takes any exception for what was expected."""
    helper = paths.ROOT / "tests/guest/test_figures.py"
    assert "pytest.xfail(" in helper.read_text("utf-8")
    for path in (paths.ROOT / "tests").rglob("*.py"):
        assert path == helper or "xfail" not in path.read_text("utf-8"), path


def test_pytest_without_tests_is_a_skip(sandbox: Path, python_here: None) -> None:
    (sandbox / "t").mkdir()
    found = run_pytest(sandbox / "t")
    assert [result.status for result in found.values()] == [SKIPPED]


def test_the_last_line() -> None:
    assert test.summary(Counter({PASSED: 3})) == "3 passed, 0 failed"
    assert test.summary(Counter({PASSED: 3, FAILED: 1, SKIPPED: 2})) \
        == "2 skipped\n3 passed, 1 failed"
    assert test.summary(Counter({runner.EXPECTED: 1})) == "1 expected failure\n0 passed, 0 failed"
    assert test.summary(Counter({PASSED: 9, SKIPPED: 1, runner.EXPECTED: 2})) \
        == "2 expected failures\n1 skipped\n9 passed, 0 failed"


def test_a_failure_is_shown_with_log_and_rerun(
    sandbox: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    test.show(runner.run_command(shell("echo 'x: error: bad'; exit 1", "/a/b")))
    shown = capsys.readouterr().out
    assert shown.startswith("FAIL demo: /a/b (")
    for text in ("exit code 1: x: error: bad", "| x: error: bad", "demo/a_b.log",
                 "run just this: ./cint test demo -k '/a/b'"):
        assert text in shown


def in_test(monkeypatch: pytest.MonkeyPatch, *words: str, build: object = None,
            boot: object = None, status: str = PASSED) -> int:
    """`cint test` with a suite of one test; what is built and booted only says how it went."""

    def told(outcome: object) -> object:
        def call(*args: object, **more: object) -> None:
            if isinstance(outcome, Exception):
                raise outcome
        return call

    suite = suites.Suite("demo", "a demo", ("linux",),
                         lambda options: iter([runner.Result("demo", "x", status, 0.0)]))
    monkeypatch.setattr(suites, "SUITES", (suite,))
    monkeypatch.setattr("cint.build.setup.ensure", told(build))
    monkeypatch.setattr("cint.guest.session.run_task", told(boot))
    monkeypatch.setattr(cli, "_tree", lambda *needed: Path)
    return cli.main(["test", *words])


OWN = ("--linux-src", "/somewhere")


@pytest.mark.parametrize(("words", "outcome", "code"), [
    (OWN, {}, 0),
    (OWN, {"status": FAILED}, 1),
    (OWN, {"build": CintError("does not compile")}, 125),
    (OWN, {"boot": CintError("the guest did not boot", code=124)}, 125),
    # The tests themselves tell whether the project's own kernel boots.
    ((), {"boot": CintError("not asked for")}, 0),
    ((), {"build": CintError("does not compile")}, 125),
    ((*OWN, "nothing"), {}, 2),
    ((*OWN, "--suite", "nothing"), {}, 2),
    ((*OWN, "--suite", "demo"), {}, 0),
])
def test_exit_codes_suit_a_bisection(sandbox: Path, monkeypatch: pytest.MonkeyPatch,
                                     words: tuple[str, ...], outcome: dict[str, object],
                                     code: int) -> None:
    assert in_test(monkeypatch, *words, **outcome) == code  # type: ignore[arg-type]


def test_what_failed_is_run_again_with_the_same_tree(
    sandbox: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert in_test(monkeypatch, *OWN, "--linux-as-is", status=FAILED) == 1
    again = "./cint test demo -k 'x' --linux-src /somewhere --linux-as-is"
    shown = capsys.readouterr().out
    assert f"run just this: {again}\n" in shown and f"\n  {again}\n" in shown


def test_what_failed_is_run_again_as_fully(
    sandbox: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert in_test(monkeypatch, "--full", status=FAILED) == 1
    assert "run just this: ./cint test demo -k 'x' --full\n" in capsys.readouterr().out


def test_random_tests_run_again_with_the_same_seed(
    sandbox: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert in_test(monkeypatch, status=FAILED) == 1
    shown = capsys.readouterr()
    assert "random tests: seed 1\n" in shown.err and "--seed" not in shown.out
    assert in_test(monkeypatch, "--seed", "77", status=FAILED) == 1
    shown = capsys.readouterr()
    assert "random tests: seed 77\n" in shown.err
    assert "run just this: ./cint test demo -k 'x' --seed 77\n" in shown.out
    assert in_test(monkeypatch, "--seed", "random", status=FAILED) == 1
    shown = capsys.readouterr()
    drawn = re.search(r"random tests: seed (\d+)\n", shown.err)
    assert drawn is not None
    assert f"--seed {drawn[1]}\n" in shown.out


@pytest.mark.parametrize("text", ["0", "4294967296", "-1", "x", "1.5"])
def test_seeds_refused(sandbox: Path, monkeypatch: pytest.MonkeyPatch, text: str,
                       capsys: pytest.CaptureFixture[str]) -> None:
    assert in_test(monkeypatch, f"--seed={text}") == 2
    assert "must be a number from 1 to 4294967295, or random" in capsys.readouterr().err


def test_a_program_gets_the_seed_as_it_prints_it() -> None:
    found = suites.seeded(shell("x"), suites.Options(seed=255))
    assert found.argv[-2:] == ("--seed", "R02S000000000000000000000000000000ff")


def test_unknown_suites_name_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        test._chosen(["nothing"])
    known = ", ".join(suite.name for suite in suites.SUITES)
    assert known.startswith("lint, tool, unit,")
    assert known in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        ("total: 0 errors, 0 warnings, 5 lines checked\n", None),
        ("WARNING: added, moved or deleted file(s), does MAINTAINERS need updating?\n"
         "total: 0 errors, 1 warnings, 5 lines checked\n", None),
        ("ERROR: trailing whitespace\ntotal: 1 errors, 0 warnings, 5 lines checked\n",
         "1 faults, first: ERROR: trailing whitespace"),
        ("CHECK:LINE_SPACING: x\ntotal: 0 errors, 0 warnings, 1 checks, 5 lines checked\n",
         "1 faults, first: CHECK:LINE_SPACING: x"),
        ("Can't open\n", "checkpatch did not finish (exit code 2)"),
        ("ERROR: tabs\n#7: FILE: a.c:7:\n+\tx\ntotal: 1 errors, 0 warnings, 5 lines checked\n",
         "1 faults, first: ERROR: tabs #7: FILE: a.c:7:"),
        ("total: 0 errors, 0 warnings, 5 lines checked\n" * 2,
         "checkpatch did not finish (exit code 2)"),
    ],
)
def test_checkpatch_verdicts(output: str, verdict: str | None) -> None:
    assert suites._checkpatch_judge(2, output) == verdict


@pytest.mark.parametrize(
    ("code", "output", "verdict"),
    [
        (0, "1..1\nok 1 /x\n", None),
        (0, "1..0\n", "exit code 0, 0 results"),
        (-6, "# ERROR:../a.c:1:test_x: assertion failed: (1 == 2)\n",
         "ERROR:../a.c:1:test_x: assertion failed: (1 == 2)"),
        (-11, "ok 1 /x\n", "ended by signal 11"),
        (0, "1..1\nok 1 /x # SKIP no stock QEMU\n", None),
        (77, "1..1\nok 1 /x # SKIP no stock QEMU\n", None),
        (77, "1..1\nok 1 /x\n", "exit code 77, 1 results"),
        (1, "1..1\nok 1 /x # SKIP no stock QEMU\n", "exit code 1, 1 results"),
    ],
)
def test_qtest_verdicts(code: int, output: str, verdict: str | None) -> None:
    assert suites._case_judge(code, output) == verdict


@pytest.mark.parametrize(("script", "status", "reason"), [
    ("echo 'ok 1 /x # SKIP no stock QEMU'", SKIPPED, "no stock QEMU"),
    ("echo 'ok 1 /x # SKIP no stock QEMU'; exit 77", SKIPPED, "no stock QEMU"),
    ("echo 'ok 1 /x # SKIP'", SKIPPED, "the test says no more"),
    ("echo 'ok 1 /x # SKIP'; echo 'ok 2 /y'", PASSED, ""),
    ("echo 'ok 1 /x'", PASSED, ""),
    ("echo 'ok 1 /x # SKIP'; exit 1", FAILED, "exit code 1, 1 results"),
])
def test_a_qtest_that_is_skipped_has_not_passed(sandbox: Path, script: str, status: str,
                                                reason: str) -> None:
    case = replace(shell(script, "x"), judge=suites._case_judge, skipped=suites._case_skipped)
    result = runner.run_command(case)
    assert (result.status, result.reason) == (status, reason)


@pytest.mark.parametrize("text", [
    "/x86_64/nvme/a\n/x86_64/nvme/b\n",
    "TAP version 14\n# random seed: R02S1\n1..2\n# Start of x86_64 tests\n# /x86_64/nvme/a\n"
    "# /x86_64/nvme/b\n# End of x86_64 tests\n"])
def test_what_a_program_lists(text: str, tmp_path: Path) -> None:
    """Of GLib before 2.84, and since; a program that lists nothing is no test that passed."""
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\nprintf '%s' '{text}'\n")
    program.chmod(0o755)
    assert suites._cases(program, tmp_path) == ["/x86_64/nvme/a", "/x86_64/nvme/b"]
    program.write_text("#!/bin/sh\necho '1..0'\n")
    with pytest.raises(CintError, match="program -l lists no test"):
        suites._cases(program, tmp_path)


def test_each_case_of_a_qtest_can_say_that_it_was_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cint.build.qemu.qtest_programs", lambda build: [Path("x/nvme-x-test")])
    monkeypatch.setattr(suites, "_cases", lambda *_: ["/x86_64/nvme/a"])
    case, = suites._qtest_commands("qtest")
    assert case.skipped is suites._case_skipped
    assert fuzz.sanitized(case).skipped is suites._case_skipped


def qtest(name: str) -> Command:
    return Command("qtest", name, ("x",), env=(("A", "b"),), limit_s=10)


def test_a_device_with_sanitizers_gets_every_case_and_more_hostile_inputs(
        monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [qtest("nvme-cint-vic-test/a"), qtest(f"{volumes.HOSTILE}/b")]
    monkeypatch.setattr(suites, "_unit_programs", lambda build: [])
    monkeypatch.setattr(suites, "_qtest_commands", lambda suite, build: cases)
    assert suites._asan(suites.Options()) == []
    found = suites._asan(suites.Options(full=True))
    assert [(case.suite, case.name) for case in found] == [("asan", case.name) for case in cases]
    assert all(set(volumes.SANITIZERS) < set(case.env) for case in found)
    assert ("CINT_FUZZ_INPUTS", str(fuzz.SANITIZED["asan"].inputs)) in found[1].env


def test_races_are_looked_for_where_there_are_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [qtest(name) for name in (
        "nvme-cint-vic-test/a", "nvme-cint-iothread-test/by-turns/a", "nvme-cint-irqfd-test/a",
        "nvme-cint-memdev-test/thread-cint/a", f"{volumes.HOSTILE}/slots/hostile-guest",
        f"{volumes.HOSTILE}/slots-irqfd/hostile-guest",
        "nvme-cint-queue-cache-test/iothread/data-is-code")]
    monkeypatch.setattr(suites, "_qtest_commands", lambda suite: cases)
    assert suites._tsan(suites.Options()) == []
    found = suites._tsan(suites.Options(full=True))
    assert [(case.suite, case.name) for case in found] == [
        ("tsan", cases[i].name) for i in (1, 2, 3, 5)]
    assert all({*volumes.RACES, *suites._qtest_env(paths.QEMU_TSAN)} <= set(case.env)
               for case in found)


def test_each_race_that_is_not_reported_has_a_reason() -> None:
    """A line without one above it, and a blank line, would excuse more than was looked at."""
    groups = [group.splitlines() for group in paths.NO_RACES.read_text("utf-8").split("\n\n")]
    for comment, *rest in groups[1:]:
        assert comment.startswith("# ")
        assert rest and re.fullmatch("(race|race_top|mutex|deadlock):\\S+", rest[-1])


def hostile_cases(*names: str) -> list[Command]:
    env = (("QTEST_QEMU_BINARY", "qemu"),)
    return [replace(qtest(f"{volumes.HOSTILE}/nvme-cint/fuzz/{name}/hostile-guest"), env=env)
            for name in names]


def test_the_volumes_are_what_is_promised() -> None:
    asan, memcheck = volumes.VOLUMES
    assert (asan.inputs, asan.build) == (10_000_000, paths.QEMU_ASAN)
    assert (memcheck.inputs, memcheck.build) == (1_000_000, paths.QEMU_BUILD)
    for volume in volumes.VOLUMES:
        cases = hostile_cases("off", "slots", "vic")
        found = volumes.slices(volume, cases, seed=1)
        inputs = [int(dict(case.env)["CINT_FUZZ_INPUTS"]) for case in found]
        assert sum(inputs) == volume.inputs
        assert found[1].name == f"device {volume.name} 2/{volume.count} slots"
        seeds = {case.argv[-1] for other in (1, 2)
                 for case in volumes.slices(volume, cases, seed=other)}
        assert len(seeds) == 2 * volume.count
    under = dict(found[0].env)["QTEST_QEMU_BINARY"]
    assert under.startswith("valgrind --tool=memcheck ") and under.endswith(" --quiet qemu")


SMALL = volumes.Volume("small", Path("x"), inputs=30, slice=10, slowest=1, env=())


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> volumes.Volume:
    """A volume of three slices; a file in its build directory decides whether they pass."""
    monkeypatch.setattr(paths, "FUZZ", tmp_path / "fuzz")
    monkeypatch.setattr(runner, "log_path", lambda suite, name: tmp_path / "log")
    (tmp_path / paths.QEMU.name).write_text("a build")
    return replace(SMALL, build=tmp_path)


def run_small(volume: volumes.Volume, pattern: str | None = None, seed: int = 1) -> list[str]:
    program = volume.build / "program"
    program.write_text(f"#!/bin/sh\ntest ! -e {volume.build}/$CINT_FUZZ_FAILS || exit 1\n")
    program.chmod(0o755)
    cases = [replace(case, argv=(str(program),),
                     env=(("CINT_FUZZ_FAILS", case.name.split("/")[3]),))
             for case in hostile_cases("a", "b", "c")]
    return [f"{result.name} {result.status}" for result in volumes.run(
        volume, cases, seed, 1, lambda name, names: runner.selected(name, pattern, names))]


def test_a_volume_goes_on_where_it_was(small: volumes.Volume) -> None:
    (small.build / "b").touch()
    names = ["device small 1/3 a", "device small 2/3 b", "device small 3/3 c"]
    assert run_small(small) == [f"{names[0]} passed", f"{names[1]} failed", f"{names[2]} passed"]
    assert run_small(small) == [f"{names[1]} failed"]
    (small.build / "b").unlink()
    assert run_small(small, names[0]) == [f"{names[0]} passed"]
    assert run_small(small) == [f"{names[1]} passed"]
    # All have passed: from the start.
    assert run_small(small) == [f"{name} passed" for name in names]


@pytest.mark.parametrize("change", ["build", "seed"])
def test_a_volume_begins_anew(small: volumes.Volume, change: str) -> None:
    (small.build / "c").touch()
    assert len(run_small(small)) == 3
    assert len(run_small(small)) == 1
    if change == "build":
        (small.build / paths.QEMU.name).write_text("another")
    assert len(run_small(small, seed=2 if change == "seed" else 1)) == 3
