# SPDX-License-Identifier: GPL-2.0-or-later
"""The sizes that docs/cost.md gives are those of the QEMU that is built; no guest boots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile

from cint import paths
from cint.manual import documents

ENTRIES, PAIRS = 1024, 64
#: In the device's own words: what it keeps of a queue pair.
ENGINE = ("CintCq", "CintSq", "CintCmd")
DEVICE = ("NvmeCintCq", "NvmeCintPosted", "NvmeCintNotice", "NvmeCintSq", "NvmeCintReq",
          "NvmeCintLogRecord", "CintMediaClaim", "IntervalTreeNode")
QEMUS = ("NvmeCQueue", "NvmeSQueue", "NvmeRequest")
#: A submission queue also has an entry each of when its doorbell rang, and a bit of where batches
#: end.
RUNG, BATCH_ENDS = 8, ENTRIES // 8


def _structure(die: DIE) -> DIE | None:
    """What a name stands for, if that is a structure."""
    while die.tag == "DW_TAG_typedef" and "DW_AT_type" in die.attributes:
        die = die.get_DIE_from_attribute("DW_AT_type")
    return die if die.tag == "DW_TAG_structure_type" else None


def _named(program: ELFFile, names: Iterable[str]) -> Iterator[tuple[str, int]]:
    wanted = {name.encode() for name in names}
    for unit in program.get_dwarf_info().iter_CUs():
        for die in unit.get_top_DIE().iter_children():
            name = die.attributes.get("DW_AT_name")
            if name is None or name.value not in wanted:
                continue
            found = _structure(die)
            if found is not None and "DW_AT_byte_size" in found.attributes:
                yield name.value.decode(), found.attributes["DW_AT_byte_size"].value


def sizes(build: Path, source: str, names: Iterable[str]) -> dict[str, int]:
    """What `sizeof` is in one of the device's files, by the compiler's own description of it."""
    found = sorted(build.glob(f"*.p/hw_nvme_{source}.c.o"))
    if not found:
        pytest.skip(f"{paths.display(build)} has no {source}.c.o: ./cint build")
    with found[0].open("rb") as stream:
        return dict(_named(ELFFile(stream), names))


def said(size: dict[str, int]) -> list[str]:
    """What the page says of the QEMU that is built."""
    each = size["NvmeCintPosted"] + size["NvmeCintNotice"]
    cq = size["NvmeCintCq"] + each * ENTRIES
    command = size["NvmeCintReq"] + RUNG
    sq = size["NvmeCintSq"] + command * ENTRIES + BATCH_ENDS
    queues = size["NvmeCQueue"] + size["NvmeSQueue"]
    theirs = queues + size["NvmeRequest"] * ENTRIES
    return [
        "| | " + " | ".join(str(size[name]) for name in ENGINE) + " |",
        f"| completion queue | {size['NvmeCintCq']:,} | {each} | statistics "
        f"{size['NvmeCintPosted']}, messages to send {size['NvmeCintNotice']} | {cq:,} |",
        f"| submission queue | {size['NvmeCintSq']:,} | {command} | a command "
        f"{size['NvmeCintReq']}, when its doorbell rang {RUNG}; a bit, where a batch ends "
        f"| {sq:,} |",
        f"| both | | | | {cq + sq:,} |",
        f"| QEMU's own, with our patches | {queues} | {size['NvmeRequest']} | `NvmeRequest` "
        f"| {theirs:,} |",
        f"{PAIRS} pairs of {ENTRIES} take {PAIRS * (cq + sq) / 1e6:.1f} MB beside QEMU's "
        f"{PAIRS * theirs / 1e6:.1f} MB",
        f"of a command's {size['NvmeCintReq']} bytes", f"the claim {size['CintMediaClaim']}",
        f"a node of a tree {size['IntervalTreeNode']}",
        f"{size['NvmeCintLogRecord']:,} of the {size['NvmeCintCq']:,} bytes",
    ]


def missing(lines: Iterable[str]) -> list[str]:
    """What the page does not say, wherever its lines end."""
    page = " ".join((documents.DOCS / "cost.md").read_text("utf-8").split())
    return [line for line in lines if line not in page]


def test_the_page_has_the_sizes() -> None:
    size = sizes(paths.QEMU_BUILD, "cint-cq", (*ENGINE, *DEVICE, *QEMUS))
    assert set(size) == {*ENGINE, *DEVICE, *QEMUS}
    assert missing(said(size)) == []
