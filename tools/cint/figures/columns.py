# SPDX-License-Identifier: GPL-2.0-or-later
"""The columns of a figure's table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """A column of the page's table: a value of each run."""

    head: str
    name: str
    factor: float = 1.0


#: The columns most figures have.
IOPS = Column("IOPS, k/s", "iops", 1e-3)
MEAN = Column("mean, us", "mean_us")
P99 = Column("p99, us", "p99_us")
IRQS = Column("interrupts, k/s", "device_irqs", 1e-3)
MERGED = Column("I/Os per interrupt", "ios_per_irq")
CPU = Column("CPU, %", "cpu_percent")
USUAL = (IOPS, MEAN, P99, IRQS, MERGED, CPU)
#: Others that several have.
P50, P999 = Column("p50, us", "p50_us"), Column("p99.9, us", "p999_us")
LONGEST = Column("longest, us", "max_us")
IRQS_PER_IO = Column("interrupts for an I/O", "irqs_per_io")
#: Of programs: the same, by the device, which sends messages.
MESSAGES = Column("messages for an I/O", "irqs_per_io")
HANDLED = Column("I/Os handled per interrupt", "ios_per_irq")
MEAN_R = Column("mean R", "mean_ratio")
CPU_PER_IO = Column("CPU, us an I/O", "cpu_per_io_us")
THREAD = Column("thread, %", "thread_percent")
BATCH, VERIFIED = Column("I/Os of a batch", "batch"), Column("verified", "verified")
AUDITED = Column("read again at the end", "audited")
URGENT = Column("urgent, share", "reason.urgent")
BARRIER = Column("barrier, share", "reason.barrier")
