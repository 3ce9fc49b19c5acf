# SPDX-License-Identifier: GPL-2.0-or-later
"""nvme-cli in the guest drives all of the device's features and its log page."""

from __future__ import annotations

import dataclasses
import re
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from serving import Guest, guest_interrupts, serving, totals

from cint.device import logpage, properties
from cint.guest import agent, vm
from cint.measure import comparison

DEV = "/dev/nvme0"
MIB = 1 << 20
BLOCK = 4096
SIZE = 8 * MIB
COMMANDS = SIZE // BLOCK
#: Slow enough that an emulated CPU keeps many commands in flight.
MEDIA = "ssd80"
JOB = f"""\
[job]
filename=/dev/nvme0n1
direct=1
bs=4k
size={SIZE}
rw=randread
ioengine=libaio
iodepth=32
iodepth_batch_submit=16
"""

#: Feature D0h, as hw/nvme/cint-abi.h has it; names with an underscore are reserved.
CONFIG = struct.Struct("<HBBBBBBIHHIIBBBBHHIIIIQ8s")
CONFIG_FIELDS = ("version", "policy", "flags", "barrier", "infer", "drain", "each_cqe",
                 "delta_ns", "thr", "static_thr", "static_time_ns", "max_irq_rate",
                 "ewma_shift", "vic_scope", "vic_ratios", "tune", "cif_threshold", "max_skip",
                 "iops_threshold", "epoch_ms", "kick_window_ns", "_44", "max_hold_ns", "_56")
ALL_CQS = 0xffff
POLICY_DEFAULT, POLICY_STATIC, POLICY_ADAPTIVE, POLICY_CINT = 0, 1, 2, 4
FLAG_OOO, INFER_ALL, BARRIER_STRICT = 1, 2, 1

Config = dict[str, Any]


@pytest.fixture
def guest(logs: Path) -> Iterator[Guest]:
    """Our guest, policy default; its kernel must have nothing to complain about."""
    accel = comparison.choose_accel(False)
    props = properties.device_properties(properties.parse_policy("default"),
                                         properties.parse_media(MEDIA), 1, virtual=False,
                                         extras="device")
    machine = vm.Machine(props, virtual=False, accel=accel.name, cpu=accel.cpu)
    with serving(machine, logs) as running:
        yield running


def set_feature(guest: Guest, fid: int, value: int, more: str = "") -> None:
    """Set Features, which must succeed."""
    guest.shell(f"nvme set-feature {DEV} -f {fid:#x} --value={value:#x} {more}")


def get_feature(guest: Guest, fid: int, more: str = "") -> tuple[int, str]:
    """Get Features: the value, and nvme-cli's words on it."""
    text = guest.shell(f"nvme get-feature {DEV} -f {fid:#x} {more}")
    match = re.search(r"value:\s*(?:0x)?([0-9a-f]+)", text)
    assert match is not None, text
    return int(match[1], 16), text


def refused(guest: Guest, command: str) -> bool:
    """Whether a command ends with the status Invalid Field in Command."""
    reply = guest.try_shell(f"nvme {command}")
    said = f"{reply['stdout']}{reply['stderr']}"
    return reply["exit"] != 0 and "invalid field" in said.lower().replace("_", " ")


def get_config(guest: Guest, cq: int, select: int = 0, program: str = "nvme") -> Config:
    """Feature D0h of one completion queue, or the template."""
    data = guest.read_binary(f"{program} get-feature {DEV} -f 0xd0 --cdw11={cq:#x} --sel={select} "
                             f"--data-len={CONFIG.size} --raw-binary")
    assert len(data) == CONFIG.size
    return dict(zip(CONFIG_FIELDS, CONFIG.unpack(data), strict=True))


def write_config(guest: Guest, config: Config) -> str:
    """A file with feature D0h's data, and nvme-cli's options for it."""
    guest.write_file("/tmp/config", CONFIG.pack(*(config[name] for name in CONFIG_FIELDS)))
    return f"--data=/tmp/config --data-len={CONFIG.size}"


def run_job(guest: Guest, name: str) -> tuple[agent.Message, logpage.Totals]:
    """Read for a moment; what fio said and what the device counted."""
    result = guest.fio(name, JOB)
    counted = totals(result)
    assert counted.cqes >= COMMANDS
    assert sum(counted.reasons.values()) == counted.interrupts
    return result, counted


