# SPDX-License-Identifier: GPL-2.0-or-later
"""What the hints module costs the distribution's kernel for each request: instructions.

Before it is loaded, on, and switched off. A guest of one CPU, in virtual time, so the same numbers
each time; below no I/O scheduler, and below the one that this kernel takes for such a disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pages
import pytest
import release
from conftest import log_root, machine
from instructions import MEDIUM, Call
from marks import BDEV, EXT4, MKFS_EXT4, MOUNT_EXT4, QUIET, make_disk, names
from test_hints_module import PARAMETERS

from cint import steps
from cint.guest import agent, hints, kinds, session, vm

pytestmark = pytest.mark.slow

#: Instructions of a request, at most: what is asked of the module, which is a fifth more than was
#: counted; and by how much two counts of the same differ, for there are some ticks of the clock
#: more or less in each. That there are none with it off test_hints_module.py sees by the code.
ON, OFF = 150, 15
DISK_SIZE = 64 << 20
READS = {
    "pread": Call("--api=pread --repeat={n}", BDEV, 100, 2100),
    "ext4: pread": Call("--api=pread --repeat={n}", f"{EXT4}/file", 100, 2100),
    "io_uring, one by one": Call("--api=uring --stride=8k --count={n}", BDEV, 100, 2100),
    "aio, batches of 8": Call("--api=aio --batch=8 --stride=8k --count={n}", BDEV, 800, 3200),
}
_SCHEDULER = f"echo {{}} > /sys/block/$(basename $(readlink {BDEV}))/queue/scheduler"
CALLS = {f"{scheduler}: {name}": replace(READS[name], setup=_SCHEDULER.format(scheduler))
         for scheduler, found in (("none", READS), ("mq-deadline", ("pread", "aio, batches of 8")))
         for name in found}
SETUP = f"""\
set -e
for m in $(cat /lib/modules/more-order); do insmod $m || true; done
{names(1)}
{QUIET}
mkdir -p {EXT4}
{MOUNT_EXT4} {BDEV} {EXT4}
dd if=/dev/zero of={EXT4}/file bs=1M count=1 2>/dev/null
sync
"""
PROBES = f"{hints.DEBUGFS}/probes"
#: What is done before calls are counted; the last of it fails unless the probes are as wanted.
STATES = {
    "without": (agent.exec_argv(SETUP), agent.exec_argv("[ ! -e /sys/module/cint_hints ]")),
    "on": (hints.setup(hints.MODULE, "distro")[0],
           agent.exec_argv(f"! grep -vwE 'on|idle' {PROBES}")),
    "off": (agent.exec_argv(f"echo 0 > {PARAMETERS}/on; ! grep -w on {PROBES}"),),
}


def plan() -> agent.Plan:
    """Count all calls in each state."""
    jobs: list[agent.Job] = []
    for state, before in STATES.items():
        jobs += (agent.Job(f"{state}{n}", argv=argv) for n, argv in enumerate(before))
        jobs += (call.job(f"{state}: {name}") for name, call in CALLS.items())
    return agent.Plan(tuple(jobs))


Counts = Mapping[str, Mapping[str, float]]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Counts:
    """Instructions of a request, by state and call."""
    with steps.build_lock():
        release.build_module()
    disk = make_disk(tmp_path_factory.mktemp("disks") / "ext4", *MKFS_EXT4, size=DISK_SIZE)
    guest = kinds.dress(machine("default", MEDIUM, k=1, backend=vm.Backend(disk)), "distro",
                        hints.MODULE)
    outcome = session.run_task(session.Task("cost", guest, plan(), log_root() / "hints-cost",
                                            boot_limit_s=kinds.BOOT_LIMIT_S))
    assert outcome.trouble == []
    found = {state: {name: call.instructions(outcome.results[f"{state}: {name}"])
                     for name, call in CALLS.items()} for state in STATES}
    (log_root() / "hints-cost/table.md").write_text(as_text(found), encoding="utf-8")
    pages.keep_table("hints-module.md", "Instructions of a request:\n", as_text(found))
    return found


def as_text(counts: Counts) -> str:
    """The table, as docs/hints-module.md has it."""
    lines = ["| reads | without | on | off |", "|---|---|---|---|"]
    for name in CALLS:
        without, on, off = (counts[state][name] for state in STATES)
        lines.append(f"| {name} | {without:.0f} | {on - without:+.0f} | {off - without:+.0f} |")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("call", CALLS)
def test_on_is_little(table: Counts, call: str) -> None:
    """What was asked for; and that it is on is seen."""
    assert 0 < table["on"][call] - table["without"][call] <= ON


@pytest.mark.parametrize("call", CALLS)
def test_off_is_nothing(table: Counts, call: str) -> None:
    """Switched off it is as if it were not there."""
    assert abs(table["off"][call] - table["without"][call]) <= OFF
