# SPDX-License-Identifier: GPL-2.0-or-later
"""Ordinary jobs under the kernel's usual marks, against the policies that look at none."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from cint.figures import jobs
from cint.figures.checks import Check, Deviation, at_least
from cint.figures.controls import Control, instead
from cint.figures.figure import Figure, Group, Panel, Run, Series
from cint.figures.values import Expr, least, most, said, value
from cint.measure.workloads import Workload

ENGINES = ("libaio", "io_uring")
DEPTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
BATCHES = (1, 2, 4, 8, 16, 32)
THREADS = tuple(range(1, 9))
MEDIA = ("optane", "p3700")
#: The kernel marks what ends a wait, and the device drains.
HINTS = Run("cint", "hints", extras="device")
#: The kernel marks the end of every batch, and each such mark interrupts.
LITERAL = Run("cint", "literal")
PLAIN = (Run("default", hints=False), Run("adaptive", hints=False))
RUNS = (*PLAIN, HINTS, LITERAL)
#: By medium: a lone reader has a thousand reads or more.
RUNTIME_S = {"optane": 0.05, "p3700": 0.1}
NOTES = (
    "hints is cint as the device has it (drain on), in a guest whose kernel marks what ends a wait "
    "(`block.irq_hints=511`). literal is cint with drain off, and the end of every submission "
    "marked (1535): each such mark is an interrupt. default and adaptive are in guests without "
    "hints.",
    "What is compared of a job is the worse of two ratios, its reads a second and, the other way "
    "round, its mean latency, each to the better of default and adaptive.",
)
#: What a job under the marks may lack of the better of default and adaptive.
SHARE = 0.97


@dataclass(frozen=True)
class Cell:
    """A job with so many reads in flight: ``batch`` submitted at once, ``fewest`` waited for.

    Under psync ``depth`` is threads, each of which waits for its read.
    """

    engine: str
    depth: int
    batch: int = 1
    fewest: int = 1

    @property
    def name(self) -> str:
        """The name of its row."""
        if self.batch == 1:
            return f"{self.engine} {self.depth}"
        return f"{self.engine} {self.depth} by {self.batch}, min {self.fewest}"

    @property
    def workload(self) -> Workload:
        """The fio job."""
        if self.engine == "psync":
            return jobs.sync(self.depth, self.name)
        return jobs.aio(self.depth, self.batch, self.fewest, self.name, engine=self.engine)


def cells(engine: str) -> Iterator[Cell]:
    """All of an engine's: a batch is at most as large as the depth, and waits for one or all."""
    if engine == "psync":
        yield from (Cell(engine, threads) for threads in THREADS)
        return
    for depth in DEPTHS:
        for batch in BATCHES:
            if batch <= depth:
                yield from (Cell(engine, depth, batch, fewest) for fewest in sorted({1, batch}))


def groups(chosen: Sequence[Cell], seeds: Sequence[int],
           media: Sequence[str] = MEDIA,
           runtime_s: Mapping[str, float] = MappingProxyType(RUNTIME_S),
           runs: Sequence[Run] = RUNS) -> tuple[Group, ...]:
    """A guest for each run on each medium, which does all of these jobs."""
    return tuple(Group(runs, [cell.workload for cell in chosen], media=medium,
                       prefix=f"{medium}/", seeds=seeds, runtime_s=runtime_s[medium])
                 for medium in media)


def of_best(media: str, run: str, cell: Cell) -> Expr:
    """The worse of throughput and mean latency, as a share of the better of the plain policies."""
    def of(name: str, which: str) -> Expr:
        return value(name, f"{media}/{which}", cell.name)

    def plain(name: str) -> list[Expr]:
        return [of(name, policy.title) for policy in PLAIN]

    return least([of("iops", run) / most(plain("iops")),
                  least(plain("mean_us")) / of("mean_us", run)])


def to_literal(media: str, chosen: Sequence[Cell]) -> Expr:
    """The job with the smallest share of what it has under literal marks."""
    return least([value("iops", f"{media}/{HINTS.title}", cell.name)
                  / value("iops", f"{media}/{LITERAL.title}", cell.name) for cell in chosen])


BOTH = ("two policies are the better one, each in one measure: there are more reads than with "
        "default, and each of default's takes a little less long")
BATCH = ("the batch is told of at its end, when all of it has to be reaped; "
         "default's earlier ones let the guest reap while the rest is with the medium")

RHYTHM = ("there are as many reads in each seed, and in one of them the job settles in a rhythm in "
          "which its median takes longer and its 99th percentile less long")


