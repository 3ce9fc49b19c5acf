# SPDX-License-Identifier: GPL-2.0-or-later
"""figures/: each is well-formed, its checks can fail, its pages say what was stored."""

from __future__ import annotations

import argparse
import base64
import dataclasses
import fnmatch
import functools
import inspect
import itertools
import json
import os
import random
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from canned import guest, log, record, snap

from cint import cli, paths
from cint.device import logpage, properties
from cint.errors import CintError, UsageError
from cint.figures import (
    arrays,
    catalog,
    checks,
    claims,
    document,
    draw,
    elsewhere,
    freshness,
    further,
    headline,
    jobs,
    page,
    probe,
    programs,
    reading,
    records,
    runner,
    traces,
    values,
    webpage,
)
from cint.figures import stored as figures_stored
from cint.figures.checks import Check, Deviation, at_least, judge, near
from cint.figures.controls import instead, mistaken, swap, together, wrong
from cint.figures.figure import (
    Figure,
    Group,
    Panel,
    Run,
    Series,
    machine,
    on_cpus,
    runs,
    settings_of,
    who_gives,
)
from cint.figures.library import cost, spdk, vic_tab8
from cint.figures.values import Data, View, against, value
from cint.guest import agent, appdisk, drivers, vm
from cint.measure import boots, comparison, fiojson, sampling, settings, workloads
from cint.measure.plan import Files, RunOutcome, RunPlan
from cint.measure.runner import Done, Reuse
from cint.measure.store import Store
from cint.options import comparing
from cint.results import plots
from cint.verbs import figure as figure_verb

FIGURES = catalog.figures()


def of_each(figures: Sequence[Figure]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A property of figures: one test, which names each figure that has it not and says why."""
    def decorate(body: Callable[..., None]) -> Callable[..., None]:
        def test(**fixtures: Any) -> None:
            wrong = []
            for figure in figures:
                try:
                    body(figure=figure, **fixtures)
                except Exception as problem:
                    wrong.append(f"{figure.id}: {problem!r}")
            assert figures
            if wrong:
                pytest.fail("\n".join(wrong))

        sought = inspect.signature(body)
        found = functools.wraps(body)(test)
        found.__signature__ = sought.replace(parameters=[  # type: ignore[attr-defined]
            one for name, one in sought.parameters.items() if name != "figure"])
        return found
    return decorate


def plan_of(wanted: runner.Wanted) -> agent.Plan:
    """What a figure's guest does."""
    return boots.guest_for(wanted.title, wanted.settings, wanted.settings.arms[0],
                           runner.rounds_of(wanted), extra=runner.extra_of(wanted)).plan


# ---- what is declared ---------------------------------------------------

@of_each(FIGURES)
def test_jobs_can_be_rendered(figure: Figure) -> None:
    for wanted in runner.known_runs(figure, quick=False):
        plan = plan_of(wanted)
        texts = [job.fio for job in plan.jobs if job.fio]
        own = [work for work in wanted.group.workloads if work.app]
        assert len(texts) == len(wanted.seeds) * (len(wanted.group.workloads) - len(own))
        scripts = {job.name: job.argv[-1] for job in plan.jobs if job.argv}
        for work, seed in itertools.product(own, wanted.seeds):
            script = scripts[boots.job_name(work, seed)]
            assert shlex.quote(work.template)[1:-1] in script and f"SEED={seed} " in script
        for text in texts:
            assert "{" not in text.replace("${", "")
            user = wanted.settings.arms[0].engine.is_user
            device = "0000.00.01.0" if user else "/dev/nvme0n1"
            assert f"filename={device}" in text or (
                wanted.group.second and "filename=/dev/nvme1n1" in text)


@of_each(FIGURES)
def test_runs_have_names_of_their_own(figure: Figure) -> None:
    names = [wanted.name for wanted in runner.known_runs(figure, quick=False)]
    assert len(set(names)) == len(names)


#: Words for how a process waits that are no mode's.
OTHER_WORDS = {"single", "asleep", "sleeps"}


@of_each(FIGURES)
def test_rows_name_the_mode_that_was_run(figure: Figure) -> None:
    """A row of the user-space driver that says how the process waits has the mode's own name."""
    for wanted in runner.known_runs(figure, quick=False):
        engine = wanted.settings.arms[0].engine
        if engine.is_user:
            text = "".join(workload.template for workload in wanted.group.workloads)
            ran = {engine.mode, *re.findall(r"^interrupt_mode=(\w+)$", text, re.MULTILINE)}
            said = set(re.findall(r"[a-z-]+", wanted.name))
            assert said.isdisjoint(OTHER_WORDS), wanted.name
            assert said.intersection(drivers.MODES) <= ran, (wanted.name, ran)


@of_each(FIGURES)
def test_three_seeds(figure: Figure) -> None:
    assert {len(group.seeds) for group in figure.groups} == {3}


@of_each([f for f in FIGURES if f.family in ("cinterrupts", "apps")])
def test_figures_about_hints_are_measured_without_them(figure: Figure) -> None:
    """The negative control: the policy that acts on hints, in a guest that gives none."""
    run = [(wanted.settings.arms[0].policy.kind == "cint", wanted.run.hints)
           for wanted in runner.known_runs(figure, quick=False)]
    assert (True, False) in run or (True, True) not in run


@of_each(FIGURES)
def test_extras_are_off(figure: Figure) -> None:
    """What a paper has runs without the device's own additions; see device_properties()."""
    for wanted in runner.known_runs(figure, quick=False):
        chosen = wanted.settings
        arm = chosen.arms[0]
        device = dict(guest(chosen, arm).machine.properties)
        if arm.policy.kind == "auto" or wanted.run.extras == "device":
            assert "cint.drain" not in device and device["cint.max-hold"] != 0
            continue
        assert device["cint.drain"] == ("on" if "drain=on" in arm.policy.name else "off")
        assert (device["cint.max-hold"] == 0) is (arm.policy.kind not in ("vic", "pointer"))


def test_identifiers_are_unique() -> None:
    every = [f.id for f in FIGURES] + [n.id for n in catalog.not_done()]
    assert len(set(every)) == len(every)


#: The papers' words for a figure, and the figures' own.
KINDS = {"Table": "tab", "Figure": "fig"}


@of_each(FIGURES)
def test_a_figure_that_is_left_out_is_listed(figure: Figure) -> None:
    """What a remark says is not done has a name in the list, and a reason there."""
    prefix = figure.id.partition("-")[0]
    known = {f.id for f in FIGURES} | {n.id for n in catalog.not_done()}
    for text in figure.left_out:
        for kind, number in re.findall(r"(Table|Figure) (\d+)", text):
            assert f"{prefix}-{KINDS[kind]}{number}" in known


def test_what_is_not_done_is_of_a_paper_and_says_why() -> None:
    assert {n.id for n in catalog.not_done()} == {"lm-410", "vic-tab9", "blk-fig12"}
    assert all(n.family in catalog.FAMILIES and n.reason for n in catalog.not_done())
    with pytest.raises(UsageError, match="vic-tab9 is not done: is of the time"):
        catalog.choose(["vic-tab9"], None, False)


@of_each(FIGURES)
def test_checks_have_names_of_their_own(figure: Figure) -> None:
    names = [one.name for check in figure.checks for one in (check, *check.cells)]
    assert len(set(names)) == len(names)
    assert names


def test_what_cannot_be_chosen_is_said() -> None:
    with pytest.raises(UsageError, match="no figure 'cint-fig99'"):
        catalog.choose(["cint-fig99"], None, False)
    with pytest.raises(UsageError, match="lm-410 is not done: compares two kernels"):
        catalog.choose(["lm-410"], None, False)
    with pytest.raises(UsageError, match="--set tpc: valid: cinterrupts, vault, spdk, vic, auto, "
                                         "cost, machines, polling, blk-switch, apps, guests, "
                                         "marks"):
        catalog.choose([], "tpc", False)
    with pytest.raises(UsageError, match="which figures"):
        catalog.choose([], None, False)
    assert catalog.choose([], None, True) == list(FIGURES)
    assert [f.id for f in catalog.choose(["vic-low", "cint-fig8"], None, False)] \
        == ["cint-fig8", "vic-low"]


def test_docs_need_a_full_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["figure", "--docs", "--quick", "vic-low"]) == 2
    assert "not with --quick" in capsys.readouterr().err


def compared(wanted: runner.Wanted) -> settings.Settings:
    """The settings of ./cint compare with the words that say a figure's run."""
    group, run = wanted.group, wanted.run
    parser = argparse.ArgumentParser()
    comparing.add_options(parser)
    words = ("--policy", run.policy, "--polling", run.polling, "--engine", run.engine,
             "--steering", run.steering, "--extras", run.extras, "--guest", group.guest, "--hints",
             "off" if not run.hints else who_gives(group, run),
             "--media", group.media, "--vcpus", str(group.vcpus), "--runtime",
             f"{group.seconds(quick=False)}s", "--cpu-scale", str(group.cpu_scale),
             "--workload", "sync",
             *(["--device-opts", group.device_opts] if group.device_opts else []),
             *(["--irq-cost", str(group.cost_ns)] if group.guest == "cint" else []))
    found = comparing.settings_from(parser.parse_args(words))
    # fio's jobs are the figure's own; the ramp is a tenth there.
    return dataclasses.replace(found, workloads=group.workloads, timing=wanted.settings.timing)


def bare(wanted: runner.Wanted) -> runner.Wanted:
    """The run with one seed and nothing that only figures can ask for."""
    group = dataclasses.replace(wanted.group, seeds=(1,), trace=(), append=(), setup=(),
                                second="", probed=False, preempt="")
    return dataclasses.replace(wanted, group=group)


def by_seed(run: RunPlan) -> RunPlan:
    """The run with its jobs named by their seeds, as in figures, and not by the repeat from 0."""
    jobs = tuple(dataclasses.replace(job, name=job.name.replace("/0", "/1"))
                 for job in run.jobs.jobs)
    return dataclasses.replace(run, jobs=dataclasses.replace(run.jobs, jobs=jobs))


