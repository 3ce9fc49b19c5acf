# SPDX-License-Identifier: GPL-2.0-or-later
"""blk-switch: L and T on one core."""

from dataclasses import replace

from cint.figures import switched
from cint.figures.checks import Check, Deviation, at_least, at_most, several, within
from cint.figures.controls import instead, swap
from cint.figures.figure import Figure, Group
from cint.figures.polled import REAL_TIME
from cint.figures.switched import OFF, PAID, PRIO, latency, of_l, of_t, pinned, throughput
from cint.figures.values import Expr, said, value
from cint.measure.workloads import COMMON, Workload

# ---- Figure 2: L and T alone, and both on one core -----------------------

T_ALONE = pinned("T alone", f"reads of 64 KiB at depth {switched.DEPTH}, in batches of "
                 f"{switched.BATCH}, on CPU 0", throughput())
BOTH = pinned("both", "L and that on CPU 0", latency(), throughput())
SINGLY = pinned("singly", "the same, but T submits and reaps one by one", latency(),
                throughput(batch=1))
#: Seeds come out alike: each has ten thousand reads of L.
FIG2_FULL_S = {"": 0.17, PAID: 0.58}

FIG2 = Figure(
    "blk-fig2", "blk-switch", "Alone and together", "section 2.1, Figure 2",
    "Alone each of them does well. On one core L's tail latency is much higher beside T under "
    "Linux, and T loses little.",
    groups=switched.groups((OFF, PRIO), (switched.ALONE, T_ALONE, BOTH, SINGLY),
                           full_s=FIG2_FULL_S),
    checks=(
        at_least("per byte, off: p99 of L, both against alone",
                 of_l("both")("p99_us", PAID + OFF) / of_l("alone")("p99_us", PAID + OFF), 3,
                 instead(PAID + OFF, PAID + PRIO), paper="7"),
        at_least("per byte, off: T, both against alone",
                 of_t("both")("iops", PAID + OFF) / value("iops", PAID + OFF, "T alone"), 0.9,
                 instead(PAID + OFF, PAID + PRIO), paper="little less", wanders=True,
                 deviation=Deviation(0.8, 0.95, said(
                     "the CPU is what T has too little of, and L takes some of it for its {:.0f} "
                     "reads a second; what T has alone differs by a tenth between seeds",
                     of_l("both")("iops", PAID + OFF)))),
        at_least("as it is, off: p99 of L, both against alone",
                 of_l("both")("p99_us", OFF) / of_l("alone")("p99_us", OFF), 1.3,
                 switched.another("both", "alone")),
    ),
    panels=switched.bars((OFF, PRIO), ("both", "singly")),
    columns=switched.COLUMNS,
    notes=(switched.NETWORK, switched.JOBS, switched.SCHEDULED,
           "SPDK and SPDK with priorities, the other bars of the paper, have no queues of the "
           "kernel: they are in blk-fig3b."),
)

# ---- Figure 3(a): head-of-line blocking by the size of T's requests ------

SIZES = (4, 16, 64, 128)
BY_SIZE = {size: f"{size}k" for size in SIZES}
SMALL, LARGE, LARGEST = BY_SIZE[4], BY_SIZE[64], BY_SIZE[128]
#: As those of Figure 2, where percentiles are judged.
SIZES_FULL_S = {**switched.FULL_S, PAID: 0.68}

FIG3A = Figure(
    "blk-fig3a", "blk-switch", "Head-of-line blocking", "section 2.2, Figure 3(a)",
    "Beside a T on the same core L's tail latency grows with the size of T's requests.",
    groups=switched.groups((OFF, PRIO), (switched.ALONE, *(
        pinned(cell, f"L beside T's reads of {size} KiB at depth {switched.DEPTH}, in batches of "
               f"{switched.BATCH}, on CPU 0", latency(), throughput(bs=cell))
        for size, cell in BY_SIZE.items())), full_s=SIZES_FULL_S),
    checks=(
        at_least(f"per byte, off: p99 of L, beside {LARGE} against {SMALL}",
                 of_l(LARGE)("p99_us", PAID + OFF) / of_l(SMALL)("p99_us", PAID + OFF), 3,
                 switched.another(LARGE, SMALL), paper="grows linearly"),
        at_least(f"per byte, off: p99 of L, beside {LARGEST} against {LARGE}",
                 of_l(LARGEST)("p99_us", PAID + OFF) / of_l(LARGE)("p99_us", PAID + OFF), 1.5,
                 swap(PAID + OFF, PAID + PRIO), paper="grows linearly",
                 deviation=Deviation(0.15, 0.5, (
                     "a plug with a request of 128 KiB is flushed at once "
                     "(BLK_PLUG_FLUSH_SIZE): the requests of a batch are on their way one by one "
                     "and do not end together"))),
        at_least(f"per byte: p99 of L beside {LARGE}, off against prio",
                 of_l(LARGE, PAID).ratio("p99_us", OFF, PRIO), 3),
    ),
    panels=switched.lines((OFF, PRIO), BY_SIZE, "KiB of T's requests", ("p99_us",), log_x=True),
    columns=switched.COLUMNS,
    notes=(switched.NETWORK, switched.JOBS, switched.SCHEDULED),
)

