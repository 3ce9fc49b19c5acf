# SPDX-License-Identifier: GPL-2.0-or-later
"""Sources without Debian's apt: files known by their sums, and tarballs of a person's own."""

import argparse
import hashlib
import re
import shutil
import tarfile
from pathlib import Path
from typing import Literal

import pytest

from cint import cli, paths, steps, tarball
from cint.build import pinned, sources
from cint.errors import CintError
from cint.verbs import build

VERSION = "1:1.0-1"


def tar(path: Path, files: dict[str, str], top: str) -> None:
    """A tarball with one directory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.parent / "scratch"
    for name, text in files.items():
        (scratch / top / name).parent.mkdir(parents=True, exist_ok=True)
        (scratch / top / name).write_text(text)
    mode: Literal["w:gz", "w:xz"] = "w:gz" if path.suffix == ".gz" else "w:xz"
    with tarfile.open(path, mode) as stream:
        stream.add(scratch / top, top)
    shutil.rmtree(scratch)


@pytest.fixture
def mirror(sandbox: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a source package, whose sums are known, and no apt."""
    place = sandbox / "mirror/pool/d"
    tar(place / "demo_1.0.orig.tar.xz", {"a.c": "old\n", "b.c": "b\n"}, "demo-1.0")
    # Made for a line further down, as patches are that have others before them.
    patch = "--- a/a.c\n+++ b/a.c\n@@ -2 +2 @@\n-old\n+new\n"
    tar(place / "demo_1.0-1.debian.tar.xz", {"patches/series": "# none\nfix.patch # it\n",
                                             "patches/fix.patch": patch}, "debian")
    (place / "demo_1.0-1.dsc").write_text("signed\n")
    files = tuple((path.name, path.stat().st_size,
                   hashlib.sha256(path.read_bytes()).hexdigest())
                  for path in sorted(place.iterdir()))
    entry = pinned.Entry("demo", VERSION, "trixie", "pool/d", files)
    monkeypatch.setattr(pinned, "entries", lambda name: [entry] if name == "demo" else [])
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name in ("apt-get", "dpkg-source")
                        else which(name))
    monkeypatch.setenv("CINT_DEBIAN_MIRROR", str(sandbox / "mirror"))
    return place


def package() -> sources.Package:
    return sources.Package(name="demo", title="Demo", series=("1.0",), verified=(VERSION,),
                           releases=("trixie",), tree=paths.SRC / "demo")


@pytest.mark.parametrize("flat", [False, True])
def test_files_are_known_by_their_sums(mirror: Path, monkeypatch: pytest.MonkeyPatch,
                                       flat: bool) -> None:
    """From a mirror's pool, or a directory that has them; unpacked with the patches."""
    if flat:
        monkeypatch.setenv("CINT_DEBIAN_MIRROR", str(mirror))
    found = sources.unpack(package())
    assert (found.version, found.verified) == (VERSION, True)
    assert (found.tree / "a.c").read_text() == "new\n"
    assert (found.tree / "b.c").read_text() == "b\n"
    assert not list(found.tree.rglob("*.orig"))
    # Kept: the next set-up needs no address.
    monkeypatch.delenv("CINT_DEBIAN_MIRROR")
    assert sources.fetch(package()).version == VERSION


def test_another_file_of_the_same_name_is_refused(mirror: Path) -> None:
    (mirror / "demo_1.0.orig.tar.xz").write_bytes(b"something else")
    with pytest.raises(CintError, match=r"orig\.tar\.xz: its SHA-256 is [0-9a-f]+, and it should"):
        sources.unpack(package())
    assert not list(paths.DOWNLOADS.glob("*"))
    assert not paths.SRC.exists()


