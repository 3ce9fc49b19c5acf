# SPDX-License-Identifier: GPL-2.0-or-later
"""Finding, downloading and unpacking source packages."""

import hashlib
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from cint import paths, steps
from cint.build import sources
from cint.errors import CintError


def candidate(version: str, package: str = "linux") -> sources.Candidate:
    return sources.Candidate(package, version, "trixie", ())


@pytest.mark.parametrize(
    ("version", "upstream"),
    [("1:10.0.13+ds-0+deb13u1", "10.0.13"), ("6.12.107-1", "6.12.107"), ("3.39-1", "3.39"),
     ("1:7.2+dfsg-7+deb12u18", "7.2")],
)
def test_upstream_version(version: str, upstream: str) -> None:
    assert sources.upstream_version(version) == upstream


def test_verified_versions_come_first_then_the_newest_of_the_series() -> None:
    listed = [candidate(version) for version in
              ("6.12.8-1", "6.12.94-1", "6.12.117-1", "6.12.107-1", "6.13.1-1", "6.1.1-1",
               "6.120.1-1")]
    ordered = [entry.version for entry in sources.order_candidates(sources.LINUX, listed)]
    assert ordered == ["6.12.107-1", "6.12.94-1", "6.12.117-1", "6.12.8-1"]


SHOWSRC = """\
Package: demo
Binary: demo
Version: 1.2-1
Checksums-Sha1:
 aaaa 10 demo_1.2-1.dsc
Checksums-Sha256:
 bbbb 10 demo_1.2-1.dsc
 cccc 2000 demo_1.2.orig.tar.xz
Directory: pool/d

Package: demo
Version: 1.2-1
Checksums-Sha256:
 bbbb 10 demo_1.2-1.dsc
Directory: pool/e

Package: demo
Version: 1.1-1
Directory: pool/no-sums
"""


def test_parse_sources_takes_each_version_once() -> None:
    (found,) = sources.parse_sources(SHOWSRC, "trixie")
    assert found.version == "1.2-1"
    assert found.files == (("demo_1.2-1.dsc", 10, "bbbb"), ("demo_1.2.orig.tar.xz", 2000, "cccc"))
    assert found.size == 2010


def test_the_mirror_is_the_one_of_apt() -> None:
    text = ("file:/other somewhere\n"
            "mirror://one/debian bookworm\n"
            "mirror://one/debian bookworm-updates\n"
            "mirror://one/security bookworm-security\n")
    assert sources.parse_targets(text) == sources.Mirror("mirror://one/debian",
                                                         "mirror://one/security")
    assert sources.parse_targets("mirror://one/ubuntu noble\n") is None


def test_source_list_names_all_suites_of_a_release() -> None:
    lines = sources.source_list(sources.Mirror("m://a", "m://b"), "trixie").splitlines()
    assert [line.split()[-3:-1] for line in lines] == [
        ["m://a", "trixie"], ["m://a", "trixie-updates"], ["m://b", "trixie-security"]]
    assert all(line.startswith("deb-src ") for line in lines)
    lines = sources.source_list(sources.Mirror("m://a", None), "trixie-backports").splitlines()
    assert [line.split()[-2] for line in lines] == ["trixie", "trixie-updates", "trixie-backports"]
    lines = sources.source_list(sources.Mirror("m://a", "m://b"), "experimental").splitlines()
    assert [line.split()[-2:] for line in lines] == [["experimental", "main"]]


def test_no_mirror_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CINT_DEBIAN_MIRROR", raising=False)
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(CintError) as caught:
        sources.find_mirror()
    assert "no package mirror" in caught.value.message
    assert "CINT_DEBIAN_MIRROR" in (caught.value.hint or "")


@pytest.fixture
def package(sandbox: Path) -> sources.Package:
    """A source package `demo` of two versions, of which 1.2-1 was verified."""
    return sources.Package(name="demo", title="Demo", series=("1.2", "1.1"), verified=("1.2-1",),
                           releases=("trixie",), tree=paths.SRC / "demo", tar_only=True)


