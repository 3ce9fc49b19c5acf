# SPDX-License-Identifier: GPL-2.0-or-later
"""A tracepoint of the driver is switched without pause while its CPUs send commands.

Once by the kernel's own event, without our module, and once by the module's parameter while it is
removed and loaded. Each CPU has a thread of its own, as in any guest: a QEMU without our repair can
keep translated code from before a store to it then, and the kernel meets a breakpoint that it has
taken away (docs/hints-module.md). And once the CPUs take turns in one thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
import release
from conftest import log_root
from marks import BDEV, Marks, hint_machine, hintio, names, sent
from serving import Guest, serving
from test_hints_module import ALLOWED, EVENT, PARAMETERS, load

from cint import steps
from cint.build import hints as module
from cint.guest import hints, kinds

ROUNDS = 20
RELOADS = 3
#: On each CPU, until it is told to stop.
LOAD = f"""\
[global]
filename={BDEV}
direct=1
bs=4k
rw=randread
ioengine=libaio
iodepth=4
time_based
runtime=600
[a]
cpus_allowed=0
[b]
cpus_allowed=1
"""
TOGGLE = "for i in $(seq {rounds}); do echo 1 > {file}; echo 0 > {file}; done"


@pytest.fixture(scope="module", params=["threads", "one-thread"])
def guest(request: pytest.FixtureRequest) -> Iterator[Guest]:
    """The distribution's kernel, with no module yet."""
    with steps.build_lock():
        release.build_module()
    bare = replace(hint_machine(), one_thread=request.param == "one-thread")
    machine = kinds.dress(bare, "distro", hints.MODULE)
    logs = log_root() / f"hints-toggled-{request.param}"
    with serving(machine, logs, kinds.BOOT_LIMIT_S, ALLOWED) as running:
        running.shell(f"{names(1)} mount -t tracefs none /sys/kernel/tracing 2>/dev/null || true")
        yield running


@pytest.fixture
def loaded(guest: Guest) -> Iterator[Guest]:
    """The same while both CPUs read."""
    guest.write_file("/tmp/load.fio", LOAD.encode())
    guest.start("fio", "fio /tmp/load.fio --eta=never")
    yield guest
    guest.shell("killall -INT fio")
    guest.end("fio")


@pytest.mark.slow
def test_by_the_kernels_own_event(loaded: Guest) -> None:
    """The control: no module of ours."""
    loaded.shell(TOGGLE.format(rounds=ROUNDS, file=f"{EVENT}/enable"))
    assert not loaded.has_ended("fio")


@pytest.mark.slow
def test_by_the_module(loaded: Guest) -> None:
    """Two programs write its parameter, and it comes and goes; then it marks as before."""
    load(loaded)
    for name in ("one", "other"):
        loaded.start(name, TOGGLE.format(rounds=ROUNDS, file=f"{PARAMETERS}/on")
                     .replace("done", "2>/dev/null; done"))
    for _ in range(RELOADS):
        loaded.shell(f"until rmmod {module.NAME}; do sleep 0.02; done")
        load(loaded)
    for name in ("one", "other"):
        loaded.end(name)
    assert not loaded.has_ended("fio")
    loaded.shell(f"rmmod {module.NAME}")


@pytest.mark.slow
def test_marks_after_it(guest: Guest) -> None:
    """Loaded once more, alone."""
    load(guest)
    assert sent(guest, hintio("--api=pread --count=4")) == Marks(urgent=4)
    guest.shell(f"rmmod {module.NAME}")
