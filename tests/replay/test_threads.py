# SPDX-License-Identifier: GPL-2.0-or-later
"""cint-replay by several threads: the same bytes as by one, whatever is printed or wrong."""

from __future__ import annotations

import os
import random
import subprocess
import tty
from collections.abc import Sequence
from pathlib import Path

import pytest

from cint import paths
from cint.build import engine

POLICIES = ("default", "static:static-time=20000,static-thr=4", "adaptive", "vic", "cint",
            "cint:ooo=off", "auto")
#: More than the blocks of events between the threads hold, so that who reads has to wait.
EVENTS = 20_000
THREADS = (2, 3, 7, 64)


def _commands(seed: int) -> list[tuple[int, str, int, str]]:
    """Time, what happens, the command, more words; batches of eight with hints, one after another.
    """
    draw = random.Random(seed)
    found: list[tuple[int, str, int, str]] = []
    at = cid = 0
    while len(found) < EVENTS:
        batch = [(cid + i) % 65536 for i in range(8)]
        cid += 8
        found += [(at, "submit", one, draw.choice(("", " urgent", " barrier"))) for one in batch]
        found.append((at, "doorbell", 0, ""))
        for one in draw.sample(batch, 8):
            at += draw.choice((0, 40, 900, 30_000))
            found.append((at, "complete", one, ""))
    return found


def timeline(seed: int = 1) -> str:
    """The load in the timeline format."""
    return "".join(f"{kind} {at} 1{'' if kind == 'doorbell' else f' {cid}'}{more}\n"
                   for at, kind, cid, more in _commands(seed))


def log(seed: int = 1) -> str:
    """The same as QEMU's log, of two queues."""
    hints = {"": 0, " urgent": 1, " barrier": 2}
    tails, lines, p = [0, 0, 0], [], "pci_nvme_cint_"
    for number, (at, kind, cid, more) in enumerate(_commands(seed)):
        queue = 1 + cid // 8 % 2
        if kind == "submit":
            lines.append(f"{p}submit cqid {queue} sqid {queue} cid {cid} hints {hints[more]:#x} "
                         f"sources {int(bool(more)):#x} inflight 1 at {at}\n")
        elif kind == "complete":
            tails[queue] = (tails[queue] + 1) % 1024
            lines.append(f"{p}post cqid {queue} sqid {queue} cid {cid} hints 0x0 "
                         f"status {0x2 * (number % 97 == 0):#x} tail {tails[queue]} at {at}\n")
    return "".join(lines)


def replay(words: Sequence[str], threads: int, text: str,
           program: Path = paths.REPLAY) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    arms = [word for policy in POLICIES for word in ("--policy", policy)]
    done = subprocess.run([program, "--threads", str(threads), *arms, *words], input=text,
                          text=True, capture_output=True, timeout=300, check=False)
    return done.returncode, done.stdout, done.stderr


