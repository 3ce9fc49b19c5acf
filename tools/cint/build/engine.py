# SPDX-License-Identifier: GPL-2.0-or-later
"""The repository's own meson project: policy engine with its tests, guest agent."""

import json
import os
import shutil
import tempfile
from pathlib import Path

from cint import ask, paths, steps, ui
from cint.build import packages
from cint.errors import CintError

_PROJECT = paths.ROOT / "meson.build"


def env() -> dict[str, str]:
    """The environment's meson and ninja, whatever else is on the path."""
    search = f"{paths.VENV / 'bin'}:{os.environ.get('PATH', '')}"
    return {**steps.ccache_env(), "PATH": search}


def available() -> bool:
    """Whether the checkout has the project."""
    return _PROJECT.exists()


def _has_libfuzzer(step: steps.Step) -> bool:
    """Whether there is a clang that links libFuzzer: Debian has it in a package of its own."""
    source = "int LLVMFuzzerTestOneInput(const char *data, long size) { return !data + !size; }"
    with tempfile.TemporaryDirectory(prefix="cint-clang-") as place:
        path = Path(place) / "probe.c"
        path.write_text(source + "\n", encoding="utf-8")
        words = ["clang", "-fsanitize=fuzzer,address,undefined", str(path), "-o", f"{place}/probe"]
        return bool(shutil.which("clang")) and step.run(words, check=False)[0] == 0


def has_fuzzer() -> bool:
    """Whether the build with sanitizers has libFuzzer; without, driver.c takes its place."""
    options = paths.ENGINE_ASAN / "meson-info/intro-buildoptions.json"
    try:
        found = json.loads(options.read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return any(option["name"] == "fuzzer" and option["value"] for option in found)


def _sanitized(step: steps.Step) -> tuple[str, list[str]]:
    """The compiler and meson's options of the build with sanitizers."""
    # clang warns of more, which is for the other build to judge.
    options = ["--buildtype=debugoptimized", "-Dwerror=false", "-Db_lundef=false",
               "-Db_sanitize=address,undefined"]
    if _has_libfuzzer(step):
        return "clang", [*options, "-Dfuzzer=true"]
    step.write("no clang with libFuzzer: the fuzz targets run random inputs")
    return "gcc", options


def _configure(step: steps.Step, directory: Path, compiler: str, options: list[str]) -> None:
    step.run([paths.VENV / "bin/meson", "setup", directory, paths.ROOT, *options],
             env={**env(), "CC": f"ccache {compiler}"})


def _ninja(step: steps.Step, directory: Path, jobs: int) -> bool:
    _, lines = step.run([paths.VENV / "bin/ninja", "-C", directory, f"-j{jobs}"],
                        env=env(), parse=steps.ninja_progress)
    worked = not any("no work to do" in line for line in lines)
    if not worked:
        step.quiet()
    return worked


def build(jobs: int) -> bool:
    """Build everything of the project; True when there was something to do.

    ninja decides: it takes a tenth of a second when nothing changed.
    """
    if not available():
        ui.detail("no meson.build in the checkout: the engine is not built")
        return False
    with steps.step("engine", "Build the policy engine and the guest agent") as step:
        if not (paths.ENGINE_BUILD / "build.ninja").exists():
            _configure(step, paths.ENGINE_BUILD, "gcc", ["--buildtype=debugoptimized"])
        return _ninja(step, paths.ENGINE_BUILD, jobs)


def build_asan(jobs: int) -> bool:
    """The same with address and undefined behaviour sanitizers, and with fuzz targets."""
    if not available():
        return False
    with steps.step("engine-asan", "Build the policy engine with sanitizers") as step:
        if not (paths.ENGINE_ASAN / "build.ninja").exists():
            _configure(step, paths.ENGINE_ASAN, *_sanitized(step))
        return _ninja(step, paths.ENGINE_ASAN, jobs)


def replay_command() -> list[str]:
    """The compiler's call that makes cint-replay without meson; CintError without a compiler."""
    pkg_config = ["pkg-config", "--cflags", "--libs", "glib-2.0"]
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")
    flags = ask.run(pkg_config) if compiler and shutil.which(pkg_config[0]) else None
    if compiler is None or flags is None or flags.returncode:
        raise CintError("cint-replay needs a C compiler, pkg-config and GLib's headers",
                        hint=packages.install_command(packages.NEEDS["replay"]))
    files = [*sorted(paths.REPLAY_SRC.glob("*.c")), *sorted(paths.COALESCE.glob("*.c"))]
    return [compiler, "-std=gnu11", "-O3", "-pthread", f"-I{paths.COALESCE}", *map(str, files),
            *flags.stdout.split(), "-lm"]


def build_replay() -> bool:
    """Build cint-replay alone, in seconds; True when there was something to do."""
    sources = [path for place in (paths.REPLAY_SRC, paths.COALESCE)
               for path in place.glob("*.[ch]")]
    inputs = {"sources": steps.hash_files(sources)}
    stamp = steps.Stamp("replay")
    if stamp.current(inputs, paths.REPLAY_ALONE):
        return False
    command = replay_command()
    with steps.lock(paths.BUILD / "replay.lock"), \
            steps.step("replay", "Build cint-replay") as step, \
            steps.replacing(paths.REPLAY_ALONE) as fresh:
        step.run([*command, "-o", fresh])
    stamp.write(inputs)
    return True
