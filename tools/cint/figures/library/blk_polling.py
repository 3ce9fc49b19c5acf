# SPDX-License-Identifier: GPL-2.0-or-later
"""blk-switch, Figures 3(b) to 3(d): applications that poll, all on one CPU.

L reads 4 KiB and polls until it is there; T polls, too, with 32 reads of 64 KiB under way. Each is
a thread of one process on the driver in user space, with a queue pair of its own, and what they
share is the CPU.
"""

from collections.abc import Mapping, Sequence

from cint.device import scale
from cint.figures import columns, controls
from cint.figures.checks import Deviation, at_least, at_most
from cint.figures.columns import IOPS, MEAN, P99, P999, THREAD, Column
from cint.figures.controls import Control, swap
from cint.figures.figure import CPU_SCALE, Figure, Group, Panel, Run, Series, here
from cint.figures.reading import slices
from cint.figures.values import Expr, least_step, said, value
from cint.measure.workloads import COMMON, Workload

#: A read takes as long as the paper's by SPDK alone, a fifth of 118 us. There are more units and
#: slots than reads under way, so that only the CPU is shared.
READ_US = 20
MEDIA = f"custom:read-latency={READ_US}us,write-latency={READ_US}us,units=64,slots=64"
#: The applications have the first CPU. fio's own main thread, which wakes up 100 times a second of
#: the guest's and would end a turn each time, is sent to the other by the first job that begins.
CPUS = 2
_APART = "exec_prerun=taskset -p 2 $PPID\n"
ALONE, T_ALONE = "alone", "T alone"
#: The niceness of L that the paper calls SPDK+priority.
FIRST = -20
COLUMNS = (IOPS, MEAN, P99, P999, columns.LONGEST, THREAD, Column("run, us", "run_us"),
           Column("wait, us", "gap_us"))
APPLICATIONS = ("L and T are threads of one fio on the driver in userspace/ in place of processes "
                "of SPDK's perf, each with a queue pair of its own: one process has a controller. "
                "They have one CPU. A read takes 20 us of the medium, which has no limit of its "
                "bytes; behind the paper's network it takes SPDK 24 us. T has 32 reads of 64 KiB "
                "under way, in place of 8 of 128 KiB: with fewer it would wait for the medium, "
                "and its throughput would not be that of its share of the CPU.")
TICKS = ("A thread's turn ends at a tick, of which there is one every 4 ms of the guest's: "
         f"{4 / (CPU_SCALE * CPUS):.1f} ms as reported. fio's main thread, which wakes up now "
         "and then, is kept on another CPU, so that it ends nobody's turn.")
ONE_AFTER = ("T begins first and L once T is measured, so that T is not starved before it is: some "
             "10 ms, in which the command that L waits for is started, are all that T has without "
             "L. L ends last.")
#: Two turns: T has begun by then whoever had the CPU first.
_MARGIN_US = 16_000
#: T is measured from when {ramp_us} are over, and L begins with a command that takes a bit longer,
#: on the other CPU as soon as it can: beside T it might come to an end when T's job is nearly over.
_AFTER_T = (f"exec_prerun=taskset -p 2 $$ && usleep {{ramp_us}} && usleep {_MARGIN_US}\n"
            "ramp_time=1ms\n")


def latency(threads: int = 1, more: str = "") -> str:
    """L's section."""
    return f"[latency]\nioengine=libaio\niodepth=1\nnumjobs={threads}\n{more}"


def throughput(more: str = "") -> str:
    """T's section."""
    return f"[throughput]\nioengine=libaio\nbs=64k\niodepth=32\n{_APART}{more}"


def nice(niceness: int) -> str:
    """L's options with this niceness, where T's is 0: see :data:`ONE_AFTER`."""
    return f"nice={niceness}\n{_AFTER_T}"


def asleep(us: int) -> str:
    """L's options where it sleeps for so long (reported) once it has submitted, then polls."""
    if not us:
        return ""
    ns = scale.apply_int("guest", "sleep_ns", 1000 * us, CPU_SCALE * CPUS)
    return f"interrupt_mode=sleep\nsleep_ns={ns}\n"


