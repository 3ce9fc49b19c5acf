# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint completion`: print the completion of a shell."""

from __future__ import annotations

import argparse

from cint.errors import EXIT_OK

#: Those of manual.completion, which is imported when one is printed.
SHELLS = ("bash", "zsh", "fish")


def declare(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Print the completion of a shell. Put it where the shell looks for it, and "
        "open a new one. It works for `cint` and for `./cint`, and is made again "
        "when the options change.")
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL",
                        help=f"one of {', '.join(SHELLS)}")


def run(args: argparse.Namespace) -> int:
    # All verbs are imported for it.
    from cint.manual import commands, completion  # noqa: PLC0415

    print(completion.SHELLS[args.shell](commands.commands()), end="")
    return EXIT_OK
