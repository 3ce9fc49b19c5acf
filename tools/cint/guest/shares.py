# SPDX-License-Identifier: GPL-2.0-or-later
"""Directories of this machine in a running guest, by 9p: both see what either changes.

QEMU opens the files itself, as the person who runs it. The guest's kernel has 9p built in; one
whose 9p is a module cannot mount them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cint import paths
from cint.errors import UsageError

#: Where they are in the guest, each under its own name.
HOME = "/root"
#: Bytes of one request, at most.
_LARGEST = 128 << 10
_SCRIPT = """\
mkdir -p "$1" && mount -t 9p -o trans=virtio,version=9p2000.L,msize={largest} "$2" "$1"
"""


def name(share: Path) -> str:
    """The directory's name in the guest; what is typed may be a link, `.` or `..`."""
    return share.name if share.name not in ("", "..") else share.resolve().name


def check(shares: Sequence[Path], others: Sequence[Path] = ()) -> None:
    """Refuse, by UsageError, no directory, and two things of one name, also in ``others``."""
    taken = [name(other) for other in others]
    for share in shares:
        if not share.is_dir():
            raise UsageError(f"--share {share}: there is no such directory")
        if not name(share) or name(share) in taken:
            raise UsageError(f"--share {share}: two things would be {HOME}/{name(share)}")
        taken.append(name(share))


def args(shares: Sequence[Path]) -> tuple[str, ...]:
    """QEMU's options: a 9p device for each.

    Files that the guest makes are the person's who runs QEMU, with the guest's mode; what it asks
    for beyond that person's rights fails there.
    """
    return tuple(word for number, share in enumerate(shares) for word in (
        "-virtfs", f"local,path={paths.in_option(share.resolve())},mount_tag={_tag(number)},"
                   "security_model=none,multidevs=remap"))


def setup(shares: Sequence[Path]) -> tuple[tuple[str, ...], ...]:
    """The agent's commands that mount them."""
    script = _SCRIPT.format(largest=_LARGEST)
    return tuple(("sh", "-c", script, "sh", f"{HOME}/{name(share)}", _tag(number))
                 for number, share in enumerate(shares))


def _tag(number: int) -> str:
    return f"share{number}"
