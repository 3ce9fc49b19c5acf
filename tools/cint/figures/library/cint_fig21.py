# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Figure 21: who gets the CPU in the mixed workload."""

from cint.figures import jobs
from cint.figures.checks import at_most, instead, within
from cint.figures.model import USUAL, Column, Figure, Group, Panel, Run, Series, runs
from cint.figures.values import Expr, value

CINT = Run("cint:delta=1ms,thr=65535", "cint")
POLICIES = ("default", "adaptive", "cint", "cint+ooo")


def share(run: str) -> Expr:
    """The sync thread's share of both threads' CPU time."""
    mine, other = (value("thread_percent", run, f"mixed.{job}") for job in ("sync", "async"))
    return mine / (mine + other)


FIGURE = Figure(
    "cint-fig21", "cinterrupts", "Who gets the CPU in the mixed workload",
    "section 5.3, Figure 21",
    "Under default and under cint out of order both threads of Figure 10's workload have half "
    "of the CPU; under adaptive the sync thread gets a quarter.",
    groups=(Group(runs("default", "adaptive", CINT, "cint+ooo"), (jobs.mix(16, 1, 1),),
                  runtime_s=0.1),),
    checks=(
        within("the sync thread's share under default", share("default"), 0.40, 0.60,
               instead("default", "adaptive"), paper=0.5),
        within("the sync thread's share under cint+ooo", share("cint+ooo"), 0.40, 0.60,
               instead("cint+ooo", "adaptive"), paper=0.5),
        at_most("the sync thread's share under adaptive", share("adaptive"), 0.35,
                instead("adaptive", "default"), paper=0.23),
        at_most("the sync thread's share, adaptive against cint", share("adaptive") / share("cint"),
                0.9999, instead("adaptive", "cint"), paper="less"),
        at_most("the sync thread's share, cint less cint+ooo",
                share("cint") - share("cint+ooo"), 0.03, instead("cint+ooo", "adaptive"),
                paper="cint is between"),
    ),
    panels=(Panel("the sync thread's share", "of both threads' CPU time", (
        Series("here", [(p, share(p)) for p in POLICIES]),
        Series("paper", [("default", 0.5), ("adaptive", 0.23), ("cint+ooo", 0.5)],
               paper=True))),),
    columns=(*USUAL, Column("thread's CPU, %", "thread_percent")),
    notes=(
        "CPU time is the threads' own (getrusage), in which interrupts that hit them are counted, "
        "too. The paper's scheduler is CFS, here it is EEVDF; the sync job asks for a slice of "
        "0.1 ms.",
    ),
    slow=True,
)
