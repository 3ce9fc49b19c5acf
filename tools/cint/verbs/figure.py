# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint figure`: the papers' figures, measured, checked, and laid beside the papers' values."""

from __future__ import annotations

import argparse
import json
import secrets
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from cint import ask, paths, ui, units
from cint.device import properties
from cint.errors import EXIT_FAILED, EXIT_OK, CintError, UsageError
from cint.figures import (
    catalog,
    checks,
    document,
    draw,
    elsewhere,
    freshness,
    further,
    page,
    programs,
    records,
    runner,
    stored,
    webpage,
)
from cint.figures.figure import Figure, machine, on_cpus, who_gives
from cint.figures.values import Data
from cint.guest import hints, kinds
from cint.measure import runner as runs
from cint.measure import settings
from cint.measure.store import Store
from cint.options import hinting
from cint.options import store as store_options
from cint.results import documents

_COLOURS = {checks.PASS: "green", checks.FAIL: "red", checks.EXPECTED: "yellow",
            checks.UNDECIDED: "yellow", checks.QUICK: "dim"}
#: What may differ from the commit that a page names.
_NO_RUN = ("docs", "tools/cint/figures", "tools/cint/verbs/figure.py", "tools/tests",
           "tests/guest/test_figures.py")


def declare(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Run the guests that the papers' figures need, and check every claim: the\n"
        "paper's value beside the measured one, within which bounds it has to be, and the\n"
        "verdict. Standard output has a line for each check, --out a page (index.html),\n"
        "figures.json and the drawings.")
    parser.epilog = (
        "verdicts:\n"
        "  pass            each seed is within the bounds\n"
        "  expected-fail   known not to hold here, with bounds and a reason; outside of these,\n"
        "                  or if it holds after all, it is a failure\n"
        "  undecided       too few I/Os are beyond a percentile, or the seeds differ by too much\n"
        "                  for the bound to tell: of a percentile, or RocksDB beside a writer\n"
        "  quick           within the bounds, but --quick is never a pass\n"
        "  fail            all else\n"
        f"sets: {', '.join(catalog.FAMILIES)}\n\n"
        "exit codes:\n"
        "  0 nothing failed unexpectedly   1 something did, or with --stale something is stale\n"
        "  2 wrong usage   130 interrupted")
    add = parser.add_argument
    add("id", nargs="*", metavar="ID", help="figures by name, see --list")
    add("--set", metavar="SET", help=f"all of a paper: {', '.join(catalog.FAMILIES)} (polling: "
        "also what the papers say of it)")
    add("--all", action="store_true", help="all figures")
    add("--list", action="store_true",
        help="list the figures (of --set, or those named), and those that cannot be had")
    add("--quick", action="store_true",
        help="one seed and short jobs, for a look; never a pass")
    add("--policy", metavar="LIST",
        help="further policies beside the figure's own, in its table and, where these show "
        "policies, in its bars and lines; what is checked stays what the paper claims")
    add("--vcpus", metavar="N", type=units.count(1, settings.MAX_VCPUS, "--vcpus"),
        help="CPUs of the guests; the jobs run on the first (default: as declared, 1)")
    add("--guest", choices=kinds.GUESTS,
        help="the kernel of all guests: cint, ours, or distro, the distribution's own (default: "
        "as declared); what the paper claims is checked there")
    add("--hints", metavar="LIST",
        help="who gives hints where the figure has any: with our kernel on (default) or off, with "
        "--guest distro off (default) or module (docs/hints-module.md), with either preload:FILE "
        "(docs/preload.md); of several the first is checked, the others are further rows")
    add("--out", metavar="DIR", type=Path, help="directory for page, JSON and drawings: new, "
        "empty or of an earlier run of this command (default: a new one in results/)")
    add("--json", action="store_true", help="print figures.json and nothing else")
    store_options.add_store_options(parser)
    store_options.add_cluster_option(parser)
    add("--docs", action="store_true",
        help="store what was measured in docs/figures, and write docs/figures.md")
    add("--stale", action="store_true",
        help="run no guest: say which figures in docs/figures are of other guests than would run "
        "now, because QEMU, kernel, images or jobs have changed since")
    add("--sample", metavar="N", type=units.count(1, 1000, "--sample"),
        help="with --stale: boot N of those guests, drawn by chance, and say whether they leave "
        "the same bytes as those that were measured and are in the store")


