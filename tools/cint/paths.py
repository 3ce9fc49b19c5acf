# SPDX-License-Identifier: GPL-2.0-or-later
"""Where everything is. Every other module takes its paths from here."""

import os
from pathlib import Path

from cint.errors import UsageError

#: The project's checkout.
ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"

#: Everything generated; `cint clean` removes it.
BUILD = ROOT / "build"
VENV = BUILD / "venv"
SRC = BUILD / "src"
LOGS = BUILD / "logs"
STAMPS = BUILD / "stamps"
TEST_LOGS = LOGS / "test"
LOCK = BUILD / "lock"

QEMU_SRC = SRC / "qemu"
QEMU_BUILD = BUILD / "qemu"
QEMU = QEMU_BUILD / "qemu-system-x86_64"
QOS_TEST = QEMU_BUILD / "tests/qtest/qos-test"
#: The same source and configuration without our patches, for the identity test.
QEMU_STOCK = BUILD / "qemu-stock/qemu-system-x86_64"
#: The same with one series for upstream alone, and QEMU's tests of it: a directory each.
QEMU_UPSTREAM = BUILD / "qemu-upstream"

#: A tree of its own for the builds that are measured, which have the load generator.
QEMU_BENCH_SRC = SRC / "qemu-bench"
QEMU_BENCH_BUILD = BUILD / "qemu-bench"
#: The measured binaries: QEMU as it is; with the first patch for its event loop; with those
#: patches of ours that are for upstream anyway; the same with the bench's own for virtio; and
#: with all of them.
BENCH_PRISTINE = BUILD / "bench/qemu-pristine"
BENCH_WAKE = BUILD / "bench/qemu-wake"
BENCH_STOCK = BUILD / "bench/qemu-stock"
BENCH_VIRTIO = BUILD / "bench/qemu-virtio"
BENCH_CINT = QEMU_BENCH_BUILD / "qemu-system-x86_64"
BENCH_FIRMWARE = BUILD / "bench/halt.bin"
BENCH_MEDIUM = BUILD / "bench/medium.raw"

#: With what own machines use, for ./cint install.
QEMU_INSTALL = BUILD / "qemu-install"

#: QEMU of other versions, for ./cint port: a directory each.
PORT = BUILD / "port"

LINUX_SRC = SRC / "linux"
LINUX_BUILD = BUILD / "linux"
#: The same source with checks of its own, for slow tests.
LINUX_DEBUG_BUILD = BUILD / "linux-debug"
#: With both those checks and what is between a program and the driver elsewhere, for slow tests.
LINUX_FOREIGN_BUILD = BUILD / "linux-foreign"
#: With the detector of data races, for slow tests.
LINUX_KCSAN_BUILD = BUILD / "linux-kcsan"
#: Kernel objects with CONFIG_PREEMPT_DYNAMIC, and the kernel.
LINUX_PREEMPT_BUILD = BUILD / "linux-preempt"
#: Without our patches, for what they cost where no device takes hints. In all these places the
#: sources are beside the objects in the same way, or the compiler cache would find nothing.
LINUX_PLAIN_SRC = BUILD / "plain/src/linux"
LINUX_PLAIN_BUILD = BUILD / "plain/linux"
#: The same source with its own checks, for the hints module.
LINUX_CHECKED_BUILD = BUILD / "plain/linux-checked"
#: Where the series is compiled patch by patch.
LINUX_SERIES = BUILD / "series"
#: A person's own trees and their kernels' objects are kept apart: neither spoils the
#: others. The places relative to each other are the same, as the compiler cache needs.
OWN = BUILD / "own"
#: A link to the kernel that was built last: the one guests boot, which has its symbols. QEMU enters
#: it by PVH; bzImage would first have to be unpacked, by the guest.
KERNEL = BUILD / "kernel/vmlinux"

FIO_SRC = SRC / "fio"
FIO_BUILD = BUILD / "fio"
NVME_SRC = SRC / "nvme-cli"
NVME_BUILD = BUILD / "nvme-cli"
GUEST = BUILD / "guest"
INITRAMFS = GUEST / "initramfs.cpio"
MANIFEST = GUEST / "manifest.json"
#: The same with the user-space driver's program.
USERSPACE_INITRAMFS = BUILD / "userspace/initramfs.cpio"

#: The distribution's own kernel, its modules, and our image with those.
DISTRO = BUILD / "distro"
DISTRO_KERNEL = DISTRO / "vmlinuz"
DISTRO_MODULES = DISTRO / "modules"
DISTRO_MORE = DISTRO / "more"
DISTRO_INITRAMFS = DISTRO / "initramfs.cpio"
#: The module that gives hints from it (guest-module/), what that is built in, the image with it.
DISTRO_HINTS = DISTRO / "hints/cint_hints.ko"
DISTRO_ROOT = DISTRO / "root"
DISTRO_HINTS_INITRAMFS = DISTRO_HINTS.with_name("initramfs.cpio")
#: Images in which programs' I/O can be marked (preload/): for our kernel, and with the module.
PRELOAD_INITRAMFS = BUILD / "preload/initramfs.cpio"
DISTRO_PRELOAD_INITRAMFS = DISTRO / "preload/initramfs.cpio"
#: The image whose fio ends a run when blocks of it agree.
AGREE_INITRAMFS = BUILD / "agree/initramfs.cpio"

