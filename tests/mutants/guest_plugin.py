# SPDX-License-Identifier: GPL-2.0-or-later
"""A plugin of pytest: tests run in the mutants' kernel, once for each mutation they should notice.

A guest that several tests share is told at run time which mutation is in force; one that a test
boots for itself by the kernel's command line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tables.kernel import MUTANTS

from cint import paths
from cint.build import linux

_BUILD = Path(os.environ["CINT_MUTANT_BUILD"])
# before vm is imported: it takes the kernel's path from here
paths.KERNEL = _BUILD / "arch/x86/boot/bzImage"

from cint.guest import vm  # noqa: E402

linux.DEBUG = replace(linux.DEBUG, directory=_BUILD)
linux.build = lambda *_args, **_more: False
_cmdline = vm.kernel_cmdline
_SWITCH = "/sys/module/kernel/parameters/cint_mutant"
#: Fixtures that are a guest of several tests; who has two of them needs the first.
_SHARED = ("files", "guest", "one_of_two", "polled", "interrupted")

#: The mutations to try, by number; 0 is none.
_CHOSEN = {0: "none"} | {number: m.name for number, m in enumerate(MUTANTS, 1)
                         if m.name in os.environ["CINT_MUTANTS"].split()}
_in_force = 0


def _with_mutant(machine: vm.Machine) -> str:
    return f"{_cmdline(machine)} cint_mutant={_in_force}"


vm.kernel_cmdline = _with_mutant


def _tests_of(number: int) -> set[str]:
    """Names of tests without their files; those of all mutations for number 0."""
    chosen = [MUTANTS[n - 1] for n in _CHOSEN if n and number in (0, n)]
    return {test.partition("::")[2] for mutation in chosen for test in mutation.tests}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One run of a test for each mutation it should notice."""
    mine = [number for number in _CHOSEN
            if any(test.partition("[")[0] == metafunc.function.__name__
                   for test in _tests_of(number))]
    if mine:
        metafunc.parametrize("mutation", mine, ids=[_CHOSEN[n] for n in mine], indirect=True)


def _wanted(item: pytest.Item) -> bool:
    spec = getattr(item, "callspec", None)
    number = spec.params.get("mutation") if spec else None
    if spec is None or number is None:
        return False
    name, mutant = item.name.partition("[")[0], _CHOSEN[number]
    rest = {spec.id.removeprefix(f"{mutant}-"), spec.id.removesuffix(f"-{mutant}")}
    tests = _tests_of(number)
    return name in tests or any(f"{name}[{other}]" in tests for other in rest)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what no mutation asks for."""
    items[:] = [item for item in items if _wanted(item)]


@pytest.fixture(autouse=True)
def mutation(request: pytest.FixtureRequest) -> Iterator[None]:
    """One mutation is in force during the test, from before the guest boots that is its own."""
    global _in_force  # noqa: PLW0603
    names = [name for name in _SHARED if name in request.fixturenames]
    shared = request.getfixturevalue(names[0]) if names else None
    _in_force = request.param
    if shared:
        shared.shell(f"echo {_in_force} > {_SWITCH}")
    yield
    _in_force = 0
    if shared:
        shared.shell(f"echo 0 > {_SWITCH}")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Tell kernel.py what became of a test."""
    if report.when == "call" or report.failed:
        text = str(report.longrepr).rstrip().splitlines()[-1] if report.failed else ""
        with Path(os.environ["CINT_MUTANT_RESULTS"]).open("a") as stream:
            stream.write(json.dumps([report.nodeid.removeprefix("tests/guest/"), report.when,
                                     report.outcome, text]) + "\n")
