# SPDX-License-Identifier: GPL-2.0-or-later
"""Who uses whom among the objects of a program, read from their symbols.

`python -m testkit.objects` prints the picture of each program of :data:`PROGRAMS`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from cint import paths
from cint.errors import CintError
from testkit import device_layers
from testkit.device_layers import Graph

#: By the directory of its sources, which has a layers.txt: where the build leaves the objects.
PROGRAMS: Mapping[str, str] = {
    "images/agent": "images/agent/cint-agent.p",
    "images/cintio": "images/cintio/cintio.p",
    "images/hintio": "images/hintio/hintio.p",
    "images/kvstore": "images/kvstore/kvstore.p",
    "replay": "replay/cint-replay.p",
    "userspace": "subprojects/cintio/libcintio-test.a.p",
}
#: Types of nm: defined and seen by other files; tentative and weak ones, too.
_DEFINED = frozenset("TDBRVWC")


def _symbols(path: Path) -> tuple[set[str], set[str]]:
    """What an object defines for others, and what it needs of them."""
    lines = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout
    defined, needed = set[str](), set[str]()
    for *_, kind, name in (line.split() for line in lines.splitlines()):
        if kind == "U":
            needed.add(name)
        elif kind in _DEFINED:
            defined.add(name)
    return defined, needed


def uses(directory: Path) -> Graph:
    """The files whose functions and tables each file uses; CintError where there are no objects."""
    found = {path.name.removesuffix(".o"): _symbols(path) for path in directory.glob("*.c.o")}
    if not found:
        raise CintError(f"{directory}: there are no objects", hint="./cint test unit builds them")
    home = {name: file for file, (defined, _) in found.items() for name in defined}
    return {file: {home[name] for name in needed if name in home} - {file}
            for file, (_, needed) in sorted(found.items())}


def faults(program: str) -> list[str]:
    """What a program has that the layers.txt of its sources does not allow."""
    return device_layers.faults(paths.ROOT / program, uses(paths.ENGINE_BUILD / PROGRAMS[program]))


if __name__ == "__main__":
    for name, place in PROGRAMS.items():
        print("\n".join([name, *device_layers.uses_as_text(uses(paths.ENGINE_BUILD / place))]))
