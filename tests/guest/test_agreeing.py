# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs that end when blocks of them agree (--runtime auto): when they end, what they measure."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import run_samples, tell

from cint.device import periods
from cint.guest import agent
from cint.measure import agreeing, comparison, plan, sampling, settings
from cint.options import comparing

#: What a job does after the moment at which all of them are told to end: a burst of 16, its
#: thread's last words.
END_S = 0.03


def chosen(*words: str) -> settings.Settings:
    """What ./cint compare makes of these words."""
    parser = argparse.ArgumentParser()
    comparing.add_options(parser)
    return comparing.settings_from(parser.parse_args(list(words)))


def outcomes(got: settings.Settings, logs: Path) -> list[plan.RunOutcome]:
    """What came of all runs, none of them from the store."""
    asked = comparison.asked_for(comparison.compose(got))
    guests = comparison.run_guests(got, asked, logs)
    tell(guests.done)
    assert not guests.failed
    return [one.outcome for one in guests.done if one.outcome]


def by_policy(samples: Sequence[sampling.Sample]) -> dict[str, sampling.Sample]:
    """Samples of one workload."""
    return {one.policy: one for one in samples}


def said(one: sampling.Sample) -> agreeing.Agreement:
    """What fio said of its blocks."""
    assert one.agreement
    return one.agreement


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> tuple[settings.Settings,
                                                             list[plan.RunOutcome]]:
    """The same guest again."""
    got = chosen("--runtime", "auto", "--policy", "cint", "--workload", "sync,mixed")
    places = [tmp_path_factory.mktemp(name) for name in ("first", "second")]
    return got, [one for place in places for one in outcomes(got, place)]


def test_a_run_ends_at_the_same_instruction(
        twice: tuple[settings.Settings, list[plan.RunOutcome]]) -> None:
    first, second = twice[1]
    assert plan.difference(first, second) is None


def test_jobs_end_together_and_have_enough(
        twice: tuple[settings.Settings, list[plan.RunOutcome]]) -> None:
    got, (first, _) = twice
    outcome = first.parsed("cint")
    for one in comparison.samples_from(got, outcome):
        found = said(one)
        assert found.agreed
        assert found.error is not None
        assert found.error <= agreeing.ERROR
        assert 0.1 <= found.seconds / got.k < 0.3
        assert set(found.jobs) == set(one.jobs)
        for name, job in one.jobs.items():
            # fio's own count has what came before all ran, and the last I/Os.
            assert agreeing.LEAST_IOS <= found.jobs[name].ios <= job.ios
            assert job.ios <= 1.1 * found.jobs[name].ios
            assert job.runtime_ms / 1000 == pytest.approx(found.seconds, abs=END_S)
        text = str(outcome.results[f"{one.workload}/0"]["stdout"])
        ends = [edge.time_s for edge in agent.parse_edges(text, "cint-post")]
        assert len(ends) == len(one.jobs)
        assert max(ends) - min(ends) <= END_S


def test_threads_or_processes_of_one_job_are_counted_together(logs: Path) -> None:
    """And reads with writes. A job of fewer I/Os ends by itself, before there are blocks."""
    got = chosen("--runtime", "auto", "--policy", "default",
                 "--job", "randrw:numjobs=2,thread=0,iodepth=8",
                 "--job", "randread:number_ios=4000,time_based=0")
    both, early = run_samples(got, logs)
    (name, job), = both.jobs.items()
    assert said(both).agreed
    assert said(both).jobs[name].ios <= job.ios <= 1.1 * said(both).jobs[name].ios
    assert both.iops == pytest.approx(job.ios / said(both).seconds, rel=0.1)
    (name, job), = early.jobs.items()
    found = said(early)
    assert (found.agreed, found.error) == (False, None)
    assert found.jobs[name].ios <= job.ios <= 4000
    assert early.iops == pytest.approx(1000 * job.ios / job.runtime_ms, rel=0.05)


def test_the_means_are_those_of_a_long_run(
        logs: Path, twice: tuple[settings.Settings, list[plan.RunOutcome]]) -> None:
    """Of a run three times as long as any of these."""
    got, (first, _) = twice
    long = run_samples(chosen("--runtime", "0.5s", "--policy", "cint", "--workload", "sync,mixed"),
                       logs)
    for one, other in zip(comparison.samples_from(got, first.parsed("cint")), long, strict=True):
        assert other.window and 3 * said(one).seconds <= other.window.seconds
        for name, job in one.jobs.items():
            assert one.rate(name) == pytest.approx(other.rate(name), rel=agreeing.ERROR)
            assert job.mean_ns == pytest.approx(other.jobs[name].mean_ns, rel=agreeing.ERROR)


def test_a_run_has_several_of_the_policys_periods(
        logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In half a second there are not ten of vIC's 200 ms, but there are of an epoch of 10 ms.

    The control: were the epoch not known, blocks within one would agree at once, on one state of
    it.
    """
    auto = ("--runtime", "auto", "--workload", "async", "--seed", "2")
    got = chosen(*auto, "--policy", "vic,vic:epoch=10ms")
    found = by_policy(run_samples(got, logs))
    vic = found["vic"]
    assert not said(vic).agreed
    assert said(vic).error is None
    assert said(vic).seconds / got.k > 0.45
    assert said(found["vic:epoch=10ms"]).error is not None
    monkeypatch.setattr(periods, "longest_ns", lambda *_: 0)
    blind = by_policy(run_samples(chosen(*auto, "--policy", "vic"), logs / "blind"))["vic"]
    assert said(blind).agreed
    assert said(blind).seconds / got.k < 0.2
    assert blind.iops != pytest.approx(vic.iops, rel=agreeing.ERROR)


@pytest.mark.slow
def test_a_smaller_error_takes_longer(logs: Path) -> None:
    """And one that cannot be met takes all the time there is."""
    runs = {}
    for word in ("auto:20%", "auto", "auto:0.1%"):
        got = chosen("--runtime", word, "--policy", "adaptive", "--workload", "mixed")
        one, = run_samples(got, logs / word.replace("%", ""))
        runs[word] = said(one)
    assert [one.agreed for one in runs.values()] == [True, True, False]
    assert runs["auto"].seconds >= runs["auto:20%"].seconds
    assert runs["auto:0.1%"].seconds > runs["auto"].seconds
