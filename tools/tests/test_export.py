# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint patches export`: a series as a branch."""

import argparse
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from test_series import commit, git

from cint import cli, paths
from cint.build import cover, export, patches, series, sources
from cint.errors import CintError

PATCH = """\
From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
From: A Person <a@example.org>
Date: Tue, 14 Nov 2023 22:13:{second} +0000
Subject: [PATCH] {subject}

Why.

Signed-off-by: A Person <a@example.org>
---
diff --git a/{file} b/{file}
--- a/{file}
+++ b/{file}
@@ -1,3 +1,4 @@
 one
 two
+{line}
 three
"""
CHANGES = (
    ("hw/nvme: a fix", "hw/nvme/ctrl.c", "a fix;"),
    ("hw/nvme: call what is ours", "hw/nvme/hook.c", '#include "cint-hooks.h"'),
    ("tests/qtest: build the tests", "tests/qtest/meson.build", "  'nvme-cint-x-test',"),
    ("docs: say so", "docs/nvme.rst", "see nvme-cint-x-test-suite"),
)
OURS = ("hw/nvme/coalesce/vic.c", "hw/nvme/cint-hooks.h", "hw/nvme/cint-ctrl.c",
        "tests/qtest/nvme-cint-x-test.c", "hw/nvme/meson.build")
TEXT = "one\ntwo\nthree\n"


