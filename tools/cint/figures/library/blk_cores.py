# SPDX-License-Identifier: GPL-2.0-or-later
"""blk-switch: L and T that may run on every core."""

from dataclasses import replace

from cint.figures import switched
from cint.figures.checks import Check, at_least, at_most, near, several
from cint.figures.controls import Control, instead, mistaken, swap
from cint.figures.figure import Figure, Group, Panel, Series
from cint.figures.polled import REAL_TIME_THREAD
from cint.figures.switched import APP, BATCH, OFF, PAID, latency, of_l, of_t, throughput
from cint.figures.values import Expr, least_step

# ---- Figures 7 and 8: more and more L beside as many T as CPUs -----------

CPUS = 2
COUNTS = (1, 2, 4)
CELLS = {count: f"{count} L" for count in COUNTS}
MOST = CELLS[COUNTS[-1]]
WORKLOADS = tuple(
    switched.anywhere(cell, f"{count} L beside {CPUS} T, all of which may run anywhere",
                      latency(count), throughput(CPUS)) for count, cell in CELLS.items())

FIG7 = Figure(
    "blk-fig7", "blk-switch", "More and more L", "section 5.2, Figures 7 and 8",
    "However many L there are, blk-switch keeps their latency low and T's throughput within a "
    "tenth of Linux's.",
    groups=switched.groups((OFF, APP), (switched.ALONE, *WORKLOADS), CPUS),
    checks=(
        at_least(f"per byte: p99 of {MOST}, off against app",
                 of_l(MOST, PAID).ratio("p99_us", OFF, APP), 10, paper="10 to 25"),
        at_least(f"per byte: mean of {MOST}, off against app",
                 of_l(MOST, PAID).ratio("mean_us", OFF, APP), 2, paper="28 to 110"),
        at_least("per byte, off: p99 of L, the least step to more L",
                 least_step([of_l(cell)("p99_us", PAID + OFF) for cell in CELLS.values()]), 0.95,
                 switched.another(MOST, "alone"), paper="does not fall"),
        at_most(f"per byte, app: mean of {MOST} against 1 L",
                of_l(MOST)("mean_us", PAID + APP) / of_l("1 L")("mean_us", PAID + APP), 1.5,
                mistaken(of_l(MOST)("mean_us", PAID + APP), of_l(MOST)("mean_us", PAID + OFF)),
                paper="as low"),
        at_most("per byte, app: p99 of 1 L against alone",
                of_l("1 L")("p99_us", PAID + APP) / of_l("alone")("p99_us", PAID + APP), 1.3,
                instead(PAID + APP, PAID + OFF), deviation=switched.gives_way(PAID + APP, "1 L")),
        at_least(f"per byte: T beside {MOST}, app against off",
                 of_t(MOST, PAID).ratio("iops", APP, OFF), 0.9, instead(PAID + APP, APP),
                 paper="0.9", deviation=switched.more_of_l(0.4, 0.6, PAID + APP, PAID + OFF, MOST)),
    ),
    panels=switched.lines((OFF, APP), CELLS, "L applications", ("p99_us", "p999_us", "iops")),
    columns=switched.COLUMNS,
    notes=(switched.NETWORK, switched.JOBS, switched.SCHEDULED, switched.FAST_TICKS,
           "The paper has six cores, six T and up to twelve L."),
)

# ---- Figure 9: more and more threads of one L beside the threads of one T ----

THREADS, PROCESSES = "threads, ", "processes, "
#: The paper's "exactly the same trend": of Figure 7's ratios, and of its bound for the mean.
TOLERANCE = 0.25
OF_THREADS = tuple(
    switched.anywhere(cell, f"{count} threads of L beside {CPUS} of T, all of which may run "
                      "anywhere", latency(count, REAL_TIME_THREAD), throughput(CPUS))
    for count, cell in CELLS.items())


def called(prefix: str, groups: tuple[Group, ...]) -> tuple[Group, ...]:
    """The groups, whose runs have another name."""
    return tuple(replace(group, prefix=prefix + group.prefix) for group in groups)


def gain(who: str, name: str = "p99_us") -> Expr:
    """L's latency as a ratio of off to app, at the most L."""
    return of_l(MOST, who + PAID).ratio(name, OFF, APP)


def kept(who: str) -> Expr:
    """T's throughput under app, of that under off, at the most L."""
    return of_t(MOST, who + PAID).ratio("iops", APP, OFF)


