# SPDX-License-Identifier: GPL-2.0-or-later
"""vIC, Table 1: the delivery ratio by commands in flight."""

from cint.figures import arrays
from cint.figures.arrays import POLICY, PROBES, RUNTIME_S, ratio, reads
from cint.figures.checks import Check, instead, within, wrong
from cint.figures.model import IOPS, MEAN, Column, Figure, Group, Panel, Run, Series, runs
from cint.figures.values import Expr, value

#: The paper's own depths.
DEPTHS = (2, 6, 10, 14, 16, 24, 64, 128)
#: The last depth of a row: the commands in flight stay in it, though up to 1/R - 1 finished ones
#: wait for their interrupt, and others are with the guest. (The text's smallest ratio is 1/16:
#: max-skip=16.)
INSIDE = (23, 31, 71, 143)
#: How near to R is near enough.
NEAR = 0.05
#: Some spread, as every array has: without any, reads submitted together stay together, and
#: the commands in flight are not about the depth at all times.
MEDIA = "array:jitter=100us"
#: The first depths of a row: with each completion that waits for its interrupt, of which there are
#: up to 1/R - 1, the commands in flight are in the row before.
BORDERS = (16, 24, 64, 128)


def merged(run: str, depth: int) -> Expr:
    return value("irqs_per_io", run, f"q{depth}")


def other(depth: int) -> int:
    """The next depth of the same guest, which is in another row of the table."""
    depths = DEPTHS if depth in DEPTHS else INSIDE
    return depths[(depths.index(depth) + 1) % len(depths)]


def row(run: str, depth: int) -> Check:
    wanted = round(max(ratio(depth), 1 / 16), 4)
    before = ratio(depth - round(1 / wanted) + 1) if depth in BORDERS else wanted
    return within(f"depth {depth}: interrupts for an I/O", merged(run, depth),
                  wanted * (1 - NEAR), before * (1 + NEAR),
                  instead(f"q{depth}", f"q{other(depth)}"), paper=wanted)


FIGURE = Figure(
    "vic-tab1", "vic", "Delivery ratio by commands in flight", "section 3.2.1, Table 1",
    "The more commands are in flight, the fewer completions interrupt: all of them up to 3, "
    "4 of 5 up to 7, 3 of 4 up to 11, 2 of 3 up to 15, then 8 / CIF.",
    groups=(
        Group(runs(Run(POLICY, "vic")), tuple(map(reads, DEPTHS)), MEDIA, runtime_s=RUNTIME_S,
              probed=True),
        Group(runs(Run(f"{POLICY},max-skip=16", "vic, inside")), tuple(map(reads, INSIDE)), MEDIA,
              runtime_s=RUNTIME_S, probed=True),
    ),
    checks=(
        *(row("vic", q) for q in DEPTHS),
        *(row("vic, inside", q) for q in INSIDE),
        within("depth 31: share of interrupts for the reason 'ratio'",
               value("reason.ratio", "vic, inside", "q31"), 0.9, 1,
               instead("q31", "q23")),
        within("depth 2: share of interrupts for the reason 'low-cif'",
               value("reason.low-cif", "vic", "q2"), 0.9, 1,
               instead("q2", "q16")),
        within("epochs that were measured", value("probes", "vic", "q64"), PROBES, PROBES,
               wrong(2)),
    ),
    panels=(Panel("interrupts for an I/O", "R", (
        Series("here", [(q, merged("vic", q)) for q in DEPTHS]),
        Series("inside a row", [(q, merged("vic, inside", q)) for q in INSIDE]),
        Series("paper", [(q, ratio(q)) for q in range(1, 150)], paper=True)),
        kind="lines", x="depth", log_x=True, log_y=True),),
    columns=(IOPS, MEAN, Column("interrupts for an I/O", "irqs_per_io"),
             Column("mean R", "mean_ratio")),
    notes=(
        f"Epochs of {arrays.EPOCH_S * 1000:g} ms in place of 200 ms. The medium has a jitter of "
        "100 us: reads that are reaped together would otherwise be submitted and finished "
        "together from then on, and fewer be in flight than the depth says.",
        "'inside' are depths that stay in their row although finished reads wait. They are 23 and "
        "31 where they were 17 and 26 (commit 59afe26), which fell out of their bounds in one "
        "epoch of one seed.",
        "Depths 16, 24, 64 and 128 are the first of their rows. One completion that waits for its "
        "interrupt takes the commands in flight into the row before, whose ratio part of the "
        "epochs have: there the ratios of both rows bound what is wanted. They were expected "
        "failures of the row's own before.",
    ),
    short=True,
)
