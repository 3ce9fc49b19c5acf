# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs that end when blocks of them agree (``--runtime auto``): the rule, and what came of it.

A profile of the guest's fio decides (images/fio-agree), by the guest's clock and its own counters.
So the same words end at the same instruction, and nothing of the host has a say.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from cint.device import scale
from cint.errors import CintError, UsageError
from cint.measure import metrics

AUTO = "auto"
#: What fio is told beside the job file.
ARGS = ("--profile=agree",)
#: Blocks that a run is cut into (images/fio-agree/blocks.h).
BLOCKS = 10
#: Looks in the longest run; from BLOCKS of them on it may end.
LOOKS = 50
#: A run that was looked at for less of its longest time ended by itself. Others end a few looks
#: after the last one: their jobs start one after the other, and each counts its own time.
EARLY = 0.8
#: What is no part of a look: rounding, where a time is whole looks.
NO_LOOK = 1e-6
#: I/Os that a job needs for a percentile of 99 that goes by enough of them.
LEAST_IOS = 100 * metrics.FEW_BEYOND
#: What may differ, as a share of the mean, and what may be typed.
ERROR, LEAST_ERROR, MOST_ERROR = 0.01, 0.001, 0.2
MARK = "cint-agree "

_TYPED = re.compile(r"auto(?::([0-9]+(?:\.[0-9]+)?)%)?")


@dataclass(frozen=True)
class Rule:
    """How far the blocks of a run may be apart where it ends, as a share of the mean."""

    error: float = ERROR

    def __str__(self) -> str:
        """The word as it is typed."""
        return AUTO if self.error == ERROR else f"{AUTO}:{100 * self.error:g}%"

    def options(self, runtime_s: float, period_s: float, k: float) -> str:
        """The options of fio's section [global]; ``runtime_s`` is the longest run, reported time.

        ``period_s`` is the longest time that what is measured goes by: no block is shorter. Blocks
        are of whole looks, and some have one more than others.
        """
        look_s = runtime_s / LOOKS
        looks = max(1, math.ceil(period_s / look_s - NO_LOOK))
        times = {"agree_look": look_s, "agree_after": BLOCKS * looks * look_s}
        lines = [f"{name}={round(scale.apply('fio', name, value, k) * 1e6)}us"
                 for name, value in times.items()]
        return "\n".join(["[global]", *lines, f"agree_ios={LEAST_IOS}",
                          f"agree_error={round(self.error * 1e6)}", ""])


def parse(text: str) -> Rule | None:
    """The rule of ``auto`` or ``auto:ERROR``, None of another word; UsageError of its number."""
    if text.partition(":")[0] != AUTO:
        return None
    found = _TYPED.fullmatch(text)
    error = float(found[1]) / 100 if found and found[1] else ERROR
    if not found or not LEAST_ERROR <= error <= MOST_ERROR:
        raise UsageError(f"--runtime {text}: give what may differ in percent of the mean, "
                         f"{100 * LEAST_ERROR:g}% to {100 * MOST_ERROR:g}%, as in auto:0.5%")
    return Rule(error)


# ---- what came of it ----------------------------------------------------

@dataclass(frozen=True)
class Job:
    """A job while all of them ran: its I/Os, and how far its blocks were apart.

    ``error`` is a share of the mean, the largest of what was asked; None where the run was too
    short for blocks, or a block had no I/O.
    """

    ios: int
    error: float | None


@dataclass(frozen=True)
class Agreement:
    """fio's words where its jobs ended; ``seconds`` are the guest's, in which all jobs ran.

    Not ``agreed``: they ended by themselves.
    """

    agreed: bool
    seconds: float
    jobs: Mapping[str, Job]

    @property
    def error(self) -> float | None:
        """The largest error of a job; None where one is not known."""
        errors = [job.error for job in self.jobs.values()]
        known = [error for error in errors if error is not None]
        return max(known) if known and len(known) == len(errors) else None

    def rate(self, job: str) -> float:
        """A job's I/Os a guest second while all jobs ran."""
        return self.jobs[job].ios / self.seconds


def parse_said(text: str) -> Agreement | None:
    """The line in a job's output, None without, or of no time; CintError if it is garbled."""
    lines = [line for line in text.splitlines() if line.startswith(MARK)]
    if not lines:
        return None
    try:
        said = json.loads(lines[-1].removeprefix(MARK))
        jobs = {str(job["name"]): Job(int(job["ios"]), _error(job)) for job in said["jobs"]}
        found = Agreement(bool(said["agreed"]), said["ns"] / 1e9, jobs)
    except (ValueError, KeyError, TypeError) as err:
        raise CintError(f"what fio said of a run's blocks cannot be read ({err!r})") from None
    return found if found.seconds else None


def _error(job: Mapping[str, object]) -> float | None:
    errors = [float(str(value)) for name, value in job.items()
              if name.endswith(("_error", "_drift"))]
    return max(errors, default=None)
