# SPDX-License-Identifier: GPL-2.0-or-later
"""The distribution's packages that building needs, and how they get installed."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence

from cint import ask, steps, ui
from cint.errors import CintError

_COMPILER = ("gcc", "libc6-dev", "pkg-config")
_SOURCES = ("dpkg-dev", "git", "patch", "xz-utils")

#: Package names of Debian 12, and as far as known of 13, by what they are for: the targets of
#: setup.ensure(), and groups that only some tests need.
NEEDS: dict[str, tuple[str, ...]] = {
    "replay": (*_COMPILER, "libglib2.0-dev"),
    "sources": _SOURCES,
    "engine": (*_COMPILER, "ccache", "libglib2.0-dev", "libjansson-dev"),
    "qemu": (*_COMPILER, "make", "ccache", "ninja-build", *_SOURCES, "flex", "bison",
             "libglib2.0-dev", "libpixman-1-dev", "libfdt-dev", "libslirp-dev", "zlib1g-dev",
             "libaio-dev", "seabios", "qemu-system-data", "ipxe-qemu"),
    "linux": (*_COMPILER, "make", "ccache", *_SOURCES, "flex", "bison", "bc", "libelf-dev",
              "libssl-dev", "rsync"),
    "image": (*_COMPILER, "make", "ccache", *_SOURCES, "binutils", "libaio-dev", "zlib1g-dev",
              "libjansson-dev", "busybox-static", "nvme-cli", "libnvme-dev", "libdbus-1-dev",
              "libjson-c-dev"),
    "distro": ("dpkg-dev", "kmod", "xz-utils"),
    "distro-hints": ("dpkg-dev", "kmod", "util-linux", "xz-utils"),
    "series": (*_COMPILER, "make", "ccache", "flex", "bison", "bc", "libelf-dev", "libssl-dev"),
    "model": ("ccache", "gcc", "libc6-dev", "spin"),
    "guest tests": ("dmsetup", "e2fsprogs", "kmod", "sqlite3", "xfsprogs"),
    # where others stand between a program and the driver, and pahole for a kernel with BTF
    "foreign tests": ("btrfs-progs", "kexec-tools", "pahole"),
    "sanitizers": ("clang", "libclang-rt-dev", "llvm"),
    # displays, sound, disks and networks of own machines, and the firmware that boots them
    "own machines": ("libgtk-3-dev", "libspice-server-dev", "libspice-protocol-dev",
                     "libgnutls28-dev", "libjpeg-dev", "libpng-dev", "libsasl2-dev",
                     "libncurses-dev", "libepoxy-dev", "libgbm-dev", "libvirglrenderer-dev",
                     "libpulse-dev", "libasound2-dev", "liburing-dev", "libzstd-dev",
                     "libbz2-dev", "libcurl4-gnutls-dev", "libssh-dev", "libattr1-dev",
                     "libusb-1.0-0-dev", "libusbredirparser-dev", "libseccomp-dev",
                     "libcap-ng-dev", "libnuma-dev", "ovmf"),
    "libvirt": ("libvirt-daemon", "libvirt-daemon-driver-qemu", "libvirt-clients", "grub-common",
                "grub-pc-bin", "grub-efi-amd64-bin", "mtools"),
    "counting": ("valgrind", "binutils"),
    # programs that read what the tool writes: images, completions, the manual page
    "tool tests": ("cpio", "fish", "man-db", "zsh"),
}  # fmt: skip

#: Targets that need what others need.
_LIKE = {"engine-asan": ("engine", "sanitizers"), "qemu-stock": ("qemu",),
         "qemu-upstream": ("qemu",), "qemu-asan": ("qemu", "sanitizers"),
         "qemu-tsan": ("qemu",),
         "qemu-bench": ("qemu", "counting"),
         "qemu-install": ("qemu", "own machines"), "preload": ("image",), "agree": ("image",),
         "distro-preload": ("image", "distro-hints"), "linux-preempt": ("linux",)}


def needed(targets: Iterable[str]) -> list[str]:
    """The packages that the targets and groups of NEEDS need, each once."""
    groups = [group for target in targets for group in _LIKE.get(target, (target,))]
    return list(dict.fromkeys(name for group in groups for name in NEEDS[group]))


#: All of them: what a machine has after every target and test.
PACKAGES = tuple(needed(NEEDS))

#: Of these, what a machine needs that runs guests with a QEMU that was built elsewhere.
RUNTIME = ("libglib2.0-dev", "libpixman-1-dev", "libfdt-dev", "libslirp-dev", "zlib1g-dev")

#: How long another program's lock on packages is waited for, and between two tries.
LOCK_LIMIT_S, LOCK_PAUSE_S = 600.0, 3.0
#: What apt-get says of one of its locks that it cannot have.
_LOCKED = re.compile(r"^E: Could not get lock")

_APT_INSTALL = ("apt-get", "install", "-y", "--no-install-recommends")


def missing(wanted: Sequence[str] = PACKAGES) -> list[str]:
    """Those of the list that are not installed; asks dpkg's database only."""
    if not shutil.which("dpkg-query"):
        return list(wanted)
    done = ask.run(["dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package}\n", *wanted])
    installed = {words[-1] for words in map(str.split, done.stdout.splitlines())
                 if words and words[0] == "ii"}
    return [name for name in wanted if name not in installed]


