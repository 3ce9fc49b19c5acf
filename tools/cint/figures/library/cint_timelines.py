# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, the figures that are timelines: 7, 9, 13 and 14."""

from collections.abc import Sequence

from cint.figures import jobs, traces
from cint.figures.checks import Check, at_least, at_most, near, within
from cint.figures.controls import instead, mistaken, swap
from cint.figures.figure import NO_HINTS, Figure, Group, Panel, Run
from cint.figures.values import Cell, Expr
from cint.measure import workloads
from cint.measure.workloads import Workload


def drawn(id_: str, title: str, source: str, claim: str, *, runs: Sequence[Run],
          job: Workload, checks: Sequence[Check], media: str = "optane",
          notes: Sequence[str] = ()) -> Figure:
    """One job under each policy."""
    return Figure(
        id_, "cinterrupts", title, source, claim,
        groups=(Group(runs, (job,), media, trace=traces.EVENTS, read=traces.timeline),),
        checks=checks, panels=(Panel("", kind="timeline", x="us",
                                     sources=[(run.title, job.name) for run in runs]),),
        columns=(), notes=("Measured from the device's trace of a guest; drawn with the first of "
                           "the seeds.", *notes), short=True)


BURST = Cell("burst")


def last_waits(run: str) -> Expr:
    return BURST("irq_last_us", run) - BURST("done_9_us", run)


FIG7 = drawn(
    "cint-fig7", "A burst under fixed timers and under adaptive",
    "section 3.2, Figure 7",
    "Eight completions 5 us apart, then a lone one. A timer of 20 us splits the burst, one of "
    "100 us makes the last read wait for it; adaptive does neither.",
    runs=(Run("static:time=100us,thr=8", "nvme100"), Run("static:time=20us,thr=8", "nvme20"),
          Run("adaptive:thr=8", "adaptive")),
    job=jobs.few(BURST.name, "a burst of 8 reads, then a lone one", jobs.batch("burst", 8, 8),
                 jobs.lone("last", 1, "stonewall\n")),
    media="custom:read-latency=5us,units=1",
    checks=(
        within("nvme100: the first interrupt covers", BURST("irq_1_covers", "nvme100"), 8, 8,
               swap("nvme100", "nvme20"), paper=8),
        within("nvme20: the first interrupt covers", BURST("irq_1_covers", "nvme20"), 3, 6,
               swap("nvme20", "adaptive"), paper="part of the burst"),
        within("adaptive: the first interrupt covers", BURST("irq_1_covers", "adaptive"), 8, 8,
               swap("nvme20", "adaptive"), paper=8),
        within("adaptive: from the burst's end to its interrupt",
               BURST("irq_1_us", "adaptive") - BURST("done_8_us", "adaptive"), 0, 0.1,
               swap("nvme20", "adaptive"), unit="us", paper=0),
        *(near(f"{run}: the lone read waits", last_waits(run), us, 0.02, control, unit="us")
          for run, us, control in (("nvme100", 100, swap("nvme100", "adaptive")),
                                   ("nvme20", 20, swap("nvme20", "nvme100")),
                                   ("adaptive", 6, swap("nvme100", "adaptive")))),
    ),
    notes=("The medium serves one read at a time, in 5 us.",),
)

BATCH = Cell("batch")


def waits(run: str) -> Expr:
    """The time from the batch's last completion to the interrupt that tells of it."""
    return BATCH("irq_1_us", run) - BATCH("done_4_us", run)


