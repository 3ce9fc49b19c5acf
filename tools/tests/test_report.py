# SPDX-License-Identifier: GPL-2.0-or-later
"""report.html, the last result beside the new one, timers in real time, results.json's shape."""

import argparse
import copy
import json
import re
from collections.abc import Mapping
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from canned import fio, fio_job, log, record, result, snap

from cint import cli, paths
from cint.device import logpage
from cint.errors import CintError
from cint.measure import metrics, sampling
from cint.results import (
    charts,
    documents,
    lateness,
    plots,
    previous,
    sentences,
    tradeoff,
    webpage,
)
from cint.verbs import report

GOLDEN = Path(__file__).with_name("golden") / "results.json"
VOID = {"meta", "br", "rect"}


@pytest.fixture
def document() -> dict[str, Any]:
    """The committed results: real time, with the stock device and late timers."""
    return documents.load(GOLDEN)


class Page(HTMLParser):
    """Checks that elements are closed in order, and collects them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, name: str) -> list[dict[str, str | None]]:
        """The attributes of all elements of one kind."""
        return [attributes for tag, attributes in self.tags if tag == name]


# ---- the shape of results.json -------------------------------------------

def test_the_golden_results_are_valid(document: dict[str, Any]) -> None:
    """Results made by an older tool stay valid: the schema is only added to."""
    schema = json.loads(documents.SCHEMA_FILE.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    jsonschema.validate(without_additions(document), schema)


def without_additions(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document as the first tool with schema 1 wrote it."""
    old: dict[str, Any] = copy.deepcopy(dict(document))
    del old["previous"], old["parameters"]["guest"]
    for row in old["rows"]:
        del row["lateness"]
    for sample in old["samples"]:
        if sample["device"]:
            del sample["device"]["lateness"], sample["device"]["mean_lateness_ns"]
    return old


def test_a_report_of_older_results(document: dict[str, Any]) -> None:
    Page(webpage.render(without_additions(document)))


@pytest.mark.parametrize("break_it", [
    lambda d: d.pop("rows"), lambda d: d.update(schema=2), lambda d: d["rows"][0].pop("iops"),
    lambda d: d["rows"][0].update(iops="fast"), lambda d: d.update(time="unreal"),
    lambda d: d["previous"]["rows"][0].pop("change")])
def test_the_schema_refuses(document: dict[str, Any], break_it: Any) -> None:
    schema = json.loads(documents.SCHEMA_FILE.read_text(encoding="utf-8"))
    break_it(document)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


# ---- the page -------------------------------------------------------------

def test_the_page_needs_nothing_else(document: dict[str, Any]) -> None:
    text = webpage.render(document)
    page = Page(text)
    assert {"script", "link", "iframe", "object", "img"}.isdisjoint(tag for tag, _ in page.tags)
    assert not [a for _, attrs in page.tags for a in attrs if a in ("src", "href", "srcset")]
    assert "url(" not in text
    assert "@import" not in text
    policies = [a["content"] for a in page.all("meta")
                if a.get("http-equiv") == "Content-Security-Policy"]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_the_page_is_accessible(document: dict[str, Any]) -> None:
    page = Page(webpage.render(document))
    assert page.all("html") == [{"lang": "en"}]
    assert all(a.get("role") == "img" and a.get("aria-label") for a in page.all("svg"))
    assert all(a.get("scope") in ("row", "col") for a in page.all("th"))
    assert all(a.get("aria-label") for a in page.all("table"))
    assert len(page.all("h1")) == len(page.all("main")) == 1


def test_the_page_has_everything(document: dict[str, Any]) -> None:
    text = webpage.render(document)
    shown = Page(text).text
    for words in ("stock", "adaptive", "In short", "Reasons of interrupts", "no completion for",
                  "Timers in real time", "Beside the last result", "QEMU for stock",
                  "-device nvme", document["repeat_command"], document["versions"]["qemu"],
                  "fio job sync", "Warning:"):
        assert words in shown, words
    for words in ("@media print", "prefers-color-scheme: dark", "width=device-width"):
        assert words in text


