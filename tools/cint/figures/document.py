# SPDX-License-Identifier: GPL-2.0-or-later
"""figures.json: what was measured, and what came of every check."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from cint import paths, steps
from cint.errors import CintError
from cint.figures import checks, records
from cint.figures.figure import Figure, NotDone, machine
from cint.figures.values import Data

FILE = "figures.json"
#: Where the results that were written down are, a file for each figure, and the list of them.
STORED = paths.ROOT / "docs/figures"
LIST = paths.ROOT / "docs/figures.md"

Entry = records.Entry

#: Of how many CPUs the scheduler's slice in a guest is, however many it has.
SLICE_CPUS = 1


def entry(figure: Figure, data: Data, quick: bool, runs: Mapping[str, str],
          files: Mapping[str, list[str]]) -> Entry:
    """One figure as figures.json has it, judged by the digits that are kept of it.

    ``runs`` has the keys of the runs that it was read from, ``files`` what their guests were made
    of. Raises :class:`CintError`, naming the check, where a number is not there.
    """
    data = Data.from_dict(data.as_dict())
    found: list[records.Check] = []
    for check in figure.checks:
        try:
            found.append(checks.judge(check, data, quick).as_dict())
        except CintError as problem:
            raise CintError(f"{figure.id}: {check.name}: {problem.message}") from None
    return {**_entry(figure, data, checks.worst([c["verdict"] for c in found]), found, runs),
            "files": dict(files)}


def failed(figure: Figure, problem: CintError) -> Entry:
    """A figure whose guests did not run."""
    return {**_entry(figure, Data(), checks.FAIL, [], {}), "problem": problem.message}


def _entry(figure: Figure, data: Data, verdict: str, found: list[records.Check],
           runs: Mapping[str, str]) -> Entry:
    return {"id": figure.id, "set": figure.family, "title": figure.title,
            "source": figure.source, "slice_cpus": SLICE_CPUS, "verdict": verdict,
            "seeds": data.seeds, "runs": dict(runs), "checks": found, "problem": "",
            "data": data.as_dict()}


def conditions(figure: Figure, of_all: str) -> str:
    """Those of a figure: its guests may all stand for another machine than the calibrated one."""
    other = {(group.cpu_scale, group.cost_ns) for group in figure.groups}
    return of_all.replace(machine(), machine(*other.pop())) if len(other) == 1 else of_all


def stamped(entry: Entry, facts: records.Facts) -> Entry:
    """The entry as it is stored in the tree: with what it was measured with."""
    return {**entry, "commit": facts["commit"], "conditions": facts["conditions"]}


def _counts(found: Iterable[records.Check]) -> dict[str, int]:
    """How many checks have which verdict."""
    total = Counter(check["verdict"] for check in found)
    return {name: total[name] for name in checks.VERDICTS}


def document(entries: Sequence[Entry], missing: Sequence[NotDone], quick: bool,
             facts: records.Facts) -> records.Document:
    """The whole of figures.json; a figure without any check is a failure."""
    found = [check for entry in entries for check in entry["checks"]]
    summary = _counts(found)
    summary[checks.FAIL] += sum(1 for entry in entries if entry["problem"])
    return {"figures": list(entries), "summary": {**summary, "figures": len(entries)},
            "numbers": _counts(records.singly(found)),
            "not_done": [{"id": n.id, "set": n.family, "title": n.title, "reason": n.reason}
                         for n in missing],
            "quick": quick, "commit": facts["commit"], "conditions": facts["conditions"]}


def _is_flat(content: object) -> bool:
    """Whether it has no list of things that have parts themselves."""
    if isinstance(content, dict):
        return all(_is_flat(part) for part in content.values())
    return not isinstance(content, list) or not any(isinstance(p, dict | list) for p in content)


def _is_short(content: dict[str, object] | list[object]) -> bool:
    """Whether it goes on one line: a point, a check, a curve's numbers or an event."""
    if isinstance(content, dict):
        return _is_flat(content)
    return all(_is_flat(part) and not isinstance(part, dict) for part in content)


def _lines(content: object, indent: str = "") -> str:
    if not isinstance(content, dict | list) or not content or (indent and _is_short(content)):
        return json.dumps(content)
    inner = indent + " "
    if isinstance(content, list):
        between = f",\n{inner}"
        return f"[{between.join(_lines(part, inner) for part in content)}]"
    parts = [f"{inner}{json.dumps(name)}: {_lines(part, inner)}" for name, part in content.items()]
    return "{\n" + ",\n".join(parts) + f"\n{indent}}}"


def as_text(content: Mapping[str, object]) -> str:
    """A document as JSON, a point or a check a line: what is measured again shows by itself."""
    return _lines(content) + "\n"


def write(path: Path, content: Mapping[str, object]) -> None:
    """A document as a file, never half of it."""
    steps.write_atomic(path, as_text(content))


def stored(figure_id: str) -> Entry | None:
    """The figure's results in the tree, which its page was made from."""
    path = STORED / f"{figure_id}.json"
    if not path.exists():
        return None
    found: Entry = json.loads(path.read_text("utf-8"))
    return found
