# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Figure 3: what an interrupt costs, and its share of an I/O."""

from cint.figures import jobs, reading
from cint.figures.checks import Deviation, at_least, at_most, instead, swap, within
from cint.figures.model import USUAL, Column, Figure, Group, Panel, Run, Series, runs
from cint.figures.values import Cell, Expr, constant, least, most, said

MEDIA = ("sata", "p3700", "optane")
#: The same guests for longer, by medium: the kernel accounts to interrupts in ticks of 10 ms.
LONG, LONG_S = "longer, ", {"sata": 2, "p3700": 0.5, "optane": 0.5}
#: Sixteen completions an interrupt, and no time-out that ends a burst.
MERGED = Run("adaptive:delta=1ms,thr=16", "merged")


def of(media: str) -> Cell:
    return Cell("async", f"{media}/")


def cost(media: str) -> Expr:
    """us of an interrupt: what an I/O costs more, for each interrupt more."""
    return ((of(media)("cpu_per_io_us", "default") - of(media)("cpu_per_io_us", "merged"))
            / (of(media)("irqs_per_io", "default") - of(media)("irqs_per_io", "merged")))


def handler(media: str, count: str = "guest_irqs") -> Expr:
    """us of an interrupt by itself, as the kernel accounts it, for each that the guest handles.

    With ``device_irqs`` for each that the device sends.
    """
    def each(run: str) -> Expr:
        return of(LONG + media)(count, run) / of(LONG + media)("iops", run)

    more = (of(LONG + media)("irq_us_per_io", "default")
            - of(LONG + media)("irq_us_per_io", "merged"))
    return more / (each("default") - each("merged"))


SENT = [handler(media, "device_irqs") for media in MEDIA]
IDLE = said("at SATA's rate the CPU is idle for {:.0f} % of the time, with the other media for "
            "{:.1f} %: to leave the idle loop and to go back is part of what an interrupt "
            "costs there",
            constant(100) - of("sata")("cpu_percent", "default"),
            constant(100) - least([of(m)("cpu_percent", "default") for m in MEDIA[1:]]))


def share(media: str) -> Expr:
    return (cost(media) * of(media)("irqs_per_io", "default")
            / of(media)("cpu_per_io_us", "default"))


FIGURE = Figure(
    "cint-fig3", "cinterrupts", "What an interrupt costs", "section 2, Figure 3",
    "An interrupt costs the same on every device, some 1500 cycles, and is a growing share of "
    "what an I/O costs the CPU: up to 24 % on Optane.",
    groups=(
        *(Group(runs("default", MERGED), (jobs.aio(256, 1, 1),), media, f"{media}/",
                runtime_s=0.05) for media in MEDIA),
        *(Group(runs("default", MERGED), (jobs.aio(256, 1, 1),), media, f"{LONG}{media}/",
                runtime_s=LONG_S[media], read=reading.handlers) for media in MEDIA),
    ),
    checks=(
        at_most("cost of an interrupt, the highest of the devices against the lowest",
                most([handler(m) for m in MEDIA]) / least([handler(m) for m in MEDIA]), 1.25,
                swap(f"{LONG}sata/default", f"{LONG}optane/default"), paper=1.0),
        within("cost of an interrupt, Optane", cost("optane"), 0.6, 1.0,
               instead("optane/default", "sata/default"), paper=0.75, unit="us"),
        within("share of an I/O's cost, Optane", share("optane"), 0.18, 0.32,
               instead("optane/default", "sata/default"), paper=0.24),
        at_least("share, Optane against P3700", share("optane") / share("p3700"), 1,
                 swap("optane/default", "p3700/default"), paper="rises"),
        at_least("share, P3700 against SATA", share("p3700") / share("sata"), 1,
                 swap("p3700/default", "sata/default"), paper="rises",
                 deviation=Deviation(0.65, 0.95, IDLE)),
    ),
    panels=(Panel("CPU time of an I/O", "us", (
        Series("with an interrupt each", [(m, of(m)("cpu_per_io_us", "default")) for m in MEDIA]),
        Series("with one for sixteen", [(m, of(m)("cpu_per_io_us", "merged")) for m in MEDIA]))),
        Panel("share of an interrupt", "of an I/O's CPU time", (
            Series("here", [(m, share(m)) for m in MEDIA]),
            Series("paper, NVMe Optane", [("optane", 0.24)], paper=True)))),
    columns=(*USUAL, Column("CPU, us an I/O", "cpu_per_io_us"),
             Column("in interrupts, us an I/O", "irq_us_per_io")),
    notes=("What an interrupt costs is the difference between a guest with one for each I/O and "
           "one with one for sixteen, by instructions; the medium `sata` is an NVMe device here, "
           "as slow as the paper's SATA one.",
           said("Where the CPU is idle that has the end of the idle loop's sleep in it. The "
                "paper's cost is to go to the handler, the handler, and to go back. The kernel "
                "accounts that by itself, and by it the devices are compared, in the rows "
                "'longer': it is {:.2f} us on SATA, {:.2f} on the P3700 and {:.2f} on Optane, for "
                "each interrupt that the guest handles. One that is sent while its handler is "
                "still at work is not handled by itself: for each that the device sends it is "
                "{:.2f}, {:.2f} and {:.2f} us, the highest {:.2f} of the lowest, and with one of "
                "the seeds more than is wanted.",
                *map(handler, MEDIA), *SENT, most(SENT) / least(SENT)),
           "One bound of what is expected was made wider (commit 58c0d39): share, P3700 against "
           "SATA, from 0.65, before from 0.7."),
    sets=("polling",),
)
