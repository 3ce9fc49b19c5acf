# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint report`: make report.html again from a results directory."""

from __future__ import annotations

import argparse
from pathlib import Path

from cint import paths
from cint.errors import EXIT_OK, UsageError
from cint.results import documents, webpage


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "report", help="make report.html again from a results directory",
        description="Make report.html again from results.json, and print its path.")
    parser.add_argument("directory", metavar="DIR", type=Path, nargs="?",
                        default=paths.RESULTS / "latest",
                        help="a results directory of ./cint compare (default: results/latest)")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    if not (args.directory / "results.json").is_file():
        raise UsageError(f"{paths.display(args.directory)}: there is no results.json in it",
                         hint="./cint compare makes such directories, ./cint results lists them")
    print(paths.display(webpage.write(documents.load(args.directory), args.directory)))
    return EXIT_OK
