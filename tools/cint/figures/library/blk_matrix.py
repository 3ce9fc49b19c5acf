# SPDX-License-Identifier: GPL-2.0-or-later
"""Hints and queues by class: either without the other, and both together."""

from cint.figures import switched
from cint.figures.checks import at_least, at_most, instead
from cint.figures.model import (
    CPU,
    IOPS,
    IRQS,
    MEAN,
    MERGED,
    P99,
    Column,
    Figure,
    Group,
    Panel,
    Run,
    Series,
)
from cint.figures.switched import OFF, PRIO, latency, of_l, of_t, pinned, throughput
from cint.figures.values import Cell

DEPTH = 4 * switched.DEPTH
#: Row of the matrix: the policy, and whether the guest gives hints.
ROWS = {"default": ("default", True), "adaptive": ("adaptive", True),
        "cint+ooo": ("cint+ooo", True), "cint+ooo, no hints": ("cint+ooo", False),
        "split": ("split:l=cint,t=adaptive", True),
        "split, no hints": ("split:l=cint,t=adaptive", False)}
WORKLOAD = pinned("both", f"L and T (reads of 4 KiB at depth {DEPTH}, in batches of "
                  f"{switched.BATCH}) on CPU 0", latency(), throughput(bs="4k", depth=DEPTH))


def name(row: str, mode: str) -> str:
    """What a run is called."""
    return f"{row}, {mode}"


def modes(row: str) -> tuple[str, ...]:
    """Two policies take queues by class."""
    return (PRIO,) if row.startswith("split") else (OFF, PRIO)


RUNS = tuple(Run(policy, name(row, mode), hints, steering=mode)
             for row, (policy, hints) in ROWS.items() for mode in modes(row))
PLAIN, BEST = name("default", OFF), name("split", PRIO)

L, T, BOTH = of_l("both"), of_t("both"), Cell("both")


def panel(title: str, y: str, of: Cell, what: str) -> Panel:
    """A group of bars for each row, a bar for each mode."""
    return Panel(title, y, tuple(
        Series(mode, [(row, of(what, name(row, mode))) for row in ROWS if mode in modes(row)])
        for mode in (OFF, PRIO)))


FIGURE = Figure(
    "blk-matrix", "blk-switch", "Hints and queues by class", "of neither paper: both at once",
    "Hints have the device interrupt at once for what somebody waits for, and seldom for the rest. "
    "Queues by class keep the rest out of the way. With both L waits least, and T is interrupted "
    "for least.",
    groups=(Group(RUNS, (WORKLOAD,), switched.MEDIA, runtime_s=switched.RUNTIME_S, full_s=0.1,
                  vcpus=2),),
    checks=(
        at_most("interrupts for an I/O, split with queues by class against default without",
                BOTH.ratio("irqs_per_io", BEST, PLAIN), 0.7, instead(BEST, PLAIN)),
        at_least("p99 of L, adaptive in one queue against split",
                 L.ratio("p99_us", name("adaptive", OFF), BEST), 1.2),
        at_least("p99 of L, cint+ooo without hints in one queue against split",
                 L.ratio("p99_us", name("cint+ooo, no hints", OFF), BEST), 1.2),
        at_least("p99 of L, cint+ooo in one queue against split",
                 L.ratio("p99_us", name("cint+ooo", OFF), BEST), 1.2),
        at_most("interrupts for an I/O, split against default, both with queues by class",
                BOTH.ratio("irqs_per_io", BEST, name("default", PRIO)), 0.7),
        at_least("T, split against default, both with queues by class",
                 T.ratio("iops", BEST, name("default", PRIO)), 1),
    ),
    panels=(panel("p99 of L", "us", L, "p99_us"),
            panel("T's reads of 4 KiB", "per s", T, "iops"),
            panel("interrupts for an I/O", "", BOTH, "irqs_per_io")),
    columns=(IOPS, MEAN, P99, IRQS, MERGED, CPU, Column("L: I/Os per interrupt", "l_ios_per_irq"),
             Column("T: I/Os per interrupt", "t_ios_per_irq"),
             Column("L: wait for fetch, us", "l_wait_us"),
             Column("T: wait for fetch, us", "t_wait_us")),
    notes=("split gives L's completion queue cint and T's adaptive. Without hints a device under "
           "cint infers them from how commands come.", switched.SCHEDULED),
)
