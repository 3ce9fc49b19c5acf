# SPDX-License-Identifier: GPL-2.0-or-later
"""cint-replay: golden vectors, the guest, comparisons, QEMU's trace, errors."""

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cint import paths
from cint.measure import sweep

HERE = Path(__file__).parent
#: Of a program that hangs; on a busy machine seconds of its CPU time take minutes.
LIMIT_S = 600


def replay(*words: str, text: str | None = None) -> "subprocess.CompletedProcess[str]":
    """Run the program in this directory; `text` is its standard input."""
    return subprocess.run([paths.REPLAY, *words], cwd=HERE, input=text or "", text=True,
                          capture_output=True, timeout=LIMIT_S, check=False)


def irqs(*words: str, text: str | None = None) -> list[str]:
    """The interrupts it prints."""
    done = replay(*words, text=text)
    assert (done.returncode, done.stderr) == (0, "")
    return [line for line in done.stdout.splitlines() if line.startswith("irq")]


def summary(*words: str, text: str | None = None) -> Any:
    """The summary of --json."""
    done = replay("--json", *words, text=text)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout.splitlines()[-1])["summary"]


def submits(count: int, *, sqid: int = 1) -> str:
    """`count` commands of one batch at 0, with identifiers from 1 on."""
    lines = [f"submit 0 {sqid} {cid}\n" for cid in range(1, count + 1)]
    return "".join([*lines, f"doorbell 0 {sqid}\n"])


def every(step: int, count: int, *, first: int = 1) -> str:
    """`count` completions, `step` apart."""
    return "".join(f"complete {step * i} 1 {i}\n" for i in range(first, first + count))


# --- golden vectors -----------------------------------------------------------------------


def _golden() -> list[Any]:
    """Each `$ options` of an .expected file, with the interrupts below it."""
    cases = []
    for path in sorted(HERE.glob("*.expected")):
        lines = [line for line in path.read_text("utf-8").splitlines()
                 if line and not line.startswith("#")]
        starts = [i for i, line in enumerate(lines) if line.startswith("$ ")]
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
            options = lines[start].removeprefix("$ ").split()
            cases.append(pytest.param(path.with_suffix(".trace").name, options,
                                      lines[start + 1:end],
                                      id=f"{path.stem} {' '.join(options)}"))
    return cases


@pytest.mark.parametrize(("trace", "options", "want"), _golden())
def test_golden_vector(trace: str, options: list[str], want: list[str]) -> None:
    assert irqs("--extras", "off", *options, trace) == want


def test_every_trace_has_its_expectation() -> None:
    traces = {path.stem for path in HERE.glob("*.trace")}
    assert traces and traces == {path.stem for path in HERE.glob("*.expected")}


def test_vic_ratio_follows_at_the_epochs_end() -> None:
    """50000 a second, 10 in flight: 3/4 from the 10001st completion on."""
    lines = [submits(9)]
    for i in range(1, 10013):
        lines.append(f"submit {20000 * i - 1} 1 {i + 9}\ncomplete {20000 * i} 1 {i}\n")
    got = irqs("--policy", "vic", "--extras", "off", text="".join(lines))
    late = [int(line.split()[1]) for line in got if int(line.split()[1]) >= 200_000_000]
    assert late == [200_000_000, 200_020_000, 200_040_000, 200_080_000, 200_100_000, 200_120_000,
                    200_160_000, 200_180_000, 200_200_000, 200_240_000]


# --- the optimum --------------------------------------------------------------------------


def regrets(*words: str, text: str | None = None) -> list[list[float]]:
    """By policy, for each weight of what nobody waits for."""
    weights = summary("--optimal", "2us", *words, text=text)["optimum"]["weights"]
    assert [one["weight"] for one in weights] == [0, 0.25, 0.5, 0.75, 1]
    return [list(policy) for policy in zip(*(one["regret"] for one in weights), strict=True)]


#: An Urgent one 0.5 us after one that nobody waits for.
TWO = ("submit 0 1 1 urgent\nsubmit 0 1 2\ndoorbell 0 1\n"
       "complete 1000 1 2\ncomplete 1500 1 1\n")


def test_regret_is_the_cost_to_the_least_there_could_be() -> None:
    """The least is one interrupt at 1500: 2000 ns, and 500 ns times the weight."""
    default, adaptive, cint = regrets("--policy", "default,adaptive,cint", text=TWO)
    assert default == pytest.approx([4000 / (2000 + 500 * w) for w in (0, .25, .5, .75, 1)], 1e-4)
    assert adaptive == pytest.approx([(8000 + 6500 * w) / (2000 + 500 * w)
                                      for w in (0, .25, .5, .75, 1)], 1e-4)
    assert cint == [1] * 5


def test_who_does_not_hear_the_hints_is_still_measured_by_them() -> None:
    [cint] = regrets("--policy", "cint", "--set", "drain=off", "--hints", "off", text=TWO)
    assert cint == pytest.approx([(8000 + 6500 * w) / (2000 + 500 * w)
                                  for w in (0, .25, .5, .75, 1)], 1e-4)


@pytest.mark.parametrize("trace", ["burst", "figure7", "out-of-order", "urgent", "barrier"])
def test_nobody_is_better_than_the_optimum(trace: str) -> None:
    found = regrets("--policy", "default,static,adaptive,cint,vic,auto", f"{trace}.trace")
    assert len(found) == 6 and all(one >= 1 for policy in found for one in policy)


def test_the_table_says_that_it_is_no_ranking() -> None:
    out = replay("--policy", "default,cint", "--optimal", "2us", text=TWO).stdout
    assert "note: no ranking" in out and "least: irqs" in out


