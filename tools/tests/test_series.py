# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint patches`: a series made again from a git tree, and checked against a source."""

import argparse
import os
import subprocess
from pathlib import Path

import pytest

from cint import paths
from cint.build import cover, patches, sources, trees
from cint.build import qemu as build
from cint.errors import CintError, UsageError
from cint.verbs import patches as patches_verb

LONG = "b: a second change, whose subject is long enough to be folded in a mail"
MAKEFILE = "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 7\n"


def git(tree: Path, *words: str) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(tree), "GIT_CONFIG_GLOBAL": os.devnull,
           "GIT_CONFIG_SYSTEM": os.devnull,
           **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in
              (("NAME", "A Person"), ("EMAIL", "a@example.org"), ("DATE", "1700000000 +0000"))}}
    return subprocess.run(["git", "-C", tree, *words], env=env, check=True, capture_output=True,
                          text=True).stdout.strip()


def commit(tree: Path, subject: str, **files: str) -> None:
    for name, text in files.items():
        (tree / name).write_text(text)
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", subject)


@pytest.fixture
def tree(sandbox: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git tree with two commits since v6.12.7, and a checkout without a series."""
    found = sandbox / "linux"
    found.mkdir()
    git(found, "init", "-q")
    commit(found, "Linux 6.12.7", Makefile=MAKEFILE, a="one\ntwo\nthree\n")
    git(found, "tag", "v6.12.7")
    commit(found, "a: first change", a="one\nTWO\nthree\n")
    commit(found, LONG, b="b\n")
    monkeypatch.setattr(paths, "GUEST_PATCHES", sandbox / "patches")
    paths.GUEST_PATCHES.mkdir()
    (paths.GUEST_PATCHES / "series").write_text("# For Linux v6.12.1, in order.\ngone.patch\n")
    (paths.GUEST_PATCHES / "gone.patch").write_text("old\n")
    return found


def options(what: str, linux: Path | None = None, base: str | None = None,
            series: str | None = None) -> argparse.Namespace:
    return argparse.Namespace(what=what, linux_src=linux, qemu_src=None, base=base, series=series,
                              directory=None, package=None, build=False, sender=None)


def listed() -> list[str]:
    return [path.name for path in patches.read_series(paths.GUEST_PATCHES)]


def test_refresh_writes_the_series_and_again_changes_nothing(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert patches_verb.run(options("refresh", tree)) == 0
    assert listed() == ["0001-a-first-change.patch",
                        "0002-b-a-second-change-whose-subject-is-long-enough-to-be.patch"]
    assert not (paths.GUEST_PATCHES / "gone.patch").exists()
    assert (paths.GUEST_PATCHES / "series").read_text().startswith("# For Linux v6.12.7, in order.")
    first = patches.read_series(paths.GUEST_PATCHES)[0].read_text()
    assert first.startswith("From " + "0" * 40)
    assert "\n-- \n" not in first
    assert patches.subjects(patches.read_series(paths.GUEST_PATCHES)) == [
        "a: first change", LONG]
    assert "2 new, 0 changed, 1 gone" in capsys.readouterr().err
    assert patches_verb.run(options("refresh", tree)) == 0
    assert "0 new, 0 changed, 0 gone" in capsys.readouterr().err


def test_what_refresh_wrote_applies_to_the_base(tree: Path) -> None:
    patches_verb.run(options("refresh", tree))
    with pytest.raises(CintError, match="has 2 of the 2 patches as commits"):
        patches_verb.run(options("check", tree))
    git(tree, "checkout", "-q", "v6.12.7")
    assert patches_verb.run(options("check", tree)) == 0
    (tree / "a").write_text("one\ndeux\nthree\n")
    with pytest.raises(CintError, match=r"0001-a-first-change\.patch does not apply to Linux 6"):
        patches_verb.run(options("check", tree))
    # Checking is reading only.
    assert (tree / "a").read_text() == "one\ndeux\nthree\n"
    assert not (tree / "b").exists()


def test_a_persons_settings_make_no_other_patches(tree: Path) -> None:
    patches_verb.run(options("refresh", tree))
    before = {path.name: path.read_text() for path in paths.GUEST_PATCHES.iterdir()}
    for key, value in (("core.abbrev", "30"), ("format.signature", "me"),
                       ("format.attach", "x"), ("format.coverLetter", "true")):
        git(tree, "config", key, value)
    patches_verb.run(options("refresh", tree))
    assert {path.name: path.read_text() for path in paths.GUEST_PATCHES.iterdir()} == before


def refused(tree: Path, base: str | None = None) -> str:
    before = sorted(path.name for path in paths.GUEST_PATCHES.iterdir())
    with pytest.raises(CintError) as caught:
        patches_verb.run(options("refresh", tree, base))
    assert sorted(path.name for path in paths.GUEST_PATCHES.iterdir()) == before
    return caught.value.message


def test_a_dirty_tree_is_refused(tree: Path) -> None:
    (tree / "untracked").write_text("x")
    (tree / "a").write_text("x")
    assert refused(tree).endswith("is dirty: a differs from the last commit")


def test_a_wrong_base_is_refused(tree: Path) -> None:
    assert "has no such commit" in refused(tree, "v9")
    assert "has no commits since HEAD" in refused(tree, "HEAD")
    git(tree, "checkout", "-q", "v6.12.7")
    commit(tree, "Linux 6.13", Makefile=MAKEFILE.replace("12", "13"))
    git(tree, "tag", "v6.13")
    commit(tree, "c: change", c="c\n")
    assert "v6.13 is Linux 6.13.7, and" in refused(tree, "v6.13")
    git(tree, "checkout", "-q", "v6.12.7")
    commit(tree, "d: elsewhere", d="d\n")
    git(tree, "tag", "side")
    git(tree, "checkout", "-q", "v6.12.7")
    assert "side is not before HEAD" in refused(tree, "side")


def test_a_merge_is_refused(tree: Path) -> None:
    git(tree, "branch", "line")
    git(tree, "checkout", "-q", "-b", "other", "v6.12.7")
    commit(tree, "c: change", c="c\n")
    git(tree, "merge", "-q", "--no-edit", "line")
    assert "has a merge since v6.12.7" in refused(tree)


def test_a_tree_without_tags_needs_a_base(tree: Path) -> None:
    base = git(tree, "rev-parse", "v6.12.7")
    git(tree, "tag", "-d", "v6.12.7")
    assert "has no tag v6.12* before HEAD" in refused(tree)
    assert patches_verb.run(options("refresh", tree, base)) == 0
    assert len(listed()) == 2


def test_no_git_tree_is_refused(tree: Path, sandbox: Path) -> None:
    (sandbox / "plain").mkdir()
    assert "is not a git tree" in refused(sandbox / "plain")


def test_usage() -> None:
    with pytest.raises(UsageError, match="which git tree"):
        patches_verb.run(options("refresh"))
    with pytest.raises(UsageError, match="only with refresh"):
        patches_verb.run(options("check", base="x"))


# --- what a series has from another one, and cover letters ------------------------------------


@pytest.fixture
def qemu(sandbox: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git tree with a fix and a change of ours, and the series of both: two directories."""
    found = sandbox / "qemu"
    found.mkdir()
    git(found, "init", "-q")
    commit(found, "QEMU 10.0.7", VERSION="10.0.7\n", a="one\ntwo\nthree\n")
    git(found, "tag", "v10.0.7")
    commit(found, "a: the fix", a="one\nTWO\nthree\n")
    commit(found, "b: ours", b="b\n")
    made = sandbox / "qemu-patches"
    mailed = made / "upstream/core"
    for directory, listed in ((mailed, "0001-a-the-fix.patch\n"),
                              (made / "10.0", "../upstream/core/0001-a-the-fix.patch\n")):
        directory.mkdir(parents=True)
        (directory / "series").write_text(listed)
    (mailed / "0001-a-the-fix.patch").write_text("From 0\nSubject: [PATCH] a: the fix\n\nold\n")
    (mailed / cover.NAME).write_text(LETTER)
    monkeypatch.setattr(paths, "QEMU_PATCHES", made / "10.0")
    monkeypatch.setattr(paths, "QEMU_UPSTREAM_PATCHES", made / "upstream")
    monkeypatch.setattr(paths, "GUEST_PATCHES", sandbox / "no-patches")
    base = patches.Tree(paths.SRC / "qemu", "QEMU 10.0.7")
    base.root.mkdir(parents=True)
    (base.root / "a").write_text("one\ntwo\nthree\n")
    monkeypatch.setattr(trees, "prepare", lambda *_: base)
    return found


LETTER = """\
From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
From: A Person <a@example.org>
Date: Tue, 14 Nov 2023 22:13:20 +0000
Subject: [PATCH 0/9] core: a title

Why (so).

Somebody (9):
  what is out of date
"""


def qemu_options(tree: Path, series: str | None = None) -> argparse.Namespace:
    found = options("refresh", series=series)
    found.qemu_src = tree
    return found


def test_what_a_series_has_from_another_is_kept_there(qemu: Path) -> None:
    assert patches_verb.run(qemu_options(qemu)) == 0
    device, mailed = paths.QEMU_PATCHES, paths.QEMU_UPSTREAM_PATCHES / "core"
    assert (device / "series").read_text() == \
        "../upstream/core/0001-a-the-fix.patch\n0001-b-ours.patch\n"
    assert [path.name for path in device.glob("*.patch")] == ["0001-b-ours.patch"]
    assert "+TWO" in (mailed / "0001-a-the-fix.patch").read_text()
    listed = patches.read_series(device)
    assert patches.subjects(listed) == ["a: the fix", "b: ours"]
    assert patches.from_upstream(listed) == [mailed / "0001-a-the-fix.patch"]


def test_a_patch_of_another_series_does_not_get_lost(qemu: Path) -> None:
    git(qemu, "commit", "-q", "--amend", "-m", "b: reworded")
    git(qemu, "reset", "-q", "--hard", "v10.0.7")
    commit(qemu, "a: renamed", a="one\nTWO\nthree\n")
    with pytest.raises(CintError, match=r'no commit is "a: the fix", which .*10\.0/series'):
        patches_verb.run(qemu_options(qemu))
    assert (paths.QEMU_PATCHES / "series").read_text() == "../upstream/core/0001-a-the-fix.patch\n"


def test_a_cover_letter_says_what_the_patches_are(qemu: Path) -> None:
    mailed = paths.QEMU_UPSTREAM_PATCHES / "core"
    git(qemu, "reset", "-q", "--hard", "HEAD^")
    assert patches_verb.run(qemu_options(qemu, "core")) == 0
    text = (mailed / cover.NAME).read_text()
    assert text.endswith("Subject: [PATCH 0/1] core: a title\n\nWhy (so).\n\n"
                         "A Person (1):\n  a: the fix\n\n a | 2 +-\n"
                         " 1 file changed, 1 insertion(+), 1 deletion(-)\n")
    tree = trees.prepare(sources.QEMU, None)
    cover.check(mailed, tree)
    (mailed / cover.NAME).write_text(text.replace("0/1", "0/2"))
    with pytest.raises(CintError, match="does not say what the patches are"):
        cover.check(mailed, tree)
    assert patches_verb.run(options("cover")) == 0
    assert (mailed / cover.NAME).read_text() == text
    (mailed / cover.NAME).unlink()
    with pytest.raises(CintError, match=r"core has no 0000-cover-letter\.patch"):
        cover.check(mailed, tree)


@pytest.fixture
def parts(tree: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tree, whose first commit is in one part of the series and whose second is in another."""
    series = paths.GUEST_PATCHES
    (series / "gone.patch").unlink()
    for name, subject in (("fixes", "a: first change"), ("more", LONG)):
        (series / name).mkdir()
        (series / name / "0001-x.patch").write_text(f"From 0\nSubject: [PATCH] {subject}\n\nold\n")
        (series / name / cover.NAME).write_text(LETTER.replace("core:", f"{name}:"))
    (series / "series").write_text("fixes/0001-x.patch\nmore/0001-x.patch\n")
    base = patches.Tree(paths.SRC / "linux", "Linux 6.12.7")
    base.root.mkdir(parents=True)
    (base.root / "a").write_text("one\ntwo\nthree\n")
    monkeypatch.setattr(trees, "prepare", lambda *_: base)
    return tree


def test_parts_stay_apart(parts: Path) -> None:
    """A new patch is of the part that the one before it is of; each letter tells of its own."""
    git(parts, "reset", "-q", "--hard", "HEAD^")
    commit(parts, "a: another", c="c\n")
    commit(parts, LONG, b="b\n")
    assert patches_verb.run(options("refresh", parts)) == 0
    series = paths.GUEST_PATCHES
    assert (series / "series").read_text() == (
        "fixes/0001-a-first-change.patch\nfixes/0002-a-another.patch\n"
        "more/0001-b-a-second-change-whose-subject-is-long-enough-to-be.patch\n")
    assert not (series / "fixes/0001-x.patch").exists()
    assert patches.guest_series() == [series / "fixes", series / "more"]
    letter = (series / "more" / cover.NAME).read_text()
    assert "[PATCH 0/1] more: a title" in letter
    assert letter.endswith(" b | 1 +\n 1 file changed, 1 insertion(+)\n create mode 100644 b\n")
    before, listed = patches.with_base(series / "more")
    assert (len(before), len(listed)) == (2, 1)
    tree = trees.prepare(sources.LINUX, None)
    cover.check(series / "more", tree)
    assert patches.count_added(tree, [*before, *listed], ("a", "b", "c", ":!c")) == 2


def test_a_part_is_a_row_of_commits(parts: Path) -> None:
    git(parts, "reset", "-q", "--hard", "HEAD^")
    commit(parts, "c: of the first", c="c\n")
    commit(parts, LONG, b="b\n")
    patches_verb.run(options("refresh", parts))
    git(parts, "reset", "-q", "--hard", "v6.12.7")
    for subject, name in (("a: first change", "a"), (LONG, "b"), ("c: of the first", "c")):
        commit(parts, subject, **{name: "x\n"})
    with pytest.raises(CintError, match=r'"c: of the first" is of .*fixes, and so is'):
        patches_verb.run(options("refresh", parts))
    with pytest.raises(UsageError, match="--series more: only the whole"):
        patches_verb.run(options("refresh", parts, series="more"))


def test_the_series_of_the_repository_keep_each_patch_once() -> None:
    ours = patches.read_series(paths.QEMU_PATCHES)
    shared = patches.from_upstream(ours)
    assert len(shared) >= 2 and ours[:len(shared)] == shared
    mailed = [patch for series in patches.upstream_series()
              for patch in patches.read_series(series)]
    assert set(shared) <= set(mailed)
    subjects = patches.subjects([*mailed, *ours[len(shared):]])
    assert len(subjects) == len(set(subjects))
    assert {series.name for series in patches.upstream_series()} == set(build.UPSTREAM_TESTS)
    for series in patches.upstream_series():
        assert cover.read(series).text


def test_only_a_series_that_exists_is_refreshed(tree: Path) -> None:
    with pytest.raises(UsageError, match=r"--series 9\.9"):
        patches_verb.run(options("refresh", tree, series="9.9"))
    with pytest.raises(UsageError, match="--series: only with refresh"):
        patches_verb.run(options("check", series="10.0"))
