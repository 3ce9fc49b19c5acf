# SPDX-License-Identifier: GPL-2.0-or-later
"""A controller goes, and comes back, while a process drives it: QEMU's device_del and device_add.

Real time, for the host and the guest have to answer each other.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from serving import Guest, serving

from cint import paths
from cint.device import properties
from cint.guest import vm
from cint.measure import comparison

PORT, DEVICE = "root-port", "nvme1"
PATH = f"/machine/peripheral/{DEVICE}"
LIMIT_S = 120
#: Sets $A to the address of the controller below the port, when it is there.
FIND = "A=$(cat $(dirname $(grep -l second /sys/class/nvme/*/serial))/address)\n"
BIND = f"until grep -q second /sys/class/nvme/*/serial; do sleep 0.05; done\n{FIND}cintio bind $A\n"
DRIVE = """\
(cintio check $A --mode {mode} --depth 16 --min 4 --count 1000000000; echo $? > /tmp/status) \
> /tmp/out 2>&1 &
echo $A
"""
GONE = """\
until [ -s /tmp/status ] && [ ! -e /sys/bus/pci/devices/{address} ]; do sleep 0.05; done
cat /tmp/status /tmp/out; rm /tmp/status
"""


def device(backend: str) -> str:
    """The controller below the port, as -device and device_add take it."""
    props = properties.device_properties(properties.parse_policy("pointer"),
                                         properties.parse_media("optane"), 1, virtual=False)
    return ",".join(["nvme", f"id={DEVICE}", "serial=second", f"drive={backend}", f"bus={PORT}",
                     *(f"{name}={value}" for name, value in props)])


def machine(backend: vm.Backend, second: Path) -> vm.Machine:
    """A guest with a second controller, which can be unplugged."""
    with second.open("wb") as file:
        file.truncate(64 << 20)
    accel = comparison.choose_accel(False)
    return vm.Machine(
        virtual=False, accel=accel.name, cpu=accel.cpu, vcpus=2, iommu=True, backend=backend,
        initramfs=paths.USERSPACE_INITRAMFS,
        extra=("-blockdev", f"driver=file,node-name=second,filename={second}",
               "-device", f"pcie-root-port,id={PORT},chassis=1",
               "-device", device("second")))


def posted(guest: Guest) -> int:
    """Completions that the controller has posted to its I/O queues."""
    stats: dict[str, Any] = guest.vm.qmp.get("cint-stats", PATH)
    return sum(queue["cqes"] for queue in stats["queues"] if queue["cqid"])


def wait_for(what: str, holds: Any) -> None:
    """Until something holds, which nobody tells of."""
    end = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def is_plugged(guest: Guest) -> bool:
    """Whether QEMU has the controller."""
    found = guest.vm.qmp.execute("qom-list", path="/machine/peripheral")
    return any(one["name"] == DEVICE for one in found)


def plug(guest: Guest) -> str:
    """The controller comes back; or what keeps it, as its disk does until the old one is freed."""
    said = guest.vm.qmp.execute("human-monitor-command",
                                **{"command-line": f"device_add {device('second')}"})
    assert isinstance(said, str) and (not said or "Permission conflict" in said), said
    return said


def test_unplugged_under_load(disk: vm.Backend, tmp_path: Path, logs: Path) -> None:
    """Whoever polls and whoever sleeps lets go at once, and the next one has a sound device."""
    with serving(machine(disk, tmp_path / "second.img"), logs, 3 * vm.BOOT_LIMIT_S) as guest:
        for mode in ("poll", "interrupt", "coalesced"):
            address = guest.shell(BIND + DRIVE.format(mode=mode)).strip()
            wait_for("the process drives it", lambda: posted(guest) > 1000)
            guest.vm.qmp.execute("device_del", id=DEVICE)
            status, _, text = guest.shell(GONE.format(address=address)).partition("\n")
            assert status == "1", text
            assert f"the kernel asks for {address}" in text, text
            wait_for("QEMU unplugs it", lambda: not is_plugged(guest))
            wait_for("QEMU lets go of its disk", lambda: plug(guest) == "")
        guest.shell(f"{BIND}cintio check $A --mode coalesced --min 4 --count 200")
