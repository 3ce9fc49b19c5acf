# SPDX-License-Identifier: GPL-2.0-or-later
"""A controller that has not said that it takes hints gets none, whatever programs ask for.

The device does not count them then, so the driver's own trace event tells what it sends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from conftest import log_root
from marks import DEFAULT, Marks, hint_machine, hintio, names, set_policy
from serving import Guest, serving
from test_hints import DIRECT

from cint.guest import vm

EVENT = "/sys/kernel/tracing/events/nvme/nvme_setup_cmd"
#: Hints, in the flags of a command.
URGENT, BARRIER = 0x04, 0x08
HINTS = URGENT | BARRIER
#: A device whose halves are on two controllers.
MEET = 32 << 20
ON_BOTH = (f"0 {MEET // 512} linear /dev/nvme0n1 0",
           f"{MEET // 512} {MEET // 512} linear /dev/nvme1n1 0")
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


@pytest.fixture(scope="module")
def one_of_two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """Two controllers, /tmp/takes and /tmp/refuses hints, and a device that lies on both."""
    images = [tmp_path_factory.mktemp("disks") / name for name in ("takes", "refuses")]
    for image in images:
        with image.open("wb") as file:
            file.truncate(64 << 20)
    machine = hint_machine("dm_mod.waitfor=/dev/nvme0n1,/dev/nvme1n1",
                           f'"dm-mod.create=both,,,rw,{",".join(ON_BOTH)}"')
    machine = replace(machine, backend=vm.Backend(images[0]), extra=(
        "-blockdev", f"driver=file,node-name=second,filename={images[1]}",
        "-device", "nvme,id=nvme1,serial=second,drive=second"))
    with serving(machine, log_root() / "hints-one-of-two") as guest:
        guest.shell("mount -t tracefs none /sys/kernel/tracing 2>/dev/null;"
                    f"echo 'hist:keys=flags if qid != 0' > {EVENT}/trigger")
        second = guest.shell("dirname $(grep -l second /sys/class/nvme/*/serial)").strip()[-1]
        guest.shell(f"ln -s /dev/nvme{1 - int(second)}n1 /tmp/takes;"
                    f"ln -s /dev/nvme{second}n1 /tmp/refuses")
        set_policy(guest, DEFAULT)
        yield guest


@pytest.mark.parametrize(("disk", "marked"), [("takes", 4), ("refuses", 0)])
def test_only_who_asked(one_of_two: Guest, disk: str, marked: int) -> None:
    """Of two controllers one takes hints: the other gets none."""
    sent = flags_sent(one_of_two, hintio("--api=pread --count=4", f"/tmp/{disk}"))
    assert sent == {URGENT * bool(marked): 4}


#: Reads of the device on both, of which the last one lies across, and the flags of all commands.
ACROSS_BOTH = {
    "urgent": (f"--api=pread --size=16k --offset={MEET - 8192}", {URGENT: 1, 0: 1}),
    "barrier": (f"--api=aio --batch=2 --count=2 --size=16k --stride=64k"
                f" --offset={MEET - 8192 - 65536}", {BARRIER: 1, 0: 2}),
}


@pytest.mark.parametrize("kind", ACROSS_BOTH)
def test_device_on_both(one_of_two: Guest, kind: str) -> None:
    """What is cut for both is marked for the one, and comes to the other as it always did."""
    options, wanted = ACROSS_BOTH[kind]
    assert flags_sent(one_of_two, hintio(options, "/dev/dm-0")) == wanted
