# SPDX-License-Identifier: GPL-2.0-or-later
"""The options that say which policy: the same words, with the same meaning, in every verb."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

from cint import ui
from cint.device import properties, words

#: A number of a policy's parameter that has no unit.
_BARE = re.compile(r"([\w-]+)=([0-9]+)(?=,|$)")
#: Times that are longer are not taken for another unit's, ns.
_SHORT_NS = 1000


def remark_units(text: str | None) -> None:
    """Warn of times without a unit that are so short that another one may have been meant."""
    for word, number in _BARE.findall(text or ""):
        own = words.BY_PROPERTY.get(f"cint.{word}")
        if own is not None and own.unit == "ns" and 0 < int(number) < _SHORT_NS:
            ui.warn(f"{word}={number} is {number} ns; with a unit: {word}={number}us")


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
