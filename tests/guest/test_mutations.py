# SPDX-License-Identifier: GPL-2.0-or-later
"""The places that mutations of the kernel and of QEMU change are still there. No guest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import needs_our_kernel


def check(*words: str) -> None:
    """One of the programs that try mutations finds all their places."""
    program, *options = words
    done = subprocess.run([sys.executable, Path(__file__).parents[1] / program, *options],
                          text=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_mutation_has_its_place() -> None:
    needs_our_kernel()
    check("mutants/kernel.py", "--check")


def test_every_mutation_of_the_device_has_its_place() -> None:
    """Those of QEMU's own files, too, whose sources are there when guests are tested."""
    check("mutants/device.py", "--check-tree")
