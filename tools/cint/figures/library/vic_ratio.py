# SPDX-License-Identifier: GPL-2.0-or-later
"""vIC: the delivery ratio, and how long an interrupt waits."""

from cint.figures import arrays
from cint.figures.arrays import POLICY, PROBES, RUNTIME_S, lone, ratio, reads
from cint.figures.checks import Check, Deviation, at_least, at_most, near, within
from cint.figures.columns import CPU, IOPS, IRQS, IRQS_PER_IO, MEAN, MEAN_R
from cint.figures.controls import instead, mistaken, swap, together, wrong
from cint.figures.figure import Figure, Group, Panel, Run, Series, here, runs
from cint.figures.values import Cell, Expr, against, least_step, most, said, value
from cint.measure import workloads
from cint.measure.workloads import COMMON, Workload

# ---- Table 1: the ratio by commands in flight ----------------------------

#: The paper's own depths.
DEPTHS = (2, 6, 10, 14, 16, 24, 64, 128)
#: The last depth of a row: the commands in flight stay in it, though up to 1/R - 1 finished ones
#: wait for their interrupt, and others are with the guest. (The text's smallest ratio is 1/16:
#: max-skip=16.)
INSIDE = (23, 31, 71, 143)
#: How near to R is near enough.
NEAR = 0.05
#: Some spread, as every array has: without any, reads submitted together stay together, and
#: the commands in flight are not about the depth at all times.
MEDIA = "array:jitter=100us"
#: The first depths of a row.
BORDERS = (16, 24, 64, 128)


def merged(run: str, depth: int) -> Expr:
    return value("irqs_per_io", run, f"q{depth}")


def other(depth: int) -> int:
    """The next depth of the same guest, which is in another row of the table."""
    depths = DEPTHS if depth in DEPTHS else INSIDE
    return depths[(depths.index(depth) + 1) % len(depths)]


def at_a_border(run: str, depth: int) -> Deviation:
    own, before = ratio(depth) * (1 + NEAR), ratio(depth - 1) * (1 + NEAR)
    return Deviation(round(own + 0.0001, 4), round(before, 4), said(
        "with a completion that waits for its interrupt, of which there are up to 1/R - 1, the "
        "commands in flight are in the row before: the mean ratio of the epochs is {:.3f}",
        value("mean_ratio", run, f"q{depth}")))


def row(run: str, depth: int) -> Check:
    wanted = round(max(ratio(depth), 1 / 16), 4)
    return near(f"depth {depth}: interrupts for an I/O", merged(run, depth), wanted, NEAR,
                instead(f"q{depth}", f"q{other(depth)}"),
                deviation=at_a_border(run, depth) if depth in BORDERS else None)


TAB1 = Figure(
    "vic-tab1", "vic", "Delivery ratio by commands in flight", "section 3.2.1, Table 1",
    "The more commands are in flight, the fewer completions interrupt: all of them up to 3, "
    "4 of 5 up to 7, 3 of 4 up to 11, 2 of 3 up to 15, then 8 / CIF.",
    groups=(
        Group(runs(Run(POLICY, "vic")), tuple(map(reads, DEPTHS)), MEDIA, runtime_s=RUNTIME_S,
              probed=True),
        Group(runs(Run(f"{POLICY},max-skip=16", "vic, inside")), tuple(map(reads, INSIDE)), MEDIA,
              runtime_s=RUNTIME_S, probed=True),
    ),
    checks=(
        *(row("vic", q) for q in DEPTHS),
        *(row("vic, inside", q) for q in INSIDE),
        within("depth 31: share of interrupts for the reason 'ratio'",
               value("reason.ratio", "vic, inside", "q31"), 0.9, 1,
               instead("q31", "q23")),
        within("depth 2: share of interrupts for the reason 'low-cif'",
               value("reason.low-cif", "vic", "q2"), 0.9, 1,
               instead("q2", "q16")),
        within("epochs that were measured", value("probes", "vic", "q64"), PROBES, PROBES,
               wrong(2)),
    ),
    panels=(Panel("interrupts for an I/O", "R", (
        Series("here", [(q, merged("vic", q)) for q in DEPTHS]),
        Series("inside a row", [(q, merged("vic, inside", q)) for q in INSIDE]),
        Series("paper", [(q, ratio(q)) for q in range(1, 150)], paper=True)),
        kind="lines", x="depth", log_x=True, log_y=True),),
    columns=(IOPS, MEAN, IRQS_PER_IO, MEAN_R),
    notes=(
        f"Epochs of {arrays.EPOCH_S * 1000:g} ms in place of 200 ms. The medium has a jitter of "
        "100 us: reads that are reaped together would otherwise be submitted and finished "
        "together from then on, and fewer be in flight than the depth says.",
        "'inside' are depths that stay in their row although finished reads wait. They are 23 and "
        "31 where they were 17 and 26 (commit 59afe26), which fell out of their bounds in one "
        "epoch of one seed.",
        "Depths 16, 24, 64 and 128 are the first of their rows. One completion that waits for its "
        "interrupt takes the commands in flight into the row before, whose ratio part of the "
        "epochs have, or all of them. What is wanted is the row's own ratio, as inside of a row; "
        "it is expected between that and the ratio of the row before.",
    ),
    short=True,
)