def marking(job: str, plain: str) -> Deviation:
    """Both are short of CPU, and have as many interrupts: what is missing is what marks take."""
    def cpu(run: str) -> Expr:
        return value("cpu_per_io_us", f"optane/{run}", job)

    return Deviation(0.95, 0.985, said(
        f"the CPU is busy all the time, with as many interrupts as under {plain}: finding out who "
        "waits takes {:.0f} ns of it for each read", (cpu(HINTS.title) - cpu(plain)) * 1e3))


#: Jobs that miss it, by medium and name.
KNOWN: Mapping[str, Deviation] = {
    **{f"optane/{job}": marking(job, plain) for job, plain in (
        ("libaio 256", "adaptive"), ("io_uring 256", "adaptive"))},
    "optane/libaio 256 by 32, min 1": Deviation(0.9, 0.99, RHYTHM),
    "optane/libaio 8 by 8, min 8": Deviation(0.82, 0.86, BATCH),
    "optane/io_uring 32 by 8, min 1": Deviation(0.94, 0.9699, BOTH),
    "optane/io_uring 8 by 8, min 8": Deviation(0.85, 0.89, BATCH),
    "p3700/libaio 8 by 4, min 4": Deviation(0.93, 0.96, BATCH),
    "p3700/libaio 32 by 8, min 8": Deviation(0.89, 0.95, BATCH),
    "p3700/io_uring 8 by 4, min 4": Deviation(0.935, 0.965, BATCH),
    "p3700/io_uring 32 by 8, min 8": Deviation(0.89, 0.93, BATCH),
}


#: From so many reads in flight on default is the worse of the plain policies, below it adaptive.
MANY = {"optane": 32, "p3700": 256}


def worse(medium: str, cell: Cell) -> Control:
    """The worse of the plain policies in place of hints."""
    plain = PLAIN[0 if cell.depth >= MANY[medium] else 1]
    return instead(f"{medium}/{HINTS.title}", f"{medium}/{plain.title}")


def checks(chosen: Sequence[Cell], media: Sequence[str] = MEDIA,
           known: Mapping[str, Deviation] = KNOWN) -> Iterator[Check]:
    """A check for each job on each medium, and one for all of a medium's against literal marks."""
    for medium in media:
        for cell in chosen:
            name = f"{medium}/{cell.name}"
            yield at_least(f"{name}: the worse of reads and mean latency, hints against the better "
                           "of default and adaptive", of_best(medium, HINTS.title, cell), SHARE,
                           worse(medium, cell), deviation=known.get(name))
        name = f"{medium}: reads, hints against literal, the least of all jobs"
        yield at_least(name, to_literal(medium, chosen), SHARE,
                       instead(f"{medium}/{HINTS.title}", f"{medium}/{PLAIN[0].title}"),
                       deviation=known.get(name))


# ---- the figure: a part of the grid, with three seeds --------------------

#: One by one, at depths a factor of four or eight apart.
LONE = (1, 2, 8, 32, 256)
#: Depth, and how many are submitted at once.
BATCHED = ((8, 4), (8, 8), (32, 8), (256, 32))


def chosen(engine: str) -> tuple[Cell, ...]:
    return (*(Cell(engine, depth) for depth in LONE),
            *(Cell(engine, depth, batch, fewest)
              for depth, batch in BATCHED for fewest in (1, batch)))


CHOSEN = (*(Cell("psync", threads) for threads in (1, 2, 4, 8)),
          *(cell for engine in ENGINES for cell in chosen(engine)))


def panel(media: str, engine: str) -> Panel:
    """How a job that submits one by one fares, by its depth."""
    return Panel(f"{media}, {engine}, one by one", "against the better of default and adaptive",
                 tuple(Series(run.title, [(depth, of_best(media, run.title,
                                                          Cell(engine, depth)))
                                          for depth in LONE]) for run in (HINTS, LITERAL)),
                 kind="lines", x="reads in flight", log_x=True)


FIGURE = Figure(
    "marks-grid", "marks", "Ordinary jobs under the kernel's marks",
    "not a figure of a paper; cinterrupts, section 3.4, has batches whose end is waited for",
    "A job that keeps many reads in flight and waits for any of them has no fewer reads, and none "
    "that take longer, than under the better of default and adaptive.",
    groups=groups(CHOSEN, (1, 2, 3)),
    checks=tuple(checks(CHOSEN)),
    panels=tuple(panel(media, engine) for media in MEDIA for engine in ENGINES),
    notes=NOTES,
    left_out=("the depths, batches and threads between these (146 jobs are all of depths 1 to 256 "
              "and batches 1 to 32 by powers of two, and of 1 to 8 threads), and other media: not "
              "measured",),
)
