# SPDX-License-Identifier: GPL-2.0-or-later
"""What KCSAN says in a guest, and which of it is of functions that our patches add or change."""

from __future__ import annotations

import re

from serving import Guest

from cint import paths
from cint.build import patches

_REPORT = re.compile(r"BUG: KCSAN: [\w-]+ in (\S+)(?: / (\S+))?")
#: Where a hunk is, or a line at the left margin in it: either may begin a function.
_LINE = re.compile(r"^@@ [^@]*@@ (.+)$|^[ +]([A-Za-z].*)$", re.MULTILINE)
_FUNCTION = re.compile(r"\b(\w+)\(")
#: Less than that, and it has hardly looked.
ENOUGH = 5000
#: Races of stock Linux in functions that our patches also touch: pairs of patterns, and why.
KNOWN = (
    (r"nvme_poll", r"nvme_poll_cq",
     "nvme_poll() looks at the head before it takes the queue's lock"),
    (r"nvme_(poll_cq|irq\w*|handle_cqe)", r"nvme_(submit_cmds|sq_copy_cmd|queue_rqs?)",
     "the trace event nvme_sq takes the tail of the submission queue as it is"),
)


def changed_functions() -> frozenset[str]:
    """Names of functions in the hunks of our series."""
    found = set()
    for patch in patches.read_series(paths.GUEST_PATCHES):
        for where, line in _LINE.findall(patch.read_text("utf-8")):
            name = _FUNCTION.search(where or line)
            if name and not line.endswith(";"):
                found.add(name[1])
    return frozenset(found)


def _is_known(pair: tuple[str, str]) -> bool:
    return any(re.fullmatch(a, one) and re.fullmatch(b, other)
               for a, b, _ in KNOWN for one, other in (pair, pair[::-1]))


def of_ours(dmesg: str, changed: frozenset[str]) -> list[str]:
    """The reports that are not known to be stock's, as `FUNCTION / FUNCTION`."""
    found = []
    for first, second in _REPORT.findall(dmesg):
        # A part of a function that the compiler has split is called after it.
        one, other = first.partition(".")[0], second.partition(".")[0]
        if not {one, other}.isdisjoint(changed) and not _is_known((one, other)):
            found.append(f"{one} / {other}")
    return found


def check(guest: Guest) -> None:
    """KCSAN has looked, and has found nothing of ours."""
    said = guest.shell("cat /sys/kernel/debug/kcsan")
    counted = dict(re.findall(r"^(\w+): (\d+)$", said, re.MULTILINE))
    assert int(counted["setup_watchpoints"]) > ENOUGH, said
    dmesg = guest.shell("dmesg")
    print("\n".join(sorted(set(re.findall("BUG: KCSAN.*", dmesg)))))
    assert of_ours(dmesg, changed_functions()) == []
