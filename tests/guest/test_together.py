# SPDX-License-Identifier: GPL-2.0-or-later
"""All at once: hints, out of order, two policies, a storm limit, steering, polling, and user space.

One guest has two controllers. The kernel drives A: marked I/O and I/O that is not, and a queue for
polling, while the host goes from policy cint to vic and back at random and changes their
parameters. A process drives B, with the interrupt pointer, hints and status records, while the host
goes from policy pointer to cint and back. All data that was written carries checksums. In most
rounds fio, the guest's kernel and the device count everything; in the others both controllers are
reset under load, one as often as the other.

In real time two CPUs run at once. Whether a process has missed an interrupt shows in how long it
waited, of which nothing but the guest decides in virtual time: there it is judged.

CINT_TOGETHER_IOS and CINT_TOGETHER_SEED set how many I/Os are counted, and what happens.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from holds import Watch
from overtaking import COUNTERS, MIB, SYSFS, WAITING, parse_counters, shaken_machine
from serving import Guest, serving
from switching import ALWAYS, QUEUE, hardware_queues, set_threshold
from waits import LOST_US, is_late, slowest_us, words

from cint import paths
from cint.device import logpage
from cint.device.properties import MAX_HOLD_NS
from cint.guest import agent, drivers, qmp, vm
from cint.measure import comparison

IOS = int(os.environ.get("CINT_TOGETHER_IOS", "10000000"))
SEED = int(os.environ.get("CINT_TOGETHER_SEED", "1"))
#: In so many I/Os everything happens that may.
ENOUGH = 1_000_000
#: One round in so many resets the controllers, so often, with so many changes before each; the
#: others count.
SHAKEN_EVERY, RESETS, CHANGES_BETWEEN = 5, 4, 4
#: Options of the guest's kernel besides those of its driver: queues by class, with requests and
#: tasks that are moved. A is behind the IOMMU, too, but not confined.
APPEND = ("iommu=pt", "nvme.blk_switch=3")
#: What the host changes of both meanwhile, a parameter at a time.
CHANGES: dict[str, tuple[str | int | bool, ...]] = {
    "cint.policy": ("cint",),
    "cint.thr": (1, 8, 64),
    "cint.delta": (20_000, 500_000, 2_000_000),
    "cint.ooo": (True, False),
    "cint.max-irq-rate": (0, 2_000, 50_000),
}
#: The policies of each.
POLICIES: dict[str, tuple[str, ...]] = {"A": ("cint", "vic"), "B": ("cint", "pointer")}
#: What of that each of A's queues says by itself, by its name there.
SHOWN = {"cint.policy": "policy", "cint.thr": "thr", "cint.delta": "delta-ns"}
#: Why those policies, with a storm limit, interrupt, beside max-hold. "each": while a pointer has
#: not been written, as before a queue is slept on for the first time.
OF_BOTH = {"urgent", "thr", "quiet", "storm", "reconfigure"}
REASONS = {"A": OF_BOTH | {"ratio", "low-cif", "low-iops"},
           "B": OF_BOTH | {"barrier", "each", "pointer"}}
#: Of the log page's classes.
URGENT = logpage.CLASSES.index("urgent")
#: Verified I/O that is waited for in both classes, on both CPUs: nothing is there that the realtime
#: class, which has queues of its own, could overtake. Deep I/O of small blocks; and polled reads.
FIO_A = """\
[global]
filename=/dev/nvme0n1
direct=1
bs=4k
size=1M
rw=randwrite
verify=crc32c
verify_fatal=1
loops={loops}
[sync]
ioengine=psync
[realtime]
ioengine=psync
offset=32M
prioclass=1
[async]
ioengine=libaio
bs=512
size=2M
offset=64M
iodepth=32
iodepth_batch=8
iodepth_batch_complete_min=1
iodepth_batch_complete_max=32
[poll]
ioengine=io_uring
hipri=1
iodepth=4
rw=randread
verify=0
size=2M
offset=128M
"""
#: So often all of that in a round that counts, and in one with resets.
LOOPS, SHAKEN_LOOPS = 6, 2
#: A round takes some ten seconds; a busy machine may take longer, which nobody is to blame for.
LIMIT_S = 1200
WAITED_FOR = ("sync", "realtime")
#: What that has outstanding at most.
DEPTH_A = 1 + 1 + 32 + 4
#: B's max-hold. A process that is late, as among others on a busy CPU, leaves completions waiting
#: for longer than the usual 10 ms; one whose wake-up was lost looks by itself only after a second.
MAX_HOLD_B_NS = 1000 * LOST_US
#: So slow that the process waits for it.
MEDIA_B = "sata"
#: Three threads, each with a queue pair of its own, take fewer at a time than there may be.
FIO_B = """\
[global]
filename={address}
ioengine=cintio
policy=pointer
interrupt_mode=coalesced
records=1
counts=1
thread=1
bs=512
size=1M
loops=8
rw=randwrite
verify=crc32c
verify_fatal=1
iodepth=32
iodepth_batch=8
iodepth_batch_complete_min=8
iodepth_batch_complete_max=12
invalidate=0
[unmarked]
[urgent]
offset=64M
hint=urgent
[barrier]
offset=128M
hint=barrier
policy=cint
interrupt_mode=interrupt
"""
#: Who is who: the order in which the kernel finds them is any.
LIST = "for n in nvme0 nvme1; do cat /sys/class/nvme/$n/serial /sys/class/nvme/$n/address; done"
#: QEMU's names of them, by serial number.
IDS = {"cint": qmp.NVME_PATH, "second": "/machine/peripheral/nvme1"}
#: The second controller becomes the process's. No request of the first is merged with another.
PREPARE = """\
cintio bind {address}
echo 2 > /sys/block/nvme0n1/queue/nomerges
"""
RUN_A = "fio --eta=never /tmp/a.fio"
RUN_B = "fio --eta=never --output-format=json --output=/tmp/b.json /tmp/b.fio"
#: Every fourth command is Urgent, among others in the same queue. The last time is to the end.
MODES_B = ("--mode coalesced --policy pointer", "--mode interrupt --policy cint")
CHECK_B = ("cintio check {address} {mode} --records --hints --threads 2 --depth 128 --min 8 "
           "--count {count}")
TO_THE_END = 4000
RESET_B = """\
for ms in {times}; do
  {endless} --reset $ms
  echo status=$?
