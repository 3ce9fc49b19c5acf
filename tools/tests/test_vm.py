# SPDX-License-Identifier: GPL-2.0-or-later
"""vm.py and session.py, with a program that stands in for QEMU."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from cint.device import properties
from cint.errors import EXIT_TIMEOUT, CintError
from cint.guest import agent, session, vm

FAKE = Path(__file__).with_name("fake_qemu.py")
PLAN = agent.Plan((session.facts_job(), agent.Job("sync", fio="[sync]\n")))


def machine() -> vm.Machine:
    """A guest of the fake QEMU; any file will do as kernel and image."""
    props = properties.device_properties(properties.parse_policy("adaptive"),
                                         properties.parse_media("optane"), 3, virtual=True)
    return vm.Machine(props, qemu=FAKE, kernel=FAKE, initramfs=FAKE)


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> session.Task:
    """A task in an empty directory; the fake finds its modules."""
    monkeypatch.setenv("PYTHONPATH", f"{FAKE.parent}:{FAKE.parents[1]}")
    return session.Task("adaptive", machine(), PLAN, tmp_path / "logs")


def play(monkeypatch: pytest.MonkeyPatch, task: session.Task, mode: str) -> CintError:
    """Run the task in a mode that fails and return the error."""
    monkeypatch.setenv("FAKE_GUEST", mode)
    with pytest.raises(CintError) as caught:
        session.run_task(task)
    return caught.value


def test_a_run_to_the_end(task: session.Task) -> None:
    seen: list[tuple[str, str, bool]] = []
    outcome = session.run(task.boot(), lambda t, j, done: seen.append((t, j, done)))
    assert outcome.hello["kernel"] == "6.12.0"
    assert outcome.facts == {"irq_cost_ns": "2220", "clocksource": "tsc"}
    assert list(outcome.results) == ["cint-facts", "sync"]
    assert seen[-2:] == [("adaptive", "sync", False), ("adaptive", "sync", True)]
    assert outcome.trouble == []
    assert outcome.boot_races == ()
    assert {p.name for p in task.logs.iterdir()} == {"console.log", "qemu.log", "agent.log"}


def test_a_run_where_paths_have_commas(monkeypatch: pytest.MonkeyPatch, task: session.Task,
                                       tmp_path: Path) -> None:
    """Between QEMU's options a comma separates."""
    (tmp_path / "tmp,dir").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp,dir"))
    here = replace(task, logs=tmp_path / "a,b" / "file=c,d")
    assert list(session.run_task(here).results) == ["cint-facts", "sync"]
    assert {p.name for p in here.logs.iterdir()} == {"console.log", "qemu.log", "agent.log"}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a,b", "tmp,dir"]


@pytest.mark.parametrize(("mode", "race"), zip(["race", "int3"], vm.RACES, strict=True))
def test_a_boot_that_qemu_ends(monkeypatch: pytest.MonkeyPatch, task: session.Task,
                               capsys: pytest.CaptureFixture[str], mode: str,
                               race: vm.Race) -> None:
    """It is started once more, which is said, and told with the outcome."""
    monkeypatch.setenv("FAKE_GUEST", mode)
    outcome = session.run_task(task)
    assert list(outcome.results) == ["cint-facts", "sync"]
    log, = outcome.boot_races
    assert log == task.logs / race.log.replace(".log", ".race.log")
    assert race.words in log.read_text()
    shown = capsys.readouterr().err
    assert f"{race.what} while the guest booted: it is started once more" in shown


def test_a_boot_that_hangs(monkeypatch: pytest.MonkeyPatch, task: session.Task) -> None:
    short = session.Task(task.name, task.machine, task.plan, task.logs, boot_limit_s=2.0)
    started = time.monotonic()
    error = play(monkeypatch, short, "hang")
    assert time.monotonic() - started < 10
    assert error.code == EXIT_TIMEOUT
    assert "did not boot" in error.message
    assert "Kernel panic" in str(error.hint)
    assert "\x1b" not in str(error.hint)