@of_each([*FIGURES, *(on_cpus(f, 4) for f in FIGURES[:3])])
def test_compare_with_the_same_words_is_the_same_run(
        figure: Figure, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of a figure's run is that of the comparison which says the same."""
    monkeypatch.setattr(Files, "of", lambda _: Files((), {}))
    for wanted in map(bare, runner.known_runs(figure, quick=False)):
        policy = properties.parse_policy(wanted.run.policy)
        if not wanted.run.hints and properties.inferred(policy) is not policy:
            continue  # where there are no hints compare has the device infer them
        chosen = compared(wanted)
        run = comparison.asked_for(comparison.compose(chosen))[0].run
        assert by_seed(run).key() == runner.run_of(wanted)[0].key(), wanted.title


def test_guests_of_several_cpus(capsys: pytest.CaptureFixture[str]) -> None:
    """The tool multiplies the scale, and the jobs stay on the first CPU."""
    figure, = catalog.choose(["cint-fig9"], None, False)
    one, = {w.settings.k for w in runner.known_runs(figure, quick=False)}
    for wanted in runner.known_runs(on_cpus(figure, 4), quick=False):
        assert wanted.settings.vcpus == 4
        assert wanted.settings.k == 4 * one
        # the host goes through all CPUs' instructions, one CPU after the other
        assert wanted.settings.boot_limit_s == 4 * vm.BOOT_LIMIT_S
        assert all("cpus_allowed=0" in job.fio for job in plan_of(wanted).jobs if job.fio)
    assert cli.main(["figure", "--docs", "--vcpus", "2", "vic-low"]) == 2
    assert "not with --vcpus" in capsys.readouterr().err


def test_a_figure_in_the_distributions_guest(capsys: pytest.CaptureFixture[str],
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    """The first who gives hints is checked; of the others each is a row."""
    monkeypatch.setattr(Files, "of", lambda _: Files((), {}))
    figure, = catalog.choose(["cint-fig10"], None, False)
    moved = elsewhere.in_guest(figure, "distro", ["module", "off"])
    assert moved.checks == figure.checks
    found = {w.run.title: w for w in runner.known_runs(moved, quick=False)}
    assert set(found) > {w.run.title for w in runner.known_runs(figure, quick=False)}
    assert found["cint"].settings.arms[0].hints == "module"
    assert found["cint/off"].settings.arms[0].hints == "off"
    assert found["cint/off"].run.policy.endswith(",infer=all")
    for wanted in found.values():
        plan, _ = runner.run_of(wanted)
        assert not any("irq_cost_ns" in word for word in plan.argv)
        assert not any("hint" in job.fio for job in plan_of(wanted).jobs if job.fio)
    assert cli.main(["figure", "--docs", "--guest", "distro", "vic-low"]) == 2
    assert "not with --guest" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "guest", "words", "why"), [
    ("lm-hybrid", "distro", "module", "lm-hybrid needs our kernel and image: polling"),
    ("guests", "cint", "on", "guests is about the distribution's kernel"),
    ("cint-fig18", "distro", "module", "cint-fig18 chooses runs by what it measured"),
    ("cint-fig9", "distro", "on", "--hints on: the distribution's kernel has no hints"),
    ("cint-fig9", "cint", "module", "--hints module: our kernel gives hints by itself")])
def test_a_figure_that_this_guest_cannot_do(name: str, guest: str, words: str, why: str,
                                            capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["figure", name, "--guest", guest, "--hints", words]) == 2
    assert why in capsys.readouterr().err


@of_each(FIGURES)
def test_a_policy_of_ones_own_stands_beside_the_papers(figure: Figure) -> None:
    compared = any(not callable(g.runs) and len({r.policy for r in g.runs}) > 1
                   for g in figure.groups)
    if not compared:
        with pytest.raises(UsageError, match=f"--policy: {figure.id} compares no policies"):
            further.with_policies(figure, ["adaptive:delta=7us"])
        return
    wider = further.with_policies(figure, ["adaptive:delta=7us"])
    assert wider.checks == figure.checks
    before = {w.title for w in runner.known_runs(figure, quick=False)}
    new = [w for w in runner.known_runs(wider, quick=False) if w.title not in before]
    assert new and {w.run.policy for w in new} == {"adaptive:delta=7us"}
    assert all(plan_of(w).jobs for w in new)


def copied(figure: Figure, data: Data, policy: str) -> Data:
    """The stored data, and under a new policy what the first run of each of its groups has."""
    cells = dict(data.cells)
    for group in figure.groups:
        if not callable(group.runs) and group.prefix + group.runs[0].title in cells:
            cells[group.prefix + policy] = cells[group.prefix + group.runs[0].title]
    return Data(cells, data.curves, data.timelines)


@pytest.mark.parametrize("name", ["cint-fig8", "cint-fig10", "poll-depth"])
def test_a_policy_of_ones_own_is_drawn(name: str) -> None:
    figure, = catalog.choose([name], None, False)
    entry = document.stored(name)
    assert entry is not None
    wider = further.with_policies(figure, ["adaptive:delta=7us"])
    data = copied(figure, Data.from_dict(entry["data"]), "adaptive:delta=7us")
    assert draw.svg(wider, data).count(">adaptive:delta=7us<") == len(figure.panels)
    assert any("adaptive:delta=7us" in title for title, _ in page.rows(wider, data))


def test_bars_of_a_further_policy_are_its_own() -> None:
    figure, = catalog.choose(["cint-fig8"], None, False)
    wider = further.with_policies(figure, ["vic", "adaptive"])
    data = Data({"vic": {"async": [{"iops": 50.0}]}, "adaptive": {"async": [{"iops": 200.0}]}})
    names = [x for x, _ in wider.panels[1].series[0].points]
    assert names == ["default", "nvme100", "nvme20", "nvme6", "adaptive", "vic"]
    bar = wider.panels[1].series[0].points[-1][1]
    assert isinstance(bar, values.Expr)
    assert bar.of(View(data, 0)) == 0.25  # to adaptive's, as the others
    assert wider.panels[1].series[1] == figure.panels[1].series[1]


def test_a_further_policy_stands_beside_runs_whose_guest_does_the_same() -> None:
    """Runs of blk-matrix have a comma in their names, and differ in steering."""
    figure, = catalog.choose(["blk-matrix"], None, False)
    wider = further.with_policies(figure, ["vic"])
    shown = {(panel.title, series.label): "vic" in dict(series.points)
             for panel in wider.panels for series in panel.series}
    assert set(shown.values()) == {True, False}
    assert all(found == (label == "off") for (_, label), found in shown.items())


def test_which_run_a_further_policy_stands_for_is_not_left_to_chance() -> None:
    """A point may be about two runs of its own; Python's order of a set differs by process."""
    code = ("import sys; sys.path.insert(0, 'tools'); "
            "from cint.figures import catalog, further; "
            "figure, = catalog.choose(['cint-fig3'], None, False); "
            "wider = further.with_policies(figure, ['vic', 'adaptive:delta=7us']); "
            "print([e.text for p in wider.panels for s in p.series for _, e in s.points "
            "if not isinstance(e, (int, float))])")
    said = {subprocess.run([sys.executable, "-c", code], cwd=paths.ROOT, text=True, check=True,
                           capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed}).stdout
            for seed in "012345"}
    assert len(said) == 1


def test_the_list_has_what_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    def listed(*words: str) -> list[str]:
        assert cli.main(["figure", "--list", "--json", *words]) == 0
        found = [one["id"] for one in json.loads(capsys.readouterr().out)]
        assert cli.main(["figure", "--list", *words]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines if line.startswith("  ")] or not found
        assert {line.split()[0] for line in lines if line.startswith("  ")} == set(found)
        return found

    every = listed()
    assert len(every) == len(catalog.figures()) + len(catalog.not_done())
    ours = listed("--set", "vic")
    assert ours and set(ours) < set(every) and all(name.startswith("vic-") for name in ours)
    assert listed("vic-low", "cint-fig8") == ["cint-fig8", "vic-low"]
    assert cli.main(["figure", "--list", "vic-lwo"]) == 2
    assert cli.main(["figure", "--list", "--set", "vci"]) == 2


@pytest.mark.parametrize(("policy", "why"), [
    ("stock", "means nothing in virtual time"),
    ("split:l=cint,t=adaptive", "with --steering off there is one queue"),
    ("adaptive:delta=900ms", "at scale 3.11 the device takes at least"),
])
def test_a_further_policy_that_no_guest_can_have(policy: str, why: str) -> None:
    figure, = catalog.choose(["cint-fig8"], None, False)
    with pytest.raises(UsageError, match=why):
        further.with_policies(figure, ["vic", policy])


def test_lines_of_a_further_policy(capsys: pytest.CaptureFixture[str]) -> None:
    """A line where each is a policy's; none where a line's points are parameters."""
    depth, = catalog.choose(["poll-depth"], None, False)
    wider = further.with_policies(depth, ["vic"])
    assert [s.label for s in wider.panels[0].series][-1] == "vic"
    sweep, = catalog.choose(["cint-fig11"], None, False)
    assert further.with_policies(sweep, ["vic"]).panels == sweep.panels
    assert cli.main(["figure", "--docs", "--policy", "vic", "cint-fig8"]) == 2
    assert "not with --policy" in capsys.readouterr().err
    assert cli.main(["figure", "--policy", "vci", "cint-fig8"]) == 2
    assert "did you mean vic" in capsys.readouterr().err


def test_a_property_names_every_figure_that_has_it_not() -> None:
    @of_each(FIGURES[:3])
    def test_of(figure: Figure, tmp_path: str) -> None:
        assert figure.id == FIGURES[1].id, tmp_path

    assert list(inspect.signature(test_of).parameters) == ["tmp_path"]
    with pytest.raises(pytest.fail.Exception) as caught:
        test_of(tmp_path="why")
    told = [line.partition(":")[0] for line in str(caught.value).splitlines() if "why" in line]
    assert told == [FIGURES[0].id, FIGURES[2].id]


def test_a_directory_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("mine")
    (tmp_path / "logs").mkdir()
    assert figure_verb._directory(tmp_path) == tmp_path.resolve()
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(CintError, match="not empty"):
        figure_verb._directory(tmp_path)


# ---- stored results: the controls of all figures ---------------------------

STORED = [figure for figure in FIGURES if document.stored(figure.id)]


def stored(figure: Figure) -> document.Entry:
    found = document.stored(figure.id)
    assert found is not None
    return found


@of_each(STORED)
def test_every_check_can_fail(figure: Figure) -> None:
    """With the stored outcomes of runs, or single numbers, exchanged."""
    data = Data.from_dict(stored(figure)["data"])
    blind = [c.name for c in figure.checks if checks.judge_control(c, data) != checks.FAIL]
    assert blind == []


#: Checks that no exchange of their figure's runs makes fail, so that the wanted value is wrong.
NOTHING_TO_EXCHANGE = (
    ("cint-tab3", "writes a second, *",
     "a load is bound by the CPU: every run has as many, which is what is claimed"),
    ("lm-tail", "reads that decide, *", "it says how large the sample is; every run's is larger"),
    ("vic-tab1", "epochs that were measured", "every job has as many"),
)
#: Deviations that reach into what is wanted.
ON_BOTH_SIDES = (
    ("blk-fig2", "per byte, off: T, both against alone", "what T has alone differs by a tenth"),
    ("cint-tab7", "4 threads: latency of a get, default against cint",
     "with each seed the store takes another part of the CPU"),
    ("marks-grid", "optane/*io* 256:*", "what marks cost is as much as may be lacking"),
    ("marks-grid", "optane/libaio 256 by 32, min 1:*", "the job settles in one of two rhythms"),
    ("vic-tab8", "threshold 4: I/Os a second against default", "they follow the transactions"),
    ("vic-tab8", "threshold 4: latency of an I/O against default", "it follows the transactions"),
)


def named(figure: Figure, found: Check, known: Sequence[tuple[str, str, str]]) -> bool:
    return any(figure.id == of and fnmatch.fnmatchcase(found.name, pattern)
               for of, pattern, _ in known)


@of_each(FIGURES)
def test_controls_exchange_what_was_measured(figure: Figure) -> None:
    """But for those that are named, whose bounds are wrong in the way that can fail."""
    every = list(checks.singly(figure.checks))
    factors = [c for c in every if c.control.factor != 1]
    assert factors == [c for c in every if named(figure, c, NOTHING_TO_EXCHANGE)]
    assert [c.name for c in every if (c.control.factor == 1) is not bool(
        c.control.renamed or c.control.moved)] == []
    assert [c.name for c in factors if c.low * c.control.factor <= c.low
            and c.high * c.control.factor >= c.high] == []


