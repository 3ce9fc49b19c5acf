# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint compare`: run fio in a guest under each policy and print a table."""

from __future__ import annotations

import argparse
import json
import shutil
import time
from pathlib import Path

from cint import host, paths, ui
from cint.build import image
from cint.device import properties
from cint.errors import EXIT_OK, UsageError
from cint.guest import appdisk, hints, session, vm
from cint.measure import agreeing, best, boots, comparison, runner
from cint.measure.settings import Settings
from cint.measure.store import Journal, Store
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

def dry_run_text(settings: Settings, accel: host.Accel) -> str:
    """What would run, in a form that can be copied."""
    parts = []
    for arm in settings.arms:
        machine = boots.machine_for(settings, arm, accel)
        parts += [f"# QEMU for policy {arm.name}", vm.shell_line(vm.machine_args(machine)), ""]
    parts += ["# kernel command line", vm.kernel_cmdline(machine), ""]
    for workload in settings.workloads:
        parts += _job_texts(settings, workload)
    if settings.virtual:
        parts += [f"# times are scaled by k = {settings.k:g}: those of the device and of the jobs "
                  "above are the guest's (docs/scaling.md has every entry)", ""]
    return "\n".join(parts)


def _job_texts(settings: Settings, workload: Workload) -> list[str]:
    """A workload's job texts, each with its title: those of rows may differ."""
    by_text: dict[str, list[str]] = {}
    for arm in settings.arms:
        text = boots.render(settings, arm, workload, settings.timing)
        by_text.setdefault(text, []).append(arm.name)
    what = "commands of" if workload.app else "fio job"
    if settings.rule_of(workload):
        what = f"fio {' '.join(agreeing.ARGS)}, job"
    return [part for text, names in by_text.items() for part in (
        f"# {what} {workload.name}"
        + (f", policies {', '.join(names)}" if len(by_text) > 1 else ""), text)]


# ---- the run ------------------------------------------------------------


def run(args: argparse.Namespace) -> int:
    settings = settings_from(args)
    if not args.dry_run:
        _build(args, settings)
    accel = comparison.choose_accel(settings.virtual)
    _check_built(settings)
    if args.dry_run:
        print(dry_run_text(settings, accel))
        return EXIT_OK
    if settings.app is not None:
        appdisk.make(settings.app.disk)
    place, begun = unfinished.begin(args.out, "compare", settings.repeat_command,
                                    comparison.identity(settings, accel))
    with place:
        if begun:
            ui.info(f"going on in {paths.display(place.path)}")
        return _fill(args, settings, accel, place)


def _build(args: argparse.Namespace, settings: Settings) -> None:
    """Build what the guests need, after what can be refused before that."""
    from cint.build import setup  # noqa: PLC0415 - not needed for a dry run

    if args.out is not None:
        unfinished.check(args.out, settings.repeat_command)
    if settings.app is not None:
        appdisk.look_up(settings.app.disk)
    setup.ensure(args, settings.targets, extras=() if args.no_plots else ("plots",))


def _check_built(settings: Settings) -> None:
    """Refuse what only the programs that are built know, before a guest is booted.

    In a dry run that is what those say that are there.
    """
    vm.check_trace(settings.trace)
    hints.check_built(arm.hints for arm in settings.arms)
    for workload in settings.workloads:
        text = workload.template.replace("${DEVICE}", DEVICE_NODE)
        if workload.own and (said := image.complaint(text)):
            raise UsageError(f"{workload.title}: fio says: {said}")


def _fill(args: argparse.Namespace, settings: Settings, accel: host.Accel,
          place: unfinished.Unfinished) -> int:
    """Run what is to be run, write all that came of it, show it; then fail if a guest did."""
    store, reuse = _store(args, settings, place)
    started = time.monotonic()

    def keep(outcome: session.Outcome) -> None:
        samples = comparison.samples_from(settings, outcome)
        place.add(map(documents.sample_dict, samples))
        if time.monotonic() - started >= EARLY_ROWS_S:
            ui.info(f"{outcome.name}: {table.brief(comparison.rows_from(settings, samples))}")

    guests = comparison.run_guests(settings, accel, place.path, store, reuse,
                                   cluster=args.cluster, ended=keep)
    if taken := runner.summary(guests.done, reuse):
        ui.info(taken if settings.pure else taken.replace("the store", "before"))
    problem = guests.failed[0][1] if guests.failed else None
    if problem is not None and not guests.outcomes:
        raise problem
    shown, kept, found = best.chosen(settings, guests)
    document = assembly.document_for(
        shown, kept, accel, time.monotonic() - started, args.label, timer=found,
        line=best.line(settings, accel, store) if settings.pure else ())
    document["previous"] = None if args.no_previous else previous.find(document)
    write_all(document, place.path)
    if args.json and problem is None:
        print(json.dumps(document, indent=1), flush=True)
    elif not args.json:
        printing.print_table(document, place.path)
    if not args.no_plots:
        _draw(document, place.path)  # takes seconds, and the table is what is waited for
    if problem is None:
        place.complete()
    else:
        raise problem
    return EXIT_OK


def _store(args: argparse.Namespace, settings: Settings,
           place: unfinished.Unfinished) -> tuple[Store, runner.Reuse]:
    """Where runs are taken from and kept, and what is taken."""
    if settings.pure:
        return Store(), reuse_from(args)
    if args.fresh:
        shutil.rmtree(place.runs, ignore_errors=True)
    return Journal(place.runs), runner.Reuse()


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
