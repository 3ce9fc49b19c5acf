# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint compare`: run fio in a guest under each policy and print a table."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

from cint import host, paths, ui
from cint.build import image
from cint.device import properties
from cint.errors import EXIT_OK, UsageError
from cint.guest import appdisk, hints, vm
from cint.measure import agreeing, best, boots, comparison, runner
from cint.measure.settings import Settings
from cint.measure.store import Store
from cint.measure.workloads import DEVICE_NODE, Workload
from cint.options.comparing import add_options, settings_from
from cint.options.store import reuse_from
from cint.results import (
    assembly,
    documents,
    plots,
    previous,
    printing,
    table,
    unfinished,
    webpage,
)

#: From so many seconds on, a policy's numbers are shown when its guest has ended.
EARLY_ROWS_S = 5.0


def declare(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Boot a guest once per policy, run fio in it, and print a comparison.\n"
        "The table goes to standard output, everything else to standard error; results.json,\n"
        "results.csv, report.html, plots and logs go to a new directory in results/.")
    parser.epilog = (
        f"policies: {properties.POLICY_HELP}\n"
        f"          default: {properties.DEFAULT_POLICIES}\n"
        f"media:    {', '.join(properties.PROFILES)}; optane:read-latency=10us,units=4\n"
        "times:    all times and rates are those of the machine that the guest stands for;\n"
        "          what is scaled for --cpu-scale is in docs/scaling.md\n"
        "\n"
        "exit codes:\n"
        "  0 compared   1 a guest, a job or a build failed   2 wrong usage\n"
        "  124 a guest took too long   130 interrupted\n"
        "  With --json, standard output is one JSON document at 0 and empty otherwise.")
    add_options(parser)


# ---- what would run --------------------------------------------------------

def dry_run_text(settings: Settings, composed: comparison.Composed, accel: host.Accel) -> str:
    """The runs in a form that can be copied: the first guest of each row."""
    guests = [(boot.arm.name, guest.on(accel)) for boot, guest in composed if boot.repeat == 0]
    jobs = [text for workload in settings.workloads
            for text in _job_texts(settings, workload, guests)]
    parts = []
    for name, guest in guests:
        parts += [f"# QEMU for policy {name}", vm.shell_line(vm.machine_args(guest.machine)), ""]
    parts += ["# kernel command line", vm.kernel_cmdline(guests[-1][1].machine), "", *jobs]
    if settings.virtual:
        parts += [f"# times are scaled by k = {settings.k:g}: those of the device and of the jobs "
                  "above are the guest's (docs/scaling.md has every entry)", ""]
    return "\n".join(parts)


def _job_texts(settings: Settings, workload: Workload,
               guests: Sequence[tuple[str, boots.Guest]]) -> list[str]:
    """A workload's job texts, each with its title: those of rows may differ."""
    job_name = boots.job_name(workload, 0)
    by_text: dict[str, list[str]] = {}
    for name, guest in guests:
        job = next(job for job in guest.plan.jobs if job.name == job_name)
        by_text.setdefault(workload.app.run if workload.app else str(job.fio), []).append(name)
    what = "commands of" if workload.app else "fio job"
    if settings.rule_of(workload):
        what = f"fio {' '.join(agreeing.ARGS)}, job"
    return [part for text, names in by_text.items() for part in (
        f"# {what} {workload.name}"
        + (f", policies {', '.join(names)}" if len(by_text) > 1 else ""), text)]


# ---- the run ------------------------------------------------------------


def run(args: argparse.Namespace) -> int:
    settings = settings_from(args)
    composed = comparison.compose(settings)
    accel = _prepare(args, settings)
    if args.dry_run:
        print(dry_run_text(settings, composed, accel))
        return EXIT_OK
    return _measure(args, settings, accel, comparison.asked_for(composed, accel))


def _prepare(args: argparse.Namespace, settings: Settings) -> host.Accel:
    """Build what the guests need, and refuse what can be before one is booted.

    A dry run builds nothing: what is refused is what those programs say that are there. Returns
    the accelerator, which QEMU is asked for.
    """
    if not args.dry_run:
        _build(args, settings)
    accel = comparison.choose_accel(settings.virtual)
    vm.check_trace(settings.trace)
    hints.check_built(arm.hints for arm in settings.arms)
    for workload in settings.workloads:
        text = workload.template.replace("${DEVICE}", DEVICE_NODE)
        if workload.own and (said := image.complaint(text)):
            raise UsageError(f"{workload.title}: fio says: {said}")
    if settings.app is not None and not args.dry_run:
        appdisk.make(settings.app.disk)
    return accel


def _build(args: argparse.Namespace, settings: Settings) -> None:
    from cint.build import setup  # noqa: PLC0415 - not needed for a dry run

    if args.out is not None:
        unfinished.check(args.out, settings.repeat_command)
    if settings.app is not None:
        appdisk.look_up(settings.app.disk)
    setup.ensure(args, settings.targets, extras=() if args.no_plots else ("plots",))


def _measure(args: argparse.Namespace, settings: Settings, accel: host.Accel,
             asked: Sequence[comparison.Asked]) -> int:
    """Run what is to be run, write all that came of it, show it; then fail if a guest did."""
    reuse = reuse_from(args) if settings.pure else runner.Reuse()
    place, begun = unfinished.begin(args.out, "compare", settings.repeat_command,
                                    comparison.identity(asked))
    store = Store() if settings.pure else place.journal(fresh=args.fresh)
    started = time.monotonic()

    def keep(one: comparison.Ended) -> None:
        place.add(map(documents.sample_dict, one.samples))
        if time.monotonic() - started >= EARLY_ROWS_S:
            rows = comparison.tabulate(settings, one.samples)
            ui.info(f"{one.boot.arm.name}: {table.brief(rows)}")

    with place:
        if begun:
            ui.info(f"going on in {paths.display(place.path)}")
        guests = comparison.run_guests(settings, asked, place.path, store, reuse,
                                       cluster=args.cluster, told=keep)
        if taken := runner.summary(guests.done, reuse):
            ui.info(taken if settings.pure else taken.replace("the store", "before"))
        problem = guests.failed[0][1] if guests.failed else None
        if problem is not None and not guests.outcomes:
            raise problem
        shown, kept, found = best.chosen(settings, guests)
        document = assembly.document_for(
            shown, kept, accel, time.monotonic() - started, args.label, timer=found,
            line=best.line(settings, accel, store) if settings.pure else ())
        _show(args, document, place.path, whole=problem is None)
        if problem is not None:
            raise problem
        place.complete()
    return EXIT_OK


def _show(args: argparse.Namespace, document: documents.Document, directory: Path, *,
          whole: bool) -> None:
    """Write every file of the results directory, and print the table or the document."""
    document["previous"] = None if args.no_previous else previous.find(document)
    write_all(document, directory)
    if args.json and whole:
        print(json.dumps(document, indent=1), flush=True)
    elif not args.json:
        printing.print_table(document, directory)
    if not args.no_plots:
        _draw(document, directory)  # takes seconds, and the table is what is waited for


def write_all(document: documents.Document, directory: Path) -> None:
    """Write every file of the results directory but the plots."""
    documents.write_json(directory, document)
    documents.write_csv(directory, documents.rows_from(document))
    webpage.write(document, directory)
    documents.point_latest(directory)


def _draw(document: documents.Document, directory: Path) -> None:
    """Write the plots, if that can be done here."""
    try:
        plots.write(document, directory)
    except (ImportError, OSError) as err:
        ui.warn(f"no plots: {err}", "results.json and results.csv are complete")
