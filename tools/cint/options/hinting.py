# SPDX-License-Identifier: GPL-2.0-or-later
"""The words of --hints, which several verbs take: who gives hints in a guest."""

from __future__ import annotations

from pathlib import Path

from cint import paths
from cint.errors import UsageError
from cint.guest.hints import MODULE, OFF, ON, PRELOAD, VALID

#: The largest file of rules that the library reads.
MAX_RULES = (64 << 10) - 1


def _check_rules(text: str) -> None:
    rules, hint = Path(text.removeprefix(PRELOAD)), "a file of rules, docs/preload.md"
    if text == PRELOAD:
        raise UsageError(f"--hints {text}: a file's name is missing", hint=hint)
    try:
        found = rules.read_bytes()  # names of files, which need not be UTF-8
    except OSError as problem:
        raise UsageError(f"--hints {text}: {paths.said_of(problem)}", hint=hint) from None
    if b"\0" in found:
        raise UsageError(f"--hints {text}: this is no text", hint=hint)
    if len(found) > MAX_RULES:
        raise UsageError(f"--hints {text}: longer than 64 KiB")


def parse(text: str, guest: str) -> str:
    """One word of --hints; :class:`UsageError` names what is valid for this guest."""
    valid = VALID[guest]
    if text.startswith(PRELOAD):
        _check_rules(text)
        return text
    if text not in valid:
        more = {(MODULE, "cint"): ": our kernel gives hints by itself",
                (ON, "distro"): ": the distribution's kernel has no hints"}.get((text, guest), "")
        raise UsageError(f"--hints {text}{more}",
                         hint=f"with --guest {guest}: {', '.join(valid)}FILE")
    return text


def parse_list(text: str | None, guest: str) -> list[str]:
    """Words with commas, else the guest's usual one; UsageError of words that do not agree."""
    if text is None:
        return [VALID[guest][0]]
    found = [parse(word.strip(), guest) for word in text.split(",")]
    if len(set(found)) < len(found):
        raise UsageError(f"--hints {text}: a word is given twice")
    if guest == "cint" and len(found) > 1 and OFF in found:
        raise UsageError(f"--hints {text}: off stands alone with --guest cint",
                         hint="compare twice; ./cint diff shows both")
    return found
