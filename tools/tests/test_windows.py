# SPDX-License-Identifier: GPL-2.0-or-later
"""Rates of the time in which a group's jobs ran together; jobs behind one another are groups."""

from __future__ import annotations

import base64
import gzip
import subprocess
from pathlib import Path
from typing import Any

import pytest
from canned import STAT, fio, fio_job, log, record, result, snap

from cint.device import logpage
from cint.errors import CintError
from cint.measure import edges, fiojson, sampling
from cint.measure.fiojson import JobStats
from cint.measure.window import window


def job(ios: int, runtime_ms: int, limit_ms: float | None = None) -> JobStats:
    """A job with fio's own rate."""
    return JobStats("j", ios, 1000 * ios / runtime_ms, 20.0, {20: ios}, runtime_ms,
                    limit_ms=limit_ms)


def test_jobs_of_the_same_time_keep_fios_own_rates() -> None:
    got = window({"a": job(900, 451, 450), "b": job(300, 450, 450)})
    assert got.even
    assert got.rates == {"a": pytest.approx(900 / 0.451), "b": pytest.approx(300 / 0.450)}


def test_a_job_that_only_waits_at_its_end_is_no_slower() -> None:
    """The last 16 of an async job come after a delta of a second."""
    got = window({"async": job(90_016, 1200, 300), "sync": job(9000, 301, 300)})
    assert got.even
    assert got.seconds == pytest.approx(0.3)
    assert got.rates["async"] == pytest.approx(300_053, rel=1e-3)
    assert got.rates["sync"] == pytest.approx(30_000, rel=0.01)
    alone = window({"async": job(90_016, 1200, 300)})
    assert alone.rates["async"] == pytest.approx(300_053, rel=1e-3)


def edge(start: bool, time_ms: int, ios: int, irqs: int = 0,
         page: bytes | None = None) -> edges.Edge:
    """What the script of a job's edge found."""
    return edges.Edge(start, time_ms * 1_000_000, ios, irqs, page, None)


def test_of_a_job_that_runs_longer_only_the_common_time_counts() -> None:
    """Alone it is three times as fast as beside the other."""
    jobs = {"short": job(1000, 1000, 1000), "long": job(8000, 3000, 3000)}
    found = [edge(True, 0, 0), edge(True, 10, 10), edge(False, 1010, 3010), edge(False, 3010, 9000)]
    got = window(jobs, found)
    assert not got.even
    assert got.seconds == 1.0
    assert got.rates == {"short": 1000.0, "long": pytest.approx(2000.0)}
    guess = window(jobs)
    assert guess.rates["long"] == pytest.approx(8000 / 3)


def test_of_a_job_that_begins_later_only_the_common_time_counts() -> None:
    """Each has its part of what was counted: fio does not say what the first did meanwhile."""
    jobs = {"a": job(2000, 1000, 1000), "b": job(1000, 1000, 1000)}
    found = [edge(True, 0, 0), edge(True, 500, 1500), edge(False, 1000, 2100),
             edge(False, 1500, 3000)]
    got = window(jobs, found)
    assert (got.seconds, got.even, got.total) == (0.5, False, None)
    assert got.rates == {"a": pytest.approx(800), "b": pytest.approx(400)}
    # What the script at an edge takes is no delay.
    found[1] = edge(True, 90, 200)
    assert window(jobs, found).rates == {"a": 2000, "b": 1000}


def test_jobs_that_never_ran_together_have_their_own_rates() -> None:
    jobs = {"a": job(2000, 1000, 1000), "b": job(1000, 1000, 1000)}
    got = window(jobs, [edge(True, 0, 0), edge(False, 1000, 2000), edge(True, 3000, 2000),
                        edge(False, 4000, 3000)])
    assert (got.seconds, got.even) == (0.0, False)
    assert got.total == pytest.approx(1500)
    assert got.rates == {"a": 2000, "b": 1000}


def entry(name: str, ios: int, runtime_ms: int, group: int = 0, **options: str) -> dict[str, Any]:
    """One job of fio's document."""
    one = fio_job(name, 1000 * ios / runtime_ms, {20_000: ios})
    one["read"]["runtime"] = runtime_ms
    return one | {"job options": options, "groupid": group}


