# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint install`: a QEMU with the device, for a person's own machines."""

import argparse
import shutil
from pathlib import Path

from cint import ui
from cint.build import install, setup
from cint.errors import EXIT_OK, UsageError


def declare(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Build QEMU with the device and with the displays, disks and networks that\n"
        "people use (the QEMU that measures has none of them), and install it with its firmware.\n"
        "The directory may be moved afterwards; share/cint/install.json in it lists all files.\n"
        "Standard output is the path of the program.")
    parser.add_argument("--prefix", metavar="DIR", type=Path, required=True,
                        help="where bin/, share/ and the rest go")
    parser.add_argument("--remove", action="store_true",
                        help="remove what was installed there, except what was changed since")
    setup.add_force(parser, "; also replace files in DIR that are not ours")


def run(args: argparse.Namespace) -> int:
    if not str(args.prefix):
        raise UsageError("--prefix: which directory?")
    prefix = args.prefix.expanduser().absolute()
    if args.remove:
        left = install.remove(prefix)
        for name in left:
            ui.warn(f"{prefix / name} was changed since, and is left")
        ui.info(f"removed from {prefix}")
        return EXIT_OK
    install.check_prefix(prefix)
    setup.ensure(args, ("qemu-install",))
    installed = install.install(prefix, bool(args.force))
    ui.info(f"{installed.version} with the device; ./cint libvirt --prefix {args.prefix} prints a "
            "domain for it")
    _tell_of_another(prefix)
    print(prefix / install.PROGRAM)
    return EXIT_OK


def _tell_of_another(prefix: Path) -> None:
    """Which program the bare name starts, if that is another one."""
    found = shutil.which(install.PROGRAM.name)
    if found and Path(found).resolve() != (prefix / install.PROGRAM).resolve():
        ui.info(f"{install.PROGRAM.name} without a path is still {found}")
