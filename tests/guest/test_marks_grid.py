# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel's marks are worth to ordinary jobs: psync with 1 to 8 threads, and io_uring on
Optane with all depths and batches. The figure `marks-grid` has some of these, and of libaio.

With ``--full``, in virtual time: psync as long as the figure's and with its seeds, the many jobs of
io_uring shorter and with one, so that it comes out the same each time. The shares of all jobs are
in marks-grid/MEDIUM-ENGINE.md among the tests' logs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from conftest import log_root
from test_figures import expect, run

from cint.figures import checks
from cint.figures.checks import Check, Deviation, at_most
from cint.figures.controls import instead
from cint.figures.figure import Figure, Run
from cint.figures.library import marks_grid as marked
from cint.figures.values import Data, Expr, View, said, value

pytestmark = pytest.mark.slow

#: The guest marks the end of each submission, under a policy that looks at no mark: what marking
#: costs, and nothing else.
MARKED = Run("adaptive", "marked")
#: Seen in the reads and latencies of the four rows.
SOONER = ("each read takes 7 % less long than under literal marks, and there are 3 % fewer; both "
          "have more reads than default and adaptive")
#: What the CPU time of a read may be more than in a guest that marks for nobody.
LIKE_MARKED = 1.01


def number(name: str, which: str, job: str) -> Expr:
    """A number of an io_uring job on Optane."""
    return value(name, f"optane/{which}", job)


def busy(job: str, low: float, high: float) -> Deviation:
    """The CPU has no time left, and marking takes some: adaptive lacks as much once it is done."""
    cpu, reads = ({which: number(name, which, job) for which in ("adaptive", "marked", "hints")}
                  for name in ("cpu_per_io_us", "iops"))
    return Deviation(low, high, said(
        "the CPU is busy all the time, and finding out who waits takes {:.0f} ns of it for each "
        "read: adaptive has {:.0f} k reads a second in a guest that marks nothing, {:.0f} in one "
        "that marks, at which it does not look, and hints {:.0f}",
        (cpu["hints"] - cpu["adaptive"]) * 1e3, reads["adaptive"] * 1e-3, reads["marked"] * 1e-3,
        reads["hints"] * 1e-3))


def like_marked(job: str) -> Check:
    """The reason of such a job: there is nothing but marking."""
    return at_most(f"optane/{job}: CPU time of a read, hints against adaptive in a guest that "
                   "marks", number("cpu_per_io_us", "hints", job)
                   / number("cpu_per_io_us", "marked", job), LIKE_MARKED,
                   instead("optane/marked", "optane/adaptive"))


@dataclass(frozen=True)
class Part:
    """A part of the grid, how long each of its jobs is, and those that miss it."""

    runtime_s: float
    seeds: Sequence[int] = (1, 2, 3)
    runs: Sequence[Run] = marked.RUNS
    known: Mapping[str, Deviation] = field(default_factory=dict)
    #: Jobs whose CPU has no time left: where their share lies.
    short: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def checks(self, cells: Sequence[marked.Cell], media: str) -> Iterator[Check]:
        """Of each job, and of the reasons that are checked by themselves."""
        known = {**self.known, **{f"optane/{job}": busy(job, *bounds)
                                  for job, bounds in self.short.items()}}
        yield from marked.checks(cells, (media,), known)
        yield from map(like_marked, self.short)


#: The parts of the grid that are measured.
PARTS: Mapping[tuple[str, str], Part] = {
    ("optane", "psync"): Part(marked.RUNTIME_S["optane"]),
    ("optane", "io_uring"): Part(0.02, (1,), (*marked.RUNS, MARKED), known={
        "optane: reads, hints against literal, the least of all jobs":
            Deviation(0.960, 0.970, f"io_uring 16 by 8, min 1: {SOONER}"),
        "optane/io_uring 8 by 8, min 8": Deviation(0.870, 0.891, marked.BATCH),
        "optane/io_uring 16 by 4, min 1": Deviation(0.941, 0.961, marked.BOTH),
        "optane/io_uring 16 by 16, min 16": Deviation(0.857, 0.878, marked.BATCH),
        "optane/io_uring 32 by 4, min 1": Deviation(0.939, 0.960, marked.BOTH),
        "optane/io_uring 32 by 8, min 1": Deviation(0.953, 0.970, marked.BOTH),
        "optane/io_uring 32 by 32, min 32": Deviation(0.850, 0.870, marked.BATCH),
    }, short={
        "io_uring 64 by 8, min 1": (0.955, 0.970),
        "io_uring 64 by 16, min 16": (0.945, 0.966),
        "io_uring 128": (0.955, 0.970),
        "io_uring 128 by 2, min 1": (0.953, 0.970),
        "io_uring 128 by 32, min 32": (0.949, 0.970),
        "io_uring 256 by 2, min 1": (0.957, 0.970),
    }),
    ("p3700", "psync"): Part(marked.RUNTIME_S["p3700"]),
}


def part(media: str, engine: str) -> Figure:
    """All jobs of an engine on a medium."""
    cells, chosen = tuple(marked.cells(engine)), PARTS[media, engine]
    return Figure(f"marks-{media}-{engine}", "guests", f"all jobs of {engine}, {media}", "", "",
                  groups=marked.groups(cells, chosen.seeds, (media,), {media: chosen.runtime_s},
                                       chosen.runs),
                  checks=tuple(chosen.checks(cells, media)))


def write_table(media: str, engine: str, data: Data) -> None:
    """Leave the shares of all jobs for a person."""
    view = View(data, 0)
    rows = [f"| {cell.name} | " + " | ".join(
        f"{marked.of_best(media, name, cell).of(view):.3f}"
        for name in (marked.HINTS.title, marked.LITERAL.title)) + " |"
        for cell in marked.cells(engine)]
    (log_root() / f"marks-grid/{media}-{engine}.md").write_text(
        "\n".join(["| job | hints | literal |", "|---|---|---|", *rows]) + "\n", "utf-8")


@pytest.mark.parametrize(("media", "engine"), list(PARTS))
def test_grid(media: str, engine: str) -> None:
    """Each job has the better of default and adaptive, or what is known to be missing."""
    figure = part(media, engine)
    data = run(figure, False, log_root() / "marks-grid" / f"{media}-{engine}")
    write_table(media, engine, data)
    results = [checks.judge(check, data) for check in figure.checks]
    assert "\n".join(f"{r.check.name}: {r.measured:.3f}; {r.remark}" for r in results
                     if r.verdict == checks.FAIL) == ""
    # a check that nothing fails says nothing
    assert {checks.judge_control(check, data) for check in figure.checks} == {checks.FAIL}
    expect(*(r for r in results if r.verdict == checks.EXPECTED))