def sliced(us: int) -> str:
    """A section's option for a turn of so long (reported) at a time."""
    return f"slice_ns={scale.apply_int('guest', 'sched_runtime', 1000 * us, CPU_SCALE * CPUS)}\n"


def both(name: str, title: str, of_l: str, of_t: str) -> Workload:
    """L and T on CPU 0. T comes first: it is the one that may be starved."""
    return Workload(name, title, COMMON + of_t + of_l, latency_job="latency", split=True)


#: Each by itself.
SOLITARY = (Workload(ALONE, "a thread that reads 4 KiB and polls", COMMON + latency()),
            Workload(T_ALONE, "a thread that reads 64 KiB at depth 32 and polls",
                     COMMON + throughput()))


def group(name: str, workloads: Sequence[Workload], runtime_s: float,
          full_s: float | None = None) -> Group:
    """One guest, in which all poll unless a section says otherwise."""
    return Group((Run("default", name, engine="user:poll"),), workloads, MEDIA,
                 runtime_s=runtime_s, full_s=full_s, vcpus=CPUS, read=slices)


def of_l(name: str, run: str, cell: str) -> Expr:
    """A value of L's, beside T or alone."""
    return value(name, run, cell if cell == ALONE else f"{cell}.latency")


def of_t(name: str, run: str, cell: str) -> Expr:
    """A value of T's, beside L or alone."""
    return value(name, run, cell if cell == T_ALONE else f"{cell}.throughput")


def t_left(run: str, cell: str) -> Expr:
    """T's throughput, of that alone."""
    return of_t("iops", run, cell) / of_t("iops", run, T_ALONE)


def exchanged(one: str, two: str) -> Control:
    """A control: two workloads' outcomes exchanged, of both applications."""
    pairs = {f"{a}.{job}": f"{b}.{job}" for job in ("latency", "throughput")
             for a, b in ((one, two), (two, one))}
    return Control(pairs, text=f"{one} and {two} exchanged")


def instead(cell: str, other: str) -> Control:
    """A control: a workload's outcome replaced by that of an application alone."""
    return Control({f"{cell}.{job}": other for job in ("latency", "throughput")},
                   text=f"{other} in place of {cell}")


# ---- Figure 3(b): time slices of applications that poll, and Figure 2's bars of SPDK ----

FAIR, AS_CFS, PRIORITY = "EEVDF", "CFS's turns", "priority"
COUNTS = (1, 2, 4)
BESIDE = {count: f"{count} L" for count in COUNTS}
ONE, TWO, FOUR = BESIDE.values()
#: What CFS shared out among all that could run on a CPU, on a machine of two (sched_latency).
CFS_US = 12_000
RUNTIME_S = 0.2
#: Where turns are longer.
LONGER_S = 0.3
#: So long that each seed of L in equal turns has ten thousand reads: seeds come out alike.
FAIR_S = 0.55


def beside(count: int, words: str, of_l: str = "", of_t: str = "") -> Workload:
    """The jobs of so many L beside T."""
    return both(BESIDE[count], f"{count} L beside T, {words}", latency(count, of_l),
                throughput(of_t))


