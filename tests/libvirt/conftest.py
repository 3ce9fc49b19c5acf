# SPDX-License-Identifier: GPL-2.0-or-later
"""A libvirt of the test's own: a session daemon with its files in a temporary directory.

libvirt's session mode is for people who are not root, so root's tests run it as `nobody`. Nothing
of the machine's own libvirt, if there is one, is touched; no service manager is needed.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import bootdisk

from cint import paths
from cint.build import install

#: As long as a guest may take to boot on a busy machine, and a daemon to answer.
BOOT_LIMIT_S = 900.0
DAEMON_LIMIT_S = 300.0
#: What the guest's agent says when nobody has told it what to do.
SHELL = "here is a shell"


class Virsh:
    """virsh, connected to the daemon of a directory of its own."""

    def __init__(self, directory: Path, prefix: Path) -> None:
        self.directory = directory
        self.user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        home, runtime = directory / "home", directory / "run"
        for path in (home, runtime):
            path.mkdir(mode=0o700)
            self.give(path)
        self.give(directory)
        # For snapshots libvirt looks for qemu-img on the path.
        self._env = {"PATH": f"{prefix}/bin:{os.environ['PATH']}",
                     "LC_ALL": "C.UTF-8", "HOME": str(home),
                     "XDG_RUNTIME_DIR": str(runtime), "XDG_CONFIG_HOME": str(home / "config"),
                     "XDG_CACHE_HOME": str(home / "cache"), "XDG_DATA_HOME": str(home / "data")}
        self._daemon = subprocess.Popen(
            [*self._prefix(), shutil.which("libvirtd") or "/usr/sbin/libvirtd", "--timeout=600"],
            env=self._env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)

    def _prefix(self) -> list[str]:
        if self.user is None:
            return []
        return ["setpriv", f"--reuid={self.user.pw_uid}", f"--regid={self.user.pw_gid}",
                "--clear-groups"]

    def give(self, path: Path) -> None:
        """Make a file or directory the daemon's."""
        if self.user is not None:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def run(self, *words: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run one virsh command."""
        done = subprocess.run(
            [*self._prefix(), "virsh", "-q", "-c", "qemu:///session", *map(str, words)],
            env=self._env, capture_output=True, text=True, check=False, timeout=DAEMON_LIMIT_S)
        assert done.returncode == 0 or not check, done.stderr + self.logs()
        return done

    def __call__(self, *words: str | Path) -> str:
        return self.run(*words).stdout.strip()

    def wait_for_daemon(self) -> None:
        """Wait until it answers."""
        deadline = time.monotonic() + DAEMON_LIMIT_S
        while self.run("uri", check=False).returncode:
            assert time.monotonic() < deadline, "libvirtd does not answer"
            assert self._daemon.poll() is None, "libvirtd ended"
            time.sleep(0.2)

    def logs(self) -> str:
        """What the domains' QEMUs printed."""
        return "".join(path.read_text("utf-8", errors="replace")[-4000:] for path in
                       (self.directory / "home/cache/libvirt/qemu/log").glob("*.log"))

    def close(self) -> None:
        """End all domains and the daemon."""
        for name in self.run("list", "--name", check=False).stdout.split():
            self.run("destroy", name, check=False)
        self._daemon.terminate()
        self._daemon.wait(DAEMON_LIMIT_S)


@pytest.fixture
def virsh(prefix: Path) -> Iterator[Virsh]:
    """A daemon for one test. The paths of its sockets must be short."""
    directory = Path(tempfile.mkdtemp(prefix="cint-lv-"))
    directory.chmod(0o755)
    found = Virsh(directory, prefix)
    try:
        found.wait_for_daemon()
        yield found
    finally:
        found.close()
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def prefix() -> Iterator[Path]:
    """QEMU, installed where `nobody` can use it."""
    directory = Path(tempfile.mkdtemp(prefix="cint-install-"))
    directory.chmod(0o755)
    install.install(directory / "qemu", force=False)
    yield directory / "qemu"
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def raw_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A disk with the distribution's own kernel, as it is, and a small root file system."""
    disk = tmp_path_factory.mktemp("boot") / "disk.raw"
    bootdisk.make(disk, paths.DISTRO_KERNEL, paths.DISTRO_INITRAMFS,
                  ("console=ttyS0", "panic=-1", "no_timer_check"))
    return disk


@pytest.fixture
def disk(virsh: Virsh, prefix: Path, raw_disk: Path) -> Path:
    """The same as a qcow2 of the test's own."""
    image = virsh.directory / "disk.qcow2"
    subprocess.run([prefix / "bin/qemu-img", "convert", "-O", "qcow2", raw_disk, image], check=True)
    virsh.give(image)
    return image


Cint = Callable[..., str]


@pytest.fixture
def cint(prefix: Path) -> Cint:
    """./cint libvirt with the installed QEMU: its standard output."""

    def run(*words: str | Path) -> str:
        done = subprocess.run([paths.ROOT / "cint", "libvirt", "--prefix", prefix, *words],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