done
{check}
echo status=$?
"""


@dataclass
class Story:
    """What has happened so far."""

    ios: int = 0
    rounds: int = 0
    resets: Counter[str] = field(default_factory=Counter)
    interrupts: int = 0
    storm_held: int = 0
    #: Completions of A that overtook others, and in how many of the rounds that count.
    reaped_ooo: int = 0
    overtaken_in: int = 0
    #: Interrupts of A whose status record gave the driver no reason to leave anything.
    unexplained: int = 0
    #: Why each interrupt was sent, by controller.
    reasons: dict[str, Counter[str]] = field(default_factory=lambda: {"A": Counter(),
                                                                      "B": Counter()})
    #: By controller: the longest that a completion waited, and the latest that a deadline was kept.
    longest_hold_ns: Counter[str] = field(default_factory=Counter)
    latest_ns: Counter[str] = field(default_factory=Counter)
    #: The slowest I/O of each round, as fio saw it: A's, B's.
    slowest_us: list[tuple[float, float]] = field(default_factory=list)
    changes: Counter[str] = field(default_factory=Counter)


def ios_of(document: Any, job: str = "") -> int:
    """I/Os that fio counted, verifying reads among them; of one job, or all."""
    return sum(part[way]["total_ios"] for part in document["jobs"] for way in ("read", "write")
               if not job or part["jobname"] == job)


def longest_hold(queue: logpage.Record) -> int:
    """Of any completion, from its post to an interrupt."""
    return max(hist.max_ns for hist in queue.hold)


def grown(later: Mapping[str, int], earlier: Mapping[str, int]) -> Counter[str]:
    """What was counted in between; a counter that is 0 may not be there."""
    return Counter({name: value - earlier.get(name, 0) for name, value in later.items()})


def storm_held(page: logpage.LogPage) -> int:
    """Interrupts that the storm limit delayed."""
    return sum(queue.counters["storm_held"] for queue in page.records)


def check_page(page: logpage.LogPage, policies: Collection[str], max_hold_ns: int,
               unseen: int) -> None:
    """Each queue's counters agree with each other, and nothing was held beyond max-hold.

    Where doorbells are in memory, the device may not have seen the last heads: those of so many
    completions at most.
    """
    for queue in page.records[1:]:
        count = queue.counters
        sent = count["irqs_full"] + count["irqs_urgent"]
        assert sum(queue.reasons.values()) == sent, queue
        assert queue.policy in policies, queue
        # as many were told of as Urgent as were given as Urgent
        urgent = queue.hints.get("urgent", 0)
        assert 0 <= urgent - queue.hold[URGENT].count <= count["untold"] + unseen, queue
        assert count["irqs_urgent"] <= min(queue.reasons.get("urgent", 0),
                                           queue.hold[URGENT].count), queue
        polled = queue.vector == 0
        assert sum(queue.hints.values()) == (0 if polled else count["cqes"]), queue
        assert 0 <= count["cqes"] - queue.post_to_head.count <= unseen, queue
        told = sum(hist.count for hist in queue.hold)
        assert 0 <= count["cqes"] - told - count["untold"] <= unseen, queue
        # a busy host's timers are late; the device says by how much
        assert longest_hold(queue) <= max_hold_ns + queue.lateness.max_ns, queue
    for ring in page.submission_queues:
        assert ring.backlog == 0, ring
    fetched = sum(ring.commands for ring in page.submission_queues if ring.sqid)
    assert fetched == page.total().cqes


class Pair:
    """A guest with both controllers."""

    def __init__(self, guest: Guest, virtual: bool) -> None:
        """Find them, and give B to the process."""
        self.guest, self.rng, self.story = guest, random.Random(SEED), Story()
        self.virtual = virtual
        self.set_to: dict[str, str | int | bool] = {name: WAITING[name] for name in SHOWN}
        first, _, second, address = guest.shell(LIST).split()
        self.paths, self.address = {"A": IDS[first], "B": IDS[second]}, address
        guest.vm.qmp.set("cint.max-hold", MAX_HOLD_B_NS, self.paths["B"])
        guest.shell(PREPARE.format(address=address))
        set_threshold(guest, ALWAYS)
        self.holds = Watch(guest.vm.qmp, self.paths["A"], MAX_HOLD_NS)
        assert guest.shell(f"cat {QUEUE}/switch_mode") == "app\n"
        guest.write_file("/tmp/a.fio", FIO_A.format(loops=SHAKEN_LOOPS).encode())
        guest.write_file("/tmp/b.fio",
                         FIO_B.format(address=address.replace(":", ".")).encode())

    def change(self) -> None:
        """One parameter of one of them becomes another."""
        time.sleep(0.02)
        who = self.rng.choice(("A", "B"))
        name = self.rng.choice(list(CHANGES))
        value = self.rng.choice(POLICIES[who] if name == "cint.policy" else CHANGES[name])
        self.guest.vm.qmp.set(name, value, self.paths[who])
        if who == "A":
            self.set_to[name] = value
        self.story.changes[f"{who}: {name}={value}"] += 1

    def watch(self) -> None:
        """What the host does while a load is counted."""
        self.change()
        self.holds.look_at_times()

    def count(self) -> None:
        """A round in which all counts are compared."""
        earlier = parse_counters(self.guest.shell(f"cat {COUNTERS}"))
        self.guest.start("b", RUN_B)
        result = self.guest.fio_meanwhile("a", FIO_A.format(loops=LOOPS), self.watch, LIMIT_S)
        self.holds.look()
        status, text = self.guest.end("b", LIMIT_S)
        assert status == 0, text
        self.check_kernel(result)
        document = json.loads(self.guest.shell("cat /tmp/b.json"))
        self.story.slowest_us.append((slowest_us(result["fio"]), slowest_us(document)))
        self.check_user(document, text)
        self.check_driver(earlier)
        self.check_settled()

    def check_driver(self, earlier: Mapping[str, int]) -> None:
        """A's driver believed its status records to the end, and left nothing."""
        counted = parse_counters(self.guest.shell(f"cat {COUNTERS}"))
        assert counted["held"] == 0
        assert self.guest.shell(f"cat {SYSFS}/ooo_urgent {SYSFS}/ooo_fallbacks") == "1\n0\n"
        during = grown(counted, earlier)
        self.story.reaped_ooo += during["reaped_ooo"]
        self.story.overtaken_in += during["reaped_ooo"] > 0
        self.story.unexplained += during["unexplained"]

    def check_settled(self) -> None:
        """Each queue of A is as the host has made it by now."""
        queues = self.guest.vm.qmp.get("cint-stats", self.paths["A"])["queues"]
        for queue in queues:
            shown = {name: queue[key] for name, key in SHOWN.items()}
            assert queue["cqid"] == 0 or shown == {name: self.set_to[name] for name in SHOWN}

    def check_kernel(self, result: agent.Message) -> None:
        """Of A: fio, the kernel and the device count the same."""
        first, last = (agent.parse_snapshot(result[edge]) for edge in ("before", "after"))
        pages = [logpage.decode(edge.nvme_log or b"") for edge in (first, last)]
        before, after = (page.total() for page in pages)
        ios = ios_of(result["fio"])
        assert (last.ios or 0) - (first.ios or 0) == ios
        assert after.cqes - before.cqes == ios
        assert after.hints["urgent"] - before.hints.get("urgent", 0) == sum(
            ios_of(result["fio"], job) for job in WAITED_FOR)
        # messages of a vector may become one while the CPU has not yet taken the first
        sent = after.interrupts - before.interrupts
        assert 0 < agent.queue_interrupts(first, last) <= sent
        assert pages[1].policy in POLICIES["A"]
        check_page(pages[1], {pages[1].policy}, MAX_HOLD_NS, DEPTH_A)
        self.tell("A", pages[1], ios, sent)
        self.story.reasons["A"] += grown(after.reasons, before.reasons)
        self.story.storm_held += storm_held(pages[1]) - storm_held(pages[0])

    def check_user(self, document: Any, text: str) -> None:
        """Of B: fio and the device count the same, and no interrupt was missed."""
        said = drivers.counts(text)
        assert said is not None and said.page is not None, text
        page = logpage.decode(said.page)
        total = page.total()
        assert total.cqes == ios_of(document)
        assert 0 < said.interrupts <= total.interrupts
        check_page(page, POLICIES["B"], MAX_HOLD_B_NS, 0)
        if self.virtual:
            assert total.reasons.get("max-hold", 0) == 0, total
            assert total.post_to_head.max_ns < 1000 * LOST_US, total
            assert slowest_us(document) < LOST_US
        self.tell("B", page, total.cqes, total.interrupts)
        self.story.reasons["B"] += Counter(total.reasons)

    def tell(self, name: str, page: logpage.LogPage, ios: int, interrupts: int) -> None:
        """Add what one controller did to the story."""
        story, queues = self.story, page.records[1:]
        story.ios += ios
        story.interrupts += interrupts
        story.longest_hold_ns[name] = max(story.longest_hold_ns[name],
                                          *(longest_hold(queue) for queue in queues))
        story.latest_ns[name] = max(story.latest_ns[name],
                                    *(queue.lateness.max_ns for queue in queues))

    def shake(self) -> None:
        """A round of resets of both; what A's load reads is what it wrote."""
        mode = self.rng.choice(MODES_B)
        times = " ".join(str(self.rng.randint(50, 500)) for _ in range(RESETS))
        endless, check = (CHECK_B.format(address=self.address, mode=mode, count=count)
                          for count in (1 << 40, TO_THE_END))
        self.guest.start("a", RUN_A)
        self.guest.start("b", RESET_B.format(times=times, endless=endless, check=check))
        for _ in range(RESETS):
            for _ in range(CHANGES_BETWEEN):
                self.change()
            self.guest.shell(f"echo 1 > {SYSFS}/reset_controller")
        while not self.guest.has_ended("b"):
            self.change()
        status, text = self.guest.end("b", LIMIT_S)
        assert status == 0, text
        self.check_shaken(text)
        status, text = self.guest.end("a", LIMIT_S)
        assert status == 0, text
        self.holds.begin()
        self.story.resets["A"] += RESETS

    def check_shaken(self, text: str) -> None:
        """Of B: all runs but the last ended by a reset; nothing was wrong, no interrupt missed."""
        said = [line for line in text.splitlines() if line.startswith("status=")]
        assert said == [*["status=1"] * RESETS, "status=0"], text
        assert text.count("reset: done") == RESETS, text
        self.story.resets["B"] += RESETS
        found = words(text)
        # on a busy host a reset may come before a queue is there
        assert 2 <= len(found) <= 2 * (RESETS + 1), text
        assert all(queue["errors"] == 0 for queue in found), text
        assert all(queue["ios"] == queue["cqes"] == TO_THE_END for queue in found[-2:]), text
        assert not self.virtual or not any(map(is_late, found)), text


