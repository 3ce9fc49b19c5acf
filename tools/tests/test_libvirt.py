# SPDX-License-Identifier: GPL-2.0-or-later
"""libvirt domains with the device, as XML. tests/libvirt gives them to a real libvirt."""

import dataclasses
import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from cint import cli
from cint.device import params, properties
from cint.errors import CintError, UsageError
from cint.guest import libvirt

NS = {"q": libvirt.NAMESPACE}

THEIRS = """\
<domain type='kvm' xmlns:app='http://example.org/app'>
  <name>web</name>
  <metadata><app:note>theirs</app:note></metadata>
  <os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type><boot dev='hd'/></os>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <disk type='file' device='cdrom'><target dev='sda' bus='sata'/></disk>
    <disk type='file' device='disk'>
      <driver name='qemu' type='qcow2' cache='none' io='native' queues='4'/>
      <source file='/images/a,b.qcow2'/>
      <target dev='vda' bus='virtio'/>
      <iotune><total_iops_sec>100</total_iops_sec></iotune>
      <alias name='virtio-disk0'/>
      <address type='pci' bus='0x04'/>
    </disk>
    <disk type='network' device='disk'>
      <source protocol='rbd' name='pool/image'/><target dev='sdb' bus='sata'/>
      <address type='drive' unit='1'/>
    </disk>
  </devices>
</domain>
"""


def device(policy: str = "cint", style: str = "override") -> libvirt.Device:
    props = properties.device_properties(properties.inferred(properties.parse_policy(policy)),
                                         properties.parse_media("none"), 1, False, "device")
    return libvirt.Device(Path("/opt/q/bin/qemu"), props, style)


def override(text: str) -> dict[str, tuple[str, str]]:
    """{property: (type, value)} of the one device that is overridden."""
    (found,) = ET.fromstring(text).findall("q:override/q:device", NS)
    return {str(p.get("name")): (str(p.get("type")), str(p.get("value")))
            for p in found.iterfind("q:frontend/q:property", NS)}


def arguments(text: str) -> list[str]:
    return [str(arg.get("value")) for arg in
            ET.fromstring(text).iterfind("q:commandline/q:arg", NS)]


def test_properties_have_the_types_that_qemu_takes() -> None:
    props = override(libvirt.change_domain(THEIRS, device("cint:ooo=on,delta=10us")).text)
    assert props["driver"] == ("string", "nvme")
    assert props["cint"] == ("bool", "true") and props["cint.ooo"] == ("bool", "true")
    assert props["cint.delta"] == ("unsigned", "10000")
    assert props["cint.infer"] == ("string", "all")
    drained = override(libvirt.change_domain(THEIRS, device("adaptive:drain=on")).text)
    assert drained["cint.drain"] == ("string", "on")


def test_types_are_those_of_the_device() -> None:
    bools = {param.prop for param in params.ALL.values() if param.kind == "BOOL"}
    ours = {name for policy in ("default:each-cqe=on", "cint:ooo=on,tune=on")
            for name, value in device(policy).properties
            if libvirt._typed(name, value)[0] == "bool"}
    assert ours == {"cint", *bools} and len(bools) == 3


def test_libvirt_keeps_the_disk_of_a_domain_that_exists() -> None:
    changed = libvirt.change_domain(THEIRS, device())
    domain = ET.fromstring(changed.text)
    assert domain.findtext("devices/emulator") == "/opt/q/bin/qemu"
    disk = domain.findall("devices/disk")[1]
    assert disk.find("source") is not None and disk.find("address") is not None
    alias, serial = disk.find("alias"), disk.find("serial")
    assert alias is not None and alias.get("name") == libvirt.ALIAS
    assert serial is not None and serial.text == "cint"
    assert sorted(changed.dropped) == ["<driver queues=>", "<iotune>"]
    assert "app:note" in changed.text and "ns0" not in changed.text
    # Twice is as once.
    assert libvirt.change_domain(changed.text, device()).text == changed.text


def test_a_disk_on_another_bus_becomes_one_that_can_be_overridden() -> None:
    changed = libvirt.change_domain(THEIRS, device(), "sdb")
    disk = ET.fromstring(changed.text).findall("devices/disk")[2]
    target = disk.find("target")
    assert target is not None and dict(target.attrib) == {"dev": "vdb", "bus": "virtio"}
    assert disk.find("address") is None and not changed.dropped


