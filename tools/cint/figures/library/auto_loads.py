# SPDX-License-Identifier: GPL-2.0-or-later
"""Policy auto, whose guests give no hints, over the loads that it has to tell apart by itself."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from cint.figures import jobs, traces
from cint.figures.checks import Check, Deviation, at_least, at_most, within
from cint.figures.columns import CPU, IOPS, IRQS, MEAN, P99, P999, Column
from cint.figures.controls import Control, instead, mistaken, swap
from cint.figures.figure import Figure, Group, Panel, Run, Series
from cint.figures.values import Expr, against, least, most, value
from cint.measure import workloads
from cint.measure.workloads import COMMON, Workload

#: A thread that computes between its reads, and one whose reads go through the page cache, where
#: each has another buffer.
THINKS = "thinktime=15us\n"
BUFFERED = "direct=0\nfadvise_hint=random\n"


def reader(name: str, more: str = "") -> str:
    """A section of a thread that reads and waits."""
    return workloads.sync_job(name) + more


def beside(name: str, title: str, waiting: str) -> Workload:
    """``waiting`` beside libaio at depth 16, whose reads the guest's kernel does not mark."""
    return Workload(name, f"{title} beside libaio at depth 16, one by one",
                    COMMON + waiting + workloads.async_job(16, 1, 1, workloads.UNMARKED),
                    latency_job="sync", split=True)


SYNC = jobs.SYNC
SYNC_4 = jobs.sync(4, "sync 4")
BATCHES = (jobs.aio(16, 4, 4, "batches of 4"), jobs.aio(256, 16, 16, "batches of 16"))
LIBAIO = tuple(jobs.aio(depth, 1, 1, f"libaio {depth}") for depth in (2, 8, 32, 256))
MIXED = jobs.mix(16, 1, 1)
THINK = Workload("think", "two threads that read and wait; one thinks for 15 us in between",
                 COMMON + reader("fast") + reader("sync", THINKS), latency_job="sync", split=True)
CROWD = beside("crowd", "four threads that read and wait",
               reader("sync", "numjobs=4\ngroup_reporting\n"))
CACHED = beside("buffered", "a thread that reads through the page cache and waits",
                reader("sync", BUFFERED))
BURSTS = Workload("bursts", "libaio at depth 32 that rests for 0.1 ms after 32 reads",
                  COMMON + workloads.async_job(32, 1, 1)
                  + "thinktime=100us\nthinktime_blocks=32\n")
URING = Workload("io_uring", "io_uring, depth 32, one by one",
                 COMMON + workloads.async_job(32, 1, 1).replace("libaio", "io_uring"))
FIXED = Workload("io_uring fixed", "io_uring with fixed buffers, depth 32, one by one",
                 URING.template + "fixedbufs=1\n")
#: A thread on one CPU and a job on another.
APART = Workload("apart", "a thread that reads and waits, and on another CPU libaio at depth 16",
                 COMMON + reader("sync")
                 + workloads.async_job(16, 1, 1, workloads.UNMARKED) + "cpus_allowed=1\n",
                 latency_job="sync", split=True)
THREADS = tuple(jobs.sync(count, f"sync {count}") for count in (2, 8, 16))
#: Where all wait, where nobody waits for one of them alone, and where some do.
WAITING = (SYNC, SYNC_4)
ASYNC = (*BATCHES, *LIBAIO, BURSTS)
TOGETHER = (MIXED, THINK, CROWD, CACHED)
#: On a medium that takes ten times as long.
SLOW_LOADS = (LIBAIO[2], MIXED)

DEFAULT = Run("default", hints=False)
ADAPTIVE = Run("adaptive", hints=False)
#: The guest says who waits.
HINTS = Run("cint:drain=on", "hints")
AUTO = Run("auto", hints=False)
RUNS = (DEFAULT, ADAPTIVE, HINTS, AUTO)
#: Others than those that the policy's parameters were chosen by.
SEEDS = (4, 5, 6)


# ---- claims, of runs whose names begin with ``prefix`` -----------------------

def waiting(work: Workload) -> str:
    """The cell of the thread that waits."""
    return f"{work.name}.{work.latency_job}"


def to_hints(name: str, cell: str, prefix: str = "") -> Expr:
    return against(name, f"{prefix}auto", f"{prefix}hints", cell)


