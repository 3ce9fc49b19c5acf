# SPDX-License-Identifier: GPL-2.0-or-later
"""The models of who owes whom a message: what is checked, and how Spin is run.

A model of tests/model (handshake.pml, pointer.pml and reap.pml of device and driver, notify.pml
of QEMU's event loop) is compiled for each check, with other definitions.
A proof searches every state; a mutation breaks one rule and must be found out, by the
check that is meant to find it. docs/model.md explains both.
"""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cint import paths, steps
from cint.selftest.runner import Command

MODEL = paths.ROOT / "tests/model/handshake.pml"
REAP = paths.ROOT / "tests/model/reap.pml"
POINTER = paths.ROOT / "tests/model/pointer.pml"
NOTIFY = paths.ROOT / "tests/model/notify.pml"

#: What a mutation leads to, in the words of the checker.
LOST = r"assertion violated \(unhandled==0\)"
NO_ROOM = r"assertion violated +!\(stalled\)"
HANDLED_TWICE = r"assertion violated \(cqe\[\(head%"
OUT_OF_STEP = rf"{HANDLED_TWICE}|invalid end state"
NOT_OFFERED = r"assertion violated offered"
SLOT_GIVEN_BACK = r"assertion violated \(cqe\[\(cursor%"
LATE = r"assertion violated \(late<="
NEVER_REAPED = r"acceptance cycle"
ENDLESS = r"non-progress cycle"
IN_FLIGHT = r"assertion violated \(fate\["
HUNG = r"invalid end state"
SLEPT_ON = r"assertion violated +!\(asleep\)"
WOKEN_FOR_NOTHING = r"assertion violated \(own_notify_me==0\)"

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
class Check:
    """One run of the model. `finds` is set for a mutation: what must be found."""

    name: str
    defines: str
    kind: str = "safety"
    finds: str = ""
    #: Some minutes, or a gigabyte: only with --full.
    slow: bool = False
    model: Path = MODEL


_WIDE = "N=3 M=12"

