# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace as a timeline that ui.perfetto.dev opens, in Perfetto's own format.

Groups, which are parents of all tracks, and the tracks in them. The viewer has groups by their
names, and a group's tracks as they are ranked here; those of one name are drawn as one.

* completion queues: a slice for the CQEs that an interrupt tells of, in it their being held and
  their being reaped, or, of those taken by status records, their slots' being kept; and a counter
  of CQEs that no interrupt has told of;
* submission queues: a slice for each batch of SQEs, as long as their fetch took; and one for each
  command, in it its phases (events.lives), with an arrow to the interrupt that tells of it;
* vCPUs, where the log has QEMU's events of messages and local APICs: a slice for each interrupt of
  the device, from its arrival to the guest's consuming CQEs, or, where it takes them by status
  records, to the queue's next command or interrupt; marks for other senders' messages;
* vectors: a slice an interrupt, named by its reason, with an arrow to the vCPU.

Slices of a track nest: what overlaps otherwise is in tracks of the same name, its lanes.

The viewer opens at the busy part (opening()): it shows the time between two events by which a
tracing service says that all its sources have begun, and that it has ended.

The Python package `perfetto` has the format's classes. It is in the environment's extra
`timeline`, so this module is imported where a timeline is written.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import BinaryIO

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
    CounterDescriptor,
    TracePacket,
    TrackDescriptor,
    TrackEvent,
)
from perfetto.trace_builder.proto_builder import TraceProtoBuilder

from cint.timeline.events import Command, Delivery, Interrupt, Trace, lives

CQS, SQS, VCPUS, VECTORS = "completion queues", "submission queues", "vCPUs", "vectors"
#: What takes no time, as an interrupt, has this width at the most, to be seen.
_WIDTH_NS = 100
#: How much of the time the viewer shows first, and of that what is before the first interrupt.
OPENING_NS = 1_000_000
_BEFORE_NS = 50_000
#: Of the busiest such time's interrupts, the share that makes a time busy.
_BUSY = 0.5
#: The one writer of the packets. Names that it has used are numbers from then on.
_SEQUENCE = 1
#: Packets that are in memory before they are written.
_CHUNK = 4096

Args = Mapping[str, int | str | Sequence[int]]
#: Where a track is: its group, the number of what it is of, and which of the two of that it is.
_Place = tuple[str, int, int]


def _consumed(delivery: Delivery) -> int:
    """Where an interrupt's slice at a vCPU ends."""
    return delivery.at + _WIDTH_NS if delivery.until is None else delivery.until


def _widened(spans: Sequence[tuple[int, int, int]]) -> list[int]:
    """Where slices (track, begin, end) end: what is short is widened up to the track's next."""
    following: dict[int, int] = {}
    ends = []
    for track, begin, end in reversed(spans):
        wide = begin + _WIDTH_NS
        ends.append(max(end, min(wide, following.get(track, wide))))
        following[track] = begin
    return ends[::-1]


def opening(trace: Trace) -> tuple[int, int] | None:
    """The time, in ns, that is shown first: from where the interrupts become many; None without.

    A log begins at the guest's boot, whose few commands are far from each other.
    """
    times = [one.at for one in trace.interrupts]
    counts, end = [], 0
    for first, at in enumerate(times):
        while end < len(times) and times[end] < at + OPENING_NS:
            end += 1
        counts.append(end - first)
    if not counts:
        return None
    busy = next(at for at, count in zip(times, counts, strict=True)
                if count >= _BUSY * max(counts))
    begin = max(0, busy - _BEFORE_NS)
    return begin, begin + OPENING_NS


class _Lanes:
    """The lowest lane that is free, for slices in the order of their beginnings."""

    def __init__(self) -> None:
        self._busy: list[tuple[int, int]] = []
        self._free: list[int] = []
        self._count = 0

    def take(self, begin: int, end: int) -> int:
        while self._busy and self._busy[0][0] <= begin:
            heapq.heappush(self._free, heapq.heappop(self._busy)[1])
        if self._free:
            lane = heapq.heappop(self._free)
        else:
            self._count += 1
            lane = self._count
        heapq.heappush(self._busy, (end, lane))
        return lane


