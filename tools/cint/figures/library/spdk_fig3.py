# SPDX-License-Identifier: GPL-2.0-or-later
"""SPDK with interrupts, Figure 3: throughput, polled and with interrupts."""

from cint.figures import spdk
from cint.figures.checks import instead, near, within, wrong
from cint.figures.model import Figure
from cint.figures.spdk import (
    COALESCED,
    LOADS,
    POLL,
    RANDREAD,
    RANDWRITE,
    SEQREAD,
    SEQWRITE,
    SINGLE,
    WAYS,
    Load,
    of,
)
from cint.figures.values import Expr

#: MB/s, read off the paper's plots: by load and way, at the three depths.
PAPER: dict[Load, spdk.Paper] = {
    SEQREAD: {POLL: (3170, 3325, 3325), SINGLE: (3100, 3275, 3325), COALESCED: (3100, 3260, 3325)},
    SEQWRITE: dict.fromkeys(WAYS, (2147,) * 3),
    RANDREAD: {POLL: (3005,) * 3, SINGLE: (2770, 2995, 3005), COALESCED: (2770, 2995, 3005)},
    RANDWRITE: dict.fromkeys(WAYS, (2147,) * 3),
}

def against_poll(load: Load, way: str, cell: str) -> Expr:
    """Throughput by that of polling."""
    return of(load, "iops", way, cell) / of(load, "iops", POLL, cell)


FIGURE = Figure(
    "spdk-fig3", "spdk", "Throughput with interrupts and polled", "section 5.1.2, Figure 3",
    "From some number of I/Os in flight on, a process that sleeps until an interrupt has as much "
    "throughput as one that polls; writes at any.",
    groups=spdk.throughput(),
    checks=(
        *(within(f"{load.name}, largest depth: {way} against poll",
                 against_poll(load, way, load.largest), 0.98, 1.02,
                 wrong(1.1), paper=1.0) for load in LOADS for way in (SINGLE, COALESCED)),
        *(within(f"{load.name}, smallest depth: {way} against poll",
                 against_poll(load, way, load.cells[0]), low, 1.02, wrong(1.2),
                 paper=round(PAPER[load][way][0] / PAPER[load][POLL][0], 3))
          for load, low in ((SEQREAD, 0.95), (RANDREAD, 0.85)) for way in (SINGLE, COALESCED)),
        *(within(f"{cell}: {way} against poll", against_poll(load, way, cell), 0.99, 1.01,
                 wrong(1.1), paper=1.0)
          for load in (SEQWRITE, RANDWRITE) for cell in load.cells[:-1]
          for way in (SINGLE, COALESCED)),
        near("seqread 32, polled", spdk.rate(SEQREAD, POLL, 32), PAPER[SEQREAD][POLL][2], 0.06,
             instead("seqread 32", "seqwrite 32"), unit="MB/s"),
        near("seqwrite 32, polled", spdk.rate(SEQWRITE, POLL, 32), 2147, 0.06,
             instead("seqwrite 32", "seqread 32"), unit="MB/s"),
        near("randread 256, polled", spdk.rate(RANDREAD, POLL, 256), PAPER[RANDREAD][POLL][2],
             0.06, instead("randread 256", "randwrite 256"), unit="MB/s"),
        near("randwrite 256, polled", spdk.rate(RANDWRITE, POLL, 256), 2147, 0.06,
             instead("randwrite 256", "randread 256"), unit="MB/s"),
    ),
    panels=tuple(spdk.panel(
        load, "MB/s", {way: [spdk.rate(load, way, depth) for depth, _ in load.batches]
                       for way in WAYS}, PAPER[load]) for load in LOADS),
    columns=spdk.COLUMNS,
    notes=(spdk.ENGINE, spdk.MODES, spdk.ARM,
           "The medium is the profile zssd, whose figures are derived from this paper's."),
)
