# SPDX-License-Identifier: GPL-2.0-or-later
"""Our series on another version of QEMU or Linux: what applies, what does not, a tree to build.

A patch that does not apply as it is is merged: git knows both sides of its change from the version
that the series was made for, and the other version's own changes beside. What is merged without a
conflict is taken; what conflicts is named, and the patches after it are tried without it.

A version may have a series of its own beside the first, by all its numbers or by the first two. Its
`series` names the patches of that which still apply (../10.0/...) and holds those that had to be
made again. It may have only some of the parts that the first one is in.
"""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from cint import paths, steps, ui
from cint.build import git, patches, sources, trees
from cint.errors import CintError, UsageError

APPLIES, MERGED, PRESENT, CONFLICTS = "applies", "merged", "is there already", "conflicts"
#: What the first series has, and that of the version does not name.
LEFT_OUT = "left out"


@dataclass(frozen=True)
class Project:
    """A project that is ported, and the series that it begins with."""

    package: sources.Package
    series: Path
    #: Whose files are ours and linked into the tree.
    overlay: bool

    @property
    def title(self) -> str:
        """QEMU or Linux."""
        return self.package.title


def qemu() -> Project:
    """The device."""
    return Project(sources.QEMU, paths.QEMU_PATCHES, overlay=True)


def linux() -> Project:
    """The guest's kernel."""
    return Project(sources.LINUX, paths.GUEST_PATCHES, overlay=False)


@dataclass(frozen=True)
class Outcome:
    """The fate of one patch; where it conflicts: {file: how many places}."""

    patch: Path
    state: str
    places: dict[str, int]

    @property
    def remark(self) -> str:
        """The conflicts in words."""
        return ", ".join(f"{name} ({count} place{'s' if count > 1 else ''})" if count
                         else f"{name} (is not there, or another file)"
                         for name, count in self.places.items())


@dataclass(frozen=True)
class Port:
    """The series on another version, as far as it goes."""

    project: Project
    version: str
    series: Path
    outcomes: tuple[Outcome, ...]
    #: Where it is worked on: the repository, patches as they apply there, the tree, the build.
    place: Path

    @property
    def complete(self) -> bool:
        """Whether all patches are in."""
        return all(outcome.state != CONFLICTS for outcome in self.outcomes)

    @property
    def missing(self) -> tuple[str, ...]:
        """The parts of the project's series that none of these patches is of."""
        here = {outcome.patch.parent.name for outcome in self.outcomes}
        return tuple(name for name in _parts(self.project.series) if name not in here)

    @property
    def left_out(self) -> list[Path]:
        """The parts that the project's series has and this one has not."""
        here = set(patches.subjects(outcome.patch for outcome in self.outcomes))
        first = patches.read_series(self.project.series)
        return [patch for patch, subject in zip(first, patches.subjects(first), strict=True)
                if subject not in here and patch.parent.name not in self.missing]

    @property
    def title(self) -> str:
        """The project and its version, as a person calls it."""
        return f"{self.project.title} {self.version}"

    @property
    def tree(self) -> Path:
        """Where the patched tree is put."""
        return self.place / "src"


def _parts(series: Path) -> list[str]:
    """The names of the parts that a series is in, in order."""
    return list(dict.fromkeys(patch.parent.name for patch in patches.read_series(series)
                              if patch.parent.parent == series))


def series_for(project: Project, version: str, name: str | None) -> Path:
    """The series named, of the version, or the project's; :class:`UsageError`: no such series."""
    beside = project.series.parent
    known = sorted(path.parent.name for path in beside.glob("*/series"))
    if name is not None:
        if name not in known:
            raise UsageError(f"--series {name}: there is no such series",
                             hint=f"series: {', '.join(known)}")
        return beside / name
    own = [name for name in _directories(version) if name in known]
    return beside / own[0] if own else project.series


def _directories(version: str) -> tuple[str, str]:
    """Which series a version may have of its own: 6.12.117 and 6.12, the nearer one first."""
    return version, ".".join(version.split(".")[:2])


def _commit_files(repository: git.Repository, files: dict[str, Path], message: str) -> None:
    """Check out a commit without parents, of those of the files that exist."""
    for path in repository.directory.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, origin in files.items():
        if origin.is_file():
            target = repository.directory / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(origin, target)
    repository.git("add", "--all", "--force")
    tree = repository.git("write-tree")
    commit = repository.git("commit-tree", "-m", message, tree, env=git.OURS)
    repository.git("reset", "-q", "--hard", commit)


def _repository(project: Project, place: Path, own: Path, label: str,
                names: list[str]) -> git.Repository:
    """A repository that knows both sides of the project's series, at the other version's files."""
    directory = place / "work"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    repository = git.Repository(directory)
    repository.git("init", "-q", "--template=", "--initial-branch=base")
    # Also for whoever mends a patch there.
    for key in ("name", "email"):
        repository.git("config", f"user.{key}", git.OURS[f"GIT_AUTHOR_{key.upper()}"])
    base = trees.prepare(project.package, None)
    original = patches.read_series(project.series)
    _commit_files(repository, patches.pristine_files(base, names), base.label)
    _am(repository, *original)
    repository.git("checkout", "-q", "--orphan", "port")
    _commit_files(repository, {name: own / name for name in names}, label)
    return repository