#: Roots of Debian for programs' own guests, as archives, and the disks made of them.
DEBIAN = BUILD / "debian"

#: The policy engine by itself, with its unit tests and the replay program.
ENGINE_BUILD = BUILD / "engine"
REPLAY = ENGINE_BUILD / "replay/cint-replay"
#: The replay program as ./cint replay builds it: by the compiler alone.
REPLAY_ALONE = BUILD / "replay/cint-replay"
#: Both again with the sanitizers, the engine with its fuzz targets.
ENGINE_ASAN = BUILD / "engine-asan"
QEMU_ASAN = BUILD / "qemu-asan"
QEMU_TSAN = BUILD / "qemu-tsan"
#: Inputs that long fuzz runs found worth keeping, beside those in the repository.
FUZZ = BUILD / "fuzz"

#: The model of the interrupt handshake, a directory for each check.
MODEL_BUILD = BUILD / "model"

#: What the repository holds for each of them.
OVERLAY_NVME = ROOT / "hw/nvme"
COALESCE = OVERLAY_NVME / "coalesce"
OVERLAY_QTEST = ROOT / "tests/qtest"
#: What ThreadSanitizer is not to report, with reasons.
NO_RACES = ROOT / "tests/tsan.supp"
MUTANTS = ROOT / "tests/mutants"
OVERLAY_LOAD = ROOT / "tests/bench/load"
REPLAY_SRC = ROOT / "replay"
QEMU_PATCHES = ROOT / "qemu-patches/10.0"
#: All series of QEMU's, by the version that each is for.
QEMU_SERIES = QEMU_PATCHES.parent
#: For QEMU as it is: a series for each set of maintainers, what could be mailed today.
QEMU_UPSTREAM_PATCHES = ROOT / "qemu-patches/upstream"
#: For the builds that are measured.
QEMU_BENCH_PATCHES = ROOT / "qemu-patches/bench"
QEMU_BENCH_VIRTIO_PATCHES = QEMU_BENCH_PATCHES / "virtio"
GUEST_PATCHES = ROOT / "guest-patches/6.12"
#: nvme-cli's plugin.
NVME_PATCHES = ROOT / "nvme-cli-patches/2.3"
IMAGES = ROOT / "images"
#: The module for kernels without our patches.
GUEST_MODULE = ROOT / "guest-module"
#: What marks the I/O of programs as they are.
PRELOAD = ROOT / "preload"
#: The driver in user space.
USERSPACE = ROOT / "userspace"
LIBCINT = ROOT / "libcint"
KERNEL_CONFIG = IMAGES / "kernel"

#: Measurements; `cint clean --all` removes them.
RESULTS = ROOT / "results"


def cache_dir() -> Path:
    """The user's cache directory for cint, by the XDG rules."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "cint"


CACHE = cache_dir()
DOWNLOADS = CACHE / "downloads"
CCACHE = CACHE / "ccache"
APT = CACHE / "apt"
PIP = CACHE / "pip"
#: Outcomes of runs in virtual time, by what decides them.
RUNS = CACHE / "runs"

#: Firmware is not in the distribution's QEMU source: it comes from the
#: packages seabios, qemu-system-data and ipxe-qemu, in this order of search.
FIRMWARE_DIRS = (Path("/usr/share/seabios"), Path("/usr/share/qemu"), Path("/usr/lib/ipxe/qemu"))


def firmware_args() -> list[str]:
    """QEMU's `-L` options for the firmware packages."""
    return [word for path in FIRMWARE_DIRS for word in ("-L", str(path))]


def in_option(path: Path) -> str:
    """`path` as a value among others in an option of QEMU's, where a comma is said twice."""
    return str(path).replace(",", ",,")


def display(path: Path) -> str:
    """`path` as a person would type it: relative to the current directory when inside."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def said_of(problem: OSError | UnicodeDecodeError) -> str:
    """Why a file that was typed cannot be read, in words."""
    if isinstance(problem, FileNotFoundError):
        return "there is no such file"
    if isinstance(problem, IsADirectoryError):
        return "that is a directory"
    if isinstance(problem, OSError):
        return problem.strerror or str(problem)
    return "this is no text"


def text_of(path: Path, typed: str | None = None, hint: str | None = None) -> str:
    """A text that a person names; :class:`UsageError` says as what it was typed, and why not."""
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(f"{typed or path}: {said_of(problem)}", hint=hint) from None
