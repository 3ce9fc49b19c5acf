# SPDX-License-Identifier: GPL-2.0-or-later
"""A person's own program as a workload: its file, its disk, what it tells, and the table."""

import argparse
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import canned
import pytest

from cint import paths
from cint.build import debian, sources
from cint.errors import CintError, UsageError
from cint.guest import appdisk
from cint.measure import apps, boots, comparison, sampling
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
    (f'run="{"x" * 70000}"', "run is longer than 64 KiB")])
def test_what_a_file_cannot_say(tmp_path: Path, text: str, said: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        apps.load(path)
    assert f"--app {path}: " in caught.value.message
    assert said in caught.value.message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
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
    ("cint-metric a 1e999", "1e999 is no number")])
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
    machine = boots.machine_for(got, got.arms[0], comparison.choose_accel(virtual=True))
    assert machine.memory_mib == 2048
    assert machine.backend.snapshot
    assert machine.backend.args()[1].startswith("if=none,id=d0,format=raw,snapshot=on,file=/")
    plan = boots.plan_for(got, got.arms[0], comparison.rounds_for(got, 0))
    assert "mount -t ext4 /dev/nvme0n1" in plan.setup[-1][-1]
    job = plan.jobs[-1]
    assert (job.name, job.timeout_s, job.fio) == ("mine/0", 7, None)
    assert "echo it'\\''s" in job.argv[-1]
    assert got.pure


@pytest.mark.parametrize("more", [["--workload", "sync"], ["--fio", "x"], ["--job", "read"],
                                  ["--runtime", "1s"], ["--quick"], ["--engine", "user"],
                                  ["--drive", __file__]])
def test_what_a_program_does_not_go_together_with(tmp_path: Path, more: list[str]) -> None:
    with pytest.raises(UsageError, match=f"--app: not together with {more[0]}"):
        settings(tmp_path, *more)


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
    appdisk._pack((tmp_path / "dir", tmp_path / "a"), tmp_path / "out.tar")
    with tarfile.open(tmp_path / "out.tar") as packed:
        assert packed.getnames() == ["app", "data", "app/dir", "app/dir/b", "app/a"]
        assert {(m.uid, m.uname, m.mtime) for m in packed} == {(0, "root", int(debian.EPOCH))}


def test_a_package_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: argparse.Namespace(
        stdout="sqlite3\nfio\n"))
    root = debian.Root("bookworm", ("fio", "sqlite4"))
    with pytest.raises(UsageError, match="mine: Debian bookworm has no package sqlite4"):
        debian._check_known(root, "mine")


def test_roots_are_the_same_in_any_order() -> None:
    assert debian.Root("bookworm", ("a", "b")).place == debian.Root("bookworm", ("b", "a")).place
    assert debian.Root("bookworm", ("a",)).place != debian.Root("trixie", ("a",)).place


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


def test_repeats_have_medians(tmp_path: Path) -> None:
    found = [sample(tmp_path, "cint", f"cint-metric a {n} us\ncint-metric b{n} 1\n")
             for n in (9, 3, 6)]
    assert sampling.rows(found, 3, None, split=False)[0].said == {"a": Said(2, "us")}
