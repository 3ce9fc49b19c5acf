# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint top`: rates between two readings, the table, keys, a VM's socket."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from cint import cli
from cint.timeline import live
from cint.verbs import top

DEVICE = "/machine/peripheral/nvme0"


def histogram(total: int, count: int) -> dict[str, Any]:
    return {"sum-ns": total, "max-ns": total, "buckets": [0, count]}


def queue(cqid: int, cqes: int, irqs: int, hold: int, **more: Any) -> dict[str, Any]:
    return {"cqid": cqid, "vector": cqid, "policy": "adaptive", "cqes": cqes, "irqs": irqs,
            "irqs-by-reason": {"quiet": irqs - 1, "thr": 1, "each": 0}, "inflight": 3,
            "pending": 2, "delta-ns": 6000, "thr": 32, "ratio-up": 0, "ratio-skip": 0,
            "storm-ewma-ns": 0, "storm-held": 0, "hold-unmarked": histogram(hold, cqes),
            "hold-urgent": histogram(0, 0), "hold-barrier": histogram(0, 0), **more}


def stats(seconds: int, *queues: dict[str, Any]) -> dict[str, Any]:
    return {"time-ns": seconds * 10**9, "queues": list(queues)}


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


class Monitor(threading.Thread):
    """QEMU's monitor with the devices it is told to have."""

    def __init__(self, path: Path, *devices: str) -> None:
        super().__init__(daemon=True)
        self.devices = devices
        self.policies: list[str] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self.start()

    def run(self) -> None:
        stream = self._listener.accept()[0].makefile("rwb")
        stream.write(b'{"QMP": {}}\n')
        stream.flush()
        for line in stream:
            stream.write(json.dumps(self._answer(json.loads(line))).encode() + b"\n")
            stream.flush()

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        words = request.get("arguments", {})
        if request["execute"] == "qom-list" and words["path"].endswith("peripheral"):
            return {"return": [{"name": name, "type": "child<nvme>"} for name in self.devices]}
        if request["execute"] == "qom-get":
            return {"return": stats(4, queue(1, 1000, 100, 10**6))}
        if request["execute"] == "qom-set":
            self.policies.append(words["value"])
            if words["value"] == "vic":
                return {"error": {"desc": "not now"}}
        return {"return": []}


def test_once_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Monitor(tmp_path / "s", "nvme0")
    assert cli.main(["top", "--once", "--json", str(tmp_path / "s")]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["device"]) == (1, DEVICE)
    assert document["queues"][0]["cqes_per_s"] == 250


def test_keys_change_the_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                capsys: pytest.CaptureFixture[str]) -> None:
    monitor = Monitor(tmp_path / "s", "nvme0")
    keys = iter("avxq")
    monkeypatch.setattr(top, "_pressed", lambda _: next(keys))
    assert cli.main(["top", str(tmp_path / "s")]) == 0
    shown = capsys.readouterr().out
    assert monitor.policies == ["adaptive", "vic"]
    assert "policy changed to adaptive" in shown
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
