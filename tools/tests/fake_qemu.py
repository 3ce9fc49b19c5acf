#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Stands in for QEMU: opens the sockets of its command line and plays a guest.

The environment variable FAKE_GUEST chooses what happens: ok, hang, silent, slow,
die, race, int3, panic, error, fail or garbage. With FAKE_ONLY, guests whose command
line does not hold that text are ok. With FAKE_TIMER a timer of 2 us (reported time, at scale 3)
is the best in `sync`, and one of 20 us in the other workloads. A fio that is told to ends runs of
`sync` when their blocks agree, and no others.
"""

import json
import os
import re
import socket
import sys
import time
from io import RawIOBase
from pathlib import Path

from canned import sync_result

MODE = os.environ.get("FAKE_GUEST", "ok")
if os.environ.get("FAKE_ONLY", "") not in " ".join(sys.argv):
    MODE = "ok"


def option(start: str) -> str:
    """The path in the argument that begins with ``start``."""
    text = next(a for a in sys.argv if a.startswith(start))
    # Two commas are one, in a value.
    words = re.split(r"(?<!,),(?!,)", text)
    parts: dict[str, str] = dict(
        word.replace(",,", ",").partition("=")[::2] for word in words)
    return parts.get("path") or parts["file"]


def main() -> None:
    """Play the guest."""
    if "--version" in sys.argv:
        print("QEMU emulator version 0")
        return
    if MODE == "die":
        print("qemu-system-x86_64: -device nvme: Property 'nvme.cint' not found", flush=True)
        sys.exit(1)
    raced = Path(option("file,id=console")).with_name("raced")
    first = MODE in ("race", "int3") and not raced.exists()
    if first:
        raced.touch()
    if MODE == "race" and first:
        print("qemu-system-x86_64: ../system/physmem.c:1: iotlb_to_section: Assertion `x' failed.",
              flush=True)
        os.abort()
    qmp = socket.socket(socket.AF_UNIX)
    qmp.connect(option("socket,id=qmp"))
    qmp.sendall(b'{"QMP": {}}\n')
    qmp.recv(1000)
    qmp.sendall(b'{"event": "X"}\n{"return": {}}\n')
    Path(option("file,id=console")).write_text("line one\n\x1b[0mKernel panic - not syncing\n")
    if MODE == "int3" and first:
        Path(option("file,id=console")).write_text("Oops: int3: 0000 [#1] SMP\n")
        return
    with Path(option("file,path=")).open("wb", buffering=0) as port:
        play(port)


def play(port: RawIOBase) -> None:
    """Send what the mode asks for."""
    def send(message: object) -> None:
        port.write(json.dumps(message).encode() + b"\n")

    if MODE == "hang":
        time.sleep(60)
    if MODE == "panic":
        sys.exit(0)
    send({"type": "hello", "version": 1, "kernel": "6.12.0", "uptime_s": 1.0, "cpus": 1,
          "nvme": [], "first_io_s": 0.9})
    if MODE == "garbage":
        port.write(b"[  1.0] not JSON\n")
    if MODE == "error":
        send({"type": "error", "message": "the plan is not JSON"})
    if MODE == "silent":
        time.sleep(60)
    if MODE == "slow":
        time.sleep(2)
    for job in json.loads(Path(option("name=opt/cint/plan")).read_text())["jobs"]:
        send({"type": "start", "name": job["name"]})
        send(answer(job))
    send({"type": "dmesg", "text": "[ 0.1] fine\n"})
    send({"type": "done"})


def answer(job: dict[str, object]) -> dict[str, object]:
    """The result of one job."""
    if "fio" not in job:
        return {"type": "result", "name": job["name"], "exit": 0,
                "stdout": "irq_cost_ns=2220\nclocksource=tsc\n"}
    message = sync_result(str(job["name"]), iops(str(job["name"])))
    if "--profile=agree" in str(job["args"]):
        names = [one["jobname"] for one in message["fio"]["jobs"]]
        message["stdout"] += agree_line(names, iops(str(job["name"])),
                                        agreed=str(job["name"]).startswith("sync"))
    return message | {"exit": 1, "stderr": "fio: bad job"} if MODE == "fail" else message


def agree_line(names: list[str], rate: float, *, agreed: bool) -> str:
    """What fio says of the blocks of these jobs, after 0.1 s or 0.5 s of reported time."""
    error = {"rate_error": 0.002 if agreed else 0.03, "rate_drift": 0.001,
             "latency_error": 0.002, "latency_drift": 0.001}
    seconds = 0.3 if agreed else 1.5
    said = {"agreed": agreed, "ns": round(1e9 * seconds), "looks": 10,
            "jobs": [{"ios": round(rate * seconds), **error, "name": n} for n in names]}
    return f"cint-agree {json.dumps(said)}\n"


def iops(name: str) -> float:
    """I/Os a second of a job in this guest."""
    timer = re.search(r"cint.static-time=(\d+)", " ".join(sys.argv))
    if "FAKE_TIMER" not in os.environ or timer is None:
        return 50_000.0
    best_us = 2 if name.startswith("sync") else 20
    return 50_000.0 / (1 + abs(int(timer[1]) / 3000 - best_us))


main()
