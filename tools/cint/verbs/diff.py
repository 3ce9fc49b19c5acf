# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint diff`: two comparisons side by side."""

from __future__ import annotations

import argparse
import json
import sys

from cint import ui
from cint.errors import EXIT_OK, UsageError
from cint.results import difference, documents, library, table


def declare(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Print what was different about two comparisons (parameters, versions), and "
        "for each policy and workload that both have: the first one's value, the second one's, "
        "and the change. A name is a directory, a name of ./cint results or its beginning, or a "
        "label.")
    parser.add_argument("one", metavar="A", help="the results that the others are compared with")
    parser.add_argument("two", metavar="B", nargs="?", default="latest",
                        help="the others (default: latest)")
    parser.add_argument("--changed", action="store_true",
                        help="only rows in which a value has changed by more than "
                             f"{100 * difference.NOTABLE:g} %%, beyond what repeats differ by")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    places = [library.find(args.one).resolve(), library.find(args.two).resolve()]
    if places[0] == places[1]:
        raise UsageError(f"{args.one} and {args.two} are the same results: {places[0].name}",
                         hint="./cint results lists those that there are")
    one, two = (documents.load(place) for place in places)
    found = difference.between(one, two)
    if args.changed:
        found["rows"] = [row for row in found["rows"] if difference.is_changed(row)]
    if args.json:
        print(json.dumps({"one": str(places[0]), "two": str(places[1])} | found, indent=1))
        return EXIT_OK
    names = tuple(str(d.get("label") or p.name) for d, p in zip((one, two), places, strict=True))
    paint = ui.paint if sys.stdout.isatty() else table.plain
    print("\n".join(difference.format_lines(found, (names[0], names[1]), paint)).lstrip("\n"))
    return EXIT_OK