# ---- low rates: a lone reader, coarse ratios, and no floor for the rate ----

COARSE = Run(f"{POLICY},ratios=coarse", "only 1 and 1/2")
NO_FLOOR = Run("vic:iops-threshold=0", "no floor")
#: 32 reads at a time of 32 ms each are 1000 a second. fio's own rate_iops will not do: it
#: waits for all reads in flight before it sleeps, so that they come in bursts. The spread
#: keeps reads that were reaped together from ending together.
SLOW = "custom:read-latency=32ms,write-latency=32ms,jitter=8ms"
SLOW_EPOCH_S = 0.2
rare = Cell("q32", "slow/")

#: What waiting for the completion that interrupts adds, at the most.
ADDED = rare("mean_us", "no floor") - rare("mean_us", "default")
BOUND = (1 / rare("mean_ratio", "no floor") - 1) / rare("iops", "no floor") * 1e6

LOW = Figure(
    "vic-low", "vic", "Low rates", "sections 3.2 and 5",
    "A lone reader does not notice vIC; below 2000 I/Os a second every one interrupts, since "
    "each would wait for the next; and with ratios between 1 and 1/2 moderate depths lose "
    "nothing.",
    groups=(
        Group(runs("default", Run(POLICY, "vic"), COARSE), (lone(), reads(6)), "array",
              runtime_s=RUNTIME_S, probed=True),
        Group(runs("default", "vic", NO_FLOOR), (reads(32, epoch_s=SLOW_EPOCH_S),), SLOW, "slow/",
              runtime_s=RUNTIME_S * 4, probed=True),
    ),
    checks=(
        at_most("lone reader: latency against default",
                against("mean_us", "vic", "default", "sync"), 1.02,
                together(*(mistaken(value("mean_us", run, "sync"), rare("mean_us", other))
                           for run, other in (("vic", "no floor"), ("default", "default")))),
                paper=1.0),
        within("lone reader: interrupts for a read", value("irqs_per_io", "vic", "sync"), 0.999,
               1.001, instead("sync", "q6"), paper=1.0),
        within("lone reader: share of interrupts for the reason 'low-cif' or 'low-iops'",
               value("reason.low-cif", "vic", "sync") + value("reason.low-iops", "vic", "sync"),
               0.999, 1, instead("vic", "default"), paper="no timer"),
        at_least("depth 6: IOPS with 4/5 against 1/2 only",
                 against("iops", "vic", "only 1 and 1/2", "q6"), 1.0001, paper="at least 1"),
        within("depth 6: interrupts for an I/O with 1/2 only",
               value("irqs_per_io", "only 1 and 1/2", "q6"), 0.5, 0.75,
               swap("vic", "only 1 and 1/2"), paper="1/2, or 1 below 4"),
        within("1000 reads a second: interrupts for a read", rare("irqs_per_io", "vic"), 0.999,
               1.001, swap("slow/vic", "slow/no floor"), paper=1.0),
        at_most("1000 reads a second: latency against default",
                rare.ratio("mean_us", "vic", "default"), 1.02, swap("slow/vic", "slow/no floor"),
                paper=1.0),
        at_least("1000 reads a second without iopsThreshold: 1/R",
                 1 / rare("mean_ratio", "no floor"), 2, instead("slow/no floor", "slow/vic")),
        within("the same: latency added, against (1/R - 1) / IOPS", ADDED / BOUND, 0.4, 1,
               instead("slow/default", "slow/no floor"), paper="0.4 to 1"),
    ),
    panels=(
        here("1000 reads a second", "mean latency, ms",
             [(r, rare("mean_us", r) / 1000) for r in ("default", "vic", "no floor")]),
        here("1000 reads a second", "interrupts for a read",
             [(r, rare("irqs_per_io", r)) for r in ("default", "vic", "no floor")]),
    ),
    columns=(IOPS, MEAN, IRQS_PER_IO,
             MEAN_R),
    notes=(
        "The rate comes from the medium (32 ms, jitter 8 ms, 32 in flight): fio's rate_iops "
        "waits for all reads in flight before it sleeps, so that they come in bursts.",
        "One check was made wider (commit 2462283): interrupts for an I/O with 1/2 only, 0.5 to "
        "0.75, before 0.45 to 0.55. The commands in flight are below 4 in part of the epochs, and "
        "there each has its interrupt.",
    ),
)

