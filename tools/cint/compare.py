# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint compare`: run fio in a guest under each policy and print a table."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cint import (
    agent,
    device,
    distro,
    host,
    measure,
    paths,
    plots,
    previous,
    report,
    results,
    scale,
    session,
    table,
    timers,
    ui,
    vm,
    workloads,
)
from cint.errors import EXIT_OK, CintError
from cint.settings import Settings, add_options, load_calibration, settings_from
from cint.workloads import Timing, Workload


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "compare", help="run fio in a guest under each policy and print a table",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Boot a guest once per policy, run fio in it, and print a comparison.\n"
        "The table goes to standard output, everything else to standard error; results.json,\n"
        "results.csv, report.html, plots and logs go to a new directory in results/.",
        epilog=f"policies: {device.POLICY_HELP}\n"
        f"          default: {device.DEFAULT_POLICIES}\n"
        f"media:    {', '.join(device.PROFILES)}; optane:read-latency=10us,units=4\n"
        "times:    all times and rates are those of the machine that the guest stands for;\n"
        "          what is scaled for --cpu-scale is in docs/scaling.md\n"
        "\n"
        "exit codes:\n"
        "  0 compared   1 a guest, a job or a build failed   2 wrong usage\n"
        "  124 a guest took too long   130 interrupted\n"
        "  With --json, standard output is one JSON document at 0 and empty otherwise.")
    add_options(parser)


# ---- guests -------------------------------------------------------------

def _hint_words(settings: Settings, policy: device.Policy) -> tuple[str, ...]:
    """What the guest's driver is told about hints.

    Out of order, its handler takes exactly what an interrupt is for. That belongs to
    the rows that are about it: with any other policy the handler takes all it finds,
    as a driver that knows of none of this does.
    """
    if settings.guest == "distro":  # whose kernel knows neither option
        return ()
    if not settings.hints:
        return ("nvme.irq_hints=0",)
    return () if policy.properties.get("cint.ooo") == "on" else ("nvme.ooo_urgent=0",)


def _append(settings: Settings, policy: device.Policy) -> tuple[str, ...]:
    cost = settings.cost_applied_ns
    return (*((f"nvme.irq_cost_ns={cost}",) if cost else ()), *_hint_words(settings, policy))


def machine_for(settings: Settings, policy: device.Policy, accel: host.Accel) -> vm.Machine:
    """The guest for one policy."""
    props = device.device_properties(policy, settings.media, settings.k, settings.virtual)
    opts = "" if policy.kind == "stock" else settings.device_opts
    machine = vm.Machine(props, opts, append=_append(settings, policy), vcpus=settings.vcpus,
                         virtual=settings.virtual, accel=accel.name, cpu=accel.cpu,
                         backend=vm.Backend(settings.drive))
    return distro.dress(machine, settings.guest)


def job_name(workload: Workload, repeat: int) -> str:
    """A job's name in the plan."""
    return f"{workload.name}/{repeat}"


def plan_for(settings: Settings) -> agent.Plan:
    """What every guest does; the same for all policies."""
    jobs = [session.facts_job()]
    for repeat in range(settings.repeat):
        timing = Timing(settings.timing.runtime_s, settings.timing.ramp_s, seed=repeat + 1)
        for workload in settings.workloads:
            seconds = workloads.guest_seconds(workload, timing, settings.k)
            jobs.append(agent.Job(job_name(workload, repeat),
                                  fio=workloads.render(workload, timing, settings.k),
                                  args=("--eta=never",), timeout_s=round(30 + 3 * seconds)))
    return agent.Plan(tuple(jobs), session.scale_setup(settings.k))


def longest_job(settings: Settings) -> float:
    """Guest seconds of the longest job."""
    return max(workloads.guest_seconds(w, settings.timing, settings.k)
               for w in settings.workloads)


def samples_from(settings: Settings, outcome: session.Outcome) -> list[measure.Sample]:
    """All samples of one guest."""
    return [measure.sample(outcome.name, w.name, r, outcome.results[job_name(w, r)],
                           settings.vcpus)
            for r in range(settings.repeat) for w in settings.workloads]


