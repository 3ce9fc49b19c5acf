# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether the stored numbers of a figure are of the runs that this tree would make.

A run's key has all that decides it: QEMU, kernel and images by their content, the command line and
the guest's jobs. The stored results have the keys of the runs they were read from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cint.figures import programs, records, runner
from cint.figures.figure import Figure
from cint.figures.values import Data
from cint.guest import vm
from cint.measure import plan
from cint.measure.runner import Done
from cint.measure.store import Store

#: Hexadecimal digits of a key that are kept: enough to tell some hundred runs apart.
_DIGITS = 16


@dataclass(frozen=True)
class Origin:
    """What decides a figure's numbers: the key of each run by its name, and by what it is for
    (kernel, qemu, ...) the SHA-256 of each file that the guests were made of, their first digits.
    """

    runs: Mapping[str, str]
    files: Mapping[str, list[str]]

    @classmethod
    def of(cls, figure: Figure, data: Data, quick: bool = False) -> Origin:
        """Those of this tree; ``data`` decides which runs there are that depend on others.

        Raises :class:`vm.NotBuiltError` if something that the runs need is not there.
        """
        plans = {one.name: runner.run_of(one)[0] for one in _wanted(figure, data, quick)}
        found = sorted({file for run in plans.values() for file in run.files})
        return cls({name: run.key()[:_DIGITS] for name, run in plans.items()},
                   {role: [digest[:_DIGITS] for of, digest in found if of == role]
                    for role in sorted({of for of, _ in found})})

    @classmethod
    def stored(cls, entry: records.Entry) -> Origin:
        """Those of stored results; older ones do not say which files it were."""
        return cls(entry["runs"], entry.get("files", {}))


def _wanted(figure: Figure, data: Data, quick: bool = False) -> list[runner.Wanted]:
    if programs.missing(figure):
        raise vm.NotBuiltError("the disk of its programs is not here")
    return [*runner.known_runs(figure, quick), *runner.later_runs(figure, quick, data)]


def _key(wanted: runner.Wanted) -> str:
    return runner.run_of(wanted)[0].key()[:_DIGITS]


def difference(entry: records.Entry, now: Origin) -> str:
    """Why a figure's stored results are not of these runs; empty if they are."""
    then = Origin.stored(entry)
    others = _unlike(then.runs, now.runs)
    if not others:
        return ""
    more = f" and {len(others) - 1} more" if len(others) > 1 else ""
    return (f"measured at {entry['commit']}: {len(others)} of {len(now.runs)} guests would be "
            f"others now: {others[0]}{more}{_because(then, now)}")


def _because(then: Origin, now: Origin) -> str:
    if not then.files:
        return ""
    files = _unlike(then.files, now.files)
    return f"; of other files: {', '.join(files)}" if files else "; of the same files"


def _unlike(then: Mapping[str, object], now: Mapping[str, object]) -> list[str]:
    return sorted(name for name in {*now, *then} if now.get(name) != then.get(name))


def stale(figure: Figure, entry: records.Entry) -> str:
    """Why a figure's stored results are not this tree's; empty if they are.

    A kernel that only this figure needs, and the disk of its programs, may not be here.
    """
    try:
        return difference(entry, Origin.of(figure, Data.from_dict(entry["data"])))
    except vm.NotBuiltError as why:
        return (f"measured at {entry['commit']}: {why.message}, and nothing can be said of its "
                "guests; ./cint figure makes it")


# ---- a sample -------------------------------------------------------------

def others(figure: Figure, entry: records.Entry) -> list[tuple[runner.Wanted, str]]:
    """The guests that would be others now, each with the key of the one that was measured."""
    kept = entry["runs"]
    try:
        return [(one, kept[one.name]) for one in _wanted(figure, Data.from_dict(entry["data"]))
                if one.name in kept and _key(one) != kept[one.name]]
    except vm.NotBuiltError:
        return []


def unlike(done: Done, kept: str, store: Store) -> str:
    """How a guest differs from the one that was measured, whose key begins so; empty: nowhere."""
    key = store.find(kept)
    before = store.get(key) if key else None
    if before is None:
        return "what was measured is not in the store"
    if done.outcome is None:
        return f"it fails now: {done.problem}"
    return plan.difference(before, done.outcome) or ""
