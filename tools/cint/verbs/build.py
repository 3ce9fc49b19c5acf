# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint build`: bring what was edited up to date."""

import argparse

from cint import units
from cint.build import setup
from cint.errors import UsageError


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "build", help="build again after an edit (QEMU, kernel, guest image, engine)",
        description="Build what changed. Without TARGET everything is brought up to date.",
    )
    parser.add_argument("target", nargs="*", metavar="TARGET",
                        help=f"one or more of: {', '.join((*setup.TARGETS, *setup.OPTIONAL))}")
    setup.add_force(parser)


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    known = (*setup.TARGETS, *setup.OPTIONAL)
    unknown = sorted(set(args.target) - set(known))
    if unknown:
        raise UsageError(f"there is no target {unknown[0]!r} to build"
                         f"{units.suggestion(unknown[0], known)}",
                         hint=f"targets: {', '.join(known)}")
    setup.ensure(args, tuple(args.target) or setup.TARGETS)
    return 0
