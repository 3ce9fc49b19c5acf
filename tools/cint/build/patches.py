# SPDX-License-Identifier: GPL-2.0-or-later
"""Patch series on an unpacked source tree, and the overlay of our own files.

The tree is kept equal to "pristine source + series". Beside it is a git repository of the
files that patches touch, its work tree their pristine copies. `git am` applies a series in
another work tree, and only the files whose content changed are written into the source: so
applying again costs nothing, a changed patch rebuilds only what it touches, and an interrupted
run is repaired by the next one. `git log -p patched` there shows what was built. The whole
source is no repository: adding 86,000 files takes longer than building the kernel.
No fuzz is allowed: a patch that does not fit stops with its name, the file and the version.
"""

import email.parser
import email.policy
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cint import ask, paths, steps
from cint.build import git
from cint.errors import CintError

_TOUCHES = re.compile(r"^diff --git a/(\S+) b/(\S+)$", re.MULTILINE)

#: The one file of QEMU's that ours replaces.
REPLACED = "hw/nvme/meson.build"

#: The branches of what is patched, and of the series that was applied last.
PRISTINE, PATCHED = "pristine", "patched"

#: Where the load generator is in QEMU's tree.
LOAD_INSIDE = "hw/misc/load"

#: What QEMU's is expected to be; a different one needs a new look.
UPSTREAM_MESON = (
    "system_ss.add(when: 'CONFIG_NVME_PCI', "
    "if_true: files('ctrl.c', 'dif.c', 'ns.c', 'subsys.c', 'nguid.c'))"
)


@dataclass(frozen=True)
class Tree:
    """A source tree to patch.

    `origin` is the person's own tree when `root` is a farm of symbolic links to it:
    it is read for pristine content and never written. `label` names the version in errors.
    """

    root: Path
    label: str
    origin: Path | None = None
    verified: bool = True

    @property
    def store(self) -> Path:
        """Pristine copies of patched files, the list of them, and the repository of both."""
        return self.root.with_name(self.root.name + ".pristine")

    @property
    def index(self) -> Path:
        """The list: {path: true when the pristine source has such a file}."""
        return self.store / "index.json"


def read_series(directory: Path) -> list[Path]:
    """The patches of a series file, in order, none without; CintError of one not there."""
    series = directory / "series"
    if not series.exists():
        return []
    lines = (line.split("#")[0].strip() for line in series.read_text("utf-8").splitlines())
    # A list may name patches of another series.
    patches = [Path(os.path.normpath(directory / line)) for line in lines if line]
    for patch in patches:
        if not patch.is_file():
            raise CintError(f"{paths.display(series)} lists {patch.name}, which is not there")
    return patches


def touched_files(patch: Path) -> list[str]:
    """The files a patch in git's form changes, adds or removes."""
    pairs = _TOUCHES.findall(patch.read_text("utf-8", errors="replace"))
    return sorted({name for pair in pairs for name in pair})


def subjects(patches: Iterable[Path]) -> list[str]:
    """The commits' subjects, as git log would show them."""
    found = []
    for patch in patches:
        with patch.open(encoding="utf-8", errors="replace") as stream:
            header = email.parser.HeaderParser(policy=email.policy.default).parse(stream)
        found.append(re.sub(r"^\[PATCH[^]]*\] ", "", str(header["Subject"])))
    return found


def upstream_series() -> list[Path]:
    """The directories of the series for QEMU as it is, by name."""
    return sorted(path.parent for path in paths.QEMU_UPSTREAM_PATCHES.glob("*/series"))


def guest_series() -> list[Path]:
    """The directories of the parts of the guest's series, each based on those before it."""
    found = dict.fromkeys(patch.parent for patch in read_series(paths.GUEST_PATCHES))
    return [directory for directory in found if directory != paths.GUEST_PATCHES]


def with_base(directory: Path) -> tuple[list[Path], list[Path]]:
    """The patches that a series is based on, and its own."""
    if (directory / "series").exists():
        return [], read_series(directory)
    # A part: the list of the whole has its patches in a row.
    whole = read_series(directory.parent)
    listed = [patch for patch in whole if patch.parent == directory]
    return (whole[:whole.index(listed[0])] if listed else whole), listed


