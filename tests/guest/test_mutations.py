# SPDX-License-Identifier: GPL-2.0-or-later
"""The places that the kernel's mutations change are still there. No guest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import needs_our_kernel


def test_every_mutation_has_its_place() -> None:
    needs_our_kernel()
    program = Path(__file__).with_name("mutate.py")
    done = subprocess.run([sys.executable, program, "--check"], text=True, capture_output=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
