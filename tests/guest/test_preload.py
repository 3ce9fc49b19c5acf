# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules for programs as they are (docs/preload.md): fio and sqlite3, which know of no hints.

The marks are the device's counts. Our kernel is given flags, the distribution's kernel priorities
and the module.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from conftest import log_root
from marks import (
    BDEV,
    EXT4,
    MKFS_EXT4,
    MOUNT_EXT4,
    QUIET,
    Marks,
    counters,
    hint_machine,
    make_disk,
    names,
    namespace,
)
from serving import Guest, serving

from cint import paths, steps
from cint.build import distro, image
from cint.build import hints as module
from cint.errors import CintError
from cint.guest import hints, kinds, vm

ALLOWED = (r"cint_hints: loading out-of-tree module", r"cint_hints: module verification failed")
LOG = "/tmp/report"
#: Two threads at the same calls, as a server's that answers and one that cleans up.
TWO = """\
[global]
filename={file}
direct=1
bs=4k
size=1m
ioengine=psync
thread=1
[answer]
rw=randread
[clean-up]
rw=randread
exec_prerun=true
"""
ONE = """\
[job]
filename={file}
direct=1
bs={bs}
size={size}
rw={rw}
ioengine={engine}
iodepth={depth}
"""


def _mkimage() -> ModuleType:
    """The maker of images, which is a program."""
    spec = importlib.util.spec_from_file_location("mkimage", paths.IMAGES / "mkimage.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules["mkimage"] = found
    spec.loader.exec_module(found)
    return found


def with_sqlite(initramfs: Path, place: Path) -> Path | None:
    """An image that has the distribution's sqlite3, too: archives may follow each other."""
    program = shutil.which("sqlite3")
    if program is None:
        return None
    mkimage = _mkimage()
    tree = mkimage.Tree()
    mkimage.add_shared(tree, "bin/sqlite3", Path(program), [])
    out = place / "initramfs.cpio"
    out.write_bytes(initramfs.read_bytes() + mkimage.write_cpio(tree))
    return out


def ready(guest: str) -> None:
    """Build what the image is made of."""
    with steps.build_lock():
        if guest == "cint":
            image.build_preload()
            return
        try:
            distro.build()
            module.fetch_headers()
        except CintError as problem:
            pytest.skip(f"no kernel of the distribution, or no headers: {problem.message}")
        module.build()
        image.build_preload(paths.DISTRO_HINTS)


@pytest.fixture(scope="module", params=["cint", "distro"])
def kind(request: pytest.FixtureRequest) -> str:
    """With flags, or with priorities."""
    return str(request.param)


@pytest.fixture(scope="module")
def guest(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """A guest in which programs can be marked, with ext4 on its second namespace."""
    ready(kind)
    place = tmp_path_factory.mktemp("preload")
    disk = make_disk(place / "ext4", *MKFS_EXT4)
    machine = kinds.dress(hint_machine(extra=namespace(2, disk)), kind, f"{hints.PRELOAD}any")
    more = with_sqlite(machine.initramfs, place)
    machine = replace(machine, initramfs=more) if more else machine
    limit = kinds.BOOT_LIMIT_S if kind == "distro" else vm.BOOT_LIMIT_S
    with serving(machine, log_root() / f"preload-{kind}", limit, ALLOWED) as running:
        load = ""
        if kind == "distro":
            load = "for m in $(cat /lib/modules/more-order); do insmod $m || true; done;"
            (command,) = hints.setup(hints.MODULE, kind)
            running.shell(str(command[-1]))
        running.shell(f"set -e; {load} {names(2)} {QUIET} mkdir -p {EXT4};"
                      f"{MOUNT_EXT4} {BDEV[:-1]}2 {EXT4};"
                      f"dd if=/dev/zero of={EXT4}/file bs=1M count=16 2>/dev/null; sync")
        yield running
        running.shell(f"umount {EXT4}")


def sent(guest: Guest, rules: str, command: str) -> tuple[Marks, str]:
    """What a program sends under rules, by the device, and what the library counted."""
    guest.write_file("/tmp/rules", f"{rules}\nlog {LOG}\n".encode())
    before = counters(guest)
    guest.shell(f"rm -f {LOG}; cint-preload /tmp/rules {command} >/dev/null")
    marks = Marks(*(b - a for a, b in zip(before, counters(guest), strict=True)))
    return marks, guest.shell(f"cat {LOG}")


def fio(guest: Guest, **options: object) -> str:
    """The command for a job; its file is the first namespace if nothing is said."""
    values = {"file": BDEV, "bs": "4k", "size": "256k", "rw": "randread", "engine": "psync",
              "depth": 1} | options
    guest.write_file("/tmp/job.fio", str(values.get("text", ONE)).format(**values).encode())
    return "fio /tmp/job.fio"


def test_threads_that_clean_up(guest: Guest) -> None:
    """A thread that waits for its reads is not urgent where a rule says that nobody else waits."""
    command = fio(guest, text=TWO.replace("exec_prerun=true\n", ""))
    usual, _ = sent(guest, "usual", command)
    assert usual == Marks(urgent=512)
    # fio's threads have the program's name: the jobs are told apart by size.
    ruled, said = sent(guest, "unmarked thread fio call read size 4k", command)
    assert ruled == Marks(512)
    assert "line 1 (unmarked): 512, not taken 0\n" in said


@pytest.mark.parametrize("file", [BDEV, f"{EXT4}/file"])
def test_call_and_size(guest: Guest, file: str) -> None:
    """What nobody would wait for is urgent by a rule, and what a thread waits for is not."""
    rules = ("urgent call aio-read size 4k\nunmarked call read fd direct\n"
             "urgent call read fd buffered")
    marked, said = sent(guest, rules, fio(guest, file=file, engine="libaio", depth=8))
    assert marked == Marks(urgent=64)
    assert "line 1 (urgent): 64, not taken 0\n" in said
    assert sent(guest, rules, fio(guest, file=file))[0] == Marks(64)
    larger = sent(guest, rules, fio(guest, file=file, engine="libaio", bs="8k"))[0]
    assert larger.urgent == 0


def test_file_and_write(guest: Guest) -> None:
    """A rule for one file leaves another alone, and writes of it."""
    rules = f"unmarked file {EXT4}/* call write"
    inside = fio(guest, file=f"{EXT4}/file", rw="randwrite")
    assert sent(guest, rules, inside)[0].unmarked >= 64
    assert sent(guest, rules, fio(guest, rw="randwrite"))[0] == Marks(urgent=64)


def test_io_uring_is_not_marked(guest: Guest) -> None:
    """It is said at the start and at the end; what the kernel marks stays."""
    command = fio(guest, engine="io_uring", depth=4)
    usual, _ = sent(guest, "usual", command)
    ruled, said = sent(guest, "urgent", command)
    assert (ruled.urgent, ruled.total) == (usual.urgent, usual.total)
    assert "not marked: io_uring" in said


def test_sqlite(guest: Guest, kind: str) -> None:
    """A database's reads are marked; its syncs are where a priority can."""
    if guest.try_shell("which sqlite3")["exit"] != 0:
        pytest.skip("sqlite3 is not installed")
    base = f"{EXT4}/base.db"
    fill = ("with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)"
            " insert into t select i, hex(randomblob(200)) from n")
    guest.write_file("/tmp/make.sql", f"create table t(i, x); {fill};\n".encode())
    guest.shell(f"rm -f {base}; sqlite3 {base} < /tmp/make.sql; sync")
    drop = "echo 1 > /proc/sys/vm/drop_caches"
    guest.shell(drop)
    query = f"sqlite3 {base} 'select sum(length(x)) from t where i % 7 = 0'"
    usual, _ = sent(guest, "usual", query)
    assert usual.urgent > 0
    guest.shell(drop)
    quiet, said = sent(guest, f"unmarked file {base} call read", query)
    assert quiet.urgent < usual.urgent
    assert "line 1 (unmarked): 0" not in said
    insert = f"sqlite3 {base} \"insert into t values(1, 'one')\""
    usual, _ = sent(guest, "usual", insert)
    quiet, said = sent(guest, f"unmarked file {EXT4}/* call sync,write", insert)
    assert usual.urgent > 0
    assert usual.unmarked <= quiet.unmarked
    if kind == "distro":
        assert "not taken 0\n" in said
        assert quiet.urgent < usual.urgent
    else:
        assert "not taken 0\n" not in said.split("by no rule")[0]
