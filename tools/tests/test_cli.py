# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: options, errors, exit codes, the launcher."""

import errno
import functools
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from cint import __version__, cli, paths
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

    module = SimpleNamespace(declare=clean.declare, run=run, outcome=0, args=None)
    monkeypatch.setattr(cli, "load", lambda name: module)
    return module


def test_common_options_work_on_both_sides_of_the_verb(verb: SimpleNamespace,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "LIGHT", frozenset())
    assert cli.main(["-j", "3", "clean", "-vv"]) == 0
    assert (verb.args.jobs, verb.args.verbose) == (3, 2)
    assert cli.main(["-v", "clean", "-j", "5"]) == 0
    assert (verb.args.jobs, verb.args.verbose, verb.args.qemu_src) == (5, 1, None)


@pytest.mark.parametrize("name", cli.VERBS)
def test_who_builds_nothing_takes_no_sources(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.build_parser([name]).parse_args([name, "--help"])
    shown = capsys.readouterr().out
    assert "--no-color" in shown
    sources = cli.SOME_SOURCES.get(name, () if name in cli.LIGHT else tuple(cli.SOURCES))
    named = shown.partition("common options (see ./cint --help):\n")[2].partition("\n\n")[0]
    assert {word for word in cli.SOURCES if word in named} == set(sources)
    assert "DIR" not in named and "tarball" not in shown
    assert ("--linux-as-is" in named) is (name not in cli.LIGHT and name not in cli.SOME_SOURCES)
    builds = "setup.ensure(" in Path(cli.load(name).__file__ or "").read_text("utf-8")
    assert not (builds and name in cli.LIGHT)


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
        (["clean", "--vrebose"], "unrecognized arguments: --vrebose; did you mean --verbose?"),
        (["clean", "--nothing"], "see ./cint clean --help"),
    ],
)
def test_wrong_usage_is_2(
    verb: SimpleNamespace, capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    assert cli.main(words) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("cint: error: ")
    assert text in shown


@pytest.mark.parametrize(("words", "near"), [
    (["replya"], "did you mean replay?"), (["test", "gest"], "did you mean guest?"),
    (["build", "qmeu"], "did you mean qemu?"),
    (["figure", "cint-fig88"], "did you mean cint-fig8?"),
    (["run", "--guest", "dsitro", "--print"], "did you mean distro?"),
    (["compare", "--policy", "adaptve"], "did you mean adaptive?"),
    (["compare", "--media", "optaine"], "did you mean optane?"),
    (["compare", "--media", "optane:read-latenci=5us"], "did you mean read-latency?"),
    (["compare", "--workload", "synch"], "did you mean sync?"),
    (["compare", "--steering", "pri"], "did you mean prio?"),
    (["compare", "--polling", "our"], "did you mean ours?"),
])
def test_a_mistyped_word_gets_a_suggestion(capsys: pytest.CaptureFixture[str], words: list[str],
                                           near: str) -> None:
    assert cli.main(words) == 2
    assert near in capsys.readouterr().err


@pytest.mark.parametrize(("words", "text"), [
    (["compare", "--policy", ""], "--policy is empty"),
    (["compare", "--workload", " ", "--dry-run"], "--workload is empty"),
    (["compare", "--media="], "--media is empty"),
    (["show", ""], "a word of the command line is empty"),
    (["compare", "--json", "--dry-run"], "--json and --dry-run do not go together"),
    (["compare", "--policy", "cint+ooo:ooo=off"], "the name cint+ooo says ooo=on"),
    (["compare", "--policy", "static20:time=5us"], "the name static20 says static-time=20us"),
    (["compare", "--policy", "static0"], "both more than 0, or both 0"),
    (["compare", "--drive", "/etc", "--dry-run"], "--drive /etc: that is a directory"),
    (["run", "--drive", "/etc", "--print"], "--drive /etc: that is a directory"),
    (["run", "--drive", "qcow2", "--print"], "--drive qcow2: this is a qcow2 image"),
    (["compare", "--drive", "qcow2", "--dry-run"], "--drive qcow2: this is a qcow2 image"),
    (["compare", "--drive", "short", "--dry-run"], "--drive short: shorter than a block of 4096"),
    (["run", "--qmp", "/etc", "--print"], "--qmp /etc: something else is there"),
    (["run", "--policy", "static:time=best", "--print"], "time=best is for ./cint compare"),
    (["run", "--qmp", "/nowhere/s", "--print"], "--qmp /nowhere/s: /nowhere is no directory"),
    (["completion", "tcsh"], "SHELL: unknown 'tcsh'"),
    (["libvirt", "--policy", "split:l=cint,t=adaptive"], "has one policy for all queues"),
    (["report", "/nowhere"], "there are no such results"),
    (["compare", "--full-seed", "3", "--dry-run"], "--full-seed: only with --full"),
    (["figure", "cint-fig8", "--full-seed", "3"], "--full-seed: only with --full"),
    (["calibrate", "--full-seed", "3"], "--full-seed: only with --full"),
    (["trace", "/nowhere"], "/nowhere: there is no such file"),
    (["replay", "--from", "blkparse", "/nowhere"], "/nowhere: there is no such file"),
    (["libvirt", "--drive", "/nowhere"], "--drive /nowhere: there is no such file"),
    (["libvirt", "--drive", "/etc"], "--drive /etc: that is a directory"),
    (["libvirt", "--domain", "/nowhere"], "--domain /nowhere: there is no such file"),
    (["top", "--interval", "0.01", "s"], "--interval 0.01: must be at least 50ms"),
    (["trace", "--plot", "x.bmp", "/nowhere"], "--plot x.bmp: the name has to end in .png"),
    (["replay", "--sweep", "delta=1us..5us,thr=1..4", "--plot", "x"], "--plot x: the name has to"),
    (["trace", "--perfetto", "/nowhere/x", "log"], "/nowhere/x: /nowhere is no directory"),
    (["compare", "--cluster", "foo", "--dry-run"], "--cluster foo: not an address; give tcp://"),
    (["calibrate", "--cluster", "tcp://host"], "--cluster tcp://host: not an address"),
    (["figure", "cint-fig8", "--cluster", "tcp://h:70000"], "--cluster tcp://h:70000: not an"),
    (["compare", "--linux-src", "/nowhere", "--dry-run"], "/nowhere: there is no such directory"),
    (["port", "--qemu-src", "/etc"], "--qemu-src: /etc has no configure: not the right source"),
    (["patches", "export", "/etc/passwd", "--qemu"], "/etc/passwd: that is a file"),
])
def test_what_says_nothing_or_two_things_is_refused(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
        words: list[str], text: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qcow2").write_bytes(b"QFI\xfb" + bytes(1 << 16))
    Path("short").write_bytes(b"x")
    assert cli.main(words) == 2
    assert text in capsys.readouterr().err


#: Verbs and options that read a file which a person names; {} stands for it.
_FILES = ["compare --dry-run --fio {}", "compare --dry-run --app {}",
          "compare --dry-run --hints preload:{}", "run --print --hints preload:{}",
          "figure cint-fig8 --hints preload:{}", "trace {}", "replay --from blkparse {}",
          "replay --from bpftrace {}", "replay --from fio-lat {}", "replay --from fio-io {}",
          "replay --from fio-io --latency {} {}", "libvirt --prefix /x --domain {}",
          "top --once {}", "trace --qmp {} x.log", "show {}", "diff {}", "results rm {}"]


@pytest.mark.parametrize("line", _FILES)
@pytest.mark.parametrize("kind", ["none", "directory", "bytes"])
def test_a_file_that_cannot_be_read_is_said(tmp_path: Path, line: str, kind: str,
                                            monkeypatch: pytest.MonkeyPatch,
                                            capsys: pytest.CaptureFixture[str]) -> None:
    """Once, by its name, as wrong usage, in words that are not Python's; and nothing is left."""
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "results")
    monkeypatch.chdir(tmp_path)
    file = tmp_path / kind
    if kind == "directory":
        file.mkdir()
    elif kind == "bytes":
        file.write_bytes(b"\0\xff\xfe" * 100)
    code = cli.main(line.replace("{}", str(file)).split())
    said = capsys.readouterr()
    # A log without the device's events may be one that was cut short.
    assert code == (1 if (line, kind) == ("trace {}", "bytes") else 2)
    first = said.err.splitlines()[0]
    assert first.count(str(file)) == 1 and not re.search("Errno|codec|None", said.err)
    assert said.out == "" and sorted(tmp_path.iterdir()) == [file] * (kind != "none")


@pytest.mark.parametrize(("words", "goes_on"), [(["clean"], False), (["compare"], True)])
def test_only_what_goes_on_says_so(verb: SimpleNamespace, capsys: pytest.CaptureFixture[str],
                                   words: list[str], goes_on: bool) -> None:
    verb.outcome = KeyboardInterrupt()
    verb.declare = lambda parser: None
    assert cli.main(words) == 130
    assert ("goes on where it stopped" in capsys.readouterr().err) is goes_on


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


def _cint(words: str) -> "subprocess.CompletedProcess[str]":
    """The tool under a shell that closes or redirects its streams."""
    return subprocess.run(["sh", "-c", f"exec {sys.executable} -P -m cint {words}"],
                          capture_output=True, text=True, check=False, cwd=paths.TOOLS)


@pytest.mark.parametrize("closed", ["2>&-", ">&-", "<&- >&- 2>&-", "<&-"])
def test_streams_may_be_closed(closed: str) -> None:
    done = _cint(f"results --json {closed}")
    assert (done.returncode, done.stderr) == (0, "")
    assert bool(done.stdout) is (">&-" not in closed.split())
    assert _cint(f"show /nowhere {closed}").returncode == 2


@pytest.mark.parametrize("words", ["results --json", "compare --dry-run"])
def test_an_output_that_is_full_is_said(words: str) -> None:
    done = _cint(f"{words} >/dev/full")
    assert done.returncode == 1
    assert done.stderr.startswith("cint: error: No space left on device\n      cint writes to ")
    assert "Exception" not in done.stderr and "internal" not in done.stderr


@pytest.mark.parametrize(("number", "text"), [
    (errno.EROFS, "Read-only file system"), (errno.EACCES, "Permission denied"),
    (errno.ENOSPC, "No space left on device")])
def test_what_the_system_refuses_is_no_mistake_of_ours(
    sandbox: Path, verb: SimpleNamespace, capsys: pytest.CaptureFixture[str], number: int,
    text: str
) -> None:
    verb.outcome = OSError(number, text, "/there/build")
    assert cli.main(["clean"]) == 1
    assert capsys.readouterr().err == f"cint: error: /there/build: {text}\n"
    verb.outcome = OSError(number, text)
    assert cli.main(["clean"]) == 1
    assert capsys.readouterr().err.startswith(f"cint: error: {text}\n      cint writes to ")
    assert not (sandbox / "build").exists()


def test_a_mistake_without_a_place_for_its_log_is_printed(
    sandbox: Path, verb: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    (sandbox / "build").write_text("in the way")
    verb.outcome = ZeroDivisionError("oops")
    assert cli.main(["clean"]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("cint: error: internal error: ZeroDivisionError: oops\n")
    assert "cannot be written" in shown and "raise module.outcome" in shown


@pytest.mark.parametrize(("before", "code"), [("SIG_DFL", 130), ("SIG_IGN", 0)])
def test_a_terminal_that_goes_away_interrupts(before: str, code: int) -> None:
    program = ("import os, signal, sys\n"
               f"signal.signal(signal.SIGHUP, signal.{before})\n"
               "from cint import cli\n"
               "cli.dispatch = lambda argv: os.kill(os.getpid(), signal.SIGHUP) or 0\n"
               "sys.exit(cli.main([]))\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          check=False, cwd=paths.TOOLS)
    assert done.returncode == code


# ---- first contact ---------------------------------------------------------

#: Programs that a clone may use before anything is installed. No apt-get, sudo, pip or network.
_BARE = ("sh", "python3", "dirname", "readlink", "uname", "git", "df", "dpkg-query", "sed")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A copy of the checkout with nothing built, as after git clone."""
    place = tmp_path / "clone"
    place.mkdir()
    for name in ("cint", "tools", "replay", "hw", "images", "jobs", "tests", "meson.build", "docs",
                 "qemu-patches", "guest-patches"):
        (place / name).symlink_to(paths.ROOT / name)
    (place / "cint").unlink()
    (place / "tools").unlink()
    shutil.copy2(paths.ROOT / "cint", place)
    shutil.copytree(paths.ROOT / "tools", place / "tools",
                    ignore=shutil.ignore_patterns("__pycache__", ".mypy_cache"))
    return place


@functools.cache
def _alone() -> tuple[str, ...]:
    """What runs a command as nobody, without any capability and without a network, if it may."""
    words = ("unshare", "--user", "--net")
    try:
        done = subprocess.run([*words, "true"], capture_output=True, check=False)
    except FileNotFoundError:
        return ()
    return words if done.returncode == 0 else ()


def bare(clone: Path, *words: str, programs: tuple[str, ...] = _BARE) -> tuple[int, str, str]:
    """./cint in a clone, with few programs, an empty home, no root and no network."""
    tools = clone.parent / "bin"
    shutil.rmtree(tools, ignore_errors=True)
    tools.mkdir()
    for name in programs:
        found = shutil.which(name, path="/usr/bin:/bin")
        if found:
            (tools / name).symlink_to(found)
    env = {"PATH": str(tools), "HOME": str(clone.parent / "home"), "PIP_NO_INDEX": "1",
           "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    unshare = [shutil.which("unshare") or "unshare", *_alone()[1:]] if _alone() else []
    done = subprocess.run([*unshare, clone / "cint", *words], capture_output=True, text=True,
                          check=False, env=env, timeout=120)
    return done.returncode, done.stdout, done.stderr


def test_help_needs_nothing(clone: Path) -> None:
    for verb_name in cli.VERBS:
        code, out, err = bare(clone, verb_name, "--help")
        assert (code, err) == (0, ""), verb_name
        assert f"usage: cint {verb_name}" in out
    assert not (clone / "build").exists() and not (clone.parent / "home").exists()


def test_doctor_needs_nothing_installed(clone: Path) -> None:
    _, out, err = bare(clone, "doctor")
    assert "accelerator" in out and "not built yet" in out
    assert "error" not in err
    assert not (clone / "build/venv").exists()


def test_results_need_nothing_installed(clone: Path) -> None:
    said = bare(clone, "results")
    assert "there are no results" in said[2], said
    one, other = clone / "results/one", clone / "results/other"
    for place in (one, other):
        place.mkdir(parents=True)
        shutil.copy2(Path(__file__).with_name("golden") / "results.json", place)
    for words in (("show", str(one)), ("diff", str(one), str(other))):
        code, out, err = bare(clone, *words)
        assert (code, err) == (0, "") and out
    assert not (clone / "build/venv").exists()


@pytest.mark.parametrize(("verb", "file", "first"), [
    ("replay", "tests/replay/urgent.trace", "irq 3000 full urgent 3"),
    ("trace", "tools/tests/golden/trace-mixed.log", "267 events in 0.000513 s of device time")])
def test_replay_and_trace_need_a_compiler_only(clone: Path, verb: str, file: str,
                                               first: str) -> None:
    code, out, err = bare(clone, verb, str(clone / file))
    assert code == 1 and out == ""
    assert "cint-replay needs a C compiler, pkg-config and GLib's headers" in err
    assert "apt-get install" in err
    code, out, err = bare(clone, verb, str(clone / file),
                          programs=(*_BARE, "cc", "gcc", "pkg-config", "as", "ld"))
    assert (code, out.splitlines()[0]) == (0, first), err
    assert not (clone / "build/venv").exists()


def test_no_dry_run_builds(clone: Path) -> None:
    for words in (("run", "--print"), ("compare", "--dry-run")):
        code, out, _ = bare(clone, *words)
        assert code == 0 and "qemu-system-x86_64" in out
    assert not (clone / "build/venv").exists()


def test_the_two_places_of_the_version_agree() -> None:
    project = tomllib.loads((paths.TOOLS / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] == __version__


def test_the_help_names_what_maintainers_need_in_one_line(
        capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.build_parser([]).parse_args(["--help"])
    shown = capsys.readouterr().out
    assert "work on cint itself (each has --help):\n  bench, calibrate, worker" in shown
    assert cli.VERBS["bench"] not in shown and cli.VERBS["compare"] in shown


@pytest.mark.parametrize(("before", "now"), [
    (["setup"], ["build"]), (["-v", "setup", "--force"], ["-v", "build", "--force"]),
    (["report", "x"], ["show", "--html", "x"]), (["build", "qemu"], ["build", "qemu"])])
def test_words_of_before_are_todays(before: list[str], now: list[str]) -> None:
    assert cli._as_now(before) == now


@pytest.mark.parametrize(("policy", "says"), [
    ("adaptive:delta=10", "delta=10 is 10 ns; with a unit: delta=10us"),
    ("default,cint:thr=3,max-hold=500", "max-hold=500 is 500 ns"),
    ("adaptive:delta=6000", ""), ("cint:delta=10us,thr=16", ""), ("adaptive:delta=10ns", "")])
@pytest.mark.parametrize("words", [["compare", "--dry-run", "--workload", "sync"],
                                   ["run", "--print"]])
def test_a_short_time_without_a_unit_is_remarked(capsys: pytest.CaptureFixture[str],
                                                 words: list[str], policy: str, says: str) -> None:
    if words[0] == "run" and "," in policy and policy.startswith("default"):
        policy = policy.partition(",")[2]
    assert cli.main([*words, "--policy", policy]) == 0
    said = capsys.readouterr().err
    assert says in said and (bool(says) or "with a unit" not in said)
