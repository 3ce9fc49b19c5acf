# SPDX-License-Identifier: GPL-2.0-or-later
"""Polling queues that have interrupts, on a device that can leave the interrupts out."""

from cint.figures import polled
from cint.figures.checks import at_least, at_most, instead, within
from cint.figures.model import Figure, Group, Panel, Series
from cint.figures.polled import CLASSIC, IRQ, SHARED
from cint.figures.values import Cell

#: The reads that are polled for are unmarked, so that the device may defer their interrupts.
TOLD = "as in 2017, cint"
CINT = "irq, cint"
RUNS = (*polled.runs(IRQ, SHARED), polled.run(IRQ, "cint", CINT), polled.run(SHARED, "cint", TOLD),
        *polled.runs(CLASSIC))
NAMES = [run.title for run in RUNS]
ASYNC = "[async]\nioengine=libaio\niodepth=16\nbs=4k\n"
BESIDE = polled.job("beside", "a thread that reads 4k and waits (pvsync2, hipri) beside one with "
                    "16 reads in flight (libaio)", polled.section("small", "4k"), ASYNC,
                    latency="small")
ALONE, BOTH, POLLED = Cell("alone"), Cell("beside"), Cell("beside.small")

FIGURE = Figure(
    "poll-avoid", "polling", "Polling that tells the device",
    "not a figure of a paper; Le Moal's slides end with 'disable useless interrupts'",
    "Who polls a queue that has interrupts need not have them: a device that coalesces by hints "
    "defers the interrupts of what nobody waits for, finds the completions taken, and sends none.",
    groups=(Group(RUNS, (polled.alone("4k"), BESIDE), runtime_s=0.1),),
    checks=(
        within("default: interrupts of a read", ALONE("irqs_per_io", SHARED), 0.99, 1.01,
               instead(SHARED, TOLD), paper="not disabled"),
        at_least("cint: interrupts avoided, of a read", ALONE("avoided_per_io", TOLD), 0.95,
                 instead(TOLD, CINT)),
        at_most("cint: interrupts against default", ALONE.ratio("device_irqs", TOLD, SHARED), 0.05,
                instead(TOLD, SHARED)),
        at_most("latency, cint against default, both polled", ALONE.ratio("mean_us", TOLD, SHARED),
                0.9999),
        at_most("latency, cint's queue polled against a queue without interrupts",
                ALONE.ratio("mean_us", TOLD, CLASSIC), 1.02, instead(TOLD, IRQ)),
        within("cint, beside 16 reads in flight: interrupts avoided, of a read that is polled for",
               BOTH("avoided_per_io", TOLD) * BOTH("iops", TOLD) / POLLED("iops", TOLD), 0.95, 1.05,
               instead(TOLD, SHARED)),
    ),
    panels=(
        Panel("mean latency", "us", (
            Series("alone", [(n, ALONE("mean_us", n)) for n in NAMES]),
            Series("beside 16 in flight", [(n, BOTH("mean_us", n)) for n in NAMES]))),
        Panel("interrupts", "k/s", (
            Series("alone", [(n, ALONE("device_irqs", n) / 1000) for n in NAMES]),
            Series("beside 16 in flight", [(n, BOTH("device_irqs", n) / 1000)
                                           for n in NAMES]))),
        Panel("IOPS beside 16 in flight", "k/s", (
            Series("all", [(n, BOTH("iops", n) / 1000) for n in NAMES]),
            Series("polled", [(n, POLLED("iops", n) / 1000) for n in NAMES]))),
    ),
    columns=(*polled.COLUMNS, polled.AVOIDED),
    notes=(polled.ONE_CPU, polled.SCHEDULER,
           "On a queue that is polled and has interrupts completions are taken in order: "
           "out-of-order completion is off there."),
)
