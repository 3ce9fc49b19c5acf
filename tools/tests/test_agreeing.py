# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs that end when blocks of them agree: what is asked of fio, and what is made of its answer."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from canned import guest
from test_compare import chosen, fake, parse, plan

from cint import paths
from cint.device import periods, properties
from cint.errors import CintError, UsageError
from cint.guest import kinds, vm
from cint.manual import schema as schema_file
from cint.measure import (
    agreeing,
    fiojson,
    records,
    sampling,
    workloads,
)
from cint.measure.window import window
from cint.options import comparing
from cint.results import assembly, documents
from cint.verbs import compare

__all__ = ["fake"]  # a fixture

SAID = ('cint-agree {"agreed": true, "ns": 300000000, "looks": 10, "jobs": [{"ios": 30000, '
        '"rate_error": 0.002, "rate_drift": 0.001, "latency_error": 0.003, '
        '"latency_drift": 0.0005, "name": "sync"}, {"ios": 60000, "name": "async"}]}\n')


def agree_options(text: str | None) -> dict[str, str]:
    """The rule in a job file."""
    return dict(re.findall(r"^(agree_\w+)=(.+)$", str(text), re.MULTILINE))


# ---- what is typed --------------------------------------------------------

@pytest.mark.parametrize(("text", "error"), [
    ("auto", 0.01), ("auto:1%", 0.01), ("auto:0.5%", 0.005), ("auto:20%", 0.2), ("0.5s", None)])
def test_words(text: str, error: float | None) -> None:
    rule = agreeing.parse(text)
    assert (rule and rule.error) == error
    assert rule is None or agreeing.parse(str(rule)) == rule


@pytest.mark.parametrize("text", ["auto:", "auto:1", "auto:0.01%", "auto:21%", "auto:x%",
                                  "auto:1%,2%", "auto:-1%", "auto:1%%", "auto:nan%",
                                  "auto:1e3%", "auto:0%", "auto:.5%", "auto:\u0661%"])
def test_words_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"in percent of the mean, 0\.1% to 20%"):
        agreeing.parse(text)


@pytest.mark.parametrize("text", ["AUTO", "auto ", "autox", "aut", "Auto:1%"])
def test_another_word_is_no_time(text: str) -> None:
    with pytest.raises(UsageError, match="not a time") as caught:
        comparing._runtime_typed(text)
    assert "or auto, in small letters" in str(caught.value.hint)


@pytest.mark.parametrize(("words", "said"), [
    (("--fio", "{job}"), "--fio: a job file says itself"),
    (("--fio", "{job}", "--workload", "sync"), "--fio: a job file says itself"),
    (("--quick",), "--quick"), (("--guest", "distro"), "--guest distro"),
    (("--engine", "user"), "--engine user"), (("--engine", "kernel,user:poll"), "--engine kernel,"),
    (("--hints", "preload:{rules}"), "--hints preload:"), (("--app", "{app}"), "--app: not"),
])
def test_what_it_does_not_go_together_with(tmp_path: Path, words: tuple[str, ...],
                                           said: str) -> None:
    (tmp_path / "j.fio").write_text("[a]\nfilename=${DEVICE}\nruntime=1\n")
    (tmp_path / "rules").write_text("unmarked call read\n")
    (tmp_path / "app").write_text('run = "true"')
    typed = [w.format(job=tmp_path / "j.fio", rules=tmp_path / "rules", app=tmp_path / "app")
             for w in words]
    with pytest.raises(UsageError, match=re.escape(said)):
        chosen("--runtime", "auto", *typed)


def test_the_command_is_repeated_as_it_was_typed() -> None:
    for word in ("auto", "auto:0.5%"):
        command = chosen("--policy", "cint", "--runtime", word).repeat_command
        assert command == f"./cint compare --policy cint --runtime {word}"


# ---- what fio is told ------------------------------------------------------

def test_the_rule_is_in_the_job_file() -> None:
    got = chosen("--runtime", "auto", "--policy", "default")
    jobs = plan(got).jobs[1:]
    assert [job.name for job in jobs] == ["sync/0", "async/0", "mixed/0"]
    for job in jobs:
        assert "--profile=agree" in job.args
        assert agree_options(job.fio) == {
            "agree_look": "30000us", "agree_after": "300000us", "agree_ios": "10000",
            "agree_error": "10000"}
        assert "runtime=1500000us\nramp_time=30000us\n" in str(job.fio)
    assert agree_options(plan(chosen("--runtime", "auto:0.5%")).jobs[1].fio)["agree_error"] == \
        "5000"


