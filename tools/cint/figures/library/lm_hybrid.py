# SPDX-License-Identifier: GPL-2.0-or-later
"""Le Moal's slides: hybrid polling, which sleeps half the mean time first."""

from cint.figures import polled, reading
from cint.figures.checks import Check, Deviation, at_least, at_most, instead, several
from cint.figures.model import Figure, Group, Panel, Series
from cint.figures.polled import BY_SIZE, CLASSIC, HALF, IRQ, LEAST, OURS, each, of, ratio
from cint.figures.values import constant, said

NAMES = (IRQ, CLASSIC, HALF, BY_SIZE, LEAST, OURS)


def cpu_of_classic(count: str, words: str, known: Deviation | None = None) -> Check:
    """58 % of the CPU, where classic polling has 100 %."""
    return at_most(f"half-mean: CPU against classic: {words}", ratio(count, HALF, CLASSIC), 0.64,
                   paper=0.58, deviation=known)


def cpu_of_irq(count: str, words: str, known: Deviation | None = None) -> Check:
    """And interrupts 32 %."""
    return at_least(f"half-mean: CPU against interrupts: {words}", ratio(count, HALF, IRQ), 1.45,
                    paper=round(58 / 32, 3), deviation=known)


AWAKE = Deviation(0.78, 0.86, said(
    "half of a read is some {:.1f} us, and the CPU is idle for {:.1f} of them: to fall asleep and "
    "to wake up takes the rest", of("mean_us", HALF) / 2,
    (constant(100) - of("cpu_percent", HALF)) / 100 * 1e6 / of("iops", HALF)))
DEAR = Deviation(1.2, 1.44, said(
    "interrupts take {:.0f} % of all of the CPU here, 32 % in the slides",
    of("cpu_percent", IRQ)))

FIGURE = Figure(
    "lm-hybrid", "vault", "Hybrid polling", "slides 'Evaluation Results: Hybrid Polling'",
    "Who sleeps half the mean time before it polls is as fast as who polls all the time, with "
    "58 % of the CPU.",
    groups=(Group(polled.runs(*NAMES), (polled.alone("512"),), polled.CARD, runtime_s=0.1,
                  setup=polled.warm("512"), read=reading.threads),),
    checks=(
        at_most("half-mean: latency against classic", ratio("mean_us", HALF, CLASSIC), 1.05,
                instead(HALF, IRQ), paper=1.0),
        several("half-mean: CPU against both others, by either count", [
            cpu_of_classic(polled.LOAD, "of the process"),
            cpu_of_irq(polled.LOAD, "of the process"),
            cpu_of_classic("cpu_percent", "all", AWAKE), cpu_of_irq("cpu_percent", "all", DEAR)]),
        at_most("ours: latency against classic", ratio("mean_us", OURS, CLASSIC), 1.10,
                instead(OURS, IRQ)),
        at_most("ours: CPU time of a read against interrupts", ratio("cpu_per_io_us", OURS, IRQ),
                1.10, instead(OURS, CLASSIC)),
    ),
    panels=(Panel("mean latency", "us", (Series("here", each(NAMES, "mean_us", "alone")),)),
            Panel("CPU", "%", (
                Series("here, of the process", each(NAMES, polled.LOAD, "alone")),
                Series("here, all", each(NAMES, "cpu_percent", "alone")),
                Series("slides", [(IRQ, 32), (CLASSIC, 100), (HALF, 58)], paper=True)))),
    columns=polled.SHARES,
    notes=(polled.ONE_CPU, said(polled.THREAD, of("cpu_percent", IRQ), of(polled.LOAD, IRQ)),
           polled.SCHEDULER,
           "Beside a medium of 2.9 us nothing can leave 40 % of the CPU idle, as ours does "
           "elsewhere. What it is asked for is the latency of polling for the CPU time of "
           "interrupts.",
           "6.13's minimum is kept for the queue here, where io_uring keeps it for a ring."),
    sets=("polling",),
)
