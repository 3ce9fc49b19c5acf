#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Make the guest's initramfs: agent as /init, fio, our tools, busybox and nvme-cli.

The archive is written here in the kernel's "newc" cpio format, sorted and
without times, owners or inode numbers of this machine: the same programs give
the same bytes, and nobody needs to be root to put /dev/console in.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# mount points, and where programs look for each other
# fmt: off
DIRECTORIES = ("bin", "dev", "etc", "lib", "lib64", "mnt", "proc", "run", "sbin", "sys",
               "tmp", "usr", "usr/bin", "usr/lib", "usr/sbin")
# fmt: on

# /init speaks on the console before devtmpfs is mounted
DEVICES = {"dev/console": (5, 1), "dev/null": (1, 3)}

ETC = {
    "etc/passwd": "root:x:0:0:root:/:/bin/sh\n",
    "etc/group": "root:x:0:\n",
    "etc/profile": (
        "PS1='cint:\\w# '\n"
        "[ -x /usr/bin/resize ] && resize >/dev/null\n"
        "echo 'This is the cint guest: fio, hintio, nvme, busybox.  Leave with: exit'\n"
    ),
}

#: Of the modules given: what the agent loads, a guest path a line, in this order.
LOAD_ORDER = "load-order"


class ImageError(Exception):
    """Something the image needs is missing; the text says what to do."""


@dataclass(frozen=True)
class Entry:
    """One file of the archive; `data` is the target of a symbolic link."""

    mode: int
    data: bytes = b""
    rdev: tuple[int, int] = (0, 0)


