#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tries mutants: breaks the code one place at a time and sees which test notices.

    build/venv/bin/python tests/mutants/mutate.py [-k PATTERN] [--sample N] [-j N] ...
"""

from __future__ import annotations

import argparse
import json
import queue
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import operators
import survivors
from bench import CAUGHT, INVALID, SAME, SURVIVED, Bench, Verdict, digest, take, workplace
from operators import Mutant
from tables import driver, pure
from targets import ROOT, TARGETS, Target

PLACE = ROOT / "build/mutants-unit"


def mutants_of(file: str, text: str) -> list[Mutant]:
    """All mutants of a file: those that operators make, then those that are written by hand."""
    written = [m.mutant(text) for m in (*pure.MUTANTS, *driver.MUTANTS) if m.file == file]
    return [*operators.mutants(file, text), *written]


def progress_path(target: Target, file: str) -> Path:
    """Where what is known of a file's mutants is written."""
    return PLACE / "progress" / f"{target.name}-{Path(file).name}.jsonl"


def read_progress(path: Path) -> dict[str, list[str]]:
    """Verdict, test and what that was made of, by what the file with the mutant is."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return {key: what for key, *what in map(json.loads, lines)}


class Progress:
    """What is known of a file's mutants from before, a line each."""

    def __init__(self, bench: Bench) -> None:
        """Read it."""
        self.bench = bench
        self.path = progress_path(bench.target, bench.file)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.known = read_progress(self.path)

    def find(self, text: str) -> Verdict | None:
        """A verdict that would be the same again."""
        key = digest(text.encode())
        if key not in self.known:
            return None
        what, by, tests = self.known[key]
        is_valid = what in (SAME, INVALID) or tests == self.bench.digest_of(by)
        return Verdict(what, by) if is_valid else None

    def add(self, text: str, found: Verdict) -> None:
        """Write one down."""
        entry = [found.what, found.by, self.bench.digest_of(found.by)]
        key = digest(text.encode())
        self.known[key] = entry
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps([key, *entry]) + "\n")


def _chosen(mutants: Sequence[Mutant], args: argparse.Namespace) -> list[Mutant]:
    """Those of a pattern, or some by chance."""
    named = [m for m in mutants if not args.pattern or args.pattern in m.name]
    if args.sample and args.sample < len(named):
        of = random.Random(f"{args.seed} {named[0].name}")
        chosen = {m.name for m in of.sample(named, args.sample)}
        named = [m for m in named if m.name in chosen]
    return named


def _try_all(bench: Bench, mutants: Sequence[Mutant], progress: Progress, jobs: int) -> \
        Iterator[tuple[Mutant, Verdict]]:
    """Each mutant's verdict, from before or by the tests."""
    places: queue.Queue[Path] = queue.Queue()
    for number in range(jobs):
        places.put(workplace(PLACE, number))

    def attempt(mutant: Mutant) -> tuple[Mutant, Verdict]:
        text = mutant.applied(bench.original)
        found = progress.find(text)
        if found is None:
            work = places.get()
            try:
                found = bench.verdict(text, mutant.name.rsplit(":", 2)[0], work)
            finally:
                places.put(work)
            progress.add(text, found)
        return mutant, found

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(attempt, mutants)


def try_file(target: Target, file: str, args: argparse.Namespace) -> bool:
    """Try a file's mutants, and say what became of them; whether all is as it is known."""
    text = original(target, file)
    mutants = _chosen(mutants_of(file, text), args)
    if args.again:
        seen = read_progress(progress_path(target, file))
        mutants = [m for m in mutants if m.name not in survivors.known() and
                   seen.get(digest(m.applied(text).encode()), [""])[0] == SURVIVED]
    if not mutants:
        return True
    bench = Bench(target, file, PLACE)
    bench.time(workplace(PLACE, 0))
    count: Counter[str] = Counter()
    wrong = 0
    for mutant, found in _try_all(bench, mutants, Progress(bench), args.jobs):
        count[found.what] += 1
        why = survivors.surprise(mutant, found.what)
        wrong += bool(why)
        if why or args.verbose:
            line = bench.original.count("\n", 0, mutant.start) + 1
            print(f"{why or found.what + ' ' + found.by}: {mutant.name}, line {line}: "
                  f"{mutant.change}", flush=True)
    tried = len(mutants) - count[INVALID] - count[SAME]
    print(f"{file}: {tried} mutants, {count[CAUGHT]} caught, {count[SURVIVED]} survive, "
          f"{wrong} surprise; {count[SAME]} more are the same code, {count[INVALID]} no program",
          flush=True)
    return not wrong


def original(target: Target, file: str) -> str:
    """A file as it is; those of the kernel are in patches."""
    if not target.name.startswith("kernel-"):
        return (ROOT / file).read_text("utf-8")
    with tempfile.TemporaryDirectory(prefix="cint-mutants-") as place:
        take(file, Path(place) / "taken")
        return (Path(place) / "taken").read_text("utf-8")


def check(chosen: Sequence[tuple[Target, str]]) -> int:
    """See that all mutants by hand have a place, and that the survivors' lines are of mutants."""
    mutants = {m.name: m for target, file in chosen
               for m in mutants_of(file, original(target, file))}
    files = {file for _, file in chosen}
    lost = [name for name, survivor in survivors.known().items()
            if name.partition(":")[0] in files and
            (name not in mutants or mutants[name].change != survivor.change)]
    print("\n".join([*(f"{name} is not as survivors.txt has it" for name in lost),
                     f"{len(mutants)} mutants, {len(survivors.known())} known to survive"]))
    return bool(lost)


def table(chosen: Sequence[tuple[Target, str]]) -> int:
    """Print what is known of each file, as docs/mutations.md has it. Nothing is run."""
    print("| file | mutants | tried | caught | survive |\n|---|---|---|---|---|")
    for target, file in chosen:
        text = original(target, file)
        seen = read_progress(progress_path(target, file))
        found = Counter(seen[key][0] for m in mutants_of(file, text)
                        if (key := digest(m.applied(text).encode())) in seen)
        none = found[SAME] + found[INVALID]
        if mutants := len(mutants_of(file, text)) - none:
            print(f"| `{file}` | {mutants} | {found.total() - none} | {found[CAUGHT]} | "
                  f"{found[SURVIVED]} |")
    return 0


def main() -> int:
    """Try the mutants of the files that match."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-k", dest="pattern", default="", help="part of a mutant's name")
    parser.add_argument("-j", dest="jobs", type=int, default=1, help="how many side by side (1)")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="N of each file")
    parser.add_argument("--seed", type=int, default=1, help="which are in a sample (1)")
    parser.add_argument("--again", action="store_true",
                        help="only those that have survived and are not listed")
    parser.add_argument("-v", dest="verbose", action="store_true", help="say what caught each")
    parser.add_argument("files", nargs="*", help="files, or parts of their names (all)")
    parser.add_argument("--check", action="store_true",
                        help="only see that what is listed is there")
    parser.add_argument("--table", action="store_true",
                        help="only print what is known of each file")
    parser.add_argument("--list", action="store_true", help="only name the files")
    args = parser.parse_args()
    chosen = [(target, file) for target in TARGETS for file in target.files
              if not args.files or any(part in file for part in args.files)]
    if args.list:
        print("\n".join(file for target, file in chosen
                        if mutants_of(file, original(target, file))))
        return 0
    if args.check or args.table:
        return (check if args.check else table)(chosen)
    good = [try_file(target, file, args) for target, file in chosen]
    return not all(good)


if __name__ == "__main__":
    sys.exit(main())
