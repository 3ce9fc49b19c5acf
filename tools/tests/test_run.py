# SPDX-License-Identifier: GPL-2.0-or-later
"""run.py: the command line of an interactive guest."""

import argparse
import subprocess
from pathlib import Path

import pytest

from cint import paths
from cint.errors import UsageError
from cint.guest import appdisk, vm
from cint.measure import comparison
from cint.verbs import run


def parse(*words: str) -> argparse.Namespace:
    """The options as the command line gives them."""
    parser = argparse.ArgumentParser()
    run.declare(parser)
    return parser.parse_args(words)


def line(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What --print prints."""
    assert run.run(parse("--time", "virtual", "--print", *words)) == 0
    return capsys.readouterr().out


def test_own_kernel_and_image(capsys: pytest.CaptureFixture[str]) -> None:
    text = line(capsys)
    for words in ("-kernel", "-initrd", "cint=on,cint.policy=cint", "-serial mon:stdio",
                  "cint.delta=6000", "cint.ooo=on"):
        assert words in text
    assert "cint.infer" not in text
    assert "cint.drain=off,cint.max-hold=0" in text
    assert "drain" not in line(capsys, "--extras", "device")
    assert "virtserialport" not in text


def test_a_persons_own_guest(capsys: pytest.CaptureFixture[str]) -> None:
    text = line(capsys, "--policy", "static20", "--own", "--", "-drive", "file=my.qcow2,if=virtio")
    assert "-kernel" not in text
    assert text.rstrip().endswith("-drive file=my.qcow2,if=virtio")
    assert "cint.static-time=20000" in text
    assert "-display none" in text


def test_a_control_socket(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = line(capsys, "--qmp", str(tmp_path / "a,b"))
    assert f"-qmp unix:{tmp_path}/a,,b,server=on,wait=off" in text
    assert "-qmp" in line(capsys, "--qmp", "vm.sock", "--own", "--", "-hda", "x")


def test_hints_are_inferred_where_none_are_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert "cint.infer=all" in line(capsys, "--guest", "distro")
    assert "cint.infer=all" in line(capsys, "--own", "--", "-hda", "x")
    assert "cint.infer=off" in line(capsys, "--policy", "cint:infer=off", "--own", "--", "-hda",
                                    "x")


def test_the_stock_device_has_no_properties(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.run(parse("--print", "--policy", "stock")) == 0
    shown = capsys.readouterr().out
    assert "-device nvme,id=nvme0,serial=cint,drive=d0 " in shown and "cint=on" not in shown
    with pytest.raises(UsageError, match="means nothing in virtual time"):
        line(capsys, "--policy", "stock")


def test_own_display_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    assert "-display none" not in line(capsys, "--own", "--", "-nographic", "-hda", "x")


def test_options(capsys: pytest.CaptureFixture[str]) -> None:
    text = line(capsys, "--trace", "cint", "--device-opts", "cint.thr=8", "--vcpus", "2",
                "--memory", "512", "--media", "zssd")
    for words in ("-trace 'pci_nvme_cint_*'", "cint.thr=32", ",cint.thr=8", "-smp 2", "-m 512",
                  "cint.media=zssd"):
        assert words in text


def test_waiting_for_a_debugger(capsys: pytest.CaptureFixture[str]) -> None:
    text = line(capsys, "--gdb")
    assert "-gdb tcp:127.0.0.1:1234" in text and "-S" in text.split()
    assert "nokaslr" in text
    text = line(capsys, "--gdb", "4321", "--own", "--", "-nographic")
    assert "-gdb tcp:127.0.0.1:4321" in text and "-nographic" in text
    assert "-gdb" not in line(capsys)
    with pytest.raises(UsageError, match="--gdb 0: must be a number from 1 to 65535"):
        parse("--gdb", "0")


def test_the_debugger_is_told_where_the_symbols_are() -> None:
    ours = vm.Machine()
    assert run.gdb_line(ours, 1234) == \
        f"gdb {paths.KERNEL.resolve()} -ex 'target remote :1234'"
    assert run.gdb_line(vm.Machine(own_guest=True), 9) == "gdb -ex 'target remote :9'"


def test_the_distributions_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    text = line(capsys, "--guest", "distro")
    assert "build/distro/vmlinuz" in text
    assert "build/distro/initramfs" in text
    assert "nolapic_timer" in text


def test_directories_are_shared(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = tmp_path / "one, two", tmp_path / "here"
    first.mkdir()
    second.mkdir()
    monkeypatch.chdir(second)
    text = line(capsys, "--share", str(first), "--share", ".")
    model = "security_model=none,multidevs=remap"
    assert f"-virtfs 'local,path={tmp_path}/one,, two,mount_tag=share0,{model}'" in text
    assert f"-virtfs local,path={second},mount_tag=share1,{model}" in text
    # What the guest does before the shell, in an option of QEMU's.
    assert '"/root/one,, two",, "share0"' in text and '"/root/here",, "share1"' in text


@pytest.mark.parametrize("words", [("--policy", "default,adaptive"), ("--policy", "foo"),
                                   ("--media", "foo"), ("--vcpus", "99"),
                                   ("--drive", "/nonexistent"),
                                   ("--guest", "distro", "--own", "--", "-hda", "x"),
                                   ("--own",), ("--", "-hda", "x"), ("--", "true"),
                                   ("--copy", "/nonexistent"), ("--copy", "/etc/passwd"),
                                   ("--own", "--copy", "/etc/passwd", "--", "-hda", "x"),
                                   ("--share", "/nonexistent"), ("--share", "/etc/passwd"),
                                   ("--share", "/"), ("--share", "/tmp", "--share", "/var/tmp"),
                                   ("--share", "/tmp", "--guest", "distro"),
                                   ("--own", "--share", "/tmp", "--", "-hda", "x")])
def test_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        run.run(parse("--time", "virtual", "--print", *words))


# ---- a whole Debian -----------------------------------------------------

def test_a_debian_is_on_the_namespace_and_has_the_shell(capsys: pytest.CaptureFixture[str]) -> None:
    text = line(capsys, "--guest", "debian", "--packages", "fio, sqlite3")
    assert f"-kernel {paths.KERNEL}" in text
    assert "if=none,id=d0,format=raw,snapshot=on,file=" in text
    assert "cint.infer" not in text
    plan = text.partition("-fw_cfg")[2]
    assert plan.index("mount -t ext4 $(disk cint)") < plan.index("/etc/profile")
    assert "exec chroot /mnt/system " in plan and "/bin/bash -l" in plan


def test_the_same_packages_are_the_same_debian() -> None:
    def place(*words: str) -> Path | None:
        args = parse("--guest", "debian", *words)
        machine = run.machine_for(args, run.guest_for(args), comparison.choose_accel(True))
        return machine.backend.path

    assert place("--packages", "fio,sqlite3") == place("--packages", " sqlite3 ,fio,")
    assert len({place(), place("--packages", "fio"), place("--packages", "fio,sqlite3")}) == 3


def test_a_command_is_one_of_the_debians(tmp_path: Path) -> None:
    """Its words, code and place are as typed; chroot is played by a shell's function."""
    words = appdisk.enter(["sh", "-c", 'pwd; printf "%s|" "$@"; exit 3', "x", "a b", "it's"])
    script = words[2].replace(appdisk.SYSTEM, str(tmp_path)).replace("/root", str(tmp_path))
    play = ('mount() { :; }; chroot() { shift; "$@"; }; exec() { "$@"; exit; }\n' + script)
    rest = [word.replace("HOME=/root", f"HOME={tmp_path}") for word in words[3:]]
    done = subprocess.run(["bash", "-c", play, *rest], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, f"{tmp_path}\na b|it's|")


@pytest.mark.parametrize(("words", "said"), [
    (("--packages", "fio"), "--packages: only with --guest debian"),
    (("--guest", "debian", "--packages", "fio,NO"), "--guest debian: 'NO' is no name of a package"),
    (("--guest", "debian", "--packages", "a b"), "--guest debian: 'a b' is no name of a package"),
    (("--guest", "debian", "--drive", __file__), "--drive: not together with --guest debian"),
    (("--guest", "debian", "--hints", "module"), "--hints module: our kernel gives hints by"),
    (("--guest", "debian", "--own", "--", "-hda", "x"), "--guest debian: not together with --own")])
def test_what_a_debian_is_not(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        run.run(parse("--print", *words))
    assert said in caught.value.message
