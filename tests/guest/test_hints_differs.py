# SPDX-License-Identifier: GPL-2.0-or-later
"""The hints module in a kernel that differs from what it expects: a row is lost, and nothing else.

There is no such kernel at hand, so it is the module that expects something else: a member that is
not there, one of another type, and a tracepoint with another argument. The kernel's description of
its types tells each of them apart, and nothing of it is read.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import release
from conftest import log_root
from marks import (
    BDEV,
    EXT4,
    MKFS_EXT4,
    MOUNT_EXT4,
    Marks,
    hint_machine,
    hintio,
    make_disk,
    names,
    namespace,
    sent,
)
from serving import Guest, serving
from test_hints_module import ALLOWED, probes

from cint import steps
from cint.build import hints as module
from cint.guest import hints, kinds

pytestmark = pytest.mark.slow

#: In which file, what it expects, and what it expects in its place.
EXPECTED = (
    ("who.c", '{ "iomap_dio", "iocb", "*kiocb" }', '{ "iomap_dio", "iocb", "*file" }'),
    ("who.c", '{ "blkdev_dio", "waiter", "*task_struct" }',
     '{ "blkdev_dio", "sleeper", "*task_struct" }'),
    ("main.c", '{ "*request_queue", "unsigned int", "bool" }',
     '{ "*request_queue", "bool", "unsigned int" }'),
)
#: What it says of these, once.
SAID = ("direct I/O of ext4, XFS and others (struct iomap_dio)",
        "direct I/O of many bios on block devices (struct blkdev_dio)",
        "ends of batches below an I/O scheduler")
FILE = "/tmp/differs.ko"


def differing(place: Path) -> bytes:
    """The module for the distribution's kernel, with other expectations."""
    release.build_module()
    _, version = release.kernel()
    for path in module.module_files():
        text = path.read_text("utf-8")
        for name, old, new in EXPECTED:
            if name == path.name:
                assert text.count(old) == 1, old
                text = text.replace(old, new)
        (place / path.name).write_text(text, "utf-8")
    with steps.step("hints-differs", "Build the module with other expectations") as step:
        built = module.compile_module(step, version, place.iterdir())
    # The agent takes no longer one.
    subprocess.run(["strip", "--strip-debug", built / f"{module.NAME}.ko"], check=True)
    return (built / f"{module.NAME}.ko").read_bytes()


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """The distribution's kernel with that module, and ext4 on its second namespace."""
    with steps.build_lock():
        text = differing(tmp_path_factory.mktemp("source"))
    disk = make_disk(tmp_path_factory.mktemp("disks") / "ext4", *MKFS_EXT4)
    machine = kinds.dress(hint_machine(extra=namespace(2, disk)), "distro", hints.MODULE)
    with serving(machine, log_root() / "hints-differs", kinds.BOOT_LIMIT_S, ALLOWED) as running:
        running.write_file(FILE, text)
        running.shell("for m in $(cat /lib/modules/more-order); do insmod $m || true; done;"
                      f"set -e; {names(2)} mkdir -p {EXT4}; {MOUNT_EXT4} {BDEV[:-1]}2 {EXT4};"
                      f"dd if=/dev/zero of={EXT4}/file bs=1M count=4 2>/dev/null; sync;"
                      f"insmod {FILE}")
        yield running
        running.shell(f"umount {EXT4}")


def test_it_is_said_once(guest: Guest) -> None:
    """In the kernel's log, and of structures in the list of kinds."""
    said = re.findall(r"cint_hints: .*not as expected in this kernel, so unmarked: (.+)$",
                      guest.shell("dmesg"), re.MULTILINE)
    assert sorted(said) == sorted(SAID)
    lost = [line for line in guest.shell(f"cat {hints.DEBUGFS}/kinds").splitlines()
            if line.startswith("lost ")]
    assert lost == [f"lost {what}" for what in SAID[:2]]
    assert probes(guest) == {"nvme_setup_cmd": "on", "nvme_complete_rq": "on",
                             "block_unplug": "absent"}


def test_what_is_lost_is_unmarked(guest: Guest) -> None:
    """Direct I/O on ext4, and of many bios on a block device."""
    assert sent(guest, hintio("--api=pread --count=16", f"{EXT4}/file")) == Marks(16)
    large = sent(guest, hintio("--api=pread --size=2m --count=2"))
    assert large == Marks(large.total)
    assert large.total >= 8


def test_all_else_is_as_it_was(guest: Guest) -> None:
    """A read that is waited for, a batch, and a page cache miss on the same file system."""
    assert sent(guest, hintio("--api=pread --count=16")) == Marks(urgent=16)
    batches = hintio("--api=aio --batch=8 --count=64 --stride=64k")
    assert sent(guest, batches) == Marks(56, barrier=8)
    miss = f"echo 1 > /proc/sys/vm/drop_caches; dd if={EXT4}/file of=/dev/null bs=4k count=1"
    assert sent(guest, f"{miss} 2>/dev/null").urgent >= 1
