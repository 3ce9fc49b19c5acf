# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of the distribution that tests run in guests, whether or not this machine has them.

What is installed is taken as it is. Else the package and what it needs are downloaded by name and
unpacked below the build directory; nothing is installed here.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from cint import paths, steps
from cint.build import hints

ROOT = paths.BUILD / "test-programs"
#: Where a package unpacked there has its libraries.
LIBRARIES = [ROOT / "usr/lib/x86_64-linux-gnu"]
#: A program, where its package has it, and the package.
_PLACES = {"sqlite3": ("usr/bin/sqlite3", "sqlite3"),
           "db_bench": ("usr/bin/db_bench", "rocksdb-tools"),
           "postgres": ("usr/lib/postgresql/*/bin/postgres", "postgresql")}


def _found(root: Path, name: str) -> Path | None:
    return max(root.glob(_PLACES[name][0]), default=None)


def _apt(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["apt-get", "-o", "APT::Sandbox::User=root", *words], cwd=cwd,
                          capture_output=True, text=True, check=False)


def _unpack(package: str) -> str:
    """Unpack a package and what it needs of what is not installed; why that cannot be done."""
    listed = _apt("-s", "--no-install-recommends", "install", package)
    wanted = hints.parse_installed(listed.stdout)
    archives = ROOT / "archives"
    archives.mkdir(parents=True, exist_ok=True)
    if not wanted:
        return listed.stderr.strip() or f"apt-get would install nothing for {package}"
    got = _apt("download", *wanted, cwd=archives)
    if got.returncode:
        return got.stderr.strip()
    for one in wanted:
        name = one.partition("=")[0]
        (archive,) = archives.glob(f"{name}_*.deb")
        subprocess.run(["dpkg-deb", "-x", archive, ROOT], check=True)
        archive.unlink()
    return ""


def find(name: str) -> Path:
    """A program and its place here; skips where its package cannot be had."""
    if not shutil.which("apt-get"):
        pytest.skip(f"{name}: no apt-get to have its package from")
    found = _found(Path("/"), name) or _found(ROOT, name)
    if found:
        return found
    with steps.build_lock():
        why = _unpack(_PLACES[name][1])
    found = _found(ROOT, name)
    if found is None:
        pytest.skip(f"{name}: {why.splitlines()[-1] if why else 'not in its package'}")
    return found
