# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost of the engine, against its aims."""

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cint import paths
from cint.errors import CintError
from cint.selftest import callgrind
from cint.selftest.aims import Aimed, Shortfall

PROGRAM = paths.ENGINE_BUILD / "tests/bench/bench-engine"
OBJECTS = paths.ENGINE_BUILD / "libcoalesce.a.p"

QUEUES = (1, 64)
#: Enough that a vIC epoch or two end in virtual time, and few enough for callgrind.
COUNTED = 4096
TIMED = 1_000_000

#: Instructions of cint_complete() with all it calls, the interrupt included.
AIM_POLICY = 120
#: The same where there is more to do: strict Barriers, limiters, what is learned.
AIM_VARIANT = 200
KNOWN_MORE = {
    "auto": Shortfall(228, "it learns from each completion, and follows the load at each"),
}
#: Of cint_submit(), whatever the policy.
AIM_SUBMIT = 200
LEARN = ("auto", "cint-learn")
#: By the number of queues: of many each has a small part of the table.
KNOWN_SUBMIT = {
    1: Shortfall(228, "it finds each buffer, and what came between two uses of it"),
    64: Shortfall(340, "it finds each buffer, in a bucket where others are in front of it"),
}
#: vIC's own decision (its Algorithm 2), a part of that.
AIM_VIC = 60
#: ns for all events of an I/O. Printed only: it says as much of the machine's load.
AIM_NS = 50
#: What the test of the aims adds, because another compiler counts a little differently.
SLACK = 1.15
#: 64 queues may cost that much more than one.
AIM_FLAT = 0.10
AIM_STATE = 1024

#: What a caller of the engine calls for an I/O.
EVENTS = ("submit", "doorbell", "complete", "pass_end", "head", "pointer", "timer", "deadline")


@dataclass(frozen=True)
class EngineRow:
    """One arm with one number of queues; instructions and ns for each completion."""

    arm: str
    queues: int
    policy: float
    complete: float
    submit: float
    events: float
    interrupts: float
    ns: float | None


def aim_of(arm: str) -> int:
    """The instructions that a completion may take."""
    # Most of vIC's completions interrupt at once, which the others spread; auto learns of each.
    return AIM_VARIANT if "-" in arm or arm in ("vic", "auto") else AIM_POLICY


def _program_json(*words: str) -> dict[str, Any]:
    try:
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as problem:
        raise CintError(f"{paths.display(PROGRAM)} {' '.join(words)} failed: {problem}",
                        hint="build it with ./cint build engine") from None
    loaded = json.loads(done.stdout)
    assert isinstance(loaded, dict)
    return loaded


def policies() -> list[str]:
    """The policies that the engine has."""
    return [str(name) for name in _program_json()["policies"]]


def arms() -> list[str]:
    """The arms that the program can run: the policies, and some with settings."""
    return [*policies(), *map(str, _program_json()["variants"])]


def state_bytes() -> dict[str, int]:
    """Sizes of the engine's state."""
    return dict(_program_json()["bytes"])


def event_costs(profile: callgrind.Profile) -> dict[str, int]:
    """Instructions by the engine's function that was called, with all that it calls."""
    names = {f"cint_{event}": event for event in EVENTS}
    costs = dict.fromkeys(EVENTS, 0)
    for (_, called), cost in profile.calls.items():
        if called in names:
            costs[names[called]] += cost
    return costs


def policy_cost(profile: callgrind.Profile) -> int:
    """Instructions of the policies' own functions, where a completion asks them."""
    return sum(cost for (caller, called), cost in profile.calls.items()
               if caller == "cint_complete" and called.endswith("_complete"))


def count_engine(arm: str, queues: int) -> EngineRow:
    """Count one arm's instructions."""
    words = [arm, str(queues), str(COUNTED)]
    with tempfile.TemporaryDirectory(prefix="cint-bench-") as place:
        out = Path(place) / "callgrind.out"
        profile = callgrind.run(f"{arm}-{queues}", [str(PROGRAM), *words], out,
                                ["--toggle-collect=bench_rounds*"])
    counted = _program_json(*words)
    costs = event_costs(profile)
    completions = counted["completions"]
    return EngineRow(arm, queues, policy_cost(profile) / completions,
                     costs["complete"] / completions, costs["submit"] / completions,
                     sum(costs.values()) / completions, counted["interrupts"] / completions, None)


def time_engine(row: EngineRow) -> EngineRow:
    """The row with its time."""
    found = _program_json(row.arm, str(row.queues), str(TIMED))
    return replace(row, ns=found["ns"])


def text_sizes() -> dict[str, int]:
    """Bytes of machine code by source file of the engine; CintError without its objects."""
    found = {}
    for path in sorted(OBJECTS.glob("*.o")):
        done = subprocess.run(["size", "-A", "-d", path], capture_output=True, text=True,
                              check=True)
        name = path.name.removeprefix("hw_nvme_coalesce_").removesuffix(".c.o")
        found[name] = sum(int(size) for size in
                          re.findall(r"^\.text\S*\s+(\d+)", done.stdout, re.MULTILINE))
    if not found:
        raise CintError(f"no objects of the engine in {paths.display(OBJECTS)}",
                        hint="build it with ./cint build engine")
    return found


def count_checks(rows: Sequence[EngineRow]) -> list[Aimed]:
    """Instructions against their aims, and that they do not grow with the queues."""
    checks = [Aimed(f"{row.arm}, {row.queues} queues", row.complete, aim_of(row.arm),
                    "instructions", known=KNOWN_MORE.get(row.arm)) for row in rows]
    checks += [Aimed(f"{row.arm}, {row.queues} queues, submission", row.submit, AIM_SUBMIT,
                     "instructions",
                     known=KNOWN_SUBMIT[row.queues] if row.arm in LEARN else None)
               for row in rows]
    checks += [Aimed(f"{row.arm}, {row.queues} queues, vIC's decision", row.policy, AIM_VIC,
                     "instructions") for row in rows if row.arm.startswith("vic")]
    one = {row.arm: row for row in rows if row.queues == QUEUES[0]}
    return checks + [Aimed(f"{row.arm}, {row.queues} queues against {QUEUES[0]}",
                           100 * (row.complete / one[row.arm].complete - 1), 100 * AIM_FLAT, "%")
                     for row in rows if row.queues != QUEUES[0] and row.arm in one]


def state_checks(state: dict[str, int]) -> list[Aimed]:
    """The state's size against its aim."""
    return [Aimed("state of a CQ and its SQ", state["cq"] + state["sq"], AIM_STATE, "bytes")]


def need_tools() -> None:
    """Raise :class:`CintError` when a program is missing that counts or measures."""
    for tool, package in (("valgrind", "valgrind"), ("size", "binutils")):
        if not shutil.which(tool):
            raise CintError(f"{tool} is not installed", hint=f"apt-get install {package}")
