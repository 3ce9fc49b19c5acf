# SPDX-License-Identifier: GPL-2.0-or-later
"""SPDK with interrupts, section 5.1: what a process that sleeps has of one that polls.

The paper's three ways: poll; sleep until the next completion; sleep until so many (k). They are the
driver's modes ``poll`` and ``coalesced``, on the policy ``pointer``; the last two differ in k, and
in nothing else. In the paper's system that is SPDK on a simulated Z-SSD.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cint.figures import reading
from cint.figures.checks import Check, Deviation, at_least, at_most, near, several, within
from cint.figures.columns import CPU, IOPS, IRQS, MEAN, MERGED, P99, P999, Column
from cint.figures.controls import Control, instead, mistaken, swap
from cint.figures.figure import Figure, Group, Panel, Run, Series
from cint.figures.values import Expr, least, most, said, value
from cint.measure.workloads import Workload, common

#: The paper's values of one load: by way, at its depths.
Paper = Mapping[str, Sequence[float]]
MEDIA = "zssd"
#: What rows call them: the driver's mode. The paper's names are polling, single-interrupt and
#: interrupt-coalescing mode.
POLL, SINGLE, COALESCED = "poll", "coalesced, k = 1", "coalesced"
WAYS = (POLL, SINGLE, COALESCED)
#: Seconds of each job: some 2000 I/Os of 128 KiB, so that those in flight at its ends do not
#: matter, and some ten thousand of 4 KiB.
LARGE_S, SMALL_S = 0.1, 0.02
#: Where the thread's CPU time counts, which fio has in whole ms of the guest's.
TIMED_S = 0.1
#: The paper's CPU (arm_test.sh of its published simulator): AtomicSimpleCPU at 3.2 GHz, which
#: executes an instruction in each cycle. An interrupt costs its instructions there, and no more.
CPU_SCALE, COST_NS = 3.2, 0
COLUMNS = (IOPS, CPU, IRQS, MERGED)
TIMED = (*COLUMNS, Column("CPU time of the thread, %", "thread_percent"),
         Column("the thread leaves the CPU, k/s", "switches_per_s", 1e-3))
ENGINE = ("fio is the same program under every way, with the engine cintio on the driver in "
          "userspace/ in place of SPDK; one thread, one CPU, a virtual IOMMU. What an interrupt "
          "costs beyond the guest's own instructions is spent by the engine when it is woken.")
MODES = ("Rows have the names of the driver's modes. The paper's single-interrupt mode is "
         f"'{SINGLE}', its interrupt-coalescing mode '{COALESCED}', with k as there: of 2, 8 and "
         "32 in flight 1, 2 and 8, of 16, 64 and 256 in flight 2, 8 and 32.")
ARM = ("The paper's machine is gem5's AtomicSimpleCPU at 3.2 GHz (arm_test.sh, published with it), "
       "whose memory takes no time: an instruction a cycle, and an interrupt costs its "
       f"instructions. Here that is a guest of {CPU_SCALE:g} instructions a ns (--cpu-scale "
       f"{CPU_SCALE:g}) without an added cost of interrupts, in place of the calibrated machine of "
       "other figures. It is an x86 with one CPU, the paper's an ARM with four.")
TIME = ("The CPU time is the thread's own, which fio says (usr and sys), and that is where the "
        "paper has its CPU usage from: its scripts (gem5_config, published with its SPDK) keep "
        "what fio prints, and nothing else. The interrupt's handler is not in it, nor what the CPU "
        "takes to fall asleep and to wake up; the column CPU has all of it.")


@dataclass(frozen=True)
class Load:
    """A job of the paper: how it reads or writes, and at which depths it waits for how many."""

    name: str
    rw: str
    bs: str
    batches: tuple[tuple[int, int], ...]

    @property
    def bytes(self) -> int:
        """The size of one I/O."""
        return int(self.bs.removesuffix("k")) << 10

    @property
    def prefix(self) -> str:
        """The values of all loads of this size."""
        return f"{self.bs}/"

    def run(self, way: str) -> str:
        """A figure's name for the guest that does it in this way."""
        return self.prefix + way

    def cell(self, depth: int) -> str:
        """A figure's name for it."""
        return f"{self.name} {depth}"

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of all depths."""
        return tuple(self.cell(depth) for depth, _ in self.batches)

    @property
    def largest(self) -> str:
        """The cell of the largest depth."""
        return self.cells[-1]

    def job(self, depth: int, least: int) -> Workload:
        """The job at a depth, which waits for at least so many."""
        return Workload(
            self.cell(depth), f"{self.bs} {self.rw}, depth {depth}",
            _head(self.rw, self.bs, "gtod_reduce=1\n") + "[job]\nioengine=libaio\n"
            f"iodepth={depth}\niodepth_batch_complete_min={least}\n"
            f"iodepth_batch_complete_max={depth}\n")

    def jobs(self, batched: bool) -> list[Workload]:
        """The jobs at all depths; batched: as many at once as in the paper, else one."""
        return [self.job(depth, least if batched else 1) for depth, least in self.batches]


def _head(rw: str, bs: str, more: str = "") -> str:
    return common("{runtime_us}us", "{ramp_us}us", seed="{seed}", filename="{device}", rw=rw,
                  bs=bs, more=f"{more}exec_prerun={{pre}}\nexec_postrun={{post}}\n")


_LARGE, _SMALL = ((2, 1), (8, 2), (32, 8)), ((16, 2), (64, 8), (256, 32))
SEQREAD = Load("seqread", "read", "128k", _LARGE)
SEQWRITE = Load("seqwrite", "write", "128k", _LARGE)
RANDREAD = Load("randread", "randread", "4k", _SMALL)
RANDWRITE = Load("randwrite", "randwrite", "4k", _SMALL)
LARGE, SMALL = (SEQREAD, SEQWRITE), (RANDREAD, RANDWRITE)
LOADS = (*LARGE, *SMALL)


def way(name: str) -> Run:
    """A run of one of them."""
    return Run("pointer", name, engine="user:poll" if name == POLL else "user:coalesced")


def on_arm(group: Group) -> Group:
    """The group on the paper's machine."""
    return replace(group, cpu_scale=CPU_SCALE, cost_ns=COST_NS)