def overlap(check: Check) -> bool:
    """Whether a number would be both wanted and an expected failure."""
    known = check.deviation
    return known is not None and known.low <= check.high and check.low <= known.high


@of_each(FIGURES)
def test_no_deviation_reaches_into_what_is_wanted(figure: Figure) -> None:
    """But for those that are named, some of whose seeds hold and some do not."""
    every = list(checks.singly(figure.checks))
    both = [c.name for c in every if overlap(c)]
    assert both == [c.name for c in every if named(figure, c, ON_BOTH_SIDES)]
    if both:
        data = Data.from_dict(stored(figure)["data"])
        seeds = {c.name: judge(c, data).seeds for c in every if overlap(c)}
        assert [c.name for c in every if overlap(c)
                and not checks.held(seeds[c.name], c.low, c.high)] == []


@dataclasses.dataclass(frozen=True)
class Drawn(View):
    """Any number for what was measured; each seed is another lot."""

    def number(self, name: str, run: str, cell: str) -> float:
        lot = (self.seed, *self.place(name, run, cell))
        return 1 + random.Random("/".join(map(str, lot))).random()


def always(check: Check) -> float | None:
    """The number that a check's control ends in whatever was measured, if there is one."""
    control = check.control
    found = {check.measure.of(Drawn(Data(), lot, control.renamed, control.moved))
             for lot in range(8)}
    return found.pop() if control.factor == 1 and len(found) == 1 else None


@of_each(FIGURES)
def test_no_exchange_ends_in_what_is_expected(figure: Figure) -> None:
    """A run in place of that which it is compared with is a ratio of 1, measured or not."""
    def is_blind(check: Check, number: float) -> bool:
        known = check.deviation
        holds = check.low <= number <= check.high
        return holds if known is None else not holds and known.low <= number <= known.high

    blind = [c.name for c in checks.singly(figure.checks)
             if (number := always(c)) is not None and is_blind(c, number)]
    assert blind == []


@of_each(STORED)
def test_stored_verdicts_are_those_of_today(figure: Figure) -> None:
    """A check that is changed has to be measured, and written down, again."""
    entry = stored(figure)
    data = Data.from_dict(entry["data"])
    assert [judge(c, data).as_dict() for c in figure.checks] == entry["checks"]


@of_each(STORED)
def test_a_point_or_a_check_is_a_line(figure: Figure) -> None:
    entry, text = stored(figure), (document.STORED / f"{figure.id}.json").read_text("utf-8")
    assert document.as_text(entry) == text
    # the first of several comes after their name
    lines = {re.sub(r'^("[^"]*": )?\[', "", line.strip()).rstrip("],")
             for line in text.splitlines()}
    assert {json.dumps(check) for check in records.singly(entry["checks"])} <= lines
    assert {json.dumps(point) for run in entry["data"]["cells"].values()
            for points in run.values() for point in points} <= lines


def test_the_tree_holds_numbers_and_what_documents_show_of_them() -> None:
    """The list and the drawings are what the numbers give; there is no other file."""
    made = dict(figures_stored.in_tree())
    assert [path.name for path, text in made.items() if path.read_text("utf-8") != text] == []
    assert {document.LIST, headline.PATH} < set(made)
    numbers = {document.STORED / f"{figure.id}.json" for figure in STORED}
    assert set(document.STORED.iterdir()) == numbers | {
        path for path in made if path.parent == document.STORED}
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in document.STORED.iterdir())
    assert lines <= 20_000


@pytest.mark.parametrize("seed", range(4))
def test_the_words_of_the_first_pages_picture_cover_nothing(seed: int) -> None:
    """Not each other, and no mark; also where the numbers are others (of seed 0 they are as is)."""
    data, guessed = (Data.from_dict(entry["data"]) for entry in map(
        document.stored, ("timers", "auto-grid")) if entry is not None)
    drawn = random.Random(seed)
    spread = (0.8, 1.05) if seed else (1, 1)
    lines = [dataclasses.replace(line, marks=[
        dataclasses.replace(one, x=one.x * drawn.uniform(*spread),
                            y=one.y * drawn.uniform(*spread)) for one in line.marks])
             for line in headline.lines_of(data, guessed)]
    drawing, boxes = headline.drawn(lines)
    axis = drawing.axes[0]
    for line in lines:
        for one in line.marks:
            x, y = axis.transData.transform((one.x, one.y))
            assert not any(box.distance((x, -y)) < 3 for box in boxes), one
    assert not any(one.meets(other) for one, other in itertools.combinations(boxes, 2))
    assert len({one.words for line in lines for one in line.marks}) > 12
    plots.pyplot().close(drawing)


def _share(name: str, run: str, base: str, cell: str = "mixed") -> values.Expr:
    """By how many percent a run has more than another."""
    return (against(name, run, base, cell) - 1) * 100


def _of_cint(name: str, load: values.Cell) -> values.Expr:
    """The best timer's of a load, as a ratio to cint's."""
    return cost.best(name, load) / load(name, "cint")


_T10, _T20, _C12 = "timer 10 us", "timer 20 us", "cint 12 us"
#: What a page says in words of a figure's stored numbers.
_IN_WORDS = [
    ("README.md", "timers", values.said(
        "it sends {:.2f} times the interrupts of a timer of 10 us, and the waiting thread has its "
        "read {:.0f} % sooner; the timer has {:.0f} % more reads",
        against("device_irqs", _C12, _T10, "mixed"),
        _share("mean_us", _C12, _T10) * -1, _share("iops", _T10, _C12))),
    ("README.md", "timers", values.said(
        "one of 10 us makes its latency {:.1f} times as long, and `cint` leaves it as it is",
        against("mean_us", _T10, "default", "sync"))),
    ("README.md", "timers-loads", values.said(
        "of {:.0f} us for a lone read, of {:.0f} us for batches of 16, of {:.0f} us in the mixed "
        "load", *map(cost.which, (cost.ALONE, cost.IN_BATCHES, cost.BESIDE_ONE)))),
    ("docs/tour.md", "timers", values.said(
        "A timer of 10 us sends {:.2f} times the interrupts of `cint` with a delta of 12 us and "
        "has {:.0f} % more reads in all; one of 20 us has {:.0f} % more, with fewer interrupts. "
        "A read of the waiting thread then takes {:.2f} and {:.2f} times as long as under "
        "`default`, and {:.2f} times under `cint`.", against("device_irqs", _T10, _C12, "mixed"),
        _share("iops", _T10, _C12), _share("iops", _T20, _C12),
        *(against("mean_us", run, "default", "mixed") for run in (_T10, _T20, _C12)))),
    ("docs/tour.md", "timers", values.said(
        "these timers take {:.1f} and {:.1f} times `default`'s latency",
        *(against("mean_us", run, "default", "sync") for run in (_T10, _T20)))),
    ("docs/tour.md", "timers", values.said(
        "gives the waiting thread another {:.0f} %, and takes it from the others: all reads "
        "together are {:.2f} times `default`'s",
        _share("mean_us", "cint+ooo 12 us", _C12) * -1,
        against("iops", "cint+ooo 12 us", "default", "mixed"))),
    *(("docs/tour.md", "timers-loads", words) for words in (
        values.said("A lone read: {:.0f} us, the shortest tried, which makes the read take {:.2f} "
                    "times as long as under `cint`.", cost.which(cost.ALONE),
                    cost.best("mean_us", cost.ALONE) / cost.ALONE("mean_us", "cint")),
        values.said("Batches of 16: {:.0f} us. Hints add nothing: it has {:.2f} times the reads of "
                    "`cint` and {:.2f} times its interrupts.", cost.which(cost.IN_BATCHES),
                    _of_cint("iops", cost.IN_BATCHES), _of_cint("device_irqs", cost.IN_BATCHES)),
        values.said("`mixed`: {:.0f} us, with {:.2f} times the reads of `cint`. Who waits does so "
                    "{:.2f} times as long as under `cint`, and {:.2f} times as long as under "
                    "`auto`.", cost.which(cost.BESIDE_ONE), _of_cint("iops", cost.BESIDE_ONE),
                    _of_cint("mean_us", cost.BESIDE_ONE),
                    cost.best("mean_us", cost.BESIDE_ONE) / cost.BESIDE_ONE("mean_us", "auto")),
        values.said("submitted one by one: {:.0f} us, with {:.2f} times the reads of `cint`. Hints "
                    "add nothing there, and `auto`, which needs none, has {:.2f} times the timer's "
                    "reads.", cost.which(cost.ONE_BY_ONE), _of_cint("iops", cost.ONE_BY_ONE),
                    cost.ONE_BY_ONE("iops", "auto") / cost.best("iops", cost.ONE_BY_ONE)),
        values.said("beside another job: {:.0f} us, with {:.2f} times the reads of `cint`, and "
                    "{:.2f} times its latency for who waits.", cost.which(cost.TWO),
                    _of_cint("iops", cost.TWO), _of_cint("mean_us", cost.TWO)))),
    ("docs/tour.md", "dgx", values.said(
        "sends one interrupt for {:.1f} reads at a depth of 32. `cint` and `auto` leave the lone "
        "read as it is, and send one for {:.1f} and {:.1f} reads.",
        *(value("ios_per_irq", run, "depth 32") for run in ("8 / 144 us", "cint", "auto")))),
    ("docs/policies.md", "auto-ablation", values.said(
        "a lone read takes {:.2f} times as long, who waits beside libaio {:.2f} times, and libaio "
        "at depth 32 has {:.1f} times the interrupts",
        against("mean_us", "price", "auto", "sync"),
        against("mean_us", "price", "auto", "mixed.sync"),
        against("device_irqs", "price", "auto", "libaio 32"))),
    ("docs/policies.md", "auto-ablation", values.said(
        "It has more reads at depth 8, {:.2f} times, and with four threads that wait, {:.2f} times",
        *(against("iops", "price", "auto", cell) for cell in ("libaio 8", "sync 4")))),
]


def test_a_page_counts_the_claims_that_hold() -> None:
    for figure in ("auto-grid", "auto-machines"):
        entry = document.stored(figure)
        assert entry is not None
        checks = entry["checks"]
        held = sum(check["verdict"] == "pass" for check in checks)
        text = (paths.ROOT / "docs/auto.md").read_text("utf-8")
        assert f"{held} of {len(checks)} claims" in " ".join(text.split()), figure


@pytest.mark.parametrize(("name", "figure", "words"), _IN_WORDS)
def test_what_a_page_says_in_words_is_what_is_stored(
        name: str, figure: str, words: values.Said) -> None:
    entry = document.stored(figure)
    assert entry is not None
    text = " ".join((paths.ROOT / name).read_text("utf-8").split())
    said = words.of(Data.from_dict(entry["data"]))
    if said not in text:
        pytest.fail(f"{name} has to say, by docs/figures/{figure}.json: {said}", pytrace=False)


@pytest.mark.parametrize("family", catalog.FAMILIES)
def test_what_is_stored_of_a_paper_is_of_one_commit(family: str) -> None:
    assert len({stored(f)["commit"] for f in STORED if f.family == family}) <= 1


def told(ns: int, **more: Any) -> sampling.DeviceDelta:
    """Of a device, one of whose completions the process saw after so long."""
    seen = logpage.Hist(ns, ns, (0,) * (logpage.HIST_BUCKETS - 1) + (1,))
    return sampling.DeviceDelta(1, 1, 0, 0, post_to_head=seen, **more)