# ---- Figure 13: L on an SSD, T in memory ---------------------------------

SSD = "ssd80"
#: By mode. L's reads are a tenth of what they are in the set's other figures, in mode off fewer.
SSD_FULL_S = {mode: {**switched.FULL_S, PAID: paid} for mode, paid in ((OFF, 5.6), (PRIO, 1.2))}
ON_SSD = latency(more=f"filename=/dev/nvme1n1\n{REAL_TIME}")
#: Each job has a file of its own: fio's jobs have those of [global], too.
HEAD = COMMON.replace("filename={device}\n", "")
SSD_ALONE = Workload("alone", "L on the controller with the SSD", HEAD + ON_SSD)
ON_BOTH = Workload("both", "the same beside T on the other controller, on CPU 0",
                   HEAD + ON_SSD + throughput(more="filename={device}\n"), latency_job="latency",
                   split=True)

FIG13 = Figure(
    "blk-fig13", "blk-switch", "L on an SSD, T in memory", "section 5.2, Figure 13",
    "Where the medium takes 80 us, that is most of blk-switch's latency, and the rest is as it "
    "was with a fast medium.",
    groups=tuple(group for mode, full_s in SSD_FULL_S.items() for group in switched.groups(
        (mode,), (SSD_ALONE, ON_BOTH), full_s=full_s, second=SSD)),
    checks=(
        at_least("per byte: p99 of L, off against prio",
                 of_l("both", PAID).ratio("p99_us", OFF, PRIO), 1.5, paper="more than 2"),
        at_most("per byte, prio: p99 of L, both against alone",
                of_l("both")("p99_us", PAID + PRIO) / of_l("alone")("p99_us", PAID + PRIO), 1.3,
                instead(PAID + PRIO, PAID + OFF), paper="little more"),
    ),
    panels=switched.bars((OFF, PRIO), ("both",)),
    columns=switched.COLUMNS,
    notes=(switched.NETWORK, switched.JOBS, switched.SCHEDULED,
           "Two controllers: L's has a medium of 80 us, T's the usual one of this set. One L and "
           "one T on a CPU, in place of six and six."),
)

# ---- Figure 15: what each mechanism is good for --------------------------

#: A process that asks the fair scheduler for a short slice.
SLICED = "thread=0\nexec_prerun={sliced_pre}\n"
ONE = pinned("core 0", f"L and T (depth {switched.DEPTH}) on CPU 0, nothing else on CPU 1",
             latency(), throughput())
FAIR = pinned("fair", "the same, but L is a process of the fair scheduler with a slice of 0.1 ms",
              latency(more=SLICED), throughput())
WIDE = switched.anywhere("two of each", f"two L and two T (depth {switched.DEPTH}), which may run "
                         "on both CPUs", latency(2), throughput(2))

FIG15_CELLS = (switched.ALONE, ONE, FAIR, WIDE)
#: What modes come to here is close to what is asked for: more reads of L, and of T beside it.
FIG15_FULL_S = {"": 0.25, PAID: 0.5}
#: L waits longest in mode off, and has the fewest reads.
OFF_FULL_S = {**FIG15_FULL_S, PAID: 0.61}

#: A medium that takes more commands at once than T has.
DEEPER = "64 slots/"


def deeper() -> tuple[Group, ...]:
    """Mode prio there: what L waits for beside T, other than for the CPU."""
    return tuple(replace(group, prefix=DEEPER + group.prefix,
                         media=switched.MEDIA.replace("units=8,slots=8", "units=64,slots=64"))
                 for group in switched.groups((PRIO,), (switched.ALONE, ONE), full_s=FIG15_FULL_S))


def late(prefix: str) -> Check:
    """L's latency beside T in mode prio."""
    run = prefix + PRIO
    return at_most(f"{switched.TITLES[prefix]}: p99 of L, prio against alone",
                   of_l("core 0")("p99_us", run) / of_l("alone")("p99_us", run), 1.3,
                   instead(run, prefix + OFF), deviation=switched.gives_way(run, "core 0"))


