# SPDX-License-Identifier: GPL-2.0-or-later
"""SPDK with interrupts, Figure 4: CPU time, polled, with interrupts, and with fewer of them."""

from cint.figures import spdk
from cint.figures.checks import (
    Check,
    Control,
    Deviation,
    at_least,
    at_most,
    instead,
    near,
    several,
    swap,
    within,
    wrong,
)
from cint.figures.model import Figure
from cint.figures.spdk import (
    COALESCED,
    LOADS,
    POLL,
    RANDREAD,
    RANDWRITE,
    SEQREAD,
    SEQWRITE,
    SINGLE,
    WAYS,
    Load,
    of,
)
from cint.figures.values import Expr, least, most, said

#: %, read off the paper's plots: by load and way, at the three depths. It is fio's, of the thread.
PAPER: dict[Load, spdk.Paper] = {
    SEQREAD: {SINGLE: (6.2, 4.5, 4.2), COALESCED: (6.2, 4.3, 3.7)},
    SEQWRITE: {SINGLE: (7.2, 7.6, 7.2), COALESCED: (7.2, 5.4, 4.2)},
    RANDREAD: {SINGLE: (72, 69, 71.5), COALESCED: (72, 60, 58)},
    RANDWRITE: {SINGLE: (76.5, 76.5, 77), COALESCED: (76.5, 58, 48)},
}


def cpu(load: Load, way: str, at: int) -> Expr:
    """At the depth of this number."""
    return of(load, "thread_percent", way, load.cells[at])


def traded(load: Load, one: str, two: str) -> Control:
    """Two ways of a load exchanged."""
    return swap(load.run(one), load.run(two))


def crowded(load: Load, way: str, at: int, low: float, high: float) -> Deviation:
    """There is no time to sleep: the interrupt is there before the thread is gone."""
    cell = load.cells[at]
    return Deviation(low, high, said(
        "completions are {:.2f} us apart, and an interrupt takes no time to arrive: of {:.0f} "
        "thousand a second that the thread asks for it leaves the CPU for {:.1f} thousand, the "
        "others come while it is still on its way to sleep",
        1e6 / of(load, "iops", way, cell), of(load, "device_irqs", way, cell) / 1000,
        of(load, "switches_per_s", way, cell) / 1000))


#: Where the CPU time of small I/Os is not near the paper's; polling's 100 % is in none of them.
CROWDED = {
    **{(RANDREAD, SINGLE, at): (93, 98) for at in range(3)},
    **{(RANDWRITE, SINGLE, at): (91.81, 97) for at in range(2)},
    (RANDREAD, COALESCED, 0): (93, 98),
}


def _exchanged(load: Load, way: str, at: int) -> Control:
    """The other way to sleep, or where that is as good, at the smallest depth, polling or the next
    depth.
    """
    if at:
        return instead(load.run(way), load.run(COALESCED if way == SINGLE else SINGLE))
    if way == SINGLE:
        return instead(load.run(SINGLE), load.run(POLL))
    return instead(load.cells[0], load.cells[1])


def small(load: Load, way: str, at: int) -> Check:
    """The CPU time of 4 KiB against the paper's."""
    known = CROWDED.get((load, way, at))
    return near(f"{load.cells[at]}: CPU, {way}", cpu(load, way, at), PAPER[load][way][at], 0.2,
                _exchanged(load, way, at), unit="%",
                deviation=crowded(load, way, at, *known) if known else None)


#: fio cuts usr and sys to whole ms; see reading.thread_time.
CUT = said(
    f"fio cuts usr and sys to whole ms of the guest's: half a ms of each is added, "
    f"{100 / (1000 * spdk.TIMED_S * spdk.CPU_SCALE):.2f} points of a job's time. That decides what "
    "is so near to a bound. Without it random writes of k = 8 would have less than is wanted at "
    "depth 64 (with it {:.1f} %), and those of k = 1 at depth 16 no more than is wanted ({:.1f} "
    "%).", cpu(RANDWRITE, COALESCED, 1), cpu(RANDWRITE, SINGLE, 0))