def put_download(package: sources.Package, version: str, text: str = "hello\n") -> Path:
    """A finished download with an upstream tarball of one file."""
    upstream = sources.upstream_version(version)
    directory = sources.download_directory(package, version)
    top = directory / f"demo-{upstream}"
    top.mkdir(parents=True)
    (top / "file").write_text(text)
    name = f"demo_{upstream}.orig.tar.gz"
    subprocess.run(["tar", "-C", directory, "-czf", directory / name, top.name], check=True)
    data = (directory / name).read_bytes()
    files = [(name, len(data), hashlib.sha256(data).hexdigest())]
    (directory / "complete.json").write_text(json.dumps(
        {"package": "demo", "version": version, "release": "trixie", "files": files}))
    return directory


def test_a_download_in_the_cache_needs_no_network(
    package: sources.Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_download(package, "1.1-1")
    put_download(package, "1.2-1")
    monkeypatch.setattr(sources, "update_lists", None)
    assert sources.fetch(package).version == "1.2-1"


def test_an_incomplete_download_is_not_taken(package: sources.Package) -> None:
    directory = put_download(package, "1.2-1")
    (directory / "demo_1.2.orig.tar.gz").write_bytes(b"short")
    assert sources.downloaded(package) == []


def test_unpack_once_and_only_once(package: sources.Package) -> None:
    put_download(package, "1.2-1")
    source = sources.unpack(package)
    assert (source.version, source.verified) == ("1.2-1", True)
    assert (source.tree / "file").read_text() == "hello\n"
    (source.tree / "file").write_text("kept\n")
    assert (sources.unpack(package).tree / "file").read_text() == "kept\n"


def test_an_interrupted_unpack_starts_again(package: sources.Package) -> None:
    put_download(package, "1.2-1")
    left = package.tree.with_name("demo.unpacking")
    left.mkdir(parents=True)
    (left / "half").touch()
    package.tree.mkdir()
    (package.tree / "without-stamp").touch()
    sources.unpack(package)
    assert [path.name for path in package.tree.iterdir()] == ["file"]
    assert not left.exists()


def test_a_damaged_download_is_removed_and_said(package: sources.Package) -> None:
    directory = put_download(package, "1.2-1")
    tarball = directory / "demo_1.2.orig.tar.gz"
    data = bytearray(tarball.read_bytes())
    data[-1] ^= 1
    tarball.write_bytes(bytes(data))
    with pytest.raises(steps.StepError, match=r"damaged download: demo_1\.2\.orig\.tar\.gz"):
        sources.unpack(package)
    assert not directory.exists()


def test_an_unverified_version_is_said(
    package: sources.Package, capsys: pytest.CaptureFixture[str]
) -> None:
    put_download(package, "1.1-1")
    assert not sources.unpack(package).verified
    assert "warning: Demo 1.1-1 was never verified" in capsys.readouterr().err


def test_the_first_candidate_that_downloads_is_taken(
    package: sources.Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def download(step: steps.Step, _: sources.Package, entry: sources.Candidate) -> bool:
        tried.append(entry.version)
        return entry.version == "1.1-1"

    listed = sources.order_candidates(package, [candidate("1.1-1", "demo"),
                                                candidate("1.2-1", "demo")])
    monkeypatch.setattr(sources, "update_lists", lambda step, release: None)
    monkeypatch.setattr(sources, "list_candidates", lambda step, package, release: listed)
    monkeypatch.setattr(sources, "_download", download)
    assert sources.fetch(package).version == "1.1-1"
    assert tried == ["1.2-1", "1.1-1"]


def test_nothing_to_download_names_what_was_tried(
    package: sources.Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "update_lists", lambda step, release: None)
    monkeypatch.setattr(sources, "list_candidates",
                        lambda step, package, release: [candidate("1.2-1", "demo")])
    monkeypatch.setattr(sources, "_download", lambda *_: False)
    with pytest.raises(steps.StepError, match=r"no Demo 1\.2\.x or 1\.1\.x source .*1\.2-1"):
        sources.fetch(replace(package, name="qemu"))