def _default_and_hints(name: str, cell: str, prefix: str) -> list[Expr]:
    return [value(name, f"{prefix}{run}", cell) for run in ("default", "hints")]


#: So few are in flight that adaptive has fewer reads.
_HELD = ("sync", "sync 2", "sync 4", "sync 8", "libaio 2", "libaio 8")


def _fewer_reads(work: Workload, prefix: str, fewest: Workload | None) -> Control:
    """Who has fewer reads than default and hints: adaptive, who waits of all, or the job that has
    the fewest of its guest.
    """
    if fewest is None or work.name in _HELD:
        return _in_place_of_auto(prefix, "adaptive")
    cell = waiting(work) if work.latency_job else fewest.name
    return mistaken(*(value("iops", f"{prefix}auto", name) for name in (work.name, cell)))


def floor(work: Workload, prefix: str = "", fewest: Workload | None = SYNC) -> Iterator[Check]:
    """No worse than the worse of those that it stands between."""
    reads = _default_and_hints("iops", work.name, prefix)
    yield at_least(f"{prefix}{work.name}: reads, auto against the worse of default and hints",
                   value("iops", f"{prefix}auto", work.name) / least(reads), 0.95,
                   _fewer_reads(work, prefix, fewest))
    if work.latency_job:
        cell = waiting(work)
        times = _default_and_hints("mean_us", cell, prefix)
        yield at_most(
            f"{prefix}{work.name}: who waits, auto against the worse of default and hints",
            value("mean_us", f"{prefix}auto", cell) / most(times), 1.05,
            _in_place_of_auto(prefix, "adaptive"))


#: So many wait that adaptive has its threshold at once, and no policy is slower than hints; so few
#: are in flight that auto interrupts for each.
_FULL, _FEW = ("sync 16",), ("libaio 2",)


def _in_place_of_auto(prefix: str, other: str) -> Control:
    return instead(f"{prefix}auto", f"{prefix}{other}")


def all_wait(work: Workload, prefix: str = "") -> Iterator[Check]:
    """Checks that auto is as fast as with hints."""
    yield at_most(f"{prefix}{work.name}: latency, auto against hints",
                  to_hints("mean_us", work.name, prefix), 1.03, _slower(prefix, work.name))


def _slower(prefix: str, name: str) -> Control:
    """Where adaptive is as fast as auto, who is slower than both stands in."""
    if name in _FULL:
        return swap(f"{prefix}hints", f"{prefix}auto")
    return instead(f"{prefix}auto", f"{prefix}adaptive")


def nobody_waits(work: Workload, prefix: str = "") -> Iterator[Check]:
    """Checks of as many reads as with hints, for as few interrupts."""
    yield at_least(f"{prefix}{work.name}: reads, auto against hints",
                   to_hints("iops", work.name, prefix), 0.97,
                   _in_place_of_auto(prefix, "adaptive" if work.name in _FEW else "default"))
    yield at_most(f"{prefix}{work.name}: interrupts, auto against hints",
                  to_hints("device_irqs", work.name, prefix), 1.15,
                  instead(f"{prefix}hints", f"{prefix}adaptive") if work.name in _FEW
                  else _in_place_of_auto(prefix, "default"))


def some_wait(work: Workload, prefix: str = "", bound: float = 1.10) -> Iterator[Check]:
    """Who waits is as fast as with hints; where that is to be exact, for as few interrupts."""
    exact = bound < 1.10
    yield at_most(f"{prefix}{work.name}: who waits, auto against hints",
                  to_hints("mean_us", waiting(work), prefix), bound,
                  _in_place_of_auto(prefix, "adaptive"))
    if exact:
        yield at_most(f"{prefix}{work.name}: interrupts a read, auto against hints",
                      to_hints("irqs_per_io", work.name, prefix), 1.15,
                      _in_place_of_auto(prefix, "default"))


def expecting(checks: Iterable[Check], known: Mapping[str, Deviation]) -> tuple[Check, ...]:
    """The checks, with what is known of some that do not hold, by their names."""
    return tuple(replace(check, deviation=known.get(check.name)) for check in checks)


# ---- load by load --------------------------------------------------------

