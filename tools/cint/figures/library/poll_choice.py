# SPDX-License-Identifier: GPL-2.0-or-later
"""Interrupts, coalescing or polling: by the medium, by the number of readers, beside other work."""

import math

from cint.figures import polled
from cint.figures.checks import at_least, at_most, instead
from cint.figures.model import CPU_SCALE, Figure, Group, Panel, Run, Series
from cint.figures.polled import CLASSIC, IRQ, OURS
from cint.figures.values import Cell, value

#: us that a read takes in the medium.
MEDIA_US = (3, 7, 20, 80, 300)
WAYS = (IRQ, CLASSIC, OURS)
THREADS = (1, 2, 4, 8)
CINT, ADAPTIVE, ORACLE = "cint", "adaptive", "oracle"
#: From a timer's expiry to the first poll.
WAKE_US = 1.1
ALL = (IRQ, ADAPTIVE, CINT, CLASSIC, OURS)


def readers(threads: int) -> str:
    return f"{threads} readers" if threads > 1 else "alone"


JOBS = (
    polled.alone("4k"),
    *(polled.job(readers(n), f"{n} threads that read 4k and wait (pvsync2, hipri)",
                 polled.section("small", "4k", f"numjobs={n}\ngroup_reporting\n"))
      for n in THREADS[1:]),
    polled.job("beside", "a thread that reads 4k and waits (pvsync2, hipri) beside a CPU-bound "
               "process", polled.section("small", "4k"), polled.SPINS, latency="small"),
)


def at(us: int) -> Cell:
    return Cell("alone", f"{us} us/")


def of(threads: int) -> Cell:
    return Cell(readers(threads))


def oracle(us: int) -> Run:
    """Sleeps for as long as the medium takes, less a wake-up; known beforehand.

    A sleep is of whole us of the guest's. It is rounded down: who knows when a read is complete is
    not late for it.
    """
    guest_us = math.floor((us - WAKE_US) * CPU_SCALE)
    return Run("default", ORACLE, polling=f"fixed:{guest_us / CPU_SCALE:.6g}us")


def runtime_s(us: int) -> float:
    """For about 500 reads at least."""
    return max(0.03, us * 5e-4)


#: The first reads of a medium are not slept for. Of one that is slow a job has so few that these
#: would be a large part of its CPU time: there they are done before the jobs.
WARM_US = 80


def medium(us: int) -> Group:
    """The ways that it can be waited for."""
    return Group((*polled.runs(*WAYS), oracle(us)), (polled.alone("4k"),),
                 f"custom:read-latency={us}us,write-latency={us}us", f"{us} us/",
                 runtime_s=runtime_s(us), setup=polled.warm("4k") if us >= WARM_US else ())


FIGURE = Figure(
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
        Panel("beside a CPU-bound process", "what is left for it, k operations/s", (
            Series("here", [(way, value("iops", way, "beside.spin") / 1000) for way in ALL]),)),
    ),
    columns=polled.COLUMNS,
    notes=(polled.ONE_CPU, polled.SCHEDULER,
           "The oracle sleeps for the medium's time less a wake-up, in whole us of the guest's, "
           "rounded down.",
           f"Media of {WARM_US} us and more are read from for {polled.WARM_MS} ms of the guest's "
           "before the jobs: until something is known of a medium it is polled for all the time."),
)
