# SPDX-License-Identifier: GPL-2.0-or-later
"""SPDK with interrupts, section 5.1.1: the driver against the kernel's, at full throughput."""

from cint.figures import spdk
from cint.figures.checks import Deviation, several, swap, within, wrong
from cint.figures.model import Figure, Group, Panel, Run, Series
from cint.figures.spdk import LOADS, POLL, RANDREAD, RANDWRITE, Load, of
from cint.figures.values import said
from cint.measure.workloads import Workload

KERNEL = "libaio"


def _full(load: Load, low: float, high: float) -> Deviation:
    """One CPU does not manage through the kernel what the medium could."""
    cell = load.largest
    return Deviation(low, high, said(
        "through the kernel an I/O takes {:.1f} us of CPU time: the only CPU is busy for {:.0f} % "
        "of the time with {:.0f} thousand a second, of which the medium could {:.0f}",
        of(load, "cpu_per_io_us", KERNEL, cell), of(load, "cpu_percent", KERNEL, cell),
        of(load, "iops", KERNEL, cell) / 1000, of(load, "iops", POLL, cell) / 1000))


FULL = {RANDREAD: _full(RANDREAD, 1.7, 2.0), RANDWRITE: _full(RANDWRITE, 1.15, 1.4)}


def job(load: Load) -> Workload:
    """At its largest depth, as many at once as in the paper."""
    return load.job(*load.batches[-1])


FIGURE = Figure(
    "spdk-5.1.1", "spdk", "The driver against the kernel's", "section 5.1.1",
    "SPDK, polled, and libaio have the same throughput, that of the simulated Z-SSD, and no data "
    "is wrong.",
    groups=tuple(
        spdk.on_arm(Group((spdk.way(POLL), Run("default", KERNEL)), [job(load) for load in loads],
                          spdk.MEDIA, loads[0].prefix, runtime_s=seconds))
        for loads, seconds in ((spdk.LARGE, spdk.LARGE_S), (spdk.SMALL, spdk.SMALL_S))),
    checks=(
        several("polled by a process against libaio", [
            within(f"{load.name}: polled by a process against libaio",
                   of(load, "iops", POLL, load.largest) / of(load, "iops", KERNEL, load.largest),
                   0.95, 1.05, swap(load.run(POLL), load.run(KERNEL)) if load in FULL
                   else wrong(1.2), paper=1.0, deviation=FULL.get(load))
            for load in LOADS]),
        *(within(f"{load.name}: interrupts a second, polled",
                 of(load, "device_irqs", POLL, load.largest), 0, 0,
                 swap(load.run(POLL), load.run(KERNEL))) for load in LOADS),
    ),
    panels=(Panel("throughput", "MB/s", tuple(
        Series(run, [(load.name, of(load, "iops", run, load.largest) * (load.bytes / 1e6))
                     for load in LOADS]) for run in (POLL, KERNEL))),),
    columns=spdk.COLUMNS,
    notes=(spdk.ENGINE, spdk.ARM,
           "Data: `./cint test guest -k test_fio_verifies`, crc32c in all modes, on this medium "
           "and on optane."),
)
