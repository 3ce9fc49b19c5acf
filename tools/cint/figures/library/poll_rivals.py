# SPDX-License-Identifier: GPL-2.0-or-later
"""How long to sleep before polling: ours beside those of the literature."""

from cint.figures import polled
from cint.figures.checks import at_least, at_most
from cint.figures.controls import instead
from cint.figures.model import Figure, Group, Panel, Series
from cint.figures.polled import BY_SIZE, CLASSIC, EHP, IRQ, LEAST, OURS, PAS
from cint.figures.values import Cell

#: us that a read takes in the medium.
MEDIA_US = (7, 20, 80)
WAYS = (IRQ, CLASSIC, BY_SIZE, LEAST, EHP, PAS, OURS)
#: Those that sleep, and are not ours.
RIVALS = (BY_SIZE, LEAST, EHP, PAS)
ALONE, FOUR, HOG, BEHIND = "alone", "4 readers", "beside", "behind 64k"
ONE_UNIT = "one unit"
JOBS = (
    polled.alone("4k", ALONE),
    polled.job(FOUR, "4 threads that read 4k and wait (pvsync2, hipri)",
               polled.section("small", "4k", "numjobs=4\ngroup_reporting\n")),
    polled.job(HOG, "a thread that reads 4k and waits (pvsync2, hipri) beside a CPU-bound process",
               polled.section("small", "4k"), polled.SPINS, latency="small"),
)
#: The large reads come now and then, so that a small one is behind one of them or is not.
NOW_AND_THEN = polled.beside("4k", "64k", BEHIND, "thinktime=100us\n")


def prefix(us: int) -> str:
    return f"{us} us/"


def medium(us: int) -> Group:
    """About 500 reads at least, and before them 250 ms of the guest's to learn from."""
    return Group(polled.runs(*WAYS), JOBS, f"custom:read-latency={us}us,write-latency={us}us",
                 prefix(us), runtime_s=max(0.05, us * 5e-4), setup=polled.warm("4k"))


def at(us: int, job: str = ALONE) -> Cell:
    return Cell(job, prefix(us))


def behind() -> Cell:
    return Cell(BEHIND, f"{ONE_UNIT}/")


RIVALRY = Figure(
    "poll-rivals", "polling", "How long to sleep before polling",
    "not a figure of a paper; half the mean is Linux 4.12 to 6.3, half the least io_uring since "
    "6.13, EHP of JSA 2022, PAS of FAST 2026",
    "A sleep before polling saves most of the CPU's time at next to none of the latency, if it is "
    "as long as the device takes less a wake-up, on each medium and beside others.",
    groups=(
        *map(medium, MEDIA_US),
        Group(polled.runs(*WAYS), (NOW_AND_THEN,),
              "custom:read-latency=10us,write-latency=10us,read-per-kib=500ns,units=1",
              f"{ONE_UNIT}/", runtime_s=0.1, setup=polled.warm("4k", "64k")),
    ),
    checks=(
        *(at_most(f"medium of {us} us, {OURS}: latency against classic",
                  at(us).ratio("mean_us", OURS, CLASSIC), 1.10,
                  instead(prefix(us) + OURS, prefix(us) + IRQ)) for us in MEDIA_US[:1]),
        *(at_most(f"medium of {us} us, {OURS}: CPU time of a read against {way}",
                  at(us).ratio("cpu_per_io_us", OURS, way), 1.0,
                  instead(prefix(us) + OURS, prefix(us) + CLASSIC))
          for us in MEDIA_US for way in RIVALS),
        *(at_most(f"medium of {us} us, {OURS}: latency against {way}",
                  at(us).ratio("mean_us", OURS, way), 1.02,
                  instead(prefix(us) + OURS, prefix(us) + IRQ))
          for us in MEDIA_US for way in (EHP, PAS)),
        *(at_least(f"medium of {us} us, beside a CPU-bound process: reads, {OURS} against {way}",
                   at(us, HOG).ratio("iops", OURS, way), 1.0)
          for us in MEDIA_US for way in (EHP, PAS)),
        at_most(f"{BEHIND}, {OURS}: CPU against classic",
                behind().ratio("cpu_percent", OURS, CLASSIC), 0.60),
    ),
    panels=tuple(
        Panel(f"{title}: {what}", unit, tuple(
            Series(way, [(us, at(us, job)(name, way)) for us in MEDIA_US]) for way in WAYS),
            kind="lines", x="medium, us", log_x=True)
        for job, title in ((ALONE, "a lone reader"), (FOUR, FOUR), (HOG, "beside a process"))
        for what, unit, name in (("latency", "us", "mean_us"),
                                 ("CPU time of a read", "us", "cpu_per_io_us"))),
    columns=polled.COLUMNS,
    notes=(polled.ONE_CPU, polled.SCHEDULER),
)
