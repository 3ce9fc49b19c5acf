# SPDX-License-Identifier: GPL-2.0-or-later
"""A timeline as its reader sees it: Perfetto's packets, read by the classes of its own package.

What is done here is what the format asks of a reader: names are numbers of a sequence, events are
sorted by time and else stay as they are in the file, and an end is that of the slice which was
begun last on its track.
"""

from __future__ import annotations

import io
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
    Trace,
    TracePacket,
    TrackDescriptor,
    TrackEvent,
)

from cint.timeline import events, perfetto


@dataclass
class Slice:
    """One slice; `end` is None while it is open. Arrows by their numbers."""

    name: str
    group: str
    track: str
    uuid: int
    begin: int
    args: dict[str, Any]
    leaves: list[int]
    arrives: list[int]
    #: When it is begun, among all events.
    place: int
    #: How many slices are around it.
    depth: int
    end: int | None = None


@dataclass
class Drawn:
    """All of a timeline."""

    slices: list[Slice] = field(default_factory=list)
    #: Name, track, time and what else is said.
    marks: list[tuple[str, str, int, dict[str, Any]]] = field(default_factory=list)
    #: Track, time and value.
    counts: list[tuple[str, int, int]] = field(default_factory=list)
    tracks: dict[int, TrackDescriptor] = field(default_factory=dict)
    #: The time that the viewer shows first.
    shown: dict[str, int] = field(default_factory=dict)

    def names(self, group: str) -> list[str]:
        """What a group's tracks are called, in their order; those of one name are one."""
        [parent] = [one.uuid for one in self.tracks.values() if one.name == group]
        ranked = sorted((one.sibling_order_rank, one.uuid, one.name)
                        for one in self.tracks.values() if one.parent_uuid == parent)
        return list(dict.fromkeys(name for _, _, name in ranked))

    def lanes(self, name: str) -> int:
        """How many tracks are of a name."""
        return sum(one.name == name for one in self.tracks.values())

    def spans(self, *groups: str) -> Counter[tuple[str, str, int, int | None]]:
        """Track, name, begin and end of the slices of some groups, or of all."""
        return Counter((one.track, one.name, one.begin, one.end) for one in self.slices
                       if one.group in groups or not groups)


def trace_of(lines: Iterable[str]) -> events.Trace:
    """What a log of these lines tells."""
    with tempfile.NamedTemporaryFile("w", suffix=".log", encoding="utf-8", newline="") as log:
        log.write("\n".join(line.removesuffix("\n") for line in lines))
        log.flush()
        return events.load(Path(log.name))


def packets(found: events.Trace) -> list[TracePacket]:
    """The packets that a trace is written as."""
    stream = io.BytesIO()
    perfetto.write(found, stream)
    whole = Trace()
    whole.ParseFromString(stream.getvalue())
    return list(whole.packet)


