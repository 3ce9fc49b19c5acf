# SPDX-License-Identifier: GPL-2.0-or-later
"""Errors meant for a person, and the exit codes."""

from pathlib import Path

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_TIMEOUT = 124
#: What `git bisect run` takes for "skip this commit".
EXIT_UNTESTABLE = 125
EXIT_INTERRUPTED = 130


class CintError(Exception):
    """Something a person can act on.

    `message` is one line that names the thing that is wrong; `hint` says what to
    do about it; `log` is where the details are; `code` is the exit code.
    """

    def __init__(self, message: str, *, hint: str | None = None, log: Path | None = None,
                 code: int = EXIT_FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.log = log
        self.code = code


class UsageError(CintError):
    """A command line that cannot be understood (exit code 2)."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint, code=EXIT_USAGE)