SLOW = "p3700/"
#: Where that does not hold, by the check's name. What delta and thr are worth as they are tuned is
#: in auto-ablation, "no tuning".
KNOWN: Mapping[str, Deviation] = {
    "libaio 8: reads, auto against hints": Deviation(0.92, 0.9699, (
        "delta as it is tuned is too long for a job of eight on a drive that spreads: the CPU is "
        "idle for a tenth of the time. Without tuning it has 345 thousand reads, as with hints, "
        "for 95 thousand interrupts in place of 90")),
    "buffered: who waits, auto against hints": Deviation(1.0501, 1.25, (
        "delta as it is tuned is too long for who waits beside eight reads: without tuning it is "
        "14.2 to 14.7 us, at as many interrupts as with hints; tuned 15.1 to 17.1 at 0.7 of them")),
}


Loads = Sequence[tuple[str, Workload]]


def alike(works: Iterable[Workload]) -> Loads:
    """Loads of the runs whose names have no prefix."""
    return [("", work) for work in works]


def drawn(busy: Loads, waits: Loads, runs: Sequence[str] = ("adaptive", "hints", "auto"),
          base: str = "default") -> tuple[Panel, ...]:
    """Drawings: reads and interrupts of those with many in flight, the latency of who waits."""
    def bars(name: str, works: Loads, of_waiting: bool) -> tuple[Series, ...]:
        return tuple(Series(run, [(f"{prefix}{work.name}", against(
            name, f"{prefix}{run}", f"{prefix}{base}",
            waiting(work) if of_waiting and work.latency_job else work.name))
            for prefix, work in works]) for run in runs)

    return tuple(Panel(title, f"ratio to {base}", bars(name, works, of_waiting))
                 for title, name, works, of_waiting in (
                     ("many in flight: reads a second", "iops", busy, False),
                     ("many in flight: interrupts a second", "device_irqs", busy, False),
                     ("who waits: mean latency", "mean_us", waits, True),
                     ("who waits: interrupts a second of all", "device_irqs", waits, False)))


ALL = (*WAITING, *ASYNC, *TOGETHER)

GRID = Figure(
    "auto-grid", "auto", "auto, load by load",
    "not a figure of a paper; cinterrupts, section 3, says that a device cannot know who waits",
    "The guest says nothing. With auto who waits has the latency that hints of the guest's kernel "
    "give, and a job with many reads in flight has its reads for fewer interrupts.",
    groups=(Group(RUNS, ALL, seeds=SEEDS),
            Group(RUNS, SLOW_LOADS, media="p3700", prefix=SLOW, seeds=SEEDS)),
    checks=expecting((
        *(check for work in WAITING for check in all_wait(work)),
        *(check for work in ASYNC for check in nobody_waits(work)),
        *(check for work in TOGETHER for check in some_wait(
            work, bound=1.05 if work in {MIXED, CACHED} else 1.10)),
        *(check for work in ALL for check in floor(work)),
        *(check for work in SLOW_LOADS
          for check in floor(work, SLOW, None if work in ASYNC else SYNC)),
    ), KNOWN),
    panels=drawn(alike(ASYNC), alike((*WAITING, *TOGETHER))),
    columns=(IOPS, MEAN, P99, P999, IRQS, CPU),
    notes=("hints is cint with drain: the guest's kernel says who waits. The other rows are of "
           "guests that say nothing.",
           "Seeds are others than those that the policy's parameters were chosen by."),
    left_out=("the distribution's own kernel: not measured with this figure. io_uring, several "
              "CPUs and queues, media gen2 and jittered are in auto-machines, loads that change "
              "in auto-learning",),
)

# ---- on other media and machines, and with other ways to do I/O ----------

GEN2, JITTER, ONE_SQ, TWO_SQS = "gen2/", "jitter/", "one SQ/", "two SQs/"


def group(prefix: str, *works: Workload, media: str = "optane", vcpus: int = 1,
          device_opts: str = "") -> Group:
    return Group(RUNS, works, media=media, prefix=prefix, vcpus=vcpus, device_opts=device_opts,
                 seeds=SEEDS)


