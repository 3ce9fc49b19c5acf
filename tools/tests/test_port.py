# SPDX-License-Identifier: GPL-2.0-or-later
"""The series on another version of QEMU or Linux, with small files in place of theirs."""

import subprocess
from pathlib import Path

import pytest

from cint import cli, paths
from cint.build import cover, linux, patches, port, qemu, setup, sources, trees
from cint.errors import CintError, UsageError
from cint.guest import vm
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
    found = port.apply(port.qemu(), own, None)
    assert states(found) == [port.APPLIES, port.APPLIES] and found.complete
    assert (own / "hw/a.c").read_text() == "new\n" * 7 + BASE
    assert "QEMU 10.9.1 with" in port.report(found)
    assert "| change 1 | applies |" in port.report(found)


def test_another_tree_of_the_same_version_takes_its_place(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patches, "overlay_map", dict)
    port.install(port.apply(port.qemu(), own, None), own)
    other = own.rename(own.with_name("elsewhere"))
    (other / "hw/b.c").write_text("new\n")
    tree = port.install(port.apply(port.qemu(), other, None), other)
    assert (tree.root / "VERSION").read_text() == "10.9.1\n"
    assert (tree.root / "hw/a.c").read_text() == SECOND
    assert (tree.root / "hw/b.c").readlink() == other / "hw/b.c"


