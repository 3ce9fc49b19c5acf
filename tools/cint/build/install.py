# SPDX-License-Identifier: GPL-2.0-or-later
"""An installed QEMU: put below a prefix, found again by its list of files, removed.

QEMU looks for its firmware relative to where its program is, so the directory may be moved.
The list, share/cint/install.json below the prefix, has each file's SHA-256: what somebody else
put there, or changed since, is neither replaced nor removed.
"""

import errno
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cint import __version__, ask, paths, steps, ui
from cint.build import qemu
from cint.errors import CintError, UsageError

LIST = Path("share/cint/install.json")
PROGRAM = Path("bin/qemu-system-x86_64")
DATA = Path("share/qemu")

#: Bytes that the files take.
NEEDED = 150_000_000
#: So many names are said of a list.
_SAID = 3

#: Of the packages' firmware, what an x86-64 guest can use; all of seabios and ipxe-qemu.
_OTHERS = ("bios-microvm.bin", "kvmvapic.bin", "linuxboot.bin", "linuxboot_dma.bin",
           "multiboot.bin", "multiboot_dma.bin", "pvh.bin", "qboot.rom")
#: UEFI: the package's name for it, and QEMU's own.
_UEFI = {"OVMF_CODE_4M.fd": "edk2-x86_64-code.fd", "OVMF_VARS_4M.fd": "edk2-i386-vars.fd"}
OVMF = Path("/usr/share/OVMF")


@dataclass(frozen=True)
class Installed:
    """An installation, as the list below its prefix says."""

    version: str
    #: Path below the prefix: SHA-256.
    files: Mapping[str, str]


def read_list(prefix: Path) -> Installed | None:
    """The list of an installation of ours, None without; CintError if it cannot be read."""
    path = prefix / LIST
    try:
        data = json.loads(path.read_text("utf-8"))
        return Installed(str(data["version"]), {str(k): str(v) for k, v in data["files"].items()})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, AttributeError) as problem:
        raise CintError(f"{path} cannot be read: {problem}",
                        hint="it lists what was installed; remove the directory by hand") from None


def check_prefix(prefix: Path) -> None:
    """Raise what is in the way of writing below `prefix`: UsageError of a file, else CintError."""
    existing = prefix
    while not existing.exists():
        existing = existing.parent
    if not existing.is_dir():
        raise UsageError(f"--prefix {prefix}: {existing} is a file", hint="name a directory")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise CintError(f"--prefix {prefix}: {existing} may not be written to",
                        hint="name a directory of your own, or be root")
    free = shutil.disk_usage(existing).free
    if free < NEEDED:
        raise CintError(f"--prefix {prefix}: {ui.size(NEEDED)} are needed, and {existing} has "
                        f"{ui.size(free)} of free space")


def _firmware(data: Path) -> None:
    """Copy the packages' firmware into a prefix's share/qemu, where QEMU looks first."""
    data.mkdir(parents=True, exist_ok=True)
    found = {file.name: file for directory in paths.FIRMWARE_DIRS
             for file in sorted(directory.glob("*"))
             if file.is_file() and (directory.name != "qemu" or file.name in _OTHERS
                                    or file.suffix == ".rom")}
    for name, ours in _UEFI.items():
        if (OVMF / name).is_file():
            found[ours] = OVMF / name
    for name in ("bios-256k.bin", "kvmvapic.bin", "linuxboot_dma.bin", *_UEFI.values()):
        if name not in found:
            raise CintError(f"QEMU's firmware {name} is not on this machine",
                            hint="./cint build qemu-install installs its package")
    for name, file in found.items():
        shutil.copyfile(file, data / name)


def _digests(top: Path) -> dict[str, str]:
    """Every file below a directory, with its SHA-256."""
    return {str(file.relative_to(top)): steps.hash_file(file)
            for file in sorted(top.rglob("*")) if file.is_file()}


def _name_some(names: Iterable[str]) -> str:
    listed = sorted(names)
    more = len(listed) - _SAID
    return ", ".join(listed[:_SAID]) + (f" and {more} more" if more > 0 else "")


def not_ours(prefix: Path, files: Iterable[str], before: Installed | None) -> list[str]:
    """Those of `files` that exist and are not as an installation of ours left them."""
    known = before.files if before else {}
    return [name for name in files if (prefix / name).exists()
            and (name not in known or steps.hash_file(prefix / name) != known[name])]