@pytest.mark.parametrize(("bins", "device", "said"), [
    ({20_000: 900, 899_000_000: 1}, told(899_000_000), ""),
    ({20_000: 900, 1_000_200_000: 1}, None, "0 interrupts of max-hold, and .* up to 1000 ms"),
    ({}, told(1_000_200_000), "0 interrupts of max-hold, and .* up to 1000 ms"),
    ({}, told(20_000, reasons={"max-hold": 2}), "2 interrupts of max-hold"),
])
def test_a_process_that_was_not_woken_is_no_measurement(
        bins: dict[int, int], device: sampling.DeviceDelta | None, said: str) -> None:
    one = sampling.Sample(policy="coalesced", workload="seqread", repeat=1,
                          jobs={"job": fiojson.JobStats("job", 1, 1.0, 1.0, bins, 1)},
                          guest_interrupts=None, elapsed_s=0.0, cpu_share=None, device=device)
    with pytest.raises(CintError, match=said) if said else nullcontext():
        reading.check_woken(one)


# ---- programs ---------------------------------------------------------------

#: What a program told in guest time, and what points have of it in reported time, at scale 2.
TOLD = {
    "throughput 100 1/s": ("a", {"throughput_per_s": 200.0}),
    "mean 3 ms": ("a", {"mean_us": 1500.0}),
    "p99.9 8 us": ("a", {"p999_us": 4.0}),
    "cpu 71 %": ("a", {"cpu_percent": 71.0}),
    "count 12": ("a", {"ios": 12.0}),
    "ios_per_irq 3.5": ("a", {"ios_per_irq": 3.5}),
    "read.p99.9 8000 ns": ("a.read", {"p999_us": 4.0}),
    "x.read.count 7": ("a.x.read", {"ios": 7.0}),
}


def program_boot(*lines: str) -> reading.Booted:
    """A boot of the program `a` that told this; the device saw 100 I/Os and 20 interrupts."""
    work = programs.part("kvell", "a", "a part", "true", 5)
    group = Group(runs("default"), (work,), cpu_scale=2.0, seeds=(1,))
    message = {"before": snap(0, 0, 0) | {"block": "0 " * 17},
               "after": snap(2_000_000_000, 20, 100) | {"block": "100 " + "0 " * 16},
               "stdout": "".join(f"cint-metric {line}\n" for line in lines)}
    outcome = SimpleNamespace(results={"a/1": message})
    chosen = settings_of(group, Run("default"), quick=False)
    return reading.Booted("default", chosen, (1,), outcome, "")  # type: ignore[arg-type]


def test_what_a_program_told_are_points_of_its_cells() -> None:
    data = Data()
    reading.told(program_boot(*TOLD), data)
    cells = data.cells["default"]
    for cell, point in TOLD.values():
        assert point.items() <= cells[cell][0].items()
    assert set(cells) == {cell for cell, _ in TOLD.values()}
    # what the device counted is there, too, but for what the program knows better
    assert cells["a"][0]["iops"] == 100 and cells["a"][0]["irqs_per_io"] == 0.2
    assert cells["a"][0]["ios_per_irq"] == 3.5
    assert value("p999_us", "default", "a.read").percentiles


def test_a_name_without_a_number_and_a_job_without_a_program_are_no_points() -> None:
    with pytest.raises(CintError, match=r"a told 'a\.9\.9', which is no name"):
        reading.told(program_boot("a.9.9 1"), Data())
    boot = dataclasses.replace(program_boot(), settings=settings_of(
        Group(runs("default"), (jobs.SYNC,)), Run("default"), quick=False))
    with pytest.raises(CintError, match="sync is no program that tells numbers"):
        reading.told(boot, Data())


def test_parts_of_a_program_have_its_disk_and_names_of_their_own() -> None:
    whole = programs.described("kvell")
    one, two = (programs.part("kvell", name, "a part", f"echo {name}", 5) for name in ("b", "c"))
    assert one.app and two.app and one.app.disk == two.app.disk == whole.disk
    assert (one.name, two.name, whole.name) == ("b", "c", "kvell")
    assert (one.app.run, one.app.limit_s, one.title) == ("echo b", 5, "a part")
    figure = dataclasses.replace(SMALL, groups=(Group(runs("default"), (one, two)),))
    assert programs.disks([figure, figure, SMALL]) == [whole.disk]


def test_a_guest_has_the_disk_of_one_program() -> None:
    """A second program would run on the first one's disk."""
    one, two = (programs.part(name, name, "a part", "true", 5) for name in ("kvell", "sqlite"))
    for works in ((one, two), (one, jobs.SYNC), (jobs.SYNC, one)):
        with pytest.raises(CintError, match=f"{works[0].name} and {works[1].name}: not in one"):
            assert settings_of(Group(runs("default"), works), Run("default"), quick=False).app


def test_disks_are_looked_up_before_the_first_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they cost is said, and a package that is missing refused, before a minute is spent."""
    done: list[tuple[str, str]] = []
    monkeypatch.setattr(appdisk, "look_up", lambda disk: done.append(("look", disk.owner)))
    monkeypatch.setattr(appdisk, "make", lambda disk: done.append(("make", disk.owner)))
    figure = dataclasses.replace(SMALL, groups=tuple(
        Group(runs("default"), (programs.part(name, name, "", "true", 5),))
        for name in ("kvell", "sqlite")))
    programs.make_disks([figure])
    assert [what for what, _ in done] == ["look", "look", "make", "make"]
    assert [Path(owner).name for _, owner in done[2:]] == ["kvell.toml", "sqlite.toml"]


def test_of_guests_whose_disk_is_not_here_nothing_is_said(monkeypatch: pytest.MonkeyPatch,
                                                          tmp_path: Path) -> None:
    figure = dataclasses.replace(SMALL, groups=(
        Group(runs("default"), (programs.part("kvell", "a", "", "true", 5),)),))
    monkeypatch.setattr(appdisk, "place", lambda _: tmp_path / "disk.raw")
    entry: Any = {"commit": "cint 0123abc", "runs": {}, "data": TWO.as_dict()}
    found = freshness.stale(figure, entry)
    assert found.startswith("measured at cint 0123abc: the disk of its programs is not here")
    assert freshness.others(figure, entry) == []
    (tmp_path / "disk.raw").touch()
    assert programs.missing(figure) == []


def test_of_guests_whose_kernel_is_not_here_nothing_is_said(monkeypatch: pytest.MonkeyPatch,
                                                            tmp_path: Path) -> None:
    """One that only a few figures need is not built with the rest."""
    monkeypatch.setattr(paths, "LINUX_PREEMPT_BUILD", tmp_path)
    group = Group(runs("default"), (jobs.SYNC,), preempt="full")
    figure = dataclasses.replace(SMALL, groups=(group,))
    entry: Any = {"commit": "cint 0123abc", "runs": {"default": "ab12"}, "data": TWO.as_dict()}
    found = freshness.stale(figure, entry)
    assert found.startswith("measured at cint 0123abc: ")
    assert "is not built" in found and "nothing can be said of its guests" in found
    assert freshness.others(figure, entry) == []


# ---- the papers' claims ---------------------------------------------------

PAPERS = ("cinterrupts", "vault", "spdk", "vic", "blk-switch", "apps")


def declared(figure: Figure) -> list[records.Check]:
    """The checks as far as claims look at them, whether the figure was measured or not."""
    found: list[Any] = [{"name": check.name, "paper": check.paper}
                        for check in checks.singly(figure.checks)]
    return found


@of_each([f for f in FIGURES if document.stored(f.id) or f.id in claims.CLAIMS])
def test_what_a_paper_says_is_of_one_claim(figure: Figure) -> None:
    """No check with the paper's value is left out of its claims or counts for two of them."""
    found = declared(figure)
    said = {c["name"] for c in found if claims.of_paper(c)}
    chosen = [c["name"] for claim in claims.of_figure(figure.id)
              for c in claims.of_claim(claim, found)]
    if figure.family in PAPERS:
        assert sorted(chosen) == sorted(said)
    else:
        assert not chosen


@of_each([f for f in FIGURES if f.id in claims.CLAIMS])
def test_every_form_of_a_claim_names_a_check(figure: Figure) -> None:
    for claim in claims.of_figure(figure.id):
        for form in claim.checks:
            assert claims.of_claim(claims.Claim("", (form,)), declared(figure)), form


def test_claims_are_of_figures_that_there_are() -> None:
    assert set(claims.CLAIMS) <= {figure.id for figure in FIGURES}


@pytest.mark.parametrize(("paper", "measured", "verdict", "name", "wanted"), [
    (2.0, 1.9, "pass", "a", claims.REPRODUCED),
    (2.0, 1.6, "pass", "a", claims.REPRODUCED),
    (2.0, 1.59, "pass", "a", claims.SHAPE),
    (2.0, 2.51, "pass", "a", claims.SHAPE),
    (0, 0.01, "pass", "a", claims.REPRODUCED),
    ("rises", 7.0, "pass", "a", claims.REPRODUCED),
    ("10 to 25", 9.3, "pass", "a", claims.REPRODUCED),
    ("10 to 25", 7.9, "pass", "a", claims.SHAPE),
    ("more than 10", 99.0, "pass", "a", claims.REPRODUCED),
    ("to 8", 1.0, "pass", "a", claims.REPRODUCED),
    ("15-fold", 11.9, "pass", "a", claims.SHAPE),
    (2.0, 2.0, "expected-fail", "CPU", claims.NOT),
    (1.35, 1.22, "expected-fail", "IOPS, a against b", claims.SHAPE),
    (1.15, 0.89, "expected-fail", "IOPS, a against b", claims.NOT),
    (0.59, 0.76, "expected-fail", "latency, a against b", claims.SHAPE),
    (1.0, 1.1, "expected-fail", "latency, a against b", claims.NOT),
    ("rises", 1.1, "expected-fail", "latency, a against b", claims.NOT),
])
def test_what_becomes_of_a_claim(paper: float | str, measured: float, verdict: str, name: str,
                                 wanted: str) -> None:
    assert became(judged(name, verdict, measured, paper=paper)) == wanted