def same(what: str, ratio: Expr, other: Expr, control: Control) -> Check:
    """A ratio of threads, against that of processes."""
    return near(f"per byte: {what}, threads against processes", ratio / other, 1, TOLERANCE,
                control, paper="the same trend")


#: Two controls: the modes exchanged for threads, and a T whose bytes cost nothing.
EXCHANGED = swap(f"{THREADS}{PAID}{OFF}", f"{THREADS}{PAID}{APP}")
FREE = instead(f"{THREADS}{PAID}{OFF}", f"{THREADS}{OFF}")

FIG9 = Figure(
    "blk-fig9", "blk-switch", "More and more threads of one L", "section 5.2, Figures 9 and 8",
    "With one T and one L of several threads in place of as many processes the trend is exactly "
    "that of Figure 7.",
    groups=(*called(THREADS, switched.groups((OFF, APP), OF_THREADS, CPUS)),
            *called(PROCESSES, tuple(FIG7.groups))),
    checks=(
        at_least(f"per byte: p99 of {MOST}, off against app", gain(THREADS), 3,
                 EXCHANGED, paper="as Figure 7"),
        at_least(f"per byte: mean of {MOST}, off against app", gain(THREADS, "mean_us"),
                 1.5 * (1 - TOLERANCE), EXCHANGED, paper="as Figure 7"),
        at_least(f"per byte: T beside {MOST}, app against off", kept(THREADS), 0.9, FREE,
                 paper="as Figure 7",
                 deviation=switched.more_of_l(0.4, 0.6, THREADS + PAID + APP, THREADS + PAID + OFF,
                                              MOST)),
        same(f"p99 of {MOST}, off against app", gain(THREADS), gain(PROCESSES), EXCHANGED),
        same(f"mean of {MOST}, off against app", gain(THREADS, "mean_us"),
             gain(PROCESSES, "mean_us"), EXCHANGED),
        same(f"T beside {MOST}, app against off", kept(THREADS), kept(PROCESSES), FREE),
    ),
    panels=tuple(
        Panel(f"{title}: {what}", unit, tuple(
            Series(f"{who}{mode}", [(count, read(cell)(name, f"{who}{prefix}{mode}"))
                                    for count, cell in CELLS.items()])
            for who in (THREADS, PROCESSES) for mode in (OFF, APP)), kind="lines",
            x="threads of L")
        for prefix, title in switched.TITLES.items()
        for what, unit, read, name in (("p99 of L", "us", of_l, "p99_us"),
                                       ("p99.9 of L", "us", of_l, "p999_us"),
                                       ("T's requests of 64 KiB", "per s", of_t, "iops"))),
    columns=switched.COLUMNS,
    notes=(switched.NETWORK, switched.JOBS,
           "All threads, L's and T's, are of one process of fio. The runs of processes are those "
           "of blk-fig7, where L are processes.",
           "L's threads are of SCHED_RR, as L's processes are in the other figures.",
           switched.FAST_TICKS, "The paper has six cores, six threads of T and up to twelve of L."),
)

# ---- Figure 10: deeper and deeper T --------------------------------------

DEPTHS = (1, 4, 16, 64)
BY_DEPTH = {depth: f"depth {depth}" for depth in DEPTHS}
DEEPEST = BY_DEPTH[DEPTHS[-1]]
DEEP = tuple(
    switched.anywhere(cell, f"{CPUS} L beside {CPUS} T at depth {depth}, which may run anywhere",
                      latency(CPUS), throughput(CPUS, depth=depth, batch=min(depth, BATCH)))
    for depth, cell in BY_DEPTH.items())


def kept_at(cell: str, low: float, paper: str) -> Check:
    """T's throughput at a depth."""
    return at_least(f"per byte: T at {cell}, app against off",
                    of_t(cell, PAID).ratio("iops", APP, OFF), low, instead(PAID + OFF, OFF),
                    paper=paper,
                    deviation=switched.more_of_l(0.65, 0.85, PAID + APP, PAID + OFF, cell))


