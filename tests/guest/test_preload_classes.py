# SPDX-License-Identifier: GPL-2.0-or-later
"""Marks by rules where queues are by class (docs/preload.md): which queue, and which mark.

One CPU does it: queue 1 is its own for everything but the realtime class, queue 3 for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from conftest import log_root
from marks import Marks, hint_machine, names
from serving import Guest, serving
from switching import L0, T0, commands, set_mode
from test_preload import ONE, fio, ready, under, with_programs

from cint.guest import hints, kinds

READS = 64


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """Our kernel with queues by class, and the library."""
    ready("cint")
    machine = kinds.dress(hint_machine("nvme.blk_switch=1"), "cint", f"{hints.PRELOAD}any")
    machine = replace(machine, initramfs=with_programs(machine.initramfs,
                                                       tmp_path_factory.mktemp("classes")))
    with serving(machine, log_root() / "preload-classes") as running:
        running.shell(names(1))
        set_mode(running, "prio")
        yield running


#: A rule and how it is said, the job's engine, and what comes of it: the queue, and the marks
#: (None: nothing is urgent, and batches are as fio makes them).
CASES = {
    "urgent by priority": ("urgent", "priority", "psync", L0, Marks(urgent=READS)),
    "urgent by flags": ("urgent", "flags", "psync", T0, Marks(urgent=READS)),
    "unmarked by priority": ("unmarked", "priority", "psync", T0, Marks(urgent=READS)),
    "unmarked by flags": ("unmarked", "flags", "psync", T0, Marks(READS)),
    "barrier by priority": ("barrier", "priority", "psync", T0, Marks(urgent=READS)),
    "usual": ("usual", "priority", "psync", T0, Marks(urgent=READS)),
    "urgent aio by flags": ("urgent", "flags", "libaio", T0, Marks(urgent=READS)),
    "urgent aio by priority": ("urgent", "priority", "libaio", L0, None),
}


@pytest.mark.parametrize("name", CASES)
def test_which_queue(guest: Guest, name: str) -> None:
    """A priority chooses the queue, a flag does not; and our kernel marks by flags alone."""
    mark, how, engine, queue, wanted = CASES[name]
    command = fio(guest, text=f"{ONE}cpus_allowed=0\n", engine=engine, depth=8)
    before = commands(guest)
    marks, said = under(guest, f"how {how}\n{mark}", command)
    got = {sqid: count - before[sqid] for sqid, count in commands(guest).items()
           if count != before[sqid]}
    assert got == {queue: READS}, said
    assert marks == (wanted or replace(marks, urgent=0))
