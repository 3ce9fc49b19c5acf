# SPDX-License-Identifier: GPL-2.0-or-later
"""The verbs results, show and diff."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any, cast

import pytest

from cint import cli, paths
from cint.measure import records, sampling
from cint.results import difference, documents, library, unfinished

GOLDEN = Path(__file__).with_name("golden")


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three results, one that is not complete, and something else."""
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "results")
    document = documents.load(GOLDEN)
    for name, label, factor in (("20260101T000000Z-compare", "before", 1.0),
                                ("20260102T000000Z-compare", None, 1.1),
                                ("20260103T000000Z-compare", "before", 1.2)):
        where = tmp_path / "results" / name
        where.mkdir(parents=True)
        one: Any = {**copy.deepcopy(document), "label": label}
        for row in one["rows"]:
            row["iops"] *= factor
        documents.write_json(where, one)
    (tmp_path / "results/latest").symlink_to("20260103T000000Z-compare")
    (tmp_path / "results/20260104T000000Z-bench").mkdir()
    found, _ = unfinished.begin(None, "compare", "./cint compare --policy vic", "x")
    with found:
        one = {"policy": "vic"}
        found.add([cast(records.Sample, one)])
        return tmp_path / "results"


def test_the_list(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["results"]) == 0
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert len(lines) == 5
    assert lines[-1].split()[:2] == ["20260101T000000Z-compare", "before"]
    assert "goes on with: ./cint compare --policy vic" in shown.err
    (next(shelf.glob("*/unfinished.json")).parent / "samples.jsonl").write_text("")
    assert cli.main(["results"]) == 0
    shown = capsys.readouterr()
    assert "goes on with" not in shown.err and "no run of it has ended" in shown.err
    assert cli.main(["results", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [entry["label"] for entry in found] == [None, "before", None, "before"]
    assert found[0]["unfinished"] == "./cint compare --policy vic"
    assert found[1]["policies"] == ["stock", "default", "adaptive"]


def test_an_empty_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                       capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "none")
    assert cli.main(["results"]) == 0
    assert capsys.readouterr().out == ""
    for words in (["show"], ["report"], ["diff", "a", "b"]):
        assert cli.main(words) == 2
        assert "there are none yet: ./cint compare makes some" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "name"), [
    ("latest", "latest"), ("20260102", "20260102T000000Z-compare"),
    ("20260101T000000Z-compare", "20260101T000000Z-compare"),
    ("before", "20260103T000000Z-compare")])
def test_what_a_person_may_type(shelf: Path, text: str, name: str) -> None:
    assert library.find(text) == shelf / name
    assert library.find(str(shelf / name)) == shelf / name


@pytest.mark.parametrize(("text", "why"), [
    ("nothing", "there are no such results"), ("2026", "3 results begin so"),
    ("/", "there are no such results")])
def test_what_is_not_there(shelf: Path, capsys: pytest.CaptureFixture[str], text: str,
                           why: str) -> None:
    assert cli.main(["show", text]) == 2
    assert why in capsys.readouterr().err


