# SPDX-License-Identifier: GPL-2.0-or-later
"""The patch series: checked against a source, or made again from a git tree.

The series in the repository are what counts; a git tree with the same patches as
commits is where one works on them. `refresh` writes them from there, `check` proves
that they apply to the source they are for without fuzz. A patch is kept once: a series
names in its list what it has from another, and `refresh` writes that where it is kept.

The guest's series has parts, directories of patches in a row of its list. Each has a cover letter
and is based on those before it.
"""

import argparse
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cint import paths, steps, ui
from cint.build import cover, git, patches, sources, trees
from cint.errors import EXIT_OK, CintError, UsageError

#: Where Linux's code is that the guest's series adds to, without its KUnit tests.
CODE = ("block", "drivers", "fs", "mm", "io_uring", ":!*_test.c")


@dataclass(frozen=True)
class Series:
    """A series of ours: whose source it is for, and where it is."""

    package: sources.Package
    directory: Path
    #: The file of that source that names its version.
    version_file: str
    option: str
    #: Whether it is the series of its source that is meant when none is named.
    first: bool = True
    #: Whether our own files belong to it.
    overlay: bool = False

    @property
    def mailed(self) -> bool:
        """Whether it is one that could be mailed, and has a cover letter."""
        return not self.first

    def own(self, args: argparse.Namespace) -> Path | None:
        """The person's own tree, if one is named."""
        found = getattr(args, self.option.strip("-").replace("-", "_"))
        return Path(found) if found else None


def all_series() -> tuple[Series, ...]:
    """The series of the repository."""
    return (Series(sources.LINUX, paths.GUEST_PATCHES, "Makefile", "--linux-src"),
            Series(sources.QEMU, paths.QEMU_PATCHES, "VERSION", "--qemu-src", overlay=True),
            *(Series(sources.QEMU, directory, "VERSION", "--qemu-src", first=False)
              for directory in patches.upstream_series()),
            *(Series(sources.LINUX, directory, "Makefile", "--linux-src", first=False)
              for directory in patches.guest_series()))


def _named(name: str | None) -> list[Series]:
    """The series of that name, or the first one of each source."""
    found = [series for series in all_series()
             if (series.directory.name == name if name else series.first)]
    if not found:
        names = ", ".join(series.directory.name for series in all_series())
        raise UsageError(f"--series {name}: there is no such series", hint=f"series: {names}")
    return found


def choose(package: str, name: str | None) -> Series:
    """The one series of a source: of that name (else :class:`UsageError`), or the first."""
    for series in _named(name):
        if series.package.name == package:
            return series
    raise UsageError(f"--series {name}: it is not for {package}")


# --- check ------------------------------------------------------------------------------------


def check(args: argparse.Namespace) -> int:
    """Apply each series by itself, in a work tree of its own."""
    own = [series for series in all_series() if series.own(args)]
    with steps.build_lock():
        for series in own or all_series():
            check_one(series, series.own(args))
    return EXIT_OK


def check_one(series: Series, own: Path | None) -> None:
    """Apply a series to its source, or to a person's own tree, which is only read."""
    before, listed = patches.with_base(series.directory)
    tree = _tree(series, own, [*before, *listed])
    try:
        patches.check_series(tree, [*before, *listed])
        if own is None and series.mailed:
            cover.check(series.directory, tree)
        added = patches.count_added(tree, listed, CODE) if series.directory == paths.GUEST_PATCHES \
            else None
    finally:
        if own is not None:
            shutil.rmtree(tree.store, ignore_errors=True)
    behind = f" behind {len(before)} others" if before else ""
    ui.info(f"{len(listed)} patches of {paths.display(series.directory)} apply to "
            f"{tree.label}{behind} without fuzz")
    if added is not None:
        ui.info(f"they add {added} lines to block/, drivers/, fs/, mm/ and io_uring/, "
                "beside KUnit tests")


def _tree(series: Series, own: Path | None, listed: list[Path]) -> patches.Tree:
    """The source to check against."""
    if own is None:
        return trees.prepare(series.package, None)
    present = trees.committed(own, patches.subjects(listed))
    if present:
        raise CintError(f"{own} has {len(present)} of the {len(listed)} patches as commits: "
                        "they cannot be applied to it again",
                        hint="name a tree without them, or leave the option out")
    label = f"{series.package.title} {trees.own_version(own)} ({own})"
    # Nothing is installed in `root`: it only says where the repository is.
    return patches.Tree(paths.SRC / f"{series.package.name}-check", label, origin=own)


