# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint trace`: reading QEMU's log, the summary, the timeline, recording over QMP."""

from __future__ import annotations

import io
import itertools
import json
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from cint import cli
from cint.timeline import events, perfetto, summary
from cint.verbs import trace as verb

P = "pci_nvme_cint_"
#: Two unmarked commands and an urgent one; the head wraps in a queue of 4.
LOG = f"""\
qemu-system-x86_64 -trace '{P}*'
{P}submit cqid 1 sqid 2 cid 7 hints 0x0 sources 0x0 inflight 1 at 1000
{P}submit cqid 1 sqid 2 cid 8 hints 0x1 sources 0x1 inflight 2 at 1000
{P}doorbell sqid 2 count 2 at 1000
{P}media cqid 1 sqid 2 cid 7 due 5000
1234@5.000001:{P}post cqid 1 sqid 2 cid 7 hints 0x0 status 0x0 tail 3 at 5000
{P}post cqid 1 sqid 2 cid 8 hints 0x1 status 0x0 tail 0 at 6000
{P}irq cqid 1 vector 3 class urgent reason urgent covered 1 oldest hold 0 at 6000
{P}irq cqid 1 vector 3 class full reason quiet covered 1 oldest hold 6000 at 11000
{P}head cqid 1 head 0 at 12000
{P}post cqid 1 sqid 2 cid 9 hints 0x0 status 0x0 tail 1 at 20000
{P}head cqid 1 head 1 at 21000
{P}irq cqid 1 vec"""


@pytest.fixture
def found() -> events.Trace:
    return events.read(LOG.splitlines())


def test_a_commands_life(found: events.Trace) -> None:
    plain, urgent, early = found.commands
    assert (plain.submitted, plain.due, plain.posted, plain.told, plain.reaped) == \
        (1000, 5000, 5000, 11000, 12000)
    assert (urgent.hint, urgent.posted, urgent.told, urgent.interrupt, urgent.reaped) == \
        ("urgent", 6000, 6000, 0, 12000)
    # Submitted before the trace began, and consumed before any interrupt.
    assert (early.submitted, early.told, early.reaped) == (None, None, 21000)


def test_the_summary(found: events.Trace) -> None:
    document = summary.summarize(found)
    assert document["events"] == 11
    [queue] = document["queues"]
    assert (queue["cqes"], queue["interrupts"], queue["untold"]) == (3, 2, 1)
    assert queue["cqes_per_interrupt"] == 1.5
    assert queue["reasons"] == {"urgent": 1, "quiet": 1}
    assert queue["hints"]["unmarked"]["hold"] == {"count": 1, "mean": 6000, "p50": 6000,
                                                  "p90": 6000, "p99": 6000, "max": 6000}
    assert queue["hints"]["urgent"]["reap"]["max"] == 6000
    assert "CQ 1: 3 CQEs, 2 interrupts, 1.50 CQEs per interrupt" in summary.as_text(document)


@pytest.mark.parametrize(("count", "ranks"), [(1, (1, 1, 1)), (2, (1, 2, 2)), (100, (50, 90, 99)),
                                              (1000, (500, 900, 990))])
def test_percentiles_are_nearest_rank(count: int, ranks: tuple[int, ...]) -> None:
    found = summary.times(list(range(count, 0, -1)))
    assert tuple(found[f"p{q}"] for q in summary.PERCENTILES) == ranks


def timeline(found: events.Trace) -> list[dict[str, Any]]:
    stream = io.StringIO()
    perfetto.write(found, stream)
    return list(json.loads(stream.getvalue())["traceEvents"])


def test_the_timeline(found: events.Trace) -> None:
    drawn = timeline(found)
    slices = [(e["name"], e["pid"], e["ts"], e["dur"]) for e in drawn if e["ph"] == "X"]
    assert ("cid 7", 12, 1.0, 11.0) in slices
    assert ("device", 12, 1.0, 4.0) in slices and ("held", 12, 5.0, 6.0) in slices
    assert ("quiet", 1, 11.0, 0.1) in slices
    names = {e["args"]["name"] for e in drawn if e["ph"] == "M"}
    assert {"SQ 2", "vectors", "vector 3", "in flight 1", "in flight 2"} <= names
    begun = {e["id"] for e in drawn if e["ph"] == "s"}
    assert begun and begun == {e["id"] for e in drawn if e["ph"] == "f"}
    counts = [e["args"]["CQEs"] for e in drawn if e["ph"] == "C"]
    assert min(counts) == 0 and max(counts) >= 1 and counts[-1] == 0


