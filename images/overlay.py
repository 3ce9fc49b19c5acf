#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Make an initramfs of another one and files of this machine, which are in /root of the guest.

The kernel unpacks archives that follow one another, the later over the earlier; so the image
stays as it is, and the files are an archive behind it.
"""

from __future__ import annotations

import argparse
import shutil
import stat
import sys
from pathlib import Path

from mkimage import Entry, ImageError, Tree, write_cpio

#: Where the files are, a path in the archive.
HOME = "root"
#: The kernel looks for the next archive at a multiple of this many bytes.
ALIGN = 512


def _add(tree: Tree, source: Path, path: str) -> None:
    """Add a file, a link, or a directory with what is in it."""
    mode = source.lstat().st_mode
    if stat.S_ISLNK(mode):
        tree.entries[path] = Entry(stat.S_IFLNK | 0o777, str(source.readlink()).encode())
    elif stat.S_ISDIR(mode):
        tree.entries[path] = Entry(stat.S_IFDIR | stat.S_IMODE(mode))
        for inside in sorted(source.iterdir()):
            _add(tree, inside, f"{path}/{inside.name}")
    elif stat.S_ISREG(mode):
        tree.entries[path] = Entry(stat.S_IFREG | stat.S_IMODE(mode), source.read_bytes())
    else:
        raise ImageError(f"{source}: neither a file nor a directory nor a link")


def make_tree(sources: list[Path]) -> Tree:
    """The archive of the files, each under its own name; what is typed may be a link to it.

    ImageError names two of one name, and what is no file.
    """
    tree = Tree()
    tree.directory(HOME)
    for typed in sources:
        source = typed.resolve(strict=True)
        name = source.name if typed.name in ("", "..") else typed.name
        if f"{HOME}/{name}" in tree.entries:
            raise ImageError(f"{typed}: there is another {name}")
        _add(tree, source, f"{HOME}/{name}")
    return tree


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 done, 1 something cannot be read or is no file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="the initramfs, not changed")
    parser.add_argument("--out", type=Path, required=True, help="the one to write")
    parser.add_argument("source", type=Path, nargs="+", help="file or directory")
    args = parser.parse_args(argv)
    try:
        data = write_cpio(make_tree(args.source))
        with args.base.open("rb") as base, args.out.open("wb") as out:
            shutil.copyfileobj(base, out)
            out.write(b"\0" * (-out.tell() % ALIGN) + data)
    except (ImageError, OSError) as error:
        print(f"overlay: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
