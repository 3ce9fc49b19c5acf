# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel's marks are worth to ordinary jobs: a part of the grid, with three seeds."""

from cint.figures import marked
from cint.figures.marked import ENGINES, HINTS, LITERAL, MEDIA, Cell
from cint.figures.model import Figure, Panel, Series

#: One by one, at depths a factor of four or eight apart.
LONE = (1, 2, 8, 32, 256)
#: Depth, and how many are submitted at once.
BATCHED = ((8, 4), (8, 8), (32, 8), (256, 32))


def cells(engine: str) -> tuple[Cell, ...]:
    return (*(Cell(engine, depth) for depth in LONE),
            *(Cell(engine, depth, batch, fewest)
              for depth, batch in BATCHED for fewest in (1, batch)))


CHOSEN = (*(Cell("psync", threads) for threads in (1, 2, 4, 8)),
          *(cell for engine in ENGINES for cell in cells(engine)))


def panel(media: str, engine: str) -> Panel:
    """How a job that submits one by one fares, by its depth."""
    return Panel(f"{media}, {engine}, one by one", "against the better of default and adaptive",
                 tuple(Series(run.title, [(depth, marked.of_best(media, run.title,
                                                                 Cell(engine, depth)))
                                          for depth in LONE]) for run in (HINTS, LITERAL)),
                 kind="lines", x="reads in flight", log_x=True)


FIGURE = Figure(
    "marks-grid", "marks", "Ordinary jobs under the kernel's marks",
    "not a figure of a paper; cinterrupts, section 3.4, has batches whose end is waited for",
    "A job that keeps many reads in flight and waits for any of them has no fewer reads, and none "
    "that take longer, than under the better of default and adaptive.",
    groups=marked.groups(CHOSEN, (1, 2, 3)),
    checks=tuple(marked.checks(CHOSEN)),
    panels=tuple(panel(media, engine) for media in MEDIA for engine in ENGINES),
    notes=marked.NOTES,
    left_out=("the depths, batches and threads between these (146 jobs are all of depths 1 to 256 "
              "and batches 1 to 32 by powers of two, and of 1 to 8 threads), and other media: not "
              "measured",),
)