def _put(source: Path, target: Path) -> None:
    """A file in its place, beside first: a QEMU that runs keeps the one that it has."""
    try:
        steps.copy_atomic(source, target)
    except OSError as problem:
        reason = "there is no space left" if problem.errno == errno.ENOSPC else problem.strerror
        raise CintError(f"{target} cannot be written: {reason}",
                        hint="the same command goes on; --remove takes out what is there") from None


def place(staged: Path, prefix: Path, version: str, force: bool) -> Installed:
    """Copy all files below `staged` to `prefix`, and write the list; returns it.

    Files of an earlier installation that are no more in it are removed. Raises :class:`CintError`
    where something else is in the way.
    """
    check_prefix(prefix)
    files = _digests(staged)
    before = read_list(prefix)
    strange = not_ours(prefix, files, before)
    if strange and not force:
        raise CintError(f"{prefix} has {_name_some(strange)}, not as ./cint install left it",
                        hint="name another directory, or replace them with --force")
    after = Installed(version, files)
    # First: what is interrupted can be removed, or gone on with.
    known = {**(before.files if before else {}), **files}
    _write_list(prefix, Installed(version, known))
    for name in files:
        _put(staged / name, prefix / name)
    _remove_files(prefix, {name: digest for name, digest in known.items() if name not in files})
    _write_list(prefix, after)
    return after


def _write_list(prefix: Path, installed: Installed) -> None:
    text = json.dumps({"cint": __version__, "version": installed.version,
                       "files": dict(installed.files)}, indent=1)
    try:
        steps.write_atomic(prefix / LIST, text + "\n")
    except OSError as problem:
        raise CintError(f"{prefix / LIST} cannot be written: {problem.strerror}") from None


def _remove_files(prefix: Path, files: Mapping[str, str]) -> list[str]:
    """Remove files that are as they were installed, and directories left empty.

    Returns those that are left, because they are not.
    """
    left = not_ours(prefix, files, Installed("", files))
    for name in files.keys() - set(left):
        (prefix / name).unlink(missing_ok=True)
    parents = {parent for name in files for parent in Path(name).parents}
    for parent in sorted(parents, key=lambda path: -len(path.parts)):
        _remove_empty(prefix / parent)
    return left


def _remove_empty(directory: Path) -> None:
    if directory.is_dir() and not any(directory.iterdir()):
        directory.rmdir()


def remove(prefix: Path) -> list[str]:
    """Take an installation out again, what somebody changed is left; CintError where none is."""
    installed = read_list(prefix)
    if installed is None:
        raise CintError(f"--prefix {prefix}: there is no {LIST}, so nothing was installed there",
                        hint="name the directory that ./cint install was given")
    try:
        left = _remove_files(prefix, installed.files)
        (prefix / LIST).unlink()
        for parent in (LIST.parent, LIST.parent.parent, Path()):
            _remove_empty(prefix / parent)
    except OSError as problem:
        raise CintError(f"{problem.filename} cannot be removed: {problem.strerror}") from None
    return left


def has_device(program: Path) -> str | None:
    """Why a QEMU does not offer `-device nvme,cint=on`; None if it does."""
    try:
        done = ask.run([program, "-device", "nvme,help"], timeout=30)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"it does not run: {problem}"
    if done.returncode:
        return f"it does not run: {steps.meaningful_error(done.stderr.splitlines())}"
    return None if "cint.policy" in done.stdout else "its nvme has no property cint.policy"


def install(prefix: Path, force: bool) -> Installed:
    """Install what qemu.build_installable() built; :class:`CintError` where that does not run."""
    check_prefix(prefix)
    scratch = paths.BUILD / "qemu-install.staged"
    shutil.rmtree(scratch, ignore_errors=True)
    facts = steps.Stamp("qemu-install").facts()
    with steps.build_lock(), steps.step("install", f"Install in {prefix}") as step:
        staged = qemu.stage(step, scratch)
        _firmware(staged / DATA)
        installed = place(staged, prefix, str(facts.get("version", "")), force)
        total = sum((prefix / name).stat().st_size for name in installed.files)
        step.summary(f"{len(installed.files)} files, {ui.size(total)}")
    shutil.rmtree(scratch, ignore_errors=True)
    why = has_device(prefix / PROGRAM)
    if why:
        raise CintError(f"{prefix / PROGRAM}: {why}")
    return installed
