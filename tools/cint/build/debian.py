# SPDX-License-Identifier: GPL-2.0-or-later
"""A root file system of Debian with packages of one's choice, usually as an archive.

mmdebstrap makes it, of packages by name, with the host's mirror and a fixed time in all files, so
that the same versions give the same bytes. Nobody has to be root. A guest unpacks it: see
:mod:`cint.guest.appdisk`.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cint import paths, steps, ui
from cint.build import packages, sources
from cint.errors import UsageError

#: The releases that can be asked for; the first is taken unless another is.
RELEASES = ("bookworm", "trixie")
#: All files' time: 2026-01-01, as the guests' clocks begin.
EPOCH = "1767225600"
#: What nobody reads there.
_LEFT_OUT = ("doc", "info", "locale", "man")
_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")


@dataclass(frozen=True)
class Root:
    """What is in it: a release, and packages beside the essential ones."""

    release: str
    packages: tuple[str, ...]

    @property
    def place(self) -> Path:
        """Where its archive is, or will be."""
        text = " ".join([self.release, *sorted(self.packages)])
        return paths.DEBIAN / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.tar"


def check(root: Root, what: str) -> None:
    """Refuse a release or a package's name that cannot be; ``what`` is who asks for it."""
    if root.release not in RELEASES:
        raise UsageError(f"{what}: release '{root.release}'; valid: {', '.join(RELEASES)}")
    for name in root.packages:
        if not _NAME.fullmatch(name):
            raise UsageError(f"{what}: '{name}' is no name of a package")


def archive(root: Root, what: str) -> Path:
    """The archive, made now if it is not there; its content's hash is in its stamp.

    Raises :class:`UsageError` for a package that the release does not have.
    """
    stamp = steps.Stamp(f"debian-{root.place.stem}")
    inputs = {"release": root.release, "packages": sorted(root.packages)}
    if stamp.current(inputs, root.place):
        return root.place
    packages.require("mmdebstrap", "mmdebstrap")
    title = f"Debian {root.release} with {', '.join(root.packages) or 'nothing more'}"
    with steps.step("debian-root", title) as step:
        sources.update_lists(step, root.release, "deb")
        _check_known(root, what)
        root.place.parent.mkdir(parents=True, exist_ok=True)
        with steps.replacing(root.place) as fresh:
            _make(step, root, fresh)
        step.summary(ui.size(root.place.stat().st_size))
        stamp.write(inputs, sha256=steps.hash_file(root.place))
    return root.place


def _check_known(root: Root, what: str) -> None:
    listed = subprocess.run(
        ["apt-cache", *sources.apt_options(root.release, "deb"), "pkgnames"],
        capture_output=True, text=True, check=False).stdout.split()
    unknown = sorted(set(root.packages) - set(listed))
    if unknown:
        raise UsageError(f"{what}: Debian {root.release} has no package {', '.join(unknown)}")


def command(release: str, wanted: Sequence[str], target: Path, *more: str) -> list[str]:
    """mmdebstrap's words for a root at ``target``, with the lists that sources.py has fetched.

    ``wanted`` are packages beside the essential ones, also as NAME=VERSION; ``release`` may be one
    of backports; ``more`` are options.
    """
    lists = sources.apt_root(release, "deb") / "sources.list"
    include = [f"--include={','.join(sorted(wanted))}"] if wanted else []
    return ["mmdebstrap", "--variant=essential", *more,
            '--aptopt=Acquire::Languages "none"', '--aptopt=APT::Sandbox::User "root"',
            *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in _LEFT_OUT), *include,
            release.removesuffix("-backports"), str(target), str(lists)]


def _make(step: steps.Step, root: Root, target: Path) -> None:
    step.run(command(root.release, root.packages, target, "--format=tar"),
             env={"SOURCE_DATE_EPOCH": EPOCH}, parse=progress,
             hint="is the package mirror reachable?")


def progress(line: str) -> str | None:
    """What mmdebstrap is about, from its own lines (`I: ...`)."""
    return line[3:].rstrip(".") if line.startswith("I: ") else None

