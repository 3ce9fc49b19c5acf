# SPDX-License-Identifier: GPL-2.0-or-later
"""agent.py: plans, messages and snapshots."""

import json

import pytest
from canned import snap

from cint.guest import agent
from cint.guest.agent import AgentError


def test_plan() -> None:
    plan = agent.Plan((agent.Job("a", fio="[x]\n", args=("--eta=never",)),
                       agent.Job("b", argv=("true",), cpus="0", timeout_s=5)),
                      (("sh", "-c", "echo"),), "serve")
    assert json.loads(plan.to_json()) == {
        "version": 1, "setup": [["sh", "-c", "echo"]], "then": "serve", "jobs": [
            {"name": "a", "fio": "[x]\n", "args": ["--eta=never"], "timeout_s": 120},
            {"name": "b", "exec": ["true"], "cpus": "0", "timeout_s": 5}]}


def test_plan_refuses_an_unknown_end() -> None:
    with pytest.raises(ValueError, match="poweroff"):
        agent.Plan(then="dance").to_json()


def test_lines_are_put_together() -> None:
    buffer = agent.LineBuffer()
    assert buffer.feed(b'{"ty') == []
    assert buffer.feed(b'pe":1}\n\n{"a"') == [b'{"type":1}']
    assert buffer.feed(b":2}\n3\n4") == [b'{"a":2}', b"3"]


def test_endless_line_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "MAX_LINE", 10)
    with pytest.raises(AgentError, match="longer"):
        agent.LineBuffer().feed(b"x" * 11)


@pytest.mark.parametrize("line", [b"hello", b"\xff\xfe", b"[1]", b'{"a":1}', b'{"type":3}', b""])
def test_bad_messages(line: bytes) -> None:
    with pytest.raises(AgentError):
        agent.parse_line(line)


def test_replies_have_an_id() -> None:
    assert agent.parse_line(b'{"id":3,"exit":0}')["id"] == 3


def test_versions() -> None:
    agent.check_hello({"version": 1})
    with pytest.raises(AgentError, match="protocol 2"):
        agent.check_hello({"version": 2})


def test_interrupts_of_io_queues() -> None:
    before, after = (agent.parse_snapshot(snap(0, n, 0)) for n in (7, 107))
    assert before.interrupts == {"nvme0q0": 13, "nvme0q1": 12, "nvme0q2": 1, "nvme1q1": 99}
    assert agent.queue_interrupts(before, after) == 100
    assert agent.queue_interrupts(before, after, "nvme1") == 0


def test_cpu_line() -> None:
    assert agent.parse_cpu("cpu  1 2 3 4 5 6 7 8\ncpu0 9\n")["iowait"] == 5
    assert agent.parse_cpu("") == {}


@pytest.mark.parametrize("bad", [None, {}, {"monotonic_ns": "x"},
                                 snap(1, 1, 1) | {"nvme_log": "***"}])
def test_bad_snapshots(bad: object) -> None:
    with pytest.raises(AgentError, match="snapshot"):
        agent.parse_snapshot(bad)


@pytest.mark.parametrize(("message", "words"), [
    ({"exit": 0, "signal": None, "timed_out": False}, None),
    ({"exit": 1, "signal": None, "stderr": "a\nfio: no such device"}, "no such device"),
    ({"exit": 0, "signal": 9}, "signal 9"),
    ({"exit": 0, "timed_out": True}, "time limit")])
def test_failures(message: agent.Message, words: str | None) -> None:
    said = agent.result_failure({"name": "sync", **message})
    assert said is None if words is None else words in str(said)


@pytest.mark.parametrize(("line", "bad"), [
    ("nvme nvme0: I/O 12 QID 1 timeout, completion polled", True),
    ("WARNING: CPU: 0 PID: 1 at kernel/x.c:1", True),
    ("rcu: INFO: rcu_sched self-detected stall on CPU", True),
    ("Kernel command line: nvme.io_timeout=5 panic=1", False),
    ("PCI: if necessary, use pci=nocrs and report a bug.", False),
    ("nvme nvme0: 1/0/0 default/read/poll queues", False)])
def test_dmesg(line: str, bad: bool) -> None:
    assert bool(agent.dmesg_trouble(f"[    0.1] {line}\n")) is bad
