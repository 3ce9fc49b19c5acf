# SPDX-License-Identifier: GPL-2.0-or-later
"""The key-value store on a controller that it drives itself: verified, and what goes wrong."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from conftest import Boot, machine
from test_userspace import BIND, WAYS, job

from cint import paths
from cint.guest import agent, vm

pytestmark = pytest.mark.slow

MODES = ("poll", "interrupt", "coalesced")
#: In the user engine's guest, which has it not: what is copied into an image is in root's home.
KV = "/root/kvstore"
LOAD = f"{KV} load --engine=user:poll --records=8000 --reserve=500 $A"
#: For longer than anything lasts here.
BUSY = f"{KV} run --engine=user:{{}} --workload=update --ops=100000000 --cache=2m $A & "


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """The user engine's image with the store."""
    made = tmp_path / "initramfs"
    subprocess.run([sys.executable, "-B", paths.IMAGES / "overlay.py", "--base",
                    paths.USERSPACE_INITRAMFS, "--out", made, paths.GUEST / "kvstore"], check=True)
    return made


@dataclass(frozen=True)
class Step:
    """Commands; how they end, and what they say."""

    name: str
    script: str
    code: int = 0
    said: str = ""


def told(text: str, name: str) -> float:
    """A number that the store told."""
    return next(float(line.split()[2]) for line in text.splitlines()
                if line.startswith(f"cint-metric {name} "))


def run(boot: Boot, host: vm.Machine, image: Path, *steps: Step) -> dict[str, str]:
    """Do them in one guest, whose controller is the kernel's at first; what each said."""
    jobs = [job(one.name, f"( {one.script} ) >/tmp/out 2>&1; echo $?; cat /tmp/out")
            for one in steps]
    find = "basename $(readlink -f /sys/class/nvme/nvme0/device) > /tmp/address"
    outcome = boot(replace(host, initramfs=image),
                   agent.Plan(jobs=tuple(jobs), setup=(agent.exec_argv(find),)), seconds=600)
    found = {}
    for one in steps:
        code, _, text = str(outcome.results[one.name]["stdout"]).partition("\n")
        assert (int(code), one.said in text) == (one.code, True), (one.name, code, text)
        found[one.name] = text
    return found


@WAYS
def test_verified(boot: Boot, disk: vm.Backend, image: Path, iommu: bool) -> None:
    """Each mode does what it says, and the kernel's driver reads what was written."""
    said = run(
        boot, machine("pointer", "p3700", backend=disk, iommu=iommu), image,
        Step("bind", BIND), Step("load", LOAD),
        *(Step(mode, f"{KV} run --engine=user:{mode} --workload=a --ops=2000 --cache=2m $A")
          for mode in MODES),
        Step("kernel", f"cintio unbind $A; until [ -b /dev/nvme0n1 ]; do sleep .01; done; "
                       f"{KV} check /dev/nvme0n1", said="cint-metric items 8000"))
    for mode in MODES:
        assert told(said[mode], "verified") == 2000
        assert told(said[mode], "audited") == 8000
    assert "cint-metric interrupts" not in said["poll"]
    assert told(said["interrupt"], "ios_per_irq") < 4
    assert told(said["coalesced"], "ios_per_irq") > 8


@WAYS
def test_ends(boot: Boot, disk: vm.Backend, image: Path, iommu: bool) -> None:
    """Who has the controller already, what is too large, and what ends a run in the middle."""
    run(boot, machine("pointer", "p3700", backend=disk, iommu=iommu), image,
        Step("bound", LOAD, 1, "has the kernel's driver nvme, not vfio-pci: cintio bind 0000:"),
        Step("bind", BIND),
        Step("none", f"{KV} check --engine=user:poll $A", 1, "this is no store"),
        Step("large", f"{KV} load --engine=user:poll --records=300000 $A", 1,
             "and the namespace has 268435456; valid: kvstore load with fewer --records"),
        Step("load", LOAD),
        Step("two", BUSY.format("interrupt") + f"sleep 0.2; {KV} check --engine=user:poll $A; "
             "r=$?; kill -9 $!; wait; exit $r", 1, "another process has 0000:"),
        *(Step(f"term-{mode}", BUSY.format(mode) + "sleep 0.3; kill -TERM $!; wait $!", 143)
          for mode in MODES),
        Step("whole", f"{KV} check --engine=user:coalesced $A", said="cint-metric items 8000"),
        *(Step(f"asked-{mode}", BUSY.format(mode) + "sleep 0.3; cintio unbind $A; wait $!; r=$?; "
               "cintio bind $A; exit $r", 1, "the kernel asks for 0000:") for mode in MODES),
        *(Step(f"reset-{mode}", BUSY.format(mode) + "sleep 0.3; "
               "echo 1 >/sys/bus/pci/devices/$A/reset; wait $!", 1, "somebody has reset")
          for mode in MODES),
        Step("again", LOAD, said="cint-metric loaded 8000"))


def test_queue_pairs(boot: Boot, disk: vm.Backend, image: Path) -> None:
    """A worker has one to itself: a controller with one has no second worker."""
    host = replace(machine("pointer", backend=disk, iommu=True),
                   device_opts="max_ioqpairs=1")
    run(boot, host, image, Step("bind", BIND), Step("load", LOAD),
        Step("two", f"{KV} run --engine=user:poll $A", 1, "it has 1 I/O queue pairs, and each "
             "worker needs one; valid: kvstore load with at most --workers=1"),
        Step("one", f"{LOAD.replace('load', 'load --workers=1')}; {KV} run --engine=user:poll "
             "--ops=1000 $A", said="cint-metric damaged 0"))
