# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint build`: what the other verbs do by themselves when it is needed."""

import argparse

from cint import ui, units
from cint.build import setup
from cint.errors import UsageError


def declare(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Install the packages needed, get the sources of QEMU, Linux and fio, patch "
        "and build them, and make the guest image. What is up to date is left alone; after an "
        "edit the parts that depend on it are built again; what was interrupted goes on where it "
        "stopped.")
    parser.add_argument("target", nargs="*", metavar="TARGET",
                        help=f"one or more of: {', '.join((*setup.TARGETS, *setup.OPTIONAL))}")
    setup.add_force(parser)


def run(args: argparse.Namespace) -> int:
    known = (*setup.TARGETS, *setup.OPTIONAL)
    unknown = sorted(set(args.target) - set(known))
    if unknown:
        raise UsageError(f"there is no target {unknown[0]!r} to build"
                         f"{units.suggestion(unknown[0], known)}",
                         hint=f"targets: {', '.join(known)}")
    if not setup.ensure(args, tuple(args.target) or setup.TARGETS):
        ui.info("everything is up to date")
    return 0
