# SPDX-License-Identifier: GPL-2.0-or-later
"""A root file system of Debian with packages of one's choice, usually as an archive.

mmdebstrap makes it, of packages by name, with the host's mirror and a fixed time in all files, so
that the same versions give the same bytes. Nobody has to be root. A guest unpacks it: see
:mod:`cint.guest.appdisk`.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cint import ask, paths, steps, ui
from cint.build import packages, sources
from cint.errors import UsageError

#: The releases that can be asked for; the first is taken unless another is.
RELEASES = ("bookworm", "trixie")
#: All files' time: 2026-01-01, as the guests' clocks begin.
EPOCH = "1767225600"
#: What nobody reads there.
_LEFT_OUT = ("doc", "info", "locale", "man")
_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")
#: How apt says what stands in the way of a package.
_UNMET = re.compile(r"^ (\S+ : .*)$", re.MULTILINE)


@dataclass(frozen=True)
class Root:
    """Contents of a root: a release, and packages beside the essential ones."""

    release: str
    packages: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The packages, each once, in an order of their own."""
        return sorted(set(self.packages))

    @property
    def title(self) -> str:
        """The release and the packages, in words."""
        return f"Debian {self.release} with {', '.join(self.names) or 'nothing more'}"

    @property
    def ready(self) -> bool:
        """Whether its archive is there."""
        return self._stamp.current(self._inputs, self.place)

    @property
    def _stamp(self) -> steps.Stamp:
        return steps.Stamp(f"debian-{self.place.stem}")

    @property
    def _inputs(self) -> dict[str, Any]:
        return {"release": self.release, "packages": self.names}

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of its archive; empty while it is not there."""
        return str(self._stamp.facts().get("sha256", "")) if self.ready else ""

    @property
    def place(self) -> Path:
        """Where its archive is, or will be."""
        text = " ".join([self.release, *self.names])
        return paths.DEBIAN / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.tar"


def check(root: Root, what: str) -> None:
    """Refuse, by UsageError, a release or package name that cannot be; ``what`` is who asks."""
    if root.release not in RELEASES:
        raise UsageError(f"{what}: release '{root.release}'; valid: {', '.join(RELEASES)}")
    for name in root.packages:
        if not _NAME.fullmatch(name):
            raise UsageError(f"{what}: '{name}' is no name of a package")


@functools.cache
def look_up(root: Root, what: str) -> None:
    """Say what making the archive will cost, unless it is there; once in a process.

    Asks the package mirror. Raises :class:`UsageError`, naming ``what``, for a package that the
    release does not have, or that cannot be installed together with the others.
    """
    if root.ready:
        return
    with steps.step("debian-packages", f"Look up the packages of {what}") as step:
        sources.update_lists(step, root.release, "deb")
        _check_known(step, root, what)
        cost = _cost(step, root, what)
    ui.info(f"{root.title}: to be made once, in about two minutes{cost}")


def archive(root: Root, what: str) -> Path:
    """The archive, made now if it is not there; its content's hash is in its stamp.

    The caller holds the build lock. Raises what :func:`look_up` does.
    """
    if root.ready:
        return root.place
    look_up(root, what)
    packages.require("mmdebstrap", "mmdebstrap")
    with steps.step("debian-root", root.title) as step:
        with steps.replacing(root.place) as fresh:
            _make(step, root, fresh)
        step.summary(ui.size(root.place.stat().st_size))
        root._stamp.write(root._inputs, sha256=steps.hash_file(root.place))
    return root.place


def _check_known(step: steps.Step, root: Root, what: str) -> None:
    done = sources.apt_cache(root.release, "pkgnames")
    if done.returncode or not done.stdout:
        raise step.fail(f"apt-cache does not list the packages of {root.release}: "
                        f"{steps.meaningful_error(done.stderr.splitlines())}")
    unknown = sorted(set(root.packages) - set(done.stdout.split()))
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


def _cost(step: steps.Step, root: Root, what: str) -> str:
    """What apt-get would fetch and fill for an empty system, in words."""
    done = ask.run(["apt-get", *sources.apt_options(root.release, "deb"),
                    "-o", "Dir::State::status=/dev/null", "install", "--assume-no",
                    "--no-install-recommends", "?essential", *root.names],
                   env={**os.environ, "LC_ALL": "C"})
    step.write(done.stdout + done.stderr)
    unmet = _UNMET.findall(done.stdout)
    if unmet:
        raise UsageError(f"{what}: these packages cannot be installed together: "
                         f"{'; '.join(' '.join(line.split()) for line in unmet)}")
    return packages.parse_cost(done.stdout)


def _make(step: steps.Step, root: Root, target: Path) -> None:
    words = command(root.release, root.names, target, "--format=tar")
    with _scratch() as scratch:
        step.run([*_apart(), *words],
                 env={"SOURCE_DATE_EPOCH": EPOCH, "TMPDIR": str(scratch)},
                 parse=progress, hint="is the package mirror reachable?")


def _apart() -> list[str]:
    """Words before mmdebstrap: what root's mounts in the system it makes ends with it.

    These are the machine's own /dev/shm, among others. Others than root have such mounts apart.
    """
    return ["unshare", "--mount", "--propagation", "private"] if os.geteuid() == 0 else []


@contextmanager
def _scratch() -> Iterator[Path]:
    """A directory for what mmdebstrap unpacks: one that is ended leaves it behind.

    It stays, and that is said, where something is mounted in it: it could be the machine's own.
    """
    place = Path(tempfile.mkdtemp(prefix="cint-debian-"))
    place.chmod(0o755)
    try:
        yield place
    finally:
        if mounted := _mounted_below(place, Path("/proc/self/mountinfo").read_text("utf-8")):
            ui.warn(f"{place} is left: {mounted} is mounted in it", "unmount that, then remove it")
        else:
            _remove(place)


def _mounted_below(place: Path, table: str) -> str:
    """What is mounted in a directory, by the kernel's table; empty if nothing is."""
    points = (line.split()[4] for line in table.splitlines())
    return next((point for point in points if Path(point).is_relative_to(place)), "")


def _remove(place: Path) -> None:
    """Who is not root cannot remove files of other users; mmdebstrap, which made them, can."""
    shutil.rmtree(place, ignore_errors=True)
    if place.exists() and os.geteuid() != 0:
        subprocess.run(["mmdebstrap", "--unshare-helper", "rm", "-rf", "--one-file-system", place],
                       check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shutil.rmtree(place, ignore_errors=True)


def progress(line: str) -> str | None:
    """The step that mmdebstrap is at, from its own lines (`I: ...`)."""
    return line[3:].rstrip(".") if line.startswith("I: ") else None