FIG9 = drawn(
    "cint-fig9", "The end of a batch", "section 3.2, Figure 9",
    "Adaptive finds that a batch has ended only when delta is over; the Barrier on its last "
    "request says so at once.",
    runs=(Run("default"), Run("adaptive"), Run("cint"), NO_HINTS),
    job=jobs.few(BATCH.name, "a batch of 4 reads", jobs.batch("batch", 4, 4)),
    checks=(
        near("adaptive: from the last completion to the interrupt", waits("adaptive"), 6, 0.02,
             swap("adaptive", "cint"), unit="us"),
        within("cint: from the last completion to the interrupt", waits("cint"), 0, 0.1,
               instead("cint", NO_HINTS.title), unit="us", paper=0),
        *(within(f"{run}: interrupts for the batch", BATCH("irqs", run), 1, 1,
                 instead(run, "default"), paper=1) for run in ("adaptive", "cint")),
        within("default: interrupts for the batch", BATCH("irqs", "default"), 4, 4,
               instead("default", "cint"), paper=4),
    ),
    notes=("The kernel marks the last read of a batch by itself.",),
)

THREADS = Cell("threads")
#: With fewer chance decides whether adaptive mixes any in a seed.
BATCHES = 8

FIG13 = drawn(
    "cint-fig13", "Two threads with batches", "section 3.4, Figure 13",
    "Two threads submit a batch each and wait for it. Adaptive mixes them, and both wait for the "
    "end of the burst; with Barrier each batch has an interrupt of its own.",
    runs=(Run("adaptive"), Run("cint"), NO_HINTS),
    job=jobs.few(THREADS.name, f"two threads, each {BATCHES} batches of 4 reads",
                 jobs.batch("threads", 4, 4 * BATCHES, "numjobs=2\n")),
    checks=(
        within(f"cint: interrupts for {2 * BATCHES} batches", THREADS("irqs", "cint"), 2 * BATCHES,
               2 * BATCHES, instead("cint", NO_HINTS.title), paper="one each"),
        at_most("interrupts, adaptive against cint", THREADS.ratio("irqs", "adaptive", "cint"),
                0.99, paper="fewer"),
        at_most("end of the last batch, cint against adaptive",
                THREADS.ratio(f"done_{8 * BATCHES}_us", "cint", "adaptive"), 0.99,
                swap("adaptive", "cint"), paper="earlier"),
    ),
)

MIXED = Cell("mixed")

FIG14 = drawn(
    "cint-fig14", "Urgent out of order", "section 3.5, Figure 14",
    "With thr 9: an Urgent completion has an interrupt of its own, of the urgent class, which "
    "tells of it alone; the others wait for the ninth, in which it is counted.",
    runs=(Run("cint:thr=9", "cint"), Run("cint+ooo:thr=9", "cint+ooo"),
          Run("cint+ooo:thr=9,infer=off", "cint+ooo, no hints", hints=False)),
    job=jobs.few(MIXED.name, "24 unmarked reads in flight beside a sync thread",
                 jobs.batch("async", 24, 48, engine=workloads.UNMARKED), jobs.lone("sync", 8)),
    checks=(
        at_least("cint+ooo: urgent interrupts for an Urgent completion",
                 MIXED("irqs.urgent", "cint+ooo") / MIXED("dones.U", "cint+ooo"), 0.8,
                 instead("cint+ooo", "cint"), paper=1.0),
        within("cint+ooo: completions that an urgent interrupt tells of, at most",
               MIXED("urgent_covers_most", "cint+ooo"), 1, 1, instead("cint+ooo", "cint"),
               paper=1),
        within("cint: urgent interrupts, in order", MIXED("irqs.urgent", "cint"), 0, 0,
               instead("cint", "cint+ooo"), paper=0),
        within("cint+ooo: completions that a full interrupt tells of, at most",
               MIXED("full_covers_most", "cint+ooo"), 7, 9,
               mistaken(MIXED("full_covers_most", "cint+ooo"),
                        MIXED("urgent_covers_most", "cint+ooo")), paper=9),
        within("without the guest's hints: Urgent completions",
               MIXED("dones.U", "cint+ooo, no hints"), 0, 0,
               instead("cint+ooo, no hints", "cint+ooo")),
    ),
    notes=("An Urgent completion that is itself the ninth has a full interrupt.",),
)
