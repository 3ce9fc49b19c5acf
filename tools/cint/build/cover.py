# SPDX-License-Identifier: GPL-2.0-or-later
"""The cover letters of the series that could be mailed, in the form of git format-patch.

Subject and text are a person's. Which patches follow and what they change is git's to say: that
part is written again from the patches.
"""

import email.parser
import email.policy
import re
from dataclasses import dataclass
from pathlib import Path

from cint import paths, steps
from cint.build import patches
from cint.errors import CintError

NAME = "0000-cover-letter.patch"

#: The first line that is git's: an author, and how many patches are theirs.
_SHORTLOG = re.compile(r"^\S.* \(\d+\):$", re.MULTILINE)


@dataclass(frozen=True)
class Letter:
    """A cover letter without what git says of the patches."""

    sender: str
    date: str
    #: Without [PATCH 0/N].
    subject: str
    text: str


def read(directory: Path) -> Letter:
    """The letter of the series in `directory`; :class:`CintError` when there is none."""
    path = directory / NAME
    if not path.is_file():
        raise CintError(f"{paths.display(directory)} has no {NAME}",
                        hint="write one: From, Date, Subject: [PATCH 0/N] ..., and what the "
                             "series is for; ./cint patches cover adds the rest")
    # Without the line that git puts before a mail.
    said = path.read_text("utf-8").partition("\n")[2]
    mail = email.parser.Parser(policy=email.policy.default).parsestr(said)
    text = _SHORTLOG.split(str(mail.get_payload()), maxsplit=1)[0].strip()
    subject = re.sub(r"^\[PATCH[^]]*\] ", "", str(mail["Subject"]))
    return Letter(str(mail["From"]), str(mail["Date"]), subject, text)


def _rendered(directory: Path, tree: patches.Tree) -> str:
    letter = read(directory)
    before, listed = patches.with_base(directory)
    shortlog, changes = patches.summary(tree, before, listed)
    return (f"From {'0' * 40} Mon Sep 17 00:00:00 2001\n"
            f"From: {letter.sender}\nDate: {letter.date}\n"
            f"Subject: [PATCH 0/{len(listed)}] {letter.subject}\n"
            f"\n{letter.text}\n\n{shortlog}\n\n{changes}\n")


def write(directory: Path, tree: patches.Tree) -> bool:
    """Bring the letter of a series up to date, which applies to `tree`; True when it changed."""
    path = directory / NAME
    text = _rendered(directory, tree)
    if path.read_text("utf-8") == text:
        return False
    steps.write_atomic(path, text)
    return True


def check(directory: Path, tree: patches.Tree) -> None:
    """Raise :class:`CintError` unless the letter says what the patches are."""
    path = directory / NAME
    if _rendered(directory, tree) != path.read_text("utf-8"):
        raise CintError(f"{paths.display(path)} does not say what the patches are",
                        hint="./cint patches cover writes that part again")
