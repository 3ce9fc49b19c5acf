# SPDX-License-Identifier: GPL-2.0-or-later
"""distro.py: which kernel is taken, which modules in which order, and what is refused."""

import argparse
import hashlib
import json
import lzma
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from cint import paths, steps
from cint.build import distro, image, sources
from cint.errors import UsageError
from cint.guest import kinds, vm
from cint.measure import comparison, settings
from cint.options import comparing
from cint.results import assembly

SHOW = """\
Package: linux-image-amd64
Version: 6.12.107-1
Filename: pool/main/l/linux-image-amd64_6.12.107-1_amd64.deb
Size: 1
SHA256: 00

Package: linux-image-6.12.107+deb13-cloud-amd64
Version: 6.12.107-1
Filename: pool/main/l/linux-image-6.12.107+deb13-cloud-amd64_6.12.107-1_amd64.deb
Size: 34
SHA256: 01

Package: linux-image-6.12.94+deb13-amd64
Version: 6.12.94-1
Filename: pool/main/l/linux-image-6.12.94+deb13-amd64_6.12.94-1_amd64.deb
Size: 94
SHA256: 02

Package: linux-image-6.12.107+deb13-amd64
Version: 6.12.107-1
Filename: pool/main/l/linux-image-6.12.107+deb13-amd64_6.12.107-1_amd64.deb
Size: 108
SHA256: 03
Description: has fields after those that matter

Package: linux-image-6.12.117+deb13-amd64
Version: 6.12.117-1
Filename: pool/updates/main/l/linux-image-6.12.117+deb13-amd64_6.12.117-1_amd64.deb
Size: 117
SHA256: 04

Package: linux-image-6.12.117+deb13-rt-amd64
Version: 6.12.117-1
Filename: pool/updates/main/l/linux-image-6.12.117+deb13-rt-amd64_6.12.117-1_amd64.deb
Size: 5
SHA256: 05

Package: linux-image-6.1.0-40-amd64
Version: 6.1.153-1
Filename: pool/main/l/linux-image-6.1.0-40-amd64_6.1.153-1_amd64.deb
Size: 61
SHA256: 06
"""
#: Since Linux 7 the package has no files of its own.
IN_PARTS = """\
Package: linux-image-7.3.4+deb13-amd64
Version: 7.3.4-1~bpo13+1
Depends: linux-initramfs-tool, linux-base-7.3.4+deb13-amd64 (= 7.3.4-1~bpo13+1), \
linux-binary-7.3.4+deb13-amd64 (= 7.3.4-1~bpo13+1)
Filename: pool/main/l/linux-image-7.3.4+deb13-amd64_7.3.4-1~bpo13+1_amd64.deb
Size: 1
SHA256: 00
"""
PART = """\

Package: linux-{0}-7.3.4+deb13-amd64
Version: 7.3.4-1~bpo13+1
Filename: pool/main/l/linux-{0}-7.3.4+deb13-amd64_7.3.4-1~bpo13+1_amd64.deb
Size: 100
SHA256: 01
"""
DEP = """\
kernel/lib/crc16.ko.xz:
kernel/drivers/nvme/common/nvme-auth.ko.xz:
kernel/drivers/nvme/host/nvme-core.ko.xz: kernel/drivers/nvme/common/nvme-auth.ko.xz
kernel/drivers/nvme/host/nvme.ko.xz: kernel/drivers/nvme/host/nvme-core.ko.xz \
kernel/drivers/nvme/common/nvme-auth.ko.xz
kernel/drivers/firmware/qemu_fw_cfg.ko.xz:
"""
BUILTIN = "kernel/drivers/char/virtio_console.ko\nkernel/drivers/virtio/virtio_pci.ko\n"


def test_kernels_in_the_order_to_try() -> None:
    listed = distro.parse_packages(SHOW, "trixie")
    assert [(c.package, c.size) for c in distro.order(listed)] == [
        ("linux-image-6.12.107+deb13-amd64", 108),
        ("linux-image-6.12.117+deb13-amd64", 117),
        ("linux-image-6.12.94+deb13-amd64", 94),
        ("linux-image-6.1.0-40-amd64", 61),
        ("linux-image-6.12.107+deb13-cloud-amd64", 34),
    ]


