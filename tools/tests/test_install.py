# SPDX-License-Identifier: GPL-2.0-or-later
"""An installation: put in place, refused, gone on with, moved, removed."""

import json
import os
import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from cint import cli
from cint.build import install
from cint.errors import CintError

LISTED = str(install.LIST)


@pytest.fixture
def staged(tmp_path: Path) -> Path:
    """What would be installed."""
    top = tmp_path / "staged"
    for name, text in (("bin/qemu-system-x86_64", "program"), ("share/qemu/bios.bin", "bios")):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    (top / "bin/qemu-system-x86_64").chmod(0o755)
    return top


def names(prefix: Path) -> list[str]:
    return sorted(str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file())


def test_files_are_listed_with_their_sums_and_removed(staged: Path, tmp_path: Path) -> None:
    prefix = tmp_path / "new/prefix"
    install.place(staged, prefix, "QEMU 10", force=False)
    assert names(prefix) == ["bin/qemu-system-x86_64", LISTED, "share/qemu/bios.bin"]
    assert os.access(prefix / "bin/qemu-system-x86_64", os.X_OK)
    listed = json.loads((prefix / install.LIST).read_text())
    assert listed["version"] == "QEMU 10"
    assert sorted(listed["files"]) == ["bin/qemu-system-x86_64", "share/qemu/bios.bin"]
    moved = prefix.rename(tmp_path / "moved")
    assert install.remove(moved) == []
    assert not moved.exists()


def test_what_is_not_ours_is_not_touched(staged: Path, tmp_path: Path) -> None:
    prefix = tmp_path / "prefix"
    (prefix / "bin").mkdir(parents=True)
    theirs = prefix / "bin/qemu-system-x86_64"
    theirs.write_text("another QEMU")
    with pytest.raises(CintError, match="prefix has bin/qemu-system-x86_64, not as") as caught:
        install.place(staged, prefix, "", force=False)
    assert "--force" in (caught.value.hint or "")
    assert theirs.read_text() == "another QEMU" and names(prefix) == ["bin/qemu-system-x86_64"]
    install.place(staged, prefix, "", force=True)
    assert theirs.read_text() == "program"
    (prefix / "bin/other").write_text("a person's")
    (prefix / "share/qemu/bios.bin").write_text("edited")
    assert install.remove(prefix) == ["share/qemu/bios.bin"]
    assert names(prefix) == ["bin/other", "share/qemu/bios.bin"]


def test_a_newer_one_takes_the_place_of_an_older_one(staged: Path, tmp_path: Path) -> None:
    prefix = tmp_path / "prefix"
    install.place(staged, prefix, "1", force=False)
    (staged / "share/qemu/bios.bin").rename(staged / "bin/new")
    (staged / "bin/qemu-system-x86_64").write_text("newer")
    install.place(staged, prefix, "2", force=False)
    assert names(prefix) == ["bin/new", "bin/qemu-system-x86_64", LISTED]
    assert (prefix / "bin/qemu-system-x86_64").read_text() == "newer"


def test_what_is_interrupted_goes_on_or_is_removed(
    staged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = tmp_path / "prefix"
    real = shutil.copy2

    def full(source: Path, target: Path) -> None:
        if "bios" in str(target):
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(shutil, "copy2", full)
    with pytest.raises(CintError, match=r"bios\.bin cannot be written: there is no space left"):
        install.place(staged, prefix, "", force=False)
    monkeypatch.undo()
    install.place(staged, prefix, "", force=False)
    assert len(names(prefix)) == 3
    assert install.remove(prefix) == []


def test_a_prefix_that_cannot_be_is_refused_before_anything_is_built(
    sandbox: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(CintError, match=r"/file is a file"):
        install.check_prefix(file / "below")
    monkeypatch.setattr(os, "access", lambda path, _: path != tmp_path)
    with pytest.raises(CintError, match=f"{tmp_path} may not be written to"):
        install.check_prefix(tmp_path / "a/b")
    monkeypatch.undo()
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1, 1, 1_000_000))
    with pytest.raises(CintError, match=r"150 MB are needed, and .* has 1 MB of free space"):
        install.check_prefix(tmp_path)


def test_removing_what_was_never_installed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["install", "--prefix", str(tmp_path), "--remove"]) == 1
    assert f"there is no {LISTED}, so nothing was installed" in capsys.readouterr().err
    assert tmp_path.is_dir()
    (tmp_path / install.LIST).parent.mkdir(parents=True)
    (tmp_path / install.LIST).write_text("{")
    assert cli.main(["install", "--prefix", str(tmp_path), "--remove"]) == 1
    assert "cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(("script", "why"), [
    ("echo 'cint.policy=<str>'", None), ("echo nothing", "no property cint.policy"),
    ("echo 'error: libfoo: cannot open' >&2; exit 1", "does not run: error: libfoo"),
])
def test_whether_a_qemu_has_the_device(tmp_path: Path, script: str, why: str | None) -> None:
    program = tmp_path / "qemu"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    found = install.has_device(program)
    assert found is None if why is None else why in (found or "")
