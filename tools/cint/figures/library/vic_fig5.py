# SPDX-License-Identifier: GPL-2.0-or-later
"""vIC, Figure 5: how long an interrupt waits for a guest that is busy anyway."""

from cint.figures.checks import at_least, instead, swap, within
from cint.figures.model import CPU, IOPS, IRQS, MEAN, Figure, Group, Panel, Run, Series, runs
from cint.figures.values import Expr, least_step, most, value
from cint.measure import workloads
from cint.measure.workloads import COMMON, Workload

WINDOWS_US = (0, 100, 500)
#: Stands for Hyper Pi: each round is CPU time and nothing else, at the lowest priority.
PI = ("[pi]\nioengine=null\niodepth=1\nnice=19\n")
READS = workloads.async_job(8, 1, 1, f"bs=8k\n{workloads.LIBAIO}", name="reads")
BOTH = Workload("both", "8 KiB reads at depth 8, beside a computation at nice 19",
                COMMON + READS + PI, latency_job="reads", split=True)
ALONE = Workload("reads alone", "8 KiB reads at depth 8", COMMON + READS)
PI_ALONE = Workload("pi alone", "the computation alone", COMMON + PI)


def run(window_us: int) -> Run:
    return Run(f"default:kick-window={window_us}us" if window_us else "default",
               f"{window_us} us")


def of(name: str, window_us: int, cell: str) -> Expr:
    return value(name, f"{window_us} us", cell)


def spread(cell: str) -> Expr:
    return most([of("iops", w, cell) / of("iops", 0, cell) for w in WINDOWS_US])


FIGURE = Figure(
    "vic-fig5", "vic", "How long an interrupt waits for a busy guest", "section 4.5, Figure 5",
    "A guest whose CPU computes is interrupted at most once in a window: a longer one gives the "
    "computation more time and the reads less; alone, neither notices.",
    groups=(Group(runs(*map(run, WINDOWS_US)), (BOTH, ALONE, PI_ALONE), "array"),),
    checks=(
        at_least("IOPS beside the computation fall with the window: the least step",
                 least_step([of("iops", w, "both.reads") for w in reversed(WINDOWS_US)]), 1.0001,
                 swap("0 us", "500 us"), paper="falls"),
        at_least("the computation gains by the window: the least step",
                 least_step([of("iops", w, "both.pi") for w in WINDOWS_US]), 1.0001,
                 swap("0 us", "500 us"), paper="rises"),
        within("the computation alone: the largest of the windows against none",
               spread("pi alone"), 0.97, 1.03,
               instead("pi alone", "both"), paper=1.0),
        at_least("500 us: share of interrupts for the reason 'kick'",
                 of("reason.kick", 500, "both"), 0.01, instead("500 us", "0 us")),
    ),
    panels=(
        Panel("reads beside the computation", "IOPS, ratio to no window", (
            Series("here", [(f"{w} us", of("iops", w, "both.reads") / of("iops", 0, "both.reads"))
                            for w in WINDOWS_US]),)),
        Panel("the computation", "rounds a second, ratio to no window", (
            Series("here", [(f"{w} us", of("iops", w, "both.pi") / of("iops", 0, "both.pi"))
                            for w in WINDOWS_US]),)),
    ),
    columns=(IOPS, MEAN, IRQS, CPU),
    notes=(
        "There the window is between two inter-processor interrupts to a virtual CPU that is "
        "running; here it is the device's kick-window, which holds a message for a guest that "
        "was told shortly before and has looked since. One CPU in place of two.",
        "The computation is fio's null engine, in place of Hyper Pi: rounds a second in place "
        "of the time for a number of digits.",
    ),
)
