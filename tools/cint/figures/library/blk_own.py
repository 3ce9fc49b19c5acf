# SPDX-License-Identifier: GPL-2.0-or-later
"""Queues by class where no paper looks: at one rate of L, with hints, and one thing at a time."""

from dataclasses import replace

from cint.figures import switched
from cint.figures.checks import Check, Deviation, at_least, at_most
from cint.figures.columns import CPU, IOPS, IRQS, IRQS_PER_IO, MEAN, MERGED, P99, Column
from cint.figures.controls import Control, instead, mistaken
from cint.figures.figure import CPU_SCALE, Figure, Group, Panel, Run, Series
from cint.figures.polled import REAL_TIME
from cint.figures.switched import OFF, PAID, PRIO, latency, of_l, of_t, pinned, throughput
from cint.figures.values import Cell, Expr, said, value
from cint.guest import agent, steering
from cint.measure.workloads import Workload

# ---- what they gain L and leave T, with L at one rate in all modes -------

#: Reads of L a second, which it comes to in mode off, too, on either medium.
RATES = {7: 12_000, 20: 5_000}
#: So long that L has 10,000 reads at that rate, and some to spare; in each seed, since they come
#: out alike.
FULL_S = {7: 0.9, 20: 2.1}
SLOW, DEEPER = "20 us/", "20 us, 64 slots/"
#: What wakes fio for its next read comes 50 us late by default, for which fio spins instead.
EXACT_SLEEPS = (agent.exec_argv("echo 1 > /proc/$PPID/timerslack_ns"),)
SLICED = "thread=0\nexec_prerun={sliced_pre}\n"
#: Why eight slots are too few for a medium that is slow.
IN_THE_CONTROLLER = Deviation(1.3001, 1.6, (
    "one read of L in fifty finds all 8 slots taken by T's commands and waits in the controller "
    "until one of them is done; with 64 slots none does"))
#: Why T loses where bytes cost nothing.
CHEAP_READS = Deviation(0.85, 0.9499, (
    "a read of T takes 3 us of the CPU in all, and its part of waking the thread, of changing to "
    "it and back, and of sending four at a time is a tenth of that"))
HUGE_T = throughput(more=switched.HUGE)
FAIR = pinned("fair", "the same without a rate, and L is a process of the fair scheduler with a "
              "slice of 0.1 ms", latency(more=SLICED), HUGE_T)
DEEP = pinned("T at 16", "T alone, reads of 64 KiB at depth 16, one by one",
              f"[throughput]\nioengine=libaio\niodepth=16\nbs=64k\n{switched.HUGE}")


def held(us: int) -> Workload:
    """L with a rate, and T beside it."""
    rate = round(RATES[us] / CPU_SCALE)
    return pinned("held", "L at a rate and T, in huge pages, on the same CPU",
                  latency(more=f"{REAL_TIME}rate_iops={rate}\n"), HUGE_T)


def groups(us: int, prefix: str) -> tuple[Group, ...]:
    """The runs on a medium that takes so long, without and with a cost of bytes."""
    cells = (switched.ALONE, held(us), FAIR, DEEP)
    return tuple(replace(group, media=switched.MEDIA.replace("7us", f"{us}us"),
                         prefix=prefix + group.prefix, setup=EXACT_SLEEPS,
                         append=(*group.append, switched.HUGE_PAGES))
                 for group in switched.groups((OFF, PRIO), cells, vcpus=1,
                                              full_s=dict.fromkeys(switched.FULL_S, FULL_S[us])))


def deeper() -> Group:
    """Mode prio on the medium of 20 us, which takes as many commands as there are."""
    paid = groups(20, DEEPER)[1]
    return replace(paid, media=paid.media.replace("units=8,slots=8", "units=64,slots=64"),
                   runs=switched.runs(PRIO), workloads=(switched.ALONE, held(20)))


def late(run: str) -> Expr:
    """L's p99 beside T as a ratio to what it is alone."""
    return of_l("held")("p99_us", run) / of_l("alone")("p99_us", run)


def of_medium(prefix: str, title: str, deviation: Deviation | None = None) -> tuple[Check, ...]:
    """The expectations where bytes cost time."""
    off, prio = prefix + PAID + OFF, prefix + PAID + PRIO
    return (
        at_most(f"{title}, prio: p99 of L, held against alone",
                late(prio), 1.3, instead(prio, off), deviation=deviation),
        at_least(f"{title}: p99 of L, off against prio", of_l("held").ratio("p99_us", off, prio),
                 10),
        at_least(f"{title}: T beside L, prio against off", of_t("held").ratio("iops", prio, off),
                 0.95, instead("held.throughput", "fair.throughput")),
        at_least(f"{title}, fair scheduler: p99 of L, off against prio",
                 of_l("fair").ratio("p99_us", off, prio), 1),
    )


HELD = Figure(
    "blk-held", "blk-switch", "L at one rate in all modes", "of no paper: the same work for L",
    "With queues by class L is hardly later than alone, whatever T does, and T does as much as "
    "beside an L that waits for it.",
    groups=(*groups(7, ""), groups(20, SLOW)[1], deeper()),
    checks=(
        *of_medium("", "7 us, per byte"), *of_medium(SLOW, "20 us, per byte", IN_THE_CONTROLLER),
        at_most("20 us, 64 slots, per byte, prio: p99 of L, held against alone",
                late(DEEPER + PAID + PRIO), 1.3,
                instead(DEEPER + PAID + PRIO, SLOW + PAID + OFF)),
        at_most("7 us, as it is, prio: p99 of L, held against alone",
                late(PRIO), 1.3, instead(PRIO, OFF)),
        at_least("7 us, as it is: T beside L, prio against off",
                 of_t("held").ratio("iops", PRIO, OFF), 0.95, instead(PRIO, PAID + PRIO),
                 deviation=CHEAP_READS),
        at_most("T at depth 16, nobody beside it: CPU time of a read, prio against off",
                value("cpu_per_io_us", PRIO, "T at 16") / value("cpu_per_io_us", OFF, "T at 16"),
                1.05, instead(PRIO, PAID + PRIO)),
    ),
    panels=switched.bars((OFF, PRIO), ("held", "fair")),
    columns=switched.COLUMNS,
    notes=(switched.NETWORK, switched.JOBS,
           "T loses nothing to an L that does more reads because it waits less: L reads "
           f"{RATES[7]:,} times a second on the medium of 7 us, {RATES[20]:,} times on that of "
           "20 us, in both modes. One CPU.", switched.SCHEDULED),
)

