# SPDX-License-Identifier: GPL-2.0-or-later
"""How long to sleep before polling: ours beside those of the literature."""

from cint.figures import polled
from cint.figures.checks import Check, at_least, at_most
from cint.figures.controls import Control, instead
from cint.figures.figure import Figure, Group, Panel, Series
from cint.figures.polled import BY_SIZE, CLASSIC, EHP, IRQ, LEAST, OURS, PAS
from cint.figures.values import Cell

#: us that a read takes in the medium.
MEDIA_US = (7, 20, 80)
WAYS = (IRQ, CLASSIC, BY_SIZE, LEAST, EHP, PAS, OURS)
#: Where seeds beside a process that computes lie furthest apart.
RUNTIME_S = {20: 0.15}
#: By how much ours may be slower than classic polling: the aim is 1.10, which interrupts keep, too,
#: where the medium takes longer.
SLOWER = {7: 1.10, 20: 1.02, 80: 1.005}
BEHIND, ONE_UNIT = "behind 64k", "one unit"
JOBS = (polled.alone("4k"), polled.readers(4), polled.beside_process())
ALONE, FOUR, HOG = (job.name for job in JOBS)
RING = "a ring"
#: The large reads come now and then, so that a small one is behind one of them or is not.
NOW_AND_THEN = polled.beside("4k", "64k", BEHIND, "thinktime=100us\n")
OF_BEHIND = Cell(BEHIND, f"{ONE_UNIT}/")


def prefix(us: int) -> str:
    return f"{us} us/"


def medium(us: int) -> Group:
    """About 500 reads at least, and before them 250 ms of the guest's to learn from."""
    return Group(polled.runs(*WAYS), JOBS, f"custom:read-latency={us}us,write-latency={us}us",
                 prefix(us), runtime_s=RUNTIME_S.get(us, 0.05), setup=polled.warm("4k"))


def of_ring(us: int) -> Cell:
    """A lone reader that is a ring which polls."""
    return Cell(RING, f"{us} us, a ring/")


def ring(us: int) -> Group:
    """All the time, or after 6.13's sleep."""
    return Group(polled.runs(CLASSIC, LEAST), (polled.ring(RING, 1, "hipri=1\n"),),
                 f"custom:read-latency={us}us,write-latency={us}us", of_ring(us).prefix,
                 runtime_s=0.05)


def against_ring(us: int, what: str, name: str, most: float, control: Control) -> Check:
    """Ours, of a thread that waits for its own read, against the ring that sleeps: each as a ratio
    to the same job that polls all the time, since fio's latency of a ring begins later.
    """
    return at_most(f"{us} us, a lone reader: {what} against a ring's with 6.13's sleep, each to "
                   "classic", at(us).ratio(name, OURS, CLASSIC) /
                   of_ring(us).ratio(name, LEAST, CLASSIC), most, control)


def run(us: int, way: str) -> str:
    return prefix(us) + way


def ours(us: int) -> str:
    return run(us, OURS)


def at(us: int, job: str = ALONE) -> Cell:
    return Cell(job, prefix(us))


RIVALRY = Figure(
    "poll-rivals", "polling", "How long to sleep before polling",
    "not a figure of a paper; half the mean is Linux 4.12 to 6.3, half the least io_uring since "
    "6.13, EHP of JSA 2022, PAS of FAST 2026",
    "A sleep for as long as the device takes, less a wake-up, saves most of the CPU's time of "
    "polling at next to none of the latency: for a lone reader, for several, beside a process and "
    "behind larger reads.",
    groups=(
        *map(medium, MEDIA_US),
        *map(ring, MEDIA_US),
        Group(polled.runs(*WAYS), (NOW_AND_THEN,),
              "custom:read-latency=10us,write-latency=10us,read-per-kib=500ns,units=1",
              f"{ONE_UNIT}/", runtime_s=0.1, setup=polled.warm("4k", "64k")),
    ),
    checks=(
        *(at_most(f"{us} us, a lone reader: latency against classic",
                  at(us).ratio("mean_us", OURS, CLASSIC), most, instead(ours(us), run(us, IRQ)))
          for us, most in SLOWER.items()),
        *(at_most(f"{us} us, a lone reader: CPU time of a read against {way}",
                  at(us).ratio("cpu_per_io_us", OURS, way), most,
                  instead(ours(us), run(us, CLASSIC)))
          for us in MEDIA_US for way, most in ((CLASSIC, 0.60), (EHP, 1.05), (PAS, 1.05))),
        *(at_least(f"{us} us, 4 readers: reads against {way}",
                   at(us, FOUR).ratio("iops", OURS, way), least,
                   instead(ours(us), run(us, CLASSIC)))
          for us in MEDIA_US for way, least in ((IRQ, 0.98), (EHP, 0.95), (PAS, 0.95))),
        *(at_most(f"{us} us, 4 readers: CPU time of a read against {way}",
                  at(us, FOUR).ratio("cpu_per_io_us", OURS, way), 1.10,
                  instead(ours(us), run(us, CLASSIC))) for us in MEDIA_US for way in (EHP, PAS)),
        *(at_least(f"{us} us, beside a CPU-bound process: reads against {way}",
                   at(us, f"{HOG}.small").ratio("iops", OURS, way), least,
                   instead(ours(us), run(us, CLASSIC)))
          for us in MEDIA_US for way, least in ((IRQ, 0.98), (EHP, 0.95), (PAS, 0.93))),
        *(at_least(f"{us} us, beside a CPU-bound process: what is left for that, against classic",
                   at(us, f"{HOG}.spin").ratio("iops", OURS, CLASSIC), 1.05,
                   instead(ours(us), run(us, CLASSIC))) for us in MEDIA_US),
        *(check for us in MEDIA_US for check in (
            against_ring(us, "latency", "mean_us", SLOWER[us],
                         instead(ours(us), run(us, IRQ))),
            against_ring(us, "CPU time of a read", "cpu_per_io_us", 0.95,
                         instead(ours(us), run(us, CLASSIC))))),
        at_most("64 KiB now and then: latency of 4 KiB against interrupts",
                OF_BEHIND.ratio("mean_us", OURS, IRQ), 1.0),
        *(at_most(f"64 KiB now and then: CPU against {way}",
                  OF_BEHIND.ratio("cpu_percent", OURS, way), most,
                  instead(f"{ONE_UNIT}/{OURS}", f"{ONE_UNIT}/{CLASSIC}"))
          for way, most in ((CLASSIC, 0.60), (PAS, 0.70))),
    ),
    panels=tuple(
        Panel(f"{title}: {what}", unit, tuple(
            Series(way, [(us, at(us, job)(name, way)) for us in MEDIA_US]) for way in WAYS),
            kind="lines", x="medium, us", log_x=True)
        for job, title in ((ALONE, "a lone reader"), (FOUR, FOUR), (HOG, "beside a process"))
        for what, unit, name in (("latency", "us", "mean_us"),
                                 ("CPU time of a read", "us", "cpu_per_io_us"))),
    columns=polled.COLUMNS,
    notes=(polled.ONE_CPU, polled.SCHEDULER, polled.RINGS_SLEEP,
           "EHP and PAS are their rules for the sleep alone, in our kernel; EHP's constants of a "
           "machine are the fastest wake-up that was seen and a half of it.",
           f"'{BEHIND}' is a thread that reads 4 KiB beside one that reads 64 KiB every 100 us or "
           "so, on a medium that serves one read after another in 10 us and 0.5 us for a KiB."),
)