def test_a_disk_beside_libvirt_leaves_it() -> None:
    changed = libvirt.change_domain(THEIRS, device(style="commandline"))
    assert len(ET.fromstring(changed.text).findall("devices/disk")) == 2
    words = arguments(changed.text)
    assert words[0::2] == ["-blockdev", "-device"]
    assert words[1] == ("driver=qcow2,node-name=cint-disk,file.driver=file,"
                        "file.filename=/images/a,,b.qcow2,cache.direct=on,file.aio=native")
    assert words[3].startswith("nvme,id=ua-cint0,serial=cint,drive=cint-disk,addr=0x10,cint=on,")
    assert changed.dropped == ["<iotune>"]
    with pytest.raises(CintError, match="type 'network'; without <qemu:override> only files"):
        libvirt.change_domain(THEIRS, device(style="commandline"), "sdb")


def test_from_one_style_to_the_other_nothing_is_left_behind() -> None:
    for style in ("native", "override"):
        first = libvirt.change_domain(THEIRS, device(style=style)).text
        second = libvirt.change_domain(first, device(style="commandline")).text
        assert "override" not in second and "<controller" not in second
        assert len(arguments(second)) == 4


def on_controllers(text: str) -> list[tuple[dict[str, str], str | None, str]]:
    """The NVMe controllers of a domain: attributes, serial number, alias."""
    found = []
    for one in ET.fromstring(text).iterfind("devices/controller"):
        alias = one.find("alias")
        assert alias is not None
        found.append((dict(one.attrib), one.findtext("serial"), str(alias.get("name"))))
    return found


def test_a_libvirt_that_has_the_bus_has_the_disk_on_a_controller_of_its_own() -> None:
    changed = libvirt.change_domain(THEIRS, device("cint:ooo=on,delta=10us", "native"))
    props = override(changed.text)
    # The controller is a nvme as libvirt makes it, and has the device's properties.
    assert "driver" not in props and props["cint.delta"] == ("unsigned", "10000")
    assert on_controllers(changed.text) == [({"type": "nvme", "index": "0"}, "cint", "ua-cint0")]
    [over] = ET.fromstring(changed.text).findall("q:override/q:device", NS)
    assert over.get("alias") == "ua-cint0"
    disk = ET.fromstring(changed.text).findall("devices/disk")[1]
    target, source = disk.find("target"), disk.find("source")
    assert target is not None and dict(target.attrib) == {"dev": "nvme0n1", "bus": "nvme"}
    assert source is not None and disk.find("address") is None and disk.find("serial") is None
    assert sorted(changed.dropped) == ["<driver queues=>", "<iotune>"]
    # Twice is as once, and another policy takes the place of the one before.
    assert libvirt.change_domain(changed.text,
                                 device("cint:ooo=on,delta=10us", "native")).text == changed.text
    other = libvirt.change_domain(changed.text, device("vic", "native")).text
    assert override(other)["cint.policy"] == ("string", "vic")
    assert on_controllers(other) == on_controllers(changed.text)


def test_from_one_bus_to_the_other_a_disk_keeps_what_it_is() -> None:
    text = THEIRS.replace("<alias name='virtio-disk0'/>",
                          "<serial>theirs</serial><alias name='virtio-disk0'/>")
    native = libvirt.change_domain(text, device(style="native")).text
    assert on_controllers(native)[0][1] == "theirs"
    virtio = libvirt.change_domain(native, device()).text
    disk = ET.fromstring(virtio).findall("devices/disk")[1]
    target, alias = disk.find("target"), disk.find("alias")
    assert target is not None and dict(target.attrib) == {"dev": "vda", "bus": "virtio"}
    assert alias is not None and alias.get("name") == "ua-cint0"
    assert disk.findtext("serial") == "theirs" and "<controller" not in virtio
    assert override(virtio)["driver"] == ("string", "nvme")
    again = libvirt.change_domain(virtio, device(style="native")).text
    assert on_controllers(again) == on_controllers(native) and "driver" not in override(again)


def test_a_controller_that_is_there_gets_the_properties_and_keeps_its_other_disks() -> None:
    """Two namespaces of one controller, whose numbers libvirt has written out."""
    disks = "".join(f"""\
    <disk type='file' device='disk'>
      <source file='/images/{name}.img'/><target dev='nvme3n{name}' bus='nvme'/>
      <address type='drive' controller='3' bus='0' target='0' unit='{unit}'/>
    </disk>
""" for unit, name in enumerate("12"))
    text = THEIRS.replace("    <disk type='network'", f"""\
    <controller type='nvme' index='3'><serial>own</serial><alias name='nvme3'/></controller>
{disks}    <disk type='network'""")
    native = libvirt.change_domain(text, device(style="native"), "nvme3n2").text
    assert on_controllers(native) == [({"type": "nvme", "index": "3"}, "own", "ua-cint0")]
    assert native.count("controller=\"3\"") == 2
    # One of them leaves: the other's controller stays as it is, properties and all.
    virtio = libvirt.change_domain(native, device("adaptive"), "nvme3n2").text
    assert on_controllers(virtio) == on_controllers(native)
    assert sorted(str(one.get("alias")) for one in ET.fromstring(virtio).findall(
        "q:override/q:device", NS)) == ["ua-cint0", "ua-cint1"]


