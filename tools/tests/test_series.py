# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint patches`: a series made again from a git tree, and checked against a source."""

import argparse
import os
import subprocess
from pathlib import Path

import pytest

from cint import paths
from cint.build import patches
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
                              directory=None, package=None, build=False)


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


# --- what two series share ------------------------------------------------------------------


def a_series(directory: Path, **texts: str) -> list[Path]:
    """A series of patches with these texts, by subject."""
    directory.mkdir()
    lines = []
    for number, (subject, text) in enumerate(texts.items(), 1):
        name = f"{number:04}-{subject}.patch"
        (directory / name).write_text(f"From 0\nSubject: [PATCH {number}/{len(texts)}] {subject}\n"
                                      f"\n{text}\n")
        lines.append(name)
    (directory / "series").write_text("\n".join(lines) + "\n")
    return patches.read_series(directory)


def test_the_device_begins_with_patches_of_the_upstream_series() -> None:
    ours = patches.read_series(paths.QEMU_PATCHES)
    upstream = patches.read_series(paths.QEMU_UPSTREAM_PATCHES)
    patches.check_shared(ours, upstream)
    assert len(patches.shared_patches(ours, upstream)) >= 2


def test_shared_patches_are_the_same_and_come_first(tmp_path: Path) -> None:
    upstream = a_series(tmp_path / "upstream", fix="a", batch="b", feature="c")
    patches.check_shared(a_series(tmp_path / "good", fix="a", batch="b", own="x"), upstream)
    for name, texts, says in (
            ("none", {"own": "x"}, "does not begin"),
            ("late", {"own": "x", "fix": "a"}, "does not begin"),
            ("other", {"fix": "A", "own": "x"}, "differs from"),
            ("order", {"batch": "b", "fix": "a"}, "differs from"),
            ("gap", {"fix": "a", "feature": "c"}, "differs from")):
        with pytest.raises(CintError, match=says):
            patches.check_shared(a_series(tmp_path / name, **texts), upstream)


def test_only_a_series_that_exists_is_refreshed(tree: Path) -> None:
    with pytest.raises(UsageError, match=r"--series 9\.9"):
        patches_verb.run(options("refresh", tree, series="9.9"))
    with pytest.raises(UsageError, match="--series: only with refresh"):
        patches_verb.run(options("check", series="10.0"))
