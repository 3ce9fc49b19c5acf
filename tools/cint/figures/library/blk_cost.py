# SPDX-License-Identifier: GPL-2.0-or-later
"""What queues by class cost who does one thing at a time."""

from cint.figures import switched
from cint.figures.checks import at_most, wrong
from cint.figures.model import Column, Figure, Group, Panel, Run, Series
from cint.figures.switched import PRIO, pinned
from cint.figures.values import Expr, said, value
from cint.guest import agent, steering

NONE, OFF = "without", "mode off"
RUNS = (NONE, OFF, PRIO)
CELLS = ("T read", "T fsync", "L read", "L fsync")
CLASSES = {"T": "", "L": "prioclass=1\nprio=0\n"}
WORKLOADS = tuple(
    pinned(f"{name} {what}", f"a thread of {'the realtime' if name == 'L' else 'no'} class that "
           f"{does}, and nobody else", f"[{what}]\nioengine=psync\n{options}{of_class}")
    for name, of_class in CLASSES.items()
    for what, does, options in (("read", "reads 4 KiB and waits", ""),
                                ("fsync", "writes 4 KiB and has it flushed",
                                 "rw=randwrite\nfsync=1\n")))


def each(run: str, cell: str) -> Expr:
    """How long it takes from one to the next."""
    return 1e6 / value("iops", run, cell)


def against(run: str, cell: str) -> Expr:
    """The same as a ratio to the guest without queues by class."""
    return each(run, cell) / each(NONE, cell)


FIGURE = Figure(
    "blk-cost", "blk-switch", "What queues by class cost", "of no paper: one thing at a time",
    "Nothing takes longer, in mode off or in mode prio, whoever does it: what T waits for is ended "
    "by a thread only where L is there.",
    groups=(Group((Run("default", NONE), Run("default", PRIO, steering=PRIO)), WORKLOADS),
            Group((Run("default", OFF, steering=PRIO),), WORKLOADS, setup=(
                agent.exec_argv(f"echo off > {steering.QUEUE}/switch_mode"),))),
    checks=(
        *(at_most(f"{cell}: {OFF} against {NONE}", against(OFF, cell), 1.03, wrong(0.9))
          for cell in CELLS),
        *(at_most(f"{cell}: {PRIO} against {NONE}", against(PRIO, cell), 1.03, wrong(0.9))
          for cell in CELLS),
    ),
    panels=(Panel("from one to the next", "us", tuple(
        Series(run, [(cell, each(run, cell)) for cell in CELLS]) for run in RUNS)),
        Panel("CPU time of each", "us", tuple(
            Series(run, [(cell, value("cpu_per_io_us", run, cell)) for cell in CELLS])
            for run in RUNS))),
    columns=(Column("k/s", "iops", 1e-3), Column("mean, us", "mean_us"),
             Column("CPU, us each", "cpu_per_io_us"),
             Column("interrupts for an I/O", "irqs_per_io")),
    notes=("One CPU; an fsync is a flush behind each write. The latency is fio's of the write "
           "alone; what an I/O with its flush takes is the time from one to the next.",
           said("A lone read of T takes {:.1f} us in place of {:.1f}, and {:.1f} us of the CPU in "
                "place of {:.1f}. An fsync takes {:.1f} us of the CPU in mode off, {:.1f} without "
                "nvme.blk_switch.", each(PRIO, "T read"), each(NONE, "T read"),
                value("cpu_per_io_us", PRIO, "T read"), value("cpu_per_io_us", NONE, "T read"),
                value("cpu_per_io_us", OFF, "T fsync"), value("cpu_per_io_us", NONE, "T fsync")),
           "'without' is a guest without nvme.blk_switch, 'mode off' one with it whose mode was "
           "set to off.", switched.SAME_DEVICE),
)
