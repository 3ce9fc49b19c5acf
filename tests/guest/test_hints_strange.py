# SPDX-License-Identifier: GPL-2.0-or-later
"""The hints module where it is used otherwise than it should be, and with disks that are rarer.

It is loaded twice, while its controller is reset, and where the kernel does not describe its types,
or not all of them; below it are a namespace with protection information and one that two
controllers share. What it counts is what the device counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import release
from conftest import log_root
from marks import BDEV, Marks, counters, hint_machine, hintio, sent, since
from serving import Guest, serving
from test_hints_module import ALLOWED, DIRECT, PARAMETERS, by_kind, load, probes

from cint import steps
from cint.build import hints as module
from cint.guest import hints, kinds

SIZE = 64 << 20
#: QEMU's names of the two controllers of one subsystem.
PATHS = ("/machine/peripheral/one", "/machine/peripheral/other")
PROTECTED, SHARED = "/tmp/ns2", "/tmp/shared"
#: Controllers, and disks of them, are found in any order.
NAMES = f"""\
cd /sys/class/nvme
until c=$(grep -l cint */serial) && [ $(ls -d $(dirname $c)/nvme*n* | wc -l) = 2 ]; do
    sleep 0.05
done
for f in $(dirname $c)/nvme*n*/nsid; do
    ln -s /dev/$(basename $(dirname $f)) /tmp/ns$(cat $f)
done
until s=$(grep -l shared /sys/class/nvme-subsystem/*/subsysnqn); do sleep 0.05; done
until d=$(ls -d $(dirname $s)/nvme*n*) && [ $(ls -d $(dirname $s)/nvme*/serial | wc -l) = 2 ]; do
    sleep 0.05
