# SPDX-License-Identifier: GPL-2.0-or-later
"""Le Moal's slides: how many reads take longer than so long."""

from cint.figures import polled
from cint.figures.checks import Deviation, at_least, at_most, wrong
from cint.figures.model import Figure, Group, Panel
from cint.figures.polled import CLASSIC, HALF, IRQ, OURS, of, ratio
from cint.figures.reading import exceedance
from cint.figures.values import said

NAMES = (IRQ, CLASSIC, HALF, OURS)

FIGURE = Figure(
    "lm-tail", "vault", "The far end of the latencies",
    "slides 'Evaluation Results: Latency Exceedance Distribution'",
    "Who polls all the time is taken for CPU-bound by the scheduler: one read in some 6,000 takes "
    "longer than with interrupts, and the longest far longer than with hybrid polling.",
    groups=(Group(polled.runs(*NAMES), (polled.alone("512"),), polled.CARD, runtime_s=0.3,
                  full_s=2.7, setup=polled.warm("512"), read=exceedance),),
    checks=(
        at_least("reads that decide, with interrupts", of("ios", IRQ), 20_000, wrong(1000)),
        at_most("classic: median against interrupts", ratio("p50_us", CLASSIC, IRQ), 0.9),
        at_least("classic: latency of one read in 10,000 against interrupts",
                 ratio("p9999_us", CLASSIC, IRQ), 1.0001,
                 paper="longer from 1 in 6,000", deviation=Deviation(0.75, 1.0, said(
                     "the guest has no other process that could be preferred, as lm-compete has: "
                     "one read in 10,000 takes {:.1f} us more than the median with interrupts and "
                     "{:.1f} more polled",
                     of("p9999_us", IRQ) - of("p50_us", IRQ),
                     of("p9999_us", CLASSIC) - of("p50_us", CLASSIC)))),
        at_most("half-mean: the longest read against classic", ratio("max_us", HALF, CLASSIC),
                0.8, wrong(0.3), paper="far shorter", deviation=Deviation(0.9, 1.2, said(
                    "there is no other process that a scheduler could prefer: the longest is of "
                    "{:.0f} us with interrupts, too", of("max_us", IRQ)))),
    ),
    panels=(Panel("reads that take longer", "share", kind="curves", x="latency, us", log_x=True,
                  log_y=True, sources=tuple((name, "alone") for name in NAMES)),),
    columns=(*polled.COLUMNS[:3], *polled.FAR),
    notes=(polled.ONE_CPU, polled.SCHEDULER,
           "The slides have ten million reads; here it is as many as the table says for each of "
           "three seeds: a hundred of all are beyond one in 10,000."),
    sets=("polling",),
)
