#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Break the device in many ways, one at a time, and see which qtest notices.

All mutants are compiled into two QEMUs with a switch, the environment variable CINT_MUTANT, so that
trying one costs no build: what is written by hand into one, what operators make into the other.
Number 0 is none: with it, all must pass.

Usage: build/venv/bin/python tests/mutants/device.py [--check] [--check-tree] [--sample N]
       [PATTERN...]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import operators
import survivors
from bench import CAUGHT, SURVIVED
from operators import Mutant
from tables.device import JUDGES, MUTANTS
from written import Written, all_switched

from cint import paths, steps

SOURCE = paths.BUILD / "src/qemu"
NVME = Path("hw/nvme")
BUILD = paths.BUILD / "qemu"
LIMIT_S = 1200
_SWITCH = """
int cint_mutant;
static void __attribute__((constructor)) choose_mutant(void)
{
    const char *number = getenv("CINT_MUTANT");

    cint_mutant = number ? atoi(number) : 0;
}
"""
#: What may not compile as a value that is chosen at run time, as structures do not.
_OF_ANY_TYPE = ("return", "field", "value")


def condition(number: int) -> str:
    """C that is true when a mutant is chosen."""
    return f"cint_mutant == {number}"


@dataclass
class Place:
    """A QEMU with mutants: the files that have some, and what is tried of them."""

    directory: Path
    texts: dict[Path, str] = field(default_factory=dict)
    #: By number, with the tests that judge.
    tried: dict[int, tuple[Mutant, tuple[str, ...]]] = field(default_factory=dict)

    @property
    def binary(self) -> Path:
        """The program."""
        return self.directory / "qemu-system-x86_64"


# ---- the mutants ---------------------------------------------------------------------------------


def by_hand(tree: Path, mutants: Sequence[Written] = MUTANTS) -> Place:
    """What is written by hand, where its files are below `tree`."""
    place = Place(paths.BUILD / "mutants-qemu")
    for number, mutation in enumerate(mutants, 1):
        name = Path(mutation.file)
        text = place.texts.get(name) or (tree / name).read_text()
        place.tried[number] = (mutation.mutant((tree / name).read_text()), mutation.tests)
        place.texts[name] = all_switched(text, [(f"({condition(number)})", mutation)])
    return place


def numbered_mutants(name: str) -> list[tuple[int, Mutant]]:
    """What operators make of one of the device's files, with numbers that its text gives."""
    files = sorted(JUDGES)
    first = 10000 * files.index(name) + 1
    text = (paths.OVERLAY_NVME / name).read_text()
    return [(number, mutant)
            for number, mutant in enumerate(operators.mutants(str(NVME / name), text), first)
            if mutant.kind != "constant"]


def by_operators() -> Place:
    """What operators make of the device's own files and a switch can choose, if it compiles."""
    place = Place(paths.BUILD / "mutants-qemu-made")
    for name, judges in JUDGES.items():
        text = (paths.OVERLAY_NVME / name).read_text()
        good = numbered_mutants(name)
        while bad := misfits(place.directory, name, with_top(name, _switched(text, good)), good):
            good = [(number, mutant) for number, mutant in good if number not in bad]
        place.texts[NVME / name] = _switched(text, good)
        place.tried |= {number: (mutant, tuple(judges)) for number, mutant in good}
    return place


def _switched(text: str, good: Iterable[tuple[int, Mutant]]) -> str:
    return operators.switched(text, [(condition(number), mutant) for number, mutant in good])


