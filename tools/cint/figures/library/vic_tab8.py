# SPDX-License-Identifier: GPL-2.0-or-later
"""vIC, Table 8, Figures 3 and 4: a database with transactions as TPC-C has them."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from cint.device import logpage, scale
from cint.errors import CintError
from cint.figures import arrays, programs, reading
from cint.figures.checks import Check, Deviation, at_least, at_most, within
from cint.figures.columns import CPU, MEAN, Column
from cint.figures.controls import instead, swap
from cint.figures.figure import COST_NS, Figure, Group, Panel, Run, here
from cint.figures.reading import Booted
from cint.figures.values import Data, Expr, said, shortened, value
from cint.guest import agent
from cint.timeline.events import PREFIX, fields

EVENTS = (f"{PREFIX}post", f"{PREFIX}irq")
#: As many disks as the paper's array has.
MEDIA = "custom:read-latency=2ms,write-latency=500us,jitter=500us,units=45"
OFF, FOUR, TWO = "default", "threshold 4", "threshold 2"
RUNS = (Run(OFF), *(Run(f"{arrays.POLICY},cif-threshold={n}", name)
                    for n, name in ((4, FOUR), (2, TWO))))
NAMES = (OFF, FOUR, TWO)
LOAD, DISK, OVER_TIME = "load", "load.disk", "over time"
RATE = "throughput_per_s"
#: Table 8: transactions, I/Os and interrupts a second (thousands), latency in ms.
PAPER = {RATE: (43.3, 44.6, 45.5), "iops": (10.2, 10.4, 10.5), "irqs": (9.9, 6.4, 5.8),
         "mean_us": (7.7, 8.5, 9.2)}


# ---- R over time ----

def ratios(log: str, first: float, last: float, period: float) -> list[float]:
    """R in each period of the device's time (ns) that has completions.

    That is the interrupts for those that R is about: the others, of a time with few commands in
    flight or few of them a second, have one each, by whose reason they are known.
    """
    counts = [Counter[str]() for _ in range(int((last - first) / period))]
    for line in log.splitlines():
        name, event = fields(line) or ("", {})
        if name not in ("post", "irq") or event.get("cqid", "0") == "0":
            continue
        number = int((int(event["at"]) - first) // period)
        if 0 <= number < len(counts):
            low = name == "irq" and event["reason"].startswith("low-")
            counts[number]["low" if low else name] += 1
    return [n["irq"] / (n["post"] - n["low"]) if n["post"] > n["low"] else 1.0
            for n in counts if n["post"]]


def told(boot: Booted, data: Data) -> None:
    """The program's numbers, the CPU time of a transaction, and R, epoch by epoch.

    R's distribution and its course are curves, of all seeds.
    """
    reading.told(boot, data)
    work, = boot.settings.workloads
    period = scale.apply("device", "cint.epoch", 1e9 * arrays.EPOCH_S, boot.settings.k)
    every: list[float] = []
    for point, seed in zip(data.cells[boot.name][work.name], boot.seeds, strict=True):
        behind = _behind(agent.parse_snapshot(boot.message(work, seed).get("before")))
        first, last = (1e9 * point[edge] + behind for edge in ("began", "ended"))
        found = ratios(boot.log, first, last, period)
        point.update(_spread(found), cpu_us=point["cpu_percent"] * 1e4 / point[RATE])
        every += found
    data.curves[boot.name] = {
        work.name: [[shortened(r), 100 * (n + 1) / len(every)]
                    for n, r in enumerate(sorted(every))],
        OVER_TIME: [[float(n), 100 * shortened(r)] for n, r in enumerate(every)]}


def _behind(look: agent.Snapshot) -> int:
    """How many ns the device's clock is before the guest's, which the program's times are of."""
    if look.nvme_log is None:
        raise CintError("the guest's snapshot has no log page D0h")
    return logpage.decode(look.nvme_log).time_ns - look.monotonic_ns


def _spread(found: Sequence[float]) -> dict[str, float]:
    if not found:
        raise CintError("no completion in the trace of the measured time")
    return {"epochs": float(len(found)), "r_median": statistics.median(found),
            "r_least": min(found), "r_most": max(found)}


# ---- checks ----

#: What is compared: the value, its cell, and its words.
MEASURED = {RATE: (RATE, LOAD), "iops": (RATE, DISK), "irqs": ("interrupts_per_s", DISK),
            "mean_us": ("mean_us", DISK)}


def of(what: str, run: str) -> Expr:
    name, cell = MEASURED[what]
    return value(name, run, cell)


def ratio(what: str, run: str, base: str = OFF) -> Expr:
    return of(what, run) / of(what, base)


def paper(what: str, run: str, base: str = OFF) -> float:
    numbers = dict(zip(NAMES, PAPER[what], strict=True))
    return round(numbers[run] / numbers[base], 3)


def busy(run: str) -> Expr:
    return value("cpu_percent", run, LOAD)


def in_flight(run: str) -> Expr:
    """Commands in flight on average, by Little's law."""
    return of("iops", run) * of("mean_us", run) / 1e6


#: Of the CPU time of a transaction, what its messages take without vIC beside their handler, in %.
MESSAGES = of("irqs", OFF) / of(RATE, OFF) * (100 * COST_NS / 1e3) / value("cpu_us", OFF, LOAD)


