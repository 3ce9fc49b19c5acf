# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Table 2: what a policy adds to a lone read."""

from cint.figures import jobs
from cint.figures import polled as reads
from cint.figures.checks import Check, at_most, instead, near, within
from cint.figures.model import IOPS, MEAN, P99, Column, Figure, Group, Panel, Run, Series, runs
from cint.figures.polled import CLASSIC, IRQ
from cint.figures.values import Expr, value

MEDIA = ("optane", "p3700")
#: The control of the standard deviations: a medium without any.
EVEN = "optane:spread=0"
#: Latency and its deviation: interrupts, mitigations, emulated, polled.
PAPER = {"optane": ((10, 1.3), (11, 1.3), (10, 1.2), (8, 1.2)),
         "p3700": ((80, 29.0), (81, 29.1), (82, 28.2), (78, 28.1))}


def mean(media: str, run: str, cell: str) -> Expr:
    return value("mean_us", f"{media}/{run}", cell)


def checks(media: str) -> list[Check]:
    other, = {*PAPER} - {media}
    (latency, deviation), _, (emulated, _), (polled, polled_deviation) = PAPER[media]
    return [
        near(f"{media}: latency with an interrupt each", mean(media, "default", "sync"), latency,
             0.10, instead(f"{media}/default", f"{media}/static100"), unit="us"),
        near(f"{media}: its standard deviation", value("sd_us", f"{media}/default", "sync"),
             deviation, 0.30, instead(f"{media}/default", "even/default"), unit="us"),
        within(f"{media}: latency with a policy that holds nothing, against default",
               mean(media, "engine", "sync") / mean(media, "default", "sync"), 0.94, 1.06,
               instead(f"{media}/engine", f"{media}/static100"),
               paper=round(emulated / latency, 3)),
        near(f"{media}: latency polled", mean(media, CLASSIC, "alone"), polled, 0.10,
             instead(f"{media}/{CLASSIC}", f"{other}/{CLASSIC}"), unit="us"),
        near(f"{media}: standard deviation, polled", value("sd_us", f"{media}/{CLASSIC}", "alone"),
             polled_deviation, 0.30, instead(f"{media}/{CLASSIC}", f"even/{CLASSIC}"), unit="us"),
        at_most(f"{media}: latency polled, against interrupts",
                mean(media, CLASSIC, "alone") / mean(media, IRQ, "alone"), 0.9999,
                paper=round(polled / latency, 3)),
    ]


FIGURE = Figure(
    "cint-tab2", "cinterrupts", "What a policy adds to a lone read", "section 5.1, Table 2",
    "A lone read takes as long with the policy engine in its way as without; polling is a "
    "little faster.",
    groups=(
        *(Group(runs("default", Run("adaptive:thr=1", "engine"), "static100"), (jobs.SYNC,),
                media, f"{media}/") for media in MEDIA),
        *(Group(reads.runs(IRQ, CLASSIC), (reads.alone("4k"),), media, f"{media}/")
          for media in MEDIA),
        Group(runs("default"), (jobs.SYNC,), EVEN, "even/"),
        Group(reads.runs(CLASSIC), (reads.alone("4k"),), EVEN, "even/"),
    ),
    checks=(*checks("optane"), *checks("p3700")),
    panels=tuple(Panel(media, "mean latency, us", (
        Series("here", [("interrupt", mean(media, "default", "sync")),
                        ("engine", mean(media, "engine", "sync")),
                        ("polled", mean(media, CLASSIC, "alone"))]),
        Series("paper", [("interrupt", PAPER[media][0][0]), ("engine", PAPER[media][2][0]),
                         ("polled", PAPER[media][3][0])], paper=True))) for media in MEDIA),
    columns=(IOPS, MEAN, Column("standard deviation, us", "sd_us"), P99),
    notes=(
        "'engine' is adaptive with a threshold of 1: every completion passes through the engine, "
        "and none is held. In virtual time the device itself takes none, so that this says that "
        "the engine asks for no interrupt later; what it costs the host is in docs/cost.md.",
        "The reads that are polled for, and those beside them with interrupts, are pvsync2's with "
        "hipri.",
    ),
    left_out=(
        "the row with mitigations (1 us more there). In virtual time an instruction takes a "
        "nanosecond whatever it does: writing CR3, IBPB or a serializing instruction cost a real "
        "CPU hundreds of cycles and its buffers, here as little as an addition. A kernel with them "
        "would show how many instructions they are, which is not what the paper measures; so the "
        "guest's is built without (CONFIG_CPU_MITIGATIONS).",),
)
