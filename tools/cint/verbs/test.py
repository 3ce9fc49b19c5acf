# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint test`: set up if needed, then run the test suites and count what passed."""

import argparse
import os
import re
import secrets
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from cint import config, paths, steps, ui, units
from cint.build import setup, sources
from cint.errors import EXIT_FAILED, EXIT_OK, EXIT_UNTESTABLE, CintError, UsageError
from cint.guest import agent, session, vm
from cint.selftest import runner, suites
from cint.selftest.runner import Result

#: Where the guests' tests say which of their runs are from the store, below the logs.
_TOLD = "*/runs.txt"
#: Lines of a failed test's log that are shown.
_TAIL = 15

_MARKS = {runner.PASSED: ("ok", "green"), runner.FAILED: ("FAIL", "red"),
          runner.SKIPPED: ("skip", "yellow"), runner.EXPECTED: ("xfail", "yellow")}


def declare(parser: argparse.ArgumentParser) -> None:
    listing = "\n".join(f"  {suite.name:<10} {suite.title}" for suite in suites.SUITES)
    parser.description = "Set up what is missing, then run the test suites:\n\n" + listing
    parser.epilog = (
        "Each result is printed as it happens; the last line is `N passed, N failed`.\n"
        "A line above it counts expected failures: claims of the papers that are known not to\n"
        "hold here, each with the bounds of its deviation; outside of them it is a failure.\n"
        "Logs are in build/logs/test/. Exit code 0 when nothing failed, 1 when a test did, 125\n"
        "when nothing could be tested because something does not build or the kernel of\n"
        "--linux-src does not boot: git bisect run skips such a commit.")
    parser.add_argument("suite", nargs="*", metavar="SUITE", help="only these suites")
    parser.add_argument("--suite", dest="more", metavar="SUITE", action="append", default=[],
                        help=argparse.SUPPRESS)  # the same
    parser.add_argument("-k", dest="pattern", metavar="NAME",
                        help="only the test of that name, or those whose name contains it")
    parser.add_argument("--full", action="store_true", help="also the tests marked slow")
    parser.add_argument("--seed", metavar="N|random", type=_seed, default=suites.SEED,
                        help="of the random tests; random: another one each time "
                             f"(default: {suites.SEED})")
    parser.add_argument("--fresh", action="store_true",
                        help="take no guest's run from the store, where those in virtual time "
                             "are kept; one that is there has to come out the same. --full does "
                             "so with a tenth of what it took, drawn with a seed that is said")
    parser.add_argument("--list", action="store_true", help="only list the tests")


def _seed(text: str) -> int:
    if text == "random":
        return secrets.choice(suites.SEEDS)
    seed = units.whole(text, suites.SEEDS[0], suites.SEEDS[-1])
    if seed is None:
        raise UsageError(f"--seed {text}: must be a number from {suites.SEEDS[0]} to "
                         f"{suites.SEEDS[-1]}, or random")
    return seed


def _chosen(names: list[str]) -> list[suites.Suite]:
    known = {suite.name: suite for suite in suites.SUITES}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(f"there is no test suite {unknown[0]!r}"
                         f"{units.suggestion(unknown[0], known)}",
                         hint=f"suites: {', '.join(known)}")
    return [suite for suite in suites.SUITES
            if suite.name in names or not (names or suite.by_name)]


def _prepare(args: argparse.Namespace, chosen: list[suites.Suite]) -> None:
    """Build what the chosen suites need, and nothing else."""
    targets = {target for suite in chosen
               for target in (*suite.targets, *(suite.full_targets if args.full else ()))}
    built = targets & {*setup.TARGETS, *setup.OPTIONAL}
    setup.ensure(args, sorted(built), sorted(targets - built), extras=("plots", "timeline", "test"))
    if "sources" in targets:
        for package in (sources.QEMU, sources.LINUX):
            sources.unpack(package)


def _boot_once() -> None:
    """A kernel that does not come up at all is no failed test: nothing was tested."""
    machine = vm.Machine((("cint", "on"),))
    with steps.step("boot", "Boot the kernel of --linux-src once"):
        session.run_task(session.Task("boot", machine, agent.Plan(), paths.TEST_LOGS / "boot"))


def _prepare_or_skip(args: argparse.Namespace, chosen: list[suites.Suite]) -> None:
    """Prepare; what goes wrong here says nothing about the tests."""
    try:
        _prepare(args, chosen)
        if args.linux_src and any("linux" in suite.targets for suite in chosen):
            _boot_once()
    except UsageError:
        raise
    except CintError as problem:
        problem.code = EXIT_UNTESTABLE
        raise


def _again(args: argparse.Namespace) -> str:
    """The options that choose what is tested, for a command that runs a test again."""
    own = {"--qemu-src": args.qemu_src, "--linux-src": args.linux_src, "--fio-src": args.fio_src}
    words = [word for option, tree in own.items() if tree for word in (option, str(tree))]
    words += ["--linux-as-is"] if args.linux_as_is else []
    words += ["--full"] if args.full else []
    words += ["--seed", str(args.seed)] if args.seed != suites.SEED else []
    return f" {shlex.join(words)}" if words else ""


