# SPDX-License-Identifier: GPL-2.0-or-later
"""What the library of the driver in user space can do with QEMU's controllers.

Data in pieces, several namespaces, two functions of one IOMMU group in one process, writes past
caches, policies that are chosen when a queue is made.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Boot, machine
from test_userspace_limits import BIND, CHECK, USUAL, wrong_about
from waits import is_late, words

from cint import paths
from cint.guest import agent, vm

MIB = 1 << 20
#: Two functions of one device, which share an IOMMU group, and one with two namespaces.
FIRST, SECOND, SPACES = "first", "second", "spaces"
PLACE = {FIRST: "addr=0x9.0,multifunction=on", SECOND: "addr=0x9.1", SPACES: "addr=0xa.0"}

PAIR = f"B=$(cat /tmp/{SECOND}); "
CASES = (
    ("the pointer's policy is chosen", FIRST, f"{CHECK} --count 400", ""),
    ("a policy of one's own is not", FIRST, f"{CHECK} --policy adaptive",
     "knows no interrupt pointer: give it the policy pointer"),
    # 4096 bytes in three pieces are no pages
    ("pieces", USUAL, f"cintio info $A | grep -x 'sgl yes' && {CHECK} --pieces 3", ""),
    ("pieces of pages", USUAL, f"{CHECK} --blocks 32 --pieces 4", ""),
    ("large pieces", USUAL, f"{CHECK} --blocks 1000 --pieces 7 --depth 4", ""),
    ("past caches", USUAL, f"{CHECK} --fua", ""),
    ("namespaces", SPACES, "cintio info $A >/tmp/i; cat /tmp/i; "
     "grep -x 'namespaces.1. 65536 blocks of 512 bytes' /tmp/i && "
     "grep -x 'namespaces.5. 8192 blocks of 4096 bytes' /tmp/i", ""),
    ("another namespace", SPACES, f"{CHECK} --nsid 5 --blocks 2", ""),
    ("none of that number", SPACES, f"{CHECK} --nsid 4", "has no namespace 4"),
    ("none that can be", SPACES, f"{CHECK} --nsid 4000", "has no namespace 4000"),
    ("one group", FIRST, PAIR + "G=/sys/bus/pci/devices; "
     "[ $(readlink $G/$A/iommu_group) = $(readlink $G/$B/iommu_group) ]", ""),
    # the first is closed while the second goes on, and the other way round
    ("two of one group", FIRST, PAIR + "cintio info $A $B | grep -c model | grep -x 2 && "
     "cintio info $B $A | grep -c 'cint_caps [1-9a-f]' | grep -x 2", ""),
    ("another process's", FIRST, PAIR + f"{CHECK} --count 1000000000 >/tmp/busy 2>&1 & sleep 0.5; "
     f"cintio info $(cat /tmp/{SECOND}); r=$?; kill -9 $!; wait; exit $r",
     "or a function of the same IOMMU group (/dev/vfio/"),
    ("after all that", FIRST, PAIR + f"{CHECK} && A=$B && {CHECK.replace('$A', '$B')}", ""),
)


def controllers(root: Path) -> tuple[str, ...]:
    """QEMU's options for them."""
    args: list[str] = []
    for name, mib in ((FIRST, 64), (SECOND, 64), (SPACES, 32), ("more", 32)):
        image = root / f"{name}.img"
        with image.open("wb") as file:
            file.truncate(mib * MIB)
        args += ["-blockdev", f"driver=file,node-name={name}-disk,filename={image}"]
    for name, place in PLACE.items():
        drive = "" if name == SPACES else f",drive={name}-disk"
        args += ["-device", f"nvme,id={name},serial={name},cint=on,{place}{drive}"]
    for nsid, disk, options in ((1, SPACES, ""), (5, "more", ",logical_block_size=4096,"
                                                             "physical_block_size=4096")):
        args += ["-device", f"nvme-ns,bus={SPACES},nsid={nsid},drive={disk}-disk{options}"]
    return tuple(args)


def test_library(boot: Boot, disk: vm.Backend, tmp_path: Path) -> None:
    """Each works, or says why not."""
    host = machine("pointer", backend=disk, iommu=True)
    jobs = [agent.Job(name, argv=agent.exec_argv(
        f"A=$(cat /tmp/{whose})\n( {script} ) >/tmp/out 2>&1; echo $?; cat /tmp/out"),
        timeout_s=30) for name, whose, script, _ in CASES]
    setup = agent.exec_argv(BIND.format(names=" ".join((USUAL, *PLACE))))
    outcome = boot(replace(host, initramfs=paths.USERSPACE_INITRAMFS, extra=controllers(tmp_path)),
                   agent.Plan(jobs=tuple(jobs), setup=(setup,)), seconds=60)
    wrong = [problem for name, _, _, text in CASES if (problem := wrong_about(outcome, name, text))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("pieces", [2, 5])
def test_pieces_without_iommu(boot: Boot, disk: vm.Backend, pieces: int) -> None:
    """Physical addresses, which change from page to page."""
    setup = ("echo 1 > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode; "
             "echo 64 > /proc/sys/vm/nr_hugepages; "
             "A=$(basename $(readlink -f /sys/class/nvme/nvme0/device)); cintio bind $A; "
             f"{CHECK} --pieces {pieces} --blocks 64")
    host = replace(machine("pointer", backend=disk, iommu=False),
                   initramfs=paths.USERSPACE_INITRAMFS)
    outcome = boot(host, agent.Plan(jobs=(agent.Job("pieces", argv=agent.exec_argv(setup),
                                                    timeout_s=60),)), seconds=60)
    queue, = words(str(outcome.results["pieces"]["stdout"]))
    assert queue["errors"] == 0 and not is_late(queue), queue
