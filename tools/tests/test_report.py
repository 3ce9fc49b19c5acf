# SPDX-License-Identifier: GPL-2.0-or-later
"""report.html, the last result beside the new one, timers in real time, results.json's shape."""

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
from canned import fio, fio_job, log, record, result, snap, submission_queue

from cint import cli, paths
from cint.device import logpage
from cint.manual import schema as schema_file
from cint.measure import metrics, sampling
from cint.results import (
    axes,
    cells,
    classes,
    colours,
    documents,
    lateness,
    plots,
    previous,
    sentences,
    table,
    tradeoff,
    webpage,
)

GOLDEN = Path(__file__).with_name("golden") / "results.json"
VOID = {"meta", "br", "rect"}


@pytest.fixture
def document() -> Any:
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

def test_the_golden_results_are_valid(document: Any) -> None:
    """Results made by an older tool stay valid: the schema is only added to."""
    schema = json.loads(schema_file.FILE.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    jsonschema.validate(without_additions(document), schema)


def without_additions(document: Mapping[str, Any]) -> Any:
    """The document as the first tool with schema 1 wrote it."""
    old: dict[str, Any] = copy.deepcopy(dict(document))
    del old["previous"], old["parameters"]["guest"]
    for row in old["rows"]:
        del row["lateness"]
    for sample in old["samples"]:
        if sample["device"]:
            del sample["device"]["lateness"], sample["device"]["mean_lateness_ns"]
    return old


def test_a_report_of_older_results(document: Any) -> None:
    Page(webpage.render(without_additions(document)))


@pytest.mark.parametrize("break_it", [
    lambda d: d.pop("rows"), lambda d: d.update(schema=2), lambda d: d["rows"][0].pop("iops"),
    lambda d: d["rows"][0].update(iops="fast"), lambda d: d.update(time="unreal"),
    lambda d: d["previous"]["rows"][0].pop("change")])
def test_the_schema_refuses(document: Any, break_it: Any) -> None:
    schema = json.loads(schema_file.FILE.read_text(encoding="utf-8"))
    break_it(document)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


# ---- the page -------------------------------------------------------------

def test_the_page_needs_nothing_else(document: Any) -> None:
    text = webpage.render(document)
    page = Page(text)
    assert {"script", "link", "iframe", "object", "img"}.isdisjoint(tag for tag, _ in page.tags)
    assert not [a for _, attrs in page.tags for a in attrs if a in ("src", "href", "srcset")]
    assert "url(" not in text
    assert "@import" not in text
    policies = [a["content"] for a in page.all("meta")
                if a.get("http-equiv") == "Content-Security-Policy"]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_the_page_is_accessible(document: Any) -> None:
    page = Page(webpage.render(document))
    assert page.all("html") == [{"lang": "en"}]
    assert all(a.get("role") == "img" and a.get("aria-label") for a in page.all("svg"))
    assert all(a.get("scope") in ("row", "col") for a in page.all("th"))
    assert all(a.get("aria-label") for a in page.all("table"))
    assert len(page.all("h1")) == len(page.all("main")) == 1


def test_the_page_has_everything(document: Any) -> None:
    text = webpage.render(document)
    shown = Page(text).text
    for words in ("stock", "adaptive", "Latency against interrupts",
                  "Reasons of interrupts", "no completion for",
                  "Timers in real time", "Beside the last result", "QEMU for stock",
                  "-device nvme", document["repeat_command"], document["versions"]["qemu"],
                  "fio job sync", "Warning:"):
        assert words in shown, words
    for words in ("@media print", "prefers-color-scheme: dark", "width=device-width"):
        assert words in text


def test_text_of_others_is_escaped(document: Any) -> None:
    evil = "<script>alert(1)</script>\"'&"
    document["policies"][1]["name"] = document["repeat_command"] = evil
    document["notes"].append(f"{lateness.WARNING}{evil}")
    document["workloads"][0]["fio"] = document["workloads"][0]["title"] = evil
    for row in document["rows"]:
        row["policy"] = evil
        row["reasons"] = {evil: 3}
    assert "script" not in {tag for tag, _ in Page(webpage.render(document)).tags}


def test_report_verb(document: Any, tmp_path: Path,
                     capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "results.json").write_text(json.dumps(document))
    assert cli.main(["show", "--html", str(tmp_path)]) == 0
    first = (tmp_path / "report.html").read_text()
    assert capsys.readouterr().out == f"{paths.display(tmp_path / 'report.html')}\n"
    assert cli.main(["show", "--html", str(tmp_path)]) == 0
    assert (tmp_path / "report.html").read_text() == first
    assert first == webpage.render(document)


@pytest.mark.parametrize("content", [None, "", "[]", '{"schema": 9}', '{"schema": 1}'])
def test_report_of_something_else(tmp_path: Path, content: str | None,
                                  capsys: pytest.CaptureFixture[str]) -> None:
    if content is not None:
        (tmp_path / "results.json").write_text(content)
    assert cli.main(["show", "--html", str(tmp_path)]) == (2 if content is None else 1)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("cint: error: ")
    assert not (tmp_path / "report.html").exists()


def test_a_word_of_before_does_the_same(document: Any, tmp_path: Path,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "results.json"
    place.write_text(json.dumps(document))
    assert cli.main(["-v", "report", str(tmp_path)]) == 0
    assert capsys.readouterr().out.endswith("report.html\n")
    assert cli.main(["show", "--html", str(place)]) == 2
    assert "results.json is no results directory" in capsys.readouterr().err
    assert cli.main(["show", "--html", "--json"]) == 2


# ---- the reading of the numbers -------------------------------------------

def reading(document: Any, *rows: sampling.Row) -> str:
    """What is said of the first workload under these policies, the first the baseline."""
    workload = document["workloads"][0]
    document["rows"] = [r.as_dict() for r in sampling.with_ratios(rows, rows[0].policy)]
    document["baseline"] = rows[0].policy
    document["policies"] = [{"name": r.policy, "kind": r.policy, "properties": {}} for r in rows]
    return sentences.line(document, workload) or ""


def row(policy: str, iops: float = 100e3, us: float = 10.0, merged: float = 1.0,
        **spans: tuple[float, float]) -> sampling.Row:
    """A row of the first workload; `spans` are what its boots found."""
    values = dict.fromkeys(metrics.NAMES, 1.0) | {"iops": iops, "mean_us": us,
                                                  "ios_per_irq": merged}
    return sampling.Row(policy=policy, workload="sync", job=None, values=values, range=spans)


def test_the_reading_follows_the_numbers(document: Any) -> None:
    assert reading(document, row("default"), row("adaptive", 150e3, 5.0, 4.0)) == (
        "adaptive has the lowest latency (5.00 us, 0.50 times default's), the highest throughput "
        "(150.0 k/s, 1.50 times default's) and the fewest interrupts (0.25 per I/O, default "
        "1.00).")
    assert reading(document, row("default"), row("adaptive", 50e3, 20.0, 4.0)) == (
        "default has the lowest latency (10.00 us; adaptive: 2.00 times that) and the highest "
        "throughput (100.0 k/s; adaptive: 0.50 times that); adaptive has the fewest interrupts "
        "(0.25 per I/O, default 1.00).")


def test_ties_are_called_ties(document: Any) -> None:
    said = reading(document, row("default"), row("vic", 100_000.1, 10.001),
                   row("cint", 99e3, 10.1), row("static100", 9e3, 110.0))
    assert said == ("default, vic and cint tie for the lowest latency (10.00 us; static100: 11.00 "
                    "times that) and the highest throughput (100.0 k/s; static100: 0.090 times "
                    "that); all have the same interrupts (1.00 per I/O).")


def test_what_the_boots_differ_by_is_a_tie(document: Any) -> None:
    wide = row("cint", us=8.0, mean_us=(7.0, 10.5))
    narrow = row("cint", us=8.0, mean_us=(7.9, 8.1))
    base = row("default", mean_us=(9.9, 10.2))
    assert "the same mean latency (8.00 us)" in reading(document, base, wide)
    assert "cint has the lowest latency (8.00 us, 0.80" in reading(document, base, narrow)


def test_one_policy_or_no_number_says_nothing(document: Any) -> None:
    assert reading(document, row("default")) == ""
    unknown = [sampling.Row(policy=name, workload="sync", job=None, values={})
               for name in ("default", "cint")]
    assert reading(document, *unknown) == ""


def test_the_reading_says_what_hints_bring(document: Any) -> None:
    base = dict.fromkeys(metrics.NAMES, 100.0)
    rows = [sampling.Row(policy="default", workload="mixed", job=None, values=base),
            sampling.Row(policy="adaptive", workload="mixed", job=None,
                         values=base | {"mean_us": 300.0}),
            sampling.Row(policy="cint", workload="mixed", job=None,
                         values=base | {"mean_us": 102.0, "ios_per_irq": 400.0})]
    document["rows"] = [r.as_dict() for r in sampling.with_ratios(rows, "default")]
    mixed = next(w for w in document["workloads"] if w["name"] == "mixed")
    document["policies"] = [{"name": r.policy, "kind": r.policy, "properties": {}} for r in rows]
    document["baseline"] = "default"
    assert sentences.calibrated(document, mixed) == (
        "Against default: cint 1.02 times the latency at 0.25 times the interrupts for an I/O.")
    document["policies"][2]["kind"] = "adaptive"
    assert sentences.calibrated(document, mixed) is None


def test_hints_of_commands_are_a_table(document: Any) -> None:
    assert "Hints of commands" not in webpage.render(document)
    document["rows"][0]["hints"] = {"none": 30, "urgent": 10}
    document["rows"][0]["job"] = None
    text = webpage.render(document)
    assert "Hints of commands" in text
    assert "25.0 %" in text


def test_the_reading_names_its_limits(document: Any) -> None:
    assert any("could not keep the times of adaptive" in s for s in sentences.limits(document))
    document |= {"time": "virtual", "quick": True}
    document["irq_cost"]["in_force"] = False
    text = " ".join(sentences.limits(document))
    assert "too short" in text
    assert "nothing extra" in text


# ---- the last result ------------------------------------------------------

def test_the_same_run_is_no_change(document: Any) -> None:
    found = previous.between(document, document, "old")
    assert found is not None
    assert found["changed"] == {}
    assert {c for r in found["rows"] for c in r["change"].values()} == {0.0, None}
    assert len(found["rows"]) == len(document["rows"])


def test_a_change_is_shown(document: Any) -> None:
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
def test_other_conditions_are_not_comparable(document: Any, differ: Any) -> None:
    new = copy.deepcopy(document)
    differ(new)
    assert previous.between(document, new, "old") is None


def test_only_comparable_rows_are_shown(document: Any) -> None:
    new = copy.deepcopy(document)
    next(p for p in new["policies"] if p["name"] == "adaptive")["applied"]["cint.delta"] = 7000
    found = previous.between(document, new, "old")
    assert found is not None
    assert {r["policy"] for r in found["rows"]} == {"stock", "default"}


@pytest.mark.parametrize("content", [None, "no JSON", '{"schema": 1, "kind": "compare"}'])
def test_without_a_last_result(sandbox: Path, document: Any,
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
    at = logpage.RECORD["lateness"].at
    plain = record(1, 1000, 500)
    return plain[:at] + packed + plain[at + len(packed):]


def late_row(lateness: Mapping[int, int]) -> sampling.Row:
    """A row of a job during which the timers ran late."""
    message = result("sync", fio(fio_job("sync", 1000.0, {100: 1000})),
                     snap(0, 0, 0, log(record(1, 0, 0))),
                     snap(10**9, 500, 0, log(late_record(lateness))))
    one = sampling.sample("adaptive", "sync", 0, message, 1)
    device = documents.sample_dict(one)["device"]
    assert device is not None
    entry = device["lateness"]
    assert entry["count"] == sum(lateness.values())
    assert entry["buckets"] == list(one.device.lateness.buckets) if one.device else False
    return sampling.rows([one], 1.0, None, False)[0]


def test_lateness_comes_from_the_device() -> None:
    row = late_row({1000: 98, 40_000: 2})
    assert row.lateness == {"count": 100, "mean_us": pytest.approx(1.78),
                            "p50_us": pytest.approx(1.024), "p99_us": pytest.approx(40.0),
                            "max_us": pytest.approx(40.0)}
    assert row.as_dict()["lateness"]["count"] == 100


def test_classes() -> None:
    """What the device counted by class is a row's, and a table of its own."""
    def page(count: int) -> bytes:
        return log(record(1, 4 * count, count), record(2, count, count),
                   sqs=[submission_queue(1, 4 * count, count << 18, {2000: count}, priority=2),
                        submission_queue(2, count, count << 12, {10: count})])

    message = result("classes", fio(fio_job("latency", 1000.0, {100: 100})),
                     snap(0, 0, 0, page(10)), snap(10**9, 500, 0, page(110)))
    one = sampling.sample("default", "classes", 0, message, 1)
    row, = sampling.rows([one], 2.0, None, False)
    assert row.as_dict()["classes"] == {
        "l": {"commands": 100, "bytes": 100 << 12, "wait_us": 0.005, "interrupts": 100,
              "ios_per_irq": 1.0},
        "t": {"commands": 400, "bytes": 100 << 18, "wait_us": 1.0, "interrupts": 100,
              "ios_per_irq": 4.0}}
    device = documents.sample_dict(one)["device"]
    assert device is not None and device["classes"]["t"]["cqes"] == 400
    lines = classes.format_lines([row])
    assert [line.split() for line in lines[3:]] == [
        ["default", "classes", "L", "100", "4.00", "0.005", "100", "1.00"],
        ["default", "classes", "T", "400", "64.00", "1.00", "100", "4.00"]]
    assert max(map(len, lines)) <= table.WIDTH
    assert classes.format_lines([late_row({1000: 1})]) == []


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


def test_virtual_time_has_no_timers_to_show(document: Any) -> None:
    assert {t.policy for t in lateness.of_document(document)} == {"adaptive"}
    document["time"] = "virtual"
    assert lateness.of_document(document) == []
    assert "Timers in real time" not in webpage.render(document)


# ---- what a short latency costs ---------------------------------------------

def test_the_trade_off_comes_first_with_its_words(document: Any) -> None:
    text = webpage.render(document)
    page = Page(text)
    for workload in document["workloads"]:
        line = sentences.line(document, workload)
        assert line and line in page.text
    assert text.index("<h2>Latency against interrupts") < text.index("<h2>Results")
    assert text.index("<h2>") == text.index("<h2>Latency against interrupts")


def test_trade_off(document: Any, tmp_path: Path) -> None:
    found = dict(tradeoff.points(document))
    default = next(r for r in documents.rows_from(document)
                   if (r.policy, r.workload, r.job) == ("default", "sync", None))
    point = next(p for p in found["sync"] if p.policy == "default")
    assert point.irqs == pytest.approx(1 / (default.values["ios_per_irq"] or 0))
    assert point.latency == default.values["mean_us"]
    text = webpage.render(document)
    assert f'aria-label="{escape(tradeoff.describe("sync", found["sync"]))}"' in text
    assert "tradeoff.png" in [p.name for p in plots.write(document, tmp_path)]


def test_points_that_are_far_apart_are_on_a_log_axis_and_stay_inside() -> None:
    mine = [tradeoff.Point("a", 0.01, 10.0), tradeoff.Point("b", 1.0, 2000.0),
            tradeoff.Point("c<", 1.0, 2000.0)]
    text = tradeoff.draw("x", mine)
    assert "log scale" in text
    assert "b, c&lt;" in text
    places = [(float(a), float(b)) for a, b in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', text)]
    assert all(0 < x < tradeoff.SIZE and 0 < y < tradeoff.HEIGHT for x, y in places)
    assert places[0][0] < places[1][0]
    assert places[0][1] > places[1][1]
    assert "log scale" not in tradeoff.draw("x", mine[1:])


def test_what_nothing_beats() -> None:
    low, few = tradeoff.Point("low", 1.0, 10.0), tradeoff.Point("few", 0.1, 50.0)
    beaten = tradeoff.Point("beaten", 1.0, 60.0)
    tie = tradeoff.Point("tie", 1.01, 10.1)
    assert tradeoff.unbeaten([low, few, beaten, tie]) == [low, few, tie]


@pytest.mark.parametrize("mine", [
    [tradeoff.Point(f"policy-{n}", 1.0, 10.0 + n * step) for n in range(6)]
    for step in (0.0, 0.2, 1.0, 20.0)])
def test_labels_cover_nothing(mine: list[tradeoff.Point]) -> None:
    """Not each other, not a dot, not the axis: also those of points that are close together."""
    inside = axes.Box(43, 22, 356, 229)
    x, y = axes.Axis(0, 1.12, 40, 350, False), axes.Axis(0, 120, 232, 22, False)
    found = tradeoff.labels(mine, x.at, y.at, inside, (6.7, 14.0))
    assert sorted(w for label in found for w in re.split(", ?", " ".join(label.lines)) if w) \
        == sorted(p.policy for p in mine)
    for index, label in enumerate(found):
        assert label.box.within(inside)
        assert not any(label.box.meets(other.box) for other in found[index + 1:])
        assert not any(label.box.left < a < label.box.right and label.box.top < b
                       < label.box.bottom for a, b in (other.dot for other in found))


@pytest.mark.parametrize("line", [
    [(0.62, 13.0), (0.38, 15.0), (0.2, 16.0), (0.12, 22.4), (0.06, 68.0), (0.06, 117.0)],
    [(1.0, 12.0), (1.0, 20.0), (1.0, 60.0), (1.0, 110.0)]])
def test_no_label_is_on_the_line_of_timers(line: list[tuple[float, float]]) -> None:
    timers = [tradeoff.Point("static", *at) for at in line]
    mine = [tradeoff.Point("static20", *line[-3]), tradeoff.Point("static100", *line[-1]),
            tradeoff.Point("adaptive", line[-2][0] + 0.03, 40.8),
            tradeoff.Point("cint, cint+ooo", 0.39, 11.5)]
    inside = axes.Box(43, 22, 356, 229)
    x, y = axes.Axis(0, 1.12, 40, 350, False), axes.Axis(0, 120, 232, 22, False)
    found = tradeoff.labels(mine, x.at, y.at, inside, (6.7, 14.0), timers)
    drawn = axes.along([(x.at(p.irqs), y.at(p.latency)) for p in timers])
    assert not any(label.box.meets(part) for label in found for part in drawn)


def test_a_label_is_not_at_anothers_dot_nor_on_a_line() -> None:
    """Of two dots side by side each has its words at its own side, and none on the line."""
    inside, dots = axes.Box(0, 0, 300, 200), [(100.0, 100.0), (125.0, 100.0)]
    line = axes.along([*dots, (300.0, 100.0)])
    boxes = axes.place(dots, [(60, 14), (60, 14)], inside, line)
    for box, mine, other in zip(boxes, dots, reversed(dots), strict=True):
        assert box.distance(mine) < box.distance(other)
        assert not any(box.meets(part) for part in line)
        assert axes.leader(box, mine) == []
    assert axes.leader(axes.Box(150, 60, 200, 80), dots[0])[-1].meets(axes.Box(149, 79, 151, 81))


def test_where_there_is_no_room_a_label_stays_inside() -> None:
    inside = axes.Box(0, 0, 60, 20)
    boxes = axes.place([(10, 10)] * 4, [(40, 14)] * 4, inside)
    assert all(box.within(inside) for box in boxes)


@pytest.mark.parametrize(("most", "ticks"), [
    (1.0, [0, 0.2, 0.4, 0.6, 0.8, 1]), (16.15, [0, 5, 10, 15]), (137, [0, 50, 100, 150]),
    (5, [0, 1, 2, 3, 4, 5]), (800, [0, 200, 400, 600, 800])])
def test_ticks_are_round(most: float, ticks: list[float]) -> None:
    assert axes.axis([most / 2, most], 0, 100).ticks() == pytest.approx(ticks)


@pytest.mark.parametrize(("ends", "ticks"), [
    ((0.04, 1.0), [0.05, 0.1, 0.2, 0.5, 1]), ((10, 2000), [10, 30, 100, 300, 1000, 3000]),
    ((1, 1e5), [1, 10, 100, 1e3, 1e4, 1e5])])
def test_ticks_of_a_log_axis(ends: tuple[float, float], ticks: list[float]) -> None:
    axis = axes.axis(ends, 0, 100)
    assert axis.log
    assert axis.ticks() == pytest.approx(ticks)


def widths(text: str) -> list[float]:
    """How wide the rectangles of a drawing are."""
    return [float(width) for width in re.findall(r'width="([\d.]+)" height="', text)]


def test_bars_are_shares_of_the_largest() -> None:
    assert widths(cells.bar(25.0, 100.0, "#000000")) == [25.0]
    assert widths(cells.bar(0.0, 0.0, "#000000")) == [0.0]
    assert 'aria-label="25% of the largest"' in cells.bar(25.0, 100.0, "#000000")


def test_latencies_are_a_range() -> None:
    axis = axes.axis([10.0, 20.0, 40.0], 0, cells.WIDTH)
    text = cells.spread([10.0, 20.0, 40.0], axis, "#000000")
    tail, middle = widths(text)
    assert tail == pytest.approx(3 * middle, abs=0.05)
    assert "p50 10.00 us, p99 20.00 us, p99.9 40.00 us" in text


def test_a_stack_is_the_whole() -> None:
    shades = cells.shades(["quiet", "thr"])
    assert len(set(shades.values())) == 2
    text = cells.stack({"quiet": 3, "thr": 1}, shades)
    assert widths(text) == [75.0, 25.0]
    assert "quiet 75.0%, thr 25.0%" in text


def test_more_parts_than_colours_still_differ() -> None:
    names = [f"r{i}" for i in range(19)]
    assert len(set(cells.shades(names).values())) == len(names)


def test_a_logarithmic_axis_is_said(document: Any) -> None:
    rows = [row("default"), row("cint")]
    rows[0].values.update({"p50_us": 1.0, "p99_us": 2.0, "p999_us": 100.0})  # type: ignore[attr-defined]
    document["rows"] = [r.as_dict() for r in sampling.with_ratios(rows, "default")]
    assert "p50 to p99.9, us, log" in webpage.render(document)


def test_reasons_are_stacked_bars_without_zeros(document: Any) -> None:
    document["rows"][0] |= {"reasons": {"quiet": 3, "thr": 1, "storm": 0}, "job": None}
    text = webpage.render(document)
    assert 'aria-label="quiet 75.0%, thr 25.0%"' in text
    assert "storm limiter" not in text


@pytest.mark.parametrize(("name", "word"), [
    ("default", "default"), ("static100", "static"), ("static:time=2us", "static"),
    ("cint+ooo/prio", "cint+ooo"), ("cint:delta=2us", "cint"), ("cintx", None), ("ours", None)])
def test_a_policy_is_known_by_its_name(name: str, word: str | None) -> None:
    assert colours.policy_of(name) == word


def test_a_policy_has_one_colour_everywhere() -> None:
    alone = colours.of(["cint"])
    among = colours.of(["default", "vic", "cint", "ours", "cint:thr=2"])
    assert alone["cint"] == among["cint"] == colours.POLICIES["cint"]
    assert len(set(among.values())) == 5
    # what is no policy has none of the policies' colours
    assert among["ours"] not in (among["cint"], among["vic"])


def luminance(colour: str) -> float:
    """WCAG's relative luminance of a colour."""
    parts = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
              for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("what", ["fill", "stroke"])
def test_each_colour_is_seen_on_a_dark_page(what: str) -> None:
    text = (Path(webpage.__file__).parent / "templates/report.css").read_text("utf-8")
    dark = text[text.index("@media (prefers-color-scheme: dark)"):text.index("* { box-sizing")]
    others = dict(re.findall(rf'\[{what}="(#\w+)"\] {{ {what}: (#\w+)', dark))
    background = re.search(r"--bg: (#\w+)", dark)
    assert background
    for colour in {*colours.POLICIES.values(), *colours.OTHERS}:
        drawn = luminance(others.get(colour, colour))
        assert (drawn + 0.05) / (luminance(background[1]) + 0.05) > 2.7, colour


def test_the_best_are_bold_unless_all_are(document: Any) -> None:
    rows = [row("default"), row("vic", 100_000.1, 10.001), row("static100", 9e3, 110.0)]
    document["rows"] = [r.as_dict() for r in sampling.with_ratios(rows, "default")]
    document |= {"baseline": "default",
                 "policies": [p | {"name": r.policy} for p, r in
                              zip(document["policies"], rows, strict=True)]}
    text = webpage.render(document)
    assert text.count("<td><b>100.0</b>") == 2
    assert "<b>1.00</b>" not in text


@pytest.mark.parametrize("log", [False, True])
def test_bars_have_no_logarithmic_axis(log: bool) -> None:
    plt = plots.pyplot()
    figure, axis = plt.subplots()
    rows = [sampling.Row(policy=p, workload="sync", job=None, values={"iops": v},
                         range={"iops": (v / 2, v)})
            for p, v in (("a", 1.0), ("b", 1e6))]
    plots._marks(axis, rows, metrics.DRAWINGS[0], log)
    assert len(axis.patches) == (0 if log else 2)
    assert (axis.get_yscale() == "log") is log
    plt.close(figure)
