# SPDX-License-Identifier: GPL-2.0-or-later
"""The places that the mutants of the device, the engine and the driver change are still there."""

import subprocess
import sys

import pytest

from cint import paths


@pytest.mark.parametrize("program", ["tests/unit/mutate.py", "tests/qtest/mutate.py"])
def test_every_mutant_has_its_place(program: str) -> None:
    done = subprocess.run([sys.executable, paths.ROOT / program, "--check"], text=True,
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