@pytest.fixture
def own(sandbox: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of QEMU, a series for it, and files of ours."""
    tree = sandbox / "qemu"
    for _, file, _ in CHANGES:
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
    (tree / "hw/nvme/meson.build").write_text(patches.UPSTREAM_MESON + "\n")
    git(tree, "init", "-q")
    commit(tree, "QEMU 10.0.1", VERSION="10.0.1\n", **{file: TEXT for _, file, _ in CHANGES},
           **{".gitignore": "*-test.c\n"})
    git(tree, "tag", "v10.0.1")
    commit(tree, "later", other="x\n")
    directory = sandbox / "qemu-patches/10.0"
    directory.mkdir(parents=True)
    for number, (subject, file, line) in enumerate(CHANGES):
        text = PATCH.format(second=20 + number, subject=subject, file=file, line=line)
        (directory / f"{number}.patch").write_text(text)
    (directory / "series").write_text("".join(f"{n}.patch\n" for n in range(len(CHANGES))))
    monkeypatch.setattr(paths, "QEMU_PATCHES", directory)
    overlay = {}
    for inside in OURS:
        overlay[inside] = sandbox / "ours" / inside
        overlay[inside].parent.mkdir(parents=True, exist_ok=True)
        overlay[inside].write_text(f"ours: {inside}\n")
    monkeypatch.setattr(patches, "overlay_map", lambda: overlay)
    monkeypatch.setattr(cli, "_tree", lambda *needed: Path)
    return tree


def run(*words: str | Path) -> int:
    return cli.main(["patches", "export", *map(str, words)])


def subjects(made: Path) -> list[str]:
    return git(made, "log", "--reverse", "--format=%s", "cint-base..cint").splitlines()


def files(made: Path, revision: str) -> set[str]:
    return set(git(made, "ls-tree", "-r", "--name-only", revision).splitlines())


def test_our_files_come_right_before_the_patch_that_names_them(own: Path, sandbox: Path) -> None:
    made = sandbox / "made"
    assert run(made, "--qemu", "--qemu-src", own) == 0
    first, second, third, fourth = (subject for subject, _, _ in CHANGES)
    parts = [part.message.splitlines()[0] for part in export.PARTS]
    assert subjects(made) == [first, parts[0], parts[2], second, parts[3], third, fourth]
    # What builds them comes with the patch that calls them.
    assert git(made, "show", "cint~3:hw/nvme/meson.build") == "ours: hw/nvme/meson.build"
    assert git(made, "show", "cint~4:hw/nvme/meson.build") == patches.UPSTREAM_MESON
    # All is there, also what the tree's own .gitignore names.
    assert files(made, "cint") == files(own, "v10.0.1") | set(OURS)
    for inside in OURS:
        assert git(made, "show", f"cint:{inside}") == f"ours: {inside}"
    for _, file, line in CHANGES:
        assert git(made, "show", f"cint:{file}") == f"one\ntwo\n{line}\nthree"
    assert git(made, "status", "--porcelain") == ""


def test_commits_can_be_mailed_and_are_the_same_again(own: Path, sandbox: Path) -> None:
    before = git(own, "for-each-ref"), git(own, "status", "--porcelain")
    for name in "ab":
        assert run(sandbox / name, "--qemu", "--qemu-src", own) == 0
    one, other = (git(sandbox / name, "rev-parse", "cint") for name in "ab")
    assert one == other
    log = git(sandbox / "a", "log", "--format=%an <%ae>, %cn, %ad, %cd%n%B", "--date=raw",
              "cint-base..cint")
    commits = len(subjects(sandbox / "a"))
    who = r"A Person <a@example\.org>, A Person, (170000000\d \+0000), \1\n"
    assert len(re.findall(who, log)) == commits
    assert log.count("Signed-off-by: A Person <a@example.org>") == commits
    # The person's clone is read and not written.
    assert (git(own, "for-each-ref"), git(own, "status", "--porcelain")) == before


def test_the_sender_takes_the_place_of_the_project(own: Path, sandbox: Path) -> None:
    other = sandbox / "qemu-patches/10.0/0.patch"
    other.write_text(other.read_text().replace("a@example.org", "a@example.net"))
    made = sandbox / "made"
    assert run(made, "--qemu", "--qemu-src", own, "--from", "Zoë J. Doe <zoe@example.com>") == 0
    log = git(made, "log", "--reverse", "--format=%an <%ae>, %cn <%ce>%n%B", "cint-base..cint")
    zoe, theirs = "Zoë J. Doe <zoe@example.com>", "A Person <a@example.net>"
    commits = len(subjects(made))
    # A patch by somebody else stays theirs, and is signed by who sends it.
    assert log.startswith(f"{theirs}, {zoe}\nhw/nvme: a fix\n\nWhy.\n\n"
                          f"Signed-off-by: {theirs}\nSigned-off-by: {zoe}\n")
    assert log.count(f"{zoe}, {zoe}\n") == commits - 1
    assert log.count(f"Signed-off-by: {zoe}") == commits
    assert "example.org" not in log


def test_a_series_for_upstream_brings_its_cover_letter(
    own: Path, sandbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mailed = sandbox / "qemu-patches/upstream/core"
    mailed.mkdir(parents=True)
    for name in ("0.patch", "series"):
        shutil.copy(sandbox / "qemu-patches/10.0" / name, mailed / name)
    (mailed / "series").write_text("0.patch\n")
    (mailed / cover.NAME).write_text("From 0\nFrom: A <a@example.org>\nDate: x\n"
                                     "Subject: [PATCH 0/1] core: title\n\nWhy all.\n\nA (1):\n")
    monkeypatch.setattr(paths, "QEMU_UPSTREAM_PATCHES", mailed.parent)
    made = sandbox / "made"
    assert run(made, "--qemu", "--series", "core", "--qemu-src", own) == 0
    names = git(made, "format-patch", "-o", str(sandbox / "mail"), "cint-base..cint").splitlines()
    assert [Path(name).name for name in names] == [cover.NAME, "0001-hw-nvme-a-fix.patch"]
    letter = Path(names[0]).read_text()
    assert "Subject: [PATCH 0/1] core: title\n" in letter and "\nWhy all.\n" in letter


def test_without_a_clone_it_begins_at_the_distributions_source(
    own: Path, sandbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unpack(package: sources.Package, directory: Path) -> str:
        assert package is sources.QEMU
        subprocess.run(["git", "-C", own, "checkout-index", "-a", f"--prefix={directory}/"],
                       check=True)
        return "10.0.1"

    monkeypatch.setattr(sources, "unpack_to", unpack)
    assert run(sandbox / "made", "--qemu") == 0
    assert git(sandbox / "made", "log", "-1", "--format=%s", "cint-base") == "QEMU 10.0.1"
    assert len(subjects(sandbox / "made")) == 7


def test_a_clone_may_have_a_branch_of_that_name(own: Path, sandbox: Path) -> None:
    git(own, "checkout", "-q", "-b", "cint")
    assert run(sandbox / "made", "--qemu", "--qemu-src", own, "--base", "HEAD") == 0
    assert len(subjects(sandbox / "made")) == 7


def test_what_does_not_fit_is_named_and_nothing_is_left(
    own: Path, sandbox: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commit(own, "moved on", **{"docs/nvme.rst": "quite\nanother\ntext\n"})
    made = sandbox / "made"
    assert run(made, "--qemu", "--qemu-src", own, "--base", "HEAD") == 1
    assert "10.0/3.patch does not apply: " in capsys.readouterr().err
    assert not made.exists()


def test_a_file_without_a_commit_is_an_error(own: Path) -> None:
    listed = patches.read_series(paths.QEMU_PATCHES)
    with pytest.raises(CintError, match=r"hw/scsi/x\.c belongs to no commit"):
        export.plan(listed, ["hw/scsi/x.c"])
    with pytest.raises(CintError, match=r"no patch of .* uses hw/nvme/other\.c"):
        export.plan(listed, ["hw/nvme/other.c"])


def test_the_series_of_the_repository_has_a_place_for_each_file() -> None:
    overlay = patches.overlay_map()
    chosen = series.choose("qemu", None)
    commits = export.plan(patches.read_series(chosen.directory), overlay)
    found = [inside for commit in commits for inside in commit.files]
    assert sorted(found) == sorted(overlay)
    assert not series.choose("linux", None).overlay


@pytest.mark.parametrize(("words", "message"), [
    (["export"], "into which directory?"),
    (["export", "DIR"], "which series?"),
    (["export", "DIR", "--linux", "--series", "10.0"], "--series 10.0: it is not for linux"),
    (["export", "DIR", "--linux", "--series", "x"], "--series x: there is no such series"),
    (["check", "DIR"], "are for export"),
    (["check", "--qemu"], "are for export"),
    (["check", "--base", "x"], "--base: only with refresh and export"),
    (["check", "--from", "A <a@example.com>"], "--from: only with export"),
    *((["export", "DIR", "--qemu", "--from", wrong], "not a name and an address")
      for wrong in ("me", "a@example.com", "<a@example.com>", "A <a>", "A <a@b> c",
                    "A <a @example.com>", "A\n <a@example.com>", "- <a@example.com>")),
])
def test_usage(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["patches", *words]) == 2
    assert message in capsys.readouterr().err


def test_no_directory_is_overwritten(sandbox: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (sandbox / "full").mkdir()
    (sandbox / "full/x").write_text("mine")
    assert run(sandbox / "full", "--linux") == 1
    assert "full: not an empty directory" in capsys.readouterr().err
    assert (sandbox / "full/x").read_text() == "mine"


def test_options_of_the_verb_are_what_its_parts_take() -> None:
    parser = cli.build_parser(["patches"])
    args = parser.parse_args(["patches", "export", "d", "--qemu"])
    assert isinstance(args, argparse.Namespace)
    assert (args.package, args.directory, args.base, args.series) == ("qemu", Path("d"), None, None)