def install_command(names: Sequence[str]) -> str:
    """The command that a person with the right to do so would type."""
    return " ".join([*_APT_INSTALL, *names])


def _privilege() -> list[str] | None:
    """The words that make a command run as root, or None when there is no way."""
    if os.geteuid() == 0:
        return []
    if not shutil.which("sudo"):
        return None
    # Ask for the password here, in front of the person, not inside a logged step.
    interactive = [] if sys.stdin.isatty() else ["-n"]
    asked = subprocess.run(["sudo", *interactive, "-v"], check=False)
    return ["sudo", "-n"] if asked.returncode == 0 else None


def install(wanted: Sequence[str] = PACKAGES, force: bool = False) -> None:
    """Install what is missing. Does not call apt-get at all when nothing is.

    With ``force`` a system without apt-get is believed to have what it needs.
    """
    names = missing(wanted)
    if names and force and not shutil.which("apt-get"):
        ui.warn(f"there is no apt-get; needed is what Debian has as: {' '.join(names)}",
                "going on; what is not there will be missed by name")
    elif names:
        _install(names)


def require(name: str, program: str) -> None:
    """Install a package that only few need, unless its program is there."""
    if not shutil.which(program):
        _install([name])


def _install(names: list[str]) -> None:
    command = install_command(names)
    if not shutil.which("apt-get"):
        raise CintError(
            f"these Debian packages are missing and there is no apt-get: {' '.join(names)}",
            hint="cint sets itself up on Debian 12; elsewhere run it in a Debian container",
        )
    ui.info(f"to be installed with apt-get, as root: {' '.join(names)}{_download(names)}")
    privilege = _privilege()
    if privilege is None:
        raise CintError(
            f"{len(names)} packages must be installed, which needs root, and sudo does not work",
            hint=f"have the administrator run:  {command}",
        )
    with steps.step("packages", f"Install {len(names)} packages with apt-get") as step:
        _apt(step, privilege, names, command)


def parse_cost(text: str) -> str:
    """Download and disk space by apt-get's words, as one remark; empty if it names none."""
    found = [match[0] for pattern in (r"[0-9.,]+ [kMG]?B(?= of archives|/)",
                                      r"[0-9.,]+ [kMG]?B(?= of additional disk space)")
             if (match := re.search(pattern, text))]
    return f" (download {found[0]}, {found[-1]} of disk space)" if len(found) == 2 else ""


def _download(names: Sequence[str]) -> str:
    """What installing would cost; empty while the package lists do not know the packages."""
    done = ask.run(["apt-get", "install", "--assume-no", "--no-install-recommends", *names],
                   env={**os.environ, "LC_ALL": "C"})
    return parse_cost(done.stdout)


def _apt(step: steps.Step, privilege: list[str], names: list[str], command: str) -> None:
    env = {"DEBIAN_FRONTEND": "noninteractive"}
    # sudo drops the environment, so env(1) carries the setting across.
    install = [*privilege, "env", "DEBIAN_FRONTEND=noninteractive", *_APT_INSTALL, *names]
    progress = steps.counter(r"(Get:|Unpacking|Setting up) ?", 3 * len(names))
    hint = f"is the package mirror reachable? by hand:  {command}"

    def apt(words: Sequence[str]) -> tuple[int, list[str]]:
        return _unlocked(step, lambda: step.run(words, env=env, parse=progress, check=False))

    if apt(install)[0] == 0:
        return
    # A fresh machine's package lists are empty, an old one's are out of date.
    step.update("refreshing the package lists")
    for words in ([*privilege, "apt-get", "update"], install):
        code, tail = apt(words)
        if code:
            raise step.fail(steps.meaningful_error(tail), hint)


def _unlocked(step: steps.Step, apt: Callable[[], tuple[int, list[str]]]) -> tuple[int, list[str]]:
    """Run apt-get; while another program holds one of its locks, wait and run it again."""
    until, said = time.monotonic() + LOCK_LIMIT_S, False
    while True:
        code, tail = apt()
        held = next((line for line in tail if _LOCKED.search(line)), None)
        if code == 0 or held is None or time.monotonic() > until:
            return code, tail
        if not said:
            ui.info("waiting for another program that installs packages, for up to "
                    f"{ui.duration(LOCK_LIMIT_S)}: {held.removeprefix('E: ')}")
            said = True
        step.update("waiting for another program's lock")
        time.sleep(LOCK_PAUSE_S)
