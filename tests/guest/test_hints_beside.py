# SPDX-License-Identifier: GPL-2.0-or-later
"""The hints module beside somebody else's, whose end function has the name of device mapper's."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import release
from conftest import log_root
from marks import BDEV, Marks, counters, hint_machine, hintio, names, sent, since
from serving import Guest, serving
from test_hints_module import load

from cint import paths, steps
from cint.build import hints as module
from cint.guest import hints, kinds

#: Its taint is the kernel's to say.
ALLOWED = (r"(cint_hints|impostor): loading out-of-tree module",)
IMPOSTOR = Path(__file__).with_name("impostor")


def impostor() -> bytes:
    """That module for the distribution's kernel, built as the hints module is."""
    release.build_module()
    _, version = release.kernel()
    with steps.step("impostor", "Build a module with another's name") as step:
        place = module.compile_module(step, version, [*IMPOSTOR.iterdir(),
                                                      paths.GUEST_MODULE / "Makefile"])
    subprocess.run(["strip", "--strip-debug", place / "impostor.ko"], check=True)
    return (place / "impostor.ko").read_bytes()


@pytest.fixture(scope="module")
def guest() -> Iterator[Guest]:
    """The distribution's kernel with device mapper, the hints module, and the other one's file."""
    with steps.build_lock():
        others = impostor()
    machine = kinds.dress(hint_machine(), "distro", hints.MODULE)
    with serving(machine, log_root() / "hints-beside", kinds.BOOT_LIMIT_S, ALLOWED) as running:
        running.shell("for m in $(cat /lib/modules/more-order); do insmod $m || true; done;"
                      f"{names(1)}")
        running.write_file("/tmp/impostor.ko", others)
        load(running)
        yield running


def test_an_end_function_of_anothers_name(guest: Guest) -> None:
    """Nothing of its bios is read as if they were device mapper's; what others send is marked."""
    before = counters(guest)
    guest.shell(f"insmod /tmp/impostor.ko disk=$(readlink {BDEV})")
    assert since(guest, before) == Marks(1)
    guest.shell("rmmod impostor")
    assert sent(guest, hintio("--api=pread --count=16")) == Marks(urgent=16)
