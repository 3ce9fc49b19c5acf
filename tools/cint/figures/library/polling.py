# SPDX-License-Identifier: GPL-2.0-or-later
"""Interrupts, coalescing or polling."""

import math

from cint.figures import polled
from cint.figures.checks import at_least, at_most, within
from cint.figures.columns import CPU, IOPS, IRQS, MEAN, P99, Column
from cint.figures.controls import instead
from cint.figures.figure import CPU_SCALE, Figure, Group, Panel, Run, Series, here
from cint.figures.polled import CLASSIC, IRQ, LEAST, OURS, SHARED
from cint.figures.values import Cell, Expr, value
from cint.measure.workloads import Workload

# ---- by the medium, by the number of readers, beside other work ----------

#: us that a read takes in the medium.
MEDIA_US = (3, 7, 20, 80, 300)
WAYS = (IRQ, CLASSIC, OURS)
THREADS = (1, 2, 4, 8)
CINT, ADAPTIVE, ORACLE = "cint", "adaptive", "oracle"
#: From a timer's expiry to the first poll.
WAKE_US = 1.1
ALL = (IRQ, ADAPTIVE, CINT, CLASSIC, OURS)


READERS = {1: polled.alone("4k"), **{n: polled.readers(n) for n in THREADS[1:]}}
JOBS = (*READERS.values(), polled.beside_process())


def at(us: int) -> Cell:
    return Cell("alone", f"{us} us/")


def of(threads: int) -> Cell:
    return Cell(READERS[threads].name)


def oracle(us: int) -> Run:
    """Sleeps for as long as the medium takes, less a wake-up; known beforehand.

    A sleep is of whole us of the guest's. It is rounded down: who knows when a read is complete is
    not late for it.
    """
    guest_us = math.floor((us - WAKE_US) * CPU_SCALE)
    return Run("default", ORACLE, polling=f"fixed:{guest_us / CPU_SCALE:.6g}us")


def runtime_s(us: int) -> float:
    """Seconds for about 500 reads at least."""
    return max(0.03, us * 5e-4)


#: The first reads of a medium are not slept for. Of one that is slow a job has so few that these
#: would be a large part of its CPU time: there they are done before the jobs.
WARM_US = 80


def medium(us: int) -> Group:
    """The ways that it can be waited for."""
    return Group((*polled.runs(*WAYS), oracle(us)), (polled.alone("4k"),),
                 f"custom:read-latency={us}us,write-latency={us}us", f"{us} us/",
                 runtime_s=runtime_s(us), setup=polled.warm("4k") if us >= WARM_US else ())