def test_text_of_others_is_escaped(document: dict[str, Any]) -> None:
    evil = "<script>alert(1)</script>\"'&"
    document["policies"][1]["name"] = document["repeat_command"] = evil
    document["notes"].append(f"{lateness.WARNING}{evil}")
    document["workloads"][0]["fio"] = document["workloads"][0]["title"] = evil
    for row in document["rows"]:
        row["policy"] = evil
        row["reasons"] = {evil: 3}
    assert "script" not in {tag for tag, _ in Page(webpage.render(document)).tags}


def test_charts_say_in_words_what_they_show(document: dict[str, Any]) -> None:
    rows = [r for r in documents.rows_from(document) if r.workload == "sync"]
    words = charts.describe(metrics.DRAWINGS[2], "sync", rows)
    assert words.startswith("Interrupts in sync, thousand interrupts per second. stock: guest ")
    unknown = [sampling.Row("a", "sync", None, {})]
    assert charts.draw(metrics.DRAWINGS[0], "sync", unknown) is None


def test_report_verb(document: dict[str, Any], tmp_path: Path,
                     capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "results.json").write_text(json.dumps(document))
    assert cli.main(["report", str(tmp_path)]) == 0
    first = (tmp_path / "report.html").read_text()
    assert capsys.readouterr().out == f"{paths.display(tmp_path / 'report.html')}\n"
    assert cli.main(["report", str(tmp_path)]) == 0
    assert (tmp_path / "report.html").read_text() == first
    assert first == webpage.render(document)