@pytest.mark.parametrize(("words", "says"), [
    (["--optimal", "0"], "--optimal 0: expected a time from 1ns to 1s"),
    (["--optimal", "x"], "--optimal x: expected a time"),
    (["--optimal", "2us", "--reap", "1us"], "--optimal goes with --reap eager"),
    (["--optimal", "2us", "--reap", "trace"], "--optimal goes with --reap eager"),
    (["--hints", "some"], "--hints"),
])
def test_what_the_optimum_refuses(words: list[str], says: str) -> None:
    done = replay(*words, text=TWO)
    assert done.returncode == 2 and says in done.stderr


def test_the_optimum_refuses_a_guest_that_consumes_by_itself() -> None:
    done = replay("--optimal", "2us", text=f"{TWO}head 3000 2\n")
    assert done.returncode == 2 and "expected no head" in done.stderr


# --- the guest ----------------------------------------------------------------------------


def test_the_summary_counts_and_measures_holds_by_hint() -> None:
    got = summary("--extras", "off", "--policy", "cint:thr=9", "out-of-order.trace")
    one = got["policies"][0]
    assert (got["events"], got["completions"], got["seconds"]) == (25, 12, 31e-6)
    assert (one["interrupts"], one["full"], one["urgent"]) == (7, 2, 5)
    assert one["reasons"] == {"urgent": 5, "thr": 1, "quiet": 1}
    # 4000 3000 2500 1500 1000 0 until 5000, 7000 for the lone one.
    assert one["hold_by_hint"]["unmarked"] == {"cqes": 7, "mean_ns": 2714.3, "max_ns": 7000}
    assert one["hold_by_hint"]["urgent"] == {"cqes": 5, "mean_ns": 0, "max_ns": 0}
    assert one["hold"] == {"cqes": 12, "mean_ns": 1583.3, "max_ns": 7000}
    assert one["hold_p99_ns"] == 7000
    assert one["parameters"]["thr"] == 9 and one["parameters"]["drain"] == "off"


def test_a_policy_with_a_long_name() -> None:
    """Longer than what is printed at a time."""
    name = f"cint:thr={'0' * 100_000}1"
    got = summary("--policy", name, text=submits(1) + every(1000, 1))
    assert got["policies"][0]["policy"] == name
    assert replay("--policy", name).stdout.count(name) == 2


def test_a_guest_that_comes_later_reaps_what_came_meanwhile() -> None:
    """Interrupt at 1000, reaped at 1500; the CQE of 1400 goes along, without an interrupt."""
    text = submits(2) + "complete 1000 1 1\nset 1200 thr=32\ncomplete 1400 1 2\n"
    options = ("--policy", "adaptive:thr=1", "--extras", "off")
    assert irqs(*options, "--guest", "500", text=text) == ["irq 1000 full thr 1"]
    assert irqs(*options, "--guest", "400", text=text) == ["irq 1000 full thr 1",
                                                          "irq 7400 full quiet 1"]
    got = summary(*options, "--guest", "500", text=text)["policies"][0]
    assert got["avoided"] == 1
    assert got["hold"] == {"cqes": 2, "mean_ns": 50, "max_ns": 100}
    assert got["post_to_head"] == {"cqes": 2, "mean_ns": 300, "max_ns": 500}


def test_a_deadline_goes_before_the_guest_of_the_same_time() -> None:
    text = (submits(2) + "complete 1000 1 1\nset 1200 thr=32\nset 1200 delta=100\n"
            "complete 1400 1 2\n")
    assert irqs("--policy", "adaptive:thr=1", "--extras", "off", "--guest", "500", text=text) == [
        "irq 1000 full thr 1", "irq 1500 full quiet 1"]


def test_an_interrupt_joins_one_that_waits_for_the_guest() -> None:
    """The guest comes at 1500 for both, and not once more for the second."""
    text = submits(3) + ("complete 1000 1 1\ncomplete 1400 1 2\nset 1450 policy=adaptive\n"
                         "complete 1600 1 3\n")
    assert irqs("--policy", "default", "--extras", "off", "--guest", "500", text=text) == [
        "irq 1000 full each 1", "irq 1400 full each 1", "irq 7600 full quiet 1"]


def test_with_records_the_queue_does_not_fill_up() -> None:
    """Urgent and others mixed: the head gets past both."""
    text = "".join(f"submit {i} 1 {i}{' urgent' if i % 3 == 0 else ''}\n"
                   f"complete {i} 1 {i}\n" for i in range(1000))
    got = summary("--policy", "cint:thr=4", "--cq-size", "8", "--extras", "off", text=text)
    assert got["policies"][0]["hold"]["cqes"] == 1000
    assert got["policies"][0]["reasons"].keys() == {"urgent", "thr"}
    text = "".join(f"submit {i} 1 {i} urgent\ncomplete {i} 1 {i}\n" for i in range(1000))
    got = summary("--policy", "cint:thr=4", "--cq-size", "8", "--extras", "off", text=text)
    assert got["policies"][0]["reasons"] == {"urgent": 1000}


def test_with_records_a_late_guest_leaves_what_is_not_urgent() -> None:
    """The urgent interrupt of 1000 lets it take command 2, not 1, which waits for delta."""
    text = ("submit 0 1 1\nsubmit 0 1 2 urgent\nsubmit 0 1 3\n"
            "complete 900 1 1\ncomplete 1000 1 2\ncomplete 1100 1 3\n")
    options = ("--policy", "cint", "--extras", "off", "--guest", "500")
    assert irqs(*options, text=text) == ["irq 1000 urgent urgent 1", "irq 7100 full quiet 2"]
    assert irqs(*options, "--record", "off", text=text) == ["irq 1000 full urgent 2"]


