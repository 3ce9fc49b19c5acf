# SPDX-License-Identifier: GPL-2.0-or-later
"""Sets up what a verb needs: checks the machine, installs packages, builds the targets."""

import argparse
import os
import shutil
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from cint import ask, bootstrap, host, paths, steps, ui
from cint.build import distro, engine, hints, image, linux, packages, qemu
from cint.errors import CintError, UsageError

#: What can be built, in the order it is built.
TARGETS = ("engine", "qemu", "linux", "image")

#: What is only built when it is asked for; after the others, which it may need.
OPTIONAL = ("qemu-stock", "engine-asan", "qemu-upstream", "qemu-asan", "qemu-tsan", "qemu-bench",
            "qemu-install", "distro", "distro-hints", "preload", "distro-preload", "agree",
            "linux-preempt")

#: What takes minutes and gigabytes.
LARGE = {"qemu", "linux", "image", "distro", "distro-hints", "preload", "distro-preload", "agree",
         "qemu-stock", "qemu-upstream",
         "qemu-asan", "qemu-tsan", "qemu-bench", "qemu-install", "linux-preempt"}

#: Bytes that a first set-up needs: build/ and the cache (downloads, compiler cache).
NEEDED_BUILD = 4_500_000_000
NEEDED_CACHE = 1_500_000_000
#: What it takes with two CPUs and empty caches, rounded up.
FIRST_MINUTES = 30
#: A build of fewer seconds says nothing of what it cost.
WORTH_SAYING_S = 30.0


def add_force(parser: argparse.ArgumentParser, more: str = "") -> None:
    """The option that overrides the checks of the machine; `more` is what else it does."""
    parser.add_argument("--force", action="store_true",
                        help="go on although the machine was not verified or looks too small"
                             + more)


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
    """Raise :class:`CintError` before a first build that cannot fit; others need little more."""
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


def check_machine(force: bool, wanted: Sequence[str] = packages.PACKAGES) -> None:
    """Raise :class:`CintError` on a machine that cannot build; warn on one never tried."""
    if host.machine() != "x86_64":
        raise CintError(f"this machine is {host.machine()}; only x86-64 hosts are supported",
                        hint="use an x86-64 machine with Debian 12 or 13")
    distribution = host.distribution()
    if distribution.verified:
        return
    text = f"{distribution.name} is not supported: cint was tried on Debian 12 and 13 only"
    if packages.missing(wanted) and not force:
        raise CintError(text, hint="try anyway with `./cint build --force` (docs/first-contact.md, "
                                   "\"Other systems\"), or use a Debian container")
    ui.warn(text, "going on, because the packages needed are there" if not force else None)


def _forced(args: argparse.Namespace) -> bool:
    """Whether --force was given, now or to a set-up on this system before."""
    stamp, system = steps.Stamp("forced"), {"system": host.distribution().name}
    if getattr(args, "force", False):
        stamp.write(system)
    return stamp.current(system)


def ensure(args: argparse.Namespace, targets: Sequence[str] = TARGETS,
           groups: Sequence[str] = (), extras: Sequence[str] = ()) -> bool:
    """Set up what `targets` need; True when something was built. Cheap when all is done.

    `groups` are further packages, by their names in packages.NEEDS, `extras` those of the
    Python environment. The program may begin anew in there: call this before anything else.
    """
    force = _forced(args)
    wanted = packages.needed([*targets, *groups])
    started = time.monotonic()
    check_machine(force, wanted)
    if LARGE & set(targets) and not bootstrap.inside():  # or it has been said before
        announce(force)
    packages.install(wanted if bootstrap.can_make() else ["python3-venv", *wanted], force)
    bootstrap.ensure(*extras)
    with steps.build_lock():
        done = [_BUILDERS[target](args) for target in ("qemu-stock", *TARGETS, *OPTIONAL[1:])
                if target in targets]
    took = time.monotonic() - started
    if any(done) and took >= WORTH_SAYING_S:
        ui.info(f"built in {ui.duration(took)}; {disk_use()}")
    return any(done)


def announce(force: bool) -> None:
    """Say what the first build of the large things takes; stop where it cannot fit."""
    if is_set_up():
        return
    check_space(force)
    ui.info(f"the first set-up takes about {FIRST_MINUTES} minutes on 2 CPUs, up to "
            f"{ui.size(NEEDED_BUILD)} in {paths.display(paths.BUILD)} and "
            f"{ui.size(NEEDED_CACHE)} in {paths.display(paths.CACHE)}; it may be interrupted and "
            "goes on where it stopped")


def disk_use() -> str:
    """The space that build/ and the cache take now."""
    used = {}
    for path in (paths.BUILD, paths.CACHE):
        done = ask.run(["du", "-s", "-B1", path])
        used[path] = int(done.stdout.split()[0]) if done.stdout else 0
    return ", ".join(f"{ui.size(size)} in {paths.display(path)}" for path, size in used.items())


Builder = Callable[[argparse.Namespace], bool]


def _qemu(make: Callable[[Path | None, int], bool]) -> Builder:
    """One of QEMU's builds."""
    return lambda args: make(args.qemu_src, jobs(args))


def _linux(args: argparse.Namespace) -> bool:
    as_is = bool(getattr(args, "linux_as_is", False))
    if as_is and args.linux_src is None:
        raise UsageError("--linux-as-is: which tree is to be taken as it is?",
                         hint="name it with --linux-src DIR")
    return linux.build(args.linux_src, jobs(args), as_is=as_is)


def _image(*more: Callable[[], bool]) -> Builder:
    """The guest's image, then what needs it."""
    return lambda args: any([image.build(jobs(args), args.fio_src), *(make() for make in more)])


_BUILDERS: dict[str, Builder] = {
    "engine": lambda args: engine.build(jobs(args)),
    "engine-asan": lambda args: engine.build_asan(jobs(args)),
    "qemu": _qemu(qemu.build),
    "qemu-stock": lambda args: any([_qemu(qemu.build_stock)(args), _qemu(qemu.build)(args)]),
    "qemu-upstream": _qemu(qemu.build_upstream),
    **{name: _qemu(partial(qemu.build_sanitized, name)) for name in qemu.SANITIZERS},
    "qemu-bench": _qemu(qemu.build_bench), "qemu-install": _qemu(qemu.build_installable),
    "linux": _linux, "image": _image(), "distro": _image(distro.build),
    "distro-hints": _image(hints.build), "preload": _image(image.build_preload),
    "distro-preload": _image(hints.build, lambda: image.build_preload(paths.DISTRO_HINTS)),
    "agree": lambda args: _image(lambda: image.build_agree(args.fio_src))(args),
    "linux-preempt": lambda args: linux.build(None, jobs(args), linux.PREEMPT)}
