#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Break the guest kernel in many ways, one at a time, and see which test notices.

All mutants of tables/kernel.py are compiled into one kernel with a switch, so that trying one costs
no build, and no boot where tests share a guest. Number 0 is none: with it, all must pass.

Usage: build/venv/bin/python tests/mutants/kernel.py [--list] [--check] [NAME...]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import survivors
from tables.kernel import MUTANTS
from written import Written, all_switched

from cint import paths, steps
from cint.build import linux, patches, sources

HERE = Path(__file__).resolve().parent
GUEST = paths.ROOT / "tests/guest"
BUILD = paths.BUILD / "mutants"
LOGS = paths.TEST_LOGS / "mutations"
#: What some tests need besides the measured kernel's configuration.
CONFIG = "CONFIG_MQ_IOSCHED_DEADLINE=y\n"
#: How a test ends that did not like what it saw, or a job in the guest that failed.
_NOTICED = re.compile(r"(AssertionError|CintError|Failed)\b")
SWITCH = """
int cint_mutant __read_mostly;
core_param(cint_mutant, cint_mutant, int, 0644);
"""
# ---- the kernel ----------------------------------------------------------------------------------

def with_switch(text: str) -> str:
    """A source file that knows the switch: declared after what it includes first."""
    last = [match.end() for match in re.finditer(r"^#include .*\n", text, re.MULTILINE)]
    top = [end for end in last if not re.search(r"^#if|^\w.*\{$", text[:end], re.MULTILINE)] or last
    return text[:top[-1]] + "extern int cint_mutant;\n" + text[top[-1]:]


def mutated_files(tree: Path) -> dict[Path, str]:
    """All source files that are different in the kernel with the mutations."""
    main = tree / "init/main.c"
    files = {main: main.read_text() + SWITCH}
    for number, mutation in enumerate(MUTANTS, 1):
        path = tree / mutation.file
        text = files.get(path) or with_switch(path.read_text())
        condition = f"unlikely(cint_mutant == {number})"
        files[path] = all_switched(text, [(condition, mutation)])
    return files


@contextmanager
def changed(files: dict[Path, str]) -> Iterator[None]:
    """The source tree with other contents, until the end of the block."""
    before = {path: (path.read_bytes(), path.stat()) for path in files}
    try:
        for path, text in files.items():
            path.write_text(text)
        yield
    finally:
        for path, (data, stat) in before.items():
            path.write_bytes(data)
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def keep_tools_old() -> None:
    """Make what was built in another directory, or all objects would be made again for its sake."""
    for path in (BUILD / "tools").rglob("*"):
        original = linux.MEASURED.directory / path.relative_to(BUILD)
        if original.exists():
            shutil.copystat(original, path)


def build_kernel() -> None:
    """Build the kernel with all mutations, from the objects of the one that guests boot."""
    tree = sources.unpack(sources.LINUX).tree
    if not BUILD.exists():
        shutil.copytree(linux.MEASURED.directory, BUILD, symlinks=True)
    with changed(mutated_files(tree)), steps.step("mutants", "Build the mutants' kernel") as step:
        fragment = BUILD / "mutants.config"
        base = "".join(path.read_text() for path in linux.MEASURED.fragments)
        fragment.write_text(base + CONFIG)
        kernel = replace(linux.MEASURED, directory=BUILD)
        prepared = patches.Tree(tree, "mutants")
        jobs = os.cpu_count() or 1
        linux.make(step, kernel, prepared, jobs, "allnoconfig",
                          env={"KCONFIG_ALLCONFIG": str(fragment)})
        linux.make(step, kernel, prepared, jobs, "prepare")
        keep_tools_old()
        linux.make(step, kernel, prepared, jobs, "bzImage")


# ---- the tests -----------------------------------------------------------------------------------

