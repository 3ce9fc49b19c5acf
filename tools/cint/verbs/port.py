# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint port`: the device in another version of QEMU."""

import argparse
from collections import Counter
from pathlib import Path

from cint import paths, steps, ui
from cint.build import patches, port, qemu, setup
from cint.errors import EXIT_FAILED, EXIT_OK, CintError, UsageError
from cint.selftest import runner, suites


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "port", help="put the device into another version of QEMU and test it there",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Apply the series to the QEMU tree of --qemu-src, which is only read, and\n"
        "print what became of each patch: it applies, is merged with that version's own changes,\n"
        "or conflicts (files and places). When all are in: build it, run the engine's unit tests\n"
        "and the device's qtests on it. Everything is in build/port/VERSION; docs/porting.md.\n"
        "Exit code 1 when a patch conflicts, it does not build or a test fails.",
    )
    parser.add_argument("--series", metavar="NAME",
                        help="which directory of qemu-patches (default: that of the version, "
                             f"else {paths.QEMU_PATCHES.name})")
    parser.add_argument("--apply-only", action="store_true",
                        help="stop after the report on the patches")
    parser.add_argument("-k", dest="pattern", metavar="NAME",
                        help="run only tests whose name contains it")


def _test(suite: suites.Suite, options: suites.Options) -> "Counter[str]":
    """Run a suite, and tell of each test that did not pass: how many of which status."""
    counts: Counter[str] = Counter()
    with ui.Progress(f"{suite.name} tests") as progress:
        for result in suite.run(options):
            counts[result.status] += 1
            progress.update(f"[{counts.total()}]")
            if result.status != runner.PASSED:
                ui.line(f"{result.status}: {result.suite}: {result.name}: {result.reason} "
                        f"(log: {paths.display(result.log) if result.log else 'none'})")
    return counts


def _test_all(args: argparse.Namespace, build_dir: Path) -> int:
    """Run what a port has to pass and print a line a suite; the exit code."""
    options = suites.Options(jobs=setup.jobs(args), pattern=args.pattern)
    print(f"\n{qemu.version(build_dir / paths.QEMU.name)}:", flush=True)
    total: Counter[str] = Counter()
    for suite in suites.port_suites(build_dir):
        counts = _test(suite, options)
        print(f"{suite.title}: {counts[runner.PASSED]} passed, "
              f"{counts[runner.FAILED]} failed, {counts[runner.SKIPPED]} skipped", flush=True)
        total += counts
    return EXIT_FAILED if total[runner.FAILED] or not total[runner.PASSED] else EXIT_OK


def _apply(args: argparse.Namespace, own: Path) -> tuple[port.Port, patches.Tree | None]:
    """Apply the series and report; the tree to build, unless only that was asked for."""
    with steps.build_lock():
        found = port.apply(own, args.series)
        print(port.report(found), end="", flush=True)
        port.tell(found)
        if not found.complete:
            raise CintError("not all patches fit", hint=port.advice(found))
        return found, None if args.apply_only else port.install(found, own)


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    own = args.qemu_src
    if own is None:
        raise UsageError("port: to which QEMU?", hint="name its tree with --qemu-src DIR")
    setup.ensure(args, () if args.apply_only else ("engine",),
                 ("sources",) if args.apply_only else ("qemu",),
                 extras=() if args.apply_only else ("port",))
    # While it compiles, other commands may build: what it needs of theirs is only read before.
    with steps.lock(paths.PORT / "lock"):
        found, tree = _apply(args, own)
        if tree is None:
            return EXIT_OK
        build_dir = found.place / "build"
        qemu.build_port(tree, build_dir, found.version, setup.jobs(args))
    return _test_all(args, build_dir)