def test_what_is_not_there_is_named(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (mirror / "demo_1.0-1.dsc").unlink()
    with pytest.raises(CintError, match=r"pool/d/demo_1\.0-1\.dsc: No such file") as caught:
        sources.unpack(package())
    assert "demo_1.0.orig.tar.xz" in (caught.value.hint or "")
    monkeypatch.delenv("CINT_DEBIAN_MIRROR")
    with pytest.raises(CintError, match="there is no apt-get, so the source has to be named"):
        sources.unpack(package())


def test_an_address_is_asked(mirror: Path, sandbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CINT_DEBIAN_MIRROR", f"file://{sandbox / 'mirror'}/")
    assert sources.unpack(package()).verified
    monkeypatch.setenv("CINT_DEBIAN_MIRROR", "nothing://x")
    shutil.rmtree(paths.DOWNLOADS)
    with pytest.raises(CintError, match="nothing://x has no demo"):
        sources.fetch(package())


@pytest.mark.parametrize(("named", "there", "why"), [
    ("", "apt keyring", None), ("http://m", "apt keyring", None),
    ("/a/directory", "apt keyring", "is a directory"), ("http://m", "keyring", "no apt-get"),
    ("http://m", "apt", "no /"),
])
def test_where_apt_is_not_asked(sandbox: Path, monkeypatch: pytest.MonkeyPatch, named: str,
                                there: str, why: str | None) -> None:
    monkeypatch.setenv("CINT_DEBIAN_MIRROR", named)
    monkeypatch.setattr(shutil, "which", lambda _: "/x" if "apt" in there else None)
    file = sandbox / "archive.gpg"
    if "keyring" in there:
        file.touch()
    monkeypatch.setattr(sources, "_KEYRING", str(file))
    found = sources.without_apt()
    assert found is None if why is None else why in (found or "")


def test_each_source_has_a_pinned_version_that_is_verified() -> None:
    for one in sources.ALL:
        found = pinned.entries(one.name)
        assert {entry.version for entry in found} & set(one.verified), one.name
        for entry in found:
            names = " ".join(name for name, _, _ in entry.files)
            assert ".orig.tar." in names and ".debian.tar." in names and ".dsc" in names
            assert all(re.fullmatch("[0-9a-f]{64}", digest) and size > 0
                       for _, size, digest in entry.files)


# --- a person's own tarballs -------------------------------------------------------------------


def test_a_tarball_is_a_tree(sandbox: Path, monkeypatch: pytest.MonkeyPatch,
                             capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[Path] = []

    def run(args: argparse.Namespace) -> int:
        asked.append(args.fio_src)
        return 0

    monkeypatch.setattr(build, "run", run)
    path = sandbox / "fio-3.33.tar.gz"
    tar(path, {"configure": "", "fio.c": ""}, "fio-3.33")
    assert cli.main(["setup", "--fio-src", str(path)]) == 0
    assert steps.hash_file(path) in capsys.readouterr().err
    assert cli.main(["setup", "--fio-src", str(path)]) == 0
    assert steps.hash_file(path) not in capsys.readouterr().err
    assert asked[0] == asked[1] and (asked[0] / "fio.c").is_file()
    tar(path, {"configure": "", "fio.c": "", "new": ""}, "fio-3.33")
    cli.main(["setup", "--fio-src", str(path)])
    assert asked[2] != asked[0] and (asked[2] / "new").is_file()


def test_a_sum_that_was_published_is_compared(sandbox: Path, monkeypatch: pytest.MonkeyPatch,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(build, "run", lambda _: 0)
    path = sandbox / "fio-3.33.tar.gz"
    tar(path, {"configure": "", "fio.c": ""}, "fio-3.33")
    known = tarball.PUBLISHED[path.name]
    assert cli.main(["setup", "--fio-src", str(path)]) == 0
    assert f"warning: {path.name} has SHA-256 {steps.hash_file(path)}, and {known} was published" \
        in capsys.readouterr().err
    monkeypatch.setitem(tarball.PUBLISHED, path.name, steps.hash_file(path))
    shutil.rmtree(paths.OWN)
    assert cli.main(["setup", "--fio-src", str(path)]) == 0
    assert f"{steps.hash_file(path)}, as published\n" in capsys.readouterr().err


def test_published_sums_are_of_versions_that_are_verified() -> None:
    versions = {f"{one.name}-{sources.upstream_version(version)}" for one in sources.ALL
                for version in one.verified}
    assert {name.partition(".tar")[0] for name in tarball.PUBLISHED} <= versions
    # Where Debian's file is upstream's own.
    (fio,) = pinned.entries("fio")
    sums = {name: digest for name, _, digest in fio.files}
    assert sums["fio_3.33.orig.tar.gz"] == tarball.PUBLISHED["fio-3.33.tar.gz"]


def test_a_tarball_of_something_else_is_refused(sandbox: Path,
                                                capsys: pytest.CaptureFixture[str]) -> None:
    path = sandbox / "fio.tar.gz"
    tar(path, {"README": ""}, "x")
    assert cli.main(["setup", "--linux-src", str(path)]) == 2
    assert "has no Kconfig: not the right source" in capsys.readouterr().err
    assert not list((paths.OWN / "tar").iterdir())
    path.write_text("no tarball")
    assert cli.main(["setup", "--linux-src", str(path)]) == 1
    assert "Unpack fio.tar.gz" in capsys.readouterr().err
