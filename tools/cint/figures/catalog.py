# SPDX-License-Identifier: GPL-2.0-or-later
"""Which figures there are: those of the modules of :mod:`cint.figures.library`."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Sequence
from functools import cache

from cint import units
from cint.errors import UsageError
from cint.figures import library
from cint.figures.figure import Figure, NotDone

#: The papers, and what is of none, by the name of their set.
FAMILIES = {
    "cinterrupts": "Optimizing Storage Performance with Calibrated Interrupts (ACM TOS 2022)",
    "vault": "I/O Latency Optimization with Polling (Vault 2017, slides)",
    "spdk": "Interrupt Support and Coalescing Enhancement for SPDK (Jiang)",
    "vic": "vIC: Interrupt Coalescing for Virtual Machine Storage Device IO (USENIX ATC 2011)",
    "auto": "Policy auto, for guests that say nothing",
    "cost": "What depends on the cost of an interrupt",
    "machines": "Machines that people have",
    "polling": "Interrupts, coalescing or polling",
    "blk-switch": "Rearchitecting Linux Storage Stack for us Latency and High Throughput "
                  "(OSDI 2021)",
    "apps": "The papers' applications, in a real guest",
    "guests": "Guests with and without hints",
    "marks": "What the kernel's marks are worth to ordinary jobs",
}
#: Figures of the papers that are not here, and why.
NOT_DONE = (
    NotDone("lm-410", "vault", "direct I/O of Linux 4.9 and 4.10",
            "compares two kernels' ways of direct I/O, both long gone"),
    NotDone("vic-tab9", "vic", "the monitor's profile under TPC-C",
            "is of the time that parts of ESX's monitor take, in cycles of the host, which do not "
            "exist in virtual time; QEMU has none of these parts"),
    NotDone("blk-fig12", "blk-switch", "more than 100 Gb/s", "needs two networks of that speed"),
)


def _order(figure: Figure | NotDone) -> tuple[int, list[int | str]]:
    """The key to sort by: paper, then as people count, fig8 before fig10."""
    words = re.split(r"(\d+)", figure.id)
    return (list(FAMILIES).index(figure.family), [int(w) if w.isdigit() else w for w in words])


@cache
def figures() -> tuple[Figure, ...]:
    """All figures, in order."""
    names = [m.name for m in pkgutil.iter_modules(library.__path__)]
    modules = [importlib.import_module(f"{library.__name__}.{name}") for name in names]
    found = {one.id: one for m in modules for one in vars(m).values() if isinstance(one, Figure)}
    return tuple(sorted(found.values(), key=_order))


def not_done() -> tuple[NotDone, ...]:
    """The figures that are listed and cannot be run."""
    return tuple(sorted(NOT_DONE, key=_order))


def choose(ids: Sequence[str], family: str | None, everything: bool) -> list[Figure]:
    """The figures that the options name; :class:`UsageError` names what is valid."""
    known = {figure.id: figure for figure in figures()}
    for name in ids:
        if name in known:
            continue
        for one in not_done():
            if one.id == name:
                raise UsageError(f"{name} is not done: {one.reason}")
        raise UsageError(f"there is no figure '{name}'{units.suggestion(name, known)}",
                         hint="./cint figure --list names them")
    if family is not None and family not in FAMILIES:
        raise UsageError(f"--set {family}: valid: {', '.join(FAMILIES)}")
    if not ids and family is None and not everything:
        raise UsageError("which figures? give their names, --set or --all",
                         hint="./cint figure --list names them")
    return [f for f in figures()
            if everything or f.id in ids or family in (f.family, *f.sets)]