def throughput() -> tuple[Group, ...]:
    """The guests of Figures 3 and 4."""
    return tuple(
        on_arm(Group(tuple(way(name) for name in ways),
                     [job for load in loads for job in load.jobs(batched)], MEDIA, loads[0].prefix,
                     runtime_s=TIMED_S, read=reading.threads))
        for loads in (LARGE, SMALL)
        for ways, batched in (((POLL, SINGLE), False), ((COALESCED,), True)))


def timed(name: str, title: str, rw: str, bs: str, options: str) -> Workload:
    """A job that notes how long each I/O takes."""
    return Workload(name, title, f"{_head(rw, bs)}[job]\nioengine=libaio\n{options}")


def lone(load: Load) -> Workload:
    """One I/O at a time."""
    return timed(load.name, f"{load.bs} {load.rw}, depth 1", load.rw, load.bs, "iodepth=1\n")


def of(load: Load, name: str, way: str, cell: str) -> Expr:
    """A value of one of its cells."""
    return value(name, load.run(way), cell)


def rate(load: Load, way: str, depth: int) -> Expr:
    """MB/s."""
    return of(load, "iops", way, load.cell(depth)) * (load.bytes / 1e6)


def panel(load: Load, y: str, values: Mapping[str, Sequence[Expr]],
          paper: Paper) -> Panel:
    """A drawing of one load over the depth, with the paper's values."""
    depths = [depth for depth, _ in load.batches]
    return Panel(f"{load.bs} {load.rw}", y, (
        *(Series(name, list(zip(depths, values[name], strict=True))) for name in values),
        *(Series(f"{name}, paper", list(zip(depths, paper[name], strict=True)), paper=True)
          for name in paper)), kind="lines", x="I/Os in flight", log_x=True)


def other_way(load: Load, way: str, cell: str) -> Control:
    """Reads in place of writes, or writes in place of reads."""
    other, = {*(LARGE if load in LARGE else SMALL)} - {load}
    return mistaken(of(load, "iops", way, cell),
                    of(other, "iops", way, other.cells[load.cells.index(cell)]))


# ---- 5.1.1: the driver against the kernel's, at full throughput ----------

KERNEL = "libaio"


def _full(load: Load, low: float, high: float) -> Deviation:
    """One CPU does not manage through the kernel what the medium could."""
    cell = load.largest
    return Deviation(low, high, said(
        "through the kernel an I/O takes {:.1f} us of CPU time: the only CPU is busy for {:.0f} % "
        "of the time with {:.0f} thousand a second, of which the medium could {:.0f}",
        of(load, "cpu_per_io_us", KERNEL, cell), of(load, "cpu_percent", KERNEL, cell),
        of(load, "iops", KERNEL, cell) / 1000, of(load, "iops", POLL, cell) / 1000))