def rows_from(settings: Settings, samples: Sequence[measure.Sample]) -> list[measure.Row]:
    """The table of all samples, with ratios, in the order typed."""
    found: list[measure.Row] = []
    for workload in settings.workloads:
        for policy in settings.policies:
            mine = [s for s in samples
                    if s.workload == workload.name and s.policy == policy.name]
            found += measure.rows(mine, settings.k, workload.latency_job, workload.split)
    return measure.with_ratios(found, settings.baseline)


# ---- what is said -------------------------------------------------------

def in_force(settings: Settings, outcomes: Sequence[session.Outcome]) -> bool:
    """Whether every guest's kernel really spends the interrupt cost."""
    if not settings.cost_applied_ns:
        return False
    wanted = str(settings.cost_applied_ns)
    return all(o.facts.get("irq_cost_ns") == wanted for o in outcomes)


def lateness_notes(settings: Settings, rows: Sequence[measure.Row]) -> list[str]:
    """Real time only: the time that each policy asked for, and the one it got."""
    return timers.notes(timers.collect({p.name: p.properties for p in settings.policies}, rows))


def notes_for(settings: Settings, outcomes: Sequence[session.Outcome],
              accel: host.Accel, rows: Sequence[measure.Row]) -> list[str]:
    """Remarks that belong to every print of these results."""
    notes = [distro.note()] if settings.guest == "distro" else []
    if not settings.virtual:
        notes.append(f"real time on {accel.name}: {accel.reason}")
        notes += lateness_notes(settings, rows)
    if settings.virtual:
        notes.append(_scale_note(settings))
        if settings.vcpus > 1:
            notes.append("several CPUs in virtual time share the one instruction per ns, and not "
                         "evenly: right only while one of them is busy at a time")
    if in_force(settings, outcomes):
        notes.append(f"interrupt cost: {settings.cost_ns} ns each "
                     f"({settings.cost_applied_ns} ns in the guest)")
    elif settings.virtual:
        notes.append("interrupt cost: none"
                     + (", because the guest kernel has no nvme.irq_cost_ns"
                        if settings.cost_applied_ns or settings.guest == "distro" else "")
                     + "; throughput ratios are uncalibrated")
    if any(p.kind == "stock" for p in settings.policies):
        notes.append("stock: the device without cint; it has no media model (its backend answers "
                     "at once) and no counters")
    notes += hint_notes(settings, outcomes, rows)
    if settings.quick:
        notes.append("--quick: jobs too short for conclusions")
    for outcome in outcomes:
        notes += [f"{outcome.name}: guest kernel: {line}" for line in outcome.trouble[:3]]
    return notes


def hint_notes(settings: Settings, outcomes: Sequence[session.Outcome],
               rows: Sequence[measure.Row]) -> list[str]:
    """What cint had to go by; and that pointer has nothing to go by."""
    notes = []
    cint = [p.name for p in settings.policies if p.kind == "cint"]
    if cint and not settings.hints:
        notes.append("hints: this guest gives none; under cint the device infers them from "
                     "doorbell writes")
    elif cint and not any(marked(r) for r in rows if r.policy in cint):
        notes.append("warning: no command under cint had a hint: does the guest's kernel give any? "
                     + _said(outcomes, "irq_hints"))
    if any(p.kind == "pointer" for p in settings.policies):
        notes.append("pointer: a driver that does not write the queues' interrupt pointers, as "
                     "here, gets an interrupt for each completion, as under default")
    return notes


def marked(row: measure.Row) -> int:
    """Commands with a hint."""
    return sum(count for name, count in row.hints.items() if name != "none")


def _said(outcomes: Sequence[session.Outcome], fact: str) -> str:
    """What the guests say of a fact."""
    said = {o.facts.get(fact, "not there") for o in outcomes}
    return f"(nvme.{fact}: {', '.join(sorted(said))})"


def _scale_note(settings: Settings) -> str:
    text = f"virtual time: 1 instruction per ns, cpu-scale {settings.cpu_scale:g}"
    stored = load_calibration()
    proposal = stored["proposal"] if stored else None
    if proposal:
        text += (f" (calibration proposes {proposal['cpu_scale']:.2f} and "
                 f"{proposal['irq_cost_ns']:.0f} ns)")
    return text + "; figures are converted back"


