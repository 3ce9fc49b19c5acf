# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest marks, as the device counts it: helpers for the tests of hints.

Each test runs a program in the guest and looks at the device's counters of commands by hint before
and after. Nothing is timed.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from serving import Guest

from cint import paths
from cint.device import properties
from cint.guest import vm
from cint.measure import comparison

#: Bits of the kernel parameter block.irq_hints.
SYNC, BATCH, FSYNC, JOURNAL, MSYNC, READ, WAIT = 1, 2, 4, 8, 16, 32, 64
SINGLE, LATER, FSYNC_LAST, LAST = 128, 256, 512, 1024
ALL = 2047
DEFAULT = ALL & ~(FSYNC_LAST | LAST)
POLICY = "/sys/module/block/parameters/irq_hints"
DISK_SIZE = 512 << 20  # XFS refuses less than 300 MB
BDEV = "/tmp/ns1"
EXT4, XFS, VFAT, FAST = "/mnt/ext4", "/mnt/xfs", "/mnt/vfat", "/mnt/fast"
MKFS_EXT4 = ("mkfs.ext4", "-q", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0")
MKFS_XFS = ("mkfs.xfs", "-q")
#: ext4 commits when it is asked to.
MOUNT_EXT4 = "mount -t ext4 -o commit=900"
NEVER_S = 7200


def xfs_log_every(seconds: int) -> str:
    """How often XFS writes its log in the background, where it is mounted from now on."""
    return f"echo {100 * seconds} > /proc/sys/fs/xfs/xfssyncd_centisecs;"


#: No writeback but what a test asks for; XFS's own is a worker of the log. Never is not 0: then
#: whoever makes a first page dirty wakes the flusher, which writes at once if its device had no
#: share of the writes lately.
NEVER_WRITE_BACK = f"echo {100 * NEVER_S} > /proc/sys/vm/dirty_writeback_centisecs;"
QUIET = f"{NEVER_WRITE_BACK} {xfs_log_every(NEVER_S)}"

#: Names for namespaces, their directories and character devices: the kernel finds them at the same
#: time, and numbers its own names in any order.
_NAME = """\
for i in $(seq 200); do
    f=$(grep -lx {0} /sys/block/{1}n*/nsid) && break
    sleep 0.05
done
f=$(dirname $f)
ln -s $f /tmp/disk{0}
ln -s /dev/${{f##*/}} /tmp/ns{0}
ln -s /dev/ng${{f##*/nvme}} /tmp/ng{0}
"""


#: What the kernel does by itself, waited for. sync(2) and others leave the flusher a message to
#: write all there is, which it may take late, and then takes what was written since. Of the states
#: of a flusher, these are the message (8) and that it runs (2). ext4 has a thread that reads the
#: bitmaps of blocks ahead, up to 5 s after it was mounted, and ends then.
_BY_ITSELF = """\
while grep -h '^state:' /sys/kernel/debug/bdi/*/stats | grep -q '[236-9a-f]$'; do sleep 0.01; done
while grep -qsx ext4lazyinit /proc/[0-9]*/comm; do sleep 0.1; done
"""


def names(count: int, owner: str = "nvme0") -> str:
    """A script that links namespace N to /tmp/nsN, /tmp/diskN (of /sys/block) and /tmp/ngN.

    ``owner`` is a pattern of what the disks' names begin with: a controller, or a subsystem.
    """
    return "".join(_NAME.format(number, owner) for number in range(1, count + 1))


@dataclass(frozen=True)
class Marks:
    """Commands of all I/O queues, by hint."""

    unmarked: int = 0
    urgent: int = 0
    barrier: int = 0
    both: int = 0

    def __post_init__(self) -> None:
        assert self.both == 0, "both hints at once must never be on the wire"

    @property
    def total(self) -> int:
        """Commands."""
        return self.unmarked + self.urgent + self.barrier


def counters(guest: Guest) -> tuple[int, ...]:
    """The device's counters now, in the order of Marks."""
    queues = [q for q in guest.stats()["queues"] if q["cqid"]]
    return tuple(sum(q[f"cmds-{name}"] for q in queues)
                 for name in ("unmarked", "urgent", "barrier", "both-hints"))


def set_policy(guest: Guest, policy: int) -> None:
    """Which I/O the guest's kernel marks by itself."""
    guest.shell(f"echo {policy} > {POLICY}")


def since(guest: Guest, before: tuple[int, ...]) -> Marks:
    """What the device counted since it had counted `before`."""
    return Marks(*(b - a for a, b in zip(before, counters(guest), strict=True)))


def sent(guest: Guest, script: str) -> Marks:
    """What a script in the guest sends."""
    guest.shell(_BY_ITSELF)
    before = counters(guest)
    guest.shell(script)
    return since(guest, before)


def marks(guest: Guest, script: str, policy: int = DEFAULT) -> Marks:
    """What a script in the guest sends under a policy."""
    set_policy(guest, policy)
    return sent(guest, script)


def hintio(options: str, file: str = BDEV) -> str:
    """The command line of the tool that does the I/O."""
    return f"hintio {options} {file} >/dev/null"


def make_disk(path: Path, *mkfs: str, size: int = DISK_SIZE) -> Path:
    """A raw image, with a file system if asked for."""
    with path.open("wb") as file:
        file.truncate(size)
    if mkfs:
        tool = shutil.which(mkfs[0], path="/usr/sbin:/sbin:/usr/bin:/bin")
        if tool is None:
            pytest.fail(f"{mkfs[0]} is not installed: ./cint test guest installs it")
        subprocess.run([tool, *mkfs[1:], str(path)], check=True, capture_output=True)
    return path


def namespace(number: int, image: Path) -> tuple[str, ...]:
    """QEMU's options for one more namespace."""
    name = str(image).replace(",", ",,")
    return ("-blockdev", f"driver=file,node-name=d{number},filename={name}",
            "-device", f"nvme-ns,bus={vm.NVME_ID},drive=d{number},nsid={number}")


def hint_machine(*append: str, extra: tuple[str, ...] = (), kernel: Path = paths.KERNEL,
                 media: str = "optane") -> vm.Machine:
    """A guest in real time whose device interrupts for each completion."""
    accel = comparison.choose_accel(False)
    props = properties.device_properties(properties.parse_policy("default"),
                                     properties.parse_media(media), 1, virtual=False)
    return vm.Machine(props, virtual=False, accel=accel.name, cpu=accel.cpu, append=append,
                      vcpus=2, extra=extra, kernel=kernel)