def test_a_kernel_in_parts() -> None:
    assert distro.missing_parts(SHOW) == []
    assert distro.missing_parts(IN_PARTS) == [f"linux-{part}-7.3.4+deb13-amd64=7.3.4-1~bpo13+1"
                                              for part in ("base", "binary")]
    assert distro.parse_packages(IN_PARTS + PART.format("base"), "trixie-backports") == []
    (kernel,) = distro.parse_packages(IN_PARTS + PART.format("base") + PART.format("binary"),
                                      "trixie-backports")
    assert (kernel.package, kernel.size) == ("linux-image-7.3.4+deb13-amd64", 201)
    assert [name for name, _, _ in kernel.files] == [
        f"linux-{part}-7.3.4+deb13-amd64_7.3.4-1~bpo13+1_amd64.deb"
        for part in ("image", "base", "binary")]


def test_the_first_kernel_that_downloads_is_taken(
    sandbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def download(step: steps.Step, candidate: sources.Candidate) -> bool:
        tried.append(candidate.package)
        return candidate.release == "bookworm"

    listed = distro.order(distro.parse_packages(SHOW, "trixie"))
    offers = {"trixie": listed[:2], "bookworm": [replace(listed[3], release="bookworm")]}
    monkeypatch.setattr(sources, "update_lists", lambda *_: None)
    monkeypatch.setattr(distro, "_list", lambda step, release: offers[release])
    monkeypatch.setattr(distro, "_download", download)
    assert distro.fetch().package == "linux-image-6.1.0-40-amd64"
    assert len(tried) == 3
    monkeypatch.setattr(distro, "_download", lambda *_: False)
    with pytest.raises(steps.StepError, match=r"no kernel of Debian 12 or 13 \(tried 6\.12\.107"):
        distro.fetch()


def names(modules: list[distro.Module]) -> list[str]:
    """The names, in order."""
    return [module.name for module in modules]


def test_modules_come_after_what_they_need() -> None:
    assert names(distro.load_order(DEP, BUILTIN, distro.MODULES)) == [
        "qemu_fw_cfg", "nvme_auth", "nvme_core", "nvme"]
    inside = BUILTIN + "kernel/drivers/nvme/host/nvme.ko\n"
    assert names(distro.load_order(DEP, inside, distro.MODULES)) == ["qemu_fw_cfg"]


def test_a_module_that_is_nowhere_is_named() -> None:
    with pytest.raises(ValueError, match="virtio_console"):
        distro.load_order(DEP, "", ("virtio_console",))


def put_package(name: str = "linux-image-6.12.107+deb13-amd64",
                kernel: str = "boot/vmlinuz-{}") -> Path:
    """A finished download of a kernel package with two modules, made by dpkg-deb."""
    release = name.removeprefix("linux-image-")
    directory = sources.download_directory(distro.KERNEL, "6.12.107-1")
    root = paths.BUILD / "package"
    modules = root / "usr/lib/modules" / release
    for part in ("DEBIAN", "boot"):
        (root / part).mkdir(parents=True)
    (modules / "kernel").mkdir(parents=True)
    (root / "DEBIAN/control").write_text(
        f"Package: {name}\nVersion: 6.12.107-1\nArchitecture: amd64\n"
        "Maintainer: nobody <nobody@localhost>\nDescription: a test\n")
    (root / kernel.format(release)).write_bytes(b"the kernel")
    (modules / "kernel/nvme.ko.xz").write_bytes(lzma.compress(b"nvme"))
    (modules / "kernel/qemu_fw_cfg.ko").write_bytes(b"fw")
    (modules / "modules.builtin").write_text(BUILTIN)
    (modules / "modules.dep").write_text("kernel/nvme.ko.xz:\nkernel/qemu_fw_cfg.ko:\n")
    directory.mkdir(parents=True)
    deb = directory / f"{name}_6.12.107-1_amd64.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", root, deb], check=True,
                   capture_output=True)
    data = deb.read_bytes()
    (directory / "complete.json").write_text(json.dumps(
        {"package": name, "version": "6.12.107-1", "release": "trixie",
         "files": [(deb.name, len(data), hashlib.sha256(data).hexdigest())]}))
    return deb


