# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules for programs as they are (docs/preload.md), which know of no hints: fio, databases.

The marks are the device's counts. Our kernel is given flags, the distribution's kernel priorities
and the module.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import programs
import pytest
import release
from conftest import log_root
from marks import (
    BDEV,
    EXT4,
    MKFS_EXT4,
    MOUNT_EXT4,
    QUIET,
    Marks,
    hint_machine,
    make_disk,
    names,
    namespace,
    sent,
)
from serving import Guest, serving

from cint import paths, steps
from cint.build import image
from cint.guest import hints, kinds, vm

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


CLUSTER = "/mnt/postgres"
DATA = f"{CLUSTER}/data"


def with_programs(initramfs: Path, place: Path) -> Path:
    """An image that has the distribution's programs, too: archives may follow each other."""
    mkimage = _mkimage()
    tree = mkimage.Tree()
    for name in ("sqlite3", "db_bench"):
        mkimage.add_shared(tree, f"bin/{name}", programs.find(name), programs.LIBRARIES)
    # A database server, for one process at a time: `postgres --single`.
    postgres = programs.find("postgres")
    mkimage.add_shared(tree, in_guest(postgres).lstrip("/"), postgres, programs.LIBRARIES)
    share = Path("share/postgresql", postgres.parts[-3], "timezonesets/Default")
    tree.file(f"usr/{share}", (postgres.parents[4] / share).read_bytes())
    out = place / "initramfs.cpio"
    out.write_bytes(initramfs.read_bytes() + mkimage.write_cpio(tree))
    return out


def in_guest(program: Path) -> str:
    """Where a program is in the guest that its package has below a root of its own."""
    return "/" + str(program.relative_to(programs.ROOT if program.is_relative_to(programs.ROOT)
                                         else "/"))


def make_cluster(place: Path) -> Path:
    """A disk with an empty database of postgres, which is made here: its programs refuse root."""
    with tempfile.TemporaryDirectory() as tree:
        user = pwd.getpwnam("nobody")
        os.chown(tree, user.pw_uid, user.pw_gid)
        libraries = ":".join(str(path) for path in programs.LIBRARIES)
        subprocess.run([programs.find("postgres").with_name("initdb"), "-D", f"{tree}/data",
                        "--username=postgres", "--locale=C", "--no-sync", "--encoding=UTF8",
                        "--wal-segsize=1"], cwd="/",
                       env=os.environ | {"TZ": "GMT", "LD_LIBRARY_PATH": libraries},
                       user=user.pw_uid, group=user.pw_gid, check=True, capture_output=True)
        return make_disk(place / "postgres", *MKFS_EXT4, "-d", tree)


def ready(guest: str) -> None:
    """Build what the image is made of."""
    with steps.build_lock():
        if guest == "cint":
            image.build_preload()
            return
        release.build_module()
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
    cluster = make_cluster(place)
    machine = kinds.dress(hint_machine(extra=(*namespace(2, disk), *namespace(3, cluster))), kind,
                          f"{hints.PRELOAD}any")
    machine = replace(machine, initramfs=with_programs(machine.initramfs, place))
    limit = kinds.BOOT_LIMIT_S if kind == "distro" else vm.BOOT_LIMIT_S
    with serving(machine, log_root() / f"preload-{kind}", limit, release.ALLOWED) as running:
        load = ""
        if kind == "distro":
            load = "for m in $(cat /lib/modules/more-order); do insmod $m || true; done;"
            (command,) = hints.setup(hints.MODULE, kind)
            running.shell(str(command[-1]))
        running.shell(f"set -e; {load} {names(3)} {QUIET} mkdir -p {EXT4} {CLUSTER};"
                      f"{MOUNT_EXT4} {BDEV[:-1]}2 {EXT4}; {MOUNT_EXT4} {BDEV[:-1]}3 {CLUSTER};"
                      f"dd if=/dev/zero of={EXT4}/file bs=1M count=16 2>/dev/null; sync")
        yield running
        running.shell(f"umount {EXT4} {CLUSTER}")


