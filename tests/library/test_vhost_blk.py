# SPDX-License-Identifier: GPL-2.0-or-later
"""The disk on libcint: data, calls by policy, and drivers and VMMs that make no sense."""

from __future__ import annotations

import os
import struct
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import vhost
from testkit.vhost_blk import LIMIT_S, PROGRAM, Server, serving
from vhost import Driver, Vmm

from cint import paths

LIBRARY = paths.ENGINE_BUILD / "subprojects/libcint/libcint.a"
BLOCK = 4096
#: Longer than any test: what is told in time was told for another reason.
NEVER_NS = 1_000_000_000
LONG = f"static:static-time={NEVER_NS},max-hold=0,drain=off"


def test_data_and_statuses(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        driver = Driver(server)
        data = os.urandom(BLOCK)
        assert driver.do(vhost.WRITE_OUT, 8, data)[0] == vhost.OK
        assert driver.do(vhost.READ, 8, BLOCK) == (vhost.OK, data)
        assert driver.do(vhost.READ, 8, BLOCK, indirect=True) == (vhost.OK, data)
        assert driver.do(vhost.FLUSH, 0, 0)[0] == vhost.OK
        assert driver.do(vhost.GET_ID, 0, 20) == (vhost.OK, b"libcint".ljust(20, b"\0"))
        assert driver.do(vhost.DISCARD, 0, b"0" * 16)[0] == vhost.UNSUPP
        # the last sector, and the first that is not there
        assert driver.do(vhost.READ, 2047, vhost.SECTOR)[0] == vhost.OK
        assert driver.do(vhost.READ, 2048, vhost.SECTOR)[0] == vhost.IOERR
        assert driver.do(vhost.WRITE_OUT, 1 << 60, data)[0] == vhost.IOERR
        assert driver.do(vhost.READ, 0, 100)[0] == vhost.IOERR
        assert server.disk.read_bytes()[8 * vhost.SECTOR:][:BLOCK] == data


#: Lengths of what is read and of what is written, header and status included, and how much the
#: disk says that it wrote: virtio leaves it to the driver where one descriptor ends.
PIECES: dict[str, tuple[int, bytes, tuple[int, ...], tuple[int, ...], int]] = {
    "a read": (vhost.READ, b"", (16,), (512, 1), 513),
    "a read in one": (vhost.READ, b"", (16,), (513,), 513),
    "a read in many": (vhost.READ, b"", (1, 0, 3, 12), (100, 0, 412, 1), 513),
    "a write in one": (vhost.WRITE_OUT, b"z" * 512, (528,), (1,), 1),
    "a write that has room": (vhost.WRITE_OUT, b"z" * 512, (16, 512), (30, 1), 1),
    "a flush": (vhost.FLUSH, b"", (7, 9), (1,), 1),
    "a name": (vhost.GET_ID, b"", (16,), (20, 1), 21),
    "a name in two": (vhost.GET_ID, b"", (16,), (10, 10, 1), 21),
    "a name that has room": (vhost.GET_ID, b"", (16,), (7, 43), 21),
}


@pytest.mark.parametrize("what", PIECES)
def test_requests_in_any_pieces(what: str, tmp_path: Path) -> None:
    kind, data, out, into, written = PIECES[what]
    with serving(tmp_path, "--policy", "default") as server:
        driver = Driver(server)
        for table in (0, 0x3000, 0x3001):
            found = driver.do_pieces(kind, data, out, into, table)
            assert found == (vhost.OK, written), hex(table)
        if kind == vhost.WRITE_OUT:
            assert server.disk.read_bytes()[:512] == data


#: Policy, requests by each kick, calls after each, and the reasons in the end. The driver takes
#: all and wants calls again after each call.
CALLS: dict[str, tuple[str, tuple[int, ...], tuple[int, ...], dict[str, int]]] = {
    "each": ("default", (1, 1, 4), (1, 1, 1), {"each": 6}),
    "a pass": ("default:each-cqe=off", (4, 1), (1, 1), {"each": 2}),
    "threshold": (f"{LONG},static-thr=4", (1, 1, 1, 1, 4), (0, 0, 0, 1, 1), {"thr": 2}),
    "who waits": ("cint:infer=all,drain=off,delta=1000000000", (1, 8, 1), (1, 1, 1),
                  {"urgent": 2, "barrier": 1}),
    "drain": (f"static:static-time={NEVER_NS},static-thr=99,drain=on", (1, 8), (1, 1),
              {"drain": 2}),
}


@pytest.mark.parametrize("what", CALLS)
def test_calls_by_policy(what: str, tmp_path: Path) -> None:
    """A request is done in the pass that fetches it, so that counts do not depend on time."""
    policy, kicks, calls, reasons = CALLS[what]
    with serving(tmp_path, "--policy", policy) as server:
        driver = Driver(server)
        for count, wanted in zip(kicks, calls, strict=True):
            for _ in range(count):
                driver.submit(vhost.READ)
            driver.kick()
            server.stats()
            assert driver.calls() == wanted
            if wanted:
                driver.take((driver.completed() - driver.taken) % 65536)
                driver.enable()
        found = server.stats()
        assert found["reasons"] == reasons
        assert (found["completions"], found["kicks"]) == (sum(kicks), len(kicks))
        assert found["calls"] == sum(calls)


def test_a_time_to_aggregate_ends(tmp_path: Path) -> None:
    with serving(tmp_path, "--policy", "static:static-time=2000000,static-thr=64") as server:
        driver = Driver(server)
        driver.submit(vhost.READ)
        driver.kick()
        assert driver.wait_call() == 1
        found = server.stats()
        assert (found["reasons"], found["prompt"]) == ({"time": 1}, 0)


def test_requests_take_as_long_as_asked(tmp_path: Path) -> None:
    with serving(tmp_path, "--policy", "cint:infer=all", "--latency-us", "20000") as server:
        driver = Driver(server)
        driver.submit(vhost.READ)
        driver.kick()
        assert server.stats()["completions"] == 0
        driver.wait_call()
        found = server.stats()
        assert (found["completions"], found["prompt"], found["calls"]) == (1, 1, 1)


def test_who_works_is_not_called(tmp_path: Path) -> None:
    """With an event index: from the call until the driver says that it wants another."""
    with serving(tmp_path, "--policy", "default") as server:
        driver = Driver(server)
        for wanted in (1, 0, 0):
            driver.submit(vhost.READ)
            driver.kick()
            server.stats()
            assert driver.calls() == wanted
        driver.take(3)
        driver.enable()
        driver.submit(vhost.READ)
        driver.kick()
        server.stats()
        assert driver.calls() == 1
        found = server.stats()
        assert (found["interrupts"], found["calls"]) == (4, 2)


def test_without_an_event_index(tmp_path: Path) -> None:
    with serving(tmp_path, "--policy", "default") as server:
        driver = Driver(server, features=0)
        for flags, wanted in ((0, 1), (1, 0), (0, 1)):
            driver.set_flags(flags)
            driver.do(vhost.READ)
            server.stats()
            assert driver.calls() == wanted


@pytest.mark.parametrize("features", [vhost.EVENT_IDX, 0], ids=["says", "does not say"])
def test_a_queue_that_goes_round(features: int, tmp_path: Path) -> None:
    """Indices wrap at 65536; a driver that never says how far it is does not look like a full
    queue: what it sends again it has taken."""
    with serving(tmp_path, "--policy", f"{LONG},static-thr=8") as server:
        driver = Driver(server, features)
        for _ in range(70_000 // 16):
            for _ in range(16):
                driver.submit(vhost.READ)
            driver.kick()
            driver.take(16)
            driver.enable()
        found = server.stats()
        assert found["completions"] == 70_000 // 16 * 16
        assert found["reasons"] == {"thr": found["completions"] // 8}


def test_a_policy_that_changes_strands_nobody(tmp_path: Path) -> None:
    with serving(tmp_path, "--policy", f"{LONG},static-thr=64") as server:
        driver = Driver(server)
        driver.do(vhost.READ)
        assert driver.calls() == 0
        assert server.ask("policy default")["reasons"] == {"reconfigure": 1}
        assert driver.calls() == 1
        for line, says in (("policy cnit", "policy=cnit: expected one of default, static, "),
                           ("policy cint:thr=many", "thr=many: expected a number from 0 to 65535"),
                           ("police", "expected stats or policy POLICY"),
                           ('policy "\\\t\x7f\xe4', "policy=??????: expected one of "),
                           (f"police {'x' * 600}", "expected stats or policy POLICY"),
                           (f"policy {'x' * 600}", "expected stats or policy POLICY")):
            assert says in server.ask(line)["error"]
        assert server.stats()["reasons"] == {"reconfigure": 1}


def test_half_a_line_stops_nobody(tmp_path: Path) -> None:
    with serving(tmp_path, "--policy", "default") as server:
        server.write("sta")
        driver = Driver(server)
        assert driver.do(vhost.READ)[0] == vhost.OK
        assert server.ask("ts")["completions"] == 1


def test_a_queue_that_stops_tells_what_it_held(tmp_path: Path) -> None:
    """As when the machine is stopped: it goes on where it was, and nothing is lost."""
    with serving(tmp_path, "--policy", f"{LONG},static-thr=64") as server:
        driver = Driver(server)
        driver.do(vhost.READ)
        driver.submit(vhost.READ)
        driver.kick()
        server.stats()
        assert driver.calls() == 0
        base = driver.stop()
        assert (base, driver.calls()) == (2, 1)
        driver.take(1)
        driver.enable()
        driver.start(base)
        server.ask("policy default")
        assert driver.do(vhost.READ)[0] == vhost.OK
        assert driver.wait_call() == 1


def test_memory_that_changes_meanwhile(tmp_path: Path) -> None:
    """What is in flight is done before the old memory goes."""
    with serving(tmp_path, "--policy", "default", "--latency-us", "1000000") as server:
        driver = Driver(server)
        driver.submit(vhost.READ)
        driver.kick()
        server.stats()
        driver.map()
        driver.vmm.number(vhost.GET_QUEUE_NUM)
        assert driver.completed() == 1
        driver.take(1)
        assert driver.do(vhost.READ)[0] == vhost.OK


def _outside(driver: Driver) -> None:
    driver.put(0, vhost.GUEST + vhost.BYTES - 8, 16, 0)
    driver.publish(0)


def _wraps(driver: Driver) -> None:
    driver.put(0, (1 << 64) - 8, 16, 0)
    driver.publish(0)


def _loop(driver: Driver) -> None:
    driver.put(0, vhost.GUEST, 16, vhost.NEXT, 1)
    driver.put(1, vhost.GUEST, 16, vhost.NEXT, 0)
    driver.publish(0)


def _no_such_head(driver: Driver) -> None:
    driver.publish(vhost.SIZE)


def _leaves_the_table(driver: Driver) -> None:
    driver.put(0, vhost.GUEST, 16, vhost.NEXT, 9999)
    driver.publish(0)


def _indirect_in_indirect(driver: Driver) -> None:
    driver.put(0, vhost.GUEST + 0x3000, 16, vhost.INDIRECT)
    driver.put(0, vhost.GUEST + 0x3000, 16, vhost.INDIRECT, table=0x3000)
    driver.publish(0)


def _odd_table(driver: Driver) -> None:
    driver.put(0, vhost.GUEST + 0x3000, 17, vhost.INDIRECT)
    driver.publish(0)


def _reads_after_writes(driver: Driver) -> None:
    driver.put(0, vhost.GUEST, 16, vhost.NEXT | vhost.WRITE, 1)
    driver.put(1, vhost.GUEST, 16, 0)
    driver.publish(0)


def _jump(driver: Driver) -> None:
    driver.set_avail(1000)


def _twice(driver: Driver) -> None:
    driver.submit(vhost.READ, times=2)


BROKEN: tuple[Callable[[Driver], None], ...] = (
    _outside, _wraps, _loop, _no_such_head, _leaves_the_table, _indirect_in_indirect, _odd_table,
    _reads_after_writes, _jump, _twice)


def _check_works(server: Server) -> None:
    driver = Driver(server)
    assert driver.do(vhost.READ)[0] == vhost.OK
    driver.close()


@pytest.mark.parametrize("spoil", BROKEN, ids=lambda one: one.__name__)
def test_a_ring_that_makes_no_sense(spoil: Callable[[Driver], None], tmp_path: Path) -> None:
    """It is silent from there on, the server is not, and the next driver has a disk."""
    # for a head to be there twice, its request has to be in flight, and is done a little later
    served, latency_us = (1, 1000) if spoil is _twice else (0, 0)
    with serving(tmp_path, "--policy", "default", "--latency-us", str(latency_us)) as server:
        driver = Driver(server)
        driver.free.remove(0)
        spoil(driver)
        driver.kick()
        until = time.monotonic() + LIMIT_S
        while server.stats()["completions"] < served and time.monotonic() < until:
            time.sleep(0.001)
        driver.submit(vhost.READ)
        driver.kick()
        server.stats()
        time.sleep(10 * latency_us / 1e6)
        assert server.stats()["completions"] == served
        driver.close()
        _check_works(server)


@pytest.mark.parametrize(("header", "data"), [((), ()), ((16, 0), ()), ((8, 0), (1, vhost.WRITE)),
                                              ((0, 0), (0, vhost.WRITE))])
def test_chains_that_are_no_requests(header: tuple[int, ...], data: tuple[int, ...],
                                     tmp_path: Path) -> None:
    """Without a status there is nowhere to say so; with one it is an error."""
    with serving(tmp_path, "--policy", "default") as server:
        driver = Driver(server)
        driver.ram[64] = 0xff
        driver.put(0, vhost.GUEST, header[0] if header else 0, vhost.NEXT if data else 0, 1)
        if data:
            driver.put(1, vhost.GUEST + 64, *data)
        driver.publish(0)
        driver.kick()
        server.stats()
        assert driver.completed() == 1
        assert driver.ram[64] == (vhost.IOERR if data and data[0] else 0xff)
        assert driver.calls() == 1
        driver.close()
        _check_works(server)


#: Messages after which there is nothing to talk about: request, payload, flags.
NONSENSE = {
    "version": (vhost.GET_FEATURES, b"", 2), "unknown": (99, b"", 1),
    "too long": (vhost.SET_FEATURES, b"\0" * 1000, 1),
    "a feature": (vhost.SET_FEATURES, struct.pack("<Q", 1 << 60), 1),
    "size 0": (vhost.SET_VRING_NUM, struct.pack("<II", 0, 0), 1),
    "size 48": (vhost.SET_VRING_NUM, struct.pack("<II", 0, 48), 1),
    "size 2048": (vhost.SET_VRING_NUM, struct.pack("<II", 0, 2048), 1),
    "queue 1": (vhost.SET_VRING_NUM, struct.pack("<II", 1, 64), 1),
    "queue 200": (vhost.SET_VRING_KICK, struct.pack("<Q", 200), 1),
    "no files": (vhost.SET_MEM_TABLE, struct.pack("<IIQQQQ", 1, 0, 0, 4096, 0, 0), 1),
    "many regions": (vhost.SET_MEM_TABLE, struct.pack("<II", 1000, 0), 1),
    "no kick": (vhost.SET_VRING_KICK, struct.pack("<Q", 0x100), 1),
    "config": (vhost.GET_CONFIG, struct.pack("<III", 250, 100, 0) + b"\0" * 100, 1),
}


@pytest.mark.parametrize("what", NONSENSE)
def test_messages_that_make_no_sense(what: str, tmp_path: Path) -> None:
    request, payload, flags = NONSENSE[what]
    with serving(tmp_path) as server:
        vmm = Vmm(server)
        vmm.send(request, payload, flags=flags)
        assert vmm.is_closed()
        _check_works(server)


@pytest.mark.parametrize("sent", [4, 12, 16])
def test_half_a_message_stops_nobody(sent: int, tmp_path: Path) -> None:
    """A part of its header, all of that, and a part of what follows."""
    message = struct.pack("<IIIQ", vhost.SET_FEATURES, 1, 8, vhost.VERSION_1)
    with serving(tmp_path, "--policy", "default") as server:
        vmm = Vmm(server)
        vmm.socket.sendall(message[:sent])
        for _ in range(3):      # by then it has accepted, and looked for a message
            assert server.stats()["completions"] == 0
        vmm.socket.sendall(message[sent:])
        assert vmm.number(vhost.GET_QUEUE_NUM) == 1
        vmm.socket.sendall(message[:sent])
        vmm.socket.close()
        _check_works(server)


def test_who_takes_no_answers_stops_nobody(tmp_path: Path) -> None:
    """The connection is closed when no more of them can be sent."""
    with serving(tmp_path, "--policy", "default") as server:
        vmm = Vmm(server)
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            while True:
                vmm.send(vhost.GET_FEATURES)
        assert server.stats()["completions"] == 0
        vmm.socket.close()
        _check_works(server)


def test_who_asks_for_it_is_told_what_failed(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        vmm = Vmm(server)
        assert vmm.number(vhost.GET_PROTOCOL_FEATURES) == 1 << 0 | 1 << 3 | 1 << 9
        vmm.send(vhost.SET_PROTOCOL_FEATURES, struct.pack("<Q", 1 << 3))
        for size, failed in ((64, 0), (65, 1)):
            vmm.send(vhost.SET_VRING_NUM, struct.pack("<II", 0, size), flags=1 | 8)
            assert struct.unpack("<Q", vmm.reply(vhost.SET_VRING_NUM)) == (failed,)


def test_what_the_disk_says_of_itself(tmp_path: Path) -> None:
    with serving(tmp_path, "--queues", "3") as server:
        vmm = Vmm(server)
        assert vmm.number(vhost.GET_QUEUE_NUM) == 3
        payload = struct.pack("<III", 0, 60, 0) + bytes(60)
        config = vmm.ask(vhost.GET_CONFIG, payload)[12:]
        capacity, _, seg_max = struct.unpack_from("<QII", config)
        assert (capacity, seg_max) == (2048, 126)
        assert struct.unpack_from("<H", config, 34) == (3,)


def test_a_driver_that_never_ends(tmp_path: Path) -> None:
    """Each read publishes the next one: its data are the available ring's index, and the header.
    Others have their turn all the same.
    """
    sectors = 65536
    with serving(tmp_path, "--policy", "default", size=sectors * vhost.SECTOR) as server:
        driver = Driver(server)
        driver.feed_itself(server.disk, sectors)
        driver.kick()
        first = server.stats()["completions"]
        until = time.monotonic() + LIMIT_S
        while server.stats()["completions"] == first:
            assert time.monotonic() < until, "it has ended"
        assert driver.stop() >= 0
        driver.close()
        _check_works(server)


def _pipe(driver: Driver) -> int:
    """Of which nobody reads the other end."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def _full(driver: Driver) -> int:
    """Who writes to it waits until somebody has read."""
    file = os.eventfd(0)
    os.eventfd_write(file, 2**64 - 2)
    return file


@pytest.mark.parametrize("make", [_pipe, _full], ids=["nobody reads", "full"])
def test_a_call_that_cannot_be_written(make: Callable[[Driver], int], tmp_path: Path) -> None:
    """It is not there for the driver, and the server goes on."""
    with serving(tmp_path, "--policy", "default") as server:
        driver = Driver(server)
        file = make(driver)
        driver.vmm.send(vhost.SET_VRING_CALL, struct.pack("<Q", 0), [file])
        assert driver.vmm.number(vhost.GET_QUEUE_NUM) == 1
        assert driver.do(vhost.READ)[0] == vhost.OK
        found = server.stats()
        assert (found["interrupts"], found["calls"]) == (1, 0)
        os.close(file)
        driver.close()
        _check_works(server)


def test_kicks_that_have_ended(tmp_path: Path) -> None:
    """The file is ready for good, with nothing in it; the server sleeps."""
    with serving(tmp_path, "--policy", "default") as server:
        driver = Driver(server)
        reader, writer = os.pipe()
        os.close(writer)
        driver.vmm.send(vhost.SET_VRING_KICK, struct.pack("<Q", 0), [reader])
        assert driver.vmm.number(vhost.GET_QUEUE_NUM) == 1
        until = time.monotonic() + LIMIT_S
        while not server.sleeps():
            assert time.monotonic() < until, "it does not sleep"
        os.close(reader)
        driver.close()
        _check_works(server)


@pytest.mark.parametrize("left", [0, 0x1000, 0x10000], ids=hex)
def test_memory_whose_file_becomes_shorter(left: int, tmp_path: Path) -> None:
    """Nothing, the descriptors, or both rings are left: that VMM is gone, and the disk as it was.
    """
    with serving(tmp_path, "--policy", "default") as server:
        driver = Driver(server)
        assert driver.do(vhost.WRITE_OUT, 0, b"x" * BLOCK)[0] == vhost.OK
        server.stats()      # it sleeps, and does not look by itself
        driver.submit(vhost.WRITE_OUT, 0, b"y" * BLOCK)
        driver.shorten(left)
        driver.kick()
        assert driver.vmm.is_closed()
        driver.close()
        assert server.disk.read_bytes()[:BLOCK] == b"x" * BLOCK
        _check_works(server)


def test_memory_whose_file_was_shorter(tmp_path: Path) -> None:
    with serving(tmp_path, "--policy", "default") as server:
        driver = Driver(server)
        driver.stop()
        driver.shorten(0)
        driver.map()
        driver.start(0, wait=False)
        assert driver.vmm.is_closed()
        driver.close()
        _check_works(server)


def test_a_vmm_that_goes_with_requests_in_flight(tmp_path: Path) -> None:
    with serving(tmp_path, "--latency-us", "1000000") as server:
        driver = Driver(server)
        for _ in range(8):
            driver.submit(vhost.READ)
        driver.kick()
        server.stats()
        driver.close()
        _check_works(server)
        assert server.stats()["completions"] == 1


def test_sanitizers_have_nothing_to_say(tmp_path: Path) -> None:
    """The server built with them, under what guests and VMMs write."""
    program, sources = tmp_path / "vhost-blk", paths.LIBCINT / "examples/vhost-blk"
    subprocess.run(["cc", "-std=gnu11", "-g", "-D_GNU_SOURCE", "-fsanitize=address,undefined",
                    "-fno-sanitize-recover=all", f"-I{paths.LIBCINT}", "-o", program,
                    *sorted(sources.glob("*.c")), LIBRARY], check=True, timeout=300)
    with serving(tmp_path, "--policy", "default", program=program) as server:
        for spoil in BROKEN:
            driver = Driver(server)
            spoil(driver)
            driver.kick()
            server.stats()
            driver.close()
        driver = Driver(server)
        for kind, data, out, into, written in PIECES.values():
            for table in (0, 0x3000, 0x3001):
                assert driver.do_pieces(kind, data, out, into, table) == (vhost.OK, written)
        driver.close()
        for request, payload, flags in NONSENSE.values():
            vmm = Vmm(server)
            vmm.send(request, payload, flags=flags)
            assert vmm.is_closed()
        _check_works(server)


OPTIONS: dict[tuple[str, ...], str] = {
    ("--policy", "cnit"): "--policy policy=cnit: expected one of default, static, adaptive",
    ("--policy", "vic:max-hold=0"): "max-hold=0 does not go with policy=vic",
    ("--latency-us", "1s"): "--latency-us 1s: expected a number from 0 to 1000000",
    ("--queues", "9"): "--queues 9: expected a number from 1 to 8",
}


@pytest.mark.parametrize("words", OPTIONS, ids=" ".join)
def test_options(words: tuple[str, ...]) -> None:
    done = subprocess.run([PROGRAM, *words, "s", "f"], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 2
    assert OPTIONS[words] in done.stderr


def test_files(tmp_path: Path) -> None:
    done = subprocess.run([PROGRAM, tmp_path / "s", tmp_path / "none"], capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 1 and "none: No such file" in done.stderr
    (tmp_path / "small").write_bytes(b"x")
    done = subprocess.run([PROGRAM, tmp_path / "s", tmp_path / "small"], text=True,
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == 1 and "a disk has 512 bytes at least" in done.stderr


def test_a_file_in_the_sockets_place_stays(tmp_path: Path) -> None:
    """A disk, say, by a slip; a socket that was left there is replaced."""
    disk, other = tmp_path / "disk", tmp_path / "other"
    disk.write_bytes(bytes(vhost.SECTOR))
    other.write_bytes(b"precious")
    done = subprocess.run([PROGRAM, other, disk], text=True, capture_output=True, timeout=60,
                          check=False)
    assert done.returncode == 1 and "other: Address already in use" in done.stderr
    assert other.read_bytes() == b"precious"
    for _ in range(2):
        with serving(tmp_path) as server:
            _check_works(server)
