# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel's patches cost where no device takes hints: next to nothing is the aim.

Instructions of system calls, counted on our kernel and on the same kernel without the patches.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import log_root, machine
from instructions import MEDIUM, SAME_TICKS, Call
from marks import BDEV, EXT4, MKFS_EXT4, MOUNT_EXT4, QUIET, make_disk, names

from cint import paths
from cint.guest import agent, session, vm

pytestmark = pytest.mark.slow

#: How much more than without the patches, as a share, and how much less: an fsync takes a little
#: less, and far less would mean that something else is counted.
MORE, LESS = 0.001, 0.0015
DISK_SIZE = 64 << 20
WITHOUT_OPTIONS_OF_OURS = paths.KERNEL_CONFIG / "cmdline.distro.virtual"
CALLS = {
    "direct read": Call("--api=pread --repeat={n}", BDEV, 100, 5100),
    "direct read, ext4": Call("--api=pread --repeat={n}", f"{EXT4}/file", 100, 5100),
    "buffered read": Call("--api=pread --buffered --repeat={n}", f"{EXT4}/file", 100, 10100),
    "fsync": Call("--op=write --api=pread --buffered --sync=fsync --repeat={n}", f"{EXT4}/file",
                  100, 1600),
    # The batch is the call.
    "io_uring, 8 reads": Call("--api=uring --batch=8 --stride=8k --count={n}", BDEV, 800, 12800, 8),
    "io_submit, 8 reads": Call("--api=aio --batch=8 --stride=8k --count={n}", BDEV, 800, 6400, 8),
}


#: Told so, the driver sees no capability. Nothing but this tells the kernel of hints: without it
#: there is no such attribute, no first controller that takes them, and the static key stays off.
SEES_NONE = "nvme.irq_hints=0"
CAPABILITIES = "/sys/class/nvme/nvme0/irq_hint_caps"


@dataclass(frozen=True)
class Place:
    """Where the I/O goes: options of the kernel, and how BDEV comes to be that."""

    append: tuple[str, ...]
    setup: str


#: NVMe in virtual time, and a device that completes I/O at once.
PLACES = {
    "nvme": Place((), names(1)),
    "null_blk": Place(("null_blk.nr_devices=1", "null_blk.gb=1", "null_blk.irqmode=0",
                       "null_blk.memory_backed=1"),
                      f"{names(1)} dd if={BDEV} of=/dev/nullb0 bs=1M 2>/dev/null;"
                      f" ln -sf /dev/nullb0 {BDEV}"),
}


@dataclass(frozen=True)
class Kind:
    """A guest whose instructions are counted; shell tests that it is what it is taken for."""

    patched: bool
    append: tuple[str, ...]
    check: str


OURS = "-e /sys/module/block/parameters/irq_hints"
KINDS = {
    "without": Kind(False, (), f"[ ! {OURS} ]"),
    "with": Kind(True, (SEES_NONE,), f"[ {OURS} ]; [ ! -e {CAPABILITIES} ]"),
    #: the control: a controller that takes hints
    "taken": Kind(True, (), f"[ {OURS} ]; [ -e {CAPABILITIES} ]"),
}
SETUP = f"""\
set -e
{{place}}
{QUIET}
mkdir -p {EXT4}
{MOUNT_EXT4} {BDEV} {EXT4}
dd if=/dev/zero of={EXT4}/file bs=1M count=1 2>/dev/null
sync
{{check}}
"""


def plan(place: Place, kind: Kind) -> agent.Plan:
    """Count all calls, from the first to the last."""
    setup = SETUP.format(place=place.setup, check=kind.check)
    return agent.Plan((agent.Job("setup", argv=agent.exec_argv(setup)),
                       *(call.job(name) for name, call in CALLS.items())))


Counts = Mapping[str, float]


@pytest.fixture(scope="module", params=PLACES)
def table(request: pytest.FixtureRequest, plain_kernel: Path,
          tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Counts]:
    """Instructions by kernel and call, on the same data."""
    place = PLACES[request.param]
    root = tmp_path_factory.mktemp("disks")
    disk = make_disk(root / "ext4", *MKFS_EXT4, size=DISK_SIZE)
    found = {}
    for name, kind in KINDS.items():
        guest = machine("default", MEDIUM, k=1,
                        kernel=paths.KERNEL if kind.patched else plain_kernel,
                        append=(*place.append, *kind.append, SAME_TICKS),
                        cmdline_virtual=WITHOUT_OPTIONS_OF_OURS,
                        backend=vm.Backend(Path(shutil.copy(disk, root / name))))
        outcome = session.run_task(session.Task(name, guest, plan(place, kind),
                                                log_root() / f"unused-{request.param}" / name))
        assert outcome.trouble == []
        found[name] = {one: call.instructions(outcome.results[one])
                       for one, call in CALLS.items()}
    (log_root() / f"unused-{request.param}/table.md").write_text(as_text(found), encoding="utf-8")
    return found


def as_text(table: Mapping[str, Counts]) -> str:
    """The table, as docs/cost.md has it."""
    lines = ["| instructions of a | without | with | | taken | |", "|---|---|---|---|---|---|"]
    for name in CALLS:
        without, with_, taken = (table[kind][name] for kind in KINDS)
        lines.append(f"| {name} | {without:.1f} | {with_:.1f} | {with_ / without - 1:+.3%}"
                     f" | {taken:.1f} | {taken / without - 1:+.3%} |")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("call", CALLS)
def test_nothing_for_nobody(table: Mapping[str, Counts], call: str) -> None:
    """A system call takes the same instructions with and without the patches, within 0.1 %."""
    more = table["with"][call] / table["without"][call] - 1
    assert -LESS <= more <= MORE, f"{call}: {more:+.3%} instructions"


def test_hints_are_counted(table: Mapping[str, Counts]) -> None:
    """Where a controller takes hints a direct read takes more: it is not that nothing is seen."""
    assert table["taken"]["direct read"] / table["with"]["direct read"] - 1 > MORE
