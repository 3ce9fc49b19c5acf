# SPDX-License-Identifier: GPL-2.0-or-later
"""A series as a git branch that can be read, bisected and mailed.

The branch begins at the source that the series is for. Our own files, which a build
only links into the tree, are commits as well: the files that a patch names come right
before it, and what builds them comes with it, so that no commit uses what is not there
yet. Names and dates are those of the patches: exported twice, a branch has the same
commits. Who mails the branch gives a name, which then takes the place of the project's.
"""

import email.parser
import email.policy
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path

from cint import paths, steps, ui
from cint.build import cover, git, patches, sources
from cint.build.series import Series, find_base
from cint.errors import CintError, UsageError

#: The domain of addresses that are nobody's: who sends a patch of theirs signs it instead.
NOBODYS = "@example.org"

BRANCH = "cint"
#: The tag of the commit before the first of ours.
BASE = "cint-base"


@dataclass(frozen=True)
class Part:
    """Files of ours that are one commit: those below `inside` that no part before it has."""

    inside: str
    message: str


PARTS = (
    Part("hw/nvme/coalesce/", """\
hw/nvme: add policies of interrupt coalescing

Given when commands are submitted, finish and are reaped, these say when a
completion queue interrupts and why: after each completion, after a fixed
time or number (NVMe's own coalescing), when a burst is over, for commands
that are marked as waited for, or for a share of the completions.

They are plain C: time is an argument, and nothing is allocated for a
command. Nothing builds them yet.
"""),
    Part("hw/nvme/model/", """\
hw/nvme: add models of arbitration and of media

Which submission queue is next, and how long a medium takes for a command,
again without any of QEMU's types. Nothing builds them yet.
"""),
    Part("hw/nvme/", """\
hw/nvme: add interrupt coalescing for the controller

What turns the controller's commands, completions and doorbells into the
events of the policies, and their answers into interrupts: properties,
features, the log page, status records, the media's timers. The controller
does not call it yet, and nothing builds it.
"""),
    Part("tests/qtest/", """\
tests/qtest: add an nvme queue driver and tests of interrupt coalescing

The driver issues real commands on its own queues and looks at the pending
bits of the MSI-X table, with the clock stopped. Nothing builds it yet.
"""),
)


@dataclass(frozen=True)
class Commit:
    """A commit to be made: a patch, files of ours, or both."""

    patch: Path | None
    message: str = ""
    files: tuple[str, ...] = ()


# --- what is committed --------------------------------------------------------------------


def _added(patch: Path) -> str:
    lines = patch.read_text("utf-8", errors="replace").splitlines()
    return "\n".join(line for line in lines if line.startswith("+"))


def _names(patch: Path, inside: Iterable[str]) -> bool:
    """Whether a patch adds the name of one of these files, or of the test that it is."""
    text = _added(patch)
    return any(re.search(rf"(?<![\w-]){re.escape(name)}\b", text) or f"'{Path(name).stem}'" in text
               for name in (Path(path).name for path in inside))


def _by_part(overlay: Iterable[str]) -> dict[Part, tuple[str, ...]]:
    found: dict[Part, list[str]] = {}
    for inside in sorted(set(overlay) - {patches.REPLACED}):
        part = next((part for part in PARTS if inside.startswith(part.inside)), None)
        if part is None:
            raise CintError(f"{inside} belongs to no commit of an export",
                            hint=f"add it to PARTS in {paths.display(Path(__file__))}")
        found.setdefault(part, []).append(inside)
    return {part: tuple(found[part]) for part in PARTS if part in found}


def plan(listed: Sequence[Path], overlay: Iterable[str]) -> list[Commit]:
    """The commits, oldest first; :class:`CintError` where no patch uses some of our files."""
    overlay = set(overlay)
    parts = _by_part(overlay)
    commits: list[Commit] = []
    for patch in listed:
        ready = [part for part in parts
                 if any(_names(patch, parts[other]) for other in parts
                        if _top(other) == _top(part))]
        commits += [Commit(None, part.message, parts.pop(part)) for part in ready]
        # Whatever calls our functions needs them built.
        builds = patches.REPLACED in overlay and any(_top(part) == "hw/nvme" for part in ready)
        commits.append(Commit(patch, files=(patches.REPLACED,) if builds else ()))
    if parts:
        raise CintError(f"no patch of {paths.display(listed[0].parent)} uses "
                        f"{next(iter(parts.values()))[0]}")
    return commits


def _top(part: Part) -> str:
    return "/".join(part.inside.split("/")[:2])


# --- how ----------------------------------------------------------------------------------


def _header(patch: Path) -> EmailMessage:
    with patch.open(encoding="utf-8", errors="replace") as stream:
        return email.parser.Parser(_class=EmailMessage, policy=email.policy.default).parse(
            stream, headersonly=True)


@dataclass(frozen=True)
class Person:
    """Somebody who writes or sends patches."""

    name: str
    mail: str

    @property
    def is_nobody(self) -> bool:
        """Whether it stands for the project, which signs nothing."""
        return self.mail.endswith(NOBODYS)


def parse_sender(text: str) -> Person:
    """The person in `Name <mail>`; :class:`UsageError` where it is not so written."""
    match = re.fullmatch(r"([^<>\"\n]*\w[^<>\"\n]*) <([^<>@\s]+@[^<>@\s]+)>", text.strip())
    if match is None:
        raise UsageError(f"--from {text!r}: not a name and an address",
                         hint="for example --from 'Ann Author <ann@example.com>'")
    return Person(match[1].strip(), match[2])


