# SPDX-License-Identifier: GPL-2.0-or-later
"""A stock guest in a stock QEMU on the disk that libcint/examples serves.

Neither knows of cint: kernel and QEMU are the distribution's. What is counted, the disk counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import Guest, serving
from test_distro import VERIFY, built
from testkit import vhost_blk

from cint import paths
from cint.build import packages
from cint.guest import kinds, vm

__all__ = ["built"]

MIB = 1 << 20
SIZE = 4 * MIB
BLOCK = 4096
#: As much of a file as fits into a word of a command.
PART = 64 << 10
#: A thread that waits for each of its reads; reads that are submitted eight at a time.
ALONE = "[alone]\nioengine=psync\n"
MANY = "[many]\nioengine=libaio\niodepth=32\niodepth_batch_submit=8\niodepth_batch_complete=8\n"
READS = 400
READ = ("filename=/dev/vda\ndirect=1\nbs=4k\nrw=randread\nnorandommap\nrandrepeat=1\n"
        f"io_size={READS * BLOCK}\n")
#: Policies under which a lone command is told of at once; under cint no gap ends a burst here.
#: And a timer of 20 ms: no guest on a busy host takes as long to look.
AT_ONCE = ("default", "cint:infer=content,delta=100000000,thr=64", "auto")
TIMER = "static:static-time=20000000,static-thr=64,max-hold=0"


@pytest.fixture(scope="module")
def qemu() -> Path:
    """The distribution's QEMU."""
    packages.require("qemu-system-x86", "/usr/bin/qemu-system-x86_64")
    return Path("/usr/bin/qemu-system-x86_64")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[vhost_blk.Server]:
    """The server, with requests that take 2 ms and are done one by one, so that an emulated CPU
    has many in flight, and has taken one before the next is done."""
    with vhost_blk.serving(tmp_path, "--latency-us", "2000", "--apart-us", "1000",
                           size=16 * SIZE) as server:
        yield server


def machine(qemu: Path, disk: vhost_blk.Server) -> vm.Machine:
    """A guest whose memory the server shares."""
    one = vm.Machine(qemu=qemu, virtual=False, extra=(
        "-object", "memory-backend-memfd,id=ram,size=1024M,share=on",
        "-machine", "memory-backend=ram",
        "-chardev", f"socket,id=disk,path={paths.in_option(disk.socket)}",
        "-device", "vhost-user-blk-pci,chardev=disk,num-queues=1"))
    return kinds.dress(one, "distro")


class Counts:
    """What the disk counted during a job."""

    def __init__(self, disk: vhost_blk.Server, guest: Guest, policy: str, job: str) -> None:
        before = disk.ask(f"policy {policy}")
        guest.fio("job", job + READ)
        after = disk.stats()
        self.completions, self.interrupts, self.calls, self.prompt = (
            int(after[name] - before[name])
            for name in ("completions", "interrupts", "calls", "prompt"))
        self.reasons = {name: count - before["reasons"].get(name, 0)
                        for name, count in after["reasons"].items()}

    def __repr__(self) -> str:
        return str(vars(self))


def check_alone(found: Counts, policy: str) -> None:
    """Who waits for each read is told in the pass that posts it, but for a timer."""
    assert found.completions == found.interrupts == found.calls >= READS, (policy, found)
    assert found.prompt == (0 if policy == TIMER else found.completions), (policy, found)


def check_data(disk: vhost_blk.Server, guest: Guest) -> None:
    """fio's checksums, of what is written under each policy, and of all of it in the end."""
    text = VERIFY.replace("/dev/nvme0n1", "/dev/vda")
    policies = (*AT_ONCE, TIMER)
    for number, policy in enumerate(policies):
        disk.ask(f"policy {policy}")
        guest.fio("verify", text.format(size=SIZE, offset=number * SIZE, seed=number + 1))
    again = text.replace("do_verify=1", "verify_only=1")
    for number in range(len(policies)):
        guest.fio("again", again.format(size=SIZE, offset=number * SIZE, seed=number + 1))


def load_driver(guest: Guest) -> None:
    """The distribution's module of virtio-blk, which the guest's image has not."""
    module = (paths.DISTRO_MORE / "virtio_blk.ko").read_bytes()
    for at in range(0, len(module), PART):
        guest.write_file(f"/tmp/part{at:08}", module[at:at + PART])
    guest.shell("cat /tmp/part* > /tmp/virtio_blk.ko && insmod /tmp/virtio_blk.ko && "
                "until [ -b /dev/vda ]; do sleep 0.05; done", limit_s=30)


def test_a_stock_guest(built: str, qemu: Path, disk: vhost_blk.Server, logs: Path) -> None:
    with serving(machine(qemu, disk), logs, kinds.BOOT_LIMIT_S) as guest:
        assert guest.vm.hello["kernel"] == built
        load_driver(guest)
        for policy in (*AT_ONCE, TIMER):
            check_alone(Counts(disk, guest, policy, ALONE), policy)
        each, cint = (Counts(disk, guest, policy, MANY) for policy in ("default", AT_ONCE[1]))
        assert each.interrupts == each.completions >= READS, each
        assert cint.completions >= READS and 4 * cint.interrupts <= cint.completions, cint
        assert cint.reasons["barrier"] > 0 and cint.calls <= cint.interrupts, cint
        check_data(disk, guest)