#: What is printed, and of which input.
WAYS = {
    "table": ((), timeline), "document": (("--json",), timeline),
    "optimum": (("--optimal", "2us"), timeline), "late": (("--reap", "6us", "--json"), timeline),
    "interrupts": (("--irqs", "on"), timeline), "log": (("--from-trace", "--json"), log),
    "a queue": (("--from-trace", "--cq", "2"), log), "quiet": (("--hints", "off"), timeline),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_same_bytes_by_any_number_of_threads(way: str) -> None:
    words, make = WAYS[way]
    text = make()
    one = replay(words, 1, text)
    assert (one[0], one[2]) == (0, "") and len(one[1]) > 500
    for threads in THREADS:
        assert replay(words, threads, text) == one, threads


def test_one_policy_prints_as_it_reads() -> None:
    """Interrupts of one policy are printed by the thread that has it."""
    def alone(threads: int) -> bytes:
        return subprocess.run([paths.REPLAY, "--threads", str(threads), "--policy", "cint"],
                              input=timeline().encode(), capture_output=True, timeout=60,
                              check=True).stdout
    assert alone(1) == alone(4) and alone(1).count(b"irq ") > 1000


def _spoilt(*mistakes: tuple[int, str]) -> str:
    lines = timeline().splitlines(keepends=True)
    for number, text in mistakes:
        lines[number - 1] = text + "\n"
    return "".join(lines)


#: A record with mistakes, and the line that is named. Some are the reader's to find, some each
#: policy's, some only one policy's; some are in the first block, some much later.
MISTAKES = {
    "nonsense": (_spoilt((12_000, "nonsense")), 12_000),
    "an early command, late nonsense": (_spoilt((40, "complete 5 1 60000"),
                                                (12_000, "nonsense")), 40),
    "late command, later nonsense": (_spoilt((11_990, "submit 1 1 1"), (11_991, "nonsense")),
                                     11_990),
    "nonsense, then a command": (_spoilt((500, "nonsense"), (501, "submit 1 1 1")), 500),
    "a policy that cannot be set": (_spoilt((9000, "set 999999999 max-hold=0")), 9000),
    "the last line": (timeline() + "complete 1", timeline().count("\n") + 1),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_the_first_mistake_is_named(what: str) -> None:
    text, line = MISTAKES[what]
    one = replay((), 1, text)
    assert (one[0], one[1]) == (2, "") and f"standard input:{line}: " in one[2]
    for threads in THREADS:
        assert replay((), threads, text) == one, threads


@pytest.mark.parametrize("what", MISTAKES)
def test_what_stands_before_a_mistake_is_printed(what: str) -> None:
    """Of one policy, whose interrupts are printed: those until there, and no deadline after it."""
    def alone(threads: int) -> tuple[int, str, str]:
        done = subprocess.run([paths.REPLAY, "--threads", str(threads), "--policy",
                               "adaptive:delta=1s,thr=9"], input=MISTAKES[what][0], text=True,
                              capture_output=True, timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr

    one = alone(1)
    assert one[0] == 2
    assert alone(2) == one


def test_a_queue_that_fills_up_under_one_policy() -> None:
    """It is not the first policy that finds it, and it stands before another mistake."""
    text = timeline()
    words = ("--reap", "900us", "--cq-size", "24")
    one = replay(words, 1, text)
    assert one[0] == 2 and "holds no more than 23" in one[2]
    for threads in THREADS:
        assert replay(words, threads, text + "nonsense\n") == one, threads


@pytest.mark.parametrize("threads", [1, 2, 64])
def test_a_file_that_cannot_be_read_to_its_end(threads: int) -> None:
    """As a terminal that has gone: what came from it is replayed."""
    reader, writer = os.openpty()
    tty.setraw(writer)
    os.write(writer, "".join(f"submit {at} 1 1\ncomplete {at} 1 1\n"
                             for at in range(50)).encode())
    os.close(writer)
    done = subprocess.run([paths.REPLAY, "--threads", str(threads), "--policy", "default"],
                          stdin=reader, capture_output=True, timeout=60, check=False)
    os.close(reader)
    assert done.returncode == 2 and done.stdout.count(b"irq ") == 50
    assert done.stderr == b"cint-replay: error: standard input: Input/output error\n"


@pytest.mark.parametrize("threads", [0, 1025, "x"])
def test_how_many_threads(threads: object) -> None:
    done = subprocess.run([paths.REPLAY, "--threads", str(threads)], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 2
    assert f"--threads {threads}: expected a number from 1 to 1024" in done.stderr


def test_thread_sanitizer_has_nothing_to_say(tmp_path: Path) -> None:
    """The program built with it, on a record without mistakes and on those with some."""
    program = tmp_path / "cint-replay"
    subprocess.run([*engine.replay_command(), "-O1", "-g", "-fsanitize=thread", "-o", program],
                   check=True, timeout=300)
    records = [timeline(), *(text for text, _ in MISTAKES.values())]
    for threads in (2, 7):
        for text in records:
            want = replay((), 1, text)
            assert replay((), threads, text, program) == want
