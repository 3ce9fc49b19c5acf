# SPDX-License-Identifier: GPL-2.0-or-later
"""blk-switch, Figure 15: what each mechanism is good for."""

from dataclasses import replace

from cint.figures import switched
from cint.figures.checks import Check, Deviation, at_least, at_most, instead, several, swap
from cint.figures.model import Figure, Group
from cint.figures.switched import (
    APP,
    DEPTH,
    MEDIA,
    MODES,
    OFF,
    PAID,
    PRIO,
    REQUEST,
    latency,
    of_l,
    of_t,
    pinned,
    throughput,
)
from cint.figures.values import said

#: A process that asks the fair scheduler for a short slice.
SLICED = "thread=0\nexec_prerun={sliced_pre}\n"
ONE = pinned("core 0", f"L and T (depth {DEPTH}) on CPU 0, nothing else on CPU 1",
             latency(), throughput())
FAIR = pinned("fair", "the same, but L is a process of the fair scheduler with a slice of 0.1 ms",
              latency(more=SLICED), throughput())
WIDE = switched.anywhere("two of each", f"two L and two T (depth {DEPTH}), which may run on both "
                         "CPUs", latency(2), throughput(2))

#: A medium that takes more commands at once than T has.
DEEPER = "64 slots/"


def deeper() -> tuple[Group, ...]:
    """Mode prio there: what L waits for beside T, other than for the CPU."""
    return tuple(replace(group, media=MEDIA.replace("units=8,slots=8", "units=64,slots=64"),
                         prefix=DEEPER + group.prefix)
                 for group in switched.groups((PRIO,), (switched.ALONE, ONE)))


def late(prefix: str) -> Check:
    """What L waits for beside T in mode prio."""
    run = prefix + PRIO
    return at_most(f"{switched.TITLES[prefix]}: p99 of L, prio against alone",
                   of_l("core 0")("p99_us", run) / of_l("alone")("p99_us", run), 1.3,
                   instead(run, prefix + OFF), deviation=switched.gives_way(run, "core 0"))


FIGURE = Figure(
    "blk-fig15", "blk-switch", "What each mechanism is good for", "section 5.4, Figure 15",
    "Prioritisation takes L's tail latency down by an order of magnitude and costs T throughput; "
    "request steering gives it back on the other core; application steering gives both.",
    groups=(*switched.groups(MODES, (switched.ALONE, ONE, FAIR, WIDE)), *deeper()),
    checks=(
        at_least("per byte: p99 of L, off against prio",
                 of_l("core 0", PAID).ratio("p99_us", OFF, PRIO), 3, paper="10"),
        several("p99 of L, prio against alone", [late(prefix) for prefix in ("", PAID)]),
        at_least("as it is: p99 of L, off against prio",
                 of_l("core 0").ratio("p99_us", OFF, PRIO), 3,
                 deviation=Deviation(1.2, 2.9, said(
                     "where a read costs nothing for its bytes L's p99 is {:.0f} us beside T: "
                     "that is all there is to gain", of_l("core 0")("p99_us", OFF)))),
        at_most("per byte: T, prio against off", of_t("core 0", PAID).ratio("iops", PRIO, OFF),
                0.95, swap(PAID + OFF, PAID + PRIO), paper="less"),
        at_least("per byte: T, request against prio",
                 of_t("core 0", PAID).ratio("iops", REQUEST, PRIO), 1.03, paper="more"),
        at_least("per byte: T, request against off",
                 of_t("core 0", PAID).ratio("iops", REQUEST, OFF), 0.9,
                 instead(PAID + REQUEST, PAID + PRIO)),
        at_most("per byte, two of each: p99 of L, app against request",
                of_l("two of each", PAID).ratio("p99_us", APP, REQUEST), 0.95,
                instead(PAID + APP, PAID + OFF), paper="less", deviation=Deviation(0.8, 1.15, (
                    "loads are even: with one of each on either CPU no CPU is better "
                    "than the other, to which Algorithm 2 has no answer (see steerd --apart)"))),
        at_least("per byte, fair scheduler: p99 of L, off against prio",
                 of_l("fair", PAID).ratio("p99_us", OFF, PRIO), 3),
        at_least("per byte, fair scheduler: T, request against prio",
                 of_t("fair", PAID).ratio("iops", REQUEST, PRIO), 1.2, paper="more"),
    ),
    panels=switched.bars(MODES, ("core 0", "fair", "two of each")),
    columns=switched.COLUMNS,
    notes=(switched.NETWORK, switched.JOBS, switched.SAME_DEVICE, switched.FAST_TICKS,
           "In 'core 0' application steering moves nothing: who may run on one CPU only stays "
           "there. The paper's code overrides the affinity it sets for its jobs."),
)
