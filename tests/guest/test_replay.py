# SPDX-License-Identifier: GPL-2.0-or-later
"""A traced guest, replayed: the device and cint-replay send the same interrupts."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from conftest import Boot, machine

from cint import paths
from cint.guest import agent

JOB = """\
[batches]
filename=/dev/nvme0n1
direct=1
bs=4k
size=8M
rw=randread
ioengine=libaio
iodepth=64
iodepth_batch_submit=8
iodepth_batch_complete_min=8
[lone]
filename=/dev/nvme0n1
direct=1
bs=4k
size=1M
rw=randread
ioengine=psync
"""
LINUX_CQ_SIZE = "1024"
IRQ = re.compile(r"^pci_nvme_cint_irq cqid 1 .* class (\w+) reason ([\w-]+) covered (\d+) .*"
                 r" at (\d+)$", re.MULTILINE)


@pytest.mark.parametrize(("policy", "opts", "same"), [
    ("adaptive", "", "adaptive:drain=off,max-hold=0"),
    ("static20", "", "static:drain=off,max-hold=0,static-time=20000,static-thr=32"),
    ("adaptive", "cint.policy=cint,cint.infer=all,cint.drain=auto", "cint:infer=all,max-hold=0"),
], ids=["adaptive", "static", "cint"])
def test_replay_repeats_the_device(boot: Boot, tmp_path: Path, policy: str, opts: str,
                                   same: str) -> None:
    log = tmp_path / "qemu.log"
    traced = machine(policy, k=1.0, trace=("cint",), extra=("-D", str(log)), device_opts=opts)
    boot(traced, agent.Plan((agent.Job("j", fio=JOB, args=("--eta=never",)),)))
    sent = [f"irq {at} {cls} {reason} {covered} cq=1"
            for cls, reason, covered, at in IRQ.findall(log.read_text("utf-8"))]
    done = subprocess.run([paths.REPLAY, "--from-trace", "--guest", "trace", "--cq", "1",
                           "--cq-size", LINUX_CQ_SIZE, "--record", "on", "--policy", same,
                           str(log)],
                          text=True, capture_output=True, check=True)
    replayed = [line for line in done.stdout.splitlines() if line.startswith("irq ")]
    assert len(sent) > 100
    assert replayed == sent