@pytest.mark.parametrize("content", [None, "", "[]", '{"schema": 9}', '{"schema": 1}'])
def test_report_of_something_else(tmp_path: Path, content: str | None,
                                  capsys: pytest.CaptureFixture[str]) -> None:
    if content is not None:
        (tmp_path / "results.json").write_text(content)
    assert cli.main(["report", str(tmp_path)]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("cint: error: ")
    assert not (tmp_path / "report.html").exists()


def test_report_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(CintError, match=r"no results\.json"):
        report.run(argparse.Namespace(directory=tmp_path))


# ---- the reading of the numbers -------------------------------------------

def two_rows(document: dict[str, Any], **values: float) -> str:
    """The paragraph about one workload under two policies, of which the second is `values`."""
    base = dict.fromkeys(metrics.NAMES, 100.0)
    document["workloads"] = document["workloads"][:1]
    document["rows"] = [sampling.Row(name, "sync", None, given).as_dict()
                        for name, given in (("default", base), ("adaptive", base | values))]
    document |= {"time": "virtual", "quick": False, "baseline": "default"}
    document["irq_cost"]["in_force"] = True
    return " ".join(sentences.readings(document))


def test_the_reading_follows_the_numbers(document: dict[str, Any]) -> None:
    better = two_rows(document, iops=150.0, mean_us=50.0, ios_per_irq=400.0)
    assert "adaptive has the highest throughput, 0.15 k/s, 1.50 times the baseline's" in better
    assert "lowest under adaptive, 50.00 us, 0.50 times the baseline's" in better
    assert "adaptive has the most I/Os per interrupt, 400.0 (baseline: 100.0)" in better
    worse = two_rows(document, iops=50.0, mean_us=200.0, ios_per_irq=50.0)
    assert "default (the baseline) has the highest throughput" in worse
    assert "highest under adaptive, 200.0 us, 2.00 times the baseline's" in worse
    assert "no policy has more I/Os per interrupt than the baseline, 100.0" in worse


def test_the_reading_says_what_hints_bring(document: dict[str, Any]) -> None:
    base = dict.fromkeys(metrics.NAMES, 100.0)
    rows = [sampling.Row("default", "mixed", None, base),
            sampling.Row("adaptive", "mixed", None, base | {"mean_us": 300.0}),
            sampling.Row("cint", "mixed", None, base | {"mean_us": 102.0, "device_irqs": 25.0})]
    document["rows"] = [r.as_dict() for r in sampling.with_ratios(rows, "default")]
    document["workloads"] = [w for w in document["workloads"] if w["name"] == "mixed"]
    document["policies"] = [{"name": r.policy, "kind": r.policy, "properties": {}} for r in rows]
    document["baseline"] = "default"
    said = "under cint the sync job's latency is 1.02 times default's, at 0.25 times its interrupts"
    assert said in " ".join(sentences.readings(document))
    document["policies"][2]["kind"] = "adaptive"
    assert "at 0.25 times" not in " ".join(sentences.readings(document))


def test_hints_of_commands_are_a_table(document: dict[str, Any]) -> None:
    assert "Hints of commands" not in webpage.render(document)
    document["rows"][0]["hints"] = {"none": 30, "urgent": 10}
    document["rows"][0]["job"] = None
    text = webpage.render(document)
    assert "Hints of commands" in text
    assert "25.0 %" in text


def test_small_differences_are_none(document: dict[str, Any]) -> None:
    text = two_rows(document, iops=100.5, mean_us=99.5)
    assert "throughput is the same within 2%" in text
    assert "mean latency is the same within 2%" in text
    assert "highest" not in text


def test_the_reading_names_its_limits(document: dict[str, Any]) -> None:
    assert any("could not keep the times of adaptive" in s for s in sentences.limits(document))
    document |= {"time": "virtual", "quick": True}
    document["irq_cost"]["in_force"] = False
    text = " ".join(sentences.limits(document))
    assert "too short" in text
    assert "nothing extra" in text


# ---- the last result ------------------------------------------------------

def test_the_same_run_is_no_change(document: dict[str, Any]) -> None:
    found = previous.between(document, document, "old")
    assert found is not None
    assert found["changed"] == {}
    assert {c for r in found["rows"] for c in r["change"].values()} == {0.0, None}
    assert len(found["rows"]) == len(document["rows"])


def test_a_change_is_shown(document: dict[str, Any]) -> None:
    new = copy.deepcopy(document)
    new["tool"]["version"] = "later"
    for row in new["rows"]:
        row["iops"] *= 1.1
    found = previous.between(document, new, "old")
    assert found is not None
    assert found["changed"] == {"cint": [document["tool"]["version"], "later"]}
    lines = previous.format_lines(found)
    assert lines[1] == "before (old), and the change since; changed: cint"
    assert "(+10.0 %)" in lines[3]
    assert max(len(line) for line in lines) <= 120
    assert previous.format_lines(None) == []


@pytest.mark.parametrize(("before", "fraction", "text"), [
    (416_400.0, 0.0, "416.4 (+0.0 %)"), (416_400.0, -0.0001, "416.4 (+0.0 %)"),
    (1000.0, -0.25, "1.00 (-25.0 %)"), (None, None, "-"), (0.0, None, "0")])
def test_cells(before: float | None, fraction: float | None, text: str) -> None:
    assert previous.cell(before, fraction, 1e-3) == text


@pytest.mark.parametrize("differ", [
    lambda d: d["parameters"].update(runtime_s=9), lambda d: d["parameters"].update(vcpus=2),
    lambda d: d["parameters"]["media"].update(read_ns=1), lambda d: d.update(time="virtual"),
    lambda d: d["scale"].update(k=2.0), lambda d: d["irq_cost"].update(in_force=True),
    lambda d: d["host"].update(cpus=64), lambda d: d["accel"].update(name="kvm"),
    lambda d: d["parameters"].update(guest="distro"),
    lambda d: [w.update(fio="other") for w in d["workloads"]],
    lambda d: [p["applied"].update({"cint.thr": 1}) for p in d["policies"]]])
def test_other_conditions_are_not_comparable(document: dict[str, Any], differ: Any) -> None:
    new = copy.deepcopy(document)
    differ(new)
    assert previous.between(document, new, "old") is None


def test_only_comparable_rows_are_shown(document: dict[str, Any]) -> None:
    new = copy.deepcopy(document)
    next(p for p in new["policies"] if p["name"] == "adaptive")["applied"]["cint.delta"] = 7000
    found = previous.between(document, new, "old")
    assert found is not None
    assert {r["policy"] for r in found["rows"]} == {"stock", "default"}


@pytest.mark.parametrize("content", [None, "no JSON", '{"schema": 1, "kind": "compare"}'])
def test_without_a_last_result(sandbox: Path, document: dict[str, Any],
                               content: str | None) -> None:
    if content is not None:
        (paths.RESULTS / "latest").mkdir(parents=True)
        (paths.RESULTS / "latest/results.json").write_text(content)
    assert previous.find(document) is None


# ---- timers in real time --------------------------------------------------

def hist(**values: int) -> logpage.Hist:
    """A distribution of values in ns (n100=3: three of 100 ns)."""
    buckets = [0] * logpage.HIST_BUCKETS
    numbers = {int(name[1:]): count for name, count in values.items()}
    for value, count in numbers.items():
        buckets[min(value.bit_length(), logpage.HIST_BUCKETS - 1)] += count
    return logpage.Hist(sum(v * c for v, c in numbers.items()), max(numbers, default=0),
                        tuple(buckets))


def test_percentiles_are_bounds() -> None:
    got = hist(n0=1, n100=98, n5000=1)
    assert got.mean_ns == pytest.approx(148)
    assert [got.at_most_ns(p) for p in (1, 50, 99, 100)] == [0, 128, 128, 5000]
    assert hist().at_most_ns(50) is None
    assert hist().mean_ns is None
    assert hist(n5000000000=1).at_most_ns(50) == 5_000_000_000


def test_the_difference_of_two_distributions() -> None:
    first = hist(n100=10, n9000=1)
    later = first.plus(hist(n200=4))
    since = later.since(first)
    assert (since.count, since.sum_ns) == (4, 800)
    assert since.max_ns == 256  # a bound: the device knows only its largest ever
    assert first.plus(hist(n10000=1)).since(first).max_ns == 10_000
    assert first.since(first) == logpage.Hist()


def late_record(lateness: Mapping[int, int]) -> bytes:
    """A log record with a lateness distribution."""
    buckets = [0] * logpage.HIST_BUCKETS
    for value, count in lateness.items():
        buckets[value.bit_length()] += count
    total = sum(v * c for v, c in lateness.items())
    packed = b"".join(n.to_bytes(8, "little")
                      for n in (total, max(lateness, default=0), *buckets))
    at = logpage.OFFSETS["lateness"]
    plain = record(1, 1000, 500)
    return plain[:at] + packed + plain[at + len(packed):]


def late_row(lateness: Mapping[int, int]) -> sampling.Row:
    """A row of a job during which the timers ran late."""
    message = result("sync", fio(fio_job("sync", 1000.0, {100: 1000})),
                     snap(0, 0, 0, log(record(1, 0, 0))),
                     snap(10**9, 500, 0, log(late_record(lateness))))
    one = sampling.sample("adaptive", "sync", 0, message, 1)
    entry = documents.sample_dict(one)["device"]["lateness"]
    assert entry["count"] == sum(lateness.values())
    assert entry["buckets"] == list(one.device.lateness.buckets) if one.device else False
    return sampling.rows([one], 1.0, None, False)[0]


def test_lateness_comes_from_the_device() -> None:
    row = late_row({1000: 98, 40_000: 2})
    assert row.lateness == {"count": 100, "mean_us": pytest.approx(1.78),
                            "p50_us": pytest.approx(1.024), "p99_us": pytest.approx(40.0),
                            "max_us": pytest.approx(40.0)}
    assert row.as_dict()["lateness"]["count"] == 100


def test_asked_and_achieved() -> None:
    properties = {"adaptive": {"cint.delta": 6000}, "default": {}}
    kept, = lateness.collect(properties, [late_row({1000: 100})])
    assert (kept.asked_us, kept.got_us, kept.broken) == (6.0, 7.0, False)
    assert lateness.notes([kept]) == ["adaptive: asked for 6 us, got 7.0 us in sync: timers ran "
                                    "1.0 us late on average"]
    broken, = lateness.collect(properties, [late_row({8000: 100})])
    note, = lateness.notes([kept, broken])
    assert note.startswith("warning: adaptive: asked for 6 us, got 14.0 us")
    assert note.endswith("; the policy could not be kept")
    lines = lateness.format_lines([kept, broken])
    assert lines[-1].endswith("too late")
    assert max(len(line) for line in lines) <= 120
    assert lateness.format_lines([]) == []


def test_virtual_time_has_no_timers_to_show(document: dict[str, Any]) -> None:
    assert {t.policy for t in lateness.of_document(document)} == {"adaptive"}
    document["time"] = "virtual"
    assert lateness.of_document(document) == []
    assert "Timers in real time" not in webpage.render(document)


# ---- ties, and what a short latency costs ----------------------------------

def ties(document: dict[str, Any], *rows: tuple[str, float, float]) -> str:
    """The reading of one workload; rows are policy, throughput, latency."""
    document["workloads"] = document["workloads"][:1]
    document["rows"] = [sampling.Row(n, "sync", None, dict.fromkeys(metrics.NAMES, 100.0)
                                     | {"iops": iops, "mean_us": us}).as_dict()
                        for n, iops, us in rows]
    document |= {"time": "virtual", "quick": False, "baseline": "default",
                 "policies": [{"name": n, "kind": n} for n, _, _ in rows]}
    return sentences.readings(document)[0]


def test_ties_are_called_ties(document: dict[str, Any]) -> None:
    said = ties(document, ("default", 100_000, 10.0), ("vic", 100_000.1, 10.001),
                ("cint", 99_000, 10.1), ("static100", 9_000, 110.0), ("static99", 9_100, 109.0))
    for words in ("default (the baseline), vic and cint have the highest throughput, "
                  "100.0 k/s; static100 and static99 the lowest, "
                  "9.00 k/s", "mean latency is lowest under default (the baseline), vic and cint, "
                  "10.00 us, and highest under static100 and static99, 110.0 us"):
        assert words in said


def test_readings_are_a_list(document: dict[str, Any]) -> None:
    page = Page(webpage.render(document))
    for text in sentences.readings(document):
        assert text in page.text


def test_trade_off(document: dict[str, Any], tmp_path: Path) -> None:
    found = dict(tradeoff.points(document))
    row = next(r for r in documents.rows_from(document)
               if (r.policy, r.workload, r.job) == ("default", "sync", None))
    point = next(p for p in found["sync"] if p.policy == "default")
    assert point.irqs == pytest.approx(1 / (row.values["ios_per_irq"] or 0))
    assert point.latency == row.values["mean_us"]
    text = webpage.render(document)
    assert "Mean latency, us, against interrupts per I/O" in text
    assert f'aria-label="{escape(tradeoff.describe("sync", found["sync"]))}"' in text
    assert "tradeoff.png" in [p.name for p in plots.write(document, tmp_path)]


def test_points_that_are_far_apart_are_on_a_log_axis_and_stay_inside() -> None:
    mine = [tradeoff.Point("a", 0.01, 10.0), tradeoff.Point("b", 1.0, 2000.0),
            tradeoff.Point("c<", 1.0, 2000.0)]
    text = tradeoff.draw("x", mine)
    assert "log scale" in text
    assert "b, c&lt;" in text
    places = [(float(a), float(b)) for a, b in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', text)]
    assert all(0 < x < tradeoff.SIZE and 0 < y < 260 for x, y in places)
    assert places[0][0] < places[1][0]
    assert places[0][1] > places[1][1]
    assert "log scale" not in tradeoff.draw("x", mine[1:])


@pytest.mark.parametrize(("most", "ticks"), [
    (1.0, [0, 0.2, 0.4, 0.6, 0.8, 1]), (16.15, [0, 5, 10, 15]), (137, [0, 50, 100, 150]),
    (5, [0, 1, 2, 3, 4, 5]), (800, [0, 200, 400, 600, 800])])
def test_ticks_are_round(most: float, ticks: list[float]) -> None:
    axis = tradeoff._axis([most / 2, most], 0, 100)
    assert axis.ticks() == pytest.approx(ticks)


@pytest.mark.parametrize("log", [False, True])
def test_bars_have_no_logarithmic_axis(log: bool) -> None:
    plt = plots.pyplot()
    figure, axis = plt.subplots()
    rows = [sampling.Row(p, "sync", None, {"iops": v}, range={"iops": (v / 2, v)})
            for p, v in (("a", 1.0), ("b", 1e6))]
    plots._marks(axis, rows, metrics.DRAWINGS[0], log)
    assert len(axis.patches) == (0 if log else 2)
    assert (axis.get_yscale() == "log") is log
    plt.close(figure)
