# SPDX-License-Identifier: GPL-2.0-or-later
"""Source packages by file name, size and SHA-256, for machines without Debian's apt.

pinned.json lists the files of versions that all tests passed with. Where they are the person says:
a Debian mirror, or any address or directory that has them. What does not have the sum is refused,
so it does not matter whom they come from.
"""

import hashlib
import json
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cint.errors import CintError

_LIST = Path(__file__).with_name("pinned.json")
_BLOCK = 1 << 20
#: Seconds without a byte after which a server is given up.
_SILENCE_S = 60.0


@dataclass(frozen=True)
class Entry:
    """A version of a source package."""

    package: str
    version: str
    release: str
    #: Where a Debian mirror has it.
    pool: str
    files: tuple[tuple[str, int, str], ...]  # name, bytes, SHA-256


def entries(package: str) -> list[Entry]:
    """The known versions of a package."""
    found = json.loads(_LIST.read_text("utf-8"))
    return [Entry(one["package"], one["version"], one["release"], one["pool"],
                  tuple((str(n), int(s), str(d)) for n, s, d in one["files"]))
            for one in found if one["package"] == package]


def is_directory(base: str) -> bool:
    """Whether an address is a directory of this machine."""
    return "://" not in base


def _open(base: str, name: str) -> IO[bytes]:
    if is_directory(base):
        return (Path(base).expanduser() / name).open("rb")
    found: IO[bytes] = urllib.request.urlopen(f"{base.rstrip('/')}/{name}", timeout=_SILENCE_S)
    return found


def _copy(source: IO[bytes], target: Path, said: Callable[[int], None]) -> str:
    digest, count = hashlib.sha256(), 0
    with target.open("wb") as stream:
        while block := source.read(_BLOCK):
            digest.update(block)
            stream.write(block)
            count += len(block)
            said(count)
    return digest.hexdigest()


def _get(base: str, entry: Entry, file: tuple[str, int, str], target: Path,
         said: Callable[[int], None]) -> str | None:
    """Get one file, from the pool or beside it; why it is not to be had, or None."""
    name, _, wanted = file
    why = ""
    for where in (f"{entry.pool}/{name}", name):
        try:
            with _open(base, where) as source:
                got = _copy(source, target, said)
        except (OSError, urllib.error.URLError, ValueError) as problem:
            why = why or f"{where}: {getattr(problem, 'strerror', None) or problem}"
            continue
        if got == wanted:
            return None
        why = f"{where}: its SHA-256 is {got}, and it should be {wanted}"
        target.unlink()
    return why


def fetch(base: str, entry: Entry, directory: Path, said: Callable[[str], None]) -> None:
    """Get all files of an entry into a directory; :class:`CintError` names what is not there.

    ``said`` is told how far it is.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for file in entry.files:
        name, size, _ = file
        why = _get(base, entry, file, directory / name,
                   lambda count, name=name, size=size: said(  # type: ignore[misc]
                       f"{name} {count * 100 // max(size, 1)} %"))
        if why:
            shutil.rmtree(directory, ignore_errors=True)
            raise CintError(f"{base} has no {entry.package} {entry.version}: {why}",
                            hint="CINT_DEBIAN_MIRROR is a Debian mirror, or an address or "
                                 f"directory with: {', '.join(name for name, _, _ in entry.files)}")