def test_head_lines_move_the_head() -> None:
    """The first one ends the eager guest; a head over all pending avoids the interrupt."""
    text = submits(3) + every(1000, 2) + "head 3500 2\ncomplete 5000 1 3\n"
    assert irqs("--policy", "adaptive", "--extras", "off", text=text) == ["irq 11000 full quiet 1"]
    got = summary("--policy", "adaptive", "--extras", "off", text=text)["policies"][0]
    assert got["avoided"] == 2 and got["hold"]["max_ns"] == 6000
    assert got["post_to_head"] == {"cqes": 2, "mean_ns": 2000, "max_ns": 2500}
    # A guest that is told otherwise does not look at them.
    done = summary("--policy", "adaptive", "--extras", "off", "--guest", "eager", text=text)
    assert done["policies"][0]["avoided"] == 0 and done["ignored_heads"] == 1


def test_extras_are_on_by_default() -> None:
    text = submits(2) + "complete 1000 1 1 error\ncomplete 2000 1 2\n"
    assert irqs("--policy", "cint", text=text) == ["irq 1000 full error 1", "irq 2000 full drain 1"]
    assert irqs("--policy", "cint", "--extras", "off", text=text) == ["irq 8000 full quiet 2"]
    assert irqs("--policy", "static:static-time=20000000,static-thr=9", text=text) == [
        "irq 1000 full error 1", "irq 10002000 full max-hold 1"]


def test_a_small_queue_presses() -> None:
    options = ("--policy", "adaptive", "--set", "delta=1000000")
    assert irqs(*options, "--cq-size", "8", text=submits(8) + every(10, 8)) == [
        "irq 60 full pressure 6", "irq 1000080 full quiet 2"]
    assert irqs(*options, "--cq-size", "8", "--guest", "100", text=submits(7) + every(10, 7)) == [
        "irq 60 full pressure 6", "irq 70 full pressure 1"]


def test_cancelled_commands_drain() -> None:
    text = submits(2) + "complete 1000 1 1\ncancel 2000 1 2\n"
    assert irqs("--policy", "cint", text=text) == ["irq 2000 full drain 1"]


def test_doorbells_end_batches_for_inference() -> None:
    text = submits(3) + every(1000, 3)
    assert irqs("--policy", "cint:infer=batch", "--extras", "off", text=text) == [
        "irq 3000 full barrier 3"]
    no_bell = text.replace("doorbell 0 1\n", "")
    assert irqs("--policy", "cint:infer=batch", "--extras", "off", text=no_bell) == [
        "irq 9000 full quiet 3"]


def content(word: str) -> str:
    """Of four commands of one batch the second, which has that word, is completed."""
    return (submits(4).replace("submit 0 1 2", f"submit 0 1 2 {word}")
            + "complete 1000 1 2\n")


def test_what_is_needed_now_is_urgent() -> None:
    options = ("--policy", "cint", "--extras", "off", "--set", "infer=content")
    assert irqs(*options, text=content("")) == ["irq 7000 full quiet 1"]
    assert irqs(*options, text=content("now")) == ["irq 1000 full urgent 1"]
    assert irqs(*options, text=content("ahead")) == ["irq 7000 full quiet 1"]


def test_what_is_read_ahead_is_not_urgent() -> None:
    """Alone, and not the first since the guest consumed something; it still ends its batch."""
    text = ("submit 0 1 1\ndoorbell 0 1\ncomplete 100 1 1\n"
            "submit 200 1 2 {}\ndoorbell 200 1\ncomplete 300 1 2\n")
    options = ("--policy", "cint", "--extras", "off", "--guest", "trace", "--set", "infer=content")
    plain, ahead = (irqs(*options, text=text.format(word)) for word in ("", "ahead"))
    assert plain == ["irq 100 full urgent 1", "irq 300 full urgent 1"]
    assert ahead == ["irq 100 full urgent 1", "irq 300 full barrier 1"]


def test_completions_of_one_instant_are_one_pass() -> None:
    text = submits(4) + "".join(f"complete {t} 1 {i}\n" for i, t in enumerate((10, 10, 10, 20), 1))
    assert irqs("--policy", "default:each-cqe=off", text=text) == ["irq 10 full each 3",
                                                                  "irq 20 full each 1"]


def test_parameters_change_on_the_way() -> None:
    text = (submits(4) + "complete 1000 1 1\nset 2000 delta=100\ncomplete 3000 1 2\n"
            "set 4000 policy=default\ncomplete 5000 1 3\n")
    assert irqs("--policy", "adaptive", "--extras", "off", text=text) == [
        "irq 2000 full reconfigure 1", "irq 3100 full quiet 1", "irq 5000 full each 1"]


def _random_load(seed: int, commands: int) -> str:
    """Batches with all hints from three queues, done out of order; now and then one fails."""
    rng = random.Random(seed)
    lines: list[str] = []
    flying: list[tuple[int, int]] = []
    now = cid = 0
    while cid < commands or flying:
        now += rng.choice((0, 1, 50, 700, 6000, 40_000))
        if cid < commands and len(flying) < 60 and rng.random() < 0.3:
            sqid = rng.randint(0, 2)
            for _ in range(rng.randint(1, 8)):
                hints = rng.choice(("", "", " urgent", " barrier", " urgent barrier"))
                lines.append(f"submit {now} {sqid} {cid}{hints}")
                flying.append((sqid, cid))
                cid += 1
            lines.append(f"doorbell {now} {sqid}")
        elif flying:
            sqid, done = flying.pop(rng.randrange(len(flying)))
            end = rng.choices(("complete", "cancel"), (30, 1))[0]
            error = " error" if end == "complete" and rng.random() < 0.02 else ""
            lines.append(f"{end} {now} {sqid} {done}{error}")
    return "\n".join(lines) + "\n"


ANY_POLICY = ["default", "default:each-cqe=off", "static:static-time=9000,static-thr=6", "adaptive",
              "adaptive:kick-window=20000", "vic:epoch=1,iops-threshold=0", "pointer", "cint:thr=6",
              "cint:barrier=strict,infer=all", "cint:barrier=generation,ooo=off",
              "cint:max-irq-rate=30000,ewma-shift=3",
              "cint:max-irq-rate=30000,ewma-shift=3,storm=retune"]


