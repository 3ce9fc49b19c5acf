# SPDX-License-Identifier: GPL-2.0-or-later
"""The driver takes urgent completions out of order, and nothing is ever lost by it.

Data carries checksums, the queues' counters are read in the guest (debugfs) and on the device (log
page D0h), and a command that timed out shows in the kernel's messages, which every boot checks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from conftest import Boot
from overtaking import (
    CHANGES,
    COUNTERS,
    MIB,
    ON_ONE_CPU,
    PARAMETER,
    POLL,
    SYNC_ONLY,
    SYSFS,
    check_ios,
    mix,
    parse_counters,
    shaken_machine,
    waiting_machine,
)
from serving import Guest, serving

from cint.device import logpage
from cint.guest import agent, vm

READERS = 6
FULL_CQ = """\
[global]
filename=/dev/nvme0n1
direct=1
bs=4k
rw=randread
size=2M
[sync]
ioengine=psync
numjobs={readers}
[async]
ioengine=libaio
iodepth=1
"""
RESETS = 4
#: Resets, CPUs that come and go, and the switches, all under load.
CHAOS = f"""\
load() {{
    while [ ! -e /tmp/stop ]; do
        fio --eta=never $1 > $1.out 2>&1 || {{ cat $1.out; touch $1.failed; return; }}
        echo done >> $1.runs
    done
}}
load /tmp/mix.fio & load /tmp/poll.fio &
for i in $(seq {RESETS}); do
    echo 1 > {SYSFS}/reset_controller
    echo 0 > /sys/devices/system/cpu/cpu1/online
    echo 0 > {SYSFS}/ooo_urgent
    sleep 0.2
    echo 1 > /sys/devices/system/cpu/cpu1/online
    echo 0 > {PARAMETER}
    echo 1 > {SYSFS}/ooo_urgent
    sleep 0.2
    echo 1 > {PARAMETER}
done
touch /tmp/stop
wait
[ ! -e /tmp/mix.fio.failed ] && [ ! -e /tmp/poll.fio.failed ] || exit 1
wc -l < /tmp/mix.fio.runs
"""
#: Take the controller away under load; fio is to fail, the kernel is not.
REMOVE = f"""\
dev=$(basename $(readlink -f /sys/class/nvme/nvme0/device))
sed 's/^direct=1$/&\\ntime_based\\nruntime=60/' /tmp/mix.fio > /tmp/long.fio
fio --eta=never /tmp/long.fio > /tmp/removed.out 2>&1 & load=$!
sleep 0.5
echo 1 > /sys/bus/pci/devices/$dev/remove
wait $load && exit 1
[ -e {COUNTERS} ] && exit 2
echo 1 > /sys/bus/pci/rescan
i=0; while [ ! -e /dev/nvme0n1 ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i + 1)); done
cat {SYSFS}/ooo_urgent
"""
def shell(name: str, script: str) -> agent.Job:
    """A step of a plan that is a shell script."""
    return agent.Job(name, argv=agent.exec_argv(script))


def fio(name: str, text: str) -> agent.Job:
    """A step of a plan that is a fio job."""
    return agent.Job(name, fio=text, args=("--eta=never",))


def grown(later: Mapping[str, int], earlier: Mapping[str, int]) -> dict[str, int]:
    """What the counters counted in between."""
    return {name: value - earlier[name] for name, value in later.items()}


def urgent_interrupts(result: agent.Message) -> int:
    """Interrupts of the urgent class during one step, by the device's log page."""
    counts = []
    for edge in ("before", "after"):
        page = agent.parse_snapshot(result[edge]).nvme_log
        assert page is not None
        counts.append(sum(r.counters["irqs_urgent"] for r in logpage.decode(page).records))
    return counts[1] - counts[0]


