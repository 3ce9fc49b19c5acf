# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint patches`: check the patch series, or make one again from a git tree."""

import argparse

from cint.build import series
from cint.errors import UsageError


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "patches", help="check the patch series, or make one again from a git tree",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="check: that each series applies to its source without fuzz; with --linux-src\n"
        "or --qemu-src DIR, to that tree.\n"
        "refresh: write the series again from the commits of a git tree, named by the same\n"
        "options. The tree must be clean; its commits since the base are the series.",
    )
    parser.add_argument("what", choices=("check", "refresh"), metavar="check|refresh")
    parser.add_argument("--base", metavar="REV",
                        help="refresh: the commit that the series is based on "
                             "(default: the last tag of that version before HEAD)")
    parser.add_argument("--series", metavar="NAME",
                        help="refresh: which series of that source, as its directory is called "
                             "(default: the device's and the guest's)")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    if args.what == "refresh":
        return series.refresh(args)
    for option in ("base", "series"):
        if getattr(args, option):
            raise UsageError(f"--{option}: only with refresh")
    return series.check(args)
