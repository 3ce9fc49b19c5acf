# SPDX-License-Identifier: GPL-2.0-or-later
"""Instruction counts: callgrind's format, aims, and what the tests make of them."""

import pytest

from cint.selftest import bench, callgrind
from cint.selftest.bench import Check, DeviceRow, EngineRow

PROFILE = """\
# callgrind format
version: 1
positions: line
events: Ir
summary: 999

ob=(1) /build/bench-engine
fl=(1) /src/tests/bench/bench-engine.c
fn=(1) bench_rounds
10 5
cfi=(2) /src/hw/nvme/coalesce/coalesce.c
cfn=(2) cint_complete
calls=3 20
+2 90
* 7
fi=(3) /usr/include/inline.h
4 2

fl=(2)
fn=(2)
20 60
-1 3
cfi=(4) /src/hw/nvme/coalesce/vic.c
cfn=(3) vic_complete
calls=3 1
5 27

fl=(4)
fn=(3)
1 27
"""


def profile() -> callgrind.Profile:
    return callgrind.parse(PROFILE.splitlines())


def test_calls_are_not_counted_twice() -> None:
    assert profile().total == 5 + 7 + 2 + 60 + 3 + 27
    assert profile().functions == {"bench_rounds": 14, "cint_complete": 63, "vic_complete": 27}


def test_inlined_instructions_belong_to_their_own_file() -> None:
    assert profile().files["/usr/include/inline.h"] == 2
    assert profile().files["/src/hw/nvme/coalesce/coalesce.c"] == 63


def test_calls_have_all_that_they_call() -> None:
    assert profile().calls == {("bench_rounds", "cint_complete"): 90,
                               ("cint_complete", "vic_complete"): 27}
    assert bench.event_costs(profile())["complete"] == 90
    assert bench.policy_cost(profile()) == 27


@pytest.mark.parametrize(("arm", "aim"), [("adaptive", 120), ("cint", 120), ("new-policy", 200),
                                          ("cint-strict", 200), ("vic", 200), ("vic-deep", 200)])
def test_aims(arm: str, aim: int) -> None:
    assert bench.aim_of(arm) == aim


def rows(arm: str, one: float, many: float, policy: float = 10) -> list[EngineRow]:
    return [EngineRow(arm, 1, policy, one, 150, 0.5, None),
            EngineRow(arm, 64, policy, many, 150, 0.5, None)]


def missed(checks: list[Check]) -> list[str]:
    return [check.what for check in checks if not check.passed]


def test_counts_are_held_against_aims() -> None:
    assert missed(bench.count_checks(rows("cint", 120, 120))) == []
    assert missed(bench.count_checks(rows("cint", 121, 121))) == ["cint, 1 queues",
                                                                  "cint, 64 queues"]
    assert missed(bench.count_checks(rows("cint", 100, 111))) == ["cint, 64 queues against 1"]
    assert missed(bench.count_checks(rows("vic", 150, 150, policy=61))) == [
        "vic, 1 queues, vIC's decision", "vic, 64 queues, vIC's decision"]


def test_the_test_leaves_room_for_another_compiler() -> None:
    assert Check("x", 110, 100, "instructions").within(bench.SLACK)
    assert not Check("x", 120, 100, "instructions").within(bench.SLACK)


def test_only_what_the_device_adds_counts() -> None:
    stock, off = DeviceRow("stock", 500, 8000), DeviceRow("off", 540, 9000)
    assert missed(bench.device_checks([stock, off])) == []
    assert missed(bench.device_checks([stock, DeviceRow("off", 541, 8000)])) \
        == ["a read with cint=off against stock"]
