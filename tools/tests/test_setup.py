# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of the machine, packages, kernel configuration, own trees, cleaning."""

import argparse
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cint import bootstrap, cli, host, paths, steps
from cint.build import linux, packages, patches, qemu, setup, sources, trees
from cint.errors import CintError, UsageError
from cint.selftest import suites
from cint.verbs import clean


def usage(free: int) -> object:
    return lambda path: shutil._ntuple_diskusage(free, 0, free)


def test_little_space_says_how_much_is_needed(
    sandbox: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", usage(1_000_000_000))
    with pytest.raises(CintError, match=r"needs about 6\.0 GB of free space, and there is 1\.0 GB"):
        setup.check_space(force=False)
    setup.check_space(force=True)
    assert "warning: " in capsys.readouterr().err


def test_space_is_not_asked_again_when_all_is_built(
    sandbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("linux", "qemu"):
        steps.Stamp(name).write({})
    monkeypatch.setattr(shutil, "disk_usage", usage(0))
    setup.check_space(force=False)


def test_another_architecture_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "machine", lambda: "riscv64")
    with pytest.raises(CintError, match="riscv64; only x86-64"):
        setup.check_machine(force=True)


@pytest.mark.parametrize(("missing", "force", "stops"), [
    (["gcc"], False, True), (["gcc"], True, False), ([], False, False),
])
def test_another_distribution(
    monkeypatch: pytest.MonkeyPatch, missing: list[str], force: bool, stops: bool
) -> None:
    monkeypatch.setattr(host, "distribution", lambda: host.parse_os_release("PRETTY_NAME=Other"))
    monkeypatch.setattr(host, "machine", lambda: "x86_64")
    monkeypatch.setattr(packages, "missing", lambda *_: missing)
    if not stops:
        setup.check_machine(force)
        return
    with pytest.raises(CintError, match="Other is not supported") as caught:
        setup.check_machine(force)
    assert "--force" in (caught.value.hint or "")


@pytest.mark.parametrize(("release", "missing", "said"), [
    ("12", ["gcc"], False), ("13", ["gcc"], False), ("14", [], True)])
def test_a_distribution_that_was_never_tried_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], release: str,
    missing: list[str], said: bool
) -> None:
    text = f'PRETTY_NAME="Debian {release}"\nID=debian\nVERSION_ID="{release}"\n'
    monkeypatch.setattr(host, "distribution", lambda: host.parse_os_release(text))
    monkeypatch.setattr(host, "machine", lambda: "x86_64")
    monkeypatch.setattr(packages, "missing", lambda *_: missing)
    setup.check_machine(force=False)
    shown = capsys.readouterr().err
    assert ("cint was tried on Debian 12 and 13 only" in shown) == said


