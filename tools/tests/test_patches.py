# SPDX-License-Identifier: GPL-2.0-or-later
"""Patch series and overlay."""

import os
import re
from pathlib import Path

import pytest

from cint import paths
from cint.build import git, patches
from cint.device import params
from cint.errors import CintError

CHANGE = """\
From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
From: A Person <a@example.org>
Subject: [PATCH] change

---
diff --git a/dir/file.c b/dir/file.c
--- a/dir/file.c
+++ b/dir/file.c
@@ -1,3 +1,3 @@
 one
-two
+TWO
 three
diff --git a/dir/new.c b/dir/new.c
new file mode 100644
--- /dev/null
+++ b/dir/new.c
@@ -0,0 +1 @@
+new
--\x20
2.39
"""


@pytest.fixture
def tree(tmp_path: Path) -> patches.Tree:
    root = tmp_path / "src/demo"
    (root / "dir").mkdir(parents=True)
    (root / "dir/file.c").write_text("one\ntwo\nthree\n")
    (root / "other.c").write_text("other\n")
    return patches.Tree(root, "Demo 1.2")


def series(tmp_path: Path, **texts: str) -> list[Path]:
    directory = tmp_path / "patches"
    directory.mkdir(exist_ok=True)
    for name, text in texts.items():
        (directory / f"{name}.patch").write_text(text)
    names = "".join(f"{name}.patch\n" for name in texts)
    (directory / "series").write_text("# comment\n\n" + names)
    return patches.read_series(directory)


def test_touched_files(tmp_path: Path) -> None:
    (patch,) = series(tmp_path, a=CHANGE)
    assert patches.touched_files(patch) == ["dir/file.c", "dir/new.c"]


def test_a_series_that_lists_a_missing_patch_is_said(tmp_path: Path) -> None:
    (tmp_path / "series").write_text("0001-x.patch\n")
    with pytest.raises(CintError, match=r"series lists 0001-x\.patch, which is not there"):
        patches.read_series(tmp_path)
    assert patches.read_series(tmp_path / "nowhere") == []


def test_apply_twice_writes_once(tmp_path: Path, tree: patches.Tree) -> None:
    listed = series(tmp_path, a=CHANGE)
    assert patches.apply_series(tree, listed) == ["dir/file.c", "dir/new.c"]
    assert (tree.root / "dir/file.c").read_text() == "one\nTWO\nthree\n"
    before = (tree.root / "dir/file.c").stat().st_mtime_ns
    assert patches.apply_series(tree, listed) == []
    assert (tree.root / "dir/file.c").stat().st_mtime_ns == before


def test_a_changed_patch_touches_only_what_it_changes(tmp_path: Path, tree: patches.Tree) -> None:
    patches.apply_series(tree, series(tmp_path, a=CHANGE))
    assert patches.apply_series(tree, series(tmp_path, a=CHANGE.replace("+new", "+newer"))) \
        == ["dir/new.c"]
    assert (tree.root / "dir/new.c").read_text() == "newer\n"


SECOND = """\
From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
From: B Person <b@example.org>
Subject: [PATCH] change again

---
diff --git a/dir/file.c b/dir/file.c
--- a/dir/file.c
+++ b/dir/file.c
@@ -1,3 +1,4 @@
 one
 TWO
+2.5
 three
--\x20
2.39
"""


