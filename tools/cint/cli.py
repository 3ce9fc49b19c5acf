# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: verbs, global options, errors and exit codes.

Each verb is a module of cint.verbs with `declare(parser)` and `run(args) -> int`.
Only the module of the verb that was typed is imported, which keeps ./cint quick.
"""

import argparse
import errno
import importlib
import os
import re
import signal
import sys
import textwrap
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType, ModuleType
from typing import NoReturn

from cint import __version__, config, examples, paths, tarball, ui, units
from cint.errors import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USAGE,
    CintError,
    UsageError,
)

#: What the verbs are for: verb, which is also the name of its module in cint.verbs: what it does
#: in one line
GROUPS = {
    "use": {
        "compare": "run fio in a guest under each policy and print a table",
        "run": "start a guest with the cint device, to type in or for a command",
        "replay": "replay a recorded load through the policies, without a guest",
        "install": "install a QEMU with the device for your own machines",
        "libvirt": "print a libvirt domain with the device, or lines for one that exists",
        "hints": "the module that gives hints from a kernel as it is: status, install, remove",
    },
    "look": {
        "show": "print the table of a comparison again, or make its page",
        "diff": "compare the results of two comparisons",
        "results": "list the results of compare, remove or label some",
        "trace": "show what a trace of the device tells, or record one of a running VM",
        "top": "watch a running VM's device live",
        "figure": "measure the papers' figures and check what they claim",
    },
    "this machine": {
        "build": "install what is needed, get the sources, build what is not up to date",
        "test": "run all tests",
        "doctor": "report on this machine: accelerators, versions, space",
        "clean": "remove what was built",
        "completion": "print the completion of a shell: bash, zsh or fish",
    },
    "work on cint itself": {
        "bench": "count what the engine and the device cost, against aims",
        "calibrate": "measure the guest's cost per I/O and per interrupt",
        "worker": "let this machine run guests for others (--cluster)",
        "docs": "build the documents (a site, the manual page), and check them",
        "patches": "check the patch series, make one from a git tree, or a branch of one",
        "port": "put the device into another version of QEMU and test it there",
    },
}
#: The group whose verbs `cint --help` only names.
MAINTAINERS = "work on cint itself"
VERBS = {verb: text for verbs in GROUPS.values() for verb, text in verbs.items()}
#: Words of before, which scripts and logs have: what they are now.
FORMER = {"report": ("show", "--html"), "setup": ("build",)}

#: More compilers at once than any machine has CPUs.
MAX_JOBS = 9999

DESCRIPTION = """QEMU's NVMe controller with calibrated interrupts: build it, run it, and compare
interrupt coalescing policies in a guest. The first run of a command sets up what
it needs; nothing has to be installed beforehand on Debian 12 (x86-64).
"""

#: Exit codes of every verb, and what they say.
EXIT_CODES = {
    "0": "ok", "1": "failed", "2": "wrong usage", "124": "time limit",
    "125": "cannot be tested (test: something does not build or boot)", "130": "interrupted",
}

#: Variables of the environment, and what they set.
ENVIRONMENT = {
    config.VARIABLE: "your own defaults: a file with a table for each command, such as [compare] "
                     "(default: $XDG_CONFIG_HOME/cint.toml, ~/.config/cint.toml; empty: none)",
    "CINT_PYTHON": "the Python (>= 3.11, with venv) to make the environment with",
    "CINT_DEBIAN_MIRROR": "a Debian mirror for the source packages, instead of apt's own; without "
                          "apt also an address or a directory that has the files",
    "XDG_CACHE_HOME": "downloads and compiler cache go to $XDG_CACHE_HOME/cint "
                      "(default ~/.cache/cint)",
    "NO_COLOR": "no colours",
}

_STREAMS = """Standard output carries data only; progress and messages go to standard error.
Logs are in build/logs/, one file a step.
"""


def _epilog() -> str:
    """The end of `cint --help`."""
    codes = "   ".join(f"{code} {text}" for code, text in EXIT_CODES.items())
    variables = "\n".join(textwrap.fill(text, 79, initial_indent=f"  {name:<22}",
                                        subsequent_indent=" " * 24)
                          for name, text in ENVIRONMENT.items())
    return ("start with:\n"
            "  ./cint compare        set up if needed (15 to 30 minutes once), then a table\n"
            "  ./cint test           set up if needed, then all tests\n\n"
            "exit codes:\n"
            + textwrap.fill(codes, 79, initial_indent="  ", subsequent_indent="  ",
                            fix_sentence_endings=False, drop_whitespace=True)
            + f"\n\nenvironment:\n{variables}\n\n{_STREAMS}")


def _listing() -> str:
    """The verbs, by what they are for."""
    lines = [line for title, verbs in GROUPS.items() if title != MAINTAINERS for line in (
        f"\n{title}:", *(textwrap.fill(text, 79, initial_indent=f"  {verb:<12}",
                                       subsequent_indent=" " * 14)
                         for verb, text in verbs.items()))]
    lines.append(f"\n{MAINTAINERS} (each has --help):\n  {', '.join(GROUPS[MAINTAINERS])}")
    return "\n".join(lines)


class _Parser(argparse.ArgumentParser):
    """Errors in one line, in the form of all others, and exit code 2."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(_mistyped(message) or message, hint=f"see ./{self.prog} --help")


