# SPDX-License-Identifier: GPL-2.0-or-later
"""Which PCI functions `cintio bind` takes from the kernel's driver, and from whom."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from conftest import Boot, machine
from marks import make_disk
from test_userspace_limits import wrong_about

from cint import paths
from cint.guest import agent, vm

MIB = 1 << 20
#: A mapping is made of whichever controller's disk is the first one; $B is its address, and $A that
#: of the other one, whose disk is $D.
MAPPING = ("dm_mod.waitfor=/dev/nvme0n1",
           '"dm-mod.create=mapped,,,rw,0 2048 linear /dev/nvme0n1 0"')
FIND = """
B=$(cat /sys/class/nvme/nvme0/address)
A=$(cat /sys/class/nvme/nvme1/address)
export D=/dev/nvme1n1
"""
MOUNTED = "mkdir -p /mnt; mke2fs $D >/dev/null 2>&1; mount -t ext4 $D /mnt || exit 9; "
#: After a refusal the file system is as it was.
UNHARMED = "echo hello >/mnt/f && sync && grep -q hello /mnt/f || exit 9; umount /mnt; "
BIND = "cintio bind $A; r=$?; "
SATA = "0000:00:1f.2"
#: Name, script, and what it says when it fails; "" where it does not.
CASES = (
    ("sata", f"cintio bind {SATA}", f"{SATA} is no NVMe controller: its PCI class is 010601"),
    ("sata by force", f"cintio bind --force {SATA}", "is no NVMe controller"),
    ("sata afterwards", f"! readlink /sys/bus/pci/devices/{SATA}/driver | grep vfio", ""),
    ("mapping", "cintio bind $B", "/dev/nvme0n1 is part of /dev/dm-0"),
    ("mount", f"{MOUNTED}{BIND}{UNHARMED}exit $r", "/dev/nvme1n1 is mounted at /mnt"),
    ("unseen mount", f"mkdir -p /mnt; mke2fs $D >/dev/null 2>&1; unshare -m sh -c "
     f"'mount -t ext4 $D /mnt && echo ready; read x </tmp/end' >/tmp/unshared & "
     f"until grep -q ready /tmp/unshared; do sleep 0.01; done; {BIND}echo >/tmp/end; wait; exit $r",
     "something in the kernel holds /dev/nvme1n1"),
    ("swap", f"mkswap $D >/dev/null; swapon $D || exit 9; {BIND}swapoff $D; exit $r",
     "/dev/nvme1n1 is swapped to"),
    ("loop", "[ -e /dev/loop0 ] || mknod /dev/loop0 b 7 0; losetup /dev/loop0 $D || exit 9; "
     f"{BIND}losetup -d /dev/loop0; exit $r", "/dev/nvme1n1 is behind /dev/loop0"),
    ("open", f"sleep 100 <$D & {BIND}kill $!; wait; exit $r", "(sleep) has /dev/nvme1n1 open"),
    ("controller open", f"sleep 100 </dev/nvme1 & {BIND}kill $!; wait; exit $r",
     "(sleep) has /dev/nvme1 open"),
    ("force is offered", f"{MOUNTED}{BIND}{UNHARMED}exit $r", "cintio bind --force"),
    ("still the kernel's", "dd if=$D of=/dev/null bs=64k count=16 iflag=direct 2>/dev/null", ""),
    ("unused", "cintio bind $A && cintio check $A --count 100 && cintio unbind $A", ""),
    ("force", "while [ ! -b $D ]; do sleep 0.01; done; sleep 100 <$D & cintio bind --force $A && "
     "cintio check $A --count 100; r=$?; kill $!; wait; exit $r", ""),
)


def test_bind_takes_what_nothing_uses(boot: Boot, disk: vm.Backend, tmp_path: Path) -> None:
    """Whoever uses a disk keeps it, and is named; another function than NVMe's is never taken."""
    second = make_disk(tmp_path / "second.img", size=64 * MIB)
    host = machine("default", backend=disk, iommu=True)
    jobs = tuple(agent.Job(name, argv=agent.exec_argv(
        f"{FIND}( {script} ) >/tmp/out 2>&1; echo $?; cat /tmp/out"), timeout_s=30)
        for name, script, _ in CASES)
    outcome = boot(replace(
        host, initramfs=paths.USERSPACE_INITRAMFS, append=(*host.append, *MAPPING, "max_loop=1"),
        extra=("-blockdev", f"driver=file,node-name=second,filename={second}",
               "-device", "nvme,id=nvme1,serial=second,drive=second,cint=on")),
        agent.Plan(jobs=jobs, setup=(agent.exec_argv("mkfifo /tmp/end"),)), seconds=60)
    wrong = [problem for name, _, text in CASES if (problem := wrong_about(outcome, name, text))]
    assert not wrong, "\n".join(wrong)