RINGS = (URING, FIXED)
MANY = (("", URING), ("", FIXED), (GEN2, LIBAIO[2]), (JITTER, LIBAIO[2]))
SOME = ((GEN2, MIXED), (JITTER, MIXED), (JITTER, CACHED), (ONE_SQ, APART), (TWO_SQS, APART))
WAIT = (*(("", work) for work in THREADS), (GEN2, SYNC), (JITTER, SYNC))

MACHINES = Figure(
    "auto-machines", "auto", "auto, on other media and machines",
    "not a figure of a paper",
    "On other media, with several CPUs and queues and with io_uring it is as on the machine of "
    "auto-grid.",
    groups=(
        group("", *RINGS, *THREADS),
        group(GEN2, SYNC, LIBAIO[2], MIXED, media="gen2"),
        group(JITTER, SYNC, LIBAIO[2], MIXED, CACHED, media="optane:spread=0,jitter=2252ns"),
        group(ONE_SQ, APART, vcpus=2, device_opts="max_ioqpairs=1"),
        group(TWO_SQS, APART, vcpus=2),
    ),
    checks=(
        *(check for prefix, work in WAIT for check in all_wait(work, prefix)),
        *(check for prefix, work in MANY for check in nobody_waits(work, prefix)),
        *(check for prefix, work in SOME for check in some_wait(
            work, prefix, 1.05 if work in {MIXED, CACHED} else 1.10)),
        *(check for prefix, work in (*WAIT, *MANY, *SOME)
          for check in floor(work, prefix, SYNC if prefix else THREADS[0])),
    ),
    panels=drawn(MANY, (*WAIT, *SOME)),
    columns=(IOPS, MEAN, P99, P999, IRQS, CPU),
    notes=("hints is cint with drain: the guest's kernel says who waits. The other rows are of "
           "guests that say nothing. Seeds are those of auto-grid.",),
    left_out=("more than two CPUs and queues, and the distribution's own kernel: not measured",),
)

# ---- what each part of it is worth: the same loads without it ------------

BUFFERS, CONTENT, TUNE, DRAIN, PRICE = WITHOUT = (
    Run("cint:infer=content,tune=on,drain=on", "no buffers", hints=False),
    Run("cint:infer=learn,tune=on,drain=on", "no content", hints=False),
    Run("cint:infer=both,drain=on", "no tuning", hints=False),
    Run("cint:infer=both,tune=on,drain=off", "no drain", hints=False),
    Run("price:infer=both", "price", hints=False),
)


def ratio(name: str, run: Run, cell: str) -> Expr:
    return against(name, run.title, "auto", cell)


def as_it_is(run: Run) -> Control:
    """Nothing left out."""
    return instead(run.title, "auto")


ABLATION = Figure(
    "auto-ablation", "auto", "auto, with a part left out",
    "not a figure of a paper",
    "Buffers, tuning and drain are each worth something, in one load or another. The rule of the "
    "price of an interrupt, in place of delta and thr, holds who waits for too long.",
    groups=(Group((DEFAULT, HINTS, AUTO, *WITHOUT), ALL, seeds=SEEDS),),
    checks=(
        at_least("mixed: who waits, without buffers", ratio("mean_us", BUFFERS, "mixed.sync"),
                 1.08, as_it_is(BUFFERS)),
        at_least("mixed: interrupts, without tuning", ratio("device_irqs", TUNE, "mixed"), 1.1,
                 as_it_is(TUNE)),
        at_least("bursts: interrupts, without tuning", ratio("device_irqs", TUNE, "bursts"), 1.15,
                 as_it_is(TUNE)),
        at_most("bursts: reads, without drain", ratio("iops", DRAIN, "bursts"), 0.92,
                as_it_is(DRAIN)),
        at_most("libaio 32: reads, without drain", ratio("iops", DRAIN, "libaio 32"), 0.97,
                as_it_is(DRAIN)),
        within("mixed: reads, without content", ratio("iops", CONTENT, "mixed"), 0.99, 1.01,
               instead(CONTENT.title, BUFFERS.title)),
        at_least("sync: latency, by the price", ratio("mean_us", PRICE, "sync"), 1.15,
                 as_it_is(PRICE)),
        at_least("mixed: who waits, by the price", ratio("mean_us", PRICE, "mixed.sync"), 1.03,
                 as_it_is(PRICE)),
        at_least("libaio 32: interrupts, by the price", ratio("device_irqs", PRICE, "libaio 32"),
                 1.8, as_it_is(PRICE)),
    ),
    panels=drawn(alike(ASYNC), alike((*WAITING, *TOGETHER)), [run.title for run in WITHOUT],
                 "auto"),
    notes=("All numbers are against auto. no buffers: cint with infer=content, whose lone command "
           "is Urgent; no content: infer=learn; no tuning: delta and thr as set; no drain; price: "
           "policy price with infer=both, in place of delta and thr.",
           "Loads are reads alone, so content changes none of them; what is made durable is what "
           "it is for.",
           "Without tuning eight reads in flight, and who waits beside them by buffered reads, are "
           "served better: delta as it is tuned is too long there. Four threads that all wait have "
           "0.86 to 1.09 times the reads without buffers, by seed."),
    columns=(IOPS, MEAN, P99, P999, IRQS, CPU),
)

