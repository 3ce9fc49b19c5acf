# SPDX-License-Identifier: GPL-2.0-or-later
"""Times and counts as they are typed."""

import pytest

from cint import units
from cint.errors import UsageError


@pytest.mark.parametrize("ns", [1, 999, 1000, 1500, 20_000, 100_000, 7_000_000, 1_000_000_000])
def test_times_read_back(ns: int) -> None:
    assert units.parse_time(units.format_time(ns), "t") == ns


@pytest.mark.parametrize(("text", "ns"), [
    ("6us", 6000), ("1.5ms", 1_500_000), ("0ns", 0), ("10s", 10**10), ("0.5ns", 0)])
def test_times(text: str, ns: int) -> None:
    assert units.parse_time(text, "delta") == ns


@pytest.mark.parametrize("text", ["", "6", "us", "-1us", "6 us", "6uss", "1e3us", "\u0663us",
                                  "6US"])
def test_times_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"^delta=.*: not a time; give a number and a unit"):
        units.parse_time(text, "delta")


def test_the_longest_time() -> None:
    with pytest.raises(UsageError, match=r"^--runtime 10\.1s: must be at most 10s$"):
        units.parse_time("10.1s", "--runtime")


def test_a_unit_that_may_be_left_out() -> None:
    assert units.parse_time("2", "--runtime", default_unit="s") == 2 * 10**9
    assert units.parse_time("2ms", "--runtime", default_unit="s") == 2 * 10**6


def test_counts() -> None:
    assert [units.whole(text, 1, 9) for text in ("1", "9", "0", "10", "", "x", "+5", "5.0")] \
        == [1, 9, None, None, None, None, None, None]
    assert units.count(0, 5, "--jobs")("0") == 0


@pytest.mark.parametrize(("what", "message"), [
    ("--jobs", "^--jobs 9: must be a number from 1 to 5$"),
    ("thr", "^thr=9: must be a number from 1 to 5$"),
    ("--sweep thr", "^--sweep thr=9: must be a number from 1 to 5$"),
])
def test_errors_name_what_was_typed(what: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        units.parse_count("9", what, 1, 5)
