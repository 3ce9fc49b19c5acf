# SPDX-License-Identifier: GPL-2.0-or-later
"""The life of each command in QEMU's log of pci_nvme_cint_* trace events.

cint-replay follows the commands (replay/lives.c, docs/replay.md); here is what reads its records.
Times are device times in ns, the field `at`. Two events of QEMU's own are read where the log has
them: pci_nvme_irq_msix, the device's message, and apic_deliver_irq, its arrival (and that of any
other message) at the vCPUs' local APICs. These have no time, so that of the event before is taken.
"""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from cint import paths, units
from cint.build import engine
from cint.errors import CintError, UsageError

PREFIX = "pci_nvme_cint_"
#: How a log comes to have events.
FROM_QEMU = "QEMU prints them with -trace 'pci_nvme_cint_*', compare and run with --trace cint"
#: QEMU's own events that a timeline has vCPUs from.
MSIX, APIC = "pci_nvme_irq_msix", "apic_deliver_irq"
VCPU_EVENTS = (MSIX, APIC)
#: How a file of the trace backend `simple` begins.
_SIMPLE = b"\xff" * 8
HINTS = ("unmarked", "urgent", "barrier", "both")

# ---- cint-replay's records: replay/records.c ----

#: A time that is not known.
NONE = -2**63
_NO_INTERRUPT = -1
_HEAD, _BLOCK = struct.Struct("<8sII"), struct.Struct("<II")
_MAGIC, _VERSION = b"CINTLIFE", 1
COMMAND, BATCH, INTERRUPT, DELIVERY, _REMARKS, _END = range(1, 7)
_LAYOUT = {COMMAND: struct.Struct("<7q3HB?"), BATCH: struct.Struct("<qqII"),
           INTERRUPT: struct.Struct("<qIIH14s32s"), DELIVERY: struct.Struct("<4qIIQ"),
           _REMARKS: struct.Struct("s"), _END: struct.Struct("<Qqq")}


@dataclass(slots=True)
class Command:
    """A command from its fetch to the guest's reaping it; None is a time that is not known."""

    cqid: int
    sqid: int
    cid: int
    hints: int
    submitted: int | None = None
    due: int | None = None
    posted: int | None = None
    #: When an interrupt told of it, and which: an index of Trace.interrupts.
    told: int | None = None
    interrupt: int | None = None
    reaped: int | None = None
    #: Whether the guest took the CQE by a status record.
    by_record: bool = False

    @property
    def hint(self) -> str:
        """Its class by hint."""
        return HINTS[self.hints]


@dataclass(slots=True)
class Batch:
    """SQEs that a doorbell published, as the device fetched them: the first, and the last."""

    sqid: int
    count: int
    begin: int
    end: int


@dataclass(slots=True)
class Interrupt:
    """A message that the device sent."""

    cqid: int
    vector: int
    kind: str
    reason: str
    covered: int
    at: int

    @property
    def by_record(self) -> bool:
        """Whether it tells of Urgent CQEs out of order: the guest takes them by status records at
        once, and the CQ head passes their slots later."""
        return self.kind == "urgent"


@dataclass(slots=True)
class Delivery:
    """A message at the local APICs of vCPUs, by any sender."""

    cpus: tuple[int, ...]
    #: The guest's number of the interrupt, by which its local APIC knows it.
    vector: int
    at: int
    #: The device's interrupt that it is, an index of Trace.interrupts; None: another sender's.
    interrupt: int | None = None
    #: Of the device's: when the guest first consumed CQEs afterwards.
    until: int | None = None


@dataclass
class Trace:
    """All of a log: records as cint-replay wrote them, and objects where somebody asks for them."""

    records: dict[int, bytes]
    #: What a reader of the log should know.
    remarks: list[str]
    events: int
    #: From the first submission or completion to the last.
    ns: int

    def rows(self, kind: int) -> Iterator[tuple[Any, ...]]:
        """The records of a kind, in no order where they are numbered; see replay/records.c."""
        return _LAYOUT[kind].iter_unpack(self.records.get(kind, b""))

    @cached_property
    def commands(self) -> list[Command]:
        """The commands in the order of their events."""
        return [Command(cqid, sqid, cid, hints, _known(submitted), _known(due), _known(posted),
                        _known(told), _known(interrupt, _NO_INTERRUPT), _known(reaped), by_record)
                for _, submitted, due, posted, told, reaped, interrupt, cqid, sqid, cid, hints,
                by_record in sorted(self.rows(COMMAND))]

    @cached_property
    def batches(self) -> list[Batch]:
        """The batches in their order."""
        return [Batch(sqid, count, begin, end) for begin, end, count, sqid in self.rows(BATCH)]

    @cached_property
    def interrupts(self) -> list[Interrupt]:
        """The interrupts in their order."""
        return [Interrupt(cqid, vector, text(kind), text(reason), covered, at)
                for at, vector, covered, cqid, kind, reason in self.rows(INTERRUPT)]

    @cached_property
    def deliveries(self) -> list[Delivery]:
        """The deliveries in their order."""
        return [Delivery(_cpus(is_logical, dest), vector, at, _known(interrupt, _NO_INTERRUPT),
                         _known(until))
                for _, at, until, interrupt, vector, dest, is_logical
                in sorted(self.rows(DELIVERY))]


