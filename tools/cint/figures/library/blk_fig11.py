# SPDX-License-Identifier: GPL-2.0-or-later
"""blk-switch, Figure 11: more and more cores."""

from cint.figures import switched
from cint.figures.checks import Control, Deviation, at_least, instead, swap
from cint.figures.model import CPU_SCALE, Figure, Group, Panel, Series
from cint.figures.switched import APP, OFF, latency, of_l, of_t, throughput
from cint.figures.values import Expr, said

CPUS = (1, 2, 4)
RUNTIME_S = 0.02
#: What T keeps at least by the paper's text, which has two numbers: 0.6 on one core, 0.96 on seven.
KEPT = {1: 0.55, 2: 0.6, 4: 0.6}
PAPER = {1: 0.6, 2: "0.6 and more", 4: "0.6 and more"}
#: A workload of as many L and T as there are CPUs.
CELL = "one of each on a CPU"


def name(count: int, mode: str) -> str:
    """What a run on so many CPUs is called."""
    return f"{count} CPU/{mode}"


def group(count: int) -> Group:
    """As many L and T as CPUs."""
    return Group(switched.runs(OFF, APP), (
        switched.anywhere(CELL, f"{count} L and {count} T, which may run anywhere",
                          latency(count), throughput(count)),),
        switched.MEDIA, f"{count} CPU/", RUNTIME_S, switched.FULL_S[switched.PAID] / count,
        vcpus=count, append=(switched.cost(count),))


def kept(count: int) -> Expr:
    """What T has under app of its throughput under off."""
    return of_t("iops", name(count, APP), CELL) / of_t("iops", name(count, OFF), CELL)


def fewer(count: int) -> Control:
    """A control: app has a CPU less than off."""
    return (instead(name(count, APP), name(count // 2, APP)) if count > 1
            else instead(name(count, OFF), name(2 * count, OFF)))


FIGURE = Figure(
    "blk-fig11", "blk-switch", "More and more cores", "section 5.2, Figure 11",
    "With x cores, L and T each: Linux's latency is high, blk-switch's low. On one core blk-switch "
    "costs T much, on more less and less.",
    groups=tuple(group(count) for count in CPUS),
    checks=(
        *(check for count in CPUS for check in (
            at_least(f"{count} CPU: p99 of L, off against app",
                     of_l("p99_us", name(count, OFF), CELL)
                     / of_l("p99_us", name(count, APP), CELL), 3,
                     swap(name(count, OFF), name(count, APP)), paper="more than 10"),
            at_least(f"{count} CPU: T, app against off", kept(count), KEPT[count], fewer(count),
                     paper=PAPER[count]))),
        at_least(f"{CPUS[-1]} CPU against {CPUS[0]}: T, app against off",
                 kept(CPUS[-1]) / kept(CPUS[0]), 1.05, swap(name(CPUS[-1], APP), name(1, APP)),
                 paper="rises", deviation=Deviation(0.85, 1.049, said(
                     "T keeps {:.2f} on one CPU already, where the paper's keeps 0.6: more of them "
                     "have little to give back", kept(CPUS[0])))),
    ),
    panels=tuple(
        Panel(what, unit, tuple(
            Series(mode, [(count, read(metric, name(count, mode), CELL))
                          for count in CPUS]) for mode in (OFF, APP)),
            kind="lines", x="CPUs, L and T")
        for what, unit, read, metric in (("p99 of L", "us", of_l, "p99_us"),
                                         ("T's reads of 64 KiB", "per s", of_t, "iops"))),
    columns=switched.COLUMNS,
    notes=(switched.NETWORK, switched.JOBS, switched.SCHEDULED, switched.SAME_DEVICE,
           "All runs are with 315 ns for each KiB: without it four CPUs would wait for nothing "
           "that more of them could do. Application steering looks every 10 ms of the guest's, "
           f"which with four CPUs is {4 * CPU_SCALE:.0f} times as often as on the machine that it "
           "stands for. There is one node of memory, while the paper's last two points have two."),
    slow=True,
)
