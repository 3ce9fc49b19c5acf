# SPDX-License-Identifier: GPL-2.0-or-later
"""Read a file of weights as model servers do, and tell how long each way took."""

import mmap
import os
import sys
import time
from pathlib import Path

MIB = 1 << 20


def direct(path: str) -> int:
    """Bytes read past the page cache, 1 MiB at a time."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    buffer = mmap.mmap(-1, MIB)
    total = 0
    while count := os.readv(fd, [buffer]):
        total += count
    os.close(fd)
    return total


def mapped(path: str) -> int:
    """Bytes of a mapping whose pages are all touched, in order."""
    with Path(path).open("rb") as file, mmap.mmap(
            file.fileno(), 0, prot=mmap.PROT_READ) as weights:
        sum(weights[::mmap.PAGESIZE])
        return len(weights)


def scattered(path: str, count: int = 4096) -> int:
    """Bytes of pages touched here and there, as a sparse layer does."""
    with Path(path).open("rb") as file, mmap.mmap(
            file.fileno(), 0, prot=mmap.PROT_READ) as weights:
        weights.madvise(mmap.MADV_RANDOM)
        pages = len(weights) // mmap.PAGESIZE
        at = 1
        for _ in range(count):
            at = at * 48271 % 0x7FFFFFFF
            weights[at % pages * mmap.PAGESIZE]
        return count * mmap.PAGESIZE


def main() -> None:
    """Each way with an empty page cache."""
    for way in (direct, mapped, scattered):
        Path("/proc/sys/vm/drop_caches").write_text("3\n", encoding="ascii")
        begin = time.monotonic_ns()
        done = way(sys.argv[1])
        took = (time.monotonic_ns() - begin) / 1e9
        print(f"cint-metric {way.__name__}.rate", done / MIB / took, "MiB/s")


main()
