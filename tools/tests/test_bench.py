# SPDX-License-Identifier: GPL-2.0-or-later
"""Instruction counts: callgrind's format, aims, and what the tests make of them."""

import json

import pytest

from cint import paths
from cint.selftest import aims, bench, callgrind, load, loadthreads
from cint.selftest.aims import Aimed
from cint.selftest.bench import EngineRow
from cint.selftest.load import Count, Shape, Speed

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


def rows(arm: str, one: float, many: float, policy: float = 10,
         submit: float = 40) -> list[EngineRow]:
    return [EngineRow(arm, 1, policy, one, submit, 150, 0.5, None),
            EngineRow(arm, 64, policy, many, submit, 150, 0.5, None)]


def missed(checks: list[Aimed]) -> list[str]:
    return [check.what for check in checks if not check.passed]


def test_counts_are_held_against_aims() -> None:
    assert missed(bench.count_checks(rows("cint", 120, 120))) == []
    assert missed(bench.count_checks(rows("cint", 121, 121))) == ["cint, 1 queues",
                                                                  "cint, 64 queues"]
    assert missed(bench.count_checks(rows("cint", 100, 111))) == ["cint, 64 queues against 1"]
    assert missed(bench.count_checks(rows("cint", 100, 100, submit=201))) == [
        "cint, 1 queues, submission", "cint, 64 queues, submission"]
    assert missed(bench.count_checks(rows("vic", 150, 150, policy=61))) == [
        "vic, 1 queues, vIC's decision", "vic, 64 queues, vIC's decision"]


def test_the_test_leaves_room_for_another_compiler() -> None:
    assert Aimed("x", 110, 100, "instructions").within(bench.SLACK)
    assert not Aimed("x", 120, 100, "instructions").within(bench.SLACK)


def test_what_is_known_to_be_far_off_has_that_room() -> None:
    near, far = (aims.Shortfall(worst, "it does more") for worst in (110, 160))
    assert not Aimed("x", 120, 100, "instructions", known=near).within(bench.SLACK)
    assert Aimed("x", 180, 100, "instructions", known=far).within(bench.SLACK)
    assert not Aimed("x", 185, 100, "instructions", known=far).within(bench.SLACK)


def test_a_ratio_is_held_from_below() -> None:
    check = Aimed("x", 1.3, 1.4, "times", at_least=True)
    assert not check.passed
    assert check.within(bench.SLACK)
    assert Aimed("x", 1.4, 1.4, "times", at_least=True).passed
    assert list(aims.verdict([check])) == ["MISSED x: 1.30 times, aim at least 1.4",
                                           "0 of 1 aims met"]


def short(value: float, worst: float, *, at_least: bool = False) -> Aimed:
    return Aimed("x", value, 10, "ns", at_least=at_least,
                 known=aims.Shortfall(worst, "the clock is slow"))


def test_a_known_shortfall_has_a_bound() -> None:
    assert [short(value, 15).expected for value in (10, 11, 15, 15.1)] \
        == [True, True, True, False]
    assert [short(value, 8, at_least=True).expected for value in (7.9, 8, 12)] \
        == [False, True, True]
    assert not Aimed("x", 11, 10, "ns").expected


def test_a_known_shortfall_is_never_silent() -> None:
    lines = list(aims.verdict([short(9, 15), short(12, 15), short(16, 15), Aimed("y", 1, 2, "")]))
    words = ("MET AFTER ALL x: 9.00", "short as known: x: 12.00", "MISSED by more than is known: x")
    assert all(line.startswith(word) for line, word in zip(lines, words, strict=False))
    assert all("the clock is slow" in line for line in lines[:3])
    assert lines[3:] == ["2 of 4 aims met, 1 short as known"]


# --- the device ---------------------------------------------------------------------------


def counts(**qemu: float) -> list[Count]:
    """Rows of the main shape, and of few and many queues for the same instructions."""
    given = dict.fromkeys(("stock", "off", load.BASE, *load.AIM_ADDED), 7000.0)
    given |= {"off-memory": 1500.0} | qemu
    flat = [Count(name, shape.queues, shape.depth, shape.batch, 500, given[name], 900, 300, 1)
            for name in load.FLAT_RIGS for shape in load.FLAT]
    main = [Count(name, 1, 128, 32, 500, cost, 900, 300, 1) for name, cost in given.items()]
    return [*main, *flat]


