# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/own-policy.md, done to a copy of the tree: one file and one line make a policy."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from cint import ask, paths
from cint.build import engine

DOC = paths.ROOT / "docs/own-policy.md"
FILE = paths.ROOT / "docs/own-policy/half.c"
LIST = "hw/nvme/coalesce/policy-list.h"
#: What is not copied: at the top what was built and measured, and anywhere what Python leaves.
_MADE = ("build", "results")
_LEFT = ("__pycache__", ".*")
_VERB = ("import sys; sys.path.insert(0, 'tools'); from cint.cli import main; "
         "sys.exit(main(sys.argv[1:]))")


def copy_tree(target: Path, names: Sequence[str] = ()) -> None:
    """These files and directories of the tree, or all, without what was built."""
    skip = shutil.ignore_patterns(*_LEFT)
    for name in names or (path.name for path in paths.ROOT.iterdir()
                          if path.name not in _MADE and not path.name.startswith(".")):
        path = paths.ROOT / name
        if path.is_dir():
            shutil.copytree(path, target / name, ignore=skip, symlinks=True)
        else:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target / name)


def line_of_the_page() -> str:
    """What the page says is to be added to the list."""
    [line] = re.findall(r"^ {4}(POLICY\(.*\),)$", DOC.read_text("utf-8"), re.MULTILINE)
    return str(line)


def add(tree: Path) -> None:
    """The policy's file, and its line."""
    shutil.copy2(FILE, tree / LIST.rpartition("/")[0])
    with (tree / LIST).open("a", encoding="utf-8") as stream:
        stream.write(line_of_the_page() + "\n")


def run(tree: Path, *words: str | Path, seconds: float = 900) -> subprocess.CompletedProcess[str]:
    """A command in the copy."""
    env = {**os.environ, **engine.env(), "CCACHE_BASEDIR": str(tree), "CC": "ccache gcc"}
    return ask.run(words, cwd=tree, env=env, timeout=seconds)


def verb(tree: Path, *words: str, code: str = _VERB,
         seconds: float = 900) -> subprocess.CompletedProcess[str]:
    """./cint of the copy, by the Python that runs this."""
    return run(tree, sys.executable, "-P", "-c", code, *words, seconds=seconds)
