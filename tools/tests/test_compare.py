# SPDX-License-Identifier: GPL-2.0-or-later
"""Options and runs of a comparison, to the end with a program that stands in for QEMU."""

import argparse
import csv
import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from canned import guest

from cint import cli, host, paths
from cint.build import image
from cint.errors import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_TIMEOUT,
    EXIT_USAGE,
    CintError,
    UsageError,
)
from cint.guest import agent, kinds, session, vm
from cint.manual import schema as schema_file
from cint.measure import comparison, metrics, sampling, settings, timers
from cint.measure.arms import Arm
from cint.measure.plan import Files
from cint.options import comparing
from cint.results import assembly, documents, lateness, printing, table, unfinished
from cint.verbs import compare

FAKE = Path(__file__).with_name("fake_qemu.py")


def parse(*words: str) -> argparse.Namespace:
    """The options as argparse gives them."""
    parser = argparse.ArgumentParser()
    comparing.add_options(parser)
    return parser.parse_args(list(words))


def chosen(*words: str) -> settings.Settings:
    """The checked options."""
    return comparing.settings_from(parse(*words))


def plan(got: settings.Settings, repeat: int = 0,
         arm: Arm | None = None) -> agent.Plan:
    """What a guest does, by default that of the first row."""
    return guest(got, arm, repeat).plan


def own_setup(got: settings.Settings, arm: Arm) -> tuple[tuple[str, ...], ...]:
    """Commands before the jobs of one row, but for what the scale needs and counts edges."""
    return tuple(words for words in guest(got, arm).plan.setup
                 if "base_slice_ns" not in words[-1] and "cint-edge" not in words[-1])


def notes(got: settings.Settings, *outcomes: session.Outcome) -> list[str]:
    """The remarks under the table, without samples."""
    return assembly.notes_for(got, outcomes, comparison.choose_accel(virtual=True), [])


# ---- options ------------------------------------------------------------

