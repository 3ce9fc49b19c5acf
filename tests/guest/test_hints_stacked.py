# SPDX-License-Identifier: GPL-2.0-or-later
"""The module's marks where others pass on what a program submits: device mapper, MD, btrfs.

The same is done on our kernel that has these, and the marks are compared, by the device's counts
(docs/hints-module.md). The distribution's modules are those of a root of its release.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pages
import pytest
import release
from conftest import log_root
from marks import QUIET, Marks, hintio, names, namespace, sent
from serving import Guest, serving
from test_foreign import BOOT_LIMIT_S, BTRFS, MIB, RESET, TOOLS, dm, machine, md
from test_hints_module import (
    ALLOWED,
    DIRTY,
    PARAMETERS,
    SCHEDULER,
    agreement,
    as_table,
    below_a_scheduler,
    by_kind,
    load,
)
from test_hints_module import EACH as DIRECT

from cint import paths
from cint.guest import hints, kinds

pytestmark = pytest.mark.slow

#: The first namespace has 64 MiB and more; half of it for each of two.
SECTORS = 32 * MIB // 512
KEY = "00" * 32
#: Where programs' I/O goes, and what is between there and the driver.
FILES = {"device mapper, linear": "/tmp/linear", "dm-crypt": "/tmp/crypt",
         "RAID 0": "/dev/md_zero", "RAID 1": "/dev/md_one", "btrfs": f"{BTRFS}/file"}
MADE = (dm("linear", f"0 {SECTORS} linear /tmp/ns1 0")
        + dm("crypt", f"0 {SECTORS} crypt aes-xts-plain64 {KEY} 0 /tmp/ns1 {SECTORS}")
        + md("md_zero", "raid0", ("/tmp/ns2", "/tmp/ns3"))
        + md("md_one", "raid1", ("/tmp/ns4", "/tmp/ns5"))
        + f"mkdir -p {BTRFS}; mount -t btrfs -o commit=900 /tmp/ns6 {BTRFS};"
        f"dd if=/dev/urandom of={BTRFS}/file bs=1M count=16 2>/dev/null; sync; {QUIET}")
#: The first to open a disk has the kernel look for partitions.
OPENED = "".join(f"dd if={file} of=/dev/null bs=4k count=1 2>/dev/null;" for file in FILES.values())
GONE = (f"umount {BTRFS}; echo clear > /sys/block/md_zero/md/array_state;"
        " echo clear > /sys/block/md_one/md/array_state")
#: AES is no module of the newest kernel any more.
MODULES = "modprobe -a ecb xts btrfs dm_crypt raid0 raid1 && { modprobe -q aes_generic || true; }"
#: Rows on each of them ...
DONE = ("pread", "pwrite", "aio, batches of 16", "io_uring, batches of 16", "page cache, random")
#: ... on a disk with an I/O scheduler ...
BELOW_SCHEDULER = ("pread", "aio, batches of 16", "aio, batches of 8 that merge",
                   "io_uring, batches of 16")
#: ... and on btrfs.
ON_BTRFS = {
    "fsync": DIRTY + hintio("--op=write --count=0 --sync=fsync", "{0}/file"),
    "new file, fsync": "for i in 1 2 3 4; do rm -f {0}/new; " + hintio(
        "--op=write --count=0 --create --sync=fsync", "{0}/new") + "; done",
}
#: Rows that have to agree, and by how much.
SURE = [f"{where}: {what}" for where in ("device mapper, linear", "dm-crypt", "RAID 0", "RAID 1",
                                         "btrfs") for what in ("pread", "pwrite")]
SURE += [f"mq-deadline: {what}" for what in BELOW_SCHEDULER]
SURE_SHARE = 0.99


def scripts() -> dict[str, str]:
    """What is done, by row."""
    drop = "echo 3 > /proc/sys/vm/drop_caches; "
    found = {f"{where}: {name}": (drop if "cache" in name else "") + hintio(DIRECT[name], file)
             for where, file in FILES.items() for name in DONE}
    found |= {f"mq-deadline: {name}": f"echo mq-deadline > {SCHEDULER};"
              f" taskset 1 {hintio(DIRECT[name])}; echo none > {SCHEDULER}"
              for name in BELOW_SCHEDULER}
    return found | {f"btrfs: {name}": script.format(BTRFS) for name, script in ON_BTRFS.items()}


@pytest.fixture(scope="module")
def ours(foreign_kernel: Path,
         tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Marks]:
    """What our kernel that has these marks, by row."""
    bare = machine(foreign_kernel, tmp_path_factory.mktemp("ours"))
    with serving(bare, log_root() / "hints-stacked-ours", BOOT_LIMIT_S) as running:
        running.shell(f"set -e; {names(7)} mkdir -p {TOOLS}; mount -t ext4 -o ro /tmp/ns7 {TOOLS};"
                      f"{MADE} {OPENED}")
        found = {name: sent(running, script) for name, script in scripts().items()}
        running.shell(GONE)
    return found


@pytest.fixture(scope="module", params=release.kernels("7"))
def kernel(request: pytest.FixtureRequest) -> Iterator[str]:
    """Which kernel of the distribution it is."""
    with release.using(request.param):
        yield request.param


@pytest.fixture(scope="module")
def guest(ours: Mapping[str, Marks], kernel: str,
          tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """The distribution's kernel and its own modules; the hints module came before these."""
    assert ours
    place = tmp_path_factory.mktemp("stacked")
    system = release.disk(place)
    bare = machine(paths.KERNEL, place)
    dressed = kinds.dress(replace(bare, extra=(*bare.extra, *namespace(8, system))), "distro",
                          hints.MODULE)
    logs = log_root() / f"hints-stacked-{kernel}"
    with serving(dressed, logs, kinds.BOOT_LIMIT_S, ALLOWED) as running:
        running.shell(names(8))
        release.mount(running, 8)
        load(running)
        release.well(running, MODULES)
        running.shell(f"set -e; mkdir -p {TOOLS}; mount -t ext4 -o ro /tmp/ns7 {TOOLS}; {MADE}"
                      f"{OPENED}")
        yield running
        running.shell(f"{GONE}; umount {TOOLS}; umount -l {release.SYSTEM}")


