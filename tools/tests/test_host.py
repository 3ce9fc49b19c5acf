# SPDX-License-Identifier: GPL-2.0-or-later
"""Facts about the machine, and accelerators that are really tried."""

import stat
from pathlib import Path

import pytest

from cint import host

DEBIAN = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_ID="12"\n'
OTHER = "NAME=Other\nPRETTY_NAME=Other 1\nID=other\nID_LIKE=debian\n"


def test_distribution_is_verified_or_not() -> None:
    found = host.parse_os_release(DEBIAN)
    assert (found.ident, found.version, found.verified) == ("debian", "12", True)
    assert host.parse_os_release(DEBIAN.replace("12", "13")).verified
    assert not host.parse_os_release(DEBIAN.replace("12", "14")).verified
    assert not host.parse_os_release(OTHER).verified
    assert not host.parse_os_release("").verified


def test_the_boot_sector_is_one() -> None:
    assert len(host.BOOT_SECTOR) == 512
    assert host.BOOT_SECTOR.endswith(b"\x55\xaa")


def fake_qemu(tmp_path: Path, kvm: str, tcg: str = "exit 85") -> Path:
    """A QEMU that behaves as given for each accelerator."""
    path = tmp_path / "qemu"
    path.write_text(f'#!/bin/sh\ncase "$2" in kvm) {kvm} ;; tcg) {tcg} ;; esac\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.parametrize(
    ("behaviour", "works", "reason"),
    [
        ("exit 85", True, "a guest ran"),
        ("echo 'qemu: warning: x' >&2; echo 'qemu: failed to set MSR' >&2; exit 1", False,
         "failed to set MSR"),
        ("exit 3", False, "QEMU ended with exit code 3"),
        ("exec sleep 60", False, "a guest of a few instructions did not run in 0 s"),
    ],
)
def test_probe(tmp_path: Path, behaviour: str, works: bool, reason: str) -> None:
    found = host.probe_accel(fake_qemu(tmp_path, behaviour), "kvm", "host", limit_s=0.4)
    assert (found.works, found.reason) == (works, reason)


def test_a_missing_qemu_is_a_reason(tmp_path: Path) -> None:
    found = host.probe_accel(tmp_path / "none", "tcg", "max")
    assert not found.works
    assert "does not run: No such file or directory" in found.reason


@pytest.fixture
def with_qemu(sandbox: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(host, "PROBE_LIMIT_S", 0.5)
    monkeypatch.setattr(host, "probe_qemu", lambda: sandbox / "qemu")
    monkeypatch.setattr(host, "_kvm_obstacle", lambda: None)
    return sandbox


def test_kvm_is_taken_when_a_guest_runs(with_qemu: Path) -> None:
    fake_qemu(with_qemu, "exit 85")
    found = host.choose_accel()
    assert (found.name, found.cpu) == ("kvm", "host")


def test_tcg_is_taken_with_the_reason(with_qemu: Path) -> None:
    fake_qemu(with_qemu, "echo 'q: bad MSR' >&2; exit 1")
    found = host.choose_accel()
    assert (found.name, found.cpu) == ("tcg", "max")
    assert found.reason == "KVM does not work: bad MSR"
    assert [(probe.accel, probe.cpu, probe.works) for probe in found.probes] == [
        ("kvm", "host", False), ("kvm", "qemu64", False), ("tcg", "max", True)]


def test_the_choice_is_remembered_until_something_changes(with_qemu: Path) -> None:
    fake_qemu(with_qemu, f"echo x >> {with_qemu}/count; exit 85")
    first = host.choose_accel()
    assert host.choose_accel() == first
    assert (with_qemu / "count").read_text() == "x\n"
    host.choose_accel(again=True)
    assert (with_qemu / "count").read_text() == "x\nx\n"


def test_that_nothing_works_is_not_remembered(with_qemu: Path) -> None:
    fake_qemu(with_qemu, "exit 1", f"[ -e {with_qemu}/idle ] && exit 85; exit 1")
    assert host.choose_accel().name == "none"
    (with_qemu / "idle").touch()
    assert host.choose_accel().name == "tcg"


def test_without_kvm_only_tcg_is_tried(with_qemu: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_qemu(with_qemu, "exit 85")
    monkeypatch.setattr(host, "_kvm_obstacle", lambda: "there is no /dev/kvm")
    found = host.choose_accel()
    assert (found.name, found.reason) == ("tcg", "there is no /dev/kvm")
    assert [probe.accel for probe in found.probes] == ["tcg"]


def test_nothing_is_built_yet(sandbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "probe_qemu", lambda: None)
    assert host.choose_accel().reason == "not tried: QEMU is not built yet"
