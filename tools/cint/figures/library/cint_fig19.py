# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Figure 19: the threshold, swept."""

from cint.figures import jobs
from cint.figures.checks import Check, Deviation, at_least, swap, within, wrong
from cint.figures.model import USUAL, Figure, Group, Panel, Run, Series, runs
from cint.figures.values import Expr, value

THRESHOLDS = (0, 1, 2, 4, 8, 16, 32, 64, 128, 255)
#: A batch of 16 is no whole number of these.
ODD = (3, 5)
JOBS = (jobs.aio(256, 16, 16, "batched"), jobs.aio(256, 1, 1, "unbatched"))
REMAINDER = "a batch of 16 has a remainder: 16 completions take 16 / thr interrupts, rounded up"
OTHERWISE = {
    ("batched", 3): Deviation(3.05, 3.3, (
        "the last completion of a batch of 16 is the first after 5 interrupts; the guest reaps "
        "it with the others before delta is over, so it needs none")),
    ("batched", 5): Deviation(3.9, 4.1, REMAINDER),
    ("unbatched", 8): Deviation(5.2, 6.7, (
        "one gap in ten is longer than delta = 6 us, and ends a burst before its 8th "
        "completion")),
}


def run(thr: int) -> Run:
    return Run(f"adaptive:thr={thr}", f"thr {thr}")


def of(name: str, thr: int, job: str) -> Expr:
    return value(name, f"thr {thr}", job)


def plateau(job: str) -> list[Check]:
    def ratio(one: int, two: int) -> Expr:
        return of("iops", one, job) / of("iops", two, job)

    return [
        within(f"{job}: IOPS of thr 1 against thr 0", ratio(1, 0), 0.98, 1.02,
               swap("thr 1", "thr 32"), paper=1.0),
        at_least(f"{job}: IOPS of thr 16 against thr 32", ratio(16, 32), 0.97,
                 swap("thr 16", "thr 1"), paper="a plateau"),
        at_least(f"{job}: IOPS of thr 32 against thr 1", ratio(32, 1), 1.2,
                 swap("thr 32", "thr 1"), paper=1.35 if job == "batched" else 1.34),
    ]


def merged(job: str, thr: int) -> Check:
    low = 0.85 * thr if thr <= 8 else 0
    return within(f"{job}: I/Os for an interrupt at thr {thr}", of("ios_per_irq", thr, job), low,
                  max(thr, 1) * 1.001, wrong(2) if 0 < thr <= 8 else wrong(0.01), paper=f"to {thr}",
                  deviation=OTHERWISE.get((job, thr)))


def panel(title: str, name: str, unit: str, factor: float) -> Panel:
    return Panel(title, unit, [
        Series(job.name, [(max(t, 0.5), of(name, t, job.name) * factor) for t in THRESHOLDS])
        for job in JOBS], kind="lines", x="threshold", log_x=True,
        log_y=name == "device_irqs")


FIGURE = Figure(
    "cint-fig19", "cinterrupts", "The threshold, swept", "section 5.2, Figure 19",
    "With delta fixed, throughput levels out at a threshold of 16 to 32, while interrupts fall "
    "as its inverse.",
    groups=(Group(runs(*map(run, sorted({*THRESHOLDS, *ODD}))), JOBS),),
    checks=tuple(check for job in JOBS for check in (
        *plateau(job.name),
        *(merged(job.name, thr) for thr in sorted({*THRESHOLDS, *ODD})))),
    panels=(panel("throughput", "iops", "IOPS, k/s", 1e-3),
            panel("interrupts", "device_irqs", "k/s", 1e-3)),
    columns=USUAL,
    notes=(
        "The paper's throughput is 325 to 440 K (batched) and 275 to 368 K reads a second.",
        "thr 0 is drawn at 0.5.",
    ),
    left_out=("the P3700 half of the figure: its load is limited by the drive, and it shows the "
              "same fall of interrupts",),
    slow=True,
)
