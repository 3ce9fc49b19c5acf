# SPDX-License-Identifier: GPL-2.0-or-later
"""The timelines in the documents are what the engine says."""

import re

import pytest

from cint import paths
from cint.manual import timelines


@pytest.mark.parametrize("drawing", timelines.DRAWINGS, ids=lambda drawing: drawing.name)
def test_a_drawing_is_the_engines(drawing: timelines.Drawing) -> None:
    stored = (timelines.DIRECTORY / f"{drawing.name}.svg").read_text("utf-8")
    assert timelines.svg(drawing, paths.REPLAY) == stored, "make it again: ./cint docs timelines"


def test_nothing_else_is_stored() -> None:
    assert {path.name for path in timelines.DIRECTORY.iterdir()} \
        == {f"{drawing.name}.svg" for drawing in timelines.DRAWINGS}


def test_a_completion_waits_for_the_interrupt_that_tells_of_it() -> None:
    load = ("submit 0 1 1\nsubmit 0 1 2 urgent\nsubmit 0 1 3\n"
            "complete 10 1 1\ncomplete 20 1 2\ncomplete 30 1 3\n")
    sent = [timelines.Interrupt(20, True, "urgent", 1), timelines.Interrupt(35, False, "quiet", 2)]
    assert [(c.at, c.hint, c.told) for c in timelines.completions(load, sent)] == [
        (10, "none", 35), (20, "urgent", 20), (30, "none", 35)]


@pytest.mark.parametrize("drawing", timelines.DRAWINGS, ids=lambda drawing: drawing.name)
def test_every_document_shows_each_drawing_once(drawing: timelines.Drawing) -> None:
    text = (paths.ROOT / "docs/policies.md").read_text("utf-8")
    assert len(re.findall(rf"\(images/timelines/{drawing.name}\.svg\)", text)) == 1
