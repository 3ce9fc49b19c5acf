# SPDX-License-Identifier: GPL-2.0-or-later
"""The one table of what a row has: names, units, and where each number is shown.

results.json, results.csv, the terminal's table, the page, the drawings and the
block about the last result are all made from it, and so is its line in
docs/results.schema.json. A new metric is a line here and a value in
:mod:`cint.measure.sampling`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """One number of a row.

    ``name`` is its key in results.json; what a person sees is the value times
    ``factor``, in ``unit``. ``width`` is that of its column on the terminal.
    """

    name: str
    head: str
    unit: str
    width: int
    factor: float = 1.0
    #: Whether it has a ratio to the baseline, and a column for it on the terminal.
    ratio: bool = True
    ratio_column: bool = False
    #: Whether it stands in the block that compares with the last result.
    compared: bool = False
    #: What docs/results.schema.json says of it.
    note: str = ""

    @property
    def title(self) -> str:
        """Head and unit in one line."""
        return f"{self.head} {self.unit}"


TABLE = (
    Metric("iops", "IOPS", "k/s", 8, 1e-3, ratio_column=True, compared=True),
    Metric("mean_us", "mean", "us", 8, ratio_column=True, compared=True),
    Metric("p50_us", "p50", "us", 7),
    Metric("p99_us", "p99", "us", 7, compared=True),
    Metric("p999_us", "p99.9", "us", 8),
    Metric("device_irqs", "device", "kirq/s", 8, 1e-3, ratio_column=True, compared=True,
           note="MSI-X messages of the I/O queues, per second"),
    Metric("guest_irqs", "guest", "kirq/s", 8, 1e-3,
           note="/proc/interrupts of the I/O queues, per second"),
    Metric("ios_per_irq", "I/Os", "per irq", 8, compared=True,
           note="by the device's count, else the guest's"),
    Metric("hold_us", "hold", "us", 7, ratio=False, note="mean, CQE posted to interrupt sent"),
    Metric("cpu_percent", "CPU", "%", 6, ratio=False),
)

#: The percentiles in the table, and of which rank they are.
PERCENTILES = {"p50_us": 50.0, "p99_us": 99.0, "p999_us": 99.9}
#: A percentile with fewer I/Os beyond it goes by the few slowest of them: it is shown with a mark.
FEW_BEYOND = 100

NAMES = tuple(metric.name for metric in TABLE)
RATIOS = tuple(metric.name for metric in TABLE if metric.ratio)
COMPARED = tuple(metric for metric in TABLE if metric.compared)


def named(*names: str) -> tuple[Metric, ...]:
    """The metrics of these names, in this order."""
    known = {metric.name: metric for metric in TABLE}
    return tuple(known[name] for name in names)


@dataclass(frozen=True)
class Drawing:
    """Metrics that are drawn together, on one axis; the first is the one to look at."""

    name: str
    title: str
    unit: str
    metrics: Sequence[Metric]


DRAWINGS = (
    Drawing("iops", "Throughput", "thousand I/Os per second", named("iops")),
    Drawing("latency", "Latency", "us", named("mean_us", "p50_us", "p99_us", "p999_us")),
    Drawing("interrupts", "Interrupts", "thousand interrupts per second",
            named("device_irqs", "guest_irqs")),
)