def test_agreement(guest: Guest, kernel: str, ours: Mapping[str, Marks]) -> None:
    """Row by row; the table is left in the logs."""
    assert not [line for line in guest.shell(f"cat {hints.DEBUGFS}/kinds").splitlines()
                if line.startswith("lost")]
    below_a_scheduler(guest)
    its = {name: sent(guest, script) for name, script in scripts().items()}
    text = as_table(ours, its)
    (log_root() / f"hints-stacked-{kernel}.md").write_text(text, "utf-8")
    if kernel == release.USUAL:
        pages.keep_table("hints-module.md", "Through what is between, and below a scheduler:\n",
                         text)
    assert [name for name in SURE if agreement(ours[name], its[name]) < SURE_SHARE] == []


def test_they_are_found_where_they_came_first(guest: Guest) -> None:
    """Loaded after the others the module knows them as well; and as it is switched on again."""
    guest.shell("rmmod cint_hints")
    load(guest)
    file = FILES["RAID 1"]
    assert sent(guest, hintio("--api=pread --count=8", file)) == Marks(urgent=8)
    guest.shell(f"echo 0 > {PARAMETERS}/on; echo 1 > {PARAMETERS}/on; {RESET}"
                " until grep -q live /sys/class/nvme/nvme0/state; do sleep 0.05; done")
    assert sent(guest, hintio("--api=pread --count=8", file)) == Marks(urgent=8)
    (name,) = {controller for controller, _ in by_kind(guest)}
    assert by_kind(guest)[name, "unseen"] == (0, 0, 0)