@pytest.mark.parametrize(("words", "auto"), [
    ((), True), (("--workload", "sync", "--vcpus", "2"), True), (("--polling", "off,ours"), True),
    (("--hints", "off"), True), (("--runtime", "0.5s"), False), (("--quick",), False),
    (("--time", "real"), False), (("--guest", "distro"), False), (("--engine", "user"), False),
    (("--job", "read"), False), (("--job", "read", "--workload", "sync"), False),
    (("--fio", "{job}"), False), (("--hints", "preload:{rules}"), False)])
def test_what_has_it_unless_told_otherwise(tmp_path: Path, words: tuple[str, ...],
                                           auto: bool) -> None:
    (tmp_path / "j.fio").write_text("[a]\nfilename=${DEVICE}\nruntime=1\n")
    (tmp_path / "rules").write_text("unmarked call read\n")
    typed = [w.format(job=tmp_path / "j.fio", rules=tmp_path / "rules") for w in words]
    got = chosen(*typed)
    assert (got.rule is not None) is auto
    assert all(("--profile=agree" in job.args) is auto for job in plan(got).jobs[1:])
    assert "--runtime" not in got.repeat_command or "--runtime" in words


def test_times_of_the_rule_follow_the_scale() -> None:
    for words, k in (("--cpu-scale", "1"), 1), (("--vcpus", "4"), 12):
        found = agree_options(plan(chosen("--runtime", "auto", *words)).jobs[1].fio)
        assert found["agree_look"] == f"{10_000 * k}us"
    real = chosen("--runtime", "auto", "--time", "real", "--policy", "default")
    assert agree_options(plan(real).jobs[1].fio)["agree_look"] == "100000us"


def test_a_job_of_ones_own_has_it_too() -> None:
    job = plan(chosen("--runtime", "auto", "--job", "randread:iodepth=32")).jobs[1]
    assert agree_options(job.fio)["agree_look"] == "30000us"
    assert "runtime=1500000us" in str(job.fio)


def test_a_time_that_is_typed_is_the_run_that_it_ever_was() -> None:
    """So its key stays: neither job nor image know of the rule."""
    got, auto = chosen("--runtime", "0.5s"), chosen("--runtime", "auto")
    job = plan(got).jobs[1]
    timing = dataclasses.replace(got.timing, seed=1)
    assert job.fio == workloads.render(got.workloads[0], timing, got.k)
    assert job.args == ("--eta=never",)
    assert guest(got).machine.initramfs == paths.INITRAMFS
    assert guest(auto).machine.initramfs == paths.AGREE_INITRAMFS
    assert kinds.targets("cint", agrees=True)[-1] == "agree"
    assert "agree" not in kinds.targets("cint")


def test_blocks_and_ios_are_those_that_are_said() -> None:
    header = (paths.IMAGES / "fio-agree/blocks.h").read_text("utf-8")
    assert re.findall(r"^#define BLOCKS +(\d+)$", header, re.MULTILINE) == [str(agreeing.BLOCKS)]
    assert fiojson.beyond({1: agreeing.LEAST_IOS}, 99) == 100
    assert agreeing.LOOKS > agreeing.BLOCKS


# ---- a policy's own time ---------------------------------------------------

@pytest.mark.parametrize(("policy", "ns"), [
    ("default", 0), ("static100", 100_000), ("adaptive:delta=10us", 10_000),
    ("vic", 200_000_000), ("vic:epoch=20ms", 20_000_000), ("auto", 10_000_000),
    ("pointer:max-hold=20ms", 20_000_000), ("price:price=30ms", 30_000_000), ("stock", 0),
    ("adaptive:kick-window=30ms", 30_000_000), ("cint:max-hold=50ms", 50_000_000),
    ("cint:max-irq-rate=100000", 16 * 128 * 10_000),
    ("cint:max-irq-rate=1000,ewma-shift=4", 16 * 16 * 1_000_000),
    ("split:l=cint,t=vic", 200_000_000), ("split:l=vic,t=cint", 200_000_000)])
def test_the_longest_time_of_a_policy(policy: str, ns: int) -> None:
    assert periods.longest_ns(properties.parse_policy(policy)) == ns


