# SPDX-License-Identifier: GPL-2.0-or-later
"""The test suites of `cint test`, in the order they run."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from cint import paths, steps
from cint.build import cover, patches, qemu, series_build, sources, trees
from cint.build.series import CODE
from cint.errors import CintError
from cint.selftest import bench, fuzz, load, promela, runner, volumes
from cint.selftest.runner import Call, Command, Result, Test

#: Seconds for one case of a qtest program, on a machine that has other work. With none most take
#: less than two; the hundred moves of a case of nvme-cint-migrate 25.
_QTEST_LIMIT_S = 300.0

#: Without --seed: the same numbers each time, so that what passed once passes again.
SEED = 1
#: libFuzzer's seed has 32 bits, and takes 0 for a seed of its own.
SEEDS = range(1, 1 << 32)


@dataclass(frozen=True)
class Options:
    """The options of `cint test`."""

    jobs: int = 1
    full: bool = False
    pattern: str | None = None
    #: Of the random numbers of GLib's test programs and the fuzz targets.
    seed: int = SEED
    #: What guests' runs are taken from the store: CINT_RUNS of measure.runner.
    runs: str = ""


@dataclass(frozen=True)
class Suite:
    """A group of tests, what must be built for it and how its tests run."""

    name: str
    title: str
    #: What is built (setup.TARGETS, OPTIONAL) or only installed (packages.NEEDS).
    targets: tuple[str, ...]
    run: Callable[[Options], Iterator[Result]]
    names: Callable[[Options], list[str]] | None = None
    #: What must be built or installed besides for --full.
    full_targets: tuple[str, ...] = ()
    #: Whether it is left out unless it is named.
    by_name: bool = False


_Tests = tuple[Callable[[Options], Iterator[Result]], Callable[[Options], list[str]]]


def _tests(found: Callable[[Options], Sequence[Test]], each: int = 1) -> _Tests:
    """How these run side by side, ``each`` on a CPU, those that want it alone before; and their
    names.
    """
    def run(options: Options) -> Iterator[Result]:
        chosen = runner.chosen(found(options), options.pattern)
        yield from map(runner.run_test, (test for test in chosen if test.alone))
        beside = [test for test in chosen if not test.alone]
        yield from runner.run_tests(beside, options.jobs * each)

    return run, lambda options: [test.name for test in found(options)]


def _pytest(suite: str, below: str, marker: Callable[[Options], str] = lambda _: "",
            more: Callable[[Options], dict[str, Any]] = lambda _: {}) -> _Tests:
    """How pytest runs the marked tests of a directory, with more of its settings, and their names.
    """
    def run(options: Options) -> Iterator[Result]:
        yield from runner.run_pytest(suite, paths.ROOT / below, marker=marker(options),
                                     pattern=options.pattern, **more(options))

    return run, lambda options: runner.list_pytest(paths.ROOT / below, marker(options))


# --- lint ---------------------------------------------------------------------------------


#: New files are in our own tree's care, not in upstream's MAINTAINERS. The user-space library has
#: its licence (`licence_of`), and a header that C++ reads, too. EPOCH() is rows of a table, which
#: can have no parentheses around them.
_NO_FAULTS = ("does MAINTAINERS need updating", "Saw acceptable license 'LGPL-2.1-or-later'",
              "__cplusplus", "#define EPOCH(")


#: Seconds for all files of a directory, on a busy machine.
_CHECKPATCH_LIMIT_S = 600.0


def _checkpatch_judge(code: int, output: str, count: int = 1) -> str | None:
    """checkpatch's exit code also counts notes that are no fault of the code.

    It must have said how many faults each of ``count`` files has.
    """
    summaries = re.findall(r"^total: \d+ errors, \d+ warnings", output, re.MULTILINE)
    if len(summaries) != count:
        return f"checkpatch did not finish (exit code {code})"
    faults = re.findall(r"^(?:ERROR|WARNING|CHECK)(?::\w+)?: .*(?:\n#.*(?:\n\+.*)?)?$", output,
                        re.MULTILINE)
    real = [" ".join(fault.splitlines()[:2]) for fault in faults
            if not any(note in fault for note in _NO_FAULTS)]
    return f"{len(real)} faults, first: {real[0]}" if real else None


def _checkpatch(directory: Path, files: Sequence[Path], *words: str, cwd: Path = paths.ROOT,
                env: tuple[tuple[str, str], ...] = ()) -> Command:
    """A checkpatch with its options, on files of one directory of the checkout."""
    return Command("lint", f"checkpatch {directory.relative_to(paths.ROOT)}",
                   ("perl", *words, *map(str, files)), cwd, env, _CHECKPATCH_LIMIT_S,
                   partial(_checkpatch_judge, count=len(files)))


def _qemus_checkpatch(directory: Path, files: Sequence[Path], *options: str) -> Command:
    """QEMU's, on our files or patches.

    It runs in the checkout, where our files have the same names as in QEMU's tree:
    some rules hold for tests/ only.
    """
    script = sources.QEMU.tree / "scripts/checkpatch.pl"
    return _checkpatch(directory, [path.relative_to(paths.ROOT) for path in files], str(script),
                       "--no-tree", *options)


def _kernels_checkpatch(directory: Path, files: Sequence[Path], *options: str) -> Command:
    """The kernel's, on patches, or with -f on files. What git knows it takes for a file.

    Without git's history it knows no commit that a message names.
    """
    return _checkpatch(directory, files, "scripts/checkpatch.pl", "--strict", "--ignore",
                       "UNKNOWN_COMMIT_ID", *options, cwd=sources.LINUX.tree,
                       env=(("GIT_DIR", "none"),))


def _by_directory(files: Iterable[Path]) -> dict[Path, list[Path]]:
    found: dict[Path, list[Path]] = {}
    for path in sorted(files):
        found.setdefault(path.parent, []).append(path)
    return found


def _style_checks() -> list[Command]:
    """QEMU's style for C that is not the image's, the kernel's for its patches and its module."""
    # tests/bench has one program that stands alone, and no parser of QEMU's to use.
    places = (paths.OVERLAY_NVME, paths.OVERLAY_QTEST, paths.OVERLAY_LOAD, paths.REPLAY_SRC,
              paths.USERSPACE, paths.LIBCINT, paths.PRELOAD, paths.ROOT / "tests/unit",
              paths.ROOT / "tests/fuzz", paths.ROOT / "docs/own-policy")
    files = _by_directory(path for place in places for path in place.rglob("*.[ch]"))
    ours = _by_directory(path for path in paths.QEMU_SERIES.rglob("*.patch")
                         if path.name != cover.NAME)
    theirs = _by_directory({patch for series in paths.GUEST_PATCHES.parent.glob("*/series")
                            for patch in patches.read_series(series.parent)})
    modules = (paths.GUEST_MODULE, paths.ROOT / "tests/guest/impostor")
    return [
        *(_qemus_checkpatch(place, found, "-f") for place, found in files.items()),
        *(_qemus_checkpatch(place, found) for place, found in ours.items()),
        *(_kernels_checkpatch(place, sorted(place.glob("*.[ch]")), "--no-tree", "-f")
          for place in modules),
        *(_kernels_checkpatch(place, found) for place, found in theirs.items()),
    ]