def test_a_guest_that_hangs(monkeypatch: pytest.MonkeyPatch, task: session.Task) -> None:
    monkeypatch.setattr(session, "GRACE_S", 1.0)
    monkeypatch.setattr(session, "SLOWEST", 0.0)
    assert "silence" in play(monkeypatch, task, "silent").message


def test_a_guest_that_has_no_cpu_does_not_hang(monkeypatch: pytest.MonkeyPatch,
                                               task: session.Task) -> None:
    """On a busy host it is slow, and what is left of the time is not its silence."""
    monkeypatch.setattr(session, "GRACE_S", 0.5)
    monkeypatch.setattr(session, "SLOWEST", 0.0)
    monkeypatch.setenv("FAKE_GUEST", "slow")
    assert "silence of the guest for 0 s" in play(monkeypatch, task, "slow").message
    begun = time.monotonic()
    monkeypatch.setattr(vm, "cpu_wait_s", lambda pid: time.monotonic() - begun)
    assert list(session.run_task(task).results) == ["cint-facts", "sync"]
    # But a guest that hangs is found on any host.
    assert "silence" in play(monkeypatch, task, "silent").message


def test_waiting_for_a_cpu_is_measured() -> None:
    def where() -> None:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    spin = [sys.executable, "-c", "import time\nwhile time.process_time() < 0.5: pass"]
    spinning = [subprocess.Popen(spin, preexec_fn=where) for _ in range(2)]  # noqa: PLW1509
    most = 0.0
    while any(one.poll() is None for one in spinning):
        most = max(most, sum(vm.cpu_wait_s(one.pid) for one in spinning))
        time.sleep(0.01)
    assert most > 0.3  # of two that want 0.5 s of one CPU one waits for 0.5 s
    assert vm.cpu_wait_s(spinning[0].pid) == 0


@pytest.mark.parametrize(("mode", "words"), [
    ("die", "Property 'nvme.cint' not found"), ("panic", "the guest ended early"),
    ("error", "the plan is not JSON"), ("garbage", "not JSON"), ("fail", "fio: bad job")])
def test_failures(monkeypatch: pytest.MonkeyPatch, task: session.Task, mode: str,
                  words: str) -> None:
    error = play(monkeypatch, task, mode)
    assert words in error.message
    assert "\n" not in error.message and "hangs" not in error.message


def test_a_full_disk_is_said(monkeypatch: pytest.MonkeyPatch, task: session.Task) -> None:
    usage = shutil.disk_usage(task.logs.parent)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=vm.NO_SPACE - 1))
    error = play(monkeypatch, task, "panic")
    assert error.message.endswith(f"no space is left where its logs are: {task.logs}")
    assert "hangs" not in error.message


def test_messages_are_read_again(task: session.Task) -> None:
    outcome = session.run_task(task)
    again = session.read("adaptive", (task.logs / "agent.log").read_bytes())
    assert (again.hello, again.results, again.dmesg) == (outcome.hello, outcome.results,
                                                         outcome.dmesg)


def test_a_guest_is_cancelled(monkeypatch: pytest.MonkeyPatch, task: session.Task) -> None:
    monkeypatch.setenv("FAKE_GUEST", "silent")
    cancel = threading.Event()
    threading.Timer(0.5, cancel.set).start()
    started = time.monotonic()
    with pytest.raises(vm.CancelledError):
        session.run(task.boot(), cancel=cancel)
    assert time.monotonic() - started < 10


def test_missing_files_are_named(tmp_path: Path) -> None:
    lost = vm.Machine(qemu=tmp_path / "qemu-system-x86_64")
    with pytest.raises(CintError, match="QEMU is not built"):
        vm.check_files(lost)


# ---- the command line ---------------------------------------------------

def test_virtual_time_options() -> None:
    line = " ".join(vm.machine_args(machine()))
    for words in ("-icount shift=0,sleep=off", "clock=vm", "thread=single", "-seed 1",
                  "driver=null-co,node-name=d0,size=1073741824,read-zeroes=on",
                  "tsc_early_khz=1000000",
                  "-device nvme,id=nvme0,serial=cint,drive=d0,cint=on,cint.policy=adaptive",
                  "cint.delta=18000,cint.thr=32"):
        assert words in line


