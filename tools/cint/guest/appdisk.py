# SPDX-License-Identifier: GPL-2.0-or-later
"""The disk of a guest that runs a person's own program: Debian's root, files, and prepared data.

It is made once. A guest in virtual time, on a medium that takes no time, unpacks the archive of the
root (:mod:`cint.build.debian`) and the files to a new file system, and runs the commands that
prepare the data: its limits are of the guest's clock, so that a busy host does not run into them.
Measured guests begin from this disk, and what they write is lost.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import re
import shlex
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from cint import paths, steps, ui
from cint.build import debian, packages
from cint.device import properties
from cint.errors import CintError, UsageError
from cint.guest import agent, hints, kinds, session, vm

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
#: What marks the I/O of programs by rules is in the agent's image; here it is needed in the system.
_MARKS = f"""
if [ -e /etc/ld.so.preload ]; then
  cp /lib/libcint-preload.so {SYSTEM}/lib/ && cp /etc/ld.so.preload {hints.RULES} {SYSTEM}/etc/ &&
    sync || exit 1
fi
"""
#: A controller's number says nothing: the kernel looks at several of them side by side.
_MOUNT = f"""\
{_MODULES}
disk() {{{{
  for c in /sys/class/nvme/nvme*; do
    [ $(cat $c/serial) = $1 ] && echo /dev/${{{{c##*/}}}}n1
  done
}}}}
mkdir -p {SYSTEM} && mount -t {{filesystem}} $(disk {vm.NVME_SERIAL}) {SYSTEM} || exit 1
"""
_UNPACK = f"""\
{_MOUNT}set -e
tar -x -f $(disk root) -C {SYSTEM}
tar -x -f $(disk files) -C {SYSTEM}
{_BELOW}
"""
#: What is left of prepare is ended, so that the file system is whole when the guest is off.
_LEAVE = f"""\
left() {{
  for p in /proc/[0-9]*; do
    [ "$(readlink $p/root)" = {SYSTEM} ] && echo ${{p##*/}}
  done
}}
for signal in TERM TERM TERM TERM TERM KILL KILL; do
  [ -z "$(left)" ] && break
  kill -$signal $(left)
  sleep 1
done
for below in run tmp dev sys proc; do umount -l {SYSTEM}/$below; done
umount {SYSTEM}
"""
#: The guest's kernel on what was not written.
_LOST = re.compile(r"I/O error|lost async page write|EXT4-fs error|XFS \S+: .*(error|shut)"
                   r"|critical \w+ error", re.IGNORECASE)
#: Commands as an administrator of the system would have them.
_ENTER = ("chroot", SYSTEM, "/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
          "HOME=/root")
#: In place of the image's own shell. LC_ALL is for what people type; scripts have C.
_SHELL = " ".join([*_ENTER, "LC_ALL=C.UTF-8", "TERM=${TERM:-vt102}",
                   "/bin/sh -c 'cd; exec /bin/bash -l'"])
#: What --copy brought is in the image's memory.
_COPIED = f"[ ! -d /root ] || mount --bind /root {SYSTEM}/root"


@dataclass(frozen=True)
class Disk:
    """The contents of a disk. ``owner`` is who asks for it, in messages; ``size`` is in bytes.

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
        if not file.is_file() and not file.is_dir() and file.parent != paths.GUEST:
            raise UsageError(f"{disk.owner}: copy: {file}: there is no such file or directory")
        if file.name in ("", ".."):
            raise UsageError(f"{disk.owner}: copy: {file}: that has no name to be called by in "
                             f"{FILES}")
        if names.count(file.name) > 1:
            raise UsageError(f"{disk.owner}: copy: two things would be {FILES}/{file.name}")


def mount_argv(filesystem: str) -> tuple[str, ...]:
    """The command of the agent that mounts it, before the jobs and after who gives hints."""
    return agent.exec_argv(_MOUNT.format(filesystem=filesystem) + _BELOW + _MARKS)


def shell_argv() -> tuple[str, ...]:
    """The command after :func:`mount_argv` that makes the guest's shell one of the system's."""
    profile = (f"{_COPIED}\necho 'This is Debian on /dev/nvme0n1; what is written is lost.  "
               f"Leave with: exit'\nexec {_SHELL}")
    return agent.exec_argv(f"cat > /etc/profile <<'end'\n{profile}\nend")


def enter(argv: Sequence[str]) -> tuple[str, ...]:
    """A command that runs in the system, in root's home, where --copy puts files."""
    return ("sh", "-c", f'{_COPIED}; exec "$@"', "sh", *_ENTER, "LC_ALL=C.UTF-8",
            "/bin/sh", "-c", 'cd; exec "$@"', "sh", *argv)


def inside(script: str, seed: int = 1) -> str:
    """A shell's line that runs commands in the system, in the place of its files.

    They end with the first that fails. ``seed`` is for their random numbers, in $SEED.
    """
    whole = f"cd {FILES} || exit\nset -e\n{script}"
    return shlex.join([*_ENTER, "LC_ALL=C", f"DATA={DATA}", f"SEED={seed}", "/bin/sh", "-c",
                       whole])


def place(disk: Disk) -> Path:
    """Where the disk is, or will be; a name of its own while its root is not there yet."""
    present = disk.present
    return _place(disk, _digest(present, tuple(_facts(present))))


def look_up(disk: Disk) -> None:
    """Say what making it will cost, and refuse packages that cannot be had, before all else."""
    debian.look_up(disk.root, disk.owner)


def make(disk: Disk) -> Path:
    """The disk as a raw file, made now if it is not there.

    Raises CintError where a package, the space or the time does not suffice, or a command of
    ``prepare`` fails; nothing half made stays then.
    """
    program, package = FILESYSTEMS[disk.filesystem][0][0], FILESYSTEMS[disk.filesystem][1]
    packages.require(package, program)
    with steps.build_lock():
        root = debian.archive(disk.root, disk.owner)
        if (made := place(disk)).exists():
            return made
        _sweep()
        with tempfile.TemporaryDirectory(prefix="cint-app-") as directory:
            files = Path(directory) / "files.tar"
            with files.open("wb") as out:
                _pack(disk.files, out)
            made = _place(disk, steps.hash_file(files))
            _make(disk, root, files, made)
    return made


def _place(disk: Disk, files: str) -> Path:
    root = disk.root.digest or disk.root.place.stem
    inputs = {"root": root, "files": files, "filesystem": disk.filesystem,
              "size": disk.size, "prepare": disk.prepare}
    text = json.dumps(inputs, sort_keys=True)
    return paths.DEBIAN / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.raw"


def _sweep() -> None:
    """Remove what was being made when the tool was killed; the build lock says that none is now."""
    for left in paths.DEBIAN.glob(".*.tmp"):
        left.unlink()


class _Sum(io.RawIOBase):
    """A file whose content is only hashed."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.hash.update(data)
        return len(data)


def _facts(sources: Sequence[Path]) -> Iterator[tuple[str, int, int, int, int]]:
    """What tells that a file was changed: name, type and rights, size, time (ns), inode."""
    for source in sources:
        found = [source.resolve()]
        found += sorted(found[0].rglob("*")) if found[0].is_dir() else []
        for path in found:
            facts = path.lstat()
            yield (str(path), facts.st_mode, facts.st_size, facts.st_mtime_ns, facts.st_ino)


@functools.cache
def _digest(sources: tuple[Path, ...], _facts: tuple[tuple[str, int, int, int, int], ...]) -> str:
    """SHA-256 (hex) of the packed files; they are read again when one was changed since."""
    total = _Sum()
    _pack(sources, total)
    return total.hash.hexdigest()


def _pack(sources: Sequence[Path], target: IO[bytes] | _Sum) -> None:
    """Files and directories below /app, with the same owner and time, in the same order.

    A link that is named is followed, one in a directory stays a link.
    """
    def plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
        return info.replace(uid=0, gid=0, uname="root", gname="root", mtime=int(debian.EPOCH),
                            deep=False)

    with tarfile.open(fileobj=target, mode="w|") as out:
        for name in (FILES, DATA):
            made = tarfile.TarInfo(name.lstrip("/"))
            made.type, made.mode = tarfile.DIRTYPE, 0o755
            out.addfile(plain(made), io.BytesIO())
        for source in sources:
            out.add(source.resolve(), f"{FILES.lstrip('/')}/{source.name}", filter=plain)


def _make(disk: Disk, root: Path, files: Path, target: Path) -> None:
    ui.info(f"the disk of {disk.owner}: made once, in half a minute and what its commands take; "
            f"at most {ui.size(disk.size)} of {paths.display(paths.DEBIAN)}")
    with steps.step("app-disk", f"Prepare the disk of {disk.owner}") as step, \
            steps.replacing(target) as fresh:
        step.update(f"{disk.filesystem} of {ui.size(disk.size)}")
        with fresh.open("wb") as file:
            file.truncate(disk.size)
        step.run([*FILESYSTEMS[disk.filesystem][0], fresh],
                 env={"E2FSPROGS_FAKE_TIME": debian.EPOCH})
        step.update("in a guest: unpacking, and the commands of prepare")
        _fill(disk, fresh, root, files)
        used = fresh.stat().st_blocks * 512
        step.summary(f"{ui.size(used)} of {ui.size(disk.size)}")


def _drive(name: str, path: Path) -> tuple[str, ...]:
    file = paths.in_option(path)
    return ("-drive", f"if=none,id={name},format=raw,readonly=on,file={file}",
            "-device", _NVME.format(name=name))


def _fill(disk: Disk, target: Path, root: Path, files: Path) -> None:
    props = properties.device_properties(properties.parse_policy("default"),
                                         properties.parse_media("none"), 1, virtual=True)
    machine = vm.Machine(props, virtual=True,
                         memory_mib=disk.memory_mib, backend=vm.Backend(target),
                         extra=(*_drive("root", root), *_drive("files", files)))
    unpack = agent.exec_argv(_UNPACK.format(filesystem=disk.filesystem))
    jobs = (agent.Job("unpack", argv=unpack, timeout_s=disk.limit_s),
            agent.Job("prepare", argv=agent.exec_argv(inside(disk.prepare)),
                      timeout_s=disk.limit_s),
            agent.Job("umount", argv=agent.exec_argv(_LEAVE), timeout_s=disk.limit_s))
    task = session.Task(disk.owner, kinds.dress(machine, "cint"), agent.Plan(jobs),
                        paths.LOGS / "app-disk", job_seconds=disk.limit_s / session.SLOWEST)
    _check_kept(disk, session.run_task(replace(task, boot_limit_s=kinds.BOOT_LIMIT_S)))


def _check_kept(disk: Disk, outcome: session.Outcome) -> None:
    """Refuse a disk of which not all was written: its host's file system may be full."""
    lost = next((line for line in outcome.dmesg.splitlines() if _LOST.search(line)), None)
    if lost:
        raise CintError(f"{disk.owner}: its disk could not be written: {lost.strip()}",
                        hint=f"is there space in {paths.display(paths.DEBIAN)}?")
