# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU's log of pci_nvme_cint_* trace events, line by line, and each command's life in it.

Times are device times in ns, the field `at`. Other lines of the log are passed over, and so are
lines that an end of the log has cut short. Two events of QEMU's own are read where the log has
them: pci_nvme_irq_msix, the device's message, and apic_deliver_irq, its arrival (and that of any
other message) at the vCPUs' local APICs. These have no time, so that of the event before is taken.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cint import paths, units
from cint.errors import CintError, UsageError

PREFIX = "pci_nvme_cint_"
#: How a log comes to have events.
FROM_QEMU = "QEMU prints them with -trace 'pci_nvme_cint_*', compare and run with --trace cint"
#: QEMU's own events that a timeline has vCPUs from.
MSIX, APIC = "pci_nvme_irq_msix", "apic_deliver_irq"
VCPU_EVENTS = (MSIX, APIC)
#: How a file of the trace backend `simple` begins.
_SIMPLE = b"\xff" * 8
URGENT, BARRIER = 1, 2
HINTS = ("unmarked", "urgent", "barrier", "both")


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

    @property
    def hint(self) -> str:
        """Its class by hint."""
        return HINTS[self.hints & (URGENT | BARRIER)]


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
    """All of a log, in order."""

    commands: list[Command] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    interrupts: list[Interrupt] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    #: What a reader of the log should know.
    remarks: list[str] = field(default_factory=list)
    events: int = 0

    def by_record(self, command: Command) -> bool:
        """Whether the guest took the command's CQE by a status record."""
        return command.interrupt is not None and self.interrupts[command.interrupt].by_record

    def divide(self, factor: float) -> None:
        """Divide all times by a factor: those of a guest that stands for a faster machine."""
        for things in (self.commands, self.batches, self.interrupts, self.deliveries):
            for thing in things:
                for name in _TIMES & set(thing.__slots__):
                    value = getattr(thing, name)
                    if value is not None:
                        setattr(thing, name, round(value / factor))


#: The fields of all of these that are times.
_TIMES = frozenset({"submitted", "due", "posted", "told", "reaped", "begin", "end", "at", "until"})


#: What an event that is read begins with.
_READ = re.compile(PREFIX + r"(?:submit|doorbell|media|post|irq|head) \w")


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


