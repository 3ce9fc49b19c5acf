# SPDX-License-Identifier: GPL-2.0-or-later
"""A source tree that is given as a tarball: unpacked once, below build/own."""

import shutil
from pathlib import Path

from cint import paths, steps, ui
from cint.errors import UsageError

_DONE = ".cint-unpacked"

#: Upstream's own tarballs of versions that all tests passed with: name, SHA-256 as published.
#: Debian's fio_3.33.orig.tar.gz is the same file. QEMU publishes a signature beside each tarball,
#: and no sum.
PUBLISHED = {
    "linux-6.12.107.tar.xz": "a5f8c5be3fde2d6d9ca14e9631642cf1f44487143f11059da730dcd5892e307a",
    "linux-6.12.94.tar.xz": "e998a232b9418db3301cb58468e291a4f41d6ab8306029b30d991f56251dc8d2",
    "fio-3.33.tar.gz": "d2410e13e0f379d061d077cc5ae325835bb7c6186aa7bafc1df954cbc9b014fc",
}


def is_tarball(path: Path) -> bool:
    """Whether a file's name is that of a tarball."""
    return path.is_file() and ".tar" in path.suffixes


def unpack(path: Path, needed: tuple[str, ...]) -> Path:
    """The tree in a tarball; files in ``needed`` must be in it.

    Its SHA-256 is said, and compared with the published one where that is known. It is part of the
    directory's name: another file of the same name is another tree. Raises :class:`UsageError`
    where one is missing.
    """
    digest = steps.hash_file(path)
    name = path.name.partition(".tar")[0]
    target = paths.OWN / "tar" / f"{name}-{digest[:12]}"
    if not (target / _DONE).exists():
        _say(path.name, digest)
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


def _say(name: str, digest: str) -> None:
    published = PUBLISHED.get(name)
    if published in (None, digest):
        ui.info(f"{name} has SHA-256 {digest}" + (", as published" if published else ""))
    else:
        ui.warn(f"{name} has SHA-256 {digest}, and {published} was published for that name",
                "going on; another archive of the same version has another sum, and so has a file "
                "that somebody changed")
