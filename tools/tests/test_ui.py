# SPDX-License-Identifier: GPL-2.0-or-later
"""What a person sees."""

import pytest

from cint import ui


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (185, "3 min 05 s"),
     (3720, "1 h 02 min")],
)
def test_duration(seconds: float, text: str) -> None:
    assert ui.duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (41_000_000, "41 MB"), (1.3e9, "1.3 GB")]
)
def test_size(count: float, text: str) -> None:
    assert ui.size(count) == text


def test_messages_go_to_stderr_only(capsys: pytest.CaptureFixture[str]) -> None:
    ui.info("one")
    ui.warn("two", "do this")
    ui.error("three", "do that", "a.log")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == [
        "one", "warning: two", "         do this", "cint: error: three", "      do that",
        "      log: a.log",
    ]


def test_progress_without_a_terminal_prints_plain_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ui, "PLAIN_INTERVAL_S", 0.0)
    monkeypatch.setattr(ui, "TTY_INTERVAL_S", 0.01)
    with ui.Progress("building") as progress:
        progress.update("[1/2]")
        progress._stop.wait(0.1)
    shown = capsys.readouterr().err
    assert "building ... [1/2] (0." in shown
    assert "\x1b" not in shown
    assert "\r" not in shown


def test_progress_nests_and_restores_the_outer_one() -> None:
    with ui.Progress("outer") as outer:
        with ui.Progress("inner") as inner:
            assert ui.Progress._active is inner
        assert ui.Progress._active is outer
    assert ui.Progress._active is None


def test_the_time_left_is_said_from_the_pace_since_the_first_count() -> None:
    estimate = ui.Estimate()
    estimate.note("booting", 0.0)
    assert estimate.left(1.0) is None
    estimate.note("[12/21] from the store", 1.0)
    assert estimate.left(2.0) is None
    estimate.note("[15/21] adaptive: sync", 31.0)
    assert estimate.left(31.0) == 60.0
    assert estimate.left(41.0) == 50.0
    assert estimate.left(500.0) == 0.0


def test_the_first_few_of_many_say_nothing_of_the_time_left() -> None:
    """14 of 1870 files in half a minute were said to mean an hour; the rest took half a minute."""
    estimate = ui.Estimate()
    estimate.note("[1/1870]", 0.0)
    estimate.note("[14/1870]", 30.0)
    assert estimate.left(30.0) is None
    estimate.note("[201/1870]", 40.0)
    assert estimate.left(40.0) == pytest.approx(333.8)
