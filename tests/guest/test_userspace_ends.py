# SPDX-License-Identifier: GPL-2.0-or-later
"""A process that drives a controller ends: killed, with a child left, or asked to.

Its reads are still under way, a completion each millisecond. Until VFIO has stopped the
controller, the memory that these go to must be nobody else's.
"""

from __future__ import annotations

import re

import pytest
from conftest import Boot, machine
from test_userspace import WAYS, job, run
from waits import is_late, words

from cint.guest import vm

#: One read after the other, for two seconds. Its queue pair has a huge page and a bit.
MEDIA = "custom:read-latency=1ms,write-latency=1us,units=1"
DEPTH = 2047
#: Huge pages of the guest, some of which the process has.
PAGES = 16
#: Who is left when the process was killed is killed later. Meanwhile another one takes all huge
#: pages that become free, and sees to it that they stay as it made them.
KILLED = f"""
echo {PAGES} >/proc/sys/vm/nr_hugepages
cintio hold $A --depth {DEPTH} --child {{child}} --ballast 300 >/tmp/hold & H=$!
until grep -q holds /tmp/hold; do sleep 0.01; done
cintio pages 1200 >/tmp/pages & P=$!
sleep 0.1; kill -9 $H; sleep 0.6
for pid in $(pidof cintio); do [ $pid = $P ] || {{{{ echo left; kill -9 $pid; }}}}; done
wait $P; cat /tmp/pages
cintio check $A --count 100 && echo sound
"""
CHILDREN = ("none", "fork", "clone")


@WAYS
@pytest.mark.parametrize("child", CHILDREN)
def test_killed(boot: Boot, disk: vm.Backend, iommu: bool, child: str) -> None:
    """Nobody's memory is written to by the controller of a process that is dead."""
    host = machine("default", MEDIA, k=1, backend=disk, iommu=iommu)
    outcome = run(boot, host, job("killed", KILLED.format(child=child)))
    said = str(outcome.results["killed"]["stdout"])
    assert ("left" in said) == (child != "none"), said
    taken = re.search(r"pages=(\d+) changed=(\d+)", said)
    assert taken is not None, said
    assert (int(taken[1]), int(taken[2])) == (PAGES, 0), said
    assert said.endswith("sound\n") and not any(map(is_late, words(said))), said


#: A process that is in no call hears by its own poll(2), and the kernel's driver has the disk.
ASKED = """
cintio hold $A >/tmp/hold & H=$!
until grep -q holds /tmp/hold; do sleep 0.01; done
cintio unbind $A && wait $H && cat /tmp/hold
while [ ! -b /dev/nvme0n1 ]; do sleep 0.01; done
dd if=/dev/nvme0n1 of=/dev/null bs=64k count=16 iflag=direct 2>/dev/null && echo sound
"""


@WAYS
def test_asked(boot: Boot, disk: vm.Backend, iommu: bool) -> None:
    """`cintio unbind` ends, for who drives the controller and does nothing else is told."""
    outcome = run(boot, machine("default", backend=disk, iommu=iommu), job("asked", ASKED))
    lines = str(outcome.results["asked"]["stdout"]).splitlines()
    assert lines[1].startswith("the kernel asks for 0000:"), lines
    assert lines[2] == "sound", lines