def _am(repository: git.Repository, *words: str | Path) -> None:
    repository.git("am", "-q", "--no-gpg-sign", "--keep-cr", "--whitespace=nowarn", *words,
                   env=git.OURS)


def _places(repository: git.Repository) -> dict[str, int]:
    """The files in conflict, and in how many places each is."""
    names = repository.git("diff", "--name-only", "--diff-filter=U").splitlines()
    found = {}
    for name in names:
        path = repository.directory / name
        text = path.read_text("utf-8", errors="replace") if path.is_file() else ""
        found[name] = len(re.findall(r"^<<<<<<< ", text, re.MULTILINE))
    return found


def _try(repository: git.Repository, patch: Path) -> Outcome:
    """Apply one patch, as it is or merged; else leave it out."""
    before = repository.git("rev-parse", "HEAD")
    try:
        _am(repository, patch)
        return Outcome(patch, APPLIES, {})
    except git.GitError:
        repository.git("am", "--abort")
    try:
        _am(repository, "-3", patch)
        # git finds nothing to do, and makes no commit.
        there = repository.git("rev-parse", "HEAD") == before
        return Outcome(patch, PRESENT if there else MERGED, {})
    except git.GitError as problem:
        places = _places(repository)
        repository.git("am", "--abort")
        missing = re.findall(r"error: (\S+): does not exist in index", problem.stderr)
        return Outcome(patch, CONFLICTS, places or dict.fromkeys(missing or ["?"], 0))


def apply(project: Project, own: Path, name: str | None) -> Port:
    """Try the series on a person's tree, only read; CintError where it has patches of it."""
    version = trees.own_version(own)
    series = series_for(project, version, name)
    listed = patches.read_series(series)
    present = trees.committed(own, patches.subjects(listed))
    if present:
        raise CintError(f"{own} has {len(present)} of the {len(listed)} patches as commits",
                        hint="name a tree without them")
    label = f"{project.title} {version}"
    place = paths.PORT / label.lower().replace(" ", "-")
    touched = {inside for patch in [*listed, *patches.read_series(project.series)]
               for inside in patches.touched_files(patch)}
    with steps.step("port-apply", f"Apply {paths.display(series)} to {label}") as step:
        repository = _repository(project, place, own, label, sorted(touched))
        outcomes = tuple(_try(repository, patch) for patch in listed)
        step.summary(f"{sum(o.state != CONFLICTS for o in outcomes)} of {len(outcomes)} patches")
    return Port(project, version, series, outcomes, place)


def install(port: Port, own: Path) -> patches.Tree:
    """A tree with the patches as they came out, and our own files; the person's is linked."""
    repository = git.Repository(port.place / "work")
    written = port.place / "series"
    shutil.rmtree(written, ignore_errors=True)
    first = repository.git("rev-list", "--max-parents=0", "HEAD")
    names = repository.git("format-patch", "--zero-commit", "--no-signature", "--no-numbered",
                           "-o", written, f"{first}..HEAD").splitlines()
    tree = patches.Tree(port.tree, port.title, origin=own, verified=False)
    trees.link_own(tree, f"port-{port.place.name}")
    patches.apply_series(tree, [Path(name) for name in names])
    if port.project.overlay:
        patches.apply_overlay(tree, patches.overlay_map())
    return tree


def _name(port: Port, patch: Path) -> str:
    """What a patch is called: with its part of the series, and the series if it is another's."""
    series, *part = patch.resolve().parent.relative_to(port.series.resolve().parent).parts
    title = ": ".join([*part, *patches.subjects([patch])])
    return title if series == port.series.name else f"{title} ({series})"


def report(port: Port) -> str:
    """A table of the patches, in Markdown."""
    lines = [f"{port.title} with {paths.display(port.series)}:", "",
             "| patch | |", "|---|---|"]
    for outcome in port.outcomes:
        said = outcome.state + (f": {outcome.remark}" if outcome.remark else "")
        lines.append(f"| {_name(port, outcome.patch)} | {said} |")
    lines += [f"| {_name(port, patch)} | {LEFT_OUT} |" for patch in port.left_out]
    return "\n".join(lines) + "\n"


def advice(port: Port) -> str:
    """Advice on the first conflict."""
    first = next(outcome for outcome in port.outcomes if outcome.state == CONFLICTS)
    work = paths.display(port.place / "work")
    full, name = _directories(port.version)
    if name == port.project.series.name:
        name = full
    return (f"in {work}: git am -3 {first.patch.resolve()}, mend, git add, git am --continue, "
            f"git format-patch -1; put the file into "
            f"{paths.display(port.project.series.parent)}/{name}/ with a series that names it, "
            "then again")


def tell(port: Port) -> None:
    """A line for a person: how far it went."""
    counts = {state: sum(outcome.state == state for outcome in port.outcomes)
              for state in (APPLIES, MERGED, PRESENT, CONFLICTS)}
    counts[LEFT_OUT] = len(port.left_out)
    ui.info(", ".join(f"{count} {state}" for state, count in counts.items() if count))
    if port.missing:
        ui.info(f"without {', '.join(port.missing)}: {paths.display(port.series)} has no patch "
                "of these parts")