def test_interrupt_coalescing(guest: Guest) -> None:
    """08h coalesces under policy default, and 09h exempts a vector from it."""
    assert get_feature(guest, 8)[0] == 0
    _, before = run_job(guest, "before")
    assert before.interrupts == before.cqes == before.reasons["each"]

    # a time that sixteen reads of thirty-two take on the busiest of machines
    set_feature(guest, 8, 50 << 8 | 15)
    value, text = get_feature(guest, 8, "-H")
    assert value == 0x320f
    assert re.search(r"TIME\): 5000 usec", text)
    assert re.search(r"THR\): 16\b", text)
    result, static = run_job(guest, "static")
    assert 4 * static.interrupts < static.cqes
    assert guest_interrupts(result) <= static.interrupts
    assert static.reasons["thr"] > 0
    assert static.reasons["each"] == 0

    set_feature(guest, 9, 1 << 16 | 1)
    value, text = get_feature(guest, 9, "--cdw11=1 -H")
    assert value == 0x10001
    assert re.search(r"\(CD\): True", text)
    _, exempt = run_job(guest, "exempt")
    assert exempt.interrupts == exempt.cqes
    set_feature(guest, 9, 1)
    assert get_feature(guest, 9, "--cdw11=1")[0] == 1
    _, again = run_job(guest, "again")
    assert 4 * again.interrupts < again.cqes

    set_feature(guest, 8, 0)
    _, after = run_job(guest, "after")
    assert after.interrupts == after.cqes == after.reasons["each"]


def test_what_is_refused(guest: Guest) -> None:
    """Select works, and a refused value changes nothing."""
    set_feature(guest, 8, 0x103)
    assert get_feature(guest, 8, "--sel=1")[0] == 0
    assert "changeable" in get_feature(guest, 8, "--sel=3 -H")[1]
    assert refused(guest, f"set-feature {DEV} -f 8 --value=0x10103")
    assert get_feature(guest, 8)[0] == 0x103
    assert refused(guest, f"get-feature {DEV} -f 9 --cdw11=0x7ff")
    assert refused(guest, f"get-feature {DEV} -f 0xd0 --cdw11=0x40 --data-len=64")

    good = get_config(guest, ALL_CQS)
    for wrong in ({"policy": 99}, {"version": 2}, {"flags": 0x80}, {"_56": b"12345678"},
                  {"delta_ns": 0xffffffff}, {"drain": 3}, {"barrier": 3}, {"infer": 6},
                  {"ewma_shift": 0}, {"ewma_shift": 17}, {"max_irq_rate": 0xffffffff}):
        options = write_config(guest, good | {"thr": 5} | wrong)
        assert refused(guest, f"set-feature {DEV} -f 0xd0 --value={ALL_CQS:#x} {options}"), wrong
    assert get_config(guest, ALL_CQS) == good


def test_configuration(guest: Guest) -> None:
    """D0h: the template and every queue, then one queue alone."""
    template = get_config(guest, ALL_CQS)
    assert (template["version"], template["policy"]) == (1, POLICY_DEFAULT)
    assert (template["flags"], template["infer"], template["ewma_shift"]) == (FLAG_OOO, 0, 7)
    wanted = template | {"policy": POLICY_ADAPTIVE, "delta_ns": 50_000, "thr": 8}
    set_feature(guest, 0xd0, ALL_CQS, write_config(guest, wanted))
    assert get_config(guest, ALL_CQS) == wanted
    assert get_config(guest, 1) == wanted
    assert get_config(guest, ALL_CQS, select=1) == template
    (queue,) = io_queues(guest)
    assert (queue["policy"], queue["delta-ns"], queue["thr"]) == ("adaptive", 50_000, 8)
    _, counted = run_job(guest, "adaptive")
    assert counted.interrupts < counted.cqes
    assert counted.reasons["thr"] > 0

    mine = wanted | {"policy": POLICY_STATIC, "static_time_ns": 300_000, "static_thr": 4}
    set_feature(guest, 0xd0, 1, write_config(guest, mine))
    assert get_config(guest, 1) == mine
    assert get_config(guest, ALL_CQS) == wanted
    assert [q["policy"] for q in io_queues(guest)] == ["static"]
    assert guest.stats()["policy"] == "adaptive"

    hinted = wanted | {"policy": POLICY_CINT, "delta_ns": 1_000_000_000, "thr": 65535, "flags": 0,
                       "infer": INFER_ALL, "barrier": BARRIER_STRICT, "max_irq_rate": 1_000_000}
    set_feature(guest, 0xd0, 1, write_config(guest, hinted))
    assert get_config(guest, 1) == hinted
    _, counted = run_job(guest, "cint")
    assert counted.interrupts < counted.cqes
    # delta and thr are out of reach: it is the inferred hints that end bursts
    assert counted.reasons["barrier"] > 0
    assert not any(counted.reasons.get(r) for r in ("thr", "quiet"))


def io_queues(guest: Guest) -> list[dict[str, Any]]:
    """The I/O queues' counters, by QMP."""
    return [q for q in guest.stats()["queues"] if q["cqid"]]