def test_force_holds_for_later_commands_on_the_same_system(
    sandbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only setup, build and install have the option."""
    monkeypatch.setattr(host, "distribution", lambda: host.parse_os_release("PRETTY_NAME=Other"))
    assert not setup._forced(argparse.Namespace())
    assert setup._forced(argparse.Namespace(force=True))
    assert setup._forced(argparse.Namespace()) and setup._forced(argparse.Namespace(force=False))
    monkeypatch.setattr(host, "distribution", lambda: host.parse_os_release("PRETTY_NAME=Third"))
    assert not setup._forced(argparse.Namespace())


# --- packages -----------------------------------------------------------------------------


def test_installed_packages_need_no_apt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "missing", lambda *_: [])
    monkeypatch.setattr(packages, "_privilege", None)
    packages.install()


def test_missing_packages_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "dpkg-query"
    fake.write_text("#!/bin/sh\necho 'ii  gcc'\necho 'rc  make'\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    names = packages.missing()
    assert "gcc" not in names
    assert "make" in names and "bison" in names


def test_a_forced_system_without_apt_is_believed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(CintError, match="there is no apt-get: bison"):
        packages.install(["bison"])
    packages.install(["bison"], force=True)
    assert "needed is what Debian has as: bison" in capsys.readouterr().err


def test_without_root_the_command_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "missing", lambda *_: ["bison", "flex"])
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "sudo" else f"/{name}")
    with pytest.raises(CintError, match="2 packages must be installed") as caught:
        packages.install()
    assert "apt-get install -y --no-install-recommends bison flex" in (caught.value.hint or "")


def test_each_target_has_its_packages() -> None:
    compare = packages.needed(setup.TARGETS)
    assert {"gcc", "seabios", "bc", "nvme-cli"} <= set(compare)
    assert not {"clang", "llvm", "valgrind", "spin", "xfsprogs"} & set(compare)
    assert set(packages.PACKAGES) > set(compare)
    for name in (*setup.TARGETS, *setup.OPTIONAL):
        assert packages.needed([name]), name
    for suite in suites.SUITES:
        for name in (*suite.targets, *suite.full_targets):
            assert packages.needed([name]), (suite.name, name)


def test_what_the_guests_tests_run_is_installed() -> None:
    guest = next(suite for suite in suites.SUITES if suite.name == "guest")
    always = set(packages.needed(guest.targets))
    assert {"dmsetup", "e2fsprogs", "xfsprogs"} <= always
    # kexec-tools may change how a machine without systemd reboots
    assert {"btrfs-progs", "kexec-tools"} <= set(packages.needed(guest.full_targets)) - always


def test_the_packages_are_named_before_root_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ask() -> None:
        assert "to be installed with apt-get, as root: bison flex (dow" in capsys.readouterr().err

    monkeypatch.setattr(packages, "missing", lambda *_: ["bison", "flex"])
    monkeypatch.setattr(packages, "_download", lambda _: " (download 1 kB, 2 kB of disk space)")
    monkeypatch.setattr(packages, "_privilege", ask)
    monkeypatch.setattr(shutil, "which", lambda name: f"/{name}")
    with pytest.raises(CintError, match="sudo does not work"):
        packages.install()


#: Stands in for apt-get: another one holds the lock at its first calls.
LOCKED_APT = """#!/bin/sh
case "$*" in *--assume-no*) exit 1 ;; esac
echo "$*" >> {calls}
[ $(wc -l < {calls}) -gt {held} ] && exit 0
echo "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 77 (apt-get)"
exit 100
"""


def locked_apt(place: Path, monkeypatch: pytest.MonkeyPatch, held: int) -> Path:
    """Have packages be installed by that program, and its calls in a file."""
    calls, fake = place / "calls", place / "apt-get"
    fake.write_text(LOCKED_APT.format(calls=calls, held=held))
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:/usr/bin:/bin")
    monkeypatch.setattr(packages, "missing", lambda *_: ["bison"])
    monkeypatch.setattr(packages, "_privilege", list)
    monkeypatch.setattr(packages, "LOCK_PAUSE_S", 0.01)
    return calls


def test_apts_lock_is_waited_for(sandbox: Path, monkeypatch: pytest.MonkeyPatch,
                                 capsys: pytest.CaptureFixture[str]) -> None:
    calls = locked_apt(sandbox, monkeypatch, held=2)
    packages.install()
    assert "held by process 77 (apt-get)" in capsys.readouterr().err
    # the same words each time: package lists are not refreshed for it
    assert len(set(calls.read_text().splitlines())) == 1
    assert len(calls.read_text().splitlines()) == 3


def test_apts_lock_is_not_waited_for_without_end(sandbox: Path,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    locked_apt(sandbox, monkeypatch, held=10**6)
    monkeypatch.setattr(packages, "LOCK_LIMIT_S", 0.05)
    with pytest.raises(CintError, match="Could not get lock"):
        packages.install()


@pytest.mark.parametrize(("said", "remark"), [
    ("Need to get 18.2 MB of archives.\nAfter this operation, 95.1 MB of additional disk space "
     "will be used.", " (download 18.2 MB, 95.1 MB of disk space)"),
    ("Need to get 1,004 kB/18.2 MB of archives.\nAfter this operation, 95.1 MB of additional disk "
     "space will be used.", " (download 1,004 kB, 95.1 MB of disk space)"),
    ("E: Unable to locate package bison", ""),
])
def test_what_packages_cost_is_apts_word(said: str, remark: str) -> None:
    assert packages.parse_cost(said) == remark


def test_the_first_build_says_what_it_takes(
    sandbox: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", usage(10**11))
    setup.announce(force=False)
    assert f"the first set-up takes about {setup.FIRST_MINUTES} minutes" in capsys.readouterr().err
    for name in ("linux", "qemu"):
        steps.Stamp(name).write({})
    setup.announce(force=False)
    assert capsys.readouterr().err == ""


# --- kernel configuration -----------------------------------------------------------------

CONFIG = 'CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C="x y"\n# other\nCONFIG_N=n\n'


def test_kernel_configuration_is_parsed() -> None:
    assert linux.parse_config(CONFIG) == {
        "CONFIG_A": "y", "CONFIG_B": "n", "CONFIG_C": '"x y"', "CONFIG_N": "n"}


def test_lost_symbols_are_found() -> None:
    wanted = {"CONFIG_A": "y", "CONFIG_B": "n", "CONFIG_D": "16"}
    assert linux.lost_symbols(wanted, {"CONFIG_A": "y", "CONFIG_D": "8"}) \
        == ["CONFIG_D=16 (is 8)"]
    assert linux.lost_symbols(wanted, {"CONFIG_D": "16"}) == ["CONFIG_A=y (is n)"]


def test_symbols_of_patches(tmp_path: Path) -> None:
    """A kernel without the patches cannot have what they add."""
    patch = tmp_path / "1.patch"
    patch.write_text("+config ONE\n+\tbool\n+menuconfig TWO\n config THREE\n-config FOUR\n")
    assert linux.added_symbols([patch]) == {"CONFIG_ONE", "CONFIG_TWO"}


def test_an_unpatched_tree_beside_the_patched_one(
    sandbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As links: to pristine copies of what patches change, and without what they add."""
    base = patches.Tree(paths.SRC / "linux", "Linux")
    for name, text in (("a.c", "old"), ("b.c", "same")):
        (base.root / name).parent.mkdir(parents=True, exist_ok=True)
        (base.root / name).write_text(text)
    patch = sandbox / "1.patch"
    patch.write_text("From: A Person <a@example.org>\nSubject: [PATCH] new\n\n---\n"
                     "diff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-old\n"
                     "\\ No newline at end of file\n+new\n"
                     "diff --git a/n.c b/n.c\nnew file mode 100644\n--- /dev/null\n+++ b/n.c\n"
                     "@@ -0,0 +1 @@\n+n\n")
    patches.apply_series(base, [patch])
    monkeypatch.setattr(trees, "prepare", lambda *_: base)
    tree = trees.prepare_unpatched(sources.LINUX, sandbox / "plain/src/linux")
    assert {path.name: path.read_text() for path in tree.root.iterdir()} == {
        "a.c": "old", "b.c": "same"}
    assert (base.root / "a.c").read_text() == "new\n"


