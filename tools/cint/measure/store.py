# SPDX-License-Identifier: GPL-2.0-or-later
"""The store of runs: outcomes by key, a file each, in the user's cache directory.

An entry is a line of JSON (what follows, with lengths and checksums) and the compressed parts
of the outcome. It is written beside its place and moved there, so that several processes may
use one store; one that cannot be read as it was written is no entry.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cint import paths, steps, ui
from cint.measure.plan import VERSION, RunOutcome, RunPlan

#: Bytes that a store may hold; beyond them the entries that were not used for longest go.
LIMIT = 2 << 30
#: A line longer than this is no header of ours.
MAX_HEADER = 1 << 20


class Store:
    """Outcomes by key, in `directory` (default: that of all checkouts of this user)."""

    def __init__(self, directory: Path | None = None, limit: int = LIMIT) -> None:
        self.directory = (directory or paths.RUNS) / f"v{VERSION}"
        self.limit = limit

    def takes(self, run: RunPlan) -> bool:
        """Whether a run's outcome may be kept and taken: it would be the same again."""
        return not run.impure

    def path(self, key: str) -> Path:
        """Where the entry of a key is."""
        return self.directory / key[:2] / f"{key}.run"

    def has(self, key: str) -> bool:
        """Whether there is an entry of a key, good or not."""
        return self.path(key).is_file()

    def find(self, beginning: str) -> str | None:
        """The key of an entry of which so much is known; None if there is none, or several."""
        found = [path.stem for path in self.directory.glob(f"{beginning[:2]}/{beginning}*.run")]
        return found[0] if len(found) == 1 else None

    def get(self, key: str) -> RunOutcome | None:
        """The outcome that was kept; None if none was, or if it is damaged, which is said."""
        path = self.path(key)
        try:
            with path.open("rb") as file:
                header, packed = file.readline(MAX_HEADER), file.read()
            found = _unpack(key, json.loads(header), packed)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, zlib.error) as err:
            ui.warn(f"the store's entry of run {key[:12]} is damaged ({err}); it runs again",
                    f"it is {path}")
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # used just now
        return found

    def put(self, outcome: RunOutcome) -> None:
        """Keep an outcome, in place of what was kept of the same key."""
        header, packed = _pack(outcome)
        steps.write_atomic(self.path(outcome.key), json.dumps(header).encode() + b"\n" + packed)

    def entries(self) -> Iterator[tuple[float, int, Path]]:
        """When each entry was last used, its bytes, and where it is."""
        for path in self.directory.glob("*/*.run"):
            with contextlib.suppress(FileNotFoundError):  # another process prunes, too
                facts = path.stat()
                yield facts.st_mtime, facts.st_size, path

    def prune(self) -> int:
        """Remove what was not used for longest until the store is within its limit; bytes freed."""
        found = sorted(self.entries())
        freed, over = 0, sum(size for _, size, _ in found) - self.limit
        for _, size, path in found:
            if freed >= over:
                break
            path.unlink(missing_ok=True)
            freed += size
        return freed


class Journal(Store):
    """The outcomes of one measurement that is not complete, whatever they are of.

    Only that measurement takes them, when it goes on.
    """

    def takes(self, run: RunPlan) -> bool:
        """Every one: it has run already."""
        return True


def _pack(outcome: RunOutcome) -> tuple[dict[str, Any], bytes]:
    packed = {name: zlib.compress(part) for name, part in outcome.parts().items()}
    header = {"key": outcome.key, "argv": list(outcome.argv),
              "boot_wall_s": outcome.boot_wall_s, "wall_s": outcome.wall_s,
              "parts": {name: {"packed": len(packed[name]),
                               "sha256": hashlib.sha256(part).hexdigest()}
                        for name, part in outcome.parts().items()}}
    return header, b"".join(packed.values())


def _unpack(key: str, header: dict[str, Any], packed: bytes) -> RunOutcome:
    if header["key"] != key:
        raise ValueError("it is of another run")
    parts: dict[str, bytes] = {}
    for name, facts in header["parts"].items():
        part = zlib.decompress(packed[:facts["packed"]])
        packed = packed[facts["packed"]:]
        if hashlib.sha256(part).hexdigest() != facts["sha256"]:
            raise ValueError(f"{name} has another checksum")
        parts[name] = part
    if packed:
        raise ValueError("it is too long")
    return RunOutcome(key, parts["agent.log"], parts["console.log"], parts["trace.log"],
                      tuple(header["argv"]), float(header["boot_wall_s"]),
                      float(header["wall_s"]))
