# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint run -- COMMAND`: its bytes, its files and its exit code are those of the tool."""

from __future__ import annotations

import json
import os
import pty
import random
import stat
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from cint import paths
from cint.measure import workloads

#: More than the ports, sockets and pipes between hold.
MUCH = 2_000_000


def run(*words: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Type it, with this as standard input."""
    return subprocess.run([paths.ROOT / "cint", "run", *words], input=data, capture_output=True,
                          check=False, timeout=300)


def test_bytes_and_files_are_as_they_were(tmp_path: Path) -> None:
    """Both ways, with all 256 values, a directory, a link, a mode, and a code of its own."""
    data = random.Random(1).randbytes(MUCH)
    tree = tmp_path / "tree"
    (tree / "empty").mkdir(parents=True)
    (tree / "script").write_bytes(b'#!/bin/sh\ncat "$1" >&2\n')
    (tree / "script").chmod(0o755)
    (tree / "link").symlink_to("script")
    (tmp_path / "other").write_bytes(data[:70_000])
    done = run("--copy", str(tree), "--copy", str(tmp_path / "other"), "--", "sh", "-c",
               'cat; ls tree >&2; tree/link other; [ "$DEVICE" = /dev/nvme0n1 ] && exit 7',
               data=data)
    assert done.returncode == 7
    assert done.stdout == data
    assert done.stderr.endswith(b"empty\nlink\nscript\n" + data[:70_000])


def test_a_directory_is_there_both_ways(tmp_path: Path) -> None:
    """What either changes the other sees, at once: files, links, modes, a name that goes."""
    data = random.Random(2).randbytes(MUCH)
    tree = tmp_path / "tree"
    (tree / "deep").mkdir(parents=True)
    (tree / "big").write_bytes(data)
    (tree / "gone").touch()
    done = run("--share", str(tree), "--", "sh", "-c",
               "cd tree && cat big && cp big deep/copy && chmod 750 deep/copy && ln -s big link && "
               "rm gone && echo ready >&2 && cat deep/../late >&2", data=b"")
    assert done.stdout == data
    # A file that is not there is none in the guest, too.
    assert done.returncode == 1 and b"ready\ncat: can't open 'deep/../late'" in done.stderr
    assert (tree / "deep/copy").read_bytes() == data
    assert stat.S_IMODE((tree / "deep/copy").stat().st_mode) == 0o750
    assert (tree / "link").readlink() == Path("big") and not (tree / "gone").exists()


def test_the_built_in_jobs_are_plain_fios() -> None:
    """compare's job files run without the tool, as what each says of itself says."""
    done = run("--share", str(workloads.JOBS), "--", "sh", "-c",
               "export RUNTIME=1s RAMP=100ms SEED=1 CPUS=0; cd jobs; "
               "for job in sync async mixed classes; do fio --output-format=json $job.fio || "
               "exit 9; echo; done")
    assert done.returncode == 0, done.stderr
    decode, rest, found = json.JSONDecoder(), done.stdout.decode().strip(), []
    while rest:
        said, end = decode.raw_decode(rest)
        found.append([(job["jobname"], job["error"]) for job in said["jobs"]])
        assert all(job["read"]["total_ios"] > 0 for job in said["jobs"])
        rest = rest[end:].strip()
    assert found == [[("sync", 0)], [("async", 0)], [("async", 0), ("sync", 0)],
                     [("latency", 0)] * 2 + [("throughput", 0)] * 2]


def test_what_is_written_meanwhile_is_seen(tmp_path: Path) -> None:
    """The guest waits for a file that comes while it runs."""
    with subprocess.Popen([paths.ROOT / "cint", "run", "--share", str(tmp_path), "--", "sh", "-c",
                           f"cd {tmp_path.name} && echo up && until [ -e now ]; do sleep 1; done; "
                           "cat now"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        (tmp_path / "later").write_text("it is here\n")
        (tmp_path / "later").rename(tmp_path / "now")
        assert process.stdout.read() == b"it is here\n"
        assert process.wait(60) == 0


@pytest.mark.parametrize(("words", "code", "said"), [
    (["nothing-of-that-name"], 127, b"not found"),
    (["sh", "-c", "kill -9 $$"], 128 + 9, b""),
    (["sh", "-c", "printf %s \"$1\"; exit 3", "x", "a b"], 3, b""),
])
def test_how_a_command_ends(words: Sequence[str], code: int, said: bytes) -> None:
    done = run("--", *words)
    assert done.returncode == code
    assert said in done.stderr
    assert done.stdout == (b"a b" if "a b" in words else b"")


def test_one_who_reads_slowly_gets_all_and_one_who_goes_ends_it() -> None:
    """The guest stays until all is taken; it does not stay for one who takes nothing."""
    for words, takes in ((("head", "-c", str(MUCH), "/dev/zero"), MUCH), (("yes",), 10)):
        with subprocess.Popen([paths.ROOT / "cint", "run", "--", *words], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            took = os.read(process.stdout.fileno(), 10)
            if takes == MUCH:
                with pytest.raises(subprocess.TimeoutExpired):
                    process.wait(5)
                took += process.stdout.read()
            process.stdout.close()
            code = process.wait(60)
        assert (len(took), code) == (takes, 0)


@pytest.mark.slow
def test_a_whole_debian(tmp_path: Path) -> None:
    """A package's program, files of this machine, both streams, and what is written is gone."""
    (tmp_path / "ask").write_text("select 40 + 2;\n")
    words = ["--guest", "debian", "--packages", "sqlite3", "--copy", str(tmp_path / "ask"), "--"]
    for _ in range(2):
        done = run(*words, "sh", "-c", "[ ! -e /written ] && echo x > /written && sync && "
                   "stat -f -c %T / && pwd && sqlite3 :memory: < ask; cat >&2; exit 5", data=b"in")
        assert done.returncode == 5, done.stderr
        assert done.stdout == b"ext2/ext3\n/root\n42\n"
        assert done.stderr.endswith(b"in")
    assert run(*words, "nothing-of-that-name").returncode == 127


@pytest.mark.slow
def test_a_debian_to_type_in() -> None:
    """The shell on the terminal is Debian's, with the packages' programs."""
    ours, its = pty.openpty()
    with subprocess.Popen([paths.ROOT / "cint", "run", "--guest", "debian", "--packages",
                           "sqlite3,strace"], stdin=its, stdout=its, stderr=its) as process:
        os.close(its)
        said = _until(ours, b"# ")
        os.write(ours, b"strace -o t true && grep -c execve t; sqlite3 :memory: 'select 40 + 2'\n")
        said += _until(ours, b"\n42\r\n")
        os.write(ours, b"exit\n")
        said += _until(ours, None)
        assert process.wait(60) == 0, said
    os.close(ours)
    assert b"\n1\r\n42\r\n" in said


def _until(terminal: int, word: bytes | None) -> bytes:
    """What a terminal says to a word, or to its end."""
    said = b""
    while word is None or word not in said:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # its other end is closed
            piece = b""
        if not piece:
            assert word is None, said
            return said
        said += piece
    return said


def test_a_package_that_debian_has_not() -> None:
    done = run("--guest", "debian", "--packages", "sqlite4", "--", "true")
    assert done.returncode == 2
    errors = [line for line in done.stderr.decode().splitlines() if line.startswith("cint: error")]
    assert errors == ["cint: error: --guest debian: Debian bookworm has no package sqlite4"]
