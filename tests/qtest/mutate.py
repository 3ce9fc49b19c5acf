#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Break the device in many ways, one at a time, and see which qtest notices.

All mutations of mutations.py are compiled into one QEMU with a switch, the environment variable
CINT_MUTANT, so that trying one costs no build. Number 0 is none: with it, all must pass.

Usage: build/venv/bin/python tests/qtest/mutate.py [--list] [--check] [--check-tree]
       [PATTERN...]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from mutations import MUTATIONS, Mutation

from cint import paths, steps

SOURCE = paths.BUILD / "src/qemu"
NVME = Path("hw/nvme")
BUILD = paths.BUILD / "qemu"
MUTANTS = paths.BUILD / "mutants-qemu"
BINARY = MUTANTS / "qemu-system-x86_64"
LIMIT_S = 1200
_SWITCH = """
int cint_mutant;
static void __attribute__((constructor)) choose_mutant(void)
{
    const char *number = getenv("CINT_MUTANT");

    cint_mutant = number ? atoi(number) : 0;
}
"""


def mutated(text: str, number: int, mutation: Mutation) -> str:
    """A source file with one mutation more, which is in force when its number is chosen."""
    start = text.find(mutation.old, max(text.find(mutation.after), 0))
    if start < 0 or mutation.after not in text:
        raise SystemExit(f"{mutation.what}: no such place in {mutation.file} any more")
    new = re.sub(r"\bON\b", f"(cint_mutant == {number})", mutation.new)
    return text[:start] + new + text[start + len(mutation.old):]


def mutated_texts(directory: Path, chosen: Iterable[tuple[int, Mutation]]) -> dict[str, str]:
    """The files below a directory that have a mutation, with all of them; or SystemExit."""
    texts: dict[str, str] = {}
    for number, mutation in chosen:
        text = texts.get(mutation.file) or (directory / mutation.file).read_text()
        texts[mutation.file] = mutated(text, number, mutation)
    return texts


def in_tree(name: str) -> Path:
    """Where a mutation's file is in QEMU's tree."""
    return Path(name) if "/" in name else NVME / name


def in_places(chosen: Iterable[tuple[int, Mutation]]) -> list[tuple[int, Mutation]]:
    """Those mutations, of files of QEMU's tree."""
    return [(number, replace(m, file=str(in_tree(m.file)))) for number, m in chosen]


def check(chosen: Sequence[tuple[int, Mutation]]) -> int:
    """Look for the places of those mutations that are of the project's own files."""
    own = [(number, m) for number, m in chosen if (paths.OVERLAY_NVME / m.file).exists()]
    mutated_texts(paths.OVERLAY_NVME, own)
    print(f"{len(own)} mutations have a place; {len(chosen) - len(own)} are of QEMU's files")
    return 0


def check_tree(chosen: Sequence[tuple[int, Mutation]]) -> int:
    """Look for the places of all those mutations in the sources that QEMU was built from."""
    mutated_texts(SOURCE, in_places(chosen))
    print(f"{len(chosen)} mutations have a place")
    return 0


def write_sources() -> list[Path]:
    """Directories that have mutations, with all of them, below MUTANTS; the C files, from there."""
    shutil.rmtree(MUTANTS, ignore_errors=True)
    placed = in_places(enumerate(MUTATIONS, 1))
    texts = {Path(name): text for name, text in mutated_texts(SOURCE, placed).items()}
    for directory in {name.parent for name in texts}:
        (MUTANTS / directory).mkdir(parents=True)
        for path in (SOURCE / directory).iterdir():
            if directory / path.name not in texts:
                (MUTANTS / directory / path.name).symlink_to(path)
    for name, text in texts.items():
        top = next(re.finditer(r"^#include .*\n", text, re.MULTILINE)).end()
        switch = "extern int cint_mutant;\n" + (_SWITCH if name.name == "cint-ctrl.c" else "")
        (MUTANTS / name).write_text(text[:top] + switch + text[top:])
    own = (path.relative_to(MUTANTS) for path in (MUTANTS / NVME).glob("cint-*.c"))
    return sorted({*own, *(name for name in texts if name.suffix == ".c")})


def build() -> None:
    """Build the QEMU that has all mutations, from the objects of the one that is tested."""
    ninja = [str(paths.BUILD / "venv/bin/ninja"), "-t", "compdb", "-x"]
    listing = subprocess.run(ninja, cwd=BUILD, capture_output=True, check=True).stdout
    commands = {entry["output"]: entry["command"] for entry in json.loads(listing)}
    link = commands["qemu-system-x86_64"]
    for source in write_sources():
        was = f"libcommon.a.p/{'_'.join(source.parts)}.o"
        now = str((MUTANTS / source).with_suffix(".o"))
        command = re.sub(rf"\S+/{source}\b", str(MUTANTS / source), commands[was])
        subprocess.run(command.replace(was, now), cwd=BUILD, shell=True, check=True,
                       env={**os.environ, **steps.ccache_env()})
        link = link.replace(was, now)
    link = link.replace("-o qemu-system-x86_64", f"-o {BINARY}")
    subprocess.run(link, cwd=BUILD, shell=True, check=True)


def failure(number: int, test: str) -> str | None:
    """The test that one mutation fails, or why it did not end; None if it passes."""
    settings = {"QTEST_QEMU_BINARY": str(BINARY), "QTEST_QEMU_IMG": str(BUILD / "qemu-img"),
                "CINT_MUTANT": str(number)}
    program, _, case = test.partition("/")
    argv = [str(BUILD / f"tests/qtest/nvme-cint-{program}-test"), "--tap"]
    if case:
        argv += ["-r", f"/x86_64/nvme-cint/{test}"]
    try:
        done = subprocess.run(argv, env={**os.environ, **settings}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=LIMIT_S, check=False,
                              cwd=BUILD)
    except subprocess.TimeoutExpired:
        return f"{test}: does not end"
    passed = re.findall(r"^ok \d+ (\S+)", done.stdout, re.MULTILINE)
    if not done.returncode:
        if not passed:
            raise SystemExit(f"{test}: there is no such test")
        return None
    return f"{test}, after {len(passed)} that pass"


def judge(number: int, mutation: Mutation) -> bool:
    """Whether a test notices one mutation; says so."""
    for test in mutation.tests:
        found = failure(number, test)
        if found:
            print(f"caught    {mutation.what} ({mutation.file}): {found}", flush=True)
            return True
    print(f"SURVIVED  {mutation.what} ({mutation.file})", flush=True)
    return False


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", action="store_true", help="only show the mutations")
    parser.add_argument("--check", action="store_true",
                        help="only look for the places of those of the project's own files")
    parser.add_argument("--check-tree", action="store_true",
                        help="only look for the places of all, where QEMU was built")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN",
                        help="only mutations of which file or description contains one")
    args = parser.parse_args()
    chosen = [(number, m) for number, m in enumerate(MUTATIONS, 1)
              if not args.patterns or any(p in f"{m.file} {m.what}" for p in args.patterns)]
    if args.list:
        for _, m in chosen:
            print(f"{m.file:14} {m.what}: {', '.join(m.tests)}")
        return 0
    if args.check:
        return check(chosen)
    if args.check_tree:
        return check_tree(chosen)
    build()
    for test in sorted({test for _, m in chosen for test in m.tests}):
        found = failure(0, test)
        if found:
            raise SystemExit(f"without a mutation, too: {found}")
    caught = [judge(number, m) for number, m in chosen]
    print(f"{len(caught)} mutations, {sum(caught)} caught")
    return not all(caught)


if __name__ == "__main__":
    sys.exit(main())
