# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs on the workers of a Dask scheduler, all on the loopback interface."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from test_runs import FAKE, JOBS, machine

from cint import bootstrap, cli, paths
from cint.errors import CintError, UsageError
from cint.guest import vm
from cint.measure import dispatch, plan, runner
from cint.measure.plan import Files, RunPlan
from cint.verbs import worker

__all__ = ["machine"]

START_S = 60


# ---- the options --------------------------------------------------------

def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    worker.declare(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize(("words", "message"), [
    ((), "give the scheduler's ADDRESS, or --scheduler"),
    (("--scheduler", "tcp://127.0.0.1:1"), "give the scheduler's ADDRESS, or --scheduler"),
    (("127.0.0.1",), "give tcp://HOST:PORT"), (("tcp://127.0.0.1",), "give tcp://HOST:PORT"),
    (("tcp://10.0.0.1:8786",), "cannot reach a worker at 127.0.0.1"),
    (("tls://127.0.0.1:8786",), "go together"),
    (("--scheduler", "--tls-cert", "/nowhere"), "go together"),
    (("--scheduler", *(w for n in worker.TLS for w in (f"--{n}", "/nowhere"))), "no such file")])
def test_refused(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        worker.check(parsed(*words))


def test_it_listens_on_the_loopback_interface_unless_told() -> None:
    for words in (("--scheduler",), ("tcp://127.0.0.1:8786",)):
        argv = worker.command(parsed(*words))
        assert argv[argv.index("--host") + 1] == "127.0.0.1"
        assert argv[argv.index("--dashboard-address") + 1] == "127.0.0.1:0"
        assert "--no-dashboard" in argv
    args = parsed("tcp://10.0.0.1:8786", "--listen", "10.0.0.2", "--guests", "3")
    worker.check(args)
    argv = worker.command(args)
    assert argv[argv.index("--host") + 1] == "10.0.0.2"
    assert argv[argv.index("--nthreads") + 1] == "3"


def test_runs_that_belong_to_this_machine_are_refused(machine: vm.Machine, tmp_path: Path) -> None:
    real = RunPlan.of("real", replace(machine, virtual=False), JOBS, Files.of(machine))
    with pytest.raises(UsageError, match="real runs on this machine only: real time"):
        list(dispatch.run_here([real], {}, lambda run: tmp_path, cluster="tcp://127.0.0.1:1"))


# ---- on the loopback interface -------------------------------------------

class Dask:
    """A scheduler and workers, as ./cint worker starts them; `log` has what they said."""

    def __init__(self, directory: Path, cache: Path, *options: str) -> None:
        self.directory = directory
        self.cache = cache
        self.options = options
        self.processes: list[subprocess.Popen[bytes]] = []
        file = directory / "scheduler.json"
        argv = worker.command(parsed("--scheduler", "--port", "0", *options))
        self.scheduler = self._start([*argv, "--scheduler-file", str(file)], "scheduler")
        self._wait(file.exists, "the scheduler")
        self.address = str(json.loads(file.read_text())["address"])

    def _start(self, argv: list[str], name: str, **more: str) -> subprocess.Popen[bytes]:
        env = {**os.environ, "PYTHONPATH": f"{FAKE.parent}:{paths.TOOLS}",
               "XDG_CACHE_HOME": str(self.cache), **more}
        with (self.directory / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(argv, stdout=log, stderr=log, env=env)
        self.processes.append(process)
        return process

    def _wait(self, ready: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + START_S
        while not ready():
            assert time.monotonic() < deadline, f"{what} did not start"
            time.sleep(0.1)

    def add(self, name: str, **more: str) -> subprocess.Popen[bytes]:
        """Start a worker for two guests; keywords are its environment."""
        argv = worker.command(parsed(self.address, "--guests", "2", "--name", name,
                                     *self.options))
        process = self._start(argv, name, **more)
        log = self.directory / f"{name}.log"
        self._wait(lambda: b"Registered to" in log.read_bytes() or process.poll() is not None,
                   name)
        return process

    def close(self) -> None:
        """End all of them."""
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Dask]:
    """A scheduler without workers; needs the extra, which is installed."""
    bootstrap.install_extra("cluster")
    with ExitStack() as stack:
        found = Dask(tmp_path, tmp_path / "cache")
        stack.callback(found.close)
        yield found


def several(machine: vm.Machine, count: int) -> list[RunPlan]:
    """Runs that differ."""
    files = Files.of(machine)
    return [RunPlan.of(f"run {i}", replace(machine, seed=i + 1), JOBS, files)
            for i in range(count)]


def go(dask: Dask, machine: vm.Machine, runs: list[RunPlan]) -> list[runner.Done]:
    """Run them there; all have to end well."""
    done = sorted(dispatch.run_here(runs, Files.of(machine).places,
                                    lambda run: dask.directory / "logs" / run.name,
                                    cluster=dask.address), key=lambda one: one.index)
    assert [one.problem for one in done] == [None] * len(runs)
    return done


@pytest.mark.slow
def test_two_workers_give_what_this_machine_gives(machine: vm.Machine, dask: Dask,
                                                  capsys: pytest.CaptureFixture[str]) -> None:
    dask.add("one")
    dask.add("two")
    runs = several(machine, 6)
    for one in go(dask, machine, runs):
        assert one.outcome is not None
        here = runner.execute(one.run, Files.of(machine).places)
        assert plan.difference(here, one.outcome) is None
        # It ran what came by its content, from the worker's own cache.
        assert one.outcome.argv[0].startswith(str(dask.cache / "cint/files"))
        logs = dask.directory / "logs" / one.run.name
        assert (logs / "agent.log").read_bytes() == here.agent
    assert "2 workers" in capsys.readouterr().err
    assert listening(dask) == {"0100007F"}


def listening(dask: Dask) -> set[str]:
    """The IPv4 addresses (hex, as the kernel has them) where its processes listen."""
    inodes = set()
    for process in dask.processes:
        for fd in Path(f"/proc/{process.pid}/fd").iterdir():
            name = str(fd.readlink())
            if name.startswith("socket:["):
                inodes.add(name[8:-1])
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in inodes:
                found.add(words[1].partition(":")[0])
    return found


@pytest.mark.slow
def test_a_worker_that_dies_loses_nothing(machine: vm.Machine, dask: Dask) -> None:
    # Its guests hang, so that it dies in the middle of them.
    doomed = dask.add("doomed", FAKE_GUEST="hang")
    runs = several(machine, 4)
    found = dispatch.run_here(runs, Files.of(machine).places,
                              lambda run: dask.directory / "logs" / run.name, cluster=dask.address)
    done: list[runner.Done] = []
    thread = threading.Thread(target=lambda: done.extend(found))
    thread.start()
    log = dask.cache / "cint/files"
    deadline = time.monotonic() + START_S
    while not any(log.glob("*/qemu")):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    time.sleep(2)
    assert not done
    dask.add("other")
    doomed.send_signal(signal.SIGKILL)
    thread.join(120)
    assert [one.problem for one in done] == [None] * len(runs)
    assert {one.index for one in done} == set(range(len(runs)))


@pytest.mark.slow
def test_a_worker_that_cannot_run_the_binaries_is_refused_by_name(
        machine: vm.Machine, dask: Dask, capsys: pytest.CaptureFixture[str]) -> None:
    # Its interpreter of the fake QEMU is one that is not there.
    bad = dask.directory / "bin"
    bad.mkdir()
    dask.add("good")
    dask.add("lame", PATH=str(bad))
    runs = several(machine, 2)
    go(dask, machine, runs)
    said = capsys.readouterr().err
    assert "worker lame at tcp://127.0.0.1:" in said
    assert "is refused: it cannot run QEMU" in said


@pytest.mark.slow
def test_a_checkout_that_differs_is_refused(machine: vm.Machine, dask: Dask, tmp_path: Path,
                                            capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "checkout/tools"
    for part in (paths.TOOLS, paths.OVERLAY_NVME, paths.REPLAY_SRC):
        to = tmp_path / "checkout" / part.relative_to(paths.ROOT)
        to.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-r", part, to], check=True)
    (other / "cint/new.py").write_text("")
    dask.add("stranger", PYTHONPATH=f"{FAKE.parent}:{other}")
    with pytest.raises(CintError, match="no worker that can take part"):
        go(dask, machine, several(machine, 1))
    assert "worker stranger at " in capsys.readouterr().err


@pytest.mark.slow
def test_no_scheduler(machine: vm.Machine, tmp_path: Path) -> None:
    bootstrap.install_extra("cluster")
    with pytest.raises(CintError, match="no Dask scheduler answers"):
        list(dispatch.run_here(several(machine, 1), Files.of(machine).places, lambda run: tmp_path,
                               cluster="tcp://127.0.0.1:9"))


def documented(start: str) -> list[str]:
    """The lines of docs/cluster.md that begin so."""
    lines = (paths.ROOT / "docs/cluster.md").read_text("utf-8").splitlines()
    return [line.strip() for line in lines if line.strip().startswith(start)]


@pytest.mark.slow
def test_tls_as_documented(machine: vm.Machine, tmp_path: Path,
                           monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's own lines: only who has a certificate of the authority takes part."""
    bootstrap.install_extra("cluster")
    import dask as settings  # noqa: PLC0415 - needs the extra

    strangers = tmp_path / "strangers"
    strangers.mkdir()
    for line in documented("openssl "):
        subprocess.run(shlex.split(line), cwd=tmp_path, check=True, capture_output=True)
    files = [word for name, file in zip(worker.TLS, ("ca.pem", "cint.pem", "cint.key"),
                                        strict=True)
             for word in (f"--{name}", str(tmp_path / file))]
    with ExitStack() as stack:
        found = Dask(tmp_path, tmp_path / "cache", *files)
        stack.callback(found.close)
        assert found.address.startswith("tls://127.0.0.1:")
        found.add("one")
        stack.callback(settings.config.refresh)
        stack.callback(monkeypatch.undo)
        runs = several(machine, 2)
        with pytest.raises(UsageError, match="there is no certificate to show"):
            go(found, machine, runs)
        names = [word.partition("=") for line in documented("export DASK_")
                 for word in line.split()[1:]]
        for name, _, file in names:
            monkeypatch.setenv(name, str(tmp_path / file))
        settings.config.refresh()
        go(found, machine, runs)
        # A certificate of another authority is a stranger's.
        for line in documented("openssl "):
            subprocess.run(shlex.split(line), cwd=strangers, check=True, capture_output=True)
        for name, _, file in names:
            monkeypatch.setenv(name, str(strangers / file))
        settings.config.refresh()
        with pytest.raises(CintError, match="no Dask scheduler answers"):
            go(found, machine, runs)


def test_where_nobody_can_listen_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """Before Dask is installed and started, whose answer is a traceback."""
    for name in ("300.1.1.1", "192.0.2.7", "no.such.host.invalid"):
        assert cli.main(["worker", "--scheduler", "--listen", name]) == 2
        assert f"--listen {name}: no address of this machine" in capsys.readouterr().err
    with socket.socket() as taken:
        taken.bind((worker.LOOPBACK, 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert cli.main(["worker", "--scheduler", "--port", port]) == 1
        assert f"--port {port}: another program listens there" in capsys.readouterr().err
    worker.check_listening(worker.LOOPBACK, int(port))


def test_the_verb_says_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["worker", "tcp://10.0.0.1:8786"]) == 2
    assert "--listen HOST" in capsys.readouterr().err
    assert sys.executable in worker.command(parsed("--scheduler"))