FIG15 = Figure(
    "blk-fig15", "blk-switch", "What each mechanism is good for", "section 5.4, Figure 15",
    "Prioritisation takes L's tail latency down by an order of magnitude and costs T throughput; "
    "request steering gives it back on the other core; application steering gives both.",
    groups=(*switched.groups((OFF,), FIG15_CELLS, full_s=OFF_FULL_S),
            *switched.groups((PRIO, switched.REQUEST, switched.APP), FIG15_CELLS,
                             full_s=FIG15_FULL_S), *deeper()),
    checks=(
        at_least("per byte: p99 of L, off against prio",
                 of_l("core 0", PAID).ratio("p99_us", OFF, PRIO), 10, paper="10"),
        several("p99 of L, prio against alone", [late(prefix) for prefix in ("", PAID)]),
        at_least("as it is: p99 of L, off against prio",
                 of_l("core 0").ratio("p99_us", OFF, PRIO), 3,
                 deviation=Deviation(1.2, 2.9, said(
                     "where a read costs nothing for its bytes L's p99 is {:.0f} us beside T: "
                     "that is all there is to gain", of_l("core 0")("p99_us", OFF)))),
        at_most("per byte: T, prio against off", of_t("core 0", PAID).ratio("iops", PRIO, OFF),
                0.95, swap(PAID + OFF, PAID + PRIO), paper="less"),
        at_least("per byte: T, request against prio",
                 of_t("core 0", PAID).ratio("iops", switched.REQUEST, PRIO), 1.03, paper="more"),
        at_least("per byte: T, request against off",
                 of_t("core 0", PAID).ratio("iops", switched.REQUEST, OFF), 0.9,
                 instead(PAID + switched.REQUEST, PAID + PRIO)),
        at_most("per byte, two of each: p99 of L, app against request",
                of_l("two of each", PAID).ratio("p99_us", switched.APP, switched.REQUEST), 0.95,
                instead(PAID + switched.APP, PAID + OFF), paper="less",
                deviation=Deviation(0.9501, 1.15, (
                    "loads are even: with one of each on either CPU no CPU is better "
                    "than the other, to which Algorithm 2 has no answer (see steerd --apart)"))),
        at_least("per byte, two of each: T, app against request",
                 of_t("two of each", PAID).ratio("iops", switched.APP, switched.REQUEST), 0.97,
                 instead(PAID + switched.REQUEST, PAID + OFF), paper="as much", wanders=True),
        at_least("per byte, fair scheduler: p99 of L, off against prio",
                 of_l("fair", PAID).ratio("p99_us", OFF, PRIO), 3),
        at_least("per byte, fair scheduler: T, request against prio",
                 of_t("fair", PAID).ratio("iops", switched.REQUEST, PRIO), 1.2, paper="more"),
    ),
    panels=switched.bars(switched.MODES, ("core 0", "fair", "two of each")),
    columns=switched.COLUMNS,
    notes=(switched.NETWORK, switched.JOBS, switched.SAME_DEVICE, switched.FAST_TICKS,
           "In 'core 0' application steering moves nothing: who may run on one CPU only stays "
           "there. The paper's code overrides the affinity it sets for its jobs."),
)

# ---- appendix: reads and writes ------------------------------------------

#: Of T's requests so many in a hundred are reads.
READS = (100, 75, 50, 25, 0)
MIXES = {reads: f"{reads} % reads" for reads in READS}
MIXED = tuple(
    pinned(cell, f"L beside T, {reads} % of whose requests are reads, on CPU 0",
           latency(), throughput(more=f"rw=randrw\nrwmixread={reads}\n{switched.HUGE}"))
    for reads, cell in MIXES.items())
ALL_READS = MIXES[READS[0]]
#: In mode off L has fewer reads beside such a T, and seeds come out alike.
MIXED_FULL_S = {**switched.FULL_S, PAID: 0.88}


def kept(cell: str, prefix: str = "") -> Expr:
    """T's throughput under prio, of that under off."""
    return of_t(cell, prefix).ratio("iops", PRIO, OFF)


def left(cell: str) -> Check:
    """T beside L, in mode prio."""
    return at_least(f"{cell}: prio against off", kept(cell, PAID), 0.85, instead(PAID + OFF, OFF),
                    paper="as Figure 7",
                    deviation=switched.more_of_l(0.65, 0.8499, PAID + PRIO, PAID + OFF, cell))


READ_WRITE = Figure(
    "blk-rw", "blk-switch", "Reads and writes", "appendix A, read and write ratios",
    "Latency and throughput keep their relation whatever part of T's requests are writes.",
    groups=tuple(replace(group, append=(*group.append, switched.HUGE_PAGES))
                 for group in switched.groups((OFF, PRIO), MIXED, full_s=MIXED_FULL_S)),
    checks=(
        *(at_least(f"per byte: p99 of L, {cell}, off against prio",
                   of_l(cell, PAID).ratio("p99_us", OFF, PRIO), 3, paper="as Figure 7")
          for cell in MIXES.values()),
        several("per byte: T keeps its throughput", [*map(left, MIXES.values())]),
        *(within(f"as it is: T, {cell} against {ALL_READS}, prio against off",
                 kept(cell) / kept(ALL_READS), 0.9, 1.1,
                 instead(f"{cell}.throughput", f"{ALL_READS}.latency"), paper="the same relation")
          for cell in MIXES.values() if cell != ALL_READS),
    ),
    panels=switched.bars((OFF, PRIO), tuple(MIXES.values())),
    columns=switched.COLUMNS,
    notes=(switched.NETWORK, switched.JOBS, switched.SCHEDULED),
)
