# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Table 5: scans of a store as KVell is one, by their length."""

from cint.figures import programs, reading
from cint.figures.checks import Check, Deviation, at_least, at_most, instead, within, wrong
from cint.figures.library.cint_fig23 import NO_HINTS, RATE, RUNS
from cint.figures.model import CPU, Column, Figure, Group, Panel, Series
from cint.figures.values import Cell, said

LENGTHS = (16, 256)
#: Scans a second against cint, as the table has it from more digits.
PAPER_RATIO = {16: {"default": 0.88, "adaptive": 0.95}, 256: {"default": 0.95, "adaptive": 0.97}}

#: As cint-fig23's: keys drawn evenly, at most 48 requests of a worker on the drive.
COMMAND = ("./kvstore run --workload=e --scan={length}-{length} --ops={ops} --warm={warm} "
           "--keys=uniform --depth=48 --percentiles=50 --seed=$SEED $DATA/kv")
#: Some 24000 items of each length, after a tenth as many that are not counted.
OPS = {16: 1500, 256: 100}


def group(length: int) -> Group:
    command = COMMAND.format(length=length, ops=OPS[length], warm=OPS[length] // 10)
    work = programs.part("kvell", f"scan{length}", f"scans of {length} items", command, 15)
    runs = (*RUNS, NO_HINTS) if length == LENGTHS[0] else RUNS
    return Group(runs, (work,), prefix=f"{length}/", read=reading.told)


GROUPS = tuple(group(length) for length in LENGTHS)


def of(length: int, operation: str = "") -> Cell:
    return Cell(f"scan{length}{operation}", f"{length}/", "cint")


def of_length(length: int) -> tuple[Check, ...]:
    name = f"{length} items"
    return (
        at_most(f"{name}: scans a second, default against cint", of(length).ratio(RATE, "default"),
                0.99, instead(f"{length}/default", f"{length}/cint"),
                paper=PAPER_RATIO[length]["default"]),
        within(f"{name}: scans a second, adaptive against cint", of(length).ratio(RATE, "adaptive"),
               0.93, 1.05, instead(f"{length}/adaptive", f"{length}/default"),
               paper=PAPER_RATIO[length]["adaptive"]),
        at_least(f"{name}: I/Os that the guest handles with an interrupt, cint",
                 of(length)("ios_per_irq", "cint"), 10,
                 instead(f"{length}/cint", f"{length}/default")),
        within(f"{name}: items verified for each that was scanned",
               of(length)("verified", "cint") / (of(length, ".scan")("ios", "cint") * length), 0.95,
               1.05, wrong(1.2)),
    )


FIGURE = Figure(
    "cint-tab5", "apps", "Scans of a store as KVell is one", "section 5.4.2, Table 5",
    "A scan ends with the last of its reads, which may be several batches later. With an "
    "interrupt for a batch the store serves more of them than with one for each read; what finds "
    "the end of a burst by a gap serves nearly as many. The longer the scan, the less that gains.",
    groups=GROUPS,
    checks=(
        *(check for length in LENGTHS for check in of_length(length)),
        at_least("default against cint: scans of 256 items against those of 16",
                 of(256).ratio(RATE, "default") / of(16).ratio(RATE, "default"), 1.04, wrong(2),
                 paper=1.08, deviation=Deviation(0.9, 1.0399, said(
                     "what an interrupt for each read costs is CPU time of workers and "
                     "clients, who share one CPU: it is busy for {:.0f} % of the time with scans "
                     "of 16 items and for {:.0f} % with those of 256. In the paper clients have "
                     "four CPUs of their own, and long scans queue in the application; guests with "
                     "more were not tried",
                     of(16)("cpu_percent", "default"), of(256)("cpu_percent", "default")))),
        at_least("16 items: interrupts for a Barrier, of cint's", of(16)("reason.barrier", "cint"),
                 0.2, instead("16/cint", "16/cint, no hints")),
    ),
    panels=(
        Panel("scans a second, of cint's", "ratio", [
            one for policy in ("default", "adaptive") for one in (
                Series(policy, [(n, of(n).ratio(RATE, policy)) for n in LENGTHS]),
                Series(f"{policy}, paper", [(n, PAPER_RATIO[n][policy]) for n in LENGTHS],
                       paper=True))]),
    ),
    columns=(Column("scans and inserts, k/s", RATE, 1e-3), Column("mean, us", "mean_us"),
             Column("I/Os handled per interrupt", "ios_per_irq"),
             Column("messages for an I/O", "irqs_per_io"), CPU,
             Column("I/Os of a batch", "batch"), Column("verified", "verified"),
             Column("read again at the end", "audited")),
    notes=(
        "The store is [cint-fig23](#cint-fig23)'s, and so is what is said of it there. YCSB's E: "
        "of 20 operations 19 scan and one inserts.",
        "Each item of a scan is a request of its own to the worker that has it.",
        "The paper has 26.2 thousand scans of 16 items a second with cint and 1.6 of 256: on six "
        "cores, and with an Optane drive of its own.",
    ),
)