TWO = THEIRS.replace("""    <disk type='network'""", """\
    <disk type='file' device='disk'>
      <source file='/images/c.img'/><target dev='sdc' bus='sata'/>
    </disk>
    <disk type='network'""")


@pytest.mark.parametrize("style", libvirt.STYLES)
def test_a_domain_with_two_devices_has_each_name_once(style: str) -> None:
    first = libvirt.change_domain(TWO, device(style=style)).text
    second = libvirt.change_domain(first, device("adaptive", style), "sdc").text
    domain = ET.fromstring(second)
    named = [alias.get("name") for alias in domain.iterfind("devices/disk/alias")]
    serials = [serial.text for serial in domain.iterfind("devices/disk/serial")]
    words = [word for text in arguments(second) for word in text.split(",")]
    if style == "native":
        assert on_controllers(second) == [
            ({"type": "nvme", "index": str(number)}, f"cint{number or ''}", f"ua-cint{number}")
            for number in (0, 1)]
        targets = [str(one.get("dev")) for one in domain.iterfind("devices/disk/target")]
        assert {"nvme0n1", "nvme1n1"} <= set(targets) and not named and not serials and not words
        return
    if style == "override":
        over = domain.findall("q:override/q:device", NS)
        assert named == [one.get("alias") for one in over] == ["ua-cint0", "ua-cint1"]
        assert serials == ["cint", "cint1"] and not words
        return
    for key in ("id", "serial", "node-name", "drive", "addr"):
        assert len({word for word in words if word.startswith(f"{key}=")}) == 2, key
    assert words.count("bootindex=0") <= 1


def test_only_one_of_two_devices_boots_first() -> None:
    text = TWO.replace("<disk type='file' device='cdrom'><target dev='sda' bus='sata'/></disk>", "")
    for disk in ("vda", "sdc"):
        text = libvirt.change_domain(text, device(style="commandline"), disk).text
    assert text.count("bootindex=0") == 1


@pytest.mark.parametrize(("theirs", "new"), [("sdc", "vdc"), ("sda", "vdb")])
def test_a_disk_of_another_bus_gets_a_target_that_is_free(theirs: str, new: str) -> None:
    text = TWO.replace("'cdrom'", "'disk'")
    disks = ET.fromstring(libvirt.change_domain(text, device(), theirs).text)
    found = [str(target.get("dev")) for target in disks.iterfind("devices/disk/target")]
    assert new in found and len(set(found)) == len(found)


def test_a_new_domain(tmp_path: Path) -> None:
    image = tmp_path / "a&b.img"
    image.write_bytes(b"QFI\xfb")
    new = libvirt.New(image, "vm", 512, 1, kvm=False, uefi=True, qmp=tmp_path / "qmp")
    domain = ET.fromstring(libvirt.new_domain(device(), new))
    assert domain.get("type") == "qemu" and domain.findtext("name") == "vm"
    driver, source, firmware = (domain.find(path) for path in
                                ("devices/disk/driver", "devices/disk/source", "os"))
    assert driver is not None and driver.get("type") == "qcow2"
    assert source is not None and source.get("file") == str(image)
    assert firmware is not None and firmware.get("firmware") == "efi"
    # libvirt's own choice refuses a loader that is not signed.
    feature = firmware.find("firmware/feature")
    assert feature is not None and feature.attrib == {"enabled": "no", "name": "secure-boot"}
    assert arguments(ET.tostring(domain, encoding="unicode"))[0] == "-qmp"
    assert domain.find("devices/graphics") is not None
    text = libvirt.new_domain(device(), libvirt.New(image, headless=True))
    assert ET.fromstring(text).find("devices/graphics") is None
    with pytest.raises(UsageError, match="--name 'a/b'"):
        libvirt.new_domain(device(), libvirt.New(image, "a/b"))
    with pytest.raises(CintError, match="No such file"):
        libvirt.new_domain(device(), libvirt.New(tmp_path / "none"))


@pytest.mark.parametrize("style", libvirt.STYLES)
def test_lines_to_add_by_hand_are_a_domain_when_put_together(style: str) -> None:
    text = libvirt.lines(device("adaptive", style))
    ET.fromstring(text + "</domain>")
    assert "/opt/q/bin/qemu" in text and "cint.policy" in text


