# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint replay`: the options it hands on, and the sweep's grid and choice."""

import itertools
import json
from pathlib import Path

import pytest

from cint import bootstrap, cli, paths
from cint.build import engine
from cint.errors import UsageError
from cint.measure import calibration, sweep
from cint.measure.sweep import Cell, Point
from cint.verbs import replay


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A stand-in for cint-replay that prints its arguments, or a summary of a sweep."""
    path = tmp_path / "cint-replay"
    path.write_text(
        "#!/usr/bin/python3\n"
        "import json, sys\n"
        "arms = [w for w in sys.argv if 'delta=' in w]\n"
        "if '--bench' in sys.argv or not arms:\n"
        "    print(json.dumps(sys.argv[1:]))\n"
        "else:\n"
        "    arm = {'interrupts': 50, 'interrupts_per_s': 5.0, 'cqes_per_interrupt': 2.0,\n"
        "           'hold': {'mean_ns': 1.0}, 'hold_p99_ns': 2}\n"
        "    gaps = {'p50': 5, 'p90': 9, 'p95': 9, 'p99': 4000, 'p99.9': 9}\n"
        "    print(json.dumps({'summary': {'completions': 100, 'gap_ns': gaps,\n"
        "                                  'policies': [arm] * len(arms)}}))\n"
        "sys.exit(2 if 'bad' in sys.argv else 0)\n", encoding="utf-8")
    path.chmod(0o755)
    monkeypatch.setattr(paths, "REPLAY_ALONE", path)
    monkeypatch.setattr(engine, "build_replay", lambda: False)
    monkeypatch.setattr(bootstrap, "ensure", lambda *extras: None)
    return path


def test_options_reach_the_program(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["--extras", "off", "--cpu-scale", "3", "--set", "thr=4", "--set", "max-hold=9",
             "--cq-size", "64", "--reap", "700", "--record", "off", "--cq", "3", "--irqs", "on",
             "--from-trace", "--guest-time", "--json", "--bench",
             "--policy", "cint:thr=1,delta=2us", "--policy", "static20", "some.log"]
    assert cli.main(["replay", *words]) == 0
    assert json.loads(capfd.readouterr().out) == words
    assert cli.main(["replay", "--policy", "cint:thr=1,delta=2us,static20", *words[:22],
                     *words[26:]]) == 0
    assert json.loads(capfd.readouterr().out) == words


def test_a_compares_log_says_its_scale(program: Path, tmp_path: Path,
                                       capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "results/logs/cint/qemu.log"
    log.parent.mkdir(parents=True)
    log.touch()
    (tmp_path / "results/results.json").write_text('{"schema": 1, "scale": {"k": 2.5}}', "utf-8")
    for words, wanted in ((["--from-trace"], "2.5"), ([], "1"),
                          (["--from-trace", "--cpu-scale", "4"], "4")):
        assert cli.main(["replay", *words, str(log)]) == 0
        assert json.loads(capfd.readouterr().out)[2:4] == ["--cpu-scale", wanted]


def test_policies_are_read_before_anything_is_built(program: Path,
                                                    monkeypatch: pytest.MonkeyPatch,
                                                    capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(engine, "build_replay", lambda: pytest.fail("it built something"))
    for text, message in (("adaptve", "did you mean adaptive?"), ("stock", "nothing to replay")):
        assert cli.main(["replay", "--policy", text]) == 2
        assert message in capsys.readouterr().err


def test_without_options_the_program_has_none(program: Path,
                                              capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["replay"]) == 0
    assert json.loads(capfd.readouterr().out) == ["--extras", "papers", "--cpu-scale", "1",
                                                  "--policy", "cint"]


def test_the_programs_exit_code_is_ours(program: Path) -> None:
    assert cli.main(["replay", "bad"]) == 2
    assert cli.main(["replay", "--sweep", "delta=1us,thr=1", "bad"]) == 2


def test_a_file_is_no_option(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for typed, given in (("-x.trace", "./-x.trace"), ("-", "-")):
        assert cli.main(["replay", "--", typed]) == 0
        assert json.loads(capfd.readouterr().out)[-1] == given


def test_a_program_that_dies_is_an_error(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.write_text("#!/bin/sh\nkill -6 $$\n", encoding="utf-8")
    assert cli.main(["replay"]) == 1
    assert "cint-replay ended by signal 6" in capsys.readouterr().err
    program.write_text("#!/bin/sh\nkill -13 $$\n", encoding="utf-8")
    assert cli.main(["replay"]) == 0


# ---- the sweep ----------------------------------------------------------

def test_spaced_is_even_on_a_log_scale_and_has_both_ends() -> None:
    thrs = sweep.spaced(1, 256)
    assert thrs == [1, 2, 3, 4, 6, 9, 13, 19, 28, 40, 58, 84, 120, 180, 256]
    deltas = sweep.spaced(1000, 50_000)
    assert (deltas[0], deltas[-1], len(deltas)) == (1000, 50_000, sweep.POINTS)
    # 50 to the power of 1/15 is 1.298; two digits round it.
    assert all(1.2 < b / a < 1.45 for a, b in itertools.pairwise(deltas[:-1]))
    assert sweep.spaced(32, 32) == [32]
    assert sweep.spaced(0, 4) == [0, 1, 2, 3, 4]
    assert sweep.spaced(123_456, 123_999) == [123_456, 123_999]


def test_grid_is_every_pair() -> None:
    assert sweep.parse_grid("thr=1..3,delta=6us") == [Point(6000, 1), Point(6000, 2),
                                                      Point(6000, 3)]
    assert len(sweep.parse_grid("delta=1us..50us,thr=1..256")) == 16 * 15


@pytest.mark.parametrize(("text", "message"), [
    ("delta=1us..9us", "delta and thr are both needed"),
    ("delta=1us..9us,thr=1..4,thr=5", "expected delta=LOW..HIGH,thr=LOW..HIGH"),
    ("gamma=3,thr=1", "expected delta=LOW..HIGH,thr=LOW..HIGH"),
    ("delta=5q,thr=1", "--sweep: delta=5q: expected a time, 0 to 1s"),
    ("delta=5us..1us,thr=1", "must run upwards"),
    ("delta=1us..2s,thr=1", "--sweep: delta=2s: expected a time, 0 to 1s"),
    ("delta=1us,thr=1..65536", "from 0 to 65535"),
    ("delta=1us,thr=x", "--sweep: thr=x: expected a number from 0 to 65535"),
    ("delta=1us,thr=0", "must run upwards"),
])
def test_grid_errors_say_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(UsageError, match="(?s).*" + message.replace("(", r"\(")):
        sweep.parse_grid(text)


def test_arm_keeps_the_policys_own_parameters() -> None:
    assert sweep.arm("cint", Point(6000, 4)) == "cint:delta=6000,thr=4"
    assert sweep.arm("cint:ooo=off", Point(6000, 4)) == "cint:ooo=off,delta=6000,thr=4"


def _cell(thr: int, cost: float) -> Cell:
    return Cell(6000, thr, 1, 1.0, 1.0, 0.0, 0, cost)


def test_thr_is_the_smallest_on_the_plateau() -> None:
    column = [_cell(1, 3250.0), _cell(8, 2550.0), _cell(16, 2500.0), _cell(32, 2475.0),
              _cell(64, 2462.0)]
    assert sweep.choose_thr(column) == 16
    # 2 % more than the best is still level, a little more is not.
    assert sweep.choose_thr([_cell(4, 1020.0), _cell(8, 1000.0)]) == 4
    assert sweep.choose_thr([_cell(4, 1020.1), _cell(8, 1000.0)]) == 8


def test_delta_spans_the_gap() -> None:
    assert sweep.choose_delta([1000, 2000, 4000], 1500) == (2000, False)
    assert sweep.choose_delta([1000, 2000, 4000], 2000) == (4000, False)
    assert sweep.choose_delta([1000, 2000, 4000], 4000) == (4000, True)


def test_sweep_calls_the_program_once_for_the_grid(
    program: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    plot = tmp_path / "map.png"
    words = ["replay", "--sweep", "delta=1us..9us,thr=2..3", "--plot", str(plot), "--json",
             "--policy", "adaptive", "load"]
    assert cli.main(words) == 0
    found = json.loads(capfd.readouterr().out)
    # 4000 ns is the stand-in's p99; costs are equal, so the smallest thr will do.
    assert found["delta_ns"] == min(c["delta_ns"] for c in found["cells"] if c["delta_ns"] > 4000)
    assert (found["thr"], found["gap_ns"], found["delta_clipped"]) == (2, 4000, False)
    assert found["cells"][0]["cost_ns"] == calibration.PAPER_IO_NS + calibration.PAPER_IRQ_NS / 2
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert cli.main([*words[:5], "--quantile", "95"]) == 0
    shown = capfd.readouterr().out
    assert "95 % of the gaps between 100 completions are at most 9ns" in shown
    assert "proposed for policy cint: delta=1us, thr=2" in shown


@pytest.mark.parametrize(("words", "message"), [
    (["--policy", "cint", "--policy", "vic"], "--sweep takes one --policy, not 2"),
    (["--policy", "static20"], "static: unknown parameter 'delta'"),
    (["--bench"], "--sweep and --bench do not go together"),
    (["--guest-time"], "--sweep and --guest-time do not go together"),
    (["--plot", "/nowhere/x.png"], "--plot /nowhere/x.png:"),
    (["--plot", "x.nonsense"], "--plot x.nonsense:"),
])
def test_sweep_refuses(program: Path, words: list[str], message: str,
                       capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["replay", "--sweep", "delta=1us,thr=1", *words]) == 2
    assert message in capsys.readouterr().err


def test_too_little_to_choose_from() -> None:
    with pytest.raises(UsageError, match="has 1 completions"):
        sweep.evaluate("cint", [Point(1, 1)], "99", {"completions": 1})


def test_options_of_both_programs_are_the_same() -> None:
    """What the verb hands on is what the program's own help names."""
    source = (paths.REPLAY_SRC / "options.c").read_text("utf-8")
    parser = cli.build_parser(["replay"])
    help_text = parser._subparsers._group_actions[0].choices["replay"].format_help()  # type: ignore[union-attr, index]
    for name in ("policy", "set", "extras", "cpu-scale", "guest-time", "cq-size", "reap", "record",
                 "from-trace", "cq", "irqs", "json"):
        assert f'"{name}"' in source
        assert f"--{name} " in help_text or f"--{name}\n" in help_text
    assert replay.DEFAULT_PLOT.suffix == ".png"