done
ln -s /dev/$(basename $d) {SHARED}
until [ -b {SHARED} ] && [ -b {PROTECTED} ]; do sleep 0.05; done
"""
BTF, COPY = "/sys/kernel/btf", "/tmp/btf"
_ABSENT = {"nvme_setup_cmd": "absent", "nvme_complete_rq": "absent"}
#: What becomes of the kernel's descriptions of its types, and of the tracepoints then. A header has
#: the length of the types at byte 12.
UNDESCRIBED: Mapping[str, tuple[str, dict[str, str]]] = {
    "none": ("rm *", _ABSENT | {"block_unplug": "absent"}),
    "empty": (": > vmlinux", _ABSENT | {"block_unplug": "absent"}),
    "cut": ("head -c 100000 vmlinux > v; mv v vmlinux", _ABSENT | {"block_unplug": "absent"}),
    "ends within a type": (r"printf '\003\000\001\000' | dd of=vmlinux bs=1 seek=12 conv=notrunc",
                           _ABSENT | {"block_unplug": "absent"}),
    "of kinds that are not known": (r"head -c 4096 /dev/zero | tr '\0' '\377' |"
                                    " dd of=vmlinux bs=4096 seek=16 conv=notrunc",
                                    _ABSENT | {"block_unplug": "absent"}),
    "not the driver's": ("rm nvme_core", _ABSENT | {"block_unplug": "idle"}),
}
RELOADS = 8
RESETS = ("until [ -e /tmp/enough ]; do for c in /sys/class/nvme/*; do"
          " echo 1 > $c/reset_controller || true; done; sleep 0.05; done")
MOMENTS = 40
#: Says how often a controller's state was looked at between its first answer, by which it starts,
#: and the switch, where nothing was marked then; and how many switches came before it was live.
SWITCHED = f"""\
c=$(dirname $(grep -l cint /sys/class/nvme/*/serial))
early=0
for looks in $(seq {MOMENTS}); do
    echo 0 > {PARAMETERS}/on
    rm -f /tmp/started
    {{ echo 1 > $c/reset_controller; : > /tmp/started; }} &
    until read state < $c/state; [ $state = connecting ] || [ -e /tmp/started ]; do :; done
    n=0
    until [ $((n += 1)) = $looks ]; do read state < $c/state; done
    [ $state = live ] || early=$((early + 1))
    echo 1 > {PARAMETERS}/on
    wait
    {hintio("--api=pread --count=4")} > /dev/null
    grep -q ' urgent 4 ' {hints.DEBUGFS}/counters || echo $looks
done
echo early $early
"""
#: Of each operation that the driver has, with what is marked and what is not.
ALL = "; ".join((
    *(hintio(options) for options, _ in DIRECT.values()),
    f"blkdiscard -o 8388608 -l 1048576 {BDEV}",
    f"dd if=/dev/zero of={BDEV} bs=64k count=16 conv=fsync 2>/dev/null"))


def drives(place: Path) -> tuple[str, ...]:
    """QEMU's options: a namespace with protection information, and one of two controllers."""
    files = {name: place / name for name in ("protected", "shared")}
    for file in files.values():
        with file.open("wb") as image:
            image.truncate(SIZE)
    nodes = [("-blockdev", f"driver=file,node-name={name},filename={file}")
             for name, file in files.items()]
    names = [Path(path).name for path in PATHS]
    devices = ("nvme-ns,bus=nvme0,drive=protected,nsid=2,ms=8,pi=1",
               "nvme-subsys,id=both,nqn=shared",
               *(f"nvme,id={name},serial=shared,subsys=both,cint=on,cint.policy=default"
                 for name in names),
               f"nvme-ns,bus={names[0]},drive=shared,nsid=1,shared=on")
    return tuple(word for pair in (*nodes, *(("-device", one) for one in devices))
                 for word in pair)


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """The distribution's kernel with these disks and no module yet."""
    with steps.build_lock():
        release.build_module()
    machine = kinds.dress(hint_machine(extra=drives(tmp_path_factory.mktemp("disks"))), "distro",
                          hints.MODULE)
    with serving(machine, log_root() / "hints-strange", kinds.BOOT_LIMIT_S, ALLOWED) as running:
        running.shell(f"set -e; {NAMES} mkdir {COPY}")
        yield running


@pytest.fixture
def marking(guest: Guest) -> Iterator[Guest]:
    """The same with the module."""
    load(guest)
    yield guest
    guest.shell(f"rmmod {module.NAME}")


@pytest.mark.parametrize("name", UNDESCRIBED)
def test_without_descriptions(guest: Guest, name: str) -> None:
    """Where a description is missing or damaged it loads, says so, and nothing is marked."""
    change, found = UNDESCRIBED[name]
    guest.shell(f"set -e; cp {BTF}/* {COPY}; cd {COPY}; {{ {change}; }} 2>/dev/null;"
                f"mount --bind {COPY} {BTF}; dmesg -c > /dev/null; insmod {module.GUEST_FILE}")
    try:
        assert probes(guest) == found
        assert sent(guest, hintio("--api=pread --count=4")) == Marks(4)
        said = guest.shell("dmesg")
        for tracepoint, state in found.items():
            assert said.count(f"tracepoint {tracepoint} is not") == (state == "absent")
    finally:
        guest.shell(f"umount {BTF}; rm -f {COPY}/*; rmmod {module.NAME}")


def test_loaded_twice(marking: Guest) -> None:
    """The kernel refuses, and marks go on."""
    reply = marking.try_shell(f"insmod {module.GUEST_FILE}")
    assert reply["exit"] != 0
    assert "exists" in str(reply["stderr"]) + str(reply["stdout"])
    assert sent(marking, hintio("--api=pread --count=4")) == Marks(urgent=4)


def test_protection_information(marking: Guest) -> None:
    """What the kernel adds to such a namespace's I/O does not hide who waits."""
    for options in ("--op=write --api=pread --count=16", "--api=pread --count=16"):
        assert sent(marking, hintio(options, PROTECTED)) == Marks(urgent=16)
    assert sent(marking, hintio(DIRECT["aio"][0], PROTECTED)) == DIRECT["aio"][1]


def urgent(guest: Guest, path: str) -> int:
    """Urgent commands of a controller."""
    stats = guest.vm.qmp.get("cint-stats", path)
    return sum(queue["cmds-urgent"] for queue in stats["queues"] if queue["cqid"])


def test_two_controllers_of_one_namespace(marking: Guest) -> None:
    """Whichever path a command takes."""
    before = [urgent(marking, path) for path in PATHS]
    marking.shell(hintio("--api=pread --count=16", SHARED))
    policy = "/sys/class/nvme-subsystem/*/iopolicy"
    marking.shell(f"for f in {policy}; do echo round-robin > $f; done;"
                  f"{hintio('--api=pread --count=16', SHARED)}")
    grown = [urgent(marking, path) - was for path, was in zip(PATHS, before, strict=True)]
    assert sum(grown) == 32
    assert min(grown) == 8


@pytest.mark.parametrize("standard", [0, 1])
def test_it_counts_what_the_device_counts(marking: Guest, standard: int) -> None:
    """Also of operations that can be told nothing, and in the standard's words."""
    marking.shell(f"echo {standard} > {PARAMETERS}/standard")
    before, its_before = counters(marking), by_kind(marking)
    marking.shell(ALL)
    found, its = since(marking, before), by_kind(marking)
    grown = [sum(row[n] - its_before.get(key, (0, 0, 0))[n] for key, row in its.items())
             for n in range(3)]
    assert Marks(grown[2], grown[0], grown[1]) == found
    assert found.unmarked > 0


def test_comes_while_controllers_are_reset(guest: Guest) -> None:
    """Loaded and removed meanwhile; when it is over each controller has said what it takes."""
    guest.shell("rm -f /tmp/enough")
    guest.start("resets", RESETS)
    for _ in range(RELOADS):
        guest.shell(f"insmod {module.GUEST_FILE}; cat {hints.DEBUGFS}/* > /dev/null;"
                    f"echo 0 > {PARAMETERS}/on; echo 1 > {PARAMETERS}/on; rmmod {module.NAME}")
    guest.shell(f"insmod {module.GUEST_FILE}; touch /tmp/enough")
    guest.end("resets")
    guest.shell("until ! grep -vq live /sys/class/nvme/*/state; do sleep 0.05; done")
    assert sent(guest, hintio("--api=pread --count=4")) == Marks(urgent=4)
    before = sum(urgent(guest, path) for path in PATHS)
    guest.shell(hintio("--api=pread --count=4", SHARED))
    assert sum(urgent(guest, path) for path in PATHS) == before + 4
    guest.shell(f"rmmod {module.NAME}")


def test_switched_on_at_any_moment_of_a_reset(marking: Guest) -> None:
    """Also when the controller has said to the driver what it takes, and cannot be asked yet."""
    *unmarked, word, early = marking.shell(SWITCHED).split()
    assert (unmarked, word) == ([], "early")
    assert int(early) > 0
