# SPDX-License-Identifier: GPL-2.0-or-later
"""Records of other tools: what blkparse, fio and bpftrace really printed, and their mistakes.

The numbers are the records' own, counted by other means (grep, awk): records/README.md says how
each was made.
"""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cint import cli, paths
from cint.errors import CintError
from cint.timeline import events, importers
from cint.timeline.importers import Choice, log
from cint.timeline.importers.requests import Found, Request

RECORDS = Path(__file__).parent / "records"
BLKPARSE = RECORDS / "blkparse.txt"
NVME_BT = RECORDS / "nvme-bt.txt"
V3, V3_CLAT = RECORDS / "fio-3.33.iolog", RECORDS / "fio-3.33_clat.1.log"
V2, V2_CLAT = RECORDS / "fio-3.25.iolog", RECORDS / "fio-3.25_clat.1.log"
CLAT = [RECORDS / f"fio-3.39_clat.{job}.log" for job in (1, 2)]
LAT = RECORDS / "fio-3.39_lat.1.log"

#: Format, files, choice; then queues with their requests, batches, and what has no end.
CASES: list[tuple[str, list[Path], Choice, dict[int, int], int, int]] = [
    ("blkparse", [BLKPARSE], Choice(), {1: 28, 2: 16}, 38, 2),
    ("bpftrace", [NVME_BT], Choice(), {1: 120, 2: 30}, 150, 0),
    ("fio-lat", CLAT, Choice(), {1: 120, 2: 30}, 144, 0),
    ("fio-lat", [LAT], Choice(), {1: 120}, 120, 0),
    ("fio-io", [V3], Choice(latency="10us"), {1: 100}, 100, 0),
    ("fio-io", [V3], Choice(latency=str(V3_CLAT)), {1: 100}, 100, 0),
    ("fio-io", [V2], Choice(latency="10us", depth=4), {1: 100}, 100, 0),
    ("fio-io", [V2], Choice(latency=str(V2_CLAT), depth=4), {1: 100}, 100, 0),
]


def counts(found: Found) -> dict[int, int]:
    """Requests by queue."""
    queues = [request.queue for request in found.requests]
    return {queue: queues.count(queue) for queue in sorted(set(queues))}


def summary(text: str, tmp_path: Path) -> Any:
    """What cint-replay says of a log under policy default."""
    (tmp_path / "log").write_text(text, encoding="utf-8")
    done = subprocess.run([paths.REPLAY, "--from-trace", "--json", "--irqs", "off", "--policy",
                           "default", tmp_path / "log"], text=True, capture_output=True,
                          check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout.splitlines()[-1])["summary"]


@pytest.mark.parametrize(("name", "files", "choice", "queues", "batches", "open_still"), CASES)
def test_a_record_becomes_a_load(name: str, files: list[Path], choice: Choice,  # noqa: PLR0917
                                 queues: dict[int, int], batches: int, open_still: int,
                                 tmp_path: Path) -> None:
    found = importers.read(name, files, choice)
    assert counts(found) == queues
    assert sum(request.rings for request in found.requests) == batches
    assert sum(request.end is None for request in found.requests) == open_still
    text = "".join(log.lines(found.requests))
    total = sum(queues.values())
    assert [text.count(f"{events.PREFIX}{what} ") for what in ("submit", "doorbell", "post")] == \
        [total, batches, total - open_still]
    # The other reader of such logs, and the program, see the same load.
    (tmp_path / "log").write_text(text)
    trace = events.load(tmp_path / "log")
    ended = [one for one in trace.commands if one.posted is not None]
    assert len(trace.commands) == total and len(ended) == total - open_still
    document = summary(text, tmp_path)
    assert document["completions"] == total - open_still
    assert document["policies"][0]["interrupts"] == total - open_still