def python_places() -> list[str]:
    """Where the checkout has Python."""
    places = [paths.TOOLS, paths.IMAGES, paths.USERSPACE, paths.ROOT / "apps",
              paths.ROOT / "tests"]
    return [str(place) for place in places if any(place.rglob("*.py"))]


def _mypy(directory: Path, *more: Path) -> Command:
    """mypy on the Python of a directory; a test's neighbours are imported by their bare names."""
    name = f"mypy {directory.relative_to(paths.ROOT)}"
    # One cache each: they run at the same time.
    cache = paths.BUILD / "mypy" / directory.relative_to(paths.ROOT)
    words = (str(paths.VENV / "bin/mypy"), "--config-file", str(paths.TOOLS / "pyproject.toml"),
             "--cache-dir", str(cache), str(directory), *map(str, more))
    return Command("lint", name, words, env=() if more else (("MYPYPATH", str(directory)),))


def _python_checks() -> list[Command]:
    ruff = (str(paths.VENV / "bin/ruff"), "check", "--no-cache", "--config",
            str(paths.TOOLS / "pyproject.toml"))
    tests = [path for path in sorted((paths.ROOT / "tests").iterdir()) if any(path.glob("*.py"))]
    return [
        Command("lint", "ruff", (*ruff, *python_places())),
        _mypy(paths.TOOLS / "cint", paths.TOOLS / "testkit", *sorted(paths.IMAGES.glob("*.py")),
              *sorted(paths.USERSPACE.glob("*.py"))),
        *map(_mypy, (paths.TOOLS / "tests", *tests)),
    ]


