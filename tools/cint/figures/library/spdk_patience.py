# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a sleeper may wait for more: k by how fast completions come, a look beforehand."""

from cint.figures.checks import at_least, at_most, within
from cint.figures.columns import CPU, IOPS, MEAN, MERGED
from cint.figures.controls import Control, instead, mistaken, swap
from cint.figures.figure import CPU_SCALE, Figure, Group, Panel, Run, Series
from cint.figures.library import spdk
from cint.figures.values import Cell
from cint.measure.workloads import Workload

DEPTHS = (8, 16, 32, 64, 256)
SINGLE = spdk.SINGLE
K4, K32 = "coalesced, k = 4", "coalesced, k = 32"
GATHER_US = (3, 10, 30)
#: What a new queue has.
USUAL_US = 10
LOOK_US = (1, 4)
#: Where a command takes about as long as a wake-up.
FAST = "3 us/"
FAST_MEDIA = "custom:read-latency=3us"
LONE = "lone"


def gather(us: int) -> str:
    """The name of a run with so much patience."""
    return f"coalesced, gather {us} us"


def look(us: int) -> str:
    """The name of one that looks for so long before it sleeps."""
    return f"coalesced, look {us} us"


GATHER = gather(USUAL_US)


def guest_ns(us: int) -> int:
    """A time as an option of the engine has it: in the guest's own ns."""
    return round(1000 * us * CPU_SCALE)


def job(depth: int, more: str) -> Workload:
    """4k random reads at a depth, or one by one."""
    name = LONE if depth == 1 else f"randread {depth}"
    return spdk.timed(name, f"4k random reads, {depth} in flight", "randread", "4k",
                      f"iodepth={depth}\niodepth_batch_complete_max={depth}\n{more}")


def group(name: str, depths: tuple[int, ...], more: str = "", prefix: str = "") -> Group:
    """One guest, whose jobs have this patience."""
    return Group((Run("pointer", name, engine="user:coalesced"),),
                 [job(depth, more) for depth in depths], FAST_MEDIA if prefix else spdk.MEDIA,
                 prefix)


def at_least_of(k: int) -> str:
    return f"iodepth_batch_complete_min={k}\n"


def looks(us: int) -> str:
    return f"spin_ns={guest_ns(us)}\n"


def of(depth: int) -> Cell:
    return Cell(LONE if depth == 1 else f"randread {depth}", base=SINGLE)


def lines(title: str, y: str, name: str, factor: float = 1.0) -> Panel:
    """A value over the depth."""
    drawn = {SINGLE: DEPTHS, K4: DEPTHS, K32: (64, 256), GATHER: DEPTHS}
    return Panel(title, y, tuple(Series(run, [(depth, of(depth)(name, run) * factor)
                                              for depth in depths])
                                 for run, depths in drawn.items()),
                 kind="lines", x="I/Os in flight", log_x=True)


def fewer(depth: int, run: str, name: str) -> Control:
    """Fewer in flight in place of a run's depth; at the smallest k = 4, which is large for it."""
    smallest = DEPTHS[0]
    if depth == smallest:
        return instead(GATHER, K4)
    return mistaken(of(depth)(name, run), of(smallest)(name, run))


FIGURE = Figure(
    "spdk-patience", "spdk", "How long who sleeps may wait for more",
    "of no paper: k chosen by the library, and a look before the sleep",
    "A k that is large for the depth costs reads, one that is small costs CPU time. Where the "
    "library chooses it, by how far apart completions come and for an eighth of what is in flight "
    "at most, no depth loses and deep queues gain: that is what a new queue has. A look before "
    "the sleep gains only where a command takes about as long as a wake-up, and takes all of the "
    "CPU there: it is off unless it is asked for.",
    groups=(
        group(SINGLE, (1, *DEPTHS)),
        group(K4, DEPTHS, at_least_of(4)),
        group(K32, (64, 256), at_least_of(32)),
        *(group(gather(us), DEPTHS, f"gather_ns={guest_ns(us)}\n") for us in GATHER_US),
        *(group(look(us), (1, 8, 64), looks(us)) for us in LOOK_US),
        group(SINGLE, (1,), prefix=FAST),
        *(group(look(us), (1,), looks(us), FAST) for us in LOOK_US),
    ),
    checks=(
        *(at_least(f"{depth} in flight: reads a second, {GATHER}, against k = 1",
                   of(depth).ratio("iops", GATHER), 0.98, fewer(depth, GATHER, "iops"))
          for depth in DEPTHS),
        *(at_most(f"{depth} in flight: CPU, {GATHER}, against k = 1",
                  of(depth).ratio("cpu_percent", GATHER), 1.05,
                  mistaken(of(depth)("cpu_percent", SINGLE), of(1)("cpu_percent", SINGLE)))
          for depth in DEPTHS if depth != 64),
        *(at_most(f"{depth} in flight: mean latency, {GATHER}, against k = 1",
                  of(depth).ratio("mean_us", GATHER), 1.02, fewer(depth, SINGLE, "mean_us"))
          for depth in DEPTHS),
        *(at_most(f"{depth} in flight: CPU, {gather(us)}, against k = 1",
                  of(depth).ratio("cpu_percent", gather(us)), 0.95)
          for depth, us in ((64, 10), (64, 30), (256, 30))),
        at_most("8 in flight: reads a second, k = 4 against k = 1", of(8).ratio("iops", K4), 0.9),
        at_most("64 in flight: CPU, k = 32 against k = 1", of(64).ratio("cpu_percent", K32), 0.95),
        within("a lone read: mean latency, looked for for 4 us, against k = 1",
               of(1).ratio("mean_us", look(4)), 0.95, 1.05, swap(SINGLE, FAST + SINGLE)),
        at_most("3 us, a lone read: mean latency, looked for for 4 us, against k = 1",
                of(1).ratio("mean_us", FAST + look(4), FAST + SINGLE), 0.8),
        at_least("3 us, a lone read: CPU, looked for for 4 us",
                 of(1)("cpu_percent", FAST + look(4)), 99, swap(FAST + look(4), FAST + SINGLE),
                 unit="%"),
    ),
    panels=(lines("reads", "thousand a second", "iops", 1e-3), lines("CPU", "%", "cpu_percent"),
            lines("mean latency", "us", "mean_us")),
    columns=(IOPS, MEAN, CPU, MERGED),
    notes=(spdk.ENGINE, (
        "The times are the calibrated machine's; the engine's options have them times the CPU "
        "scale. k = 4 and k = 32 are what the application asks for at least, all others ask for "
        "one. A figure is no measurement where a process was not woken for a completion: neither "
        "an interrupt of max-hold nor a wait of the library's own second look was seen.")),
)