def from_upstream(series: Iterable[Path]) -> list[Path]:
    """Those of the patches that are also for QEMU as it is, without our device."""
    return [patch for patch in series if patch.is_relative_to(paths.QEMU_UPSTREAM_PATCHES)]


def _load_index(tree: Tree) -> dict[str, bool]:
    return {str(name): bool(there) for name, there in ask.json_of(tree.index).items()}


def _pristine(tree: Tree, name: str, index: dict[str, bool]) -> Path:
    """Where the unpatched content of `name` is."""
    if tree.origin is not None:
        return tree.origin / name
    return (tree.store if name in index else tree.root) / name


def _remember(tree: Tree, names: Iterable[str]) -> dict[str, bool]:
    """Keep pristine copies of `names` before any of them is changed."""
    index = _load_index(tree)
    new = [name for name in names if name not in index]
    for name in new:
        source = tree.root / name
        index[name] = (tree.origin or tree.root).joinpath(name).exists()
        if index[name] and tree.origin is None:
            copy = tree.store / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy)
    if new:
        steps.write_atomic(tree.index, json.dumps(index, indent=1))
    return index


def _touched(patches: Iterable[Path]) -> list[str]:
    return sorted({name for patch in patches for name in touched_files(patch)})


# --- the series as commits ----------------------------------------------------------------


def _repository(tree: Tree) -> git.Repository:
    """The repository beside the tree; without an own tree its files are the pristine ones."""
    repository = git.Repository(tree.store)
    if not (tree.store / ".git").is_dir():
        tree.store.mkdir(parents=True, exist_ok=True)
        repository.git("init", "-q", "--template=", f"--initial-branch={PRISTINE}")
    return repository


def _base(tree: Tree, repository: git.Repository, index: dict[str, bool]) -> str:
    """The commit of the pristine content of all files in the index: one for one content."""
    # Of a run that was interrupted.
    (tree.store / ".git/index.lock").unlink(missing_ok=True)
    there = [name for name in index if _pristine(tree, name, index).exists()]
    repository.git("read-tree", "--empty")
    repository.git(f"--git-dir={tree.store / '.git'}", f"--work-tree={tree.origin or tree.store}",
                   "update-index", "--add", "--stdin",
                   given="".join(f"{name}\n" for name in there))
    found = repository.git("write-tree")
    base = repository.git("commit-tree", "-m", tree.label, found, env=git.OURS)
    repository.git("update-ref", f"refs/heads/{PRISTINE}", base)
    return base


def _prefixes(base: str, patches: list[Path]) -> list[str]:
    """A name for the commit after each patch, which depends on all that is in it."""
    digest, names = hashlib.sha256(base.encode()), []
    for patch in patches:
        digest.update(hashlib.sha256(patch.read_bytes()).digest())
        names.append(f"refs/cint/{digest.hexdigest()}")
    return names


def _am(tree: Tree, work: git.Repository, patches: list[Path], names: list[str]) -> None:
    """Apply patches to what is checked out, and keep the commits by their names."""
    before = work.git("rev-parse", "HEAD")
    try:
        work.git("am", "-q", "--no-gpg-sign", "--committer-date-is-author-date", "--keep-cr",
                 "--whitespace=nowarn", *(patch.resolve() for patch in patches), env=git.OURS)
    except git.GitError as problem:
        reached = len(work.git("rev-list", f"{before}..HEAD").split())
        bad = patches[min(reached, len(patches) - 1)]
        raise CintError(f"{paths.display(bad)} does not apply to {tree.label}: "
                        f"{_why(problem.stderr)}", hint=_advice(tree)) from None
    commits = work.git("rev-list", "--reverse", f"{before}..HEAD").split()
    work.git("update-ref", "--stdin", given="".join(
        f"update {name} {commit}\n" for name, commit in zip(names, commits, strict=True)))