def turns(count: int) -> Workload:
    """The same where each thread asks for the turn that CFS would have given it."""
    turn = sliced(CFS_US // (count + 1))
    return beside(count, f"each with turns of {CFS_US / 1000 / (count + 1):g} ms", turn, turn)


def over(run: str, cells: Mapping[int, str], x: str, log_y: bool = False) -> tuple[Panel, ...]:
    """L's latency over a number, by the workload for each of its values."""
    return tuple(here(f"{what} of L", "us", [(at, of_l(name, run, c)) for at, c in cells.items()],
                      kind="lines", x=x, log_y=log_y)
                 for what, name in (("mean", "mean_us"), ("p99", "p99_us")))


def longer(name: str, run: str, cell: str, base: str) -> Expr:
    """A value of L's as a ratio to that beside fewer."""
    return of_l(name, run, cell) / of_l(name, run, base)


def lost(cell: str, run: str = FAIR) -> Expr:
    """The factor by which T has less throughput than alone."""
    return of_t("iops", FAIR, T_ALONE) / of_t("iops", run, cell)


FIG3B = Figure(
    "blk-fig3b", "blk-switch", "Polling applications that share a CPU",
    "section 2.2, Figures 3(b) and 2 (SPDK)",
    "The fair scheduler gives each application that polls a turn. The more of them there are, the "
    "shorter is the turn and the longer the wait for the next, by which L's latency and T's "
    "throughput suffer. With priority for L the throughput of T is near zero.",
    groups=(
        group(FAIR, (*SOLITARY, *(beside(n, "all poll") for n in COUNTS)), RUNTIME_S, FAIR_S),
        group(AS_CFS, tuple(turns(n) for n in COUNTS), LONGER_S),
        group(PRIORITY, tuple(beside(n, f"L with niceness {FIRST}", nice(FIRST))
                              for n in COUNTS), LONGER_S)),
    checks=(
        at_most(f"{FAIR}: turn of an L, {FOUR} against {ONE}", longer("run_us", FAIR, FOUR, ONE),
                0.7, controls.instead(FAIR, AS_CFS), paper="shrinks",
                deviation=Deviation(0.8, 1.3, said(
                    "EEVDF does not share out a period among all that can run, as CFS did: a "
                    "turn is of one length however many there are, {:.2f} ms of one L beside T",
                    of_l("run_us", FAIR, ONE) / 1000))),
        at_most(f"{AS_CFS}: turn of an L, {FOUR} against {ONE}",
                longer("run_us", AS_CFS, FOUR, ONE), 0.7, exchanged(ONE, FOUR), paper="shrinks"),
        *(at_least(f"{run}: wait for the next turn, {FOUR} against {ONE}",
                   longer("gap_us", run, FOUR, ONE), low, exchanged(ONE, FOUR), paper="grows")
          for run, low in ((FAIR, 2), (AS_CFS, 1.2))),
        at_least(f"{FAIR}: p99 of L, {ONE} beside T against alone",
                 of_l("p99_us", FAIR, ONE) / of_l("p99_us", FAIR, ALONE), 5,
                 instead(ONE, ALONE), paper=5),
        at_least(f"{FAIR}: p99 of L, {FOUR} against {ONE}", longer("p99_us", FAIR, FOUR, ONE),
                 2, exchanged(ONE, FOUR), paper=22),
        at_least(f"{FAIR}: mean of L, {FOUR} against {ONE}", longer("mean_us", FAIR, FOUR, ONE),
                 1.5, exchanged(ONE, FOUR), paper="grows"),
        at_least(f"{FAIR}: T alone against beside {ONE}", lost(ONE), 1.8, instead(ONE, T_ALONE),
                 paper="2.4"),
        at_least(f"{FAIR}: T alone against beside {FOUR}", lost(FOUR), 4, exchanged(ONE, FOUR),
                 paper="6.2"),
        at_most(f"{PRIORITY}: p99 of L, {ONE} beside T against alone",
                of_l("p99_us", PRIORITY, ONE) / of_l("p99_us", FAIR, ALONE), 1.3,
                controls.instead(PRIORITY, FAIR), paper="as alone"),
        *(at_most(f"{PRIORITY}: T beside {cell} against alone", 1 / lost(cell, PRIORITY), 0.05,
                  swap(PRIORITY, AS_CFS), paper="near 0", wanders=True)
          for cell in BESIDE.values()),
        at_least(f"{PRIORITY}: mean of L, {FOUR} against {ONE}",
                 longer("mean_us", PRIORITY, FOUR, ONE), 2, exchanged(ONE, FOUR), paper="grows"),
    ),
    panels=(
        *(Panel(f"{run}: turns of an L", "us", tuple(
            Series(what, [(cell, of_l(name, run, cell)) for cell in BESIDE.values()])
            for what, name in (("run", "run_us"), ("wait", "gap_us")))) for run in (FAIR, AS_CFS)),
        *(Panel(f"{what} of L", "us", tuple(
            Series(run, [(count, of_l(name, run, cell)) for count, cell in BESIDE.items()])
            for run in (FAIR, AS_CFS, PRIORITY)), kind="lines", x="L applications", log_y=True)
          for what, name in (("mean", "mean_us"), ("p99", "p99_us"), ("p99.9", "p999_us"))),
        Panel("T's reads of 64 KiB, against alone", "", tuple(
            Series(run, [(count, 1 / lost(cell, run)) for count, cell in BESIDE.items()])
            for run in (FAIR, AS_CFS, PRIORITY)), kind="lines", x="L applications"),
    ),
    columns=COLUMNS,
    notes=(APPLICATIONS,
           "The guest's scheduler is EEVDF (Linux 6.12); the paper's was CFS. "
           f"In '{AS_CFS}' each thread asks (sched_setattr) for a share of {CFS_US // 1000} ms, as "
           "CFS would have given it.", TICKS,
           "Run and wait are CPU time and time without the CPU by changes of context, as the "
           "guest's kernel counts both for each thread (getrusage); the paper took them from a "
           "trace of the scheduler.",
           f"'{PRIORITY}' is the paper's SPDK+priority: L's niceness is {FIRST}, T's 0. "
           + ONE_AFTER,
           f"In a turn under {FAIR} an L does fewer than a hundred reads, so that the wait for the "
           f"next is seen at the 99th percentile, as in the paper; in '{AS_CFS}' it does more, and "
           "the wait is beyond it."),
)

# ---- Figure 3(c): an L of higher priority that sleeps once it has submitted ----

SLEEPS = (0, 5, 10, 25, 50, 100, 200)
RESTING = {us: f"{us} us" for us in SLEEPS}
NONE, BRIEF, LONGEST = RESTING[0], RESTING[10], RESTING[200]
#: Longer than a read takes.
LONG = tuple(cell for us, cell in RESTING.items() if us > READ_US)


def resting(us: int) -> Workload:
    """One L that sleeps for so long, beside T."""
    rests = f"sleeps for {us} us once it has submitted" if us else "polls all the time"
    return both(RESTING[us], f"L, niceness {FIRST}, {rests}, beside T",
                latency(1, f"{nice(FIRST)}{asleep(us)}"), throughput())


FIG3C = Figure(
    "blk-fig3c", "blk-switch", "Polling with priority: L that sleeps", "section 2.2, Figure 3(c)",
    "Beside an L of higher priority that polls, T starves. If L sleeps after submission T gets the "
    "CPU meanwhile: the longer, the more throughput it has, and the higher is L's latency.",
    groups=(group(PRIORITY, (*SOLITARY, *(resting(us) for us in SLEEPS)), LONGER_S),),
    checks=(
        at_most("T beside an L that polls, against alone", t_left(PRIORITY, NONE), 0.05,
                exchanged(NONE, LONGEST), paper="near 0"),
        at_least("T, least step to a longer sleep",
                 least_step([t_left(PRIORITY, cell) for cell in RESTING.values()]), 1.001,
                 exchanged(BRIEF, LONGEST), paper="rises"),
        at_least(f"T beside an L that sleeps for {LONGEST}, against alone",
                 t_left(PRIORITY, LONGEST), 0.8, exchanged(NONE, LONGEST)),
        *(at_least(f"{what} of L, least step to a longer sleep, from {LONG[0]} on",
                   least_step([of_l(name, PRIORITY, cell) for cell in LONG]), 1.1,
                   exchanged(LONG[0], LONGEST), paper="rises")
          for what, name in (("mean", "mean_us"), ("p99", "p99_us"))),
        at_least(f"mean of L that sleeps for {BRIEF}, against one that polls",
                 of_l("mean_us", PRIORITY, BRIEF) / of_l("mean_us", PRIORITY, NONE), 1.1,
                 exchanged(NONE, LONGEST), paper="rises", deviation=Deviation(0.98, 1.099, said(
                     "the read itself takes longer than that, and L, asleep meanwhile, is awake in "
                     "time: with its niceness it takes the CPU from T at once, but for a few reads "
                     "(the longest takes {:.0f} us). Until then a sleep costs L nothing and gives "
                     "T {:.0f} % of its throughput alone", of_l("max_us", PRIORITY, BRIEF),
                     t_left(PRIORITY, BRIEF) * 100))),
        at_most("p99 of L that polls, against alone",
                of_l("p99_us", PRIORITY, NONE) / of_l("p99_us", PRIORITY, ALONE), 1.3,
                exchanged(NONE, LONGEST), paper="as alone"),
    ),
    panels=(
        here("T's reads of 64 KiB, against alone", "",
             [(us, t_left(PRIORITY, cell)) for us, cell in RESTING.items()], kind="lines",
             x="L sleeps for, us"),
        *over(PRIORITY, RESTING, "L sleeps for, us"),
    ),
    columns=COLUMNS,
    notes=(APPLICATIONS, ONE_AFTER,
           f"L's niceness is {FIRST}, T's 0; the scheduler is EEVDF (Linux 6.12), the paper's was "
           "CFS. L sleeps from its submission on (clock_nanosleep) and polls for what is then left "
           "of the read.", TICKS),
)

# ---- Figure 3(d): the niceness of an L that polls ------------------------

NICENESS = (-20, -15, -10, -5, 0)
NICE = {niceness: f"nice {niceness}" for niceness in NICENESS}
HIGHEST, EQUAL = NICE[-20], NICE[0]
#: The weights that Linux gives to them (sched_prio_to_weight), and what T is left of the CPU.
WEIGHTS = {-20: 88761, -15: 29154, -10: 9548, -5: 3121, 0: 1024}
SHARES = {niceness: WEIGHTS[0] / (WEIGHTS[0] + weight) for niceness, weight in WEIGHTS.items()}


def at(niceness: int) -> Workload:
    """One L of this niceness beside T."""
    return both(NICE[niceness], f"L, niceness {niceness}, beside T, niceness 0; both poll",
                latency(1, nice(niceness)), throughput())


FIG3D = Figure(
    "blk-fig3d", "blk-switch", "Polling with priority: L's niceness", "section 2.2, Figure 3(d)",
    "The scheduler gives turns by niceness: from -20, with which T starves, to 0 L gets a smaller "
    "and smaller share of the CPU, and T more throughput, at the cost of L's latency.",
    groups=(group(FAIR, (*SOLITARY, *(at(n) for n in NICENESS)), LONGER_S, FAIR_S),),
    checks=(
        at_most(f"T beside L, {HIGHEST}, against alone", t_left(FAIR, HIGHEST), 0.05,
                exchanged(HIGHEST, EQUAL), paper="near 0"),
        at_least("T, least step to a higher niceness",
                 least_step([t_left(FAIR, cell) for cell in NICE.values()]), 1.1,
                 exchanged(HIGHEST, EQUAL), paper="rises"),
        at_least("mean of L, least step to a higher niceness",
                 least_step([of_l("mean_us", FAIR, cell) for cell in NICE.values()]), 1.001,
                 exchanged(HIGHEST, EQUAL), paper="rises"),
        at_least(f"p99 of L, {EQUAL} against {HIGHEST}",
                 of_l("p99_us", FAIR, EQUAL) / of_l("p99_us", FAIR, HIGHEST), 5,
                 exchanged(HIGHEST, EQUAL), paper="rises"),
        at_most(f"p99 of L, {HIGHEST}, against alone",
                of_l("p99_us", FAIR, HIGHEST) / of_l("p99_us", FAIR, ALONE), 1.3,
                exchanged(HIGHEST, EQUAL), paper="as alone"),
    ),
    panels=(
        Panel("T's reads of 64 KiB, against alone", "", (
            Series("here", [(n, t_left(FAIR, cell)) for n, cell in NICE.items()]),
            Series("share by weight", [(n, SHARES[n]) for n in NICE], paper=True)),
            kind="lines", x="L's niceness"),
        *over(FAIR, NICE, "L's niceness", log_y=True),
    ),
    columns=COLUMNS,
    notes=(APPLICATIONS, ONE_AFTER,
           "The scheduler is EEVDF (Linux 6.12), which takes its weights from the niceness as the "
           "paper's CFS did; hollow is the share that they leave to T.", TICKS,
           "A turn of T makes one of L's reads wait; at which percentile that is seen depends on "
           "how many reads L does until the next."),
)
