# SPDX-License-Identifier: GPL-2.0-or-later
"""The device's counts by class of I/O, where the guest has queues for each (`--steering`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cint.measure import sampling
from cint.results import table

HEAD = ("policy", "workload", "class", "commands", "KiB each", "wait, us", "interrupts",
        "I/Os per irq")
NAMES = {"l": "L", "t": "T"}


@dataclass(frozen=True)
class Line:
    """One class of one workload under one policy. What nothing came of is None."""

    policy: str
    workload: str
    name: str
    commands: float
    kib: float | None
    wait_us: float | None
    interrupts: float
    ios_per_irq: float | None

    def cells(self) -> list[str]:
        """The cells in the order of HEAD."""
        return [self.policy, self.workload, self.name, f"{self.commands:.0f}",
                *(table.number(value) for value in (self.kib, self.wait_us)),
                f"{self.interrupts:.0f}", table.number(self.ios_per_irq)]


def collect(rows: Sequence[sampling.Row]) -> list[Line]:
    """The counts of all rows; a row of a single job has none."""
    found = []
    for row in rows:
        for name, counts in row.classes.items():
            commands = counts["commands"] or 0
            kib = (counts["bytes"] or 0) / 1024 / commands if commands else None
            found.append(Line(row.policy, row.workload, NAMES[name], commands, kib,
                              counts["wait_us"], counts["interrupts"] or 0,
                              counts["ios_per_irq"]))
    return found


def format_lines(rows: Sequence[sampling.Row], paint: table.Paint = table.plain) -> list[str]:
    """The table as lines of at most 120 columns; empty without queues by class."""
    found = collect(rows)
    if not found:
        return []
    title = "by class of I/O, as the device counts (wait: from doorbell to fetch)"
    return ["", paint(title, "bold"), paint(_line(HEAD), "dim"),
            *(_line(one.cells()) for one in found)]


def _line(words: Sequence[str]) -> str:
    policy, workload, name, *numbers = words
    return (f"{table.cut(policy, table.MAX_NAME):{table.MAX_NAME}} {table.cut(workload, 12):12} "
            f"{name:5}" + "".join(f"{n:>13}" for n in numbers))
