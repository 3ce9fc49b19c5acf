# SPDX-License-Identifier: GPL-2.0-or-later
"""The two libraries, each built by itself and installed where nothing else is."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest

from cint import paths

WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers")
#: A compiler for each language and standard in which the headers have to be read.
LANGUAGES = {
    "c11": ("cc", "-std=c11", "-xc"), "gnu17": ("cc", "-std=gnu17", "-xc"),
    "c++11": ("g++", "-std=c++11", "-xc++"), "c++20": ("g++", "-std=c++20", "-xc++"),
}
#: What a program is built with beside pkg-config's words.
LINKS = {"shared": (), "static": ("-static",)}
#: In place of the installed library: the same with a controller that a test has.
PRELOAD = paths.ENGINE_BUILD / "tests/unit/libcintio-preload.so"


def run(*words: str | Path, cwd: Path | None = None, code: int = 0,
        env: Mapping[str, str] = MappingProxyType({})) -> str:
    """What a program says, if it ends with `code`."""
    done = subprocess.run(list(map(str, words)), cwd=cwd, text=True, timeout=600, check=False,
                          env={**os.environ, **env}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    assert done.returncode == code, f"{' '.join(map(str, words))}:\n{done.stdout}"
    return done.stdout


def meson(*words: str | Path) -> str:
    """The tool's own meson, which finds its own ninja."""
    tools = paths.VENV / "bin"
    return run(tools / "meson", *words, env={"NINJA": str(tools / "ninja")})


@dataclass(frozen=True)
class Installed:
    """Where the library was installed."""

    prefix: Path
    name: str

    @property
    def lib(self) -> Path:
        """The directory of the libraries."""
        return self.prefix / "lib"

    @property
    def env(self) -> dict[str, str]:
        """With which programs and pkg-config find it."""
        return {"PKG_CONFIG_PATH": str(self.lib / "pkgconfig"),
                "LD_LIBRARY_PATH": str(self.lib)}

    @property
    def fake(self) -> dict[str, str]:
        """The same, with a controller that a test has."""
        return {**self.env, "LD_PRELOAD": str(PRELOAD)}

    def flags(self, *words: str) -> list[str]:
        """What pkg-config says."""
        return run("pkg-config", *words, self.name, env=self.env).split()

    def build(self, text: str, language: str, link: str, place: Path) -> Path:
        """A program in `place` that knows pkg-config and nothing of this tree."""
        compiler, standard, kind = LANGUAGES[language]
        source, program = place / "program", place / "a.out"
        source.write_text(text, encoding="utf-8")
        more = ("--static",) if link == "static" else ()
        run(compiler, standard, *WARNINGS, *self.flags("--cflags"), "-o", program, kind, source,
            "-xnone", *LINKS[link], *self.flags("--libs", *more))
        return program


@dataclass(frozen=True, kw_only=True)
class Library:
    """What one of the libraries promises to those who use it."""

    source: Path
    #: The fixture that installs it.
    fixture: str
    #: Of its names, and of its header's file.
    name: str
    shared: str
    #: Where its headers are installed, below include/, and which they are.
    place: str
    headers: tuple[str, ...]
    #: What follows the name of a symbol.
    version: str
    #: It declares more functions than these.
    more_than: int
    #: Whether a copy of its directory has links as links.
    symlinks: bool

    @property
    def header(self) -> Path:
        """The public header in this tree."""
        return self.source / f"{self.name}.h"

    def declared(self) -> set[str]:
        """Functions that the header declares, read without its comments."""
        text = re.sub(r"/\*.*?\*/", "", self.header.read_text("utf-8"), flags=re.DOTALL)
        return set(re.findall(rf"\b({self.name}_\w+)\(", text))


CINTIO = Library(
    source=paths.USERSPACE, fixture="installed", name="cintio", shared="libcintio.so",
    place="cintio", headers=("cint-abi.h", "cintio.h"), version="", more_than=30, symlinks=True)
LIBCINT = Library(
    source=paths.LIBCINT, fixture="engine", name="libcint", shared="libcint.so",
    place="", headers=("libcint.h",), version="@@LIBCINT_0", more_than=20, symlinks=False)


def install(project: Path, name: str, root: Path) -> Installed:
    """By `meson setup BUILD PROJECT` and `meson install`."""
    meson("setup", root / "build", project, f"--prefix={root / 'prefix'}",
          "--libdir=lib", "-Dwerror=true")
    meson("install", "-C", root / "build")
    return Installed(root / "prefix", name)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The driver in user space."""
    return install(paths.USERSPACE, "cintio", tmp_path_factory.mktemp("library"))


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The engine as a library."""
    return install(paths.LIBCINT, "libcint", tmp_path_factory.mktemp("libcint"))
