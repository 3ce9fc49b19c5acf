# SPDX-License-Identifier: GPL-2.0-or-later
"""The module for the distribution's kernel: what it is built with, and what it goes by."""

from __future__ import annotations

import argparse
import base64
import re
from pathlib import Path

import canned
import pytest

from cint import paths
from cint.build import hints as module
from cint.errors import UsageError
from cint.figures import programs
from cint.figures.figure import Group, Run, settings_of
from cint.guest import hints, kinds, vm
from cint.measure import settings
from cint.options import comparing, hinting
from cint.results import assembly

SHOWN = """\
Package: libattr1
Architecture: amd64
Version: 1:2.5.2-3
Filename: pool/main/a/attr/libattr1_2.5.2-3_amd64.deb
Size: 22900
SHA256: aa

Package: linux-headers-6.12.107+deb13-common
Architecture: all
Version: 6.12.107-1
Filename: pool/linux-headers-6.12.107+deb13-common_6.12.107-1_all.deb
Size: 11214736
SHA256: bb
"""


@pytest.mark.parametrize(("kernel", "headers", "common", "kbuild"), [
    ("linux-image-6.12.107+deb13-amd64", "linux-headers-6.12.107+deb13-amd64",
     "linux-headers-6.12.107+deb13-common", "linux-kbuild-6.12.107+deb13"),
    ("linux-image-6.12.117+deb12-cloud-amd64", "linux-headers-6.12.117+deb12-cloud-amd64",
     "linux-headers-6.12.117+deb12-common", "linux-kbuild-6.12.117+deb12"),
    ("linux-image-6.1.0-56-amd64", "linux-headers-6.1.0-56-amd64",
     "linux-headers-6.1.0-56-common", "linux-kbuild-6.1"),
    ("linux-image-6.1.0-56-amd64-unsigned", "linux-headers-6.1.0-56-amd64",
     "linux-headers-6.1.0-56-common", "linux-kbuild-6.1"),
])
def test_headers_of_a_kernel_by_name(kernel: str, headers: str, common: str, kbuild: str) -> None:
    assert module.headers_name(kernel) == headers
    assert module.common_names(headers.removeprefix("linux-headers-")) == (common, kbuild)


def test_what_apt_says_is_read() -> None:
    assert module.parse_compiler("Depends: linux-base (>= 4.12~), gcc-14") == "gcc-14"
    assert module.parse_installed("Inst libc6 (2.41-12 Debian:13.8/stable [amd64])\n"
                                  "Conf libc6 (2.41-12 Debian:13.8/stable [amd64])\n"
                                  ) == ["libc6=2.41-12"]
    assert module.parse_files(SHOWN) == [
        ("libattr1_1%3a2.5.2-3_amd64.deb", 22900, "aa"),
        ("linux-headers-6.12.107+deb13-common_6.12.107-1_all.deb", 11214736, "bb")]


def test_the_module_goes_by_the_devices_numbers() -> None:
    """Where Identify says that hints are taken; where hints stand a guest shows."""
    header = (paths.OVERLAY_NVME / "cint-abi.h").read_text(encoding="utf-8")
    source = (paths.GUEST_MODULE / "controllers.c").read_text(encoding="utf-8")

    def number(name: str, text: str) -> int:
        found = re.search(rf"define {name}\s+(?:BIT\(|\(1u << )?(0x[0-9A-Fa-f]+|\d+)", text)
        assert found, name
        return int(found[1], 0)

    for mine, its in (("MAGIC", "MAGIC"), ("SIGNATURE_AT", "IDENTIFY_OFFSET"),
                      ("CAP_HINTS", "CAP_HINTS")):
        assert number(mine, source) == number(f"NVME_CINT_{its}", header)


def parse(*words: str) -> settings.Settings:
    """Settings from a command line."""
    parser = argparse.ArgumentParser()
    comparing.add_options(parser)
    return comparing.settings_from(parser.parse_args(words))


