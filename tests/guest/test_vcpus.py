# SPDX-License-Identifier: GPL-2.0-or-later
"""Several CPUs in virtual time: even shares, runs that repeat, and the results of one CPU."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from conftest import log_root, make_settings, run_samples

from cint.device import properties
from cint.guest import agent, session, vm
from cint.measure import boots, comparison, fiojson, runner, settings, workloads
from cint.measure.plan import Files, RunOutcome, RunPlan

#: The share of a CPU, its speed beside idle ones, and the speed of one CPU by itself agree,
SHARES = 0.01
#: and so do mean latency and IOPS on CPU 0 of one and of several CPUs.
LIKE_ONE_CPU = 0.03
#: But for a few reads that wait for the other thread's whole slice, 1.2 ms or so: five more of
#: them among 13,000 are 3 % of the mean. Those are counted by themselves.
LONG_WAIT_US, LONG_WAITS = 200, 0.001

#: Operations that do nothing, as fast as the CPU can: how many tells how fast it is.
BUSY = """\
[global]
ioengine=null
size=1G
bs=4k
rw=randread
norandommap=1
random_generator=lfsr
time_based
runtime={runtime_ms}ms
clocksource=clock_gettime
thread=1
"""
#: Guest time of a CPU that has all instructions. What a guest does besides does not grow with it,
#: nor do all guests do it at the same time: in 100 ms that is up to 1.1 %.
BUSY_MS = 200

MIXED = workloads.for_guest(workloads.BUILT_IN["mixed"], takes_hints=True)


def busy(name: str, cpus: Sequence[int], vcpus: int) -> agent.Job:
    """A job that keeps these CPUs busy."""
    text = BUSY.format(runtime_ms=BUSY_MS * vcpus)
    text += "".join(f"[cpu{cpu}]\ncpus_allowed={cpu}\n" for cpu in cpus)
    return agent.Job(name, fio=text, args=("--eta=never",))


@dataclass(frozen=True)
class Guest:
    """What a guest with so many CPUs did: operations per CPU with all busy, and with CPU 0."""

    outcome: RunOutcome
    all_busy: list[int]
    alone: int


def several(policies: str, vcpus: int, runtime_s: float) -> settings.Settings:
    """A comparison in `mixed`; so many CPUs take so many times as long to boot."""
    return replace(make_settings(policies, [MIXED], runtime_s), vcpus=vcpus,
                   boot_limit_s=vm.BOOT_LIMIT_S * vcpus)


def run_plan(vcpus: int) -> tuple[RunPlan, Files]:
    """CPU-bound jobs, and `mixed` under the policy with most that can go another way."""
    chosen = several("cint+ooo", vcpus, 0.02)
    one = boots.guest_for("several CPUs", chosen, chosen.arms[0], comparison.rounds_for(chosen))
    plan = replace(one.plan, jobs=(*one.plan.jobs, busy("all", range(vcpus), vcpus),
                               busy("alone", [0], vcpus)))
    files = Files.of(one.machine)
    return RunPlan.of(f"{vcpus} CPUs", one.machine, plan, files,
                      boot_limit_s=chosen.boot_limit_s), files


def operations(outcome: session.Outcome, job: str) -> list[int]:
    """By CPU."""
    found = fiojson.parse(outcome.results[job]["fio"])
    return [found[name].ios for name in sorted(found)]


@functools.cache
def guest(vcpus: int, again: bool = False) -> Guest:
    """A guest that was run, and not taken from the store; a second one with `again`."""
    run, files = run_plan(vcpus)
    logs = log_root() / f"vcpus-{vcpus}{'-again' if again else ''}"
    outcome = runner.execute(run, files.places, logs)
    parsed = outcome.parsed(run.name)
    assert parsed.trouble == []
    return Guest(outcome, operations(parsed, "all"), operations(parsed, "alone")[0])


@pytest.mark.parametrize("vcpus", [2, 4])
def test_even_shares(vcpus: int) -> None:
    found = guest(vcpus)
    assert len(found.all_busy) == vcpus
    assert max(found.all_busy) / min(found.all_busy) - 1 < SHARES, found.all_busy


@pytest.mark.parametrize("vcpus", [2, 4])
def test_speed_does_not_depend_on_the_others(vcpus: int) -> None:
    found = guest(vcpus)
    assert abs(found.alone / found.all_busy[0] - 1) < SHARES, found
    # The guest's runtime grows with the CPUs, so the counts are those of one CPU. Its chores fall
    # into either job by chance, which is half a percent of one: both are one sample.
    one = guest(1)
    ratio = (found.alone + found.all_busy[0]) / (one.alone + one.all_busy[0])
    assert abs(ratio - 1) < SHARES, (found, one)


@pytest.mark.parametrize("vcpus", [2, 4])
def test_runs_repeat_byte_for_byte(vcpus: int) -> None:
    one, two = guest(vcpus).outcome, guest(vcpus, again=True).outcome
    assert one.agent == two.agent
    assert one.console == two.console


@dataclass(frozen=True)
class Mixed:
    """What `mixed` came to, in reported time; long waits as a share of the sync job's reads."""

    mean_us: float
    iops: float
    long_waits: float


def mixed(policy: str, vcpus: int, runtime_s: float, logs: Path) -> Mixed:
    """Run it on CPU 0 of so many."""
    chosen = several(policy, vcpus, runtime_s)
    [sample] = run_samples(chosen, logs)
    sync = sample.jobs["sync"]
    bins = {ns / 1000 / chosen.k: count for ns, count in sync.bins.items()}
    long = {us: count for us, count in bins.items() if us > LONG_WAIT_US}
    count, reads = sum(long.values()), sum(bins.values())
    total_us = sync.mean_ns / 1000 / chosen.k * reads
    return Mixed((total_us - sum(us * n for us, n in long.items())) / (reads - count),
                 sample.iops * chosen.k, count / reads)


def apart(policy: str, vcpus: Sequence[int], runtime_s: float, logs: Path) -> list[str]:
    """What of `mixed` is not as on one CPU."""
    found = {n: mixed(policy, n, runtime_s, logs / f"{n}") for n in (1, *vcpus)}
    one = found[1]
    return ([f"{n} CPUs: {found[n]}, one: {one}" for n in vcpus
             if off(found[n].mean_us, one.mean_us) or off(found[n].iops, one.iops)]
            + [f"{n} CPUs: {of.long_waits:.2%} of the reads wait for long"
               for n, of in found.items() if of.long_waits > LONG_WAITS])


def off(value: float, wanted: float) -> bool:
    """Whether a value is too far from that of one CPU."""
    return abs(value / wanted - 1) > LIKE_ONE_CPU


def test_mixed_on_two_cpus(logs: Path) -> None:
    assert apart("cint", [2], 0.1, logs) == []


@pytest.mark.slow
@pytest.mark.parametrize("policy", properties.DEFAULT_POLICIES.split(","))
def test_mixed_on_one_of_several_cpus(policy: str, logs: Path) -> None:
    assert apart(policy, [2, 4], 0.2, logs) == []
