# SPDX-License-Identifier: GPL-2.0-or-later
"""hintio and fio's engines with hints: what they say they did is what the device counted."""

from __future__ import annotations

from pathlib import Path

from conftest import machine
from marks import ALL, set_policy
from serving import Guest, serving

from cint.device import logpage
from cint.guest import agent

DEV = "/dev/nvme0n1"
#: The same namespace, for NVMe commands.
NG = "/dev/ng0n1"
#: What hintio --help says of its exit codes.
USAGE = 2


def counted(guest: Guest, script: str) -> tuple[dict[str, str], dict[str, int]]:
    """What a script of hintio says, and what the device counted meanwhile: commands by hint."""
    reply = guest.try_shell(script)
    assert agent.result_failure(reply) is None, (script, reply["stderr"])
    said = dict(word.split("=") for word in str(reply["stdout"]).split())
    first, last = (agent.parse_snapshot(reply[s]).nvme_log for s in ("before", "after"))
    assert first is not None
    assert last is not None
    before, after = logpage.decode(first).total().hints, logpage.decode(last).total().hints
    return said, {h: after.get(h, 0) - before.get(h, 0) for h in logpage.HINTS}


def refused(guest: Guest, arguments: str, code: int) -> str:
    """The one line that hintio says when it ends with `code`."""
    reply = guest.try_shell(f"hintio {arguments}")
    assert (reply["exit"], reply["stdout"]) == (code, ""), reply
    lines = str(reply["stderr"]).splitlines()
    assert len(lines) == 1, lines
    return lines[0]


#: Options of hintio, and the commands that the device must see for them.
COUNTS = (
    ("--api=read --count=7", 7),
    ("--api=pread --count=7", 7),
    ("--api=preadv2 --count=7", 7),
    ("--api=preadv2 --op=write --count=5 --size=8k", 5),
    ("--api=preadv2 --hipri --count=5", 5),
    ("--api=pread --count=3 --repeat=4", 12),
    # a stride, since neighbours in a batch would be merged
    ("--api=aio --count=20 --batch=8 --stride=64k", 20),
    ("--api=uring --count=20 --batch=8 --stride=64k", 20),
    ("--api=uring --count=6 --batch=3 --stride=64k --link", 6),
    ("--api=uring --count=6 --batch=3 --stride=64k --sqpoll", 6),
    ("--api=uring --op=write --count=9 --batch=4 --stride=64k", 9),
    ("--api=uring --count=6 --batch=3 --stride=64k --tail=nop --async", 6),
    ("--api=uring --count=6 --batch=3 --stride=64k --tail=timeout --sqe128", 6),
    ("--api=uring --count=6 --batch=3 --stride=64k --no-sqarray --nonblock", 6),
)


def check_counts(guest: Guest) -> None:
    """Without a flag: as many commands as hintio says, by every way in."""
    for options, commands in COUNTS:
        said, seen = counted(guest, f"hintio {options} {DEV}")
        assert int(said["ios"]) == commands, options
        assert sum(seen.values()) == commands, (options, seen)


def check_commands(guest: Guest) -> None:
    """NVMe commands in a ring have their hints in CDW13, which the kernel passes on."""
    for hint, mark, wanted in (("default", "all", {"none": 8}), ("unmarked", "all", {"both": 8}),
                               ("urgent", "all", {"urgent": 8}),
                               ("barrier", "last", {"none": 6, "barrier": 2})):
        for more in ("--op=read", "--op=write", "--link", "--sqpoll", "--no-sqarray"):
            _, seen = counted(guest, f"hintio --api=command --hint={hint} --mark={mark} --count=8"
                                     f" --batch=4 {more} {NG}")
            assert {n: c for n, c in seen.items() if c} == wanted, (hint, more)
    sources = [q["hints-cdw13"] for q in guest.stats()["queues"] if q["cqid"]]
    # of those with a hint, or with both
    assert sum(sources) == 5 * (8 + 8 + 2)


def check_ioctls(guest: Guest) -> None:
    """So have those of an ioctl."""
    read = "nvme io-passthru --opcode=2 --namespace-id=1 --read --data-len=4096"
    for device in (NG, DEV):
        for cdw13, wanted in ((0, "none"), (1 << 8, "urgent"), (1 << 9, "barrier"),
                              (3 << 8, "both")):
            _, seen = counted(guest, f"{read} --cdw13={cdw13:#x} {device} >/dev/null")
            assert {n: c for n, c in seen.items() if c} == {wanted: 1}, (device, cdw13)