def test_blkparses_times_and_batches() -> None:
    found = importers.read("blkparse", [BLKPARSE], Choice())
    first, alone = found.requests[0], next(r for r in found.requests if r.queue == 2)
    # Sector 7904: D at 0.006251111, the first of an unplug of four; C at 0.014075624.
    assert (first.begin, first.end, first.rings) == (6_251_111, 14_075_624, False)
    assert [request.rings for request in found.requests[:4]] == [False, False, False, True]
    assert (alone.begin, alone.end, alone.rings) == (6_849_689, 8_439_435, True)
    assert found.remarks == ["2 requests have no completion in the record"]


def test_bpftraces_times() -> None:
    found = importers.read("bpftrace", [NVME_BT], Choice(device="nvme0"))
    assert found.requests[0] == Request(2, 100_626_383_373, 100_642_538_876)
    assert found.remarks == []


def test_fios_times_are_exact_with_issue_times() -> None:
    found = importers.read("fio-lat", CLAT, Choice())
    first = min(found.requests, key=lambda one: one.begin)
    # Its first line: 26, 3257400, 0, 4096, 34648064, 0, 23008783.
    assert (first.begin, first.end) == (23_008_783, 23_008_783 + 3_257_400)
    assert found.remarks == []
    coarse = importers.read("fio-lat", [LAT], Choice())
    assert "whole milliseconds" in coarse.remarks[0] and "log_issue_time=1" in coarse.remarks[0]
    lines = LAT.read_text("utf-8").splitlines()
    for request, line in zip(coarse.requests, lines, strict=True):
        ms, latency = (int(word) for word in line.split(",")[:2])
        assert request.end is not None
        assert request.end // 10**6 == ms and request.end - request.begin == latency


def test_an_io_log_with_the_jobs_own_latencies() -> None:
    found = importers.read("fio-io", [V3], Choice(latency=str(V3_CLAT)))
    # 10397 us: a read at 4046848; its line of the latency log says how long it took.
    [line] = [text for text in V3_CLAT.read_text("utf-8").splitlines() if " 4046848," in text]
    assert found.requests[0].begin == 10_397_000
    assert found.requests[0].end == 10_397_000 + int(line.split(",")[1])


def test_a_version_2_log_keeps_its_depth() -> None:
    found = importers.read("fio-io", [V2], Choice(latency="10us", depth=4))
    times = sorted([(one.begin, 1) for one in found.requests]
                   + [(one.end or 0, -1) for one in found.requests])
    flying = most = 0
    for _, step in times:
        flying += step
        most = max(most, flying)
    assert most == 4 and times[-1][0] == 25 * 10_000
    assert "version 2 has no times" in found.remarks[0]


def test_hints_are_read_from_the_flags(tmp_path: Path) -> None:
    record = tmp_path / "r"
    record.write_text("Attaching 3 probes...\n# nvme.bt 1\nS 10 0 1 7 2 4\nS 11 0 1 8 2 8\n"
                      "C 30 0 1 8 0\nC 20 0 1 7 6\n", encoding="utf-8")
    found = importers.read("bpftrace", [record], Choice())
    assert found.requests == [Request(1, 10, 20, 1, failed=True), Request(1, 11, 30, 2)]
    text = "".join(log.lines(found.requests))
    assert "cid 0 hints 0x1 sources 0x1 inflight 1 at 0" in text
    assert "cid 0 hints 0x1 status 0xc tail 1 at 10" in text


# --- mistakes -----------------------------------------------------------------------------

B = "259,0 0 1 0.000000100 9 D R 0 + 8 [fio]\n"
E = "259,0 0 2 0.000000300 0 C R 0 + 8 [0]\n"
H = "# nvme.bt 1\n"
I3 = "fio version 3 iolog\n"