def misfits(directory: Path, name: str, text: str, good: Sequence[tuple[int, Mutant]]) -> set[int]:
    """Numbers of those that do not compile: by the lines that the compiler names."""
    directory.mkdir(parents=True, exist_ok=True)
    trial = directory / f"trial-{name}"
    trial.write_text(text)
    command = commands()[f"libcommon.a.p/hw_nvme_{name}.o"]
    command = re.sub(rf"\S+/hw/nvme/{name}\b", f"-iquote {SOURCE / NVME} {trial}", command)
    command = re.sub(r"-o \S+ -c", "-w -fsyntax-only -c", re.sub(r"-M[DQF] ?\S*\.[od]\b", "",
                                                                 command)).replace(" -MD", "")
    done = subprocess.run(command, cwd=BUILD, shell=True, check=False, capture_output=True,
                          text=True)
    trial.unlink()
    if not done.returncode:
        return set()
    first = 1 + text[:text.index("extern int cint_mutant")].count("\n")
    more = 1 + (_SWITCH.count("\n") if name == "cint-ctrl.c" else 0)
    lines = {int(line) - more for line in re.findall(rf"{trial}:(\d+):\d+: error", done.stderr)}
    original = (paths.OVERLAY_NVME / name).read_text()
    there = [(number, mutant) for number, mutant in good
             if any(original.count("\n", 0, mutant.start) + 1 <= line <=
                    original.count("\n", 0, mutant.end) + 1 for line in lines if line >= first)]
    bad = {number for number, mutant in there if mutant.name.split(":")[2] in _OF_ANY_TYPE}
    bad = bad or {number for number, _ in there}
    if not bad:
        raise SystemExit(f"{name} does not compile with mutants: {done.stderr[:2000]}")
    return bad


def check() -> int:
    """Look for the places of those written by hand that are of the project's own files."""
    own = [m for m in MUTANTS if (paths.ROOT / m.file).exists()]
    by_hand(paths.ROOT, own)
    print(f"{len(own)} mutants have a place; {len(MUTANTS) - len(own)} are of QEMU's files")
    return 0


def check_tree() -> int:
    """Look for the places of all of those in the sources that QEMU was built from."""
    print(f"{len(by_hand(SOURCE).tried)} mutants have a place")
    return 0


# ---- QEMU ----------------------------------------------------------------------------------------


def commands() -> dict[str, str]:
    """How QEMU's objects are built, and QEMU."""
    ninja = [str(paths.BUILD / "venv/bin/ninja"), "-t", "compdb", "-x"]
    listing = subprocess.run(ninja, cwd=BUILD, capture_output=True, check=True).stdout
    return {entry["output"]: entry["command"] for entry in json.loads(listing)}


def with_top(name: str, text: str) -> str:
    """A file that knows the switch; one of them has it."""
    top = next(re.finditer(r"^#include .*\n", text, re.MULTILINE)).end()
    switch = "extern int cint_mutant;\n" + (_SWITCH if name == "cint-ctrl.c" else "")
    return text[:top] + switch + text[top:]


def write_sources(place: Place) -> list[Path]:
    """Directories that have mutants, with all of them; the C files, from there."""
    shutil.rmtree(place.directory, ignore_errors=True)
    for directory in {NVME, *(name.parent for name in place.texts)}:
        (place.directory / directory).mkdir(parents=True)
        for path in (SOURCE / directory).iterdir():
            if directory / path.name not in place.texts:
                (place.directory / directory / path.name).symlink_to(path)
    main = NVME / "cint-ctrl.c"
    for name, text in {main: (SOURCE / main).read_text(), **place.texts}.items():
        (place.directory / name).unlink(missing_ok=True)
        (place.directory / name).write_text(with_top(name.name, text))
    own = (path.relative_to(place.directory)
           for path in (place.directory / NVME).glob("cint-*.c"))
    return sorted({*own, *(name for name in place.texts if name.suffix == ".c")})