CHOICE = Figure(
    "poll-choice", "polling", "Which for which load",
    "not a figure of a paper; the question of Le Moal's slides and of cinterrupts, section 2",
    "Polling pays for a lone reader of a fast medium. What it wins is the same for every medium; "
    "what it costs is all of the medium's time, or little of it with a sleep.",
    groups=(
        *map(medium, MEDIA_US),
        Group((*polled.runs(IRQ), Run("adaptive", ADAPTIVE), Run("cint+ooo", CINT),
               *polled.runs(CLASSIC, OURS)), JOBS, runtime_s=0.03),
    ),
    checks=(
        *(at_most(f"medium of {us} us: latency polled against interrupts",
                  at(us).ratio("mean_us", CLASSIC, IRQ), 0.9999) for us in MEDIA_US),
        *(at_most(f"medium of {us} us: latency, ours against classic",
                  at(us).ratio("mean_us", OURS, CLASSIC), 1.10,
                  instead(f"{us} us/{CLASSIC}", f"{MEDIA_US[0]} us/{CLASSIC}"))
          for us in MEDIA_US[1:]),
        *(at_most(f"medium of {us} us: CPU, ours against classic",
                  at(us).ratio("cpu_percent", OURS, CLASSIC), 0.60,
                  instead(f"{us} us/{OURS}", f"{us} us/{CLASSIC}")) for us in MEDIA_US[1:]),
        *(at_most(f"medium of {us} us: CPU, ours against the oracle's",
                  at(us).ratio("cpu_percent", OURS, ORACLE), 1.15,
                  instead(f"{us} us/{OURS}", f"{us} us/{CLASSIC}")) for us in MEDIA_US),
        *(at_most(f"medium of {us} us: latency, the oracle against classic",
                  at(us).ratio("mean_us", ORACLE, CLASSIC), 1.03,
                  instead(f"{us} us/{ORACLE}", f"{us} us/{IRQ}")) for us in MEDIA_US[:3]),
        at_least("eight readers: IOPS with interrupts against classic",
                 of(8).ratio("iops", IRQ, CLASSIC), 0.9),
    ),
    panels=(
        Panel("a lone reader", "us saved against an interrupt", (
            Series("classic", [(us, at(us)("mean_us", IRQ) - at(us)("mean_us", CLASSIC))
                               for us in MEDIA_US]),
            Series("ours", [(us, at(us)("mean_us", IRQ) - at(us)("mean_us", OURS))
                            for us in MEDIA_US])), kind="lines", x="medium, us", log_x=True),
        Panel("a lone reader", "CPU, %", tuple(
            Series(way, [(us, at(us)("cpu_percent", way)) for us in MEDIA_US])
            for way in (*WAYS, ORACLE)),
            kind="lines", x="medium, us", log_x=True),
        Panel("several readers on one CPU", "IOPS", tuple(
            Series(way, [(n, of(n)("iops", way)) for n in THREADS]) for way in ALL),
            kind="lines", x="threads", log_x=True),
        Panel("several readers on one CPU", "mean latency, us", tuple(
            Series(way, [(n, of(n)("mean_us", way)) for n in THREADS]) for way in ALL),
            kind="lines", x="threads", log_x=True),
        here("beside a CPU-bound process", "what is left for it, k operations/s",
             [(way, value("iops", way, "beside.spin") / 1000) for way in ALL]),
    ),
    columns=polled.COLUMNS,
    notes=(polled.ONE_CPU, polled.SCHEDULER,
           "The oracle sleeps for the medium's time less a wake-up, in whole us of the guest's, "
           "rounded down.",
           f"Media of {WARM_US} us and more are read from for {polled.WARM_MS} ms of the guest's "
           "before the jobs: until something is known of a medium it is polled for all the time."),
)

# ---- by how many reads one thread has in flight --------------------------

DEPTHS = (1, 2, 4, 8, 16, 32)
CINT, ADAPTIVE = "cint", "adaptive"
RING_WAYS = (IRQ, ADAPTIVE, CINT, CLASSIC, LEAST)


def rings(more: str = "") -> list[Workload]:
    """A ring that polls takes no device without queues for that, so that it is another job."""
    return [polled.ring(at_depth(n).name, n, more) for n in DEPTHS]


def at_depth(depth: int) -> Cell:
    return Cell(f"depth {depth}")


