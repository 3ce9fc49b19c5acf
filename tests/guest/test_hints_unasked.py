# SPDX-License-Identifier: GPL-2.0-or-later
"""A controller that has not said that it takes hints gets none, whatever programs ask for.

The device does not count them then, so the driver's own trace event tells what it sends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import log_root
from marks import DEFAULT, Marks, hint_machine, hintio, names, set_policy
from serving import Guest, serving
from test_hints import DIRECT

from cint.guest import vm

EVENT = "/sys/kernel/tracing/events/nvme/nvme_setup_cmd"
#: Hints, in the flags of a command.
HINTS = 0x0c
#: Nobody takes an interrupt for what is polled, so it has no hints.
POLLED = tuple((name, f"--api=uring --batch=8 --count=8 --stride=64k --iopoll {more}", 0, Marks(8))
               for name, more in (("iopoll", ""), ("iopoll-urgent", "--hint=urgent")))
_FLAGS = re.compile(r"\{ flags:\s*(\d+)[^}]*\} hitcount:\s*(\d+)")


@pytest.fixture(scope="module", params=["cint=on", "cint=off"])
def guest(request: pytest.FixtureRequest) -> Iterator[Guest]:
    """A guest with and one without the capability."""
    machine = hint_machine("nvme.poll_queues=1")
    if request.param == "cint=off":
        machine = replace(machine, properties=())
    with serving(machine, log_root() / f"hints-{request.param}") as running:
        running.shell(f"{names(1)} echo 4 > /proc/sys/vm/nr_hugepages;"
                      "mount -t tracefs none /sys/kernel/tracing 2>/dev/null;"
                      f"echo 'hist:keys=flags if qid != 0' > {EVENT}/trigger")
        yield running


def flags_sent(guest: Guest, script: str) -> dict[int, int]:
    """How many I/O commands had which flags while a script ran."""
    def read() -> dict[int, int]:
        return {int(flags): int(count)
                for flags, count in _FLAGS.findall(guest.shell(f"cat {EVENT}/hist"))}

    before = read()
    guest.shell(script)
    return {flags: grown for flags, count in read().items()
            if (grown := count - before.get(flags, 0))}


def test_flags_of_commands(guest: Guest, request: pytest.FixtureRequest) -> None:
    """No command has a hint without the capability; all that should have have it with it."""
    takes_hints = "cint=on" in request.node.name
    set_policy(guest, DEFAULT)
    for name, options, _, wanted in (*DIRECT, *POLLED):
        sent = flags_sent(guest, hintio(options))
        marked = sum(count for flags, count in sent.items() if flags & HINTS)
        assert sum(sent.values()) == wanted.total, name
        assert marked == (wanted.urgent + wanted.barrier if takes_hints else 0), (name, sent)


def test_only_who_asked(disk: vm.Backend, tmp_path: Path) -> None:
    """Of two controllers one takes hints: the other gets none."""
    image = tmp_path / "second.img"
    with image.open("wb") as file:
        file.truncate(64 << 20)
    machine = replace(hint_machine(), backend=disk, extra=(
        "-blockdev", f"driver=file,node-name=second,filename={image}",
        "-device", "nvme,id=nvme1,serial=second,drive=second"))
    with serving(machine, log_root() / "hints-one-of-two") as guest:
        guest.shell("mount -t tracefs none /sys/kernel/tracing 2>/dev/null;"
                    f"echo 'hist:keys=flags if qid != 0' > {EVENT}/trigger")
        second = guest.shell("dirname $(grep -l second /sys/class/nvme/*/serial)").strip()[-1]
        set_policy(guest, DEFAULT)
        for number, takes_hints in ((1 - int(second), True), (int(second), False)):
            sent = flags_sent(guest, hintio("--api=pread --count=4", f"/dev/nvme{number}n1"))
            assert sum(sent.values()) == 4
            assert sum(n for flags, n in sent.items() if flags & HINTS) == 4 * takes_hints
