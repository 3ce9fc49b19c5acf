# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of docs/choose.md: a policy for a guest, its load and its medium, with what it gives.

What it gives is computed from the numbers that docs/figures holds, so that the page says what was
measured and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

from cint.errors import CintError
from cint.figures import document
from cint.figures.values import Data


@dataclass(frozen=True)
class Advice:
    """A load on a medium, what to type for it, and the stored runs that show what that gives."""

    load: str
    medium: str
    typed: str
    figure: str
    run: str
    base: str
    cell: str
    #: The job whose latency counts, where it is not the whole workload's.
    waits: str = ""


#: For guests that give hints: this project's kernel, or any with the module.
HINTS = (
    Advice("one read at a time", "7 us", "--policy cint", "cint-fig20", "optane/cint",
           "optane/default", "sync"),
    Advice("batches of 16, nobody waits for one read", "7 us", "--policy cint", "cint-fig20",
           "optane/cint", "optane/default", "async"),
    Advice("the same", "flash, 80 us", "--policy cint", "cint-fig20", "p3700/cint",
           "p3700/default", "async"),
    Advice("threads that wait beside others' batches", "7 us", "--policy cint:delta=12us",
           "timers", "cint 12 us", "default", "mixed"),
    Advice("the same, and the others may wait long", "7 us", "--policy cint+ooo:delta=12us",
           "timers", "cint+ooo 12 us", "default", "mixed"),
    Advice("a realtime class and the rest, several CPUs", "7 us",
           "--policy split:l=cint,t=adaptive --steering prio", "blk-matrix", "split, prio",
           "default, off", "both", waits="both.latency"),
)
#: For guests that give none: a distribution's kernel as it is, Windows.
NO_HINTS = (
    Advice("batches of 16, nobody waits for one read", "7 us", "--policy adaptive", "cint-fig20",
           "optane/adaptive", "optane/default", "async"),
    Advice("the same", "flash, 80 us", "--policy adaptive", "cint-fig20", "p3700/adaptive",
           "p3700/default", "async"),
    Advice("one read at a time", "7 us", "--policy adaptive: take default instead", "cint-fig20",
           "optane/adaptive", "optane/default", "sync"),
    Advice("one read at a time", "flash, 80 us", "--policy adaptive: take default instead",
           "cint-fig20", "p3700/adaptive", "p3700/default", "sync"),
    Advice("threads that wait beside others' batches", "7 us", "--policy static:time=10us",
           "timers", "timer 10 us", "default", "mixed"),
    Advice("you do not know: one read at a time", "7 us", "--policy auto", "auto-grid", "auto",
           "default", "sync"),
    Advice("or batches of 16", "7 us", "--policy auto", "auto-grid", "auto", "default",
           "batches of 16"),
    Advice("or 32 reads in flight, submitted one by one", "7 us", "--policy auto", "auto-grid",
           "auto", "default", "libaio 32"),
    Advice("or threads that wait beside others' batches", "7 us", "--policy auto", "auto-grid",
           "auto", "default", "mixed"),
    Advice("or the same", "flash, 80 us", "--policy auto", "auto-grid", "p3700/auto",
           "p3700/default", "mixed"),
)
#: Where a CPU may be spent on looking for completions.
POLLED = (
    Advice("one read at a time, a CPU to spare", "7 us", "--polling ours", "poll-choice",
           "7 us/ours", "7 us/irq", "alone"),
    Advice("the same", "20 us", "--polling ours", "poll-choice", "20 us/ours", "20 us/irq",
           "alone"),
    Advice("the same", "80 us", "--polling ours", "poll-choice", "80 us/ours", "80 us/irq",
           "alone"),
    Advice("eight readers on one CPU", "7 us", "--polling ours", "poll-choice", "ours", "irq",
           "8 readers"),
)


def _middle(data: Data, run: str, cell: str, name: str) -> float:
    found = sorted(point[name] for point in data.cells[run][cell])
    return found[len(found) // 2]


def _ratio(data: Data, one: Advice, cell: str, name: str) -> str:
    base = _middle(data, one.base, cell, name)
    return f"{_middle(data, one.run, cell, name) / base:.2f}" if base else "-"


def _row(one: Advice) -> str:
    entry = document.stored(one.figure)
    if entry is None:
        raise CintError(f"docs/figures has no {one.figure}", hint="./cint figure --docs makes it")
    data = Data.from_dict(entry["data"])
    try:
        iops = _ratio(data, one, one.cell, "iops")
        mean = _ratio(data, one, one.waits or one.cell, "mean_us")
        irqs = _ratio(data, one, one.cell, "device_irqs")
        cpu = _ratio(data, one, one.cell, "cpu_percent")
    except KeyError as lost:
        raise CintError(f"docs/figures/{one.figure}.json: there is no {lost}") from None
    typed, _, instead = one.typed.partition(":") if ": " in one.typed else (one.typed, "", "")
    shown = f"`{typed}`" + (f" (not here:{instead})" if instead else "")
    return (f"| {one.load} | {one.medium} | {shown} | {iops} | {mean} | {irqs} | {cpu} "
            f"| [{one.figure}](figures.md#{one.figure}) |")


def table(advice: tuple[Advice, ...]) -> str:
    """The advice with what the stored runs say of it."""
    head = ("| load | medium | type | reads a second | latency of who waits | interrupts a second "
            "| CPU | measured in |")
    return "\n".join([head, "|---" * 8 + "|", *map(_row, advice)]) + "\n"
