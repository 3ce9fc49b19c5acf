# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands of suites asan, tsan and fuzz: programs built with sanitizers, and fuzz targets."""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from cint import paths
from cint.build import engine
from cint.selftest.runner import Command
from cint.selftest.volumes import HOSTILE, RACES, SANITIZERS

#: Inputs a fuzz target tries beside its corpus, and with --full. Counts and not times: a slow
#: machine tests as much as a quick one.
RUNS = {"engine": (60_000, 4_000_000), "replay": (5_000, 200_000)}


@dataclass(frozen=True)
class Sanitized:
    """How the device's tests run on a build with sanitizers, by the name of their suite."""

    env: tuple[tuple[str, str], ...]
    #: What the hostile guest does in each case, and in a second on the slowest machine met.
    inputs: int
    slowest: int


SANITIZED = {"asan": Sanitized(SANITIZERS, 10_000, 10), "tsan": Sanitized(RACES, 1_000, 1)}

#: The program that aims each write of the device, and what lets it aim at each target.
AIM, AIM_ALL = "nvme-cint-aim-test", ("CINT_AIM_ALL", "1")

#: Targets that say on standard error what is wrong with their input: nearly all of it.
_TALKERS = ("replay",)

SOURCES = paths.ROOT / "tests/fuzz"
CORPUS = SOURCES / "corpus"


def targets() -> list[str]:
    """The names of the fuzz targets that were built."""
    return [path.stem.removeprefix("fuzz-") for path in sorted(SOURCES.glob("fuzz-*.c"))
            if (paths.ENGINE_ASAN / "tests/fuzz" / path.stem).exists()]


def _kept(target: str, full: bool) -> Path:
    """Where the target writes inputs that reach something new.

    Long runs go on from what earlier ones found; a short one is the same each time.
    """
    directory = paths.FUZZ / (target if full else f"{target}-short")
    if not full:
        shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def _target_command(target: str, full: bool, seed: int) -> Command:
    program = paths.ENGINE_ASAN / "tests/fuzz" / f"fuzz-{target}"
    kept = _kept(target, full)
    words = [str(program), f"-runs={RUNS[target][full]}", "-max_len=2000"]
    words.append(f"-seed={seed}")
    if engine.has_fuzzer():
        # Also where an input that ends the target is written.
        words += [f"-artifact_prefix={kept}/", "-timeout=20", "-print_final_stats=1",
                  *(["-close_fd_mask=2"] if target in _TALKERS else []), str(kept)]
    words.append(str(CORPUS / target))
    return Command("fuzz", f"fuzz-{target}", tuple(words), cwd=kept, env=SANITIZERS,
                   limit_s=3600.0 if full else 300.0)


def target_commands(full: bool, seed: int) -> list[Command]:
    """Each fuzz target over its corpus and beyond."""
    return [_target_command(target, full, seed) for target in targets()]


def sanitized(command: Command, suite: str = "asan") -> Command:
    """The same command of a build with sanitizers."""
    how = SANITIZED[suite]
    slow = replace(command, suite=suite, env=(*command.env, *how.env),
                   limit_s=5 * command.limit_s)
    if command.name.startswith(AIM):
        return replace(slow, env=(*slow.env, AIM_ALL))
    if not command.name.startswith(HOSTILE):
        return slow
    return replace(slow, env=(*slow.env, ("CINT_FUZZ_INPUTS", str(how.inputs))),
                   limit_s=max(slow.limit_s, how.inputs / how.slowest))