@dataclass
class Tree:
    """What goes into the archive, by path without a leading slash."""

    entries: dict[str, Entry] = field(default_factory=dict)

    def directory(self, path: str) -> None:
        """Add a directory and those above it."""
        parts = [part for part in path.split("/") if part]
        for i in range(1, len(parts) + 1):
            self.entries.setdefault("/".join(parts[:i]), Entry(stat.S_IFDIR | 0o755))

    def file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Add a regular file and the directories above it."""
        self.directory(path.rpartition("/")[0])
        self.entries[path] = Entry(stat.S_IFREG | mode, data)

    def program(self, path: str, source: Path) -> None:
        """Add an executable or library of the host."""
        self.file(path, source.read_bytes(), 0o755)

    def link(self, path: str, target: str) -> None:
        """Add a symbolic link unless something of that name is there."""
        self.entries.setdefault(path, Entry(stat.S_IFLNK | 0o777, target.encode()))


def _record(ino: int, name: str, entry: Entry) -> bytes:
    """One newc record: 13 fields of eight hex digits, name and data padded to 4."""
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    raw_name = name.encode() + b"\0"
    fields = (ino, entry.mode, 0, 0, links, 0, len(entry.data), 0, 0, *entry.rdev, len(raw_name), 0)
    head = b"070701" + b"".join(b"%08X" % f for f in fields) + raw_name
    head += b"\0" * (-len(head) % 4)
    return head + entry.data + b"\0" * (-len(entry.data) % 4)


def write_cpio(tree: Tree) -> bytes:
    """The archive; parents sort before what they hold."""
    records = [
        _record(ino, name, tree.entries[name]) for ino, name in enumerate(sorted(tree.entries), 1)
    ]
    records.append(_record(0, "TRAILER!!!", Entry(0)))
    data = b"".join(records)
    return data + b"\0" * (-len(data) % 512)


def _output(*argv: str | Path, env: dict[str, str] | None = None) -> str:
    """Standard output of a program, empty if it fails."""
    done = subprocess.run(
        [str(a) for a in argv], capture_output=True, text=True, check=False, env=env
    )
    return done.stdout if done.returncode == 0 else ""


def find_program(name: str, package: str) -> Path:
    """Where a program of the distribution is.  ImageError if it is not installed."""
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/bin")
    if found is None:
        raise ImageError(f"{name} is not installed; install the package {package}")
    return Path(found)


def _interpreter(program: Path) -> bool:
    """Whether the ELF file asks for a dynamic loader (PT_INTERP, type 3)."""
    data = program.read_bytes()
    if data[:5] != b"\x7fELF\x02":
        raise ImageError(f"{program} is not a 64-bit ELF program")
    offset = int.from_bytes(data[32:40], "little")
    size = int.from_bytes(data[54:56], "little")
    count = int.from_bytes(data[56:58], "little")
    headers = (data[offset + i * size :] for i in range(count))
    return any(int.from_bytes(h[:4], "little") == 3 for h in headers)


def require_static(program: Path, hint: str) -> Path:
    """The program itself.  ImageError if it would need libraries in the guest."""
    if not program.is_file():
        raise ImageError(f"{program} does not exist; {hint}")
    if _interpreter(program):
        raise ImageError(f"{program} is not statically linked; {hint}")
    return program


def libraries(program: Path, lib_dirs: list[Path]) -> Iterator[tuple[str, Path]]:
    """Guest path and host path of every library, and of the loader, of a program.

    `lib_dirs` are searched first, for a program unpacked from a package.
    """
    env = dict(os.environ, LC_ALL="C")
    if lib_dirs:
        env["LD_LIBRARY_PATH"] = ":".join(str(d) for d in lib_dirs)
    text = _output("ldd", program, env=env)
    if not text or "not found" in text:
        missing = re.findall(r"(\S+) => not found", text)
        raise ImageError(f"{program}: libraries not found: {' '.join(missing) or 'ldd failed'}")
    for name, path in re.findall(r"(\S+) => (/\S+)", text):
        yield f"lib/{Path(name).name}", Path(path)
    for path in re.findall(r"^\s*(/\S+) \(", text, re.MULTILINE):
        # the loader's path is fixed in the program
        yield path.lstrip("/"), Path(path)


def add_shared(tree: Tree, path: str, program: Path, lib_dirs: list[Path]) -> None:
    """Add a program and the libraries that it needs."""
    tree.program(path, program)
    for guest, host in libraries(program, lib_dirs):
        tree.program(guest, host)


def _add_busybox(tree: Tree, busybox: Path) -> None:
    tree.program("bin/busybox", busybox)
    applets = _output(busybox, "--list").split()
    if "sh" not in applets:
        raise ImageError(f"{busybox} has no applet sh; install the package busybox-static")
    for applet in applets:
        tree.link(f"bin/{applet}", "busybox")


def _add_modules(tree: Tree, modules: Path) -> None:
    """Kernel modules, uncompressed, and the list of those that the agent loads."""
    if not (modules / LOAD_ORDER).is_file():
        raise ImageError(f"{modules} has no file {LOAD_ORDER}, which lists the modules to load")
    for path in sorted(modules.iterdir()):
        tree.file(f"lib/modules/{path.name}", path.read_bytes())


def make_tree(
    fio: Path,
    agent: Path,
    busybox: Path,
    nvme: Path | None,
    lib_dirs: list[Path],
    *,
    modules: Path | None = None,
    tools: Sequence[Path] = (),
    library: Path | None = None,
    shared_fio: bool = False,
) -> Tree:
    """The guest's root directory.  ImageError if a part cannot be used."""
    tree = Tree()
    for path in DIRECTORIES:
        tree.directory(path)
    for path, rdev in DEVICES.items():
        tree.entries[path] = Entry(stat.S_IFCHR | 0o600, rdev=rdev)
    for path, text in ETC.items():
        tree.file(path, text.encode())
    tree.program("init", require_static(agent, "build images/agent"))
    if shared_fio:
        add_shared(tree, "bin/fio", fio, lib_dirs)
    else:
        tree.program("bin/fio", require_static(fio, "build it with images/build-fio.sh"))
    if library is not None:
        tree.program(f"lib/{library.name}", library)
    for tool in tools:
        tree.program(f"bin/{tool.name}", require_static(tool, "build it, see images/"))
    if nvme is not None:
        add_shared(tree, "sbin/nvme", nvme, lib_dirs)
    if modules is not None:
        _add_modules(tree, modules)
    _add_busybox(tree, require_static(busybox, "install the package busybox-static"))
    return tree


