# SPDX-License-Identifier: GPL-2.0-or-later
"""vIC's Tables 2 to 6: sequential reads, throughput and what an I/O costs, by depth."""

from collections.abc import Mapping
from itertools import pairwise

from cint.figures.arrays import ARRAY_8K, POLICY, RUNTIME_S, ratio, reads
from cint.figures.checks import at_least, at_most, within
from cint.figures.columns import IOPS, IRQS_PER_IO, MEAN, MEAN_R, Column
from cint.figures.controls import Control, instead, mistaken, swap
from cint.figures.figure import Figure, Group, Panel, Run, here, runs
from cint.figures.values import Expr, against, least, most, value

DEPTHS = (8, 16, 32, 64)
#: By the size of reads.
MEDIA = {"4k": "array", "8k": ARRAY_8K}
#: Of a depth: vIC's value against that without.
Paper = Mapping[int, float]
COLUMNS = (IOPS, MEAN, IRQS_PER_IO, MEAN_R, Column("CPU, us an I/O", "cpu_us_per_io"),
           Column("idle, %", "idle_percent"))


def to_off(name: str, depth: int) -> Expr:
    """A value under vIC, as a ratio to that without."""
    return against(name, "vic", "default", f"q{depth}")


#: How often the length of a look: throughput at depth 8 is 1 or 2 % either way in that.
LONGER = 4


def groups(bs: str, depths: tuple[int, ...] = DEPTHS, longer: int = 1) -> tuple[Group, ...]:
    """default and vIC at each depth."""
    return (Group(runs("default", Run(POLICY, "vic")),
                  tuple(reads(q, "read", bs) for q in depths), MEDIA[bs], runtime_s=RUNTIME_S,
                  full_s=longer * RUNTIME_S, probed=True),)


def of(name: str, depth: int) -> Expr:
    return value(name, "vic", f"q{depth}")


def _fewer(depth: int) -> Control:
    """vIC at the smallest depth in place of this one; there default at the next in place of it."""
    run, other = ("default", DEPTHS[1]) if depth == DEPTHS[0] else ("vic", DEPTHS[0])
    return mistaken(value("iops", run, f"q{depth}"), value("iops", run, f"q{other}"))


def named(table: int, what: str, bs: str) -> tuple[str, str, str, str]:
    """A table's name, and its place."""
    return (f"vic-tab{table}", "vic", f"{what} of {bs[0]} KiB sequential reads",
            f"section 4.1, Table {table}")


def throughput(table: int, bs: str, paper: Paper) -> Figure:
    """Table 2 or 4: IOPS."""
    return Figure(
        *named(table, "Throughput", bs), "vIC never costs throughput and often gives some, and "
        "interrupts fall as the depth grows.", groups(bs, longer=LONGER),
        checks=(
            *(at_least(f"depth {q}: IOPS against default", to_off("iops", q), 0.98, _fewer(q),
                       paper=paper[q])
              for q in DEPTHS),
            *(within(f"depth {q}: interrupts for an I/O against the mean ratio",
                     of("irqs_by_ratio", q), 0.9, 1.1,
                     mistaken(of("irqs_by_ratio", q), of("irqs_per_io", q)),
                     paper=1.0) for q in DEPTHS),
            *(within(f"depth {q}: mean ratio against that of the depth",
                     of("mean_ratio", q) / ratio(q), 1 - 1e-9, ratio(q // 2) / ratio(q) + 1e-9,
                     instead(f"q{q}", f"q{DEPTHS[-2 if q == DEPTHS[-1] else -1]}"),
                     paper="at least 1") for q in DEPTHS),
            at_most("interrupts for an I/O, the largest step to a greater depth",
                    most([of("irqs_per_io", b) / of("irqs_per_io", a)
                          for a, b in pairwise(DEPTHS)]), 1,
                    instead(f"q{DEPTHS[0]}", f"q{DEPTHS[-1]}"), paper="falls"),
            at_least("default: the fewest interrupts for an I/O",
                     least([value("irqs_per_io", "default", f"q{q}") for q in DEPTHS]), 0.99,
                     swap("default", "vic"), paper=1.0),
        ),
        panels=_panels(paper, "iops", "IOPS, vic against default"), columns=COLUMNS,
        notes=("The paper's gain is CPU time that a guest on ESX had more of; a guest here has "
               "CPU time to spare, and what vIC costs at depth 8 is the wait of a closed loop "
               "for the read that interrupts.",))


def cost(table: int, bs: str, paper: Paper) -> Figure:
    """Table 3 or 5: CPU time of an I/O; the paper has it in cycles."""
    def spent(depth: int) -> Expr:
        return to_off("cpu_us_per_io", depth)

    return Figure(
        *named(table, "CPU time", bs), "With fewer interrupts an I/O takes less CPU time.",
        groups(bs, longer=LONGER),
        checks=(
            *(at_most(f"depth {q}: CPU time of an I/O against default", spent(q),
                      0.9999 if q == DEPTHS[-1] else 1.01, swap("vic", "default"),
                      paper=paper[q]) for q in DEPTHS),
            at_least("CPU time of an I/O, default against vic at depth 64 and at 8",
                     spent(8) / spent(64), 1.0001, instead("q8", "q64"),
                     paper=round(paper[8] / paper[64], 3)),
        ),
        panels=_panels(paper, "cpu_us_per_io", "CPU time of an I/O, vic against default"),
        columns=COLUMNS,
        notes=("The CPU's idle time is the guest's own; cycles of the host do not exist in "
               "virtual time.",))


def _panels(paper: Paper, name: str, title: str) -> tuple[Panel, ...]:
    return (here(title, "ratio", [(str(q), to_off(name, q)) for q in DEPTHS],
                 [(str(q), paper[q]) for q in DEPTHS], x="depth"),
            here("interrupts for an I/O", "R", [(str(q), of("irqs_per_io", q)) for q in DEPTHS],
                 [(str(q), ratio(q)) for q in DEPTHS], x="depth"))


TAB2 = throughput(2, "4k", {8: 1.023, 16: 1.013, 32: 1.041, 64: 1.004})
TAB3 = cost(3, "4k", {8: 0.981, 16: 0.972, 32: 0.965, 64: 0.816})
TAB4 = throughput(4, "8k", {8: 1.043, 16: 1.021, 32: 1.01, 64: 1.01})
TAB5 = cost(5, "8k", {8: 0.948, 16: 0.955, 32: 0.985, 64: 0.938})

# ---- Table 6: where the CPU time goes ------------------------------------

IDLE = {run: value("idle_percent", run, "q64") for run in ("default", "vic")}

TAB6 = Figure(
    "vic-tab6", "vic", "Where the CPU time goes, 8 KiB at depth 64", "section 4.2, Table 6",
    "With an interrupt for one read in eight the guest's CPU is idle for longer.",
    groups("8k", (64,)),
    checks=(
        at_most("interrupts for an I/O", value("irqs_per_io", "vic", "q64"), 1 / 4,
                swap("vic", "default"), paper=round(11 / 41.5, 3)),
        at_least("points of idle time gained", IDLE["vic"] - IDLE["default"], 2, paper=6.4,
                 unit="points"),
    ),
    panels=(here("idle time of the guest's CPU", "%", list(IDLE.items()),
                 [("default", 65.0), ("vic", 71.4)]),),
    columns=COLUMNS,
    left_out=("what the policy itself costs the host (at most half a point in the paper): device "
              "emulation takes no virtual time. docs/cost.md has its instructions.",),
)
