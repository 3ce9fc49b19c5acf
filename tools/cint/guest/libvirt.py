# SPDX-License-Identifier: GPL-2.0-or-later
"""The device in a libvirt domain: domains of its own, and changes to those of others.

libvirt has no words for the device's properties, and two ways round that, both in the namespace
NAMESPACE: to override properties of a device that it makes (libvirt 8.2), or to add arguments.
With ``native`` (libvirt 11.5) the disk is on an NVMe controller of libvirt's, which gets the
properties. With ``override`` libvirt makes a virtio disk, whose driver is then replaced, too. With
both it opens, labels and locks the image, and finds the device its place. With ``commandline`` the
disk is added beside libvirt, which knows nothing of it.
"""

from __future__ import annotations

import io
import itertools
import re
import string
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cint import ask, paths, units
from cint.device import words
from cint.device.properties import Value, join_properties
from cint.errors import CintError, UsageError
from cint.guest import vm

NAMESPACE = "http://libvirt.org/schemas/domain/qemu/1.0"
STYLES = ("native", "override", "commandline")
#: The first libvirts that have a disk bus nvme, and that know <qemu:override>.
NATIVE_SINCE = (11, 5)
OVERRIDE_SINCE = (8, 2)

#: The device's name in QEMU, whatever the style; libvirt takes a name of ours if it begins so.
#: Further devices of a domain have numbers after this one's.
ALIAS = "ua-cint0"
SERIAL = "cint"
DEFAULT_NAME = "cint"
#: Where the device is on the PCI bus when libvirt does not choose: beyond what it gives away.
ADDRESS = 0x10

#: Attributes of a disk's <driver> that only virtio has.
_VIRTIO_ONLY = ("queues", "queue_size", "iothread", "ioeventfd", "event_idx", "iommu", "ats",
                "packed", "page_per_vq", "error_policy", "rerror_policy", "discard_no_unref")
#: Children of <disk> that the device does not follow.
_NOT_FOLLOWED = ("iotune", "geometry", "wwn", "vendor", "product")


@dataclass(frozen=True)
class Device:
    """A device that is put into a domain: the QEMU, and its properties."""

    emulator: Path
    properties: Sequence[tuple[str, Value]]
    style: str = "override"


@dataclass(frozen=True)
class New:
    """A domain of our own."""

    disk: Path
    name: str = DEFAULT_NAME
    memory_mib: int = 2048
    vcpus: int = 2
    kvm: bool = True
    uefi: bool = False
    headless: bool = False
    #: A socket for ./cint top and ./cint trace, which libvirt's own monitor leaves free.
    qmp: Path | None = None


@dataclass
class Changed:
    """A domain that was changed, and what could not be kept."""

    text: str
    dropped: list[str] = field(default_factory=list)


# --- the installed libvirt ----------------------------------------------------------------


def parse_version(text: str) -> tuple[int, ...] | None:
    """`9.0.0` -> (9, 0, 0)."""
    match = re.match(r"\s*(\d+)\.(\d+)\.(\d+)", text)
    return tuple(map(int, match.groups())) if match else None


