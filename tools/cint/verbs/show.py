# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint show`: print the table of a comparison again, or make its page."""

from __future__ import annotations

import argparse
import json

from cint import bootstrap, paths
from cint.errors import EXIT_OK, UsageError
from cint.results import documents, library, printing, webpage


def declare(parser: argparse.ArgumentParser) -> None:
    parser.description = "Print what ./cint compare printed, from its results."
    parser.add_argument("which", metavar="RESULTS", nargs="?", default="latest",
                        help="a directory, a name of ./cint results or its beginning, a label "
                             "(default: latest)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print results.json instead")
    form.add_argument("--html", action="store_true",
                      help="make report.html again, and print its path")


def run(args: argparse.Namespace) -> int:
    where = library.find(args.which)
    document = documents.load(where)
    if args.html:
        if not where.is_dir():
            raise UsageError(f"--html: {paths.display(where)} is no results directory")
        bootstrap.ensure()
        print(paths.display(webpage.write(document, where)))
    elif args.json:
        print(json.dumps(document, indent=1))
    else:
        printing.print_table(document, where.resolve() if where.is_dir() else where.parent)
    return EXIT_OK
