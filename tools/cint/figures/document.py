# SPDX-License-Identifier: GPL-2.0-or-later
"""figures.json: what was measured, and what came of every check."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cint import paths, steps
from cint.errors import CintError
from cint.figures import checks
from cint.figures.model import Figure, NotDone
from cint.figures.values import Data

FILE = "figures.json"
#: Where the results that were written down are, a file for each figure, and the list of them.
STORED = paths.ROOT / "docs/figures"
LIST = paths.ROOT / "docs/figures.md"

Entry = dict[str, Any]

#: Of how many CPUs the scheduler's slice in a guest is, however many it has. What was measured
#: before says nothing of it: there it was of all of the guest's.
SLICE_CPUS = 1


def entry(figure: Figure, data: Data, quick: bool) -> Entry:
    """One figure as figures.json has it, judged by the digits that are kept of it."""
    data = Data.from_dict(data.as_dict())
    found: list[Entry] = []
    for check in figure.checks:
        try:
            found.append(checks.judge(check, data, quick).as_dict())
        except CintError as problem:
            raise CintError(f"{figure.id}: {check.name}: {problem.message}") from None
    return {**_head(figure), "verdict": verdict([c["verdict"] for c in found]),
            "seeds": data.seeds, "checks": found, "problem": "", "data": data.as_dict()}


def failed(figure: Figure, problem: CintError) -> Entry:
    """A figure whose guests did not run."""
    return {**_head(figure), "verdict": checks.FAIL, "seeds": 0, "checks": [],
            "problem": problem.message, "data": Data().as_dict()}


def _head(figure: Figure) -> Entry:
    return {"id": figure.id, "set": figure.family, "title": figure.title,
            "source": figure.source, "slice_cpus": SLICE_CPUS}


def has_longer_slice(figure: Figure, entry: Mapping[str, Any]) -> bool:
    """Whether its guests had a longer slice of the scheduler than they would have now."""
    return "slice_cpus" not in entry and any(group.vcpus > 1 for group in figure.groups)


def verdict(of: Sequence[str]) -> str:
    """A figure's verdict: the worst of its checks'."""
    for worst in (checks.FAIL, checks.QUICK, checks.EXPECTED):
        if worst in of:
            return worst
    return checks.PASS


def counts(entries: Sequence[Mapping[str, Any]]) -> Counter[str]:
    """How many checks have which verdict; a figure without any is a failure."""
    found = Counter(c["verdict"] for e in entries for c in e["checks"])
    found[checks.FAIL] += sum(1 for e in entries if e["problem"])
    return found


def document(entries: Sequence[Entry], missing: Sequence[NotDone], quick: bool,
             facts: Mapping[str, Any]) -> Entry:
    """The whole of figures.json."""
    total = counts(entries)
    summary = {name: total[name] for name in (checks.PASS, checks.FAIL, checks.EXPECTED,
                                              checks.QUICK)}
    return {"figures": list(entries), "summary": {**summary, "figures": len(entries)},
            "not_done": [{"id": n.id, "set": n.family, "title": n.title, "reason": n.reason}
                         for n in missing],
            "quick": quick, **facts}


def write(path: Path, content: Mapping[str, Any]) -> None:
    """A document as a file, never half of it."""
    steps.write_atomic(path, json.dumps(content, indent=1) + "\n")


def stored(figure_id: str) -> Entry | None:
    """The figure's results in the tree, which its page was made from."""
    path = STORED / f"{figure_id}.json"
    if not path.exists():
        return None
    found: Entry = json.loads(path.read_text("utf-8"))
    return found