def _mistyped(message: str) -> str | None:
    """argparse's message about an invalid choice, with the nearest valid one."""
    match = re.fullmatch(r"argument (.+): invalid choice: '(.*)' \(choose from (.*)\)", message)
    if not match:
        return None
    what, typed, listed = match.groups()
    known = [word.strip(" '") for word in listed.split(",")]
    said = f"unknown command {typed!r}" if what == "COMMAND" else f"{what}: unknown {typed!r}"
    return f"{said}{units.suggestion(typed, known)}; valid: {', '.join(known)}"


#: Options that name a person's own source, and what must be in it.
SOURCES = {"--qemu-src": ("configure", "hw/nvme"), "--linux-src": ("Kconfig", "drivers/nvme"),
           "--fio-src": ("configure", "fio.c")}


#: Verbs that build nothing a source or a number of compilers would matter to.
LIGHT = frozenset({"clean", "completion", "diff", "docs", "doctor", "libvirt", "replay",
                   "results", "show", "top", "trace", "worker"})
#: Of the others, those that take some of the sources only: the options of those.
SOME_SOURCES: dict[str, tuple[str, ...]] = {
    "bench": ("--qemu-src",), "hints": (), "install": ("--qemu-src",),
    "patches": ("--qemu-src", "--linux-src"), "port": ("--qemu-src", "--linux-src")}
#: Verbs that do not go on, typed again, where an interruption ended them.
ENDS = LIGHT | {"run"}
Options = list[tuple[tuple[str, ...], dict[str, object]]]


def _common_options() -> Options:
    """Options before a verb, or after one; see :func:`_options_of`."""
    titles = {"--qemu-src": "QEMU", "--linux-src": "Linux", "--fio-src": "fio"}
    own = [((option,), {"metavar": "DIR", "type": _tree(*needed),
                        "help": f"use this {titles[option]} tree, or tarball, instead of the "
                                "distribution's source; it is only read"})
           for option, needed in SOURCES.items()]
    return [
        *own,
        (("--linux-as-is",), {"action": "store_true",
                              "help": "do not apply cint's patches to the tree of --linux-src "
                                      "(they are not, if it has some of them as commits)"}),
        (("-j", "--jobs"), {"metavar": "N", "type": units.count(1, MAX_JOBS, "-j"),
                            "help": "compile this many files at once (default: the CPUs)"}),
        (("-v", "--verbose"), {"action": "count", "help": "say more"}),
        (("--no-color",), {"action": "store_true", "help": "no colours"}),
    ]


def _options_of(verb: str) -> Options:
    """Those of the common options that a verb takes: what is built, where it builds."""
    taken = SOME_SOURCES.get(verb, (*SOURCES, "--linux-as-is"))
    return [(flags, more) for flags, more in _common_options()
            if (verb not in LIGHT or flags[-1] in ("--verbose", "--no-color"))
            and (flags[-1] in taken or flags[-1] not in (*SOURCES, "--linux-as-is"))]


def _tree(*needed: str) -> Callable[[str], Path]:
    def parse(text: str) -> Path:
        path = Path(text).expanduser().resolve()
        if tarball.is_tarball(path):
            return path
        if not path.exists():
            raise argparse.ArgumentTypeError(f"{text}: there is no such directory, or tarball")
        for name in needed:
            if not (path / name).exists():
                raise argparse.ArgumentTypeError(f"{text} has no {name}: not the right source tree")
        return path

    return parse


