# SPDX-License-Identifier: GPL-2.0-or-later
"""Hints tell the read that somebody waits for from those nobody does (workload `mixed`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from conftest import make_settings, run_policies, value

from cint.measure import sampling, workloads

RUNTIME_S = 0.1
#: With hints the sync job waits no longer than under default, up to this share,
MARGIN = 0.05
#: and the device sends less than this share of default's interrupts for an I/O.
INTERRUPTS = 0.5
#: Only Urgent commands interrupt, as in cinterrupts' Figure 10.
URGENT_ONLY = "cint:delta=300ms,thr=65535"

MIXED = workloads.for_guest(workloads.BUILT_IN["mixed"], takes_hints=True)
#: The guest's scheduler lets a burst of the asynchronous job finish before it runs a
#: thread that has woken up, which with out-of-order reaping happens to every second
#: read. This is the sync job when it need not wait for the CPU.
PREFERRED = replace(MIXED, name="preferred",
                    template=MIXED.template.replace("[sync]", "[sync]\nnice=-19"))


def run(policies: str, jobs: Sequence[workloads.Workload], logs: Path,
        hints: bool = True) -> list[sampling.Row]:
    """The whole-workload rows."""
    chosen = replace(make_settings(policies, jobs, RUNTIME_S), hints=hints)
    return [r for r in run_policies(chosen, logs) if r.job is None]


def calibrated(rows: Sequence[sampling.Row], policy: str, workload: str, latency: str) -> bool:
    """Whether the policy has default's latency at a fraction of its interrupts."""
    late, merged = (value(rows, policy, workload, m) / value(rows, "default", workload, m)
                    for m in (latency, "ios_per_irq"))
    return late <= 1 + MARGIN and 1 / merged < INTERRUPTS


def test_hints_calibrate_interrupts(logs: Path) -> None:
    rows = run(f"default,cint,cint+ooo,{URGENT_ONLY}", (MIXED, PREFERRED), logs / "hints")
    for row in rows:
        # the sync job's reads have the hint, the others none
        assert set(row.hints) == {"none", "urgent"}
        assert ("urgent" in row.reasons) is (row.policy != "default")
    for policy in ("cint", "cint+ooo"):
        assert calibrated(rows, policy, "mixed", "p50_us"), rows
    assert calibrated(rows, URGENT_ONLY, "mixed", "mean_us"), rows
    assert calibrated(rows, "cint+ooo", "preferred", "mean_us"), rows

    # and it is the hints that do it
    without = run("default,cint:infer=off", (MIXED,), logs / "none", hints=False)
    row = without[-1]
    assert (row.policy, set(row.hints)) == ("cint:infer=off", {"none"})
    assert not row.reasons.keys() & {"urgent", "barrier"}
    assert not calibrated(without, row.policy, "mixed", "p50_us")
    assert not calibrated(without, row.policy, "mixed", "mean_us")