@pytest.fixture
def package(sandbox: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A download, and no need for depmod or for the rest of the image."""
    for name in ("DISTRO", "DISTRO_KERNEL", "DISTRO_MODULES", "DISTRO_MORE",
                 "DISTRO_INITRAMFS"):
        place = sandbox / "build/distro"
        old: Path = getattr(paths, name)
        monkeypatch.setattr(paths, name, place if name == "DISTRO" else place / old.name)
    real = steps.Step.run

    def run(step: steps.Step, argv: list[object], **more: object) -> object:
        # The modules here are none: depmod would find nothing.
        return (0, []) if argv[0] == "/sbin/depmod" else real(step, argv, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(steps.Step, "run", run)
    monkeypatch.setattr(image, "build_distro", lambda: False)
    return put_package()


def test_kernel_and_modules_come_out_of_the_package(package: Path) -> None:
    assert distro.build()
    assert paths.DISTRO_KERNEL.read_bytes() == b"the kernel"
    assert (paths.DISTRO_MODULES / "nvme.ko").read_bytes() == b"nvme"
    assert (paths.DISTRO_MODULES / "load-order").read_text() == (
        "/lib/modules/qemu_fw_cfg.ko\n/lib/modules/nvme.ko\n")
    assert "linux-image-6.12.107+deb13-amd64 6.12.107-1" in kinds.note()
    assert not (paths.DISTRO / "unpacked").exists()
    package.unlink()
    assert not distro.build()


def test_the_kernel_is_beside_its_modules(package: Path) -> None:
    """As it is since Linux 7."""
    shutil.rmtree(package.parent)
    shutil.rmtree(paths.BUILD / "package")
    put_package(kernel="usr/lib/modules/{}/vmlinuz")
    assert distro.build()
    assert paths.DISTRO_KERNEL.read_bytes() == b"the kernel"
    assert steps.Stamp("distro-kernel").facts()["release"] == "6.12.107+deb13-amd64"


def test_a_damaged_package_is_removed_and_said(package: Path) -> None:
    data = bytearray(package.read_bytes())
    data[-1] ^= 1
    package.write_bytes(bytes(data))
    with pytest.raises(steps.StepError, match="damaged download: linux-image"):
        distro.build()
    assert not package.parent.exists()


def parse(*words: str) -> settings.Settings:
    """Settings from a command line."""
    parser = argparse.ArgumentParser()
    comparing.add_options(parser)
    return comparing.settings_from(parser.parse_args(words))


def test_the_guest_has_its_own_kernel_image_and_options() -> None:
    machine = kinds.dress(vm.Machine(append=("last",)), "distro")
    assert (machine.kernel, machine.initramfs) == (paths.DISTRO_KERNEL, paths.DISTRO_INITRAMFS)
    text = vm.kernel_cmdline(machine)
    assert "lapic_timer_khz" not in text
    assert text.endswith("nolapic_timer last")
    assert "nolapic_timer" not in vm.kernel_cmdline(
        kinds.dress(vm.Machine(vcpus=2), "distro"))
    assert kinds.dress(vm.Machine(), "cint") == vm.Machine()


def test_results_are_uncalibrated() -> None:
    chosen = parse("--guest", "distro")
    assert chosen.cost_applied_ns == 0
    assert chosen.boot_limit_s == kinds.BOOT_LIMIT_S
    assert "--guest distro" in chosen.repeat_command
    notes = assembly.notes_for(chosen, [], comparison.choose_accel(True), [])
    assert "not patched" in notes[0]
    assert any("no nvme.irq_cost_ns; throughput ratios are uncalibrated" in n for n in notes)
    assert assembly.parameters_for(chosen)["guest"] == "distro"
    assert "linux" not in kinds.targets("distro")


def test_our_guest_is_the_default() -> None:
    chosen = parse()
    assert (chosen.guest, chosen.boot_limit_s) == ("cint", vm.BOOT_LIMIT_S)
    assert "--guest" not in chosen.repeat_command
    assert "distro" not in kinds.targets("cint")
    assert parse("--guest", "distro", "--boot-limit", "7").boot_limit_s == 7


def test_an_interrupt_cost_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no nvme\.irq_cost_ns"):
        parse("--guest", "distro", "--irq-cost", "740")
    assert parse("--guest", "distro", "--irq-cost", "0").cost_ns == 0
