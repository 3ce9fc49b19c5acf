# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/own-policy.md, done to a copy of the tree: one file and one line make a policy."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cint import paths
from cint.build import engine
from cint.selftest import device_layers

DOC = paths.ROOT / "docs/own-policy.md"
FILE = paths.ROOT / "docs/own-policy/half.c"
LIST = "hw/nvme/coalesce/policy-list.h"
#: What is copied: all that the engine's build and the verbs read.
COPIED = ("cint", "meson.build", "meson_options.txt", "hw", "replay", "tests", "tools", "userspace",
          "guest-patches", "docs/userspace.md")
PROGRAMS = ("any", "params", "events", "rules")


def copy_tree(target: Path) -> None:
    """The files of this tree, without what was built."""
    skip = shutil.ignore_patterns("__pycache__", ".*")
    for name in COPIED:
        path = paths.ROOT / name
        if path.is_dir():
            shutil.copytree(path, target / name, ignore=skip)
        else:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target / name)


def line_of_the_page() -> str:
    """What the page says is to be added to the list."""
    [line] = re.findall(r"^ {4}(POLICY\(.*\),)$", DOC.read_text("utf-8"), re.MULTILINE)
    return str(line)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with the policy: its file, and its line."""
    target = tmp_path_factory.mktemp("own-policy")
    copy_tree(target)
    shutil.copy2(FILE, target / LIST.rpartition("/")[0])
    with (target / LIST).open("a", encoding="utf-8") as stream:
        stream.write(line_of_the_page() + "\n")
    return target


def run(tree: Path, *words: str | Path) -> "subprocess.CompletedProcess[str]":
    """A command in the copy."""
    env = {**os.environ, **engine.env(), "CCACHE_BASEDIR": str(tree), "CC": "ccache gcc"}
    return subprocess.run(words, cwd=tree, env=env, text=True, capture_output=True, timeout=900,
                          check=False)


def verb(tree: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """./cint of the copy, by the Python that runs this."""
    code = ("import sys; sys.path.insert(0, 'tools'); from cint.cli import main; "
            "sys.exit(main(sys.argv[1:]))")
    return run(tree, sys.executable, "-P", "-c", code, *words)


def shown(command: str) -> str:
    """What the page shows of a command."""
    found = re.search(rf"^ {{4}}\$ {re.escape(command)}\n((?: {{4}}.*\n)+)",
                      DOC.read_text("utf-8"), re.MULTILINE)
    assert found, command
    return re.sub(r"^ {4}", "", found[1], flags=re.MULTILINE)


def test_the_engines_tests_pass_with_it(tree: Path) -> None:
    meson = paths.VENV / "bin/meson"
    done = run(tree, meson, "setup", "build/engine", "--buildtype=debugoptimized")
    assert done.returncode == 0, done.stdout[-2000:]
    programs = [f"tests/unit/test-{name}" for name in PROGRAMS]
    done = run(tree, paths.VENV / "bin/ninja", "-C", "build/engine", "-j2", *programs)
    assert done.returncode == 0, done.stdout[-2000:]
    for program in programs:
        done = run(tree, tree / "build/engine" / program, "--tap")
        assert done.returncode == 0, done.stdout[-2000:]
    done = run(tree, tree / "build/engine/tests/unit/test-any", "-l")
    assert "/any/half" in done.stdout.split()


def test_it_is_replayed_as_the_page_says(tree: Path) -> None:
    command = "./cint replay --policy half,adaptive,default tests/replay/out-of-order.trace"
    done = verb(tree, *command.split()[1:])
    assert done.returncode == 0, done.stderr
    assert done.stdout == shown(command)


def test_its_words_are_read(tree: Path) -> None:
    command = "./cint replay --policy half:delay=5us tests/replay/out-of-order.trace"
    done = verb(tree, *command.split()[1:])
    assert done.returncode == 2
    # The page wraps its lines.
    assert done.stderr.split() == shown(command).split()


def test_the_tool_knows_its_properties(tree: Path) -> None:
    code = ("import sys; sys.path.insert(0, 'tools'); from cint.device import properties as p; "
            "from cint.verbs import top; "
            "print(p.policy_properties(p.parse_policy('half:thr=8'), 3), top.KEYS)")
    done = run(tree, sys.executable, "-P", "-c", code)
    assert done.returncode == 0, done.stderr
    # Reported times become guest times; drain and max-hold are off, as the papers have it.
    assert "'cint.delta': 18000" in done.stdout and "'cint.thr': 8" in done.stdout
    assert "'cint.max-hold': 0" in done.stdout and "'h': 'half'" in done.stdout


def test_nothing_else_has_to_know_it(tree: Path) -> None:
    assert device_layers.faults(tree / "hw/nvme") == []
    known = {path for path in tree.rglob("*")
             if path.is_file() and path.suffix in (".c", ".h", ".build", ".txt", ".py", "")
             and "build" not in path.relative_to(tree).parts[:1]
             and "policy_half" in path.read_text("utf-8", errors="replace")}
    known.discard(tree / "tests/replay" / Path(__file__).name)
    assert known == {tree / LIST, (tree / LIST).with_name(FILE.name)}