def test_every_fragment_names_symbols() -> None:
    for path in linux.MEASURED.fragments:
        wanted = linux.parse_config(path.read_text())
        assert "CONFIG_BLK_DEV_NVME" in wanted


def test_qtest_programs_are_those_about_nvme(
    sandbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "QEMU_BUILD", sandbox / "qemu")
    assert qemu.qtest_programs() == []
    info = sandbox / "qemu/meson-info/intro-tests.json"
    info.parent.mkdir(parents=True)
    info.write_text('[{"name": "qtest-x86_64/nvme-x-test"}, {"name": "qtest-x86_64/ahci-test"},'
                    '{"name": "qtest-x86_64/qos-test"}]')
    assert [path.name for path in qemu.qtest_programs()] == ["nvme-x-test", "qos-test"]


def a_patch(directory: Path, name: str, subject: str) -> None:
    (directory / name).write_text(f"From: A <a@example.org>\nSubject: [PATCH 1/2] {subject}\n\n")


@pytest.mark.parametrize(("commits", "as_is", "applied"), [
    (("unrelated",), False, ["1.patch", "2.patch"]),
    (("unrelated",), True, []),
    (("first",), False, []),
    (("second", "first"), False, []),
])
def test_a_tree_with_patches_of_ours_gets_no_more_of_them(
    sandbox: Path, monkeypatch: pytest.MonkeyPatch, commits: tuple[str, ...], as_is: bool,
    applied: list[str],
) -> None:
    series, own = sandbox / "series", sandbox / "own"
    series.mkdir()
    a_patch(series, "1.patch", "first")
    a_patch(series, "2.patch", "second")
    (series / "series").write_text("1.patch\n2.patch\n")
    monkeypatch.setattr(paths, "GUEST_PATCHES", series)
    subprocess.run(["git", "init", "-q", own], check=True)
    for subject in commits:
        subprocess.run(["git", "-C", own, "-c", "user.name=A", "-c", "user.email=a@example.org",
                        "commit", "-q", "--allow-empty", "-m", subject], check=True)
    assert [path.name for path in linux.series_for(own, as_is)] == applied
    assert len(linux.series_for(None, False)) == 2


