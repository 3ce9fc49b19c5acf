# SPDX-License-Identifier: GPL-2.0-or-later
"""The documents name what there is; and each check notices what there is not."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, NotRequired

import pytest

from cint import cli, paths
from cint.errors import CintError
from cint.manual import commands, documents, schema, site, tables, wrap
from cint.measure import metrics, records
from cint.selftest import suites

HERE = documents.documents()


@pytest.mark.parametrize("path", HERE, ids=[path.name for path in HERE])
def test_a_document_names_what_there_is(path: Path) -> None:
    assert documents.problems(path) == []


@pytest.mark.parametrize(("text", "wrong"), [
    ("[a](nowhere.md)", "there is no nowhere.md"),
    ("[a](x.md#b-c)", "has no heading #b-c"),
    ("[a](#b)", "this page has no heading #b"),
    ("    ./cint compare --polcy default", "unrecognized arguments"),
    ("    $ ./cint compare --policy defualt", "unknown policy"),
    ("a `./cint test gest` b", "there is no suite gest"),
    ("    ./cint doctor; ./cint docter", "command 'docter'"),
    ("    ./cint figure cint-fig88 | less", "there is no figure"),
    ("    ./cint run --media opane --print", "unknown media"),
    ("    ./cint compare --workload sink", "unknown workload 'sink'"),
    ("    ./cint compare \\\n        --polcy default", "unrecognized arguments"),
    ("    ./cint compare \\", "the line that continues it is missing"),
    ("a `./cint doctor \\` b", "the line that continues it is missing"),
    ("    ./cint compare --policy 'default", "No closing quotation"),
    ("a `--no-such` b", "no verb has the option --no-such"),
    ("a `--policy P --no-such N` b", "no verb has the option --no-such"),
    ("a cint.thrr b", "the device has no property cint.thrr"),
    ("    -device nvme,cint.media.unit=4", "the device has no property cint.media.unit"),
    ("a `hw/nvme/none.c` b", "there is no hw/nvme/none.c"),
    ("a `tools/{cint,nothing}/` b", "there is no tools/{cint,nothing}/"),
    ("a `test_of_nothing` b", "there is no test test_of_nothing"),
    ("a `CINT_NOTHING` b", "nothing reads CINT_NOTHING"),
    ("`pci_nvme_cint_nothing`", "there is no trace event pci_nvme_cint_nothing"),
])
def test_what_there_is_not(tmp_path: Path, text: str, wrong: str) -> None:
    (tmp_path / "x.md").write_text(f"# Title\n\nWords.\n\n{text}\n")
    found = documents.problems(tmp_path / "x.md")
    assert len(found) == 1
    assert found[0].split(":")[1] == "5"
    assert wrong in found[0]


@pytest.mark.parametrize("text", [
    "[a](x.md#title) and [b](#a-b-c-two)\n\n## A `b`: [c](x.md), two!",
    "    ./cint compare --policy LIST --seed N [--json] > result.json   # a remark",
    "    ./cint --help; ./cint VERB --help\n    ./cint test guest -k x --linux-src ~/linux",
    "`--policy`, `--cq-size N`, `cint.media.*`, `cint.media`, `cint.thr=4`, cint.steps",
    "`tests/unit/`, `hw/nvme/cint-*.[ch]`, `test_hints.py`, `test_split[1m]`, `CINT_PYTHON`",
    "```\n[a](nowhere.md)\n```", "`[a](nowhere.md)` and [b](https://example.org/#x)",
    "    ./cint compare --policy default \\\n      --vcpus 2 \\\n      --json\n    ./cint doctor",
    "    cd x && \\\n    ./cint doctor",
    "`pci_nvme_cint_*`"])
def test_what_there_is(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.md").write_text(f"# Title\n\nWords.\n\n{text}\n")
    assert documents.problems(tmp_path / "x.md") == []


def test_too_wide_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.md").write_text(f"{'word ' * 30}\n\n| {'word ' * 30}|\n\n    {'word ' * 30}\n"
                                   f"\n{'w' * 130}\n")
    found = list(documents.width(documents.Document(tmp_path / "x.md")))
    assert found == [(1, "150 columns; ./cint docs wrap makes lines of 100")]


def test_the_table_of_trace_events_is_that_of_the_patch() -> None:
    """docs/interface.md, section 7: every event, and none that there is not."""
    text = (documents.DOCS / "interface.md").read_text("utf-8")
    section = text.partition("\n## 7. ")[2].partition("\n## 8. ")[0]
    told = re.findall(r"^\| `(\w+)`", section, re.MULTILINE)
    assert sorted(told) == sorted(name.removeprefix("pci_nvme_cint_").removeprefix("pci_nvme_")
                                  for name in documents.trace_events())


@pytest.mark.parametrize("table", tables.TABLES, ids=[table.make.__module__.rpartition(".")[2]
                                                      for table in tables.TABLES])
def test_tables_are_what_the_lists_give(table: tables.Table) -> None:
    text = (documents.DOCS / table.document).read_text("utf-8")
    assert tables.put(text, table) == text, "./cint docs tables writes them again"


def test_the_schema_is_what_the_records_give() -> None:
    assert schema.FILE.read_text("utf-8") == schema.as_text(), "./cint docs tables writes it again"


def test_a_field_is_a_line_of_its_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of its name the type, whether it is always there, and what is said of it; metrics, too."""
    class Wider(records.Tool):
        pages: Annotated[list[tuple[int, int]], "an example"]
        more: NotRequired[Mapping[str, records.Tool | None]]

    added = metrics.Metric("q", "", "", 1, note="!")
    monkeypatch.setattr(metrics, "TABLE", (*metrics.TABLE, added))
    made = schema.Maker()
    found = made.record(Wider)
    assert found["required"] == ["version", "pages"]
    assert found["properties"] == {
        "version": {"type": "string"},
        "pages": {"type": "array", "description": "an example", "items": {
            "type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "integer"}}},
        "more": {"type": "object", "additionalProperties": {
            "oneOf": [{"$ref": "#/$defs/Tool"}, {"type": "null"}]}}}
    assert json.loads(json.dumps(made.record(records.Row)))["properties"]["q"] == {
        "type": ["number", "null"], "description": "!"}
    with pytest.raises(TypeError, match="bytes"):
        made.of(list[bytes])


def test_a_table_that_has_no_place() -> None:
    table = next(one for one in tables.TABLES if "The par" in one.after)
    for text in ("no such heading\n", f"{table.after}\nno table\n", table.after * 2 + "| a |\n"):
        with pytest.raises(CintError, match="has no table behind '### The par"):
            tables.put(text, table)
    assert tables.put(f"| x |\n{table.after}\n| a |\n|---|\nend\n", table) == \
        f"| x |\n{table.after}\n{table.make()}end\n"


def test_the_verb_says_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                     capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.md"
    path.write_text("[a](nowhere.md)\n")
    monkeypatch.setattr(documents, "documents", lambda: [path])
    assert cli.main(["docs", "check"]) == 1
    assert capsys.readouterr().out.endswith("x.md:1: there is no nowhere.md\n")
    path.write_text(f"{LONG}\n")
    assert cli.main(["docs", "check"]) == 1
    assert cli.main(["docs", "wrap"]) == 0
    assert cli.main(["docs", "check"]) == 0
    assert path.read_text() == wrap.text(f"{LONG}\n")
    assert capsys.readouterr().out.endswith("x.md\n")


# ---- wrapping ----------------------------------------------------------------

LONG = " ".join(f"word{n}" for n in range(40))


def test_prose_is_wrapped_and_nothing_else() -> None:
    table, code = f"| {LONG} |", f"    {LONG}"
    after = wrap.text(f"# {LONG}\n\n{LONG}\n\n{table}\n\n{code}\n\n* {LONG}\n\n      {LONG}\n")
    lines = after.splitlines()
    assert f"# {LONG}" in lines and table in lines and code in lines and f"      {LONG}" in lines
    prose = [line for line in lines if line not in (f"# {LONG}", table, code, f"      {LONG}")]
    assert all(len(line) <= documents.WIDTH for line in prose)
    assert " ".join(after.split()) == " ".join(
        f"# {LONG} {LONG} {table} {code} * {LONG} {LONG}".split())
    assert [line for line in lines if line.startswith("  word")]
    assert wrap.text(after) == after


def test_a_wrapped_line_begins_nothing_new() -> None:
    words = ["x" * 47, "x" * 47, "-", "then", "1.", "more"]
    lines = wrap.paragraph([" ".join([*words, *words])])
    assert all(re.match(r"x|then|more", line) for line in lines)
    assert " ".join(lines).split() == [*words, *words]


def test_short_lines_stay_as_they_are() -> None:
    text = "Some words,\nin short lines.\n"
    assert wrap.text(text) == text


def test_the_index_has_every_page() -> None:
    linked = re.findall(r"\]\(([\w-]+)\.md\)", (documents.DOCS / "index.md").read_text("utf-8"))
    assert set(linked) == {path.stem for path in documents.DOCS.glob("*.md")} - {"index"}


def test_the_map_names_every_module_suite_and_guest_test() -> None:
    """docs/development.md: a row with what each package holds, each suite, each file of tests."""
    text = (documents.DOCS / "development.md").read_text("utf-8")
    rows = {found[1]: found[0] for found in re.finditer(r"^\| `(\w+)` \|.*", text, re.MULTILINE)}
    listed = re.findall(r"^\| (\w+) \|", text, re.MULTILINE)
    packages = {path.parent for path in (paths.ROOT / "tools/cint").glob("*/__init__.py")}
    for package in packages - {paths.ROOT / "tools/cint/verbs"}:
        for module in package.glob("[!_]*.py"):
            assert f"`{module.stem}`" in rows[package.name]
    assert {suite.name for suite in suites.SUITES} <= set(listed)
    for path in (paths.ROOT / "tests/guest").glob("test_*.py"):
        assert f"`{path.name}`" in text


def test_the_checked_documents_are_those_of_the_tree() -> None:
    assert paths.ROOT / "README.md" in HERE
    assert set(documents.DOCS.glob("*.md")) <= set(HERE)


# ---- the site -------------------------------------------------------------------

def test_the_navigation_has_every_page_once() -> None:
    listed = [page for pages in site.CHAPTERS.values() for page in pages]
    assert sorted(listed) == sorted([*(path.stem for path in documents.DOCS.glob("*.md")
                                       if path.stem != "index"), *site.MADE])


def test_links_by_a_files_name_get_the_pages_title() -> None:
    text = ("as in [replay.md](replay.md), [polling.md](polling.md#how-long), [a tour](tour.md) "
            "and [a figure](figures.md#vic-tab1)")
    assert site.staged(text) == ("as in [Replaying a load](replay.md), [Interrupts, coalescing or "
                                 "polling](polling.md#how-long), [a tour](tour.md) "
                                 "and [a figure](figures/vic-tab1.md)")


def test_links_out_of_the_site_become_text() -> None:
    text = ("[a](../hw/x.c) [`b`](own-policy/half.c) [c](policies.md#x) [d](https://e.org) "
            "[e](results.schema.json) ![f](images/g.svg)")
    assert site.staged(text) == ("a `b` [c](policies.md#x) [d](https://e.org) e "
                                 "![f](images/g.svg)")


def test_made_pages_have_what_there_is() -> None:
    options = site.options_page()
    for command in commands.commands():
        assert f"\n## {command.name}\n" in options
        for one in command.options:
            assert f"`{one.flags[0]}" in options


def test_the_engines_header_documents_every_function(tmp_path: Path) -> None:
    """The program that makes its page refuses one that has no comment, or lacks a parameter."""
    site.write_reference(tmp_path / "coalesce.md")
    text = (tmp_path / "coalesce.md").read_text("utf-8")
    assert "### cint_submit()" in text
    assert "static inline int64_t cint_deadline(const CintCq *cq);" in text


def test_the_list_of_figures_leads_to_every_page_with_its_drawing(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "SOURCE", tmp_path)
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures/timers.svg").touch()
    text = (documents.DOCS / "figures.md").read_text("utf-8")
    found = site.figures_page(text)
    stored = {path.stem for path in (documents.DOCS / "figures").glob("*.json")}
    assert set(re.findall(r"\| \[([\w.-]+)\]\(figures/\1\.md\): ", found)) == stored
    assert re.findall(r'src="figures/([\w.-]+)\.svg"', found) == ["timers"]
    assert ".json" not in found
    assert set(re.findall(r"\(#([^)]*)\)", found)) == {"how-they-are-judged"}
    below = found.partition("```{toctree}")[2]
    assert set(re.findall(r"^figures/([\w.-]+)$", below, re.MULTILINE)) == stored
    # by number: fig3 before fig10
    assert below.index("cint-fig3\n") < below.index("cint-fig10\n")


@pytest.mark.slow
def test_the_site_builds_without_a_warning() -> None:
    page = site.build()
    text = page.read_text("utf-8")
    assert "images/pipeline.svg" in text or "_images/pipeline.svg" in text
    for name in (page for pages in site.CHAPTERS.values() for page in pages):
        assert page.with_name(f"{name}.html").exists()
    assert "https://" not in re.sub(r"<a [^>]*>|<!--.*?-->", "", text, flags=re.DOTALL)


def test_what_the_tour_says_of_its_row_is_what_the_row_has() -> None:
    """The output above it is a test's; the sentences are written by hand."""
    text = (paths.ROOT / "docs/tour.md").read_text("utf-8")
    of = {line.split()[0]: line.split() for line in text.splitlines()
          if re.match(r"(default|cint) +[\d.]+ ", line)}
    iops, mean, device, per_irq, hold = 1, 3, 8, 11, 12
    default, cint = of["default"], of["cint"]
    said = (f"has its read in {cint[mean]} us instead of {default[mean]}, the two jobs together "
            f"make {cint[iops + 1]} times the reads, and the device sends {cint[device + 1]} "
            f"times the interrupts a second. For each read that is {1 / float(cint[per_irq]):.2f} "
            f"times: one completion in {cint[per_irq]} has an interrupt. The mean hold of "
            f"{cint[hold]} us")
    if said not in " ".join(text.split()):
        pytest.fail(f"docs/tour.md has to say: {said}", pytrace=False)
