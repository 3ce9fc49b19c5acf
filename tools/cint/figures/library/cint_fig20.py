# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Figure 20: workloads with one kind of request, on two drives."""

from cint.figures import jobs
from cint.figures.checks import (
    Check,
    Deviation,
    at_least,
    at_most,
    instead,
    near,
    several,
    swap,
    within,
)
from cint.figures.model import USUAL, Column, Figure, Group, Panel, Run, Series, runs
from cint.figures.values import Cell, constant, said
from cint.measure import workloads
from cint.measure.calibration import PAPER_IO_NS as IO_NS
from cint.measure.calibration import PAPER_IRQ_NS as IRQ_NS
from cint.measure.workloads import COMMON, Workload, async_job

JOBS = (jobs.SYNC, jobs.aio(256, 16, 16))
#: As in the published artefact, where cint does what adaptive does.
UNMARKED = Workload("unmarked", "libaio, depth 256, batches of 16, unmarked",
                    COMMON + async_job(256, 16, 16, workloads.UNMARKED))
#: Sync latency, async IOPS, async interrupts of default and adaptive: ratios to cint.
PAPER = {"optane": {"default": (1.00, 0.74, 12.39), "adaptive": (1.56, 1.0, 0.99)},
         "p3700": {"default": (1.00, 0.76, 15.39), "adaptive": (1.19, 1.0, 1.0)}}
DELTA_US = {"optane": 6, "p3700": 15}
#: What merging sixteen interrupts into one can win where an I/O and an interrupt cost so much.
AT_MOST = (IO_NS + IRQ_NS) / (IO_NS + IRQ_NS / 16)
#: What of a batch comes after its Barrier, on a drive with spread, waits for delta.
BARRIERS = {"optane": 0.99, "p3700": 0.85}


def of(media: str, cell: str) -> Cell:
    return Cell(cell, f"{media}/", "cint")


def rule(media: str) -> Deviation:
    """What the papers' own costs give."""
    deep = of(media, "async")
    handled = deep("guest_irqs", "default") / deep("device_irqs", "default")
    return Deviation(1.18, 1.32, said(
        f"at the costs that explain all of the paper's numbers, {IO_NS:.0f} ns for an I/O and "
        f"{IRQ_NS:.0f} ns for an interrupt, with which this is measured, ({IO_NS:.0f} + "
        f"{IRQ_NS:.0f}) / ({IO_NS:.0f} + {IRQ_NS:.0f} / 16) is {AT_MOST:.2f}; and "
        "{:.0%} of default's interrupts find the guest still at work on the one before, and cost "
        "less", constant(1) - handled))


def policies(media: str) -> tuple[Run, ...]:
    delta = f"delta={DELTA_US[media]}us"
    return runs("default", Run(f"adaptive:{delta}", "adaptive"), Run(f"cint:{delta}", "cint"),
                Run(f"cint+ooo:{delta}", "cint+ooo"),
                Run(f"cint:{delta},infer=off", "cint, no hints", hints=False))


def fifteenth(media: str) -> Check:
    """The headline: for an I/O where each batch's last read is marked, and on the P3700, whose
    reads come after their batch's last one, too, in a second of the paper's unmarked load.
    """
    if media == "optane":
        return at_least(f"{media}: interrupts for an async I/O, default against cint",
                        of(media, "async").ratio("irqs_per_io", "default"), 15, paper="15-fold")
    return at_least(f"{media}: async interrupts, default against cint, unmarked",
                    of(media, UNMARKED.name).ratio("device_irqs", "default"), 15,
                    paper=PAPER[media]["default"][2])


def checks(media: str) -> list[Check]:
    def run(policy: str) -> str:
        return f"{media}/{policy}"

    sync, deep = of(media, "sync"), of(media, "async")
    paper = PAPER[media]
    return [
        # the device's own count: the P3700's spread hides 15 us in 80
        near(f"{media}: under adaptive a lone read's interrupt waits", sync("hold_us", "adaptive"),
             DELTA_US[media], 0.10, swap(run("adaptive"), run("default")), unit="us"),
        within(f"{media}: sync latency, cint against default",
               sync.ratio("mean_us", "cint", "default"), 0.97, 1.03,
               instead(run("cint"), run("cint, no hints")), paper=1.0),
        within(f"{media}: sync latency, cint+ooo against cint", sync.ratio("mean_us", "cint+ooo"),
               0.97, 1.03, instead(run("cint+ooo"), run("cint, no hints")), paper=1.0),
        within(f"{media}: share of cint's interrupts for sync reads that are 'urgent'",
               sync("reason.urgent", "cint"), 1, 1, instead(run("cint"), run("cint, no hints"))),
        within(f"{media}: share of cint's async interrupts that are 'barrier'",
               deep("reason.barrier", "cint"), BARRIERS[media], 1,
               instead(run("cint"), run("cint, no hints"))),
        *(within(f"{media}: {what}, cint+ooo against cint", deep.ratio(name, "cint+ooo"), 0.97,
                 1.03, instead(run("cint+ooo"), run("default")), paper=1.0)
          for what, name in (("async IOPS", "iops"), ("async interrupts", "device_irqs"))),
        at_least(f"{media}: async interrupts, default against adaptive",
                 deep.ratio("device_irqs", "default", "adaptive"), 10, paper=paper["default"][2]),
        at_most(f"{media}: async IOPS, default against adaptive",
                deep.ratio("iops", "default", "adaptive"), 0.85, paper=paper["default"][1]),
        # the headlines of the paper's abstract; the other is third()
        fifteenth(media),
    ]


def third(media: str) -> Check:
    """A third more throughput."""
    default, cint = f"{media}/default", f"{media}/cint"
    return at_least(f"{media}: async IOPS, cint against default",
                    of(media, "async").ratio("iops", "cint", "default"), 1.35, swap(default, cint),
                    paper=round(1 / PAPER[media]["default"][1], 2), deviation=rule(media))


def panel(media: str, title: str, name: str, cell: str, index: int) -> Panel:
    shown = ("default", "adaptive")
    return Panel(f"{media}: {title}", "ratio to cint", (
        Series("here", [(p, of(media, cell).ratio(name, p)) for p in (*shown, "cint+ooo")]),
        Series("paper", [(p, PAPER[media][p][index]) for p in shown], paper=True)))


FIGURE = Figure(
    "cint-fig20", "cinterrupts", "One kind of request, on two drives",
    "section 5.3, Figure 20",
    "With synchronous requests alone cint has default's latency; with asynchronous ones alone "
    "it has adaptive's throughput, a third above default's, at a fifteenth of the interrupts.",
    groups=(Group(policies("optane"), JOBS, "optane", "optane/"),
            Group(policies("p3700"), (*JOBS, UNMARKED), "p3700", "p3700/")),
    checks=(*checks("optane"), *checks("p3700"),
            several("async IOPS, cint against default, on either drive", [*map(third, PAPER)])),
    panels=tuple(panel(media, *words) for media in PAPER for words in (
        ("sync latency", "mean_us", "sync", 0), ("async IOPS", "iops", "async", 1),
        ("async interrupts", "device_irqs", "async", 2))),
    columns=(*USUAL, Column("urgent, share", "reason.urgent"),
             Column("barrier, share", "reason.barrier")),
    notes=(
        "The asynchronous job's batches end with a Barrier, which the kernel sets by itself. On "
        "the P3700, a part of whose reads finish after their batch's last one, each such rest has "
        "an interrupt of its own; the paper's load had no Barriers (by the published artefact), "
        "and is the job 'unmarked'.",
    ),
)
