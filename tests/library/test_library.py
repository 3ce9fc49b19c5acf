# SPDX-License-Identifier: GPL-2.0-or-later
"""The user-space library as others take it: installed, and found by pkg-config."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest
from conftest import CINTIO, LINKS, Installed, run

from cint import paths

APIDOC = paths.USERSPACE / "apidoc.py"
HEADER = CINTIO.header

PROGRAM = """\
#include <stdio.h>
#include <cintio.h>

int main(int argc, char **argv)
{
    struct cintio_queue_options how = {};
    struct cintio_io io = {};
    struct cintio_done done[4];
    struct cintio_error err;
    struct cintio_queue *q;
    struct cintio *dev;
    int n;

    if (argc != 2) {
        printf("%s %s\\n", CINTIO_VERSION, cintio_version());
        return 0;
    }
    how.size = sizeof(how);
    how.mode = CINTIO_COALESCED;
    if (cintio_open(argv[1], NULL, &dev, &err) ||
        cintio_alloc(dev, cintio_info(dev)->block_size, &io.mem, &err) ||
        cintio_queue_create(dev, &how, &q, &err)) {
        printf("%s\\n", err.text);
        return 1;
    }
    io.op = CINTIO_READ;
    io.blocks = 1;
    io.buf = cintio_mem_addr(io.mem);
    for (io.lba = 0; io.lba < 4; io.lba++) {
        if (cintio_push(q, &io)) {
            return 1;
        }
    }
    n = cintio_complete(q, done, 4, 4, CINTIO_FOREVER);
    printf("%d blocks read\\n", n);
    cintio_queue_destroy(q);
    cintio_free(dev, io.mem);
    cintio_close(dev);
    return n != 4;
}
"""


def test_no_test_hooks(installed: Installed) -> None:
    """Neither library has what only tests use."""
    for name in ("libcintio.so", "libcintio.a"):
        assert "cintio_queue_watch" not in run("nm", installed.lib / name)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("language", ["gnu17", "c++20"])
def test_program_outside(installed: Installed, language: str, link: str, tmp_path: Path) -> None:
    """A program that knows pkg-config and nothing of this tree; a shared one drives a controller.

    Which is the fake one of the unit tests, that is loaded before the library.
    """
    program = installed.build(PROGRAM, language, link, tmp_path)
    header, library = run(program, env=installed.env).split()
    assert header == library
    assert "there is no PCI function ffff:ff:1f.7" in run(program, "ffff:ff:1f.7", code=1,
                                                          env=installed.env)
    if link == "shared":
        assert run(program, "fake", env=installed.fake) == "4 blocks read\n"


def test_what_a_page_says(installed: Installed) -> None:
    page = installed.prefix / "share/man/man3/cintio_complete.3"
    text = re.sub(r".\x08", "", run("groff", "-man", "-Tascii", "-P-c", page))
    for part in ("RETURN VALUE", "cintio_queue_wake(3)", "-ETIME"):
        assert part in text


def test_licence() -> None:
    """A file and no link: others copy the directory alone."""
    licence = paths.USERSPACE / "LICENSE"
    assert not licence.is_symlink()
    assert "LESSER GENERAL PUBLIC LICENSE" in licence.read_text("utf-8")


#: A line of the header, what becomes of it, and what is said.
SLIPS = {
    "no comment": (" * cintio_ring() - tell", " * cintio_rong() - tell", "cintio_ring has no"),
    "parameter": (" * @timeout_ns: to wait at most\n *\n * Rings", " *\n * Rings",
                  "cintio_complete has queue, done, min, max, timeout_ns, and its comment"),
    "member": (" * @nr_vecs: how many", " * @nr_pieces: how many", "cintio_io has op, hints,"),
    "head": ("/**\n * cintio_close() - shut", "/**\n * cintio_close: shut", "begins with"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_reference_is_complete(slip: str, tmp_path: Path) -> None:
    """What is not documented, or is no more, is an error."""
    before, after, says = SLIPS[slip]
    text = HEADER.read_text("utf-8")
    assert before in text
    copy = tmp_path / "cintio.h"
    copy.write_text(text.replace(before, after), encoding="utf-8")
    assert says in run(sys.executable, APIDOC, copy, "list", code=1)


@pytest.mark.slow
def test_rust(installed: Installed, tmp_path: Path) -> None:
    """The example in Rust, on the installed library."""
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("no cargo")
    shutil.copytree(paths.USERSPACE / "examples/rust", tmp_path / "rust")
    run(cargo, "build", "--offline", "--locked", cwd=tmp_path / "rust",
        env={**installed.env, "RUSTFLAGS": "-D warnings"})
    program = tmp_path / "rust/target/debug/cintio-example"
    assert "no PCI function" in run(program, "ffff:ff:1f.7", code=1, env=installed.env)
    said = run(program, "fake", env=installed.fake).splitlines()
    assert len(said) == 32
    assert sorted(said) == sorted(f"block {i}: status 0" for i in range(32))