def licence_of(path: Path) -> str:
    """The licence of a source file: others may link the library, and copy the interface."""
    place = path.relative_to(paths.ROOT)
    lesser = place.parts[0] == "userspace" or place.name == "cint-abi.h"
    return "LGPL-2.1-or-later" if lesser else "GPL-2.0-or-later"


def licence_missing(files: list[Path]) -> list[str]:
    """The source files without their licence's line near their top."""
    bad = []
    for path in files:
        head = path.read_text("utf-8", errors="replace")[:1000]
        if f"SPDX-License-Identifier: {licence_of(path)}" not in head:
            bad.append(str(path.relative_to(paths.ROOT)))
    return bad


def _own_sources() -> list[Path]:
    skip = {"build", "results", ".git"}
    kinds = {".py", ".c", ".h", ".sh", ".build", ".toml", ".config", ".pml", ".rs", ".j2"}
    return [path for top in paths.ROOT.iterdir() if top.name not in skip
            for path in ([top] if top.is_file() else sorted(top.rglob("*")))
            if path.is_file() and not path.is_symlink() and path.suffix in kinds]


def _licences() -> tuple[str, str]:
    bad = licence_missing(_own_sources())
    return "\n".join(bad), f"no licence, or another, in {', '.join(bad[:3])}" if bad else ""


def _shell_checks() -> list[Command]:
    scripts = [paths.ROOT / "cint", paths.ROOT / ".ci/run", *sorted(paths.IMAGES.glob("*.sh")),
               *sorted((paths.ROOT / "tests").rglob("*.sh"))]
    checks = [Command("lint", f"sh {path.relative_to(paths.ROOT)}", ("sh", "-n", str(path)))
              for path in scripts]
    checker = shutil.which("shellcheck")
    if checker:
        checks.append(Command("lint", "shellcheck", (checker, *map(str, scripts))))
    return checks


def _lint(_options: Options) -> list[Test]:
    return [Call("lint", "licences", _licences), *_python_checks(), *_shell_checks(),
            *_style_checks()]


# --- pytest -------------------------------------------------------------------------------


def _marker(*words: str) -> Callable[[Options], str]:
    """Tests with these marks, and without --full only the quick ones."""
    return lambda options: " and ".join([*words, *([] if options.full else ["not slow"])])


def _side_by_side(options: Options) -> dict[str, Any]:
    """How tests without guests run: files side by side."""
    return {"jobs": options.jobs}


#: A kernel with its own checks, under emulation, in a thousand rounds.
_PYTEST_FULL_LIMIT_S = 4 * 3600.0


def _guests(options: Options) -> dict[str, Any]:
    """How tests with guests in virtual time run: each uses one of the host's CPUs."""
    return {"jobs": min(options.jobs, 2), "env": {"CINT_RUNS": options.runs},
            "limit_s": _PYTEST_FULL_LIMIT_S if options.full else runner.PYTEST_LIMIT_S}