def machine(backend: vm.Backend, second: Path, virtual: bool) -> vm.Machine:
    """A guest with two controllers that are alike, but for the medium."""
    with second.open("wb") as file:
        file.truncate(256 * MIB)
    guest, accel = shaken_machine(backend), comparison.choose_accel(virtual)
    props = ",".join(f"{name}={value}" for name, value in
                     {**dict(guest.properties), "cint.media": MEDIA_B}.items())
    return replace(
        guest, virtual=virtual, accel=accel.name, cpu=accel.cpu,
        initramfs=paths.USERSPACE_INITRAMFS, iommu=True, append=(*guest.append, *APPEND),
        extra=("-blockdev", f"driver=file,node-name=second,filename={second}",
               "-device", f"nvme,id=nvme1,serial=second,drive=second,{props}"))


@pytest.mark.slow
@pytest.mark.parametrize("virtual", [False, True], ids=["real", "virtual"])
def test_together(disk: vm.Backend, tmp_path: Path, logs: Path, virtual: bool) -> None:
    wanted = min(IOS, ENOUGH) if virtual else IOS
    with serving(machine(disk, tmp_path / "second.img", virtual), logs,
                 3 * vm.BOOT_LIMIT_S) as guest:
        pair = Pair(guest, virtual)
        story = pair.story
        while story.ios < wanted:
            if story.rounds % SHAKEN_EVERY == 0:
                pair.shake()
            else:
                pair.count()
            story.rounds += 1
            (logs / "story.json").write_text(json.dumps(vars(story), indent=1), encoding="utf-8")
        assert sum(hardware_queues(guest, "steered")) > 0
        assert sum(hardware_queues(guest, "bytes")) == 0
    assert story.reaped_ooo > 0
    assert story.resets["A"] == story.resets["B"] > 0
    for who, reasons in REASONS.items():
        assert set(+story.reasons[who]) <= reasons | {"max-hold"}, who
    if story.ios >= ENOUGH:
        assert story.overtaken_in * 4 > story.rounds
        for who, reasons in REASONS.items():
            assert reasons <= set(+story.reasons[who]), who
        assert story.storm_held > 0
        assert set(story.changes) == {
            f"{who}: {name}={value}" for who, policies in POLICIES.items()
            for name, values in {**CHANGES, "cint.policy": policies}.items() for value in values}