def test_slices_of_a_lane_nest(found: events.Trace) -> None:
    many = [f"{P}submit cqid 1 sqid 1 cid {i} hints 0x0 sources 0x0 inflight 1 at {i * 10}\n"
            f"{P}post cqid 1 sqid 1 cid {i} hints 0x0 status 0x0 tail {i + 1} at {i * 10 + 95}\n"
            f"{P}irq cqid 1 vector 1 class full reason each covered 1 oldest hold 0 "
            f"at {i * 10 + 95}\n{P}head cqid 1 head {i + 1} at {i * 10 + 99}" for i in range(50)]
    # As a log has them: in the order of their times.
    lines = sorted("\n".join(many).splitlines(), key=lambda text: int(text.rsplit(" ", 1)[1]))
    drawn = [e for e in timeline(events.read(lines)) if e["ph"] == "X" and e["name"][:3] == "cid"]
    assert len(drawn) == 50 and len({e["tid"] for e in drawn}) == 10
    for lane in {e["tid"] for e in drawn}:
        mine = sorted((e["ts"], e["ts"] + e["dur"]) for e in drawn if e["tid"] == lane)
        assert all(a[1] <= b[0] + 1e-9 for a, b in itertools.pairwise(mine))


def test_a_large_trace_costs_little() -> None:
    """10 s of processor time for the summary of a million events, 60 s for their timeline."""
    body = [line for line in LOG.splitlines() if line.startswith(P)][:-1]
    lines = body * 2000
    began = time.process_time()
    found = events.read(lines)
    summary.summarize(found)
    middle = time.process_time()
    timeline(found)
    share = len(lines) / 1e6
    assert middle - began < 10 * share and time.process_time() - middle < 60 * share


def test_a_log_without_events_says_what_to_do(tmp_path: Path,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").write_text("nothing\n")
    assert cli.main(["trace", str(tmp_path / "log")]) == 1
    assert "--trace cint" in capsys.readouterr().err
    assert cli.main(["trace"]) == 2
    assert cli.main(["trace", str(tmp_path / "none")]) == 1
    assert "No such file" in capsys.readouterr().err


class Monitor(threading.Thread):
    """Just enough of QEMU's monitor to be recorded from: it writes its log when told to."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self.heard: list[dict[str, Any]] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()

    def run(self) -> None:
        stream = self._listener.accept()[0].makefile("rwb")
        stream.write(b'{"QMP": {}}\n')
        stream.flush()
        for line in stream:
            request = json.loads(line)
            self.heard.append(request)
            stream.write(json.dumps({"return": self._answer(request)}).encode() + b"\n")
            stream.flush()

    def _answer(self, request: dict[str, Any]) -> Any:
        words = request.get("arguments", {})
        text = words.get("command-line", "")
        if text.startswith("logfile") and "/dev/" not in text:
            Path(text.split()[1]).write_text(LOG)
        if request["execute"] == "trace-event-get-state":
            return [{"name": P + "irq", "state": "disabled"},
                    {"name": P + "post", "state": "enabled"}]
        return {}


def test_a_running_vm_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                  capsys: pytest.CaptureFixture[str]) -> None:
    monitor = Monitor(tmp_path / "s")
    monitor.start()
    monkeypatch.setattr(time, "sleep", lambda _: None)
    assert cli.main(["trace", "--qmp", str(tmp_path / "s"), "--json", str(tmp_path / "log")]) == 0
    assert json.loads(capsys.readouterr().out)["events"] == 11
    states = [(one["arguments"]["name"], one["arguments"]["enable"]) for one in monitor.heard
              if one["execute"] == "trace-event-set-state"]
    # On, and then as each was before.
    assert states == [(verb.EVENTS, True), (P + "irq", False), (P + "post", True)]


def test_no_vm_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["trace", "--qmp", str(tmp_path / "none")]) == 1
    assert "-qmp unix:PATH,server=on,wait=off" in capsys.readouterr().err
