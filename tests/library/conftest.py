# SPDX-License-Identifier: GPL-2.0-or-later
"""The user-space library, built by itself and installed where nothing else is."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest

from cint import paths

HEADER = paths.USERSPACE / "cintio.h"
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
