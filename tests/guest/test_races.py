# SPDX-License-Identifier: GPL-2.0-or-later
"""No data race of ours: what shakes the driver and the block layer, on a kernel with KCSAN.

Real time, two CPUs. KCSAN stops every few thousandth access for a while, and looks whether another
CPU, or an interrupt, makes a conflicting one meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import races
import test_blk_switch_shaken
import test_chaos
import test_polling
from conftest import log_root
from marks import hint_machine
from serving import Guest, serving
from test_recovery import FAILED, recovering

from cint.guest import vm

#: Judged by races.check(): a report, and names in its stacks, which hold any word.
SAID = ("BUG: KCSAN", r"(?:^| )[\w.]+\+0x[0-9a-f]+/0x[0-9a-f]+$")
#: All that it says is kept.
LOG = "log_buf_len=16M"
BOOT_LIMIT_S = 6 * vm.BOOT_LIMIT_S
ROUNDS = 200

#: What is shaken: the parameters of the kernel, and what happens.
SHAKEN: dict[str, tuple[str, Callable[[Guest], None]]] = {
    "blk-switch": ("nvme.blk_switch=3", test_blk_switch_shaken.survive),
    "poll_queues": ("nvme.poll_queues=1", test_polling.survive),
    "poll_irq_queues": ("nvme.poll_irq_queues=1", lambda guest: test_polling.survive(guest, False)),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", SHAKEN)
def test_shaken(race_kernel: Path, disk: vm.Backend, what: str) -> None:
    parameter, survive = SHAKEN[what]
    machine = replace(hint_machine(parameter, LOG, kernel=race_kernel), backend=disk)
    with serving(machine, log_root() / f"races-{what}", BOOT_LIMIT_S, SAID) as guest:
        survive(guest)
        races.check(guest)


@pytest.mark.slow
def test_out_of_order(race_kernel: Path, disk: vm.Backend, tmp_path: Path, logs: Path,
                      monkeypatch: pytest.MonkeyPatch) -> None:
    """Urgent completions overtake others, with resets, CPUs and a controller that go and come."""
    monkeypatch.setattr(test_chaos, "ROUNDS", ROUNDS)
    machine = test_chaos.machine(disk, tmp_path / "second.img", race_kernel)
    machine = replace(machine, append=(*machine.append, LOG))
    with recovering(machine, logs, FAILED, *SAID) as guest:
        test_chaos.survive(guest)
        races.check(guest)


def test_what_is_ours() -> None:
    """A race in a function that our patches touch is told from those of stock Linux."""
    changed = races.changed_functions()
    assert {"blk_switch_steer", "nvme_handle_cqe", "blk_mq_get_tag"} <= changed
    assert "inode_update_timestamps" not in changed
    report = "[    1.0] BUG: KCSAN: data-race in {}\n"
    said = "".join(report.format(pair) for pair in (
        "aio_complete / aio_read_events", "nvme_poll / nvme_poll_cq",
        "nvme_poll_cq / nvme_submit_cmds.part.0", "blk_mq_get_tag.isra.0 / sbitmap_get",
        "blk_switch_steer", "nvme_irq_ooo / nvme_ooo_next"))
    assert races.of_ours(said, changed) == [
        "blk_mq_get_tag / sbitmap_get", "blk_switch_steer / ", "nvme_irq_ooo / nvme_ooo_next"]
