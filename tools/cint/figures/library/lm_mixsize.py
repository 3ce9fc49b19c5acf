# SPDX-License-Identifier: GPL-2.0-or-later
"""Le Moal's slides: small reads beside larger ones, of which the mean is too long for them."""

from cint.figures import polled
from cint.figures.checks import at_least, at_most, instead, within
from cint.figures.model import Figure, Group, Panel, Series
from cint.figures.polled import BY_SIZE, CLASSIC, HALF, IRQ, LEAST, OURS, each, of, ratio
from cint.figures.values import Expr, said

NAMES = (IRQ, CLASSIC, HALF, BY_SIZE, LEAST, OURS)
APART, LONE = "2 CPUs/", "alone/"
SHARED_CPU = said(
    "On one CPU what one thread leaves by sleeping the other one takes, and with interrupts alone "
    "it is busy for {:.0f} % of the time. So it is CPU time of a read that is judged there: "
    "together they do {:.1f} times as many reads as with classic polling.",
    of("cpu_percent", IRQ, "with 64k"), ratio("iops", OURS, CLASSIC, "with 64k"))
#: On another CPU of the same queue: what it shares is the device and what is known of it.
FAR = polled.beside("512", "64k", "with 64k", "cpus_allowed=1\n")


def apart(name: str, run: str) -> Expr:
    return of(name, f"{APART}{run}", "with 64k")


def lone(run: str) -> Expr:
    return of("mean_us", f"{LONE}{run}")


FIGURE = Figure(
    "lm-mixsize", "vault", "Small reads beside larger ones",
    "slides 'Evaluation Results: Hybrid Polling Sleep Time'",
    "Half the mean of all sizes is too long for the small ones, which fall back to the latency "
    "of interrupts.",
    groups=(
        # by itself: half the mean is that of the job before for as long as a window lasts
        Group(polled.runs(*NAMES), (polled.alone("512"),), polled.CARD, LONE, runtime_s=0.1,
              setup=polled.warm("512")),
        Group(polled.runs(*NAMES), (polled.beside("512", "64k"),), polled.CARD, runtime_s=0.15,
              setup=polled.warm("512")),
        Group(polled.runs(CLASSIC, HALF, OURS), (FAR,), polled.CARD, APART,
              runtime_s=0.05, vcpus=2, append=("nvme.poll_queues=1",),
              setup=polled.warm("512", "64k")),
    ),
    checks=(
        at_most("half-mean, alone: latency against interrupts", lone(HALF) / lone(IRQ), 0.85,
                instead(f"{LONE}{HALF}", f"{LONE}{IRQ}"), paper=0.75),
        at_least("half-mean, with 64 KiB: latency of the small reads against interrupts",
                 ratio("mean_us", HALF, IRQ, "with 64k"), 0.9, instead(IRQ, CLASSIC),
                 paper="as interrupts"),
        within("on two CPUs, half-mean: latency of the small reads against interrupts, alone",
               apart("mean_us", HALF) / lone(IRQ), 0.9, 1.1,
               instead(f"{APART}{HALF}", f"{APART}{CLASSIC}"), paper=1.0),
        at_most("ours, with 64 KiB: latency of the small reads against classic",
                ratio("mean_us", OURS, CLASSIC, "with 64k"), 1.10),
        at_most("ours, with 64 KiB: CPU time of a read against classic",
                ratio("cpu_per_io_us", OURS, CLASSIC, "with 64k"), 0.60, instead(OURS, CLASSIC)),
        at_most("on two CPUs, ours: CPU against classic",
                apart("cpu_percent", OURS) / apart("cpu_percent", CLASSIC), 0.60,
                instead(f"{APART}{OURS}", f"{APART}{CLASSIC}")),
        at_most("on two CPUs, ours: latency of the small reads against classic",
                apart("mean_us", OURS) / apart("mean_us", CLASSIC), 1.10,
                instead(f"{APART}{OURS}", f"{APART}{HALF}")),
    ),
    panels=(
        Panel("small reads alone", "mean latency, us",
              (Series("here", [(name, lone(name)) for name in NAMES]),)),
        Panel("small reads beside 64 KiB", "mean latency, us",
              (Series("here", each(NAMES, "mean_us", "with 64k")),)),
        Panel("CPU, beside 64 KiB", "%",
              (Series("here", each(NAMES, "cpu_percent", "with 64k")),)),
    ),
    columns=polled.COLUMNS,
    notes=(polled.ONE_CPU, polled.SCHEDULER, SHARED_CPU),
    sets=("polling",),
)
