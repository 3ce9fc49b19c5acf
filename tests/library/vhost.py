# SPDX-License-Identifier: GPL-2.0-or-later
"""A VMM and a driver of virtio-blk, for tests of the server on libcint: no machine, no guest."""

from __future__ import annotations

import mmap
import os
import select
import socket
import struct
import time
from collections.abc import Sequence
from pathlib import Path

from testkit.vhost_blk import LIMIT_S, Server

SECTOR = 512
#: Where the memory is for the guest, and for the VMM.
GUEST, VMM, BYTES = 0x10000, 0x7f0000000000, 1 << 20
SIZE = 64
_DESC, _AVAIL, _USED, _INDIRECT, _BUFFERS, _BUFFER = 0, 0x1000, 0x2000, 0x3000, 0x10000, 0x2000
NEXT, WRITE, INDIRECT = 1, 2, 4
READ, WRITE_OUT, FLUSH, GET_ID, DISCARD = 0, 1, 4, 8, 11
OK, IOERR, UNSUPP = 0, 1, 2
EVENT_IDX, VERSION_1, PROTOCOL = 1 << 29, 1 << 32, 1 << 30

GET_FEATURES, SET_FEATURES, SET_OWNER, SET_MEM_TABLE = 1, 2, 3, 5
SET_VRING_NUM, SET_VRING_ADDR, SET_VRING_BASE, GET_VRING_BASE = 8, 9, 10, 11
SET_VRING_KICK, SET_VRING_CALL, GET_PROTOCOL_FEATURES, SET_PROTOCOL_FEATURES = 12, 13, 15, 16
GET_QUEUE_NUM, SET_VRING_ENABLE, GET_CONFIG = 17, 18, 24