FIG10 = Figure(
    "blk-fig10", "blk-switch", "Deeper and deeper T", "section 5.2, Figure 10",
    "As the load by T grows Linux's latency grows with it, and blk-switch's stays.",
    groups=switched.groups((OFF, APP), DEEP, CPUS),
    checks=(
        at_least("per byte, off: p99 of L, deepest against depth 1",
                 of_l(DEEPEST)("p99_us", PAID + OFF) / of_l("depth 1")("p99_us", PAID + OFF), 3,
                 switched.another(DEEPEST, "depth 1"), paper="grows"),
        at_most("per byte, app: p99 of L, deepest against depth 1",
                of_l(DEEPEST)("p99_us", PAID + APP) / of_l("depth 1")("p99_us", PAID + APP), 1.3,
                instead(PAID + APP, PAID + OFF), paper="stays"),
        at_least("per byte: p99 of L at the deepest, off against app",
                 of_l(DEEPEST, PAID).ratio("p99_us", OFF, APP), 2, paper="2 to 8"),
        at_least("per byte: p99 of L, off against app, the least step to a deeper T",
                 least_step([of_l(cell, PAID).ratio("p99_us", OFF, APP)
                             for cell in BY_DEPTH.values()]), 0.9, paper="does not fall"),
        several("per byte: T keeps its throughput", [
            kept_at(BY_DEPTH[DEPTHS[0]], 0.97, "1"), kept_at(DEEPEST, 0.9, "0.9")]),
    ),
    panels=switched.lines((OFF, APP), BY_DEPTH, "depth of each T", log_x=True),
    columns=switched.COLUMNS,
    notes=(switched.NETWORK, switched.JOBS, switched.SCHEDULED, switched.SAME_DEVICE,
           switched.FAST_TICKS, "The paper has six L and six T on six cores."),
)

# ---- Figure 11: more and more cores --------------------------------------

CORES = (1, 2, 4)
RUNTIME_S = 0.02
#: Seconds on one CPU at full length, of more an equal part: each seed has ten thousand reads of L.
CORES_FULL_S = 0.62
#: What the paper's T keeps of its throughput, by CPUs.
KEPT = {1: 0.6, 2: 0.9, 4: 0.9}


def cell(count: int) -> str:
    """The workload on so many CPUs."""
    return f"{count} L, {count} T"


def name(count: int, mode: str) -> str:
    """The name of a run on so many CPUs."""
    return f"{count} CPU/{mode}"


def group(count: int) -> Group:
    """A group with as many L and T as CPUs."""
    return Group(switched.runs(OFF, APP), (
        switched.anywhere(cell(count), f"{count} L and {count} T, which may run anywhere",
                          latency(count), throughput(count)),),
                 switched.MEDIA, f"{count} CPU/", RUNTIME_S, CORES_FULL_S / count,
                 vcpus=count, append=(switched.cost(count),))


def _fewer(count: int) -> Control:
    """T of half as many CPUs, or where there is one, what it is compared with of twice as many."""
    mode, other = (OFF, 2) if count == 1 else (APP, count // 2)
    return mistaken(of_t(cell(count))("iops", name(count, mode)),
                    of_t(cell(other))("iops", name(other, mode)))


def left(count: int) -> Check:
    """T's throughput on so many CPUs."""
    app, off = name(count, APP), name(count, OFF)
    return at_least(f"{count} CPU: T, app against off", of_t(cell(count)).ratio("iops", app, off),
                    KEPT[count], _fewer(count), paper=str(KEPT[count]),
                    deviation=None if count == 1 else switched.more_of_l(
                        0.65, 0.85, app, off, cell(count)))


FIG11 = Figure(
    "blk-fig11", "blk-switch", "More and more cores", "section 5.2, Figure 11",
    "With x cores, L and T each: Linux's latency is high, blk-switch's low. On one core blk-switch "
    "costs T much, on more less and less.",
    groups=tuple(group(count) for count in CORES),
    checks=(
        *(at_least(f"{count} CPU: p99 of L, off against app",
                   of_l(cell(count)).ratio("p99_us", name(count, OFF), name(count, APP)), 3,
                   paper="more than 10") for count in CORES),
        left(1), several("on more than one CPU T keeps its throughput", [left(2), left(4)])),
    panels=tuple(
        Panel(what, unit, tuple(
            Series(mode, [(count, read(cell(count))(metric, name(count, mode)))
                          for count in CORES]) for mode in (OFF, APP)),
            kind="lines", x="CPUs, L and T")
        for what, unit, read, metric in (("p99 of L", "us", of_l, "p99_us"),
                                         ("T's reads of 64 KiB", "per s", of_t, "iops"))),
    columns=switched.COLUMNS,
    notes=(switched.NETWORK, switched.JOBS, switched.SCHEDULED, switched.SAME_DEVICE,
           "All runs are with 315 ns for each KiB: without it four CPUs would wait for nothing "
           "that more of them could do. Application steering looks every 10 ms of the guest's, "
           "which with four CPUs is 11 times as often as on the machine that it stands for. There "
           "is one node of memory, while the paper's last two points have two."),
)