def _known(value: int, unknown: int = NONE) -> int | None:
    return None if value == unknown else value


def text(field: bytes) -> str:
    """A word of a record."""
    return field.rstrip(b"\0").decode(errors="replace")


def fields(line: str) -> tuple[str, dict[str, str]] | None:
    """The event's name and its fields; None for any other line."""
    start = line.find(PREFIX)
    if start < 0:
        return None
    words = line[start:].split()
    # `oldest hold N` is the one field whose name has two words.
    if "oldest" in words:
        words.remove("oldest")
    # The first field's name tells an event from its name in QEMU's command line.
    if len(words) < 3 or len(words) % 2 == 0 or not words[1].isalpha():
        return None
    return words[0].removeprefix(PREFIX), dict(zip(words[1::2], words[2::2], strict=True))


def _cpus(mode: int, destination: int) -> tuple[int, ...]:
    """The vCPUs that a message is for; none where it is for all.

    A physical destination is an APIC's number. A logical one is a bit a vCPU: the flat model,
    which is Linux's for up to eight.
    """
    if mode:
        return tuple(bit for bit in range(8) if destination >> bit & 1)
    return (destination,) if destination != 0xff else ()


def parse(stream: bytes) -> Trace:
    """The trace that cint-replay's records tell; CintError if they are not whole."""
    try:
        records, end = _split(stream)
    except (struct.error, ValueError, KeyError):
        raise CintError("cint-replay ended in the middle of its records") from None
    events, first, last = end
    remarks = records.pop(_REMARKS, b"").decode().splitlines()
    return Trace(records, remarks, events, last - first)


def _split(stream: bytes) -> tuple[dict[int, bytes], tuple[int, int, int]]:
    """The records by their kinds, and the last one."""
    if _HEAD.unpack_from(stream)[:2] != (_MAGIC, _VERSION):
        raise CintError("cint-replay writes another version of its records")
    place, parts = _HEAD.size, dict[int, list[memoryview]]()
    view = memoryview(stream)
    while place < len(stream):
        kind, count = _BLOCK.unpack_from(stream, place)
        begin, place = place + _BLOCK.size, place + _BLOCK.size + count * _LAYOUT[kind].size
        parts.setdefault(kind, []).append(view[begin:place])
    records = {kind: b"".join(views) for kind, views in parts.items()}
    events, first, last = _LAYOUT[_END].unpack(records[_END])
    return records, (events, first, last)


def _follow(log: BinaryIO, scale: float) -> Trace:
    """Have cint-replay follow the commands of a log."""
    engine.build_replay()
    done = subprocess.run([str(paths.REPLAY_ALONE), "--lives", "--cpu-scale", str(scale)],
                          stdin=log, capture_output=True, check=False)
    if done.returncode:
        raise CintError(f"cint-replay: {done.stderr.decode(errors='replace').strip()}")
    return parse(done.stdout)


def load(log: Path, hint: str = FROM_QEMU, scale: float = 1.0) -> Trace:
    """Read the log in a file, which has to have events; `hint` says how to come to some.

    All times are divided by `scale`: those of a guest that stands for a faster machine. Raises
    :class:`UsageError` where it cannot be read, :class:`CintError` where it is no such log.
    """
    try:
        with log.open("rb") as stream:
            if os.pread(stream.fileno(), len(_SIMPLE), 0) == _SIMPLE:
                raise CintError(f"{log}: this is a file of QEMU's trace backend 'simple', not "
                                "its log", hint="with file=/dev/null after -trace's events the "
                                                "log backend alone writes")
            trace = _follow(stream, scale)
    except OSError as problem:
        beside = [str(one) for one in sorted(log.parent.parent.glob(f"*/{log.name}"))
                  if not log.exists()]
        raise UsageError(f"{log}: {paths.said_of(problem)}{units.suggestion(str(log), beside)}") \
            from None
    if not trace.events:
        raise CintError(f"{log}: there are no {PREFIX}* events in it", hint=hint)
    return trace


def lives(trace: Trace) -> Iterator[tuple[Command, list[tuple[str, int, int]]]]:
    """Each command with its phases that are known: name, begin, end.

    The medium is done at `due`; posting is what the CQE waits afterwards, for data or room in the
    CQ. What the guest finds before an interrupt has told of it is untold until then. What it takes
    by a status record it has at the interrupt; its slot is kept until the CQ head passes it.
    """
    for command in trace.commands:
        last = "slot kept" if command.by_record else "reap"
        yield command, [(name, begin, end) for name, begin, end in _phases(command, last)
                        if begin is not None and end is not None and end >= begin]


def _phases(command: Command, last: str) -> list[tuple[str, int | None, int | None]]:
    due, posted = command.due, command.posted
    device: list[tuple[str, int | None, int | None]] = [("device", command.submitted, posted)]
    if due is not None and posted is not None and due <= posted:
        device = [("medium", command.submitted, due), ("posting", due, posted)]
    if command.told is None:
        return [*device, ("untold", posted, command.reaped)]
    return [*device, ("held", posted, command.told), (last, command.told, command.reaped)]
