# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint replay`: the policy engine under a recorded load, without a guest.

The work is done by the C program cint-replay (replay/); this verb builds it, hands the
options on, and runs it over a grid of parameters for `--sweep`.
"""

import argparse
import json
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cint import bootstrap, paths, ui, units
from cint.build import engine
from cint.device import properties, scale
from cint.errors import EXIT_OK, CintError, UsageError
from cint.measure import sweep
from cint.options import policies
from cint.results import documents, grid, plots
from cint.timeline import importers
from cint.timeline.importers import log

DEFAULT_POLICY = "cint"
DEFAULT_PLOT = Path("replay-sweep.png")

EPILOG = """
A timeline has one event a line, times in ns:
  submit <t> <sqid> <cid> [urgent] [barrier]
  doorbell <t> <sqid>
  complete <t> <sqid> <cid> [error]
  cancel <t> <sqid> <cid>
  head <t> <index>      pointer <t> <index>      set <t> <parameter>=<value>
docs/replay.md describes it, docs/policies.md what may be typed for a policy.
"""


def declare(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.description = (
        "Read a timeline of commands and print the interrupts that a policy answers "
        "it with,\nor compare several policies in one pass.")
    add = parser.add_argument
    add("files", nargs="*", metavar="FILE", help="the timeline (default: standard input), or what "
        "--from says")
    policies.add(parser, "policies, separated by commas; several are compared "
                f"(default: {DEFAULT_POLICY})", old=("on", "off"))
    add("--set", action="append", metavar="K=V", default=[],
        help="a parameter of all policies, by its property's name; may be repeated; what is "
             "typed with a policy wins")
    add("--cpu-scale", metavar="K", type=scale.parse,
        help="what is typed and printed is of a machine K times as fast as the one of FILE: "
             "reported time (default: the comparison's whose log FILE is, else 1)")
    add("--guest-time", action="store_true", help="what is printed is in FILE's own time")
    add("--cq-size", metavar="N", help="entries of the completion queue (default: 1024)")
    add("--reap", metavar="WHEN",
        help="when the guest consumes CQEs: eager (default), a time after the interrupt, or trace "
             "(by head lines only)")
    add("--guest", dest="reap", help=argparse.SUPPRESS)  # its name of before
    add("--record", metavar="on|off",
        help="whether the guest has status records, which out-of-order Urgent needs (default: on)")
    add("--from-trace", action="store_true",
        help="FILE is QEMU's log of pci_nvme_cint_* trace events (the same as --from qemu)")
    add("--cq", metavar="N", help="of those, only completion queue N")
    add("--optimal", metavar="PRICE", help="print each policy's regret: what its interrupts and "
        "the waiting for them cost, as a ratio to the least there could be, where an interrupt "
        "costs as much as PRICE (2us) of somebody's waiting")
    add("--hints", metavar="on|off", help="whether policies hear the record's hints (default: on); "
        "what they are measured by has them either way")
    add("--threads", metavar="N",
        help="divide the policies among N threads, and read the file by one more (default: as "
             "many as there are processors); 1: one thread does everything")
    add("--irqs", metavar="on|off", help="print each interrupt (default: on for one policy)")
    add("--json", action="store_true",
        help="one JSON object a line: interrupts, then the summary; with --sweep one document")
    add("--bench", action="store_true", help=argparse.SUPPRESS)  # of the program itself
    _add_import(parser)
    _add_sweep(parser)


def _add_import(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("records of other tools")
    group.add_argument(
        "--from", choices=("qemu", *importers.FORMATS), dest="format", metavar="FORMAT",
        help="what FILE is: qemu; " + "; ".join(f"{name}: {what}" for name, what
                                                in importers.FORMATS.items()))
    group.add_argument("--device", metavar="NAME", help="of several devices in the record, this "
                       "one's requests: 259,0 in blkparse's text, nvme0 in that of nvme.bt")
    group.add_argument("--latency", metavar="TIME|FILE", help="fio-io: how long each request "
                       "takes, or the completion latency log of the same job")
    group.add_argument("--depth", metavar="N", type=units.count(1, 65535, "--depth"),
                       help="fio-io, version 2: so many requests are in flight")
    group.add_argument("--save", metavar="LOG", type=Path, help="keep what was made of the record: "
                       "a log such as QEMU's, for --from-trace and ./cint trace")


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


def _is_trace(args: argparse.Namespace) -> bool:
    """Whether the file is a log of QEMU's, or is made to be one."""
    return args.from_trace or args.format is not None