FULL = {RANDREAD: _full(RANDREAD, 1.7, 2.0), RANDWRITE: _full(RANDWRITE, 1.15, 1.4)}


def job(load: Load) -> Workload:
    """The job at its largest depth, as many at once as in the paper."""
    return load.job(*load.batches[-1])


SECTION_5_1_1 = Figure(
    "spdk-5.1.1", "spdk", "The driver against the kernel's", "section 5.1.1",
    "SPDK, polled, and libaio have the same throughput, that of the simulated Z-SSD, and no data "
    "is wrong.",
    groups=tuple(
        on_arm(Group((way(POLL), Run("default", KERNEL)), [job(load) for load in loads],
                     MEDIA, loads[0].prefix, runtime_s=seconds))
        for loads, seconds in ((LARGE, LARGE_S), (SMALL, SMALL_S))),
    checks=(
        several("polled by a process against libaio", [
            within(f"{load.name}: polled by a process against libaio",
                   of(load, "iops", POLL, load.largest) / of(load, "iops", KERNEL, load.largest),
                   0.95, 1.05, swap(load.run(POLL), load.run(KERNEL)) if load in FULL
                   else other_way(load, POLL, load.largest), paper=1.0, deviation=FULL.get(load))
            for load in LOADS]),
        *(within(f"{load.name}: interrupts a second, polled",
                 of(load, "device_irqs", POLL, load.largest), 0, 0,
                 swap(load.run(POLL), load.run(KERNEL))) for load in LOADS),
    ),
    panels=(Panel("throughput", "MB/s", tuple(
        Series(run, [(load.name, of(load, "iops", run, load.largest) * (load.bytes / 1e6))
                     for load in LOADS]) for run in (POLL, KERNEL))),),
    columns=COLUMNS,
    notes=(ENGINE, ARM,
           "Data: `./cint test guest -k test_fio_verifies`, crc32c in all modes, on this medium "
           "and on optane."),
)

# ---- Figure 3: throughput, polled and with interrupts --------------------

#: MB/s, read off the paper's plots: by load and way, at the three depths.
RATES: dict[Load, Paper] = {
    SEQREAD: {POLL: (3170, 3325, 3325), SINGLE: (3100, 3275, 3325), COALESCED: (3100, 3260, 3325)},
    SEQWRITE: dict.fromkeys(WAYS, (2147,) * 3),
    RANDREAD: {POLL: (3005,) * 3, SINGLE: (2770, 2995, 3005), COALESCED: (2770, 2995, 3005)},
    RANDWRITE: dict.fromkeys(WAYS, (2147,) * 3),
}

def against_poll(load: Load, way: str, cell: str) -> Expr:
    """Throughput by that of polling."""
    return of(load, "iops", way, cell) / of(load, "iops", POLL, cell)


FIG3 = Figure(
    "spdk-fig3", "spdk", "Throughput with interrupts and polled", "section 5.1.2, Figure 3",
    "From some number of I/Os in flight on, a process that sleeps until an interrupt has as much "
    "throughput as one that polls; writes at any.",
    groups=throughput(),
    checks=(
        *(within(f"{load.name}, largest depth: {way} against poll",
                 against_poll(load, way, load.largest), 0.98, 1.02,
                 other_way(load, way, load.largest), paper=1.0)
          for load in LOADS for way in (SINGLE, COALESCED)),
        *(within(f"{load.name}, smallest depth: {way} against poll",
                 against_poll(load, way, load.cells[0]), low, 1.02,
                 other_way(load, way, load.cells[0]),
                 paper=round(RATES[load][way][0] / RATES[load][POLL][0], 3))
          for load, low in ((SEQREAD, 0.95), (RANDREAD, 0.85)) for way in (SINGLE, COALESCED)),
        *(within(f"{cell}: {way} against poll", against_poll(load, way, cell), 0.99, 1.01,
                 other_way(load, way, cell), paper=1.0)
          for load in (SEQWRITE, RANDWRITE) for cell in load.cells[:-1]
          for way in (SINGLE, COALESCED)),
        near("seqread 32, polled", rate(SEQREAD, POLL, 32), RATES[SEQREAD][POLL][2], 0.06,
             instead("seqread 32", "seqwrite 32"), unit="MB/s"),
        near("seqwrite 32, polled", rate(SEQWRITE, POLL, 32), 2147, 0.06,
             instead("seqwrite 32", "seqread 32"), unit="MB/s"),
        near("randread 256, polled", rate(RANDREAD, POLL, 256), RATES[RANDREAD][POLL][2],
             0.06, instead("randread 256", "randwrite 256"), unit="MB/s"),
        near("randwrite 256, polled", rate(RANDWRITE, POLL, 256), 2147, 0.06,
             instead("randwrite 256", "randread 256"), unit="MB/s"),
    ),
    panels=tuple(panel(
        load, "MB/s", {way: [rate(load, way, depth) for depth, _ in load.batches]
                       for way in WAYS}, RATES[load]) for load in LOADS),
    columns=COLUMNS,
    notes=(ENGINE, MODES, ARM,
           "The medium is the profile zssd, whose figures are derived from this paper's."),
)

