# SPDX-License-Identifier: GPL-2.0-or-later
"""Who gives hints in a guest, as ``--hints`` says (docs/hints-module.md).

Our kernel does, or is told not to. The distribution's kernel gives none by itself; the module
`cint_hints` makes it.
"""

from __future__ import annotations

from cint.build import hints
from cint.errors import UsageError
from cint.guest import agent

ON, OFF, MODULE = "on", "off", "module"
#: What each guest can be told; the first is what it does if nothing is said.
VALID = {"cint": (ON, OFF), "distro": (OFF, MODULE)}
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


def parse(text: str, guest: str) -> str:
    """One word of --hints; :class:`UsageError` names what is valid for this guest."""
    valid = VALID[guest]
    if text not in valid:
        more = {(MODULE, "cint"): ": our kernel gives hints by itself",
                (ON, "distro"): ": the distribution's kernel has no hints"}.get((text, guest), "")
        raise UsageError(f"--hints {text}{more}",
                         hint=f"with --guest {guest}: {' or '.join(valid)}")
    return text


def parse_list(text: str | None, guest: str) -> list[str]:
    """Several words, separated by commas, each once; without any the guest's usual one."""
    if text is None:
        return [VALID[guest][0]]
    found = [parse(word.strip(), guest) for word in text.split(",")]
    if len(set(found)) < len(found):
        raise UsageError(f"--hints {text}: a word is given twice")
    if guest == "cint" and len(found) > 1:
        raise UsageError(f"--hints {text}: one of on and off with --guest cint",
                         hint="compare twice; ./cint diff shows both")
    return found


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


def setup(word: str) -> tuple[tuple[str, ...], ...]:
    """A command for the guest before its jobs, which fails unless the module works."""
    return (agent.exec_argv(_LOAD),) if word == MODULE else ()
