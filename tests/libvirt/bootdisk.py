# SPDX-License-Identifier: GPL-2.0-or-later
"""A disk that boots by BIOS and by UEFI: GRUB, a kernel and an initramfs in a FAT partition.

What stands for "a disk that a person has". It is made without root and without loop devices.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

SECTOR = 512
#: The first sector of the partition; GRUB's core is in the gap before it, as grub-install has it.
START = 2048
SIZE_MIB = 128
GRUB = Path("/usr/lib/grub")
#: Partition type of an EFI system partition in an MBR.
_ESP = 0xEF
_MODULES = ("part_msdos", "fat", "linux", "normal", "serial", "terminal", "search")

#: What must be on the machine, with its package.
PROGRAMS = {"grub-mkimage": "grub-common", "mformat": "mtools", "mcopy": "mtools"}
FILES = {GRUB / "i386-pc/boot.img": "grub-pc-bin", GRUB / "x86_64-efi": "grub-efi-amd64-bin"}

_CONFIG = """\
serial
terminal_output serial console
search --no-floppy --file /vmlinuz --set=root
linux /vmlinuz {append}
initrd /initramfs
boot
"""


def _run(*words: str | Path) -> None:
    subprocess.run(words, check=True, capture_output=True, text=True)


def _core(directory: Path, platform: str, config: Path) -> Path:
    """GRUB for a platform, with its configuration and modules inside."""
    built = directory / f"{platform}.img"
    more = ["biosdisk"] if platform == "i386-pc" else []
    _run("grub-mkimage", "-O", platform, "-o", built, "-c", config, "-p", "/", *_MODULES, *more)
    return built


def _boot_sector(disk: Path) -> bytes:
    """GRUB's first sector, which loads the next one, with a table of one partition."""
    sector = bytearray((GRUB / "i386-pc/boot.img").read_bytes()[:SECTOR])
    count = disk.stat().st_size // SECTOR - START
    entry = struct.pack("<B3sB3sII", 0x80, b"\xfe\xff\xff", _ESP, b"\xfe\xff\xff", START, count)
    sector[446:510] = entry.ljust(64, b"\0")
    sector[510:512] = b"\x55\xaa"
    return bytes(sector)


def make(disk: Path, kernel: Path, initramfs: Path, append: Sequence[str]) -> None:
    """Write a raw disk; its loader boots the kernel with these options."""
    directory = disk.parent
    config = directory / "grub.cfg"
    config.write_text(_CONFIG.format(append=" ".join(append)), "utf-8")
    with disk.open("wb") as stream:
        stream.truncate(SIZE_MIB << 20)
    core = _core(directory, "i386-pc", config).read_bytes()
    assert len(core) <= (START - 1) * SECTOR
    with disk.open("r+b") as stream:
        stream.write(_boot_sector(disk))
        stream.write(core)
    partition = f"{disk}@@{START * SECTOR}"
    sectors = (SIZE_MIB << 20) // SECTOR - START
    _run("mformat", "-i", partition, "-F", "-T", str(sectors), "-h", "64", "-s", "32", "::")
    _run("mmd", "-i", partition, "::/EFI", "::/EFI/BOOT")
    loader = _core(directory, "x86_64-efi", config)
    for file, name in ((kernel, "vmlinuz"), (initramfs, "initramfs"),
                       (loader, "EFI/BOOT/BOOTX64.EFI")):
        _run("mcopy", "-i", partition, file, f"::/{name}")
