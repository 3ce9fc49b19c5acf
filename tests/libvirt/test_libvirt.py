# SPDX-License-Identifier: GPL-2.0-or-later
"""What ./cint libvirt prints, with a real libvirt: valid, started, booted, looked at, changed."""

from __future__ import annotations

import json
import re
import subprocess
import time
from pathlib import Path

import pytest
from conftest import BOOT_LIMIT_S, SHELL, Cint, Virsh

from cint.guest import libvirt

DEVICE = f"/machine/peripheral/{libvirt.ALIAS}"


def define(virsh: Virsh, text: str) -> str:
    """Validate a domain, whose console goes to a file, and define it; its name."""
    console = virsh.directory / "console.log"
    console.unlink(missing_ok=True)
    text = re.sub(r'<serial type=.pty.\s*(/>|>.*?</serial>)',
                  f'<serial type="file"><source path="{console}"/></serial>', text, flags=re.DOTALL)
    text = re.sub(r'<console type=.pty.\s*(/>|>.*?</console>)', "", text, flags=re.DOTALL)
    path = virsh.directory / "domain.xml"
    path.write_text(text, "utf-8")
    path.chmod(0o644)
    done = subprocess.run(["virt-xml-validate", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    virsh("define", path)
    match = re.search("<name>(.*)</name>", text)
    assert match
    return match[1]


def wait_for_shell(virsh: Virsh) -> str:
    """The console, when the guest has booted."""
    console = virsh.directory / "console.log"
    deadline = time.monotonic() + BOOT_LIMIT_S
    while True:
        text = console.read_text("utf-8", errors="replace") if console.exists() else ""
        if SHELL in text:
            return text
        assert time.monotonic() < deadline, text[-3000:] + virsh.logs()
        time.sleep(0.5)


def monitor(virsh: Virsh, name: str, command: str, **arguments: str) -> object:
    """QMP through libvirt."""
    text = json.dumps({"execute": command, "arguments": arguments})
    answer = json.loads(virsh("qemu-monitor-command", name, text))
    assert "error" not in answer, answer
    return answer["return"]


def counted(virsh: Virsh, name: str, what: str) -> int:
    """A counter of the device's, over all completion queues."""
    stats = monitor(virsh, name, "qom-get", path=DEVICE, property="cint-stats")
    assert isinstance(stats, dict)
    return sum(queue[what] for queue in stats["queues"])


@pytest.mark.parametrize("style", libvirt.STYLES)
@pytest.mark.parametrize("firmware", ["seabios", "ovmf"])
def test_a_new_domain_boots_from_the_device(virsh: Virsh, disk: Path, cint: Cint, style: str,
                                            firmware: str) -> None:
    # With a screen under one firmware, without under the other.
    text = cint("--drive", disk, "--accel", "tcg", "--memory", "768", "--vcpus", "1", "--style",
                "override", "--uefi" if firmware == "ovmf" else "--headless")
    if style == "commandline":
        (virsh.directory / "new.xml").write_text(text)
        text = cint("--domain", virsh.directory / "new.xml", "--style", style)
    name = define(virsh, text)
    virsh("start", name)
    console = wait_for_shell(virsh)
    assert re.search(r"nvme0n1: p1", console)
    assert ("efi: EFI v" in console) == (firmware == "ovmf")
    assert not re.search(r"\bvda\b|\bsda\b", console)
    # The guest's kernel gives no hints: the device infers them, and acts on them.
    assert counted(virsh, name, "hints-inferred") > 0
    assert counted(virsh, name, "cmds-urgent") > 0
    # Only a disk that libvirt made is one that it knows of.
    assert ("vda" in virsh("domblklist", name)) == (style == "override")


def test_the_policy_changes_in_a_running_domain(virsh: Virsh, disk: Path, cint: Cint) -> None:
    name = define(virsh, cint("--drive", disk, "--accel", "tcg", "--headless", "--policy",
                              "adaptive"))
    virsh("start", name, "--paused")
    assert monitor(virsh, name, "qom-get", path=DEVICE, property="cint.policy") == "adaptive"
    monitor(virsh, name, "qom-set", path=DEVICE, property="cint.policy", value="vic")
    assert monitor(virsh, name, "qom-get", path=DEVICE, property="cint.policy") == "vic"
    virsh("qemu-monitor-command", name, "--hmp", f"qom-set {DEVICE} cint.policy static")
    assert "static" in virsh("qemu-monitor-command", name, "--hmp", f"qom-get {DEVICE} cint.policy")


@pytest.mark.parametrize("policy", [
    "default", "default:each-cqe=on", "static:time=50us,thr=16", "adaptive:drain=on,storm=retune",
    "cint:barrier=strict,ooo=on", "vic:scope=cq,ratios=coarse,epoch=100ms", "pointer"])
def test_libvirt_hands_on_every_kind_of_property(virsh: Virsh, disk: Path, cint: Cint,
                                                 policy: str) -> None:
    name = define(virsh, cint("--drive", disk, "--accel", "tcg", "--headless", "--policy", policy))
    virsh("start", name, "--paused")
    assert monitor(virsh, name, "qom-get", path=DEVICE,
                   property="cint.policy") == policy.partition(":")[0]


THEIRS = """\
<domain type='qemu'>
  <name>theirs</name><memory unit='MiB'>768</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type><boot dev='hd'/></os>
  <features><acpi/></features>
  <devices>
    <emulator>{emulator}</emulator>
    <disk type='file' device='disk'>
      <driver name='qemu' type='qcow2' cache='none' io='native' queues='2'/>
      <source file='{disk}'/><target dev='{dev}' bus='{bus}'/>
    </disk>
    <serial type='pty'/><memballoon model='none'/>
  </devices>
</domain>
"""


def theirs(emulator: Path, disk: Path, dev: str) -> str:
    """A domain of somebody's, that boots from a virtio or a SATA disk."""
    text = THEIRS.format(emulator=emulator, disk=disk, dev=dev,
                         bus="virtio" if dev == "vda" else "sata")
    return text if dev == "vda" else text.replace(" queues='2'", "")


@pytest.mark.parametrize("dev", ["vda", "sda"])
@pytest.mark.parametrize("style", libvirt.STYLES)
def test_a_domain_that_exists_gets_the_device_and_loses_it_again(
    virsh: Virsh, disk: Path, cint: Cint, dev: str, style: str
) -> None:
    emulator = re.search("<emulator>(.*)</emulator>", cint("--policy", "vic"))
    assert emulator
    name = define(virsh, theirs(Path(emulator[1]), disk, dev))
    before = virsh("dumpxml", "--inactive", name)
    (virsh.directory / "before.xml").write_text(before)
    define(virsh, cint("--domain", virsh.directory / "before.xml", "--style", style))
    virsh("start", name)
    assert re.search(r"nvme0n1: p1", wait_for_shell(virsh))
    assert counted(virsh, name, "cqes") > 0
    virsh("destroy", name)
    # Back: as it was, and without the device.
    virsh("define", virsh.directory / "before.xml")
    assert virsh("dumpxml", "--inactive", name) == before
    virsh("start", name, "--paused")
    assert "nvme" not in virsh("qemu-monitor-command", name, "--hmp", "info qtree")


def test_what_is_lost_is_refused_by_name(virsh: Virsh, disk: Path, cint: Cint) -> None:
    name = define(virsh, cint("--drive", disk, "--accel", "tcg", "--headless"))
    virsh("start", name, "--paused")
    for words in (("save", name, virsh.directory / "saved"), ("snapshot-create-as", name, "one")):
        done = virsh.run(*words, check=False)
        assert done.returncode and "non-migratable device" in done.stderr
    # Without memory a snapshot is what it is for any qcow2.
    virsh("destroy", name)
    virsh("snapshot-create-as", name, "two")
    assert "two" in virsh("snapshot-list", name)
