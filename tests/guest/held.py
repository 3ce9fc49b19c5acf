# SPDX-License-Identifier: GPL-2.0-or-later
"""A namespace whose backend stops at a command until the test lets it go on.

What the kernel does with I/O that has to wait for a busy device is seen this way without a clock:
the tests go on when the processes of the guest sleep in the kernel, not after some time.
"""

from __future__ import annotations

import json
from pathlib import Path

from serving import Guest

from cint.guest import vm

NODE, DEVICE = "held", "held-ns"
#: Run hintio in the background and wait until it sleeps in the kernel, as one of pids.
_START = """\
{command} >/dev/null 2>>/tmp/held.errors &
echo $! >> /tmp/held.pids
until grep -q '^State:.D' /proc/$!/status; do
    [ -e /proc/$! ] || {{ cat /tmp/held.errors; exit 1; }}
    sleep 0.01
done
"""
_FINISH = """\
for pid in $(cat /tmp/held.pids); do
    while [ -e /proc/$pid ]; do sleep 0.01; done
done
rm /tmp/held.pids
[ ! -s /tmp/held.errors ] || { cat /tmp/held.errors; exit 1; }
"""


def backend(image: Path | None = None, size: int = 64 << 20) -> tuple[str, ...]:
    """QEMU's option for a backend that can be stopped; of zeros, or a file."""
    store = ({"driver": "file", "filename": str(image)} if image else
             {"driver": "null-co", "size": size, "read-zeroes": True})
    return ("-blockdev", json.dumps({
        "driver": "raw", "node-name": NODE,
        "file": {"driver": "blkdebug", "image": store}}))


def namespace(number: int) -> tuple[str, ...]:
    """QEMU's options for such a namespace."""
    return (*backend(), "-device",
            f"nvme-ns,id={DEVICE},bus={vm.NVME_ID},drive={NODE},nsid={number}")


def _command(guest: Guest, command: str) -> None:
    # by device: to name the node would change the graph, which waits for what is held
    said = guest.vm.qmp.execute("human-monitor-command",
                                **{"command-line": f'qemu-io -d {DEVICE} "{command}"'})
    assert said == "", said


def resume(guest: Guest) -> None:
    """Let the device go on."""
    _command(guest, "resume held")


class Hold:
    """One stop of the backend: the next I/O of a kind stays in the device until `release`."""

    def __init__(self, guest: Guest, event: str) -> None:
        """`event` is blkdebug's: read_aio, write_aio, flush_to_os."""
        self.guest = guest
        _command(guest, f"break {event} held")

    def start(self, command: str) -> None:
        """Start a program in the guest; returns when it waits for the device."""
        self.guest.shell(_START.format(command=command))

    def release(self) -> None:
        """Let the device go on, and wait for all programs; each must have succeeded."""
        resume(self.guest)
        self.guest.shell(_FINISH)
