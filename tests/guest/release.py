# SPDX-License-Identifier: GPL-2.0-or-later
"""A root of the distribution's release whose kernel the distro guest has, as people have it.

mmdebstrap makes it, of packages by name: DKMS, Python, that kernel and its headers, tools for disks
below others. It is kept in the build directory. The image that boots only mounts it, beside this
tree as a clone has it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from marks import (
    BDEV,
    MKFS_EXT4,
    MOUNT_EXT4,
    QUIET,
    hint_machine,
    make_disk,
    names,
    namespace,
)
from serving import Guest, serving

from cint import paths, steps
from cint.build import debian, distro, packages, sources
from cint.build import hints as module
from cint.errors import CintError
from cint.guest import hints, kinds

SYSTEM = "/mnt/system"
CHECKOUT = "/root/cint"
DISK_SIZE = 3 << 30
#: A compiler under TCG takes its time.
LIMIT_S = 1500
_PACKAGES = ("dkms", "python3", "dmsetup", "mdadm", "btrfs-progs", "kmod")
_MOUNTS = "; ".join(f"mount --rbind /{name} {SYSTEM}/{name}" for name in ("proc", "sys", "dev"))


#: Kernels of the distribution's other releases: the upstream version and the release. The last is
#: the newest that Debian has for a release.
OTHERS = {"6.1": ("6.1", "bookworm"), "6.12-bookworm": ("6.12", "bookworm"),
          "7": ("7", "trixie-backports")}
#: What is made of a kernel.
_PLACES = ("DISTRO_KERNEL", "DISTRO_MODULES", "DISTRO_MORE", "DISTRO_INITRAMFS", "DISTRO_HINTS",
           "DISTRO_ROOT", "DISTRO_HINTS_INITRAMFS")
USUAL = "usual"
#: What the kernel says of the module: its taint.
ALLOWED = (r"cint_hints: loading out-of-tree module", r"cint_hints: module verification failed")


def kernels(*others: str) -> list[Any]:
    """Parameters of a fixture that has using(): the usual kernel, and with --full others."""
    return [USUAL, *(pytest.param(name, marks=pytest.mark.slow) for name in others)]


@contextmanager
def using(name: str) -> Iterator[None]:
    """Have another kernel for the distro guest, in a place of its own; USUAL is the usual one."""
    with pytest.MonkeyPatch.context() as patch:
        if name != USUAL:
            _use(patch, name)
        yield


def _use(patch: pytest.MonkeyPatch, name: str) -> None:
    series, suite = OTHERS[name]
    place = paths.DISTRO.with_name(f"distro-{name}")
    for one in _PLACES:
        patch.setattr(paths, one, place / getattr(paths, one).relative_to(paths.DISTRO))
    patch.setattr(paths, "DISTRO", place)
    patch.setattr(paths, "STAMPS", place / "stamps")
    patch.setattr(distro, "KERNEL", replace(distro.KERNEL, series=(series,), releases=(suite,)))
    patch.setattr(module, "HEADERS",
                  replace(module.HEADERS, series=(series,), releases=(suite,)))


def build_module() -> None:
    """The distro guest's kernel and its module; skips where their packages cannot be had."""
    try:
        distro.build()
        module.fetch_headers()
    except CintError as problem:
        pytest.skip(f"no kernel of the distribution, or no headers: {problem.message}")
    module.build()


def kernel() -> tuple[sources.Candidate, str]:
    """The package of the distro guest's kernel, and the kernel's release."""
    facts = steps.Stamp("distro-kernel").facts()
    (found,) = [one for one in sources.downloaded(distro.KERNEL)
                if one.version == facts["version"]]
    return found, facts["release"]


