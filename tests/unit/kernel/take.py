#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""take.py SERIES FILE OUTPUT: a file that a series of patches adds.

It is the text of the one patch that adds it: a later patch that changes it is an error, and a
file that none adds is one, too.
"""

import sys
from pathlib import Path


def patches(series: Path) -> list[Path]:
    """The patches in order."""
    lines = (line.partition("#")[0].strip() for line in series.read_text("utf-8").splitlines())
    return [series.parent / line for line in lines if line]


def sections(patch: Path, name: str) -> list[list[str]]:
    """What a patch says of the file: the lines of each of its sections."""
    found: list[list[str]] = []
    inside = False
    for line in patch.read_text("utf-8").splitlines():
        if line.startswith("diff --git "):
            inside = line.endswith(f" b/{name}")
            if inside:
                found.append([])
        elif line == "-- ":
            inside = False
        elif inside:
            found[-1].append(line)
    return found


def added(lines: list[str]) -> str:
    """The text of a section that adds a file."""
    if "--- /dev/null" not in lines:
        raise SystemExit("take.py: a patch changes the file after another has added it; "
                         "squash them")
    body = lines[next(i for i, line in enumerate(lines) if line.startswith("@@")) + 1:]
    return "".join(f"{line[1:]}\n" for line in body if line.startswith("+"))


def main(series: str, name: str, output: str) -> None:
    found = [part for patch in patches(Path(series)) for part in sections(patch, name)]
    if not found:
        raise SystemExit(f"take.py: no patch of {series} adds {name}")
    Path(output).write_text("".join(added(part) for part in found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