@pytest.mark.parametrize(("policy", "words", "ms"), [
    ("vic", ("--device-opts", "cint.epoch=90"), 30), ("vic", ("--device-opts", "mdts=5"), 200),
    ("vic", ("--device-opts", "cint.epoch=0x5a"), 30),
    ("vic", ("--device-opts", "cint.epoch=3000,cint.epoch=90"), 30),
    ("adaptive", ("--device-opts", "cint.epoch=90"), 0.006),
    ("cint", ("--device-opts", "mdts=5,cint.kick-window=90000000"), 30),
    ("cint", ("--device-opts", "cint.max-irq-rate=1000,cint.ewma-shift=4"), 256 / 3),
    ("cint:max-irq-rate=1000", ("--device-opts", "cint.max-irq-rate=0"), 0.006),
    ("cint", ("--device-opts", "cint.policy=vic,cint.max-hold=010"), 200 / 3),
    ("cint", ("--extras", "device"), 10), ("adaptive:delta=6us", ("--extras", "papers"), 0.006),
    ("split:l=vic:epoch=20ms,t=cint", ("--steering", "prio", "--device-opts", "cint.epoch=5"), 20),
])
def test_wherever_the_device_has_it_from(policy: str, words: tuple[str, ...], ms: float) -> None:
    """Further properties for the device are times of the guest: a third as long, reported."""
    got = chosen("--policy", policy, *words)
    longest = periods.longest_ns(got.arms[0].policy, got.k, got.extras, got.device_opts)
    assert longest / 1e6 == pytest.approx(ms)


@pytest.mark.parametrize(("word", "looks"), [("10ms", 10), ("11ms", 20), ("15ms", 20),
                                             ("20ms", 20), ("21ms", 30), ("49ms", 50)])
def test_blocks_of_whole_looks_are_as_long(word: str, looks: int) -> None:
    """Ten blocks of 15 looks have one or two: one of 10 ms would be shorter than 15 ms."""
    for words in ((), ("--cpu-scale", "3.11"), ("--cpu-scale", "1"), ("--vcpus", "4")):
        got = chosen("--runtime", "auto", "--policy", f"vic:epoch={word}", *words)
        after = agree_options(plan(got).jobs[1].fio)["agree_after"]
        assert after == f"{round(looks * 10_000 * got.k)}us"


def test_no_block_is_shorter_than_the_policys_time() -> None:
    got = chosen("--runtime", "auto", "--policy", "default,vic,vic:epoch=20ms,cint")
    after = {arm.name: agree_options(plan(got, arm=arm).jobs[1].fio)["agree_after"]
             for arm in got.arms}
    assert after == {"default": "300000us", "vic": "6000000us", "vic:epoch=20ms": "600000us",
                     "cint": "300000us"}


def test_nor_than_the_kernels() -> None:
    got = chosen("--runtime", "auto", "--policy", "default", "--cpu-scale", "2", "--polling",
                 "off,classic,fixed:2us,irq-queue,half-mean")
    after = [agree_options(plan(got, arm=arm).jobs[1].fio)["agree_after"] for arm in got.arms]
    assert after == ["200000us"] * 4 + ["1000000us"]