CHECKS = (
    Check("safety/2-entries", "N=2"),
    Check("safety/3-entries", "N=3"),
    Check("safety/4-entries", "N=4"),
    Check("safety/5-entries", "N=5", slow=True),
    Check("safety/3-entries-wide-counters", _WIDE),
    Check("safety/shadow-3", "N=3 SHADOW"),
    Check("safety/shadow-4", "N=4 SHADOW", slow=True),
    Check("safety/mask-3", "N=3 MASK"),
    Check("safety/switch-3", "N=3 TOGGLE"),
    Check("safety/mask-switch-2", "N=2 MASK TOGGLE"),
    Check("safety/mask-switch-3", "N=3 MASK TOGGLE", slow=True),
    Check("safety/shadow-mask-switch-2", "N=2 SHADOW MASK TOGGLE", slow=True),
    Check("liveness/3-entries", "N=3", "liveness"),
    Check("liveness/shadow-2", "N=2 SHADOW", "liveness"),
    Check("liveness/shadow-3", "N=3 SHADOW", "liveness", slow=True),
    Check("liveness/mask-2", "N=2 MASK", "liveness"),
    Check("liveness/switch-2", "N=2 TOGGLE", "liveness"),
    Check("liveness/switch-3", "N=3 TOGGLE", "liveness", slow=True),
    Check("progress/3-entries", "N=3", "progress"),
    Check("progress/shadow-2", "N=2 SHADOW", "progress"),
    Check("progress/mask-2", "N=2 MASK", "progress"),
    Check("progress/switch-2", "N=2 TOGGLE", "progress"),
    # The driver that doubts a record: never a healthy one, and a bad one in time.
    Check("heal/healthy-2", "N=2 HEAL", "heal"),
    Check("heal/healthy-3", "N=3 HEAL UNWRAPPED", "heal", slow=True),
    Check("heal/switch-2", "N=2 HEAL TOGGLE", "heal"),
    Check("heal/mask-2", "N=2 HEAL UNWRAPPED MASK", "heal", slow=True),
    Check("heal/frozen-2", "N=2 HEAL FROZEN MAX_LATE=1", "heal"),
    Check("heal/foreign-2", "N=2 HEAL FOREIGN MAX_LATE=1", "heal"),
    Check("heal/lying-2", "N=2 HEAL LYING MAX_LATE=2", "heal"),
    # Other drivers than ours, with what they need; and what ours does not need.
    Check("drivers/trusts-full-tail", f"{_WIDE} TRUSTING FRESH"),
    Check("drivers/looks-for-a-change", f"{_WIDE} EDGE FRESH"),
    Check("drivers/ours-with-the-record-before-the-cqe", "N=3 M_RECORD_BEFORE_CQE"),
    Check("drivers/ours-reading-the-record-last", "N=3 M_RECORD_AFTER_SCAN"),
    # The device breaks a rule.
    Check("mutation/message-before-record", "M_MESSAGE_FIRST", finds=LOST),
    Check("mutation/message-before-cqe", "M_MESSAGE_BEFORE_CQE", finds=LOST),
    Check("mutation/record-before-cqe", f"{_WIDE} TRUSTING FRESH M_RECORD_BEFORE_CQE",
          finds=HANDLED_TWICE),
    Check("mutation/urgent-interrupt-ends-the-window", "M_URGENT_DISARMS", finds=LOST),
    Check("mutation/masked-message-is-dropped", "MASK M_MASKED_LOST", finds=LOST),
    Check("mutation/disable-does-not-fire", "TOGGLE M_DISABLE_SILENT", finds=LOST),
    Check("mutation/enable-does-not-write-the-count", "TOGGLE M_ENABLE_WRITES_NOTHING",
          finds=LOST),
    Check("mutation/record-moves-before-its-deadline-is-served", "TOGGLE M_PLACE_FIRST",
          finds=NOT_OFFERED),
    Check("mutation/event-index-after-the-head", "SHADOW M_EVENT_INDEX_LATE", finds=NO_ROOM),
    Check("mutation/deadline-never-fires", "M_DEADLINE_NEVER", "liveness", NEVER_REAPED),
    Check("mutation/deadline-goes-on-when-all-is-reaped", "M_DEADLINE_BLIND", "progress", ENDLESS),
    # The driver breaks a rule.
    Check("mutation/driver-believes-the-class", "M_CLASS_BYTE", finds=LOST),
    Check("mutation/record-read-before-the-interrupt-begins", "M_RECORD_BEFORE_BEGIN",
          finds=LOST),
    Check("mutation/record-read-after-the-scan", f"{_WIDE} EDGE FRESH M_RECORD_AFTER_SCAN",
          finds=LOST),
    Check("mutation/full-tail-trusted-after-it-wrapped", f"{_WIDE} TRUSTING", finds=OUT_OF_STEP),
    Check("mutation/doorbell-rung-to-the-scan", "M_DOORBELL_SCAN", finds=SLOT_GIVEN_BACK),
    Check("mutation/event-index-read-before-the-head-is-stored", "SHADOW M_EVENT_INDEX_EARLY",
          finds=NO_ROOM),
    Check("mutation/disabled-before-ooo-stops", "TOGGLE M_DISABLE_FIRST", finds=LOST),
    Check("mutation/record-reused-while-a-handler-runs", "TOGGLE M_REUSE_AT_ONCE", finds=LOST),
    Check("mutation/ooo-read-after-the-record", "TOGGLE M_MODE_AFTER_RECORD", finds=LOST),
    Check("mutation/frozen-record-is-believed", "N=2 HEAL FROZEN MAX_LATE=1 M_LEAVES_IN_DOUBT",
          finds=LATE),
    Check("mutation/foreign-record-is-believed", "N=2 HEAL FOREIGN MAX_LATE=1 M_LEAVES_IN_DOUBT",
          finds=LATE),
    # The interrupt pointer: nobody who sleeps depends on max-hold.
    *(Check(f"pointer/{n}-entries", f"N={n}", slow=n > 3, model=POINTER) for n in (3, 4)),
    Check("pointer/progress", "N=3 WIRE=2", "progress", model=POINTER),
    Check("pointer/drivers/head-behind-the-pointer", "N=3 WIRE=2 HEAD_LAST", model=POINTER),
    Check("pointer/drivers/pointer-written-once", "N=3 WIRE=2 KEEP", model=POINTER),
    Check("pointer/drivers/eventfd-emptied-first", "N=3 WIRE=2 CLEAR_FIRST", model=POINTER),
    Check("pointer/drivers/eventfd-emptied-and-looked-again", "N=3 WIRE=2 LOOK_AGAIN",
          model=POINTER),
    *(Check(f"pointer/mutation/{name}", f"N=3 {word}", finds=SLEPT_ON, model=POINTER)
      for name, word in (("emptied-before-the-sleep", "M_CLEAR_EARLY"), ("no-clamp", "M_NO_CLAMP"),
                         ("emptied-between-look-and-sleep", "M_LOOK_FIRST"),
                         ("passed-before-it-arrived", "M_DEVICE_TRUSTS"),
                         ("a-count-in-place-of-an-index", "M_RELATIVE"))),
    # What the user-space driver takes by a record, lap after lap.
    Check("reap/3-entries", "N=3", model=REAP),
    *(Check(f"reap/mutation/{name}", f"N=3 {word}", finds=finds, model=REAP)
      for name, word, finds in (
          ("head-overtakes-the-scan", "M_SCAN_STAYS", IN_FLIGHT),
          ("taken-without-a-mark", "M_NO_MARKS", HUNG),
          ("mark-left-for-the-next-lap", "M_MARKS_STAY", HUNG),
          ("news-looked-for-behind-the-scan", "M_NO_NEWS", HUNG),
          ("scan-to-the-end-without-room", "M_SCAN_TO_THE_END", HUNG),
          ("head-rung-to-the-scan", "M_HEAD_TO_SCAN", IN_FLIGHT))),
    # QEMU's event loop: no wake-up is lost, and a bottom half needs none for the next.
    Check("notify/one-each", "ROUNDS=1", model=NOTIFY),
    Check("notify/priority", "ROUNDS=1 PRIORITY", model=NOTIFY),
    Check("notify/nested", "ROUNDS=1 NEST", model=NOTIFY),
    Check("notify/nested-priority", "ROUNDS=1 NEST PRIORITY", slow=True, model=NOTIFY),
    Check("notify/two-each", "ROUNDS=2", slow=True, model=NOTIFY),
    *(Check(f"notify/mutation/{name}", word, finds=finds, model=NOTIFY)
      for name, word, finds in (
          ("only-check-clears", "M_ONLY_CHECK_CLEARS", WOKEN_FOR_NOTHING),
          ("not-set-by-prepare", "M_NOT_SET", HUNG),
          ("cleared-before-the-poll", "M_CLEARED_BEFORE_POLL", HUNG),
          ("set-after-looking", "M_LOOKS_FIRST", HUNG),
          ("notified-is-not-read", "M_NOTIFIED_NOT_READ", HUNG),
          ("no-barrier-in-prepare", "M_NO_BARRIER_IN_PREPARE", HUNG),
          ("no-barrier-in-poll", "M_NO_BARRIER_IN_POLL", HUNG),
          ("no-barrier-in-accept", "M_NO_BARRIER_IN_ACCEPT", HUNG),
          ("no-barrier-in-notify", "M_NO_BARRIER_IN_NOTIFY", HUNG),
          ("no-write-barrier-in-notify", "M_NO_WRITE_BARRIER", HUNG))),
)


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


def judge_proof(check: Check, code: int, output: str) -> str | None:
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


def judge_mutation(check: Check, code: int, output: str) -> str | None:
    """Why a mutation counts as not noticed, or None."""
    errors = _errors(output)
    if errors is None or code:
        return f"the checker did not finish (exit code {code})"
    if not errors:
        return "the broken rule was not noticed"
    return None if re.search(check.finds, output) else f"noticed as: {_finding(output)}"


def _judge(check: Check) -> Callable[[int, str], str | None]:
    judge = judge_mutation if check.finds else judge_proof
    return lambda code, output: judge(check, code, output)


def script(check: Check) -> str:
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
