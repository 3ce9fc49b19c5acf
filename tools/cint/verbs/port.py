# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint port`: the device in another version of QEMU, the guest's patches in one of Linux."""

import argparse
from collections import Counter
from pathlib import Path

from cint import paths, steps, ui
from cint.build import linux, patches, port, qemu, setup
from cint.errors import EXIT_FAILED, EXIT_OK, CintError, UsageError
from cint.selftest import runner, suites

#: The tests of a kernel that has not all parts: those of the hints, which need no other.
_LIMIT = " -k test_hints::"


def declare(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Apply the series to the QEMU tree of --qemu-src, or the guest's to the Linux\n"
        "tree of --linux-src, which are only read, and print what became of each patch: it\n"
        "applies, is merged with that version's own changes, is there already, or conflicts\n"
        "(files and places). A version's own series may leave patches and whole parts out.\n"
        "When all are in: build it, run the engine's unit tests and the device's qtests on it,\n"
        "and print the line that starts a guest on it; of Linux, build the guest's kernel.\n"
        "Everything is in build/port/; docs/porting.md.\n"
        "Exit code 1 when a patch conflicts, it does not build or a test fails.")
    parser.add_argument("--series", metavar="NAME",
                        help="which directory of qemu-patches or guest-patches (default: that of "
                             f"the version, else {paths.QEMU_PATCHES.name} or "
                             f"{paths.GUEST_PATCHES.name})")
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


def _apply(args: argparse.Namespace, project: port.Project,
           own: Path) -> tuple[port.Port, patches.Tree | None]:
    """Apply the series and report; the tree to build, unless only that was asked for."""
    with steps.build_lock():
        found = port.apply(project, own, args.series)
        print(port.report(found), end="", flush=True)
        port.tell(found)
        if not found.complete:
            raise CintError("not all patches fit", hint=port.advice(found))
        return found, None if args.apply_only else port.install(found, own)


def _port_qemu(args: argparse.Namespace, own: Path) -> int:
    setup.ensure(args, () if args.apply_only else ("engine",),
                 ("sources",) if args.apply_only else ("qemu",),
                 extras=() if args.apply_only else ("port",))
    # While it compiles, other commands may build: what it needs of theirs is only read before.
    with steps.lock(paths.PORT / "lock"):
        found, tree = _apply(args, port.qemu(), own)
        if tree is None:
            return EXIT_OK
        build_dir = found.place / "build"
        qemu.build_port(tree, build_dir, found.version, setup.jobs(args))
    code = _test_all(args, build_dir)
    print(f"A guest on it, with what ./cint build linux image makes:\n"
          f"  {_guest_line(build_dir / paths.QEMU.name)}")
    return code


def _guest_line(binary: Path) -> str:
    """What to type: the command that starts a guest, with this QEMU in place of the measured one.

    The first line of what is printed is the program, and nothing else.
    """
    return f"""eval "$(./cint run --print | sed '1s|.*|{paths.display(binary)} \\\\|')\""""


def _port_linux(args: argparse.Namespace, own: Path) -> int:
    setup.ensure(args, (), ("sources",) if args.apply_only else ("linux",))
    with steps.lock(paths.PORT / "lock"):
        found, tree = _apply(args, port.linux(), own)
        if tree is None:
            return EXIT_OK
        kernel = linux.build_port(tree, found.place / "build", setup.jobs(args))
    print(f"\n{paths.display(kernel)} is built; the guest's tests on it:\n"
          f"  ./cint test guest --linux-as-is --linux-src {paths.display(tree.root)}"
          f"{_LIMIT if found.missing else ''}")
    if found.missing:
        print(f"Tests that need {', '.join(found.missing)} are not for this kernel: "
              "their patches are not in it.")
    return EXIT_OK


def run(args: argparse.Namespace) -> int:
    if (args.qemu_src is None) == (args.linux_src is None):
        raise UsageError("port: to which QEMU, or which Linux?",
                         hint="name one tree, with --qemu-src DIR or --linux-src DIR")
    if args.linux_src is not None:
        return _port_linux(args, args.linux_src)
    return _port_qemu(args, args.qemu_src)
