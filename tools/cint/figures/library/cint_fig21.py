# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Figure 21: who gets the CPU in the mixed workload."""

from cint.figures import jobs
from cint.figures.checks import Check, Deviation, at_least, at_most, instead, swap, within
from cint.figures.model import USUAL, Column, Figure, Group, Panel, Run, Series, runs
from cint.figures.values import Expr, constant, said, value

#: Only Urgent commands interrupt, as in Figure 10.
CINT = Run("cint:delta=1ms,thr=65535", "cint")
POLICIES = runs("default", "adaptive", CINT, Run("cint", "cint 6 us"), "cint+ooo",
                Run("cint+ooo:infer=off", "cint+ooo, no hints", hints=False))
#: The same guests as in Figure 10: their kernel keeps the time of interrupts apart.
APART = "apart/"
#: The share of the two threads' CPU time that the sync thread has, read off the figure.
PAPER = {"default": 0.5, "adaptive": 0.23, "cint+ooo": 0.5}


def cpu(run: str, job: str) -> Expr:
    return value("thread_percent", run, f"mixed.{job}")


def both(run: str) -> Expr:
    return cpu(run, "sync") + cpu(run, "async")


def share(run: str) -> Expr:
    return cpu(run, "sync") / both(run)


def adds_up(run: str) -> Check:
    """Where the CPU is never idle, its time is that of the two threads."""
    return within(f"{run}: CPU time of both threads", both(run), 96, 104,
                  instead(run, f"{APART}default"), unit="%")


def unfair(run: str, low: float, high: float, why: str) -> Check:
    return within(f"{run}: the sync thread's share", share(run), 0.4, 0.6,
                  instead(run, "adaptive"), paper=PAPER[run], deviation=Deviation(low, high, why))


WAITS = ("a lone read takes 10 us, of which the drive has 7: a thread that waits for each can "
         "use no more of the CPU, however soon its interrupts come")

FIGURE = Figure(
    "cint-fig21", "cinterrupts", "Who gets the CPU in the mixed workload",
    "section 5.3, Figure 21",
    "Under adaptive the thread that waits for each read gets a fraction of the CPU, because it "
    "is blocked; with Urgent more, and out of order as much as with an interrupt for each read.",
    groups=(Group(POLICIES, (jobs.mix(16, 1, 1),), append=("tsc=noirqtime",)),
            Group(POLICIES, (jobs.mix(16, 1, 1),), prefix=APART)),
    checks=(
        adds_up("default"), adds_up("cint"), adds_up("cint 6 us"),
        at_most(f"{APART}default: CPU time of both threads", both(f"{APART}default"), 75,
                instead(f"{APART}default", "default"), unit="%"),
        at_most("adaptive: the sync thread's share", share("adaptive"), 0.28,
                swap("adaptive", "default"), paper=PAPER["adaptive"]),
        unfair("default", 0.27, 0.36, WAITS),
        unfair("cint+ooo", 0.30, 0.37, WAITS),
        within("the sync thread's share, cint+ooo against default",
               share("cint+ooo") / share("default"), 0.9, 1.15,
               instead("cint+ooo", "cint+ooo, no hints"), paper=1.0),
        at_most("the same, adaptive against default", share("adaptive") / share("default"), 0.8,
                swap("adaptive", "default"), paper=0.46),
        at_least("the same, cint against adaptive", share("cint") / share("adaptive"), 1.0001,
                 swap("cint", "adaptive"), paper="between"),
        at_most("the same, cint against cint+ooo", share("cint") / share("cint+ooo"), 1.03,
                swap("cint", "cint+ooo"), paper="between"),
    ),
    panels=(
        Panel("CPU time of the sync thread", "share of both", (
            Series("here", [(run, share(run)) for run in ("default", "adaptive", "cint",
                                                          "cint 6 us", "cint+ooo")]),
            Series("paper", list(PAPER.items()), paper=True))),
        Panel("CPU time of both threads", "%", (
            Series("sync", [(run, cpu(run, "sync")) for run in ("default", "adaptive", "cint",
                                                                "cint+ooo")]),
            Series("async", [(run, cpu(run, "async")) for run in ("default", "adaptive", "cint",
                                                                  "cint+ooo")]))),
    ),
    columns=(*USUAL, Column("CPU time of the thread, %", "thread_percent")),
    notes=(
        said("CPU time is what the guest's kernel says of each thread (getrusage). In the guests "
             "above it charges an interrupt to the thread that it interrupts (tsc=noirqtime), as "
             "kernels do unless told otherwise: then the two add up to the CPU. In those of "
             "'apart', which are Figure 10's, it keeps the time of interrupts apart, and {:.0f} % "
             "of the CPU under default is no thread's.", constant(100) - both(f"{APART}default")),
        "'cint' is the paper's, with Urgent alone; 'cint 6 us' also fires after 6 us without a "
        "completion.",
    ),
    slow=True,
)