# ---- Figure 5: how long an interrupt waits for a guest that is busy anyway ----

WINDOWS_US = (0, 100, 500)
#: Stands for Hyper Pi: each round is CPU time and nothing else, at the lowest priority.
PI = ("[pi]\nioengine=null\niodepth=1\nnice=19\n")
READS = workloads.async_job(8, 1, 1, f"bs=8k\n{workloads.LIBAIO}", name="reads")
BOTH = Workload("both", "8 KiB reads at depth 8, beside a computation at nice 19",
                COMMON + READS + PI, latency_job="reads", split=True)
ALONE = Workload("reads alone", "8 KiB reads at depth 8", COMMON + READS)
PI_ALONE = Workload("pi alone", "the computation alone", COMMON + PI)


def run(window_us: int) -> Run:
    return Run(f"default:kick-window={window_us}us" if window_us else "default",
               f"{window_us} us")


def of(name: str, window_us: int, cell: str) -> Expr:
    return value(name, f"{window_us} us", cell)


def spread(cell: str) -> Expr:
    return most([of("iops", w, cell) / of("iops", 0, cell) for w in WINDOWS_US])


FIG5 = Figure(
    "vic-fig5", "vic", "How long an interrupt waits for a busy guest", "section 4.5, Figure 5",
    "A guest whose CPU computes is interrupted at most once in a window: a longer one gives the "
    "computation more time and the reads less; alone, neither notices.",
    groups=(Group(runs(*map(run, WINDOWS_US)), (BOTH, ALONE, PI_ALONE), "array"),),
    checks=(
        at_least("IOPS beside the computation fall with the window: the least step",
                 least_step([of("iops", w, "both.reads") for w in reversed(WINDOWS_US)]), 1.0001,
                 swap("0 us", "500 us"), paper="falls"),
        at_least("the computation gains by the window: the least step",
                 least_step([of("iops", w, "both.pi") for w in WINDOWS_US]), 1.0001,
                 swap("0 us", "500 us"), paper="rises"),
        within("the computation alone: the largest of the windows against none",
               spread("pi alone"), 0.97, 1.03,
               instead("pi alone", "both"), paper=1.0),
        at_least("500 us: share of interrupts for the reason 'kick'",
                 of("reason.kick", 500, "both"), 0.01, instead("500 us", "0 us")),
    ),
    panels=(
        here("reads beside the computation", "IOPS, ratio to no window",
             [(f"{w} us", of("iops", w, "both.reads") / of("iops", 0, "both.reads"))
              for w in WINDOWS_US]),
        here("the computation", "rounds a second, ratio to no window",
             [(f"{w} us", of("iops", w, "both.pi") / of("iops", 0, "both.pi"))
              for w in WINDOWS_US]),
    ),
    columns=(IOPS, MEAN, IRQS, CPU),
    notes=(
        "There the window is between two inter-processor interrupts to a virtual CPU that is "
        "running; here it is the device's kick-window, which holds a message for a guest that "
        "was told shortly before and has looked since. One CPU in place of two.",
        "The computation is fio's null engine, in place of Hyper Pi: rounds a second in place "
        "of the time for a number of digits.",
    ),
)
