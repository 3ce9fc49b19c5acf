# SPDX-License-Identifier: GPL-2.0-or-later
"""abi.py: what it reads of the C header is what a compiler makes of that."""

import shutil
import subprocess
from pathlib import Path

import pytest

from cint import paths
from cint.device import abi

STRUCTURES = ("NvmeCintFeature", "NvmeCintAnswers", "NvmeCintHist", "NvmeCintLogHeader",
              "NvmeCintLogRecord", "NvmeCintLogSq")


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_layouts_are_those_of_the_header(tmp_path: Path) -> None:
    lines = [f'printf("%zu %zu\\n", offsetof({name}, {member}), sizeof((({name} *)0)->{member}));'
             for name in STRUCTURES for member in abi.layout(name)]
    lines += [f'printf("0 %zu\\n", sizeof({name}));' for name in STRUCTURES]
    source = tmp_path / "offsets.c"
    source.write_text("#include <stddef.h>\n#include <stdio.h>\n"
                      f'#include "{paths.OVERLAY_NVME / "cint-abi.h"}"\n'
                      f"int main(void) {{ {' '.join(lines)} return 0; }}\n")
    subprocess.run(["cc", "-o", tmp_path / "offsets", source], check=True)
    done = subprocess.run([tmp_path / "offsets"], check=True, capture_output=True, text=True)
    read = [(one.at, one.size) for name in STRUCTURES for one in abi.layout(name).values()]
    read += [(0, abi.size(abi.layout(name))) for name in STRUCTURES]
    assert len(read) > 80
    assert done.stdout.splitlines() == [f"{at} {size}" for at, size in read]


def test_what_is_not_there() -> None:
    assert abi.layout("NvmeCintNothing") == {}