def test_switches(boot: Boot, disk: vm.Backend) -> None:
    """Out of order, then switched off on the device, then in the driver only; data is right."""
    plan = agent.Plan((
        fio("on", mix()), shell("1", f"cat {COUNTERS} {SYSFS}/ooo_urgent"),
        shell("disable", f"echo 0 > {SYSFS}/ooo_urgent; cat {SYSFS}/ooo_urgent"),
        shell("2", f"cat {COUNTERS}"),
        fio("off", mix()), shell("3", f"cat {COUNTERS}"),
        shell("enable", f"echo 1 > {SYSFS}/ooo_urgent; echo 0 > {PARAMETER};"
                        f" cat {SYSFS}/ooo_urgent"),
        fio("driver-off", mix()), shell("4", f"cat {COUNTERS}"),
        shell("again", f"echo 1 > {PARAMETER}"),
        fio("on-again", mix()), shell("5", f"cat {COUNTERS}")))
    results = boot(waiting_machine(disk), plan).results
    text = str(results["1"]["stdout"])
    assert text.endswith("\n1\n")
    states = [parse_counters(text[:-2]),
              *(parse_counters(str(results[n]["stdout"])) for n in "2345")]
    on, off, driver_off, again = (states[0], *(grown(states[i + 1], states[i]) for i in (1, 2, 3)))
    for name in ("on", "off", "driver-off", "on-again"):
        check_ios(results[name], 5 * MIB // 4096)
    assert [state["held"] for state in states] == [0] * 5
    assert results["disable"]["stdout"] == results["enable"]["stdout"] == "0\n"

    for name, taken in (("on", on), ("on-again", again)):
        assert urgent_interrupts(results[name]) > 50, name
        assert taken["urgent_only"] > 50, name
        assert taken["reaped_ooo"] > 50, name
        assert taken["doorbells"] < taken["irqs"], name
    assert states[0]["held_max"] > 4
    assert urgent_interrupts(results["off"]) == 0
    assert urgent_interrupts(results["driver-off"]) > 50
    for taken in (off, driver_off):
        assert taken["irqs"] > 50
        assert (taken["urgent_only"], taken["reaped_ooo"]) == (0, 0)


@pytest.mark.parametrize("shadow", ["on", "off"])
def test_completion_queue_runs_full(boot: Boot, disk: vm.Backend, shadow: str) -> None:
    """Eight entries, one of them held: urgent ones fill the rest, and the device gets it moving."""
    plan = agent.Plan((fio("full", FULL_CQ.format(readers=READERS)), shell("1", f"cat {COUNTERS}")))
    guest = waiting_machine(disk, (SYNC_ONLY, "nvme.io_queue_depth=8"), f"dbcs={shadow}")
    results = boot(guest, plan).results
    counted = parse_counters(str(results["1"]["stdout"]))
    check_ios(results["full"], (READERS + 1) * 2 * MIB // 4096)
    page = agent.parse_snapshot(results["full"]["after"]).nvme_log
    assert page is not None
    assert logpage.decode(page).total().reasons["pressure"] > 50
    assert counted["reaped_ooo"] > 50
    assert counted["held"] == 0


#: Why a guest does without: what the kernel is told, the device is, and the driver shows of it.
WITHOUT = {
    "no-hints": ((SYNC_ONLY, "nvme.irq_hints=0"), "", "no attribute"),
    "threads": ((SYNC_ONLY, "nvme.use_threaded_interrupts=1"), "", "0"),
    "one-vector": ((SYNC_ONLY,), "msix_qsize=1", "0"),
    "pin": ((SYNC_ONLY, "pci=nomsi"), "", "0"),
}


@pytest.mark.parametrize("why", WITHOUT)
def test_without(boot: Boot, disk: vm.Backend, why: str) -> None:
    """The same load where out of order is not possible: there is none, and nothing is lost."""
    append, device_opts, shown = WITHOUT[why]
    show = f"cat {SYSFS}/ooo_urgent 2>/dev/null || echo no attribute"
    plan = agent.Plan((
        shell("shown", show), shell("enable", f"echo 1 > {SYSFS}/ooo_urgent && echo enabled; true"),
        fio("mix", mix()), shell("counters", f"grep -c '^[1-9]' {COUNTERS}; true")))
    results = boot(waiting_machine(disk, append, device_opts), plan).results
    assert results["shown"]["stdout"] == f"{shown}\n"
    assert results["enable"]["stdout"] == ""
    assert results["counters"]["stdout"] in ("", "0\n")
    check_ios(results["mix"], 5 * MIB // 4096)
    assert urgent_interrupts(results["mix"]) == 0


def change_policies(guest: Guest) -> None:
    """The host changes the device's ways while the guest does I/O."""
    request = {"id": 1000, "cmd": "fio", "name": "mix", "fio": mix(numjobs=2),
               "args": ["--eta=never"], "timeout_s": 60}
    guest.vm.send(json.dumps(request).encode())
    rounds, reply = 0, None
    while reply is None or reply.get("id") != 1000:
        for change in CHANGES:
            for name, value in change.items():
                guest.vm.qmp.set(name, value)
        rounds += 1
        reply = guest.vm.try_message(0.05)
        reply = reply if reply and "id" in reply else None
    assert rounds > 3
    assert agent.result_failure(reply) is None
    check_ios(reply, 6 * MIB // 4096)


def shake(shaken: Guest) -> None:
    """Resets, CPUs offline, switches, policies, polling, removal: all under verified load."""
    shaken.write_file("/tmp/mix.fio", mix(numjobs=2).encode())
    shaken.write_file("/tmp/poll.fio", POLL.encode())
    runs = shaken.shell(CHAOS)
    assert int(runs) > 0
    setups = re.findall(r"(\d+/\d+/\d+) default/read/poll queues", shaken.shell("dmesg"))
    assert setups == ["2/0/1"] * (1 + RESETS)
    change_policies(shaken)
    shaken.fio("settled", ON_ONE_CPU)
    counted = parse_counters(shaken.shell(f"cat {COUNTERS}"))
    assert counted["queues"] == 2, "the polled queue has no interrupts"
    assert counted["reaped_ooo"] > 0
    assert counted["held"] == 0
    assert shaken.shell(REMOVE).strip() == "1"
    shaken.fio("after-rescan", ON_ONE_CPU)
    assert parse_counters(shaken.shell(f"cat {COUNTERS}"))["reaped_ooo"] > 0


def test_nothing_is_lost(disk: vm.Backend, logs: Path) -> None:
    """All that may happen to a driver, in one boot."""
    with serving(shaken_machine(disk), logs) as guest:
        shake(guest)


@pytest.mark.slow
def test_kernel_finds_nothing(debug_kernel: Path, disk: vm.Backend, logs: Path) -> None:
    """The same under lockdep and KASAN."""
    with serving(shaken_machine(disk, debug_kernel), logs, 3 * vm.BOOT_LIMIT_S) as guest:
        guest.shell("[ -e /proc/lockdep ] && zcat /proc/config.gz | grep -q ^CONFIG_KASAN=y")
        shake(guest)
        guest.shell("grep -q 'debug_locks: *1' /proc/lockdep_stats")


def test_switched_off_without_a_cpu(disk: vm.Backend, logs: Path) -> None:
    """A queue whose vector has no CPU is left alone: the vector was never started."""
    with serving(shaken_machine(disk), logs) as guest:
        guest.shell("echo 0 > /sys/devices/system/cpu/cpu1/online")
        guest.shell(f"echo 1 > {SYSFS}/reset_controller")
        for on in (0, 1, 0):
            guest.shell(f"echo {on} > {SYSFS}/ooo_urgent")
        guest.shell("echo 1 > /sys/devices/system/cpu/cpu1/online")
        guest.shell(f"echo 1 > {SYSFS}/ooo_urgent")
        guest.fio("again", ON_ONE_CPU)
        assert parse_counters(guest.shell(f"cat {COUNTERS}"))["reaped_ooo"] > 0
