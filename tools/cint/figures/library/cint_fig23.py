# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Figure 23: YCSB on a store as KVell is one."""

from cint.figures import programs, reading
from cint.figures.checks import (
    Check,
    Control,
    Deviation,
    at_least,
    at_most,
    instead,
    swap,
    within,
    wrong,
)
from cint.figures.model import CPU, Column, Figure, Group, Panel, Run, Series
from cint.figures.values import Cell, Expr, least, most, said

#: YCSB's letters. The paper's differ: its D is read-modify-write, its F reads the newest.
WRITES, READS = "af", "bcd"
LETTERS = "abcdf"
Published = dict[str, tuple[float, float, float]]
#: Thousands of requests a second, and the 99th percentile in ms: default, cint, adaptive.
PAPER_RATE: Published = {
    "a": (236, 251, 250), "b": (305, 311, 308), "c": (325, 339, 334), "d": (304, 308, 309),
    "f": (231, 247, 244)}
PAPER_P99: Published = {
    "a": (3.34, 3.13, 3.11), "b": (2.57, 2.52, 2.56), "c": (2.49, 2.42, 2.46),
    "d": (2.61, 2.57, 2.53), "f": (3.47, 3.26, 3.31)}
POLICIES = ("default", "cint", "adaptive")
RATE = "throughput_per_s"

#: Of the paper's run: keys drawn evenly, at most 48 requests of a worker on the drive.
COMMAND = ("./kvstore run --workload={letter} --ops=20000 --warm=4000 --keys=uniform --depth=48 "
           "--percentiles=50,99 --seed=$SEED $DATA/kv")
TIMED = "delta=15us,thr=32"
RUNS = (Run("default"), Run(f"adaptive:{TIMED}", "adaptive"), Run(f"cint:{TIMED}", "cint"))
#: The control: the policy that acts on hints, in a guest that gives none.
NO_HINTS = Run(f"cint:{TIMED},infer=off", "cint, no hints", hints=False)


def group(letter: str) -> Group:
    work = programs.part("kvell", letter, f"YCSB's workload {letter.upper()}",
                         COMMAND.format(letter=letter), 10)
    runs = (*RUNS, NO_HINTS) if letter == "c" else RUNS
    return Group(runs, (work,), prefix=f"{letter}/", read=reading.told)


def of(letter: str) -> Cell:
    return Cell(letter, f"{letter}/")


def published(numbers: Published, policy: str, base: str,
              letter: str) -> float:
    by_policy = dict(zip(POLICIES, numbers[letter], strict=True))
    return round(by_policy[policy] / by_policy[base], 3)


def taken_for(letter: str, policy: str, other: str) -> Control:
    return instead(f"{letter}/{policy}", f"{letter}/{other}")


def of_letter(letter: str) -> tuple[Check, ...]:
    name = letter.upper()
    return (
        at_least(f"{name}: requests a second, cint against default",
                 of(letter).ratio(RATE, "cint", "default"), 1.01,
                 taken_for(letter, "cint", "default"),
                 paper=published(PAPER_RATE, "cint", "default", letter)),
        within(f"{name}: requests a second, adaptive against cint",
               of(letter).ratio(RATE, "adaptive", "cint"), 0.95, 1.05,
               taken_for(letter, "adaptive", "default"),
               paper=published(PAPER_RATE, "adaptive", "cint", letter)),
        at_most(f"{name}: 99th percentile, cint against default",
                of(letter).ratio("p99_us", "cint", "default"), 1,
                taken_for(letter, "cint", "adaptive") if letter in WRITES
                else swap(f"{letter}/cint", f"{letter}/default"),
                paper=published(PAPER_P99, "cint", "default", letter)),
        at_least(f"{name}: I/Os that the guest handles with an interrupt, cint",
                 of(letter)("ios_per_irq", "cint"), 10, taken_for(letter, "cint", "default"),
                 paper="10 and more"),
    )


