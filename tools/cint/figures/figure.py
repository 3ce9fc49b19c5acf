# SPDX-License-Identifier: GPL-2.0-or-later
"""The model of a figure: the runs it needs, how they are read, what must come out, how it is drawn.

The modules of :mod:`cint.figures.library` have them; those of a module share
jobs. All times and rates in them are reported ones (see scale.py), all runs are
in virtual time, with the device's own extras (drain, max-hold) off and the
kernel's marks literal, as in the papers, unless a run says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cint.device import properties
from cint.figures.checks import Check
from cint.figures.columns import USUAL, Column
from cint.figures.reading import Reader, points
from cint.figures.values import Data, Expr, Words
from cint.guest import drivers, hints, kinds, polling, steering, vm
from cint.measure import settings
from cint.measure.arms import Arm
from cint.measure.workloads import Timing, Workload

#: Seeds of fio's random numbers: the reads of each are others.
SEEDS = (1, 2, 3)
#: Seconds of each job, after a tenth of that for the ramp: at 300,000 reads a second enough for
#: means and rates, which in virtual time no other load disturbs.
RUNTIME_S = 0.05
#: What ./cint calibrate proposes, with which the guest's costs are those of the papers' machine.
CPU_SCALE = float(settings.CALIBRATED["cpu_scale"])
COST_NS = int(settings.CALIBRATED["irq_cost_ns"])


def machine(cpu_scale: float = CPU_SCALE, cost_ns: int = COST_NS) -> str:
    """The machine that a guest stands for, in words; by default the calibrated one."""
    return f"cpu-scale {cpu_scale:g}, interrupt cost {cost_ns} ns"
#: With --quick: one seed, and jobs of this share of their time, unless a script looks at them
#: at times of its own.
QUICK_SHARE = 0.5


@dataclass(frozen=True)
class Run:
    """One policy. ``name`` is what the figure calls it; ``hints`` off: the guest gives none. On the
    distribution's kernel the module gives them, unless ``who`` says otherwise, a word of
    ``--hints``.

    ``polling`` is a mode of ``--polling``, ``engine`` one of ``--engine``, ``steering`` one of
    ``--steering``, ``extras`` a word of ``--extras``.
    """

    policy: str
    name: str = ""
    hints: bool = True
    polling: str = polling.OFF
    engine: str = drivers.KERNEL
    steering: str = steering.OFF
    extras: str = properties.DEFAULT_EXTRAS
    who: str = ""

    @property
    def title(self) -> str:
        """The name, which is the policy's unless the figure gives another."""
        return self.name or self.policy


#: The negative control: the policy that acts on hints, in a guest that gives none.
NO_HINTS = Run("cint:infer=off", "cint, no hints", hints=False)


@dataclass(frozen=True)
class Group:
    """Runs that do the same jobs on the same machine; a guest for each run.

    ``runs`` may be a function of what the groups before gave: a parameter that
    is measured first. ``read`` turns a guest's outcome into points. ``prefix``
    goes before the runs' names, where groups differ in nothing else.
    """

    runs: Sequence[Run] | Callable[[Data], Sequence[Run]]
    workloads: Sequence[Workload]
    media: str = "optane"
    prefix: str = ""
    runtime_s: float = RUNTIME_S
    #: Where a percentile takes longer than runtime_s: seconds of each job, but with --quick.
    full_s: float | None = None
    seeds: Sequence[int] = SEEDS
    cpu_scale: float = CPU_SCALE
    cost_ns: int = COST_NS
    vcpus: int = 1
    trace: Sequence[str] = ()
    read: Reader = points
    #: Whether the guest is given the script of :mod:`cint.figures.probe`.
    probed: bool = False
    #: Further options of the guest's kernel.
    append: Sequence[str] = ()
    #: Further commands for the guest before its jobs.
    setup: Sequence[tuple[str, ...]] = ()
    #: A word of ``--guest``: our kernel, or the distribution's, in which an interrupt costs nothing
    #: more than it does by itself.
    guest: str = "cint"
    #: What preempt= says, to our kernel as it is with PREEMPT_DYNAMIC; empty: the measured kernel.
    preempt: str = ""
    #: Further properties of the device, as typed after -device nvme,.
    device_opts: str = ""
    #: The medium of a second controller, /dev/nvme1n1, if there is one.
    second: str = ""
    #: Whether that keeps what is written to it, until the guest is off.
    second_kept: bool = False

    def seconds(self, quick: bool) -> float:
        """The time of each job."""
        if quick:
            return self.runtime_s * (1 if self.probed else QUICK_SHARE)
        return self.full_s or self.runtime_s