def under(guest: Guest, rules: str, command: str, user: str = "") -> tuple[Marks, str]:
    """What a program sends under rules, by the device, and what the library counted."""
    guest.write_file("/tmp/rules", f"{rules}\nlog {LOG}\n".encode())
    line = f"cint-preload /tmp/rules {command} >/dev/null"
    if user:
        line = f"su {user} -s /bin/sh -c {shlex.quote(line)}"
    found = sent(guest, f"rm -f {LOG}; {line}")
    return found, guest.shell(f"cat {LOG}")


def taken(said: str, line: int) -> int:
    """How many of the marks of a line of rules were taken."""
    (count,) = re.findall(rf"line {line} \(\w+\): (\d+),", said)
    return int(count)


def fio(guest: Guest, **options: object) -> str:
    """The command for a job; its file is the first namespace if nothing is said."""
    values = {"file": BDEV, "bs": "4k", "size": "256k", "rw": "randread", "engine": "psync",
              "depth": 1} | options
    guest.write_file("/tmp/job.fio", str(values.get("text", ONE)).format(**values).encode())
    return "fio /tmp/job.fio"


def test_threads_that_clean_up(guest: Guest) -> None:
    """A thread that waits for its reads is not urgent where a rule says that nobody else waits."""
    command = fio(guest, text=TWO.replace("exec_prerun=true\n", ""))
    usual, _ = under(guest, "usual", command)
    assert usual == Marks(urgent=512)
    # fio's threads have the program's name: the jobs are told apart by size.
    ruled, said = under(guest, "unmarked thread fio call read size 4k", command)
    assert ruled == Marks(512)
    assert "line 1 (unmarked): 512, not taken 0\n" in said


@pytest.mark.parametrize("file", [BDEV, f"{EXT4}/file"])
def test_call_and_size(guest: Guest, file: str) -> None:
    """What nobody would wait for is urgent by a rule, and what a thread waits for is not."""
    rules = ("urgent call aio-read size 4k\nunmarked call read fd direct\n"
             "urgent call read fd buffered")
    marked, said = under(guest, rules, fio(guest, file=file, engine="libaio", depth=8))
    assert marked == Marks(urgent=64)
    assert "line 1 (urgent): 64, not taken 0\n" in said
    assert under(guest, rules, fio(guest, file=file))[0] == Marks(64)
    larger = under(guest, rules, fio(guest, file=file, engine="libaio", bs="8k"))[0]
    assert larger.urgent == 0


def test_file_and_write(guest: Guest) -> None:
    """A rule for one file leaves another alone, and writes of it."""
    rules = f"unmarked file {EXT4}/* call write"
    inside = fio(guest, file=f"{EXT4}/file", rw="randwrite")
    assert under(guest, rules, inside)[0].unmarked >= 64
    assert under(guest, rules, fio(guest, rw="randwrite"))[0] == Marks(urgent=64)


def test_io_uring_is_not_marked(guest: Guest) -> None:
    """It is said at the start and at the end; what the kernel marks stays."""
    command = fio(guest, engine="io_uring", depth=4)
    usual, _ = under(guest, "usual", command)
    ruled, said = under(guest, "urgent", command)
    assert (ruled.urgent, ruled.total) == (usual.urgent, usual.total)
    assert "not marked: io_uring" in said


def test_sqlite(guest: Guest, kind: str) -> None:
    """A database's reads are marked; its syncs are where a priority can."""
    base = f"{EXT4}/base.db"
    fill = ("with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)"
            " insert into t select i, hex(randomblob(200)) from n")
    guest.write_file("/tmp/make.sql", f"create table t(i, x); {fill};\n".encode())
    guest.shell(f"rm -f {base}; sqlite3 {base} < /tmp/make.sql; sync")
    drop = "echo 1 > /proc/sys/vm/drop_caches"
    guest.shell(drop)
    query = f"sqlite3 {base} 'select x from t where rowid in (1900, 900, 1400, 400)'"
    usual, _ = under(guest, "usual", query)
    guest.shell(drop)
    quiet, said = under(guest, f"unmarked file {base} call read", query)
    # Not all: the shell looks at the file's first bytes by stdio, which is not marked.
    assert quiet.urgent + 2 <= usual.urgent
    assert "line 1 (unmarked): 0" not in said
    insert = f"sqlite3 {base} \"insert into t values(1, 'one')\""
    usual, _ = under(guest, "usual", insert)
    quiet, said = under(guest, f"unmarked file {EXT4}/* call sync,write", insert)
    assert usual.urgent > 0
    if kind == "distro":
        assert "not taken 0\n" in said
        assert quiet.urgent < usual.urgent
    else:
        assert "not taken 0\n" not in said.split("by no rule")[0]


