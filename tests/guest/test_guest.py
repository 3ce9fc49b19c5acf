# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest as a whole: boot, I/O engines, data, the log page."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Boot, machine

from cint.device import logpage
from cint.guest import agent, vm
from cint.measure import fiojson

ENGINES = {
    "psync": "ioengine=psync",
    "pvsync2": "ioengine=pvsync2",
    "libaio": "ioengine=libaio\niodepth=32\niodepth_batch_submit=8",
    "io_uring": "ioengine=io_uring\niodepth=32",
}
JOB = """\
[{name}]
filename=/dev/nvme0n1
direct=1
bs=4k
size=8M
rw={rw}
{more}
"""
BOOT_LIMIT_S = 0.75


def job(name: str, rw: str, more: str) -> agent.Job:
    """A fio job of 8 MiB."""
    return agent.Job(f"{name}-{rw}", fio=JOB.format(name=name, rw=rw, more=more),
                     args=("--eta=never",))


@pytest.mark.parametrize("policy", ["default", "static20", "adaptive"])
def test_every_engine(boot: Boot, policy: str) -> None:
    jobs = [job(name, rw, more) for name, more in ENGINES.items()
            for rw in ("randread", "randwrite", "randrw")]
    outcome = boot(machine(policy), agent.Plan((*jobs,)))
    for one in jobs:
        stats = fiojson.parse(outcome.results[one.name]["fio"])
        assert sum(s.ios for s in stats.values()) == 2048, one.name


def test_boot_is_quick(boot: Boot) -> None:
    """Until the first read, by the guest's own clock, which in virtual time counts instructions."""
    outcome = boot(machine("adaptive"), agent.Plan())
    assert outcome.hello["nvme"][0]["cint"] is True
    assert 0 < outcome.hello["first_io_s"] <= BOOT_LIMIT_S


@pytest.mark.parametrize("policy", ["default", "adaptive"])
def test_data_survives(boot: Boot, tmp_path: Path, policy: str) -> None:
    """Written data is read back with its checksum, also by a second boot."""
    image = tmp_path / "disk.img"
    with image.open("wb") as file:
        file.truncate(64 << 20)
    more = "ioengine=libaio\niodepth=32\nverify=crc32c\nverify_fatal=1"
    backend = vm.Backend(image)
    boot(machine(policy, backend=backend), agent.Plan((job("w", "randwrite", more),)), "write")
    read = boot(machine(policy, backend=backend),
                agent.Plan((job("v", "randread", more + "\nverify_only"),)), "verify")
    assert fiojson.parse(read.results["v-randread"]["fio"])["v"].ios == 2048


def test_log_page_adds_up(boot: Boot) -> None:
    """Every I/O is a CQE, every interrupt has a reason, every CQE was held."""
    outcome = boot(machine("adaptive"), agent.Plan((job("a", "randread", ENGINES["libaio"]),)))
    result = outcome.results["a-randread"]
    before, after = (agent.parse_snapshot(result[s]).nvme_log for s in ("before", "after"))
    assert before is not None
    assert after is not None
    first, last = (logpage.decode(page).total() for page in (before, after))
    assert last.cqes - first.cqes >= 2048
    assert sum(last.reasons.values()) == last.interrupts
    assert last.hold_count == last.cqes