def _unpack_tarballs(args: argparse.Namespace) -> None:
    """Sources that are given as tarballs, as trees."""
    for option, needed in SOURCES.items():
        name = option.strip("-").replace("-", "_")
        path = getattr(args, name, None)
        if path is not None and tarball.is_tarball(path):
            setattr(args, name, tarball.unpack(path, needed))


def build_parser(argv: list[str]) -> argparse.ArgumentParser:
    """The parser, with the full options of the verbs that appear in `argv`."""
    # A verb's option may be the beginning of a common one's name (--linux, --linux-src).
    parser = _Parser(prog="cint", usage="cint [OPTION ...] COMMAND ...",
                     description=f"{DESCRIPTION}{_listing()}", epilog=_epilog(),
                     formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"cint {__version__}")
    for flags, options in _common_options():
        parser.add_argument(*flags, **options)  # type: ignore[arg-type]
    verbs = parser.add_subparsers(dest="verb", metavar="COMMAND", help=argparse.SUPPRESS,
                                  prog="cint", parser_class=_Parser)
    for verb in VERBS:
        own = verbs.add_parser(verb, formatter_class=argparse.RawDescriptionHelpFormatter)
        if verb in argv:
            module = load(verb)
            module.declare(own)
            _add_common(verb, own)
            _add_examples(verb, own)
            own.set_defaults(run=module.run)
    return parser


def _add_common(verb: str, parser: argparse.ArgumentParser) -> None:
    """Accept the common options after the verb too, unless the verb has its own.

    Its help names them in one line: `cint --help` says what they do.
    """
    taken = set(parser._option_string_actions)
    group = parser.add_argument_group("common options (see ./cint --help)")
    named = []
    for flags, options in _options_of(verb):
        free = [flag for flag in flags if flag not in taken]
        if free:
            hidden = {**options, "help": argparse.SUPPRESS}
            group.add_argument(*free, default=argparse.SUPPRESS, **hidden)  # type: ignore[arg-type]
            named.append(free[0])
    group.description = textwrap.fill(", ".join(named), 75, break_on_hyphens=False)


def _add_examples(verb: str, parser: argparse.ArgumentParser) -> None:
    """End the verb's help with its examples; what is wider than a terminal is wrapped here."""
    if "\n" not in f"{parser.description}{parser.epilog}":
        parser.description = textwrap.fill(parser.description or "", 79)
        parser.epilog = textwrap.fill(parser.epilog or "", 79)
    lines = (parser.epilog or "").strip("\n").splitlines()
    wrapped = [textwrap.fill(line, 99, subsequent_indent=" " * 10, break_on_hyphens=False)
               for line in lines]
    blocks = ("\n".join(wrapped), examples.text(verb))
    parser.epilog = "\n\n".join(block for block in blocks if block)


def load(verb: str) -> ModuleType:
    """The module of a verb."""
    return importlib.import_module(f"cint.verbs.{verb}")


def _as_now(argv: list[str]) -> list[str]:
    """The command line with today's words for a verb of before."""
    at = next((i for i, word in enumerate(argv) if word in VERBS or word in FORMER), None)
    if at is None or argv[at] in VERBS:
        return argv
    return [*argv[:at], *FORMER[argv[at]], *argv[at + 1:]]


#: Options of which nothing is something that can be said.
_MAY_BE_EMPTY = frozenset({"--device-opts"})


def _refuse_empty(words: list[str]) -> None:
    """Refuse words without a letter: a variable of the shell that is not set, most often."""
    for before, word in zip(["", *words], words, strict=False):
        option, equals, value = word.partition("=")
        if not word.strip():
            what = before if before.startswith("-") else "a word of the command line"
        elif word.startswith("--") and equals and not value.strip():
            what = option
        else:
            continue
        if what not in _MAY_BE_EMPTY:
            raise UsageError(f"{what} is empty",
                             hint="a variable of the shell may not be set")


def _options(parser: argparse.ArgumentParser, verb: str | None) -> list[str]:
    """The options of the verb's own parser, which the subparsers' action has."""
    return [option for action in parser._actions
            if isinstance(action.choices, dict) and verb in action.choices
            for option in action.choices[verb]._option_string_actions]


