# SPDX-License-Identifier: GPL-2.0-or-later
"""What of a lone read is the interrupt, and what is the sleep and the wake-up."""

from cint.figures import polled
from cint.figures.checks import Deviation, at_least, instead, swap, within
from cint.figures.model import CPU, IOPS, MEAN, P99, Column, Figure, Group, Panel, Series
from cint.figures.values import Expr, said, value
from cint.measure.workloads import COMMON, Workload

#: With it a 4 KiB read that the kernel polls for takes about what Aeolia's drive did, 5.4 us.
MEDIUM = "custom:read-latency=5us"
RUN = polled.CLASSIC
#: Whoever submits looks at the ring of completions, in its own memory, until there is one.
LOOKS = "iodepth_batch_complete_min=0\nuserspace_reap=1\n"


def job(name: str, title: str, engine: str, more: str = "") -> Workload:
    """One thread, one 4 KiB read at a time."""
    return Workload(name, f"one 4 KiB read at a time, {title}",
                    f"{COMMON}[lone]\nioengine={engine}\niodepth=1\n{more}")


POLLED = job("polled", "io_uring, the kernel polls", "io_uring", "hipri=1\n")
SLEEPS = job("sleeps", "io_uring, an interrupt wakes the thread", "io_uring")
AIO_SLEEPS = job("libaio, sleeps", "libaio, an interrupt wakes the thread", "libaio")
AIO_LOOKS = job("libaio, looks", "libaio, an interrupt, and the thread has not slept", "libaio",
                LOOKS)
CELLS = (POLLED, AIO_LOOKS, SLEEPS, AIO_SLEEPS)


def mean(cell: Workload) -> Expr:
    return value("mean_us", RUN, cell.name)


def unseen(cell: Workload) -> Expr:
    """From the completion to the head doorbell, us, by the device's clock."""
    return value("head_us", RUN, cell.name)


#: What interrupts add to a read, of that what is sleep and wake-up, and what is the interrupt.
GAP = mean(SLEEPS) - mean(POLLED)
SLEEP = mean(AIO_SLEEPS) - mean(AIO_LOOKS)
INTERRUPT = GAP - SLEEP

FIGURE = Figure(
    "decompose", "machines", "What an interrupt is, and what its wake-up",
    "not a figure of the five papers; Aeolia (SOSP 2025) took its gap to polling apart",
    "Of the 2.8 us that interrupts add to a 4 KiB read, 0.6 us are the interrupt and 1.8 us are "
    "the sleep and the wake-up: who does not sleep while nobody else wants the CPU has 6.3 us, "
    "and who polls 5.4.",
    groups=(Group((polled.run(RUN),), CELLS, MEDIUM, runtime_s=0.05),),
    checks=(
        within("an interrupt that wakes against polled: added, us", GAP, 2.0, 3.6,
               swap(SLEEPS.name, POLLED.name), paper=2.8, deviation=Deviation(1.2, 1.6, said(
                   "two context switches and the way out of idle take the time of their "
                   "instructions and no more, {:.2f} us in place of 1.8", SLEEP))),
        within("of that, the interrupt, us", INTERRUPT, 0.4, 0.8,
               instead(POLLED.name, AIO_LOOKS.name), paper=0.6),
        within("of that, the share of sleep and wake-up", SLEEP / GAP, 0.5, 0.8,
               instead(AIO_SLEEPS.name, AIO_LOOKS.name), paper=0.64),
        within("the interrupt, by the device's clock against by fio's",
               (unseen(AIO_LOOKS) - unseen(POLLED)) / INTERRUPT, 0.8, 1.1,
               instead(POLLED.name, AIO_LOOKS.name)),
        within("an interrupt without a sleep against polled",
               (mean(POLLED) + INTERRUPT) / mean(POLLED), 1.05, 1.25,
               instead(AIO_LOOKS.name, AIO_SLEEPS.name), paper=1.167),
        within("interrupts of a read that is looked for",
               value("device_irqs", RUN, AIO_LOOKS.name) / value("iops", RUN, AIO_LOOKS.name),
               0.99, 1.01, instead(AIO_LOOKS.name, POLLED.name)),
        within("interrupts a second while it polls", value("device_irqs", RUN, POLLED.name), 0, 0,
               swap(POLLED.name, SLEEPS.name)),
        at_least("CPU of who looks", value("cpu_percent", RUN, AIO_LOOKS.name), 99,
                 instead(AIO_LOOKS.name, AIO_SLEEPS.name), unit="%"),
    ),
    panels=(
        Panel("mean latency", "us", (
            Series("here", [(cell.name, mean(cell)) for cell in CELLS]),)),
        Panel("what interrupts add", "us", (
            Series("here", [("sleep and wake-up", SLEEP), ("interrupt", INTERRUPT)]),
            Series("Aeolia", [("sleep and wake-up", 1.8), ("interrupt", 0.6)], paper=True))),
    ),
    columns=(IOPS, MEAN, P99, Column("unseen, us", "head_us"), CPU,
             Column("interrupts, k/s", "device_irqs", 1e-3)),
    notes=(
        said("A thread that looks at its ring in user space, and one that sleeps, do this by "
             "libaio, since fio's io_uring enters the kernel to wait; libaio is {:.2f} us slower "
             "than io_uring where both sleep, which is in neither difference.",
             mean(AIO_SLEEPS) - mean(SLEEPS)),
        "One guest does all four; on one CPU nobody else wants it.",
        "The medium is made so that the read that is polled for takes 5.4 us, which is not judged.",
    ),
    short=True,
)
