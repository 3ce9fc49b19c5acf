# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint top`: rates between two readings, the table, keys, a VM's socket."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import pty
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cint import cli, paths
from cint.device import properties
from cint.guest import qmp
from cint.timeline import live
from cint.verbs import top

DEVICE = "/machine/peripheral/nvme0"


def histogram(total: int, count: int) -> dict[str, Any]:
    return {"sum-ns": total, "max-ns": total, "buckets": [0, count]}


def queue(cqid: int, cqes: int, irqs: int, hold: int, **more: Any) -> dict[str, Any]:
    return {"cqid": cqid, "vector": cqid, "policy": "adaptive", "cqes": cqes, "irqs": irqs,
            "irqs-by-reason": {"quiet": irqs - 1, "thr": 1, "each": 0}, "inflight": 3,
            "pending": 2, "delta-ns": 6000, "thr": 32, "ratio-up": 0, "ratio-skip": 0,
            "storm-ewma-ns": 0, "storm-held": 0, "cmds-urgent": 0,
            "hold-unmarked": histogram(hold, cqes),
            "hold-urgent": histogram(0, 0), "hold-barrier": histogram(0, 0), **more}


def feeder(sqid: int, cqid: int, buffers: int = 0, waited: int = 0) -> dict[str, Any]:
    return {"sqid": sqid, "cqid": cqid, "buffers": buffers, "waited-buffers": waited}


def stats(seconds: int, *queues: dict[str, Any], sqs: Sequence[dict[str, Any]] = ()) \
        -> dict[str, Any]:
    return {"time-ns": seconds * 10**9, "queues": list(queues), "submission-queues": list(sqs)}


def test_rates_are_between_two_readings() -> None:
    [row] = live.rows(stats(10, queue(1, 1000, 100, 10**6)),
                      stats(12, queue(1, 5000, 600, 9 * 10**6)))
    assert (row.cqes_per_s, row.irqs_per_s, row.cqes_per_irq) == (2000, 250, 8)
    assert row.hold_us == 2.0
    assert row.reasons == {"quiet": 500}


def test_the_first_reading_is_since_the_device_began() -> None:
    [row] = live.rows(None, stats(4, queue(1, 1000, 100, 10**6)))
    assert (row.cqes_per_s, row.reasons) == (250, {"quiet": 99, "thr": 1})


def test_a_queue_that_was_made_anew_counts_from_nothing() -> None:
    [row] = live.rows(stats(10, queue(1, 1000, 100, 10**6)), stats(11, queue(1, 40, 10, 4000)))
    assert (row.cqes_per_s, row.hold_us) == (40, 0.1)


def test_ratio_and_storm_are_shown() -> None:
    text = live.as_text(live.rows(None, stats(1, queue(
        2, 10, 5, 0, **{"ratio-up": 3, "ratio-skip": 4, "storm-held": 7, "storm-ewma-ns": 900}))))
    assert " 3/4 " in text[1] and "storm: mean interval 900 ns, 7 held" in text[1]


def test_what_the_device_believes_is_shown() -> None:
    before = stats(1, queue(1, 100, 10, 0, **{"cmds-urgent": 90}))
    now = stats(2, queue(1, 300, 40, 0, **{"cmds-urgent": 238}),
                sqs=[feeder(1, 1, 30, 10), feeder(2, 1, 4, 2), feeder(3, 2, 8, 8)])
    [row] = live.rows(before, now)
    assert (row.waited_percent, row.buffers, row.waited_buffers) == (74, 34, 12)
    assert live.as_text([row])[1].endswith("[74 % look waited for; so do 12 of 34 buffers]")
    # Who has said it all has nothing learned; who did nothing, nothing to say.
    [row] = live.rows(before, stats(2, queue(1, 300, 40, 0, **{"cmds-urgent": 238})))
    assert row.waited_percent == 74 and "waited" not in live.as_text([row])[1]
    [row] = live.rows(now, now)
    assert row.waited_percent is None and "waited" not in live.as_text([row])[1]


