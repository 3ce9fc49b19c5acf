# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint hints`: the module that gives hints from a kernel as it is, on this machine."""

from __future__ import annotations

import argparse
import gzip
import os
import platform
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from cint import ask, ui
from cint.build import dkms, hints
from cint.errors import EXIT_FAILED, EXIT_OK, CintError, UsageError

#: Options of the kernel that the module needs, and what is lost without.
NEEDS = {"CONFIG_MODULES": "no module can be loaded", "CONFIG_TRACEPOINTS": "nothing is marked",
         "CONFIG_KALLSYMS": "nothing is marked", "CONFIG_DEBUG_INFO_BTF": "nothing is marked",
         "CONFIG_DEBUG_FS": "there are no counters"}


def declare(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "A kernel as it is gives the device no hints; the module cint_hints makes it\n"
        "(docs/hints-module.md). This is for the guest: without options it says what the kernel\n"
        "of this machine can give. --install and --remove need root, DKMS and the kernel's "
        "headers.")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--deb", metavar="DIR", nargs="?", const=Path(), type=Path,
                      help="write a Debian package into DIR (default: here) that builds the module "
                           "for each kernel it is installed beside")
    what.add_argument("--install", action="store_true", help="build it with DKMS, and load it")
    what.add_argument("--remove", action="store_true", help="unload it, and take it out of DKMS")


# ---- status -------------------------------------------------------------

def kernel_config(release: str, root: Path = Path("/")) -> dict[str, str] | None:
    """The options a kernel was built with; None where it does not say."""
    plain, packed = root / f"boot/config-{release}", root / "proc/config.gz"
    if plain.is_file():
        text = plain.read_text(encoding="utf-8", errors="replace")
    elif packed.is_file():
        text = gzip.decompress(packed.read_bytes()).decode(errors="replace")
    else:
        return None
    pairs = (line.partition("=") for line in text.splitlines() if line.startswith("CONFIG_"))
    return {name: value for name, _, value in pairs}


def _read(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def status(release: str, root: Path = Path("/")) -> Iterator[tuple[bool, str]]:
    """The module's state on a machine with this kernel, line by line, and whether that is well."""
    config = kernel_config(release, root)
    if config is None:
        yield False, f"Linux {release} does not say how it was built"
    else:
        lost = [f"{name}: {what}" for name, what in NEEDS.items() if config.get(name) != "y"]
        yield not lost, f"Linux {release}: " + ("; ".join(f"no {one}" for one in lost)
                                                or "has what the module needs")
        if config.get("CONFIG_BLK_IRQ_HINTS") == "y":
            yield False, "this kernel gives hints by itself: it needs no module"
    headers = root / f"lib/modules/{release}/build"
    yield headers.exists(), (f"headers: {headers}" if headers.exists()
                             else f"no headers: apt-get install linux-headers-{release}")
    if not (root / f"sys/module/{hints.NAME}").is_dir():
        yield False, f"{hints.NAME} is not loaded"
        return
    on = _read(root / f"sys/module/{hints.NAME}/parameters/on")
    yield on == ["Y"], f"{hints.NAME} is loaded, and {'on' if on == ['Y'] else 'off'}"
    yield from _counted(root / f"sys/kernel/debug/{hints.NAME}")


def _counted(place: Path) -> Iterator[tuple[bool, str]]:
    """What the module tells."""
    rows = [line.split() for line in _read(place / "counters")]
    if not rows:
        yield False, f"no controller takes hints, or {place} cannot be read"
    for line in _read(place / "kinds"):
        if line.startswith("lost "):
            yield False, f"lost in this kernel: {line.removeprefix('lost ')}"
    for controller, kind, *counts in rows:
        if any(count != "0" for count in counts[1::2]):
            pairs = zip(counts[::2], counts[1::2], strict=True)
            yield True, f"{controller} {kind}: " + ", ".join(f"{n} {name}" for name, n in pairs)


# ---- install and remove -------------------------------------------------

def _dkms(*words: str) -> None:
    if os.geteuid():
        raise CintError("DKMS needs root", hint="run the command with sudo")
    if not shutil.which("dkms"):
        raise CintError("there is no dkms",
                        hint="apt-get install dkms, or ./cint hints --deb and install that")
    _run(["dkms", *words, "-m", dkms.NAME, "-v", dkms.version()])


def _run(argv: Sequence[str]) -> None:
    done = ask.run(argv)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise CintError(f"{argv[0]} {argv[1]}: {said[-1] if said else done.returncode}",
                        hint="dmesg, or the log that dkms names, says more")


def _install() -> None:
    release = platform.release()
    if not Path(f"/lib/modules/{release}/build").exists():
        raise CintError(f"no headers of Linux {release}",
                        hint=f"apt-get install linux-headers-{release}")
    place = Path("/usr/src") / f"{dkms.NAME}-{dkms.version()}"
    if place.exists():
        raise CintError(f"{place} is there already", hint="./cint hints --remove first")
    if os.geteuid() == 0 and shutil.which("dkms"):
        dkms.put_sources(place.parent)
    _dkms("install")
    _run(["modprobe", hints.NAME])
    ui.info(f"{hints.NAME} {dkms.version()} is installed for Linux {release}, and loaded")


def _remove() -> None:
    if Path(f"/sys/module/{hints.NAME}").is_dir():
        _run(["rmmod", hints.NAME])
    _dkms("remove", "--all")
    shutil.rmtree(Path("/usr/src") / f"{dkms.NAME}-{dkms.version()}", ignore_errors=True)
    ui.info(f"{hints.NAME} is removed")


def run(args: argparse.Namespace) -> int:
    if args.deb is not None:
        if not args.deb.is_dir():
            raise UsageError(f"--deb {args.deb}: there is no such directory")
        print(dkms.make_deb(args.deb))
        return EXIT_OK
    if args.install or args.remove:
        (_install if args.install else _remove)()
        return EXIT_OK
    lines = list(status(platform.release()))
    for well, text in lines:
        print(f"{'ok  ' if well else 'no  '} {text}")
    return EXIT_OK if all(well for well, _ in lines) else EXIT_FAILED