def _identity(patch: Path, sender: Person | None) -> dict[str, str]:
    """git's environment for a commit of the date of a patch, by its author or the sender."""
    header = _header(patch)
    address = header["From"].addresses[0]
    author = Person(address.display_name, address.addr_spec)
    by = {"AUTHOR": sender if sender and author.is_nobody else author,
          "COMMITTER": sender or author}
    return {f"GIT_{who}_{what}": value for who, person in by.items() for what, value in
            (("NAME", person.name), ("EMAIL", person.mail), ("DATE", str(header["Date"])))}


def _sign(repository: git.Repository, env: Mapping[str, str]) -> None:
    """Have the sender sign the last commit, as its author too where that is nobody."""
    lines = repository.git("log", "-1", "--format=%B").splitlines()
    kept = [line for line in lines
            if not (line.startswith("Signed-off-by:") and f"{NOBODYS}>" in line)]
    author = repository.git("log", "-1", "--format=%ae")
    again = ["--reset-author"] if author.endswith(NOBODYS) else []
    repository.git("commit", "-q", "--amend", "-s", "--no-verify", *again, "-F", "-",
                   env=env, given="\n".join(kept))


def _commit(repository: git.Repository, message: str, env: Mapping[str, str]) -> None:
    """Commit everything, also what the tree's own .gitignore names."""
    repository.git("add", "--all", "--force")
    repository.git("commit", "-q", "-s", "--no-verify", "-m", message, env=env)


def _describe(repository: git.Repository, series: Series) -> None:
    """Give the branch the cover letter's words, for git format-patch to write it."""
    letter = cover.read(series.directory)
    repository.git("config", f"branch.{BRANCH}.description", f"{letter.subject}\n\n{letter.text}")
    repository.git("config", "format.coverLetter", "true")
    repository.git("config", "format.coverFromDescription", "subject")


def _begin(series: Series, directory: Path, own: Path | None, named: str | None,
           person: Mapping[str, str]) -> tuple[git.Repository, str]:
    """The repository with the source checked out on the branch; what that is called."""
    repository = git.Repository(directory)
    if own is not None:
        base = find_base(series, own, named)
        directory.mkdir(parents=True, exist_ok=True)
        # Its objects are used where they are: nothing is written into the person's clone.
        repository.git("clone", "-q", "--shared", "--no-checkout", own, ".")
        repository.git("checkout", "-q", "--no-track", "-B", BRANCH, base)
        label = f"{base} of {own}"
    else:
        version = sources.unpack_to(series.package, directory)
        label = f"{series.package.title} {version}"
        repository.git("init", "-q", f"--initial-branch={BRANCH}")
        # Loose objects of the largest source take a gigabyte anyway: be quick.
        repository.git("config", "core.compression", "1")
        with steps.step(f"{series.package.name}-export", f"Commit {label}"):
            _commit(repository, f"{label}\n\nAs the distribution's source package has it.",
                    person)
    return repository, label


def _apply(repository: git.Repository, commit: Commit, person: Mapping[str, str],
           overlay: Mapping[str, Path], *, sign: bool) -> None:
    if commit.patch is not None:
        try:
            repository.git("am", "-q", "--committer-date-is-author-date", "--no-gpg-sign",
                           commit.patch.resolve(), env=person)
        except git.GitError as problem:
            raise CintError(f"{paths.display(commit.patch)} does not apply: {problem.message}",
                            hint="name a base that the series is for with --base REV, or leave "
                                 "the tree out") from None
        if sign:
            _sign(repository, person)
    for inside in commit.files:
        target = repository.directory / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(overlay[inside], target)
    if commit.patch is None:
        _commit(repository, commit.message, person)
    elif commit.files:
        repository.git("add", "--force", *commit.files)
        repository.git("commit", "-q", "--amend", "--no-edit", "--no-verify", env=person)


def check_place(directory: Path) -> None:
    """Refuse a file (UsageError), and a directory that has something in it (CintError)."""
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory}: that is a file", hint="name a new directory")
    if directory.exists() and any(directory.iterdir()):
        raise CintError(f"{directory}: not an empty directory", hint="name a new one")


def export(series: Series, directory: Path, own: Path | None, base: str | None,
           sender: Person | None = None) -> None:
    """Make the branch in `directory`, which is new or empty; by `sender` if there is one."""
    check_place(directory)
    before, listed = patches.with_base(series.directory)
    overlay = patches.overlay_map() if series.overlay else {}
    commits = plan(listed, overlay)
    try:
        repository, label = _begin(series, directory, own, base, _identity(listed[0], sender))
        for patch in before:
            _apply(repository, Commit(patch), _identity(patch, sender), {},
                   sign=sender is not None)
        if series.mailed:
            _describe(repository, series)
        repository.git("tag", "-f", BASE)
        for number, commit in enumerate(commits):
            following = next(later.patch for later in commits[number:] if later.patch)
            _apply(repository, commit, _identity(following, sender), overlay,
                   sign=sender is not None)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    ui.info(f"{len(commits)} commits on branch {BRANCH} of {paths.display(directory)}, "
            f"since {BASE} = {label}" + (f" and {len(before)} patches" if before else ""))
