# SPDX-License-Identifier: GPL-2.0-or-later
"""queueconfig.py: the data of feature D0h, and its layout against the C header."""

import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from cint import paths
from cint.device import properties, queueconfig

HEADER = paths.OVERLAY_NVME / "cint-abi.h"
#: The row of a property in the device's documentation, up to its default.
ROW = r"^\| `{}` \|[^|]*\| ([\w-]+)"


def value(data: bytes, prop: str) -> int:
    field = next(f for f in queueconfig.FIELDS if f.prop == prop)
    found: tuple[int] = struct.unpack_from(f"<{field.code}", data, field.at)
    return found[0]


def test_a_policy_says_what_it_sets_and_the_device_the_rest() -> None:
    policy = properties.parse_policy("cint+ooo:delta=3us,barrier=strict,storm=retune")
    data = queueconfig.pack(policy.kind, properties.policy_properties(policy, 2.0))
    assert (len(data), data[:2], data[3]) == (64, b"\1\0", 3)
    assert (value(data, "cint.policy"), value(data, "cint.barrier")) == (4, 1)
    assert (value(data, "cint.delta"), value(data, "cint.thr")) == (6000, 32)
    assert (value(data, "cint.drain"), value(data, "cint.max-hold")) == (2, 0)
    assert (value(data, "cint.epoch"), value(data, "cint.ewma-shift")) == (200, 7)


@pytest.mark.parametrize("field", queueconfig.FIELDS, ids=lambda f: f.name)
def test_defaults_are_the_devices(field: queueconfig.Field) -> None:
    text = (paths.ROOT / "docs/interface.md").read_text("utf-8")
    row = re.search(ROW.format(field.prop), text, re.MULTILINE)
    assert row and row[1] == str(field.default)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_layout_is_that_of_the_header(tmp_path: Path) -> None:
    lines = "".join(f'printf("{f.name} %zu %zu\\n", offsetof(NvmeCintFeature, {f.name}), '
                    f"sizeof(((NvmeCintFeature *)0)->{f.name}));\n" for f in queueconfig.FIELDS)
    source = tmp_path / "offsets.c"
    source.write_text(f'#include <stddef.h>\n#include <stdio.h>\n#include "{HEADER}"\n'
                      f"int main(void) {{ {lines} return 0; }}\n")
    subprocess.run(["cc", "-o", tmp_path / "offsets", source], check=True)
    done = subprocess.run([tmp_path / "offsets"], check=True, capture_output=True, text=True)
    found = [tuple(line.split()) for line in done.stdout.splitlines()]
    assert found == [(f.name, str(f.at), str(struct.calcsize(f.code))) for f in queueconfig.FIELDS]
