# SPDX-License-Identifier: GPL-2.0-or-later
"""What counts as a proof, and what as a mutation that was noticed."""

import re

import pytest

from cint.selftest import promela
from cint.selftest.promela import Search

PROOF = Search("safety/x", "N=3")
MUTATION = Search("mutation/x", "M_X", finds=r"assertion violated \(unhandled==0\)")

CLEAN = """\
State-vector 52 byte, depth reached 15335, errors: 0
   157620 states, stored
unreached in proctype device
\t/x/handshake.pml:286, state 95, "-end-"
\t(1 of 95 states)
"""
LOST = """\
pan:1: assertion violated (unhandled==0) (at depth 24)
pan: wrote handshake.pml.trail
Warning: Search not completed
State-vector 52 byte, depth reached 24, errors: 1
"""
OTHER = LOST.replace("(unhandled==0)", "(cqe[(head%3)]!=3)")
SHALLOW = "error: max search depth too small\n" + CLEAN
VAIN = CLEAN + '\t/x/handshake.pml:100, state 7, "armed = 0"\n'


@pytest.mark.parametrize(("code", "output", "why"), [
    (0, CLEAN, None),
    (0, LOST, "assertion violated (unhandled==0) (at depth 24)"),
    (0, SHALLOW, "the search was cut short"),
    (0, VAIN, "never reached: line 100: armed = 0"),
    (1, "spin: handshake.pml:9, Error: syntax error", "did not finish (exit code 1)"),
    (137, CLEAN, "did not finish (exit code 137)"),
])
def test_a_proof_searched_everything_and_found_nothing(
    code: int, output: str, why: str | None
) -> None:
    said = promela.judge_proof(PROOF, code, output)
    assert said is None if why is None else said is not None and why in said


@pytest.mark.parametrize(("code", "output", "why"), [
    (0, LOST, None),
    (0, CLEAN, "the broken rule was not noticed"),
    (0, OTHER, "noticed as: assertion violated (cqe[(head%3)]!=3)"),
    (127, "sh: spin: not found", "did not finish"),
])
def test_a_mutation_is_noticed_by_the_check_that_is_meant_to(
    code: int, output: str, why: str | None
) -> None:
    said = promela.judge_mutation(MUTATION, code, output)
    assert said is None if why is None else said is not None and why in said


def test_liveness_is_not_asked_to_reach_every_statement() -> None:
    assert promela.judge_proof(Search("liveness/x", "N=3", "liveness"), 0, VAIN) is None


def test_each_switch_of_the_model_is_used_and_each_used_one_exists() -> None:
    for path in promela.DIRECTORY.glob("*.pml"):
        text = path.read_text("utf-8")
        known = set(re.findall(r"\b(?:M_[A-Z_]+|SHADOW|MASK|TOGGLE|TRUSTING|EDGE|FRESH|"
                               r"UNWRAPPED|HEAL|FROZEN|LYING|FOREIGN|HEAD_LAST|CLEAR_FIRST|"
                               r"LOOK_AGAIN|KEEP|NEST|PRIORITY)\b",
                               "\n".join(re.findall(r"^#.*$", text, re.MULTILINE))))
        used = {word for check in promela.CHECKS if check.model == path
                for word in check.defines.split() if "=" not in word}
        assert used == known


def test_names_are_unique_and_slow_checks_wait_for_full() -> None:
    names = [check.name for check in promela.CHECKS]
    assert len(set(names)) == len(names)
    quick = {command.name for command in promela.commands(full=False)}
    assert quick == {check.name for check in promela.CHECKS if not check.slow}
    assert {command.name for command in promela.commands(full=True)} == set(names)
