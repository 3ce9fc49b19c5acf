# SPDX-License-Identifier: GPL-2.0-or-later
"""The options that say where runs come from: the store, other machines."""

from __future__ import annotations

import argparse
import re

from cint import units
from cint.errors import UsageError
from cint.measure import runner
from cint.measure.settings import MAX_SEED


def add_store_options(parser: argparse.ArgumentParser) -> None:
    """Add the options on the store of runs (measure.store), for all verbs that use it.

    --full and --full-seed are for those who work on cint: docs/compare.md has them, no help.
    """
    parser.add_argument("--fresh", action="store_true",
                        help="take no run from the store, where those of virtual time are kept; "
                             "one that is there has to come out the same")
    parser.add_argument("--full", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--full-seed", metavar="N", type=units.count(0, MAX_SEED, "--full-seed"),
                        help=argparse.SUPPRESS)


#: A Dask scheduler's: how it is reached, host, port.
ADDRESS = re.compile(r"(tcp|tls)://(\[[0-9a-fA-F:]+\]|[^\s:/]+):([0-9]{1,5})")


def address(text: str, option: str = "") -> str:
    """A scheduler's address, as it was typed; :class:`UsageError` where it is none."""
    found = ADDRESS.fullmatch(text)
    if not found or not 0 < int(found[3]) < 1 << 16:
        raise UsageError(f"{f'{option} {text}'.strip()}: not an address; give tcp://HOST:PORT or "
                         "tls://HOST:PORT")
    return text


def add_cluster_option(parser: argparse.ArgumentParser) -> None:
    """Where runs run, for all verbs that boot guests to measure them."""
    parser.add_argument("--cluster", metavar="ADDRESS", default="",
                        help="run the guests on the workers of this Dask scheduler "
                             "(tcp://HOST:PORT or tls://HOST:PORT); ./cint worker starts them, see "
                             "docs/cluster.md")


def check(args: argparse.Namespace) -> None:
    """Refuse, by :class:`UsageError`, what says nothing, before anything is built."""
    if args.full_seed is not None and not args.full:
        raise UsageError("--full-seed: only with --full, which draws what is run again")
    if args.cluster:
        address(args.cluster, "--cluster")


def reuse_from(args: argparse.Namespace) -> runner.Reuse:
    """The use of the store that these options ask for."""
    return runner.Reuse.of(fresh=args.fresh, full=args.full, seed=args.full_seed)
