#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""./cint as a process of its own, with a program that stands in for QEMU.

The first argument is a directory for all that is made, the others are the command line.
"""

import dataclasses
import signal
import sys
from pathlib import Path
from typing import Any

from cint import cli, host, paths
from cint.build import setup
from cint.guest import kinds, vm
from cint.measure import plan

LIMIT_S = 200.0
FAKE = Path(__file__).with_name("fake_qemu.py")


def main(directory: Path, words: list[str]) -> int:
    """Point everything below the directory, and run the command."""
    build = directory / "build"
    for name, path in (("BUILD", build), ("LOGS", build / "logs"), ("STAMPS", build / "stamps"),
                       ("LOCK", build / "lock"), ("RESULTS", directory / "results"),
                       ("RUNS", directory / "runs"), ("FIRMWARE_DIRS", (directory,)),
                       ("QEMU", FAKE), ("KERNEL", FAKE), ("INITRAMFS", FAKE)):
        setattr(paths, name, path)
    for name in (*plan.FIRMWARE, *plan.ENTRY.values()):
        (directory / name).write_text(name, "utf-8")
    plain = kinds.dress

    def dress(*given: Any, **more: Any) -> vm.Machine:
        return dataclasses.replace(plain(*given, **more), qemu=FAKE, kernel=FAKE, initramfs=FAKE)

    replaced: list[tuple[Any, str, Any]] = [
        (kinds, "dress", dress), (setup, "ensure", lambda *_, **__: False),
        (host, "choose_accel", lambda **_: host.Accel("tcg", "max", "it is a test"))]
    for module, name, value in replaced:
        setattr(module, name, value)
    # A shell's job in the background has it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # However slow the machine is.
    vm.EXIT_LIMIT_S = LIMIT_S
    return cli.main(words)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
