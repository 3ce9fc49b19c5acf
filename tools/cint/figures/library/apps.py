# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that people run, under policies, and one that marks its own I/O."""

from cint.figures import programs, reading
from cint.figures.checks import Check, at_least, at_most, within
from cint.figures.columns import CPU, IRQS, MEAN, MESSAGES, P50, P99, Column
from cint.figures.controls import Control, instead, mistaken
from cint.figures.figure import NO_HINTS, Figure, Group, Panel, Run, Series
from cint.figures.values import Expr, value
from cint.measure import workloads

# ---- programs that people run, with hints and without --------------------

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
    """The name of a run of a cell's program."""
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


def of_the_other_kernel(run: str) -> Control:
    """Default in the other kernel, where an interrupt costs something else."""
    other = DEFAULT if run.startswith(STOCK) else STOCK + DEFAULT
    return instead(f"postgres/{run}", f"postgres/{other}")


PROGRAMS_RUN = Figure(
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
                 speed("postgres.tpcb-like", run), 0.95, 1.05, of_the_other_kernel(run))
          for run in KNOW),
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
    columns=(Column("operations, k/s", "throughput_per_s", 1e-3), Column("MiB/s", "rate"), MEAN,
             P50, P99, IRQS, MESSAGES, CPU),
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

# ---- a program that marks its own I/O: what that gains over the kernel's marks ----

#: In the last the guest gives no hints, the program's own neither.
MARKED_RUNS = (Run("default"), Run("adaptive"), Run("cint"),
               NO_HINTS)
WORK = workloads.of_app(programs.described("marks"))
#: Lookups that somebody waits for, beside a scan: by an io_uring in C, by threads in Python.
LANGUAGES = ("c", "py")


def gain(policy: str, language: str, what: str) -> Expr:
    """Its own marks against the kernel's: of a lookup's time, or of the scan's reads."""
    cell, unit = f"marks.{language}.{what}", "us" if what == "lookup" else "per_s"
    return value(f"marked_{unit}", policy, cell) / value(f"usual_{unit}", policy, cell)


def held(language: str) -> Control:
    """A marked lookup of adaptive, which reads no marks, in place of cint's."""
    return mistaken(*(value("marked_us", policy, f"marks.{language}.lookup")
                      for policy in ("cint", "adaptive")))


OWN_MARKS = Figure(
    "apps-marks", "apps", "A program that marks its own I/O", "docs/mark-your-io.md",
    "Lookups that somebody waits for run beside a scan that nobody waits for. The program says so "
    "with a flag in each call.",
    groups=(Group(MARKED_RUNS, (WORK,), read=reading.told),),
    checks=(
        at_least("C: reads of the scan, its own marks against the kernel's, cint",
                 gain("cint", "c", "scan"), 1.1, instead("cint", "default")),
        within("C: time of a lookup, its own marks against the kernel's, cint",
               gain("cint", "c", "lookup"), 0.8, 1.03, held("c")),
        within("Python: time of a lookup, its own marks against the kernel's, cint",
               gain("cint", "py", "lookup"), 0.8, 1.03, held("py")),
        within("Python: reads of the scan, its own marks against the kernel's, cint",
               gain("cint", "py", "scan"), 0.85, 1.05,
               instead("marks.py.scan", "marks.c.scan")),
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
             Column("scan, its own, k/s", "marked_per_s", 1e-3), MESSAGES),
    notes=(
        "`apps/marks.c` scans by an io_uring that it keeps full, one submission for each read: the "
        "kernel takes each for the end of a batch and interrupts for it. `apps/marks.py` scans by "
        "four threads that wait for each read, which the kernel takes for Urgent. Marked, the scan "
        "is told of in bursts: one that has many reads under way loses nothing by that, threads "
        "that wait for each do.",
    ),
)
