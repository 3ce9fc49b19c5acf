# SPDX-License-Identifier: GPL-2.0-or-later
"""Wraps the prose of a document: paragraphs and list items with a line that is too long."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from cint.manual import documents

#: What begins something else where it stands first in a line.
_BEGINS = re.compile(r"([#>|+*-]|\d+[.)]|[=-]+$)")


def _fill(words: str, width: int, first: str, others: str) -> list[str]:
    return textwrap.wrap(words, width, initial_indent=first, subsequent_indent=others,
                         break_long_words=False, break_on_hyphens=False)


def paragraph(lines: list[str]) -> list[str]:
    """A paragraph or list item, wrapped where one of its lines is too long."""
    if all(len(line) <= documents.WIDTH for line in lines):
        return lines
    marker = re.match(r"\s*(?:(?:[*+-]|\d+\.)\s+)?", lines[0])
    first = marker[0] if marker else ""
    words = " ".join([lines[0][len(first):], *(line.strip() for line in lines[1:])])
    for width in range(documents.WIDTH, documents.WIDTH - 40, -1):
        found = _fill(words, width, first, " " * len(first))
        if not any(_BEGINS.match(line.strip()) for line in found[1:]):
            return found
    return lines


def text(before: str) -> str:
    """A document with its prose wrapped; everything else as it was."""
    lines = before.splitlines()
    for block in reversed([b for b in documents.blocks(before) if b.kind == "prose"]):
        old = block.text.split("\n")
        lines[block.line - 1:block.line - 1 + len(old)] = paragraph(old)
    return "\n".join(lines) + "\n"


def file(path: Path) -> bool:
    """Wrap a file; whether that changed it."""
    before = path.read_text(encoding="utf-8")
    after = text(before)
    if after != before:
        path.write_text(after, encoding="utf-8")
    return after != before