def _list(args: argparse.Namespace) -> int:
    """The figures that were named; of all sets also those that cannot be had."""
    chosen = catalog.choose(args.id, args.set, everything=not (args.id or args.set))
    missing = [] if args.id else [n for n in catalog.not_done() if args.set in (None, n.family)]
    if args.json:
        print(json.dumps([
            *({"id": f.id, "set": f.family, "title": f.title, "source": f.source, "reason": None}
              for f in chosen),
            *({"id": n.id, "set": n.family, "title": n.title, "source": None, "reason": n.reason}
              for n in missing)], indent=1))
        return EXIT_OK
    for family, paper in catalog.FAMILIES.items():
        lines = [f"  {f.id:<14} {f.title} ({f.source})" for f in chosen if f.family == family]
        lines += [f"  {n.id:<14} {n.title}: not done: {n.reason}"
                  for n in missing if n.family == family]
        if lines:
            print("\n".join([f"{family}: {paper}", *lines]))
    return EXIT_OK


def _stale(figures: Sequence[Figure], sample: int | None) -> int:
    """Say which stored results are not of this tree's guests; whether there are none."""
    kept = {figure.id: document.stored(figure.id) for figure in figures}
    found = {figure.id: freshness.stale(figure, entry) if (entry := kept[figure.id])
             else "not measured yet" for figure in figures}
    late = {name: why for name, why in found.items() if why}
    for name, why in late.items():
        print(f"{name}: {why}")
    print(f"{len(late)} of {len(found)} figures are not of this tree")
    if sample:
        _sample([pair for figure in figures if (entry := kept[figure.id])
                 for pair in freshness.others(figure, entry)], sample)
    return EXIT_FAILED if late else EXIT_OK


def _sample(others: Sequence[tuple[runner.Wanted, str]], count: int) -> None:
    """Boot some of the guests that would be others now, and compare what they leave."""
    # A guest of several figures is one.
    pool = {kept: wanted for wanted, kept in others}
    chosen = secrets.SystemRandom().sample(sorted(pool), min(count, len(pool)))
    store, same = Store(), 0
    with ui.Progress("guests") as progress, tempfile.TemporaryDirectory() as logs:
        counter = _Counter(progress, len(chosen))
        how = runner.Session(False, Path(logs), store, runs.Reuse(), counter.told)
        for wanted, done in how.run([pool[kept] for kept in chosen]):
            why = freshness.unlike(done, chosen[done.index], store)
            same += not why
            ui.out(f"{wanted.title}: {why or 'the same bytes'}")
    print(f"{same} of {len(chosen)} guests leave the same bytes as those that were measured; "
          f"{len(pool)} would be others")


# ---- the run --------------------------------------------------------------