# --- refresh ----------------------------------------------------------------------------------


def _git(tree: Path, *words: str) -> str:
    """Run git in a person's tree."""
    try:
        return git.Repository(tree).git(*words)
    except git.GitError as problem:
        raise CintError(f"{tree}: {problem.message}") from None


def _check_clean(tree: Path) -> None:
    changed = [line[3:] for line in
               _git(tree, "status", "--porcelain", "--untracked-files=no").splitlines()]
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise CintError(f"{tree} is dirty: {changed[0]}{more} differs from the last commit",
                        hint="commit the changes to the patch they belong to "
                             "(git commit --fixup, git rebase --autosquash), or stash them")


def version_at(series: Series, tree: Path, revision: str) -> str:
    """The version of the source at a commit."""
    text = _git(tree, "show", f"{revision}:{series.version_file}")
    return trees.parse_version(text)


def find_base(series: Series, tree: Path, named: str | None) -> str:
    """The commit before the series: named, or the last fitting tag; CintError without one."""
    if named is not None:
        return named
    for version in series.package.series:
        try:
            return _git(tree, "describe", "--tags", "--abbrev=0", "--match",
                        f"v{version}*", "HEAD").strip()
        except CintError:
            continue
    wanted = " or ".join(f"v{version}*" for version in series.package.series)
    raise CintError(f"{tree} has no tag {wanted} before HEAD, so the base of the series is unknown",
                    hint="name the commit that the first patch is based on with --base REV")


def check_base(series: Series, tree: Path, base: str) -> list[str]:
    """The commits since `base`, oldest first; UsageError without it, CintError if it is wrong."""
    try:
        _git(tree, "rev-parse", "--verify", "--quiet", f"{base}^{{commit}}")
    except CintError:
        raise UsageError(f"--base {base}: {tree} has no such commit") from None
    version = version_at(series, tree, base)
    wanted = series.package.series
    if not any(version == good or version.startswith(f"{good}.") for good in wanted):
        raise CintError(f"{base} is {series.package.title} {version}, and "
                        f"{paths.display(series.directory)} is for {' or '.join(wanted)}",
                        hint="rebase the patches, or name the right base with --base REV")
    try:
        _git(tree, "merge-base", "--is-ancestor", base, "HEAD")
    except CintError:
        raise CintError(f"{base} is not before HEAD in {tree}",
                        hint="check out the branch with the series") from None
    merges = _git(tree, "rev-list", "--merges", f"{base}..HEAD").split()
    if merges:
        raise CintError(f"{tree} has a merge since {base} ({merges[0][:12]}): a series is a line",
                        hint=f"git rebase {base}")
    commits = _git(tree, "rev-list", "--reverse", f"{base}..HEAD").split()
    if not commits:
        raise CintError(f"{tree} has no commits since {base}", hint="is the right branch out?")
    return commits


def _format(tree: Path, base: str, target: Path) -> list[Path]:
    """The patches as files, the same whatever clone and git they are made from."""
    listed = _git(tree, "-c", "core.abbrev=12", "format-patch", "--zero-commit", "--no-signature",
                  "--no-numbered", "--no-base", "--no-thread", "--no-attach", "--no-cover-letter",
                  "--output-directory", str(target), f"{base}..HEAD")
    return [Path(line) for line in listed.splitlines()]


def _remarks(directory: Path) -> list[str]:
    """The remarks of the series file, which stay."""
    series = directory / "series"
    lines = series.read_text("utf-8").splitlines() if series.exists() else []
    return [line for line in lines if line.startswith("#")]


