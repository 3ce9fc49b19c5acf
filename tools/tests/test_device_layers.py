# SPDX-License-Identifier: GPL-2.0-or-later
"""The layers of hw/nvme."""

import re
from pathlib import Path

import pytest
from testkit import device_layers as layers

from cint import paths

TABLE = """\
# from the top
top
middle
bottom.c
bottom.h
"""

TREE = {
    "layers.txt": TABLE,
    "top.c": '#include "middle.h"\n\nint top(void)\n{\n    return middle(1);\n}\n',
    "middle.h": '#include "bottom.h"\n\nint middle(int x);\n',
    "middle.c": '#include "middle.h"\n\nint middle(int x)\n{\n    return bottom(x);\n}\n',
    "bottom.h": "int bottom(int x);\nstatic inline int low(int x)\n{\n    return bottom(x);\n}\n",
    "bottom.c": '#include "bottom.h"\n\nint bottom(int x)\n{\n    return x;\n}\n',
}


def _tree(tmp_path: Path, **changes: str) -> Path:
    for name, text in {**TREE, **{key.replace("_", "."): text
                                  for key, text in changes.items()}}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_tree_in_layers_has_no_faults(tmp_path: Path) -> None:
    directory = _tree(tmp_path)
    assert layers.faults(directory) == []
    assert layers.uses(directory) == {"top.c": {"middle.c"}, "middle.c": {"bottom.c"},
                                      "bottom.c": set()}


@pytest.mark.parametrize(("name", "text", "fault"), [
    ("middle_h", '#include "top.h"\n', ""),
    ("bottom_h", '#include "middle.h"\n', "bottom.h includes middle.h"),
    ("bottom_c", "int bottom(int x)\n{\n    return top();\n}\n", "bottom.c uses top.c"),
    ("middle_c", "int middle(int x)\n{\n    return top();\n}\n", "middle.c uses top.c"),
    ("new_c", "int f;\n", "new.c is not in layers.txt"),
    ("layers_txt", TABLE + "gone\n", "layers.txt names gone"),
    # what a comment says is no use
    ("bottom_c", "/* top() */\nint bottom(int x)\n{\n    return x;\n}\n", ""),
])
def test_faults(tmp_path: Path, name: str, text: str, fault: str) -> None:
    found = layers.faults(_tree(tmp_path, **{name: text}))
    assert [line for line in found if line.startswith(fault)] if fault else found == []


def test_an_inline_function_stands_for_what_it_calls(tmp_path: Path) -> None:
    directory = _tree(tmp_path, top_c="int top(void)\n{\n    return low(1);\n}\n")
    assert layers.uses(directory)["top.c"] == {"bottom.c"}


def test_cycles() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}
    assert layers.cycles(graph) == [["b", "c"]]
    assert layers.cycles({"a": {"a"}}) == [["a"]]


def test_the_tree_keeps_its_layers() -> None:
    assert layers.faults(paths.OVERLAY_NVME) == []
    assert layers.cycles(layers.includes(paths.OVERLAY_NVME)) == []


def test_the_hooks_see_no_state() -> None:
    """ctrl.c gets declarations: no structure of cint's, no header that has one."""
    text = (paths.OVERLAY_NVME / "cint-hooks.h").read_text("utf-8")
    assert re.findall(r'#include "(cint-.*|coalesce/.*)"', text) == []
    assert re.findall(r"->cint->", text) == []
    assert "typedef" not in text
    added = [line for patch in sorted(paths.QEMU_PATCHES.glob("*.patch"))
             for line in patch.read_text("utf-8").splitlines()
             if line.startswith('+#include "cint')]
    assert added == ['+#include "cint-hooks.h"', '+#include "cint-params.h"']


def _added_lines(patch: Path) -> int:
    """Lines that a patch adds to .c files of hw/nvme."""
    text = patch.read_text("utf-8")
    if re.search(r"^Subject: .*\bmove\b", text, re.MULTILINE):
        return 0
    count, counts = 0, False
    for line in text.splitlines():
        if line.startswith("diff --git "):
            counts = re.search(r" b/hw/nvme/\w+\.c$", line) is not None
        elif counts and line.startswith("+") and not line.startswith("+++ "):
            count += 1
    return count


