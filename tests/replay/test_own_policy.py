# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/own-policy.md, done to a copy of the tree: one file and one line make a policy."""

import re
import sys
from pathlib import Path

import pytest
from testkit import device_layers
from testkit.own_policy import DOC, FILE, LIST, add, copy_tree, run, verb

from cint import paths

#: What is copied: all that the engine's build and the verbs read.
COPIED = ("cint", "meson.build", "meson_options.txt", "hw", "libcint", "replay", "tests",
          "tools", "userspace", "preload", "subprojects", "guest-patches", "images", "jobs", "docs",
          "apps")
PROGRAMS = ("any", "params", "events", "rules")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with the policy."""
    target = tmp_path_factory.mktemp("own-policy")
    copy_tree(target, COPIED)
    add(target)
    return target


def shown(command: str) -> str:
    """What the page shows of a command."""
    found = re.search(rf"^ {{4}}\$ {re.escape(command)}\n((?: {{4}}.*\n)+)",
                      DOC.read_text("utf-8"), re.MULTILINE)
    assert found, command
    return re.sub(r"^ {4}", "", found[1], flags=re.MULTILINE)


def build_programs(tree: Path, *names: str) -> None:
    """Build these unit tests in a copy, and see them pass."""
    meson = paths.VENV / "bin/meson"
    done = run(tree, meson, "setup", "build/engine", "--buildtype=debugoptimized")
    assert done.returncode == 0, done.stdout[-2000:]
    programs = [f"tests/unit/test-{name}" for name in names]
    done = run(tree, paths.VENV / "bin/ninja", "-C", "build/engine", "-j2", *programs)
    assert done.returncode == 0, done.stdout[-2000:]
    for program in programs:
        done = run(tree, tree / "build/engine" / program, "--tap")
        assert done.returncode == 0, done.stdout[-2000:]


def test_the_engines_tests_pass_with_it(tree: Path) -> None:
    build_programs(tree, *PROGRAMS)
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
    known -= {tree / Path(__file__).relative_to(paths.ROOT), tree / FILE.relative_to(paths.ROOT)}
    assert known == {tree / LIST, (tree / LIST).with_name(FILE.name)}


# ---- a parameter of its own -------------------------------------------------

PARAMETERS = "hw/nvme/coalesce/param-list.h"


@pytest.fixture(scope="module")
def wider(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy in which the policy also reads a parameter that is one line of the list."""
    target = tmp_path_factory.mktemp("own-parameter")
    copy_tree(target, COPIED)
    add(target)
    [line] = re.findall(r"^ {4}(PARAM\(.*(?:\n {10}.*)*)$", DOC.read_text("utf-8"), re.MULTILINE)
    with (target / PARAMETERS).open("a", encoding="utf-8") as stream:
        stream.write(re.sub(r"^ {4}", "", line, flags=re.MULTILINE) + "\n")
    words = target / "replay/word-list.h"
    words.write_text(words.read_text("utf-8").replace(
        "\nSHORT_WORD(", '\nSHORT_WORD("half", "n", "share")\nALIAS("half4", "half", "share", 4)'
        "\nSHORT_WORD(", 1), "utf-8")
    policies = target / LIST
    policies.write_text(policies.read_text("utf-8").replace('half, "', 'half, "share '), "utf-8")
    return target


def test_a_line_makes_a_parameter(wider: Path) -> None:
    """Of the engine and its tests, the language, cint-replay, the device's properties, the docs."""
    def replayed(words: str) -> tuple[int, str]:
        done = verb(wider, "replay", "--policy", words, "tests/replay/out-of-order.trace")
        return done.returncode, done.stderr

    assert replayed("half:share=3")[0] == 0
    code, said = replayed("half:share=17")
    assert code == 2 and "expected a number from 1 to 16" in said
    program = next((wider / "build").rglob("cint-replay"))
    done = run(wider, program, "--policy", "half:share=17", "tests/replay/out-of-order.trace")
    assert done.returncode == 2 and "share is 1 to 16" in done.stderr
    assert "share" in run(wider, program, "--help").stdout
    done = run(wider, sys.executable, "-P", "-c",
               "import sys; sys.path.insert(0, 'tools'); "
               "from cint.device import properties as p, words; "
               "print(p.policy_properties(p.parse_policy('half:share=5'), 3), "
               "'share' in words.PARAMETERS['cint'])")
    assert "'cint.share': 5" in done.stdout and done.stdout.endswith("False\n"), done.stderr
    assert verb(wider, "docs", "tables").stdout == "docs/interface.md\ndocs/policies.md\n"
    assert "| `share` | `cint.share` | 1 to 16 | `half` |" in \
        (wider / "docs/policies.md").read_text("utf-8")
    assert "| `cint.share` | 1 to 16 | 2 |" in (wider / "docs/interface.md").read_text("utf-8")
    build_programs(wider, "params")


def test_a_line_makes_a_word(wider: Path) -> None:
    """Of the tool's language and of cint-replay's: another word for a parameter, and a name."""
    program = next((wider / "build").rglob("cint-replay"))
    for policy, share in (("half:n=7", 7), ("half4", 4), ("half", 2)):
        done = run(wider, program, "--json", "--extras", "papers", "--policy", policy,
                   "tests/replay/out-of-order.trace")
        assert f'"share":{share}' in done.stdout, done.stderr
        done = run(wider, sys.executable, "-P", "-c",
                   "import sys; sys.path.insert(0, 'tools'); "
                   "from cint.device import properties as p; "
                   f"print(p.policy_properties(p.parse_policy('{policy}'), 1))")
        assert f"'cint.share': {share}" in done.stdout, done.stderr