@pytest.mark.parametrize("guest", ["eager", "900", "9000"])
@pytest.mark.parametrize("seed", range(4))
def test_no_completion_is_left_behind(seed: int, guest: str) -> None:
    """Under every policy each CQE is told of or consumed, once, and within max-hold."""
    text = _random_load(seed, 1500)
    arms = [word for policy in ANY_POLICY for word in ("--policy", policy)]
    got = summary("--irqs", "off", "--guest", guest, "--cq-size", "128", *arms, text=text)
    assert got["in_flight"] == 0 and got["completions"] + got["cancelled"] >= 1500
    for one in got["policies"]:
        holds = one["hold_by_hint"].values()
        assert one["hold"]["cqes"] == got["completions"], one["policy"]
        assert sum(hold["cqes"] for hold in holds) == got["completions"]
        assert one["hold"]["max_ns"] <= 10_000_000
        assert sum(one["reasons"].values()) == one["interrupts"] <= got["completions"]
    assert len({one["interrupts"] for one in got["policies"]}) > len(ANY_POLICY) // 2


# --- comparisons --------------------------------------------------------------------------


def test_arms_of_one_pass_are_what_each_is_alone() -> None:
    arms = ["default", "cint:barrier=strict", "adaptive:thr=3",
            "static:static-time=900,static-thr=3"]
    together = summary(*(word for arm in arms for word in ("--policy", arm)), "barrier.trace")
    alone = [summary("--policy", arm, "barrier.trace")["policies"][0] for arm in arms]
    assert together["policies"] == alone
    assert len({arm["interrupts"] for arm in alone}) == len(arms)


def test_interrupts_of_several_arms_are_told_apart() -> None:
    assert irqs("--policy", "default", "--policy", "adaptive", "burst.trace") == []
    got = irqs("--irqs", "on", "--policy", "default", "--policy", "adaptive", "figure7.trace")
    assert [line for line in got if line.endswith("policy=1")] == [
        "irq 51000 full quiet 8 policy=1", "irq 126000 full quiet 1 policy=1"]
    assert len([line for line in got if line.endswith("policy=0")]) == 9


def test_the_table_has_a_row_for_each_arm() -> None:
    shown = replay("--policy", "default", "--policy", "adaptive:thr=8", "figure7.trace").stdout
    rows = [line.split() for line in shown.splitlines() if line.startswith(("default ", "adapt"))]
    assert [row[:4] for row in rows] == [["default", "9", "0", "1.00"],
                                         ["adaptive:thr=8", "2", "0", "4.50"]]


def test_a_file_and_standard_input_are_the_same() -> None:
    text = (HERE / "burst.trace").read_text("utf-8")
    assert replay("burst.trace").stdout == replay(text=text).stdout == replay("-", text=text).stdout


def test_no_newline_at_the_end_and_odd_blanks() -> None:
    text = "\n  # remark\n\tsubmit  0\t1 1   # one\r\n\ncomplete 5 1 1"
    assert irqs("--policy", "default", text=text) == ["irq 5 full each 1"]


def test_a_long_input_crosses_buffers() -> None:
    """More than a megabyte; each command is completed at once."""
    count = 60_000
    text = "".join(f"submit {i * 10} 1 {i % 65536}\ncomplete {i * 10 + 5} 1 {i % 65536}\n"
                   for i in range(count))
    assert len(text) > 1 << 20
    got = summary("--irqs", "off", "--policy", "default", text=text)
    assert (got["completions"], got["policies"][0]["interrupts"]) == (count, count)
    assert got["gap_ns"]["p99"] == 10


#: Times of a summary, and what is a rate; by their places below a policy.
_TIMES = (("hold", "mean_ns"), ("hold", "max_ns"), ("post_to_head", "mean_ns"),
          ("hold_by_hint", "unmarked", "max_ns"))


def _at(found: Any, place: tuple[str, ...]) -> float:
    for name in place:
        found = found[name]
    return float(found)


def test_all_times_are_of_the_machine_that_the_guest_stands_for() -> None:
    """At scale 4 the same words are 4 times as long in the record, and printed as typed."""
    text = submits(6) + "".join(f"complete {t} 1 {i}\n" for i, t in
                                enumerate((400, 2400, 4000, 20000, 21600, 80000), start=1))
    words = ("--reap", "{}ns", "--policy", "adaptive:delta={}ns")
    wide = tuple(word.format(4000) for word in words)
    typed = ("--cpu-scale", "4", *(word.format(1000) for word in words))
    assert irqs(*typed, text=text) == [
        f"irq {int(line.split()[1]) // 4} {' '.join(line.split()[2:])}"
        for line in irqs(*wide, text=text)]
    assert irqs("--guest-time", *typed, text=text) == irqs(*wide, text=text)
    guest, reported = summary(*wide, text=text), summary(*typed, text=text)
    assert (guest["cpu_scale"], reported["cpu_scale"]) == (1, 4)
    assert reported["seconds"] == guest["seconds"] / 4
    one, other = guest["policies"][0], reported["policies"][0]
    assert _at(one, ("hold", "mean_ns")) > 0 and one["interrupts"] == other["interrupts"] == 3
    for place in _TIMES:
        assert _at(other, place) == pytest.approx(_at(one, place) / 4, abs=0.5), place
    assert other["interrupts_per_s"] == pytest.approx(one["interrupts_per_s"] * 4, rel=1e-3)
    assert reported["gap_ns"]["p50"] == pytest.approx(guest["gap_ns"]["p50"] / 4, abs=0.5)


