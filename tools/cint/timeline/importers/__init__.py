# SPDX-License-Identifier: GPL-2.0-or-later
"""Records of other tools, read for ./cint replay: blkparse, fio's logs, nvme.bt.

Each reader gives requests; `log.write` makes QEMU's log of the device of them, which cint-replay
and `cint.timeline.events` read. What these tools know is what a host's software saw: when it
handed a request down and when it heard of its end, which the real device's own interrupts have
already delayed.

May import: base.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cint import paths, units
from cint.errors import CintError, UsageError
from cint.timeline.importers import blkparse, fiolog, nvmebt
from cint.timeline.importers.requests import Found

#: What can be read.
FORMATS = {
    "blkparse": "blkparse's text",
    "fio-lat": "fio's latency logs, a file a job",
    "fio-io": "fio's I/O log, version 2 or 3",
    "bpftrace": "what nvme.bt prints",
}

#: Of the device's time, which has 63 bits.
MAX_SPAN_NS = 1 << 62


@dataclass(frozen=True)
class Choice:
    """The options beside the format: see `./cint replay --help`."""

    device: str | None = None
    latency: str | None = None
    depth: int | None = None


def _bytes(path: Path) -> tuple[str, bytes]:
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise UsageError(f"{path}: {paths.said_of(problem)}") from None
    if b"\0" in data[:4096] and data[1:4] != blkparse.BINARY:
        raise UsageError(f"{path}: this is no text")
    return str(path), data


def _read_io(file: tuple[str, bytes], choice: Choice) -> Found:
    if choice.latency is None or Path(choice.latency).exists():
        log = None if choice.latency is None else _bytes(Path(choice.latency))
        return fiolog.read_io(file, None, log, choice.depth)
    return fiolog.read_io(file, units.parse_time(choice.latency, "--latency"), None, choice.depth)


def read(name: str, files: Sequence[Path], choice: Choice) -> Found:
    """Read records of a format of FORMATS; :class:`CintError` if there is nothing to replay."""
    data = [_bytes(path) for path in files]
    if name == "blkparse":
        found = blkparse.read(*data[0], choice.device)
    elif name == "bpftrace":
        found = nvmebt.read(*data[0], choice.device)
    elif name == "fio-lat":
        found = fiolog.read_latencies(data)
    else:
        found = _read_io(data[0], choice)
    if not found.requests:
        raise CintError(f"{data[0][0]}: there are no requests in it",
                        hint="; ".join(found.remarks) or None)
    if not any(request.end is not None for request in found.requests):
        raise CintError(f"{data[0][0]}: there are no completions in it",
                        hint="nothing would interrupt: record issues and completions")
    span = max(one.end or one.begin for one in found.requests) \
        - min(one.begin for one in found.requests)
    if span > MAX_SPAN_NS:
        raise CintError(f"{data[0][0]}: its times span {span // 10**9} s, more than "
                        f"{MAX_SPAN_NS // 10**9}: it is broken")
    return found
