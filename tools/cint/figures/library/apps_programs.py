# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that people run, under policies, with hints and without."""

from cint.figures import programs, reading
from cint.figures.checks import Check, at_least, at_most, instead, within, wrong
from cint.figures.model import CPU, NO_HINTS, Column, Figure, Group, Panel, Run, Series
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
DISTRO = (Run(DEFAULT, hints=False), Run(ADAPTIVE, hints=False), Run(AUTO, hints=False),
          Run(CINT, "module"))
#: Those whose guest says who waits, or whose device finds out.
KNOW = (CINT, AUTO, MODULE, f"{STOCK}{AUTO}")
#: What each tells: where a larger number is better, and where a smaller one is.
RATES = {"postgres.tpcb-like": "throughput_per_s", "postgres.select-only": "throughput_per_s",
         "rocksdb.readrandom": "throughput_per_s", "rocksdb.readwhilewriting": "throughput_per_s",
         "rocksdb.seekrandom": "throughput_per_s", "rocksdb.fillsync": "throughput_per_s",
         "weights.direct": "rate", "weights.mapped": "rate", "weights.scattered": "rate"}
TIMES = {"sqlite.commit": "mean_us", "sqlite.lookup": "mean_us"}
CELLS = (*TIMES, *RATES)
#: Those whose I/Os somebody waits for one by one.
WAITS = ("sqlite.commit", "rocksdb.readwhilewriting", "weights.scattered")


def groups(program: str) -> tuple[Group, ...]:
    """Each program has a disk of its own."""
    whole = programs.described(program)
    works = (programs.part(program, program, whole.title, whole.run, LIMIT_S),)
    runs = (*OURS, NO_HINTS) if program == PROGRAMS[0] else OURS
    return (Group(runs, works, prefix=f"{program}/", read=reading.told),
            Group(DISTRO, works, prefix=f"{program}/{STOCK}", read=reading.told, cost_ns=0,
                  guest="distro"))


def run_of(cell: str, run: str) -> str:
    """What the figure calls a run of a cell's program."""
    return f"{cell.split('.', maxsplit=1)[0]}/{run}"


def speed(cell: str, run: str) -> Expr:
    """How much faster than with default in the same kernel: of a time its inverse."""
    base = STOCK + DEFAULT if run.startswith(STOCK) else DEFAULT
    name = TIMES.get(cell) or RATES[cell]
    ratio = value(name, run_of(cell, run), cell) / value(name, run_of(cell, base), cell)
    return 1 / ratio if cell in TIMES else ratio


def loses_nothing(cell: str, run: str) -> Check:
    held = STOCK + ADAPTIVE if run.startswith(STOCK) else ADAPTIVE
    return at_least(f"{cell}: speed, {run} against default", speed(cell, run), 0.95,
                    instead(run_of(cell, run), run_of(cell, held)))


def loses(cell: str) -> Check:
    return at_most(f"{cell}: speed, adaptive against default", speed(cell, ADAPTIVE), 0.95)


def interrupts(run: str) -> Check:
    return at_most(f"postgres: interrupts for an I/O, {run}",
                   value("irqs_per_io", f"postgres/{run}", "postgres"), 0.9,
                   instead(f"postgres/{run}", f"postgres/{DEFAULT}"))


FIGURE = Figure(
    "apps-programs", "apps", "What it does for programs that people run", "docs/apps.md",
    "A program that waits for each of its I/Os has the same from a policy that knows it as from "
    "an interrupt for each, and less from one that does not. It is the same with the kernel's "
    "hints, with the module's, and where the device finds out who waits.",
    groups=tuple(group for program in PROGRAMS for group in groups(program)),
    checks=(
        *(loses_nothing(cell, run) for cell in WAITS for run in KNOW),
        *(loses(cell) for cell in WAITS),
        at_least("sqlite: commands that are Urgent, cint",
                 value("hint.urgent", f"sqlite/{CINT}", "sqlite"), 0.5,
                 instead(f"sqlite/{CINT}", f"sqlite/{NO_HINTS.title}")),
        *(interrupts(run) for run in (ADAPTIVE, CINT, AUTO, MODULE)),
        *(within(f"postgres.tpcb-like: speed, {run} against default",
                 speed("postgres.tpcb-like", run), 0.95, 1.05, wrong(1.2)) for run in KNOW),
    ),
    panels=(
        *(Panel(f"{program}: speed", "of default's", tuple(
            Series(run, [(cell.split(".", maxsplit=1)[1], speed(cell, run))
                         for cell in CELLS if cell.startswith(program)])
            for run in (ADAPTIVE, *KNOW))) for program in PROGRAMS),
        Panel("interrupts for an I/O", "", tuple(
            Series(run, [(name, value("irqs_per_io", f"{name}/{run}", name)) for name in PROGRAMS])
            for run in (ADAPTIVE, *KNOW))),
    ),
    columns=(Column("operations, k/s", "throughput_per_s", 1e-3), Column("MiB/s", "rate"),
             Column("mean, us", "mean_us"), Column("p50, us", "p50_us"),
             Column("p99, us", "p99_us"),
             Column("interrupts, k/s", "device_irqs", 1e-3),
             Column("messages for an I/O", "irqs_per_io"), CPU),
    notes=(
        "`stock` is the distribution's kernel as it is; `module` the same with the module that "
        "gives hints ([hints-module.md](../hints-module.md)), under cint. Speed is against "
        "default's in the same kernel: of a time its inverse.",
        "In sqlite.lookup a copy of the database reads 1 MiB at a time beside it. In "
        "readwhilewriting a fifth thread writes; a seek is followed by ten more keys; each write "
        "of fillsync waits for the disk. The readers of weights read 1 MiB with O_DIRECT, then "
        " pages of a mapping in order, then pages here and there. `apps/` has the files, "
        "[apps.md](../apps.md) says how they are run.",
        "In one guest RocksDB's writer has made the database larger for each further seed. Seeds "
        "are compared one by one.",
    ),
)