def test_the_head_line_says_whose_time_it_is() -> None:
    text = submits(1) + every(8000, 1)
    shown = replay("--cpu-scale", "4", text=text).stdout
    assert ("in 2e-06 s of reported time (4 times as long in FILE; --guest-time)" in shown
            and "reported time" not in replay("--cpu-scale", "4", "--guest-time", text=text).stdout)


def test_the_price_of_an_interrupt_is_typed_in_that_time_too() -> None:
    for scale, price in ((1, "2us"), (4, "500ns")):
        found = summary("--cpu-scale", f"{scale}", "--optimal", price, "--policy", "default",
                        text=TWO)["optimum"]
        assert found["price_ns"] == 2000 / scale
        assert found["weights"][1]["regret"] == summary(
            "--optimal", "2us", "--policy", "default", text=TWO)["optimum"]["weights"][1]["regret"]


@pytest.mark.parametrize("scale", [1, 4])
def test_a_sweep_finds_the_bursts_of_a_load(scale: int) -> None:
    """100 bursts of 32, 1 us apart within, 1 ms between, in a record of that scale."""
    lines = []
    for burst in range(100):
        for i in range(32):
            t = (burst * 1_000_000 + i * 1000) * scale
            lines.append(f"submit {t} 1 {i}\ncomplete {t} 1 {i}\n")
    grid = sweep.parse_grid("delta=500ns..20us,thr=1..256")
    arms = [word for point in grid for word in ("--policy", sweep.arm("adaptive", point))]
    found = summary("--cpu-scale", f"{scale}", "--extras", "off", *arms, text="".join(lines))
    result = sweep.evaluate("adaptive", grid, "95", found)
    assert 1000 <= result.gap_ns <= 1031
    # A delta of 1 us, also of the grid, would expire just before each next completion.
    assert 1000 in {point.delta_ns for point in grid}
    assert (result.delta_ns, result.delta_clipped) == (1300, False)
    # 19 and 13 is two interrupts a burst, 13 13 6 is three: 2500 and 2525 ns of 2475 at best.
    assert result.thr == 19
    by_thr = {cell.thr: cell.interrupts for cell in result.column}
    assert (by_thr[1], by_thr[13], by_thr[19], by_thr[256]) == (3200, 300, 200, 100)


# --- QEMU's trace -------------------------------------------------------------------------

TRACE = """\
pci_nvme_cint_submit cqid 1 sqid 1 cid 7 hints 0x1 sources 0x1 inflight 1
pci_nvme_cint_media cqid 1 sqid 1 cid 7 due 5000
pci_nvme_cint_submit cqid 2 sqid 2 cid 7 hints 0x0 sources 0x0 inflight 1
pci_nvme_cint_media cqid 2 sqid 2 cid 7 due 6000
pci_nvme_cint_doorbell sqid 1 count 1
pci_nvme_cint_doorbell sqid 2 count 1
pci_nvme_cint_post cqid 1 sqid 1 cid 7 hints 0x1 tail 1
pci_nvme_cint_irq cqid 1 vector 1 class full reason urgent covered 1 oldest hold 0
pci_nvme_cint_post cqid 2 sqid 2 cid 7 hints 0x0 tail 1
pci_nvme_cint_arm cqid 2 deadline 12000
pci_nvme_irq_msix raising MSI-X IRQ vector 1
pci_nvme_cint_head cqid 1 head 1
"""


def test_qemu_trace_is_timed_by_the_medium() -> None:
    options = ("--from-trace", "--policy", "cint", "--extras", "off")
    assert irqs(*options, "--record", "off", text=TRACE) == [
        "irq 5000 full urgent 1 cq=1", "irq 12000 full quiet 1 cq=2"]
    assert irqs(*options, "--cq", "2", text=TRACE) == ["irq 12000 full quiet 1 cq=2"]
    got = summary(*options, text=TRACE)
    assert got["recorded"] == {"full": 1, "urgent": 0} and got["ignored_heads"] == 1


def _stamped(times: list[str]) -> str:
    lines = [line for line in TRACE.splitlines() if "media" not in line]
    return "\n".join(f"{time}{line}" for time, line in zip(times, lines, strict=True)) + "\n"


def test_qemu_trace_is_timed_by_its_lines() -> None:
    stamps = [f"4711@1700000000.{10 * i:06}:" for i in range(10)]
    base = 1_700_000_000 * 10**9
    got = irqs("--from-trace", "--policy", "cint", "--extras", "off", text=_stamped(stamps))
    assert got == [f"irq {base + 40_000} urgent urgent 1 cq=1",
                   f"irq {base + 66_000} full quiet 1 cq=2"]


def test_qemu_trace_with_device_times() -> None:
    """A field `at`, the device's own time, goes before all others."""
    text = "".join(f"9@1700000000.000001:{line} at {1000 * i}\n"
                   for i, line in enumerate(TRACE.splitlines()))
    got = irqs("--from-trace", "--policy", "cint", "--extras", "off", text=text)
    assert got == ["irq 6000 urgent urgent 1 cq=1", "irq 14000 full quiet 1 cq=2"]


def test_qemu_trace_tells_of_errors() -> None:
    text = TRACE.replace("hints 0x0 tail", "hints 0x0 status 0x4002 tail")
    assert irqs("--from-trace", "--cq", "2", text=text) == ["irq 6000 full error 1 cq=2"]
    text = TRACE.replace("hints 0x0 tail", "hints 0x0 status 0x0 tail")
    assert irqs("--from-trace", "--cq", "2", text=text) == ["irq 6000 full drain 1 cq=2"]


