# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint libvirt`: a libvirt domain with the device, or what makes one of a domain that exists."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from cint import host, paths, ui, units
from cint.build import install
from cint.device import properties
from cint.errors import EXIT_OK, CintError, UsageError
from cint.guest import libvirt, vm
from cint.measure import settings
from cint.options import policies as policy_options

DEFAULT_POLICY = "cint"


def declare(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Print a domain that boots --drive from the device; with --domain, a domain\n"
        "that exists with one of its disks behind the device; else the lines to add by hand.\n"
        "The XML goes to standard output. docs/existing-vm.md says what to do with it, what is\n"
        "lost (migration, snapshots of memory) and how to go back.")
    parser.epilog = f"policies: {properties.ONE_POLICY_HELP}"
    add = parser.add_argument
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--prefix", metavar="DIR", type=Path, help="the QEMU of ./cint install")
    which.add_argument("--emulator", metavar="FILE", type=Path,
                       help="another QEMU that has the device")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--drive", metavar="FILE", type=Path,
                      help="print a whole domain that boots from this image (raw or qcow2)")
    what.add_argument("--domain", metavar="FILE",
                      help="change this domain, as virsh dumpxml --inactive wrote it; - for "
                           "standard input")
    add("--disk", metavar="TARGET",
        help="with --domain: which disk, by its <target dev=...> (default: the first)")
    policy_options.add(parser, f"one (default: {DEFAULT_POLICY}, whose hints the device infers, "
                       "because kernels as they are give none)", extras="device")
    add("--media", metavar="NAME", type=properties.parse_media, default="none",
        help="media profile to stand for (default: none, the image's own speed)")
    add("--style", choices=libvirt.STYLES,
        help="how libvirt is told (default, by virsh's version: native from libvirt 11.5 on, "
             "override from 8.2 on)")
    add("--name", default=libvirt.DEFAULT_NAME, help="of a new domain (default: %(default)s)")
    add("--memory", metavar="MIB", type=units.count(64, 1 << 20, "--memory"), default=2048)
    add("--vcpus", metavar="N", type=units.count(1, settings.MAX_VCPUS, "--vcpus"), default=2)
    add("--uefi", action="store_true", help="a new domain boots by UEFI (OVMF), not by SeaBIOS")
    add("--headless", action="store_true",
        help="a new domain has no screen (default: VNC, for this machine only)")
    add("--accel", choices=("kvm", "tcg"),
        help="of a new domain (default: kvm where it really runs a guest)")
    add("--qmp", metavar="SOCKET", type=Path,
        help="a new domain: a socket beside libvirt's, for ./cint top and ./cint trace")


def _emulator(args: argparse.Namespace) -> Path:
    """The QEMU, which must be there and have the device."""
    if not (args.emulator or args.prefix):
        raise UsageError("libvirt: with which QEMU?",
                         hint="--prefix DIR that ./cint install was given, or --emulator FILE")
    path: Path = args.emulator or args.prefix / install.PROGRAM
    path = path.expanduser().absolute()
    if not os.access(path, os.X_OK) or path.is_dir():
        option = "--emulator" if args.emulator else "--prefix"
        raise UsageError(f"{option} {args.emulator or args.prefix}: there is no program {path}",
                         hint=f"./cint install --prefix {args.prefix or 'DIR'} makes one")
    why = install.has_device(path)
    if why:
        raise CintError(f"{path}: {why}", hint="./cint install --prefix DIR makes one that has it")
    return path


def _style(args: argparse.Namespace) -> str:
    if args.style:
        return str(args.style)
    version = libvirt.installed_version()
    said = f"libvirt {'.'.join(map(str, version))}" if version else "no virsh here"
    style = libvirt.style_for(version)
    how = "a controller of libvirt's and <qemu:override>" if style == "native" else \
        f"<qemu:{style}>"
    ui.info(f"{said}: with {how}; --style chooses")
    return style


def device_for(args: argparse.Namespace) -> libvirt.Device:
    """The device that the options describe; UsageError of policies that a domain cannot have."""
    policy_options.remark_units(args.policy)
    policies = properties.parse_policies(args.policy or DEFAULT_POLICY)
    if len(policies) > 1:
        raise UsageError("--policy: libvirt takes one policy",
                         hint="change it in the running domain: docs/existing-vm.md")
    if policies[0].kind == "stock":
        raise UsageError("--policy stock: that is a domain without the device")
    if policies[0].latency:
        raise UsageError(f"--policy {policies[0].name}: a domain's device has one policy for all "
                         f"queues; valid: {properties.ONE_POLICY_HELP}",
                         hint="queues by class of I/O need our kernel: ./cint run --steering")
    policy = properties.inferred(policies[0])
    props = properties.device_properties(policy, args.media, 1, virtual=False, extras=args.extras)
    return libvirt.Device(_emulator(args), props, _style(args))


def _read(name: str) -> str:
    hint = "write it with: virsh dumpxml --inactive NAME"
    if name != "-":
        return paths.text_of(Path(name), f"--domain {name}", hint)
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as problem:
        raise UsageError(f"--domain -: {paths.said_of(problem)}", hint=hint) from None


def _change(args: argparse.Namespace, text: str, device: libvirt.Device) -> str:
    machine = libvirt.unknown_machine(text, device.emulator)
    if machine:
        raise CintError(f"the domain's machine type {machine} is not one of QEMU's, but of the "
                        "distribution that made it",
                        hint="put q35 (or pc) in its place in <type machine=...>; the guest sees "
                             "other hardware then")
    changed = libvirt.change_domain(text, device, args.disk)
    if changed.dropped:
        ui.warn(f"without {', '.join(changed.dropped)}, which the device does not have")
    return changed.text


def run(args: argparse.Namespace) -> int:
    if args.disk and not args.domain:
        raise UsageError("--disk: only with --domain")
    vm.check_drive(args.drive, "make one: qemu-img create -f qcow2 FILE 20G")
    text = _read(args.domain) if args.domain else ""
    device = device_for(args)
    if args.domain:
        print(_change(args, text, device), end="")
    elif args.drive:
        kvm = args.accel == "kvm" if args.accel else host.choose_accel().name == "kvm"
        new = libvirt.New(args.drive, args.name, args.memory, args.vcpus, kvm, args.uefi,
                          args.headless, args.qmp)
        print(libvirt.new_domain(device, new), end="")
    else:
        print(libvirt.lines(device), end="")
    return EXIT_OK