MISTAKES = [
    ("blkparse", b"\x07tae\0\0\0\0", "what blktrace writes"),
    ("blkparse", b"", "there are no requests"),
    ("blkparse", B, "no completions"),
    ("blkparse", "259,0 R 0 8\n" + B, "r:1: expected a line of blkparse"),
    ("blkparse", B + "garbage\n" + E, "r:2: expected a line of blkparse"),
    ("blkparse", B + E + B.replace("259,0", "8,16"), "has 2 devices"),
    ("bpftrace", B, "no line '# nvme.bt 1'"),
    ("bpftrace", "# nvme.bt 2\n", "version 2 of nvme.bt's format; this tool reads version 1"),
    ("bpftrace", H, "there are no requests"),
    ("bpftrace", H + "S 1 0 1 1 2 0\n", "no completions"),
    ("bpftrace", H + "S 1 0 1 1 2\nC 2 0 1 1 0\n", "r:2: expected 'S' with time"),
    ("bpftrace", H + "S 1 0 1 1 2 0\nC 2 0 1 1 0\nS 1 1 1 1 2 0\n", "has 2 controllers"),
    ("fio-lat", "1, 5, 0\n1, 5, 0, 4096\n", "r:1: expected a line of fio's latency log"),
    ("fio-lat", "100, 5000, 0, 0, 0, 0\n", "averages"),
    ("fio-lat", "{\n\"fio version\": 1\n}\n", "r:1: expected a line of fio's latency log"),
    ("fio-io", "fio version 4 iolog\n", "this tool reads versions 2 and 3"),
    ("fio-io", "f add\n", "r:1: expected 'fio version 2 iolog'"),
    ("fio-io", I3 + "1 f add\nf read 0 4096\n2 f read 0 4096\n",
     "r:3: expected a line of version 3"),
    ("fio-io", I3 + "1 f add\n", "there are no requests"),
    ("fio-io", "fio version 2 iolog\nf read 0 4096\n", "give --depth"),
    ("blkparse", "a\0b", "this is no text"),
    ("blkparse", "259,0 D R 0 8\n", "the last line is cut short and left out: 259,0 D R 0 8"),
    ("fio-lat", f"1, {10**23}, 0, 4096, 0, 0\n", "its times span 100000000000000 s"),
    ("bpftrace", H + f"S 1 0 1 1 2 0\nC 2 0 1 1 0\nS {2**64 - 1} 0 1 1 2 0\n", "its times span"),
]


@pytest.mark.parametrize(("name", "kind"), [
    ("j_slat.1.log", "submission times"), ("j_bw.log", "bandwidths"), ("j_iops.2.log", "rates")])