def test_several_cpus_take_turns_in_virtual_time() -> None:
    assert "-icount shift=0,sleep=off -rtc" in " ".join(vm.machine_args(machine()))
    several = " ".join(vm.machine_args(replace(machine(), vcpus=2)))
    assert "-icount shift=0,sleep=off,slot=1009 " in several
    assert "icount" not in " ".join(vm.machine_args(vm.Machine(virtual=False, vcpus=2)))


def test_real_time_options() -> None:
    real = vm.Machine(virtual=False, accel="kvm", cpu="host")
    line = " ".join(vm.machine_args(real))
    assert "-accel kvm -cpu host" in line
    assert "icount" not in line
    assert "thread=multi" in " ".join(vm.machine_args(vm.Machine(virtual=False)))


def test_own_guest_has_no_kernel_of_ours() -> None:
    args = vm.machine_args(vm.Machine(own_guest=True, extra=("-drive", "file=my.qcow2")))
    assert not {"-kernel", "-initrd", "-append", "-nodefaults"} & set(args)
    assert args[-2:] == ["-drive", "file=my.qcow2"]


def test_device_options_come_last() -> None:
    text = vm.nvme_arg(vm.Machine([("cint", "on")], device_opts="cint.thr=8"))
    assert text.endswith("drive=d0,cint=on,cint.thr=8")


def test_backends() -> None:
    assert "filename=/a,,b" in vm.Backend(Path("/a,b")).args()[1]
    assert "driver=null-co" in vm.Backend().args()[1]


def test_a_second_controller() -> None:
    """Behind the first, with a namespace of its own."""
    args = vm.machine_args(vm.Machine([("cint", "on")], second=[("cint.thr", 8)]))
    devices = [args[i + 1] for i, a in enumerate(args) if a == "-device"]
    assert devices == ["nvme,id=nvme0,serial=cint,drive=d0,cint=on",
                       "nvme,id=nvme1,serial=second,drive=d1,cint.thr=8"]
    drives = [args[i + 1] for i, a in enumerate(args) if a == "-blockdev"]
    assert [drive.split(",")[1] for drive in drives] == ["node-name=d0", "node-name=d1"]
    assert len(vm.machine_args(vm.Machine([("cint", "on")]))) == len(args) - 4
    kept = vm.machine_args(vm.Machine([("cint", "on")], second=[("cint.thr", 8)],
                                      second_kept=True))
    drive, = [kept[i + 1] for i, a in enumerate(kept) if a == "-drive"]
    assert {"id=d1", "snapshot=on"} <= set(drive.split(","))
    assert [kept[i + 1] for i, a in enumerate(kept) if a == "-device"] == devices


def test_trace_shorthand() -> None:
    args = vm.machine_args(vm.Machine(trace=("cint", "pci_nvme_irq*")))
    assert [args[i + 1] for i, a in enumerate(args) if a == "-trace"] == [
        "pci_nvme_cint_*", "pci_nvme_irq*", "file=/dev/null"]


def test_printed_line_can_be_pasted() -> None:
    text = vm.shell_line(["qemu", "-smp", "2", "-append", "a b", "-no-reboot", "-m", "1"])
    assert text == "qemu \\\n  -smp 2 \\\n  -append 'a b' \\\n  -no-reboot \\\n  -m 1"


def test_kernel_options_file(tmp_path: Path) -> None:
    path = tmp_path / "cmdline"
    path.write_text("# why\nquiet  # less text\n\nnokaslr\n")
    assert vm.kernel_options(path) == ["quiet", "nokaslr"]
    with pytest.raises(CintError, match="No such file"):
        vm.kernel_options(tmp_path / "none")


def test_a_serving_guest_has_a_socket(tmp_path: Path) -> None:
    channels = vm.Channels.of(tmp_path, tmp_path)
    assert f"socket,path={tmp_path}/agent,id=agent" in vm.channel_args(channels, serve=True)
    assert f"file,path={tmp_path}/agent.log,id=agent" in vm.channel_args(channels, serve=False)