def whole(load: Load, way: str, at: int) -> Expr:
    """All that the CPU is not idle for."""
    return of(load, "cpu_percent", way, load.cells[at])


RANDOM = (RANDREAD, RANDWRITE)
ALL = said(
    "The handler runs on the thread's CPU here, and on any of four in the paper. By all that this "
    "one CPU is not idle for sequential I/O takes {:.1f} % at most. Of random I/O with k = 1 "
    "{:.1f} % and more is taken, and of what holds by the thread's time three numbers "
    "would not: {:.1f} % with writes of k = 1 at depth 256, {:.1f} % with writes of k = 2 at "
    "depth 16 (the thread has {:.1f}), and {:.1f} % with reads of k = 8 at depth 64.",
    most([whole(load, SINGLE, at) for load in (SEQREAD, SEQWRITE) for at in range(3)]),
    least([whole(load, SINGLE, at) for load in RANDOM for at in range(3)]),
    whole(RANDWRITE, SINGLE, 2), whole(RANDWRITE, COALESCED, 0), cpu(RANDWRITE, COALESCED, 0),
    whole(RANDREAD, COALESCED, 1))

FIGURE = Figure(
    "spdk-fig4", "spdk", "CPU time with interrupts and polled", "section 5.1.3, Figure 4",
    "In the paper who sleeps until an interrupt needs 3 to 8 % of the CPU for sequential I/O that "
    "polling needs all of it for, and some 70 % for random I/O of 4 KiB. Who sleeps until several "
    "are done saves up to 25 points more, the more are in flight. Here who asks for the next "
    "completion of random I/O alone leaves none of the CPU: there is no time to fall asleep.",
    groups=spdk.throughput(),
    checks=(
        *(at_least(f"{load.name}: CPU, polled", cpu(load, POLL, 2), 99, traded(load, POLL, SINGLE),
                   paper=100, unit="%") for load in LOADS),
        *(at_most(f"{cell}: CPU, {SINGLE}", cpu(load, SINGLE, at), 10,
                  traded(load, POLL, SINGLE), paper=PAPER[load][SINGLE][at], unit="%")
          for load in (SEQREAD, SEQWRITE) for at, cell in enumerate(load.cells)),
        *(several(f"random reads and writes: CPU, {way}",
                  [small(load, way, at) for load in RANDOM for at in range(3)])
          for way in (SINGLE, COALESCED)),
        *(at_most(f"{load.name}, largest depth: CPU, {COALESCED} against {SINGLE}",
                  cpu(load, COALESCED, 2) / cpu(load, SINGLE, 2), 0.95,
                  traded(load, SINGLE, COALESCED),
                  paper=round(PAPER[load][COALESCED][2] / PAPER[load][SINGLE][2], 3))
          for load in LOADS),
        *(at_least(f"{load.name} 256: CPU saved by coalescing",
                   cpu(load, SINGLE, 2) - cpu(load, COALESCED, 2), 10,
                   traded(load, SINGLE, COALESCED),
                   paper=PAPER[load][SINGLE][2] - PAPER[load][COALESCED][2], unit="points")
          for load in (RANDREAD, RANDWRITE)),
        *(at_least(f"{cell}: I/Os for each interrupt, coalesced, by what was asked for",
                   of(load, "ios_per_irq", COALESCED, cell) / least, 0.95,
                   wrong(3) if load is RANDREAD and cell == load.cells[0]
                   else instead(load.run(COALESCED), load.run(SINGLE)), paper=1.0)
          for load in LOADS
          for cell, (_, least) in zip(load.cells, load.batches, strict=True) if least > 1),
        *(within(f"{load.name}: interrupts a second, polled",
                 of(load, "device_irqs", POLL, load.largest), 0, 0,
                 instead(load.run(POLL), load.run(SINGLE)))
          for load in LOADS),
    ),
    panels=tuple(spdk.panel(load, "CPU, %", {way: [cpu(load, way, at) for at in range(3)]
                                             for way in WAYS}, PAPER[load]) for load in LOADS),
    columns=spdk.TIMED,
    notes=(spdk.ENGINE, spdk.MODES, spdk.ARM, spdk.TIME, ALL, CUT),
)
