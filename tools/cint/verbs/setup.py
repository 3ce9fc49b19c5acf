# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint setup`: what the other verbs do by themselves when it is needed."""

import argparse
import time

from cint import ui
from cint.build import setup


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "setup", help="install what is needed, get the sources, build everything",
        description="Install the packages needed, get the sources of QEMU, Linux and fio, "
        "patch and build them and make the guest image. What is done already is not done again; "
        "an interrupted set-up goes on where it stopped.",
    )
    setup.add_force(parser)


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    started = time.monotonic()
    worked = setup.ensure(args)
    took = ui.duration(time.monotonic() - started)
    ui.info(f"set up ({took})" if worked else f"everything is up to date ({took})")
    return 0
