# SPDX-License-Identifier: GPL-2.0-or-later
"""Lookups that somebody waits for, beside threads that scan the file and that nobody waits for.

Usage: marks.py FILE usual|marked. Ends with 77 where the kernel has no marks.
"""

import errno
import mmap
import os
import sys
import threading
import time

#: Python's os module does not have them yet. Both together: nobody waits for it.
RWF_URGENT, RWF_BARRIER = 0x4000, 0x8000
UNMARKED = RWF_URGENT | RWF_BARRIER
BLOCK = 4096
LOOKUPS, SCANNERS = 500, 4


def takes_marks(fd: int) -> bool:
    """Whether the kernel knows the flags; one that does not refuses them."""
    try:
        os.preadv(fd, [mmap.mmap(-1, BLOCK)], 0, RWF_URGENT)
    except OSError as problem:
        if problem.errno != errno.EOPNOTSUPP:
            raise
        return False
    return True


def scan(fd: int, blocks: int, flags: int, ended: threading.Event, counts: list[int]) -> None:
    """Read all blocks in order, again and again; O_DIRECT needs memory that begins with a page."""
    into = mmap.mmap(-1, BLOCK)
    count = 0
    while not ended.is_set():
        os.preadv(fd, [into], count % blocks * BLOCK, flags)
        count += 1
    counts.append(count)


def lookups(fd: int, blocks: int, flags: int) -> float:
    """Seconds for one block here and there after the other."""
    into = mmap.mmap(-1, BLOCK)
    at = 1
    begin = time.monotonic()
    for _ in range(LOOKUPS):
        at = at * 48271 % 0x7FFFFFFF
        os.preadv(fd, [into], at % blocks * BLOCK, flags)
    return time.monotonic() - begin


def main() -> int:
    """Both at once."""
    path, how = sys.argv[1:]
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    if how == "marked" and not takes_marks(fd):
        print("marks.py: this kernel takes no marks", file=sys.stderr)
        return 77
    blocks = os.fstat(fd).st_size // BLOCK
    ended, counts = threading.Event(), list[int]()
    beside = [threading.Thread(target=scan, args=(
        fd, blocks, UNMARKED if how == "marked" else 0, ended, counts)) for _ in range(SCANNERS)]
    for thread in beside:
        thread.start()
    took = lookups(fd, blocks, RWF_URGENT if how == "marked" else 0)
    ended.set()
    for thread in beside:
        thread.join()
    print(f"cint-metric py.lookup.{how} {took * 1e6 / LOOKUPS:.2f} us")
    print(f"cint-metric py.scan.{how} {sum(counts) / took:.0f} 1/s")
    return 0


sys.exit(main())