class _Reader:
    """Reads packets one by one; AssertionError where the format's rules are not kept."""

    def __init__(self) -> None:
        self.drawn = Drawn()
        self._names: dict[int, str] = {}
        self._keys: dict[int, str] = {}
        self._events: list[TracePacket] = []
        #: Names as they were at each event.
        self._said: list[tuple[str, dict[str, Any]]] = []
        self._open: dict[int, list[Slice]] = {}

    def packet(self, packet: TracePacket) -> None:
        """In the file's order."""
        assert packet.trusted_packet_sequence_id == 1
        if packet.sequence_flags & TracePacket.SEQ_INCREMENTAL_STATE_CLEARED:
            self._names, self._keys = {}, {}
        else:
            assert packet.sequence_flags & TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        self._names |= {one.iid: one.name for one in packet.interned_data.event_names}
        self._keys |= {one.iid: one.name for one in packet.interned_data.debug_annotation_names}
        if packet.HasField("track_descriptor"):
            self._track(packet.track_descriptor)
        elif packet.HasField("track_event"):
            self._events.append(packet)
            self._said.append(self._what(packet.track_event))
        elif packet.service_event.all_data_sources_started:
            self.drawn.shown["begin"] = packet.timestamp
        elif packet.service_event.tracing_disabled:
            self.drawn.shown["end"] = packet.timestamp

    def _track(self, track: TrackDescriptor) -> None:
        assert track.uuid and track.uuid not in self.drawn.tracks and track.name
        if track.parent_uuid:
            assert self.drawn.tracks[track.parent_uuid].child_ordering == TrackDescriptor.EXPLICIT
        self.drawn.tracks[track.uuid] = track

    def _what(self, event: TrackEvent) -> tuple[str, dict[str, Any]]:
        if event.type not in (TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_INSTANT):
            return "", {}
        values = {self._keys[one.name_iid]: [each.int_value for each in one.array_values] or
                  getattr(one, str(one.WhichOneof("value"))) for one in event.debug_annotations}
        return self._names[event.name_iid], values

    def finish(self) -> Drawn:
        """What the viewer draws."""
        order = sorted(range(len(self._events)), key=lambda i: self._events[i].timestamp)
        for place, index in enumerate(order):
            packet, (name, args) = self._events[index], self._said[index]
            event, track = packet.track_event, self.drawn.tracks[packet.track_event.track_uuid]
            if event.type == TrackEvent.TYPE_COUNTER:
                assert track.HasField("counter")
                self.drawn.counts.append((track.name, packet.timestamp, event.counter_value))
            elif event.type == TrackEvent.TYPE_INSTANT:
                self.drawn.marks.append((name, track.name, packet.timestamp, args))
            elif event.type == TrackEvent.TYPE_SLICE_END:
                self._open[track.uuid].pop().end = packet.timestamp
            else:
                around = self._open.setdefault(track.uuid, [])
                group = self.drawn.tracks[track.parent_uuid].name
                one = Slice(name, group, track.name, track.uuid, packet.timestamp, args,
                            list(event.flow_ids), list(event.terminating_flow_ids), place,
                            len(around))
                around.append(one)
                self.drawn.slices.append(one)
        assert not any(self._open.values()), "a slice has no end"
        return self.drawn


def read(given: Iterable[TracePacket]) -> Drawn:
    """What is drawn of these packets."""
    reader = _Reader()
    for packet in given:
        reader.packet(packet)
    return reader.finish()


def check_arrows(drawn: Drawn) -> int:
    """Each arrow leaves one slice and reaches one later, which is not begun before; how many."""
    leaving = {number: one for one in drawn.slices for number in one.leaves}
    reached = {number: one for one in drawn.slices for number in one.arrives}
    assert len(leaving) == sum(len(one.leaves) for one in drawn.slices)
    assert len(reached) == sum(len(one.arrives) for one in drawn.slices)
    assert set(leaving) == set(reached) and 0 not in leaving
    for number, one in leaving.items():
        assert one.place < reached[number].place
    return len(leaving)


def check_commands(drawn: Drawn, trace: events.Trace) -> None:
    """A slice for each command and for each phase that takes time, as long as it was."""
    wanted: Counter[tuple[str, str, int, int | None]] = Counter()
    for command, phases in events.lives(trace):
        if phases:
            place = f"SQ {command.sqid} in flight"
            wanted[place, f"cid {command.cid}", phases[0][1], phases[-1][2]] += 1
            wanted.update((place, name, begin, end) for name, begin, end in phases
                          if begin < end or end == phases[-1][2])
    found = Counter((one.track, one.name, one.begin, one.end) for one in drawn.slices
                    if one.track.endswith("in flight"))
    assert found == wanted


def check(drawn: Drawn, trace: events.Trace) -> int:
    """Hold a timeline to what its trace says; how many arrows it has."""
    check_commands(drawn, trace)
    vectors = [one for one in drawn.slices if one.group == perfetto.VECTORS]
    assert sorted((one.track, one.name, one.begin) for one in vectors) == \
        sorted((f"vector {one.vector}", one.reason, one.at) for one in trace.interrupts)
    assert all(one.end is not None and one.begin <= one.end for one in drawn.slices)
    return check_arrows(drawn)


def timeline(found: events.Trace) -> Drawn:
    """What is drawn of a trace."""
    return read(packets(found))
