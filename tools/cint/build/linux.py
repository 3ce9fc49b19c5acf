# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest kernel: lean configuration, patches, build."""

import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from cint import paths, steps, ui
from cint.build import patches, sources, trees

#: Fixed so that the same sources give the same kernel, and ccache finds it.
_IDENTITY = {
    "KBUILD_BUILD_TIMESTAMP": "2026-01-01T00:00:00Z",
    "KBUILD_BUILD_USER": "cint",
    "KBUILD_BUILD_HOST": "cint",
    "KBUILD_BUILD_VERSION": "1",
}

#: Lines of output of a full build, for the progress shown: make does not know.
_FULL_BUILD = 1870

#: A file as old as the configuration.
_CONFIGURED = "cint.configured"

_ADDED = re.compile(r"^\+(?:menu)?config (\w+)$", re.MULTILINE)
_SETTING = re.compile(r"^(CONFIG_\w+)=(.*)$|^# (CONFIG_\w+) is not set$")


@dataclass(frozen=True)
class Kernel:
    """One configuration of the kernel; `name` is that of its stamp and its step."""

    name: str
    what: str
    directory: Path
    fragments: tuple[Path, ...]
    #: With our patches.
    patched: bool = True
    #: What make is asked for.
    targets: tuple[str, ...] = ("bzImage",)

    @property
    def image(self) -> Path:
        """The file that QEMU boots."""
        return self.directory / "arch/x86/boot/bzImage"


_BASE = paths.KERNEL_CONFIG / "base.config"
#: The same by other names, for a person's own tree, which may be of a later version.
_LATER = paths.KERNEL_CONFIG / "later.config"
#: What is measured and tested.
MEASURED = Kernel("linux", "the guest kernel", paths.LINUX_BUILD, (_BASE,))
#: With lockdep, KASAN and fault injection, built for the slow tests only.
DEBUG = Kernel("linux-debug", "the guest kernel with its own checks", paths.LINUX_DEBUG_BUILD,
               (_BASE, paths.KERNEL_CONFIG / "debug.config"))
#: The same with what else stands between a program and the driver (dm-crypt, md, btrfs, multipath),
#: suspend, kexec and `preempt=`; built for the slow tests only.
FOREIGN = Kernel("linux-foreign", "the guest kernel with others' drivers and its own checks",
                 paths.LINUX_FOREIGN_BUILD, (*DEBUG.fragments,
                                             paths.KERNEL_CONFIG / "foreign.config"))
#: With KCSAN, which finds data races and does not go with KASAN; built for the slow tests only.
RACES = Kernel("linux-kcsan", "the guest kernel with its detector of data races",
               paths.LINUX_KCSAN_BUILD, (_BASE, paths.KERNEL_CONFIG / "kcsan.config"))
#: As the measured one, but where it gives way is said by `preempt=`; for figures of both settings.
PREEMPT = Kernel("linux-preempt", "the guest kernel that takes preempt=",
                 paths.LINUX_PREEMPT_BUILD, (_BASE, paths.KERNEL_CONFIG / "preempt.config"))
#: As the measured one, but for our patches.
PLAIN = Kernel("linux-plain", "the guest kernel without our patches", paths.LINUX_PLAIN_BUILD,
               (_BASE,), patched=False)
#: As FOREIGN, but for our patches, and with modules; built for the slow tests only.
CHECKED = Kernel("linux-checked", "a kernel without our patches that checks itself",
                 paths.LINUX_CHECKED_BUILD,
                 (*FOREIGN.fragments, paths.KERNEL_CONFIG / "module.config"), patched=False,
                 targets=("bzImage", "modules"))


def parse_config(text: str) -> dict[str, str]:
    """{symbol: value}; a symbol that is off has the value `n`."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = _SETTING.match(line)
        if match:
            found[match[1] or match[3]] = match[2] if match[1] else "n"
    return found


def lost_symbols(wanted: dict[str, str], got: dict[str, str]) -> list[str]:
    """The settings that did not survive, e.g. because a dependency is off."""
    return [f"{name}={value} (is {got.get(name, 'n')})"
            for name, value in wanted.items() if got.get(name, "n") != value]


def added_symbols(series: list[Path]) -> set[str]:
    """The symbols that patches add to the kernel's configuration."""
    return {f"CONFIG_{name}" for patch in series
            for name in _ADDED.findall(patch.read_text("utf-8"))}


