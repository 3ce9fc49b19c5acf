# SPDX-License-Identifier: GPL-2.0-or-later
"""Source trees ready to be patched: the distribution's, or a person's own."""

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from cint import patches, sources, steps, ui

#: What a build inside a tree leaves behind.
_PRODUCTS = (".o", ".a", ".ko", ".cmd", ".mod", ".mod.c", ".d")
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
    farm = package.tree.with_name(f"{package.name}-own")
    tree = patches.Tree(farm, label, origin=own, verified=False)
    marker = steps.Stamp(f"{package.name}-own")
    if not marker.current({"origin": str(own)}):
        shutil.rmtree(farm, ignore_errors=True)
        shutil.rmtree(tree.store, ignore_errors=True)
    with steps.step(f"{package.name}-link", f"Link {label}") as step:
        count = link_farm(own, farm, patches.own_files(tree))
        step.summary(f"{count} files")
    marker.write({"origin": str(own)})
    return tree


def own_version(own: Path) -> str:
    """The version a tree says it has: QEMU's VERSION file or Linux's Makefile."""
    version = own / "VERSION"
    if version.is_file():
        return version.read_text("utf-8").strip()
    values: dict[str, str] = {}
    for line in (own / "Makefile").read_text("utf-8", errors="replace").splitlines()[:8]:
        key, _, value = line.partition("=")
        values[key.strip()] = value.strip()
    if "VERSION" not in values:
        return "of unknown version"
    return ".".join(values.get(key, "0") for key in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))


def source_files(origin: Path) -> list[str]:
    """The source files of a person's tree: what git knows, else all but build products."""
    done = subprocess.run(
        ["git", "-C", origin, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, check=False,
    )
    if done.returncode == 0 and (origin / ".git").exists():
        names = done.stdout.decode("utf-8", "surrogateescape").split("\0")
        return [name for name in names if name and (origin / name).is_file()]
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
    wanted = set(source_files(origin))
    for directory, _, files in os.walk(farm):
        for name in files:
            path = Path(directory) / name
            inside = str(path.relative_to(farm))
            if inside not in wanted and inside not in keep:
                path.unlink()
    for inside in sorted(wanted):
        link = farm / inside
        if link.is_symlink() or (inside in keep and link.exists()):
            continue
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(origin / inside)
    return len(wanted)