# ---- how long it takes to learn who waits, and what it does when that changes ----

#: Each of the phases, which are other processes with other buffers; fio's runtime is a group's.
_TIMED = "time_based\nruntime={runtime_us}us\n"
DEEP = workloads.async_job(32, 1, 1) + _TIMED
WAITS_ALONE = workloads.sync_job() + _TIMED


def phase(section: str, name: str) -> str:
    """A section that begins when the one before has ended."""
    return f"[{name}]\nstonewall\n{section.partition(chr(10))[2]}"


PHASES = jobs.few("phases", "libaio at depth 32, a thread that waits, and both again",
                  phase(DEEP, "many"), phase(WAITS_ALONE, "alone"), phase(DEEP, "again"),
                  phase(WAITS_ALONE, "last"))
LEARNERS = (DEFAULT, ADAPTIVE, AUTO)
FIRST = (LIBAIO[2], LIBAIO[3], MIXED)
LEARNED = (*(work.name for work in FIRST), PHASES.name)
#: Where it takes longer.
KNOWN_LATER = {FIRST[1].name: Deviation(5.001, 12, (
    "each of 256 buffers has to be used six times, which takes 4.9 ms at default's 315 thousand "
    "reads a second; after 5 ms it is at twice what it comes to, and the last few take longer"))}

LEARNING = Figure(
    "auto-learning", "auto", "auto, from the first command on",
    "not a figure of a paper",
    "A job is known within 5 ms of its first command, whatever was before it.",
    groups=(Group(LEARNERS, (*FIRST, PHASES), seeds=SEEDS, runtime_s=0.05, trace=traces.EVENTS,
                  read=traces.learning),),
    checks=(
        *(at_most(f"{cell}: learned after", value("learned_ms", "auto", cell), 5,
                  instead(cell, FIRST[0 if cell in KNOWN_LATER else 1].name),
                  unit="ms", deviation=KNOWN_LATER.get(cell)) for cell in LEARNED),
        *(at_least(f"{cell}: interrupts for an I/O in the first {traces.WINDOW_US / 1000:g} ms, "
                   "auto against default",
                   against("first_irqs_per_io", "auto", "default", cell), 0.4,
                   instead("auto", "adaptive")) for cell in LEARNED),
        *(at_most(f"{cell}: interrupts for an I/O once it is learned, auto against default",
                  against("steady_irqs_per_io", "auto", "default", cell), 0.35,
                  instead("auto", "default")) for cell in LEARNED),
    ),
    panels=tuple(
        Panel(title, "interrupts for an I/O, log", kind="curves", log_y=True,
              x="ms since the first command", sources=[(run.title, cell) for run in LEARNERS])
        for cell, title in zip(LEARNED, (
            "libaio at depth 32", "libaio at depth 256", "a thread that waits beside libaio",
            "libaio at depth 32, a thread that waits, again"), strict=True)),
    columns=(Column("learned after, ms", "learned_ms"),
             Column("interrupts for an I/O, first 0.5 ms", "first_irqs_per_io"),
             Column("interrupts for an I/O, steady", "steady_irqs_per_io")),
    notes=("Learned is from where interrupts for an I/O are within 1.25 times what they are in the "
           "second half; of phases, the one that took longest counts. Each phase has 50 ms, and is "
           "another fio process with other buffers.",),
)