def test_results_elsewhere_are_the_last_and_in_the_list(
        shelf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    documents.write_json(tmp_path / "own", documents.load(shelf / "latest"))
    documents.point_latest(tmp_path / "own")
    assert library.find("latest").resolve() == tmp_path / "own"
    assert next(entry.name for entry in library.entries()) == "own"
    assert cli.main(["results", "rm", "latest"]) == 0
    assert not (tmp_path / "own").exists()
    assert (shelf / "latest").resolve().name == "20260103T000000Z-compare"


def test_results_are_removed_and_labelled(shelf: Path,
                                          capsys: pytest.CaptureFixture[str]) -> None:
    unfinished_one = next(entry.name for entry in library.entries() if entry.command)
    with unfinished.begin(None, "compare", "./cint compare --policy vic", "x")[0]:
        assert cli.main(["results", "rm", "20260102", unfinished_one]) == 2
        assert "another cint is making these" in capsys.readouterr().err
    assert len(library.entries()) == 4
    assert cli.main(["results", "rm", unfinished_one, "20260102"]) == 0
    assert len(library.entries()) == 2
    assert cli.main(["results", "rm", "20260101", "nothing"]) == 2
    assert len(library.entries()) == 2, "all of them or none"
    assert cli.main(["results", "rename", "20260101", "first try"]) == 0
    assert library.find("first").name == "20260101T000000Z-compare"
    for words in (["rm"], ["rename", "latest"], ["rm", "latest", "--json"]):
        assert cli.main(["results", *words]) == 2
    assert "--json is of the list" in capsys.readouterr().err


@pytest.mark.parametrize(("more", "name", "why"), [
    ("notes.txt", "DIR", "there is more in it than ./cint compare leaves: notes.txt"),
    ("x.png", "DIR/results.json", "that is a file; name the directory"),
])
def test_what_compare_did_not_make_is_not_removed(
        shelf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: str, name: str,
        why: str) -> None:
    """Of a directory that --out named, into which somebody else has put something since."""
    place = tmp_path / "mine"
    shutil.copytree(shelf / "20260101T000000Z-compare", place)
    (place / more).touch()
    before = sorted(place.rglob("*")), (place / "results.json").read_bytes()
    assert cli.main(["results", "rm", name.replace("DIR", str(place))]) == 2
    assert why in capsys.readouterr().err
    assert cli.main(["results", "rename", str(place / "results.json"), "label"]) == 2
    assert (sorted(place.rglob("*")), (place / "results.json").read_bytes()) == before
    (place / more).unlink()
    assert cli.main(["results", "rm", str(place)]) == 0
    assert not place.exists()


def test_the_same_results_are_not_compared(shelf: Path,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["diff", "latest"]) == 2
    assert "are the same results: 20260103T000000Z-compare" in capsys.readouterr().err


def test_only_what_changed(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document: Any = documents.load(shelf / "20260102T000000Z-compare")
    for row in document["rows"]:
        row["iops"] /= 1.1 if row["policy"] != "adaptive" else 1.0
    documents.write_json(shelf / "20260102T000000Z-compare", document)
    assert cli.main(["diff", "20260101", "20260102", "--changed", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["policy"] for row in rows} == {"adaptive"}


def test_show(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show"]) == 0
    text = capsys.readouterr().out
    assert "sync: psync" in text
    assert text.splitlines()[-1].endswith("20260103T000000Z-compare/report.html")
    assert cli.main(["show", "20260102", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == documents.load(shelf / "20260102T000000Z-compare")


def test_diff(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["diff", "20260101", "20260102"]) == 0
    text = capsys.readouterr().out
    assert "+10.0 %" in text
    assert max(map(len, text.splitlines())) <= 120
    assert "before, then 20260102T000000Z-compare" in text
    assert cli.main(["diff", "20260101", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["conditions"] == {}
    assert all(row["change"]["iops"] == pytest.approx(0.2) for row in found["rows"]
               if row["values"]["iops"][0])


@pytest.mark.parametrize(("k", "says"), [(1.0, False), (3.0, True)])
def test_every_output_says_whose_time_it_is_in(shelf: Path, capsys: pytest.CaptureFixture[str],
                                               k: float, says: bool) -> None:
    for name in ("20260101T000000Z-compare", "20260102T000000Z-compare"):
        document = documents.load(shelf / name)
        document["scale"]["k"] = k
        documents.write_json(shelf / name, document)
    for words in (["show", "20260101"], ["diff", "20260101", "20260102"]):
        assert cli.main(words) == 0
        assert ("\nreported time " in capsys.readouterr().out) is says
    assert cli.main(["show", "--html", "20260101"]) == 0
    page = Path(capsys.readouterr().out.strip()).read_text("utf-8")
    assert (">reported time<" in page) is says


def test_diff_says_what_was_different(shelf: Path) -> None:
    one = documents.load(shelf / "latest")
    two: Any = copy.deepcopy(one)
    two["parameters"]["vcpus"] = 4
    two["parameters"]["media"]["name"] = "p3700"
    two["versions"]["kernel"] = "7.0"
    two["policies"][1]["applied"] = {"cint.thr": 3}
    found = difference.between(one, two)
    assert found["conditions"] == {"media.name": ["optane", "p3700"], "vcpus": [1, 4]}
    assert list(found["versions"]) == ["Linux"]
    text = "\n".join(difference.format_lines(found, ("a", "b")))
    assert "vcpus: 1, then 4" in text
    assert "sync default *" in text
    assert "sync adaptive *" not in text


def test_a_policy_with_other_parameters_is_compared(shelf: Path) -> None:
    """The only other row of its kind: a person has changed a parameter, and wants to see that."""
    one = documents.load(shelf / "latest")
    two: Any = copy.deepcopy(one)
    for row in two["rows"]:
        if row["policy"] == "adaptive":
            row["policy"] = "adaptive:delta=10us"
            row["iops"] *= 2
    found = difference.between(one, two)
    assert found["policies"] == [["adaptive", "adaptive:delta=10us"]]
    text = "\n".join(difference.format_lines(found, ("a", "b")))
    assert "policy: adaptive, then adaptive:delta=10us" in text
    assert "sync adaptive:delta=10us *" in text and "+100.0 %" in text
    # with two of a kind it is not known which belongs to which
    for row in [dict(r, policy="adaptive:thr=2") for r in two["rows"] if "delta" in r["policy"]]:
        two["rows"].append(row)
    assert difference.between(one, two)["policies"] == []


def test_changes_within_the_spread_are_marked(shelf: Path) -> None:
    one = documents.load(shelf / "latest")
    two: Any = copy.deepcopy(one)
    for document, ends in ((one, [100.0, 200.0]), (two, [150.0, 300.0])):
        for row in document["rows"]:
            row["range"] = {"iops": (ends[0], ends[1]),
                            "mean_us": (ends[0] * (document is two), 0.0)}
    found = difference.between(one, two)
    assert all(row["within_spread"]["iops"] for row in found["rows"])
    assert all(row["within_spread"]["p99_us"] is None for row in found["rows"])
    assert "~+0.0 %" in "\n".join(difference.format_lines(found, ("a", "b")))
    rows = [sampling.Row(policy="p", workload="w", job=None, values={}, range={"iops": e})
            for e in ((1.0, 2.0), (3.0, 4.0))]
    assert difference.overlap(rows[0], rows[1], "iops") is False


def test_nothing_in_common(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other: Any = documents.load(shelf / "latest")
    for row in other["rows"]:
        row["policy"] = "other"
    where = shelf / "20260105T000000Z-compare"
    where.mkdir()
    documents.write_json(where, other)
    assert cli.main(["diff", "latest", where.name]) == 1
    assert "no row in common" in capsys.readouterr().err