def check_record(record: logpage.Record, queue: Mapping[str, Any]) -> None:
    """The guest's and the host's view of one I/O queue are the same."""
    names = {"cqes": "cqes", "irqs_full": "irqs-full", "irqs_urgent": "irqs-urgent",
             "irqs_masked": "irqs-masked", "avoided": "avoided", "reruns": "reruns",
             "storm_ewma_ns": "storm-ewma-ns", "storm_held": "storm-held",
             "pointer_arms": "pointer-arms", "pointer_rejects": "pointer-rejects",
             "untold": "untold"}
    assert {n: record.counters[n] for n in names} == {n: queue[q] for n, q in names.items()}
    assert record.reasons == {n: c for n, c in queue["irqs-by-reason"].items() if c}
    hints = ("cmds-unmarked", "cmds-urgent", "cmds-barrier", "cmds-both-hints")
    sources = ("hints-cdw0", "hints-cdw13", "hints-inferred", "hints-latency")
    for counts, known, theirs in ((record.hints, logpage.HINTS, hints),
                                  (record.sources, logpage.SOURCES, sources)):
        pairs = zip(known, theirs, strict=True)
        assert counts == {n: queue[q] for n, q in pairs if queue[q]}
    assert (record.cqid, record.vector) == (queue["cqid"], queue["vector"])
    assert (record.policy, record.delta_ns, record.thr) == (
        queue["policy"], queue["delta-ns"], queue["thr"])
    hists = {"post-to-head": record.post_to_head}
    for number, name in enumerate(logpage.CLASSES):
        hists |= {f"hold-{name}": record.hold[number], f"reap-{name}": record.reap[number]}
    for name, mine in hists.items():
        assert (mine.sum_ns, mine.max_ns, list(mine.buckets)) == (
            queue[name]["sum-ns"], queue[name]["max-ns"], queue[name]["buckets"])
    assert record.lateness.sum_ns == queue["lateness"]["sum-ns"]
    assert dataclasses.asdict(record.answers) == \
        {name.replace("-", "_"): count for name, count in queue["answers"].items()}


def check_sq(record: logpage.SubmissionQueue, queue: Mapping[str, Any]) -> None:
    """The same of one submission queue."""
    names = ("sqid", "cqid", "priority", "backlog", "commands", "bytes", "buffers",
             "waited_buffers", "fresh")
    assert {n: getattr(record, n) for n in names} == \
        {n: queue[n.replace("_", "-")] for n in names}
    assert (record.wait.sum_ns, record.wait.max_ns, list(record.wait.buckets)) == (
        queue["wait"]["sum-ns"], queue["wait"]["max-ns"], queue["wait"]["buckets"])


def read_log(guest: Guest, more: str = "") -> logpage.LogPage:
    """The whole log page, in as many bytes as its header asks for."""
    get_log = f"nvme get-log {DEV} --log-id=0xd0 --raw-binary"
    header = guest.read_binary(f"{get_log} --log-len=64")
    assert header[:4] == logpage.MAGIC
    size, record_size, records = struct.unpack_from("<HIH", header, 6)
    sq_size, sqs = struct.unpack_from("<IH", header, 32)
    return logpage.decode(guest.read_binary(
        f"{get_log} --log-len={size + record_size * records + sq_size * sqs} {more}"))


def test_log_page(guest: Guest) -> None:
    """nvme get-log tells the guest what QMP tells the host; LSP bit 0 resets it."""
    guest.vm.qmp.set("cint.policy", "adaptive")
    run_job(guest, "load")
    page = read_log(guest)
    queues = guest.stats()["queues"]
    assert page.policy == "adaptive"
    assert not page.virtual_time
    assert [r.cqid for r in page.records] == [q["cqid"] for q in queues] == [0, 1]
    check_record(page.records[1], queues[1])
    check_sq(page.submission_queues[0], guest.stats()["submission-queues"][0])
    assert page.submission_queues[0].commands >= COMMANDS
    assert page.submission_queues[0].bytes >= SIZE
    assert page.total().cqes >= COMMANDS
    # Another command has completed since the admin queue's record was made.
    assert page.records[0].counters["cqes"] < queues[0]["cqes"]

    end = 64 + 2 * logpage.RECORD_SIZE + logpage.SQ_RECORD_SIZE
    part = guest.read_binary(f"nvme get-log {DEV} --log-id=0xd0 --raw-binary "
                             f"--log-len=4 --lpo={64 + logpage.RECORD_SIZE}")
    assert struct.unpack("<HH", part)[0] == 1
    assert refused(guest, f"get-log {DEV} --log-id=0xd0 --log-len=4 --lpo={end + 4}")

    read_log(guest, "--lsp=1")
    assert read_log(guest).total().cqes == 0
    assert [q["irqs"] for q in io_queues(guest)] == [0]