def judged(name: str, verdict: str, *seeds: float, paper: float | str | None = 2.0) -> Any:
    """A check as it is stored, as far as claims look at it."""
    return {"name": name, "paper": paper, "measured": sorted(seeds)[len(seeds) // 2],
            "seeds": seeds, "verdict": verdict, "unit": "", "formula": ""}


def became(*found: records.Check) -> str:
    """The verdict on a claim that these show."""
    return claims.outcome(claims.Claim("so"), found).verdict


def test_a_claim_is_as_good_as_its_worst_check() -> None:
    good, far, bad = (judged("a", "pass", 2.0), judged("b", "pass", 4.0),
                      judged("c", "expected-fail", 2.0))
    assert became(good, far) == claims.SHAPE
    assert became(good, far, bad) == claims.NOT
    assert claims.outcome(claims.Claim("so"), [good, far, bad]).fails == ("c",)
    assert became(good, judged("c", "expected-fail", 2.0, paper=None)) == claims.REPRODUCED
    undecided = judged("b", "undecided", 2.0)
    assert became(good, undecided) == claims.OPEN
    assert became(good, undecided, bad) == claims.NOT


@pytest.mark.parametrize(("paper", "measured", "wanted"), [
    # A difference: half to twice as far, in logarithms, on the same side.
    (1.11, 1.055, claims.REPRODUCED),
    (1.11, 1.05, claims.SHAPE),
    (1.11, 1.23, claims.REPRODUCED),
    (1.11, 1.235, claims.SHAPE),
    (0.9, 0.945, claims.REPRODUCED),
    (0.9, 0.95, claims.SHAPE),
    (0.9, 0.815, claims.REPRODUCED),
    (0.9, 0.8, claims.SHAPE),
    # Where it is large a quarter is less than that.
    (4.0, 2.5, claims.SHAPE),
    (4.0, 3.3, claims.REPRODUCED),
    # None at all, or to the other side, is no shape.
    (0.922, 1.0, claims.NOT),
    (1.11, 0.99, claims.NOT),
    (0.9, 1.01, claims.NOT),
    # 5 % less is as far as 5 % more, and no more alike.
    (1.05, 0.96, claims.REPRODUCED),
    (0.95, 0.997, claims.SHAPE),
    # Alike: on either side, but no farther.
    (1.0, 1.04, claims.REPRODUCED),
    (1.0, 1.06, claims.SHAPE),
    (1.0, 0.94, claims.SHAPE),
    (1.013, 1.158, claims.SHAPE),
    (0.978, 1.0, claims.REPRODUCED),
    (0.97, 1.07, claims.SHAPE),
    # Of a range its nearer and its farther end; one around 1 says nothing of it.
    ("0.68 to 0.95", 0.96, claims.REPRODUCED),
    ("0.68 to 0.95", 0.98, claims.SHAPE),
    ("more than 2", 1.7, claims.REPRODUCED),
    ("more than 2", 1.0, claims.NOT),
    ("at most 1", 0.8, claims.REPRODUCED),
    ("0.9 and more", 1.4, claims.REPRODUCED),
])
def test_a_ratio_is_as_far_from_1_as_the_papers(paper: float | str, measured: float,
                                                wanted: str) -> None:
    assert became(judged("IOPS, a against b", "pass", measured, paper=paper)) == wanted


def test_a_difference_is_on_one_side_with_every_seed() -> None:
    assert became(judged("IOPS, a against b", "pass", 0.93, 0.95, 1.01, paper=0.9)) == claims.NOT
    assert became(judged("IOPS, a against b", "pass", 0.93, 0.94, 0.99, paper=0.9)) == (
        claims.REPRODUCED)
    assert became(judged("IOPS, a against b", "undecided", 0.9, 1.1, paper=0.9)) == claims.OPEN


def test_no_ratio_is_a_count_a_time_or_a_share() -> None:
    """1 is a number as any other there, and near is within a quarter."""
    def found(name: str, unit: str, formula: str) -> str:
        check: Any = {**judged(name, "pass", 1.1, paper=1.3), "unit": unit, "formula": formula}
        return became(check)

    assert found("interrupts for an I/O", "", "irqs_per_io[cint, mixed]") == claims.REPRODUCED
    assert found("interrupts for a sync read", "",
                 "(irqs_per_io[cint, a] / hint.urgent[cint, a])") == claims.REPRODUCED
    assert found("latency, a against b", "us", "") == claims.REPRODUCED
    assert found("both delay alike", "", "(mean_us[a, sync] / mean_us[b, sync])") == claims.SHAPE
    assert found("latency, a against b", "", "") == claims.SHAPE


def test_a_paper_may_say_that_more_is_alike_or_less_a_difference() -> None:
    def of(text: str, paper: float, *seeds: float) -> str:
        found = [judged("IOPS, a against b", "pass", *seeds, paper=paper)]
        return claims.outcome(claims.Claim(text), found).verdict

    alike, differ = min(claims.ALIKE), min(claims.DIFFER)
    assert of(alike, 1.12, 1.0) == of(alike, 1.12, 0.9) == claims.REPRODUCED
    assert of(alike, 1.12, 0.88) == claims.SHAPE
    assert of(differ, 1.02, 1.0) == of(differ, 1.02, 0.99) == claims.NOT
    assert of(differ, 1.02, 1.009) == claims.SHAPE
    assert of(differ, 1.02, 1.03) == claims.REPRODUCED


def test_what_papers_say_of_their_numbers_is_a_claim() -> None:
    texts = {text for found in claims.CLAIMS.values() for text in found}
    assert texts >= claims.ALIKE | claims.DIFFER
    assert not claims.ALIKE & claims.DIFFER


def test_a_claim_shows_the_number_that_decides_it() -> None:
    alike, absent, far = (judged(f"{name} against b", "pass", here, paper=paper)
                          for name, here, paper in (("a", 1.0, 0.98), ("c", 1.0, 0.92),
                                                    ("d", 2.0, 1.2)))
    assert claims.outcome(claims.Claim("so"), [alike, absent, far]).paper == 0.92
    assert claims.outcome(claims.Claim("so"), [alike, far]).paper == 1.2


def test_seeds_on_either_side_of_1_have_no_shape() -> None:
    assert became(judged("a against b", "expected-fail", 0.9, 1.1, 1.2)) == claims.NOT


def test_a_quick_run_decides_no_claim() -> None:
    figure = next(f for f in FIGURES if f.id in claims.CLAIMS)
    entry = document.stored(figure.id)
    assert entry is not None and claims.outcomes(figure, entry)
    quick: Any = {**entry, "checks": [{**c, "verdict": checks.QUICK} for c in entry["checks"]]}
    assert claims.outcomes(figure, quick) == []


@of_each([f for f in FIGURES if f.id in claims.CLAIMS and document.stored(f.id)])
def test_a_claim_is_no_better_than_any_of_its_numbers(figure: Figure) -> None:
    entry = document.stored(figure.id)
    assert entry is not None
    whole, singly = claims.outcomes(figure, entry), claims.one_by_one(figure, entry)
    assert len(singly) == sum(len(claims.of_claim(o.claim, entry["checks"])) for o in whole)
    for one in whole:
        of_it = {o.verdict for o in singly if o.claim.text == one.claim.text}
        assert (one.verdict == claims.REPRODUCED) == (of_it == {claims.REPRODUCED})
        assert (one.verdict == claims.NOT) == (claims.NOT in of_it)


def test_how_many_claims_came_out_is_a_sentence() -> None:
    def outcomes(*verdicts: str) -> list[claims.Outcome]:
        return [claims.Outcome(claims.Claim("so"), v, None, None, ()) for v in verdicts]

    assert page.in_a_sentence(outcomes(claims.SHAPE)) == "Shape only."
    assert page.in_a_sentence(outcomes(claims.NOT, claims.NOT)) == "Not reproduced."
    assert page.in_a_sentence(outcomes(claims.NOT, claims.REPRODUCED, claims.NOT)) == (
        "Of 3 claims reproduced: 1 and not reproduced: 2.")


# ---- of which tree ----------------------------------------------------------

@pytest.mark.parametrize(("kept", "now", "why"), [
    ({"a": "1", "b": "2"}, {"b": "2", "a": "1"}, ""),
    ({"a": "1", "b": "2"}, {"a": "1", "b": "3"}, "1 of 2 guests would be others now: b"),
    ({"a": "1", "b": "2"}, {"a": "1"}, "1 of 1 guests would be others now: b"),
    ({}, {"a": "1", "c": "2"}, "2 of 2 guests would be others now: a and 1 more"),
])
def test_what_is_stale_is_said(kept: dict[str, str], now: dict[str, str], why: str) -> None:
    entry: Any = {"commit": "cint 0123abc", "runs": kept}
    found = freshness.difference(entry, freshness.Origin(now, {"kernel": ["c0"]}))
    assert found.endswith(why) and bool(found) == bool(why)
    assert not why or "cint 0123abc" in found


@pytest.mark.parametrize(("kept", "why"), [
    ({"kernel": ["c0"], "qemu": ["d0", "d1"]}, "others now: a; of the same files"),
    ({"kernel": ["c1"], "qemu": ["d0"]}, "others now: a; of other files: kernel, qemu"),
    ({"kernel": ["c0"]}, "others now: a; of other files: qemu"),
])
def test_what_makes_it_stale_is_said(kept: dict[str, list[str]], why: str) -> None:
    """Other files, or another command line or other jobs."""
    entry: Any = {"commit": "cint 0123abc", "runs": {"a": "1"}, "files": kept}
    now = {"kernel": ["c0"], "qemu": ["d0", "d1"]}
    assert freshness.difference(entry, freshness.Origin({"a": "2"}, now)).endswith(why)
    assert freshness.difference(entry, freshness.Origin({"a": "1"}, now)) == ""


def test_a_run_of_a_figure_is_known_by_what_decides_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of each guest, those that depend on others' numbers among them."""
    def run_of(wanted: runner.Wanted) -> tuple[SimpleNamespace, dict[str, Path]]:
        files = (("kernel", f"{len(wanted.run.policy):x<64}"), ("qemu", "d" * 64))
        return SimpleNamespace(key=lambda: f"{wanted.run.policy:*<64}", files=files), {}

    monkeypatch.setattr(runner, "run_of", run_of)
    later = Group(lambda data: runs(Run(f"static:time={data.seeds}us", "last")), ())
    figure = dataclasses.replace(SMALL, groups=(Group(runs("default", "cint"), ()), later))
    found = freshness.Origin.of(figure, TWO)
    assert found.runs == {
        "default": "default*********", "cint": "cint************",
        "last": f"static:time={TWO.seeds}us*"}
    assert found.files == {"kernel": [f"{n:x<16}" for n in (15, 4, 7)], "qemu": ["d" * 16]}


def test_a_sample_is_compared_with_what_was_measured(monkeypatch: pytest.MonkeyPatch,
                                                      tmp_path: Path) -> None:
    """Only guests that would be others; and what is not kept, or not alone, cannot be compared."""
    monkeypatch.setattr(freshness, "_key", lambda wanted: f"{wanted.run.policy:*<16}")
    figure = dataclasses.replace(SMALL, groups=(Group(runs("default", "cint", "vic"), ()),))
    entry: Any = {"data": TWO.as_dict(), "runs": {"default": "default*********", "cint": "ab12"}}
    (wanted, kept), = freshness.others(figure, entry)
    assert (wanted.run.policy, kept) == ("cint", "ab12")
    store = Store(tmp_path)
    now = RunOutcome("cd" * 32, b"agent", b"console", b"trace")
    done = Done(0, SimpleNamespace(), now)  # type: ignore[arg-type]
    assert freshness.unlike(done, kept, store) == "what was measured is not in the store"
    store.put(dataclasses.replace(now, key="ab12" + "0" * 60))
    assert freshness.unlike(done, kept, store) == ""
    other = dataclasses.replace(done, outcome=dataclasses.replace(now, agent=b"agenT"))
    assert freshness.unlike(other, kept, store) == "agent.log from byte 4"
    failed = dataclasses.replace(done, outcome=None, problem=CintError("no guest"))
    assert freshness.unlike(failed, kept, store) == "it fails now: no guest"
    store.put(dataclasses.replace(now, key="ab12" + "1" * 60))
    assert freshness.unlike(done, kept, store) == "what was measured is not in the store"


def test_a_sample_is_of_stale_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["figure", "vic-tab2", "--sample", "3"]) == 2
    assert "--sample: only with --stale" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--docs"], ["--quick"], ["--policy", "vic"],
                                   ["--vcpus", "2"], ["--out", "x"], ["--guest", "distro"],
                                   ["--hints", "off"]])
def test_stale_runs_nothing(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["figure", "--stale", *words]) == 2
    assert "--stale: takes figures" in capsys.readouterr().err