def answers(*found: tuple[int, int]) -> dict[str, int]:
    """The device's sums over answers of so many ns and CQEs."""
    return {"count": len(found), "ns": sum(ns for ns, _ in found),
            "cqes": sum(cqes for _, cqes in found),
            "cqes-cqes": sum(cqes ** 2 for _, cqes in found),
            "ns-cqes": sum(ns * cqes for ns, cqes in found)}


def test_what_an_interrupt_costs_is_shown() -> None:
    """Of what was answered between the readings: 2000 ns and 150 for each CQE."""
    old = [(9999, 3), (1, 40)]
    new = [(2000 + 150 * cqes, cqes) for cqes in (1, 2, 2, 7, 32)]
    before = stats(1, queue(1, 43, 2, 0, answers=answers(*old)))
    [row] = live.rows(before, stats(2, queue(1, 87, 7, 0, answers=answers(*old, *new))))
    assert row.price_us == pytest.approx(2) and row.price_cqe_us == pytest.approx(0.15)
    assert row.answer_us == pytest.approx(3.32)
    assert live.as_text([row])[1].endswith("[answered in 2.00 us + 0.150 us a CQE]")
    # Answers that are all alike tell the two not apart.
    [row] = live.rows(None, stats(2, queue(1, 8, 2, 0, answers=answers((700, 4), (900, 4)))))
    assert (row.answer_us, row.price_us, row.price_cqe_us) == (0.8, None, None)
    assert live.as_text([row])[1].endswith("[answered in 0.80 us]")
    # Where none was answered, and of a device that does not count them.
    for more in ({"answers": answers()}, {}):
        [row] = live.rows(None, stats(2, queue(1, 8, 2, 0, **more)))
        assert row.answer_us is None and "answered" not in live.as_text([row])[1]


def test_bars_are_of_the_last_readings() -> None:
    history, before = live.History(), stats(0, queue(1, 0, 0, 0), queue(2, 0, 0, 0))
    irqs = 0
    for second in range(1, 20):
        irqs += second
        now = stats(second, queue(1, irqs, irqs, 0), *([queue(2, 0, 0, 0)] if second < 19 else []))
        found = live.rows(before, now)
        history.add(found)
        before = now
    assert history.bars(1) == "▂▃▃▄▄▄▅▅▅▆▆▇▇▇██"
    assert history.bars(2) == " " * live.READINGS
    text = live.as_text(found, 120, history)
    assert "irqs/s before" in text[0] and " ▂▃▃▄▄▄▅▅▅▆▆▇▇▇██ " in text[1]
    assert text[0].index("CQEs/irq") == text[1].index("1.00") - 4
    assert "▂" not in live.as_text(found, live.BARS_FROM - 1, history)[1]
    history.add(live.rows(None, stats(1, queue(1, 0, 0, 0))))
    assert history.bars(1).endswith("▁")


@pytest.mark.parametrize(("kind", "more", "name"), [
    ("cint", {"cint.ooo": True}, "cint+ooo"), ("cint", {"cint.ooo": False}, "cint"),
    ("static", {"cint.static-time": 100_000, "cint.static-thr": 32}, "static100"),
    ("static", {"cint.static-time": 1_500, "cint.static-thr": 32}, "static:time=1.5us,thr=32"),
    ("static", {"cint.static-time": 20_000, "cint.static-thr": 4}, "static:time=20us,thr=4"),
    ("vic", {}, "vic"), ("default", {}, "default"),
])
def test_a_policy_as_it_is_typed(kind: str, more: dict[str, Any], name: str) -> None:
    assert properties.typed(kind, more.__getitem__) == name
    assert properties.parse_policies(name)


