# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel's marks are worth to ordinary jobs: psync with 1 to 8 threads, and io_uring on
Optane with all depths and batches. The figure `marks-grid` has some of these, and of libaio.

With ``--full``, in virtual time, one seed, so that it comes out the same each time. The shares of
all jobs are in marks-grid/MEDIUM-ENGINE.md among the tests' logs.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from conftest import log_root
from test_figures import expect, run

from cint.figures import checks
from cint.figures.checks import Deviation
from cint.figures.library import marks_grid as marked
from cint.figures.model import Figure
from cint.figures.values import Data, View

pytestmark = pytest.mark.slow

ALIKE = ("each read is Urgent, as each is under literal marks; the two differ by up to 4 %, in "
         "either direction by the number of threads: one seed, and others were not run")
#: Seen in the reads and latencies of the four rows.
SOONER = ("each read takes 7 % less long than under literal marks, and there are 3 % fewer; both "
          "have more reads than default and adaptive")
BUSY = ("2 to 5 % short of adaptive, whose guest marks nothing, and a fifth to a third more reads "
        "than default: the CPU has no time left, and finding out who waits takes some 50 ns of it "
        "for each read (figure marks-grid)")
#: Of each job: shorter than the figure's, for there are more jobs.
RUNTIME_S = {"optane": 0.02, "p3700": 0.02}
#: The parts of the grid that are measured, and what those jobs that miss it have with this seed.
PARTS: Mapping[tuple[str, str], Mapping[str, Deviation]] = {
    ("optane", "psync"): {
        "optane: reads, hints against literal, the least of all jobs":
            Deviation(0.956, 0.970, f"psync 8: {ALIKE}"),
        "optane/psync 7": Deviation(0.944, 0.964, ALIKE),
    },
    ("optane", "io_uring"): {
        "optane: reads, hints against literal, the least of all jobs":
            Deviation(0.960, 0.970, f"io_uring 16 by 8, min 1: {SOONER}"),
        "optane/io_uring 8 by 8, min 8": Deviation(0.870, 0.891, marked.BATCH),
        "optane/io_uring 16 by 4, min 1": Deviation(0.941, 0.961, marked.BOTH),
        "optane/io_uring 16 by 16, min 16": Deviation(0.857, 0.878, marked.BATCH),
        "optane/io_uring 32 by 4, min 1": Deviation(0.939, 0.960, marked.BOTH),
        "optane/io_uring 32 by 8, min 1": Deviation(0.953, 0.970, marked.BOTH),
        "optane/io_uring 32 by 32, min 32": Deviation(0.850, 0.870, marked.BATCH),
        "optane/io_uring 64 by 8, min 1": Deviation(0.955, 0.970, BUSY),
        "optane/io_uring 64 by 16, min 16": Deviation(0.945, 0.966, BUSY),
        "optane/io_uring 128": Deviation(0.955, 0.970, BUSY),
        "optane/io_uring 128 by 2, min 1": Deviation(0.953, 0.970, BUSY),
        "optane/io_uring 128 by 32, min 32": Deviation(0.949, 0.970, BUSY),
        "optane/io_uring 256 by 2, min 1": Deviation(0.957, 0.970, BUSY),
    },
    ("p3700", "psync"): {
        "p3700: reads, hints against literal, the least of all jobs":
            Deviation(0.954, 0.970, f"psync 5: {ALIKE}"),
        "p3700/psync 5": Deviation(0.945, 0.965, ALIKE),
    },
}


def part(media: str, engine: str) -> Figure:
    """All jobs of an engine on a medium."""
    cells = tuple(marked.cells(engine))
    return Figure(f"marks-{media}-{engine}", "guests", f"all jobs of {engine}, {media}", "", "",
                  groups=marked.groups(cells, (1,), (media,), RUNTIME_S),
                  checks=tuple(marked.checks(cells, (media,), PARTS[media, engine])))


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
