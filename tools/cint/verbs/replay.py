# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint replay`: the policy engine under a recorded load, without a guest.

The work is done by the C program cint-replay (replay/); this verb builds it, hands the
options on, and runs it over a grid of parameters for `--sweep`.
"""

import argparse
import json
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from cint import paths, ui
from cint.build import setup
from cint.errors import EXIT_OK, CintError, UsageError
from cint.measure import sweep
from cint.results import grid

DEFAULT_PLOT = Path("replay-sweep.png")

EPILOG = """
A timeline has one event a line, times in ns:
  submit <t> <sqid> <cid> [urgent] [barrier]
  doorbell <t> <sqid>
  complete <t> <sqid> <cid> [error]
  cancel <t> <sqid> <cid>
  head <t> <index>      pointer <t> <index>      set <t> <parameter>=<value>
docs/replay.md describes it. Parameters are the device's properties without `cint.`, in the same
units.
"""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "replay", help="replay a recorded load through the policies, without a guest",
        formatter_class=argparse.RawDescriptionHelpFormatter, epilog=EPILOG,
        description="Read a timeline of commands and print the interrupts that a policy answers "
        "it with,\nor compare several policies in one pass.",
    )
    add = parser.add_argument
    add("file", nargs="?", metavar="FILE", help="the timeline (default: standard input)")
    add("--policy", action="append", metavar="P[:k=v,...]", default=[],
        help="policy and its parameters; several compare them (default: cint)")
    add("--set", action="append", metavar="K=V", default=[],
        help="a parameter of all policies; may be repeated")
    add("--extras", metavar="on|off",
        help="off: no drain, no max-hold, errors count as successes, and a CQ too large for "
             "pressure (default: on)")
    add("--cq-size", metavar="N", help="entries of the completion queue (default: 1024)")
    add("--guest", metavar="WHO",
        help="when the guest consumes CQEs: eager (default), a number of ns after the interrupt, "
             "or trace (by head lines only)")
    add("--record", metavar="on|off",
        help="whether the guest has status records, which out-of-order Urgent needs (default: on)")
    add("--from-trace", action="store_true",
        help="FILE is QEMU's log of pci_nvme_cint_* trace events")
    add("--cq", metavar="N", help="of those, only completion queue N")
    add("--irqs", metavar="on|off", help="print each interrupt (default: on for one policy)")
    add("--json", action="store_true",
        help="one JSON object a line: interrupts, then the summary; with --sweep one document")
    add("--bench", action="store_true", help="measure the program: parser, engine, everything")
    _add_sweep(parser)


def _add_sweep(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("sweep")
    group.add_argument(
        "--sweep", metavar="GRID", type=sweep.parse_grid,
        help="replay one policy over a grid, for example delta=1us..50us,thr=1..256 (up to "
             f"{sweep.POINTS} values each, evenly spaced on a log scale), draw heat maps and "
             "propose values")
    group.add_argument("--plot", metavar="FILE", type=Path, default=DEFAULT_PLOT,
                       help=f"where the heat maps go (default: {DEFAULT_PLOT})")
    group.add_argument("--quantile", metavar="PERCENT", choices=sweep.QUANTILES, default="99",
                       help="share of the gaps between completions that delta is to span: one of "
                            f"{', '.join(sweep.QUANTILES)} (default: 99)")


def program_args(args: argparse.Namespace) -> list[str]:
    """The options for cint-replay, but for policies and the file."""
    words: list[str] = []
    for text in args.set:
        words += ["--set", text]
    for name in ("extras", "cq_size", "guest", "record", "cq", "irqs"):
        value = getattr(args, name)
        if value is not None:
            words += [f"--{name.replace('_', '-')}", value]
    for name in ("from_trace", "json", "bench"):
        if getattr(args, name):
            words.append(f"--{name.replace('_', '-')}")
    return words


def _call(words: Sequence[str], *, capture: bool) -> "subprocess.CompletedProcess[str]":
    """Run the program. A reader that goes away (| head) ends it, which is no error."""
    done = subprocess.run([str(paths.REPLAY), *words], text=True, check=False,
                          stdout=subprocess.PIPE if capture else None)
    if done.returncode < 0 and -done.returncode != signal.SIGPIPE:
        raise CintError(f"cint-replay ended by signal {-done.returncode}")
    return done


def _policies(names: Sequence[str]) -> list[str]:
    return [word for name in names for word in ("--policy", name)]


def _sweep(args: argparse.Namespace) -> int:
    if len(args.policy) > 1:
        raise UsageError(f"--sweep takes one --policy, not {len(args.policy)}")
    if args.bench:
        raise UsageError("--sweep and --bench do not go together")
    base = args.policy[0] if args.policy else "cint"
    args.json, args.irqs = True, "off"
    words = [*program_args(args), *_policies([sweep.arm(base, point) for point in args.sweep])]
    done = _call([*words, *([args.file] if args.file else [])], capture=True)
    if done.returncode:
        return done.returncode
    result = sweep.evaluate(base, args.sweep, args.quantile,
                            json.loads(done.stdout.splitlines()[-1])["summary"])
    grid.draw(result, args.file or "standard input", args.plot)
    ui.info(f"heat maps: {paths.display(args.plot)}")
    return grid.report(result, as_json=args.as_json)


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    setup.ensure(args, ("engine",))
    if args.sweep:
        args.as_json = args.json
        return _sweep(args)
    words = [*program_args(args), *_policies(args.policy), *([args.file] if args.file else [])]
    return max(_call(words, capture=False).returncode, EXIT_OK)