class _Writer:
    """Writes packets; the format's numbers for names, tracks and arrows are given out here."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._chunk = TraceProtoBuilder()
        self._names: dict[str, int] = {}
        self._keys: dict[str, int] = {}
        #: The lanes of a place, and the track that each lane is.
        self._lanes: dict[_Place, _Lanes] = {}
        self._tracks: dict[tuple[_Place, int], int] = {}
        self._groups: dict[str, int] = {}
        self._uuids = self._flows = 0

    def _packet(self) -> TracePacket:
        packets = self._chunk.trace.packet
        if len(packets) == _CHUNK:
            self.flush()
        packet = self._chunk.add_packet()
        packet.trusted_packet_sequence_id = _SEQUENCE
        packet.sequence_flags = TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        return packet

    def flush(self) -> None:
        """Write what is in memory."""
        self._stream.write(self._chunk.serialize())
        self._chunk = TraceProtoBuilder()

    def begin(self, shown: tuple[int, int] | None) -> None:
        """The first packets: no name has a number yet, and what time is shown."""
        self._packet().sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        if shown is None:
            return
        first, last = self._packet(), self._packet()
        first.timestamp, last.timestamp = shown
        first.service_event.all_data_sources_started = True
        last.service_event.tracing_disabled = True

    # ---- tracks --------------------------------------------------------------

    def _new(self, name: str) -> TrackDescriptor:
        self._uuids += 1
        descriptor = self._packet().track_descriptor
        descriptor.uuid, descriptor.name = self._uuids, name
        return descriptor

    def _group(self, name: str) -> int:
        if name not in self._groups:
            descriptor = self._new(name)
            descriptor.child_ordering = TrackDescriptor.EXPLICIT
            self._groups[name] = descriptor.uuid
        return self._groups[name]

    def _describe(self, name: str, place: _Place) -> TrackDescriptor:
        group, number, part = place
        parent = self._group(group)
        descriptor = self._new(name)
        descriptor.parent_uuid, descriptor.sibling_order_rank = parent, 2 * number + part
        return descriptor

    def track(self, name: str, place: _Place, lane: int = 1) -> int:
        """The track of a lane."""
        key = place, lane
        if key not in self._tracks:
            descriptor = self._describe(name, place)
            descriptor.sibling_merge_behavior = TrackDescriptor.SIBLING_MERGE_BEHAVIOR_BY_TRACK_NAME
            self._tracks[key] = descriptor.uuid
        return self._tracks[key]

    def lane(self, name: str, place: _Place, begin: int, end: int) -> int:
        """A track of that place which is free from `begin` to `end`."""
        lanes = self._lanes.setdefault(place, _Lanes())
        return self.track(name, place, lanes.take(begin, end))

    def counter(self, name: str, place: _Place) -> int:
        """A track of values."""
        key = place, 0
        if key not in self._tracks:
            descriptor = self._describe(name, place)
            descriptor.counter.unit = CounterDescriptor.UNIT_COUNT
            self._tracks[key] = descriptor.uuid
        return self._tracks[key]

    # ---- events --------------------------------------------------------------

    def _event(self, kind: TrackEvent.Type, track: int, at: int) -> TracePacket:
        packet = self._packet()
        packet.timestamp = at
        event = packet.track_event
        event.type, event.track_uuid = kind, track
        return packet

    def _named(self, packet: TracePacket, name: str, args: Args) -> None:
        event = packet.track_event
        if name not in self._names:
            self._names[name] = len(self._names) + 1
            packet.interned_data.event_names.add(iid=self._names[name], name=name)
        event.name_iid = self._names[name]
        for key, value in args.items():
            if key not in self._keys:
                self._keys[key] = len(self._keys) + 1
                packet.interned_data.debug_annotation_names.add(iid=self._keys[key], name=key)
            note = event.debug_annotations.add(name_iid=self._keys[key])
            if isinstance(value, str):
                note.string_value = value
            elif isinstance(value, int):
                note.int_value = value
            else:
                for one in value:
                    note.array_values.add(int_value=one)

    def open(self, name: str, track: int, at: int, *, leaves: Sequence[int] = (),
             arrives: Sequence[int] = (), **args: int | str) -> None:
        """Begin a slice, which arrows leave, or reach."""
        packet = self._event(TrackEvent.TYPE_SLICE_BEGIN, track, at)
        self._named(packet, name, args)
        if leaves:
            packet.track_event.flow_ids.extend(leaves)
        if arrives:
            packet.track_event.terminating_flow_ids.extend(arrives)

    def close(self, track: int, at: int) -> None:
        """End the slice that was begun last on a track, and not ended."""
        self._event(TrackEvent.TYPE_SLICE_END, track, at)

    def slice(self, name: str, track: int, begin: int, end: int, *, leaves: Sequence[int] = (),
              arrives: Sequence[int] = (), **args: int | str) -> None:
        """A slice with nothing in it."""
        self.open(name, track, begin, leaves=leaves, arrives=arrives, **args)
        self.close(track, end)

    def mark(self, name: str, track: int, at: int, args: Args) -> None:
        """A mark, which takes no time."""
        self._named(self._event(TrackEvent.TYPE_INSTANT, track, at), name, args)

    def value(self, track: int, at: int, value: int) -> None:
        """The value of a counter from then on."""
        self._event(TrackEvent.TYPE_COUNTER, track, at).track_event.counter_value = value

    def arrow(self) -> int:
        """A number for an arrow."""
        self._flows += 1
        return self._flows


class _Timeline:
    """All events of a timeline, group by group; an arrow's beginning is before its end."""

    def __init__(self, trace: Trace, writer: _Writer) -> None:
        self._trace, self._to = trace, writer
        #: The arrows that end at an interrupt, by its number in the trace; those to its vCPUs.
        self._arrows: dict[int, list[int]] = {}
        self._messages: dict[tuple[int, int], int] = {}
        #: Of the CQEs that an interrupt tells of: how many, the first post, the last reaping.
        self._told: dict[int, tuple[int, int, int]] = {}

    def write(self) -> None:
        """All of them."""
        self._to.begin(opening(self._trace))
        self._batches()
        self._commands()
        self._interrupts()
        self._completions()
        self._pending()
        self._vcpus()
        self._to.flush()

    # ---- submission queues ---------------------------------------------------

    def _batches(self) -> None:
        """What was fetched together; in virtual time that is at one instant."""
        spans = [(one.sqid, one.begin, one.end) for one in self._trace.batches]
        for one, end in zip(self._trace.batches, _widened(spans), strict=True):
            track = self._to.track(f"SQ {one.sqid} submit", (SQS, one.sqid, 0))
            self._to.slice(f"{one.count} SQE{'s' if one.count > 1 else ''}", track, one.begin, end)

    def _commands(self) -> None:
        known = [(command, phases) for command, phases in lives(self._trace) if phases]
        known.sort(key=lambda one: one[1][0][1])
        for command, phases in known:
            track = self._to.lane(f"SQ {command.sqid} in flight", (SQS, command.sqid, 1),
                                  phases[0][1], phases[-1][2])
            self._command(command, phases, track)

    def _tells(self, interrupt: int, arrow: int, command: Command) -> None:
        """Note that an interrupt tells of a command."""
        self._arrows.setdefault(interrupt, []).append(arrow)
        at = self._trace.interrupts[interrupt].at
        posted = at if command.posted is None else command.posted
        reaped = at if command.reaped is None else command.reaped
        count, first, last = self._told.get(interrupt, (0, posted, reaped))
        self._told[interrupt] = count + 1, min(first, posted), max(last, reaped)

    def _command(self, command: Command, phases: list[tuple[str, int, int]], track: int) -> None:
        """A command's slice and its phases; the arrow leaves the last before the interrupt."""
        arrows: tuple[int, ...] = ()
        if command.interrupt is not None:
            arrows = (self._to.arrow(),)
            self._tells(command.interrupt, arrows[0], command)
        # Without the others that take no time: they would be drawn in what begins then.
        drawn = [(name, first, last) for name, first, last in phases
                 if first < last or last == phases[-1][2]]
        before = [index for index, (_, first, last) in enumerate(drawn)
                  if command.told is not None and first < last <= command.told]
        self._to.open(f"cid {command.cid}", track, phases[0][1], hint=command.hint,
                      cqid=command.cqid, leaves=() if before else arrows)
        for index, (name, first, last) in enumerate(drawn):
            leaves = arrows if before and index == before[-1] else ()
            self._to.slice(name, track, first, last, leaves=leaves)
        self._to.close(track, phases[-1][2])

    # ---- vectors ---------------------------------------------------------------

    def _interrupts(self) -> None:
        reached: dict[int, list[int]] = {}
        for delivery in self._trace.deliveries:
            if delivery.interrupt is not None:
                self._messages |= {(delivery.interrupt, cpu): self._to.arrow()
                                   for cpu in delivery.cpus}
                reached[delivery.interrupt] = [self._messages[delivery.interrupt, cpu]
                                               for cpu in delivery.cpus]
        ends = _widened([(one.vector, one.at, one.at) for one in self._trace.interrupts])
        for index, one in enumerate(self._trace.interrupts):
            track = self._to.track(f"vector {one.vector}", (VECTORS, one.vector, 0))
            self._to.slice(one.reason, track, one.at, ends[index], cqid=one.cqid, kind=one.kind,
                           covered=one.covered, leaves=reached.get(index, ()),
                           arrives=self._arrows.get(index, ()))

    # ---- completion queues -----------------------------------------------------

    def _completions(self) -> None:
        told = [(self._trace.interrupts[index], *found) for index, found
                in sorted(self._told.items(), key=lambda one: one[1][1])]
        for one, count, first, last in told:
            end = max(last, one.at)
            track = self._to.lane(f"CQ {one.cqid}", (CQS, one.cqid, 0), first, end)
            self._to.open(f"{count} CQE{'s' if count > 1 else ''}: {one.reason}", track, first,
                          vector=one.vector, kind=one.kind)
            if first < one.at:
                self._to.slice("held", track, first, one.at)
            if one.at < last:
                self._to.slice("slots kept" if one.by_record else "reap", track, one.at, last)
            self._to.close(track, end)

    def _pending(self) -> None:
        changes = [(time, sign, c.cqid) for c in self._trace.commands if c.posted is not None
                   for time, sign in ((c.posted, 1), (c.told or c.reaped, -1)) if time is not None]
        count: dict[int, int] = {}
        for time, sign, cqid in sorted(changes):
            count[cqid] = count.get(cqid, 0) + sign
            track = self._to.counter(f"CQ {cqid} untold CQEs", (CQS, cqid, 1))
            self._to.value(track, time, count[cqid])

    # ---- vCPUs -----------------------------------------------------------------

    def _vcpus(self) -> None:
        """Interrupts of the device, and marks of other messages."""
        others: dict[tuple[int, int], list[int]] = {}
        for delivery in self._trace.deliveries:
            for cpu in delivery.cpus:
                if delivery.interrupt is None:
                    others.setdefault((cpu, delivery.at), []).append(delivery.vector)
                else:
                    self._arrived(cpu, delivery, delivery.interrupt)
        for (cpu, at), vectors in others.items():
            # Those of one time in one mark: they would be drawn below each other.
            self._to.mark(f"{len(vectors)} others" if len(vectors) > 1 else
                          f"vector {vectors[0]}",
                          self._to.track(f"vCPU {cpu}", (VCPUS, cpu, 0)), at,
                          {"vectors": sorted(set(vectors))})

    def _arrived(self, cpu: int, delivery: Delivery, interrupt: int) -> None:
        """An interrupt of the device at a vCPU, with the arrow from its vector."""
        sent: Interrupt = self._trace.interrupts[interrupt]
        track = self._to.lane(f"vCPU {cpu}", (VCPUS, cpu, 0), delivery.at, _consumed(delivery))
        self._to.slice(f"CQ {sent.cqid}: {sent.reason}", track, delivery.at, _consumed(delivery),
                       apic_vector=delivery.vector, vector=sent.vector, covered=sent.covered,
                       arrives=(self._messages[interrupt, cpu],))


def write(trace: Trace, stream: BinaryIO) -> None:
    """Write the timeline; OSError where the stream takes no more."""
    _Timeline(trace, _Writer(stream)).write()
