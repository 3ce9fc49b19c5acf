# SPDX-License-Identifier: GPL-2.0-or-later
"""Source trees ready to be patched: the distribution's, or a person's own."""

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from cint import paths, steps, ui
from cint.build import git, patches, sources

#: What a build inside a tree leaves behind.
_PRODUCTS = (".o", ".a", ".ko", ".cmd", ".mod", ".mod.c", ".d")
#: How far back a tree is searched for patches of ours.
_RECENT = 1000
_SKIPPED = {".git", "build", "include/config", "include/generated",
            "arch/x86/include/generated", ".config", ".config.old"}


def prepare(package: sources.Package, own: Path | None) -> patches.Tree:
    """The tree to patch and build. A person's own tree is never changed: it is linked."""
    if own is None:
        source = sources.unpack(package)
        return patches.Tree(source.tree, f"{package.title} {source.version}",
                            verified=source.verified)
    return _prepare_own(package, own)


def _prepare_own(package: sources.Package, own: Path) -> patches.Tree:
    version = own_version(own)
    label = f"{package.title} {version} ({own})"
    if not any(version == series or version.startswith(series + ".") for series in package.series):
        ui.warn(f"{label} was never verified with cint",
                f"verified: {package.title} {', '.join(package.series)}")
    farm = paths.OWN / "src" / package.name
    tree = patches.Tree(farm, label, origin=own, verified=False)
    link_own(tree, package.name)
    return tree


def link_own(tree: patches.Tree, name: str) -> None:
    """Make `tree` links to the person's tree that it is of; anew where it was of another one.

    `name` is that of the step, and of the stamp that says of which tree it is.
    """
    assert tree.origin is not None
    inputs, marker = {"origin": str(tree.origin)}, steps.Stamp(f"{name}-own")
    if not marker.current(inputs):
        shutil.rmtree(tree.root, ignore_errors=True)
        shutil.rmtree(tree.store, ignore_errors=True)
    with steps.step(f"{name}-link", f"Link {tree.label}") as step:
        count = link_farm(tree.origin, tree.root, patches.own_files(tree))
        step.summary(f"{count} files")
    marker.write(inputs)


def prepare_bench(own: Path | None) -> patches.Tree:
    """QEMU's tree once more, as links: patched in other ways while the first one stays."""
    base = prepare(sources.QEMU, own)
    tree = patches.Tree(paths.QEMU_BENCH_SRC, base.label, verified=base.verified)
    marker = steps.Stamp("qemu-bench-links")
    inputs = {"source": base.label, "root": str(base.root)}
    if not marker.current(inputs):
        marker.remove()
        shutil.rmtree(tree.root, ignore_errors=True)
        shutil.rmtree(tree.store, ignore_errors=True)
    names = [inside for inside, is_link in entries(base.root)
             if not (is_link and patches.points_here(base.root / inside))]
    _link_all(tree.root, patches.pristine_files(base, names),
              patches.own_files(tree) | set(patches.load_map()))
    marker.write(inputs)
    return tree


def prepare_unpatched(package: sources.Package, root: Path) -> patches.Tree:
    """The distribution's source once more, as links, without any patch that the first one has."""
    base = prepare(package, None)
    tree = patches.Tree(root, base.label, verified=base.verified)
    shutil.rmtree(tree.store, ignore_errors=True)
    names = [inside for inside, _ in entries(base.root)]
    _link_all(tree.root, patches.pristine_files(base, names), set())
    return tree


def own_version(own: Path) -> str:
    """The version a tree says it has: QEMU's VERSION file or Linux's Makefile."""
    version = own / "VERSION"
    file = version if version.is_file() else own / "Makefile"
    return parse_version(file.read_text("utf-8", errors="replace"))


def parse_version(text: str) -> str:
    """The version in QEMU's VERSION file or at the top of Linux's Makefile."""
    if "=" not in text:
        return text.strip()
    values: dict[str, str] = {}
    for line in text.splitlines()[:8]:
        key, _, value = line.partition("=")
        values[key.strip()] = value.strip()
    if "VERSION" not in values:
        return "of unknown version"
    return ".".join(values.get(key, "0") for key in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))


def committed(own: Path, subjects: list[str]) -> list[str]:
    """Those of `subjects` that are among the last commits of a person's git tree."""
    if not (own / ".git").exists():
        return []
    known = set(git.Repository(own).git("log", f"-{_RECENT}", "--format=%s").splitlines())
    return [subject for subject in subjects if subject in known]


def source_files(origin: Path) -> list[str]:
    """The source files of a person's tree: what git knows, else all but build products."""
    done = subprocess.run(
        ["git", "-C", origin, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, check=False,
    )
    if done.returncode == 0 and (origin / ".git").exists():
        names = done.stdout.decode("utf-8", "surrogateescape").split("\0")
        # os.path, not pathlib: a kernel has 86,000 files.
        top = os.path.join(origin, "")  # noqa: PTH118
        return [name for name in names if name and os.path.isfile(top + name)]  # noqa: PTH113
    return list(_walk(origin))


def _walk(origin: Path) -> Iterable[str]:
    for directory, subdirectories, files in os.walk(origin):
        where = Path(directory).relative_to(origin)
        subdirectories[:] = [name for name in subdirectories if str(where / name) not in _SKIPPED]
        for name in files:
            inside = str(where / name)
            if inside not in _SKIPPED and not name.endswith(_PRODUCTS):
                yield inside


def link_farm(origin: Path, farm: Path, keep: set[str]) -> int:
    """Make `farm` a tree of symbolic links to the source files of `origin`.

    Files in `keep` (patched or overlaid) are left alone. Returns the number of files.
    """
    # os.path, not pathlib: a kernel has 86,000 files.
    top = os.path.join(origin, "")  # noqa: PTH118
    wanted = {inside: top + inside for inside in source_files(origin)}
    _link_all(farm, wanted, keep)
    return len(wanted)


def _link_all(farm: Path, wanted: Mapping[str, str | Path], keep: set[str]) -> None:
    """Make `farm` a tree of links to `wanted`; files in `keep` are left alone."""
    present = dict(entries(farm))
    top = os.path.join(farm, "")  # noqa: PTH118
    for inside in present.keys() - wanted.keys() - keep:
        os.unlink(top + inside)  # noqa: PTH108
    missing = {inside: aim for inside, aim in wanted.items() if inside not in present or not (
        inside in keep or (present[inside] and os.readlink(top + inside) == str(aim)))}  # noqa: PTH115
    for directory in {os.path.dirname(inside) for inside in missing}:  # noqa: PTH120
        (farm / directory).mkdir(parents=True, exist_ok=True)
    for inside, aim in missing.items():
        if inside in present:  # what a build has put in a link's place is not one
            os.unlink(top + inside)  # noqa: PTH108
        os.symlink(aim, top + inside)  # noqa: PTH211


def entries(top: Path | str, below: str = "") -> Iterable[tuple[str, bool]]:
    """(path inside `top`, whether it is a link) of every file below."""
    try:
        with os.scandir(top) as scan:
            found = list(scan)
    except FileNotFoundError:
        return
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            yield from entries(entry.path, f"{below}{entry.name}/")
        else:
            yield f"{below}{entry.name}", entry.is_symlink()