@pytest.mark.parametrize("words", [["compare"], ["figure", "cint-fig8"]])
def test_results_that_have_no_place_are_refused_before_anything_is_built(
        words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    def build(*_: object, **__: object) -> None:
        raise AssertionError("it builds")

    monkeypatch.setattr("cint.build.setup.ensure", build)
    (tmp_path / "file").touch()
    for out in ("file", "file/below"):
        assert cli.main([*words, "--out", str(tmp_path / out)]) == EXIT_USAGE
        assert f"{tmp_path}/file is no directory" in capsys.readouterr().err
    assert cli.main([*words, "--out", "/proc/1/x"]) == EXIT_USAGE
    assert "/proc/1 cannot be written" in capsys.readouterr().err
    if words == ["compare"]:
        assert cli.main([*words, "--out", str(tmp_path)]) == EXIT_FAILED
        assert "the directory is not empty" in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file"]

def test_defaults() -> None:
    got = chosen()
    assert [arm.name for arm in got.arms] == ["default", "static100", "static20", "adaptive",
                                              "vic", "cint", "cint+ooo"]
    assert got.hints
    assert not any("cint.infer" in arm.policy.properties for arm in got.arms)
    assert [w.name for w in got.workloads] == ["sync", "async", "mixed"]
    assert (got.k, got.cost_ns, got.cost_applied_ns) == (3.0, 740, 2220)
    assert (got.virtual, got.vcpus, got.baseline) == (True, 1, "default")
    assert got.repeat_command == "./cint compare"


def test_real_time_has_the_stock_device_and_no_scale() -> None:
    got = chosen("--time", "real")
    assert got.arms[0].policy.kind == "stock"
    assert (got.k, got.cost_applied_ns, got.baseline) == (1.0, 0, "default")


@pytest.mark.parametrize("words", [("--hints", "off"), ("--guest", "distro")])
def test_without_hints_the_device_infers_them(words: tuple[str, ...]) -> None:
    got = chosen(*words)
    assert [arm.name for arm in got.arms][-2:] == ["vic", "cint"]
    assert got.arms[-1].policy.properties["cint.infer"] == "all"
    assert not got.hints
    assert got.repeat_command == " ".join(["./cint compare", *words])
    asked = chosen(*words, "--policy", "default,cint+ooo,cint:infer=batch").arms
    assert [arm.policy.properties.get("cint.infer") for arm in asked] == [None, "all", "batch"]
    assert any("the device infers them" in n for n in notes(got))


def append(policy: str, *words: str) -> tuple[str, ...]:
    """What the guest's kernel is told for a policy."""
    return guest(chosen("--policy", policy, *words)).machine.append


def test_only_the_rows_about_it_reap_out_of_order() -> None:
    for policy in ("default", "adaptive", "cint", "cint:ooo=off"):
        assert "nvme.ooo_urgent=0" in append(policy)
    for policy in ("cint+ooo", "cint:ooo=on"):
        assert not any("ooo_urgent" in w for w in append(policy))


def test_the_driver_is_told_to_give_no_hints() -> None:
    assert "nvme.irq_hints=0" in append("cint", "--hints", "off")
    assert not any("block." in w for w in append("cint", "--hints", "off"))
    assert not any("nvme.irq_hints" in w for w in append("cint"))
    assert not any("nvme." in w for w in append("cint", "--guest", "distro", "--irq-cost", "0"))


def test_marks_are_literal_where_nothing_drains() -> None:
    assert "block.irq_hints=1535" in append("cint")
    assert "block.irq_hints=1535" in append("cint+ooo")
    assert not any("block." in w for w in append("cint", "--extras", "device"))
    assert not any("block." in w for w in append("cint", "--guest", "distro"))


def test_fio_marks_jobs_only_where_the_kernel_takes_hints() -> None:
    for words, there in (((), True), (("--hints", "off"), True), (("--guest", "distro"), False)):
        found = plan(chosen("--workload", "mixed", *words))
        assert ("hint=unmarked" in str(found.jobs[-1].fio)) is there


def test_cint_without_any_hint_is_a_warning() -> None:
    got = chosen("--policy", "default,cint")
    said = {session.FACTS_JOB: {"stdout": "irq_hints=N\n"}}
    outcomes = [session.Outcome(arm.name, results=said) for arm in got.arms]
    accel = comparison.choose_accel(virtual=True)

    def warned(hints: dict[str, int]) -> bool:
        rows = [sampling.Row(policy=p, workload="sync", job=None, values={}, hints=h)
                for p, h in (("default", {"urgent": 5}), ("cint", hints))]
        return any(n.startswith("warning: no command") and "nvme.irq_hints: N" in n
                   for n in assembly.notes_for(got, outcomes, accel, rows))

    assert warned({"none": 9})
    assert warned({})
    assert not warned({"none": 9, "barrier": 1})


def test_pointer_is_explained() -> None:
    assert any(n.startswith("pointer: ") for n in notes(chosen("--policy", "pointer")))
    assert not any(n.startswith("pointer: ") for n in notes(chosen()))


def test_several_cpus_share_the_instructions() -> None:
    got = chosen("--vcpus", "4")
    assert (got.k, got.cpu_scale, got.cost_applied_ns) == (12.0, 3.0, 8880)
    assert any("4 CPUs with 1 instruction per 4 ns each, cpu-scale 3 x 4" in note
               for note in notes(got))
    assert got.boot_limit_s == 4 * chosen().boot_limit_s
    assert chosen("--vcpus", "4", "--boot-limit", "7").boot_limit_s == 7
    real = chosen("--vcpus", "4", "--time", "real")
    assert (real.k, real.boot_limit_s) == (1.0, chosen().boot_limit_s)


@pytest.mark.parametrize(("vcpus", "permille"), [(1, 3000), (2, 3000), (4, 4000), (8, 6000),
                                                 (16, 12000)])
def test_the_slice_is_that_of_one_cpu(vcpus: int, permille: int) -> None:
    """Linux's scheduler multiplies it by 1 + log2 of the CPUs, of at most 8."""
    (script,) = plan(chosen("--vcpus", str(vcpus))).setup
    assert f"* {permille} / 1000" in " ".join(script)


def test_first_policy_is_the_baseline_without_default() -> None:
    assert chosen("--policy", "static20,adaptive").baseline == "static20"


def test_own_job_file_replaces_the_workloads(tmp_path: Path) -> None:
    path = tmp_path / "own.fio"
    path.write_text("[a]\nfilename=${DEVICE}\nruntime=1\n")
    assert [w.name for w in chosen("--fio", str(path)).workloads] == ["own"]
    both = chosen("--fio", str(path), "--workload", "sync").workloads
    assert [w.name for w in both] == ["sync", "own"]


def test_a_runtime_that_is_typed_is_that_of_an_own_file(tmp_path: Path) -> None:
    path = tmp_path / "own.fio"
    path.write_text("[a]\nfilename=${DEVICE}\nruntime=1\n")
    assert "runtime=1\n" in chosen("--fio", str(path)).workloads[0].template
    got = chosen("--fio", str(path), "--runtime", "30ms").workloads[0].template
    assert got == "[a]\nruntime=30000us\nfilename=${DEVICE}\n"


@pytest.mark.parametrize(("text", "more", "says"), [
    ("runtime=40ms\n", (), " of 40ms"), ("runtime=40ms\n", ("--workload", "sync"),
                                         " of 40ms to 500ms"),
    ("size=1m\n", (), ""), ("runtime=1\n", ("--runtime", "30ms"), " of 30ms")])
def test_what_is_said_of_a_job_files_time(tmp_path: Path, text: str, more: tuple[str, ...],
                                          says: str) -> None:
    path = tmp_path / "own.fio"
    path.write_text(f"[a]\nfilename=${{DEVICE}}\n{text}")
    assert comparison._lasting(chosen("--fio", str(path), *more)) == says


def test_a_job_without_a_file() -> None:
    got = chosen("--job", "randread:bs=16k,iodepth=32", "--job", "write:thinktime=10us",
                 "--runtime", "30ms", "--policy", "default")
    deep, alone = got.workloads
    assert [w.name for w in got.workloads] == ["randread-bs16k-iodepth32", "write-thinktime10us"]
    for words in ("[randread-bs16k-iodepth32]\nrw=randread\n", "bs=16k\n", "ioengine=libaio\n"):
        assert words in deep.template
    assert "bs=4k\niodepth=1\nthinktime=10us\nioengine=psync\n" in alone.template
    texts = [str(job.fio) for job in plan(got).jobs[1:]]
    assert all("runtime=90000us" in text and "filename=/dev/nvme0n1" in text for text in texts)
    assert "thinktime=30us" in texts[1]
    assert got.repeat_command == ("./cint compare --policy default --job "
                                  "randread:bs=16k,iodepth=32 --job write:thinktime=10us "
                                  "--runtime 0.03")
    assert [w.name for w in chosen("--job", "read", "--workload", "sync").workloads] == \
        ["sync", "read"]


@pytest.mark.parametrize(("job", "said"), [
    ("", "begins with fio's rw"), (":bs=4k", "begins with fio's rw"),
    ("read:bs", "'bs' is not OPTION=VALUE"), ("read:bs=", "'bs=' is not OPTION=VALUE"),
    ("read:bssplit=4k/10,8k", "'8k' is not OPTION=VALUE"), ("read:", None),
    ("read:bs=4k,bs=8k", "'bs' is given twice"), ("read:runtime=3", "'runtime': --runtime"),
    ("read:rw=write", "'rw': the word before"), ("read:output=x", "'output': nothing that can"),
])
def test_jobs_refused(job: str, said: str | None) -> None:
    if said is None:
        assert chosen("--job", job).workloads[0].name == "read"
        return
    with pytest.raises(UsageError, match=re.escape(said)):
        chosen("--job", job)


def test_two_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.fio").write_text("[j]\nfilename=${DEVICE}\n")
    files = ("--fio", str(tmp_path / "a/x.fio"), "--fio", str(tmp_path / "b/x.fio"))
    with pytest.raises(UsageError, match="two workloads are called 'x'"):
        chosen(*files)
    with pytest.raises(UsageError, match="two workloads are called 'read'"):
        chosen("--job", "read", "--job", "read")


def test_a_repeat_has_its_trace() -> None:
    words = ("--trace", "cint", "--trace", "pci_nvme_irq_*")
    assert chosen(*words).repeat_command.endswith("--trace cint --trace 'pci_nvme_irq_*'")


def test_where_all_are_lone_barriers_is_said() -> None:
    def row(policy: str, merged: float, **hints: int) -> sampling.Row:
        return sampling.Row(policy=policy, workload="own", job=None,
                            values={"ios_per_irq": merged}, hints=hints)

    got = chosen("--policy", "default,cint")
    for rows, said in (([row("cint", 1.0, barrier=95, none=5)], True),
                       ([row("cint", 1.0, urgent=95, barrier=5)], False),
                       ([row("cint", 16.0, barrier=95, none=5)], False),
                       ([row("default", 1.0, barrier=100)], False),
                       ([row("cint", 1.0)], False)):
        assert any("each the last of a batch of one" in note
                   for note in assembly.hint_notes(got, [], rows)) is said


@pytest.mark.parametrize("words", [
    ("--policy", "stock"), ("--policy", "foo"), ("--workload", "foo"), ("--media", "foo"),
    ("--cpu-scale", "x"), ("--cpu-scale", "0"), ("--cpu-scale", "3", "--time", "real"),
    ("--irq-cost", "-1"), ("--irq-cost", "100001"), ("--irq-cost", "90000", "--cpu-scale", "20"),
    ("--cpu-scale", "calibrate"), ("--irq-cost", "calibrate"), ("--runtime", "0"),
    ("--runtime", "1x"), ("--vcpus", "0"), ("--vcpus", "17"), ("--repeat", "x"),
    ("--drive", "/nonexistent"), ("--fio", "/nonexistent"), ("--hints", "on", "--guest", "distro"),
    ("--policy", "static:time=1s", "--cpu-scale", "3", "--dry-run")])
def test_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as caught:
        compare.run(parse("--dry-run", *words))
    assert "\n" not in caught.value.message


def test_calibrated_values_are_used_and_printed() -> None:
    scale, cost = settings.CALIBRATED.values()
    got = chosen("--cpu-scale", "calibrated", "--irq-cost", "calibrated")
    assert (got.cpu_scale, got.cost_ns) == (scale, cost)
    assert got.cost_applied_ns == round(scale * cost)
    assert got.repeat_command == f"./cint compare --cpu-scale {scale:g} --irq-cost {cost:g}"
    assert not any("(calibrated: " in note for note in notes(got))
    assert any(f"(calibrated: {scale:g} and {cost:g} ns)" in note for note in notes(chosen()))
    assert chosen().cpu_scale == 3.0


def test_repeat_command_is_quoted() -> None:
    got = chosen("--policy", "static:time=50us,thr=16", "--runtime", "500ms", "--device-opts",
                 "a b", "--json", "--out", "/tmp/x")
    assert got.repeat_command == ("./cint compare --policy static:time=50us,thr=16 "
                                  "--runtime 0.5 --device-opts 'a b'")
    assert chosen("--runtime", "0.5").timing == chosen("--runtime", "500ms").timing


def test_dry_run_says_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare.run(parse("--dry-run", "--policy", "adaptive")) == 0
    text = capsys.readouterr().out
    for words in ("cint.delta=18000", "nvme.irq_cost_ns=2220", "iodepth_batch_submit=16",
                  "scaled by k = 3", "-icount shift=0,sleep=off"):
        assert words in text
    # the table of what is scaled is a page, and no part of a plan
    assert "| fio |" not in text


def test_dry_run_has_the_seed_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare.run(parse("--dry-run", "--policy", "default", "--seed", "7",
                             "--repeat", "2")) == 0
    text = capsys.readouterr().out
    assert text.count("# QEMU for policy default\n") == 1 and text.count("# fio job sync") <= 1
    assert "-seed 7" in text and "cint.media.seed=7" in text and "randseed=7\n" in text
    assert "seed=1" not in text and "-seed 8" not in text


def test_polling_is_a_row_for_each_policy_and_mode() -> None:
    got = chosen("--policy", "default,cint", "--polling", "off,ours,irq-queue", "--workload",
                 "sync,mixed")
    assert [arm.name for arm in got.arms] == [
        "default", "default/ours", "default/irq-queue", "cint", "cint/ours", "cint/irq-queue"]
    assert [arm.slug for arm in got.arms][1] == "default-ours"
    assert got.baseline == "default"
    assert got.repeat_command == ("./cint compare --policy default,cint "
                                  "--polling off,ours,irq-queue --workload sync,mixed")
    off, ours, queue = (guest(got, arm).machine.append for arm in got.arms[:3])
    assert not [w for w in off if "poll" in w]
    assert [w for w in ours if "poll" in w] == ["nvme.poll_queues=1"]
    assert [w for w in queue if "poll" in w] == ["nvme.poll_irq_queues=1"]
    setups = [own_setup(got, arm) for arm in got.arms]
    assert [len(s) for s in setups] == [0, 1, 1, 0, 1, 1]
    assert "io_poll_mode" in setups[1][0][-1] and "echo adaptive >" in setups[1][0][-1]
    assert assembly.parameters_for(got)["polling"]


def test_steering_is_a_row_for_each_policy_and_mode() -> None:
    got = chosen("--policy", "default,split:l=cint+ooo,t=adaptive:thr=8", "--steering",
                 "prio,request", "--workload", "classes", "--vcpus", "2")
    assert [arm.name for arm in got.arms] == [
        "default/prio", "default/request", "split:l=cint+ooo,t=adaptive:thr=8/prio",
        "split:l=cint+ooo,t=adaptive:thr=8/request"]
    machines = [guest(got, arm).machine for arm in got.arms]
    assert [w for w in machines[1].append if "switch" in w] == ["nvme.blk_switch=2"]
    assert "nvme.ooo_urgent=0" in machines[0].append
    assert "nvme.ooo_urgent=0" not in machines[2].append
    assert dict(machines[2].properties)["cint.policy"] == "adaptive"
    default, _, split, _ = (own_setup(got, arm) for arm in got.arms)
    assert len(default) == 1 and "switch_mode" in default[0][-1]
    script = split[1][-1]
    # Two CPUs: queues 3 and 4 are the realtime class's.
    assert "--value=3 " in script and "--value=4 " in script and "--value=2 " not in script
    assert assembly.parameters_for(got)["vcpus"] == 2
    assert not any(arm.steering.steers for arm in chosen().arms)
    assert own_setup(chosen(), chosen().arms[0]) == ()


@pytest.mark.parametrize("options, said", [
    (("--steering", "on"), "valid: off, prio, request, app"),
    (("--steering", "prio,prio"), "given twice"),
    (("--steering", "prio", "--guest", "distro"), "the distribution's kernel"),
    (("--steering", "prio", "--polling", "ours"), "not together with"),
    (("--policy", "split:l=cint,t=adaptive"), "one queue for both classes"),
    (("--policy", "split:l=cint", "--steering", "prio"), "l=POLICY,t=POLICY"),
    (("--policy", "split:l=cint,t=adaptve", "--steering", "prio"), "unknown policy 'adaptve'"),
    (("--policy", "split:l=stock,t=cint", "--steering", "prio"), "cannot be a half")])
def test_steering_that_there_is_not(options: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        chosen(*options)


def test_polled_rows_differ_from_the_others_in_the_kernel_only() -> None:
    found = plan(chosen("--polling", "off,classic", "--workload", "sync,mixed"))
    for job in found.jobs[1:]:
        text = str(job.fio)
        assert "ioengine=psync" not in text and "ioengine=pvsync2\nhipri=1\n" in text
    assert "ioengine=psync" in str(plan(chosen("--workload", "sync")).jobs[1].fio)
    assert not assembly.parameters_for(chosen())["polling"]


def test_a_fixed_sleep_is_scaled() -> None:
    got = chosen("--polling", "fixed:2us", "--policy", "default")
    (words,) = own_setup(got, got.arms[0])
    script = words[-1]
    assert "echo 6 >$f" in script and "io_poll_delay" in script


@pytest.mark.parametrize("text, said", [
    ("sometimes", "valid: off, classic, fixed:TIME, half-mean"), ("fixed", "such as fixed:2us"),
    ("fixed:0", "from 1 ns to 10ms"), ("fixed:1s", "from 1 ns to 10ms"),
    ("ours:2us", "valid: off"), ("ours,ours", "given twice"), ("fixed:x", "not a time")])
def test_polling_that_there_is_not(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        chosen("--polling", text)


def test_the_distribution_does_not_poll() -> None:
    with pytest.raises(UsageError, match="the distribution's kernel"):
        chosen("--polling", "classic", "--guest", "distro")
    assert not any(arm.polling.polls
                   for arm in chosen("--polling", "off", "--guest", "distro").arms)


def test_an_engine_is_a_row_for_each_policy() -> None:
    got = chosen("--policy", "default,cint+ooo", "--engine", "kernel,user,user:poll",
                 "--workload", "sync")
    assert [arm.name for arm in got.arms] == [
        "default", "default/user", "default/user:poll",
        "cint+ooo", "cint+ooo/user", "cint+ooo/user:poll"]
    assert got.arms[2].slug == "default-user-poll" and got.baseline == "default"
    assert [arm.engine.kind for arm in got.arms[:3]] == ["kernel", "user", "user"]
    assert got.repeat_command == ("./cint compare --policy default,cint+ooo "
                                  "--engine kernel,user,user:poll --workload sync")
    kernel, user = (guest(got, arm).machine for arm in got.arms[:2])
    alone = chosen("--policy", "default", "--workload", "sync", "--runtime", "0.5s")
    assert kernel == guest(alone, kernel_row(got)).machine
    assert (user.initramfs, user.iommu, user.append) == (paths.USERSPACE_INITRAMFS, True, ())
    assert not own_setup(got, got.arms[0])
    (bind,) = own_setup(got, got.arms[1])
    assert "cintio bind $A" in bind[-1] and "0000:00:01.0" in bind[-1]


def kernel_row(got: settings.Settings) -> Arm:
    return next(arm for arm in got.arms if not arm.engine.is_user)


def user_job(workload: str, *words: str, policy: str = "default") -> list[str]:
    got = chosen("--policy", policy, "--engine", "user", "--workload", workload,
                 "--cpu-scale", "2", "--irq-cost", "100", *words)
    job = plan(got, 0, got.arms[0]).jobs[1]
    return str(job.fio).splitlines()


def test_under_the_user_engine_depth_and_batches_stay() -> None:
    kernel = str(plan(chosen("--workload", "async", "--cpu-scale", "2", "--runtime",
                             "0.5s")).jobs[1].fio)
    lines = user_job("async")
    for line in kernel.splitlines():
        if line.startswith(("iodepth", "rw", "bs", "runtime", "ramp", "randseed")):
            assert line in lines
    assert "filename=0000.00.01.0" in lines and "ioengine=cintio" in lines
    assert "irq_cost_ns=200" in lines and "counts=1" in lines and "interrupt_mode=auto" in lines
    assert "hint=barrier" in lines and "records=1" not in lines
    assert "records=1" in user_job("async", policy="cint+ooo")
    assert "hint=unmarked" in user_job("async", "--hints", "off")
    assert "records=1" not in user_job("async", "--hints", "off", policy="cint+ooo")
    assert "hint=urgent" in user_job("sync")


def test_threads_in_place_of_processes_have_their_slices() -> None:
    lines = user_job("mixed")
    first, second = lines.index("[async]"), lines.index("[sync]")
    assert "hint=unmarked" in lines[first:second] and "hint=urgent" in lines[second:]
    assert "slice_ns=200000" in lines[second:] and "slice_ns=200000" not in lines[:second]
    assert "thread=0" not in lines and not [word for word in lines if "slice $PPID" in word]
    assert not [word for word in lines if word.startswith("exec_")]


def test_a_sleep_of_the_user_engine_is_scaled() -> None:
    got = chosen("--engine", "user:sleep=2us", "--policy", "default", "--cpu-scale", "3",
                 "--workload", "sync")
    text = str(plan(got, 0, got.arms[0]).jobs[1].fio)
    assert "interrupt_mode=sleep\n" in text and "sleep_ns=6000\n" in text


def test_the_user_engine_adds_the_policy_it_is_for() -> None:
    assert "pointer/user" in [arm.name for arm in chosen("--engine", "user").arms]
    assert "pointer" not in [arm.name for arm in chosen().arms]


def test_the_user_engine_does_not_poll_as_the_kernel_does() -> None:
    got = chosen("--engine", "kernel,user", "--polling", "off,ours", "--policy", "default")
    assert [arm.name for arm in got.arms] == ["default", "default/user", "default/ours"]
    with pytest.raises(UsageError, match="--polling is how the kernel polls"):
        chosen("--engine", "user", "--polling", "ours", "--policy", "default")


@pytest.mark.parametrize("text, said", [
    ("spdk", "valid: kernel, user, user:poll"), ("kernel:poll", "valid: kernel"),
    ("user:", "valid"), ("user:often", "valid"), ("user,user", "given twice"),
    ("user:poll=2us", "valid"), ("user:sleep", "such as user:sleep=2us"),
    ("user:sleep=0", "from 1 ns to 10ms"), ("user:sleep=1s", "from 1 ns to 10ms")])
def test_an_engine_that_there_is_not(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        chosen("--engine", text)


def test_the_distribution_has_no_user_engine() -> None:
    with pytest.raises(UsageError, match="no user-space driver"):
        chosen("--engine", "kernel,user", "--guest", "distro")


def test_own_jobs_under_the_user_engine(tmp_path: Path) -> None:
    own = tmp_path / "my.fio"
    own.write_text("[global]\nfilename=${DEVICE}\nioengine=io_uring\nhipri=1\niodepth=4\n"
                   "[a]\nrw=randread\n[b]\nstonewall\nrw=randwrite\n")
    got = chosen("--fio", str(own), "--engine", "kernel,user", "--policy", "default")
    kernel, user = (str(plan(got, 0, arm).jobs[1].fio) for arm in got.arms)
    assert "ioengine=io_uring\nhipri=1\n" in kernel and "cint-edge" in kernel
    assert "[global]\nioengine=cintio\nthread=1\ninterrupt_mode=auto\ncounts=1\n" in user
    assert "filename=0000.00.01.0\niodepth=4\nhint=barrier\n[a]" in user
    assert "hipri" not in user and "cint-edge" not in user
    own.write_text("[a]\nfilename=/dev/nvme0n1\nioengine=libaio\n")
    with pytest.raises(UsageError, match="is not called"):
        chosen("--fio", str(own), "--engine", "user")
    own.write_text("[a]\nfilename=${DEVICE}\nioengine=null\n")
    with pytest.raises(UsageError, match="no job has an ioengine that can be replaced"):
        chosen("--fio", str(own), "--engine", "user")


def test_a_repeat_is_a_boot_with_the_next_seed() -> None:
    got = chosen("--repeat", "2", "--workload", "sync,async", "--seed", "7")
    asked = comparison.boots_for(got)
    assert [b.repeat for b in asked] == [0] * 7 + [1] * 7
    assert len({b.name for b in asked}) == len({b.slug for b in asked}) == 14
    found = plan(got, 1)
    assert [j.name for j in found.jobs] == ["cint-facts", "sync/1", "async/1"]
    assert all("randseed=8\n" in str(j.fio) for j in found.jobs[1:])
    assert got.repeat_command.endswith("--repeat 2 --seed 7")


def media_seeds(*words: str) -> list[object]:
    """The seed of the medium of each boot, None where nothing is said of it."""
    got = chosen("--policy", "default", "--repeat", "3", *words)
    said = [re.search(r"cint\.media\.seed=(\d+)", " ".join(one.run.argv))
            for one in comparison.asked_for(comparison.compose(got))]
    return [int(one[1]) if one else None for one in said]


def test_each_repeat_draws_other_times_of_the_medium(monkeypatch: pytest.MonkeyPatch) -> None:
    """The device's own seed is 1. A seed that was asked for is that of every boot."""
    monkeypatch.setattr(Files, "of", lambda _: Files((), {}))
    assert media_seeds() == [None, 2, 3]
    assert media_seeds("--seed", "7") == [7, 8, 9]
    assert media_seeds("--media", "optane:seed=5") == [5, 5, 5]
    assert media_seeds("--media", "none") == [None, None, None]


def test_real_time_is_booted_three_times() -> None:
    assert chosen("--time", "real").repeat == 3
    assert chosen("--time", "real", "--repeat", "1").repeat == 1
    assert chosen().repeat == 1


def test_plan_is_scaled() -> None:
    assert len(plan(chosen()).setup) == 1
    assert plan(chosen("--cpu-scale", "1")).setup == ()


# ---- to the end ---------------------------------------------------------

@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let compare use the fake QEMU and a results directory of its own."""
    monkeypatch.setenv("PYTHONPATH", f"{FAKE.parent}:{FAKE.parents[1]}")
    for name in ("QEMU", "KERNEL", "INITRAMFS"):
        monkeypatch.setattr(paths, name, FAKE)
    dressed = kinds.dress

    def dress(*words: Any, **more: Any) -> vm.Machine:
        return dataclasses.replace(dressed(*words, **more), qemu=FAKE, kernel=FAKE, initramfs=FAKE)

    monkeypatch.setattr(kinds, "dress", dress)
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "results")
    monkeypatch.setattr("cint.build.setup.ensure", lambda *_, **__: False)
    monkeypatch.setattr(host, "choose_accel", lambda: host.Accel("tcg", "max", "it is a test"))
    return tmp_path


@pytest.mark.parametrize("words", [["--dry-run"], []])
def test_what_is_built_is_asked_before_a_guest_boots(
        fake: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    """In a dry run, too: fio of its jobs, the preload's program of the rules; if they are built."""
    (fake / "j.fio").write_text("[job]\nfilename=${DEVICE}\niodepth=abc\n")
    (fake / "my.rules").write_text("unmarked thred x\n")
    monkeypatch.setattr(image, "_FIO", script(fake / "fio", "failed parsing iodepth=abc"))
    monkeypatch.setattr(image, "_PRELOAD", (fake, script(
        fake / "cint-preload", "cint-preload: my.rules:1: 'thred' is no condition")))
    args = ["--policy", "default", "--no-plots", *words]
    with pytest.raises(UsageError, match=r"j.fio \(1 job\): fio says: failed parsing iodepth=abc"):
        compare.run(parse(*args, "--fio", str(fake / "j.fio")))
    with pytest.raises(UsageError, match=r"preload:my\.rules:1: 'thred' is no condition"):
        compare.run(parse(*args, "--hints", f"preload:{fake / 'my.rules'}"))
    assert not (fake / "results").exists()
    if words:
        (fake / "fio").unlink()
        assert compare.run(parse(*args, "--fio", str(fake / "j.fio"))) == 0


def test_an_engine_that_fio_has_not_is_said(tmp_path: Path,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    """fio itself notices it when the job runs, and leaves output that is not JSON."""
    fio = tmp_path / "fio"
    fio.write_text('#!/bin/sh\ncase $1 in --parse-only|--enghelp=linuxaio) exit;;\n'
                   '--enghelp=*) exit 1;; esac\n'
                   'printf "Available IO engines:\\n\\tpsync\\n\\tlibaio\\n"\n')
    fio.chmod(0o700)
    monkeypatch.setattr(image, "_FIO", fio)
    job = "[a]\nioengine={}\n[b]\nioengine=libaio\n"
    assert image.complaint(job.format("psync")) is None
    assert image.complaint(job.format("linuxaio")) is None
    assert image.complaint("[a]\nrw=read\n") is None
    assert image.complaint(job.format("psnyc")) == \
        "no ioengine is called psnyc; valid: psync, libaio"


def script(path: Path, says: str) -> Path:
    """A program that complains."""
    path.write_text(f'#!/bin/sh\necho "{says}" >&2\nexit 1\n')
    path.chmod(0o700)
    return path


SECOND = {f"{slug}-2" for slug in ("default", "static100", "static20", "adaptive", "vic", "cint",
                                   "cint-ooo")}


def test_table_and_files(fake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare.run(parse("--repeat", "2")) == 0
    out = capsys.readouterr().out
    assert max(len(line) for line in out.splitlines() if not line.startswith("virtual")) <= 120
    for words in ("sync: psync", "mixed:", "adaptive", "  async job", "repeat: ./cint compare",
                  "interrupt cost: 740 ns each (2220 ns in the guest)", "kirq/s"):
        assert words in out
    latest = fake / "results/latest"
    made = {p.name for p in latest.iterdir()}
    assert made == {"results.json", "results.csv", "latency.png", "iops.png", "interrupts.png",
                    "tradeoff.png", "report.html", "logs"}
    assert {p.name for p in (latest / "logs").iterdir()} == {"default", "static100", "static20",
                                                            "adaptive", "vic", "cint", "cint-ooo",
                                                            *SECOND}
    document = documents.load(latest)
    with (latest / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(document["rows"]) == 7 * 5
    assert float(rows[0]["iops"]) == pytest.approx(150_000)


def test_json_is_one_valid_document(fake: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Also of what programs write that the tool starts: the whole of file descriptor 1."""
    assert compare.run(parse("--json", "--policy", "adaptive")) == 0
    captured = capfd.readouterr()
    document, end = json.JSONDecoder().raw_decode(captured.out)
    assert captured.out[end:] == "\n"
    assert document == documents.load(fake / "results/latest")
    schema = json.loads(schema_file.FILE.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    assert document["policies"][0]["qemu"][0] == str(FAKE)
    assert document["irq_cost"] == {"reported_ns": 740, "applied_ns": 2220, "in_force": True}
    assert documents.rows_from(document)[0].values["iops"] == pytest.approx(150_000)


def test_a_failure_leaves_standard_output_empty(
    fake: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GUEST", "fail")
    with pytest.raises(CintError):
        compare.run(parse("--json", "--policy", "adaptive"))
    assert capfd.readouterr().out == ""


def key_paths(value: Any, at: str = "") -> set[str]:
    """The names of all fields, for objects whose names are not data."""
    if isinstance(value, list):
        return {p for one in value for p in key_paths(one, at)}
    if not isinstance(value, dict) or at.rsplit(".", maxsplit=1)[-1] in {
            "properties", "applied", "facts", "reasons", "hints", "sources", "jobs", "changed",
            "image", "overrides"}:
        return {at}
    return {at} | {p for name, one in value.items() for p in key_paths(one, f"{at}.{name}")}


def test_no_field_of_the_golden_results_has_gone(
    fake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fields are only added while the schema's number stays."""
    document: Any = {}
    for _ in range(2):
        compare.run(parse("--no-plots", "--policy", "default,adaptive"))
        document = documents.load(fake / "results/latest")
    golden = documents.load(Path(__file__).with_name("golden"))
    data = {f".rows.lateness.{n}" for n in ("count", "mean_us", "p50_us", "p99_us", "max_us")}
    assert key_paths(golden) - key_paths(document) <= data


def test_the_last_result_stands_beside_the_new_one(
    fake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--no-plots", "--policy", "adaptive", "--workload", "sync")
    compare.run(parse(*words))
    assert "before (" not in capsys.readouterr().out
    first = (fake / "results/latest").resolve().name
    compare.run(parse(*words))
    out = capsys.readouterr().out
    assert f"before ({first}), and the change since" in out
    assert "150.0 (+0.0 %)" in out
    assert "Beside the last result" in (fake / "results/latest/report.html").read_text()
    compare.run(parse(*words, "--no-previous"))
    assert "before (" not in capsys.readouterr().out
    assert documents.load(fake / "results/latest")["previous"] is None
    compare.run(parse(*words, "--runtime", "2"))
    assert "before (" not in capsys.readouterr().out


def test_help_documents_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["compare", "--help"])
    shown = capsys.readouterr().out
    assert "exit codes:" in shown
    for code in (EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_TIMEOUT, EXIT_INTERRUPTED):
        assert f"  {code} " in shown


def test_a_cost_that_is_not_in_force_is_said(fake: Path) -> None:
    got = chosen("--irq-cost", "100")
    outcome = session.Outcome("default")
    assert not comparison.in_force(got, [outcome])
    assert any("uncalibrated" in n for n in notes(got, outcome))
    assert any("uncalibrated" in n for n in notes(chosen("--irq-cost", "0")))


def test_late_timers_are_said() -> None:
    got = chosen("--time", "real", "--policy", "stock,static20,adaptive")
    late = {"count": 10, "mean_us": 8.0, "p50_us": 8.192, "p99_us": 9.0, "max_us": 9.0}
    rows = [sampling.Row(policy="stock", workload="sync", job=None, values={})]
    rows += [sampling.Row(policy=p, workload="sync", job=None, values={}, lateness=late)
             for p in ("static20", "adaptive")]
    assert assembly.lateness_notes(got, rows, "kvm") == [
        "verdict: KVM: timers held under static20, not under adaptive; at worst 8.0 us late on "
        "average, of 20 us (static20, sync)",
        "static20: asked for 20 us, got 28.0 us in sync: timers ran 8.0 us late on average",
        "warning: adaptive: asked for 6 us, got 14.0 us in sync: timers ran 8.0 us late on "
        "average; the policy could not be kept"]


def test_the_verdict_on_timers() -> None:
    got = chosen("--time", "real", "--policy", "stock,default")
    rows = [sampling.Row(policy=p, workload="sync", job=None, values={})
            for p in ("stock", "default")]
    assert assembly.lateness_notes(got, rows, "kvm") == [
        "verdict: KVM: no policy's timer ran out, so none was tried"]
    timer = lateness.Timer("adaptive", "sync", 10, 6.0, 2.0, 2.0, 3.0, 4.0)
    late = dataclasses.replace(timer, workload="async", mean_us=7.0)
    assert lateness.verdict([timer], "tcg") == \
        "TCG: timers held under adaptive; at worst 2.0 us late on average, of 6 us (adaptive, sync)"
    assert lateness.verdict([timer, late], "tcg").startswith(
        "TCG: timers held under no policy, not under adaptive; at worst 7.0 us late")


def test_real_time_table_has_the_stock_device_and_the_warning(
    capsys: pytest.CaptureFixture[str]
) -> None:
    document = documents.load(Path(__file__).with_name("golden"))
    printing.print_table(document, Path("/x"))
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("stock ") for line in lines)
    assert any(line.startswith("warning: adaptive: asked for 6 us, got ") for line in lines)
    at = next(i for i, line in enumerate(lines) if line.startswith("timers in real time"))
    assert lines[at + 2].split()[:3] == ["adaptive", "sync", "6.00"]
    assert lines[at + 2].endswith("too late")
    assert any(line.startswith("before (20260101T000000Z-compare)") for line in lines)
    assert lines[-1] == "report: /x/report.html"


def test_only_results_of_the_same_command_are_made_again(fake: Path) -> None:
    (fake / "mine").mkdir()
    (fake / "mine/x").touch()
    with pytest.raises(CintError, match="not empty"):
        compare.run(parse("--out", str(fake / "mine")))
    words = ("--out", str(fake / "new"), "--no-plots", "--policy")
    assert compare.run(parse(*words, "default")) == 0
    made = {p.name for p in (fake / "new").iterdir()}
    assert made == {"results.json", "results.csv", "report.html", "logs"}
    assert (fake / "results/latest").resolve() == fake / "new"
    first = documents.load(fake / "new")
    assert compare.run(parse(*words, "default")) == 0
    again = documents.load(fake / "new")
    assert again["rows"] == first["rows"]
    assert [r["source"] for r in first["runs"] + again["runs"]] == ["run", "store"]
    with pytest.raises(CintError, match="not empty"):
        compare.run(parse(*words, "adaptive"))
    assert documents.load(fake / "new") == again


@pytest.fixture
def adaptive_fails(fake: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The guest under adaptive has a job that fails."""
    monkeypatch.setenv("FAKE_GUEST", "fail")
    monkeypatch.setenv("FAKE_ONLY", "cint.policy=adaptive")
    return fake


THREE = ("--no-plots", "--workload", "sync", "--policy", "default,adaptive,vic")


@pytest.mark.parametrize("time", ["virtual", "real"])
def test_a_failed_guest_loses_its_own_rows(adaptive_fails: Path,
                                           monkeypatch: pytest.MonkeyPatch, time: str,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    """And the same command goes on where it stopped, in the same directory."""
    words = (*THREE, "--time", time, "--repeat", "2")
    with pytest.raises(CintError, match="fio: bad job"):
        compare.run(parse(*words))
    out = capsys.readouterr().out
    assert "warning: missing: adaptive #1: adaptive #1: job 'sync/0' failed" in out
    where, = (adaptive_fails / "results").glob("*-compare")
    partial = documents.load(where)
    assert [r["policy"] for r in partial["rows"]] == ["default", "vic"]
    assert [r["failure"] is None for r in partial["runs"]] == [True, False, True] * 2
    kept = [json.loads(line) for line in (where / "samples.jsonl").read_text().splitlines()]
    assert sorted(k["policy"] for k in kept) == ["default", "default", "vic", "vic"]
    jsonschema.validate(partial, json.loads(schema_file.FILE.read_text(encoding="utf-8")))
    monkeypatch.delenv("FAKE_GUEST")
    assert compare.run(parse(*words)) == 0
    shown = capsys.readouterr()
    assert "going on in" in shown.err
    assert f"4 of 6 runs from {'the store' if time == 'virtual' else 'before'}" in shown.err
    assert where == (adaptive_fails / "results/latest").resolve()
    whole = documents.load(where)
    assert [r["policy"] for r in whole["rows"]] == ["default", "adaptive", "vic"]
    assert {p.name for p in where.iterdir()} == {"results.json", "results.csv", "report.html",
                                                 "logs"}
    assert "missing" not in shown.out
    compare.run(parse(*words))
    assert len(list((adaptive_fails / "results").glob("*-compare*"))) == 2


def test_a_comparison_that_nothing_came_of(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_GUEST", "fail")
    words = (*THREE, "--out", str(fake / "mine"))
    with pytest.raises(CintError, match="bad job"):
        compare.run(parse(*words))
    monkeypatch.delenv("FAKE_GUEST")
    assert compare.run(parse(*words)) == 0


def test_an_interrupted_comparison_goes_on(fake: Path, monkeypatch: pytest.MonkeyPatch,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    plain = comparison.samples_from

    def interrupted(got: settings.Settings, outcome: session.Outcome) -> list[sampling.Sample]:
        if outcome.name == "vic":
            raise KeyboardInterrupt
        return plain(got, outcome)

    monkeypatch.setattr(comparison, "samples_from", interrupted)
    words = (*THREE, "--time", "real", "--repeat", "1")
    with pytest.raises(KeyboardInterrupt):
        compare.run(parse(*words))
    where, = (fake / "results").glob("*-compare")
    assert len((where / "samples.jsonl").read_text().splitlines()) == 2
    monkeypatch.setattr(comparison, "samples_from", plain)
    assert compare.run(parse(*words)) == 0
    assert "3 of 3 runs from before" in capsys.readouterr().err
    assert [p.name for p in (fake / "results").glob("*-compare*")] == [where.name]


def test_two_at_once_do_not_share_a_directory(fake: Path) -> None:
    first, begun = unfinished.begin(None, "compare", "./cint compare", "x")
    second, also = unfinished.begin(None, "compare", "./cint compare", "x")
    assert (begun, also) == (False, False)
    assert first.path != second.path
    with first, second, pytest.raises(CintError, match="another cint"):
        unfinished.begin(first.path, "compare", "./cint compare", "x")
    third, begun = unfinished.begin(None, "compare", "./cint compare", "x")
    assert begun
    assert third.path in (first.path, second.path)


def test_real_time_begins_anew_when_told(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = (*THREE, "--time", "real", "--repeat", "1", "--out", str(fake / "mine"))
    monkeypatch.setenv("FAKE_GUEST", "fail")
    monkeypatch.setenv("FAKE_ONLY", "cint.policy=vic")
    with pytest.raises(CintError):
        compare.run(parse(*words))
    with pytest.raises(CintError):
        compare.run(parse(*words, "--fresh"))
    assert [r["source"] for r in documents.load(fake / "mine")["runs"]] == ["run"] * 3
    with pytest.raises(CintError):
        compare.run(parse(*words))
    assert [r["source"] for r in documents.load(fake / "mine")["runs"]] == ["store"] * 2 + ["run"]


def test_seeds_and_spread_are_said(fake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compare.run(parse(*THREE, "--repeat", "3", "--seed", "5"))
    out = capsys.readouterr().out
    assert "3 boots of each policy, seeds 5, 6, 7." in out
    assert "--repeat 3 --seed 5" in out
    lines = out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("adaptive"))
    assert lines[at + 1].split()[:3] == ["max-min,", "%", "0"]
    document = documents.load(fake / "results/latest")
    assert document["parameters"]["seeds"] == [5, 6, 7]
    assert [r["seed"] for r in document["runs"] if r["policy"] == "vic"] == [5, 6, 7]
    assert all(row["repeats"] == 3 for row in document["rows"])
    assert list(document["rows"][0]["range"]["iops"]) == [150_000, 150_000]
    assert "150.0 to 150.0" in (fake / "results/latest/report.html").read_text()
    compare.run(parse(*THREE, "--label", "mine"))
    out = capsys.readouterr().out
    assert "max-min" not in out
    assert documents.load(fake / "results/latest")["label"] == "mine"


def test_two_directories_in_one_second(fake: Path) -> None:
    made = {documents.new_directory("compare") for _ in range(3)}
    assert len(made) == 3


@pytest.mark.parametrize("content", ["", "{}", '{"schema": 2}', "[]"])
def test_other_results_are_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "results.json").write_text(content)
    with pytest.raises(CintError):
        documents.load(tmp_path)


# ---- the table ----------------------------------------------------------

@pytest.mark.parametrize(("value", "text"), [
    (None, "-"), (0.0, "0"), (0.01234, "0.012"), (9.996, "10.00"), (99.99, "99.99"),
    (99.999, "100.0"), (123.45, "123.5"), (999.96, "1000"), (99999.4, "99999"), (123456.0, "123k"),
    (1.5e8, "150M"), (2e11, "200G")])
def test_numbers(value: float | None, text: str) -> None:
    assert table.number(value) == text


def test_width_with_extreme_values() -> None:
    values: dict[str, float | None] = dict.fromkeys(metrics.NAMES, 9_999_999.0)
    ratios = dict.fromkeys(metrics.RATIOS, 999.9)
    name = "static:time=123456us,thr=65535"
    rows = [sampling.Row(policy=name, workload="sync", job=None, values=values, spread=0.1,
                         ratios=ratios),
            sampling.Row(policy=name, workload="sync", job="a job with quite a long name",
                         values={})]
    lines = table.format_rows(rows, {"sync": "x" * 300}, "default")
    assert max(len(line) for line in lines) <= table.WIDTH


def test_virtual_time_is_tcg() -> None:
    assert comparison.choose_accel(virtual=True).name == "tcg"


# ---- a sweep of the timer -------------------------------------------------

def test_a_sweep_is_written_out() -> None:
    got = chosen("--policy", "default,static:time=best,thr=64,static:time=20us,thr=64,cint")
    assert [arm.name for arm in got.arms] == [
        "default", *(f"static:time={us}us,thr=64" for us in (2, 5, 10, 50, 100)),
        "static:time=20us,thr=64", "cint"]
    assert got.sweep and got.sweep.by == "iops"
    assert got.sweep.beside == {"static:time=20us,thr=64"}
    assert "static:time=best,thr=64" in got.repeat_command


@pytest.mark.parametrize(("policy", "said"), [
    ("static:time=best,by=speed", "by is one of iops, latency, interrupts"),
    ("static:time=best,static:time=best,thr=8", "there is a sweep of the timer already"),
    ("static:time=best,foo=1", "static: unknown parameter 'foo'"),
])
def test_a_sweep_that_cannot_be_is_refused(policy: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        chosen("--policy", policy)


def test_the_best_of_a_sweep() -> None:
    def row(name: str, iops: float, mean: float) -> sampling.Row:
        return sampling.Row(policy=name, workload="w", job=None,
                            values={"iops": iops, "mean_us": mean, "ios_per_irq": 1.0})

    rows = [row("a", 100.0, 9.0), row("b", 200.0, 30.0), row("c", 199.0, 20.0)]
    best = {by: timers.best_of(rows, how) for by, how in timers.CRITERIA.items()}
    # within one percent of b in I/Os a second, and sooner
    assert {by: found and found.policy for by, found in best.items()} == {
        "iops": "c", "latency": "a", "interrupts": "a"}
    empty = sampling.Row(policy="a", workload="w", job=None, values={})
    assert timers.best_of([empty], timers.CRITERIA["iops"]) is None


def test_a_sweep_shows_who_is_best_in_a_workload(
        fake: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_TIMER", "1")
    words = ("--policy", "default,static:time=best,static:time=50us", "--workload", "sync,async",
             "--no-plots")
    assert compare.run(parse(*words)) == 0
    captured = capsys.readouterr()
    assert "7 guests (6 timers), 7 of them to boot, at most" in captured.err
    assert ("static:time=best: timers of 2, 5, 10, 20, 50, 100 us were tried; the most I/Os a "
            "second has static:time=2us in sync, static:time=20us in async"
            ) in " ".join(captured.out.split())
    printed = captured.out.replace(str(fake), "")  # where a test's results are is no part of a line
    assert max(map(len, printed.splitlines())) <= table.WIDTH
    document = documents.load(fake / "results/latest")
    # the best ones in both workloads, and what was typed by itself
    shown = ["default", "static:time=2us", "static:time=20us", "static:time=50us"]
    assert [p["name"] for p in document["policies"]] == shown
    assert [r["policy"] for r in document["rows"]] == shown * 2
    assert [r["policy"] for r in document["runs"]] == shown
    assert document["timer"]["best"] == [{"workload": "sync", "policy": "static:time=2us"},
                                         {"workload": "async", "policy": "static:time=20us"}]
    schema = json.loads(schema_file.FILE.read_text(encoding="utf-8"))
    jsonschema.validate(document, schema)


def test_a_report_shows_all_timers_that_are_known(fake: Path,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_TIMER", "1")
    words = ("--workload", "sync,async", "--no-plots")
    plain, sweep = ("--policy", "default,cint"), ("--policy", "default,static:time=best")

    def page() -> tuple[Any, str]:
        place = fake / "results/latest"
        return documents.load(place), (place / "report.html").read_text("utf-8")

    assert compare.run(parse(*plain, *words)) == 0
    document, text = page()
    assert "timers" not in document and 'class="timers"' not in text
    assert compare.run(parse(*sweep, *words)) == 0
    assert compare.run(parse(*plain, *words)) == 0
    document, text = page()
    jsonschema.validate(document, json.loads(schema_file.FILE.read_text(encoding="utf-8")))
    assert [p["name"] for p in document["policies"]] == ["default", "cint"]
    assert [(one["workload"], one["policy"]) for one in document["timers"]] == [
        (name, f"static:time={us}us") for name in ("sync", "async") for us in timers.TIMES_US]
    assert text.count('class="timers"') == 2 and "The line is timers" in text
    # of another runtime nothing is known
    assert compare.run(parse(*plain, *words, "--runtime", "10ms")) == 0
    assert "timers" not in page()[0]


def test_a_timer_whose_guest_failed_stays_in_a_sweep(
        fake: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_GUEST", "fail")
    monkeypatch.setenv("FAKE_ONLY", "cint.static-time=30000")
    with pytest.raises(CintError):
        compare.run(parse("--policy", "static:time=best", "--workload", "sync", "--no-plots"))
    assert "warning: missing: static:time=10us" in capsys.readouterr().out
