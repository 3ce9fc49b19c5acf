# SPDX-License-Identifier: GPL-2.0-or-later
"""A plugin of pytest: the tests of cint-replay, with one that has a mutant in it."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from cint import paths

paths.REPLAY = Path(os.environ["CINT_MUTANT_PLACE"]) / "cint-replay"
