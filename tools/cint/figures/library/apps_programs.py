# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that people run, under policies, with hints and without."""

from cint.figures import programs, reading
from cint.figures.checks import Check, at_least, at_most, instead, within
from cint.figures.model import CPU, Column, Figure, Group, Panel, Run, Series
from cint.figures.values import Expr, value

#: The files of apps/.
PROGRAMS = ("sqlite", "postgres", "rocksdb", "weights")
#: Each takes a fraction of that, of the guest's clock.
LIMIT_S = 30
DEFAULT, ADAPTIVE, CINT, AUTO = "default", "adaptive", "cint", "auto"
#: In the distribution's kernel, as it is and with the module.
STOCK = "stock/"
MODULE = f"{STOCK}module"
OURS = (Run(DEFAULT), Run(ADAPTIVE), Run(CINT), Run(AUTO, hints=False))
DISTRO = (Run(DEFAULT, hints=False), Run(AUTO, hints=False), Run(CINT, "module"))
#: What each tells: where a larger number is better, and where a smaller one is.
RATES = {"postgres.tpcb-like": "throughput_per_s", "postgres.select-only": "throughput_per_s",
         "rocksdb.readrandom": "throughput_per_s", "rocksdb.readwhilewriting": "throughput_per_s",
         "weights.direct": "rate", "weights.mapped": "rate", "weights.scattered": "rate"}
TIMES = {"sqlite.commit": "mean_us", "sqlite.lookup": "mean_us"}
CELLS = (*TIMES, *RATES)
#: Those whose I/Os somebody waits for one by one.
WAITS = ("sqlite.commit", "rocksdb.readwhilewriting", "weights.scattered")


def groups(program: str) -> tuple[Group, ...]:
    """Each program has a disk of its own."""
    whole = programs.described(program)
    works = (programs.part(program, program, whole.title, whole.run, LIMIT_S),)
    return (Group(OURS, works, prefix=f"{program}/", read=reading.told),
            Group(DISTRO, works, prefix=f"{program}/{STOCK}", read=reading.told, cost_ns=0,
                  guest="distro"))


def run_of(cell: str, run: str) -> str:
    """What the figure calls a run of a cell's program."""
    return f"{cell.split('.')[0]}/{run}"


def speed(cell: str, run: str) -> Expr:
    """How much faster than with default in the same kernel: of a time its inverse."""
    base = STOCK + DEFAULT if run.startswith(STOCK) else DEFAULT
    name = TIMES.get(cell) or RATES[cell]
    ratio = value(name, run_of(cell, run), cell) / value(name, run_of(cell, base), cell)
    return 1 / ratio if cell in TIMES else ratio


def loses_nothing(cell: str, run: str) -> Check:
    return at_least(f"{cell}: speed, {run} against default", speed(cell, run), 0.95,
                    instead(run_of(cell, run), run_of(cell, ADAPTIVE)))


FIGURE = Figure(
    "apps-programs", "apps", "What it does for programs that people run", "docs/apps.md",
    "A program that waits for each of its I/Os has the same from a policy that knows it as from "
    "an interrupt for each, and less from one that does not. It is the same with the kernel's "
    "hints, with the module's, and where the device finds out who waits.",
    groups=tuple(group for program in PROGRAMS for group in groups(program)),
    checks=(),
    panels=(
        Panel("speed", "of default's", tuple(
            Series(run, [(cell, speed(cell, run)) for cell in CELLS])
            for run in (ADAPTIVE, CINT, AUTO, MODULE, STOCK + AUTO))),
        Panel("interrupts for an I/O", "", tuple(
            Series(run, [(name, value("irqs_per_io", f"{name}/{run}", name)) for name in PROGRAMS])
            for run in (ADAPTIVE, CINT, AUTO, MODULE, STOCK + AUTO))),
    ),
    columns=(Column("operations, k/s", "throughput_per_s", 1e-3), Column("MiB/s", "rate"),
             Column("mean, us", "mean_us"), Column("p50, us", "p50_us"), Column("p99, us", "p99_us"),
             Column("interrupts, k/s", "device_irqs", 1e-3),
             Column("messages for an I/O", "irqs_per_io"), CPU),
    slow=True,
)
