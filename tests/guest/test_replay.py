# SPDX-License-Identifier: GPL-2.0-or-later
"""A traced guest, replayed: the device and cint-replay send the same interrupts."""

from __future__ import annotations

import argparse
import re
import subprocess
from pathlib import Path

import pytest
from conftest import Boot, machine

from cint import cli, paths
from cint.device import properties
from cint.guest import agent
from cint.measure import comparison, settings
from cint.options import comparing

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
POST_OR_SUBMIT = re.compile(r"^pci_nvme_cint_(post|submit) cqid 1 .* at (\d+)$", re.MULTILINE)


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
    sent = sent_by_the_device(log)
    done = subprocess.run([paths.REPLAY, "--from-trace", "--guest", "trace", "--cq", "1",
                           "--cq-size", LINUX_CQ_SIZE, "--record", "on", "--policy", same,
                           str(log)],
                          text=True, capture_output=True, check=True)
    replayed = [line for line in done.stdout.splitlines() if line.startswith("irq ")]
    assert len(sent) > 100
    assert replayed == sent


POLICIES = {
    # The default ones, and one of each further kind.
    "papers": f"{properties.DEFAULT_POLICIES},cint:barrier=strict,vic:cif-threshold=2,epoch=1ms",
    "device": "adaptive,cint+ooo"}


def sent_by_the_device(log: Path) -> list[str]:
    """The interrupts of the first I/O queue, as cint-replay prints them."""
    return [f"irq {at} {cls} {reason} {covered} cq=1"
            for cls, reason, covered, at in IRQ.findall(log.read_text("utf-8"))]


def ties(log: Path) -> set[str]:
    """When (ns) a command was fetched in the ns of a completion that was posted before.

    If its doorbell rang in that ns, too, it is in flight for the device when that completion comes;
    for the trace, which has commands when they are fetched, it is not yet.
    """
    posted: set[str] = set()
    tied: set[str] = set()
    for event, at in POST_OR_SUBMIT.findall(log.read_text("utf-8")):
        if event == "post":
            posted.add(at)
        elif at in posted:
            tied.add(at)
    return tied


def reaped_in_time(log: Path) -> set[str]:
    """When (ns) the head moved in the ns of a deadline: the device has seen it before."""
    text = log.read_text("utf-8")
    return (set(re.findall(r"^pci_nvme_cint_arm cqid 1 deadline (\d+)$", text, re.MULTILINE))
            & set(re.findall(r"^pci_nvme_cint_head cqid 1 .* at (\d+)$", text, re.MULTILINE)))


def check_same(policy: properties.Policy, log: Path, replayed: list[str], sent: list[str]) -> None:
    """The same interrupts, up to a tie: of head and deadline, under vic of commands in flight.

    There low-iops may be low-cif, too: both are for lack of commands in flight.
    """
    if policy.kind == "vic":
        replayed, sent = ([re.sub(r"low-(cif|iops)", "low", line) for line in lines]
                          for lines in (replayed, sent))
    differ = [at for at, pair in enumerate(zip(replayed, sent, strict=False))
              if pair[0] != pair[1]]
    # Whichever of the two interrupts at the tie.
    first = min((lines[at].split()[1] for at in differ[:1] for lines in (replayed, sent)),
                key=int, default="")
    if first in (ties(log) if policy.kind == "vic" else set()) | reaped_in_time(log):
        replayed, sent = replayed[:differ[0]], sent[:differ[0]]
    assert len(sent) > 100, policy.name
    assert replayed == sent, policy.name


@pytest.mark.parametrize("extras", properties.EXTRAS)
def test_a_compares_words_mean_the_same_in_a_replay(logs: Path, extras: str,
                                                    capfd: pytest.CaptureFixture[str]) -> None:
    """Each policy of a comparison, at its scale: its log replayed with the words typed there."""
    parser = argparse.ArgumentParser()
    comparing.add_options(parser)
    chosen = comparing.settings_from(parser.parse_args([
        "--policy", POLICIES[extras], "--extras", extras, "--workload", "mixed",
        "--runtime", "30ms", "--trace", "cint"]))
    assert chosen.k == settings.DEFAULT_SCALE
    asked = comparison.asked_for(comparison.compose(chosen))
    comparison.run_guests(chosen, asked, logs)
    for arm in chosen.arms:
        log = logs / "logs" / arm.slug / "qemu.log"
        capfd.readouterr()
        assert cli.main(["replay", "--from-trace", "--reap", "trace", "--cq", "1", "--irqs", "on",
                         "--extras", extras, "--cpu-scale", f"{chosen.k:g}", "--guest-time",
                         "--policy", arm.policy.name, str(log)]) == 0
        replayed = [line for line in capfd.readouterr().out.splitlines()
                    if line.startswith("irq ")]
        sent = sent_by_the_device(log)
        check_same(arm.policy, log, replayed, sent)