def test_fios_other_logs_are_told_by_their_names(name: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("500, 34000, 0, 4096, 0, 0\n")
    with pytest.raises(CintError, match=kind):
        importers.read("fio-lat", [tmp_path / name], Choice())
    with pytest.raises(CintError, match=kind):
        importers.read("fio-io", [V3], Choice(latency=str(tmp_path / name)))


#: A request of sector 8 from 200 to 900, as blkparse shows it beside what else there may be.
D8, C8 = "8,0 0 2 0.000000200 9 D R 8 + 8 [fio]\n", "8,0 1 1 0.000000900 0 C R 8 + 8 [0]\n"
ONE = (Request(1, 200, 900),)

#: What blkparse really prints and a reader may stumble over: text, requests, remarks.
ODD: list[tuple[str, tuple[Request, ...], list[str]]] = [
    # The mapper's device hands its request on, and has an end of its own.
    ("253,0 0 1 0.000000100 9 Q R 0 + 8 [fio]\n8,0 0 1 0.000000150 9 A R 8 + 8 <- (253,0) 0\n"
     + D8 + C8 + "253,0 1 2 0.000000950 0 C R 0 + 8 [0]\n", ONE, []),
    # Merged, split, plugged, messages, a timer's unplug.
    ("8,0 0 1 0.000000100 9 M R 16 + 8 [fio]\n8,0 0 1 0.000000110 9 X R 8 / 16 [fio]\n"
     "8,0 0 1 0.000000120 9 P N [fio]\n8,0 0 1 0.000000130 0 m N cfq9S / put request\n"
     "8,0 0 1 0.000000140 0 UT N [swapper] 1\n" + D8 + C8, ONE, []),
    # Lines out of order.
    (C8 + D8, ONE, []),
    # blkparse -t.
    (D8.replace("[fio]", "(   12345) [fio]") + C8.replace("[0]", "(     700) [0]"), ONE, []),
    # A name with blanks and brackets; an error.
    (D8.replace("[fio]", "[a [b] c]") + C8.replace("[0]", "[65531]"),
     (Request(1, 200, 900, failed=True),), []),
    # A flush has no extent where it begins, a discard a large one.
    ("8,0 0 2 0.000000200 9 D FN [kworker/0:1H]\n8,0 1 1 0.000000900 0 C FN 0 [0]\n", ONE, []),
    (D8.replace("R 8 + 8", "D 8 + 4096") + C8.replace("R 8 + 8", "D 8 + 4096"), ONE, []),
    # Passthrough commands.
    (D8 + C8 + "8,0 1 1 0.000001900 0 D R 36 (12 01 00 ..) [multipathd]\n"
     "8,0 1 1 0.000002900 0 C R (12 01 00 ..) [0]\n8,0 1 1 0.000004900 0 D N 0 (00 ..) [smartd]\n",
     ONE, ["2 passthrough commands are left out"]),
    # Put back, and issued once more by another CPU; put back for good.
    (D8.replace("200", "100") + "8,0 0 3 0.000000150 9 R R 8 + 8 [0]\n"
     + D8.replace("8,0 0", "8,0 1") + C8, (Request(2, 200, 900),), []),
    (D8 + C8 + "8,0 0 2 0.000000950 9 D W 0 + 8 [fio]\n8,0 0 3 0.000000960 9 R W 0 + 8 [0]\n",
     (*ONE, Request(1, 950)), ["1 requests have no completion in the record"]),
    # The same sector twice at once: the oldest ends first.
    (D8 + D8.replace("200", "300") + C8 + C8.replace("900", "950"),
     (*ONE, Request(1, 300, 950)), []),
    # An unplug says four, two come: the thread's next request is no part of the batch.
    ("8,0 0 1 0.000000100 9 U N [fio] 4\n" + D8 + D8.replace("200", "300").replace("R 8", "R 16")
     + "8,0 0 4 0.000000400 9 Q R 24 + 8 [fio]\n"
     + D8.replace("200", "500").replace("R 8", "R 24") + C8,
     (Request(1, 200, 900, rings=False), Request(1, 300), Request(1, 500)),
     ["2 requests have no completion in the record"]),
]


@pytest.mark.parametrize(("text", "requests", "remarks"), ODD)
def test_what_blkparse_prints_beside_plain_requests(
        text: str, requests: tuple[Request, ...], remarks: list[str], tmp_path: Path) -> None:
    record = tmp_path / "r"
    record.write_text(text, encoding="utf-8")
    found = importers.read("blkparse", [record], Choice())
    assert (tuple(found.requests), found.remarks) == (requests, remarks)


def test_logs_of_several_jobs_in_one_file(tmp_path: Path) -> None:
    """fio's per_job_logs=0: the second job begins at its own first millisecond."""
    record = tmp_path / "r"
    record.write_text("5, 7, 0, 4096, 0, 0\r\n6, 7, 0, 4096, 0, 0\r\n5, 9, 1, 4096, 0, 0\r\n")
    found = importers.read("fio-lat", [record], Choice())
    assert [one.end for one in found.requests] == [5_250_000, 5_750_000, 6_500_000]


@pytest.mark.parametrize(("name", "text", "said"), MISTAKES)
def test_a_mistake_is_named(name: str, text: str | bytes, said: str, tmp_path: Path) -> None:
    record = tmp_path / "r"
    record.write_bytes(text.encode() if isinstance(text, str) else text)
    choice = Choice(latency="10us") if name == "fio-io" else Choice()
    with pytest.raises(CintError) as caught:
        importers.read(name, [record], choice)
    assert said in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(("name", "path", "choice"), [
    ("blkparse", BLKPARSE, Choice()), ("bpftrace", NVME_BT, Choice()),
    ("fio-lat", CLAT[0], Choice()), ("fio-io", V3, Choice(latency="10us"))])
def test_a_record_that_is_cut_short_is_read_up_to_there(
        name: str, path: Path, choice: Choice, tmp_path: Path) -> None:
    lines = path.read_text("utf-8").splitlines(keepends=True)[:60]
    record = tmp_path / "r"
    record.write_text("".join(lines)[:-8], encoding="utf-8")
    found = importers.read(name, [record], choice)
    assert found.requests
    whole = "".join(lines)
    (tmp_path / "w").write_text(whole, encoding="utf-8")
    wanted = importers.read(name, [tmp_path / "w"], choice)
    # Cut within a number it is another number; else the line is left out, and that is said.
    assert len(found.requests) in (len(wanted.requests), len(wanted.requests) - 1)
    assert len(found.requests) == len(wanted.requests) or any(
        "cut short" in remark for remark in found.remarks)


def test_lost_events_and_strangers_are_said(tmp_path: Path) -> None:
    record = tmp_path / "r"
    record.write_text(H + "C 1 0 1 5 0\nS 2 0 1 6 2 0\nLost 3 events\nC 3 0 1 6 0\n"
                      "S 3 0 0 1 6 0\n", encoding="utf-8")
    found = importers.read("bpftrace", [record], Choice())
    assert found.remarks == ["bpftrace says: Lost 3 events",
                             "1 completions of requests that began before the record are left out"]
    assert counts(found) == {1: 1}


def test_a_million_requests_need_no_more_identifiers_than_are_in_flight() -> None:
    requests = [Request(1, 10 * i, 10 * i + 25) for i in range(5000)]
    found = [int(match[1]) for match in
             (re.search(r"submit .* cid (\d+)", line) for line in log.lines(requests)) if match]
    assert len(found) == 5000 and max(found) == 2


# --- the verb -----------------------------------------------------------------------------

@pytest.mark.parametrize(("words", "said"), [
    (["--from", "blkparse"], "give the file"),
    (["--device", "nvme0", "x"], "--device goes with --from"),
    (["--depth", "4", "--from", "qemu", "x"], "--depth goes with --from"),
    (["--from", "blkparse", "a", "b"], "one FILE, not 2"),
    (["--from", "fio-io", str(V3)], "give --latency"),
    (["--from", "fio-io", "--latency", "fast", str(V3)], "--latency"),
    (["--from", "bpftrace", "--device", "nvme7", str(NVME_BT)], "it has nvme0"),
    (["--from", "blkparse", "--device", "8,0", str(BLKPARSE)], "it has those of 259,0"),
    (["--from", "blkparse", "/nowhere"], "there is no such file"),
])
def test_the_verb_says_what_is_wrong(words: list[str], said: str,
                                     capsys: pytest.CaptureFixture[str],
                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cint.build.engine.build_replay", lambda: False)
    assert cli.main(["replay", *words]) in (1, 2)
    assert said in capsys.readouterr().err


def test_the_verb_keeps_what_it_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                     capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("cint.build.engine.build_replay", lambda: False)
    monkeypatch.setattr(paths, "REPLAY_ALONE", paths.REPLAY)
    kept = tmp_path / "kept.log"
    assert cli.main(["replay", "--from", "blkparse", "--policy", "default,adaptive", "--save",
                     str(kept), str(BLKPARSE)]) == 0
    captured = capfd.readouterr()
    assert "completions 42 in" in captured.out and "2 requests have no completion" in captured.err
    # `./cint trace` reads it too.
    assert cli.main(["trace", str(kept)]) == 0
    assert "CQ 1: 27 CQEs, 0 interrupts" in capfd.readouterr().out
