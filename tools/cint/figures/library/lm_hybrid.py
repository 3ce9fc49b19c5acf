# SPDX-License-Identifier: GPL-2.0-or-later
"""Le Moal's slides: hybrid polling, which sleeps half the mean time first."""

from cint.figures import polled
from cint.figures.checks import Deviation, at_least, at_most, instead, several, swap
from cint.figures.model import Figure, Group, Panel, Series
from cint.figures.polled import BY_SIZE, CLASSIC, HALF, IRQ, LEAST, OURS, each, of, ratio
from cint.figures.values import constant, said

NAMES = (IRQ, CLASSIC, HALF, BY_SIZE, LEAST, OURS)

#: 58 % of the CPU, where classic polling has 100 % and interrupts 32 %.
CPU_OF_CLASSIC = at_most(
    "half-mean: CPU against classic", ratio("cpu_percent", HALF, CLASSIC), 0.64,
    swap(HALF, CLASSIC), paper=0.58, deviation=Deviation(0.78, 0.86, said(
        "half of a read is some {:.1f} us, and the CPU is idle for {:.1f} of them: to fall asleep "
        "and to wake up takes the rest", of("mean_us", HALF) / 2,
        (constant(100) - of("cpu_percent", HALF)) / 100 * 1e6 / of("iops", HALF))))
CPU_OF_IRQ = at_least(
    "half-mean: CPU against interrupts", ratio("cpu_percent", HALF, IRQ), 1.45, swap(HALF, IRQ),
    paper=round(58 / 32, 3), deviation=Deviation(1.2, 1.44, said(
        "interrupts take {:.0f} % of the CPU here, 32 % in the slides", of("cpu_percent", IRQ))))

FIGURE = Figure(
    "lm-hybrid", "vault", "Hybrid polling", "slides 'Evaluation Results: Hybrid Polling'",
    "Who sleeps half the mean time before it polls is as fast as who polls all the time, with "
    "58 % of the CPU.",
    groups=(Group(polled.runs(*NAMES), (polled.alone("512"),), polled.CARD, runtime_s=0.1,
                  setup=polled.warm("512")),),
    checks=(
        at_most("half-mean: latency against classic", ratio("mean_us", HALF, CLASSIC), 1.05,
                instead(HALF, IRQ), paper=1.0),
        several("half-mean: CPU against both others", [CPU_OF_CLASSIC, CPU_OF_IRQ]),
        at_most("ours: latency against classic", ratio("mean_us", OURS, CLASSIC), 1.10,
                instead(OURS, IRQ)),
        at_most("ours: CPU time of a read against interrupts", ratio("cpu_per_io_us", OURS, IRQ),
                1.10, instead(OURS, CLASSIC)),
    ),
    panels=(Panel("mean latency", "us", (Series("here", each(NAMES, "mean_us", "alone")),)),
            Panel("CPU", "%", (
                Series("here", each(NAMES, "cpu_percent", "alone")),
                Series("slides", [(IRQ, 32), (CLASSIC, 100), (HALF, 58)], paper=True)))),
    columns=polled.COLUMNS,
    notes=(polled.ONE_CPU, polled.SCHEDULER,
           said("Interrupts take {:.0f} % of the CPU here, 32 % in the slides: beside a medium of "
                "2.9 us nothing can leave 40 % of it idle, as ours does elsewhere. What it is "
                "asked for is the latency of polling for the CPU time of interrupts.",
                of("cpu_percent", IRQ)),
           "6.13's minimum is kept for the queue here, where io_uring keeps it for a ring."),
    slow=True, sets=("polling",),
)
