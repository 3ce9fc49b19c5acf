# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint docs`: the documents, built and checked."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from cint import paths
from cint.build import engine
from cint.errors import EXIT_FAILED, EXIT_OK

TARGETS = ("site", "man", "check", "wrap", "tables", "timelines", "figures")


def declare(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Build the documents of docs/, and print the path of what to open; or check "
        "them.")
    parser.epilog = (
        "  site       the pages, every option and a search (installs Sphinx in\n"
        "             build/venv)\n"
        "  man        the manual page, from the options of all verbs\n"
        "  check      that links, commands, options, properties, files, tests and trace\n"
        "             events that the documents name exist, and that their prose is\n"
        "             wrapped; exit code 1 otherwise\n"
        "  wrap       wrap paragraphs that are too wide\n"
        "  tables     write the tables of parameters, media and scales again, from the\n"
        "             device's own lists, and results.schema.json from the records of\n"
        "             results.json\n"
        "  timelines  draw again what each policy does (docs/images/timelines)\n"
        "  figures    make the figures' pages and drawings (build/docs/figures) from the\n"
        "             numbers that are stored in docs/figures, and docs/figures.md with\n"
        "             the drawings that documents show; no guest runs")
    parser.add_argument("what", nargs="?", choices=TARGETS, default="site", metavar="WHAT",
                        help=f"{', '.join(TARGETS)} (default: site)")


def _made(what: str) -> Iterable[Path]:
    """Make it; the places of what is new."""
    # All verbs and all figures are behind these, which other verbs' help does not wait for.
    from cint.manual import documents, man, site, tables, timelines, wrap  # noqa: PLC0415

    if what == "timelines":
        engine.build_replay()
    return {"site": lambda: [site.build()], "man": lambda: [man.write()],
            "wrap": lambda: filter(wrap.file, documents.documents()), "tables": tables.write,
            "timelines": lambda: timelines.write(paths.REPLAY_ALONE), "figures": _figures}[what]()


def _figures() -> Iterable[Path]:
    from cint import bootstrap  # noqa: PLC0415
    from cint.figures import stored  # noqa: PLC0415

    bootstrap.ensure("plots")
    yield from stored.write(stored.in_tree())
    stored.write(stored.pages(stored.PAGES))
    yield stored.PAGES


def _problems() -> int:
    from cint.manual import documents  # noqa: PLC0415

    found = [text for path in documents.documents() for text in documents.problems(path)]
    for text in found:
        print(text)
    return EXIT_FAILED if found else EXIT_OK


def run(args: argparse.Namespace) -> int:
    if args.what == "check":
        return _problems()
    for path in _made(args.what):
        print(paths.display(path))
    return EXIT_OK
