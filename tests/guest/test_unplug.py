# SPDX-License-Identifier: GPL-2.0-or-later
"""A controller goes, and comes back, while a process drives it or a verb of the tool looks at it.

By QEMU's device_del and device_add. Real time, for host and guest have to answer each other.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
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


def device(backend: str, *, virtual: bool = False) -> str:
    """The controller below the port, as -device and device_add take it."""
    props = properties.device_properties(properties.parse_policy("pointer"),
                                         properties.parse_media("optane"), 1, virtual=virtual)
    return ",".join(["nvme", f"id={DEVICE}", "serial=second", f"drive={backend}", f"bus={PORT}",
                     *(f"{name}={value}" for name, value in props)])


def machine(backend: vm.Backend, second: Path, *, virtual: bool = False) -> vm.Machine:
    """A guest with a second controller, which can be unplugged; in virtual time with one CPU."""
    with second.open("wb") as file:
        file.truncate(64 << 20)
    accel = comparison.choose_accel(virtual)
    return vm.Machine(
        virtual=virtual, accel=accel.name, cpu=accel.cpu, vcpus=1 if virtual else 2, iommu=True,
        backend=backend, initramfs=paths.USERSPACE_INITRAMFS,
        extra=("-blockdev", f"driver=file,node-name=second,filename={second}",
               "-device", f"pcie-root-port,id={PORT},chassis=1",
               "-device", device("second", virtual=virtual)))


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


def plug(guest: Guest, *, virtual: bool = False) -> str:
    """The controller comes back; or what keeps it, as its disk does until the old one is freed."""
    line = f"device_add {device('second', virtual=virtual)}"
    said = guest.vm.qmp.execute("human-monitor-command", **{"command-line": line})
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


#: Reads of the second controller by the kernel's driver, until it goes.
READ = """\
until grep -q second /sys/class/nvme/*/serial; do sleep 0.05; done
D=/dev/$(basename $(dirname $(grep -l second /sys/class/nvme/*/serial)))n1
until [ -b $D ]; do sleep 0.05; done
fio --name=x --filename=$D --rw=randread --bs=4k --ioengine=libaio --iodepth=8 --direct=1 \
    --time_based --runtime=600 > /dev/null 2>&1 &
echo
"""


def looking(*words: str | Path) -> subprocess.Popen[str]:
    """A verb of the tool, beside the VM."""
    return subprocess.Popen([sys.executable, "-P", "-m", "cint", *words], text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE,
                            env={**os.environ, "PYTHONPATH": str(paths.ROOT / "tools")})


def test_whoever_looks_at_it_is_told(disk: vm.Backend, tmp_path: Path, logs: Path) -> None:
    """`./cint top` ends with the device's name, `./cint trace` with what was recorded of it."""
    plain = replace(machine(disk, tmp_path / "second.img"), iommu=False)
    log = tmp_path / "unplugged.log"
    # Not tmp_path: the path of a unix socket must be short.
    with tempfile.TemporaryDirectory(prefix="cint-") as short:
        sockets = [Path(short) / name for name in ("top", "trace")]
        words = [w for s in sockets for w in ("-qmp", f"unix:{s},server=on,wait=off")]
        wide = replace(plain, extra=(*plain.extra, *words))
        with serving(wide, logs, 3 * vm.BOOT_LIMIT_S) as guest:
            guest.shell(READ)
            wait_for("fio reads from it", lambda: posted(guest) > 1000)
            top = looking("top", "--device", PATH, sockets[0])
            trace = looking("trace", "--qmp", sockets[1], "--seconds", "10", log)
            wait_for("it is recorded", lambda: (log.exists() and log.stat().st_size > 1 << 16)
                     or trace.poll() is not None)
            assert trace.poll() is None, trace.communicate()
            guest.vm.qmp.execute("device_del", id=DEVICE)
            wait_for("QEMU unplugs it", lambda: not is_plugged(guest))
            shown, said = top.communicate(timeout=LIMIT_S)
            assert top.returncode == 1 and f"{PATH} was unplugged" in said, said
            assert "pointer" in shown
            shown, said = trace.communicate(timeout=LIMIT_S)
            assert trace.returncode == 0, said
            assert f"{PATH} was unplugged while it was recorded" in said, said
            # of the CPU that fio is on
            assert re.search(r"^CQ [12]: \d+ CQEs", shown, re.MULTILINE), shown
            said = looking("top", "--once", sockets[0]).communicate(timeout=LIMIT_S)[1]
            assert "no NVMe device of this VM has cint on" in said, said