def test_the_kernel_that_was_built_last_is_booted(
    sandbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "KERNEL", sandbox / "build/kernel/vmlinux")
    for name in ("linux", "own/linux", "linux"):
        objects = sandbox / "build" / name
        objects.mkdir(parents=True, exist_ok=True)
        (objects / "vmlinux").write_text(name)
        linux._select(replace(linux.MEASURED, directory=objects))
        assert paths.KERNEL.read_text() == name


def test_objects_of_another_own_tree_are_not_used(sandbox: Path) -> None:
    kept = sandbox / "build/own/linux/a.o"
    linux._forget_another_tree(sandbox / "one")
    kept.parent.mkdir(parents=True)
    kept.write_text("object")
    linux._forget_another_tree(sandbox / "one")
    assert kept.exists()
    linux._forget_another_tree(sandbox / "two")
    assert not kept.exists()


def test_configuring_is_skipped_only_when_it_would_change_nothing(sandbox: Path) -> None:
    tree = patches.Tree(sandbox / "tree", "Linux", origin=sandbox / "own")
    objects = paths.OWN / "linux"
    kernel = replace(linux.MEASURED, directory=objects)
    for path in (tree.root / "drivers", objects):
        path.mkdir(parents=True)
    kconfig = tree.root / "drivers/Kconfig.x"
    for path in (kconfig, objects / ".config", objects / "cint.configured"):
        path.touch()
    (objects / "cint.config").write_text("CONFIG_A=y\n")
    os.utime(kconfig, (1, 1))
    assert linux._is_configured(kernel, tree, "CONFIG_A=y\n")
    assert not linux._is_configured(kernel, tree, "CONFIG_A=n\n")
    os.utime(kconfig)
    os.utime(objects / "cint.configured", (5, 5))
    assert not linux._is_configured(kernel, tree, "CONFIG_A=y\n")
    os.utime(kconfig, (1, 1))
    (objects / "cint.configured").unlink()
    assert not linux._is_configured(kernel, tree, "CONFIG_A=y\n")


def test_a_tree_as_it_is_must_be_named() -> None:
    args = argparse.Namespace(linux_src=None, linux_as_is=True, jobs=1)
    with pytest.raises(UsageError, match="--linux-as-is: which tree"):
        setup._linux(args)


# --- a person's own tree ------------------------------------------------------------------


@pytest.fixture
def own(sandbox: Path) -> Path:
    tree = sandbox / "own"
    (tree / "hw/nvme").mkdir(parents=True)
    for name in ("configure", "hw/nvme/ctrl.c", "hw/nvme/ctrl.o"):
        (tree / name).write_text(name)
    (tree / "VERSION").write_text("10.0.99\n")
    return tree


def package(sandbox: Path) -> sources.Package:
    return sources.Package(name="qemu", title="QEMU", series=("10.0",), verified=(),
                           releases=(), tree=paths.SRC / "qemu")