@pytest.mark.parametrize(("text", "target", "why"), [
    ("<domain", None, "this is no XML"), ("<network/>", None, "this is a <network>"),
    ("<domain><devices/></domain>", None, "this domain has no disk"),
    (THEIRS, "vdb", "did you mean"),
])
def test_domains_that_cannot_be_changed(text: str, target: str | None, why: str) -> None:
    with pytest.raises(CintError, match=re.escape(why)):
        libvirt.change_domain(text, device(), target)


def test_the_installed_libvirt_decides_how_it_is_told() -> None:
    assert libvirt.parse_version("9.0.0\n") == (9, 0, 0)
    assert libvirt.parse_version("x") is None
    assert libvirt.style_for((8, 0, 0)) == "commandline"
    assert libvirt.style_for((8, 2, 0)) == libvirt.style_for((11, 4, 0)) == "override"
    assert libvirt.style_for((11, 5, 0)) == libvirt.style_for((12, 8, 0)) == "native"
    assert libvirt.style_for(None) == "override"


@pytest.mark.parametrize(("said", "style", "words"), [
    ("8.0.0", "commandline", "libvirt 8.0.0: with <qemu:commandline>"),
    ("9.0.0", "override", "libvirt 9.0.0: with <qemu:override>"),
    ("12.8.0", "native", "libvirt 12.8.0: with a controller of libvirt's and <qemu:override>"),
    ("", "override", "no virsh here: with <qemu:override>"),
])
def test_virsh_is_asked_for_its_version(
        tmp_path: Path, emulator: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str], *, said: str, style: str, words: str) -> None:
    """A program in virsh's place says it."""
    virsh = tmp_path / "path/virsh"
    virsh.parent.mkdir()
    virsh.write_text(f"#!/bin/sh\n[ \"$*\" = --version ] && echo '{said}'\n")
    virsh.chmod(0o755)
    monkeypatch.setenv("PATH", str(virsh.parent), prepend=os.pathsep)
    assert cli.main(["libvirt", "--prefix", str(tmp_path)]) == 0
    shown = capsys.readouterr()
    assert words in shown.err
    assert shown.out == libvirt.lines(dataclasses.replace(
        device(style=style), emulator=emulator))


@pytest.fixture
def emulator(tmp_path: Path) -> Path:
    """Stands in for a QEMU that has the device, and one distribution's machine types."""
    program = tmp_path / "bin/qemu-system-x86_64"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\ncase $1 in\n-device) echo cint.policy;;\n"
                       "-machine) printf 'q35 x\\npc-q35-7.2 x\\n';;\nesac\n")
    program.chmod(0o755)
    return program


def test_the_verb(tmp_path: Path, emulator: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "d.xml").write_text(THEIRS)
    words = ["libvirt", "--prefix", str(tmp_path), "--style", "override"]
    assert cli.main([*words, "--domain", str(tmp_path / "d.xml")]) == 0
    shown = capsys.readouterr()
    assert override(shown.out)["cint.infer"] == ("string", "all")
    assert "without <iotune>" in shown.err
    (tmp_path / "d.xml").write_text(THEIRS.replace("pc-q35-7.2", "pc-q35-jammy"))
    assert cli.main([*words, "--domain", str(tmp_path / "d.xml")]) == 1
    assert "machine type pc-q35-jammy is not one of QEMU's" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "why"), [
    ([], "libvirt: with which QEMU?"),
    (["--prefix", "/nowhere"], "there is no program /nowhere/bin/qemu-system-x86_64"),
    (["--emulator", "/bin/true"], "/bin/true: its nvme has no property cint.policy"),
    (["--prefix", "PREFIX", "--policy", "cint,vic"], "libvirt takes one policy"),
    (["--prefix", "PREFIX", "--policy", "stock"], "a domain without the device"),
    (["--prefix", "PREFIX", "--disk", "vda"], "--disk: only with --domain"),
    (["--prefix", "PREFIX", "--domain", "/nowhere.xml"], "there is no such file"),
    (["--prefix", "PREFIX", "--domain", "PREFIX/qcow2"], "this is no text"),
    (["--prefix", "PREFIX", "--style", "overide"], "did you mean override?"),
])
def test_wrong_usage_names_the_thing(tmp_path: Path, emulator: Path, words: list[str], why: str,
                                     capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "qcow2").write_bytes(b"QFI\xfb")
    given = [word.replace("PREFIX", str(tmp_path)) for word in words]
    assert cli.main(["libvirt", *given]) in (1, 2)
    assert why in capsys.readouterr().err
