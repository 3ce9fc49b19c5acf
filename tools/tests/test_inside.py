# SPDX-License-Identifier: GPL-2.0-or-later
"""inside.py and overlay.py: what a command of `cint run` says, and the files that it gets."""

import contextlib
import io
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from test_mkimage import parse_newc

from cint import paths
from cint.guest import inside

MARK = "cint-end-1234"


def connect(streams: inside.Streams, number: int) -> socket.socket:
    """QEMU's end of one of the three."""
    place = streams.args()[3 + 4 * number].partition("path=")[2]
    end = socket.socket(socket.AF_UNIX)
    end.connect(place)
    return end


@pytest.mark.parametrize("parts", [
    [b"hello", b" there", MARK.encode()],
    [b"hello there" + MARK.encode()],
    [b"hello therecint", b"-end-12", b"34", b"too late"],
    [bytes([byte]) for byte in b"hello there" + MARK.encode()],
])
def test_an_output_ends_at_the_mark(parts: list[bytes]) -> None:
    out, err = io.BytesIO(), io.BytesIO()
    with inside.Streams(MARK, out, err) as streams, connect(streams, 1) as first, \
            connect(streams, 2) as second:
        # What comes behind the mark may find nobody who listens any more.
        with contextlib.suppress(BrokenPipeError):
            for part in parts:
                first.sendall(part)
        second.sendall(MARK[:-1].encode() + b"5" + MARK.encode())
        assert streams.drained()
    assert out.getvalue() == b"hello there"
    assert err.getvalue() == MARK[:-1].encode() + b"5"


def test_a_guest_that_is_started_twice_says_what_the_second_one_says() -> None:
    out, err = io.BytesIO(), io.BytesIO()
    with inside.Streams(MARK, out, err) as streams:
        connect(streams, 0).close()
        for number in (1, 2):
            connect(streams, number).close()
        reading, writing = os.pipe()
        with connect(streams, 0) as stdin, connect(streams, 1) as first, \
                connect(streams, 2) as second:
            os.write(writing, b"typed")
            os.close(writing)
            streams.feed(reading)
            assert stdin.makefile("rb").read() == b"typed"
            first.sendall(b"x" + MARK.encode())
            second.sendall(MARK.encode())
            assert streams.drained()
    assert out.getvalue() == b"x"


def test_one_who_reads_no_more_is_told() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb", 0) as gone, inside.Streams(MARK, gone, io.BytesIO()) as streams, \
            connect(streams, 1) as first, connect(streams, 2) as second:
        first.sendall(b"x")
        second.sendall(MARK.encode())
        assert streams.drained()
        assert isinstance(streams.refused, BrokenPipeError)


def test_silence_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inside, "DRAIN_S", 1)
    with inside.Streams(MARK, io.BytesIO(), io.BytesIO()) as streams:
        assert not streams.drained()


def test_the_mark_is_no_word_of_the_script_twice() -> None:
    assert inside.script(MARK).count(MARK) == 2
    assert "{" not in inside.script(MARK).replace("port() {", "").replace("${", "")


# ---- the image ----------------------------------------------------------

def overlay(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the recipe."""
    return subprocess.run([sys.executable, "-B", str(paths.IMAGES / "overlay.py"),
                           *map(str, words)], capture_output=True, text=True, check=False)


def test_files_follow_the_image(tmp_path: Path) -> None:
    base, out = tmp_path / "base", tmp_path / "out"
    base.write_bytes(b"b" * 700)
    (tmp_path / "d/e").mkdir(parents=True)
    (tmp_path / "d/f").write_bytes(b"12345")
    (tmp_path / "d/f").chmod(0o750)
    (tmp_path / "d/l").symlink_to("f")
    (tmp_path / "named").symlink_to("d/f")
    assert overlay("--base", base, "--out", out, tmp_path / "d").returncode == 0
    data = out.read_bytes()
    assert data[:700] == base.read_bytes()
    assert data[700:1024] == bytes(324)
    found = parse_newc(data[1024:])
    assert found == {
        "root": (stat.S_IFDIR | 0o755, (0, 0), b""),
        "root/d": (found["root/d"][0], (0, 0), b""),
        "root/d/e": (found["root/d/e"][0], (0, 0), b""),
        "root/d/f": (stat.S_IFREG | 0o750, (0, 0), b"12345"),
        "root/d/l": (stat.S_IFLNK | 0o777, (0, 0), b"f"),
    }
    assert overlay("--base", base, "--out", out, tmp_path / "named").returncode == 0
    assert parse_newc(out.read_bytes()[1024:])["root/named"][2] == b"12345"


def test_what_is_refused(tmp_path: Path) -> None:
    base, out, fifo = tmp_path / "base", tmp_path / "out", tmp_path / "fifo"
    base.write_bytes(b"")
    os.mkfifo(fifo)
    (tmp_path / "a").mkdir()
    for place in (tmp_path / "x", tmp_path / "a/x"):
        place.write_bytes(b"")
    for words, said in (((fifo,), "neither a file nor a directory"),
                        ((tmp_path / "x", tmp_path / "a/x"), "there is another x"),
                        ((tmp_path / "none",), "No such file")):
        done = overlay("--base", base, "--out", out, *words)
        assert (done.returncode, done.stdout) == (1, "")
        assert said in done.stderr
        assert done.stderr.startswith("overlay: ")
