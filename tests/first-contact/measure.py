#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How long it takes from `git clone` to the first table.

  tests/first-contact/measure.py cold DIR        # a fresh clone in DIR, an empty cache
  tests/first-contact/measure.py warm CHECKOUT   # one that is built, an empty store of runs

`cold` clones this checkout's last commit into DIR, which it makes, and runs `./cint compare` there
with a cache of its own: sources are downloaded, everything is compiled. Packages that the machine
has already are not installed again; which ones were is said. `warm` runs the same command in a
checkout that is built, with an empty cache: every guest is booted. Pictures are drawn after the
table, which is what is waited for; the end is said, too.

Each line of the tool is printed with the time at which it came. The last lines are the times: of
the clock, and of the CPUs, which depends less on what else the machine does; and how much of the
CPUs others had meanwhile. Exit code 0 when the table came within the aim, 1 when it did not or the
command failed, 3 when it did not while others had more than 5 % of the CPUs.

Words after `--` are run instead of `./cint compare`.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
#: Seconds, on two CPUs of which nobody else has any.
AIM = {"cold": 16 * 60.0, "warm": 30.0}
#: What others may have of the CPUs before a missed aim says nothing; percent.
QUIET = 5.0

#: Lines that only say how far a step is.
_PROGRESS = re.compile(r"^  .* \.\.\. .*\(.*\)$")
#: The first row of a table: a policy's numbers when its guest has ended.
_ROW = re.compile(r"^\S+: .*IOPS")
#: Below the table; pictures are drawn after it.
_BELOW = re.compile(r"^results: ")


@dataclass(frozen=True)
class Cpu:
    """CPU seconds so far: of the machine, busy and in all, and of this program's children."""

    busy: float
    total: float
    own: float

    @classmethod
    def now(cls) -> "Cpu":
        """As the kernel counts now. Stolen time is somebody else's."""
        fields = Path("/proc/stat").read_text("ascii").split("\n", 1)[0].split()[1:9]
        user, nice, system, idle, wait, irq, softirq, steal = (int(field) / os.sysconf("SC_CLK_TCK")
                                                               for field in fields)
        busy = user + nice + system + irq + softirq + steal
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return cls(busy, busy + idle + wait, used.ru_utime + used.ru_stime)

    def others_percent(self, after: "Cpu") -> float:
        """What others had of the CPUs between two readings."""
        others = after.busy - self.busy - (after.own - self.own)
        return max(100 * others / max(after.total - self.total, 1e-9), 0.0)


def minutes(seconds: float) -> str:
    """A time as `12 min 03 s`."""
    whole = round(seconds)
    return f"{whole // 60} min {whole % 60:02} s" if whole >= 60 else f"{seconds:.1f} s"


def clone(place: Path, source: Path) -> Path:
    """A clone of the last commit, as from a server: nothing is shared with the source."""
    place.mkdir(parents=True)
    checkout = place / "cint"
    subprocess.run(["git", "clone", "--quiet", "--no-local", source, checkout], check=True)
    return checkout


@dataclass
class Course:
    """How a command went: its exit code, and after how many seconds the lines came."""

    code: int = -1
    first: float | None = None
    table: float | None = None


def follow(command: list[str], checkout: Path, cache: Path) -> Course:
    """Run the command, printing its lines with their times."""
    started, course = time.monotonic(), Course()
    with subprocess.Popen(command, cwd=checkout, env={**os.environ, "XDG_CACHE_HOME": str(cache)},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace") as child:
        assert child.stdout is not None
        for text in child.stdout:
            at = time.monotonic() - started
            if course.first is None and _ROW.match(text):
                course.first = at
            if _BELOW.match(text):
                course.table = at
            if not _PROGRESS.match(text):
                print(f"{at:7.1f}  {text}", end="", flush=True)
    course.code = child.returncode
    return course


def steps_of(checkout: Path, since: float) -> list[str]:
    """What each step took, from the last line of its log."""
    found = []
    logs = (checkout / "build/logs").glob("*.log")
    for log in sorted(logs, key=lambda path: path.stat().st_mtime):
        lines = log.read_text("utf-8", errors="replace").splitlines()
        took = re.fullmatch(r"cint: took (.*)", lines[-1]) if lines else None
        if took and log.stat().st_mtime >= since:
            found.append(f"  {log.stem}: {took[1]}")
    return found


def measure(kind: str, place: Path, source: Path, command: list[str]) -> int:
    """Measure one kind; the exit code."""
    began, since, before = time.monotonic(), time.time(), Cpu.now()
    with tempfile.TemporaryDirectory(prefix="cint-cache-") as scratch:
        checkout = clone(place, source) if kind == "cold" else place
        cache = place / "cache" if kind == "cold" else Path(scratch)
        cloned = time.monotonic() - began
        course = follow(command, checkout, cache)
    ended, after = time.monotonic() - began, Cpu.now()
    took = cloned + course.table if course.table is not None else ended
    others = before.others_percent(after)
    print("\n".join(["", "steps:", *steps_of(checkout, since)]))
    print(f"{kind}: {minutes(took)} to the table"
          + (f", {minutes(cloned + course.first)} to its first row"
             if course.first is not None else "")
          + f", {minutes(ended)} to the end; {minutes(after.own - before.own)} of CPU time, "
            f"{os.cpu_count()} CPUs; others had {others:.0f} % of them")
    if course.code:
        print(f"the command failed with exit code {course.code}")
        return 1
    return judged(kind, took, others)


def judged(kind: str, took: float, others: float) -> int:
    """Say whether the aim is met; the exit code."""
    if took <= AIM[kind]:
        print(f"aim: {minutes(AIM[kind])}: met")
        return 0
    print(f"aim: {minutes(AIM[kind])}: missed"
          + (", but the machine was not idle" if others > QUIET else ""))
    return 3 if others > QUIET else 1


def main(argv: list[str]) -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=tuple(AIM))
    parser.add_argument("place", metavar="DIR", type=lambda text: Path(text).absolute())
    parser.add_argument("--source", type=Path, default=SOURCE,
                        help="the repository to clone (default: this checkout)")
    parser.add_argument("command", nargs="*", metavar="-- COMMAND",
                        default=["./cint", "compare"])
    args = parser.parse_args(argv)
    if args.kind == "cold" and args.place.exists():
        parser.error(f"{args.place} is there already: name a directory to be made")
    if args.kind == "warm" and not (args.place / "cint").is_file():
        parser.error(f"{args.place} is no checkout: it has no ./cint")
    return measure(args.kind, args.place, args.source, args.command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
