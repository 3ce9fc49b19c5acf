# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands that the pages offer do what the pages say, and print what the pages show.

`CINT_WRITE_PAGES=1 ./cint test guest --full -k test_pages` writes the outputs into the pages.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pages
import pytest

from cint import config, paths

LIMIT_S = 1200.0
#: ./cint with results of its own: those of the person who runs the tests stay as they are.
_RUN = """\
import sys
from pathlib import Path
from cint import cli, paths
paths.RESULTS = Path.cwd() / "results"
sys.exit(cli.main(sys.argv[1:]))
"""
#: Of commands that make no drawings of their own.
_PLAIN = ("--no-plots", "--no-previous")

Run = Callable[[str], pages.Ran]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run a command of a page, once, and what it needs before it."""
    place = tmp_path_factory.mktemp("pages")
    pages.prepare(place)
    ran: dict[str, pages.Ran] = {}
    first = {claim.command: claim.after for claim in pages.CLAIMS}
    env = {**os.environ, "PYTHONPATH": str(paths.TOOLS), config.VARIABLE: "", "NO_COLOR": "1"}

    def go(command: str) -> pages.Ran:
        if command not in ran:
            for earlier in first[command]:
                go(earlier)
            words = shlex.split(command)[1:]
            more = _PLAIN if words[0] == "compare" else ()
            done = subprocess.run([sys.executable, "-c", _RUN, *words, *more], cwd=place, env=env,
                                  capture_output=True, text=True, timeout=LIMIT_S, check=False)
            assert done.returncode == 0, done.stderr
            ran[command] = pages.Ran(done.stdout, done.stderr, place)
        return ran[command]

    return go


def _parameters(boots: bool) -> list[pages.Claim]:
    return [claim for claim in pages.CLAIMS if claim.boots == boots]


def _command(claim: pages.Claim) -> str:
    return claim.command.removeprefix("./cint ")


def test_every_command_of_a_page_is_in_the_table() -> None:
    offered = {command for page in pages.PAGES for command in pages.commands(page.read_text())}
    listed = {claim.command for claim in pages.CLAIMS} | set(pages.ELSEWHERE)
    assert offered - listed == set(), "commands without a claim, in tests/guest/pages.py"
    assert listed - offered == set(), "claims of commands that no page offers"
    for where in pages.ELSEWHERE.values():
        assert (paths.ROOT / where).is_file(), where


def test_every_output_of_a_page_is_some_commands() -> None:
    for page in pages.PAGES:
        text = page.read_text()
        found = {match.start() for claim in pages.CLAIMS if claim.shows
                 for match in [pages.shown(text, claim.command)] if match}
        assert len(found) == text.count("```output"), page


def _holds(claim: pages.Claim, run: Run) -> None:
    ran = run(claim.command)
    assert claim.holds(ran), f"{claim.says}: not so\n{ran.out}"
    if not claim.shows:
        return
    printed = pages.lines_of(claim, ran.out)
    for page in pages.PAGES:
        _compare(page, claim, printed)


def _compare(page: Path, claim: pages.Claim, printed: str) -> None:
    text = page.read_text("utf-8")
    found = pages.shown(text, claim.command)
    if found is None:
        return
    if os.environ.get("CINT_WRITE_PAGES"):
        page.write_text(text[:found.start("lines")] + printed + text[found.end("lines"):], "utf-8")
        return
    assert found["lines"] == printed, f"{page.name}: {claim.command}"


@pytest.mark.parametrize("claim", _parameters(boots=False), ids=_command)
def test_claim(claim: pages.Claim, run: Run) -> None:
    _holds(claim, run)


@pytest.mark.slow
@pytest.mark.parametrize("claim", _parameters(boots=True), ids=_command)
def test_claim_of_a_guest(claim: pages.Claim, run: Run) -> None:
    _holds(claim, run)