def test_rows_side_by_side() -> None:
    chosen = parse("--guest", "distro", "--hints", "off,module", "--policy", "default,cint")
    assert [arm.name for arm in chosen.arms] == ["default", "default/module", "cint",
                                                 "cint/module"]
    assert [arm.policy.properties.get("cint.infer") for arm in chosen.arms] == [
        None, None, "all", None]
    assert chosen.arms[3].label.endswith("hints by the module")
    assert chosen.repeat_command.endswith("--guest distro --hints off,module")
    assert assembly.parameters_for(chosen)["hints"] is True
    assert any("/module" in note for note in assembly.hint_notes(chosen, [], []))
    images = [canned.guest(chosen, arm).machine.initramfs for arm in chosen.arms]
    assert images == [paths.DISTRO_INITRAMFS, paths.DISTRO_HINTS_INITRAMFS] * 2
    loads = [module.NAME in str(canned.guest(chosen, arm).plan.setup) for arm in chosen.arms]
    assert loads == [False, True] * 2


def test_what_is_built_for_it() -> None:
    assert kinds.targets("distro", ["off", "module"])[-1] == "distro-hints"
    assert kinds.targets("distro", ["off"])[-1] == "distro"
    assert "distro-hints" not in kinds.targets("cint", ["on"])
    assert kinds.dress(vm.Machine(), "cint", hints.ON) == vm.Machine()


def test_a_root_on_the_drive_needs_more_of_the_kernels_modules() -> None:
    """Its file system, without the module that gives hints, too."""
    assert kinds.targets("distro", ["off"], disk=True)[-1] == "distro-hints"
    assert "distro-hints" not in kinds.targets("cint", ["on"], disk=True)
    assert kinds.dress(vm.Machine(), "distro", hints.OFF,
                       disk=True).initramfs == paths.DISTRO_HINTS_INITRAMFS
    work = programs.part("kvell", "a", "a part", "true", 5)
    group = Group((), (work,), cost_ns=0, guest="distro")
    chosen = settings_of(group, Run("default", hints=False), quick=True)
    assert canned.guest(chosen).machine.initramfs == paths.DISTRO_HINTS_INITRAMFS


@pytest.mark.parametrize(("guest", "others", "image", "loads"), [
    ("cint", "on", paths.PRELOAD_INITRAMFS, False),
    ("distro", "off,module", paths.DISTRO_PRELOAD_INITRAMFS, True),
])
def test_rows_by_rules(tmp_path: Path, guest: str, others: str, image: Path, loads: bool) -> None:
    rules = tmp_path / "mine.rules"
    rules.write_text("urgent thread fio\n", encoding="utf-8")
    word = f"preload:{rules}"
    chosen = parse("--guest", guest, "--hints", f"{others},{word}", "--policy", "cint")
    arm = chosen.arms[-1]
    assert arm.name == "cint/preload:mine.rules"
    assert arm.slug == "cint-preload-mine.rules"
    assert arm.label.endswith("hints by rules")
    assert chosen.hints
    assert any("/preload:" in note for note in assembly.hint_notes(chosen, [], []))
    assert canned.guest(chosen, arm).machine.initramfs == image
    setup = str(canned.guest(chosen, arm).plan.setup)
    assert (module.NAME in setup) == loads
    assert base64.b64encode(rules.read_bytes()).decode() in setup
    assert "preload" not in str(canned.guest(chosen).plan.setup)
    assert kinds.targets(guest, [word])[-1] == ("distro-preload" if loads else "preload")


def test_rules_that_cannot_be_used(tmp_path: Path) -> None:
    long = tmp_path / "long"
    long.write_text("#" * (hinting.MAX_RULES + 1), encoding="utf-8")
    with pytest.raises(UsageError, match="longer than 64 KiB"):
        parse("--hints", f"preload:{long}")
    long.write_text("usual\n", encoding="utf-8")
    with pytest.raises(UsageError, match="a process that drives makes no calls"):
        parse("--hints", f"preload:{long}", "--engine", "kernel,user")


@pytest.mark.parametrize(("guest", "text", "said"), [
    ("cint", "module", "our kernel gives hints by itself"),
    ("cint", "on,off", "off stands alone"),
    ("cint", "preload:/nowhere", "there is no such file"),
    ("cint", "preload:", "a file's name is missing"),
    ("distro", "on", "the distribution's kernel has no hints"),
    ("distro", "preload", "--hints preload"),
    ("distro", "module,module", "given twice"),
    ("distro", "", "--hints"),
])
def test_what_is_refused(guest: str, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        hinting.parse_list(text, guest)
