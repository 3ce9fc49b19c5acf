# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint results`: list what ./cint compare has left in results/."""

from __future__ import annotations

import argparse
import json

from cint import paths, ui
from cint.errors import EXIT_OK
from cint.results import library


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "results", help="list the results of ./cint compare",
        description="List what ./cint compare has left in results/, the newest first: name, "
        "label, policies x workloads (x boots), time, and the version that made them.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    found = library.entries()
    if args.json:
        print(json.dumps([entry.as_dict() for entry in found], indent=1))
    elif found:
        print("\n".join(library.format_lines(found)))
        for entry in found:
            if entry.command:
                ui.info(f"{entry.name} goes on with: {entry.command}")
    else:
        ui.info(f"there are no results in {paths.display(paths.RESULTS)}")
    return EXIT_OK
