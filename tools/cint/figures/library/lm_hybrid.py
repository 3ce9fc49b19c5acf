# SPDX-License-Identifier: GPL-2.0-or-later
"""Le Moal's slides: hybrid polling, which sleeps half the mean time first."""

from cint.figures import polled, reading
from cint.figures.checks import at_least, at_most, instead, swap
from cint.figures.model import Figure, Group, Panel, Series
from cint.figures.polled import BY_SIZE, CLASSIC, HALF, IRQ, LEAST, OURS, each, of, ratio
from cint.figures.values import said

NAMES = (IRQ, CLASSIC, HALF, BY_SIZE, LEAST, OURS)

FIGURE = Figure(
    "lm-hybrid", "vault", "Hybrid polling", "slides 'Evaluation Results: Hybrid Polling'",
    "Who sleeps half the mean time before it polls is as fast as who polls all the time, with "
    "58 % of the CPU.",
    groups=(Group(polled.runs(*NAMES), (polled.alone("512"),), polled.CARD, runtime_s=0.1,
                  setup=polled.warm("512"), read=reading.threads),),
    checks=(
        at_most("half-mean: latency against classic", ratio("mean_us", HALF, CLASSIC), 1.05,
                instead(HALF, IRQ), paper=1.0),
        at_most("half-mean: CPU against classic", ratio(polled.LOAD, HALF, CLASSIC), 0.64,
                swap(HALF, CLASSIC), paper=0.58),
        at_least("half-mean: CPU against interrupts", ratio(polled.LOAD, HALF, IRQ), 1.45,
                 swap(HALF, IRQ), paper=round(58 / 32, 3)),
        at_most("ours: latency against classic", ratio("mean_us", OURS, CLASSIC), 1.10,
                instead(OURS, IRQ)),
        at_most("ours: CPU time of a read against interrupts", ratio("cpu_per_io_us", OURS, IRQ),
                1.10, instead(OURS, CLASSIC)),
    ),
    panels=(Panel("mean latency", "us", (Series("here", each(NAMES, "mean_us", "alone")),)),
            Panel("CPU", "%", (
                Series("here", each(NAMES, polled.LOAD, "alone")),
                Series("slides", [(IRQ, 32), (CLASSIC, 100), (HALF, 58)], paper=True)))),
    columns=polled.SHARES,
    notes=(polled.ONE_CPU, said(polled.THREAD, of("cpu_percent", IRQ)), polled.SCHEDULER,
           "Beside a medium of 2.9 us nothing can leave 40 % of the CPU idle, as ours does "
           "elsewhere. What it is asked for is the latency of polling for the CPU time of "
           "interrupts.",
           "6.13's minimum is kept for the queue here, where io_uring keeps it for a ring."),
    slow=True, sets=("polling",),
)
