# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: options, errors, exit codes, the launcher."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from cint import cli, paths
from cint.errors import EXIT_TIMEOUT, CintError
from cint.verbs import clean


@pytest.fixture
def verb(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A verb `clean` that records its arguments and does what it is told."""

    def run(args: object) -> int:
        module.args = args
        if isinstance(module.outcome, BaseException):
            raise module.outcome
        return int(module.outcome)

    module = SimpleNamespace(add_parser=clean.add_parser, run=run, outcome=0, args=None)
    monkeypatch.setattr(cli, "load", lambda name: module)
    return module


def test_common_options_work_on_both_sides_of_the_verb(verb: SimpleNamespace) -> None:
    assert cli.main(["-j", "3", "clean", "-vv"]) == 0
    assert (verb.args.jobs, verb.args.verbose) == (3, 2)
    assert cli.main(["-v", "clean", "-j", "5"]) == 0
    assert (verb.args.jobs, verb.args.verbose, verb.args.qemu_src) == (5, 1, None)


def test_the_verbs_result_is_the_exit_code(verb: SimpleNamespace) -> None:
    verb.outcome = 77
    assert cli.main(["clean"]) == 77


def test_errors_are_one_line_with_hint_and_log(
    verb: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    verb.outcome = CintError("no boot", hint="do this", log=Path("/x.log"), code=EXIT_TIMEOUT)
    assert cli.main(["clean"]) == 124
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == ["cint: error: no boot", "      do this",
                                      "      log: /x.log"]


def test_an_interrupt_is_130(verb: SimpleNamespace) -> None:
    verb.outcome = KeyboardInterrupt()
    assert cli.main(["clean"]) == 130


def test_our_own_mistakes_show_no_traceback(
    sandbox: Path, verb: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    verb.outcome = ZeroDivisionError("oops")
    assert cli.main(["clean"]) == 1
    shown = capsys.readouterr().err
    assert "internal error: ZeroDivisionError: oops" in shown
    assert "Traceback" not in shown
    assert "Traceback" in (sandbox / "build/logs/crash.log").read_text()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["nothing"], "nothing"),
        (["clean", "--nothing"], "unrecognized arguments: --nothing"),
        (["-j", "0", "clean"], "-j 0: must be a number from 1 to 9999"),
        (["--qemu-src", "/", "clean"], "/ has no configure: not the right source tree"),
    ],
)
def test_wrong_usage_is_2(
    verb: SimpleNamespace, capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    assert cli.main(words) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("cint: error: ")
    assert text in shown


def test_help_names_every_command_and_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["--help"])
    assert caught.value.code == 0
    shown = capsys.readouterr().out
    for word in (*cli.VERBS, "124", "125", "130", "./cint compare", "--qemu-src"):
        assert word in shown


@pytest.mark.parametrize("verb_name", list(cli.VERBS))
def test_every_command_has_help(verb_name: str) -> None:
    parser = cli.build_parser([verb_name])
    with pytest.raises(SystemExit) as caught:
        parser.parse_args([verb_name, "--help"])
    assert caught.value.code == 0


def test_the_launcher_passes_arguments_and_exit_codes() -> None:
    done = subprocess.run([paths.ROOT / "cint", "clean", "--what now"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("cint: error: unrecognized arguments: --what now")


def test_the_launcher_works_through_a_link_and_from_elsewhere(tmp_path: Path) -> None:
    link = tmp_path / "cint"
    link.symlink_to(paths.ROOT / "cint")
    done = subprocess.run([link, "--version"], capture_output=True, text=True, check=False,
                          cwd=tmp_path)
    assert done.stdout.startswith("cint ")


def test_a_closed_output_is_no_error(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m cint doctor --json | head -c 1"],
        capture_output=True, text=True, check=False, cwd=paths.TOOLS,
    )
    assert "Traceback" not in done.stderr
    assert "error" not in done.stderr
