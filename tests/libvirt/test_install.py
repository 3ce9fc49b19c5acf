# SPDX-License-Identifier: GPL-2.0-or-later
"""The QEMU of ./cint install: what it has, that it may be moved, that it is removed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from cint.build import install


def help_of(prefix: Path, option: str) -> set[str]:
    """The words of QEMU's own list for an option."""
    done = subprocess.run([prefix / install.PROGRAM, option, "help"], capture_output=True,
                          text=True, check=True)
    return {word.strip('",') for word in done.stdout.split()}


def test_it_has_the_displays_and_backends_that_people_use(prefix: Path) -> None:
    assert {"gtk", "curses", "egl-headless", "spice-app"} <= help_of(prefix, "-display")
    assert {"pa", "alsa", "spice"} <= help_of(prefix, "-audiodev")
    assert {"user", "tap", "vhost-user", "vhost-vdpa"} <= help_of(prefix, "-netdev")
    assert {"qxl-vga", "virtio-vga-gl", "usb-host", "usb-redir", "virtio-9p-pci",
            "vhost-user-fs-pci", "nvme"} <= help_of(prefix, "-device")


def test_it_may_be_moved(prefix: Path, tmp_path: Path) -> None:
    moved = tmp_path / "else where"
    shutil.copytree(prefix, moved)
    done = subprocess.run([moved / install.PROGRAM, "-L", "help"], capture_output=True, text=True,
                          check=True)
    # It says bin/../share/qemu.
    assert moved / install.DATA in {Path(line).resolve() for line in done.stdout.splitlines()}
    assert str(prefix) not in done.stdout
    for name in ("bios-256k.bin", "edk2-x86_64-code.fd", "edk2-i386-vars.fd", "efi-virtio.rom"):
        assert (moved / install.DATA / name).is_file()
    # Firmware runs from there: the machine's own is not looked at.
    done = subprocess.run([moved / install.PROGRAM, "-machine", "q35", "-display", "none",
                           "-nodefaults", "-accel", "tcg", "-S", "-monitor", "stdio"],
                          input="info roms\nquit\n", capture_output=True, text=True, check=True)
    assert "bios-256k.bin" in done.stdout
    assert install.remove(moved) == []
    assert not moved.exists()
