# SPDX-License-Identifier: GPL-2.0-or-later
"""The models of who owes whom a message: what is checked, and how Spin is run.

A model of tests/model (handshake.pml, pointer.pml and reap.pml of device and driver, notify.pml
of QEMU's event loop) is compiled for each check, with other definitions.
A proof searches every state; a mutation breaks one rule and must be found out, by the
check that is meant to find it. docs/model.md explains both.
"""

import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cint import paths, steps
from cint.selftest.runner import Command

DIRECTORY = paths.ROOT / "tests/model"
#: The checks of each model, and what a mutation is found out as.
TABLE = DIRECTORY / "checks.toml"

#: How each kind of check is compiled and run. Safety: assertions and deadlocks in every
#: state. Liveness: the LTL claim. Progress: no endless cycle without a new completion.
#: Both with weak fairness: what can go on goes on some time.
_KINDS = {
    "safety": ("-DSAFETY -DNOFAIR", ""),
    "liveness": ("-DNFAIR=4", "-a -f -A"),
    "heal": ("-DSAFETY -DNOFAIR", ""),
    "progress": ("-DNP -DNFAIR=4", "-l -f"),
}

#: The longest path of the search; a longer one is reported and fails the check.
_DEPTH = 2_000_000


@dataclass(frozen=True)
class Search:
    """One run of the model. `finds` is set for a mutation: what must be found."""

    name: str
    defines: str
    kind: str = "safety"
    finds: str = ""
    #: Some minutes, or a gigabyte: only with --full.
    slow: bool = False
    model: Path = DIRECTORY / "handshake.pml"


def _checks() -> Iterator[Search]:
    table = tomllib.loads(TABLE.read_text("utf-8"))
    slow, findings = table.pop("slow"), table.pop("findings")
    for model, kinds in table.items():
        for kind, found in kinds.items():
            of_finding = {"": {k: v for k, v in found.items() if isinstance(v, str)},
                          **{k: v for k, v in found.items() if not isinstance(v, str)}}
            for finding, checks in of_finding.items():
                for name, defines in checks.items():
                    yield Search(name, defines, kind, findings.get(finding, ""), name in slow,
                                DIRECTORY / f"{model}.pml")


CHECKS = tuple(_checks())


def unreached(output: str) -> list[str]:
    """The model's statements that no path came to, as `line: statement`."""
    found = re.findall(r"^\t\S+?:(\d+), state \d+, \"(.*)\"$", output, re.MULTILINE)
    return [f"line {line}: {text}" for line, text in found if text != "-end-"]


def _errors(output: str) -> int | None:
    """How many errors the search found, or None when it did not come to an end."""
    match = re.search(r"^State-vector .* errors: (\d+)$", output, re.MULTILINE)
    return int(match[1]) if match else None


def _finding(output: str) -> str:
    match = re.search(r"^pan:\d*:? ?(.*)", output, re.MULTILINE)
    return match[1] if match else "no error is named"


def judge_proof(check: Search, code: int, output: str) -> str | None:
    """Why a proof does not hold, or was none, else None."""
    errors = _errors(output)
    if errors is None or code:
        return f"the checker did not finish (exit code {code})"
    if errors:
        return _finding(output)
    if "Search not completed" in output or "max search depth too small" in output:
        return "the search was cut short"
    missed = unreached(output) if check.kind == "safety" else []
    # A statement that nothing reaches would be proved about in vain.
    return f"never reached: {missed[0]}" if missed else None


def judge_mutation(check: Search, code: int, output: str) -> str | None:
    """Why a mutation counts as not noticed, or None."""
    errors = _errors(output)
    if errors is None or code:
        return f"the checker did not finish (exit code {code})"
    if not errors:
        return "the broken rule was not noticed"
    return None if re.search(check.finds, output) else f"noticed as: {_finding(output)}"


def _judge(check: Search) -> Callable[[int, str], str | None]:
    judge = judge_mutation if check.finds else judge_proof
    return lambda code, output: judge(check, code, output)


def script(check: Search) -> str:
    """The shell line that generates, compiles and runs a check."""
    directory = paths.MODEL_BUILD / check.name
    defines = " ".join(f"-D{word}" for word in check.defines.split())
    claim = " -DLIVE" if check.kind == "liveness" else ""
    compiler, search = _KINDS[check.kind]
    # A mutation is found at once: compiling it well would take longer.
    level = "-O0" if check.finds else "-O2"
    where, model = shlex.quote(str(directory)), shlex.quote(str(check.model))
    # A copy beside it: the program names its source, and the compiler's cache goes by its text.
    return (f"mkdir -p {where} && cd {where} && rm -f pan* && cp {model} . && "
            f"spin {defines}{claim} -a {check.model.name} && "
            f"ccache gcc {level} -w {compiler} -c -o pan.o pan.c && gcc -o pan pan.o && "
            f"./pan {search} -m{_DEPTH}")


def commands(full: bool) -> list[Command]:
    """The checks as test commands."""
    chosen = [check for check in CHECKS if full or not check.slow]
    return [Command("model", check.name, ("sh", "-c", script(check)),
                    env=tuple(steps.ccache_env().items()), limit_s=600.0, judge=_judge(check))
            for check in chosen]
