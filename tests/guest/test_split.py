# SPDX-License-Identifier: GPL-2.0-or-later
"""Policies of their own for the queues of the realtime class, as ./cint compare sets them.

Virtual time, two CPUs. The device says of each completion queue which policy it has, and how many
completions its interrupts were for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from conftest import log_root, make_settings, tell

from cint.device import logpage
from cint.guest import agent, steering, vm
from cint.measure import boots, comparison, runner, sampling, workloads
from cint.measure.store import Store

CPUS = 2
JOBS = workloads.BUILT_IN["classes"]
SPLIT = "split:l=cint,t=static:time=200us,thr=16"
LATENCY = set(steering.latency_queues(CPUS))


@pytest.fixture(scope="module")
def pages() -> Mapping[str, tuple[sampling.Row, logpage.LogPage]]:
    """By policy: the row of the whole workload, and what the device said after it."""
    chosen = make_settings(f"default,{SPLIT}", [JOBS], 0.02, media="gen2")
    chosen = replace(chosen, vcpus=CPUS, boot_limit_s=CPUS * vm.BOOT_LIMIT_S,
                     arms=[replace(arm, steering=steering.parse("prio")) for arm in chosen.arms])
    asked = comparison.asked_for(comparison.compose(chosen))
    guests = comparison.run_guests(chosen, asked, log_root() / "split", Store(),
                                   runner.Reuse.from_environment())
    tell(guests.done)
    for _, problem in guests.failed:
        raise problem
    found = {}
    for arm, outcome in zip(chosen.arms, guests.outcomes, strict=True):
        assert outcome.trouble == []
        page = agent.parse_snapshot(
            outcome.results[boots.job_name(JOBS, 0)]["after"]).nvme_log
        assert page is not None
        row = comparison.tabulate(chosen, comparison.samples_from(chosen, outcome))[0]
        kind = arm.policy.kind if arm.policy.latency is None else "split"
        found[kind] = (row, logpage.decode(page))
    return found


def policies(page: logpage.LogPage) -> dict[int, str]:
    """Of each I/O completion queue."""
    return {record.cqid: record.policy for record in page.records if record.cqid}


def test_each_queue_has_its_policy(pages: Mapping[str, tuple[sampling.Row, logpage.LogPage]],
                                   ) -> None:
    queues = range(1, 2 * CPUS + 1)
    assert policies(pages["default"][1]) == dict.fromkeys(queues, "default")
    assert policies(pages["split"][1]) == {
        queue: "cint" if queue in LATENCY else "static" for queue in queues}


def test_each_class_is_told_by_its_policy(
        pages: Mapping[str, tuple[sampling.Row, logpage.LogPage]]) -> None:
    """Under one policy each completion interrupts; split, L's do, and T's only in groups."""
    per_irq = {name: {c: counts["ios_per_irq"] for c, counts in row.classes.items()}
               for name, (row, _) in pages.items()}
    assert per_irq["default"] == {"l": pytest.approx(1, abs=0.05), "t": pytest.approx(1, abs=0.05)}
    assert per_irq["split"] == {"l": pytest.approx(1, abs=0.05), "t": pytest.approx(9, abs=7)}
    reasons = {record.cqid: record.reasons for record in pages["split"][1].records if record.cqid}
    for queue, counts in reasons.items():
        assert ("urgent" in counts) == (queue in LATENCY), reasons
        assert bool({"thr", "time"} & set(counts)) == (queue not in LATENCY), reasons
