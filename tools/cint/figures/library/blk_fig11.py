# SPDX-License-Identifier: GPL-2.0-or-later
"""blk-switch, Figure 11: more and more cores."""

from dataclasses import replace

from cint.figures import switched
from cint.figures.checks import at_least, swap, wrong
from cint.figures.model import Figure, Group, Panel, Series
from cint.figures.switched import APP, OFF, latency, of_l, of_t, throughput

CPUS = (1, 2, 4)
RUNTIME_S = 0.02
#: On fewer CPUs some seeds are within the bound.
FEWER = replace(switched.MORE_OF_L, low=0.85, high=0.98)


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


FIGURE = Figure(
    "blk-fig11", "blk-switch", "More and more cores", "section 5.2, Figure 11",
    "With x cores, L and T each: Linux's latency is high, blk-switch's low. On one core blk-switch "
    "costs T much, on more less and less.",
    groups=tuple(group(count) for count in CPUS),
    checks=tuple(
        check for count in CPUS for check in (
            at_least(f"{count} CPU: p99 of L, off against app",
                     of_l("p99_us", name(count, OFF), cell(count))
                     / of_l("p99_us", name(count, APP), cell(count)), 3,
                     swap(name(count, OFF), name(count, APP)), paper="more than 10"),
            at_least(f"{count} CPU: T, app against off",
                     of_t("iops", name(count, APP), cell(count))
                     / of_t("iops", name(count, OFF), cell(count)), 0.9, wrong(2),
                     paper="0.6" if count == 1 else "0.9 and more",
                     deviation=switched.MORE_OF_L if count == CPUS[-1] else FEWER))),
    panels=tuple(
        Panel(what, unit, tuple(
            Series(mode, [(count, read(metric, name(count, mode), cell(count)))
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
    slow=True,
)