def test_what_the_device_adds_is_held_against_aims() -> None:
    assert missed(load.count_checks(counts(adaptive=7500, cint=7500, default=8200))) == []
    assert missed(load.count_checks(counts(off=7036))) == ["a read with cint=off against stock"]
    assert missed(load.count_checks(counts(adaptive=7501, default=8201))) == [
        "cint=on, adaptive, adds to a read", "cint=on, default, adds to a read"]
    assert missed(load.count_checks(counts(**{"off-memory": 1501}))) == [
        "a read of a namespace in memory, cint=off"]


def test_what_is_added_beyond_an_aim_is_known_and_bounded() -> None:
    def unexpected(**qemu: float) -> list[str]:
        return [check.what for check in load.count_checks(counts(**qemu)) if not check.expected]

    for arm, known in load.KNOWN_ADDED.items():
        assert unexpected(**{arm: 7000 + known.worst}) == []
        assert unexpected(**{arm: 7001 + known.worst}) == [f"cint=on, {arm}, adds to a read"]


def test_many_queues_may_cost_little_more() -> None:
    rows = counts()
    grown = [*rows[:-1], Count(rows[-1].arm, 64, 32, 16, 500, 7701, 900, 300, 1)]
    assert missed(load.count_checks(grown)) == ["cint, 64 queues against 1"]


def speeds(adaptive: tuple[float, ...]) -> list[Speed]:
    rows = []
    for number, value in enumerate(adaptive):
        # the machine is slower in each round, for all alike; who else ran says nothing
        rows += [Speed(name, back_end, number, 1e3, (number + 1) / speed, 0.1)
                 for back_end in load.BACK_ENDS for name, speed in
                 (("pristine", 100), ("off-cached", 320), ("adaptive", value),
                  ("virtio-lean", 220))]
    return rows


def test_ratios_are_taken_within_a_round() -> None:
    assert load.ratio(speeds((240, 250, 245)), "file", "adaptive", "pristine") == \
        pytest.approx(2.45)
    assert missed(load.speed_checks(speeds((265, 265, 265)))) == []
    assert missed(load.speed_checks(speeds((200, 239, 300)))) == [
        "null, adaptive against pristine", "null, adaptive against virtio-lean",
        "file, adaptive against pristine"]


def test_a_speed_that_is_known_to_be_short_is_bounded() -> None:
    def unexpected(adaptive: float) -> list[str]:
        return [check.what for check in load.speed_checks(speeds((adaptive,)))
                if not check.expected]

    # of the hundred that pristine does, and of virtio-lean's 220
    pristine, virtio = (load.KNOWN_SPEED["null", "adaptive", other].worst
                        for other in ("pristine", "virtio-lean"))
    assert unexpected(100 * pristine + 0.1) == []
    assert unexpected(100 * pristine - 0.1) == ["null, adaptive against pristine"]
    assert "null, adaptive against virtio-lean" in unexpected(220 * virtio - 0.1)


def test_the_table_says_how_far_the_rounds_differ() -> None:
    rows = [Speed(name, back_end, number, 1e3, 1 / (number + (name == "adaptive")), 0.1)
            for name in load.TIMED_ARMS for back_end in load.BACK_ENDS for number in (1, 2, 4)]
    line, = (line for line in load.speed_table(rows) if line.startswith("adaptive")
             and "null" in line)
    assert line.count("1.50 (1.38-1.75)") == 2


def test_generator_and_allocator_are_left_out() -> None:
    profile = callgrind.Profile(total=1000)
    profile.functions.update({"malloc": 40, "_int_free": 20, "unlink_chunk.constprop.0": 10,
                              "nvme_map_addr": 200, "g_free": 30, "freeze": 5})
    profile.files.update({"../src/qemu-bench/hw/misc/load/load.c": 100,
                          "../src/qemu-bench/hw/nvme/ctrl.c": 200, "malloc.c": 700})
    assert load.count_of("off", Shape(), profile, 10, 5) == Count(
        "off", 1, 128, 32, nvme=20, qemu=83, allocator=7, generator=10, interrupts=0.5)


