# SPDX-License-Identifier: GPL-2.0-or-later
"""Interrupts, coalescing or polling: by how many reads one thread has in flight."""

from cint.figures import polled
from cint.figures.checks import at_least, at_most
from cint.figures.model import CPU, IOPS, IRQS, MEAN, P99, Column, Figure, Group, Panel, Run, Series
from cint.figures.polled import CLASSIC, IRQ
from cint.figures.values import Cell
from cint.measure.workloads import Workload

DEPTHS = (1, 2, 4, 8, 16, 32)
CINT, ADAPTIVE = "cint", "adaptive"
ALL = (IRQ, ADAPTIVE, CINT, CLASSIC)
RING = """\
[ring]
ioengine=io_uring
iodepth={depth}
iodepth_batch_submit={depth}
iodepth_batch_complete_min=1
iodepth_batch_complete_max={depth}
"""


def jobs(more: str = "") -> list[Workload]:
    """A ring that polls takes no device without queues for that, so that it is another job."""
    return [polled.job(of(depth).name, f"a thread with {depth} reads of 4k in flight (io_uring)",
                       RING.format(depth=depth) + more) for depth in DEPTHS]


def of(depth: int) -> Cell:
    return Cell(f"depth {depth}")


FIGURE = Figure(
    "poll-depth", "polling", "Which for which depth",
    "not a figure of a paper; the question of Le Moal's slides and of cinterrupts, section 2",
    "A thread that has several reads in flight finds several with one look, as a coalesced "
    "interrupt brings several. From four on a read costs less of the CPU than with either, but "
    "nothing of the CPU is left for others.",
    groups=(
        Group((Run("default", IRQ), Run("adaptive", ADAPTIVE), Run("cint+ooo", CINT)), jobs(),
              runtime_s=0.03),
        Group((polled.run(CLASSIC),), jobs("hipri=1\n"), runtime_s=0.03),
    ),
    checks=(
        *(at_most(f"depth {depth}: latency polled against interrupts",
                  of(depth).ratio("mean_us", CLASSIC, IRQ), 0.9999) for depth in DEPTHS),
        *(at_least(f"depth {depth}: IOPS polled against coalesced",
                   of(depth).ratio("iops", CLASSIC, ADAPTIVE), 1.0001) for depth in DEPTHS),
        *(at_least(f"depth {depth}: CPU time of a read, polled against coalesced",
                   of(depth).ratio("cpu_per_io_us", CLASSIC, ADAPTIVE), 1.0001)
          for depth in DEPTHS[:2]),
        *(at_most(f"depth {depth}: CPU time of a read, polled against coalesced",
                  of(depth).ratio("cpu_per_io_us", CLASSIC, ADAPTIVE), 0.9999)
          for depth in DEPTHS[2:]),
    ),
    panels=tuple(
        Panel(title, y, tuple(Series(way, [(n, of(n)(name, way) / unit) for n in DEPTHS])
                              for way in ALL), kind="lines", x="reads in flight", log_x=True)
        for title, y, name, unit in (
            ("IOPS", "k/s", "iops", 1000), ("mean latency", "us", "mean_us", 1),
            ("CPU", "%", "cpu_percent", 1), ("CPU time of a read", "us", "cpu_per_io_us", 1))),
    columns=(IOPS, MEAN, P99, IRQS, CPU, Column("CPU time of a read, us", "cpu_per_io_us")),
    notes=(polled.ONE_CPU, polled.SCHEDULER),
)
