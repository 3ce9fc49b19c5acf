# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine as a library, as others take it: installed, and found by pkg-config."""

from __future__ import annotations

import ctypes
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import LIBCINT, LINKS, WARNINGS, Installed, run

from cint import paths

HEADER = LIBCINT.header
APIDOC = paths.LIBCINT / "apidoc.py"
#: All that the library may ask of the C library: text and memory, no clock, no allocation, no lock.
NEEDS = {"memcpy", "memmove", "memset", "strcmp", "strcspn", "strlen", "snprintf", "vsnprintf",
         "__errno_location", "__stack_chk_fail", "__memcpy_chk", "__memset_chk", "__snprintf_chk",
         "__vsnprintf_chk"}

#: Bytes of struct libcint_param of version 0.1, where a pointer has 64 bits.
SIZE_0_1 = 64

PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
#include <libcint.h>

static void *object(enum libcint_object which)
{
    return malloc(libcint_size(which));
}

int main(int argc, char **argv)
{
    struct libcint_config *config = (struct libcint_config *)object(LIBCINT_CONFIG);
    struct libcint_scope *scope = (struct libcint_scope *)object(LIBCINT_SCOPE);
    struct libcint_cq *cq = (struct libcint_cq *)object(LIBCINT_CQ);
    struct libcint_sq *sq = (struct libcint_sq *)object(LIBCINT_SQ);
    struct libcint_cmd *cmd[4];
    struct libcint_param param = {};
    struct libcint_action action;
    struct libcint_error err;
    int i;

    if (argc == 1) {
        printf("%s %s\\n", LIBCINT_VERSION, libcint_version());
        for (i = 0; libcint_param(i, &param); i++) {
            printf("%s %u %llu %llu %llu %s\\n", param.name, param.type,
                   (unsigned long long)param.min, (unsigned long long)param.max,
                   (unsigned long long)param.def, param.unit);
        }
        return 0;
    }
    if (libcint_config_parse(config, argv[1], &err)) {
        printf("%s\\n", err.text);
        return 1;
    }
    libcint_scope_init(scope);
    libcint_cq_init(cq, scope, 64, config);
    libcint_sq_init(sq, cq);
    for (i = 0; i < 4; i++) {
        cmd[i] = (struct libcint_cmd *)object(LIBCINT_CMD);
        libcint_submit(sq, cmd[i], 0, NULL);
    }
    libcint_batch_end(sq, 0);
    for (i = 0; i < 4; i++) {
        action = libcint_complete(sq, cmd[i], 1000 * i, false);
        if (action.fire != LIBCINT_NONE) {
            printf("%d %s %u, ", i, libcint_reason_name(action.reason), action.covered);
        }
        action = libcint_pass_end(cq, 1000 * i);
    }
    printf("pending %u of %u", libcint_pending(cq), libcint_tail(cq));
    if (libcint_deadline(cq) != LIBCINT_NEVER) {
        printf(", deadline %lld: ", (long long)libcint_deadline(cq));
        action = libcint_timer(cq, libcint_deadline(cq) + 5);
        printf("%s %u", libcint_reason_name(action.reason), action.covered);
    }
    printf("\\n");
    return 0;
}
"""

#: What the program says of a policy: four commands of a batch, 1 us apart.
SAYS = {
    "default": "0 each 1, 1 each 1, 2 each 1, 3 each 1, pending 0 of 4\n",
    "cint:infer=all": "3 barrier 4, pending 0 of 4\n",
    "static:static-thr=3,static-time=100000,drain=off":
        "2 thr 3, pending 1 of 4, deadline 103000: time 1\n",
    "adaptive:drain=off": "pending 4 of 4, deadline 9000: quiet 4\n",
}
REFUSED = {
    "cnit": "policy=cnit: expected one of default, static, adaptive, ",
    "cint:trh=3": "trh: the parameters are policy, delta, thr, ",
    "cint:thr=65536": "thr=65536: expected a number from 0 to 65535",
    "cint:delta=6us": "delta=6us: expected a number of ns from 0 to 1000000000",
    "cint:thr=4\n": "thr=4?: expected a number from 0 to 65535",
    "cint:t\x7fr=4": "t?r: the parameters are policy, delta, thr, ",
    "cint:thr=-1": "thr=-1: expected a number from 0 to 65535",
    "cint:ooo=maybe": "ooo=maybe: expected on or off",
    "cint:barrier=tight": "barrier=tight: expected one of relaxed, strict, generation",
    "cint:thr": "thr: expected parameter=value",
    "cint:policy=vic": "policy=vic: the policy stands before the colon",
    "vic:max-hold=0": "max-hold=0 does not go with policy=vic",
}


@pytest.fixture(scope="module")
def program(engine: Installed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that knows pkg-config and nothing of this tree."""
    return engine.build(PROGRAM, "gnu17", "shared", tmp_path_factory.mktemp("program"))


