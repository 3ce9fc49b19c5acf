# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint docs`: the documents, built and checked."""

from __future__ import annotations

import argparse

from cint import paths
from cint.build import engine
from cint.errors import EXIT_FAILED, EXIT_OK

TARGETS = ("site", "man", "check", "wrap", "tables", "timelines", "figures")


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the verb does and takes."""
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


def _site() -> int:
    from cint.manual import site  # noqa: PLC0415 - imports all verbs

    print(paths.display(site.build()))
    return EXIT_OK


def _man() -> int:
    from cint.manual import man  # noqa: PLC0415 - imports all verbs

    print(paths.display(man.write()))
    return EXIT_OK


def _check() -> int:
    from cint.manual import documents  # noqa: PLC0415 - imports all verbs

    found = [text for path in documents.documents() for text in documents.problems(path)]
    for text in found:
        print(text)
    return EXIT_FAILED if found else EXIT_OK


def _wrap() -> int:
    from cint.manual import documents, wrap  # noqa: PLC0415 - imports all verbs

    for path in documents.documents():
        if wrap.file(path):
            print(paths.display(path))
    return EXIT_OK


def _tables() -> int:
    from cint.manual import tables  # noqa: PLC0415 - the others do without

    for path in tables.write():
        print(paths.display(path))
    return EXIT_OK


def _figures() -> int:
    from cint import bootstrap  # noqa: PLC0415 - only drawings need the packages
    from cint.figures import stored  # noqa: PLC0415 - imports all figures

    bootstrap.ensure("plots")
    for path in stored.write(stored.in_tree()):
        print(paths.display(path))
    stored.write(stored.pages(stored.PAGES))
    print(paths.display(stored.PAGES))
    return EXIT_OK


def _timelines() -> int:
    from cint.manual import timelines  # noqa: PLC0415 - the others do without

    engine.build_replay()
    for path in timelines.write(paths.REPLAY_ALONE):
        print(paths.display(path))
    return EXIT_OK


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    return {"site": _site, "man": _man, "check": _check, "wrap": _wrap, "tables": _tables,
            "timelines": _timelines, "figures": _figures}[args.what]()
