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
#: The same without the sync job's slice. The guest's scheduler then lets a burst of the
#: asynchronous job finish before it runs a thread that has woken up, which with out-of-order
#: reaping happens to every second read.
NO_SLICE = replace(MIXED, name="no-slice",
                   template=MIXED.template.replace("exec_prerun={sliced_pre}\n", ""))


def run(policies: str, jobs: Sequence[workloads.Workload], logs: Path,
        hints: bool = True) -> list[sampling.Row]:
    """The whole-workload rows."""
    chosen = replace(make_settings(policies, jobs, RUNTIME_S), hints=hints)
    return [r for r in run_policies(chosen, logs) if r.job is None]


def calibrated(rows: Sequence[sampling.Row], policy: str, workload: str = "mixed") -> bool:
    """Whether the policy has default's mean latency at a fraction of its interrupts."""
    late, merged = (value(rows, policy, workload, m) / value(rows, "default", workload, m)
                    for m in ("mean_us", "ios_per_irq"))
    return late <= 1 + MARGIN and 1 / merged < INTERRUPTS


def test_hints_calibrate_interrupts(logs: Path) -> None:
    rows = run(f"default,cint,cint+ooo,{URGENT_ONLY}", (MIXED,), logs / "hints")
    for row in rows:
        # the sync job's reads have the hint, the others none
        assert set(row.hints) == {"none", "urgent"}
        assert ("urgent" in row.reasons) is (row.policy != "default")
    for policy in ("cint", "cint+ooo", URGENT_ONLY):
        assert calibrated(rows, policy), rows

    # out of order: not later, with fewer interrupts
    late, merged = (value(rows, "cint+ooo", "mixed", m) / value(rows, "cint", "mixed", m)
                    for m in ("mean_us", "ios_per_irq"))
    assert late <= 1, rows
    assert merged > 1, rows

    # and it is the hints that do it
    without = run("default,cint:infer=off", (MIXED,), logs / "none", hints=False)
    row = without[-1]
    assert (row.policy, set(row.hints)) == ("cint:infer=off", {"none"})
    assert not row.reasons.keys() & {"urgent", "barrier"}
    assert not calibrated(without, row.policy)


def test_the_slice_is_what_out_of_order_needs(logs: Path) -> None:
    """Without it the reads are in time, and wait for the CPU."""
    rows = run("default,cint+ooo", (NO_SLICE,), logs)
    late = [value(rows, "cint+ooo", "no-slice", m) / value(rows, "default", "no-slice", m)
            for m in ("p50_us", "mean_us")]
    assert late[0] < 1, rows
    assert late[1] > 1.5, rows
