# SPDX-License-Identifier: GPL-2.0-or-later
"""A source tree that is given as a tarball: unpacked once, below build/own."""

import shutil
from pathlib import Path

from cint import paths, steps, ui
from cint.errors import UsageError

_DONE = ".cint-unpacked"


def is_tarball(path: Path) -> bool:
    """Whether a file's name is that of a tarball."""
    return path.is_file() and ".tar" in path.suffixes


def unpack(path: Path, needed: tuple[str, ...]) -> Path:
    """The tree in a tarball; files in ``needed`` must be in it.

    Its SHA-256 is said, so that it can be compared with the publisher's, and is part of the
    directory's name: another file of the same name is another tree.
    """
    digest = steps.hash_file(path)
    name = path.name.partition(".tar")[0]
    target = paths.OWN / "tar" / f"{name}-{digest[:12]}"
    if not (target / _DONE).exists():
        ui.info(f"{path.name} has SHA-256 {digest}")
        with steps.build_lock(), steps.step("own-unpack", f"Unpack {path.name}") as step:
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir(parents=True)
            step.run(["tar", "-x", "--strip-components=1", "-C", target, "-f", path])
        missing = [inside for inside in needed if not (target / inside).exists()]
        if missing:
            shutil.rmtree(target)
            raise UsageError(f"{path} has no {missing[0]}: not the right source")
        (target / _DONE).touch()
    return target