def test_an_own_tree_is_linked_not_copied(
    sandbox: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cint.build.patches.overlay_map", lambda: {"hw/nvme/ctrl.c": Path("x")})
    tree = trees.prepare(package(sandbox), own)
    assert (tree.root / "hw/nvme/ctrl.c").readlink() == own / "hw/nvme/ctrl.c"
    assert not (tree.root / "hw/nvme/ctrl.o").exists()
    assert tree.label == f"QEMU 10.0.99 ({own})"
    assert tree.origin == own
    (own / "hw/nvme/new.c").touch()
    (own / "configure").unlink()
    trees.prepare(package(sandbox), own)
    assert (tree.root / "hw/nvme/new.c").is_symlink()
    assert not (tree.root / "configure").is_symlink()


def test_links_are_restored(tmp_path: Path) -> None:
    """A build may put a file in a link's place."""
    (tmp_path / "aim").touch()
    farm = tmp_path / "farm"
    farm.mkdir()
    (farm / "lock").touch()
    trees._link_all(farm, {"lock": tmp_path / "aim"}, set())
    assert (farm / "lock").readlink() == tmp_path / "aim"


def test_an_own_git_tree_is_what_git_knows(own: Path) -> None:
    git = ["git", "-C", str(own), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    (own / ".gitignore").write_text("*.o\n")
    subprocess.run([*git, "add", "configure"], check=True)
    assert sorted(trees.source_files(own)) == [".gitignore", "VERSION", "configure",
                                               "hw/nvme/ctrl.c"]


def test_versions_of_own_trees(tmp_path: Path, own: Path) -> None:
    assert trees.own_version(own) == "10.0.99"
    (tmp_path / "Makefile").write_text(
        "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 107\nEXTRAVERSION =\n")
    assert trees.own_version(tmp_path) == "6.12.107"


# --- the rest -----------------------------------------------------------------------------


def test_unknown_build_targets_name_the_known_ones() -> None:
    args = argparse.Namespace(target=["nothing"])
    with pytest.raises(UsageError) as caught:
        cli.load("build").run(args)
    assert "engine, qemu, linux, image" in (caught.value.hint or "")


def test_clean_says_what_it_removes(
    sandbox: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for directory in (paths.BUILD, paths.CACHE, paths.RESULTS, paths.RUNS):
        directory.mkdir(exist_ok=True)
        (directory / "file").write_bytes(b"x" * 100_000)
    clean.run(argparse.Namespace(all=False, runs=False, dry_run=True))
    assert (paths.BUILD / "file").exists()
    clean.run(argparse.Namespace(all=False, runs=True, dry_run=False))
    assert not paths.RUNS.exists()
    assert (paths.BUILD / "file").exists() and (paths.CACHE / "file").exists()
    clean.run(argparse.Namespace(all=False, runs=False, dry_run=False))
    assert not paths.BUILD.exists()
    assert paths.CACHE.exists() and paths.RESULTS.exists()
    clean.run(argparse.Namespace(all=True, runs=False, dry_run=False))
    assert not paths.CACHE.exists() and not paths.RESULTS.exists()
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "sources, builds, logs" in shown.err and "freed: " in shown.err


def test_all_requirements_are_pinned() -> None:
    pins = bootstrap.requirements()
    assert all(pin.count("==") == 1 for pin in pins)
    names = [bootstrap._canonical(pin) for pin in pins]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("line", "reason"), [
    ("WARNING: Retrying after connection broken by 'NewConnectionError(x)': /y",
     "cannot be reached: NewConnectionError(x)"),
    ("WARNING: Retrying after connection broken by 'SSLError([SSL: CERTIFICATE_VERIFY_FAILED]",
     "PIP_CERT"),
    ("ERROR: other", "ERROR: other"),
])
def test_a_broken_connection_is_not_blamed_on_the_package(line: str, reason: str) -> None:
    last = [] if line.startswith("ERROR") else ["ERROR: No matching distribution found for x"]
    assert reason in bootstrap.download_problem([line, *last])


def test_every_package_has_hashes() -> None:
    """Of the versions that are pinned, and no others."""
    pins = {*bootstrap.requirements(), *(pin for name in bootstrap._project()[
        "optional-dependencies"] for pin in bootstrap.extra_requirements(name))}
    found = bootstrap.locked(sorted(pins))
    assert found.count("==") == len(pins)
    lock = (paths.TOOLS / "requirements.lock").read_text("utf-8")
    assert lock.count("==") == len(pins)
    with pytest.raises(CintError, match=r"no hashes of meson==1\.0"):
        bootstrap.locked(["meson==1.0"])


def test_a_wheel_of_another_content_is_not_installed(tmp_path: Path) -> None:
    (tmp_path / "iniconfig-2.3.1-py3-none-any.whl").write_bytes(b"another")
    (tmp_path / "asked").write_text(bootstrap.locked(["iniconfig==2.3.1"]), "utf-8")
    done = subprocess.run(
        [sys.executable, *bootstrap._PIP, "install", "--no-index", "--no-deps", "--target",
         tmp_path / "there", "--find-links", tmp_path, *bootstrap._HASHED, tmp_path / "asked"],
        capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr


def test_wheels_are_kept_per_set_of_pins() -> None:
    assert bootstrap.wheel_dir(["a==1", "b==2"]) == bootstrap.wheel_dir(["b==2", "a==1"])
    assert bootstrap.wheel_dir(["a==1"]) != bootstrap.wheel_dir(["a==2"])


# ---- extras ---------------------------------------------------------------

def test_an_extra_stays_once_it_was_asked_for(tmp_path: Path,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "VENV", tmp_path)
    assert bootstrap.installed_extras() == []
    pins = bootstrap.extra_requirements("cluster")
    assert any(pin.startswith("distributed==") for pin in pins)
    assert all("==" in pin for pin in pins)
    (tmp_path / "cint-extra-cluster").write_text("\n".join(pins) + "\n", "utf-8")
    assert bootstrap.installed_extras() == pins
    # There already: nothing is downloaded or installed.
    monkeypatch.setattr(bootstrap, "fetch_wheels", lambda *_: pytest.fail("it downloads"))
    monkeypatch.setattr(paths, "BUILD", tmp_path)
    bootstrap.install_extra("cluster")
