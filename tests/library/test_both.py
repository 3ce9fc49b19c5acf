# SPDX-License-Identifier: GPL-2.0-or-later
"""What holds of each of the two libraries: its symbols, version, header, pages and directory."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from conftest import CINTIO, LANGUAGES, LIBCINT, Installed, Library, meson, run

STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")


@pytest.fixture(params=(CINTIO, LIBCINT), ids=lambda library: library.name)
def library(request: pytest.FixtureRequest) -> Library:
    """Each of them."""
    found: Library = request.param
    return found


@pytest.fixture
def taken(library: Library, request: pytest.FixtureRequest) -> Installed:
    """Where it was taken."""
    found: Installed = request.getfixturevalue(library.fixture)
    return found


def test_exports_what_the_header_declares(library: Library, taken: Installed) -> None:
    """No more, or others use it; no less, or a program does not link."""
    lines = run("nm", "-D", "--defined-only", taken.lib / library.shared).splitlines()
    exported = {name for _, kind, name in map(str.split, lines) if kind != "A"}
    assert exported == {f"{name}{library.version}" for name in library.declared()}
    assert len(exported) > library.more_than


def test_names_of_its_version(library: Library, taken: Installed) -> None:
    """Header, file, soname and pkg-config agree."""
    found = re.search(rf'{library.name.upper()}_VERSION\s+"(.*)"',
                      library.header.read_text("utf-8"))
    assert found is not None
    file = taken.lib / library.shared
    assert file.resolve().name == f"{library.shared}.{found[1]}"
    assert f"soname: [{library.shared}.0]" in run("readelf", "-d", file)
    assert taken.flags("--modversion") == [found[1]]


@pytest.mark.parametrize("language", LANGUAGES)
def test_header_needs_nothing(library: Library, taken: Installed, language: str,
                              tmp_path: Path) -> None:
    """It compiles by itself, twice, with what is installed beside it."""
    compiler, standard, kind = LANGUAGES[language]
    source = tmp_path / "header"
    source.write_text(f"#include <{library.header.name}>\n" * 2, encoding="utf-8")
    run(compiler, standard, *STRICT, *taken.flags("--cflags"), "-fsyntax-only", kind, source)
    files = sorted((taken.prefix / "include" / library.place).iterdir())
    assert [path.name for path in files] == list(library.headers)
    assert not any(path.is_symlink() for path in files)


def test_manual_pages(library: Library, taken: Installed) -> None:
    """One for each function, the types and an overview; the formatter has nothing to say."""
    pages = {path.stem: path for path in (taken.prefix / "share/man/man3").iterdir()}
    assert set(pages) == library.declared() | {library.name, f"{library.name}_types"}
    for path in pages.values():
        assert not run("groff", "-man", "-Tutf8", "-ww", "-rCHECKSTYLE=3", "-z", path), path.name


def test_by_itself(library: Library, tmp_path: Path) -> None:
    """The directory alone, copied elsewhere, is a project."""
    shutil.copytree(library.source, tmp_path / "copy", symlinks=library.symlinks)
    meson("setup", tmp_path / "build", tmp_path / "copy")
    meson("compile", "-C", tmp_path / "build")
