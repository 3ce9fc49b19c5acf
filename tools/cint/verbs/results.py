# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint results`: list what ./cint compare has left in results/, remove it, label it."""

from __future__ import annotations

import argparse
import json
import shutil

from cint import paths, ui
from cint.errors import EXIT_OK, UsageError
from cint.results import documents, library, unfinished


def declare(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "List what ./cint compare has left in results/, the newest first: name, "
        "label, policies x workloads (x boots), time, and the version that made them. A name is "
        "that, its beginning, or a label.")
    parser.add_argument("action", nargs="?", choices=("rm", "rename"), metavar="rm|rename",
                        help="rm NAME...: remove these; rename NAME LABEL: give it another label")
    parser.add_argument("names", nargs="*", metavar="NAME", help="which")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def _remove(names: list[str]) -> None:
    """Remove results, all of them or none."""
    if not names:
        raise UsageError("results rm: which? ./cint results lists them")
    places = {library.alone(name) for name in names}
    for place in places:
        if unfinished.being_made(place):
            raise UsageError(f"results rm {place.name}: another cint is making these results just "
                             "now")
    for place in places:
        shutil.rmtree(place)
        ui.info(f"removed: {paths.display(place)}")
    latest = paths.RESULTS / "latest"
    if latest.is_symlink() and not latest.exists():
        latest.unlink()
        left = [entry.path for entry in library.entries() if entry.document is not None]
        if left:
            documents.point_latest(left[0])


def _rename(names: list[str]) -> None:
    """Give results another label."""
    if len(names) != 2:
        raise UsageError("results rename: a name and the new label, as in "
                         "./cint results rename latest before")
    place = library.own(names[0])
    document = documents.load(place)
    document["label"] = names[1]
    documents.write_json(place, document)


def run(args: argparse.Namespace) -> int:
    if args.action and args.json:
        raise UsageError(f"results {args.action}: --json is of the list")
    if args.action:
        (_remove if args.action == "rm" else _rename)(args.names)
        return EXIT_OK
    found = library.entries()
    if args.json:
        print(json.dumps([entry.as_dict() for entry in found], indent=1))
    elif found:
        print("\n".join(library.format_lines(found)))
        for entry in found:
            if entry.command and unfinished.has_runs(entry.path):
                ui.info(f"{entry.name} goes on with: {entry.command}")
            elif entry.command:
                ui.info(f"{entry.name}: no run of it has ended; ./cint results rm {entry.name} "
                        "removes it")
    else:
        ui.info(f"there are no results in {paths.display(paths.RESULTS)}")
    return EXIT_OK
