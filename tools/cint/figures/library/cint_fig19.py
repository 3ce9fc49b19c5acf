# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Figure 19: the threshold, swept, on two drives."""

from cint.figures import jobs
from cint.figures.checks import (
    Check,
    Control,
    Deviation,
    at_least,
    instead,
    near,
    swap,
    within,
    wrong,
)
from cint.figures.model import Figure, Group, Panel, Run, Series, runs
from cint.figures.values import Expr, constant, value

THRESHOLDS = (0, 1, 2, 4, 8, 16, 32, 64, 128, 255)
#: Those of each drive: a batch of 16 is no whole number of 3 or 5.
SWEPT = {"optane": tuple(sorted({*THRESHOLDS, 3, 5})), "p3700": THRESHOLDS}
#: Throughput on the P3700 against Optane: "about 15 K lower".
PAPER = {"batched": round(425 / 440, 3), "unbatched": round(353 / 368, 3)}
#: What Figure 18 finds for each drive.
DELTA_US = {"optane": 6, "p3700": 15}
JOBS = (jobs.aio(256, 16, 16, "batched"), jobs.aio(256, 1, 1, "unbatched"))
REMAINDER = "a batch of 16 has a remainder: 16 completions take 16 / thr interrupts, rounded up"
OTHERWISE = {
    ("optane", "batched", 5): Deviation(3.9, 4.1, REMAINDER),
    ("optane", "unbatched", 8): Deviation(5.2, 6.7, (
        "one gap in ten is longer than delta = 6 us, and ends a burst before its 8th "
        "completion")),
}


def named(media: str, thr: int) -> str:
    return f"{media}/thr {thr}"


def of(name: str, media: str, thr: int, job: str) -> Expr:
    return value(name, named(media, thr), job)


def told(media: str, thr: int, job: str) -> Expr:
    """I/Os for an interrupt, without those that the guest found before one told of them."""
    return of("ios_per_irq", media, thr, job) * (
        constant(1) - of("untold_per_io", media, thr, job))


def group(media: str) -> Group:
    return Group(runs(*(Run(f"adaptive:thr={thr},delta={DELTA_US[media]}us", f"thr {thr}")
                        for thr in SWEPT[media])), JOBS, media, f"{media}/")


def plateau(media: str, job: str) -> list[Check]:
    def ratio(one: int, two: int) -> Expr:
        return of("iops", media, one, job) / of("iops", media, two, job)

    def exchanged(one: int, two: int) -> Control:
        return swap(named(media, one), named(media, two))

    return [
        within(f"{media}, {job}: IOPS of thr 1 against thr 0", ratio(1, 0), 0.98, 1.02,
               exchanged(1, 32), paper=1.0),
        at_least(f"{media}, {job}: IOPS of thr 16 against thr 32", ratio(16, 32), 0.97,
                 exchanged(16, 1), paper="a plateau"),
        at_least(f"{media}, {job}: IOPS of thr 32 against thr 1", ratio(32, 1), 1.2,
                 exchanged(32, 1), paper=1.35 if job == "batched" else 1.34),
    ]


#: From which threshold on no other run has more I/Os for an interrupt.
BEYOND = {("optane", "batched"): 16, ("optane", "unbatched"): 128, ("p3700", "batched"): 255,
          ("p3700", "unbatched"): 128}


def _exchanged(media: str, job: str, thr: int) -> Control:
    """A threshold four times as large in place of this one, where it merges more."""
    if thr >= BEYOND[media, job]:
        return wrong(0.01)
    larger = next(t for t in SWEPT[media] if t >= min(max(4 * thr, 2), THRESHOLDS[-1]))
    return instead(named(media, thr), named(media, larger))


def merged(media: str, job: str, thr: int) -> Check:
    low = 0.85 * thr if thr <= 8 else 0
    return within(f"{media}, {job}: I/Os that an interrupt tells of at thr {thr}",
                  told(media, thr, job), low, max(thr, 1) * 1.001,
                  _exchanged(media, job, thr), paper=f"to {thr}",
                  deviation=OTHERWISE.get((media, job, thr)))


def alike(job: str) -> Check:
    return near(f"{job}: IOPS at thr 32, P3700 against Optane",
                of("iops", "p3700", 32, job) / of("iops", "optane", 32, job), PAPER[job], 0.05,
                instead(named("optane", 32), named("optane", 1)))


def panel(title: str, media: str, name: str, unit: str) -> Panel:
    return Panel(f"{media}: {title}", unit, [
        Series(job.name, [(max(t, 0.5), of(name, media, t, job.name) * 1e-3)
                          for t in THRESHOLDS])
        for job in JOBS], kind="lines", x="threshold", log_x=True,
        log_y=name == "device_irqs")


FIGURE = Figure(
    "cint-fig19", "cinterrupts", "The threshold, swept", "section 5.2, Figure 19",
    "With delta fixed, throughput levels out at a threshold of 16 to 32, while interrupts fall "
    "as its inverse; on either drive.",
    groups=tuple(map(group, SWEPT)),
    checks=(*(check for media in SWEPT for job in JOBS for check in (
        *plateau(media, job.name), *(merged(media, job.name, thr) for thr in SWEPT[media]))),
        *(alike(job.name) for job in JOBS)),
    panels=tuple(panel(*words) for media in SWEPT for words in (
        ("throughput", media, "iops", "IOPS, k/s"), ("interrupts", media, "device_irqs", "k/s"))),
    notes=(
        "The paper's throughput on Optane is 325 to 440 K (batched) and 275 to 368 K reads a "
        "second.",
        "thr 0 is drawn at 0.5.",
        "Some completions come while the guest's handler is at work, which reaps them with the "
        "others before an interrupt tells of them. The device counts these; what a threshold "
        "bounds is the others.",
    ),
)