def check_flags(guest: Guest) -> None:
    """With flags: each hint arrives at the device, of all I/Os or of each batch's last."""
    for api in ("preadv2", "aio", "uring"):
        batch = "" if api == "preadv2" else "--batch=4 --stride=64k"
        for hint in ("urgent", "barrier", "unmarked"):
            _, seen = counted(guest, f"hintio --api={api} --hint={hint} --count=8 {batch} {DEV}")
            name = "none" if hint == "unmarked" else hint
            assert {n: c for n, c in seen.items() if c} == {name: 8}, (api, hint)
    for api in ("aio", "uring"):
        for mark in ("first", "last"):
            _, seen = counted(guest, f"hintio --api={api} --hint=urgent --mark={mark} --count=10 "
                                     f"--batch=4 --stride=64k {DEV}")
            assert seen["urgent"] == 3, (api, mark, seen)


FIO = """\
[job]
filename={dev}
direct=1
rw=randread
bs=4k
size=64m
number_ios=64
{more}
"""
BATCHES = "iodepth=4\niodepth_batch_submit=4\niodepth_batch_complete_min=4"
#: fio's options, and the commands by hint of 64 reads.
ENGINES = (
    ("ioengine=hint_psync\nhint=urgent", {"urgent": 64}),
    ("ioengine=hint_psync\nhint=barrier", {"barrier": 64}),
    ("ioengine=hint_psync\nhint=unmarked", {"none": 64}),
    *((f"ioengine={engine}\n{BATCHES}\nhint={hint}", wanted)
      for engine in ("hint_libaio", "hint_io_uring")
      for hint, wanted in (("urgent", {"urgent": 64}), ("barrier", {"barrier": 16, "none": 48}),
                           ("unmarked", {"none": 64}))),
)


def check_fio(guest: Guest) -> None:
    """A fio job's hint is what the device counts."""
    for number, (more, wanted) in enumerate(ENGINES):
        result = guest.fio(f"hint-{number}", FIO.format(dev=DEV, more=more))
        first, last = (agent.parse_snapshot(result[s]).nvme_log for s in ("before", "after"))
        assert first is not None
        assert last is not None
        before, after = logpage.decode(first).total().hints, logpage.decode(last).total().hints
        seen = {h: n for h in logpage.HINTS if (n := after.get(h, 0) - before.get(h, 0))}
        assert seen == wanted, more


def check_refusals(guest: Guest) -> None:
    """Wrong usage is one line that names what is valid."""
    for arguments, named in ((f"--hint=foo {DEV}", "default, urgent, barrier, unmarked"),
                             (f"--api=read --hint=urgent {DEV}", "aio, aio32, uring, command"),
                             (f"--batch=2 {DEV}", "aio, aio32, uring, command"),
                             (f"--api=aio --tail=nop {DEV}", "are of --api=uring"),
                             (f"--api=uring --iopoll --tail=nop {DEV}", "nothing but I/O"),
                             (f"--api=pread --hipri {DEV}", "--api=preadv2"),
                             (f"--api=aio --repeat=2 {DEV}", "read, pread, preadv2, mmap"),
                             (f"--api=command --buffered {NG}", "has no --buffered"),
                             (f"--size=0 {DEV}", "1 to"),
                             ("", "one file")):
        assert named in refused(guest, arguments, USAGE)
    assert "/nowhere" in refused(guest, "/nowhere", 1)
    assert "such as /dev/ng0n1" in refused(guest, "--api=command /dev/null", 1)
    assert "not in blocks" in refused(guest, f"--api=command --size=100 {NG}", 1)


def test_tools_for_hints(logs: Path) -> None:
    """hintio and fio on our kernel."""
    with serving(machine("cint", virtual=False, k=1), logs) as guest:
        check_counts(guest)
        # none of this goes to commands that are passed through, nor to I/O with a flag
        set_policy(guest, ALL)
        check_commands(guest)
        check_ioctls(guest)
        check_refusals(guest)
        check_flags(guest)
        check_fio(guest)
