# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of the documents that say what the device's lists say, made from those lists; and the
schema of results.json, made from measure/records.py.

The lists are hw/nvme/coalesce/param-list.h and policy-list.h, hw/nvme/model/media-list.h,
hw/nvme/cint-abi.h and device/scale.py; what to choose is from the numbers in docs/figures.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cint import paths
from cint.device import params, properties, queueconfig, scale, words
from cint.errors import CintError
from cint.manual import choice, reference, schema

DOCS = paths.ROOT / "docs"


@dataclass(frozen=True)
class Table:
    """A table of a document: the first one behind ``after``, a text that is there once."""

    document: str
    after: str
    make: Callable[[], str]


TABLES = (
    Table("user-guide.md", "by whatever verb needs it.\n", reference.verbs),
    Table("compare.md", "as `./cint compare --help` is.\n", partial(reference.options, "compare")),
    Table("choose.md", "with [a file of rules](preload.md).\n",
          partial(choice.table, choice.HINTS)),
    Table("choose.md", "the device sees a guest without hints.)\n",
          partial(choice.table, choice.NO_HINTS)),
    Table("choose.md", "## Do not interrupt at all\n", partial(choice.table, choice.POLLED)),
    Table("interface.md", "### The parameters of the policies\n", params.as_markdown),
    Table("interface.md", "### The media profiles\n", properties.media_as_markdown),
    Table("interface.md", "**D0h, the configuration of a completion queue.**",
          queueconfig.as_markdown),
    Table("policies.md", "The words, with what they set and take:\n", words.as_markdown),
    Table("scaling.md", "## The table\n", scale.as_markdown),
)
_ROWS = re.compile(r"^\|.*\n(?:\|.*\n)*", re.MULTILINE)


def put(text: str, table: Table) -> str:
    """The document with the table as it should be; CintError where it has no place for it."""
    place = _ROWS.search(text, text.find(table.after)) if text.count(table.after) == 1 else None
    if place is None:
        raise CintError(f"docs/{table.document} has no table behind '{table.after.strip()}'",
                        hint="say in tools/cint/manual/tables.py where it is")
    return text[:place.start()] + table.make() + text[place.end():]


def current(path: Path) -> str:
    """The text that a document should have."""
    text = path.read_text("utf-8")
    for table in TABLES:
        if table.document == path.name:
            text = put(text, table)
    return text


def write() -> list[Path]:
    """Write the documents whose tables were not as they should be, and return those."""
    changed = []
    for path in sorted({DOCS / table.document for table in TABLES}):
        text = current(path)
        if text != path.read_text("utf-8"):
            path.write_text(text, "utf-8")
            changed.append(path)
    if schema.FILE.read_text("utf-8") != schema.as_text():
        schema.FILE.write_text(schema.as_text(), "utf-8")
        changed.append(schema.FILE)
    return changed
