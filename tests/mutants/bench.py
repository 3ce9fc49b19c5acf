# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the tests of a file but for that file, and says what they think of a mutant of it."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from targets import ROOT, SANITIZE, Program, Target, flags_of

CAUGHT, SURVIVED, SAME, INVALID = "caught", "survived", "same code", "does not compile"
#: A mutant may take this many times as long as the file as it is, and some seconds.
_SLOWER, _MORE_S = 10, 5.0
_MOST_BYTES = 4 << 30
_COMPILE = ("gcc", "-fPIC", "-fno-semantic-interposition", "-Werror=return-type",
            "-Werror=implicit-function-declaration", "-Werror=incompatible-pointer-types",
            "-Werror=int-conversion", "-I.", "-Itests/unit")


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: by which program it was caught."""

    what: str
    by: str = ""


class DoesNotCompileError(Exception):
    """A mutant that is no program."""


def _run(words: Sequence[object]) -> None:
    done = subprocess.run([str(word) for word in words], cwd=ROOT, check=False, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode:
        raise DoesNotCompileError(f"{' '.join(map(str, words))}\n{done.stderr}")


def _limits() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MOST_BYTES, _MOST_BYTES))


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a test with what it has started."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()


def passes(words: Sequence[str], place: Path, limit_s: float, *, at_top: bool = False) -> bool:
    """Whether a test with the library of `place` ends well, and in time."""
    env = {**os.environ, "LD_LIBRARY_PATH": str(place), "TMPDIR": str(place),
           "ASAN_OPTIONS": "detect_leaks=1:max_allocation_size_mb=2000",
           "CINT_MUTANT_PLACE": str(place), "PYTHONPATH": str(Path(__file__).parent)}
    with subprocess.Popen(words, env=env, cwd=ROOT if at_top else place, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          process_group=0, preexec_fn=_limits) as child:  # noqa: PLW1509
        try:
            return child.wait(timeout=limit_s) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            _end(child)


def digest(*parts: bytes) -> str:
    """What changes when one of these does."""
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def take(name: str, output: Path) -> None:
    """A file that the series of kernel patches adds."""
    subprocess.run([sys.executable, ROOT / "tests/unit/kernel/take.py",
                    ROOT / "guest-patches/6.12/series", name, output], check=True)


@dataclass
class _Test:
    """A program as it is built, with what is known of it."""

    program: Program
    binary: Path
    objects: list[Path]
    #: Whether a mutant of the file needs it linked anew.
    depends: bool = False
    seconds: float = 0.0
    digest: str = ""
    kills: int = 0
    cases: list[str] = field(default_factory=list)


class Bench:
    """The tests of one file."""

    def __init__(self, target: Target, file: str, place: Path) -> None:
        """Build what does not depend on the file, and see that the tests pass as it is."""
        self.target, self.file = target, file
        self.place = place / target.name
        self.place.mkdir(parents=True, exist_ok=True)
        self.given = ROOT / file
        self.flags = (*(("-O1", *SANITIZE) if target.sanitized else ("-O2",)), *target.flags,
                      f"-I{self.place}", f"-I{self.place / 'as-it-is'}",
                      *flags_of(*target.libraries))
        with (self.place / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._take()
            self.original = self.given.read_text("utf-8")
            self._build()
        self.plain: list[str] = []
        self.last: dict[str, _Test] = {}

    def _take(self) -> None:
        """A file of the kernel's and its tests are in patches."""
        if self.target.name.startswith("kernel-"):
            # Not beside its tests, which would find it there before a mutant.
            self.given = self.place / "as-it-is" / Path(self.file).name
            self.given.parent.mkdir(exist_ok=True)
            take(self.file, self.given)
            take(f"{self.file.removesuffix('.h')}_test.c",
                 self.place / f"{self.given.stem}_test.inc.h")

    # --- as it is ---

    def _object(self, source: str) -> Path:
        """A source's object, compiled unless it is newer than all that it includes."""
        done = self.place / (source.replace("/", "_").removesuffix(".c") + ".o")
        known = done.with_suffix(".d")
        if not (known.exists() and done.exists() and self._is_new(done, known)):
            _run([*_COMPILE, *self.flags, f"-iquote{Path(source).parent}", "-MMD", "-MF", known,
                  "-c", source, "-o", done])
        return done

    @staticmethod
    def _included(known: Path) -> list[Path]:
        words = known.read_text("utf-8").replace("\\\n", " ").split()[1:]
        return [Path(os.path.normpath(ROOT / word)) for word in words]

    def _is_new(self, done: Path, known: Path) -> bool:
        age = done.stat().st_mtime
        mine = Path(__file__).with_name("targets.py").stat().st_mtime
        return all(path.exists() and path.stat().st_mtime < age
                   for path in self._included(known)) and mine < age

    def _depends(self, built: Path) -> bool:
        return self.given in self._included(built.with_suffix(".d"))

    def _build(self) -> None:
        objects = {source: self._object(source) for source in (
            *self.target.sources, *(s for program in self.target.programs
                                    for s in program.sources))}
        self.changing = [source for source, built in objects.items() if self._depends(built)]
        self.is_library = self.changing == [self.file]
        programs = self.place / "programs" / self.file.replace("/", "_")
        programs.mkdir(parents=True, exist_ok=True)
        self.tests = []
        for program in self.target.programs:
            if program.only and Path(self.file).name not in program.only:
                continue
            mine = (*program.sources, *(() if self.target.started else self.target.sources))
            kept = [objects[source] for source in mine if source not in self.changing]
            test = _Test(program, programs / program.name, kept,
                         any(source in self.changing for source in mine))
            texts = [*(source for source in mine if source in self.changing),
                     *(word for word in program.command if word.startswith("tests/"))]
            test.digest = digest(*(path.read_bytes() for path in kept),
                                 *((ROOT / source).read_bytes() for source in texts))
            self.tests.append(test)
        self._compiled(self.original, programs)
        if not self.is_library:
            return
        for test in self.tests:
            if test.program.sources:
                self._link(test, programs, test.binary)
        if self.target.started:
            kept = [objects[source] for source in self.target.sources if source != self.file]
            self._link(_Test(Program("", self.target.sources), programs, kept), programs,
                       programs / self.target.started)

    def time(self, work: Path) -> None:
        """Run the tests on the file as it is, for their time; they have to pass."""
        self._see_that_it_is_used(work)
        objects = self._compiled(self.original, work)
        self.plain = self._digests(objects if not self.target.sanitized else
                                   self._compiled(self.original, work, plain=True))
        if self.is_library:
            # Who passes without the file is no judge of it.
            self.tests = [test for test in self.tests if not self._passes(test, work, 300)]
            if not self.tests:
                raise SystemExit(f"{self.file}: no test needs it")
            self._library(objects, work)
        for test in self.tests:
            if test.program.without:
                self._list_cases(test, Path(self._words(test, work)[0]), work)
            began = time.monotonic()
            if not self._passes(test, work, 300):
                raise SystemExit(f"{self.file}: {test.program.name} fails as it is")
            test.seconds = time.monotonic() - began
        self.tests.sort(key=lambda test: test.seconds)

    def _see_that_it_is_used(self, work: Path) -> None:
        try:
            self._compiled(self.original + "\n#error\n", work)
        except DoesNotCompileError:
            return
        raise SystemExit(f"{self.file}: what is compiled is not the mutant")

    # --- with a mutant ---

    def _mutant(self, text: str, work: Path) -> list[str]:
        """The mutant's file, and how it comes before the original."""
        mutant = work / Path(self.file).name
        mutant.write_text(text, encoding="utf-8")
        near = f"-iquote{self.given.parent}"
        if mutant.suffix == ".h" and self.given.is_relative_to(ROOT / "hw"):
            # Its guard keeps the original out.
            return ["-include", str(mutant), near]
        return [f"-iquote{work}", f"-I{work}", near]

    def _compiled(self, text: str, work: Path, *, plain: bool = False) -> dict[str, Path]:
        """The objects of all that the file is in; plain ones are only to be compared."""
        before = self._mutant(text, work)
        flags = [flag for flag in self.flags if not (plain and flag in SANITIZE)]
        done = {}
        for source in self.changing:
            built = work / (source.replace("/", "_") + (".plain.o" if plain else ".o"))
            real = work / Path(source).name if source == self.file else ROOT / source
            _run([*_COMPILE, *before, *flags, *(["-O2"] if plain else []), "-c", real, "-o",
                  built])
            done[source] = built
        return done

    def _library(self, objects: dict[str, Path], work: Path) -> None:
        _run(["gcc", "-shared", *objects.values(), "-Wl,-soname,libmutant.so",
              "-o", work / "libmutant.so",
              *(SANITIZE if self.target.sanitized else ())])

    def _link(self, test: _Test, work: Path, binary: Path) -> None:
        """Link a program, for a library that holds the file, or with what the file is in."""
        mine = (*test.program.sources, *(() if self.target.started else self.target.sources))
        changed = [work / (source.replace("/", "_") + ".o") for source in self.changing
                   if source in mine]
        if self.is_library and changed:
            self._library({self.file: changed[0]}, work)
            changed = [work / "libmutant.so"]
        _run(["gcc", "-rdynamic", *test.objects, *changed, "-o", binary, *self.flags, "-lm"])

    def _passes(self, test: _Test, work: Path, limit_s: float) -> bool:
        return passes(self._words(test, work), work, limit_s, at_top=bool(test.program.command))

    def _words(self, test: _Test, work: Path) -> list[str]:
        if self.target.started and not (work / self.target.started).exists():
            (work / self.target.started).symlink_to(self.tests[0].binary.parent /
                                                    self.target.started)
        if test.program.command:
            return list(test.program.command)
        binary = test.binary
        if not self.is_library:
            binary = work / f"{test.program.name}.test"
            self._link(test, work, binary)
        return [str(binary), *test.program.args, *test.cases]

    @staticmethod
    def _list_cases(test: _Test, binary: Path, work: Path) -> None:
        """Name the cases of a test of which some are left out."""
        listed = subprocess.run([binary, "-l"], env={**os.environ, "LD_LIBRARY_PATH": str(work)},
                                cwd=work, check=True, capture_output=True, text=True).stdout
        names = re.findall(r"^(?:# )?(/.*\S)$", listed, re.MULTILINE)
        test.cases = [word for name in names if not name.startswith(test.program.without)
                      for word in ("-p", name)]

    @staticmethod
    def _digests(objects: dict[str, Path]) -> list[str]:
        return [digest(path.read_bytes()) for path in objects.values()]

    def _built(self, text: str, work: Path) -> dict[str, Path] | None:
        """The objects of a mutant; None where the compiler makes the same of it."""
        if self.target.sanitized:
            plain = self._compiled(text, work, plain=True)
            return None if self._digests(plain) == self.plain else self._compiled(text, work)
        objects = self._compiled(text, work)
        return None if self._digests(objects) == self.plain else objects

    def verdict(self, text: str, near: str, work: Path) -> Verdict:
        """What becomes of a mutant; those `near` each other tend to be caught by one test."""
        try:
            objects = self._built(text, work)
            if objects is None:
                return Verdict(SAME)
            if self.is_library:
                self._library(objects, work)
        except DoesNotCompileError:
            return Verdict(INVALID)
        tests = [test for test in self.tests if test.depends or self.is_library]
        # Those first that tend to find something, for the time that they take.
        tests.sort(key=lambda test: (test is not self.last.get(near),
                                     -(test.kills + 1) / (test.seconds + 0.05)))
        for test in tests:
            try:
                good = self._passes(test, work, _SLOWER * test.seconds + _MORE_S)
            except DoesNotCompileError:
                return Verdict(INVALID)
            if not good:
                self.last[near] = test
                test.kills += 1
                return Verdict(CAUGHT, test.program.name)
        return Verdict(SURVIVED)

    def digest_of(self, program: str) -> str:
        """What a test is made of besides the file; of all of them for no name."""
        return digest(*(test.digest.encode() for test in sorted(
            self.tests, key=lambda test: test.program.name)
            if program in ("", test.program.name)))


def workplace(place: Path, number: int) -> Path:
    """An empty directory of one of those that try mutants side by side."""
    work = place / "work" / f"{os.getpid()}-{number}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    return work
