# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest image: archive format, what is refused, and that it repeats."""

from __future__ import annotations

import importlib.util
import json
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from cint import paths


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mkimage", paths.IMAGES / "mkimage.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mkimage"] = module
    spec.loader.exec_module(module)
    return module


mkimage = _load()


def parse_newc(data: bytes) -> dict[str, tuple[int, tuple[int, int], bytes]]:
    """{name: (mode, device, contents)}; written from the format's description."""
    found: dict[str, tuple[int, tuple[int, int], bytes]] = {}
    at = 0
    while True:
        assert data[at:at + 6] == b"070701"
        fields = [int(data[at + 6 + 8 * i:at + 14 + 8 * i], 16) for i in range(13)]
        name_at = at + 110
        name = data[name_at:name_at + fields[11] - 1].decode()
        body = (name_at + fields[11] + 3) & ~3
        if name == "TRAILER!!!":
            return found
        found[name] = (fields[1], (fields[9], fields[10]), data[body:body + fields[6]])
        at = (body + fields[6] + 3) & ~3


def small_tree() -> object:
    tree = mkimage.Tree()
    tree.entries["dev/console"] = mkimage.Entry(stat.S_IFCHR | 0o600, rdev=(5, 1))
    tree.directory("dev")
    tree.file("init", b"#!", 0o755)
    tree.file("a/b/c", b"12345")
    tree.link("bin/sh", "busybox")
    tree.link("init", "ignored, a file has the name")
    return tree


def test_archive_says_what_the_tree_says() -> None:
    found = parse_newc(mkimage.write_cpio(small_tree()))
    assert list(found) == ["a", "a/b", "a/b/c", "bin/sh", "dev", "dev/console", "init"]
    assert found["dev/console"] == (stat.S_IFCHR | 0o600, (5, 1), b"")
    assert found["init"] == (stat.S_IFREG | 0o755, (0, 0), b"#!")
    assert found["a/b/c"][2] == b"12345"
    assert found["bin/sh"] == (stat.S_IFLNK | 0o777, (0, 0), b"busybox")
    assert stat.S_ISDIR(found["a"][0])


def test_archive_is_what_cpio_reads() -> None:
    cpio = shutil.which("cpio")
    if cpio is None:
        pytest.skip("cpio is not installed")
    data = mkimage.write_cpio(small_tree())
    done = subprocess.run([cpio, "-t", "--quiet"], input=data, capture_output=True, check=True)
    assert done.stdout.decode().split() == list(parse_newc(data))
    assert done.stderr == b""


@pytest.fixture
def parts(tmp_path: Path) -> dict[str, Path]:
    """Small static programs that pass for fio, agent and busybox."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    found = {}
    for name, text in (("fio", "fio-9.9"), ("agent", ""), ("busybox", "sh\\nls"),
                       ("hintio", "")):
        found[name] = tmp_path / name
        code = f'int puts(const char *); int main(void) {{ return puts("{text}") < 0; }}'
        subprocess.run([compiler, "-x", "c", "-static", "-o", found[name], "-"],
                       input=code.encode(), check=True)
    return found


def test_image_repeats_and_has_a_manifest(parts: dict[str, Path], tmp_path: Path) -> None:
    images = []
    for name in ("one", "two"):
        out = tmp_path / name / "image"
        mkimage.build_image(parts["fio"], parts["agent"], out, busybox=parts["busybox"],
                            with_nvme=False, tools=[parts["hintio"]])
        images.append(out.read_bytes())
    assert images[0] == images[1]
    found = parse_newc(images[0])
    assert found["init"][2] == parts["agent"].read_bytes()
    assert found["bin/ls"][2] == b"busybox"
    assert found["bin/hintio"] == (stat.S_IFREG | 0o755, (0, 0), parts["hintio"].read_bytes())
    manifest = json.loads((tmp_path / "one" / "manifest.json").read_text())
    assert manifest["versions"]["fio"] == "9.9"
    assert manifest["image"]["bytes"] == len(images[0])
    assert manifest["files"]["bin/fio"]["bytes"] == parts["fio"].stat().st_size


def test_an_image_is_written_whole_or_not(tmp_path: Path) -> None:
    """No other process's half of it is touched, and one that cannot be put there is gone."""
    out, other = tmp_path / "image", tmp_path / "image.tmp"
    other.write_bytes(b"half")
    mkimage._replace(out, b"whole")
    assert (out.read_bytes(), other.read_bytes()) == (b"whole", b"half")
    (tmp_path / "directory").mkdir()
    with pytest.raises(IsADirectoryError):
        mkimage._replace(tmp_path / "directory", b"whole")
    assert {path.name for path in tmp_path.iterdir()} == {"image", "image.tmp", "directory"}


def test_missing_and_dynamic_programs_are_named(parts: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "image"
    with pytest.raises(mkimage.ImageError, match=r"nowhere does not exist"):
        mkimage.build_image(tmp_path / "nowhere", parts["agent"], out, with_nvme=False)
    dynamic = Path(sys.executable).resolve()
    with pytest.raises(mkimage.ImageError, match="not statically linked"):
        mkimage.build_image(parts["fio"], dynamic, out, with_nvme=False)
    with pytest.raises(mkimage.ImageError, match="not statically linked"):
        mkimage.build_image(parts["fio"], parts["agent"], out, busybox=parts["busybox"],
                            with_nvme=False, tools=[dynamic])
    parts["agent"].write_text("#!/bin/sh\n")
    with pytest.raises(mkimage.ImageError, match="not a 64-bit ELF"):
        mkimage.build_image(parts["fio"], parts["agent"], out, with_nvme=False)
    assert not out.exists()


def test_modules_are_put_where_the_agent_looks(tmp_path: Path) -> None:
    tree = mkimage.Tree()
    with pytest.raises(mkimage.ImageError, match="load-order"):
        mkimage._add_modules(tree, tmp_path)
    (tmp_path / "load-order").write_text("/lib/modules/nvme.ko\n")
    (tmp_path / "nvme.ko").write_bytes(b"ELF")
    mkimage._add_modules(tree, tmp_path)
    found = parse_newc(mkimage.write_cpio(tree))
    assert found["lib/modules/nvme.ko"][2] == b"ELF"
    header = (paths.IMAGES / "agent/agent.h").read_text()
    assert f'"/lib/modules/{mkimage.LOAD_ORDER}"' in header


def test_libraries_of_a_program_are_found() -> None:
    found = dict(mkimage.libraries(Path(sys.executable).resolve(), []))
    assert any(name.startswith("lib/libc.so") for name in found)
    assert any(name.startswith("lib64/ld-linux") for name in found)
    assert all(path.exists() for path in found.values())


@pytest.mark.parametrize("name", ["cmdline", "cmdline.real", "cmdline.virtual",
                                  "cmdline.distro.virtual"])
def test_kernel_options_are_one_a_line(name: str) -> None:
    for line in (paths.KERNEL_CONFIG / name).read_text().splitlines():
        option = line.partition("#")[0].strip()
        assert " " not in option
