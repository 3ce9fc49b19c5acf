# SPDX-License-Identifier: GPL-2.0-or-later
"""A controller whose queues IOThreads serve, under a guest that checks its data.

It is reset under I/O, unplugged under I/O and plugged again. Real time with two CPUs, for threads
of QEMU and CPUs of the guest have to run beside each other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from serving import Guest, serving
from test_change import BLOCK, MIB, SIZE, VERIFY, check_settled
from test_unplug import DEVICE, PATH, PORT, is_plugged, posted, wait_for

from cint.guest import vm
from cint.guest.qmp import QmpError
from cint.measure import comparison, fiojson

DISK_BYTES = 64 * MIB
RESETS = 5
THREADS = ("io0", "io1")
TWO = {"iothread-vq-mapping": [{"iothread": name} for name in THREADS]}
#: Who serves the queues, and how they send: names and types are those of virtio-blk.
SERVED: dict[str, dict[str, Any]] = {
    "one": {"iothread": THREADS[0]},
    "two": TWO,
    "irqfd": TWO | {"irqfd": "on"},
}
POLICIES = ("default", "adaptive", "cint")
#: Sets $C to the controller when its disk is there.
FIND = """\
until C=$(basename $(dirname $(grep -l second /sys/class/nvme/*/serial))) 2>/dev/null &&
    [ -b /dev/${C}n1 ]; do sleep 0.05; done
"""
#: From either CPU.
JOBS = """\
[deep]
ioengine=libaio
iodepth=32
iodepth_batch_submit=8
cpus_allowed=0
[waits]
ioengine=pvsync2
offset={size}
cpus_allowed=1
"""
READ = """\
taskset -c {cpu} fio --name=x --filename=/dev/{name}n1 --rw=randread --bs=4k --direct=1 \\
    --ioengine=libaio --iodepth=8 --time_based --runtime=600 &
echo $! > /tmp/{cpu}.pid; wait
"""
#: An earlier reset may be under way.
RESET = """\
for i in $(seq {resets}); do
    sleep 0.2
    echo 1 > /sys/class/nvme/{name}/reset_controller && echo reset || :
done
"""


def machine(backend: vm.Backend, second: Path) -> vm.Machine:
    """A guest with two threads, and a port for the controller that they serve."""
    with second.open("wb") as file:
        file.truncate(DISK_BYTES)
    accel = comparison.choose_accel(virtual=False)
    threads = [word for name in THREADS for word in ("-object", f"iothread,id={name}")]
    return vm.Machine(
        virtual=False, accel=accel.name, cpu=accel.cpu, vcpus=2, backend=backend,
        extra=(*threads, "-blockdev", f"driver=file,node-name=second,filename={second}",
               "-device", f"pcie-root-port,id={PORT},chassis=1"))


def plug(guest: Guest, served: dict[str, Any], policy: str) -> bool:
    """Plug the controller; False while the one before has its disk."""
    options = {"driver": "nvme", "id": DEVICE, "serial": "second", "drive": "second", "bus": PORT,
               "cint": True, "cint.policy": policy, **served}
    try:
        guest.vm.qmp.execute("device_add", **options)
    except QmpError as error:
        assert "Permission conflict" in error.message, error
        return False
    return True


def controller(guest: Guest) -> str:
    """The name that the guest has for it."""
    return guest.shell(f"{FIND}echo $C").strip()


def verify(guest: Guest, name: str, seed: int) -> None:
    """Both CPUs write and read back."""
    text = (VERIFY + JOBS).format(disk=f"/dev/{name}n1", size=SIZE, seed=seed)
    jobs = fiojson.parse(guest.fio(f"seed{seed}", text)["fio"])
    assert {job: done.ios for job, done in jobs.items()} == {
        "deep": 2 * SIZE // BLOCK, "waits": 2 * SIZE // BLOCK}


def check_data(guest: Guest, name: str, seed: int) -> None:
    """While the controller is reset, and after it, which begins the counts; nothing is left."""
    guest.start("resets", RESET.format(resets=RESETS, name=name))
    verify(guest, name, seed)
    assert "reset" in guest.end("resets")[1], "the driver refused all resets"
    verify(guest, name, seed + len(POLICIES))
    check_settled(guest.vm.qmp.get("cint-stats", PATH), 4 * SIZE // BLOCK)


def unplug_under_load(guest: Guest, name: str) -> None:
    """The controller goes while two processes read, who get errors or find an empty disk."""
    before = posted(guest)
    for cpu in (0, 1):
        guest.start(f"reader{cpu}", READ.format(cpu=cpu, name=name))
    wait_for("they read", lambda: posted(guest) > before + 1000)
    guest.vm.qmp.execute("device_del", id=DEVICE)
    wait_for("QEMU unplugs it", lambda: not is_plugged(guest))
    guest.shell("kill $(cat /tmp/*.pid) || :")
    for cpu in (0, 1):
        guest.end(f"reader{cpu}")


@pytest.mark.parametrize("served", SERVED)
def test_nothing_is_lost(served: str, disk: vm.Backend, tmp_path: Path, logs: Path) -> None:
    """Under three policies in turn, each on a controller that was plugged anew."""
    with serving(machine(disk, tmp_path / "second.img"), logs, 3 * vm.BOOT_LIMIT_S) as guest:
        for seed, policy in enumerate(POLICIES):
            wait_for("QEMU lets go of its disk",
                     lambda policy=policy: plug(guest, SERVED[served], policy))
            name = controller(guest)
            check_data(guest, name, seed)
            unplug_under_load(guest, name)