def test_qemu_trace_that_begins_late_and_reuses_identifiers() -> None:
    again = "pci_nvme_cint_submit cqid 1 sqid 1 cid 8 hints 0x0 sources 0x0 inflight 1\n"
    text = ("pci_nvme_cint_post cqid 1 sqid 1 cid 3 hints 0x0 tail 9\n" + again + again
            + "pci_nvme_cint_post cqid 1 sqid 1 cid 8 hints 0x0 tail 10\n")
    got = summary("--from-trace", text=text)
    assert (got["left_out"], got["cancelled"], got["completions"]) == (1, 1, 1)


def test_qemu_trace_heads_are_slots() -> None:
    """Head 1 of a queue of 4 entries, whose tail stands at 2 after a wrap: one is left."""
    lines = []
    for i in range(1, 7):
        lines.append(f"pci_nvme_cint_submit cqid 1 sqid 1 cid {i} hints 0x0 sources 0x0 inflight 1")
        lines.append(f"pci_nvme_cint_media cqid 1 sqid 1 cid {i} due {i * 100}")
        lines.append(f"pci_nvme_cint_post cqid 1 sqid 1 cid {i} hints 0x0 tail {i % 4}")
        if i != 5:
            lines.append(f"pci_nvme_cint_head cqid 1 head {i % 4 if i < 6 else 1}")
    options = ("--from-trace", "--cq-size", "4", "--guest", "trace", "--policy", "adaptive:thr=9")
    got = summary(*options, "--extras", "off", text="\n".join(lines) + "\n")["policies"][0]
    # Of six, four were reaped alone and one with the last head; thr is clamped to 2.
    assert (got["avoided"], got["reasons"]) == (4, {"thr": 1})


def test_what_the_device_inferred_is_inferred_again_or_not() -> None:
    """Its mark is not the guest's: the policy that hears no hints has none to hear."""
    text = "".join(f"{line} at {1000 * i}\n" for i, line in enumerate((
        "pci_nvme_cint_submit cqid 1 sqid 1 cid 7 hints 0x1 sources {} inflight 1",
        "pci_nvme_cint_post cqid 1 sqid 1 cid 7 hints 0x1 tail 1")))
    options = ("--policy", "cint", "--extras", "off", "--set", "infer=off")
    assert of_device(text.format("0x1"), *options) == ["irq 1000 urgent urgent 1 cq=1"]
    assert of_device(text.format("0x4"), *options) == ["irq 7000 full quiet 1 cq=1"]


@pytest.mark.parametrize(("stamp", "at"), [
    ("4711@17.000005:", 17_000_005_000), ("0@0.999999:", 999_999_000), ("4711", None),
    ("4711@", None), ("4711@17", None), ("4711@17:", None), ("4711@17.000005", None),
    ("4711@17.1000000:", None), ("x@17.000005:", None), ("4711@4611686019.000001:", None),
    ("4711@ 17.000005:", None), ("4711@17.-5:", None), ("4711@\n17.000005:", None),
    ("4711@17.\n5:", None),
])
def test_the_time_before_a_trace_line(stamp: str, at: int | None) -> None:
    """pid@seconds.microseconds: whatever is not that is no line of a trace."""
    text = fetch(1, 1) + posted(1, 1)
    lines = "".join(f"{stamp}{line}\n" for line in text.splitlines())
    done = replay("--from-trace", "--policy", "default", text=lines)
    if at is None:
        assert (done.returncode, "there are no pci_nvme_cint_* events" in done.stderr) == (2, True)
    else:
        assert done.stdout.startswith(f"irq {at} full each 1 cq=1\n")


def test_a_head_that_the_queue_has_not_is_named() -> None:
    text = "".join((fetch(1, 1, 0), posted(1, 1, 10), "pci_nvme_cint_head cqid 1 head 4 at 20\n"))
    options = ("--from-trace", "--guest", "trace", "--cq-size")
    assert replay(*options, "5", text=text).returncode == 2
    done = replay(*options, "4", text=text)
    assert "standard input:3: expected a head below the queue's size, 4 (--cq-size), found 4" \
        in done.stderr


def device(name: str, queue: int, cid: int, at: int | None, more: str) -> str:
    """An event of a command, whose submission queue has the number of its completion queue."""
    time = "" if at is None else f" at {at}"
    return f"pci_nvme_cint_{name} cqid {queue} sqid {queue} cid {cid} {more}{time}\n"


def fetch(queue: int, cid: int, at: int | None = None) -> str:
    return device("submit", queue, cid, at, "hints 0x0 sources 0x0 inflight 1")


def promise(cid: int, due: int) -> str:
    return device("media", 1, cid, None, f"due {due}")


def posted(queue: int, cid: int, at: int | None = None, tail: int = 1) -> str:
    return device("post", queue, cid, at, f"hints 0x0 tail {tail}")


def of_device(text: str, *words: str) -> list[str]:
    return irqs("--from-trace", "--extras", "off", *words, text=text)


def test_of_deadlines_of_one_time_the_queue_that_came_first_is_the_first() -> None:
    text = "".join(fetch(queue, cid, 0) for cid in (1, 2) for queue in (1, 2))
    assert of_device(text + posted(2, 1, 1000) + posted(1, 1, 1000), "--policy", "adaptive") == [
        "irq 7000 full quiet 1 cq=1", "irq 7000 full quiet 1 cq=2"]


def test_a_pass_ends_where_another_queue_begins_one_of_the_same_time() -> None:
    text = "".join(fetch(queue, cid, 0) for queue in (1, 2) for cid in (1, 2, 3))
    text += posted(1, 1, 50) + posted(1, 2, 50, tail=2) + posted(2, 1, 50) + posted(1, 3, 50, 3)
    assert of_device(text, "--policy", "default:each-cqe=off") == [
        "irq 50 full each 2 cq=1", "irq 50 full each 1 cq=2", "irq 50 full each 1 cq=1"]


