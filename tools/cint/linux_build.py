# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest kernel: lean configuration, patches, build."""

import re
from dataclasses import dataclass
from pathlib import Path

from cint import patches, paths, sources, steps, trees

#: Fixed so that the same sources give the same kernel, and ccache finds it.
_IDENTITY = {
    "KBUILD_BUILD_TIMESTAMP": "2026-01-01T00:00:00Z",
    "KBUILD_BUILD_USER": "cint",
    "KBUILD_BUILD_HOST": "cint",
    "KBUILD_BUILD_VERSION": "1",
}

#: Lines of output of a full build, for the progress shown: make does not know.
_FULL_BUILD = 1870

_SETTING = re.compile(r"^(CONFIG_\w+)=(.*)$|^# (CONFIG_\w+) is not set$")


@dataclass(frozen=True)
class Kernel:
    """One configuration of the kernel; `name` is that of its stamp and its step."""

    name: str
    what: str
    directory: Path
    fragments: tuple[Path, ...]

    @property
    def image(self) -> Path:
        """What QEMU boots."""
        return self.directory / "arch/x86/boot/bzImage"


_BASE = paths.KERNEL_CONFIG / "base.config"
#: What is measured and tested.
MEASURED = Kernel("linux", "the guest kernel", paths.LINUX_BUILD, (_BASE,))
#: With lockdep, KASAN and fault injection, built for the slow tests only.
DEBUG = Kernel("linux-debug", "the guest kernel with its own checks", paths.LINUX_DEBUG_BUILD,
               (_BASE, paths.KERNEL_CONFIG / "debug.config"))


def parse_config(text: str) -> dict[str, str]:
    """{symbol: value}; a symbol that is off has the value `n`."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = _SETTING.match(line)
        if match:
            found[match[1] or match[3]] = match[2] if match[1] else "n"
    return found


def lost_symbols(wanted: dict[str, str], got: dict[str, str]) -> list[str]:
    """What was asked for and did not survive, e.g. because a dependency is off."""
    return [f"{name}={value} (is {got.get(name, 'n')})"
            for name, value in wanted.items() if got.get(name, "n") != value]


def _make(step: steps.Step, kernel: Kernel, source: Path, jobs: int, *targets: str,
          env: dict[str, str] | None = None, parse: steps.LineParser | None = None) -> None:
    step.run(
        ["make", "-C", source, f"O={kernel.directory}", f"-j{jobs}", "ARCH=x86_64",
         "CC=ccache gcc", "HOSTCC=ccache gcc", *targets],
        env={**steps.ccache_env(), **_IDENTITY, **(env or {})}, parse=parse,
    )


def _configure(step: steps.Step, kernel: Kernel, source: Path, jobs: int) -> None:
    """Write .config from the fragments and check that every symbol asked for is there."""
    kernel.directory.mkdir(parents=True, exist_ok=True)
    text = "".join(path.read_text("utf-8") + "\n" for path in kernel.fragments)
    fragment = kernel.directory / "cint.config"
    steps.write_atomic(fragment, text)
    _make(step, kernel, source, jobs, "allnoconfig", env={"KCONFIG_ALLCONFIG": str(fragment)})
    got = parse_config((kernel.directory / ".config").read_text("utf-8"))
    lost = lost_symbols(parse_config(text), got)
    if lost:
        names = ", ".join(path.name for path in kernel.fragments)
        raise step.fail(f"the kernel configuration lost {'; '.join(lost)}",
                        f"a dependency is missing in {names}")


def build(own: Path | None, jobs: int, kernel: Kernel = MEASURED) -> bool:
    """Build bzImage and vmlinux; True when there was something to do."""
    tree = trees.prepare(sources.LINUX, own)
    series = patches.read_series(paths.GUEST_PATCHES)
    inputs = {
        "source": tree.label,
        "patches": steps.hash_files(series),
        "config": steps.hash_files(kernel.fragments),
        "identity": _IDENTITY,
    }
    stamp = steps.Stamp(kernel.name)
    # A person's own tree may have changed anywhere: make finds out.
    if own is None and stamp.current(inputs, kernel.image, kernel.directory / "vmlinux"):
        return False
    stamp.remove()
    with steps.step(kernel.name, f"Build {kernel.what} ({tree.label})") as step:
        patches.apply_series(tree, series)
        step.update("configuring")
        _configure(step, kernel, tree.root, jobs)
        progress = steps.counter(r"  (CC|AS|LD|AR|HOSTCC) ", _FULL_BUILD)
        _make(step, kernel, tree.root, jobs, "bzImage", parse=progress)
        release = (kernel.directory / "include/config/kernel.release").read_text().strip()
        step.summary(release)
    stamp.write(inputs, release=release, source=tree.label)
    return True