def installed_version() -> tuple[int, ...] | None:
    """The version of the installed virsh; None without one."""
    try:
        done = ask.run(["virsh", "--version"], timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_version(done.stdout)


def style_for(version: tuple[int, ...] | None) -> str:
    """The style for a libvirt; one that is not known gets what most have."""
    if version is None:
        return "override"
    if version >= NATIVE_SINCE:
        return "native"
    return "override" if version >= OVERRIDE_SINCE else "commandline"


# --- the lines ----------------------------------------------------------------------------


def _tag(name: str) -> str:
    return f"{{{NAMESPACE}}}{name}"


def _typed(name: str, value: Value) -> tuple[str, str]:
    """libvirt's type of a property, and its text: QEMU takes no other here."""
    choices = set(words.BY_PROPERTY[name].values) if name in words.BY_PROPERTY else set()
    if name == "cint" or choices == {"on", "off"}:
        return "bool", "true" if value == "on" else "false"
    return ("unsigned" if isinstance(value, int) else "string"), str(value)


def _frontend(device: ET.Element, alias: str, props: Iterable[tuple[str, str, str]]) -> None:
    one = ET.SubElement(device, _tag("device"), alias=alias)
    frontend = ET.SubElement(one, _tag("frontend"))
    for name, kind, value in props:
        ET.SubElement(frontend, _tag("property"), name=name, type=kind, value=value)


def _override(domain: ET.Element, device: Device, alias: str) -> None:
    """Add <qemu:override> for what has that alias; only a native controller is a nvme already."""
    parent = domain.find(_tag("override"))
    if parent is None:
        parent = ET.SubElement(domain, _tag("override"))
    typed = [(name, *_typed(name, value)) for name, value in device.properties]
    driver = [] if device.style == "native" else [("driver", "string", "nvme")]
    _frontend(parent, alias, [*driver, *typed])


def _devices(domain: ET.Element) -> ET.Element:
    found = domain.find("devices")
    assert found is not None
    return found


def _forget(domain: ET.Element, made: ET.Element) -> None:
    """Take out what <qemu:override> says of a disk or controller."""
    alias = made.find("alias")
    parent = domain.find(_tag("override"))
    if parent is None or alias is None:
        return
    for old in parent.findall(_tag("device")):
        if old.get("alias") == alias.get("name"):
            parent.remove(old)
    if not len(parent):
        domain.remove(parent)


def _arguments(domain: ET.Element, arguments: Iterable[str]) -> None:
    parent = domain.find(_tag("commandline"))
    if parent is None:
        parent = ET.SubElement(domain, _tag("commandline"))
    for text in arguments:
        ET.SubElement(parent, _tag("arg"), value=text)


def _alias_stem() -> str:
    return ALIAS.removesuffix("0")


def _alias(number: int) -> str:
    return _alias_stem() + str(number)


def _serial(number: int) -> str:
    """A guest takes two controllers of one serial number for one, and refuses the second."""
    return f"{SERIAL}{number or ''}"


def _node(number: int) -> str:
    return f"cint-disk{number or ''}"


def _said(domain: ET.Element) -> list[str]:
    """QEMU's arguments that the domain has."""
    place = f"{_tag('commandline')}/{_tag('arg')}"
    return [str(arg.get("value")) for arg in domain.iterfind(place)]


def _free_number(domain: ET.Element) -> int:
    """The number of the device to put in: the first whose names are free in the domain."""
    taken = {str(alias.get("name")) for alias in domain.iterfind("devices/*/alias")}
    taken |= {str(serial.text) for serial in domain.iterfind("devices/*/serial")}
    taken |= {word.partition("=")[2] for text in _said(domain) for word in text.split(",")
              if word.startswith(("id=", "serial=", "node-name="))}
    return next(number for number in itertools.count()
                if not taken & {_alias(number), _serial(number), _node(number)})


def _blockdev(image: str, kind: str, block: bool, node: str, more: Sequence[str] = ()) -> str:
    name = paths.in_option(Path(image))
    host = "host_device" if block else "file"
    return ",".join([f"driver={kind}", f"node-name={node}", f"file.driver={host}",
                     f"file.filename={name}", *more])


def _device_arguments(device: Device, blockdev: str, boots: bool, number: int = 0) -> list[str]:
    # libvirt counts from 1: 0 is before all of its own.
    boot: list[tuple[str, Value]] = [("bootindex", 0)] if boots else []
    fixed: list[tuple[str, Value]] = [("id", _alias(number)), ("serial", _serial(number)),
                                      ("drive", _node(number)),
                                      ("addr", f"{ADDRESS + number:#x}"), *boot]
    return ["-blockdev", blockdev, "-device",
            join_properties("nvme", [*fixed, *device.properties])]


def image_format(image: Path) -> str:
    """qcow2 or raw, by the file's first bytes; :class:`CintError` when it cannot be read."""
    try:
        with image.open("rb") as stream:
            return "qcow2" if stream.read(len(vm.QCOW2)) == vm.QCOW2 else "raw"
    except OSError as problem:
        raise CintError(f"{image}: {problem.strerror}") from None


def _text(domain: ET.Element) -> str:
    ET.register_namespace("qemu", NAMESPACE)
    ET.indent(domain)
    return ET.tostring(domain, encoding="unicode") + "\n"


def lines(device: Device) -> str:
    """The lines to add to a domain by hand, with remarks on where."""
    domain = ET.Element("domain")
    if device.style == "native":
        _override(domain, device, ALIAS)
        where = f"""\
<!-- in <devices>: the emulator, a controller, and the <target> of the disk that is to be behind
     the device, which then has neither <serial> nor <address> -->
<emulator>{device.emulator}</emulator>
<controller type='nvme' index='0'><serial>{SERIAL}</serial><alias name='{ALIAS}'/></controller>
<target dev='nvme0n1' bus='nvme'/>
"""
    elif device.style == "override":
        _override(domain, device, ALIAS)
        where = f"""\
<!-- in <devices>: the emulator, and the alias of the disk that is to be behind the device,
     a disk whose <target> has bus='virtio' -->
<emulator>{device.emulator}</emulator>
<alias name='{ALIAS}'/>
"""
    else:
        _arguments(domain, _device_arguments(
            device, _blockdev("/path/to/image.qcow2", "qcow2", block=False, node=_node(0)),
            boots=True))
        where = f"""\
<!-- in <devices>: the emulator; take out the <disk> that is to be behind the device -->
<emulator>{device.emulator}</emulator>
"""
    body = _text(domain).splitlines()
    inner = "\n".join(line.removeprefix("  ") for line in body[1:-1])
    return f"<!-- the first line of the domain: -->\n<domain type='kvm' xmlns:qemu='{NAMESPACE}'>" \
           f"\n{where}<!-- after </devices>: -->\n{inner}\n"


# --- a domain of our own ------------------------------------------------------------------

_TEMPLATE = """\
<domain type="{accel}">
  <name>{name}</name>
  <memory unit="MiB">{memory}</memory>
  <vcpu>{vcpus}</vcpu>
  <os><type arch="x86_64" machine="q35">hvm</type></os>
  <features><acpi/><apic/></features>
  <cpu mode="{cpu}"/>
  <on_poweroff>destroy</on_poweroff>
  <on_reboot>restart</on_reboot>
  <on_crash>destroy</on_crash>
  <devices>
    <emulator/>
    <interface type="user"><model type="virtio"/></interface>
    <serial type="pty"/>
    <console type="pty"/>
    <rng model="virtio"><backend model="random">/dev/urandom</backend></rng>
    <memballoon model="none"/>
  </devices>
</domain>
"""
_SCREEN = """<screen>
  <graphics type="vnc" port="-1" autoport="yes" listen="127.0.0.1"/>
  <video><model type="vga"/></video>
</screen>
"""


def _boot_by_uefi(domain: ET.Element) -> None:
    """OVMF of libvirt's choice, but not the one that refuses loaders that nobody signed."""
    system = domain.find("os")
    assert system is not None
    system.set("firmware", "efi")
    ET.SubElement(ET.SubElement(system, "firmware"), "feature", enabled="no", name="secure-boot")


def new_domain(device: Device, new: New) -> str:
    """A whole domain that boots from the device; :class:`UsageError` of a name it cannot have."""
    if not re.fullmatch(r"[^\s/<>&\"']+", new.name):
        raise UsageError(f"--name {new.name!r}: a name without spaces, slashes and quotes")
    domain = ET.fromstring(_TEMPLATE.format(
        accel="kvm" if new.kvm else "qemu", name=new.name, memory=new.memory_mib,
        vcpus=new.vcpus, cpu="host-passthrough" if new.kvm else "maximum"))
    if new.uefi:
        _boot_by_uefi(domain)
    devices = _devices(domain)
    devices.extend(() if new.headless else ET.fromstring(_SCREEN))
    disk = ET.SubElement(devices, "disk", type="file", device="disk")
    ET.SubElement(disk, "driver", name="qemu", type=image_format(new.disk), discard="unmap")
    ET.SubElement(disk, "source", file=str(new.disk.absolute()))
    ET.SubElement(disk, "target", dev="vda", bus="virtio")
    ET.SubElement(disk, "boot", order="1")
    _put_behind(domain, device, disk)
    if new.qmp is not None:
        _arguments(domain, ["-qmp", f"unix:{paths.in_option(new.qmp.absolute())},"
                                    "server=on,wait=off"])
    return _text(domain)


# --- a domain that exists -----------------------------------------------------------------


def _parse(text: str) -> ET.Element:
    """The domain of an XML text, whose name spaces keep their prefixes."""
    try:
        for _, (prefix, uri) in ET.iterparse(io.StringIO(text), events=["start-ns"]):
            if not re.fullmatch(r"ns\d+", prefix):
                ET.register_namespace(prefix, uri)
        domain = ET.fromstring(text)
    except ET.ParseError as problem:
        raise CintError(f"--domain: this is no XML: {problem}",
                        hint="write it with: virsh dumpxml --inactive NAME") from None
    if domain.tag != "domain":
        raise CintError(f"--domain: this is a <{domain.tag}>, not a <domain>",
                        hint="write it with: virsh dumpxml --inactive NAME")
    return domain


def _choose_disk(domain: ET.Element, target: str | None) -> ET.Element:
    """The disk that is named by its target, or the first one."""
    disks = {str(found.get("dev")): disk for disk in domain.iterfind("devices/disk")
             if disk.get("device", "disk") == "disk" and (found := disk.find("target")) is not None}
    if not disks:
        raise CintError("--domain: this domain has no disk",
                        hint="add one with: virsh attach-disk --config, or name an image with "
                             "--drive for a new domain")
    if target is None:
        return next(iter(disks.values()))
    if target not in disks:
        raise UsageError(f"--disk {target}: there is none{units.suggestion(target, disks)}",
                         hint=f"disks of this domain: {', '.join(disks)}")
    return disks[target]


def change_domain(text: str, device: Device, target: str | None = None) -> Changed:
    """A domain's XML with one of its disks behind the device, and our QEMU as its emulator."""
    domain = _parse(text)
    disk = _choose_disk(domain, target)
    dropped = _put_behind(domain, device, disk)
    return Changed(_text(domain), dropped)


def _put_behind(domain: ET.Element, device: Device, disk: ET.Element) -> list[str]:
    """Put one of a domain's disks behind the device; what had to be dropped."""
    devices = _devices(domain)
    emulator = devices.find("emulator")
    if emulator is None:
        emulator = ET.Element("emulator")
        devices.insert(0, emulator)
    emulator.text = str(device.emulator)
    if device.style == "native":
        return _on_controller(domain, device, disk)
    _leave_controller(domain, disk)
    if device.style == "override":
        dropped = _as_virtio(domain, disk)
        alias = disk.find("alias")
        assert alias is not None
        _forget(domain, disk)
        _override(domain, device, str(alias.get("name")))
        return dropped
    dropped = _drop(disk, (*_NOT_FOLLOWED, "blockio"))
    _forget(domain, disk)
    _drop(disk, ("alias",))
    number = _free_number(domain)
    blockdev = _blockdev_of(disk, _node(number))
    # Whatever boots first now, this disk did before or is to do.
    _arguments(domain, _device_arguments(device, blockdev, _boots(domain, disk), number))
    devices.remove(disk)
    return dropped


def _drop(disk: ET.Element, names: Iterable[str]) -> list[str]:
    dropped = []
    for name in names:
        for child in disk.findall(name):
            disk.remove(child)
            dropped.append(f"<{name}>")
    return dropped


def _drop_virtio(disk: ET.Element) -> list[str]:
    """Take out what a <driver> says that only virtio has; what that was."""
    driver = disk.find("driver")
    said = [] if driver is None else [name for name in _VIRTIO_ONLY if name in driver.attrib]
    for name in said:
        assert driver is not None
        del driver.attrib[name]
    return [f"<driver {name}=>" for name in said]


def _virtio_name(domain: ET.Element, name: str) -> str:
    """A <target dev=> for a disk of another bus: its letter if that is free, else the first."""
    taken = {str(target.get("dev")) for target in domain.iterfind("devices/disk/target")}
    letters = [one + two for one in ("", *string.ascii_lowercase)
               for two in string.ascii_lowercase]
    own = [name[2:]] if re.fullmatch("[a-z]{3,4}", name) else []
    return next(f"vd{tail}" for tail in (*own, *letters) if f"vd{tail}" not in taken)


def _controllers(domain: ET.Element) -> dict[str, ET.Element]:
    """The NVMe controllers of a domain by their numbers."""
    return {str(one.get("index")): one for one in domain.iterfind("devices/controller")
            if one.get("type") == "nvme"}


def _controller_number(disk: ET.Element) -> str | None:
    """The number of the NVMe controller that a disk is on; None for a disk of another bus."""
    target, address = disk.find("target"), disk.find("address")
    if target is None or target.get("bus") != "nvme":
        return None
    if address is not None and address.get("controller"):
        return str(address.get("controller"))
    # Without an address libvirt goes by the name: nvme1n1 is on the second.
    found = re.match(r"nvme(\d+)n", str(target.get("dev")))
    return found[1] if found else "0"


def _leave_controller(domain: ET.Element, disk: ET.Element) -> None:
    """Take a disk off its NVMe controller, which goes too if it has no other disk."""
    number = _controller_number(disk)
    if number is None:
        return
    target = disk.find("target")
    assert target is not None
    target.attrib.pop("bus")
    _drop(disk, ("address",))
    controller = _controllers(domain).get(number)
    others = [_controller_number(other) for other in domain.iterfind("devices/disk")]
    if controller is None or number in others:
        return
    serial = controller.find("serial")
    if serial is not None and disk.find("serial") is None:
        disk.append(serial)
    _forget(domain, controller)
    _devices(domain).remove(controller)


def _on_controller(domain: ET.Element, device: Device, disk: ET.Element) -> list[str]:
    """Put a disk on an NVMe controller of libvirt's, which gets the properties."""
    _forget(domain, disk)
    dropped = [*_drop(disk, _NOT_FOLLOWED), *_drop_virtio(disk)]
    alias = disk.find("alias")
    # Those that do not begin so are libvirt's own, by what a disk was; ours was of this disk alone.
    kept = "" if alias is None else str(alias.get("name"))
    if not kept.startswith("ua-") or kept.startswith(_alias_stem()):
        _drop(disk, ("alias",))
    controller = _controllers(domain).get(_controller_number(disk) or "")
    if controller is None:
        controller = _new_controller(domain, disk)
    name = controller.find("alias")
    if name is None or not str(name.get("name")).startswith("ua-"):
        for old in controller.findall("alias"):
            controller.remove(old)
        name = ET.SubElement(controller, "alias", name=_alias(_free_number(domain)))
    _forget(domain, controller)
    _override(domain, device, str(name.get("name")))
    return dropped


def _new_controller(domain: ET.Element, disk: ET.Element) -> ET.Element:
    """A controller with this one disk, whose serial number is the controller's then."""
    target = disk.find("target")
    assert target is not None
    there = _controllers(domain)
    index = next(str(number) for number in itertools.count() if str(number) not in there)
    number = _free_number(domain)
    controller = ET.Element("controller", type="nvme", index=index)
    serial = ET.SubElement(controller, "serial")
    kept = disk.find("serial")
    serial.text = _serial(number) if kept is None else kept.text
    ET.SubElement(controller, "alias", name=_alias(number))
    _devices(domain).append(controller)
    _drop(disk, ("serial", "address"))
    target.attrib.pop("rotation_rate", None)
    disk.attrib.pop("model", None)
    target.attrib.update(bus="nvme", dev=f"nvme{index}n1")
    return controller


def _as_virtio(domain: ET.Element, disk: ET.Element) -> list[str]:
    """Make a disk such that libvirt gives it only properties that the device has too."""
    target = disk.find("target")
    assert target is not None
    dropped = _drop(disk, _NOT_FOLLOWED)
    if target.get("bus") != "virtio":
        _drop(disk, ("address",))
        target.attrib.update(bus="virtio", dev=_virtio_name(domain, str(target.get("dev"))))
    target.attrib.pop("rotation_rate", None)
    disk.attrib.pop("model", None)
    dropped += _drop_virtio(disk)
    alias, number = disk.find("alias"), _free_number(domain)
    if alias is None or not str(alias.get("name")).startswith("ua-"):
        _drop(disk, ("alias",))
        ET.SubElement(disk, "alias", name=_alias(number))
    if disk.find("serial") is None:
        ET.SubElement(disk, "serial").text = _serial(number)
    return dropped


def _boots(domain: ET.Element, disk: ET.Element) -> bool:
    """Whether this disk is what the domain boots from, as far as its XML tells."""
    if any("bootindex=0" in text.split(",") for text in _said(domain)):
        return False
    order = disk.find("boot")
    if order is not None:
        return order.get("order") == "1"
    first = domain.find("devices/disk")
    return first is disk


_CACHE = {"none": ["cache.direct=on"], "directsync": ["cache.direct=on"],
          "unsafe": ["cache.no-flush=on"], "writeback": [], "writethrough": [], "default": []}


def _blockdev_of(disk: ET.Element, node: str) -> str:
    """The -blockdev of a disk that libvirt is not to know of any more."""
    source, driver = disk.find("source"), disk.find("driver")
    kind = disk.get("type", "")
    image = source.get({"file": "file", "block": "dev"}.get(kind, "")) if source is not None else ""
    if not image:
        raise CintError(f"--domain: its disk is of type '{kind}'; without <qemu:override> only "
                        "files and block devices can be put behind the device",
                        hint="libvirt 8.2 and newer keeps the disk itself: --style override")
    said = driver.attrib if driver is not None else {}
    more = [*_CACHE.get(said.get("cache", "default"), []),
            *([f"discard={said['discard']}"] if "discard" in said else []),
            *([f"file.aio={said['io']}"] if "io" in said else []),
            *(["read-only=on"] if disk.find("readonly") is not None else [])]
    return _blockdev(image, said.get("type", "raw"), kind == "block", node, more)


# --- what the emulator can do -------------------------------------------------------------


def unknown_machine(text: str, emulator: Path) -> str | None:
    """The domain's machine type, if the emulator has none of that name."""
    kind = _parse(text).find("os/type")
    wanted = kind.get("machine") if kind is not None else None
    done = ask.run([emulator, "-machine", "help"])
    known = {line.split()[0] for line in done.stdout.splitlines() if line.strip()}
    return wanted if wanted and done.returncode == 0 and wanted not in known else None