# ---- expressions and checks ------------------------------------------------

def data_of(**iops: list[float]) -> Data:
    """Runs of one cell, `async`, with a value for each seed."""
    return Data({run: {"async": [{"iops": x} for x in seeds]} for run, seeds in iops.items()})


TWO = data_of(default=[100.0, 110.0, 90.0], cint=[200.0, 200.0, 200.0])
RATIO = against("iops", "cint", "default", "async")


def test_expressions() -> None:
    view = View(TWO, 0)
    assert RATIO.of(view) == 2
    assert (RATIO - 1).of(view) == 1
    assert (3 + RATIO * 2).of(view) == 7
    assert (1 / RATIO).of(view) == 0.5
    assert RATIO.text == "(iops[cint, async] / iops[default, async])"
    both = [value("iops", run, "async") for run in ("default", "cint")]
    assert values.least(both).of(view) == 100
    assert values.most(both).of(view) == 200
    assert values.least_step(both).of(view) == 2


def test_an_expression_knows_its_runs_whatever_they_are_called() -> None:
    odd = value("iops", "split:l=cint], t", "async")
    assert (RATIO + 1).runs == ("cint", "default")
    assert values.least([RATIO, odd]).runs == ("cint", "default", "split:l=cint], t")
    other = (odd / value("iops", "default", "async") * 2).of_run("split:l=cint], t", "cint")
    assert other.text == f"({RATIO.text} x 2)" and other == RATIO * 2
    # a cell of that name is another thing
    assert value("iops", "async", "async").of_run("async", "cint").text == "iops[cint, async]"


def test_a_number_of_the_best_is_of_whoever_is_best_with_that_seed() -> None:
    data = Data({run: {"sync": [{"iops": x, "mean_us": us} for x in iops]} for run, us, iops in (
        ("a", 5.0, (1, 3)), ("b", 7.0, (2, 2)))})
    marks, numbers = ([value(name, run, "sync") for run in "ab"] for name in ("iops", "mean_us"))
    best = values.of_best(marks, numbers)
    assert [best.of(View(data, seed)) for seed in (0, 1)] == [7, 5]
    assert [values.of_best(marks, [values.Constant(1), values.Constant(2)]).of(View(data, seed))
            for seed in (0, 1)] == [2, 1]
    assert best.text == ("that of (mean_us[a, sync], mean_us[b, sync]) with the most of "
                         "(iops[a, sync], iops[b, sync])")
    assert best.runs == ("a", "b") and best.of_run("a", "c").runs == ("c", "b")


def test_what_was_not_measured_is_said() -> None:
    with pytest.raises(CintError, match="'async' under 'cint' has no mean_us"):
        value("mean_us", "cint", "async").of(View(TWO, 0))
    with pytest.raises(CintError, match="no measurement of 'sync' under 'cint'"):
        value("iops", "cint", "sync").of(View(TWO, 0))
    assert value("reason.urgent", "cint", "async").of(View(TWO, 0)) == 0


def verdict(check: Check, quick: bool = False) -> str:
    return judge(check, TWO, quick).verdict


CONTROL = swap("cint", "default")


def test_every_seed_has_to_hold() -> None:
    assert verdict(at_least("r", RATIO, 1.8, CONTROL)) == checks.PASS
    assert verdict(at_least("r", RATIO, 1.9, CONTROL)) == checks.FAIL
    assert verdict(near("r", RATIO, 2, 0.1, CONTROL)) == checks.FAIL
    assert verdict(near("r", RATIO, 2, 0.3, CONTROL)) == checks.PASS


def test_quick_is_never_a_pass() -> None:
    assert verdict(at_least("r", RATIO, 1.8, CONTROL), quick=True) == checks.QUICK
    assert verdict(at_least("r", RATIO, 1.9, CONTROL), quick=True) == checks.FAIL


def deviates(low: float, high: float, wanted: float = 3.0) -> Check:
    return at_least("r", RATIO, wanted, CONTROL, deviation=Deviation(low, high, "why"))


def test_reasons_say_what_was_measured() -> None:
    check = dataclasses.replace(deviates(1.8, 2.3), deviation=Deviation(
        1.8, 2.3, values.said("cint has {:.1f} times default's, {:.0f} I/Os",
                              RATIO, value("iops", "cint", "async"))))
    found = judge(check, TWO)
    assert found.remark == "cint has 2.0 times default's, 200 I/Os"
    assert page.expected(found.as_dict()) \
        == "expected here 1.8 to 2.3, because cint has 2.0 times default's, 200 I/Os"
    some = judge(deviates(1.8, 2.3, wanted=2.1), TWO)
    assert page.expected(some.as_dict()).startswith(
        "expected here 1.8 to 2.3 (holds with 1 of 3 seeds), because ")


def test_deviations_are_bounded() -> None:
    assert verdict(deviates(1.8, 2.3)) == checks.EXPECTED
    assert verdict(deviates(1.9, 2.3)) == checks.FAIL
    found = judge(deviates(1.8, 2.3, wanted=1.5), TWO)
    assert found.verdict == checks.FAIL
    assert "the claim holds now" in found.remark


#: What figures are measured with.
FACTS: records.Facts = {"commit": "cint 1", "conditions": "c"}


def of_several(*bounds: tuple[float, Deviation | None]) -> Check:
    """A claim of numbers that are all 2, each at least so much."""
    return checks.several("claim", [
        at_least(f"number {at}", RATIO, low, CONTROL, paper=2.1, deviation=known)
        for at, (low, known) in enumerate(bounds)])


KNOWN = (3.0, Deviation(1.8, 2.3, "why"))


@pytest.mark.parametrize(("bounds", "holding", "wanted"), [
    (((1.8, None), (1.7, None)), 2, checks.PASS),
    (((1.8, None), KNOWN), 1, checks.EXPECTED),
    # out of its own bounds, out of where it is known to be, and within what is wanted after all
    (((1.9, None), KNOWN), 0, checks.FAIL),
    (((1.8, None), (3.0, Deviation(1.9, 2.3, "why"))), 1, checks.FAIL),
    (((1.8, None), (1.5, Deviation(1.8, 2.3, "why"))), 2, checks.FAIL)])
def test_a_claim_of_several_numbers_is_as_bad_as_the_worst(
        bounds: tuple[tuple[float, Deviation | None], ...], holding: int, wanted: str) -> None:
    found = judge(of_several(*bounds), TWO)
    record = found.as_dict()
    assert found.verdict == wanted and bool(found.remark) == (wanted == checks.FAIL)
    assert min(found.seeds) == holding and record["bounds"] == [2, 2]
    assert record["cells"] == [judge(cell, TWO).as_dict() for cell in found.check.cells]
    assert [cell["bounds"][0] for cell in record["cells"]] == [low for low, _ in bounds]
    assert [*records.shown([record])] == [record, *record["cells"]]
    fails = wanted == checks.FAIL and holding < 2
    assert verdict(found.check, quick=True) == (checks.FAIL if fails else checks.QUICK)


def test_each_of_several_numbers_has_its_control() -> None:
    assert checks.judge_control(of_several((1.8, None), KNOWN), TWO) == checks.FAIL
    blind = at_least("blind", value("iops", "cint", "async"), 50, CONTROL)
    several = checks.several("claim", [at_least("r", RATIO, 1.8, CONTROL), blind])
    assert checks.judge_control(several, TWO) == checks.PASS
    assert [c.name for c in checks.singly([several, blind])] == ["r", "blind", "blind"]
    other = several.measure.of_run("cint", "default")
    assert several.measure.runs == ("cint", "default") and other.runs == ("default",)


def test_a_page_shows_each_of_several_numbers() -> None:
    figure = dataclasses.replace(SMALL, checks=(of_several((1.8, None), KNOWN),))
    entry = document.entry(figure, TWO, quick=False, runs={}, files={})
    whole = document.document([entry], [], False, FACTS)
    assert whole["summary"][checks.EXPECTED] == 1 and whole["summary"][checks.PASS] == 0
    assert whole["numbers"][checks.EXPECTED] == 1 and whole["numbers"][checks.PASS] == 1
    both = "1 expected fail; by single numbers 1 pass, 1 expected fail"
    assert page.counted(entry["checks"]) == page.summary_row(entry)[1] == both
    assert page.counted(entry["checks"][0]["cells"]) == "1 pass, 1 expected fail"
    text = page.figure_page(figure, document.stamped(entry, FACTS))
    assert "| claim |  | 1 |  | exactly 2 | expected fail |" in text
    assert "| number 0 | 2.1 | 2 | 1.818 to 2.222 | at least 1.8 | pass |" in text
    assert "* number 1: 2, wanted at least 3; expected here 1.8 to 2.3, because why." in text
    html = webpage.render([figure], whole, {})
    assert "number 0" in html and "as is expected of those below" in html
    # a claim of the paper is of the numbers
    mine = claims.of_claim(claims.Claim("so"), entry["checks"])
    assert [one["name"] for one in mine] == ["number 0", "number 1"]


def test_a_threads_cpu_time_is_what_fio_says() -> None:
    """Half of a ms of usr and of sys, of 400, is added to what it has cut off."""
    job = fiojson.JobStats("job", 0, 0, 0, {}, 400, usr_percent=2.25, sys_percent=3, switches=3000)
    assert reading.thread_time(job, 3.2) == {"thread_percent": 5.5, "switches_per_s": 24_000}


def test_what_interrupts_take_is_what_the_kernel_accounts() -> None:
    """Five ticks of 10 ms, of hard and soft ones, in 200 ms between a job's edges."""
    text = ("cint-pre 1.1 0.5 cpu 6 0 45 49 0 1 2 0 0 0 vclock 1000000000 600\n"
            "cint-post 1.3 0.5 cpu 9 0 50 52 0 5 3 0 0 0 vclock 1200000000 700\n")
    assert reading.interrupt_share(text) == 0.25
    for lost in ("", text.replace(" 600", ""), text.splitlines()[1]):
        with pytest.raises(CintError, match="how much CPU time went to interrupts"):
            reading.interrupt_share(lost)


def far(ios: float, *p99: float) -> Data:
    """A run whose seeds have so many I/Os each, and these 99th percentiles."""
    return Data({"a": {"sync": [{"p99_us": x, "ios": ios, "mean_us": x} for x in p99]}})


P99_US = value("p99_us", "a", "sync")


@pytest.mark.parametrize(("ios", "seeds", "beyond", "wanted"), [
    # a hundred beyond it in all seeds, and not one less
    (3334, (8.9, 9.0, 9.1), 100, checks.PASS), (3333, (8.9, 9.0, 9.1), 99, checks.UNDECIDED),
    (3334, (11.9, 12.0, 12.1), 100, checks.FAIL), (100, (99.0, 98.0, 97.0), 3, checks.UNDECIDED),
    # seeds that are alike are one sample, and enough if that one is
    (9999, (9.0, 9.0, 9.0), 99, checks.UNDECIDED), (10_000, (9.0, 9.0, 9.0), 100, checks.PASS),
    (4999, (9.0, 9.0, 9.1), 99, checks.UNDECIDED), (5000, (9.0, 9.0, 9.1), 100, checks.PASS),
    # a standard deviation of 0.5, half of the distance to 10, and more than half of it
    (9999, (8.5, 9.0, 9.5), 299, checks.PASS), (9999, (8.4, 9.0, 9.5), 299, checks.UNDECIDED),
    (9999, (10.5, 11.0, 11.6), 299, checks.UNDECIDED)])