def test_what_changed_beside_a_patch_is_merged(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (own / "hw/a.c").write_text(BASE.replace("line 3\n", "theirs\n"))
    found = port.apply(port.qemu(), own, None)
    assert states(found) == [port.MERGED, port.APPLIES] and found.complete
    monkeypatch.setattr(patches, "overlay_map", dict)
    monkeypatch.setattr(patches, "_remove_stale_links", lambda *_: [])
    tree = port.install(found, own)
    text = (tree.root / "hw/a.c").read_text()
    assert "theirs\n" in text and "ours\n" in text and "line thirty\n" in text
    assert (tree.root / "VERSION").is_symlink()


def test_what_a_version_has_already(own: Path, monkeypatch: pytest.MonkeyPatch,
                                    capsys: pytest.CaptureFixture[str]) -> None:
    (own / "hw/a.c").write_text(FIRST)
    found = port.apply(port.qemu(), own, None)
    assert states(found) == [port.PRESENT, port.APPLIES] and found.complete
    assert "| change 1 | is there already |" in port.report(found)
    port.tell(found)
    assert "1 applies, 1 is there already\n" in capsys.readouterr().err
    monkeypatch.setattr(patches, "overlay_map", dict)
    assert (port.install(found, own).root / "hw/a.c").read_text() == SECOND


def test_a_conflict_is_named_and_the_rest_is_tried(own: Path) -> None:
    (own / "hw/a.c").write_text(BASE.replace("line 30\n", "their thirty\n"))
    found = port.apply(port.qemu(), own, None)
    assert states(found) == [port.APPLIES, port.CONFLICTS] and not found.complete
    assert found.outcomes[1].places == {"hw/a.c": 1}
    assert "| change 2 | conflicts: hw/a.c (1 place) |" in port.report(found)
    assert "0002-change-2.patch, mend" in port.advice(found)
    assert "qemu-patches/10.9/" in port.advice(found)
    (own / "hw/a.c").unlink()
    assert port.apply(port.qemu(), own, None).outcomes[0].places == {"hw/a.c": 0}


def test_a_version_has_its_own_series(own: Path) -> None:
    """Whose list names what still applies, and holds what was made again."""
    (own / "hw/a.c").write_text(BASE.replace("line 30\n", "their thirty\n"))
    mine = paths.QEMU_SERIES / "10.9"
    mine.mkdir()
    text = (paths.QEMU_PATCHES / "0002-change-2.patch").read_text()
    (mine / "0001-again.patch").write_text(text.replace("-line 30", "-their thirty"))
    (mine / "series").write_text("../10.0/0001-change-1.patch\n0001-again.patch\n")
    found = port.apply(port.qemu(), own, None)
    assert found.series == mine and states(found) == [port.APPLIES, port.APPLIES]
    assert "| change 1 (10.0) | applies |" in port.report(found)
    assert states(port.apply(port.qemu(), own, "10.0")) == [port.APPLIES, port.CONFLICTS]
    with pytest.raises(UsageError, match="--series 9: there is no such series"):
        port.apply(port.qemu(), own, "9")


def test_a_tree_that_has_the_patches_is_refused(own: Path) -> None:
    git = ["git", "-C", str(own), "-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "change 1"], check=True)
    with pytest.raises(CintError, match="has 1 of the 2 patches as commits"):
        port.apply(port.qemu(), own, None)


def a_kernel(tree: Path) -> None:
    """What a Linux source has beside."""
    (tree / "drivers/nvme").mkdir(parents=True)
    (tree / "Kconfig").touch()
    (tree / "Makefile").write_text("VERSION = 7\nPATCHLEVEL = 1\nSUBLEVEL = 2\n")


@pytest.fixture
def own_linux(own: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same for the guest's kernel, whose series is in parts."""
    series = paths.QEMU_SERIES.with_name("guest-patches") / "6.12"
    series.parent.mkdir()
    paths.QEMU_PATCHES.rename(series)
    (series / "fixes").mkdir()
    names = ["0001-change-1.patch", "0002-change-2.patch"]
    (series / names[0]).rename(series / "fixes" / names[0])
    (series / "series").write_text(f"fixes/{names[0]}\n{names[1]}\n")
    monkeypatch.setattr(paths, "GUEST_PATCHES", series)
    (own / "VERSION").unlink()
    a_kernel(own)
    return own


def test_the_kernels_patches(own_linux: Path, monkeypatch: pytest.MonkeyPatch,
                             capsys: pytest.CaptureFixture[str]) -> None:
    """Which fit is said patch by patch, and what is built has none of the device's files."""
    monkeypatch.setattr(setup, "ensure", lambda *_, **__: None)
    monkeypatch.setattr(linux, "build_port", lambda _, directory, __: directory / "bzImage")
    assert cli.main(["port", "--linux-src", str(own_linux)]) == 0
    said = capsys.readouterr().out
    assert "Linux 7.1.2 with " in said and "guest-patches/6.12:" in said
    assert "| fixes: change 1 | applies |" in said and "| change 2 | applies |" in said
    assert "--linux-as-is" in said
    assert "-k" not in said and "not for this kernel" not in said
    tree = paths.PORT / "linux-7.1.2/src"
    assert (tree / "hw/a.c").read_text() == SECOND and not (tree / "hw/nvme/cint.c").exists()


def test_where_a_newer_kernel_stops(own_linux: Path, monkeypatch: pytest.MonkeyPatch,
                                    capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(setup, "ensure", lambda *_, **__: None)
    (own_linux / "hw/a.c").write_text(BASE.replace("line 30\n", "their thirty\n"))
    assert cli.main(["port", "--linux-src", str(own_linux), "--apply-only"]) == 1
    said = capsys.readouterr()
    assert "| change 2 | conflicts: hw/a.c (1 place) |" in said.out
    assert "guest-patches/7.1/" in said.err


def test_a_later_version_of_the_same_series(own_linux: Path) -> None:
    """What the first series is for by two numbers has one of its own by all."""
    (own_linux / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 99\n")
    (own_linux / "hw/a.c").write_text(BASE.replace("line 30\n", "their thirty\n"))
    found = port.apply(port.linux(), own_linux, None)
    assert found.series == paths.GUEST_PATCHES and not found.complete
    assert "guest-patches/6.12.99/" in port.advice(found)
    mine = paths.GUEST_PATCHES.with_name("6.12.99")
    mine.mkdir()
    text = (paths.GUEST_PATCHES / "0002-change-2.patch").read_text()
    (mine / "0001-again.patch").write_text(text.replace("-line 30", "-their thirty"))
    (mine / "series").write_text("../6.12/fixes/0001-change-1.patch\n0001-again.patch\n")
    found = port.apply(port.linux(), own_linux, None)
    assert found.series == mine and found.complete
    assert "| fixes: change 1 (6.12) | applies |" in port.report(found)
    assert "| change 2 | applies |" in port.report(found)


@pytest.fixture
def parts(own_linux: Path) -> Path:
    """The first series in two parts, and one of the version in 7.1; the tree has the first."""
    series, mine = paths.GUEST_PATCHES, paths.GUEST_PATCHES.with_name("7.1")
    (series / "more").mkdir()
    (series / "0002-change-2.patch").rename(series / "more/0002-change-2.patch")
    (series / "series").write_text("fixes/0001-change-1.patch\nmore/0002-change-2.patch\n")
    mine.mkdir()
    (own_linux / "hw/a.c").write_text(FIRST)
    return mine


def test_a_version_without_a_part(parts: Path, own_linux: Path, monkeypatch: pytest.MonkeyPatch,
                                  capsys: pytest.CaptureFixture[str]) -> None:
    """The kernel is built without it, and what cannot be tested on that is said."""
    (parts / "series").write_text("../6.12/more/0002-change-2.patch\n")
    monkeypatch.setattr(setup, "ensure", lambda *_, **__: None)
    monkeypatch.setattr(linux, "build_port", lambda _, directory, __: directory / "bzImage")
    assert cli.main(["port", "--linux-src", str(own_linux)]) == 0
    said = capsys.readouterr()
    assert "| more: change 2 (6.12) | applies |" in said.out and port.LEFT_OUT not in said.out
    assert "without fixes: " in said.err
    assert " -k test_hints::\nTests that need fixes are not for this kernel" in said.out
    assert (paths.PORT / "linux-7.1.2/src/hw/a.c").read_text() == SECOND


def test_a_version_without_a_patch(parts: Path, own_linux: Path) -> None:
    """Of a part that it has: it is told of; one that was made again is not missed."""
    more, fixes = paths.GUEST_PATCHES / "more", paths.GUEST_PATCHES / "fixes"
    (more / "0002-change-2.patch").rename(fixes / "0002-change-2.patch")
    (paths.GUEST_PATCHES / "series").write_text(
        "fixes/0001-change-1.patch\nfixes/0002-change-2.patch\n")
    (parts / "fixes").mkdir()
    text = (fixes / "0002-change-2.patch").read_text()
    (parts / "fixes/0002-again.patch").write_text(text)
    (parts / "series").write_text("fixes/0002-again.patch\n")
    found = port.apply(port.linux(), own_linux, None)
    assert found.missing == () and found.left_out == [fixes / "0001-change-1.patch"]
    assert "| fixes: change 1 (6.12) | left out |" in port.report(found)


def test_a_port_needs_a_tree(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["port"]) == 2
    assert "to which QEMU, or which Linux?" in capsys.readouterr().err


def test_a_port_is_of_one_tree(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_kernel(own)
    assert cli.main(["port", "--qemu-src", str(own), "--linux-src", str(own)]) == 2
    assert "name one tree" in capsys.readouterr().err


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


@pytest.mark.parametrize("status", [runner.PASSED, runner.FAILED])
def test_a_guest_is_started_on_it(own: Path, status: str, monkeypatch: pytest.MonkeyPatch,
                                  capsys: pytest.CaptureFixture[str]) -> None:
    """The line is printed whatever its tests say; typed, it starts that QEMU with run's options."""
    suite = suites.Suite("port", "the device", (),
                         lambda _: iter([runner.Result("port", "t", status, 0.1, reason="no")]))
    monkeypatch.setattr(suites, "port_suites", lambda _: (suite,))
    monkeypatch.setattr(setup, "ensure", lambda *_, **__: None)
    monkeypatch.setattr(port, "install", lambda *_: object())
    monkeypatch.setattr(qemu, "build_port", lambda *_: None)
    monkeypatch.setattr(qemu, "version", lambda _: "QEMU emulator version 10.9.1")
    monkeypatch.chdir(own.parent)
    cli.main(["port", "--qemu-src", str(own)])
    line = capsys.readouterr().out.splitlines()[-1].strip()
    options = ["-append", "quiet panic=-1", "-device", "nvme,id=nvme0,cint=on", "-nodefaults"]
    binary = paths.PORT / "qemu-10.9.1/build" / paths.QEMU.name
    printed = vm.shell_line(["/elsewhere/build/qemu/qemu-system-x86_64", *options])
    for program, text in ((binary, """printf '%s\\n' "$@"\n"""),
                          (own.parent / "cint", f"""test "$*" = "run --print" && cat <<'END'
{printed}
END
""")):
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\n{text}")
        program.chmod(0o755)
    done = subprocess.run(["sh", "-c", line], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == options


def test_series_of_other_versions_list_patches_that_are_there() -> None:
    for path in sorted([*paths.QEMU_SERIES.rglob("series"),
                        *paths.GUEST_PATCHES.parent.rglob("series")]):
        listed = patches.read_series(path.parent)
        assert listed, path
        assert {patch.name for patch in listed if patch.parent == path.parent} \
            == {patch.name for patch in path.parent.glob("*.patch")} - {cover.NAME}
    assert sources.LINUX.series == (paths.GUEST_PATCHES.name,)
    assert sources.QEMU.series == (paths.QEMU_PATCHES.name,)
