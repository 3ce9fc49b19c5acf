# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Figure 15: Urgent out of order."""

from cint.figures import jobs
from cint.figures.checks import Check, Deviation, at_least, at_most, instead, swap, within
from cint.figures.model import CPU_SCALE, USUAL, Column, Figure, Group, Panel, Run, Series, runs
from cint.figures.values import Expr, against, said, value
from cint.measure.calibration import PAPER_IO_NS as IO_NS
from cint.measure.calibration import PAPER_IRQ_NS as IRQ_NS

POLICIES = ("default", "adaptive", "cint", "cint+ooo")
NO_HINTS = Run("cint:infer=off", "cint, no hints", hints=False)
MARKED, LIMITED = "Barriers/", "limited/"
#: Reads a second that the asynchronous job is limited to: what it has under default.
LIMIT = 225_000
#: fio's option, of the guest's seconds.
RATE = f"rate_iops={round(LIMIT / CPU_SCALE)}\n"

#: Async IOPS, sync latency, interrupts: ratios to cint, of (default, adaptive, cint+ooo).
PAPER = {"": ((0.47, 0.96, 0.84), (0.37, 0.88, 0.59), (8.97, 1.15, 2.36)),
         LIMITED: ((1.0, 1.0, 1.0), (0.87, 1.31, 0.87), (3.70, 0.74, 1.23))}
SHOWN = ("default", "adaptive", "cint+ooo")


def to_cint(name: str, run: str, cell: str = "mixed", prefix: str = "") -> Expr:
    return against(name, prefix + run, f"{prefix}cint", cell)


def panels(prefix: str, title: str) -> list[Panel]:
    wanted = (("async IOPS", "iops", "mixed.async"), ("sync latency", "mean_us", "mixed"),
              ("interrupts", "device_irqs", "mixed"))
    return [Panel(f"{title}: {head}", "ratio to cint", (
        Series("here", [(p, to_cint(name, p, cell, prefix)) for p in SHOWN]),
        Series("paper", list(zip(SHOWN, PAPER[prefix][index], strict=True)), paper=True)))
        for index, (head, name, cell) in enumerate(wanted)]


def limited() -> list[Check]:
    """The second row: the asynchronous job is limited, and there is CPU time to spare."""
    def of(name: str, run: str) -> Expr:
        return value(name, LIMITED + run, "mixed")

    return [
        at_most("limited: interrupts, cint+ooo against cint",
                to_cint("device_irqs", "cint+ooo", prefix=LIMITED), 1.5,
                swap(f"{LIMITED}cint+ooo", f"{LIMITED}default"), paper=1.23),
        within("limited: sync latency, cint+ooo against default",
               of("mean_us", "cint+ooo") / of("mean_us", "default"), 0.9, 1.1,
               instead(f"{LIMITED}cint+ooo", f"{LIMITED}adaptive"), paper=1.0,
               deviation=Deviation(1.1001, 1.2, said(
                   "fio's limit makes the other job's reads come in bursts, in which a sync read "
                   "waits for the CPU; default, with {:.0f},000 of them a second, never reaches "
                   "the limit", value("iops", f"{LIMITED}default", "mixed.async") / 1000))),
        at_most("limited: CPU, cint+ooo against default",
                of("cpu_percent", "cint+ooo") / of("cpu_percent", "default"), 0.8,
                swap(f"{LIMITED}cint+ooo", f"{LIMITED}default"), paper=round(1.08 / 1.55, 2),
                deviation=Deviation(0.801, 0.93, (
                    f"with {IO_NS:.0f} ns for an I/O and {IRQ_NS:.0f} ns for an interrupt, the "
                    "costs that explain all of the paper's numbers, a load without any interrupts "
                    f"would take {IO_NS / (IO_NS + IRQ_NS):.2f} of default's CPU time"))),
        at_least("limited: sync latency, adaptive against cint",
                 to_cint("mean_us", "adaptive", prefix=LIMITED), 1.0001,
                 swap(f"{LIMITED}adaptive", f"{LIMITED}cint"), paper=1.31),
    ]


FIGURE = Figure(
    "cint-fig15", "cinterrupts", "Urgent out of order", "section 3.5, Figure 15",
    "Beside a load of batches, reaping Urgent completions out of order shortens the sync job's "
    "latency, for more interrupts and some of the other job's throughput.",
    groups=(
        Group(runs(*POLICIES, NO_HINTS), (jobs.mix(256, 16, 16),)),
        Group(runs(*POLICIES), (jobs.mix(256, 16, 16, marked=True),), prefix=MARKED),
        Group(runs(*POLICIES), (jobs.mix(256, 16, 16, more=RATE),),
              prefix=LIMITED),
    ),
    checks=(
        within("interrupts, cint+ooo against cint", to_cint("device_irqs", "cint+ooo"), 1.7, 3.2,
               swap("cint+ooo", "cint"), paper=2.36),
        at_most("sync latency, cint+ooo against cint", to_cint("mean_us", "cint+ooo"), 0.75,
                swap("cint+ooo", "cint"), paper=0.59),
        at_most("async IOPS, cint+ooo against cint",
                to_cint("iops", "cint+ooo", "mixed.async"), 0.9999, swap("cint+ooo", "cint"),
                paper=0.84),
        at_most("async IOPS, default against cint", to_cint("iops", "default", "mixed.async"),
                0.8, swap("default", "cint"), paper=0.47),
        at_least("interrupts, default against cint", to_cint("device_irqs", "default"), 4,
                 swap("default", "cint"), paper=8.97),
        at_least("cint+ooo: share of interrupts for the reason 'urgent'",
                 value("reason.urgent", "cint+ooo", "mixed"), 0.2,
                 instead("cint+ooo", "cint, no hints")),
        within("with Barriers: sync latency, cint+ooo against cint",
               to_cint("mean_us", "cint+ooo", prefix=MARKED), 0.9, 1.1,
               instead(f"{MARKED}cint", "cint"), paper="not in the paper"),
        at_least("with Barriers: share of cint's interrupts for the reason 'barrier'",
                 value("reason.barrier", f"{MARKED}cint", "mixed"), 0.2,
                 instead(f"{MARKED}cint", "cint")),
        *limited(),
    ),
    panels=(*panels("", "unlimited"), *panels(LIMITED, "limited")),
    columns=(*USUAL, Column("urgent, share", "reason.urgent"),
             Column("barrier, share", "reason.barrier")),
    notes=(
        "The asynchronous job's reads are unmarked, as in the paper. With Barriers on its "
        "batches, which the kernel would set by itself, the rows are those named 'Barriers'. There "
        "out of order wins nothing: each batch's Barrier is a full interrupt, which arrives with "
        "or just before the sync job's, and the handler reaps the batch, in order, before it.",
        f"The paper limits the asynchronous job in a blkio cgroup, to what default reaches; here "
        f"fio limits it (rate_iops), to {LIMIT:,} reads a second. fio waits for all its reads "
        "before it sleeps, so that they come in bursts.",
        "The paper's sync job reads 512 bytes, here 4 KiB.",
    ),
    slow=True,
)