@contextmanager
def _patched(tree: Tree, patches: list[Path], index: dict[str, bool]) -> Iterator[git.Repository]:
    """A work tree of the patched files; the tree is only read.

    What was applied before, from the first patch on, is not applied again.
    """
    repository = _repository(tree)
    base = _base(tree, repository, index)
    names = _prefixes(base, patches)
    known = next((n for n in range(len(names), 0, -1) if repository.has(names[n - 1])), 0)
    start = names[known - 1] if known else base
    scratch = tree.root.with_name(tree.root.name + ".patching")
    with repository.worktree(start, scratch) as work:
        if patches[known:]:
            _am(tree, work, patches[known:], names[known:])
        yield work


def check_series(tree: Tree, patches: list[Path]) -> None:
    """Raise the error that applying the series would, and change nothing in the tree."""
    with _patched(tree, patches, _remember(tree, _touched(patches))):
        pass


def summary(tree: Tree, before: list[Path], patches: list[Path]) -> tuple[str, str]:
    """The end of a cover letter as git makes it: subjects by author, and the lines changed.

    ``before`` are the patches that it is based on.
    """
    every = [*before, *patches]
    with _patched(tree, every, _remember(tree, _touched(every))) as work:
        base = f"HEAD~{len(patches)}"
        return (work.git("shortlog", "-w72,2,4", f"{base}..HEAD"),
                work.git("diff", "--stat=72", "--summary", base, "HEAD"))


def count_added(tree: Tree, patches: list[Path], places: Iterable[str]) -> int:
    """How many lines a series adds to files of these places, a git pathspec each."""
    with _patched(tree, patches, _remember(tree, _touched(patches))) as work:
        rows = work.git("diff", "--numstat", PRISTINE, "HEAD", "--", *places).splitlines()
    return sum(int(row.split("\t")[0]) for row in rows)


def apply_series(tree: Tree, patches: list[Path]) -> list[str]:
    """Make the tree "pristine + patches"; return the files that were written.

    With an empty list the tree becomes pristine again.
    """
    touched = _touched(patches)
    index = _remember(tree, touched)
    with _patched(tree, patches, index) as work:
        work.git("update-ref", f"refs/heads/{PATCHED}", "HEAD")
        return [name for name in index if (name in touched or name != REPLACED)
                and _install(work.directory / name, tree.root / name)]


def _why(stderr: str) -> str:
    """The file and line in git's complaint."""
    match = re.search(r"patch failed: (\S+?):(\d+)", stderr)
    if match:
        return f"{match[1]} differs near line {match[2]}"
    missing = re.search(r"error: (\S+): (?:does not exist in index|No such file)", stderr)
    if missing:
        return f"{missing[1]} does not exist there"
    return steps.meaningful_error(stderr.splitlines()).removeprefix("error: ")


def _advice(tree: Tree) -> str:
    if tree.origin is not None:
        return (f"{tree.origin} is another version than the patches are for: rebase them, or "
                "leave the option out to use the distribution's source")
    if not tree.verified:
        return ("this version was never verified; remove it from the cache's downloads/, "
                "or use a tree of your own with --qemu-src or --linux-src")
    return f"was the patch edited? the file it is made for is in {paths.display(tree.store)}"


def _install(source: Path, target: Path) -> bool:
    """Make `target` equal `source` (or absent); True when that changed it.

    A file in place of a link is written beside and renamed: never through the link.
    """
    if not source.exists():
        if not (target.exists() or target.is_symlink()):
            return False
        target.unlink()
        return True
    content = source.read_bytes()
    if target.is_file() and not target.is_symlink() and target.read_bytes() == content:
        return False
    with steps.replacing(target) as fresh:
        fresh.write_bytes(content)
        shutil.copymode(source, fresh)
    return True


# --- our own files -----------------------------------------------------------------------


def overlay_files(directory: Path) -> list[Path]:
    """The files of the overlay below `directory`: sources and build files, no notes."""
    wanted = {".c", ".h", ".inc", ".build"}
    return sorted(path for path in directory.rglob("*")
                  if path.is_file() and path.suffix in wanted and not path.name.startswith("."))


