# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest kernel's copy of the device's interface is the interface."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cint import paths
from cint.build import patches

HEADER = paths.OVERLAY_NVME / "cint-abi.h"
COPY = "drivers/nvme/host/irq-hints.h"
STRUCTS = {"NvmeCintIdentify": "nvme_id_irq_hints", "NvmeCintRecord": "nvme_irq_status",
           "NvmeCintStatus": "nvme_feat_irq_status"}
VALUES = {"NVME_CINT_MAGIC": "NVME_ID_IRQ_HINTS_MAGIC",
          "NVME_CINT_VERSION": "NVME_ID_IRQ_HINTS_VERSION",
          "NVME_CINT_CAP_HINTS": "NVME_IRQ_HINTS_CAP_HINTS",
          "NVME_CINT_CAP_OOO": "NVME_IRQ_HINTS_CAP_OOO",
          "NVME_CINT_CAP_STATUS_RECORDS": "NVME_IRQ_HINTS_CAP_STATUS",
          "NVME_CINT_FLAGS_URGENT": "NVME_CMD_IRQ_URGENT",
          "NVME_CINT_FLAGS_BARRIER": "NVME_CMD_IRQ_BARRIER"}
#: What the kernel's header takes from the kernel.
KERNEL = """\
#include <assert.h>
#include <stdint.h>
typedef uint8_t __u8;
typedef uint16_t __le16;
typedef uint32_t __le32;
typedef uint64_t __le64;
"""


def added_lines(file: str) -> str:
    """The text of a file that the guest's patches make and only add to."""
    lines: list[str] = []
    for path in patches.read_series(paths.GUEST_PATCHES):
        current = ""
        for line in path.read_text("utf-8").splitlines():
            if line.startswith(("diff --git ", "-- ")):
                current = ""
            elif line.startswith("+++ b/"):
                current = line.removeprefix("+++ b/")
            elif current == file:
                assert not line.startswith("-"), f"{path.name} changes {file}"
                lines += [line[1:]] if line.startswith("+") else []
    return "\n".join(lines) + "\n"


def same_layout(ours: str, theirs: str, text: str) -> str:
    """C that does not compile unless both structures have the same fields."""
    body = re.search(rf"typedef struct {ours} {{(.*?)}} {ours};", text, re.DOTALL)
    assert body is not None, ours
    fields = re.findall(r"(\w+)(?:\[\d+\])?;", body[1])
    assert fields
    checks = [f'static_assert(sizeof({ours}) == sizeof(struct {theirs}), "size");']
    for field in fields:
        for what in (f"offsetof({{}}, {field})", f"sizeof((({{}} *)0)->{field})"):
            checks.append(f"static_assert({what.format(ours)} == "
                          f'{what.format("struct " + theirs)}, "{ours}.{field}");')
    return "\n".join(checks)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_copy_is_the_interface(tmp_path: Path) -> None:
    text = HEADER.read_text("utf-8")
    copy = added_lines(COPY)
    assert "struct nvme_id_irq_hints {" in copy
    copy = re.sub(r"#include <linux/\S+>\n", "", copy)
    source = tmp_path / "same.c"
    source.write_text("\n".join([
        KERNEL, "#include <stddef.h>", f'#include "{HEADER}"', copy,
        *(same_layout(ours, theirs, text) for ours, theirs in STRUCTS.items()),
        *(f'static_assert({a} == {b}, "{a}");' for a, b in VALUES.items())]))
    done = subprocess.run(["cc", "-fsyntax-only", "-Wno-comment", source], check=False,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
