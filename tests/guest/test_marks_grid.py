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

from cint.figures import checks, marked
from cint.figures.checks import Deviation
from cint.figures.model import Figure
from cint.figures.values import Data, View

pytestmark = pytest.mark.slow

LITERAL_TOO = "literal marks miss it, too; why was not looked into"
HINTS_ALONE = "literal marks do not miss it; why was not looked into"
#: Seen in the device's trace of the job alone.
PAIR = ("each read of a pair has a doorbell of its own, as the kernel plugs from three on: so the "
        "marked second looks like a batch of one, of who waits for any, and the first of two that "
        "are waited for is told of in vain; and of the pairs that are submitted between two sleeps "
        "only the last is marked, so that the first waits for it")
LOOKED = ("fio submits in two calls, of 22 and of 10. A call that submits and waits for none, as "
          "fio's do, is taken by the kernel for a wait of 0, and the next batch's end is marked in "
          "place of its first: all 32 are told of with it, as with literal marks")
#: Seen where only some of the jobs were run.
RHYTHM = ("goes by the job that ran before it in the guest: right behind `io_uring 16 by 2, min 2` "
          "it has 0.976; what tells the rhythms apart was not looked into")
RHYTHM_64 = ("goes by the job that ran before it in the guest: right behind `io_uring 64 by 2, min "
             "2` it has 0.979; what tells the rhythms apart was not looked into")
LEAST = "the job that lacks most of what it has with literal marks; why was not looked into"
#: The parts of the grid that are measured, and what those jobs that miss it have with this seed.
PARTS: Mapping[tuple[str, str], Mapping[str, Deviation]] = {
    ("optane", "psync"): {
        "optane: reads, hints against literal, the least of all jobs":
            Deviation(0.950, 0.970, LEAST),
        "optane/psync 8": Deviation(0.951, 0.970, HINTS_ALONE),
    },
    ("optane", "io_uring"): {
        "optane: reads, hints against literal, the least of all jobs":
            Deviation(0.812, 0.832, f"io_uring 4 by 2, min 2: {PAIR}"),
        "optane/io_uring 4 by 2, min 2": Deviation(0.705, 0.725, PAIR),
        "optane/io_uring 8": Deviation(0.949, 0.969, marked.BOTH),
        "optane/io_uring 8 by 8, min 8": Deviation(0.862, 0.882, marked.BATCH),
        "optane/io_uring 16 by 16, min 1": Deviation(0.625, 0.645, RHYTHM),
        "optane/io_uring 16 by 16, min 16": Deviation(0.847, 0.867, marked.BATCH),
        "optane/io_uring 32": Deviation(0.871, 0.891, LITERAL_TOO),
        "optane/io_uring 32 by 4, min 1": Deviation(0.957, 0.970, HINTS_ALONE),
        "optane/io_uring 32 by 32, min 1": Deviation(0.690, 0.710, LOOKED),
        "optane/io_uring 32 by 32, min 32": Deviation(0.839, 0.859, marked.BATCH),
        "optane/io_uring 64": Deviation(0.955, 0.970, LITERAL_TOO),
        "optane/io_uring 64 by 2, min 1": Deviation(0.958, 0.970, LITERAL_TOO),
        "optane/io_uring 64 by 32, min 1": Deviation(0.861, 0.881, RHYTHM_64),
        "optane/io_uring 128 by 16, min 16": Deviation(0.953, 0.970, HINTS_ALONE),
        "optane/io_uring 256 by 8, min 8": Deviation(0.953, 0.970, LITERAL_TOO),
        "optane/io_uring 256 by 16, min 1": Deviation(0.956, 0.970, HINTS_ALONE),
    },
    ("p3700", "psync"): {},
}


def part(media: str, engine: str) -> Figure:
    """All jobs of an engine on a medium."""
    cells = tuple(marked.cells(engine))
    return Figure(f"marks-{media}-{engine}", "guests", f"all jobs of {engine}, {media}", "", "",
                  groups=marked.groups(cells, (1,), (media,)),
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