def test_it_has_no_clock_and_no_memory(engine: Installed) -> None:
    lines = run("nm", "-D", "--undefined-only", engine.lib / "libcint.so").splitlines()
    needed = {line.split()[-1].partition("@")[0] for line in lines if " U " in line}
    assert needed <= NEEDS


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("language", ["gnu17", "c++20"])
def test_program_outside(engine: Installed, language: str, link: str, tmp_path: Path) -> None:
    program = engine.build(PROGRAM, language, link, tmp_path)
    header, library = run(program, env=engine.env).splitlines()[0].split()
    assert header == library
    for policy, says in SAYS.items():
        assert run(program, policy, env=engine.env) == says, policy


@pytest.mark.parametrize("policy", REFUSED)
def test_a_word_that_is_none_is_named(policy: str, engine: Installed, program: Path) -> None:
    said = run(program, policy, code=1, env=engine.env)
    assert said.startswith(REFUSED[policy]) and said.count("\n") == 1


def test_no_half_of_a_word_is_said_to_be_valid(engine: Installed, program: Path) -> None:
    """There are more parameters than a sentence has room for."""
    said = run(program, f"cint:{'x' * 50}=1", code=1, env=engine.env)
    listed = said.rstrip("\n").partition("parameters are ")[2].split(", ")
    rows = [line.split()[0] for line in run(program, env=engine.env).splitlines()[1:]]
    assert listed[-1] == "..." and listed[:-1] == rows[:len(listed) - 1]
    assert len(listed) > 10


def test_parameters_are_the_engines(engine: Installed, program: Path) -> None:
    """As cint-replay has them, which reads the same list."""
    rows = [line.split() for line in run(program, env=engine.env).splitlines()[1:]]
    told = subprocess.run([paths.REPLAY, "--help"], capture_output=True, text=True, check=True)
    listed = told.stdout.partition("Parameters")[2]
    assert [row[0] for row in rows] == re.findall(r"^  (\S+)  ", listed, re.MULTILINE)
    by_name = {row[0]: row[1:] for row in rows}
    assert by_name["delta"] == ["1", "0", "1000000000", "6000", "ns"]
    assert by_name["ooo"] == ["0", "0", "1", "1"]


@pytest.mark.parametrize(("asked", "filled"), [(0, SIZE_0_1), (16, 16), (SIZE_0_1, SIZE_0_1)])
def test_no_more_than_the_caller_knows_is_filled(engine: Installed, asked: int,
                                                 filled: int) -> None:
    """A program of version 0.1 has no more room than that, whatever the library knows since."""
    param = ctypes.create_string_buffer(b"\xee" * 4096, 4096)
    struct.pack_into("=I", param, 0, asked)
    assert ctypes.CDLL(str(engine.lib / "libcint.so")).libcint_param(0, param)
    assert struct.unpack_from("=I", param) == (filled,)
    assert param.raw[filled:] == b"\xee" * (4096 - filled)
    assert b"\xee" * 8 not in param.raw[:filled]


def test_the_headers_example(engine: Installed, tmp_path: Path) -> None:
    """Of its first section, as it stands there: a lone command is told of at once."""
    run(sys.executable, APIDOC, HEADER, "example", tmp_path / "body")
    (tmp_path / "main.c").write_text("#include <libcint.h>\n#include <stdio.h>\n"
                                     "#include <stdlib.h>\nint main(void)\n{\n"
                                     '#include "body"\nreturn 0;\n}\n')
    run("cc", *WARNINGS, *engine.flags("--cflags"), "-o", tmp_path / "a.out", tmp_path / "main.c",
        *engine.flags("--libs"))
    assert run(tmp_path / "a.out", env=engine.env) == "urgent\n"


def test_the_table_of_the_page() -> None:
    """docs/libcint.md shows what the example prints."""
    shown = run(paths.ENGINE_BUILD / "subprojects/libcint/examples/libcint-example-aggregate")
    page = (paths.ROOT / "docs/libcint.md").read_text("utf-8")
    assert "".join(f"    {line}\n" for line in shown.splitlines()) in page
