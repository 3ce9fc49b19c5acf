# SPDX-License-Identifier: GPL-2.0-or-later
"""The options that say which policy: the same words, with the same meaning, in every verb."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from cint.device import properties


class _Join(argparse.Action):
    """Several --policy make one list."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace,
                 values: object, option_string: str | None = None) -> None:
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, values if before is None else f"{before},{values}")


def add(parser: argparse.ArgumentParser, policies: str, old: Sequence[str] = (),
        extras: str = properties.DEFAULT_EXTRAS) -> None:
    """Add --policy (None unless typed; ``policies`` is what to say of it) and --extras.

    ``old`` are further values of --extras that the verb still takes, ``extras`` its default.
    """
    parser.add_argument("--policy", metavar="LIST", action=_Join, help=policies)
    parser.add_argument(
        "--extras", choices=(*properties.EXTRAS, *old), default=extras,
        metavar="|".join(properties.EXTRAS),
        help="what goes on beside the policy. papers: no drain, no max-hold, our kernel's marks "
             "literal, as in the papers' figures; device: as device and kernel have them "
             "(default: %(default)s). Either yields to what is typed with the policy")
