# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint patches`: check the patch series, make one from a git tree, or a branch of one."""

import argparse
from pathlib import Path

from cint import paths, steps
from cint.build import export, patches, series, series_build, setup
from cint.errors import EXIT_OK, UsageError


def declare(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "check: that each series applies to its source without fuzz; with --linux-src\n"
        "or --qemu-src DIR, to that tree.\n"
        "refresh: write the series again from the commits of a git tree, named by the same\n"
        "options. The tree must be clean; its commits since the base are the series.\n"
        "cover: have the cover letters of QEMU's series for upstream say which patches follow and\n"
        "what they change, as refresh does, after an edit by hand.\n"
        "export: make a git branch of a series in DIR, with our own files as commits, to read,\n"
        "bisect and mail. It begins at the distribution's source, or at --base in the clone\n"
        "that --linux-src or --qemu-src names, which is only read.\n"
        "check --build: also compile the guest's series patch by patch, with hints on and off,\n"
        "and look at it with sparse. What has not changed since the last time is not done again.")
    parser.add_argument("what", choices=("check", "refresh", "cover", "export"),
                        metavar="check|refresh|cover|export")
    parser.add_argument("directory", nargs="?", metavar="DIR", type=Path,
                        help="export: a new or empty directory")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--qemu", action="store_const", dest="package", const="qemu",
                       help="export: QEMU's series")
    which.add_argument("--linux", action="store_const", dest="package", const="linux",
                       help="export: the guest kernel's series")
    parser.add_argument("--base", metavar="REV",
                        help="refresh, export: the commit that the series is based on "
                             "(default: the last tag of that version before HEAD)")
    parser.add_argument("--series", metavar="NAME",
                        help="refresh, export: which series of that source, by its directory "
                             "(default: the device's and the guest's)")
    parser.add_argument("--from", dest="sender", metavar="'NAME <MAIL>'",
                        help="export: who sends the series: author and Signed-off-by of what is "
                             "the project's, Signed-off-by of patches by others")
    parser.add_argument("--build", action="store_true",
                        help="check: compile what each patch of the guest's series touches")


def _check_export(args: argparse.Namespace) -> None:
    if args.directory is None:
        raise UsageError("patches export: into which directory?",
                         hint="./cint patches export DIR --qemu, or --linux")
    if args.package is None:
        raise UsageError("patches export: which series?", hint="say --qemu or --linux")
    series.choose(args.package, args.series)
    export.check_place(args.directory)
    if args.sender is not None:
        export.parse_sender(args.sender)


def check(args: argparse.Namespace) -> None:
    """Refuse, by UsageError, what does not go together, before anything is fetched for it."""
    if args.build and args.what != "check":
        raise UsageError("--build: only with check")
    if args.what == "export":
        _check_export(args)
        return
    if args.directory is not None or args.package is not None:
        raise UsageError(f"patches {args.what}: a directory, --qemu and --linux are for export")
    if args.sender is not None:
        raise UsageError("--from: only with export")
    for option in ("base", "series"):
        if args.what != "refresh" and getattr(args, option):
            raise UsageError(f"--{option}: only with refresh and export")


def _export(args: argparse.Namespace) -> int:
    chosen = series.choose(args.package, args.series)
    sender = export.parse_sender(args.sender) if args.sender is not None else None
    export.export(chosen, args.directory.resolve(), chosen.own(args), args.base, sender)
    return EXIT_OK


def run(args: argparse.Namespace) -> int:
    check(args)
    setup.ensure(args, (), ("sources", "series") if args.build else ("sources",))
    if args.what == "export":
        return _export(args)
    if args.what == "refresh":
        return series.refresh(args)
    if args.what == "cover":
        return series.write_covers()
    code = series.check(args)
    if args.build:
        with steps.build_lock():
            series_build.check(patches.read_series(paths.GUEST_PATCHES), setup.jobs(args))
    return code
