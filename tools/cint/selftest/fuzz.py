# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands of suites asan and fuzz: programs built with sanitizers, and fuzz targets."""

import shutil
from dataclasses import replace
from pathlib import Path

from cint import paths
from cint.build import engine
from cint.selftest.runner import Command
from cint.selftest.volumes import HOSTILE, SANITIZERS

#: Inputs a fuzz target tries beside its corpus, and with --full. Counts and not times: a slow
#: machine tests as much as a quick one.
RUNS = {"engine": (60_000, 4_000_000), "replay": (5_000, 200_000)}
#: What the hostile guest does to a device with sanitizers in each case of the suite asan, and how
#: much of it the slowest machine met does in a second.
ASAN_INPUTS, SLOWEST_ASAN = 10_000, 10

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


def sanitized(command: Command) -> Command:
    """The same command of a build with sanitizers."""
    slow = replace(command, suite="asan", env=(*command.env, *SANITIZERS),
                   limit_s=5 * command.limit_s)
    if command.name.startswith(AIM):
        return replace(slow, env=(*slow.env, AIM_ALL))
    if not command.name.startswith(HOSTILE):
        return slow
    return replace(slow, env=(*slow.env, ("CINT_FUZZ_INPUTS", str(ASAN_INPUTS))),
                   limit_s=max(slow.limit_s, ASAN_INPUTS / SLOWEST_ASAN))