def _make(root: Path) -> None:
    """Package lists are those that the headers were found in; what is here is not fetched again."""
    package, release = kernel()
    own = sources.apt_root(package.release, "deb")
    downloads = sources.download_directory(module.HEADERS, module.fetch_headers().version)
    have = ('mkdir -p "$1/var/lib/apt/lists" "$1/var/cache/apt/archives";'
            f'cp {own}/lists/*_* "$1/var/lib/apt/lists";'
            f'cp {downloads}/*.deb "$1/var/cache/apt/archives"')
    wanted = [*_PACKAGES, *(f"linux-{what}-{release}={package.version}"
                            for what in ("image", "headers"))]
    done = subprocess.run(
        debian.command(package.release, wanted, root, "--format=directory",
                       "--skip=update,download/empty", f"--setup-hook={have}",
                       # what a backported kernel needs may be backported, too
                       f'--aptopt=APT::Default-Release "{package.release}"'),
        capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"mmdebstrap: {done.stderr.strip().splitlines()[-1]}")


def _checkout(root: Path) -> None:
    """This tree as a clone has it."""
    listed = subprocess.run(["git", "-C", paths.ROOT, "ls-files", "-z"], capture_output=True,
                            check=True).stdout.decode().rstrip("\0")
    for name in listed.split("\0"):
        target = root / CHECKOUT.lstrip("/") / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(paths.ROOT / name, target, follow_symlinks=False)


def disk(place: Path) -> Path:
    """A disk with such a root and this tree; skips where it cannot be made."""
    if os.geteuid():
        pytest.skip("needs root")
    packages.require("mmdebstrap", "mmdebstrap")
    root = paths.DISTRO / "system"
    with steps.build_lock():
        build_module()
        inputs = {"kernel": kernel()[0].version, "packages": _PACKAGES}
        stamp = steps.Stamp("distro-system")
        if not stamp.current(inputs, root):
            stamp.remove()
            shutil.rmtree(root, ignore_errors=True)
            _make(root)
            stamp.write(inputs)
        shutil.rmtree(root / CHECKOUT.lstrip("/"), ignore_errors=True)
        _checkout(root)
        return make_disk(place / "system", *MKFS_EXT4, "-d", str(root), size=DISK_SIZE)


def mount(guest: Guest, number: int) -> None:
    """Mount namespace ``number``, which has a name, and what a system has besides."""
    guest.shell("for m in $(cat /lib/modules/more-order); do insmod $m || true; done;"
                # what is written to it stays in memory, and among no counts of commands
                f"mkdir -p {SYSTEM}; {QUIET} set -e; {MOUNT_EXT4} {BDEV[:-1]}{number} {SYSTEM};"
                f" {_MOUNTS};"
                # what a shell's <(command) is a name of
                "[ -e /dev/fd ] || ln -s /proc/self/fd /dev/fd")


def inside(guest: Guest, command: str) -> tuple[int, str]:
    """Run a command in the system as its administrator would; its status and what it said."""
    guest.write_file(f"{SYSTEM}/root/command", f"cd {CHECKOUT}\n{command}\n".encode())
    reply = guest.try_shell(
        f"chroot {SYSTEM} /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C"
        " sh /root/command 2>&1", LIMIT_S)
    return int(reply["exit"]), str(reply["stdout"])


def well(guest: Guest, command: str) -> str:
    """The same, which must succeed."""
    status, said = inside(guest, command)
    assert status == 0, said
    return said


@contextmanager
def booted(name: str, place: Path, logs: Path, *devices: str) -> Iterator[Guest]:
    """A guest of that kernel with such a system mounted, on its second namespace.

    ``place`` is for its disk, ``devices`` are more options of QEMU. No module is loaded.
    """
    with using(name):
        extra = (*namespace(2, disk(place)), *devices)
        machine = kinds.dress(hint_machine(extra=extra), "distro", hints.MODULE)
        with serving(machine, logs, kinds.BOOT_LIMIT_S, ALLOWED) as running:
            running.shell(names(2))
            mount(running, 2)
            yield running
            running.shell(f"umount -l {SYSTEM}")