def test_a_series_is_applied_from_its_first_changed_patch_on(
    tmp_path: Path, tree: patches.Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    applied: list[list[str]] = []
    am = patches._am

    def recorded(of: patches.Tree, work: git.Repository, listed: list[Path],
                 names: list[str]) -> None:
        applied.append([patch.name for patch in listed])
        am(of, work, listed, names)

    monkeypatch.setattr(patches, "_am", recorded)
    patches.apply_series(tree, series(tmp_path, a=CHANGE, b=SECOND))
    listed = series(tmp_path, a=CHANGE, b=SECOND.replace("2.5", "2.6"))
    assert patches.apply_series(tree, listed) == ["dir/file.c"]
    patches.apply_series(tree, listed)
    patches.apply_series(tree, listed[:1])
    assert applied == [["a.patch", "b.patch"], ["b.patch"]]
    # The source is another one: nothing that was applied to the old one counts.
    (tree.store / "dir/file.c").write_text("one\ntwo\nthree\nfour\n")
    assert patches.apply_series(tree, listed) == ["dir/file.c"]
    assert applied[2:] == [["a.patch", "b.patch"]]
    assert (tree.root / "dir/file.c").read_text() == "one\nTWO\n2.6\nthree\nfour\n"


def test_the_series_can_be_read_as_commits(tmp_path: Path, tree: patches.Tree) -> None:
    patches.apply_series(tree, series(tmp_path, a=CHANGE, b=SECOND))
    patches.check_series(tree, series(tmp_path, a=CHANGE)[:1])
    said = git.Repository(tree.store).git("log", "--format=%an: %s", "pristine..patched")
    assert said.splitlines() == ["B Person: change again", "A Person: change"]
    assert git.Repository(tree.store).git("status", "--short") == "?? index.json"


def test_the_patch_that_does_not_apply_is_named(tmp_path: Path, tree: patches.Tree) -> None:
    listed = series(tmp_path, a=CHANGE, b=SECOND, c=SECOND.replace("again", "once more"))
    with pytest.raises(CintError, match=r"c\.patch does not apply to Demo 1\.2"):
        patches.apply_series(tree, listed)
    assert patches.apply_series(tree, listed[:2]) == ["dir/file.c", "dir/new.c"]
    lost = CHANGE.replace("dir/file.c", "dir/gone.c")
    with pytest.raises(CintError, match=r"lost\.patch .*: dir/gone\.c does not exist there"):
        patches.apply_series(tree, series(tmp_path, lost=lost))
    bare = CHANGE[CHANGE.index("diff"):]
    with pytest.raises(CintError, match=r"bare\.patch .*: Patch format detection failed"):
        patches.apply_series(tree, series(tmp_path, bare=bare))


def test_a_persons_settings_of_git_do_not_matter(
    tmp_path: Path, tree: patches.Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config"
    config.write_text("[am]\n threeWay\n[commit]\n gpgSign\n[core]\n autocrlf = true\n"
                      " hooksPath = /nowhere\n[user]\n useConfigOnly\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    patches.apply_series(tree, series(tmp_path, a=CHANGE))
    assert (tree.root / "dir/file.c").read_bytes() == b"one\nTWO\nthree\n"


def test_a_removed_patch_leaves_the_pristine_tree(tmp_path: Path, tree: patches.Tree) -> None:
    patches.apply_series(tree, series(tmp_path, a=CHANGE))
    assert sorted(patches.apply_series(tree, [])) == ["dir/file.c", "dir/new.c"]
    assert (tree.root / "dir/file.c").read_text() == "one\ntwo\nthree\n"
    assert not (tree.root / "dir/new.c").exists()


def test_an_interrupted_application_is_repaired(tmp_path: Path, tree: patches.Tree) -> None:
    listed = series(tmp_path, a=CHANGE)
    patches.apply_series(tree, listed)
    (tree.root / "dir/file.c").write_text("half writ")
    (tree.store / ".git/index.lock").touch()
    scratch = tree.root.with_name("demo.patching")
    git.Repository(tree.store).git("worktree", "add", "-q", "--detach", scratch, "pristine")
    assert patches.apply_series(tree, listed) == ["dir/file.c"]
    assert not scratch.exists()


def test_a_patch_that_does_not_apply_names_all_and_changes_nothing(
    tmp_path: Path, tree: patches.Tree
) -> None:
    (tree.root / "dir/file.c").write_text("one\ndeux\nthree\n")
    with pytest.raises(CintError) as caught:
        patches.apply_series(tree, series(tmp_path, bad=CHANGE))
    for word in ("bad.patch", "Demo 1.2", "dir/file.c differs near line 1"):
        assert word in caught.value.message
    assert (tree.root / "dir/file.c").read_text() == "one\ndeux\nthree\n"
    assert not (tree.root / "dir/new.c").exists()


def test_no_fuzz_is_allowed(tmp_path: Path, tree: patches.Tree) -> None:
    (tree.root / "dir/file.c").write_text("ONE\ntwo\nthree\n")
    with pytest.raises(CintError, match="does not apply"):
        patches.apply_series(tree, series(tmp_path, a=CHANGE))


def test_a_farm_is_never_written_through(tmp_path: Path, tree: patches.Tree) -> None:
    own = tmp_path / "own"
    tree.root.rename(own)
    (tree.root / "dir").mkdir(parents=True)
    for name in ("dir/file.c", "other.c"):
        (tree.root / name).symlink_to(own / name)
    farm = patches.Tree(tree.root, "Demo own", origin=own)
    patches.apply_series(farm, series(tmp_path, a=CHANGE))
    assert (own / "dir/file.c").read_text() == "one\ntwo\nthree\n"
    assert (farm.root / "dir/file.c").read_text() == "one\nTWO\nthree\n"
    # An edit of the person's own file arrives with the next build.
    (own / "dir/file.c").write_text("one\ntwo\nthree\nfour\n")
    patches.apply_series(farm, series(tmp_path, a=CHANGE))
    assert (farm.root / "dir/file.c").read_text() == "one\nTWO\nthree\nfour\n"


@pytest.fixture
def overlay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout's overlay, and a QEMU tree to lay it on."""
    ours = tmp_path / "checkout"
    for name in ("hw/nvme/coalesce/policy.c", "hw/nvme/meson.build", "hw/nvme/README.md",
                 "tests/qtest/libqos/queue.h", "tests/qtest/nvme-x-test.c"):
        (ours / name).parent.mkdir(parents=True, exist_ok=True)
        (ours / name).write_text(f"ours {name}\n")
    monkeypatch.setattr(paths, "OVERLAY_NVME", ours / "hw/nvme")
    monkeypatch.setattr(paths, "OVERLAY_QTEST", ours / "tests/qtest")
    root = tmp_path / "src/qemu"
    (root / "hw/nvme").mkdir(parents=True)
    (root / "tests/qtest/libqos").mkdir(parents=True)
    (root / "hw/nvme/meson.build").write_text(patches.UPSTREAM_MESON)
    return root


def test_overlay_links_sources_and_replaces_one_file(overlay: Path) -> None:
    tree = patches.Tree(overlay, "QEMU 10.0")
    changed = patches.apply_overlay(tree, patches.overlay_map())
    assert sorted(changed) == ["hw/nvme/coalesce/policy.c", "hw/nvme/meson.build",
                               "tests/qtest/libqos/queue.h", "tests/qtest/nvme-x-test.c"]
    link = overlay / "hw/nvme/coalesce/policy.c"
    assert link.is_symlink() and not link.readlink().is_absolute()
    assert link.read_text() == "ours hw/nvme/coalesce/policy.c\n"
    assert patches.apply_overlay(tree, patches.overlay_map()) == []


def test_overlay_follows_removed_files(overlay: Path) -> None:
    tree = patches.Tree(overlay, "QEMU 10.0")
    patches.apply_overlay(tree, patches.overlay_map())
    (paths.OVERLAY_QTEST / "nvme-x-test.c").unlink()
    assert patches.apply_overlay(tree, patches.overlay_map()) == ["tests/qtest/nvme-x-test.c"]
    assert not (overlay / "tests/qtest/nvme-x-test.c").is_symlink()


def test_overlay_out_and_in_again(overlay: Path) -> None:
    tree = patches.Tree(overlay, "QEMU 10.0")
    patches.apply_overlay(tree, patches.overlay_map())
    patches.remove_overlay(tree)
    assert (overlay / "hw/nvme/meson.build").read_text() == patches.UPSTREAM_MESON
    assert not (overlay / "hw/nvme/meson.build").is_symlink()
    assert not (overlay / "hw/nvme/coalesce/policy.c").exists()
    assert len(patches.apply_overlay(tree, patches.overlay_map())) == 4


def test_overlay_refuses_another_meson_build(overlay: Path) -> None:
    (overlay / "hw/nvme/meson.build").write_text("system_ss.add(files('ctrl.c'))\n")
    with pytest.raises(CintError) as caught:
        patches.apply_overlay(patches.Tree(overlay, "QEMU 10.9"), patches.overlay_map())
    assert "hw/nvme/meson.build of QEMU 10.9" in caught.value.message
    assert "nguid.c" in (caught.value.hint or "")
    assert (overlay / "hw/nvme/meson.build").read_text() == "system_ss.add(files('ctrl.c'))\n"


def test_the_replaced_file_is_new_to_meson_and_survives_the_series(overlay: Path) -> None:
    os.utime(paths.OVERLAY_NVME / "meson.build", (1, 1))
    tree = patches.Tree(overlay, "QEMU 10.0")
    patches.apply_series(tree, [])
    patches.apply_overlay(tree, patches.overlay_map())
    placed = overlay / "hw/nvme/meson.build"
    assert placed.read_text() == "ours hw/nvme/meson.build\n"
    assert placed.stat().st_mtime > 1000
    assert patches.apply_series(tree, []) == []
    assert patches.apply_overlay(tree, patches.overlay_map()) == []
    (paths.OVERLAY_NVME / "meson.build").write_text("edited\n")
    assert patches.apply_overlay(tree, patches.overlay_map()) == ["hw/nvme/meson.build"]
    assert placed.read_text() == "edited\n"


def test_overlay_refuses_to_hide_a_file_of_qemu(overlay: Path) -> None:
    (overlay / "tests/qtest/nvme-x-test.c").write_text("upstream\n")
    with pytest.raises(CintError, match=r"would replace tests/qtest/nvme-x-test\.c of QEMU 10"):
        patches.apply_overlay(patches.Tree(overlay, "QEMU 10.0"), patches.overlay_map())


def test_patches_are_of_nobody_in_particular() -> None:
    """`refresh` takes the author of each commit, who may be whoever made it."""
    found = {path.relative_to(paths.ROOT): set(re.findall(
                 r"^(?:From|Signed-off-by): (.*(?:\n .*)?)$",
                 path.read_text("utf-8").partition("\ndiff --git")[0], re.MULTILINE))
             for path in paths.ROOT.glob("*-patches/**/*.patch")}
    wanted = {"cint <cint@example.org>", "cint developers <cint@example.org>"}
    assert len(found) > 150
    assert not {path: names - wanted for path, names in found.items() if names - wanted}


def test_no_patch_is_there_twice() -> None:
    """A series names another's patch where that applies; ids of blobs are of each tree's own."""
    names: dict[str, list[str]] = {}
    for path in sorted(paths.ROOT.glob("*-patches/**/*.patch")):
        _, diff, change = path.read_text("utf-8").partition("\ndiff --git")
        change = re.sub(r"(?m)^index .*$|\n-- \n.*\Z", "", change)
        if diff:
            names.setdefault(change, []).append(str(path.relative_to(paths.ROOT)))
    assert not [twins for twins in names.values() if len(twins) > 1]


#: Each version of nvme-cli has a series of its own.
PLUGINS = tuple(path.parent for path in paths.NVME_PATCHES.parent.glob("*/series"))


def test_the_plugin_is_for_each_version() -> None:
    """The image's among them."""
    assert paths.NVME_PATCHES in PLUGINS
    assert {path.name for path in PLUGINS} == {"2.3", "2.13", "3"}


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda path: path.name)
def test_the_plugin_has_the_devices_header(plugin: Path) -> None:
    """nvme-cli's plugin carries the header, which is the device's own."""
    text = "".join(path.read_text() for path in patches.read_series(plugin))
    _, _, rest = text.partition("\n+++ b/plugins/cint/cint-abi.h\n")
    added, _, _ = rest.partition("\ndiff --git")
    lines = [line.removeprefix("+") for line in added.splitlines()[1:]]
    assert "\n".join(lines) + "\n" == (paths.ROOT / "hw/nvme/cint-abi.h").read_text()


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda path: path.name)
def test_the_plugins_completions_are_elements_of_the_arrays(plugin: Path) -> None:
    """Outside of one they were a command, which bash would look for."""
    text = "".join(path.read_text() for path in patches.read_series(plugin))
    before = re.findall(r"^(.*)\n\+\t\t\[cint\]=", text, re.MULTILINE)
    assert len(before) == 2
    assert all(re.match(r" \t\t\[\w+\]=|.*\"$", line) for line in before)


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda path: path.name)
def test_the_plugin_has_the_devices_parameters(plugin: Path) -> None:
    """All that feature D0h has, with the words of each."""
    text = "".join(path.read_text() for path in patches.read_series(plugin))
    lists = {name: tuple(re.findall(r'"([^"]*)"', words)) for name, words in re.findall(
        r"^\+static const char \*const (\w+)\[\] = \{([^}]*)\}", text, re.MULTILINE)}
    mine = dict(re.findall(r'^\+\t(?:NUMBER|WORDS|BIT_OF)\("([\w-]+)", \w+(?:, (\w+))?', text,
                           re.MULTILINE))
    wanted = {name: one for name, one in params.ALL.items() if one.feature != "NONE"}
    assert set(mine) - {"policy"} == set(wanted)
    for name, one in wanted.items():
        assert lists.get(mine[name], ()) == one.values, name