def test_a_percentile_is_judged_where_it_can_be(ios: float, seeds: Sequence[float], beyond: int,
                                                wanted: str) -> None:
    found = judge(checks.at_most("far", P99_US, 10, wrong(0.1)), far(ios, *seeds))
    assert (found.verdict, found.beyond) == (wanted, beyond)
    assert found.as_dict()["beyond"] == beyond
    assert bool(found.remark) == (wanted == checks.UNDECIDED)
    # means are judged whatever they are of
    mean = judge(checks.at_most("mean", value("mean_us", "a", "sync"), 10, wrong(0.1)),
                 far(1, *seeds))
    assert mean.verdict in (checks.PASS, checks.FAIL) and "beyond" not in mean.as_dict()


@pytest.mark.parametrize(("seeds", "wanted"), [
    ((8.5, 9.0, 9.5), checks.PASS), ((8.4, 9.0, 9.5), checks.UNDECIDED),
    ((10.5, 11.0, 11.6), checks.UNDECIDED), ((11.0, 11.0, 11.0), checks.FAIL)])
def test_a_mean_that_wanders_is_judged_where_its_seeds_agree(seeds: Sequence[float],
                                                             wanted: str) -> None:
    check = checks.at_most("mean", value("mean_us", "a", "sync"), 10, wrong(0.1), wanders=True)
    assert judge(check, far(1, *seeds)).verdict == wanted


def test_seeds_are_one_sample_where_both_numbers_agree() -> None:
    """The percentile alone may agree by the width of fio's bins."""
    data = far(5000, 9.0, 9.0, 9.0)
    for seed, ios in enumerate((5000, 5100, 5199)):
        data.cells["a"]["sync"][seed]["ios"] = float(ios)
    # 50, 51 and 51 are beyond it: the last two are one
    assert isinstance(P99_US, values.Value) and P99_US.beyond(data) == 101
    data.cells["a"]["sync"][2]["p99_us"] = 9.1
    assert P99_US.beyond(data) == 152
    # of two that are alike one counts
    assert far(100_000, 9.0, 9.0).seeds == 2 and P99_US.beyond(far(100_000, 9.0, 9.0)) == 1000


def test_the_least_of_several_percentiles_counts() -> None:
    data = Data({run: {"sync": [{"p99_us": us, "p999_us": us, "gap_p10_us": us, "ios": ios}
                                for us in (1.0, 1.1, 1.2)]}
                 for run, ios in (("a", 1e6), ("b", 1e5))})
    ratio = values.most([value("p999_us", "b", "sync") / P99_US, P99_US])
    assert [one.rank for one in ratio.percentiles] == [99.9, 99, 99]
    assert judge(checks.at_most("far", ratio, 3, wrong(0.1)), data).beyond == 300
    tenth, mean = value("gap_p10_us", "a", "sync"), value("mean_us", "a", "sync")
    assert isinstance(tenth, values.Value) and isinstance(mean, values.Value)
    assert tenth.beyond(data) == 300_000  # on its shorter side
    assert mean.rank is None


def test_what_is_undecided_is_no_failure_and_no_expected_one() -> None:
    doubtful = checks.at_most("far", P99_US, 10, wrong(0.1), deviation=Deviation(10, 20, "why"))
    assert judge(doubtful, far(10, 12, 12, 12)).verdict == checks.UNDECIDED
    assert judge(doubtful, far(10_000, 12, 12.5, 13)).verdict == checks.EXPECTED
    assert judge(doubtful, far(10, 30), quick=True).verdict == checks.QUICK
    assert judge(doubtful, far(10_000, 30), quick=True).verdict == checks.FAIL
    # its control is: what has to fail
    assert checks.judge_control(doubtful, far(10, 12, 12, 12)) == checks.FAIL


def test_a_page_says_what_is_undecided_and_why() -> None:
    figure = dataclasses.replace(
        SMALL, panels=(), checks=(checks.at_most("far", P99_US, 10, wrong(0.1), unit="us"),),
        groups=(Group(runs("a"), (workloads.Workload("sync", "reads", ""),)),))
    entry = document.entry(figure, far(3799, 9, 9, 9), quick=False, runs={}, files={})
    assert entry["verdict"] == checks.UNDECIDED
    text = page.figure_page(figure, document.stamped(entry, FACTS))
    assert "| far |  | 9 us, 37 beyond |  | at most 10 | undecided |" in text
    assert "* far: 9, wanted at most 10; 37 I/Os are beyond the percentile, it takes 100." in text
    html = webpage.render([figure], document.document([entry], [], False, FACTS), {})
    assert "UNDECIDED" in html and "37\N{NO-BREAK SPACE}beyond" in html


def test_controls() -> None:
    check = at_least("r", RATIO, 1.8, swap("cint", "default"))
    assert checks.judge_control(check, TWO) == checks.FAIL
    blind = at_least("r", RATIO, 0.1, swap("cint", "default"))
    assert checks.judge_control(blind, TWO) == checks.PASS
    assert checks.judge_control(at_least("r", RATIO, 1.8, instead("cint", "default")), TWO) \
        == checks.FAIL
    assert checks.judge_control(at_least("r", RATIO, 1.8, wrong(2)), TWO) == checks.FAIL
    assert checks.judge_control(at_least("r", RATIO, 1.8, wrong(1)), TWO) == checks.PASS
    with pytest.raises(CintError, match="no measurement"):
        checks.judge_control(at_least("r", RATIO, 1.8, instead("cint", "vic")), TWO)


def test_a_control_of_one_number() -> None:
    one, other = RATIO.values
    control = mistaken(one, other)
    assert control.text == f"{other.text} in place of {one.text}"
    assert checks.judge_control(at_least("r", RATIO, 1.1, control), TWO) == checks.FAIL
    assert checks.judge_control(at_least("r", RATIO, 0.9, control), TWO) == checks.PASS
    # the other one is what it was, unless it is exchanged as well
    both = together(control, mistaken(other, one))
    assert both.text == f"{control.text}, {one.text} in place of {other.text}"
    assert checks.judge_control(at_least("r", RATIO, 0.9, both), TWO) == checks.FAIL


# ---- documents, pages, drawings ----------------------------------------------

SMALL = Figure(
    "t-fig1", "vic", "A figure <of> tests", "section 1", "cint is twice as fast.",
    (Group(runs("default", "cint"), (workloads.Workload("async", "reads", ""),)),),
    checks=(at_least("IOPS <against> default", RATIO, 1.8, CONTROL, paper=2.1),
            deviates(1.8, 2.3)),
    panels=(Panel("bars", "ratio", (Series("here", [("cint", RATIO)]),
                                    Series("paper", [("cint", 2.1)], paper=True))),
            Panel("lines", "ratio", (Series("here", [(1, RATIO), (2, RATIO)]),), kind="lines"),
            Panel("tradeoff", "ratio", (Series("here", [(RATIO, RATIO)]),
                                        Series("paper", [(1, 2.1)], paper=True)),
                  kind="tradeoff", x="ratio")))


def test_document() -> None:
    entry = document.entry(SMALL, TWO, quick=False, runs={"a": "0123"}, files={})
    whole = document.document([entry], [], False, FACTS)
    assert whole["summary"] == {"pass": 1, "fail": 0, "expected-fail": 1, "undecided": 0,
                                "quick": 0, "figures": 1}
    assert entry["verdict"] == checks.EXPECTED
    one = entry["checks"][0]
    assert {k: one[k] for k in ("name", "paper", "measured", "bounds", "verdict")} == {
        "name": "IOPS <against> default", "paper": 2.1, "measured": 2.0,
        "bounds": [1.8, None], "verdict": "pass"}
    assert json.loads(json.dumps(whole)) == whole
    lost = document.failed(SMALL, CintError("no guest"))
    assert document.document([lost], [], False, FACTS)["summary"]["fail"] == 1


def test_a_figure_on_another_machine_says_which() -> None:
    text = f"virtual time, {machine()}, drain off"
    other = dataclasses.replace(SMALL, groups=(spdk.on_arm(SMALL.groups[0]),))
    both = dataclasses.replace(SMALL, groups=(*SMALL.groups, *other.groups))
    assert document.conditions(SMALL, text) == document.conditions(both, text) == text
    assert document.conditions(other, text) \
        == "virtual time, cpu-scale 3.2, interrupt cost 0 ns, drain off"


def test_page_and_drawing(tmp_path: Path) -> None:
    entry = document.entry(SMALL, TWO, quick=False, runs={"a": "0123"}, files={})
    drawing = draw.svg(SMALL, TWO)
    assert drawing == draw.svg(SMALL, Data.from_dict(json.loads(json.dumps(TWO.as_dict()))))
    text = page.figure_page(SMALL, document.stamped(entry, FACTS))
    assert "| IOPS <against> default | 2.1 | 2 | 1.818 to 2.222 | at least 1.8 | pass |" in text
    assert "expected here 1.8 to 2.3, because why." in text
    whole = document.document([entry], [], False, FACTS)
    html = webpage.write(tmp_path, [SMALL], whole, {SMALL.id: drawing}).read_text("utf-8")
    assert "IOPS &lt;against&gt; default" in html
    assert "<of>" not in html
    assert "EXPECTED FAIL" in html
    assert "<script" not in html


def test_the_page_of_one_figure_names_no_other() -> None:
    entry = document.entry(SMALL, TWO, quick=False, runs={"a": "0123"}, files={})
    missing = catalog.not_done()
    for asked in (missing[:0], missing):
        whole = document.document([entry], asked, False, FACTS)
        html = webpage.render([SMALL], whole, {})
        assert html.count("NOT DONE") == len(asked)


@of_each(STORED)
def test_pages_and_drawings_are_made_from_what_is_stored(figure: Figure, tmp_path: Path) -> None:
    """A page says all that was judged; a drawing wider than it has labels nobody can read."""
    made = {path.name: text for path, text in figures_stored.pages(tmp_path, [figure])}
    assert all(check["name"] in made[f"{figure.id}.md"]
               for check in records.shown(stored(figure)["checks"]))
    assert (f"{figure.id}.svg" in made) == bool(figure.panels)
    if figure.panels:
        width = re.search(r'<svg [^>]*width="([\d.]+)pt"', made[f"{figure.id}.svg"])
        assert width and float(width[1]) <= 620


