# SPDX-License-Identifier: GPL-2.0-or-later
"""blk-switch, Figure 11: more and more cores."""

from cint.figures import switched
from cint.figures.checks import Check, at_least, several, wrong
from cint.figures.model import Figure, Group, Panel, Series
from cint.figures.switched import APP, OFF, latency, of_l, of_t, throughput

CPUS = (1, 2, 4)
RUNTIME_S = 0.02
#: What the paper's T keeps of its throughput, by CPUs.
KEPT = {1: 0.6, 2: 0.9, 4: 0.9}


def cell(count: int) -> str:
    """The workload on so many CPUs."""
    return f"{count} L, {count} T"


def name(count: int, mode: str) -> str:
    """What a run on so many CPUs is called."""
    return f"{count} CPU/{mode}"


def group(count: int) -> Group:
    """As many L and T as CPUs."""
    return Group(switched.runs(OFF, APP), (
        switched.anywhere(cell(count), f"{count} L and {count} T, which may run anywhere",
                          latency(count), throughput(count)),),
        switched.MEDIA, f"{count} CPU/", RUNTIME_S, switched.FULL_S[switched.PAID] / count,
        vcpus=count, append=(switched.cost(count),))


def left(count: int) -> Check:
    """T's throughput on so many CPUs."""
    app, off = name(count, APP), name(count, OFF)
    return at_least(f"{count} CPU: T, app against off", of_t(cell(count)).ratio("iops", app, off),
                    KEPT[count], wrong(2), paper=str(KEPT[count]),
                    deviation=None if count == 1 else switched.more_of_l(
                        0.65, 0.85, app, off, cell(count)))


FIGURE = Figure(
    "blk-fig11", "blk-switch", "More and more cores", "section 5.2, Figure 11",
    "With x cores, L and T each: Linux's latency is high, blk-switch's low. On one core blk-switch "
    "costs T much, on more less and less.",
    groups=tuple(group(count) for count in CPUS),
    checks=(
        *(at_least(f"{count} CPU: p99 of L, off against app",
                   of_l(cell(count)).ratio("p99_us", name(count, OFF), name(count, APP)), 3,
                   paper="more than 10") for count in CPUS),
        left(1), several("on more than one CPU T keeps its throughput", [left(2), left(4)])),
    panels=tuple(
        Panel(what, unit, tuple(
            Series(mode, [(count, read(cell(count))(metric, name(count, mode)))
                          for count in CPUS]) for mode in (OFF, APP)),
            kind="lines", x="CPUs, L and T")
        for what, unit, read, metric in (("p99 of L", "us", of_l, "p99_us"),
                                         ("T's reads of 64 KiB", "per s", of_t, "iops"))),
    columns=switched.COLUMNS,
    notes=(switched.NETWORK, switched.JOBS, switched.SCHEDULED, switched.SAME_DEVICE,
           "All runs are with 315 ns for each KiB: without it four CPUs would wait for nothing "
           "that more of them could do. Application steering looks every 10 ms of the guest's, "
           "which with four CPUs is 11 times as often as on the machine that it stands for. There "
           "is one node of memory, while the paper's last two points have two."),
)