def test_few_lines_are_added_to_qemus_own_files() -> None:
    """For cint, and, by the patches' subjects, for what is a property by itself."""
    ram = {*paths.QEMU_PATCHES.glob("*guest-RA*.patch")}
    memory = {*paths.QEMU_PATCHES.glob("*namespace*in-memory*.patch")}
    threads = {*paths.QEMU_PATCHES.glob("*IOThreads*.patch")}
    assert (len(ram), len(memory), len(threads)) == (3, 2, 3)
    assert sum(map(_added_lines, ram)) <= 100
    assert sum(map(_added_lines, memory)) <= 90
    assert sum(map(_added_lines, threads)) <= 295
    rest = {*paths.QEMU_PATCHES.glob("*.patch")} - ram - memory - threads
    assert sum(map(_added_lines, rest)) <= 120


def test_policies_are_known_to_their_own_files_only() -> None:
    """And to the guest's numbers; coalesce/policy-list.h lists them without these names."""
    named = {(file, name) for file, name in layers.policies_named(paths.OVERLAY_NVME)
             if file not in ("cint-abi.h", f"coalesce/{name}.c")}
    default = ("coalesce/params.c", "cint")
    assert named == {default}


#: Words that stand for what docs/userspace.md says, and the files that may know it: no others do.
KNOWN_ALONE = {
    r"linux/vfio\.h|\bioctl\(": {"vfio.c"},
    r"\bepoll_\w+\(": {"group.c"},
    r"\bp?poll\(": {"wait.c", "watch.c"},
    r"\bmmap\(": {"dma.c", "vfio.c"},
    r"\bcintio_write32\(": {"controller.c", "mode.c", "queue.c", "reap.c", "regs.h"},
    r"\bNVME_REG_\w+": {"controller.c", "identify.c", "nvme.h", "queue.c", "regs.c"},
    r"\bNVME_ADMIN_\w+": {"command.c", "identify.c", "log.c", "namespace.c", "nvme.h", "pairs.c",
                          "records.c"},
    r"\bphase\b": {"queue.c", "queue.h", "reap.c"},
    r"\bpthread_rwlock_\w+\(": {"admin.h", "controller.c"},
}


def test_userspace_layers_are_what_the_page_says() -> None:
    """A row of the table for each line of layers.txt, in its order."""
    page = (paths.ROOT / "docs/userspace.md").read_text("utf-8")
    section = page.split("\n## Layers\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)
    table = (paths.USERSPACE / "layers.txt").read_text("utf-8").splitlines()
    lines = [line.split() for line in table if line and not line.startswith("#")]
    assert [re.findall(r"`(.+?)`", row) for row in rows] == lines


def test_userspace_layers_know_no_more_than_the_page_says() -> None:
    sources = {path.name: re.sub(r"/\*.*?\*/", "", path.read_text("utf-8"), flags=re.DOTALL)
               for path in paths.USERSPACE.glob("*.[ch]")}
    knowing = {words: {name for name, text in sources.items() if re.search(words, text)}
               for words in KNOWN_ALONE}
    assert knowing == KNOWN_ALONE


#: A program's files that include more of the library than the header: tests' own.
TESTS_OWN = {("images/cintio/faults.c", "step.h")}


def test_programs_use_the_librarys_public_header_alone() -> None:
    """As those outside of the tree do."""
    own = {path.name for path in paths.USERSPACE.glob("*.[ch]")} - {"cintio.h", "cint-abi.h"}
    found = {(str(path.relative_to(paths.ROOT)), Path(name).name)
             for directory in ("images/cintio", "images/fio-user", "userspace/examples")
             for path in (paths.ROOT / directory).rglob("*.[ch]")
             for name in re.findall(r'#include [<"](.+)[>"]', path.read_text("utf-8"))}
    assert {(file, name) for file, name in found if name in own} == TESTS_OWN
    assert {file.split("/")[1] for file, name in found if name == "cintio.h"} \
        == {"cintio", "fio-user", "examples"}