def make(step: steps.Step, kernel: Kernel, tree: patches.Tree, jobs: int, *targets: str,
         env: dict[str, str] | None = None, parse: steps.LineParser | None = None) -> None:
    """Run make for a kernel, with the compiler cache and a fixed identity."""
    step.run(
        ["make", "-C", tree.root, f"O={kernel.directory}", f"-j{jobs}", "ARCH=x86_64",
         "CC=ccache gcc", "HOSTCC=ccache gcc", *targets],
        env={**steps.ccache_env(), **_IDENTITY, **(env or {})}, parse=parse,
    )


def _is_configured(kernel: Kernel, tree: patches.Tree, fragment: str) -> bool:
    """Whether configuring again would give the same, which takes longer than an edit's build."""
    marker = kernel.directory / _CONFIGURED
    if not (marker.exists() and (kernel.directory / ".config").exists()):
        return False
    if (kernel.directory / "cint.config").read_text("utf-8") != fragment:
        return False
    made = marker.stat().st_mtime_ns
    return all((tree.root / name).stat().st_mtime_ns < made for name, _ in trees.entries(tree.root)
               if name.rpartition("/")[2].startswith("Kconfig"))


def _asked_for(kernel: Kernel, text: str) -> dict[str, str]:
    """What a configuration must come to have."""
    ours = set() if kernel.patched else added_symbols(patches.read_series(paths.GUEST_PATCHES))
    return {name: value for name, value in parse_config(text).items() if name not in ours}


def _configure(step: steps.Step, kernel: Kernel, tree: patches.Tree, jobs: int) -> None:
    """Write .config from the fragments and check that every symbol asked for is there."""
    own = () if tree.origin is None else (_LATER,)
    text = "".join(path.read_text("utf-8") + "\n" for path in (*kernel.fragments, *own))
    if _is_configured(kernel, tree, text):
        return
    step.update("configuring")
    kernel.directory.mkdir(parents=True, exist_ok=True)
    fragment, marker = kernel.directory / "cint.config", kernel.directory / _CONFIGURED
    marker.unlink(missing_ok=True)
    steps.write_atomic(fragment, text)
    make(step, kernel, tree, jobs, "allnoconfig", env={"KCONFIG_ALLCONFIG": str(fragment)})
    got = parse_config((kernel.directory / ".config").read_text("utf-8"))
    lost = lost_symbols(_asked_for(kernel, text), got)
    names = ", ".join(path.name for path in kernel.fragments)
    if lost and tree.origin is None:
        raise step.fail(f"the kernel configuration lost {'; '.join(lost)}",
                        f"a dependency is missing in {names}")
    if lost:
        # Another version, or a commit before the one that adds the symbol.
        ui.warn(f"{tree.label} has not {'; '.join(lost)}", f"asked for in {names}")
    marker.touch()


def series_for(own: Path | None, as_is: bool) -> list[Path]:
    """The patches to apply: none to a tree that has them, or some of them, as commits.

    Between two commits of the series, as in a bisection, the later ones must stay out.
    """
    series = patches.read_series(paths.GUEST_PATCHES)
    if own is None:
        return series
    if as_is:
        return []
    present = trees.committed(own, patches.subjects(series))
    if present:
        ui.info(f"{own} has {len(present)} of the {len(series)} patches of "
                f"{paths.display(paths.GUEST_PATCHES)} as commits: it is built as it is")
    return [] if present else series


def _forget_another_tree(own: Path) -> None:
    """Remove the objects of another own tree: its files may be newer than this one's."""
    marker = steps.Stamp("linux-own-objects")
    if marker.current({"origin": str(own)}):
        return
    for directory in paths.OWN.glob("linux*"):
        shutil.rmtree(directory)
    marker.write({"origin": str(own)})


