# SPDX-License-Identifier: GPL-2.0-or-later
"""A person's own program as a workload: its file, its disk, what it tells, and the table."""

import argparse
import multiprocessing
import os
import shlex
import subprocess
import tarfile
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import canned
import pytest

from cint import paths, steps
from cint.build import debian, packages, sources
from cint.errors import CintError, UsageError
from cint.guest import appdisk, hints, session, vm
from cint.measure import apps, comparison, runner, sampling
from cint.measure.apps import Said
from cint.options import comparing
from cint.results import programs

SHIPPED = sorted((paths.ROOT / "apps").glob("*.toml"))


def written(directory: Path, text: str) -> Path:
    """A file that describes a program."""
    path = directory / "mine.toml"
    path.write_text(text)
    return path


# ---- the file -----------------------------------------------------------

def test_what_a_file_leaves_out(tmp_path: Path) -> None:
    found = apps.load(written(tmp_path, 'run = "true"'))
    assert (found.name, found.title, found.limit_s, found.memory_mib) == ("mine", "mine", 60, 1024)
    disk = found.disk
    assert (disk.release, disk.packages, disk.filesystem, disk.size, disk.files, disk.prepare) == (
        "bookworm", (), "ext4", 1 << 30, (), "")


def test_what_a_file_says(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    found = apps.load(written(tmp_path, """
        title = "mine"\nrelease = "trixie"\npackages = ["fio", "libstdc++6"]\nfilesystem = "xfs"
        size = "512M"\nmemory = "2G"\ncopy = ["data"]\nprepare = "a"\nrun = "b"\nlimit = "2min"
        """))
    disk = found.disk
    assert (disk.release, disk.packages, disk.filesystem, disk.size, disk.files, disk.prepare) == (
        "trixie", ("fio", "libstdc++6"), "xfs", 512 << 20, (tmp_path / "data",), "a")
    assert (found.title, found.run, found.limit_s, found.memory_mib) == ("mine", "b", 120, 2048)


@pytest.mark.parametrize(("text", "said"), [
    ("run = ", "not TOML: "), ("", "'run' is missing"), ('run = " "', "'run' is missing"),
    ('run = "x"\nrunn = "y"', "'runn'; did you mean run?; valid: title, release, "),
    ("run = 1", "run is not a string"), ('run="x"\ncopy = "y"', "copy is not a list of strings"),
    ('run="x"\npackages = [1]', "packages is not a list of strings"),
    ('run="x"\nprograms = ["kvstor"]', "'kvstor'; did you mean kvstore?; valid: kvstore"),
    ('run="x"\nprograms = ["kvstore", "kvstore"]', "two things would be /app/kvstore"),
    ('run="x"\nrelease = "buster"', "release 'buster'; valid: bookworm, trixie"),
    ('run="x"\npackages = ["a b"]', "'a b' is no name of a package"),
    ('run="x"\nfilesystem = "btrfs"', "filesystem = 'btrfs'; valid: ext4, xfs"),
    ('run="x"\nsize = "big"', "size = 'big': a number of bytes"),
    ('run="x"\nsize = "1M"', "size: from 300M to 64G"),
    ('run="x"\nmemory = "1M"', "memory = '1M': from 256M to 64G"),
    ('run="x"\nlimit = "0s"', "limit = '0s': the longest that it may run, from 1s to 60min"),
    ('run="x"\nlimit = "10"\ncopy = ["no"]', "no: there is no such file or directory"),
    ('run="x"\ncopy = ["mine.toml", "./mine.toml"]', "two things would be /app/mine.toml"),
    (f'run="{"x" * 70000}"', "run is longer than 64 KiB"),
    ('run="a\\u0000b"', "run has a character of number 0"),
    ('run="x"\ncopy = ["a\\u0000b"]', "copy has a character of number 0"),
    ('run="x"\ntitle = "a\\nb"', "title is not one line of text"),
    ('run="x"\ntitle = "\\u001b[31m"', "title is not one line of text"),
    ('run="x"\ncopy = [".."]', "that has no name to be called by in /app"),
    ('run="x"\ncopy = ["/"]', "that has no name to be called by in /app"),
    ('run="x"\ncopy = ["/dev/null"]', "there is no such file or directory")])
def test_what_a_file_cannot_say(tmp_path: Path, text: str, said: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        apps.load(path)
    assert f"--app {path}: " in caught.value.message
    assert said in caught.value.message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file"):
        apps.load(tmp_path / "none.toml")


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_shipped_ones_can_be_read_and_their_shell_is_one(path: Path) -> None:
    found = apps.load(path)
    for script in (found.disk.prepare, found.run):
        subprocess.run(["sh", "-n", "-c", script], check=True)
    ours = any(file.parent == paths.GUEST for file in found.disk.files)
    assert ours or "cint-metric" in found.run + "".join(f.read_text() for f in found.disk.files)


def test_a_program_of_ours_is_part_of_the_disk_once_it_is_built(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "GUEST", tmp_path / "guest")
    disk = apps.load(written(tmp_path, 'run = "x"\nprograms = ["kvstore"]')).disk
    assert disk.files == (tmp_path / "guest/kvstore",)
    places = {appdisk.place(disk)}
    (tmp_path / "guest").mkdir()
    for content in ("1", "2"):
        (tmp_path / "guest/kvstore").write_text(content)
        places.add(appdisk.place(disk))
    assert len(places) == 3


# ---- what it tells ------------------------------------------------------

def test_the_last_number_of_a_name_counts_and_order_stays() -> None:
    text = ("cint-metric b 1 1/s\nnoise\ncint-metric a.p99 2.5e1\n cint-metric c 1\n"
            "cint-metric b 3 us")
    assert list(apps.parse_said(text, "x").items()) == [("b", Said(3, "us")),
                                                        ("a.p99", Said(25, ""))]


@pytest.mark.parametrize(("text", "said"), [
    ("", "told no number"), ("cint-metrics a 1", "told no number"),
    ("cint-metric", "it is cint-metric NAME VALUE UNIT"), ("cint-metric a", "NAME VALUE UNIT"),
    ("cint-metric a 1 s x", "NAME VALUE UNIT"), ("cint-metric 1 a s", "NAME VALUE UNIT"),
    ("cint-metric a b s", "b is no number"), ("cint-metric a nan s", "nan is no number"),
    ("cint-metric a 1e999", "1e999 is no number"),
    ("cint-metric\na 1 s", "it is cint-metric NAME VALUE UNIT"),
    ("cint-metric a 1_000", "1_000 is no number"), ("cint-metric a \u0661", "is no number"),
    ("cint-metric a \x1b[2J", "a ?[2J': ?[2J is no number"),
    (f"cint-metric a {'9' * 200}x", "999...': 999"),
    (f"cint-metric a 1 {'u' * 17}", "a unit is at most 16 characters"),
    ("cint-metric a 1 \x1b[2J", "a unit is at most 16 characters that can be printed"),
    (f"cint-metric {'a' * 65} 1", "NAME VALUE UNIT"),
    ("cint-metric a 1\n" + "x" * (256 << 10), "it printed more than 256 KiB")])
def test_what_is_no_number(text: str, said: str) -> None:
    with pytest.raises(CintError) as caught:
        apps.parse_said(text, "cint: mine.toml")
    assert caught.value.message.startswith("cint: mine.toml: ")
    assert said in caught.value.message


@pytest.mark.parametrize(("unit", "value"), [
    ("us", 2), ("ns", 2), ("ms", 2), ("s", 2), ("min", 2), ("1/s", 18), ("MiB/s", 18),
    ("tx/min", 18), ("", 6), ("bytes", 6), ("%", 6)])
def test_times_and_rates_become_reported_ones(unit: str, value: float) -> None:
    assert Said(6, unit).reported(3) == Said(value, unit)


# ---- the guest ----------------------------------------------------------

def settings(directory: Path, *more: str, text: str = 'run = "echo it\'s"') -> Any:
    parser = argparse.ArgumentParser()
    comparing.add_options(parser)
    path = written(directory, text)
    return comparing.settings_from(parser.parse_args(["--app", str(path), *more]))


def test_the_guest_begins_with_the_disk_and_runs_the_commands(tmp_path: Path) -> None:
    got = settings(tmp_path, text='memory = "2G"\nlimit = "7s"\nrun = "echo it\'s"')
    machine = canned.guest(got).on(comparison.VIRTUAL).machine
    assert machine.memory_mib == 2048
    assert machine.backend.snapshot
    assert machine.backend.args()[1].startswith("if=none,id=d0,format=raw,snapshot=on,file=/")
    plan = canned.guest(got).plan
    # by the controller's serial number: its own number may be another beside others
    assert f"mount -t ext4 $(disk {vm.NVME_SERIAL}) " in plan.setup[-1][-1]
    assert f",serial={vm.NVME_SERIAL}," in vm.nvme_arg(machine)
    # marks by rules reach the program, whose system is another than the agent's
    assert f"cp /etc/ld.so.preload {hints.RULES} {appdisk.SYSTEM}/etc/" in plan.setup[-1][-1]
    job = plan.jobs[-1]
    assert (job.name, job.timeout_s, job.fio) == ("mine/0", 7, None)
    assert shlex.join(["echo it's"])[1:-1] in job.argv[-1]
    assert got.pure


def test_a_disk_is_made_in_virtual_time(bare: appdisk.Disk, tmp_path: Path,
                                        monkeypatch: pytest.MonkeyPatch) -> None:
    """So that its limits are of the guest's clock, whatever else the machine does."""
    tasks: list[session.Task] = []

    def run_task(task: session.Task) -> SimpleNamespace:
        tasks.append(task)
        return SimpleNamespace(dmesg="")

    monkeypatch.setattr(session, "run_task", run_task)
    appdisk._fill(bare, tmp_path / "target", tmp_path / "root.tar", tmp_path / "files.tar")
    (task,) = tasks
    assert task.machine.virtual and task.machine.backend.path == tmp_path / "target"
    assert not task.machine.backend.snapshot
    assert "cint.time=virtual" in vm.nvme_arg(task.machine)


def test_each_repeat_has_its_seed(tmp_path: Path) -> None:
    got = settings(tmp_path, "--repeat", "2", "--seed", "7")
    jobs = [canned.guest(got, repeat=repeat).plan.jobs[-1]
            for repeat in range(2)]
    assert [(job.name, word) for job in jobs for word in shlex.split(job.argv[-1])
            if word.startswith("SEED=")] == [("mine/0", "SEED=7"), ("mine/1", "SEED=8")]


@pytest.mark.parametrize("more", [["--workload", "sync"], ["--fio", "j.fio"], ["--job", "read"],
                                  ["--runtime", "1s"], ["--quick"], ["--engine", "user"],
                                  ["--drive", __file__]])
def test_what_a_program_does_not_go_together_with(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("j.fio").write_text("[j]\nfilename=${DEVICE}\n")
    with pytest.raises(UsageError, match=f"--app: not together with {more[0]}"):
        settings(tmp_path, *more)


def test_two_programs_are_not_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--app: one at a time"):
        settings(tmp_path, "--app", str(tmp_path / "mine.toml"))


def test_a_script_ends_with_the_first_command_that_fails(tmp_path: Path) -> None:
    """As its shell has it: where the place of its files is not there, it does not begin."""
    line = appdisk.inside("false\necho cint-metric a 1")
    words = shlex.split(line)
    assert words[:2] == ["chroot", appdisk.SYSTEM]
    script = words[-1].replace(f"cd {appdisk.FILES} ", f"cd {tmp_path} ")
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")


def test_files_are_packed_for_their_hash_only_when_they_changed(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/a").write_text("1")
    packed = []
    pack = appdisk._pack

    def counted(files: Any, to: Any) -> None:
        packed.append(files)
        pack(files, to)

    monkeypatch.setattr(appdisk, "_pack", counted)
    disk = appdisk.Disk("x", "bookworm", (), "ext4", 1 << 30, (tmp_path / "d",), "true")
    places = {appdisk.place(disk) for _ in range(3)}
    assert (len(places), len(packed)) == (1, 1)
    (tmp_path / "d/a").write_text("22")
    places.add(appdisk.place(disk))
    assert (len(places), len(packed)) == (2, 2)


def test_a_link_that_is_named_is_followed(tmp_path: Path) -> None:
    (tmp_path / "aim").write_text("text")
    (tmp_path / "link").symlink_to("aim")
    with (tmp_path / "out.tar").open("wb") as out:
        appdisk._pack((tmp_path / "link",), out)
    with tarfile.open(tmp_path / "out.tar") as done:
        assert done.getmember("app/link").isreg()


def test_what_a_killed_tool_left_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "DEBIAN", tmp_path)
    for name in (".a.raw.1-2.tmp", ".b.tar.3-4.tmp", "c.raw", "d.tar"):
        (tmp_path / name).touch()
    appdisk._sweep()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c.raw", "d.tar"]


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> appdisk.Disk:
    """A disk whose root is there, in a build directory of its own."""
    for name, place in (("DEBIAN", "debian"), ("LOGS", "logs"), ("LOCK", "lock"),
                        ("STAMPS", "stamps")):
        monkeypatch.setattr(paths, name, tmp_path / place)
    monkeypatch.setattr(debian, "archive", lambda root, what: root.place)
    monkeypatch.setattr(packages, "require", lambda *_: None)
    monkeypatch.setitem(appdisk.FILESYSTEMS, "ext4", (("true",), "coreutils"))
    return appdisk.Disk("mine", "bookworm", (), "ext4", 1 << 30)


@pytest.mark.parametrize("problem", [CintError("job 'prepare' failed"), KeyboardInterrupt()])
def test_nothing_stays_of_a_disk_that_was_not_made(
        bare: appdisk.Disk, monkeypatch: pytest.MonkeyPatch, problem: BaseException) -> None:
    def fill(_disk: appdisk.Disk, target: Path, *_: Path) -> None:
        target.write_text("half")
        raise problem

    monkeypatch.setattr(appdisk, "_fill", fill)
    with pytest.raises(type(problem)):
        appdisk.make(bare)
    assert list(paths.DEBIAN.iterdir()) == []


def test_two_at_once_make_one_disk(bare: appdisk.Disk, tmp_path: Path,
                                   monkeypatch: pytest.MonkeyPatch) -> None:
    """The second process waits for the lock of the first, and finds its disk."""
    def fill(*_: Any) -> None:
        (tmp_path / f"made-{os.getpid()}").touch()

    monkeypatch.setattr(appdisk, "_fill", fill)
    context = multiprocessing.get_context("fork")
    both = [context.Process(target=appdisk.make, args=(bare,)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    assert len(list(tmp_path.glob("made-*"))) == 1
    assert list(paths.DEBIAN.iterdir()) == [appdisk.place(bare)]


@pytest.mark.parametrize(("line", "said"), [
    ("blk_update_request: I/O error, dev nvme0n1, sector 8", True),
    ("Buffer I/O error on dev nvme0n1, logical block 9, lost async page write", True),
    ("EXT4-fs error (device nvme0n1): ext4_find_entry", True),
    ("XFS (nvme0n1): metadata I/O error in x", True),
    ("EXT4-fs (nvme0n1): mounted filesystem with ordered data mode", False),
    ("nvme.io_timeout=30", False), ("rcu: INFO: rcu_sched self-detected stall", False)])
def test_a_disk_that_was_not_all_written(line: str, said: bool) -> None:
    disk = appdisk.Disk("mine", "bookworm", (), "ext4", 1 << 30)
    outcome = session.Outcome("mine", dmesg=f"[ 1.0] nvme\n[ 2.0] {line}\n")
    if not said:
        appdisk._check_kept(disk, outcome)
        return
    with pytest.raises(CintError, match="mine: its disk could not be written: "):
        appdisk._check_kept(disk, outcome)


def test_a_disk_is_another_where_anything_of_it_is(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    disk = appdisk.Disk("x", "bookworm", (), "ext4", 1 << 30, (tmp_path / "a",), "true")
    places = {appdisk.place(disk)}
    others: tuple[dict[str, Any], ...] = (
        {"filesystem": "xfs"}, {"size": 1 << 29}, {"prepare": "false"}, {"files": ()})
    places |= {appdisk.place(replace(disk, **more)) for more in others}
    (tmp_path / "a").write_text("2")
    places.add(appdisk.place(disk))
    assert len(places) == 6
    (tmp_path / "a").touch()  # another time is nothing else
    assert appdisk.place(disk) in places


def test_files_are_the_administrators(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir/b").write_text("b")
    (tmp_path / "a").write_text("a")
    with (tmp_path / "out.tar").open("wb") as out:
        appdisk._pack((tmp_path / "dir", tmp_path / "a"), out)
    with tarfile.open(tmp_path / "out.tar") as packed:
        assert packed.getnames() == ["app", "data", "app/dir", "app/dir/b", "app/a"]
        assert {(m.uid, m.uname, m.mtime) for m in packed} == {(0, "root", int(debian.EPOCH))}


def step() -> Any:
    return argparse.Namespace(write=lambda _: None, fail=CintError)


def says(monkeypatch: pytest.MonkeyPatch, stdout: str, code: int = 0, stderr: str = "") -> None:
    """Have every command print this."""
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: argparse.Namespace(
        stdout=stdout, stderr=stderr, returncode=code))


def test_a_package_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, "sqlite3\nfio\n")
    root = debian.Root("bookworm", ("fio", "sqlite4"))
    with pytest.raises(UsageError, match="mine: Debian bookworm has no package sqlite4"):
        debian._check_known(step(), root, "mine")


def test_a_list_that_cannot_be_had_is_no_list_without_packages(
        monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, "", 100, "E: The list of sources could not be read.\n")
    with pytest.raises(CintError, match=r"apt-cache does not list .* could not be read") as caught:
        debian._check_known(step(), debian.Root("bookworm", ("fio",)), "mine")
    assert not isinstance(caught.value, UsageError)


def test_packages_that_exclude_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, "The following packages have unmet dependencies:\n"
         " exim4-config : Conflicts: postfix but 3.7 is to be installed\n"
         " postfix : Conflicts: mail-transport-agent\n", 100)
    root = debian.Root("bookworm", ("exim4-config", "postfix"))
    with pytest.raises(UsageError) as caught:
        debian._cost(step(), root, "mine")
    assert caught.value.message == (
        "mine: these packages cannot be installed together: exim4-config : Conflicts: postfix but "
        "3.7 is to be installed; postfix : Conflicts: mail-transport-agent")


def test_nothing_stays_of_a_root_that_was_ended(tmp_path: Path,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    """mmdebstrap that is ended leaves what it unpacked; here a script is it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "mmdebstrap").write_text(
        "#!/bin/sh\nmkdir $TMPDIR/mmdebstrap.x && touch $TMPDIR/mmdebstrap.x/file\nexit 3\n")
    (tmp_path / "mmdebstrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(paths, "LOGS", tmp_path / "logs")
    with pytest.raises(CintError), steps.step("x", "x") as running:
        debian._make(running, debian.Root("bookworm", ()), tmp_path / "out.tar")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["logs", "mmdebstrap"]


def test_what_is_mounted_in_a_scratch_directory_is_not_removed(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    """It may be the machine's own /dev/shm: the directory stays, and that is said."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(debian, "_mounted_below", lambda place, _: f"{place}/dev/shm")
    with debian._scratch() as place:
        (place / "dev").mkdir()
    assert (place / "dev").is_dir()
    assert f"{place} is left: {place}/dev/shm is mounted in it" in capsys.readouterr().err


def test_what_is_mounted_is_known_by_the_kernels_table() -> None:
    table = ("25 24 0:23 / /dev/shm rw - tmpfs tmpfs rw\n"
             "70 27 0:27 / /tmp/cint-debian-a/x/dev/shm rw - tmpfs tmpfs rw\n")
    assert debian._mounted_below(Path("/tmp/cint-debian-a"), table).endswith("/x/dev/shm")
    assert not debian._mounted_below(Path("/tmp/cint-debian"), table)
    assert not debian._mounted_below(Path("/tmp/cint-debian-a/y"), table)


@pytest.mark.skipif(os.geteuid() != 0, reason="others have mounts apart by mmdebstrap itself")
def test_mounts_end_with_who_made_them(tmp_path: Path) -> None:
    """Also where the program is killed before it could unmount."""
    script = f"mount -t tmpfs x {tmp_path} && touch {tmp_path}/in && kill -9 $$"
    done = subprocess.run([*debian._apart(), "sh", "-c", script], check=False)
    assert done.returncode == -9
    assert list(tmp_path.iterdir()) == []
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()


def test_how_long_a_program_may_take_is_said(tmp_path: Path,
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    """Its limit is all that is known: it is no estimate."""
    got = settings(tmp_path, text='limit = "20min"\nrun = "true"')
    monkeypatch.setattr(runner, "to_boot", lambda *_: 1)
    assert ", at most " in comparison._to_boot(got, [], None, runner.Reuse())


def test_what_a_root_costs_is_said_before(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, "0 upgraded, 93 newly installed.\nNeed to get 39.5 MB of archives.\n"
         "After this operation, 167 MB of additional disk space will be used.\n", 1)
    assert debian._cost(step(), debian.Root("bookworm", ()), "mine") == (
        " (download 39.5 MB, 167 MB of disk space)")


def test_roots_are_the_same_in_any_order() -> None:
    assert debian.Root("bookworm", ("a", "b")).place == debian.Root("bookworm", ("b", "a")).place
    assert debian.Root("bookworm", ("a",)).place != debian.Root("trixie", ("a",)).place
    assert debian.Root("bookworm", ("a", "a")).place == debian.Root("bookworm", ("a",)).place


def test_a_root_of_backports_is_of_its_release() -> None:
    words = debian.command("trixie-backports", ("b=1", "a"), Path("/there"), "--format=directory")
    assert "--include=a,b=1" in words
    lists = sources.apt_root("trixie-backports", "deb") / "sources.list"
    assert words[-3:] == ["trixie", "/there", str(lists)]
    bare = debian.command("trixie", (), Path("/there"))
    assert not any(word.startswith("--include") for word in bare)


# ---- the table ----------------------------------------------------------

def sample(tmp_path: Path, policy: str, text: str, irqs: int = 20) -> sampling.Sample:
    app = apps.load(written(tmp_path, 'run = "x"'))
    message = {"before": canned.snap(0, 0, 0) | {"block": "0 " * 17},
               "after": canned.snap(2_000_000_000, irqs, 100) | {"block": "100 " + "0 " * 16},
               "stdout": text}
    return sampling.app_sample(policy, app, 0, message, 1)


def test_the_table_has_what_the_device_counts_and_what_the_program_told(tmp_path: Path) -> None:
    told = {"default": "cint-metric find 30 us\ncint-metric put 4 1/s\ncint-metric n 0\n",
            "cint": "cint-metric find 15 us\ncint-metric put 5 1/s\n"}
    rows = [row for policy, text in told.items()
            for row in sampling.rows([sample(tmp_path, policy, text)], 3, None, split=False)]
    rows = sampling.with_ratios(rows, "default")
    assert [row.values["iops"] for row in rows] == [150, 150]  # 100 in 2 s of the guest, k = 3
    assert [row.values["ios_per_irq"] for row in rows] == [5, 5]
    assert rows[0].values["mean_us"] is None
    assert rows[1].said == {"find": Said(5, "us"), "put": Said(15, "1/s")}
    assert rows[1].said_ratios == {"find": 0.5, "put": 1.25}
    lines = programs.format_lines(rows, "default")
    assert [line.split() for line in lines[1:]] == [
        ["policy", "find", "put", "n"], ["us", "x", "1/s", "x", "x"],
        ["default", "10", "1.00", "12", "1.00", "0"],
        ["cint", "5", "0.50", "15", "1.25", "-"],
        ["What", "the", "program", "told;", "x:", "ratio", "to", "'default'."]]
    assert programs.format_lines([], "default") == []


def test_many_numbers_are_in_blocks_of_the_tables_width(tmp_path: Path) -> None:
    text = "".join(f"cint-metric {'long' * 4}{n} 1 us\n" for n in range(9))
    rows = sampling.rows([sample(tmp_path, "default", text)], 1, None, split=False)
    lines = programs.format_lines(rows, "default")
    assert max(map(len, lines)) <= 120
    assert sum(line.count("long" * 4) for line in lines) == 9


def test_long_units_have_room(tmp_path: Path) -> None:
    text = "".join(f"cint-metric a{n} 1 {'u' * 15}{n}\n" for n in range(9))
    rows = sampling.rows([sample(tmp_path, "default", text)], 1, None, split=False)
    lines = programs.format_lines(rows, "default")
    assert max(map(len, lines)) <= 120
    assert all(f" {'u' * 15}{n} " in f"{' '.join(lines)} " for n in range(9))


def test_one_number_has_one_unit() -> None:
    apps.check_units([{"a": Said(1, "us")}, {"b": Said(1, "ms")}, {"a": Said(2, "us")}], "mine")
    with pytest.raises(CintError, match="mine: 'a' was told in units 'ms' and 'us'"):
        apps.check_units([{"a": Said(1, "us")}, {"a": Said(1, "ms")}], "mine")


def test_repeats_have_medians(tmp_path: Path) -> None:
    found = [sample(tmp_path, "cint", f"cint-metric a {n} us\ncint-metric b{n} 1\n")
             for n in (9, 3, 6)]
    assert sampling.rows(found, 3, None, split=False)[0].said == {"a": Said(2, "us")}
