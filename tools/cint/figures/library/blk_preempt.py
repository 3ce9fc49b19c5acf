# SPDX-License-Identifier: GPL-2.0-or-later
"""Queues by class under both settings of preempt=, on a kernel that has PREEMPT_DYNAMIC."""

from dataclasses import replace

from cint.figures import switched
from cint.figures.checks import Check, at_least, at_most
from cint.figures.controls import instead
from cint.figures.figure import Figure, Group, Panel, Series
from cint.figures.library.blk_own import CHEAP_READS, EXACT_SLEEPS, FULL_S, RATES, held, late
from cint.figures.switched import OFF, PAID, PRIO, of_l, of_t

#: Where the kernel gives way to a thread that can run: where it asks, or anywhere.
SETTINGS = ("voluntary", "full")
US = 7
CELL = "held"


def prefix(setting: str) -> str:
    """The prefix of the runs under a setting."""
    return f"{setting}/"


def groups(setting: str) -> tuple[Group, ...]:
    """L alone and beside T, without and with a cost of bytes."""
    made = switched.groups((OFF, PRIO), (switched.ALONE, held(US)), vcpus=1,
                           full_s=dict.fromkeys(switched.FULL_S, FULL_S[US]))
    return tuple(replace(group, prefix=prefix(setting) + group.prefix, preempt=setting,
                         setup=EXACT_SLEEPS, append=(*group.append, switched.HUGE_PAGES))
                 for group in made)


def aims(setting: str, cost: str) -> tuple[Check, ...]:
    """The same that is wanted on the kernel of all other figures."""
    title = f"preempt={setting}, {switched.TITLES[cost]}"
    off, prio = (prefix(setting) + cost + mode for mode in (OFF, PRIO))
    return (
        at_most(f"{title}, prio: p99 of L, held against alone", late(prio), 1.3,
                instead(prio, off)),
        *([at_least(f"{title}: p99 of L, off against prio",
                    of_l(CELL).ratio("p99_us", off, prio), 10)] if cost == PAID else []),
        at_least(f"{title}: T beside L, prio against off", of_t(CELL).ratio("iops", prio, off),
                 0.95, instead(off, prefix(setting) + OFF) if cost == PAID
                 else instead(prio, prefix(setting) + PAID + PRIO),
                 deviation=None if cost == PAID else CHEAP_READS),
    )


def panels(cost: str, title: str) -> tuple[Panel, ...]:
    """Bars for each mode, a group for each setting."""
    return tuple(Panel(f"{title}: {what}", unit, tuple(
        Series(mode, [(f"preempt={one}", of(CELL, prefix(one) + cost)(name, mode))
                      for one in SETTINGS]) for mode in (OFF, PRIO)))
        for name, what, unit, of in (("p99_us", "p99 of L", "us", of_l),
                                     ("iops", "T's requests of 64 KiB", "per s", of_t)))


PREEMPT = Figure(
    "blk-preempt", "blk-switch", "Both settings of preempt=",
    "of no paper: where the guest's kernel gives way",
    "With queues by class L is hardly later than alone, and T does as much, whether the kernel "
    "gives way only where it asks whether it should, or anywhere.",
    groups=tuple(group for one in SETTINGS for group in groups(one)),
    checks=tuple(check for one in SETTINGS for cost in (PAID, "") for check in aims(one, cost)),
    panels=tuple(panel for cost, title in switched.TITLES.items() for panel in panels(cost, title)),
    columns=switched.COLUMNS,
    notes=(switched.NETWORK, switched.JOBS,
           f"L reads {RATES[US]:,} times a second in both modes. One CPU. The kernel is that of "
           "the other figures with PREEMPT_DYNAMIC: it counts what may not be interrupted under "
           "either setting.", switched.SCHEDULED),
)