def program_args(args: argparse.Namespace, file: str | None, policies: Sequence[str],
                 **other: str | bool) -> list[str]:
    """The words for cint-replay; ``other`` are options in place of those typed."""
    typed = {**vars(args), "from_trace": _is_trace(args), **other}
    words = ["--extras", args.extras, "--cpu-scale", f"{_scale_of(args, file):g}"]
    for text in args.set:
        words += ["--set", text]
    for name in ("cq_size", "reap", "record", "cq", "irqs", "optimal", "hints", "threads"):
        if typed[name] is not None:
            words += [f"--{name.replace('_', '-')}", typed[name]]
    for name in ("from_trace", "guest_time", "json", "bench"):
        if typed[name]:
            words.append(f"--{name.replace('_', '-')}")
    words += [word for name in policies for word in ("--policy", name)]
    # It is no option of the program, whatever it is called.
    is_option = file is not None and file.startswith("-") and file != "-"
    return [*words, *([f"./{file}" if is_option else file] if file else [])]


def _call(words: Sequence[str], *, capture: bool) -> "subprocess.CompletedProcess[str]":
    """Run the program. A reader that goes away (| head) ends it, which is no error."""
    done = subprocess.run([str(paths.REPLAY_ALONE), *words], text=True, check=False,
                          stdout=subprocess.PIPE if capture else None)
    if done.returncode < 0 and -done.returncode != signal.SIGPIPE:
        raise CintError(f"cint-replay ended by signal {-done.returncode}")
    return done


def _scale_of(args: argparse.Namespace, file: str | None) -> float:
    """--cpu-scale, or the one that the log was made at."""
    if args.cpu_scale is not None:
        return float(args.cpu_scale)
    return documents.scale_of_log(Path(file)) if _is_trace(args) and file else 1.0


def policies_for(args: argparse.Namespace) -> list[properties.Policy]:
    """The policies typed; cint-replay reads the same words, but says less of a wrong one."""
    return properties.parse_replayed(args.policy or DEFAULT_POLICY)


def _sweep(args: argparse.Namespace, file: str | None,
           policies: Sequence[properties.Policy]) -> int:
    if len(policies) > 1:
        raise UsageError(f"--sweep takes one --policy, not {len(policies)}")
    if args.bench or args.guest_time:
        other = "bench" if args.bench else "guest-time"
        raise UsageError(f"--sweep and --{other} do not go together")
    base = policies[0].name
    properties.parse_policy(sweep.arm(base, args.sweep[0]))
    points = [sweep.arm(base, point) for point in args.sweep]
    done = _call(program_args(args, file, points, json=True, irqs="off"), capture=True)
    if done.returncode:
        return done.returncode
    result = sweep.evaluate(base, args.sweep, args.quantile,
                            json.loads(done.stdout.splitlines()[-1])["summary"])
    grid.draw(result, file or "standard input", args.plot)
    ui.info(f"heat maps: {paths.display(args.plot)}")
    return grid.report(result, as_json=args.json)


def _check_files(args: argparse.Namespace) -> None:
    """Refuse what does not go together."""
    imported = args.format in importers.FORMATS
    given = [name for name in ("device", "latency", "depth", "save") if getattr(args, name)]
    if given and not imported:
        raise UsageError(f"--{given[0]} goes with --from {', '.join(importers.FORMATS)}")
    if imported and not args.files:
        raise UsageError(f"--from {args.format}: give the file")
    if len(args.files) > 1 and args.format != "fio-lat":
        raise UsageError(f"one FILE, not {len(args.files)} (only --from fio-lat takes several, one "
                         "a job)")
    if args.sweep:
        plots.check_name("--plot", args.plot)


@contextmanager
def _file(args: argparse.Namespace) -> Iterator[str | None]:
    """The file that is read: of a record of another tool, a log that is made of it."""
    if args.format not in importers.FORMATS:
        yield args.files[0] if args.files else None
        return
    found = importers.read(args.format, [Path(name) for name in args.files],
                           importers.Choice(args.device, args.latency, args.depth))
    for remark in found.remarks:
        ui.warn(remark)
    with tempfile.TemporaryDirectory(prefix="cint-replay-") as place:
        made = args.save or Path(place) / "log"
        with made.open("w", encoding="utf-8") as stream:
            log.write(found.requests, stream)
        yield str(made)


def run(args: argparse.Namespace) -> int:
    policies = policies_for(args)
    _check_files(args)
    if args.sweep:
        bootstrap.ensure("plots")
    engine.build_replay()
    with _file(args) as file:
        if args.sweep:
            return _sweep(args, file, policies)
        words = program_args(args, file, [policy.name for policy in policies])
        return max(_call(words, capture=False).returncode, EXIT_OK)
