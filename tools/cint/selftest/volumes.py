# SPDX-License-Identifier: GPL-2.0-or-later
"""The device's fuzzer, `./cint test fuzz --full`: millions of inputs of a hostile guest.

A volume is so many inputs to one build of QEMU. It is cut into slices: a case of the test program
with a seed of its own, in a process of its own. Which slices have passed is kept, so a run that was
stopped goes on; one that failed is run again.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cint import ask, paths, steps, ui
from cint.selftest import runner
from cint.selftest.runner import Command, Result

#: The hostile guest: a qtest program with a case for each kind of device.
HOSTILE = "nvme-cint-fuzz-test"
#: The first mistake ends QEMU, with an exit code that it has not itself. Nothing is suppressed.
MEMCHECK = ("valgrind", "--tool=memcheck", "--leak-check=no", "--error-exitcode=99",
            "--exit-on-first-error=yes", "--quiet")
#: The first mistake ends the process. Tests free nothing at their end, so leaks are no news.
SANITIZERS = (
    ("ASAN_OPTIONS", "abort_on_error=1:detect_leaks=0"),
    ("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1"),
)
#: So does the first race, but for those that are listed with a reason. The guest has no CPU of its
#: own: it and the device's threads run side by side.
RACES = (
    ("TSAN_OPTIONS", f"halt_on_error=1:history_size=7:suppressions={paths.NO_RACES}"),
    # or memory that GLib keeps would go from thread to thread unseen
    ("G_SLICE", "always-malloc"),
    ("CINT_FUZZ_ALL_CPUS", "1"),
)


@dataclass(frozen=True)
class Volume:
    """A number of inputs to one build of QEMU."""

    name: str
    build: Path
    #: In all, and in a slice.
    inputs: int
    slice: int
    #: Inputs a second that the slowest machine met does.
    slowest: int
    env: tuple[tuple[str, str], ...]
    #: What QEMU runs under.
    wrapper: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """The number of slices."""
        return self.inputs // self.slice

    @property
    def kept(self) -> Path:
        """Where it is kept which slices have passed."""
        return paths.FUZZ / f"device-{self.name}.json"


VOLUMES = (
    Volume("asan", paths.QEMU_ASAN, 10_000_000, 50_000, 10, SANITIZERS),
    # What the kernel writes by itself, memcheck takes for never written: no native AIO.
    Volume("memcheck", paths.QEMU_BUILD, 1_000_000, 5_000, 1, (("CINT_FUZZ_AIO", "threads"),),
           MEMCHECK),
)


def hostile(qtests: Sequence[Command]) -> list[Command]:
    """The hostile guest's cases among `qtests`."""
    return [command for command in qtests if command.name.startswith(HOSTILE)]


def _slice(volume: Volume, number: int, case: Command, seed: int) -> Command:
    """The `number`-th slice, which no other volume's or seed's slice is the same as."""
    env = {**dict(case.env), **dict(volume.env), "CINT_FUZZ_INPUTS": str(volume.slice)}
    if volume.wrapper:
        env["QTEST_QEMU_BINARY"] = " ".join((*volume.wrapper, env["QTEST_QEMU_BINARY"]))
    short = case.name.rsplit("/", 2)[-2]
    return replace(
        case, suite="fuzz", name=f"device {volume.name} {number + 1}/{volume.count} {short}",
        argv=(*case.argv, "--seed", f"R02S{seed << 32 | number:032x}"),
        env=tuple(env.items()), limit_s=volume.slice / volume.slowest)


def slices(volume: Volume, cases: Sequence[Command], seed: int) -> list[Command]:
    """All slices of the volume: the cases of the hostile guest in turn, each with a new seed."""
    return [_slice(volume, number, cases[number % len(cases)], seed)
            for number in range(volume.count)]


class _Passed:
    """Names of the slices that have passed with one build and seed."""

    def __init__(self, volume: Volume, case: Command, seed: int) -> None:
        files = (volume.build / paths.QEMU.name, Path(case.argv[0]))
        self._path = volume.kept
        self._of = {"files": [steps.hash_file(path) for path in files], "seed": seed,
                    "inputs": volume.inputs, "slice": volume.slice}
        kept = ask.json_of(self._path)
        self.names: set[str] = set(kept["passed"] if kept.get("of") == self._of else ())

    def add(self, name: str) -> None:
        """One more has passed."""
        self.names.add(name)
        kept = {"of": self._of, "passed": sorted(self.names)}
        steps.write_atomic(self._path, json.dumps(kept, indent=1) + "\n")

    def forget(self) -> None:
        """All have passed: the next run is a new one."""
        self._path.unlink(missing_ok=True)
        self.names.clear()


def run(volume: Volume, cases: Sequence[Command], seed: int, jobs: int,
        wanted: Callable[[str, Sequence[str]], bool]) -> Iterator[Result]:
    """Run the slices that `wanted` (name, names) chooses and that have not passed yet."""
    commands = slices(volume, cases, seed)
    names = [command.name for command in commands]
    chosen = [command for command in commands if wanted(command.name, names)]
    if not chosen:
        return
    passed = _Passed(volume, cases[0], seed)
    if passed.names >= set(names):
        passed.forget()
    if len(chosen) > 1:
        chosen = [command for command in chosen if command.name not in passed.names]
    yield from _run(volume, chosen, passed, jobs)


def _run(volume: Volume, chosen: Sequence[Command], passed: _Passed,
         jobs: int) -> Iterator[Result]:
    ui.info(f"device {volume.name}: {volume.inputs:,} inputs in {volume.count} slices, of which "
            f"{len(passed.names)} have passed before")
    with ui.Progress(f"device {volume.name}") as progress:
        progress.update(f"[{len(passed.names)}/{volume.count}]")
        for result in runner.run_tests(chosen, jobs):
            if result.status == runner.PASSED:
                passed.add(result.name)
                progress.update(f"[{len(passed.names)}/{volume.count}]")
            yield result