def _waiting_guests(options: Options) -> dict[str, Any]:
    """How the others run: a third of its time a guest waits, for a disk or for a while."""
    how = _guests(options)
    return {**how, "jobs": how["jobs"] * 3 // 2}


def _libvirt() -> _Tests:
    run, names = _pytest("libvirt", "tests/libvirt")
    return (lambda options: run(options) if options.full else iter(()),
            lambda options: names(options) if options.full else [])


# --- programs of meson --------------------------------------------------------------------


def _meson_tests(build: Path) -> list[dict[str, object]]:
    """The tests meson knows, from its introspection file."""
    path = build / "meson-info/intro-tests.json"
    if not path.exists():
        return []
    found = json.loads(path.read_text("utf-8"))
    return [test for test in found if isinstance(test, dict)]


def _unit_programs(build: Path = paths.ENGINE_BUILD) -> list[Command]:
    commands = []
    for test in _meson_tests(build):
        words = test["cmd"]
        assert isinstance(words, list)
        commands.append(Command("unit", str(test["name"]), tuple(words), cwd=build,
                                limit_s=300.0))
    return commands


def seeded(command: Command, options: Options) -> Command:
    """A GLib test program with the seed of its random numbers, in the form that it prints."""
    return replace(command, argv=(*command.argv, "--seed", f"R02S{options.seed:032x}"))


def _program_selected(command: Command, pattern: str | None) -> bool:
    """Whether a pattern can select tests of this program: they are named after it."""
    return not pattern or pattern.startswith(command.name) or pattern in command.name \
        or "/" in pattern


def _unit(options: Options) -> Iterator[Result]:
    chosen = [seeded(command, options) for command in _unit_programs()
              if _program_selected(command, options.pattern)]
    for result in runner.run_taps(chosen, options.jobs):
        if not options.pattern or options.pattern in result.name:
            yield result


def _unit_names(options: Options) -> list[str]:
    return [command.name + case for command in _unit_programs()
            for case in _cases(Path(command.argv[0]))]


def _qtest_env(build: Path = paths.QEMU_BUILD) -> tuple[tuple[str, str], ...]:
    """What a qtest is told. There is a stock binary where another suite needs it, and of this
    version of QEMU only.
    """
    is_there = paths.QEMU_STOCK.exists() and not build.is_relative_to(paths.PORT)
    stock = (("QTEST_QEMU_STOCK", str(paths.QEMU_STOCK)),) if is_there else ()
    return (
        ("QTEST_QEMU_BINARY", str(build / paths.QEMU.name)),
        *stock,
        ("QTEST_QEMU_IMG", str(build / "qemu-img")),
        ("PYTHON", str(paths.VENV / "bin/python")),
        ("G_TEST_DBUS_DAEMON", str(paths.QEMU_SRC / "tests/dbus-vmstate-daemon.sh")),
    )


def _listed(text: str) -> list[str]:
    """The test paths in what a GLib test program prints of itself; from 2.84 on as remarks."""
    return re.findall(r"^(?:# )?(/.*\S)$", text, re.MULTILINE)


def _cases(program: Path, build: Path = paths.QEMU_BUILD) -> list[str]:
    """The test paths in a GLib test program, of which each has some."""
    listing = Command("qtest", f"{program.name}-list", (str(program), "-l"),
                      cwd=build, env=_qtest_env(build))
    result = runner.run_command(listing)
    text = result.log.read_text("utf-8", errors="replace") if result.log else ""
    found = _listed(text)
    if not found:
        raise CintError(f"{program.name} -l lists no test", log=result.log)
    return found


def _case_judge(code: int, output: str) -> str | None:
    """One case in a process of its own: it must have run, and have said so."""
    found = runner.tap_results(output)
    allowed = (0, 77) if _case_skipped(output) else (0,)
    if code in allowed and found and all(status != runner.FAILED for _, status, _ in found):
        return None
    asserts = re.findall(r"^(?:#\s*)?(?:Bail out! )?(\S*ERROR:.*)$", output, re.MULTILINE)
    if asserts:
        return str(asserts[0])
    return f"ended by signal {-code}" if code < 0 else f"exit code {code}, {len(found)} results"


def _case_skipped(output: str) -> str | None:
    """Why a case did not run: g_test_skip()'s words."""
    found = runner.tap_results(output)
    if not found or any(status != runner.SKIPPED for _, status, _ in found):
        return None
    return found[0][2] or "the test says no more"


def _one_case(suite: str, name: str, program: Path, case: str, env: tuple[tuple[str, str], ...],
              build: Path = paths.QEMU_BUILD) -> Command:
    """A case by itself: one that hangs or aborts takes no other with it."""
    return Command(suite, name, (str(program), "--tap", "-k", "-p", case), cwd=build, env=env,
                   limit_s=_QTEST_LIMIT_S, judge=_case_judge, skipped=_case_skipped)


def _each_case(suite: str, program: Path, env: tuple[tuple[str, str], ...],
               build: Path = paths.QEMU_BUILD, before: str = "") -> list[Command]:
    """All of a program, of which those of QEMU's own are about other devices, too."""
    return [_one_case(suite, f"{before}{program.name}{_short_case(program.name, case)}", program,
                      case, env, build)
            for case in _cases(program, build) if program.name != "qos-test" or "/nvme/" in case]


def _qtest_commands(suite: str, build: Path = paths.QEMU_BUILD) -> list[Command]:
    """Those of the device, or those that compare it when it is off with the stock binary."""
    return [command for program in qemu.qtest_programs(build)
            if ("identity" in program.name) == (suite == "identity")
            for command in _each_case(suite, program, _qtest_env(build), build)]


def _short_case(program: str, case: str) -> str:
    """`/x86_64/nvme/policy/x` -> `/policy/x`: without what all of them share."""
    short = case.removeprefix("/x86_64")
    if program == "qos-test":
        return "/" + short.split("/nvme/", 1)[1]
    return short


#: Cases of qtest programs that run at once on a CPU: half of its time one waits, for a timer of the
#: device's or for QEMU to begin and end.
_QTESTS_EACH = 2


def _qtests(suite: str) -> _Tests:
    return _tests(lambda options: [seeded(command, options)
                                   for command in _qtest_commands(suite)], _QTESTS_EACH)


def port_suites(build: Path) -> tuple[Suite, ...]:
    """The suites of a port to another QEMU: the engine's tests, and the device's there."""

    def qtests(options: Options) -> list[Command]:
        return [replace(seeded(command, options), suite="port")
                for command in _qtest_commands("qtest", build)]

    return (Suite("unit", "the policy engine", ("engine",), _unit),
            Suite("port", "the device inside that QEMU", (), *_tests(qtests, _QTESTS_EACH)))


# --- the series for upstream --------------------------------------------------------------


def _series_check(suite: str, name: str, series: Path, check: Callable[[Path], None]) -> Call:
    """A test that `check` finds a patch series good."""
    def checked() -> tuple[str, str]:
        check(series)
        return f"{len(patches.with_base(series)[1])} patches apply", ""

    return Call(suite, name, checked, alone=True)


def _check_upstream(series: Path) -> None:
    """A series fits QEMU as it is, without another one, and its cover letter says what it is."""
    with steps.build_lock():
        tree = trees.prepare(sources.QEMU, None)
        patches.check_series(tree, patches.read_series(series))
        cover.check(series, tree)


def _upstream_commands() -> list[Command]:
    """QEMU's own tests of what each series changes, and those that the series adds."""
    commands = []
    for series in patches.upstream_series():
        binary, *programs = qemu.upstream_programs(series)
        env = (("QTEST_QEMU_BINARY", str(binary)),)
        commands += [command for program in programs
                     for command in _each_case("upstream", program, env,
                                               before=f"{series.name}/")]
    return [*commands, *_smc_controls()]


def _smc_controls() -> Iterator[Command]:
    """Tests that the series `smc` is needed, on a QEMU without it: that of another series.

    With a thread for each vCPU one of them stays with code from before a store; with one for all,
    none does.
    """
    binary = qemu.upstream_programs(paths.QEMU_UPSTREAM_PATCHES / "async")[0]
    program = paths.QEMU_UPSTREAM / "smc" / "smc-store-test"
    for case, judge in (("multi", _must_fail), ("single", _case_judge)):
        found = _one_case("upstream", f"smc/without the series, {case}", program,
                          f"/x86_64/smc-store/{case}/cross-page",
                          (("QTEST_QEMU_BINARY", str(binary)),))
        yield replace(found, judge=judge, skipped=None)


def _must_fail(_code: int, output: str) -> str | None:
    """One case that must have run, and have failed as a test does: by what it says."""
    if [status for _, status, _ in runner.tap_results(output)] == [runner.FAILED]:
        return None
    return "the fault that the series repairs did not show"


def _upstream(options: Options) -> list[Test]:
    return [*(_series_check("upstream", f"{series.name} applies", series, _check_upstream)
              for series in patches.upstream_series()),
            *(_upstream_commands() if options.full else [])]


# --- the guest kernel's series ------------------------------------------------------------


#: What the guest's series may add to Linux's code, in lines; it is not to grow.
#: (312 came with PAS and EHP, which `ours` is compared with, and with what it sees of
#: other tasks on its CPU.)
_SERIES_LINES = 5415


def _check_series(series: Path) -> None:
    """The whole applies, and is no larger than it may be."""
    with steps.build_lock():
        tree = trees.prepare(sources.LINUX, None)
        added = patches.count_added(tree, patches.read_series(series), CODE)
    if added > _SERIES_LINES:
        raise CintError(f"{added} lines are added to {', '.join(CODE)}, not {_SERIES_LINES}")


def _check_part(series: Path) -> None:
    """A part has a cover letter that says what it is."""
    with steps.build_lock():
        cover.check(series, trees.prepare(sources.LINUX, None))


def _compiled(check: Callable[[], list[str]]) -> tuple[str, str]:
    """What compiler and sparse say that they did not say before."""
    with steps.build_lock():
        said = check()
    return "\n".join(said), said[0] if said else ""


def _series(options: Options) -> list[Test]:
    """Checks that the series applies; with --full each patch, with hints configured and without."""
    listed = patches.read_series(paths.GUEST_PATCHES)
    builds = series_build.checks(listed, options.jobs) if options.full else {}
    return [_series_check("series", "applies", paths.GUEST_PATCHES, _check_series),
            *(_series_check("series", f"{part.name} has its letter", part, _check_part)
              for part in patches.guest_series()),
            *(Call("series", name, partial(_compiled, check), alone=True)
              for name, check in builds.items())]


# --- mutants ------------------------------------------------------------------------------


#: Tried of each file without --full: by the seed.
_MUTANTS_SAMPLE = 10
#: A stopped run goes on where it was.
_MUTANTS_LIMIT_S = 7 * 24 * 3600.0


def _mutant_program(name: str, program: str, *words: str) -> Command:
    argv = (str(paths.VENV / "bin/python"), str(paths.MUTANTS / program), *words)
    return Command("mutants", name, argv, limit_s=_MUTANTS_LIMIT_S)


def _mutant_commands(options: Options) -> list[Command]:
    """A test for each file that is broken, and with --full the device's and the kernel's."""
    listed = subprocess.run([paths.VENV / "bin/python", paths.MUTANTS / "mutate.py", "--list"],
                            check=True, capture_output=True, text=True).stdout.split()
    some = ("--seed", str(options.seed)) if options.full else (
        "--seed", str(options.seed), "--sample", str(_MUTANTS_SAMPLE))
    pure = [_mutant_program(file, "mutate.py", *some, file) for file in listed]
    if not options.full:
        return pure
    files = sorted(path.name for path in paths.OVERLAY_NVME.glob("*.c"))
    return [*pure, _mutant_program("device by hand", "device.py", "--only", "hand"),
            *(_mutant_program(f"device {file}", "device.py", "--only", "made", f"{file}:")
              for file in files),
            _mutant_program("kernel", "kernel.py")]


# --- sanitizers, fuzzing, cost ------------------------------------------------------------


def _asan(options: Options) -> list[Command]:
    programs = _unit_programs(paths.ENGINE_ASAN)
    if options.full:
        programs += _qtest_commands("qtest", paths.QEMU_ASAN)
    return [fuzz.sanitized(seeded(program, options)) for program in programs]


#: In the names of the tests with IOThreads: of other threads QEMU has none that reach the device.
_IN_THREADS = ("thread", "irqfd")
#: In the names of those whose guest runs code. It and the test share memory in an order that is
#: the guest's, and what translated code accesses has no stack by which to say so.
_RUN_CODE = "-is-code"


def _tsan(options: Options) -> list[Command]:
    """The device's tests with IOThreads; none without --full."""
    programs = _qtest_commands("qtest") if options.full else []
    env = _qtest_env(paths.QEMU_TSAN)
    return [fuzz.sanitized(replace(seeded(program, options), env=env), "tsan")
            for program in programs if any(word in program.name for word in _IN_THREADS)
            and not program.name.endswith(_RUN_CODE)]


def _hostile(volume: volumes.Volume) -> list[Command]:
    return volumes.hostile(_qtest_commands("qtest", volume.build))


def _fuzz(options: Options) -> Iterator[Result]:
    def wanted(name: str, names: Sequence[str]) -> bool:
        return runner.selected(name, options.pattern, names)

    targets = fuzz.target_commands(options.full, options.seed)
    yield from runner.run_tests(runner.chosen(targets, options.pattern), options.jobs)
    for volume in volumes.VOLUMES if options.full else ():
        yield from volumes.run(volume, _hostile(volume), options.seed, options.jobs, wanted)


def _fuzz_names(options: Options) -> list[str]:
    device = [command.name for volume in volumes.VOLUMES if options.full
              for command in volumes.slices(volume, _hostile(volume), options.seed)]
    return [*(command.name for command in fuzz.target_commands(options.full, options.seed)),
            *device]


def _bench_check(name: str) -> tuple[str, str]:
    """What an arm of the engine costs, or its state, or the device that is off."""
    if name == "state":
        checks = bench.state_checks(bench.state_bytes())
    elif name == "device":
        checks = [load.off_check(load.count_some(("stock", "off")))]
    else:
        checks = bench.count_checks([bench.count_engine(name, n) for n in bench.QUEUES])
    return "\n".join(map(str, checks)), "; ".join(
        str(check) for check in checks if not check.within(bench.SLACK))


def _bench(options: Options) -> list[Test]:
    return [Call("bench", name, partial(_bench_check, name))
            for name in (*bench.arms(), "state", *(["device"] if options.full else []))]


SUITES = (
    Suite("lint", "ruff, mypy, checkpatch, licences", ("sources",), *_tests(_lint)),
    Suite("tool", "the tool's own tests", ("tool tests",),
          *_pytest("tool", "tools/tests", more=_side_by_side)),
    Suite("unit", "the policy engine and the guest agent", ("engine",), _unit, _unit_names),
    Suite("replay", "cint-replay: the engine from the command line", ("engine",),
          *_pytest("replay", "tests/replay", more=_side_by_side)),
    Suite("library", "the two libraries as others take them: installed, by pkg-config",
          ("engine",), *_pytest("library", "tests/library", _marker(), _side_by_side)),
    Suite("model", "the interrupt handshake, every order of events", ("model",),
          *_tests(lambda options: promela.commands(options.full))),
    Suite("bench", "instructions of the engine, against aims; with --full of cint=off",
          ("engine", "counting"), *_tests(_bench), full_targets=("qemu-bench",)),
    Suite("asan", "the engine's tests with sanitizers; with --full the device's, too",
          ("engine-asan",), *_tests(_asan), full_targets=("qemu-asan",)),
    Suite("tsan", "with --full the device's tests with IOThreads, with a race detector",
          (), *_tests(_tsan), full_targets=("qemu", "qemu-tsan")),
    Suite("fuzz", "random inputs to the engine; with --full many, and to the device",
          ("engine-asan",), _fuzz, _fuzz_names, full_targets=("qemu", "qemu-asan", "counting")),
    Suite("qtest", "the device inside QEMU, and QEMU's own nvme tests", ("qemu",),
          *_qtests("qtest")),
    Suite("upstream", "each series for stock QEMU applies alone; with --full builds, passes tests",
          ("sources",), *_tests(_upstream), full_targets=("qemu-upstream",)),
    Suite("series", "the guest kernel's series applies; with --full each patch compiles",
          ("sources", "series"), *_tests(_series)),
    Suite("identity", "cint=off against the stock binary", ("qemu", "qemu-stock"),
          *_qtests("identity")),
    Suite("guest", "guests that boot and run fio",
          ("engine", "qemu", "linux", "image", "agree", "guest tests"),
          *_pytest("guest", "tests/guest", _marker("not figures"), _waiting_guests),
          full_targets=("foreign tests",)),
    Suite("libvirt", "only by name and with --full: QEMU installed, moved, under a real libvirt",
          (), *_libvirt(),
          full_targets=("qemu-install", "image", "distro", "libvirt"), by_name=True),
    Suite("mutants", "only by name: broken code, which tests should notice; with --full all of it",
          ("engine",), *_tests(_mutant_commands),
          full_targets=("qemu", "linux", "image", "agree", "guest tests"), by_name=True),
    Suite("figures", "the published figures' shape", ("qemu", "linux", "image"),
          *_pytest("figures", "tests/guest", _marker("figures"), _guests)),
)