DEPTH = Figure(
    "poll-depth", "polling", "Which for which depth",
    "not a figure of a paper; the question of Le Moal's slides and of cinterrupts, section 2",
    "A thread that has several reads in flight finds several with one look, as a coalesced "
    "interrupt brings several. From four on a read costs less of the CPU than with either, but "
    "nothing of the CPU is left for others.",
    groups=(
        Group((Run("default", IRQ), Run("adaptive", ADAPTIVE), Run("cint+ooo", CINT)), rings(),
              runtime_s=0.03),
        Group(polled.runs(CLASSIC, LEAST), rings("hipri=1\n"), runtime_s=0.03),
    ),
    checks=(
        *(at_most(f"depth {depth}: latency polled against interrupts",
                  at_depth(depth).ratio("mean_us", CLASSIC, IRQ), 0.9999) for depth in DEPTHS),
        *(at_least(f"depth {depth}: IOPS polled against coalesced",
                   at_depth(depth).ratio("iops", CLASSIC, ADAPTIVE), 1.0001) for depth in DEPTHS),
        *(at_least(f"depth {depth}: CPU time of a read, polled against coalesced",
                   at_depth(depth).ratio("cpu_per_io_us", CLASSIC, ADAPTIVE), 1.0001)
          for depth in DEPTHS[:2]),
        *(at_most(f"depth {depth}: CPU time of a read, polled against coalesced",
                  at_depth(depth).ratio("cpu_per_io_us", CLASSIC, ADAPTIVE), 0.9999)
          for depth in DEPTHS[2:]),
        at_most("depth 1: CPU time of a read, with 6.13's sleep against without",
                at_depth(1).ratio("cpu_per_io_us", LEAST, CLASSIC), 0.95),
        at_most("depth 1: latency, with 6.13's sleep against without",
                at_depth(1).ratio("mean_us", LEAST, CLASSIC), 1.05, instead(LEAST, IRQ)),
    ),
    panels=tuple(
        Panel(title, y, tuple(
            Series(way, [(n, at_depth(n)(name, way) / unit) for n in DEPTHS])
            for way in RING_WAYS), kind="lines", x="reads in flight", log_x=True)
        for title, y, name, unit in (
            ("IOPS", "k/s", "iops", 1000), ("mean latency", "us", "mean_us", 1),
            ("CPU", "%", "cpu_percent", 1), ("CPU time of a read", "us", "cpu_per_io_us", 1))),
    columns=(IOPS, MEAN, P99, IRQS, CPU, Column("CPU time of a read, us", "cpu_per_io_us")),
    notes=(polled.ONE_CPU, polled.SCHEDULER, polled.RINGS_SLEEP),
)

# ---- on one of several virtual CPUs: what the others' turns and PAUSE change ----

POLLING = (IRQ, CLASSIC, OURS)
CPUS = (1, 2, 4)
#: All CPUs' turns, in reported time (docs/scaling.md).
ROUND_US = 0.37


def on(cpus: int) -> Cell:
    return Cell("alone", f"{cpus} CPUs/")


def more(name: str, run: str, cpus: int) -> Expr:
    return on(cpus)(name, run) - on(1)(name, run)


SEVERAL_CPUS = Figure(
    "poll-cpus", "polling", "Polling on one of several CPUs",
    "not a figure of a paper; what holds of a virtual machine whose CPUs take turns",
    "A thread that polls has the latency that it has on a machine with one CPU. PAUSE, which ends "
    "each poll, costs a part of a turn and no more.",
    groups=tuple(Group(polled.runs(*POLLING), (polled.alone("4k"),), prefix=f"{cpus} CPUs/",
                       vcpus=cpus) for cpus in CPUS),
    checks=(
        *(within(f"{cpus} CPUs, {run}: latency against one CPU",
                 on(cpus)("mean_us", run) / on(1)("mean_us", run), 0.97, 1.03,
                 instead(f"{cpus} CPUs/{run}", f"{cpus} CPUs/{CLASSIC if run == IRQ else IRQ}"),
                 paper=1.0) for run in POLLING for cpus in CPUS[1:]),
        *(at_most(f"{cpus} CPUs, classic: unseen for longer than on one CPU",
                  more("head_us", CLASSIC, cpus), ROUND_US,
                  instead(f"{cpus} CPUs/{CLASSIC}", f"{cpus} CPUs/{IRQ}"), unit="us")
          for cpus in CPUS[1:]),
    ),
    panels=(
        Panel("mean latency", "us", tuple(
            Series(run, [(n, on(n)("mean_us", run)) for n in CPUS]) for run in POLLING),
            kind="lines", x="CPUs", log_x=True),
        Panel("from post to head", "us", tuple(
            Series(run, [(n, on(n)("head_us", run)) for n in CPUS]) for run in POLLING),
            kind="lines", x="CPUs", log_x=True)),
    columns=polled.COLUMNS,
    notes=(polled.SCHEDULER,
           "'unseen' is the device's: from the post of a completion to the doorbell by which the "
           "guest says that it has taken it. What it grows by with the CPUs is what turns and "
           "PAUSE cost. With several CPUs the CPU time is by ticks, of all CPUs."),
)