def show(result: Result, options: str = "") -> None:
    """Print one result; of a failed test also why, its log's end and how to run it again."""
    mark, colour = _MARKS[result.status]
    text = f"{ui.paint_out(f'{mark:<4} ', colour)}{result.suite}: {result.name} " \
           f"({ui.duration(result.seconds)})"
    if result.reason and result.status != runner.FAILED:
        text += f": {result.reason}"
    ui.out(text)
    if result.status == runner.FAILED:
        _show_failure(result, options)


def _tail(log: Path) -> list[str]:
    """The last lines of a log, without those that only announce groups of tests."""
    try:
        lines = log.read_text("utf-8", errors="replace").rstrip().splitlines()
    except OSError:
        return []
    return [line for line in lines if not re.match(r"# (Start|End) of ", line)][-_TAIL:]


def _show_failure(result: Result, options: str) -> None:
    ui.out(f"     {result.reason}")
    if result.log is not None:
        for line in _tail(result.log):
            ui.out(f"     | {line[:300]}")
        ui.out(f"     log: {paths.display(result.log)}")
    ui.out(f"     run just this: {result.rerun}{options}")


def _run_suite(suite: suites.Suite, options: suites.Options) -> Iterator[Result]:
    with ui.Progress(f"{suite.name} tests") as progress:
        for count, result in enumerate(suite.run(options), 1):
            progress.update(f"[{count}]")
            yield result


#: Counted beside the results: tests that passed, and have something to say.
_REMARKS = "remarks"


def summary(counts: "Counter[str]") -> str:
    """The last lines: `N passed, N failed`; what is neither, if anything, above it."""
    expected, skipped, remarks = (counts[what] for what in
                                  (runner.EXPECTED, runner.SKIPPED, _REMARKS))
    lines = [f"{remarks} passed with a remark"] if remarks else []
    lines += [f"{expected} expected failure{'s' if expected > 1 else ''}"] if expected else []
    lines += [f"{skipped} skipped"] if skipped else []
    return "\n".join([*lines, f"{counts[runner.PASSED]} passed, {counts[runner.FAILED]} failed"])


def _list(chosen: list[suites.Suite], options: suites.Options) -> int:
    for suite in chosen:
        print(f"{suite.name}: {suite.title}")
        try:
            names = list(suite.names(options)) if suite.names else []
        except (CintError, OSError):
            names = []
        for name in names:
            print(f"  {name}")
        if not names:
            ui.warn(f"{suite.name}: its tests are known when they are built: "
                    f"./cint test {suite.name}")
    return EXIT_OK


def run(args: argparse.Namespace) -> int:
    os.environ[config.VARIABLE] = ""  # what tests type is all that they mean
    chosen = _chosen([*args.suite, *args.more])
    options = suites.Options(jobs=setup.jobs(args), full=args.full, pattern=args.pattern,
                             seed=args.seed, runs=_runs(args))
    if args.list:
        return _list(chosen, options)
    _prepare_or_skip(args, chosen)
    ui.info(f"random tests: seed {args.seed}")
    for told in paths.TEST_LOGS.glob(_TOLD):
        told.unlink()
    counts: Counter[str] = Counter()
    failed: list[Result] = []
    started = time.monotonic()
    for suite in chosen:
        for result in _run_suite(suite, options):
            show(result, _again(args))
            counts[result.status] += 1
            counts[_REMARKS] += bool(result.reason) and result.status == runner.PASSED
            if result.status == runner.FAILED:
                failed.append(result)
    if args.pattern and not counts:
        raise UsageError(f"no test's name contains {args.pattern!r}",
                         hint="./cint test --list names them")
    if taken := _taken():
        ui.info(taken)
    again = [result.rerun + _again(args) for result in failed]
    return _finish(counts, again, time.monotonic() - started)


def _runs(args: argparse.Namespace) -> str:
    """What of the store of runs the guests' tests take: see measure.runner."""
    if args.fresh:
        return "fresh"
    return f"full:{args.seed}" if args.full else ""


def _taken() -> str:
    """Where the runs of the guests' tests are from; empty if there were none."""
    sources = Counter(line.split()[0] for told in paths.TEST_LOGS.glob(_TOLD)
                      for line in told.read_text(encoding="utf-8").splitlines())
    total, again = sources.total(), sources["checked"]
    text = f"{total - sources['run']} of {total} comparable runs of guests from the store"
    return (text + (f", {again} of them run again" if again else "")) if total else ""


def _finish(counts: "Counter[str]", failed: list[str], seconds: float) -> int:
    if failed:
        ui.out("failed:")
        for command in failed:
            ui.out(f"  {command}")
    ui.info(f"tests took {ui.duration(seconds)}")
    sys.stderr.flush()
    ui.out(summary(counts))
    return EXIT_FAILED if failed else EXIT_OK
