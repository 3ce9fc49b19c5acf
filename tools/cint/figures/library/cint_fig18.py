# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Figure 18: gaps between completions, from which delta is chosen."""

from collections.abc import Sequence

from cint.figures import jobs, traces
from cint.figures.checks import Check, Deviation, at_least, at_most, instead, swap, within, wrong
from cint.figures.model import USUAL, Column, Figure, Group, Panel, Run, runs
from cint.figures.values import Data, Expr, View, value

EVEN, SPREAD, P3700, FOUND = "even/", "spread/", "p3700/", "found/"
JOBS = (jobs.aio(256, 1, 1, "unbatched"), jobs.aio(256, 16, 16, "batched"))
QUANTILES = (10, 50, 90, 95, 99)


def gap(prefix: str, job: str, percent: int = 90) -> Expr:
    return value(f"gap_p{percent}_us", f"{prefix}default", job)


def with_delta(data: Data) -> Sequence[Run]:
    """adaptive with the delta that was found: p90 of the unbatched gaps."""
    found = max(gap(SPREAD, "unbatched").of(View(data, seed)) for seed in range(data.seeds))
    return runs(Run(f"adaptive:delta={found:.3f}us", "adaptive, delta found"))


def traced(prefix: str, media: str) -> Group:
    return Group(runs("default"), JOBS, media, prefix, runtime_s=0.03, trace=(traces.MEDIA,),
                 read=traces.gaps)


IN_STEP = Deviation(0.3334, 0.36, (
    "the job that reads one by one falls into step with the guest's own speed: nearly all its gaps "
    "are what a read costs the CPU; with the drive's spread the claim holds"))


def batched(prefix: str, which: str, known: Deviation | None = None) -> Check:
    return at_most(f"{which}: p90 of the gaps, batched against unbatched",
                   gap(prefix, "batched") / gap(prefix, "unbatched"), 1 / 3,
                   swap("batched", "unbatched"),
                   paper=round(1 / 6, 3), deviation=known)


FIGURE = Figure(
    "cint-fig18", "cinterrupts", "Gaps between completions", "section 5.2, Figure 18",
    "Completions of a batched load come in bursts: 90 % of the gaps are at most 1 us, where "
    "those of an unbatched one are at most 6 us. delta is chosen as that p90.",
    groups=(
        traced(EVEN, "optane:spread=0"), traced(SPREAD, "optane"),
        traced(P3700, "p3700"),
        Group(with_delta, (JOBS[0],), "optane", FOUND),
    ),
    checks=(
        batched(EVEN, "a drive of even latency", IN_STEP),
        batched(SPREAD, "with the drive's spread"),
        within("P3700: p99 of the gaps, unbatched", gap(P3700, "unbatched", 99), 10, 20,
               instead(f"{P3700}default", f"{SPREAD}default"), paper=15, unit="us"),
        at_least("with the delta found, adaptive merges of the unbatched load",
                 value("ios_per_irq", f"{FOUND}adaptive, delta found", "unbatched"), 8,
                 instead(f"{FOUND}adaptive, delta found", f"{SPREAD}default"),
                 unit="I/Os an interrupt"),
        within("the same, share of interrupts for the reasons 'quiet' and 'thr'",
               value("reason.quiet", f"{FOUND}adaptive, delta found", "unbatched")
               + value("reason.thr", f"{FOUND}adaptive, delta found", "unbatched"), 0.99, 1,
               instead(f"{FOUND}adaptive, delta found", f"{SPREAD}default")),
        within("default: interrupts for an I/O while the gaps are taken",
               value("irqs_per_io", f"{EVEN}default", "batched"), 0.99, 1.01, wrong(2)),
        at_least("unbatched: p90 of the gaps, drive with spread against even latency",
                 gap(SPREAD, "unbatched") / gap(EVEN, "unbatched"), 1.0001),
    ),
    panels=tuple(
        Panel(title, "% of the gaps", kind="curves", x="gap, us", log_x=True,
              sources=((f"{prefix}default", "unbatched"), (f"{prefix}default", "batched")))
        for title, prefix in (("Optane, even latency", EVEN), ("Optane, its spread", SPREAD),
                              ("P3700", P3700))),
    columns=(*USUAL[:2], *(Column(f"gap p{p}, us", f"gap_p{p}_us") for p in QUANTILES)),
    notes=(
        "The gaps are from the times at which the device's medium is done with a command, by "
        "the device's own clock.",
        "'spread' is the medium as it is, 'even' the one whose reads all take the same time.",
    ),
)