class _Vcpus:
    """Which message of the device reached which vCPU.

    The device decides (`irq`), says that it sends (pci_nvme_irq_msix), and the message reaches
    the APICs at once (apic_deliver_irq), all with QEMU's lock held: the next delivery after a
    message is its own. A masked vector sends nothing, so the device's next event forgets it.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._decided: dict[int, deque[int]] = {}
        self._sent: int | None = None
        self._open: dict[int, list[Delivery]] = {}

    def decided(self, vector: int, interrupt: int) -> None:
        """The device has decided on an interrupt."""
        self._sent = None
        self._decided.setdefault(vector, deque()).append(interrupt)

    def message(self, line: str) -> None:
        """pci_nvme_irq_msix: the device sends the oldest it has decided on for the vector."""
        waiting = self._decided.get(int(line.rsplit(maxsplit=1)[1]))
        self._sent = waiting.popleft() if waiting else None

    def deliver(self, line: str, at: int) -> None:
        """apic_deliver_irq: a message is at the APICs; fixed and lowest-priority ones count."""
        words = line[line.index(APIC):].split()
        f = dict(zip(words[1::2], map(int, words[2::2]), strict=True))
        interrupt, self._sent = self._sent, None
        if f["delivery_mode"] > 1:
            return
        found = Delivery(_cpus(f["dest_mode"], f["dest"]), f["vector"], at, interrupt)
        self._trace.deliveries.append(found)
        if interrupt is not None:
            sent = self._trace.interrupts[interrupt]
            found.at = sent.at
            self._open.setdefault(sent.cqid, []).append(found)

    def restarted(self, cqid: int) -> None:
        """A queue was made anew: what was decided for the old one and not sent never will be."""
        for waiting in self._decided.values():
            for index in [i for i in waiting if self._trace.interrupts[i].cqid == cqid]:
                waiting.remove(index)

    def went_on(self, cqid: int, at: int) -> None:
        """The guest does something else: what it took by status records it has."""
        going = self._open.pop(cqid, [])
        self._open[cqid] = [one for one in going if not self._is_by_record(one)]
        for delivery in going:
            if self._is_by_record(delivery):
                delivery.until = at

    def _is_by_record(self, delivery: Delivery) -> bool:
        assert delivery.interrupt is not None
        return self._trace.interrupts[delivery.interrupt].by_record

    def reaped(self, cqid: int, at: int) -> None:
        """The guest has consumed CQEs of a queue."""
        self._sent = None
        for delivery in self._open.pop(cqid, ()):
            delivery.until = at


class _Reader:
    """Follows each command: in flight by (sqid, cid), then in its CQ until the head passes it."""

    def __init__(self) -> None:
        self.trace = Trace()
        self.vcpus = _Vcpus(self.trace)
        self._now = 0
        self._tails: dict[int, int] = {}
        #: Entries that did not follow the one before in their queue; lines that make no sense.
        self.jumps = self.broken = 0
        #: How often a queue was made anew, by CQ.
        self.restarts: dict[int, int] = {}
        self._flying: dict[tuple[int, int], Command] = {}
        #: Of a batch that is not yet fetched to its end: when it began, how many so far; by SQ.
        self._fetching: dict[int, tuple[int, int]] = {}
        #: Posted and not reaped, with the tail after each, by CQ.
        self._queues: dict[int, deque[tuple[int, Command]]] = {}
        #: Posted and not told of, by CQ.
        self._untold: dict[int, list[Command]] = {}

    def submit(self, f: dict[str, str]) -> None:
        command = Command(int(f["cqid"]), int(f["sqid"]), int(f["cid"]), int(f["hints"], 0),
                          int(f["at"]))
        self._now = at = command.submitted or 0
        self.vcpus.went_on(command.cqid, at)
        self._flying[command.sqid, command.cid] = command
        begin, count = self._fetching.get(command.sqid, (at, 0))
        self._fetching[command.sqid] = begin, count + 1
        self.trace.commands.append(command)

    def doorbell(self, f: dict[str, str]) -> None:
        sqid, count, at = int(f["sqid"]), int(f["count"]), int(f["at"])
        begin, fetched = self._fetching.pop(sqid, (at, 0))
        # No more than it says: those of the admin queue have no `submit`, and what a queue that was
        # deleted had fetched is of no batch.
        if 0 < fetched <= count:
            self.trace.batches.append(Batch(sqid, count, begin, at))

    def media(self, f: dict[str, str]) -> None:
        command = self._flying.get((int(f["sqid"]), int(f["cid"])))
        if command is not None:
            command.due = int(f["due"])

    def post(self, f: dict[str, str]) -> None:
        key = int(f["sqid"]), int(f["cid"])
        command = self._flying.pop(key, None)
        if command is None:
            # Submitted before the trace began.
            command = Command(int(f["cqid"]), *key, int(f["hints"], 0))
            self.trace.commands.append(command)
        command.hints = int(f["hints"], 0)
        self._now = command.posted = int(f["at"])
        self._check_tail(command.cqid, int(f["tail"]))
        self._queues.setdefault(command.cqid, deque()).append((int(f["tail"]), command))
        self._untold.setdefault(command.cqid, []).append(command)

    def _check_tail(self, cqid: int, tail: int) -> None:
        """A queue's entries come one after the other; after 0, or in a new queue, comes 1."""
        last = self._tails.get(cqid)
        self._tails[cqid] = tail
        if last is None or tail in (last + 1, 0):
            return
        if tail == 1:
            self.restarts[cqid] = self.restarts.get(cqid, 0) + 1
            # What was in the old queue, nobody is told of and nobody reaps any more.
            self._queues.pop(cqid, None)
            self._untold.pop(cqid, None)
            self.vcpus.restarted(cqid)
        else:
            self.jumps += 1

    def irq(self, f: dict[str, str]) -> None:
        interrupt = Interrupt(int(f["cqid"]), int(f["vector"]), f["class"], f["reason"],
                              int(f["covered"]), int(f["at"]))
        index = len(self.trace.interrupts)
        self.trace.interrupts.append(interrupt)
        self._now = interrupt.at
        self.vcpus.went_on(interrupt.cqid, interrupt.at)
        self.vcpus.decided(interrupt.vector, index)
        waiting = self._untold.get(interrupt.cqid, [])
        told = waiting if interrupt.kind == "full" else \
            [command for command in waiting if command.hints & URGENT]
        for command in told:
            command.told, command.interrupt = interrupt.at, index
        self._untold[interrupt.cqid] = [] if interrupt.kind == "full" else \
            [command for command in waiting if not command.hints & URGENT]

    def head(self, f: dict[str, str]) -> None:
        cqid, head, at = int(f["cqid"]), int(f["head"]), int(f["at"])
        self._now = at
        self.vcpus.reaped(cqid, at)
        entries = self._queues.get(cqid, deque())
        if not any(tail == head for tail, _ in entries):
            return
        while entries:
            tail, command = entries.popleft()
            command.reaped = at
            if tail == head:
                break
        # What the guest has seen by itself, no interrupt tells of.
        self._untold[cqid] = [command for command in self._untold.get(cqid, [])
                              if command.reaped is None]

    def other(self, line: str) -> None:
        """A line that is none of the device's own events."""
        if "-trace " in line:
            # Of QEMU's command line, which may name any of them.
            return
        try:
            if APIC in line:
                self.vcpus.deliver(line, self._now)
            elif MSIX in line:
                self.vcpus.message(line)
            else:
                self.broken += _READ.search(line) is not None
        except (KeyError, ValueError, IndexError):
            self.broken += 1

    def remarks(self, cut_short: bool) -> list[str]:
        """What is to be said of the log, of which the last line may be cut short."""
        found = [f"CQ {cqid} was made anew {count} time{'s' if count > 1 else ''}, as by a reset"
                 for cqid, count in sorted(self.restarts.items())]
        if self.broken > cut_short:
            found.append(f"{self.broken - cut_short} lines of the log are broken and left out")
        if self.jumps:
            found.append(f"{self.jumps} completions do not follow the one before in their queue: "
                         "the log has lines missing, or is of several controllers, whose events "
                         "are not told apart")
        return found