def _places(made: Sequence[Path], directory: Path) -> list[Path]:
    """Where each patch is kept: what the list has from another series stays there.

    A patch that is new is of the part that the one before it is of.
    """
    listed = patches.read_series(directory)
    known = dict(zip(patches.subjects(listed), listed, strict=True))
    elsewhere = {subject: path for subject, path in known.items()
                 if not path.is_relative_to(directory)}
    subjects = patches.subjects(made)
    if missing := [subject for subject in elsewhere if subject not in subjects]:
        raise CintError(f"no commit is \"{missing[0]}\", which "
                        f"{paths.display(directory / 'series')} has from "
                        f"{paths.display(elsewhere[missing[0]].parent)}",
                        hint="reword or remove it there and in the list first")
    part = next((path.parent for path in listed if path.is_relative_to(directory)), directory)
    found: list[Path] = []
    for path, subject in zip(made, subjects, strict=True):
        if subject in elsewhere:
            found.append(elsewhere[subject])
            continue
        part = known[subject].parent if subject in known else part
        number = 1 + sum(place.parent == part for place in found)
        if number > 1 and found[-1].parent != part:
            raise CintError(f"\"{subject}\" is of {paths.display(part)}, and so is not the commit "
                            "before it", hint="reorder the commits, or move the patch in the list")
        found.append(part / f"{number:04}-{path.name.partition('-')[2]}")
    return found


def _install(made: Sequence[Path], directory: Path, remarks: list[str]) -> tuple[int, int, int]:
    """Put the patches in place; how many are new, changed and gone."""
    directory.mkdir(parents=True, exist_ok=True)
    places = _places(made, directory)
    new = changed = 0
    for path, place in zip(made, places, strict=True):
        content = path.read_bytes()
        before = place.read_bytes() if place.is_file() else None
        if before == content:
            continue
        new, changed = (new + 1, changed) if before is None else (new, changed + 1)
        steps.write_atomic(place, content)
    # The list last: until then the old one names files that are still there.
    names = [os.path.relpath(place, directory) for place in places]
    steps.write_atomic(directory / "series", "".join(f"{line}\n" for line in [*remarks, *names]))
    gone = {path for path in directory.rglob("*.patch") if path.name != cover.NAME} - {*places}
    for path in gone:
        path.unlink()
    return new, changed, len(gone)


def _with_base(remarks: list[str], title: str, version: str) -> list[str]:
    """The remarks, with the version that they name brought up to date."""
    pattern = rf"\b{re.escape(title)} v?\d+(\.\d+)*\b"
    return [re.sub(pattern, f"{title} v{version}", line) for line in remarks]


def refresh_one(series: Series, tree: Path, named_base: str | None) -> None:
    """Write one series from its tree; :class:`CintError` of a tree that does not have it."""
    if not (tree / ".git").exists():
        raise CintError(f"{tree} is not a git tree: there are no commits to make patches from",
                        hint=f"{series.option} names a clone with the series as commits")
    _check_clean(tree)
    base = find_base(series, tree, named_base)
    commits = check_base(series, tree, base)
    with tempfile.TemporaryDirectory(prefix="cint-patches-") as target:
        made = _format(tree, base, Path(target))
        if len(made) != len(commits):
            raise CintError(f"{tree}: {len(commits)} commits since {base} gave {len(made)} patches",
                            hint="a commit without changes cannot be a patch")
        version = version_at(series, tree, base)
        remarks = _with_base(_remarks(series.directory), series.package.title, version)
        new, changed, gone = _install(made, series.directory, remarks)
    ui.info(f"{paths.display(series.directory)}: {len(made)} patches since {base}: "
            f"{new} new, {changed} changed, {gone} gone")


def refresh(args: argparse.Namespace) -> int:
    """Write the series whose trees are named; :class:`UsageError` where that is not clear."""
    named = [(series, own) for series in _named(args.series) if (own := series.own(args))]
    if not named:
        raise UsageError("patches refresh: which git tree has the series as commits?",
                         hint="name it with --linux-src DIR or --qemu-src DIR")
    if args.base and len(named) > 1:
        raise UsageError("--base: of which of the two trees?", hint="refresh one at a time")
    for series, own in named:
        if not (series.directory / "series").exists():
            raise UsageError(f"--series {args.series}: only the whole of "
                             f"{paths.display(series.directory.parent)} is refreshed",
                             hint="leave --series out")
        refresh_one(series, own, args.base)
    write_covers({series.package for series, _ in named})
    return EXIT_OK


def write_covers(packages: Iterable[sources.Package] = (sources.LINUX, sources.QEMU)) -> int:
    """Have the cover letters of series for these sources say what the patches are."""
    with steps.build_lock():
        for series in all_series():
            if (series.mailed and series.package in packages
                    and cover.write(series.directory, trees.prepare(series.package, None))):
                ui.info(f"{paths.display(series.directory / cover.NAME)}: written again")
    return EXIT_OK
