# SPDX-License-Identifier: GPL-2.0-or-later
"""The disk on libcint (libcint/examples/vhost-blk) as tests run it."""

from __future__ import annotations

import json
import select
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cint import paths

PROGRAM = paths.ENGINE_BUILD / "subprojects/libcint/examples/libcint-vhost-blk"
LIMIT_S = 60.0


class Server:
    """The program, with a disk of its own."""

    def __init__(self, place: Path, *options: str, size: int = 1 << 20,
                 program: Path = PROGRAM) -> None:
        self.socket, self.disk = place / "vhost.sock", place / "disk.img"
        with self.disk.open("wb") as file:
            file.truncate(size)
        self._process = subprocess.Popen(
            [program, *options, self.socket, self.disk], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)

    def write(self, text: str) -> None:
        """Put it into its standard input."""
        assert self._process.stdin is not None
        self._process.stdin.write(text)
        self._process.stdin.flush()

    def ask(self, line: str) -> dict[str, Any]:
        """What it answers to a line. It has then done all that it was kicked for before."""
        assert self._process.stdout is not None
        self.write(line + "\n")
        assert select.select([self._process.stdout], [], [], LIMIT_S)[0], "no answer"
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found

    def stats(self) -> dict[str, Any]:
        """What it has counted."""
        return self.ask("stats")

    def sleeps(self) -> bool:
        """Whether it waits for something, and does not run or want to."""
        state = Path(f"/proc/{self._process.pid}/stat").read_text("ascii").rpartition(")")[2]
        return state.split()[0] == "S"

    def end(self) -> None:
        """It must be there still."""
        assert self._process.poll() is None, f"it ended with {self._process.returncode}"
        self._process.kill()
        self._process.communicate()


@contextmanager
def serving(place: Path, *options: str, size: int = 1 << 20,
            program: Path = PROGRAM) -> Iterator[Server]:
    """A server until the end of the block, with a disk of so many bytes."""
    server = Server(place, *options, size=size, program=program)
    try:
        yield server
    finally:
        server.end()