# ---- Figure 4: CPU time, polled, with interrupts, and with fewer of them ----

#: %, read off the paper's plots: by load and way, at the three depths. It is fio's, of the thread.
CPU_TIMES: dict[Load, Paper] = {
    SEQREAD: {SINGLE: (6.2, 4.5, 4.2), COALESCED: (6.2, 4.3, 3.7)},
    SEQWRITE: {SINGLE: (7.2, 7.6, 7.2), COALESCED: (7.2, 5.4, 4.2)},
    RANDREAD: {SINGLE: (72, 69, 71.5), COALESCED: (72, 60, 58)},
    RANDWRITE: {SINGLE: (76.5, 76.5, 77), COALESCED: (76.5, 58, 48)},
}


def cpu(load: Load, way: str, at: int) -> Expr:
    """CPU time of the thread at the depth of this number."""
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
    return near(f"{load.cells[at]}: CPU, {way}", cpu(load, way, at), CPU_TIMES[load][way][at], 0.2,
                _exchanged(load, way, at), unit="%",
                deviation=crowded(load, way, at, *known) if known else None)


#: fio cuts usr and sys to whole ms; see reading.thread_time.
CUT = said(
    f"fio cuts usr and sys to whole ms of the guest's: half a ms of each is added, "
    f"{100 / (1000 * TIMED_S * CPU_SCALE):.2f} points of a job's time. That decides what "
    "is so near to a bound. Without it random writes of k = 8 would have less than is wanted at "
    "depth 64 (with it {:.1f} %), and those of k = 1 at depth 16 no more than is wanted ({:.1f} "
    "%).", cpu(RANDWRITE, COALESCED, 1), cpu(RANDWRITE, SINGLE, 0))

def whole(load: Load, way: str, at: int) -> Expr:
    """All that the CPU is not idle for."""
    return of(load, "cpu_percent", way, load.cells[at])


RANDOM = (RANDREAD, RANDWRITE)
ALL_OF_IT = said(
    "The handler runs on the thread's CPU here, and on any of four in the paper. By all that this "
    "one CPU is not idle for sequential I/O takes {:.1f} % at most. Of random I/O with k = 1 "
    "{:.1f} % and more is taken, and of what holds by the thread's time three numbers "
    "would not: {:.1f} % with writes of k = 1 at depth 256, {:.1f} % with writes of k = 2 at "
    "depth 16 (the thread has {:.1f}), and {:.1f} % with reads of k = 8 at depth 64.",
    most([whole(load, SINGLE, at) for load in (SEQREAD, SEQWRITE) for at in range(3)]),
    least([whole(load, SINGLE, at) for load in RANDOM for at in range(3)]),
    whole(RANDWRITE, SINGLE, 2), whole(RANDWRITE, COALESCED, 0), cpu(RANDWRITE, COALESCED, 0),
    whole(RANDREAD, COALESCED, 1))