def test_groups_are_fios() -> None:
    document = fio(entry("a", 10, 100), entry("b", 10, 100, 1), entry("b", 10, 100, 1),
                   entry("c", 10, 100, 1), entry("a", 10, 100, 2))
    assert [list(group) for group in fiojson.groups(document)] == [["a"], ["b", "c"], ["a"]]
    assert fiojson.groups(document)[1]["b"].ios == 20
    assert fiojson.parse(document)["a"].ios == 20


def test_groups_that_run_side_by_side_are_one() -> None:
    """fio's new_group makes a group that waits for nobody."""
    document = fio(entry("a", 900, 1000), entry("b", 3600, 1000, 1))
    text = line("pre", 0, 0, 0, None) * 2 + line("post", 1000, 9, 9, None) * 2
    message = result("own", document, snap(0, 0, 0), snap(1, 9, 0), stdout=text)
    one, = sampling.samples("default", "own", 0, message, 1)
    assert list(one.jobs) == ["a", "b"]
    assert one.iops == pytest.approx(4500)


def test_the_time_limit_is_the_jobs_own_or_the_common_one() -> None:
    document = fio(entry("a", 10, 100, runtime="300ms"), entry("b", 10, 100)) | {
        "global options": {"runtime": "2"}}
    got = fiojson.groups(document)[0]
    assert (got["a"].limit_ms, got["b"].limit_ms) == (300, 2000)
    assert fiojson.groups(fio(entry("c", 10, 100)))[0]["c"].limit_ms is None


# ---- the edges ----------------------------------------------------------

def line(when: str, time_ms: int, ios: int, irqs: int, page: bytes | None, *,
         idle: int = 0) -> str:
    """What the script prints."""
    packed = base64.b64encode(gzip.compress(page or b"")).decode()
    cpu = STAT.format(idle=idle).splitlines()[0]
    return (f"cint-{when} {time_ms / 1000:.2f} 0.00 {cpu}\n"
            f"cint-edge {when} {time_ms}000000 {ios} {irqs} {packed}\n")


def page(cqes: int, irqs: int) -> bytes:
    """The device's log page."""
    return log(record(0, 5, 5), record(1, cqes, irqs))


def stonewalled(text: str) -> dict[str, Any]:
    """Two groups: 1000 I/Os in 500 interrupts, then 4000 in 500 (and the ramps before each)."""
    document = fio(entry("a", 900, 1000), entry("b", 3600, 2000, 1))
    return result("own", document, snap(0, 100, 0, page(50, 50)) | {"block": stat(50)},
                  snap(4_000_000_000, 1100, 0, page(5050, 1050)) | {"block": stat(5050)},
                  stdout=text)


def stat(ios: int) -> str:
    """/sys/block/*/stat with so many reads."""
    return f"{ios} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"


TEXT = (line("pre", 100, 50, 110, page(50, 50)) + line("post", 1200, 1050, 610, page(1050, 550))
        + line("pre", 1300, 1050, 610, page(1050, 550), idle=50)
        + line("post", 3400, 5050, 1110, page(5050, 1050), idle=155))


def test_each_group_is_a_row() -> None:
    one, two = sampling.samples("default", "own", 0, stonewalled(TEXT), 1)
    assert [(s.workload, s.whole, s.group, s.groups) for s in (one, two)] == [
        ("own/1", "own", 1, 2), ("own/2", "own", 2, 2)]
    assert one.device and two.device
    assert [(s.device.cqes, s.device.interrupts) for s in (one, two) if s.device] == [
        (1000, 500), (4000, 500)]
    assert two.guest_interrupts == 500
    assert two.cpu_share == pytest.approx(0.5)
    rows = [sampling.rows([s], 1.0, None, True)[0] for s in (one, two)]
    assert [r.values["iops"] for r in rows] == [pytest.approx(900), pytest.approx(1800)]
    assert [r.values["ios_per_irq"] for r in rows] == [2.0, 8.0]
    assert [r.values["device_irqs"] for r in rows] == [pytest.approx(450), pytest.approx(225)]


