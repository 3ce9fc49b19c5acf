# SPDX-License-Identifier: GPL-2.0-or-later
"""Who gives hints in a guest, as ``--hints`` says (docs/hints-module.md).

Our kernel does, or is told not to. The distribution's kernel gives none by itself; the module
`cint_hints` makes it. In both a library can mark what programs do, by a file of rules
(docs/preload.md): with flags for our kernel, with priorities for the module.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from pathlib import Path

from cint.build import hints, image
from cint.errors import UsageError
from cint.guest import agent

ON, OFF, MODULE, PRELOAD = "on", "off", "module", "preload:"
#: What each guest can be told; the first is what it does if nothing is said. A file of rules
#: follows the last.
VALID = {"cint": (ON, OFF, PRELOAD), "distro": (OFF, MODULE, PRELOAD)}
#: Where the library finds its rules in the guest, and where it tells of itself.
RULES, REPORT = "/etc/cint-preload.rules", "/run/cint-preload"
#: The library is in every program that is started from then on and is not static.
_PRELOAD = f"""\
echo {{text}} | base64 -d > {RULES} && cint-preload --check {RULES} || exit 1
printf '\\nlog {REPORT}\\n' >> {RULES}
echo /lib/libcint-preload.so > /etc/ld.so.preload
"""
#: The kernel's usual marks, and the end of every batch (docs/user-guide.md has all bits).
LITERAL = f"block.irq_hints={511 | 1024}"
#: Where the module tells of itself.
DEBUGFS = f"/sys/kernel/debug/{hints.NAME}"
#: One controller has said that it takes hints, and its commands are seen.
_LOAD = f"""\
insmod {hints.GUEST_FILE} || exit 1
grep -qx 'nvme_setup_cmd on' {DEBUGFS}/probes && grep -q . {DEBUGFS}/counters && exit 0
echo the module {hints.NAME} finds no controller that takes hints >&2
exit 1
"""


def rules_of(word: str) -> Path | None:
    """The file of rules that a word names."""
    return Path(word.removeprefix(PRELOAD)) if word.startswith(PRELOAD) else None


def check_built(words: Iterable[str]) -> None:
    """Refuse, by UsageError, rules that the program which loads them does not understand."""
    for word in dict.fromkeys(words):
        rules = rules_of(word)
        said = image.complaint_of_rules(rules) if rules else None
        if said:
            raise UsageError(f"--hints {PRELOAD}{said}")


def boot(word: str, guest: str, extras: str) -> tuple[str, ...]:
    """Options of the guest's kernel; only ours has any.

    Our kernel marks what ends a wait, for a device that drains (docs/policies.md, Who waits
    for any command). Where ``extras`` are the papers' nothing drains, and the last I/O of
    every batch is marked, as cinterrupts' 4.1 has it.
    """
    if guest != "cint":
        return ()
    if word == OFF:
        return ("nvme.irq_hints=0",)
    return (LITERAL,) if extras == "papers" else ()


def name(word: str) -> str:
    """A word as rows are named: of a file its name alone."""
    rules = rules_of(word)
    return f"{PRELOAD}{rules.name}" if rules else word


def setup(word: str, guest: str) -> tuple[tuple[str, ...], ...]:
    """Commands for the guest before its jobs, which fail unless they work."""
    rules = rules_of(word)
    load = word == MODULE or (rules is not None and guest == "distro")
    script = (_PRELOAD.format(text=base64.b64encode(rules.read_bytes()).decode())
              if rules else "")
    return (*([agent.exec_argv(_LOAD)] if load else []),
            *([agent.exec_argv(script)] if script else []))