def gained(letters: str) -> list[Expr]:
    return [of(letter).ratio(RATE, "cint", "default") for letter in letters]


def bars(title: str, y: str, name: str, factor: float,
         paper: Published) -> Panel:
    here = [Series(policy, [(x, of(x)(name, policy) * factor) for x in LETTERS])
            for policy in POLICIES]
    theirs = [Series(f"{policy}, paper", [(x, paper[x][i]) for x in LETTERS], paper=True)
              for i, policy in enumerate(POLICIES)]
    return Panel(title, y, [one for pair in zip(here, theirs, strict=True) for one in pair])


FIGURE = Figure(
    "cint-fig23", "apps", "YCSB on a store as KVell is one", "section 5.4.2, Figure 23",
    "A store that submits reads and writes in batches of tens and waits for each batch: with an "
    "interrupt for the end of a batch it serves more requests than with one for each, with a "
    "lower tail. What finds the end of a burst by a gap serves as many, some percent later.",
    groups=tuple(group(letter) for letter in LETTERS),
    checks=(
        *(check for letter in LETTERS for check in of_letter(letter)),
        at_least("gain of A and F, the least, against that of B, C and D, the most",
                 least(gained(WRITES)) / most(gained(READS)), 1, wrong(2), paper=1.02,
                 deviation=Deviation(0.75, 0.9999, said(
                     "the gain is larger where a request takes less CPU time. The one CPU is busy "
                     "for {:.0f} % of the time in C and for {:.0f} % in A; what a CPU that readers "
                     "leave idle, as the paper's, would change was not tried",
                     of("c")("cpu_percent", "default"), of("a")("cpu_percent", "default")))),
        at_least("mean latency, adaptive against cint, the least of all",
                 least([of(letter).ratio("mean_us", "adaptive", "cint") for letter in LETTERS]),
                 1.03, wrong(2), paper="1.05 to 1.08", deviation=Deviation(0.85, 1.0299, (
                     "while a worker waits for the gap of 15 us that ends its batch, the other "
                     "worker and the clients can have the CPU, of which there is one; guests with "
                     "more were not tried"))),
        at_least("C: interrupts for a Barrier, of cint's", of("c")("reason.barrier", "cint"), 0.2,
                 taken_for("c", "cint", "cint, no hints")),
        within("C: items verified for a request",
               of("c")("verified", "cint") / of("c")("ios", "cint"), 1, 1, wrong(2)),
    ),
    panels=(
        bars("requests", "thousand a second", RATE, 1e-3, PAPER_RATE),
        bars("99th percentile", "ms", "p99_us", 1e-3, PAPER_P99),
    ),
    columns=(Column("requests, k/s", RATE, 1e-3), Column("mean, us", "mean_us"),
             Column("p99, us", "p99_us"), Column("I/Os handled per interrupt", "ios_per_irq"),
             Column("messages for an I/O", "irqs_per_io"), CPU,
             Column("I/Os of a batch", "batch"), Column("verified", "verified"),
             Column("read again at the end", "audited")),
    notes=(
        "The store is this project's own (docs/apps.md says what of KVell it is): 64 MiB of 1 KiB "
        "items with a cache of an eighth, not 80 GB. Each item that is read is verified, by key, "
        "version and checksum, and all of the file before and after each run.",
        "One CPU has two workers and four clients. The paper has two cores for the workers and "
        "four more for the clients.",
        "The letters are YCSB's. The paper's table calls F what reads the newest (here D), and D "
        "read-modify-write (here F); its numbers stand where they belong.",
        "The paper's text has 5 to 8 % more mean latency and 99th percentile for adaptive than for "
        "cint. By the labels of its drawing it is at most 2 %. The text is what is judged.",
        "A batch has up to 48 I/Os and the threshold is 32, as in the paper's run: there are two "
        "interrupts for a batch. Under default the device sends a message for each I/O, of which "
        "the guest handles several at once when it is busy.",
    ),
)