def test_what_is_added_is_named_by_function() -> None:
    def count(arm: str, qemu: float, **functions: float) -> Count:
        return Count(arm, 1, 128, 32, 500, qemu, 0, 0, 1, functions)

    rows = [count(load.BASE, 1000, read=90, bh=30),
            *(count(arm, 1115, read=100, bh=10, submit=120, small=load.PART - 1)
              for arm in load.AIM_ADDED)]
    table = list(load.parts_table(rows))
    assert table[:5] == ["adaptive adds 115 instructions to a read:",
                         "      +120  submit", "       +10  read", "       -20  bh",
                         f"        +5  less than {load.PART} each"]
    assert len(table) == 5 * len(load.AIM_ADDED)


def test_functions_are_kept_of_arms_that_have_an_aim() -> None:
    profile = callgrind.Profile(total=100)
    profile.functions.update({"malloc": 40, "nvme_map_addr": 60})
    assert load.count_of("adaptive", Shape(), profile, 10, 5).functions == {"nvme_map_addr": 6}
    assert load.count_of("stock", Shape(), profile, 10, 5).functions == {}


def test_the_generators_line_is_found() -> None:
    assert load.parse_result('==1== Callgrind\n{"reads": 5, "wall_ns": 7}\n==1== end\n') \
        == {"reads": 5, "wall_ns": 7}
    assert load.parse_result("qemu: no such device\n") is None


def test_a_run_is_one_command() -> None:
    words = load.qemu_command(load.RIGS["virtio-blk"], "file", Shape(4, 16, 8), 100, 10, step=True)
    assert words[0] == str(paths.BENCH_STOCK)
    assert "virtio-blk-pci,id=t,drive=d0,num-queues=4,queue-size=1024,request-merging=off" in words
    assert words[-1].startswith("load-generator,target=t,queues=4,depth=16,batch=8,reads=100,")
    assert words[words.index("-accel") + 1] == "qtest"
    words = load.qemu_command(load.RIGS["off-memory"], "null", Shape(), 100, 10, step=True)
    assert "drive" not in words[words.index("-device") + 1]
    assert words.index("nvme-ns,memdev=m0,nsid=1") < len(words) - 2


def runs(off: float, two: float) -> list[loadthreads.Run]:
    """virtio-blk takes 2 us in each round's unit; nvme as given, two IOThreads as given."""
    speed = {"off-iothread": off, "adaptive-iothread": 1.5, "off-2-on-2": two}
    return [loadthreads.Run(name, number, 1e5 * speed.get(name, 1) * (number + 1),
                            2 / speed.get(name, 1) / (number + 1), 0.5, 0.1)
            for number in range(3) for name in loadthreads.SERVED]


def test_iothreads_are_compared_within_a_round() -> None:
    rows = runs(1.2, 1.8)
    assert loadthreads.by_clock(rows, "off-iothread", "virtio-iothread") == pytest.approx(1.2)
    assert loadthreads.by_cpu(rows, "off-iothread", "virtio-iothread") == pytest.approx(1.2)
    assert missed(loadthreads.checks(rows, 4)) == []
    assert missed(loadthreads.checks(runs(0.9, 1.6), 4)) == [
        *["off-iothread against virtio-iothread"] * 2, "off-2-on-2 against off-2-on-1"]


def test_two_iothreads_are_held_to_their_aim_where_there_are_cores() -> None:
    assert missed(loadthreads.checks(runs(1.2, 1.6), 2)) == []


def test_the_table_of_iothreads_names_each_device() -> None:
    lines = list(loadthreads.table(runs(1.2, 1.8)))
    assert [line.split()[0] for line in lines[1:-1]] == list(loadthreads.SERVED)


def test_a_device_with_a_mapping_is_given_in_json() -> None:
    served = loadthreads.SERVED["virtio-2-on-2"]
    words = load.qemu_command(served.arm, "null", Shape(served.queues), 100, 10, step=False)
    device = json.loads(words[words.index("-device") + 1])
    assert device["num-queues"] == 2
    assert device["iothread-vq-mapping"] == [{"iothread": "io0"}, {"iothread": "io1"}]