def _busybox_version(busybox: Path) -> str:
    first = _output(busybox, "--help").split("\n", maxsplit=1)[0]
    match = re.search(r"v(\S+)", first)
    return match.group(1) if match else "unknown"


def _nvme_version(nvme: Path, lib_dirs: list[Path]) -> str:
    env = dict(os.environ, LD_LIBRARY_PATH=":".join(str(d) for d in lib_dirs))
    match = re.search(r"nvme version (\S+)", _output(nvme, "version", env=env))
    return match.group(1) if match else "unknown"


def _versions(fio: Path, busybox: Path, nvme: Path | None, lib_dirs: list[Path]) -> dict[str, str]:
    versions = {
        "agent": "1",
        "fio": _output(fio, "--version").strip().removeprefix("fio-"),
        "busybox": _busybox_version(busybox),
    }
    if nvme is not None:
        versions["nvme-cli"] = _nvme_version(nvme, lib_dirs)
    return versions


def _replace(path: Path, data: bytes) -> None:
    """Write all of a file or nothing of it, also where another process writes it meanwhile.

    As cint.steps.write_atomic() does, which is not there for a script that stands alone.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def build_image(
    fio: Path,
    agent: Path,
    out: Path,
    *,
    busybox: Path | None = None,
    nvme: Path | None = None,
    with_nvme: bool = True,
    lib_dirs: list[Path] | None = None,
    modules: Path | None = None,
    tools: Sequence[Path] = (),
    library: Path | None = None,
    shared_fio: bool = False,
) -> dict[str, object]:
    """Write the initramfs `out` and, beside it, manifest.json; return the manifest.

    Programs not given are those of the distribution (busybox-static, nvme-cli).
    It is not compressed: under emulation unpacking costs more than loading.
    ImageError says in one line what is missing and what to do.
    """
    dirs = lib_dirs or []
    busybox = busybox or find_program("busybox", "busybox-static")
    if nvme is None and with_nvme:
        nvme = find_program("nvme", "nvme-cli")
    tree = make_tree(
        fio,
        agent,
        busybox,
        nvme,
        dirs,
        modules=modules,
        tools=tools,
        library=library,
        shared_fio=shared_fio,
    )
    data = write_cpio(tree)
    manifest: dict[str, object] = {
        "schema": 1,
        "image": {
            "file": out.name,
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
        },
        "versions": _versions(fio, busybox, nvme, dirs),
        "files": {
            name: {"bytes": len(e.data), "sha256": hashlib.sha256(e.data).hexdigest()}
            for name, e in sorted(tree.entries.items())
            if stat.S_ISREG(e.mode)
        },
    }
    _replace(out, data)
    text = json.dumps(manifest, indent=2) + "\n"
    _replace(out.with_name("manifest.json"), text.encode())
    return manifest


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 done, 1 something is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fio", type=Path, required=True, help="from build-fio.sh")
    parser.add_argument("--agent", type=Path, required=True, help="from build-agent.sh")
    parser.add_argument("--out", type=Path, required=True, help="the initramfs to write")
    parser.add_argument("--busybox", type=Path, help="default: the installed one")
    parser.add_argument("--nvme", type=Path, help="default: the installed one")
    parser.add_argument("--no-nvme", action="store_true", help="leave nvme-cli out")
    parser.add_argument("--lib-dir", type=Path, action="append", help="search it for libraries")
    parser.add_argument("--modules", type=Path, help="kernel modules for /lib/modules")
    parser.add_argument("--tool", type=Path, action="append", help="static program for /bin")
    parser.add_argument("--library", type=Path, help="shared library for /lib")
    parser.add_argument("--shared-fio", action="store_true", help="fio needs libraries")
    args = parser.parse_args(argv)
    try:
        build_image(
            args.fio,
            args.agent,
            args.out,
            busybox=args.busybox,
            nvme=args.nvme,
            with_nvme=not args.no_nvme,
            lib_dirs=args.lib_dir,
            modules=args.modules,
            tools=args.tool or (),
            library=args.library,
            shared_fio=args.shared_fio,
        )
    except (ImageError, OSError) as error:
        print(f"mkimage: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
