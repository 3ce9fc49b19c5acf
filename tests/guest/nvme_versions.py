# SPDX-License-Identifier: GPL-2.0-or-later
"""nvme-cli of other releases than the image's, with our plugin.

Each is the release's own source with our patch for it, built in a root of Debian 13, which
mmdebstrap makes of packages by name. The program and the libraries that it needs are on a small
disk, so that any guest can run it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from marks import MKFS_EXT4, make_disk

from cint import paths, steps
from cint.build import debian, packages, patches, sources
from cint.errors import CintError

SYSTEM = "trixie"
_PACKAGES = ("gcc", "libc6-dev", "libjson-c-dev", "libnvme-dev", "meson", "ninja-build", "pkgconf")
_ROOT = paths.DEBIAN / "nvme-cli"
#: Where its disk is mounted in the guest.
PLACE = "/mnt/nvme-cli"
_LOADER = "ld-linux-x86-64.so.2"
#: In place of the image's program.
RUN = f'#!/bin/sh\nexec {PLACE}/{_LOADER} --library-path {PLACE} {PLACE}/nvme "$@"\n'
_COPY = f"""\
set -e
cd /src
meson setup /b . --buildtype=release --wrap-mode=nodownload {{options}}
ninja -C /b nvme
mkdir /program
strip -o /program/nvme /b/nvme
cp -L $(ldd /program/nvme | grep -o '/[^ ]*') /program
[ -e /program/{_LOADER} ]
"""


@dataclass(frozen=True)
class Version:
    """A release of nvme-cli: upstream's numbers, and which of Debian's has its source.

    ``environment`` names a variable with a tree of one's own, which is taken instead.
    """

    series: str
    release: str
    options: str
    environment: str | None = None

    @property
    def patches(self) -> Path:
        """Our series for it."""
        return paths.NVME_PATCHES.with_name(self.series)

    def unpack(self, tree: Path) -> None:
        """Its source without our patch; skips where it cannot be had."""
        own = os.environ.get(self.environment or "")
        if own:
            shutil.copytree(own, tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
            return
        package = replace(sources.NVME_CLI, series=(self.series,), verified=(),
                          releases=(self.release,))
        try:
            sources.unpack_to(package, tree)
        except CintError as problem:
            pytest.skip(f"nvme-cli {self.series}: {problem.message}")


VERSIONS = {
    "2.13": Version("2.13", "trixie", "-Ddocs=false"),
    "3": Version("3", "experimental", "-Ddocs=false -Dpython=disabled -Dfabrics=disabled "
                 "-Dmi=disabled -Dnvmf-autoconnect=disabled --default-library=static",
                 "CINT_NVME_CLI_3"),
}


def _make_root() -> None:
    with steps.step("nvme-cli-root", f"Debian {SYSTEM} to build nvme-cli in") as step:
        sources.update_lists(step, SYSTEM, "deb")
        shutil.rmtree(_ROOT, ignore_errors=True)
        _ROOT.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(debian.command(SYSTEM, _PACKAGES, _ROOT, "--format=directory"),
                              capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"mmdebstrap: {done.stderr.strip().splitlines()[-1]}")


def _root() -> Path:
    """The root, which is kept in the build directory; skips where it cannot be made."""
    if os.geteuid():
        pytest.skip("needs root")
    packages.require("mmdebstrap", "mmdebstrap")
    stamp = steps.Stamp("nvme-cli-root")
    if not stamp.current({"packages": _PACKAGES}, _ROOT):
        stamp.remove()
        _make_root()
        stamp.write({"packages": _PACKAGES})
    return _ROOT


def _build(version: Version, root: Path, tree: Path) -> Path:
    """The directory with the program and its libraries."""
    for name in ("src", "b", "program"):
        shutil.rmtree(root / name, ignore_errors=True)
    shutil.copytree(tree, root / "src", symlinks=True)
    with steps.step(f"nvme-cli-{version.series}", f"Build nvme-cli {version.series}") as step:
        for patch in patches.read_series(version.patches):
            step.run(["patch", "-p1", "--fuzz=0", "-s", "-i", patch], cwd=root / "src")
        step.run(["chroot", root, "/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                  "LC_ALL=C.UTF-8", "sh", "-c", _COPY.format(options=version.options)])
    return root / "program"


def disk(name: str, place: Path) -> Path:
    """A disk with that program, to be mounted at PLACE; skips where it cannot be built."""
    version = VERSIONS[name]
    version.unpack(place / "tree")
    with steps.build_lock():
        program = _build(version, _root(), place / "tree")
    return make_disk(place / "nvme-cli", *MKFS_EXT4, "-d", str(program))