#: What is drawn: a number over a name, or over another number.
Points = Sequence[tuple[str | float | Expr, Expr | float]]


@dataclass(frozen=True)
class Series:
    """One colour of a drawing: y for each x; a check's expression or the paper's number.

    In a trade-off x is an expression, too. ``paper`` series are drawn hollow.
    """

    label: str
    points: Points
    paper: bool = False


@dataclass(frozen=True)
class Panel:
    """One drawing: bars (x are names), lines (x are numbers), tradeoff (x is measured, too), curves
    or a timeline.
    """

    title: str
    y: str = ""
    series: Sequence[Series] = ()
    kind: str = "bars"
    x: str = ""
    #: For curves (pairs of run and cell, from Data.curves) and timelines (runs).
    sources: Sequence[tuple[str, str]] = ()
    log_x: bool = False
    log_y: bool = False


def pair(label: str, ours: Points, paper: Points) -> tuple[Series, Series]:
    """A series that was measured, and the paper's beside it."""
    return Series(label, ours), Series(f"{label}, paper", paper, paper=True)


def here(title: str, y: str, ours: Points, paper: Points = (), **more: Any) -> Panel:
    """A drawing of what was measured here, beside the paper's numbers where it has any."""
    theirs = [Series("paper", paper, paper=True)] if paper else []
    return Panel(title, y, (Series("here", ours), *theirs), **more)


@dataclass(frozen=True)
class Figure:
    """One figure or table of a paper."""

    id: str
    #: The set it belongs to: the paper.
    family: str
    title: str
    #: Where in the paper.
    source: str
    #: What the paper claims with it, in a sentence or two.
    claim: str
    groups: Sequence[Group]
    checks: Sequence[Check]
    panels: Sequence[Panel] = ()
    columns: Sequence[Column] = USUAL
    #: What is done otherwise than in the paper, and other remarks; a paragraph each.
    notes: Sequence[Words] = ()
    #: What of the paper's figure is not done here, and why.
    left_out: Sequence[str] = ()
    #: Whether the test suite runs it without --full.
    short: bool = False
    #: Further sets that it belongs to.
    sets: Sequence[str] = ()


@dataclass(frozen=True)
class NotDone:
    """A figure of a paper that cannot be had here, and why; it is listed and never run."""

    id: str
    family: str
    title: str
    reason: str


def on_cpus(figure: Figure, count: int) -> Figure:
    """The figure, in guests of so many CPUs; its jobs stay on the first of them."""
    return replace(figure, groups=tuple(replace(g, vcpus=count) for g in figure.groups))


def runs(*policies: str | Run) -> tuple[Run, ...]:
    """Runs of policies by name."""
    return tuple(p if isinstance(p, Run) else Run(p) for p in policies)


def who_gives(group: Group, run: Run) -> str:
    """A word of ``--hints``. Our kernel is told by Settings.hints that it gives none."""
    if group.guest == "distro":
        return (run.who or hints.MODULE) if run.hints else hints.OFF
    return run.who or hints.ON


def settings_of(group: Group, run: Run, quick: bool) -> settings.Settings:
    """The run as ./cint compare would have it."""
    runtime = group.seconds(quick)
    limit_s = kinds.BOOT_LIMIT_S if group.guest == "distro" else vm.BOOT_LIMIT_S
    arm = Arm(policy=properties.parse_policy(run.policy), polling=polling.parse(run.polling),
              engine=drivers.parse(run.engine), steering=steering.parse(run.steering),
              hints=who_gives(group, run))
    return settings.Settings(
        arms=[arm], workloads=group.workloads, media=properties.parse_media(group.media),
        virtual=True, vcpus=group.vcpus, timing=Timing(runtime, runtime / 10), repeat=1,
        cpu_scale=group.cpu_scale, cost_ns=group.cost_ns, quick=False, drive=None,
        device_opts=group.device_opts,
        repeat_command="./cint figure", hints=run.hints, guest=group.guest,
        extras=run.extras, boot_limit_s=limit_s * group.vcpus)
