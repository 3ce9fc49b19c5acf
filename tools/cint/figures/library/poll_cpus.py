# SPDX-License-Identifier: GPL-2.0-or-later
"""Polling on one of several virtual CPUs: what the others' turns and PAUSE change."""

from cint.figures import polled
from cint.figures.checks import at_most, instead, within
from cint.figures.model import Figure, Group, Panel, Series
from cint.figures.polled import CLASSIC, IRQ, OURS
from cint.figures.values import Cell, Expr

NAMES = (IRQ, CLASSIC, OURS)
CPUS = (1, 2, 4)
#: All CPUs' turns, in reported time (docs/scaling.md).
ROUND_US = 0.37


def of(cpus: int) -> Cell:
    return Cell("alone", f"{cpus} CPUs/")


def more(name: str, run: str, cpus: int) -> Expr:
    return of(cpus)(name, run) - of(1)(name, run)


FIGURE = Figure(
    "poll-cpus", "polling", "Polling on one of several CPUs",
    "not a figure of a paper; what holds of a virtual machine whose CPUs take turns",
    "A thread that polls has the latency that it has on a machine with one CPU. PAUSE, which ends "
    "each poll, costs a part of a turn and no more.",
    groups=tuple(Group(polled.runs(*NAMES), (polled.alone("4k"),), prefix=f"{cpus} CPUs/",
                       vcpus=cpus) for cpus in CPUS),
    checks=(
        *(within(f"{cpus} CPUs, {run}: latency against one CPU",
                 of(cpus)("mean_us", run) / of(1)("mean_us", run), 0.97, 1.03,
                 instead(f"{cpus} CPUs/{run}", f"{cpus} CPUs/{CLASSIC if run == IRQ else IRQ}"),
                 paper=1.0) for run in NAMES for cpus in CPUS[1:]),
        *(at_most(f"{cpus} CPUs, classic: unseen for longer than on one CPU",
                  more("head_us", CLASSIC, cpus), ROUND_US,
                  instead(f"{cpus} CPUs/{CLASSIC}", f"{cpus} CPUs/{IRQ}"), unit="us")
          for cpus in CPUS[1:]),
    ),
    panels=(
        Panel("mean latency", "us", tuple(
            Series(run, [(n, of(n)("mean_us", run)) for n in CPUS]) for run in NAMES),
            kind="lines", x="CPUs", log_x=True),
        Panel("from post to head", "us", tuple(
            Series(run, [(n, of(n)("head_us", run)) for n in CPUS]) for run in NAMES),
            kind="lines", x="CPUs", log_x=True)),
    columns=polled.COLUMNS,
    notes=(polled.SCHEDULER,
           "'unseen' is the device's: from the post of a completion to the doorbell by which the "
           "guest says that it has taken it. What it grows by with the CPUs is what turns and "
           "PAUSE cost. With several CPUs the CPU time is by ticks, of all CPUs."),
)