def test_rocksdb(guest: Guest) -> None:
    """Flush and compaction by their threads' names; who asks the database stays urgent."""
    command = (f"db_bench --db={EXT4}/rocks --benchmarks=fillrandom,readrandom --num=10000"
               " --reads=500 --value_size=400 --write_buffer_size=1048576 --cache_size=65536"
               " --compression_type=none --disable_wal --use_direct_reads"
               " --use_direct_io_for_flush_and_compaction")
    usual, said = under(guest, "usual thread rocksdb:* fd direct", command)
    assert taken(said, 1) > 0
    ruled, said = under(guest, "unmarked thread rocksdb:* fd direct\n"
                       "usual thread db_bench call read fd direct", command)
    # A read or write of a file makes at least one command.
    assert ruled.unmarked - usual.unmarked >= taken(said, 1) > 0
    assert ruled.urgent >= taken(said, 2) >= 500


def test_postgres(guest: Guest, kind: str) -> None:
    """A table is read, and its log written, by the same thread: the file tells them apart."""
    guest.shell("chmod 1777 /tmp; grep -q ^postgres /etc/passwd || "
                f"echo postgres:x:$(stat -c %u:%g {DATA})::/tmp:/bin/sh >> /etc/passwd")
    sql = {"fill": "create table t as select i, repeat('x', 400) as x"
                   " from generate_series(1, 5000) i; checkpoint;",
           "ask": "select sum(length(x)) from t;", "add": "insert into t values (1, 'one');"}
    for name, text in sql.items():
        guest.write_file(f"/tmp/{name}.sql", f"{text}\n".encode())

    def server(name: str, rules: str) -> tuple[Marks, str]:
        guest.shell("sync; echo 1 > /proc/sys/vm/drop_caches")
        program = in_guest(programs.find("postgres"))
        return under(guest, rules, f"{program} --single -D {DATA} postgres < /tmp/{name}.sql",
                     "postgres")

    server("fill", "usual")
    usual, _ = server("ask", "usual")
    ruled, said = server("ask", "unmarked file */base/* call read")
    assert taken(said, 1) > 0
    assert ruled.urgent < usual.urgent
    usual, _ = server("add", "usual")
    ruled, said = server("add", "unmarked file */pg_wal/* call write,sync")
    assert usual.urgent > 0
    if kind == "distro":
        assert taken(said, 1) > 0
        assert ruled.urgent < usual.urgent


def test_a_program_of_more_rights(guest: Guest) -> None:
    """Whoever starts it names no rules: they would be read, and the log written, as root."""
    guest.write_file("/tmp/others", b"usual\nlog /etc/others-log\n")
    guest.write_file("/etc/cint-preload.rules", f"usual\nlog {LOG}\n".encode())
    guest.shell("grep -q ^nobody /etc/passwd || echo nobody:x:65534:65534::/tmp:/bin/sh >>"
                " /etc/passwd; chmod 1777 /tmp; cp $(which fio) /tmp/own; chmod 4755 /tmp/own;"
                f"rm -f {LOG}; echo /lib/libcint-preload.so > /etc/ld.so.preload;"
                "su nobody -s /bin/sh -c 'CINT_PRELOAD=/tmp/others /tmp/own --version' >&2;"
                "rm /etc/ld.so.preload")
    assert guest.try_shell("ls /etc/others-log")["exit"] != 0
    assert "1 rules, by" in guest.shell(f"cat {LOG}; rm /etc/cint-preload.rules")
