# SPDX-License-Identifier: GPL-2.0-or-later
"""blk-switch, Figure 3(a): head-of-line blocking by the size of T's requests."""

from cint.figures import switched
from cint.figures.checks import Deviation, at_least, swap
from cint.figures.model import Figure
from cint.figures.switched import OFF, PAID, PRIO, latency, of_l, pinned, throughput

SIZES = (4, 16, 64, 128)
CELLS = {size: f"{size}k" for size in SIZES}
SMALL, LARGE, LARGEST = CELLS[4], CELLS[64], CELLS[128]

FIGURE = Figure(
    "blk-fig3a", "blk-switch", "Head-of-line blocking", "section 2.2, Figure 3(a)",
    "Beside a T on the same core L's tail latency grows with the size of T's requests.",
    groups=switched.groups((OFF, PRIO), (switched.ALONE, *(
        pinned(cell, f"L beside T's reads of {size} KiB at depth {switched.DEPTH}, in batches of "
               f"{switched.BATCH}, on CPU 0", latency(), throughput(bs=cell))
        for size, cell in CELLS.items()))),
    checks=(
        at_least(f"per byte, off: p99 of L, beside {LARGE} against {SMALL}",
                 of_l(LARGE)("p99_us", PAID + OFF) / of_l(SMALL)("p99_us", PAID + OFF), 3,
                 switched.another(LARGE, SMALL), paper="grows linearly"),
        at_least(f"per byte, off: p99 of L, beside {LARGEST} against {LARGE}",
                 of_l(LARGEST)("p99_us", PAID + OFF) / of_l(LARGE)("p99_us", PAID + OFF), 1.5,
                 swap(PAID + OFF, PAID + PRIO), paper="grows linearly",
                 deviation=Deviation(0.15, 0.5, (
                     "a plug with a request of 128 KiB is flushed at once "
                     "(BLK_PLUG_FLUSH_SIZE): the requests of a batch are on their way one by one "
                     "and do not end together"))),
        at_least(f"per byte: p99 of L beside {LARGE}, off against prio",
                 of_l(LARGE, PAID).ratio("p99_us", OFF, PRIO), 3),
    ),
    panels=switched.lines((OFF, PRIO), CELLS, "KiB of T's requests", ("p99_us",), log_x=True),
    columns=switched.COLUMNS,
    notes=(switched.NETWORK, switched.JOBS, switched.SCHEDULED),
)
