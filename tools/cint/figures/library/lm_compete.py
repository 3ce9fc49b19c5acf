# SPDX-License-Identifier: GPL-2.0-or-later
"""Le Moal's slides: polling beside a process that wants the CPU."""

from cint.figures import polled
from cint.figures.checks import Deviation, at_least, at_most, instead, wrong
from cint.figures.model import Figure, Group, Panel, Series
from cint.figures.polled import CLASSIC, HALF, IRQ, OURS, each, of
from cint.figures.values import said
from cint.measure.workloads import Workload

NAMES = (IRQ, CLASSIC, HALF, OURS)


def against_spin(name: str, more: str = "") -> Workload:
    return polled.job(name, "a thread that reads 512 bytes and waits (pvsync2, hipri)"
                      + (", SCHED_RR," if more else "") + " beside a CPU-bound process",
                      polled.section("small", "512", more), polled.SPINS, latency="small")


FIGURE = Figure(
    "lm-compete", "vault", "Polling beside a CPU-bound process",
    "slides 'Evaluation Results: More on Scheduling'",
    "Beside a process that wants the CPU, one polled read in 5,000 takes very long; as a process "
    "of SCHED_RR it takes as long as on an idle CPU, and hybrid polling needs no such class.",
    groups=(Group(polled.runs(*NAMES),
                  (polled.alone("512"), against_spin("beside"),
                   against_spin("real time", polled.REAL_TIME)),
                  polled.CARD, runtime_s=0.15, full_s=0.45, setup=polled.warm("512")),),
    checks=(
        at_least("classic: 99.9th percentile against half-mean",
                 of("p999_us", CLASSIC, "beside") / of("p999_us", HALF, "beside"), 5,
                 paper="one in 5,000 is very long",
                 deviation=Deviation(1.05, 4.99, said(
                     "of a thousand reads some wait for the other process after a sleep, too, "
                     "{:.0f} us, and the longest {:.0f}: EEVDF gives a thread that has slept no "
                     "lead", of("p999_us", HALF, "beside"), of("max_us", HALF, "beside")))),
        at_least("classic: 99.9th percentile beside the process against alone",
                 of("p999_us", CLASSIC, "beside") / of("p999_us", CLASSIC), 5,
                 instead(CLASSIC, IRQ)),
        at_most("classic, SCHED_RR: 99.9th percentile against alone",
                of("p999_us", CLASSIC, "real time") / of("p999_us", CLASSIC), 1.05,
                instead("real time", "beside"), paper=1.0),
        at_most("ours: 99th percentile beside the process against alone",
                of("p99_us", OURS, "beside") / of("p99_us", OURS), 1.5, wrong(0.6)),
    ),
    panels=tuple(Panel(title, "99.9th percentile, us",
                       (Series("here", each(NAMES, "p999_us", cell)),), log_y=cell == "beside")
                 for title, cell in (("alone", "alone"), ("beside a process", "beside"),
                                     ("the same, SCHED_RR", "real time"))),
    columns=(*polled.COLUMNS, *polled.FAR),
    notes=(polled.SCHEDULER, polled.ONE_CPU),
    sets=("polling",),
)