def _select(kernel: Kernel) -> None:
    """Make this kernel the one that guests boot."""
    target = kernel.directory / "vmlinux"
    steps.link_atomic(paths.KERNEL, os.path.relpath(target, paths.KERNEL.parent))


def build(own: Path | None, jobs: int, kernel: Kernel = MEASURED, as_is: bool = False) -> bool:
    """Build bzImage and vmlinux; True when there was something to do.

    The measured kernel becomes the one that guests boot.
    """
    worked, built = _build(own, jobs, kernel, as_is)
    if kernel is MEASURED:
        _select(built)
    return worked


def _build_plain(jobs: int, kernel: Kernel) -> bool:
    """Build the distribution's kernel without our patches; True if there was something to do."""
    source = sources.unpack(sources.LINUX)
    inputs = {"source": source.version, "config": steps.hash_files(kernel.fragments),
              "identity": _IDENTITY}

    def make(step: steps.Step) -> None:
        tree = trees.prepare_unpatched(sources.LINUX, paths.LINUX_PLAIN_SRC)
        _make_image(step, kernel, tree, jobs)

    return steps.once(kernel.name, f"Build {kernel.what} (Linux {source.version})", inputs,
                      [kernel.image], make)


def _make_image(step: steps.Step, kernel: Kernel, tree: patches.Tree, jobs: int) -> str:
    """Configure and build; returns the kernel's release."""
    _configure(step, kernel, tree, jobs)
    progress = steps.counter(r"  (CC|AS|LD|AR|HOSTCC) ", _FULL_BUILD)
    make(step, kernel, tree, jobs, *kernel.targets, parse=progress)
    release = (kernel.directory / "include/config/kernel.release").read_text().strip()
    step.summary(release)
    return release


def build_module(kernel: Kernel, name: str, files: Iterable[Path]) -> Path:
    """A module for a kernel that has been built with them, of its sources: NAME.ko, stripped."""
    place = kernel.directory / name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for path in files:
        shutil.copyfile(path, place / path.name)
    with steps.step(f"{kernel.name}-{name}", f"Build {name} for {kernel.what}") as step:
        # Nobody reads a module's own types.
        step.run(["make", "-C", place, f"KDIR={kernel.directory}", "ARCH=x86_64", "CC=ccache gcc",
                  "CONFIG_DEBUG_INFO_BTF_MODULES=", "KCFLAGS=-Werror"],
                 env={**steps.ccache_env(), **_IDENTITY})
        step.run(["strip", "--strip-debug", place / f"{name}.ko"])
    return place / f"{name}.ko"


def build_port(tree: patches.Tree, directory: Path, jobs: int) -> Path:
    """Build the measured configuration from a tree of another version, and return the kernel."""
    kernel = replace(MEASURED, name="linux-port", directory=directory)
    with steps.step(kernel.name, f"Build the guest kernel ({tree.label})") as step:
        _make_image(step, kernel, tree, jobs)
    return kernel.image


def _build(own: Path | None, jobs: int, kernel: Kernel, as_is: bool) -> tuple[bool, Kernel]:
    """Build, and say whether there was something to do and where the kernel is."""
    if not kernel.patched:
        return _build_plain(jobs, kernel), kernel
    tree = trees.prepare(sources.LINUX, own)
    if own is not None:
        kernel = replace(kernel, directory=paths.OWN / kernel.directory.name)
        _forget_another_tree(own)
    series = series_for(own, as_is)
    inputs = {
        "source": tree.label,
        "patches": steps.hash_files(series),
        "config": steps.hash_files(kernel.fragments),
        "identity": _IDENTITY,
    }
    stamp = steps.Stamp(kernel.name if own is None else f"{kernel.name}-own-build")
    # A person's own tree may have changed anywhere: make finds out.
    if own is None and stamp.current(inputs, kernel.image, kernel.directory / "vmlinux"):
        return False, kernel
    stamp.remove()
    with steps.step(kernel.name, f"Build {kernel.what} ({tree.label})") as step:
        patches.apply_series(tree, series)
        release = _make_image(step, kernel, tree, jobs)
    stamp.write(inputs, release=release, source=tree.label)
    return True, kernel