class Vmm:
    """A connection: messages of the protocol."""

    def __init__(self, server: Server) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(LIMIT_S)
        until = time.monotonic() + LIMIT_S
        while True:
            try:
                self.socket.connect(str(server.socket))
                return
            except (FileNotFoundError, ConnectionRefusedError):
                assert time.monotonic() < until
                time.sleep(0.01)

    def send(self, request: int, payload: bytes = b"", fds: Sequence[int] = (),
             flags: int = 1) -> None:
        """Send a message."""
        message = struct.pack("<III", request, flags, len(payload)) + payload
        socket.send_fds(self.socket, [message], list(fds))

    def reply(self, request: int) -> bytes:
        """The payload of the answer."""
        header = self._bytes(12)
        got, flags, size = struct.unpack("<III", header)
        assert (got, flags) == (request, 5)
        return self._bytes(size)

    def ask(self, request: int, payload: bytes = b"") -> bytes:
        """Send a message that is answered."""
        self.send(request, payload)
        return self.reply(request)

    def number(self, request: int) -> int:
        """Ask for a number."""
        return int(struct.unpack("<Q", self.ask(request))[0])

    def is_closed(self) -> bool:
        """Whether the other side has hung up; waits for it."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def _bytes(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            part = self.socket.recv(count - len(found))
            assert part, "it has hung up"
            found += part
        return found


class Driver:
    """A queue of the disk and its driver, in memory shared with the server."""

    def __init__(self, server: Server, features: int = EVENT_IDX) -> None:
        self.server, self.vmm = server, Vmm(server)
        self.event_idx = bool(features & EVENT_IDX)
        self._memory = os.memfd_create("guest")
        os.ftruncate(self._memory, BYTES)
        self.ram = mmap.mmap(self._memory, BYTES)
        self.kick_fd = os.eventfd(0, os.EFD_NONBLOCK)
        self.call_fd = os.eventfd(0, os.EFD_NONBLOCK)
        self._avail = self.taken = 0
        self.free = list(range(0, SIZE, 4))
        self._wanted: dict[int, int] = {}
        self.vmm.send(SET_OWNER)
        assert self.vmm.number(GET_FEATURES) & (PROTOCOL | VERSION_1 | EVENT_IDX)
        self.vmm.send(SET_FEATURES, struct.pack("<Q", VERSION_1 | features))
        self.map()
        self.start(0)

    def map(self) -> None:
        """Share the memory."""
        self.vmm.send(SET_MEM_TABLE, struct.pack("<IIQQQQ", 1, 0, GUEST, BYTES, VMM, 0),
                      [self._memory])

    def shorten(self, size: int) -> None:
        """Take the memory away behind the first bytes, here and there."""
        os.ftruncate(self._memory, size)

    def start(self, base: int, wait: bool = True) -> None:
        """Describe the queue and start it, and wait until it has."""
        self.vmm.send(SET_VRING_NUM, struct.pack("<II", 0, SIZE))
        self.vmm.send(SET_VRING_BASE, struct.pack("<II", 0, base))
        self.vmm.send(SET_VRING_ADDR, struct.pack("<IIQQQQ", 0, 0, VMM + _DESC, VMM + _USED,
                                                  VMM + _AVAIL, 0))
        self.vmm.send(SET_VRING_CALL, struct.pack("<Q", 0), [self.call_fd])
        self.vmm.send(SET_VRING_KICK, struct.pack("<Q", 0), [self.kick_fd])
        if wait:
            self.vmm.number(GET_QUEUE_NUM)      # it has come as far

    def stop(self) -> int:
        """Stop the queue; where it is to go on."""
        _, base = struct.unpack("<II", self.vmm.ask(GET_VRING_BASE, struct.pack("<II", 0, 0)))
        return int(base)

    # ---- the ring -----------------------------------------------------------

    def _u16(self, at: int) -> int:
        return int(struct.unpack_from("<H", self.ram, at)[0])

    def put(self, index: int, *fields: int, table: int = _DESC) -> None:
        """Write a descriptor: address, length, flags, and the next one, if there is one."""
        struct.pack_into("<QIHH", self.ram, table + 16 * index, *(*fields, 0)[:4])

    def publish(self, *heads: int) -> None:
        """Make chains available, all at once."""
        for head in heads:
            struct.pack_into("<H", self.ram, _AVAIL + 4 + 2 * (self._avail % SIZE), head)
            self._avail = (self._avail + 1) % 65536
        struct.pack_into("<H", self.ram, _AVAIL + 2, self._avail)

    def feed_itself(self, disk: Path, sectors: int) -> None:
        """Read sectors 0, 1, 2, ... and 0 again, without end and without this program: each has
        the index that makes the request available which reads the next one, and its header.
        """
        disk.write_bytes(b"".join(
            struct.pack("<HHIIQ492x", 0, (sector + 2) % 65536, READ, 0, (sector + 1) % sectors)
            for sector in range(sectors)))
        place = self.buffer(0)
        struct.pack_into("<IIQ", self.ram, place, READ, 0, 0)
        for index, (address, length, flags) in enumerate((
                (place, 16, 0), (_AVAIL, 4, WRITE), (place, 16, WRITE),
                (place + 32, SECTOR - 20, WRITE), (place + 2 * SECTOR, 1, WRITE))):
            more = NEXT if index < 4 else 0
            self.put(index, GUEST + address, length, flags | more, index + 1)
        self.set_avail(1)       # the heads of all chains are 0

    def set_avail(self, index: int) -> None:
        """Claim that so many are available."""
        struct.pack_into("<H", self.ram, _AVAIL + 2, index)

    def buffer(self, head: int) -> int:
        """Where a request's memory is: header, status, data."""
        return _BUFFERS + head // 4 * _BUFFER

    def submit(self, kind: int, sector: int = 0, data: bytes | int = SECTOR,
               indirect: bool = False, times: int = 1) -> int:
        """Publish a request, once or falsely more often; its head. `data` is what is written, or
        how much is read.
        """
        head = self.free.pop(0)
        place, count = self.buffer(head), data if isinstance(data, int) else len(data)
        struct.pack_into("<IIQ", self.ram, place, kind, 0, sector)
        self.ram[place + 16] = 0xff
        if isinstance(data, bytes):
            self.ram[place + 32:place + 32 + count] = data
        into = WRITE if isinstance(data, int) else 0
        parts = [(place, 16, 0), (place + 32, count, into), (place + 16, 1, WRITE)]
        parts = [part for part in parts if part[1]]
        table, first = (_INDIRECT + 64 * (head // 4), 0) if indirect else (_DESC, head)
        for i, (address, length, flags) in enumerate(parts):
            more = NEXT if i + 1 < len(parts) else 0
            self.put(first + i, GUEST + address, length, flags | more, first + i + 1, table=table)
        if indirect:
            self.put(head, GUEST + table, 16 * len(parts), INDIRECT)
        self._wanted[head] = count
        self.publish(*[head] * times)
        return head

    def kick(self) -> None:
        """Ring."""
        os.eventfd_write(self.kick_fd, 1)

    def completed(self) -> int:
        """How many chains were given back, in all (modulo 65536)."""
        return self._u16(_USED + 2)

    def take(self, count: int) -> dict[int, tuple[int, bytes]]:
        """Wait for so many chains: status and data of each, by its head."""
        until, found = time.monotonic() + LIMIT_S, {}
        while (self.completed() - self.taken) % 65536 < count:
            assert time.monotonic() < until, f"{self.completed()} completions"
            time.sleep(0.0005)
        for _ in range(count):
            at = _USED + 4 + 8 * (self.taken % SIZE)
            head = int(struct.unpack_from("<I", self.ram, at)[0])
            place = self.buffer(head)
            found[head] = (self.ram[place + 16],
                           bytes(self.ram[place + 32:place + 32 + self._wanted[head]]))
            self.free.append(head)
            self.taken = (self.taken + 1) % 65536
        return found

    def enable(self) -> None:
        """Want a call for the next completion."""
        struct.pack_into("<H", self.ram, _AVAIL + 4 + 2 * SIZE, self.taken)

    def set_flags(self, flags: int) -> None:
        """The flags of the available ring."""
        struct.pack_into("<H", self.ram, _AVAIL, flags)

    def calls(self) -> int:
        """Calls since this was asked last."""
        try:
            return os.eventfd_read(self.call_fd)
        except BlockingIOError:
            return 0

    def wait_call(self) -> int:
        """The same, at the next one."""
        assert select.select([self.call_fd], [], [], LIMIT_S)[0], "no call"
        return self.calls()

    def do(self, kind: int, sector: int = 0, data: bytes | int = SECTOR,
           indirect: bool = False) -> tuple[int, bytes]:
        """One request by itself: status and data."""
        head = self.submit(kind, sector, data, indirect)
        self.kick()
        return self.take(1)[head]

    def do_pieces(self, kind: int, data: bytes, out: Sequence[int], into: Sequence[int],
                  table: int = _DESC) -> tuple[int, int]:
        """One request of sector 0, its memory cut into pieces of these lengths, described in the
        ring's table or an indirect one: its status, and how much was written.
        """
        before = self.completed()
        request = struct.pack("<IIQ", kind, 0, 0) + data
        self.ram[_BUFFERS:_BUFFERS + len(request)] = request
        at = _BUFFERS
        pieces = [(length, 0) for length in out] + [(length, WRITE) for length in into]
        for index, (length, flags) in enumerate(pieces):
            more = NEXT if index + 1 < len(pieces) else 0
            self.put(index, GUEST + at, length, flags | more, index + 1, table=table)
            at += length
        if table != _DESC:
            self.put(0, GUEST + table, 16 * len(pieces), INDIRECT)
        self.ram[at - 1] = 0xff
        self.publish(0)
        self.kick()
        until = time.monotonic() + LIMIT_S
        while self.completed() == before:
            assert time.monotonic() < until, "no completion"
            time.sleep(0.0005)
        place = _USED + 4 + 8 * (before % SIZE)
        return self.ram[at - 1], int(struct.unpack_from("<I", self.ram, place + 4)[0])

    def close(self) -> None:
        """Hang up."""
        self.vmm.socket.close()
        self.ram.close()
        for fd in (self._memory, self.kick_fd, self.call_fd):
            os.close(fd)
