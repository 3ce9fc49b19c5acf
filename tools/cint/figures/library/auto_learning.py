# SPDX-License-Identifier: GPL-2.0-or-later
"""How long policy auto takes to learn who waits, and what it does when that changes."""

from cint.figures import jobs, traces
from cint.figures.checks import Deviation, at_least, at_most
from cint.figures.columns import Column
from cint.figures.controls import instead, wrong
from cint.figures.library import auto_loads as guessed
from cint.figures.library.auto_loads import AUTO, DEFAULT
from cint.figures.model import Figure, Group, Panel
from cint.figures.values import against, value
from cint.measure import workloads

#: Each of the phases, which are other processes with other buffers; fio's runtime is a group's.
_TIMED = "time_based\nruntime={runtime_us}us\n"
MANY = workloads.async_job(32, 1, 1) + _TIMED
ALONE = workloads.sync_job() + _TIMED


def phase(section: str, name: str) -> str:
    """A section that begins when the one before has ended."""
    return f"[{name}]\nstonewall\n{section.partition(chr(10))[2]}"


PHASES = jobs.few("phases", "libaio at depth 32, a thread that waits, and both again",
                  phase(MANY, "many"), phase(ALONE, "alone"), phase(MANY, "again"),
                  phase(ALONE, "last"))
RUNS = (DEFAULT, guessed.ADAPTIVE, AUTO)
FIRST = (guessed.LIBAIO[2], guessed.LIBAIO[3], guessed.MIXED)
CELLS = (*(work.name for work in FIRST), PHASES.name)
#: Where it takes longer.
KNOWN = {FIRST[1].name: Deviation(5.001, 10, (
    "each of 256 buffers has to be used six times, which takes 4.9 ms at default's 315 thousand "
    "reads a second; after 5 ms it is at twice what it comes to, and the last few take longer"))}

FIGURE = Figure(
    "auto-learning", "auto", "auto, from the first command on",
    "not a figure of a paper",
    "A job is known within 5 ms of its first command, whatever was before it.",
    groups=(Group(RUNS, (*FIRST, PHASES), seeds=guessed.SEEDS, runtime_s=0.05, trace=traces.EVENTS,
                  read=traces.learning),),
    checks=(
        *(at_most(f"{cell}: learned after", value("learned_ms", "auto", cell), 5, wrong(0.01),
                  unit="ms", deviation=KNOWN.get(cell)) for cell in CELLS),
        *(at_least(f"{cell}: interrupts for an I/O in the first {traces.WINDOW_US / 1000:g} ms, "
                   "auto against default",
                   against("first_irqs_per_io", "auto", "default", cell), 0.4,
                   instead("auto", "adaptive")) for cell in CELLS),
        *(at_most(f"{cell}: interrupts for an I/O once it is learned, auto against default",
                  against("steady_irqs_per_io", "auto", "default", cell), 0.35,
                  instead("auto", "default")) for cell in CELLS),
    ),
    panels=tuple(
        Panel(title, "interrupts for an I/O, log", kind="curves", log_y=True,
              x="ms since the first command", sources=[(run.title, cell) for run in RUNS])
        for cell, title in zip(CELLS, (
            "libaio at depth 32", "libaio at depth 256", "a thread that waits beside libaio",
            "libaio at depth 32, a thread that waits, again"), strict=True)),
    columns=(Column("learned after, ms", "learned_ms"),
             Column("interrupts for an I/O, first 0.5 ms", "first_irqs_per_io"),
             Column("interrupts for an I/O, steady", "steady_irqs_per_io")),
    notes=("Learned is from where interrupts for an I/O are within 1.25 times what they are in the "
           "second half; of phases, the one that took longest counts. Each phase has 50 ms, and is "
           "another fio process with other buffers.",),
)