def test_what_the_medium_promised_early_is_posted_when_its_turn_comes() -> None:
    text = fetch(1, 1) + promise(1, 5000) + fetch(1, 2) + promise(2, 3000)
    text += posted(1, 1) + posted(1, 2, tail=2)
    assert of_device(text, "--policy", "default") == ["irq 5000 full each 1 cq=1"] * 2


def test_what_was_promised_of_a_command_before_is_forgotten() -> None:
    """The second one of that identifier has no line of the medium's."""
    text = fetch(1, 1) + promise(1, 9000) + fetch(1, 1) + posted(1, 1)
    assert of_device(text, "--policy", "default") == ["irq 0 full each 1 cq=1"]


@pytest.mark.parametrize(("queue", "wanted"), [
    (1, "irq 3000 full barrier 3 cq=1"), (2, "irq 4000 full barrier 1 cq=2")])
def test_doorbells_are_heard_of_the_queue_that_is_looked_at(queue: int, wanted: str) -> None:
    bell = "pci_nvme_cint_doorbell sqid {} count {} at 0\n"
    text = "".join(fetch(1, cid, 0) for cid in (1, 2, 3)) + bell.format(1, 3)
    text += fetch(2, 1, 0) + bell.format(2, 1)
    text += "".join(posted(1, n, 1000 * n, tail=n) for n in (1, 2, 3)) + posted(2, 1, 4000)
    assert of_device(text, "--policy", "cint:infer=batch", "--cq", str(queue)) == [wanted]


# --- errors -------------------------------------------------------------------------------

OK = submits(2)
BAD_LINES = [
    ("bogus 1 2 3", "expected submit, doorbell, complete, cancel, head, pointer or set, "
                    "found 'bogus'"),
    ("submit", "expected a time in ns (0 to 4611686018427387903), found the end of the line"),
    ("submit -1 1 3", "expected a time in ns (0 to 4611686018427387903), found '-1'"),
    ("submit 4611686018427387904 1 3", "found '4611686018427387904'"),
    ("submit 99999999999999999999 1 3", "found '99999999999999999999'"),
    ("submit 1us 1 3", "found '1us'"),
    ("submit 1 65536 3", "expected a submission queue identifier (0 to 65535), found '65536'"),
    ("submit 1 1 x", "expected a command identifier (0 to 65535), found 'x'"),
    ("submit 1 1 3 Urgent",
     "expected 'urgent', 'barrier', 'buffer', 'now', 'ahead' or the end of the line, "
     "found 'Urgent'"),
    ("submit 1 1 3 buffer", "expected an address (0 to 4611686018427387903)"),
    ("submit 1 1 2", "expected a command that is not in flight, found 2 of submission queue 1"),
    ("complete 1 1 3", "expected a command in flight, found 3 of submission queue 1"),
    ("complete 1 1 1 ok", "expected 'error' or the end of the line, found 'ok'"),
    ("cancel 1 2 1", "expected a command in flight, found 1 of submission queue 2"),
    ("doorbell 1 1 1", "expected the end of the line, found '1'"),
    ("head 1 1", "expected a head from 0, where the guest is, to 0, the CQEs posted, found 1"),
    ("head 1", "expected a free-running index (0 to 4294967295), found the end of the line"),
    ("pointer 1 0", "expected a pointer 1 to 1023 entries after the head, 0, found 0"),
    ("pointer 1 1024", "expected a pointer 1 to 1023 entries after the head, 0, found 1024"),
    ("set 1 thr", "expected <parameter>=<value>, found 'thr'"),
    ("set 1 thr=65536", "expected thr=0 to 65535, found '65536'"),
    ("set 1 ooo=maybe", "expected ooo=on or off, found 'maybe'"),
    ("set 1 barrier=tight", "expected barrier=relaxed, strict, generation, found 'tight'"),
    ("set 1 trh=3", "expected a parameter (policy, delta, thr, "),
    ("set 1 max-hold=0", "max-hold=0 does not go with policy=pointer"),
]


@pytest.mark.parametrize(("line", "message"), BAD_LINES, ids=[line for line, _ in BAD_LINES])
def test_a_bad_line_is_named(line: str, message: str) -> None:
    done = replay("--policy", "pointer", text=f"{OK}{line}\nnonsense\n")
    assert done.returncode == 2
    assert done.stderr.startswith("cint-replay: error: standard input:4: ")
    assert message in done.stderr and done.stderr.count("\n") == 1


def test_time_does_not_run_backwards() -> None:
    done = replay(text=OK + "complete 500 1 1\ncomplete 499 1 2\n")
    assert done.returncode == 2
    assert "standard input:5: expected a time that is not before the previous event's (500), " \
           "found 499" in done.stderr


def test_interrupts_before_the_bad_line_are_printed() -> None:
    done = replay("--policy", "default", text=OK + "complete 500 1 1\nbad\n")
    assert done.stdout == "irq 500 full each 1\n"


def test_a_queue_nobody_reaps_is_full() -> None:
    done = replay("--guest", "trace", "--cq-size", "4", text=submits(4) + every(10, 4))
    assert done.returncode == 2 and "standard input:9: " in done.stderr
    assert "a completion queue of 4 entries holds no more than 3" in done.stderr


def test_a_policy_change_under_comparison_is_refused() -> None:
    done = replay("--policy", "cint", "--policy", "vic", text="set 1 policy=default\n")
    assert done.returncode == 2 and "expected no change of policy" in done.stderr


