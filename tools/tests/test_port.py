# SPDX-License-Identifier: GPL-2.0-or-later
"""The series on another version of QEMU, with small files in place of QEMU's."""

import subprocess
from pathlib import Path

import pytest

from cint import cli, paths
from cint.build import cover, patches, port, qemu, setup, sources, trees
from cint.errors import CintError, UsageError
from cint.selftest import runner, suites

#: A file of the version that the series is for, and what its two patches make of it.
BASE = "".join(f"line {n}\n" for n in range(40))
FIRST = BASE.replace("line 5\n", "line 5\nours\n")
SECOND = FIRST.replace("line 30\n", "line thirty\n")


def a_patch(directory: Path, number: int, before: str, after: str, name: str = "hw/a.c") -> None:
    """A patch in git's form, made by git so that it names the blobs."""
    repository = directory / "scratch"
    target = repository / name
    target.parent.mkdir(parents=True, exist_ok=True)
    git = ["git", "-C", str(repository), "-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    for text, subject in ((before, "before"), (after, f"change {number}")):
        target.write_text(text)
        subprocess.run([*git, "add", "--all"], check=True)
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", subject], check=True)
    subprocess.run([*git, "format-patch", "-q", "-1", "--start-number", str(number),
                    "-o", str(directory / "10.0")], check=True)


@pytest.fixture
def own(sandbox: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The series, the version that it is for, and a tree of another version."""
    series = sandbox / "qemu-patches"
    a_patch(series, 1, BASE, FIRST)
    a_patch(series, 2, FIRST, SECOND)
    (series / "10.0/series").write_text("0001-change-1.patch\n0002-change-2.patch\n")
    for name, value in (("QEMU_SERIES", series), ("QEMU_PATCHES", series / "10.0"),
                        ("PORT", paths.BUILD / "port")):
        monkeypatch.setattr(paths, name, value)
    base = patches.Tree(paths.SRC / "qemu", "QEMU 10.0.13")
    (base.root / "hw").mkdir(parents=True)
    (base.root / "hw/a.c").write_text(BASE)
    monkeypatch.setattr(trees, "prepare", lambda *_: base)
    tree = sandbox / "theirs"
    (tree / "hw/nvme").mkdir(parents=True)
    (tree / "configure").touch()
    (tree / "hw/a.c").write_text(BASE)
    (tree / "VERSION").write_text("10.9.1\n")
    return tree


def states(found: port.Port) -> list[str]:
    return [outcome.state for outcome in found.outcomes]


def test_patches_that_fit(own: Path) -> None:
    # Elsewhere, lines were added: that is no matter.
    (own / "hw/a.c").write_text("new\n" * 7 + BASE)
    found = port.apply(own, None)
    assert states(found) == [port.APPLIES, port.APPLIES] and found.complete
    assert (own / "hw/a.c").read_text() == "new\n" * 7 + BASE
    assert "QEMU 10.9.1 with" in port.report(found)
    assert "| change 1 | applies |" in port.report(found)


def test_another_tree_of_the_same_version_takes_its_place(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patches, "overlay_map", dict)
    port.install(port.apply(own, None), own)
    other = own.rename(own.with_name("elsewhere"))
    (other / "hw/b.c").write_text("new\n")
    tree = port.install(port.apply(other, None), other)
    assert (tree.root / "VERSION").read_text() == "10.9.1\n"
    assert (tree.root / "hw/a.c").read_text() == SECOND
    assert (tree.root / "hw/b.c").readlink() == other / "hw/b.c"


def test_what_changed_beside_a_patch_is_merged(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (own / "hw/a.c").write_text(BASE.replace("line 3\n", "theirs\n"))
    found = port.apply(own, None)
    assert states(found) == [port.MERGED, port.APPLIES] and found.complete
    monkeypatch.setattr(patches, "overlay_map", dict)
    monkeypatch.setattr(patches, "_remove_stale_links", lambda *_: [])
    tree = port.install(found, own)
    text = (tree.root / "hw/a.c").read_text()
    assert "theirs\n" in text and "ours\n" in text and "line thirty\n" in text
    assert (tree.root / "VERSION").is_symlink()


def test_a_conflict_is_named_and_the_rest_is_tried(own: Path) -> None:
    (own / "hw/a.c").write_text(BASE.replace("line 30\n", "their thirty\n"))
    found = port.apply(own, None)
    assert states(found) == [port.APPLIES, port.CONFLICTS] and not found.complete
    assert found.outcomes[1].places == {"hw/a.c": 1}
    assert "| change 2 | conflicts: hw/a.c (1 place) |" in port.report(found)
    assert "0002-change-2.patch, mend" in port.advice(found)
    assert "qemu-patches/10.9/" in port.advice(found)
    (own / "hw/a.c").unlink()
    assert port.apply(own, None).outcomes[0].places == {"hw/a.c": 0}


def test_a_version_has_its_own_series(own: Path) -> None:
    """Whose list names what still applies, and holds what was made again."""
    (own / "hw/a.c").write_text(BASE.replace("line 30\n", "their thirty\n"))
    mine = paths.QEMU_SERIES / "10.9"
    mine.mkdir()
    text = (paths.QEMU_PATCHES / "0002-change-2.patch").read_text()
    (mine / "0001-again.patch").write_text(text.replace("-line 30", "-their thirty"))
    (mine / "series").write_text("../10.0/0001-change-1.patch\n0001-again.patch\n")
    found = port.apply(own, None)
    assert found.series == mine and states(found) == [port.APPLIES, port.APPLIES]
    assert "| change 1 (10.0) | applies |" in port.report(found)
    assert states(port.apply(own, "10.0")) == [port.APPLIES, port.CONFLICTS]
    with pytest.raises(UsageError, match="--series 9: there is no such series"):
        port.apply(own, "9")


def test_a_tree_that_has_the_patches_is_refused(own: Path) -> None:
    git = ["git", "-C", str(own), "-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "change 1"], check=True)
    with pytest.raises(CintError, match="has 1 of the 2 patches as commits"):
        port.apply(own, None)


def test_a_port_needs_a_tree(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["port"]) == 2
    assert "to which QEMU?" in capsys.readouterr().err


@pytest.mark.parametrize("statuses", [
    (runner.PASSED, runner.SKIPPED), (runner.PASSED, runner.FAILED), (runner.SKIPPED,), (),
])
def test_its_tests_are_counted(own: Path, statuses: tuple[str, ...],
                               monkeypatch: pytest.MonkeyPatch,
                               capsys: pytest.CaptureFixture[str]) -> None:
    """A line a suite, a line for each test that did not pass; nothing run is a failure, too."""
    results = [runner.Result("port", f"t{n}", status, 0.1, reason="because")
               for n, status in enumerate(statuses)]
    suite = suites.Suite("port", "the device", (), lambda _: iter(results))
    monkeypatch.setattr(suites, "port_suites", lambda _: (suite,))
    monkeypatch.setattr(setup, "ensure", lambda *_, **__: None)
    monkeypatch.setattr(port, "install", lambda *_: object())
    monkeypatch.setattr(qemu, "build_port", lambda *_: None)
    monkeypatch.setattr(qemu, "version", lambda _: "QEMU emulator version 10.9.1")
    passed, failed, skipped = (statuses.count(status) for status in
                               (runner.PASSED, runner.FAILED, runner.SKIPPED))
    assert cli.main(["port", "--qemu-src", str(own)]) == (0 if passed and not failed else 1)
    said = capsys.readouterr()
    assert (f"QEMU emulator version 10.9.1:\nthe device: {passed} passed, {failed} failed, "
            f"{skipped} skipped\n") in said.out
    for result in results:
        told = f"{result.status}: port: {result.name}: because" in said.err
        assert told == (result.status != runner.PASSED)


def test_series_of_other_versions_list_patches_that_are_there() -> None:
    for path in sorted(paths.QEMU_SERIES.rglob("series")):
        listed = patches.read_series(path.parent)
        assert listed, path
        assert {patch.name for patch in listed if patch.parent == path.parent} \
            == {patch.name for patch in path.parent.glob("*.patch")} - {cover.NAME}
    assert sources.QEMU.series == (paths.QEMU_PATCHES.name,)