def document_for(settings: Settings, outcomes: Sequence[session.Outcome], accel: host.Accel,
                 wall_s: float) -> results.Document:
    """The content of results.json."""
    samples = [s for o in outcomes for s in samples_from(settings, o)]
    rows = rows_from(settings, samples)
    image = results.image_versions()
    fio = next((s.fio_version for s in samples if s.fio_version), "unknown")
    return {
        "schema": results.SCHEMA, "kind": "compare", "created": results.utc_now(),
        "repeat_command": settings.repeat_command, "wall_s": round(wall_s, 3),
        "quick": settings.quick, "tool": {"version": results.tool_version()},
        "host": results.host_info(),
        "versions": {"qemu": results.qemu_version(),
                     "kernel": str(outcomes[0].hello.get("kernel", "unknown")),
                     "fio": str(fio).removeprefix("fio-"), "image": image},
        "time": "virtual" if settings.virtual else "real",
        "accel": {"name": accel.name, "cpu": accel.cpu, "reason": accel.reason},
        "scale": {"k": settings.k, "cpu_scale": settings.cpu_scale,
                  "table": scale.as_rows(settings.k)},
        "irq_cost": {"reported_ns": settings.cost_ns, "applied_ns": settings.cost_applied_ns,
                     "in_force": in_force(settings, outcomes)},
        "calibration": load_calibration(),
        "parameters": parameters_for(settings), "baseline": settings.baseline,
        "policies": [_policy_entry(settings, p, o)
                     for p, o in zip(settings.policies, outcomes, strict=True)],
        "workloads": [_workload_entry(settings, w) for w in settings.workloads],
        "rows": [r.as_dict() for r in rows],
        "samples": [results.sample_dict(s) for s in samples],
        "notes": notes_for(settings, outcomes, accel, rows)}


def parameters_for(settings: Settings) -> dict[str, Any]:
    """What was asked for, reported times."""
    media = asdict(settings.media)
    return {"media": media | {"overrides": dict(settings.media.overrides)},
            "guest": settings.guest, "hints": settings.hints, "vcpus": settings.vcpus,
            "runtime_s": settings.timing.runtime_s, "ramp_s": settings.timing.ramp_s,
            "repeat": settings.repeat,
            "drive": str(settings.drive) if settings.drive else None,
            "device_opts": settings.device_opts}


def _policy_entry(settings: Settings, policy: device.Policy,
                  outcome: session.Outcome) -> dict[str, Any]:
    props = device.device_properties(policy, settings.media, settings.k, settings.virtual)
    return {"name": policy.name, "kind": policy.kind, "label": policy.label,
            "properties": dict(policy.properties), "applied": dict(props),
            "qemu": outcome.argv, "boot_wall_s": round(outcome.boot_wall_s, 3),
            "first_io_s": outcome.hello.get("first_io_s"), "facts": dict(outcome.facts),
            "kernel_trouble": outcome.trouble}


def _workload_entry(settings: Settings, workload: Workload) -> dict[str, Any]:
    scaled = (workloads.scale_job_text(workload.template, settings.k)[1]
              if workload.own else [])
    return {"name": workload.name, "title": workload.title, "latency_job": workload.latency_job,
            "fio": workloads.render(workload, settings.timing, settings.k), "scaled": scaled}


def print_table(settings: Settings, document: results.Document, where: Path) -> None:
    """The table on standard output."""
    titles = {w.name: w.title for w in settings.workloads}
    for workload in settings.workloads:
        if workload.latency_job:
            titles[workload.name] += f"; latency: the {workload.latency_job} job's"
    paint = ui.paint if sys.stdout.isatty() else table.plain
    lines = table.format_rows(results.rows_from(document), titles, settings.baseline, paint)
    lines += timers.format_lines(timers.of_document(document), paint)
    lines += previous.format_lines(document.get("previous"), paint)
    lines += ["", *(_note_line(note, paint) for note in document["notes"])]
    lines += [f"repeat: {settings.repeat_command}", f"results: {paths.display(where)}",
              f"report: {paths.display(where / report.FILE)}"]
    print("\n".join(lines).lstrip("\n"))


def _note_line(note: str, paint: table.Paint) -> str:
    text = f"{note}."
    return paint(text, "yellow") if note.startswith(timers.WARNING) else text