BAD_OPTIONS = [
    (["--policy", "adaptve"], "--policy adaptve: the policies are default, static, adaptive, "),
    (["--policy", "adaptive:thr"], "--policy thr: expected <parameter>=<value>"),
    (["--policy", "adaptive:thr=x"], "--policy thr=x: thr is 0 to 65535"),
    (["--set", "delay=1"], "--set delay=1: the parameters are policy, delta, thr, "),
    (["--set", "policy=vic"], "--set policy=vic: the policy is given as --policy NAME"),
    (["--policy", "vic:max-hold=0"], "max-hold=0 does not go with policy=vic"),
    (["--reap", "100000000s", "--cpu-scale", "64"],
     "--reap 100000000000000000ns: at scale 64 a time is 72057594037927936ns at the most"),
    (["--reap", "lazy"], "--reap lazy: expected eager, trace or the ns"),
    (["--extras", "no"], "--extras no: expected on or off"),
    (["--cq-size", "1"], "--cq-size 1: expected a number from 2 to 65536"),
    (["--cq", "3"], "--cq 3: goes with --from-trace only"),
    (["no-such-file"], "no-such-file: No such file or directory"),
    (["a", "b"], "b: only one FILE can be read"),
    (["--bench"], "--bench: needs a FILE"),
    (["--colour"], "unrecognized option '--colour'"),
    (["--bench", "--from-trace", "burst.trace"], "--bench: reads timelines only"),
    *((["--cpu-scale", text], f"--cpu-scale {text}: expected a number from 0.1 to 64")
      for text in ("x", "", "2x", "0.09", "64.1", "nan")),
    (["."], ".: Is a directory"),
]


@pytest.mark.parametrize(("words", "message"), BAD_OPTIONS,
                         ids=[" ".join(words) for words, _ in BAD_OPTIONS])
def test_a_bad_option_is_named(words: list[str], message: str) -> None:
    done = replay(*words)
    assert done.returncode == 2 and done.stdout == ""
    assert message in done.stderr and done.stderr.count("\n") == 1


BAD_TRACES: list[tuple[Callable[[str], str], str]] = [
    (lambda t: t.replace("sqid 1 cid 7 hints", "cid 7 hints"),
     ":1: expected 'sqid' and a number in pci_nvme_cint_submit"),
    (lambda t: t.replace("due 6000", "due soon"),
     ":4: expected 'due' and a number from 0 to 4611686018427387903, found 'soon'"),
    (lambda t: t.replace("tail 1\n", "tail\n", 1),
     ":7: expected 'tail' and a number from 0 to 65535"),
    (lambda t: t.replace("cqid 2 sqid 2 cid 7 hints", "cqid 2 sqid 1 cid 9 hints", 1),
     ":3: expected submission queue 1 to stay with completion queue 1, found 2"),
]


@pytest.mark.parametrize(("spoil", "message"), BAD_TRACES, ids=[m for _, m in BAD_TRACES])
def test_a_bad_trace_line_is_named(spoil: Callable[[str], str], message: str) -> None:
    done = replay("--from-trace", text=spoil(TRACE))
    assert done.returncode == 2
    assert f"standard input{message}" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("text", ["", "root:x:0:0:root:/root:/bin/bash\n", OK])
def test_what_is_no_trace_is_no_empty_one(text: str) -> None:
    done = replay("--from-trace", text=text)
    assert (done.returncode, done.stdout) == (2, "")
    assert "standard input: there are no pci_nvme_cint_* events in it" in done.stderr


@pytest.mark.parametrize("words", [[], ["--json"], ["--irqs", "on"]])
def test_what_cannot_be_written_is_an_error(words: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([paths.REPLAY, *words, "burst.trace"], cwd=HERE, stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 1
    assert done.stderr == "cint-replay: error: standard output: No space left on device\n"


@pytest.mark.parametrize("text", [
    submits(50) + every(10, 50),
    # a pass of two, an identifier that is used again, a deadline, a cancelled command
    submits(2) + "complete 5 1 1\ncomplete 5 1 2\n" + submits(1).replace(" 0 ", " 9 ")
    + "complete 10 1 1\nsubmit 20 1 1\ncancel 99999 1 1\n",
])
def test_bench_keeps_the_parts_apart(tmp_path: Path, text: str) -> None:
    trace = tmp_path / "t"
    trace.write_text(text, encoding="utf-8")
    rows = [line.split() for line in replay("--bench", str(trace)).stdout.splitlines()]
    assert [row[0] for row in rows] == ["parser", "engine", "everything"]
    assert all(float(row[4]) > 0 for row in rows)


@pytest.mark.parametrize(("text", "message"), [
    ("# nothing\n", "has no events"),
    ("head 0 0\n", ":1: expected submit, doorbell, complete or cancel"),
    ("set 0 thr=3\n", ":1: expected submit, doorbell, complete or cancel"),
    (OK + "complete 1 1 3\n", ":4: expected a command in flight, found 3 of submission queue 1"),
    (OK + "cancel 1 2 1\n", ":4: expected a command in flight, found 1 of submission queue 2"),
    (OK + every(1, 2) + "complete 3 1 2\n", ":6: expected a command in flight, found 2 of"),
])
def test_what_bench_refuses(tmp_path: Path, text: str, message: str) -> None:
    trace = tmp_path / "t"
    trace.write_text(text, encoding="utf-8")
    done = replay("--bench", str(trace))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{trace}{message}" in done.stderr or f"{trace} {message}" in done.stderr


def test_help_has_each_parameter() -> None:
    done = replay("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: cint-replay [options] [FILE]")
    lines = done.stdout.splitlines()
    for name, what in (("delta", "(0 to 1s, with ns, us, ms or s"), ("ooo", "(on or off)"),
                       ("barrier", "(relaxed, "), ("thr", "(0 to 65535)")):
        at = next(i for i, line in enumerate(lines) if line.split()[:1] == [name])
        assert what in lines[at + 1], lines[at + 1]


def test_the_longest_line() -> None:
    assert replay(text="#" * ((1 << 20) - 2) + "\n").returncode == 0
    done = replay(text="# 1\n# 2\n#" + "#" * ((1 << 20) - 2) + "\n")
    assert done.returncode == 2
    assert "standard input:3: expected a line of less than 1048576 bytes" in done.stderr
