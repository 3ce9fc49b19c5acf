# SPDX-License-Identifier: GPL-2.0-or-later
"""The hints module and controllers that the guest's kernel makes itself, and MD's write-behind.

These need modules of the distribution that our image has not: they are those of a root of the
kernel's release. The marks are the device's counts.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import release
from conftest import log_root
from marks import BDEV, Marks, hintio, make_disk, namespace, sent
from release import inside, well
from serving import Guest
from test_foreign import MIB, SIZE
from test_hints_module import by_kind, load

from cint.build import hints as module

pytestmark = pytest.mark.slow

#: Namespaces 3 and 4 are the members of an array.
MEMBERS = (3, 4)
ARRAY = "/dev/md9"
LINKS = "".join(f"ln -s /dev/$(basename $(dirname $(grep -lx {n} /sys/block/nvme*/nsid)))"
                f" /tmp/ns{n};" for n in MEMBERS)
#: A controller that the guest's kernel makes of a disk, or of the whole device, and uses itself.
TARGETS = "/sys/kernel/config/nvmet"
PORT = f"{TARGETS}/ports/1"
OF = {"disk": f"mkdir namespaces/1; readlink -fn {BDEV} > namespaces/1/device_path;"
              " echo 1 > namespaces/1/enable",
      "device": "echo -n /dev/nvme0 > passthru/device_path; echo 1 > passthru/enable"}
MAKE = f"""\
mount -t configfs none /sys/kernel/config 2>/dev/null || true
set -e
mkdir {TARGETS}/subsystems/{{0}}; cd {TARGETS}/subsystems/{{0}}
echo 1 > attr_allow_any_host
{{1}}
[ -d {PORT} ] || {{{{ mkdir {PORT}; echo loop > {PORT}/addr_trtype; }}}}
ln -s {TARGETS}/subsystems/{{0}} {PORT}/subsystems/{{0}}
echo transport=loop,nqn={{0}} > /dev/nvme-fabrics
cd /sys/class/nvme-subsystem
until d=$(ls -d $(dirname $(grep -lx {{0}} */subsysnqn))/nvme*n1) && [ -b /dev/${{{{d##*/}}}} ]; do
    sleep 0.05
done
ln -s /dev/${{{{d##*/}}}} /tmp/{{0}}
"""
UNMAKE = f"""\
grep -lx {{0}} /sys/class/nvme/*/subsysnqn | while read c; do
    echo 1 > ${{{{c%/*}}}}/delete_controller; done
rm {PORT}/subsystems/{{0}}
"""


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """The distribution's kernel, with its release's root and the module."""
    place = tmp_path_factory.mktemp("disks")
    members = (word for n in MEMBERS
               for word in namespace(n, make_disk(place / str(n), size=SIZE + MIB)))
    with release.booted(release.USUAL, place, log_root() / "hints-others", *members) as running:
        running.shell(LINKS)
        load(running)
        yield running
        running.shell(f"rmmod {module.NAME}")


def modules(guest: Guest, *names: str) -> None:
    """Load them, or skip where this kernel has none."""
    status, said = inside(guest, f"modprobe -a {' '.join(names)}")
    if status:
        pytest.skip(f"this kernel has none: {said}")


def test_controllers_over_fabrics(guest: Guest) -> None:
    """One that the kernel emulates takes no hints; one that hands on the device's words does."""
    modules(guest, "nvmet", "nvme-loop")
    for what, made in OF.items():
        guest.shell(MAKE.format(what, made))
    found = {what: sent(guest, hintio("--api=pread --count=16", f"/tmp/{what}")) for what in OF}
    assert found == {"disk": Marks(16), "device": Marks(urgent=16)}
    assert len({controller for controller, _ in by_kind(guest)}) == 2
    for what in OF:
        guest.shell(UNMAKE.format(what))
    assert sent(guest, hintio("--api=pread --count=16")) == Marks(urgent=16)


def test_what_is_written_behind_is_unmarked(guest: Guest) -> None:
    """It may be over for its submitter before a disk has it; what is read is waited for.

    A bitmap in the superblock: of one that others keep, as sysfs can have it, this kernel gives no
    numbers, without which nothing is written behind.
    """
    modules(guest, "md_mod", "raid1")
    first, second = (guest.shell(f"readlink -f /tmp/ns{n}").strip() for n in MEMBERS)
    well(guest, f"mdadm --create {ARRAY} --run --level=1 --raid-devices=2 --assume-clean"
                f" --bitmap=internal --write-behind=256 {first} --write-mostly {second}")
    written = sent(guest, hintio("--op=write --api=pread --count=16", ARRAY))
    assert int(guest.shell(f"cat /sys/block/{ARRAY[5:]}/md/bitmap/max_backlog_used")) > 0
    assert written.unmarked >= 32
    assert written.barrier == 0
    assert sent(guest, hintio("--api=pread --count=16", ARRAY)) == Marks(urgent=16)
    well(guest, f"mdadm --stop {ARRAY}")
