# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint docs`: the documents, built and checked."""

from __future__ import annotations

import argparse

from cint import paths
from cint.errors import EXIT_OK

TARGETS = ("man",)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "docs", help="build the documents",
        description="Build the documents of docs/, and print the path of what to open.")
    parser.add_argument("what", nargs="?", choices=TARGETS, default="man", metavar="WHAT",
                        help="man: the manual page, from the options of all verbs")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    from cint.manual import man  # noqa: PLC0415 - imports all verbs

    print(paths.display(man.write()))
    return EXIT_OK