def slower(run: str, low: float, high: float) -> Deviation:
    return Deviation(low, high, said(
        "without vIC all messages of a transaction take {:.1f} % of its CPU time beside their "
        "handler's, where each is an exit of the paper's guest; and clients whose completions are "
        "held leave the CPU idle, which is busy for {:.0f} % of the time in place of {:.0f} "
        f"({run}). Seeds differ by more than the paper's gain",
        MESSAGES, busy(run), busy(OFF)))


def fewer(low: float, high: float) -> Deviation:
    return Deviation(low, high, (
        "I/Os follow transactions: all runs have as many clients, the paper more under vIC"))


def more_of(run: str, known: Mapping[str, Deviation], latency: Check) -> tuple[Check, ...]:
    """Checks against the run without vIC."""
    return (
        at_least(f"{run}: transactions against default", ratio(RATE, run), 1.01, swap(OFF, run),
                 paper=paper(RATE, run), deviation=known[RATE]),
        at_most(f"{run}: interrupts a second against default", ratio("irqs", run), 0.75,
                swap(OFF, run), paper=paper("irqs", run)),
        at_least(f"{run}: I/Os a second against default", ratio("iops", run), 1, swap(OFF, run),
                 paper=paper("iops", run), deviation=known["iops"]),
        latency,
    )


def longer(run: str, **more: Any) -> Check:
    more = {"control": swap(OFF, run), **more}
    return at_least(f"{run}: latency of an I/O against default", ratio("mean_us", run), 1.0001,
                    paper=paper("mean_us", run), **more)


FIGURE = Figure(
    "vic-tab8", "apps", "A database with transactions as TPC-C has them",
    "section 4.4, Table 8, Figures 3 and 4",
    "Under many users vIC takes a third of the interrupts away, and the CPU time does more "
    "transactions; the lower the threshold, the more. R follows the bursts of the load.",
    groups=(Group(RUNS, (programs.part("orders", LOAD, "100 clients of the database",
                                       programs.described("orders").run, 30),),
                  MEDIA, trace=EVENTS, read=told),),
    checks=(
        *more_of(FOUR, {RATE: slower(FOUR, 0.8, 1.0099), "iops": fewer(0.8, 1.05)},
                 longer(FOUR, control=instead(OFF, TWO), deviation=Deviation(0.95, 1.07, said(
                     "a completion is held for {:.0f} us on average, of an I/O's {:.0f}; the "
                     "paper's rise is of more users", value("hold_us", FOUR, LOAD),
                     of("mean_us", FOUR))))),
        *more_of(TWO, {RATE: slower(TWO, 0.7, 0.98), "iops": fewer(0.7, 0.96)}, longer(TWO)),
        at_least("transactions, threshold 2 against 4", ratio(RATE, TWO, FOUR), 1.005,
                 swap(FOUR, TWO), paper=paper(RATE, TWO, FOUR), deviation=slower(TWO, 0.7, 0.99)),
        at_most("interrupts a second, threshold 2 against 4", ratio("irqs", TWO, FOUR), 0.95,
                swap(FOUR, TWO), paper=paper("irqs", TWO, FOUR)),
        within("threshold 4: median of R over the epochs", value("r_median", FOUR, LOAD), 0.2, 0.5,
               instead(FOUR, OFF), paper=0.333),
        at_least("threshold 4: the largest R against the least",
                 value("r_most", FOUR, LOAD) / value("r_least", FOUR, LOAD), 12,
                 instead(FOUR, OFF), paper="more than 12", deviation=Deviation(2, 8, said(
                     "R of 1/12 takes 96 commands in flight: {:.0f} are on average, for each "
                     "client has one at most, and waits for locks and the CPU as well",
                     in_flight(FOUR)))),
        within("threshold 4: a completion is held, mean", value("hold_us", FOUR, LOAD), 1, 300,
               instead(FOUR, OFF), paper=200.0, unit="us"),
    ),
    panels=(
        *(here(title, "of default's", [(run, ratio(what, run)) for run in (FOUR, TWO)],
               [(run, paper(what, run)) for run in (FOUR, TWO)])
          for title, what in (("transactions", RATE), ("interrupts a second", "irqs"))),
        Panel("R of an epoch", "% of the epochs", kind="curves",
              x="R", sources=[(run, LOAD) for run in NAMES]),
        Panel("the same, one after another", "R, %", kind="curves", x="epoch",
              sources=[(run, OVER_TIME) for run in NAMES]),
    ),
    columns=(Column("transactions, k/min", RATE, 0.06), Column("k/s", RATE, 1e-3), MEAN,
             Column("interrupts, k/s", "interrupts_per_s", 1e-3),
             Column("I/Os per interrupt", "merged"), CPU,
             Column("CPU of a transaction, us", "cpu_us"), Column("median of R", "r_median"),
             Column("least R", "r_least"), Column("epochs", "epochs")),
    notes=(
        "It is no TPC-C: PostgreSQL and pgbench of the distribution, with five kinds of "
        "transactions in TPC-C's shares over tables of its kinds, with less in them, no keying or "
        "thinking time, and clients that share the CPU with the database. Reads and writes are of "
        "8 KiB and do not go through the page cache (debug_io_direct), of which the database has "
        "24 MiB for some 300 MiB of data.",
        "All runs have 100 clients. The paper has 90 under vIC, which is where its latency and its "
        "I/Os a second come from.",
        "R is the share of an epoch's completions that had an interrupt, by the device's trace, "
        "without those of moments with few commands in flight, which have one each. Epochs are of "
        "50 ms in place of 200 ms.",
        "The array is a medium of 45 units that read in 2 ms and write in .5 ms.",
    ),
)
