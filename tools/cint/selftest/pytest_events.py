# SPDX-License-Identifier: GPL-2.0-or-later
"""pytest plugin of `cint test`: tells each result as it happens.

Loaded with `-p cint.selftest.pytest_events`. Writes one JSON object a line to the file descriptor
in CINT_TEST_EVENTS, and the report of each test to a file in CINT_TEST_LOGS. When
CINT_TEST_FILTER is set, only tests with that name, or whose name contains it, run.
With xdist's processes it is the one that started them that tells.

The user property `remark` of a test that passed is told as its reason.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

#: Keeps an event below PIPE_BUF, so that it is written in one piece.
_REASON_LIMIT = 1000


def _emit(event: dict[str, Any]) -> None:
    event["reason"] = event["reason"][:_REASON_LIMIT]
    os.write(int(os.environ["CINT_TEST_EVENTS"]), (json.dumps(event) + "\n").encode())


def _log(name: str, text: str) -> str:
    directory = Path(os.environ["CINT_TEST_LOGS"])
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / (re.sub(r"[^A-Za-z0-9_.=-]+", "_", name)[:150] + ".log")
    path.write_text(text + "\n", encoding="utf-8")
    return str(path)


def short_name(nodeid: str) -> str:
    """`tools/tests/test_ui.py::test_size` -> `test_ui::test_size`."""
    path, _, rest = nodeid.partition("::")
    return f"{Path(path).stem}::{rest}" if rest else Path(path).stem


def _asked_for(items: list[pytest.Item]) -> list[pytest.Item]:
    wanted = os.environ.get("CINT_TEST_FILTER")
    if not wanted:
        return items
    exact = [item for item in items if short_name(item.nodeid) == wanted]
    return exact or [item for item in items if wanted in short_name(item.nodeid)]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep only the tests that were asked for."""
    keep = _asked_for(items)
    config.hook.pytest_deselected(items=[item for item in items if item not in keep])
    items[:] = keep


def _status(report: pytest.TestReport) -> str:
    if report.failed:
        return "failed"
    if report.skipped:
        return "expected" if hasattr(report, "wasxfail") else "skipped"
    return "passed"


def _reason(report: pytest.TestReport) -> str:
    expected = getattr(report, "wasxfail", None)
    if expected is not None:
        return str(expected).removeprefix("reason: ")
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    text = str(report.longrepr or "")
    marked = [line for line in text.splitlines() if line.startswith("E  ")]
    return marked[0][1:].strip() if marked else ""


class _Teller:
    """Tells what became of each test: in the process that counts, not where xdist runs them."""

    def __init__(self) -> None:
        self.open: dict[str, dict[str, Any]] = {}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be imported is a failed test."""
        if report.failed:
            name = short_name(report.nodeid) or "collection"
            _emit({"name": name, "status": "failed", "seconds": 0.0,
                   "log": _log(name, str(report.longrepr)), "reason": "cannot be imported"})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Gather set-up, call and tear-down of a test, then tell its result."""
        name = short_name(report.nodeid)
        entry = self.open.setdefault(name, {"name": name, "status": "passed", "seconds": 0.0,
                                            "reason": "", "text": ""})
        entry["seconds"] += report.duration
        status = _status(report)
        if status != "passed" and entry["status"] != "failed":
            entry["status"] = status
            entry["reason"] = _reason(report)
        if report.failed:
            entry["text"] += report.longreprtext + "\n"
        if report.when in ("setup", "call"):
            return  # what remains is the tear-down, or that the process crashed
        for title, content in report.sections:
            entry["text"] += f"--- {title} ---\n{content}\n"
        if entry["status"] == "passed":
            entry["reason"] = str(dict(report.user_properties).get("remark", ""))
        del self.open[name]
        entry["log"] = _log(name, entry.pop("text"))
        _emit(entry)


def pytest_configure(config: pytest.Config) -> None:
    """Tell, unless another process does."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Teller())