class _Counter:
    """Progress: guests done of all."""

    def __init__(self, progress: ui.Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0
        self.done: list[runs.Done] = []

    def told(self, wanted: runner.Wanted, done: runs.Done) -> None:
        """A guest has ended, or was in the store."""
        self.done.append(done)
        self._done += 1
        self._progress.update(f"[{self._done}/{self._total}] {wanted.figure.id}: {wanted.name}")


def _announce(figures: Sequence[Figure], quick: bool, reuse: runs.Reuse, at_once: int) -> int:
    """Say what will run and how long it takes; the number of guests."""
    wanted = [w for figure in figures for w in runner.known_runs(figure, quick)]
    boots = runner.to_boot(wanted, Store(), reuse)
    seconds = runner.estimate(boots, at_once)
    ui.info(f"{len(figures)} figures, {len(wanted)} guests, {len(boots)} of them to boot, "
            f"{at_once} at a time: about {ui.duration(seconds)} on idle CPUs")
    return len(wanted)


def _measure(args: argparse.Namespace, figures: Sequence[Figure],
             directory: Path) -> list[document.Entry]:
    """The entries of all figures, in the figures' order."""
    reuse = store_options.reuse_from(args)
    total = _announce(figures, args.quick, reuse, runs.workers(True, 1 << 10))
    entries = {}
    with ui.Progress("figures") as progress:
        counter = _Counter(progress, total)
        how = runner.Session(args.quick, directory / "logs", Store(), reuse, counter.told,
                             args.cluster)
        for figure, found in runner.measure(figures, how):
            entries[figure.id] = _judge(figure, found, args.quick)
            if not args.json:
                _show(entries[figure.id])
    if taken := runs.summary(counter.done, reuse):
        ui.info(taken)
    return [entries[figure.id] for figure in figures]


def _judge(figure: Figure, found: Data | CintError, quick: bool) -> document.Entry:
    if isinstance(found, CintError):
        return document.failed(figure, found)
    try:
        origin = freshness.Origin.of(figure, found, quick)
        return document.entry(figure, found, quick, origin.runs, origin.files)
    except CintError as problem:
        return document.failed(figure, problem)


def _show(entry: document.Entry) -> None:
    ui.out(f"{entry['id']}: {entry['title']}: {entry['verdict']}")
    for check in records.shown(entry["checks"]):
        mark = ui.paint_out(f"{check['verdict']:<13}", _COLOURS[check["verdict"]])
        paper = f", paper {page.number(check['paper'])}" if check["paper"] is not None else ""
        unit = f" {check['unit']}" if check["unit"] else ""
        beyond = f", {page.beyond(check)}" if "beyond" in check else ""
        ui.out(f"  {mark} {check['name']}: {page.number(check['measured'])}{unit} (wanted "
               f"{page.bounds(check['bounds'])}{paper}{beyond})")
        if check["remark"]:
            ui.out(f"                {check['remark']}")
    if entry["problem"]:
        ui.out(f"  {entry['problem']}")


def _commit() -> str:
    """The commit that the runs are of: pages and declarations of figures decide no run."""
    def git(*words: str) -> str:
        done = ask.run(["git", "-C", str(paths.ROOT), *words])
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--", ".", *(f":!{path}" for path in _NO_RUN))
    return f"{git('rev-parse', '--short', 'HEAD') or 'unknown'}{'-dirty' if changed else ''}"


def _facts(args: argparse.Namespace, policies: Sequence[properties.Policy]) -> records.Facts:
    cpus = f", {args.vcpus} CPUs" if args.vcpus else ""
    cpus += f", {kinds.note()}" if args.guest == "distro" else ""
    cpus += f", hints: {args.hints}" if args.hints else ""
    cpus += ", beside the paper's: " + ", ".join(p.name for p in policies) if policies else ""
    return {"commit": f"cint {_commit()}",
            "conditions": f"virtual time, {machine()}{cpus}, drain and max-hold off"}


def _drawings(figures: Sequence[Figure], entries: Sequence[document.Entry]) -> dict[str, str]:
    by_id = {entry["id"]: entry for entry in entries if not entry["problem"]}
    return {figure.id: draw.svg(figure, Data.from_dict(by_id[figure.id]["data"]))
            for figure in figures if figure.id in by_id and figure.panels}


def _write_docs(whole: records.Document) -> None:
    """Store the data in the tree, and write what follows from them there."""
    known = {figure.id: figure for figure in catalog.figures()}
    for entry in whole["figures"]:
        facts: records.Facts = {"commit": whole["commit"], "conditions": document.conditions(
            known[entry["id"]], whole["conditions"])}
        if not entry["problem"]:
            document.write(document.STORED / f"{entry['id']}.json", document.stamped(entry, facts))
    stored.write(stored.in_tree())


def _directory(out: Path | None) -> Path:
    """Where everything goes: a new one, or one of this verb's, in which the command goes on."""
    if out is None:
        return documents.new_directory("figures")
    ours = {document.FILE, webpage.FILE, "logs"}
    if out.is_dir() and all(p.name in ours or p.suffix == ".svg" for p in out.iterdir()):
        return out.resolve()
    return documents.check_empty(out)


def _check(args: argparse.Namespace) -> None:
    """Refuse what does not go together."""
    if args.stale and any((args.docs, args.quick, args.policy, args.vcpus, args.out, args.guest,
                           args.hints)):
        raise UsageError("--stale: takes figures, --set or --all, and nothing of how to run them")
    if args.sample and not args.stale:
        raise UsageError("--sample: only with --stale")
    if args.docs and args.quick:
        raise UsageError("--docs: not with --quick, whose numbers are not for conclusions")
    for option in ("vcpus", "policy", "guest", "hints"):
        if args.docs and getattr(args, option):
            raise UsageError(f"--docs: not with --{option}: the pages have the figures as declared")


def run(args: argparse.Namespace) -> int:
    if args.list:
        return _list(args)
    figures = catalog.choose(args.id, args.set, args.all or (
        args.stale and not (args.id or args.set)))
    store_options.check(args)
    _check(args)
    policies = properties.parse_policies(args.policy) if args.policy else []
    if policies:
        figures = [further.with_policies(figure, [p.name for p in policies])
                   for figure in figures]
    guest = args.guest or "cint"
    words = hinting.parse_list(args.hints, guest)
    if args.guest or args.hints:
        figures = [elsewhere.in_guest(figure, guest, words) for figure in figures]
    if args.vcpus:
        figures = [on_cpus(figure, args.vcpus) for figure in figures]
    if args.out is not None:
        documents.check_place(args.out)
    from cint.build import engine, setup  # noqa: PLC0415 - not needed for a list

    setup.ensure(args, _targets(figures), extras=() if args.stale else ("plots",))
    if args.stale:
        return _stale(figures, args.sample)
    hints.check_built(words)
    programs.make_disks(figures)
    engine.build_replay()  # for figures that replay what was traced
    directory = _directory(args.out)
    started = time.monotonic()
    entries = _measure(args, figures, directory)
    missing = [n for n in catalog.not_done() if args.all or n.family == args.set]
    whole = document.document(entries, missing, args.quick, _facts(args, policies))
    whole["wall_s"] = round(time.monotonic() - started, 1)
    drawings = _drawings(figures, entries)
    document.write(directory / document.FILE, whole)
    for name, drawing in drawings.items():
        (directory / f"{name}.svg").write_text(drawing, encoding="utf-8")
    where = webpage.write(directory, figures, whole, drawings)
    if args.docs:
        _write_docs(whole)
    _finish(args, whole, where)
    return EXIT_FAILED if whole["summary"][checks.FAIL] else EXIT_OK


def _targets(figures: Sequence[Figure]) -> list[str]:
    """What has to be built for their guests."""
    wanted = [(group.guest, who, any(work.app for work in group.workloads))
              for figure in figures for group in figure.groups
              for who in ([hints.MODULE if group.guest == "distro" else hints.ON]
                          if callable(group.runs) else [who_gives(group, r) for r in group.runs])]
    dynamic = any(group.preempt for figure in figures for group in figure.groups)
    return sorted({*(target for guest, who, disk in wanted
                     for target in kinds.targets(guest, [who], disk=disk)),
                   *(["linux-preempt"] if dynamic else [])})


def _finish(args: argparse.Namespace, whole: records.Document, where: Path) -> None:
    if args.json:
        print(json.dumps(whole, indent=1))
        return
    total, single = (", ".join(f"{found[v]} {v}" for v in _COLOURS if found[v])
                     for found in (whole["summary"], whole["numbers"]))
    print(f"{total}; by single numbers {single}" if single not in ("", total)
          else total or "no checks")
    print(f"page: {paths.display(where)}")
    ui.info(f"took {ui.duration(whole['wall_s'])}")
