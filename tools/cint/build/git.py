# SPDX-License-Identifier: GPL-2.0-or-later
"""git, as the tool uses it: the same whatever the person's own settings are."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cint import ask, steps
from cint.errors import CintError

#: A repository of another user's is read all the same: nothing of it is executed.
_SETTINGS = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull,
             "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory",
             "GIT_CONFIG_VALUE_0": "*", "LC_ALL": "C.UTF-8"}
#: The tool's own commits, which are the same wherever and whenever they are made.
OURS = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in
        (("NAME", "cint"), ("EMAIL", "cint@example.org"), ("DATE", "2026-01-01T00:00:00Z"))}


class GitError(CintError):
    """git refused; `stderr` is all that it said."""

    stderr = ""


@dataclass(frozen=True)
class Repository:
    """A directory with git's own in it, or a work tree."""

    directory: Path

    def git(self, *words: str | Path, env: Mapping[str, str] | None = None,
            given: str | None = None) -> str:
        """Run git with `given` on its standard input; returns what it prints.

        Raises :class:`GitError` with git's own words.
        """
        done = ask.run(["git", "-C", self.directory, *words], errors="replace", input=given,
                       env={**os.environ, **_SETTINGS, **(env or {})})
        if done.returncode:
            why = steps.meaningful_error([*done.stderr.splitlines(), *done.stdout.splitlines()])
            problem = GitError(f"git {words[0]}: {why}")
            problem.stderr = done.stderr
            raise problem
        return done.stdout.rstrip()

    def has(self, name: str) -> bool:
        """Whether there is such a commit."""
        try:
            self.git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        except GitError:
            return False
        return True

    @contextmanager
    def worktree(self, commit: str, directory: Path) -> Iterator["Repository"]:
        """The commit checked out in `directory`, which is gone afterwards."""
        shutil.rmtree(directory, ignore_errors=True)
        self.git("worktree", "prune")
        try:
            self.git("worktree", "add", "-q", "--detach", directory, commit)
            yield Repository(directory)
        finally:
            shutil.rmtree(directory, ignore_errors=True)
            self.git("worktree", "prune")
