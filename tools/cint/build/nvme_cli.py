# SPDX-License-Identifier: GPL-2.0-or-later
"""nvme-cli for the guest, with our plugin: the distribution's source, patched."""

from __future__ import annotations

import re
import shutil
from functools import cache
from pathlib import Path

from cint import ask, paths, steps, ui
from cint.build import engine, patches, sources

#: What this nvme-cli is built against; a later library has other functions.
LIBNVME = (1, 3)
OUT = paths.GUEST / "nvme"


@cache
def program() -> Path | None:
    """Where the program is that build() makes.

    None where this machine's libnvme is another one: then the guest gets the distribution's
    nvme-cli, which has everything but our plugin.
    """
    return OUT if _libnvme() == LIBNVME else None


def _libnvme() -> tuple[int, ...] | None:
    """The version of libnvme's headers here."""
    done = ask.run(["pkg-config", "--modversion", "libnvme"])
    found = re.match(r"(\d+)\.(\d+)", done.stdout)
    return (int(found[1]), int(found[2])) if found else None


def _compile(step: steps.Step, source: Path, build: Path) -> None:
    tree = build / "src"
    shutil.rmtree(build, ignore_errors=True)
    shutil.copytree(source, tree, symlinks=True)
    for patch in patches.read_series(paths.NVME_PATCHES):
        step.run(["patch", "-p1", "--fuzz=0", "-s", "-i", patch], cwd=tree)
    meson, ninja = paths.VENV / "bin/meson", paths.VENV / "bin/ninja"
    env = engine.env()
    # What is missing is said, not fetched from where its authors keep it.
    step.run([meson, "setup", build / "b", tree, "--buildtype=release", "-Ddocs=false",
              "--wrap-mode=nodownload"], env=env)
    step.run([ninja, "-C", build / "b", "nvme"], env=env)
    step.run(["strip", "-o", OUT, build / "b/nvme"])


def build() -> bool:
    """Build it where it can be; whether there was something to do."""
    if program() is None:
        ui.detail(f"nvme-cli without the plugin cint: it is for libnvme "
                  f"{'.'.join(map(str, LIBNVME))}")
        return False
    source = sources.unpack(sources.NVME_CLI)
    series = patches.read_series(paths.NVME_PATCHES)
    inputs = {"source": source.version, "patches": steps.hash_files(series)}

    def make(step: steps.Step) -> dict[str, str]:
        paths.GUEST.mkdir(parents=True, exist_ok=True)
        _compile(step, source.tree, paths.NVME_BUILD)
        return {"version": source.version}

    return steps.once("nvme-cli", f"Build nvme-cli for the guest ({source.version})", inputs,
                      [OUT], make)