def test_a_dry_run_has_the_rule_of_each_policy(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare.run(parse("--dry-run", "--runtime", "auto", "--policy", "default,cint,vic",
                             "--workload", "sync")) == 0
    out = capsys.readouterr().out
    titles = [line for line in out.splitlines() if line.startswith("# fio --profile=agree")]
    assert titles == ["# fio --profile=agree, job sync, policies default, cint",
                      "# fio --profile=agree, job sync, policies vic"]


# ---- what came of it -------------------------------------------------------

def test_the_line_is_read() -> None:
    found = agreeing.parse_said(f"cint-pre 1 2\n{SAID}cint-post 3 4\n")
    assert found
    assert (found.agreed, found.seconds, found.rate("sync")) == (True, 0.3, 100_000.0)
    assert (found.jobs["sync"].error, found.jobs["async"].error, found.error) == \
        (0.003, None, None)
    assert agreeing.parse_said("cint-pre 1 2\n") is None
    assert agreeing.parse_said(SAID.replace("300000000", "0")) is None


@pytest.mark.parametrize("text", ["cint-agree {", "cint-agree []", 'cint-agree {"agreed": true}'])
def test_a_line_that_is_none(text: str) -> None:
    with pytest.raises(CintError, match="what fio said of a run's blocks"):
        agreeing.parse_said(text)


def test_rates_are_of_the_time_in_which_all_jobs_ran() -> None:
    """fio's own times have the start of one job before the other's, and the last I/Os."""
    jobs = {name: fiojson.JobStats(name, 99_999, 1.0, 20.0, {20: 99_999}, ms)
            for name, ms in (("sync", 310), ("async", 330))}
    got = window(jobs, (), agreeing.parse_said(SAID))
    assert (got.seconds, got.even) == (0.3, True)
    assert got.rates == {"sync": 100_000.0, "async": 200_000.0}


@pytest.mark.parametrize(("ms", "agreed", "looked", "even"), [
    ((308, 310), "false", True, True), ((300, 330), "true", True, True),
    ((300, 1500), "false", False, False),   # a job ended by itself
    ((1500, 1500), "false", False, True)])  # one did something else, and nobody looked again
def test_what_was_not_looked_at_to_the_end_has_fios_own_rates(
        ms: tuple[int, int], agreed: str, looked: bool, even: bool) -> None:
    jobs = {name: fiojson.JobStats(name, 99_999, 5.0, 20.0, {20: 99_999}, one)
            for name, one in zip(("sync", "async"), ms, strict=True)}
    got = window(jobs, (), agreeing.parse_said(SAID.replace("true", agreed)))
    assert (got.rates["sync"] == pytest.approx(100_000)) is looked
    assert got.seconds == pytest.approx(0.3 if looked else min(ms) / 1000)
    assert got.even is even


@pytest.mark.parametrize(("agreed", "longest", "error", "repeats", "why"), [
    (0, 0.5, None, 1, "or has no I/O: sync under default"),
    (0, 0.49, 0.03, 1, "did not agree: sync under default (3 %)"),
    (2, 0.49, 0.03, 3, "did not agree: sync under default (3 %)"),
    (0, 0.48, 0.01, 1, "agreed with fewer than 10000 I/Os of a job: sync under default"),
    (0, 0.2, 0.03, 1, "or went on to verify, before 500ms: sync under default (0.2 s)"),
    (0, 0.03, None, 1, "or went on to verify, before 500ms: sync under default (0.03 s)"),
    (None, 0, None, 1, "or went on to verify, before 500ms: sync under default"),
])
def test_of_each_run_that_did_not_agree_it_is_said_why(
        agreed: int | None, longest: float, error: float | None, repeats: int, why: str) -> None:
    found: records.Agreement | None = None
    if agreed is not None:
        found = {"agreed": agreed, "longest_s": longest, "error": error}
    row = sampling.Row(policy="default", workload="sync", job=None, values={}, agreement=found,
                       repeats=repeats)
    agrees = dataclasses.replace(row, policy="cint", agreement={
        "agreed": repeats, "longest_s": 0.1, "error": 0.01})
    said = assembly._agreement_notes(chosen("--runtime", "auto"), [row, agrees])
    assert said[0].endswith("1 of 2 agreed, after 0.1 s")
    assert len(said) == 2
    assert said[1].endswith(why)


@pytest.mark.parametrize(("runtime", "name"), [("auto", "agree"), ("0.5s", "plain")])
def test_results_name_the_image_that_ran(
        fake: Path, monkeypatch: pytest.MonkeyPatch, runtime: str, name: str) -> None:
    for one in ("agree", "plain"):
        (fake / one).mkdir()
        (fake / one / "initramfs.cpio").write_text(one)
        (fake / one / "manifest.json").write_text(json.dumps({"image": {"sha256": one}}))
    before = kinds.dress

    def dress(*words: Any, agrees: bool, **more: Any) -> vm.Machine:
        image = fake / ("agree" if agrees else "plain") / "initramfs.cpio"
        return dataclasses.replace(before(*words, **more), initramfs=image)

    monkeypatch.setattr(kinds, "dress", dress)
    assert compare.run(parse("--runtime", runtime, "--policy", "default", "--no-plots")) == 0
    assert documents.load(fake / "results/latest")["versions"]["image"]["sha256"] == name


def test_results_say_which_runs_agreed(fake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare.run(parse("--runtime", "auto", "--policy", "default,vic", "--no-plots")) == 0
    out = capsys.readouterr().out
    assert "runs ended where ten blocks of them agreed to 1 %, or after 500ms: 2 of 6 agreed" in out
    assert "did not agree: async under default (3 %), async under vic (3 %), mixed under" in out
    document = documents.load(fake / "results/latest")
    jsonschema.validate(document, json.loads(schema_file.FILE.read_text("utf-8")))
    assert document["parameters"]["auto_error"] == 0.01
    rows = {(row.workload, row.job): row for row in documents.rows_from(document)
            if row.policy == "default"}
    assert rows["sync", None].agreement == {"agreed": 1, "longest_s": 0.1, "error": 0.002}
    assert rows["mixed", "async"].agreement == {"agreed": 0, "longest_s": 0.5, "error": 0.03}
    assert rows["sync", None].window_s == pytest.approx(0.1)
    assert rows["sync", None].values["iops"] == pytest.approx(150_000)