def test_a_drawing_is_made_once_for_its_numbers(tmp_path: Path,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    """And again when one of them or the tool is another; nothing is left of the one before."""
    monkeypatch.setattr(figures_stored, "DRAWN", tmp_path)
    monkeypatch.setattr(draw, "svg", lambda figure, data: f"{figure.id} {data.as_dict()}")
    figure = next(f for f in STORED if f.panels)

    def drawn(iops: float) -> str:
        cells = {"a": {"b": [{"iops": iops}]}}
        entry: Any = {"data": {"cells": cells, "curves": {}, "timelines": {}}}
        return figures_stored._drawing(figure, entry)

    first = drawn(1.0)
    kept, = tmp_path.iterdir()
    kept.write_text("as it was kept")
    assert drawn(1.0) == "as it was kept"
    assert drawn(2.0) == first.replace("1.0", "2.0")
    monkeypatch.setattr(figures_stored, "_code", lambda: "another tool")
    assert drawn(2.0) == first.replace("1.0", "2.0")
    assert kept not in (left := [*tmp_path.iterdir()]) and len(left) == 1


def test_figures_are_in_the_order_of_their_numbers() -> None:
    names = [figure.id for figure in FIGURES]
    assert names.index("cint-fig3") < names.index("cint-fig9") < names.index("cint-fig10")


def test_events_at_one_moment_are_drawn_above_each_other() -> None:
    figure = dataclasses.replace(SMALL, panels=(
        Panel("", kind="timeline", sources=[("cint", "async")]),))
    events = [[0.0, "submit", ""]] * 4 + [[9.0, "complete", ""]]
    text = draw.svg(figure, Data(timelines={"cint": events}))
    places = {float(y) for y in re.findall(r'<use xlink:href="#\w+" x="[\d.]+" y="([\d.]+)" '
                                           r'style="fill: #777777', text)}
    assert len(places) == 4


def test_a_timeline_is_drawn() -> None:
    figure = dataclasses.replace(SMALL, panels=(
        Panel("", kind="timeline", sources=[("cint", "async")]),))
    data = Data(timelines={"cint": [[0.0, "submit", "B"], [1.0, "complete", "B"],
                                    [1.0, "irq", "full barrier 4"]]})
    assert ">4</text>" in draw.svg(figure, data) or "4" in draw.svg(figure, data)
    with pytest.raises(CintError, match="no timeline of 'cint'"):
        draw.svg(figure, Data())


# ---- runs --------------------------------------------------------------------

def test_quick_is_one_seed_and_shorter() -> None:
    group = Group((Run("default"),), (workloads.BUILT_IN["sync"],))
    whole, quick = (runner.Wanted(SMALL, group, Run("default"), q) for q in (False, True))
    assert len(whole.seeds) == 3
    assert len(quick.seeds) == 1
    assert quick.guest_seconds() < whole.guest_seconds() / 5
    assert runner.estimate([whole], 2) < runner.estimate([whole], 1)


def test_a_second_controller_has_the_policy_and_its_own_medium() -> None:
    group = dataclasses.replace(SMALL.groups[0], media="gen2", second="ssd80")
    wanted = runner.Wanted(SMALL, group, Run("adaptive"), True)
    device = dict(runner.second_of(wanted))
    assert (device["cint.policy"], device["cint.media"]) == ("adaptive", "ssd80")
    assert runner.second_of(dataclasses.replace(
        wanted, group=dataclasses.replace(group, second=""))) == []


def test_the_estimate_is_of_what_will_boot(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of two figures is one, and one that the store has is none, unless it is not taken."""
    figure, = catalog.choose(["cint-fig9"], None, False)
    wanted = runner.known_runs(figure, quick=False)
    keys = [f"{n:064x}" for n in range(len(wanted))]
    by_title = dict(zip((w.title for w in wanted), keys, strict=True))
    monkeypatch.setattr(runner, "run_of", lambda one: (
        SimpleNamespace(key=lambda: by_title[one.title]), {}))
    store = Store()
    store.put(RunOutcome(keys[0], b"", b"", b""))
    assert runner.to_boot([*wanted, *wanted], store, Reuse()) == wanted[1:]
    assert runner.to_boot([*wanted, *wanted], store, Reuse(fresh=True)) == wanted


# ---- the probe ----------------------------------------------------------

def probe_line(at: int, cqes: int, irqs: int, idle: int) -> str:
    """What the script in the guest prints."""
    page = base64.b64encode(log(record(0, 1, 1), record(1, cqes, irqs))).decode()
    return f"cint-probe {at} {idle} 5 {page} {at + 10} {idle} 5"


def test_probes_are_read() -> None:
    text = "\n".join(["cint-pre 1", probe_line(1000, 10, 5, 100), probe_line(2010, 30, 10, 600)])
    one, two = probe.parse(text)
    assert (two.cqes - one.cqes, two.interrupts - one.interrupts) == (20, 5)
    assert (one.began, one.ended) == ((1000, 105), (1010, 105))
    # 1000 ns between the probes, 500 of them idle.
    assert probe.busy_share([one, two]) == pytest.approx(0.5)
    assert one.ratio is None


def looks(*counts: tuple[int, int, float]) -> list[probe.Probe]:
    """Looks at I/Os and interrupts so far, and the ratio that stands then."""
    return [probe.Probe((n, 0), (n, 0), n, ios, irqs, ratio)
            for n, (ios, irqs, ratio) in enumerate(counts, 1)]


@pytest.mark.parametrize(("seen", "found"), [
    ([(0, 0, 0.5), (100, 50, 0.5), (200, 100, 0.5)], 1.0),
    # the last ratio is that of the time to come
    ([(0, 0, 0.25), (100, 25, 0.25), (200, 50, 1.0)], 1.0),
    # and a wrong one is told
    ([(0, 0, 0.25), (100, 50, 0.25), (200, 100, 1.0)], 2.0),
    # without two that agree all are taken
    ([(0, 0, 0.25), (100, 50, 0.5), (200, 150, 1.0)], 1.0),
    ([(0, 0, 0.5), (100, 50, 0.5), (100, 50, 0.5)], 1.0),
])
def test_interrupts_are_held_against_the_ratio_that_stood(
        seen: list[tuple[int, int, float]], found: float) -> None:
    assert reading._by_ratio(looks(*seen)) == pytest.approx(found)


def test_without_an_io_there_is_no_ratio() -> None:
    with pytest.raises(CintError, match="no I/O between two probes"):
        reading._by_ratio(looks((5, 5, 0.5), (5, 5, 0.5)))


@pytest.mark.parametrize("line", ["cint-probe", "cint-probe 1 2 3 %%% 4 5 6",
                                  probe_line(1, 1, 1, 1)[:-3]])
def test_bad_probes_are_refused(line: str) -> None:
    with pytest.raises(CintError, match="probe"):
        probe.parse(line)


def test_script_is_a_shell_script() -> None:
    script = probe.install()[-1]
    assert subprocess.run(["sh", "-n", "-c", script], check=False).returncode == 0


# ---- vIC ----------------------------------------------------------------

@pytest.mark.parametrize(("cif", "wanted"), [
    (1, 1), (3, 1), (4, 0.8), (7, 0.8), (8, 0.75), (11, 0.75), (12, 2 / 3), (15, 2 / 3),
    (16, 1 / 2), (23, 1 / 2), (24, 1 / 3), (64, 1 / 8), (128, 1 / 16), (136, 1 / 17)])
def test_ratio(cif: int, wanted: float) -> None:
    assert arrays.ratio(cif) == wanted


# ---- traces -------------------------------------------------------------

TRACE = """\
qemu-system-x86_64 -trace pci_nvme_cint_media
pci_nvme_cint_media cqid 0 sqid 0 cid 3 due 1500
pci_nvme_cint_media cqid 1 sqid 1 cid 4 due 4000
pci_nvme_cint_media cqid 1 sqid 1 cid 5 due 1000
pci_nvme_cint_post cqid 1 sqid 1 cid 4 hints 0x0 tail 3
12@1700000000.000001:pci_nvme_cint_media cqid 1 sqid 1 cid 6 due 10000
pci_nvme_cint_media cqid 1 sqid 1 cid 7 due 99000
"""


def test_gaps_come_from_the_device_clock() -> None:
    times = traces.due_times(TRACE, 500, 50_000)
    assert times == [1000, 4000, 10_000]
    assert traces.gaps_us(times, 3) == [1, 2]


SHARED = """\
pci_nvme_cint_post cqid 0 sqid 0 cid 1 hints 0x0 status 0x0 tail 1 at 1050
pci_nvme_cint_post cqid 1 sqid 1 cid 1 hints 0x0 status 0x0 tail 1 at 999
pci_nvme_cint_post cqid 1 sqid 1 cid 1 hints 0x0 status 0x0 tail 2 at 1000
pci_nvme_cint_post cqid 1 sqid 1 cid 2 hints 0x0 status 0x0 tail 3 at 1099
pci_nvme_cint_irq cqid 1 vector 1 class all reason ratio covered 2 oldest hold 99 at 1099
pci_nvme_cint_post cqid 1 sqid 1 cid 3 hints 0x0 status 0x0 tail 4 at 1200
pci_nvme_cint_irq cqid 1 vector 1 class all reason low-cif covered 1 oldest hold 0 at 1200
pci_nvme_cint_post cqid 1 sqid 1 cid 4 hints 0x0 status 0x0 tail 5 at 1300
"""


def test_a_ratio_is_that_of_what_it_is_about() -> None:
    """Of the load's time only, without the admin queue and periods that had no completion."""
    assert vic_tab8.ratios(SHARED, 1000, 1350, 100) == [0.5, 1.0]
    # one of two completions is of a time with few a second, and of R are none for the other
    few = SHARED.replace("reason ratio", "reason low-iops")
    assert vic_tab8.ratios(few, 1000, 1350, 100) == [0.0, 1.0]


@pytest.mark.parametrize(("share", "wanted"), [(0, 1), (0.5, 6), (0.9, 10), (0.99, 10), (1, 10)])
def test_quantile(share: float, wanted: float) -> None:
    assert traces.quantile([float(n) for n in range(1, 11)], share) == wanted


def test_no_trace_is_said() -> None:
    with pytest.raises(CintError, match="pci_nvme_cint_media"):
        traces.quantile([], 0.9)


EVENTS = """\
pci_nvme_cint_submit cqid 0 sqid 0 cid 1 hints 0x0 sources 0x0 inflight 1 at 900
pci_nvme_cint_submit cqid 1 sqid 1 cid 1 hints 0x1 sources 0x1 inflight 1 at 1000
pci_nvme_cint_post cqid 1 sqid 1 cid 1 hints 0x1 status 0x0 tail 1 at 22000
pci_nvme_cint_irq cqid 1 vector 1 class urgent reason urgent covered 1 oldest hold 0 at 22000
pci_nvme_cint_post cqid 1 sqid 1 cid 2 hints 0x0 status 0x0 tail 2 at 25000
pci_nvme_cint_irq cqid 1 vector 1 class full reason quiet covered 1 oldest hold 18000 at 43000
"""


def test_interrupts_over_time() -> None:
    """Windows of 10 us: a phase that is known after two of them, a pause, one that is at once."""
    many = [[at, kind, ""] for at in range(20) for kind in ("complete", "irq")]
    few = [[20 + at, "complete", ""] for at in range(60)]
    few += [[20 + 5 * at, "irq", ""] for at in range(12)]
    again = [[100 + at, kind, ""] for at in range(30) for kind in ("complete", "irq")]
    counts = traces.windows([*many, *few, *again, [133, "complete", ""]], 10)
    assert counts[:3] == [(10, 10), (10, 10), (2, 10)]
    assert len(counts) == 13  # the last one is not whole
    parts = traces.phases(counts)
    assert [len(part) for part in parts] == [8, 3]
    assert [traces.settled_after(part) for part in parts] == [2, 0]
    assert not traces.windows([], 10)


def test_a_timeline_is_read() -> None:
    found = traces.events(EVENTS, 0, 50_000, 3)
    assert found == [[0, "submit", "U"], [7, "complete", "U"], [7, "irq", "urgent urgent 1"],
                     [8, "complete", ""], [14, "irq", "full quiet 1"]]
    point = traces.numbers(found)
    assert point["irqs"] == 2
    assert point["irqs.urgent"] == point["dones.U"] == 1
    assert point["irq_2_us"] - point["done_2_us"] == 6
    assert point["urgent_covers_most"] == 1
