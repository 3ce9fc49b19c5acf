# SPDX-License-Identifier: GPL-2.0-or-later
"""Asks programs and files that may have nothing to say."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def run(argv: Sequence[str | Path], **more: Any) -> "subprocess.CompletedProcess[str]":
    """Run a command for what it prints, whatever its exit code; ``more`` as subprocess has it."""
    return subprocess.run(argv, capture_output=True, text=True, check=False, **more)


def json_of(path: Path) -> dict[str, Any]:
    """The object in a file of JSON; an empty one where there is none that can be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
