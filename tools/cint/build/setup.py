# SPDX-License-Identifier: GPL-2.0-or-later
"""Sets up what a verb needs: checks the machine, installs packages, builds the targets."""

import argparse
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from cint import host, paths, steps, ui
from cint.build import distro, engine, image, linux, packages, qemu
from cint.errors import CintError, UsageError

#: What can be built, in the order it is built.
TARGETS = ("engine", "qemu", "linux", "image")

#: What is only built when it is asked for; after the others, which it may need.
OPTIONAL = ("engine-asan", "qemu-upstream", "qemu-asan", "qemu-bench", "distro")

#: Bytes that a first set-up needs: build/ and the cache (downloads, compiler cache).
NEEDED_BUILD = 4_500_000_000
NEEDED_CACHE = 1_500_000_000


def add_force(parser: argparse.ArgumentParser) -> None:
    """The option that overrides the checks of the machine."""
    parser.add_argument("--force", action="store_true",
                        help="go on although the machine was not verified or looks too small")


def jobs(args: argparse.Namespace) -> int:
    """How many compilers at once."""
    return int(args.jobs or os.cpu_count() or 1)


def existing(path: Path) -> Path:
    """The nearest directory that exists, for asking about its disk."""
    while not path.exists():
        path = path.parent
    return path


def is_set_up() -> bool:
    """Whether the large things were built once."""
    return all(steps.Stamp(name).path.exists() for name in ("linux", "qemu"))


def check_space(force: bool) -> None:
    """Stop before a first build that cannot fit. A finished one needs little more."""
    if is_set_up():
        return
    needs: dict[int, tuple[int, Path]] = {}
    for path, needed in ((paths.BUILD, NEEDED_BUILD), (paths.CACHE, NEEDED_CACHE)):
        device = existing(path).stat().st_dev
        before = needs.get(device, (0, path))
        needs[device] = (before[0] + needed, before[1])
    for needed, path in needs.values():
        free = shutil.disk_usage(existing(path)).free
        if free >= needed:
            continue
        text = f"{path} needs about {ui.size(needed)} of free space, and there is {ui.size(free)}"
        if not force:
            raise CintError(text, hint="free some, set XDG_CACHE_HOME to another disk for the "
                                       "cache, or go on anyway with --force")
        ui.warn(text)


def check_machine(force: bool) -> None:
    """Stop on a machine cint cannot build on; warn on one it was never tried on."""
    if host.machine() != "x86_64":
        raise CintError(f"this machine is {host.machine()}; only x86-64 hosts are supported",
                        hint="use an x86-64 machine with Debian 12")
    distribution = host.distribution()
    if distribution.verified:
        return
    if distribution.expected:
        if packages.missing():
            ui.warn(f"{distribution.name}: cint was tried on Debian 12 only",
                    "the packages and sources of Debian 13 are known; please report what fails")
        return
    text = f"{distribution.name} is not supported: cint was tried on Debian 12 only"
    if packages.missing() and not force:
        raise CintError(text, hint="try anyway with `./cint setup --force`, or use a Debian "
                                   "container; the sources need a Debian mirror "
                                   "(CINT_DEBIAN_MIRROR=URL) or --qemu-src and --linux-src")
    ui.warn(text, "going on, because the packages needed are there" if not force else None)


def ensure(args: argparse.Namespace, targets: Sequence[str] = TARGETS) -> bool:
    """Set up what `targets` need; True when something was built. Cheap when all is done."""
    force = bool(getattr(args, "force", False))
    with steps.build_lock():
        check_machine(force)
        check_space(force)
        packages.install()
        done = [_BUILDERS[target](args) for target in (*TARGETS, *OPTIONAL)
                if target in targets]
    return any(done)


def _qemu(args: argparse.Namespace) -> bool:
    return qemu.build(args.qemu_src, jobs(args))


def _linux(args: argparse.Namespace) -> bool:
    as_is = bool(getattr(args, "linux_as_is", False))
    if as_is and args.linux_src is None:
        raise UsageError("--linux-as-is: which tree is to be taken as it is?",
                         hint="name it with --linux-src DIR")
    return linux.build(args.linux_src, jobs(args), as_is=as_is)


def _image(args: argparse.Namespace) -> bool:
    return image.build(jobs(args))


def _engine(args: argparse.Namespace) -> bool:
    return engine.build(jobs(args))


def _engine_asan(args: argparse.Namespace) -> bool:
    return engine.build_asan(jobs(args))


def _qemu_asan(args: argparse.Namespace) -> bool:
    return qemu.build_asan(args.qemu_src, jobs(args))


def _qemu_upstream(args: argparse.Namespace) -> bool:
    return qemu.build_upstream(args.qemu_src, jobs(args))


def _qemu_bench(args: argparse.Namespace) -> bool:
    return qemu.build_bench(args.qemu_src, jobs(args))


def _distro(args: argparse.Namespace) -> bool:
    worked = image.build(jobs(args))
    return distro.build() or worked


_BUILDERS = {"engine": _engine, "qemu": _qemu, "linux": _linux, "image": _image,
             "engine-asan": _engine_asan, "qemu-upstream": _qemu_upstream,
             "qemu-asan": _qemu_asan, "qemu-bench": _qemu_bench, "distro": _distro}