FIG4 = Figure(
    "spdk-fig4", "spdk", "CPU time with interrupts and polled", "section 5.1.3, Figure 4",
    "In the paper who sleeps until an interrupt needs 3 to 8 % of the CPU for sequential I/O that "
    "polling needs all of it for, and some 70 % for random I/O of 4 KiB. Who sleeps until several "
    "are done saves up to 25 points more, the more are in flight. Here who asks for the next "
    "completion of random I/O alone leaves none of the CPU: there is no time to fall asleep.",
    groups=throughput(),
    checks=(
        *(at_least(f"{load.name}: CPU, polled", cpu(load, POLL, 2), 99, traded(load, POLL, SINGLE),
                   paper=100, unit="%") for load in LOADS),
        *(at_most(f"{cell}: CPU, {SINGLE}", cpu(load, SINGLE, at), 10,
                  traded(load, POLL, SINGLE), paper=CPU_TIMES[load][SINGLE][at], unit="%")
          for load in (SEQREAD, SEQWRITE) for at, cell in enumerate(load.cells)),
        *(several(f"random reads and writes: CPU, {way}",
                  [small(load, way, at) for load in RANDOM for at in range(3)])
          for way in (SINGLE, COALESCED)),
        *(at_most(f"{load.name}, largest depth: CPU, {COALESCED} against {SINGLE}",
                  cpu(load, COALESCED, 2) / cpu(load, SINGLE, 2), 0.95,
                  traded(load, SINGLE, COALESCED),
                  paper=round(CPU_TIMES[load][COALESCED][2] / CPU_TIMES[load][SINGLE][2], 3))
          for load in LOADS),
        *(at_least(f"{load.name} 256: CPU saved by coalescing",
                   cpu(load, SINGLE, 2) - cpu(load, COALESCED, 2), 10,
                   traded(load, SINGLE, COALESCED),
                   paper=CPU_TIMES[load][SINGLE][2] - CPU_TIMES[load][COALESCED][2], unit="points")
          for load in (RANDREAD, RANDWRITE)),
        *(at_least(f"{cell}: I/Os for each interrupt, coalesced, by what was asked for",
                   of(load, "ios_per_irq", COALESCED, cell) / least, 0.95,
                   mistaken(of(load, "ios_per_irq", COALESCED, cell),
                            of(RANDWRITE, "ios_per_irq", SINGLE, RANDWRITE.cells[0]))
                   if load is RANDREAD and cell == load.cells[0]
                   else instead(load.run(COALESCED), load.run(SINGLE)), paper=1.0)
          for load in LOADS
          for cell, (_, least) in zip(load.cells, load.batches, strict=True) if least > 1),
        *(within(f"{load.name}: interrupts a second, polled",
                 of(load, "device_irqs", POLL, load.largest), 0, 0,
                 instead(load.run(POLL), load.run(SINGLE)))
          for load in LOADS),
    ),
    panels=tuple(panel(load, "CPU, %", {way: [cpu(load, way, at) for at in range(3)]
                                        for way in WAYS}, CPU_TIMES[load]) for load in LOADS),
    columns=TIMED,
    notes=(ENGINE, MODES, ARM, TIME, ALL_OF_IT, CUT),
)

# ---- Figure 5: the latency of one I/O at a time --------------------------

#: us, read off the paper's plot: (polled, with an interrupt).
LATENCIES = {SEQREAD: (40, 42), SEQWRITE: (63, 66), RANDREAD: (13, 15), RANDWRITE: (5, 7)}


def mean(way: str, cell: str) -> Expr:
    return value("mean_us", way, cell)


ADDED = [mean(SINGLE, load.name) - mean(POLL, load.name) for load in LOADS]
MEAN_ADDED = (ADDED[0] + ADDED[1] + ADDED[2] + ADDED[3]) * 0.25

FIG5 = Figure(
    "spdk-fig5", "spdk", "What an interrupt adds to a lone I/O", "section 5.1.4, Figure 5",
    "An interrupt adds about 2 us to an I/O that is alone, whatever its size and direction.",
    groups=(on_arm(Group((way(POLL), way(SINGLE)),
                         [lone(load) for load in LOADS], MEDIA, runtime_s=0.02)),),
    checks=(
        *(near(f"{load.name}, polled", mean(POLL, load.name), LATENCIES[load][0], 0.15,
               instead(load.name, other.name), unit="us")
          for load, other in zip(LOADS, (*LOADS[1:], LOADS[0]), strict=True)),
        within("added by an interrupt, mean of the four", MEAN_ADDED, 1.0, 3.0,
               swap(POLL, SINGLE), paper=2, unit="us"),
        at_most("added by an interrupt: largest less smallest, by the mean",
                (most(ADDED) - least(ADDED)) / MEAN_ADDED, 0.4,
                mistaken(mean(SINGLE, RANDWRITE.name), mean(SINGLE, RANDREAD.name))),
    ),
    panels=(Panel("mean latency", "us", (
        *(Series(way, [(load.name, mean(way, load.name)) for load in LOADS])
          for way in (POLL, SINGLE)),
        *(Series(f"{way}, paper", [(load.name, LATENCIES[load][at]) for load in LOADS], paper=True)
          for at, way in enumerate((POLL, SINGLE))))),),
    columns=(MEAN, P99, P999, CPU),
    notes=(ENGINE, MODES, ARM),
)