def dry_run_text(settings: Settings, accel: host.Accel) -> str:
    """What would run, in a form that can be copied."""
    parts = []
    for policy in settings.policies:
        machine = machine_for(settings, policy, accel)
        parts += [f"# QEMU for policy {policy.name}", vm.shell_line(vm.machine_args(machine)), ""]
    parts += ["# kernel command line", vm.kernel_cmdline(machine), ""]
    for workload in settings.workloads:
        text = workloads.render(workload, settings.timing, settings.k)
        parts += [f"# fio job {workload.name}", text]
    if settings.virtual:
        parts += [f"# scaled by k = {settings.k:g}", scale.as_markdown()]
    return "\n".join(parts)


# ---- the run ------------------------------------------------------------

class _Counter:
    """Progress: jobs done of all, and what runs now."""

    def __init__(self, progress: ui.Progress, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0
        self._now: dict[str, str] = {}
        progress.update(f"[0/{total}] booting")

    def notify(self, task: str, job: str, done: bool) -> None:
        """Called at each edge of a job, from the guests' threads."""
        if job == session.FACTS_JOB:
            return
        self._done += done
        self._now[task] = job.partition("/")[0]
        running = ", ".join(f"{t}: {j}" for t, j in self._now.items() if j)
        if done:
            self._now[task] = ""
        self._progress.update(f"[{self._done}/{self._total}] {running}")


def choose_accel(virtual: bool) -> host.Accel:
    """The accelerator and why."""
    if virtual:
        return host.Accel("tcg", "max", "virtual time needs instruction counting, which only "
                                        "TCG has")
    choice = host.choose_accel()
    if choice.name == "none":
        raise CintError(f"no accelerator works here: {choice.reason}", hint="see ./cint doctor")
    return choice


def _many(count: int, one: str, several: str | None = None) -> str:
    return f"{count} {one if count == 1 else several or one + 's'}"


def run_guests(settings: Settings, accel: host.Accel, directory: Path) -> list[session.Outcome]:
    """Boot every guest and run the plan; outcomes are in the policies' order."""
    plan = plan_for(settings)
    tasks = [session.Task(p.name, machine_for(settings, p, accel), plan,
                          directory / "logs" / p.slug, longest_job(settings),
                          settings.boot_limit_s) for p in settings.policies]
    at_once = session.workers(settings.virtual, len(tasks))
    total = len(tasks) * settings.repeat * len(settings.workloads)
    ui.info(f"comparing {_many(len(tasks), 'policy', 'policies')} in "
            f"{_many(len(settings.workloads), 'workload')}: {_many(total, 'run')} of "
            f"{device.format_time(settings.timing.runtime_s * 1e9)}, "
            f"{_many(at_once, 'guest')} at a time")
    with ui.Progress("compare") as progress:
        return session.run_tasks(tasks, at_once, _Counter(progress, total).notify)


def run(args: argparse.Namespace) -> int:
    """Run the verb; the exit code."""
    settings = settings_from(args)
    if args.dry_run:
        print(dry_run_text(settings, choose_accel(settings.virtual)))
        return EXIT_OK
    from cint import setup  # noqa: PLC0415 - not needed for a dry run

    setup.ensure(args, distro.targets(settings.guest))
    accel = choose_accel(settings.virtual)
    directory = results.new_directory(args.out, "compare")
    started = time.monotonic()
    outcomes = run_guests(settings, accel, directory)
    document = document_for(settings, outcomes, accel, time.monotonic() - started)
    document["previous"] = None if args.no_previous else previous.find(document)
    write_all(document, directory, plot=not args.no_plots)
    if args.json:
        print(json.dumps(document, indent=1))
    else:
        print_table(settings, document, directory)
    return EXIT_OK


def write_all(document: results.Document, directory: Path, plot: bool) -> None:
    """Write every file of the results directory."""
    results.write_json(directory, document)
    results.write_csv(directory, results.rows_from(document))
    report.write(document, directory)
    results.point_latest(directory)
    if not plot:
        return
    try:
        plots.write(document, directory)
    except (ImportError, OSError) as err:
        ui.warn(f"no plots: {err}", "results.json and results.csv are complete")