class Monitor(threading.Thread):
    """QEMU's monitor with the devices it is told to have."""

    def __init__(self, path: Path, *devices: str) -> None:
        super().__init__(daemon=True)
        self.devices = devices
        self.policies: list[str] = []
        self.max_hold = 0
        self.static = {"cint.static-time": 0, "cint.static-thr": 0}
        self.queues = [queue(1, 1000, 100, 10**6)]
        #: What it answers from now on, by command; None: it goes away.
        self.later: dict[str, Any] = {}
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self.start()

    def run(self) -> None:
        connection = self._listener.accept()[0]
        stream = connection.makefile("rwb")
        stream.write(b'{"QMP": {}}\n')
        stream.flush()
        for line in stream:
            if self.later.get(json.loads(line)["execute"], ...) is None:
                stream.close()
                connection.close()
                return
            stream.write(json.dumps(self._answer(json.loads(line))).encode() + b"\n")
            stream.flush()

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        words = request.get("arguments", {})
        if request["execute"] in self.later:
            return dict(self.later[request["execute"]])
        if self.later.get("gone"):
            return {"return": []}
        if request["execute"] == "qom-list" and words["path"].endswith("peripheral"):
            return {"return": [{"name": name, "type": "child<nvme>"} for name in self.devices]}
        if request["execute"] == "qom-get":
            known = {"cint.max-hold": self.max_hold, "cint.policy": "cint", "cint.ooo": True,
                     **self.static}
            return {"return": known.get(words["property"],
                                        stats(4, *self.queues))}
        return self._set(**words) if request["execute"] == "qom-set" else {"return": []}

    def _set(self, path: str, property: str, value: Any) -> dict[str, Any]:
        if property == "cint.max-hold":
            self.max_hold = value
        elif property in self.static:
            self.static[property] = value
        elif value == "pointer" and not self.max_hold:
            return {"error": {"desc": "max-hold=0 does not go with policy=pointer"}}
        else:
            self.policies.append(value)
            if value == "vic":
                return {"error": {"desc": "not now"}}
        return {"return": []}


def test_once_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Monitor(tmp_path / "s", "nvme0")
    assert cli.main(["top", "--once", "--json", str(tmp_path / "s")]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["device"]) == (1, DEVICE)
    assert document["queues"][0]["cqes_per_s"] == 250


def test_what_is_printed_keeps_its_schema(tmp_path: Path,
                                          capsys: pytest.CaptureFixture[str]) -> None:
    schema = json.loads((paths.ROOT / "docs/top.schema.json").read_text("utf-8"))
    Monitor(tmp_path / "s", "nvme0")
    assert cli.main(["top", "--once", "--json", str(tmp_path / "s")]) == 0
    jsonschema.validate(json.loads(capsys.readouterr().out), schema)
    item = schema["properties"]["queues"]["items"]
    fields = [field.name for field in dataclasses.fields(live.Queue)]
    assert sorted(fields) == sorted(item["required"]) == sorted(item["properties"])


@pytest.mark.parametrize("columns", [80, 100, 120, 160, 300])
def test_the_reasons_are_the_last_to_go(columns: int) -> None:
    """Of a terminal that is too narrow for all; a row that is cut there still says them."""
    history, found = live.History(), live.rows(None, stats(1, queue(1, 1000, 100, 10**6)))
    history.add(found)
    head, line = live.as_text(found, columns, history)
    assert "quiet 99 thr 1" in line[:columns]
    assert ("delta us" in head) == (columns >= live.LIMITS_FROM)
    assert len(head) <= columns


def test_who_is_never_coalesced_has_no_delta() -> None:
    found = live.rows(None, stats(1, *(queue(n, 9, 3, 0) for n in (0, 1))))
    head, admin, other = live.as_text(found)
    of = {name: slice(head.index(name) - 1, head.index(name) + len(name))
          for name in ("policy", "delta us", "thr")}
    assert [admin[at].split() for at in of.values()] == [["-"]] * 3
    assert [other[of[name]].strip() for name in ("delta us", "thr")] == ["6", "32"]