def test_without_edges_a_groups_interrupts_are_not_known() -> None:
    for text in ("", line("pre", 1, 1, 1, None), TEXT[len(TEXT) // 2:]):
        for one in sampling.samples("default", "own", 0, stonewalled(text), 1):
            row = sampling.rows([one], 1.0, None, True)[0]
            assert row.values["iops"]
            for metric in ("device_irqs", "guest_irqs", "ios_per_irq", "cpu_percent"):
                assert row.values[metric] is None


def test_jobs_that_end_apart_are_counted_until_the_first_end() -> None:
    document = fio(entry("short", 1000, 1000), entry("long", 8000, 3000))
    text = (line("pre", 0, 0, 0, page(0, 0)) + line("pre", 0, 0, 0, page(0, 0))
            + line("post", 1000, 3000, 300, page(3000, 300))
            + line("post", 3000, 9000, 3300, page(9000, 3300)))
    message = result("own", document, snap(0, 0, 0, page(0, 0)) | {"block": stat(0)},
                     snap(1, 9, 0, page(9000, 3300)) | {"block": stat(9000)}, stdout=text)
    one, = sampling.samples("default", "own", 0, message, 1)
    assert one.window and not one.window.even
    assert one.rate("long") == pytest.approx(2000)
    assert one.ios / (one.device.interrupts if one.device else 0) == 10
    row, = sampling.rows([one], 2.0, None, False)
    assert not row.even
    assert row.window_s == pytest.approx(0.5)
    assert row.values["iops"] == pytest.approx(6000)


def test_the_stock_row_counts_ios_of_the_same_time_as_interrupts() -> None:
    """fio leaves its ramp out: as many I/Os again, which have interrupts too."""
    document = fio(entry("a", 1000, 1000))
    before, after = snap(0, 100, 0), snap(2_000_000_000, 2100, 0)
    message = result("a", document, before | {"block": stat(7)}, after | {"block": stat(2007)})
    row, = sampling.rows([sampling.sample("stock", "a", 0, message, 1)], 1.0, None, False)
    assert row.values["ios_per_irq"] == 1.0
    assert row.values["guest_irqs"] == pytest.approx(1000)
    message = result("a", document, before, after)
    row, = sampling.rows([sampling.sample("stock", "a", 0, message, 1)], 1.0, None, False)
    assert row.values["ios_per_irq"] == 0.5  # an older image: it does not count I/Os


@pytest.mark.parametrize("text", [
    "cint-edge pre", "cint-edge on 1 2 3 H4sI", "cint-edge pre a 2 3 x",
    "cint-edge pre 1 2 3 AAAA"])
def test_bad_edges_are_refused(text: str) -> None:
    with pytest.raises(CintError, match="edge"):
        edges.parse(text)


def test_script_is_a_shell_script() -> None:
    script = edges.install()[-1]
    assert subprocess.run(["sh", "-n", "-c", script], check=False).returncode == 0


def test_the_whole_page_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the guest has more queues than CPUs, as with --steering."""
    page = log(*(record(cqid, 0, 0) for cqid in range(5)))
    (tmp_path / "page").write_bytes(page)
    nvme = tmp_path / "nvme"
    nvme.write_text(f'#!/bin/sh\nfor w; do case "$w" in --log-len=*) n=${{w#*=}} ;; esac; done\n'
                    f"echo $n >> {tmp_path}/asked\nhead -c $n {tmp_path}/page\n")
    nvme.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for name in ("SCRIPT_PATH", "LENGTH_PATH"):
        monkeypatch.setattr(edges, name, str(tmp_path / name))
    subprocess.run(edges.install(), check=True)
    # nothing but the page counts here, of a machine that has no such drive
    subprocess.run(["sh", edges.SCRIPT_PATH, "pre", "self"], check=False, capture_output=True)
    assert (tmp_path / "asked").read_text().split() == ["64", str(64 + 5 * logpage.RECORD_SIZE)]
    assert len(page) == 64 + 5 * logpage.RECORD_SIZE
