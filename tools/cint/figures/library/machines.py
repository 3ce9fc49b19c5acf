# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines that people have."""

from cint.figures import jobs, polled
from cint.figures.checks import Deviation, at_least, at_most, within
from cint.figures.columns import CPU, IOPS, IRQS, MEAN, P50, P99, USUAL, Column
from cint.figures.controls import instead, swap
from cint.figures.figure import Figure, Group, Panel, Run, Series, here
from cint.figures.values import Cell, Expr, said, value
from cint.measure import workloads
from cint.measure.workloads import COMMON, Workload

# ---- what of a lone read is the interrupt, and what is the sleep and the wake-up ----

#: With it a 4 KiB read that the kernel polls for takes about what Aeolia's drive did, 5.4 us.
FIVE_US = "custom:read-latency=5us"
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
    """The time from the completion to the head doorbell, us, by the device's clock."""
    return value("head_us", RUN, cell.name)


#: What interrupts add to a read, of that what is sleep and wake-up, and what is the interrupt.
GAP = mean(SLEEPS) - mean(POLLED)
SLEEP = mean(AIO_SLEEPS) - mean(AIO_LOOKS)
INTERRUPT = GAP - SLEEP

DECOMPOSED = Figure(
    "decompose", "machines", "What an interrupt is, and what its wake-up",
    "not a figure of the five papers; Aeolia (SOSP 2025) took its gap to polling apart",
    "Of the 2.8 us that interrupts add to a 4 KiB read, 0.6 us are the interrupt and 1.8 us are "
    "the sleep and the wake-up: who does not sleep while nobody else wants the CPU has 6.3 us, "
    "and who polls 5.4.",
    groups=(Group((polled.run(RUN),), CELLS, FIVE_US, runtime_s=0.05),),
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
        here("mean latency", "us", [(cell.name, mean(cell)) for cell in CELLS]),
        Panel("what interrupts add", "us", (
            Series("here", [("sleep and wake-up", SLEEP), ("interrupt", INTERRUPT)]),
            Series("Aeolia", [("sleep and wake-up", 1.8), ("interrupt", 0.6)], paper=True))),
    ),
    columns=(IOPS, MEAN, P99, Column("unseen, us", "head_us"), CPU, IRQS),
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

# ---- a drive whose coalescing is switched on at every boot: NVMe's timer, and what cures it ----

#: 53.5 us for a lone read less what the guest takes, and 434,000 reads a second at the most.
DRIVE = "custom:read-latency=52us,units=23,read-bandwidth=6500000000"
#: A CPU for which that drive is the limit at depth 32, as it was for the users'.
CPU_SCALE = 6.0
#: Of default's interrupts at depth 32. Reads of an even medium may come in pairs of which auto
#: takes one for somebody's who waits, for as long as a job lasts: then it is half, else a tenth to
#: a quarter.
KEPT = {"cint": 0.5, "auto": 0.6}
#: Feature 08h = 0x107 holds up to eight CQEs for 100 us. The drive that was measured held 144 us.
AS_SET, AS_MEASURED = "8 / 100 us", "8 / 144 us"
SHIPPED = (AS_SET, AS_MEASURED)
CURES = ("cint", "auto")
#: One by one, at a depth of 32; the same all at once; a model's weights.
DEEP = jobs.aio(32, 1, 1, "depth 32")
BURST = jobs.aio(32, 32, 32, "bursts of 32")
WEIGHTS = Workload("weights", "reads of 1 MiB, in order, four in flight",
                   COMMON.replace("rw=randread\nbs=4k", "rw=read\nbs=1m")
                   + workloads.async_job(4, 1, 1))
OF_DGX = LONE, AT_32, BURSTS, LARGE = tuple(
    Cell(name, base="default") for name in ("sync", DEEP.name, BURST.name, WEIGHTS.name))


def added(run: str) -> Expr:
    """The time, us, by which a lone read takes longer."""
    return LONE("p50_us", run) - LONE("p50_us", "default")


def bars(name: str) -> tuple[Series, ...]:
    return tuple(Series(run, [(cell.name, cell.ratio(name, run)) for cell in OF_DGX])
                 for run in (*SHIPPED, "adaptive", *CURES))


DGX = Figure(
    "dgx", "machines", "Coalescing that a machine switches on at every boot",
    "not a figure of a paper; two users' measurements of a DGX Spark, September and October 2026",
    "With NVMe's feature 08h at 8 / 100 us a lone read takes 198 us in place of 53.5, reads at "
    "depth 32 have a seventh of the interrupts and lose 6 %, bursts of 32 and large reads do not "
    "notice it. A policy that knows who waits saves the interrupts without the delay.",
    groups=(Group((
        Run("default"), Run("static:thr=8,time=100us", AS_SET),
        Run("static:thr=8,time=144us", AS_MEASURED), Run("adaptive"),
        Run("cint", extras="device"), Run("auto", hints=False, extras="device")),
        (jobs.SYNC, DEEP, BURST, WEIGHTS), media=DRIVE, cpu_scale=CPU_SCALE),),
    checks=(
        within("lone read: added by 8 / 100 us, us", added(AS_SET), 97, 101,
               swap(AS_SET, AS_MEASURED), paper="144, by that drive's clock"),
        within("lone read: added by 8 / 144 us, us", added(AS_MEASURED), 140, 146,
               swap(AS_SET, AS_MEASURED), paper=144.1),
        within("depth 32: reads a second, 8 / 100 us against default",
               AT_32.ratio("iops", AS_SET), 0.90, 0.98,
               instead(DEEP.name, "sync"), paper=0.945, deviation=Deviation(0.9801, 1.02, (
                   "the medium serves 23 reads at once and 32 are in flight: eight CQEs come in "
                   "some 20 us, so that at most eight wait to be told of, and the medium never "
                   "runs dry"))),
        within("depth 32: interrupts a second, 8 / 100 us against default",
               AT_32.ratio("device_irqs", AS_SET), 0.10, 0.20, instead(AS_SET, "default"),
               paper=0.145),
        within("bursts of 32: reads a second, 8 / 100 us against default",
               BURSTS.ratio("iops", AS_SET), 0.97, 1.4,
               instead(BURST.name, "sync"), paper=1.0),
        within("weights: bytes a second, 8 / 100 us against default",
               LARGE.ratio("iops", AS_SET), 0.97, 1.03,
               instead(WEIGHTS.name, "sync"), paper="1.007 to 1.016"),
        *(at_most(f"lone read: {run} against default", LONE.ratio("p50_us", run), 1.02,
                  instead(run, AS_SET)) for run in CURES),
        *(at_most(f"depth 32: interrupts a second, {run} against default",
                  AT_32.ratio("device_irqs", run), KEPT[run], instead(run, "default"))
          for run in CURES),
        *(at_least(f"depth 32: thousand reads a second, {run}, of the medium's 434",
                   value("iops", run, DEEP.name) * 1e-3, 412,
                   instead(DEEP.name, "sync")) for run in CURES),
    ),
    panels=(
        Panel("reads a second", "ratio to default", bars("iops")),
        Panel("median latency", "ratio to default", bars("p50_us"), log_y=True),
        Panel("interrupts a second", "ratio to default", bars("device_irqs")),
    ),
    columns=(*USUAL, P50),
    notes=(
        "The medium is made from the users' numbers without coalescing, a lone read's 53.5 us and "
        "434,000 reads a second at most: these two are given and not judged.",
        "The drive holds a lone CQE for 144 us where 100 us are asked for; NVMe lets a controller "
        "take the time as a hint. Both times are here.",
        "auto's guest gives no hints.",
    ),
    short=True,
)