def read(lines: Iterable[str]) -> Trace:
    """Read a log."""
    reader = _Reader()
    known = {"submit": reader.submit, "doorbell": reader.doorbell, "media": reader.media,
             "post": reader.post, "irq": reader.irq, "head": reader.head}
    broken = 0
    for line in lines:
        broken = reader.broken
        found = fields(line)
        if found is None:
            reader.other(line)
            continue
        name, values = found
        reader.trace.events += 1
        handle = known.get(name)
        if handle is not None:
            try:
                handle(values)
            except (KeyError, ValueError):
                reader.trace.events -= 1
                reader.broken += 1
    reader.trace.remarks = reader.remarks(cut_short=reader.broken > broken)
    return reader.trace


def load(log: Path, hint: str = FROM_QEMU) -> Trace:
    """Read the log in a file, which has to have events; `hint` says how to come to some."""
    try:
        with log.open("rb") as begin:
            if begin.read(len(_SIMPLE)) == _SIMPLE:
                raise CintError(f"{log}: this is a file of QEMU's trace backend 'simple', not "
                                "its log", hint="with file=/dev/null after -trace's events the "
                                                "log backend alone writes")
        with log.open(encoding="utf-8", errors="replace") as stream:
            trace = read(stream)
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
        last = "slot kept" if trace.by_record(command) else "reap"
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
