# SPDX-License-Identifier: GPL-2.0-or-later
"""nvme-cli's plugin for the controller: what it says is what QMP says (docs/nvme-cli.md).

In the image's nvme-cli; with ``--full`` also in those of other releases, which have patches of
their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import nvme_versions
import pytest
from conftest import log_root
from marks import names
from serving import Guest, serving
from test_nvme_cli import CONFIG_FIELDS, DEV, JOB, get_config, io_queues

from cint import paths
from cint.device import logpage, properties
from cint.guest import vm
from cint.measure import comparison

OTHER = "/dev/nvme1"
NOT_OURS = "not a cint controller"
#: Controllers are found at the same time, in any order: ours is to have the first number.
IN_ORDER = """\
set -e
cd /sys/bus/pci/drivers/nvme
name=$(dirname $(grep -l other /sys/class/nvme/*/serial))
other=$(basename $(readlink -f $name/device))
own=$(ls -d 0000:* | grep -v $other)
for c in $own $other; do echo $c > unbind; done
for c in $own $other; do echo $c > bind; done
until [ -e /dev/nvme0n1 ]; do sleep 0.05; done
"""
PAGE = paths.ROOT / "docs/nvme-cli.md"
#: Fields of feature D0h that the plugin has by another name than the decoder.
FLAGS = {"ooo": 1, "storm": 2}


#: The image's own nvme-cli.
IMAGE = "image"
#: Where it is, whichever has its place: get-feature of 3 prints text whatever it is asked for.
OWN = "/tmp/nvme-own"
#: Another one, from the second controller's second namespace, in its place.
OTHER_VERSION = f"""\
set -e
{names(2, OTHER.removeprefix("/dev/"))}
mkdir -p {nvme_versions.PLACE}; mount -t ext4 -o ro /tmp/ns2 {nvme_versions.PLACE}
chmod +x /tmp/nvme; mv /tmp/nvme $(command -v nvme)
"""


@pytest.fixture(scope="module", params=[
    IMAGE, *(pytest.param(name, marks=pytest.mark.slow) for name in nvme_versions.VERSIONS)])
def guest(request: pytest.FixtureRequest,
          tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """A cint controller and one of stock QEMU; a job has run on the first."""
    disks = ["driver=null-co,size=67108864"]
    if request.param != IMAGE:
        program = nvme_versions.disk(request.param, tmp_path_factory.mktemp("nvme-cli"))
        disks.append(f"driver=file,filename={program}")
    accel = comparison.choose_accel(False)
    props = properties.device_properties(properties.parse_policy("default"),
                                         properties.parse_media("ssd80"), 1, virtual=False,
                                         extras="device")
    machine = vm.Machine(props, virtual=False, accel=accel.name, cpu=accel.cpu, extra=(
        "-device", "nvme,id=nvme1,serial=other",
        *(word for number, options in enumerate(disks, 1) for word in (
            "-blockdev", f"{options},node-name=other{number}",
            "-device", f"nvme-ns,bus=nvme1,drive=other{number},nsid={number}"))))
    with serving(machine, log_root() / f"nvme-cint-{request.param}") as running:
        if request.param == IMAGE and running.try_shell("nvme cint help")["exit"] != 0:
            pytest.skip("the guest's nvme-cli has no plugin: this machine's libnvme is another one")
        running.shell(f"{IN_ORDER} cp $(command -v nvme) {OWN}")
        if request.param != IMAGE:
            running.write_file("/tmp/nvme", nvme_versions.RUN.encode())
            running.shell(OTHER_VERSION)
        running.write_file("/tmp/job.fio", JOB.encode())
        yield running


def said(guest: Guest, words: str) -> Any:
    """A command's JSON."""
    return json.loads(guest.shell(f"nvme cint {words} -o json"))


def refusal(guest: Guest, words: str) -> str:
    """What a command says that must fail."""
    reply = guest.try_shell(f"nvme cint {words}")
    assert reply["exit"] != 0
    return str(reply["stderr"])


def dialogue() -> list[tuple[str, list[str]]]:
    """Commands of the page's dialogue, and what comes then."""
    found: list[tuple[str, list[str]]] = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("    # "):
            found.append((line.removeprefix("    # "), []))
        elif line.startswith("    ") and found:
            found[-1][1].append(line.removeprefix("    "))
    return found


def masked(lines: list[str]) -> list[str]:
    """Without what is counted or depends on the machine, and how wide that is."""
    return [re.sub(r" +", " ", re.sub(r"\b0x[0-9a-f]+|(?<![x0-9a-z-])\d[\d.]*\b", "#",
                                     line)).strip()
            for line in lines if line]


def test_dialogue(guest: Guest) -> None:
    """The page's, command by command."""
    assert len(dialogue()) == 8
    for command, wanted in dialogue():
        reply = guest.try_shell(command)
        lines = f"{reply['stdout']}{reply['stderr']}".splitlines()
        assert masked(lines) == masked(wanted), command
    guest.shell(f"nvme cint config {DEV} --policy=default")


def test_what_it_says_is_so(guest: Guest) -> None:
    """Counters, reasons, times and configuration, beside the host's."""
    guest.shell("fio /tmp/job.fio --output=/tmp/fio.txt")
    (queue,) = io_queues(guest)
    stats = said(guest, f"stats {DEV} --cq=1")
    (mine,) = stats["queues"]
    names = {"cqid": "cqid", "policy": "policy", "cqes": "cqes", "irqs_full": "irqs-full",
             "irqs_urgent": "irqs-urgent", "irqs_masked": "irqs-masked", "untold": "untold"}
    assert {name: mine[name] for name in names} == {n: queue[q] for n, q in names.items()}
    assert mine["cqes"] > 0
    assert mine["answers"] == \
        {name.replace("-", "_"): count for name, count in queue["answers"].items()}
    assert 0 < mine["answers"]["count"] <= mine["irqs_full"] + mine["irqs_urgent"]
    hints = {"unmarked": "cmds-unmarked", "urgent": "cmds-urgent", "barrier": "cmds-barrier",
             "both": "cmds-both-hints"}
    assert mine["commands"] == {name: queue[theirs] for name, theirs in hints.items()}
    (reasons,) = said(guest, f"reasons {DEV} --cq=1")
    assert reasons["reasons"] == {n: c for n, c in queue["irqs-by-reason"].items() if c}
    assert set(reasons["reasons"]) <= set(logpage.REASONS)
    (times,) = said(guest, f"hist {DEV} --cq=1")
    held = {one["of"]: one for one in times["distributions"] if one["what"] == "hold"}
    assert set(held) == set(logpage.CLASSES)
    for name, one in held.items():
        hist = queue[f"hold-{name}"]
        assert (one["sum_ns"], one["buckets"]) == (hist["sum-ns"], hist["buckets"])
    assert sum(map(sum, (one["buckets"] for one in held.values()))) == mine["cqes"]


def test_configuration_in_words(guest: Guest) -> None:
    """Each parameter is where the decoder has it; a change of one leaves the others."""
    before = get_config(guest, 1, program=OWN)
    mine = said(guest, f"config {DEV} --cq=1")
    assert len(mine) == sum(not name.startswith("_") for name in CONFIG_FIELDS) - 2 + len(FLAGS)
    assert mine["delta"] == before["delta_ns"]
    assert mine["max-hold"] == before["max_hold_ns"]
    guest.shell(f"nvme cint config {DEV} --cq=1 --policy=cint "
                "--set=barrier=strict,ooo=off,infer=all,drain=on,max-irq-rate=1000,ewma-shift=3")
    after = get_config(guest, 1, program=OWN)
    changed = {"policy": 4, "barrier": 1, "flags": before["flags"] & ~1, "infer": 2, "drain": 1,
               "max_irq_rate": 1000, "ewma_shift": 3}
    assert after == before | changed
    guest.shell(f"nvme cint config {DEV} --cq=1 --policy=default --set=ooo=on,infer=off")


def test_interval(guest: Guest) -> None:
    """Two readings, with rates; nothing of the admin queue's own commands is lost."""
    text = guest.shell(f"nvme cint stats {DEV} --interval=1 --count=2").splitlines()
    assert re.match(r" +cq +policy +cqes/s +interrupts/s +each$", text[0])
    assert [line.split()[0] for line in text[1:]] == ["0", "1"] * 2
    admin = [line.split() for line in text[1:] if line.split()[0] == "0"]
    assert all(float(words[2]) > 0 for words in admin)


def test_other_files(guest: Guest, request: pytest.FixtureRequest) -> None:
    """A namespace is its controller's; a partition, a file and another device are refused.

    nvme-cli 3 says the same of all that it cannot open as a controller.
    """
    version = request.node.callspec.params["guest"]
    assert said(guest, f"id {DEV}n1") == said(guest, f"id {DEV}")
    guest.shell("echo text > /tmp/file; mkdir -p /tmp/directory")
    for name, why in (("/tmp/file", "not a block or character device"),
                      ("/tmp/directory", "not a block or character device"),
                      ("/dev/null", "Inappropriate ioctl"), ("/dev/nowhere", "No such file"),
                      (f"{OTHER}n1", NOT_OURS)):
        wanted = "invalid argument" if version == "3" and why != NOT_OURS else why.lower()
        assert wanted in refusal(guest, f"id {name}").lower(), name


def test_what_is_refused(guest: Guest) -> None:
    """Another controller; values that cannot be, by the plugin and by the device."""
    assert NOT_OURS in refusal(guest, f"id {OTHER}")
    assert NOT_OURS in refusal(guest, f"config {OTHER} --policy=cint")
    assert "valid: normal, json" in refusal(guest, f"stats {DEV} -o yaml")
    assert "give a number from 0 to 65535" in refusal(guest, f"config {DEV} --set=thr=65536")
    assert "give a number from 0 to" in refusal(guest, f"config {DEV} '--set=max-hold= -1'")
    assert "give NAME=VALUE" in refusal(guest, f"config {DEV} --set=thr")
    assert "only with --interval" in refusal(guest, f"stats {DEV} --count=2")
    before = get_config(guest, 1, program=OWN)
    assert "INVALID FIELD" in refusal(guest, f"config {DEV} --cq=1 --set=ewma-shift=0").upper()
    assert "INVALID FIELD" in refusal(guest, f"config {DEV} --cq=77").upper()
    assert get_config(guest, 1, program=OWN) == before
