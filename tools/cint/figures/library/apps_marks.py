# SPDX-License-Identifier: GPL-2.0-or-later
"""A program that marks its own I/O: what that gains over the kernel's marks."""

from cint.figures import programs, reading
from cint.figures.checks import at_least, instead, within, wrong
from cint.figures.model import NO_HINTS, Column, Figure, Group, Panel, Run, Series
from cint.figures.values import Expr, value
from cint.measure import workloads

#: In the last the guest gives no hints, the program's own neither.
RUNS = (Run("default"), Run("adaptive"), Run("cint"),
        NO_HINTS)
WORK = workloads.of_app(programs.described("marks"))
#: Lookups that somebody waits for, beside a scan: by an io_uring in C, by threads in Python.
LANGUAGES = ("c", "py")


def gain(policy: str, language: str, what: str) -> Expr:
    """Its own marks against the kernel's: of a lookup's time, or of the scan's reads."""
    cell, unit = f"marks.{language}.{what}", "us" if what == "lookup" else "per_s"
    return value(f"marked_{unit}", policy, cell) / value(f"usual_{unit}", policy, cell)


FIGURE = Figure(
    "apps-marks", "apps", "A program that marks its own I/O", "docs/mark-your-io.md",
    "Lookups that somebody waits for run beside a scan that nobody waits for. The program says so "
    "with a flag in each call.",
    groups=(Group(RUNS, (WORK,), read=reading.told),),
    checks=(
        at_least("C: reads of the scan, its own marks against the kernel's, cint",
                 gain("cint", "c", "scan"), 1.1, instead("cint", "default")),
        within("C: time of a lookup, its own marks against the kernel's, cint",
               gain("cint", "c", "lookup"), 0.8, 1.03, wrong(1.5)),
        within("Python: time of a lookup, its own marks against the kernel's, cint",
               gain("cint", "py", "lookup"), 0.8, 1.03, wrong(1.5)),
        within("Python: reads of the scan, its own marks against the kernel's, cint",
               gain("cint", "py", "scan"), 0.85, 1.05, wrong(1.5)),
        *(within(f"{policy}, which reads no marks: reads of the scan in C, marked against usual",
                 gain(policy, "c", "scan"), 0.97, 1.03, instead(policy, "cint"))
          for policy in ("default", "adaptive")),
        at_least("commands that are Urgent, cint", value("hint.urgent", "cint", "marks"), 0.05,
                 instead("cint", "cint, no hints")),
        at_least("time of a marked lookup in C, adaptive against cint",
                 value("marked_us", "adaptive", "marks.c.lookup")
                 / value("marked_us", "cint", "marks.c.lookup"), 2),
    ),
    panels=tuple(
        Panel(title, "its own marks against the kernel's", tuple(
            Series(policy, [(language, gain(policy, language, what)) for language in LANGUAGES])
            for policy in ("default", "adaptive", "cint")))
        for title, what in (("time of a lookup", "lookup"), ("reads of the scan", "scan"))),
    columns=(Column("lookup, kernel's marks, us", "usual_us"),
             Column("lookup, its own, us", "marked_us"),
             Column("scan, kernel's marks, k/s", "usual_per_s", 1e-3),
             Column("scan, its own, k/s", "marked_per_s", 1e-3),
             Column("messages for an I/O", "irqs_per_io")),
    notes=(
        "`apps/marks.c` scans by an io_uring that it keeps full, one submission for each read: the "
        "kernel takes each for the end of a batch and interrupts for it. `apps/marks.py` scans by "
        "four threads that wait for each read, which the kernel takes for Urgent. Marked, the scan "
        "is told of in bursts: one that has many reads under way loses nothing by that, threads "
        "that wait for each do.",
    ),
)
