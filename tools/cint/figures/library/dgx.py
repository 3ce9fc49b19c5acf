# SPDX-License-Identifier: GPL-2.0-or-later
"""A drive whose coalescing is switched on at every boot: NVMe's timer, and what cures it."""

from cint.figures import jobs
from cint.figures.checks import Deviation, at_least, at_most, instead, swap, within
from cint.figures.model import USUAL, Column, Figure, Group, Panel, Run, Series
from cint.figures.values import Cell, Expr, value
from cint.measure import workloads
from cint.measure.workloads import COMMON, Workload

#: 53.5 us for a lone read less what the guest takes, and 434,000 reads a second at the most.
MEDIUM = "custom:read-latency=52us,units=23,read-bandwidth=6500000000"
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
CELLS = LONE, AT_32, BURSTS, LARGE = tuple(
    Cell(name, base="default") for name in ("sync", DEEP.name, BURST.name, WEIGHTS.name))


def added(run: str) -> Expr:
    """By how much a lone read takes longer, us."""
    return LONE("p50_us", run) - LONE("p50_us", "default")


def bars(name: str) -> tuple[Series, ...]:
    return tuple(Series(run, [(cell.name, cell.ratio(name, run)) for cell in CELLS])
                 for run in (*SHIPPED, "adaptive", *CURES))


FIGURE = Figure(
    "dgx", "machines", "Coalescing that a machine switches on at every boot",
    "not a figure of a paper; two users' measurements of a DGX Spark, September and October 2026",
    "With NVMe's feature 08h at 8 / 100 us a lone read takes 198 us in place of 53.5, reads at "
    "depth 32 have a seventh of the interrupts and lose 6 %, bursts of 32 and large reads do not "
    "notice it. A policy that knows who waits saves the interrupts without the delay.",
    groups=(Group((
        Run("default"), Run("static:thr=8,time=100us", AS_SET),
        Run("static:thr=8,time=144us", AS_MEASURED), Run("adaptive"),
        Run("cint", extras="device"), Run("auto", hints=False, extras="device")),
        (jobs.SYNC, DEEP, BURST, WEIGHTS), media=MEDIUM, cpu_scale=CPU_SCALE),),
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
    columns=(*USUAL, Column("p50, us", "p50_us")),
    notes=(
        "The medium is made from the users' numbers without coalescing, a lone read's 53.5 us and "
        "434,000 reads a second at most: these two are given and not judged.",
        "The drive holds a lone CQE for 144 us where 100 us are asked for; NVMe lets a controller "
        "take the time as a hint. Both times are here.",
        "auto's guest gives no hints.",
    ),
    short=True,
)
