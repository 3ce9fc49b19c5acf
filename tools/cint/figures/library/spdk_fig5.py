# SPDX-License-Identifier: GPL-2.0-or-later
"""SPDK with interrupts, Figure 5: the latency of one I/O at a time."""

from cint.figures import spdk
from cint.figures.checks import at_most, instead, near, swap, within, wrong
from cint.figures.model import CPU, MEAN, P99, Column, Figure, Group, Panel, Series
from cint.figures.spdk import LOADS, POLL, RANDREAD, RANDWRITE, SEQREAD, SEQWRITE, SINGLE
from cint.figures.values import Expr, constant, least, most, value

#: us, read off the paper's plot: (polled, with an interrupt).
PAPER = {SEQREAD: (40, 42), SEQWRITE: (63, 66), RANDREAD: (13, 15), RANDWRITE: (5, 7)}


def mean(way: str, cell: str) -> Expr:
    return value("mean_us", way, cell)


ADDED = [mean(SINGLE, load.name) - mean(POLL, load.name) for load in LOADS]
MEAN_ADDED = (ADDED[0] + ADDED[1] + ADDED[2] + ADDED[3]) * constant(0.25)

FIGURE = Figure(
    "spdk-fig5", "spdk", "What an interrupt adds to a lone I/O", "section 5.1.4, Figure 5",
    "An interrupt adds about 2 us to an I/O that is alone, whatever its size and direction.",
    groups=(spdk.on_arm(Group((spdk.way(POLL), spdk.way(SINGLE)),
                              [spdk.lone(load) for load in LOADS], spdk.MEDIA, runtime_s=0.02)),),
    checks=(
        *(near(f"{load.name}, polled", mean(POLL, load.name), PAPER[load][0], 0.15,
               instead(load.name, other.name), unit="us")
          for load, other in zip(LOADS, (*LOADS[1:], LOADS[0]), strict=True)),
        within("added by an interrupt, mean of the four", MEAN_ADDED, 1.0, 3.0,
               swap(POLL, SINGLE), paper=2, unit="us"),
        at_most("added by an interrupt: largest less smallest, by the mean",
                (most(ADDED) - least(ADDED)) / MEAN_ADDED, 0.4, wrong(0.01)),
    ),
    panels=(Panel("mean latency", "us", (
        *(Series(way, [(load.name, mean(way, load.name)) for load in LOADS])
          for way in (POLL, SINGLE)),
        *(Series(f"{way}, paper", [(load.name, PAPER[load][at]) for load in LOADS], paper=True)
          for at, way in enumerate((POLL, SINGLE))))),),
    columns=(MEAN, P99, Column("p99.9, us", "p999_us"), CPU),
    notes=(spdk.ENGINE, spdk.MODES, spdk.ARM),
)
