# SPDX-License-Identifier: GPL-2.0-or-later
"""The disk of a guest that runs a person's own program: Debian's root, files, and prepared data.

It is made once. A guest in real time, on a medium that takes no time, unpacks the archive of the
root (:mod:`cint.build.debian`) and the files to a new file system, and runs the commands that
prepare the data. Measured guests begin from this disk, and what they write is lost.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cint import host, paths, steps, ui
from cint.build import debian, packages
from cint.device import properties
from cint.errors import CintError, UsageError
from cint.guest import agent, kinds, session, vm

#: Where the guest's agent mounts it, and places in there.
SYSTEM = "/mnt/system"
FILES = "/app"
DATA = "/data"
#: What makes an empty file system in a file, without what would still be done in the guest, and
#: the package it is in. The names and hashes are the same each time.
_UUID = "00000000-0000-4000-8000-000000000001"
FILESYSTEMS = {
    "ext4": (("mkfs.ext4", "-q", "-F", "-U", _UUID, "-E",
              f"hash_seed={_UUID},lazy_itable_init=0,lazy_journal_init=0"), "e2fsprogs"),
    "xfs": (("mkfs.xfs", "-q", "-f", "-m", f"uuid={_UUID}"), "xfsprogs"),
}
#: XFS refuses less.
LEAST_SIZE = 300 << 20
MAX_SIZE = 64 << 30
RELEASES = debian.RELEASES
_NVME = "nvme,serial={name},drive={name}"
#: The agent's image has what the distribution's kernel needs for file systems apart.
_MODULES = ("if [ -r /lib/modules/more-order ]; then "
            "for m in $(cat /lib/modules/more-order); do insmod $m || true; done; fi")
#: What the kernel has, and memory for what nobody keeps.
_BELOW = "; ".join([*(f"mount --rbind /{name} {SYSTEM}/{name}" for name in ("proc", "sys", "dev")),
                    *(f"mount -t tmpfs -o mode=1777 tmp {SYSTEM}/{name}"
                      for name in ("tmp", "run"))])
_MOUNT = f"""\
{_MODULES}
mkdir -p {SYSTEM} && mount -t {{filesystem}} /dev/nvme0n1 {SYSTEM} || exit 1
"""
_UNPACK = f"""\
disk() {{{{
  for c in /sys/class/nvme/nvme*; do
    [ $(cat $c/serial) = $1 ] && echo /dev/${{{{c##*/}}}}n1
  done
}}}}
{_MOUNT}set -e
tar -x -f $(disk root) -C {SYSTEM}
tar -x -f $(disk files) -C {SYSTEM}
{_BELOW}
"""
#: Commands as an administrator of the system would have them.
_INSIDE = ("chroot {system} /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "
           "LC_ALL=C DATA={data} /bin/sh -c {script}")


@dataclass(frozen=True)
class Disk:
    """What is on it. ``owner`` is who asks for it, in messages; ``size`` is in bytes.

    ``files`` are copied to /app, and those in paths.GUEST are built before that; ``prepare`` are a
    shell's commands, run there once.
    """

    owner: str
    release: str
    packages: tuple[str, ...]
    filesystem: str
    size: int
    files: tuple[Path, ...] = ()
    prepare: str = ""
    memory_mib: int = 1024
    limit_s: int = 1800

    @property
    def present(self) -> tuple[Path, ...]:
        """Those of ``files`` that are there: a program of ours may not be built yet."""
        return tuple(file for file in self.files if file.exists())

    @property
    def root(self) -> debian.Root:
        """Debian's part."""
        return debian.Root(self.release, self.packages)


def check(disk: Disk) -> None:
    """Refuse what cannot be; :class:`UsageError` names the asker and what is valid."""
    debian.check(disk.root, disk.owner)
    if disk.filesystem not in FILESYSTEMS:
        raise UsageError(f"{disk.owner}: filesystem = '{disk.filesystem}'; valid: "
                         f"{', '.join(FILESYSTEMS)}")
    if not LEAST_SIZE <= disk.size <= MAX_SIZE:
        raise UsageError(f"{disk.owner}: size: from {LEAST_SIZE >> 20}M to {MAX_SIZE >> 30}G")
    names = [file.name for file in disk.files]
    for file in disk.files:
        if not file.exists() and file.parent != paths.GUEST:
            raise UsageError(f"{disk.owner}: copy: {file}: there is no such file or directory")
        if not file.name or names.count(file.name) > 1:
            raise UsageError(f"{disk.owner}: copy: two things would be {FILES}/{file.name}")


def mount_argv(filesystem: str) -> tuple[str, ...]:
    """The command of the agent that mounts it, before the jobs."""
    return agent.exec_argv(_MOUNT.format(filesystem=filesystem) + _BELOW)


def inside(script: str) -> str:
    """A shell's line that runs commands in the system, in the place of its files."""
    quoted = "'" + f"cd {FILES} || exit\n{script}".replace("'", "'\\''") + "'"
    return _INSIDE.format(system=SYSTEM, data=DATA, script=quoted)


def place(disk: Disk) -> Path:
    """Where the disk is, or will be; a name of its own while its root is not there yet."""
    with tempfile.TemporaryDirectory(prefix="cint-app-") as directory:
        files = Path(directory) / "files.tar"
        _pack(disk.present, files)
        inputs = {"root": _digest(disk.root.place), "files": steps.hash_file(files),
                  "filesystem": disk.filesystem, "size": disk.size, "prepare": disk.prepare}
    text = json.dumps(inputs, sort_keys=True)
    return paths.DEBIAN / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.raw"


def make(disk: Disk) -> Path:
    """The disk as a raw file, made now if it is not there.

    Raises CintError where a package, the space or the time does not suffice, or a command of
    ``prepare`` fails; nothing half made stays then.
    """
    program, package = FILESYSTEMS[disk.filesystem][0][0], FILESYSTEMS[disk.filesystem][1]
    packages.require(package, program)
    with steps.build_lock():
        root = debian.archive(disk.root, disk.owner)
        if not place(disk).exists():
            with tempfile.TemporaryDirectory(prefix="cint-app-") as directory:
                files = Path(directory) / "files.tar"
                _pack(disk.files, files)
                _make(disk, root, files, place(disk))
    return place(disk)


def _digest(root: Path) -> str:
    """The content's hash of an archive, which its stamp has; empty of one that is not there."""
    return str(steps.Stamp(f"debian-{root.stem}").facts().get("sha256", ""))


def _pack(sources: Sequence[Path], target: Path) -> None:
    """Files and directories below /app, with the same owner and time, in the same order."""
    def plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
        return info.replace(uid=0, gid=0, uname="root", gname="root", mtime=int(debian.EPOCH),
                            deep=False)

    with tarfile.open(target, "w") as out:
        for name in (FILES, DATA):
            made = tarfile.TarInfo(name.lstrip("/"))
            made.type, made.mode = tarfile.DIRTYPE, 0o755
            out.addfile(plain(made), io.BytesIO())
        for source in sources:
            out.add(source, f"{FILES.lstrip('/')}/{source.name}", filter=plain)


def _make(disk: Disk, root: Path, files: Path, target: Path) -> None:
    with steps.step("app-disk", f"Prepare the disk of {disk.owner}") as step, \
            steps.replacing(target) as fresh:
        step.update(f"{disk.filesystem} of {ui.size(disk.size)}")
        with fresh.open("wb") as file:
            file.truncate(disk.size)
        step.run([*FILESYSTEMS[disk.filesystem][0], fresh])
        step.update("in a guest: unpacking, and the commands of prepare")
        _fill(disk, fresh, root, files)
        used = fresh.stat().st_blocks * 512
        step.summary(f"{ui.size(used)} of {ui.size(disk.size)}")


def _drive(name: str, path: Path) -> tuple[str, ...]:
    file = paths.in_option(path)
    return ("-drive", f"if=none,id={name},format=raw,readonly=on,file={file}",
            "-device", _NVME.format(name=name))


def _fill(disk: Disk, target: Path, root: Path, files: Path) -> None:
    accel = host.choose_accel()
    if accel.name == "none":
        raise CintError(f"no accelerator works here: {accel.reason}", hint="see ./cint doctor")
    props = properties.device_properties(properties.parse_policy("default"),
                                         properties.parse_media("none"), 1, virtual=False)
    machine = vm.Machine(props, virtual=False, accel=accel.name, cpu=accel.cpu,
                         memory_mib=disk.memory_mib, backend=vm.Backend(target),
                         extra=(*_drive("root", root), *_drive("files", files)))
    unpack = agent.exec_argv(_UNPACK.format(filesystem=disk.filesystem))
    leave = agent.exec_argv(f"umount -l {SYSTEM}; sync")
    jobs = (agent.Job("unpack", argv=unpack, timeout_s=disk.limit_s),
            agent.Job("prepare", argv=agent.exec_argv(inside(f"set -e\n{disk.prepare}\nsync")),
                      timeout_s=disk.limit_s),
            agent.Job("umount", argv=leave, timeout_s=disk.limit_s))
    task = session.Task(disk.owner, kinds.dress(machine, "cint"), agent.Plan(jobs),
                        paths.LOGS / "app-disk", job_seconds=disk.limit_s / session.SLOWEST)
    session.run_task(replace(task, boot_limit_s=kinds.BOOT_LIMIT_S))
