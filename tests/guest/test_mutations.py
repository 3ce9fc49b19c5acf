# SPDX-License-Identifier: GPL-2.0-or-later
"""The places that mutations of the kernel and of QEMU change are still there. No guest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import needs_our_kernel


def check(program: str) -> str:
    """What one of the programs that try mutations says of their places."""
    done = subprocess.run([sys.executable, Path(__file__).parents[1] / program, "--check"],
                          text=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_mutation_has_its_place() -> None:
    needs_our_kernel()
    check("guest/mutate.py")


def test_every_mutation_of_the_device_has_its_place() -> None:
    """Those of QEMU's own files, too, whose sources are there when guests are tested."""
    assert "and those have theirs" in check("qtest/mutate.py")
