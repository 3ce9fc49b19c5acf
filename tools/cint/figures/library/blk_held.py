# SPDX-License-Identifier: GPL-2.0-or-later
"""What queues by class gain L and leave T, with L at one rate in all modes."""

from dataclasses import replace

from cint.figures import switched
from cint.figures.checks import Check, Deviation, at_least, at_most, instead, wrong
from cint.figures.model import CPU_SCALE, Figure, Group
from cint.figures.polled import REAL_TIME
from cint.figures.switched import (
    HUGE,
    HUGE_PAGES,
    OFF,
    PAID,
    PRIO,
    latency,
    of_l,
    of_t,
    pinned,
    throughput,
)
from cint.figures.values import Expr, value
from cint.guest import agent
from cint.measure.workloads import Workload

#: Reads of L a second, which it comes to in mode off, too, on either medium.
RATES = {7: 12_000, 20: 5_000}
#: So long that in three seeds L has 10,000 reads at that rate, and some to spare.
FULL_S = {7: 0.3, 20: 0.7}
SLOW, DEEPER = "20 us/", "20 us, 64 slots/"
#: What wakes fio for its next read comes 50 us late by default, for which fio spins instead.
EXACT_SLEEPS = (agent.exec_argv("echo 1 > /proc/$PPID/timerslack_ns"),)
SLICED = "thread=0\nexec_prerun={sliced_pre}\n"
#: Why eight slots are too few for a medium that is slow.
IN_THE_CONTROLLER = Deviation(1.3, 1.6, (
    "one read of L in fifty finds all 8 slots taken by T's commands and waits in the controller "
    "until one of them is done; with 64 slots none does"))
T = throughput(more=HUGE)
FAIR = pinned("fair", "the same without a rate, and L is a process of the fair scheduler with a "
              "slice of 0.1 ms", latency(more=SLICED), T)
DEEP = pinned("T at 16", "T alone, reads of 64 KiB at depth 16, one by one",
              f"[throughput]\nioengine=libaio\niodepth=16\nbs=64k\n{HUGE}")


def held(us: int) -> Workload:
    """L with a rate, and T beside it."""
    rate = round(RATES[us] / CPU_SCALE)
    return pinned("held", "L at a rate and T, in huge pages, on the same CPU",
                  latency(more=f"{REAL_TIME}rate_iops={rate}\n"), T)


def groups(us: int, prefix: str) -> tuple[Group, ...]:
    """The runs on a medium that takes so long, without and with a cost of bytes."""
    cells = (switched.ALONE, held(us), FAIR, DEEP)
    return tuple(replace(group, media=switched.MEDIA.replace("7us", f"{us}us"),
                         prefix=prefix + group.prefix, setup=EXACT_SLEEPS,
                         append=(*group.append, HUGE_PAGES))
                 for group in switched.groups((OFF, PRIO), cells, vcpus=1,
                                              full_s=dict.fromkeys(switched.FULL_S, FULL_S[us])))


def deeper() -> Group:
    """Mode prio on the medium of 20 us, which takes as many commands as there are."""
    paid = groups(20, DEEPER)[1]
    return replace(paid, media=paid.media.replace("units=8,slots=8", "units=64,slots=64"),
                   runs=switched.runs(PRIO), workloads=(switched.ALONE, held(20)))


def late(run: str) -> Expr:
    """L's p99 beside T as a ratio to what it is alone."""
    return of_l("held")("p99_us", run) / of_l("alone")("p99_us", run)


def checks(prefix: str, title: str, deviation: Deviation | None = None) -> tuple[Check, ...]:
    """What is wanted where bytes cost time."""
    off, prio = prefix + PAID + OFF, prefix + PAID + PRIO
    return (
        at_most(f"{title}, prio: p99 of L, held against alone",
                late(prio), 1.3, instead(prio, off), deviation=deviation),
        at_least(f"{title}: p99 of L, off against prio", of_l("held").ratio("p99_us", off, prio),
                 10),
        at_least(f"{title}: T beside L, prio against off", of_t("held").ratio("iops", prio, off),
                 0.95, wrong(2)),
        at_least(f"{title}, fair scheduler: p99 of L, off against prio",
                 of_l("fair").ratio("p99_us", off, prio), 1),
    )


FIGURE = Figure(
    "blk-held", "blk-switch", "L at one rate in all modes", "of no paper: the same work for L",
    "With queues by class L is hardly later than alone, whatever T does, and T does as much as "
    "beside an L that waits for it.",
    groups=(*groups(7, ""), groups(20, SLOW)[1], deeper()),
    checks=(
        *checks("", "7 us, per byte"), *checks(SLOW, "20 us, per byte", IN_THE_CONTROLLER),
        at_most("20 us, 64 slots, per byte, prio: p99 of L, held against alone",
                late(DEEPER + PAID + PRIO), 1.3,
                instead(DEEPER + PAID + PRIO, SLOW + PAID + OFF)),
        at_most("7 us, as it is, prio: p99 of L, held against alone",
                late(PRIO), 1.3, instead(PRIO, OFF)),
        at_least("7 us, as it is: T beside L, prio against off",
                 of_t("held").ratio("iops", PRIO, OFF), 0.95, wrong(2),
                 deviation=Deviation(0.85, 0.95, (
                     "a read of T takes 3 us of the CPU in all, and its part of waking the thread, "
                     "of changing to it and back, and of sending four at a time is a tenth of "
                     "that"))),
        at_most("T at depth 16, nobody beside it: CPU time of a read, prio against off",
                value("cpu_per_io_us", PRIO, "T at 16") / value("cpu_per_io_us", OFF, "T at 16"),
                1.05, wrong(0.5)),
    ),
    panels=switched.bars((OFF, PRIO), ("held", "fair")),
    columns=switched.COLUMNS,
    notes=(switched.NETWORK, switched.JOBS,
           "T loses nothing to an L that does more reads because it waits less: L reads "
           f"{RATES[7]:,} times a second on the medium of 7 us, {RATES[20]:,} times on that of "
           "20 us, in both modes. One CPU.", switched.SCHEDULED),
)