def overlay_map() -> dict[str, Path]:
    """{path inside QEMU's tree: our file}."""
    sides = ((paths.OVERLAY_NVME, "hw/nvme"), (paths.OVERLAY_QTEST, "tests/qtest"))
    found = {f"{inside}/{file.relative_to(directory)}": file
             for directory, inside in sides for file in overlay_files(directory)}
    # Their own meson.build there lists QEMU's tests: ours are added by a patch.
    return {inside: file for inside, file in found.items()
            if not re.match(r"tests/qtest/(.*/)?meson\.build$", inside)}


def load_map() -> dict[str, Path]:
    """The same for the load generator, which only the builds that are measured have."""
    return {f"{LOAD_INSIDE}/{file.relative_to(paths.OVERLAY_LOAD)}": file
            for file in overlay_files(paths.OVERLAY_LOAD)}


def apply_overlay(tree: Tree, files: dict[str, Path]) -> list[str]:
    """Link our files into the tree and remove links that have no file any more.

    Returns the paths inside the tree that changed.
    """
    links = {inside: file for inside, file in files.items() if inside != REPLACED}
    _check_hidden(tree, links)
    changed = _replace_meson(tree, files[REPLACED]) if REPLACED in files else []
    for inside, file in links.items():
        link = tree.root / inside
        aim = os.path.relpath(file, link.parent)
        if link.is_symlink() and str(link.readlink()) == aim:
            continue
        steps.link_atomic(link, aim)
        changed.append(inside)
    return changed + _remove_stale_links(tree, files)


def _check_hidden(tree: Tree, links: dict[str, Path]) -> None:
    """No file of QEMU's may be hidden by one of ours."""
    for inside, file in links.items():
        target = tree.root / inside
        free = not (target.exists() or target.is_symlink())
        if free or (target.is_symlink() and points_here(target)):
            continue
        raise CintError(f"{paths.display(file)} would replace {inside} of {tree.label}",
                        hint="give our file another name; changes to QEMU's files are patches")


def _replace_meson(tree: Tree, file: Path) -> list[str]:
    """Put our hw/nvme/meson.build in place of QEMU's, if that is the expected one.

    A copy and not a link: meson looks at the time of the file, and a link would have
    the time of our file, which may be older than the last configuration.
    """
    pristine = _pristine(tree, REPLACED, _load_index(tree))
    found = pristine.read_text("utf-8").strip()
    if found != UPSTREAM_MESON:
        raise CintError(
            f"{paths.display(file)} cannot replace {REPLACED} of {tree.label}, "
            f"which is not the one expected ({paths.display(pristine)})",
            hint=f"expected the single line: {UPSTREAM_MESON}",
        )
    _remember(tree, [REPLACED])
    return [REPLACED] if _install(file, tree.root / REPLACED) else []


def points_here(link: Path) -> bool:
    """Whether a link in the tree is one of ours."""
    aim = Path(os.path.normpath(link.parent / link.readlink()))
    return any(aim.is_relative_to(ours)
               for ours in (paths.OVERLAY_NVME, paths.OVERLAY_QTEST, paths.OVERLAY_LOAD))


def _remove_stale_links(tree: Tree, files: dict[str, Path]) -> list[str]:
    changed = []
    for top in ("hw/nvme", "tests/qtest", LOAD_INSIDE):
        for link in (tree.root / top).rglob("*"):
            inside = str(link.relative_to(tree.root))
            if link.is_symlink() and inside not in files and points_here(link):
                link.unlink()
                changed.append(inside)
    return changed


def own_files(tree: Tree) -> set[str]:
    """Paths inside the tree that are ours: patched files and links of the overlay."""
    return set(_load_index(tree)) | set(overlay_map())


def pristine_files(tree: Tree, names: Iterable[str]) -> dict[str, Path]:
    """Where the unpatched content is of those of `names` that the source has."""
    index = _load_index(tree)
    return {name: _pristine(tree, name, index) for name in names if index.get(name, True)}


def remove_overlay(tree: Tree) -> list[str]:
    """Take our files out again, e.g. to build the stock binary."""
    changed = _remove_stale_links(tree, {})
    index = _load_index(tree)
    if index.get(REPLACED) and _install(_pristine(tree, REPLACED, index), tree.root / REPLACED):
        changed.append(REPLACED)
    return changed
