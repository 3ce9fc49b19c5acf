# SPDX-License-Identifier: GPL-2.0-or-later
"""cint-replay --lives: what its records hold, whatever a log has in it, and its memory.

tools/tests/test_trace.py has what the records mean.
"""

import random
import resource
import struct
import subprocess
from collections.abc import Iterable

import pytest
from testkit import trace_load

from cint import paths
from cint.errors import CintError
from cint.timeline import events

LOGS = sorted((paths.TOOLS / "tests/golden").glob("trace-*.log"))
P = events.PREFIX


def lives(log: bytes, *words: str, limit_mb: int | None = None) -> bytes:
    """The records of a log; within so much address space."""
    def limit() -> None:
        if limit_mb is not None:
            resource.setrlimit(resource.RLIMIT_AS, (limit_mb << 20,) * 2)

    done = subprocess.run([paths.REPLAY, "--lives", *words], input=log, capture_output=True,
                          timeout=60, check=False, preexec_fn=limit)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def trace(log: bytes, *words: str) -> events.Trace:
    return events.parse(lives(log, *words))


# --- records ------------------------------------------------------------------------------

def test_the_stream_is_as_documented() -> None:
    """docs/replay.md: a head, then blocks of records of a kind, in little endian."""
    log = f"{P}post cqid 1 sqid 2 cid 3 hints 0x1 status 0x0 tail 5 at 258\n".encode()
    none, no_interrupt = -2**63, -1
    command = struct.pack("<7q3HBB", 0, none, none, 258, none, none, no_interrupt, 1, 2, 3, 1, 0)
    assert lives(log) == struct.pack("<8sII", b"CINTLIFE", 1, 0) + \
        struct.pack("<II", 1, 1) + command + struct.pack("<II", 6, 1) + \
        struct.pack("<Qqq", 1, 258, 258)


def test_times_are_divided_and_rounded_to_even() -> None:
    posts = [f"{P}post cqid 1 sqid 1 cid {i} hints 0x0 status 0x0 tail {i + 1} at {at}\n"
             for i, at in enumerate((5, 7, 9, 11, 4611686018427387903))]
    log = "".join(posts).encode()
    for scale in (1.0, 2.0, 3.0, 0.7):
        assert [one.posted for one in trace(log, "--cpu-scale", str(scale)).commands] == \
            [round(at / scale) if scale != 1 else at for at in (5, 7, 9, 11, 4611686018427387903)]
    assert trace(log, "--cpu-scale", "3", "--guest-time").commands[0].posted == 5


def test_what_is_of_many_queues_keeps_its_order() -> None:
    """Records are written when nothing more will be known of a command; they are numbered."""
    lines = [f"{P}submit cqid {q} sqid {q} cid {i} hints 0x0 sources 0x0 inflight 1 at {i}\n"
             for i in range(300) for q in (9, 1)]
    lines += [f"{P}post cqid {q} sqid {q} cid {i} hints 0x0 status 0x0 tail {i + 1} at {1000 + i}\n"
              for i in reversed(range(300)) for q in (1, 9)]
    found = trace("".join(lines).encode())
    assert [(one.cqid, one.cid) for one in found.commands] == \
        [(q, i) for i in range(300) for q in (9, 1)]


# --- hostile logs -------------------------------------------------------------------------

def damaged(source: bytes, rng: random.Random) -> bytes:
    """A log with bytes that are cut out, put in, or moved."""
    log = bytearray(source)
    for _ in range(rng.randrange(1, 40)):
        at = rng.randrange(len(log))
        what = rng.randrange(4)
        if what == 0:
            del log[at:at + rng.randrange(120)]
        elif what == 1:
            log[at:at] = rng.randbytes(rng.randrange(8))
        elif what == 2:
            log[at:at] = rng.choice((b"\0", b"\r", b"\n", P.encode(), b"99999999999999999999",
                                     b" -1 ", b"0x", b"\xff", b"oldest "))
        else:
            begin = rng.randrange(len(log))
            log[at:at] = log[begin:begin + 200]
        log = log or bytearray(b"\n")
    return bytes(log[:rng.randrange(len(log) + 1)])


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_log_is_read_to_its_end(seed: int) -> None:
    rng = random.Random(seed)
    found = trace(damaged(rng.choice(LOGS).read_bytes(), rng))
    assert len({*map(id, found.commands)}) == len(list(found.rows(events.COMMAND)))
    for command in found.commands:
        assert command.interrupt is None or command.interrupt < len(found.interrupts)


@pytest.mark.parametrize("log", [
    b"", b"\n", b"\0", b"\r", b"\r\r\n\r", bytes(range(256)) * 40, P.encode(), P.encode() * 3,
    f"{P}irq".encode(), f"{P}irq ".encode(), f"{P} cqid 1".encode(), f"{P}post\0cqid 1".encode(),
    b"apic_deliver_irq", b"pci_nvme_irq_msix", b"apic_deliver_irq dest", b"x" * (2 << 20),
    P.encode() * 200_000, P.encode() + b"post " + b"a b " * (1 << 19),
    b"\0" * (2 << 20) + b"\n" + P.encode(),
    b"pci_nvme_irq_msix raising MSI-X IRQ vector 4294967295",
    b"apic_deliver_irq dest 4294967295 dest_mode 9 delivery_mode 1 vector 4294967295"])
def test_what_is_no_log(log: bytes) -> None:
    assert trace(log).commands == []


def test_a_long_line_hides_no_other() -> None:
    head = f"{P}head cqid 1 head 1 at 5\n".encode()
    assert trace(head + b"x" * (2 << 20) + b"\n" + head).events == 2


def test_a_stream_that_ends_early_is_refused() -> None:
    whole = lives(LOGS[0].read_bytes())
    for length in (0, 5, 16, 20, 40, len(whole) - 1):
        with pytest.raises(CintError, match="cint-replay"):
            events.parse(whole[:length])


# --- memory -------------------------------------------------------------------------------

def without(lines: Iterable[str], *names: str) -> bytes:
    return "".join(line for line in lines if not line.startswith(names)).encode()


@pytest.mark.parametrize("names", [
    ("none",), (f"{P}irq", f"{P}head"), (f"{P}head",), (events.MSIX,), (events.APIC, f"{P}irq"),
    (f"{P}post",)], ids=" ".join)
def test_memory_is_what_is_in_flight(names: tuple[str, ...]) -> None:
    """Also of logs without what ends a command's life: a queue has 65536 entries at the most."""
    assert lives(without(trace_load.log(600_000), *names), limit_mb=64)
