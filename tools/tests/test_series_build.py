# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint patches check --build`: what is compiled, and what counts as new."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from cint.build import packages, series_build

MAKEFILE = """\
obj-y := fops.o bio.o \\
\tflush.o
obj-$(CONFIG_HINTS)\t+= hints.o
obj-$(CONFIG_FS) += fs.o
fs-y := inode.o super.o
fs-$(CONFIG_ACL) += acl.o
"""


@pytest.mark.parametrize(("name", "wanted"), [
    ("fops", True), ("flush", True), ("hints", False), ("super", True), ("acl", True),
    ("other", False)])
def test_enabled(tmp_path: Path, name: str, wanted: bool) -> None:
    (tmp_path / "block").mkdir()
    (tmp_path / "block/Makefile").write_text(MAKEFILE)
    config = {"CONFIG_HINTS": "n", "CONFIG_FS": "y", "CONFIG_ACL": "y"}
    assert series_build.enabled(tmp_path, config, f"block/{name}.c") is wanted


def patch(path: Path, *files: str) -> Path:
    """A patch that touches files."""
    path.write_text("".join(f"diff --git a/{name} b/{name}\n" for name in files))
    return path


def test_sources_of(tmp_path: Path) -> None:
    """A header is used by its directory or by everything; else what a patch touches counts."""
    listed = [patch(tmp_path / "1", "mm/a.c", "mm/b.c"), patch(tmp_path / "2", "mm/c.c"),
              patch(tmp_path / "3", "include/linux/d.h", "mm/b.c"),
              patch(tmp_path / "4", "Documentation/e.rst"),
              patch(tmp_path / "5", "fs/f/f.h", "mm/c.c"), patch(tmp_path / "6", "fs/f/g.c"),
              patch(tmp_path / "7", "arch/x86/include/asm/h.h"),
              patch(tmp_path / "8", "mm/Kconfig")]
    mm = ["mm/a.c", "mm/b.c", "mm/c.c"]
    every = ["fs/f/g.c", *mm]
    assert [series_build.sources_of(listed, n) for n in range(9)] == [
        every, ["mm/a.c", "mm/b.c"], ["mm/c.c"], every, [], ["fs/f/g.c", "mm/c.c"], ["fs/f/g.c"],
        every, mm]


def test_new_messages() -> None:
    """Lines move, and a message that was there before does not count."""
    before = series_build.messages("../a/fs/b.c:10:5: warning: one\n  CC x.o\n"
                                   "fs/b.c:20:5: warning: two\n")
    after = series_build.messages("../a/fs/b.c:11:5: warning: one\nfs/b.c:22:5: warning: two\n"
                                  "fs/b.c:30:5: warning: two\nfs/b.c:31:1: error: three\n")
    assert before == Counter({"../a/fs/b.c: warning: one": 1, "fs/b.c: warning: two": 1})
    assert series_build.new_messages(before, after) == ["fs/b.c: error: three",
                                                        "fs/b.c: warning: two"]


def test_each_patch_is_checked_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each patch with each gate, by name; what is not asked for is not compiled."""
    listed = [patch(tmp_path / "1.patch", "mm/a.c"), patch(tmp_path / "2.patch", "mm/b.c")]
    compiled = []

    def results(listed: list[Path], tree: object, number: int, gate: series_build.Gate,
                jobs: int) -> Counter[str]:
        compiled.append((number, gate.name))
        return Counter({"mm/b.c: warning: one": 1}) if number == 2 else Counter()

    monkeypatch.setattr(packages, "require", lambda *_: None)
    monkeypatch.setattr(series_build, "_farm", lambda: None)
    monkeypatch.setattr(series_build, "_results", results)
    monkeypatch.setattr(series_build, "_whole", lambda *_: [])
    found = series_build.checks(listed, 1)
    names = [f"{n}.patch, hints {gate}" for gate in ("on", "off") for n in (1, 2)]
    assert list(found) == [*names, "the whole kernel, hints on", "the whole kernel, hints off"]
    assert not compiled
    assert found[names[3]]() == ["mm/b.c: warning: one"]
    assert compiled == [(0, "off"), (2, "off")]
    assert [name for name, check in found.items() if check()] == [names[1], names[3]]