def run_tests(mutations: Sequence[Written]) -> list[tuple[str, str, str, str]]:
    """Run their tests: (test, phase, outcome, last line) of each, mutations in the names."""
    logs = LOGS / (mutations[0].name if mutations[0].alone else "together")
    logs.mkdir(parents=True)
    results = logs / "results"
    settings = {"CINT_MUTANTS": " ".join(m.name for m in mutations),
                "CINT_MUTANT_BUILD": str(BUILD), "CINT_MUTANT_RESULTS": str(results),
                "CINT_TEST_LOGS": str(logs), "PYTHONPATH": f"{HERE}:{GUEST}:{paths.ROOT / 'tools'}"}
    files = sorted({test.partition("::")[0] for m in mutations for test in m.tests})
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "guest_plugin", "-p", "no:cacheprovider",
            "-c", str(paths.TOOLS / "pyproject.toml"), "--rootdir", str(paths.ROOT),
            *(str(GUEST / name) for name in files)]
    with (logs / "pytest.log").open("w") as stream:
        subprocess.run(argv, env={**os.environ, **settings}, stdin=subprocess.DEVNULL,
                       stdout=stream, stderr=subprocess.STDOUT, check=False)
    return [tuple(json.loads(line)) for line in results.read_text().splitlines()]


def broken(results: Sequence[tuple[str, str, str, str]]) -> list[str]:
    """Tests that do not pass without a mutation, and so tell nothing of any."""
    return [r[0] for r in results if re.search(r"[\[-]none[\]-]", r[0]) and r[2] != "passed"]


def judge(mutation: Written, results: Sequence[tuple[str, str, str, str]]) -> bool:
    """Whether a test noticed one mutation that passes without it, or none did of those that are
    known to survive; says so.
    """
    named = re.compile(rf"([\[-]){mutation.name}([\]-])")
    mine = [r for r in results if named.search(r[0])]
    sound = {r[0] for r in results} - set(broken(results))
    # a guest that is gone tells nothing of the next test's mutation
    caught = [r for r in mine if r[1:3] == ("call", "failed") and _NOTICED.search(r[3])
              and named.sub(r"\1none\2", r[0]) in sound]
    passed = all(r[2] == "passed" for r in mine)
    verdict = "caught" if caught else "NOT RUN" if not mine else "SURVIVED" if passed else "ERROR"
    tests = [r[0] for r in caught] or mutation.tests
    print(f"{verdict:9} {mutation.name:16} {mutation.what}: {tests[0]}")
    known = f"{mutation.file}:written:{mutation.name}" in survivors.known()
    return bool(caught) != known and verdict in ("caught", "SURVIVED")


def chosen(names: Sequence[str]) -> list[tuple[int, Written]]:
    """The mutations named, or all, with their numbers."""
    known = {mutation.name for mutation in MUTANTS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"no mutation {', '.join(unknown)}; valid: {', '.join(sorted(known))}")
    return [(number, m) for number, m in enumerate(MUTANTS, 1) if not names or m.name in names]


def guests_apart(mutations: Sequence[Written]) -> list[list[Written]]:
    """Those that may share guests, and each of the others."""
    together = [m for m in mutations if not m.alone]
    return [group for group in (together, *([m] for m in mutations if m.alone)) if group]


def main() -> int:
    """Exit code 0 if all end as they are known to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", metavar="NAME", nargs="*", help="only these (all)")
    parser.add_argument("--list", action="store_true", help="show them and end")
    parser.add_argument("--check", action="store_true",
                        help="see whether all have a place in the built kernel's source, and end")
    args = parser.parse_args()
    wanted = chosen(args.names)
    if args.list:
        for _, mutation in wanted:
            print(f"{mutation.name:28} {mutation.what}")
        return 0
    if args.check:
        mutated_files(sources.unpack(sources.LINUX).tree)
        print(f"{len(MUTANTS)} mutations have a place")
        return 0
    build_kernel()
    shutil.rmtree(LOGS, ignore_errors=True)
    caught = []
    for group in guests_apart([mutation for _, mutation in wanted]):
        results = run_tests(group)
        for test in broken(results):
            print(f"{test} fails without a mutation: see {paths.display(LOGS)}")
        caught += [judge(mutation, results) for mutation in group]
    print(f"{sum(caught)} of {len(caught)} as they are known")
    return 0 if all(caught) else 1


if __name__ == "__main__":
    sys.exit(main())