def _with_defaults(argv: list[str], verb: str | None,
                   parser: argparse.ArgumentParser) -> list[str]:
    """The command line with what the person's own file says of the verb behind it."""
    if verb is None:
        return argv
    at = argv.index(verb) + 1
    return [*argv[:at], *config.words(verb, VERBS, _options(parser, verb)), *argv[at:]]


def _refuse_unknown(words: list[str], verb: str | None, parser: argparse.ArgumentParser) -> None:
    """Refuse what no option takes, with the option that is most like it."""
    if not words:
        return
    raise UsageError(f"unrecognized arguments: {' '.join(words)}"
                     f"{units.suggestion(words[0].partition('=')[0], _options(parser, verb))}",
                     hint=f"see ./{parser.prog}{f' {verb}' if verb else ''} --help")


def _on_signal(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


#: Errors of a disk or of rights: no mistake of ours, wherever they come from.
_OUTSIDE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)


def _crash(problem: Exception) -> int:
    """A mistake of ours: keep the traceback for a report, show one line."""
    log = paths.LOGS / "crash.log"
    text = f"{sys.argv}\n{traceback.format_exc()}"
    what = f"internal error: {type(problem).__name__}: {problem}"
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as why:
        ui.error(what, f"this is a mistake in cint, please report it with this; {log} cannot be "
                       f"written ({why.strerror}):")
        ui.line(text.rstrip())
        return EXIT_FAILED
    ui.error(what, "this is a mistake in cint, please report it with the log", str(log))
    return EXIT_FAILED


def _refused(problem: OSError) -> int:
    """The system let us not write, or not read: say what, as it is known."""
    if isinstance(problem, BrokenPipeError):
        # The reader of our output went away (| head): that is not an error.
        _drop_output()
        return EXIT_OK
    if problem.errno not in _OUTSIDE:
        return _crash(problem)
    _drop_output()
    if problem.filename is not None:
        ui.error(f"{os.fsdecode(problem.filename)}: {problem.strerror}")
    else:
        ui.error(problem.strerror or str(problem),
                 f"cint writes to standard output, {paths.BUILD}, {paths.RESULTS} and "
                 f"{paths.CACHE}")
    return EXIT_FAILED


def _have_streams() -> None:
    """Give a stream that was closed (2>&-) a place: else the next file that is opened takes it."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            place = os.open(os.devnull, os.O_RDWR)
            if place != number:
                os.dup2(place, number)
                os.close(place)
            else:
                os.set_inheritable(place, True)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8"))


def _drop_output() -> None:
    """What standard output still holds goes nowhere: its end would complain once more."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        pass  # it has no place


def dispatch(argv: list[str]) -> int:
    """Parse and run; errors are raised."""
    argv = _as_now(argv)
    words = argv[:argv.index("--")] if "--" in argv else argv
    parser = build_parser(words)
    _refuse_empty(words)
    args, unknown = parser.parse_known_args(argv)
    _refuse_unknown(unknown, args.verb, parser)
    whole = _with_defaults(argv, args.verb, parser)
    if whole != argv:
        args = parser.parse_args(whole)
    args.verbose = args.verbose or 0
    ui.configure(verbose=args.verbose, no_color=bool(args.no_color))
    if args.verb is None:
        parser.print_help()
        return EXIT_USAGE if argv else EXIT_OK
    _unpack_tarballs(args)
    return int(args.run(args))


def main(argv: list[str]) -> int:
    """Run a command line; return its exit code. Never prints a traceback, if it can be kept."""
    _have_streams()
    ui.configure()
    signal.signal(signal.SIGTERM, _on_signal)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # nohup ignores it
        signal.signal(signal.SIGHUP, _on_signal)
    try:
        if argv[:1] == ["help"]:
            argv = [*argv[1:2], "--help"]
        code = dispatch(argv)
        sys.stdout.flush()
        return code
    except CintError as problem:
        ui.error(problem.message, problem.hint, str(problem.log) if problem.log else None)
        return problem.code
    except KeyboardInterrupt:
        goes_on = not ENDS.intersection(argv)
        ui.error("interrupted" + ("; the same command goes on where it stopped" if goes_on else ""))
        return EXIT_INTERRUPTED
    except OSError as problem:
        return _refused(problem)
    except Exception as problem:
        return _crash(problem)