def build(place: Place) -> None:
    """Build the QEMU that has all mutants, from the objects of the one that is tested."""
    known = commands()
    link = known["qemu-system-x86_64"]
    for source in write_sources(place):
        was = next(name for name in known if name.endswith(f"/{'_'.join(source.parts)}.o"))
        now = str((place.directory / source).with_suffix(".o"))
        command = re.sub(rf"\S+/{source}\b", f"-w {place.directory / source}", known[was])
        subprocess.run(command.replace(was, now), cwd=BUILD, shell=True, check=True,
                       env={**os.environ, **steps.ccache_env()})
        link = link.replace(was, now)
    link = link.replace("-o qemu-system-x86_64", f"-o {place.binary}")
    subprocess.run(link, cwd=BUILD, shell=True, check=True)


# ---- the tests -----------------------------------------------------------------------------------


def failure(place: Place, number: int, test: str) -> str | None:
    """The test that one mutant fails, or why it did not end; None if it passes."""
    settings = {"QTEST_QEMU_BINARY": str(place.binary), "QTEST_QEMU_IMG": str(BUILD / "qemu-img"),
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


def judge(place: Place, number: int, known: dict[str, str]) -> bool:
    """Whether one mutant ends as it is known to; says so, and writes down what was seen."""
    mutant, tests = place.tried[number]
    key = f"{mutant.name} {mutant.change}"
    if key not in known:
        found = next(filter(None, (failure(place, number, test) for test in tests)), "")
        known[key] = found
        with (place.directory / "progress").open("a") as stream:
            stream.write(json.dumps([key, found]) + "\n")
    why = survivors.surprise(mutant, CAUGHT if known[key] else SURVIVED)
    print(f"{why or 'as known'}: {mutant.name}: {mutant.change}: {known[key] or 'survives'}",
          flush=True)
    return not why


def progress(place: Place) -> dict[str, str]:
    """What was seen with this QEMU; nothing once another was built."""
    path = place.directory / "progress"
    if not path.exists():
        return {}
    return dict(json.loads(line) for line in path.read_text().splitlines())


def is_built(place: Place) -> bool:
    """Whether there is a QEMU of these sources, newer than the one that is tested."""
    tested = BUILD / "qemu-system-x86_64"
    return (place.binary.exists() and place.binary.stat().st_mtime > tested.stat().st_mtime and
            all((place.directory / name).read_text() == with_top(name.name, text)
                for name, text in place.texts.items()))


def try_all(place: Place, args: argparse.Namespace) -> bool:
    """Try those that were asked for; whether all end as they are known to."""
    chosen = [number for number, (mutant, _) in place.tried.items()
              if not args.patterns or any(p in mutant.name for p in args.patterns)]
    if args.sample and args.sample < len(chosen):
        chosen = sorted(random.Random(args.seed).sample(chosen, args.sample))
    if not chosen:
        return True
    with steps.lock(paths.BUILD / f"{place.directory.name}.lock"):
        if not is_built(place):
            build(place)
    known = progress(place)
    if not known:
        for test in sorted({test for number in chosen for test in place.tried[number][1]}):
            if found := failure(place, 0, test):
                raise SystemExit(f"without a mutant, too: {found}")
    good = [judge(place, number, known) for number in chosen]
    print(f"{len(good)} mutants, {sum(good)} as they are known")
    return all(good)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true",
                        help="only look for the places of those of the project's own files")
    parser.add_argument("--check-tree", action="store_true",
                        help="only look for the places of all, where QEMU was built")
    parser.add_argument("--check-made", action="store_true",
                        help="only see which of those that operators make compile")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="N of each kind")
    parser.add_argument("--seed", type=int, default=1, help="which are in a sample (1)")
    parser.add_argument("--only", choices=("hand", "made"), help="one of the two kinds")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN",
                        help="only mutants whose name contains one")
    args = parser.parse_args()
    if args.check:
        return check()
    if args.check_tree:
        return check_tree()
    if args.check_made:
        print(f"{len(by_operators().tried)} compile")
        return 0
    good = args.only == "made" or try_all(by_hand(SOURCE), args)
    return not ((args.only == "hand" or try_all(by_operators(), args)) and good)


if __name__ == "__main__":
    sys.exit(main())
