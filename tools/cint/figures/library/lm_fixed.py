# SPDX-License-Identifier: GPL-2.0-or-later
"""Le Moal's slides: a fixed sleep before polling."""

from cint.figures import polled
from cint.figures.checks import at_least, at_most, instead, swap, within
from cint.figures.model import CPU_SCALE, Figure, Group, Panel, Run, Series
from cint.figures.polled import CLASSIC, IRQ, of, ratio
from cint.figures.values import least_step

SLEEPS = (1, 2, 3, 4)
#: What the guest makes of them.
TAKEN_US = [round(us * CPU_SCALE) / CPU_SCALE for us in SLEEPS]


def fixed(us: int) -> str:
    return f"fixed {us} us"


NAMES = [fixed(us) for us in SLEEPS]

FIGURE = Figure(
    "lm-fixed", "vault", "A fixed sleep before polling",
    "slides 'Evaluation Results: Hybrid Polling'",
    "A sleep of half the mean time is as good as polling all the time; one of nearly all of it "
    "leaves no time to wake up, and is as slow as interrupts.",
    groups=(Group((*polled.runs(IRQ, CLASSIC),
                   *(Run("default", fixed(us), polling=f"fixed:{us}us") for us in SLEEPS)),
                  (polled.alone("512"),), polled.CARD, runtime_s=0.1),),
    checks=(
        at_least("latency rises with the sleep, from 2 us on: the least step",
                 least_step([of("mean_us", fixed(us)) for us in SLEEPS[1:]]), 1.0001,
                 swap(fixed(2), fixed(4)), paper="rises"),
        at_most("2 us: latency against classic", ratio("mean_us", fixed(2), CLASSIC), 1.08,
                instead(fixed(2), fixed(4)), paper=1.0),
        within("4 us: latency against interrupts", ratio("mean_us", fixed(4), IRQ), 0.85, 1.15,
               instead(fixed(4), CLASSIC), paper=1.0),
        at_most("CPU falls with the sleep: the largest step",
                1 / least_step([1 / of("cpu_percent", name) for name in NAMES]), 0.9999,
                swap(fixed(1), fixed(4)), paper="falls"),
    ),
    panels=(Panel("mean latency", "us", (
        Series("here", [(us, of("mean_us", fixed(us))) for us in SLEEPS]),
        Series("classic", [(us, of("mean_us", CLASSIC)) for us in SLEEPS]),
        Series("interrupts", [(us, of("mean_us", IRQ)) for us in SLEEPS])),
        kind="lines", x="sleep, us"),
        Panel("CPU", "%", (
            Series("here", [(us, of("cpu_percent", fixed(us))) for us in SLEEPS]),
            Series("interrupts", [(us, of("cpu_percent", IRQ)) for us in SLEEPS])),
            kind="lines", x="sleep, us")),
    columns=polled.COLUMNS,
    notes=(polled.ONE_CPU, polled.SCHEDULER,
           "The kernel takes whole us of the guest's time, which the sleeps are rounded to: "
           f"{', '.join(f'{us:.2f}' for us in TAKEN_US)} us of the time reported."),
    sets=("polling",),
)