def test_a_queues_policy_is_as_it_is_typed(tmp_path: Path,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    """cint with out-of-order messages is cint+ooo; of a queue with another policy it is not."""
    monitor = Monitor(tmp_path / "s", "nvme0")
    monitor.queues = [queue(1, 9, 3, 0, policy="cint"), queue(2, 9, 3, 0)]
    assert cli.main(["top", "--once", str(tmp_path / "s")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[2] for line in lines] == ["policy", "cint+ooo", "adaptive"]


@pytest.mark.parametrize("columns", [10, 20, 59, 60, 120])
def test_any_width_will_do(columns: int) -> None:
    rows = live.rows(None, stats(1, *(queue(n, 65000, 65000, 10**12) for n in (0, 1, 65535))))
    lines = live.as_text(rows, columns)
    assert len(lines) == 4
    if columns < live.NARROW:
        assert max(map(len, lines)) <= 19 and lines[3].split()[0] == "65535"
    # Columns do not run into each other, whatever the numbers of the queues.
    assert lines[3][:12].split() == (["65535", "65535"] if columns >= live.NARROW
                                     else ["65535", "65000"])


def test_what_does_not_fit_is_said() -> None:
    lines = [f"line {i}" for i in range(30)]
    assert top.fit(lines, 80, 30) == lines
    shown = top.fit(lines, 6, 10)
    assert len(shown) == 10 and shown[0] == "line 0" and shown[-1] == "line 2"
    assert top.fit(lines, 80, 10)[-2:] == ["... 21 lines more", "line 29"]
    assert top.fit(lines, 80, 1) == ["... 30 lines more"]


def test_each_policy_has_a_key_and_q_leaves() -> None:
    assert top.keys(["default", "static", "adaptive", "vic", "cint", "pointer"]) == \
        {"d": "default", "s": "static", "a": "adaptive", "v": "vic", "c": "cint", "p": "pointer"}
    assert top.keys(["quick", "quiet", "q"]) == {"u": "quick", "i": "quiet"}


def test_a_policy_without_a_timer_gets_one(tmp_path: Path) -> None:
    """./cint run, as the papers, has max-hold off."""
    monitor = Monitor(tmp_path / "s", "nvme0")
    control = qmp.connect(tmp_path / "s")
    assert top.act(control, DEVICE, "a") == "policy changed to adaptive"
    assert monitor.max_hold == 0
    assert top.act(control, DEVICE, "p") == "policy changed to pointer, with max-hold=10ms"
    monitor.max_hold = 5
    assert top.act(control, DEVICE, "p") == "policy changed to pointer"
    assert monitor.policies == ["adaptive", "pointer", "pointer"] and monitor.max_hold == 5
    control.close()


def test_static_gets_what_its_name_means(tmp_path: Path) -> None:
    """Without a time and a threshold it is `default`."""
    monitor = Monitor(tmp_path / "s", "nvme0")
    control = qmp.connect(tmp_path / "s")
    assert top.act(control, DEVICE, "s") == \
        "policy changed to static, with static-time=100us, with static-thr=32"
    assert monitor.static == {"cint.static-time": 100000, "cint.static-thr": 32}
    monitor.static["cint.static-thr"] = 5
    assert top.act(control, DEVICE, "s") == "policy changed to static"
    assert monitor.static["cint.static-thr"] == 5
    control.close()


def test_a_socket_in_use_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                 capsys: pytest.CaptureFixture[str]) -> None:
    """QEMU greets one client; the next one is accepted by the kernel, and by nobody else."""
    monkeypatch.setattr(qmp, "GREETING_S", 0.05)
    with socket.socket(socket.AF_UNIX) as busy:
        busy.bind(str(tmp_path / "s"))
        busy.listen(1)
        assert cli.main(["top", "--once", str(tmp_path / "s")]) == 1
    assert "one client at a time" in capsys.readouterr().err


class Terminal(threading.Thread):
    """`cint top` on a terminal of its own, whose size changes while it runs."""

    def __init__(self, sock: Path) -> None:
        super().__init__(daemon=True)
        self.shown = b""
        self.master, slave = pty.openpty()
        self.resize(20, 6)
        # These say a size, too, and go before the terminal's.
        env = {name: value for name, value in os.environ.items()
               if name not in ("COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "cint", "top", str(sock)], stdin=slave, stdout=slave,
            stderr=slave, cwd=paths.TOOLS, env={**env, "PYTHONPATH": str(paths.TOOLS)})
        os.close(slave)
        self.start()

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def run(self) -> None:
        with contextlib.suppress(OSError):      # the other end is gone
            while data := os.read(self.master, 4096):
                self.shown += data

    def wait_for(self, text: bytes) -> None:
        for _ in range(1200):
            if text in self.shown:
                return
            time.sleep(0.1)
        raise AssertionError((text, self.shown))


def test_a_terminal_that_is_narrow_and_then_wide(tmp_path: Path) -> None:
    monitor = Monitor(tmp_path / "s", "nvme0")
    terminal = Terminal(tmp_path / "s")
    terminal.wait_for(b"q d s a v c p")
    narrow = terminal.shown
    assert b"policy " not in narrow and b"reasons" not in narrow
    plain = narrow.decode().replace("\x1b[H\x1b[J", "")
    assert all(len(line) <= 20 for line in plain.split("\r\n"))
    terminal.resize(120, 30)
    terminal.wait_for(b"reasons")
    os.write(terminal.master, b"a")
    terminal.wait_for(b"policy changed to adaptive")
    monitor.later = {"qom-get": None}
    assert terminal.process.wait(timeout=120) == 1
    terminal.wait_for(b"error: ")
    # On a line of its own, below the keys.
    assert b"u:auto r:price\r\n" in terminal.shown


@pytest.mark.parametrize(("answers", "message"), [
    ({"qom-get": {"error": {"desc": "Device not found"}}, "gone": True}, "nvme0 was unplugged"),
    ({"qom-get": {"error": {"desc": "no"}}},
     "says nothing of its queues: QEMU refused qom-get: no"),
    ({"qom-get": None}, "QEMU closed its control socket"),
])
def test_a_device_or_a_vm_that_goes_away(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                         monkeypatch: pytest.MonkeyPatch,
                                         answers: dict[str, Any], message: str) -> None:
    monitor = Monitor(tmp_path / "s", "nvme0")

    def leave(_: float) -> str:
        monitor.later = answers
        return ""

    monkeypatch.setattr(top, "_pressed", leave)
    assert cli.main(["top", str(tmp_path / "s")]) == 1
    assert message in capsys.readouterr().err


def test_keys_change_the_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                capsys: pytest.CaptureFixture[str]) -> None:
    monitor = Monitor(tmp_path / "s", "nvme0")
    keys = iter("avxq")
    monkeypatch.setattr(top, "_pressed", lambda _: next(keys))
    assert cli.main(["top", str(tmp_path / "s")]) == 0
    shown = capsys.readouterr().out
    assert monitor.policies == ["adaptive", "vic"]
    assert "policy changed to adaptive" in shown
    assert "nvme0 cint+ooo 4.0 s" in shown
    assert "not now" in shown


@pytest.mark.parametrize(("devices", "words", "message"), [
    ((), [], "this VM has no NVMe device"),
    (("nvme0", "nvme1"), [], f"choose with --device: {DEVICE}, /machine/peripheral/nvme1"),
    (("nvme0",), ["--device", DEVICE[:-1] + "2"], f"did you mean {DEVICE}?"),
])
def test_which_device(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                      devices: tuple[str, ...], words: list[str], message: str) -> None:
    Monitor(tmp_path / "s", *devices)
    assert cli.main(["top", "--once", *words, str(tmp_path / "s")]) != 0
    assert message in capsys.readouterr().err