# ---- hints and queues by class: either without the other, and both together ----

DEPTH = 4 * switched.DEPTH
#: Row of the matrix: the policy, and whether the guest gives hints.
ROWS = {"default": ("default", True), "adaptive": ("adaptive", True),
        "cint+ooo": ("cint+ooo", True), "cint+ooo, no hints": ("cint+ooo", False),
        "split": ("split:l=cint,t=adaptive", True),
        "split, no hints": ("split:l=cint,t=adaptive", False)}
WORKLOAD = pinned("both", f"L and T (reads of 4 KiB at depth {DEPTH}, in batches of "
                  f"{switched.BATCH}) on CPU 0", latency(), throughput(bs="4k", depth=DEPTH))


def name(row: str, mode: str) -> str:
    """A run's name."""
    return f"{row}, {mode}"


def modes(row: str) -> tuple[str, ...]:
    """Two policies take queues by class."""
    return (PRIO,) if row.startswith("split") else (OFF, PRIO)


MATRIX_RUNS = tuple(Run(policy, name(row, mode), hints, steering=mode)
                    for row, (policy, hints) in ROWS.items() for mode in modes(row))
PLAIN, BEST = name("default", OFF), name("split", PRIO)

L, T, BOTH = of_l("both"), of_t("both"), Cell("both")


def panel(title: str, y: str, of: Cell, what: str) -> Panel:
    """A group of bars for each row, a bar for each mode."""
    return Panel(title, y, tuple(
        Series(mode, [(row, of(what, name(row, mode))) for row in ROWS if mode in modes(row)])
        for mode in (OFF, PRIO)))


MATRIX = Figure(
    "blk-matrix", "blk-switch", "Hints and queues by class", "of neither paper: both at once",
    "Hints have the device interrupt at once for what somebody waits for, and seldom for the rest. "
    "Queues by class keep the rest out of the way. With both L waits least, and T is interrupted "
    "for least.",
    groups=(Group(MATRIX_RUNS, (WORKLOAD,), switched.MEDIA, runtime_s=switched.RUNTIME_S,
                  full_s=0.3, vcpus=2),),
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

# ---- what they cost who does one thing at a time -------------------------

NONE, MODE_OFF = "without", "mode off"
COST_RUNS = (NONE, MODE_OFF, PRIO)
COST_CELLS = ("T read", "T fsync", "L read", "L fsync")
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


def otherwise(run: str, cell: str) -> Control:
    """An fsync in place of a read, or a read in place of the fsync that it is compared with."""
    who, what = cell.split()
    if what == "read":
        return mistaken(value("iops", run, cell), value("iops", run, f"{who} fsync"))
    return mistaken(value("iops", NONE, cell), value("iops", NONE, f"{who} read"))


COST = Figure(
    "blk-cost", "blk-switch", "What queues by class cost", "of no paper: one thing at a time",
    "Nothing takes longer, in mode off or in mode prio, whoever does it: what T waits for is ended "
    "by a thread only where L is there.",
    groups=(Group((Run("default", NONE), Run("default", PRIO, steering=PRIO)), WORKLOADS),
            Group((Run("default", MODE_OFF, steering=PRIO),), WORKLOADS, setup=(
                agent.exec_argv(f"echo off > {steering.QUEUE}/switch_mode"),))),
    checks=(
        *(at_most(f"{cell}: {run} against {NONE}", against(run, cell), 1.03, otherwise(run, cell))
          for run in (MODE_OFF, PRIO) for cell in COST_CELLS),
    ),
    panels=(Panel("from one to the next", "us", tuple(
        Series(run, [(cell, each(run, cell)) for cell in COST_CELLS]) for run in COST_RUNS)),
        Panel("CPU time of each", "us", tuple(
            Series(run, [(cell, value("cpu_per_io_us", run, cell)) for cell in COST_CELLS])
            for run in COST_RUNS))),
    columns=(Column("k/s", "iops", 1e-3), MEAN, Column("CPU, us each", "cpu_per_io_us"),
             IRQS_PER_IO),
    notes=("One CPU; an fsync is a flush behind each write. The latency is fio's of the write "
           "alone; what an I/O with its flush takes is the time from one to the next.",
           said("A lone read of T takes {:.1f} us in place of {:.1f}, and {:.1f} us of the CPU in "
                "place of {:.1f}. An fsync takes {:.1f} us of the CPU in mode off, {:.1f} without "
                "nvme.blk_switch.", each(PRIO, "T read"), each(NONE, "T read"),
                value("cpu_per_io_us", PRIO, "T read"), value("cpu_per_io_us", NONE, "T read"),
                value("cpu_per_io_us", MODE_OFF, "T fsync"),
                value("cpu_per_io_us", NONE, "T fsync")),
           "'without' is a guest without nvme.blk_switch, 'mode off' one with it whose mode was "
           "set to off.", switched.SAME_DEVICE),
)