# ---- queues that have interrupts, on a device that can leave the interrupts out ----

#: The reads that are polled for are unmarked, so that the device may defer their interrupts.
TOLD = "as in 2017, cint"
IRQ_CINT = "irq, cint"
RUNS = (*polled.runs(IRQ, SHARED), polled.run(IRQ, "cint", IRQ_CINT),
        polled.run(SHARED, "cint", TOLD), *polled.runs(CLASSIC))
NAMES = [run.title for run in RUNS]
ASYNC = "[async]\nioengine=libaio\niodepth=16\nbs=4k\n"
BESIDE = polled.job("beside", "a thread that reads 4k and waits (pvsync2, hipri) beside one with "
                    "16 reads in flight (libaio)", polled.section("small", "4k"), ASYNC,
                    latency="small")
LONE, BOTH, POLLED = Cell("alone"), Cell("beside"), Cell("beside.small")

AVOIDED = Figure(
    "poll-avoid", "polling", "Polling that tells the device",
    "not a figure of a paper; Le Moal's slides end with 'disable useless interrupts'",
    "Who polls a queue that has interrupts need not have them: a device that coalesces by hints "
    "defers the interrupts of what nobody waits for, finds the completions taken, and sends none.",
    groups=(Group(RUNS, (polled.alone("4k"), BESIDE), runtime_s=0.1),),
    checks=(
        within("default: interrupts of a read",
               LONE("device_irqs", SHARED) / LONE("iops", SHARED), 0.99, 1.01,
               instead(SHARED, TOLD), paper="not disabled"),
        at_least("cint: interrupts avoided, of a read", LONE("avoided_per_io", TOLD), 0.95,
                 instead(TOLD, IRQ_CINT)),
        at_most("cint: interrupts against default", LONE.ratio("device_irqs", TOLD, SHARED), 0.05,
                instead(TOLD, SHARED)),
        at_most("latency, cint against default, both polled", LONE.ratio("mean_us", TOLD, SHARED),
                0.9999),
        at_most("latency, cint's queue polled against a queue without interrupts",
                LONE.ratio("mean_us", TOLD, CLASSIC), 1.02, instead(TOLD, IRQ)),
        within("cint, beside 16 reads in flight: interrupts avoided, of a read that is polled for",
               BOTH("avoided_per_io", TOLD) * BOTH("iops", TOLD) / POLLED("iops", TOLD), 0.95, 1.05,
               instead(TOLD, SHARED)),
    ),
    panels=(
        Panel("mean latency", "us", (
            Series("alone", [(n, LONE("mean_us", n)) for n in NAMES]),
            Series("beside 16 in flight", [(n, BOTH("mean_us", n)) for n in NAMES]))),
        Panel("interrupts", "k/s", (
            Series("alone", [(n, LONE("device_irqs", n) / 1000) for n in NAMES]),
            Series("beside 16 in flight", [(n, BOTH("device_irqs", n) / 1000)
                                           for n in NAMES]))),
        Panel("IOPS beside 16 in flight", "k/s", (
            Series("all", [(n, BOTH("iops", n) / 1000) for n in NAMES]),
            Series("polled", [(n, POLLED("iops", n) / 1000) for n in NAMES]))),
    ),
    columns=(*polled.COLUMNS, polled.AVOIDED),
    notes=(polled.ONE_CPU, polled.SCHEDULER,
           "On a queue that is polled and has interrupts completions are taken in order: "
           "out-of-order completion is off there."),
)
