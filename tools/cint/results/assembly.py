# SPDX-License-Identifier: GPL-2.0-or-later
"""results.json of a comparison: what was asked for, where it ran, what came of it, and remarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from cint import host, units
from cint.device import properties, scale
from cint.errors import CintError
from cint.guest import hints, kinds, session
from cint.measure import agreeing, best, comparison, records, runner, sampling, workloads
from cint.measure.arms import Arm
from cint.measure.settings import CALIBRATED, Settings
from cint.measure.workloads import Workload
from cint.results import documents, lateness


def lateness_notes(settings: Settings, rows: Sequence[sampling.Row], accel: str) -> list[str]:
    """Real time only: whether timers held, the time each policy asked for, and the one it got."""
    timers = lateness.collect({arm.name: arm.policy.properties for arm in settings.arms}, rows)
    return [f"verdict: {lateness.verdict(timers, accel)}", *lateness.notes(timers)]


def notes_for(settings: Settings, outcomes: Sequence[session.Outcome],
              accel: host.Accel, rows: Sequence[sampling.Row]) -> list[str]:
    """Remarks that belong to every print of these results."""
    notes = [kinds.note()] if settings.guest == "distro" else []
    if not settings.virtual:
        notes.append(f"real time on {accel.name}: {accel.reason}")
        notes += lateness_notes(settings, rows, accel.name)
    if settings.virtual:
        notes.append(_scale_note(settings))
    if comparison.in_force(settings, outcomes):
        notes.append(f"interrupt cost: {settings.cost_ns} ns each "
                     f"({settings.cost_applied_ns} ns in the guest)")
    elif settings.virtual:
        notes.append("interrupt cost: none"
                     + (", because the guest kernel has no nvme.irq_cost_ns"
                        if settings.cost_applied_ns or settings.guest == "distro" else "")
                     + "; throughput ratios are uncalibrated")
    if any(arm.policy.kind == "stock" for arm in settings.arms):
        notes.append("stock: the device without cint; it has no media model (its backend answers "
                     "at once) and no counters")
    notes += hint_notes(settings, outcomes, rows)
    if settings.quick:
        notes.append("--quick: jobs too short for conclusions")
    for outcome in outcomes:
        notes += [f"{outcome.name}: guest kernel: {line}" for line in outcome.trouble[:3]]
    return notes


def hint_notes(settings: Settings, outcomes: Sequence[session.Outcome],
               rows: Sequence[sampling.Row]) -> list[str]:
    """Notes on the hints that cint had to go by; and that pointer has nothing to go by."""
    notes = []
    cint = [arm.name for arm in settings.arms if arm.policy.kind == "cint"]
    if any(arm.hints == hints.MODULE for arm in settings.arms):
        notes.append(f"hints: rows with /{hints.MODULE} have those of the module "
                     "(docs/hints-module.md); in the others the device infers them under cint")
    if any(arm.rules for arm in settings.arms):
        notes.append(f"hints: rows with /{hints.PRELOAD} have those of rules, by flags for our "
                     "kernel and by priorities for the module (docs/preload.md)")
    if cint and not notes and not settings.hints:
        notes.append("hints: this guest gives none; under cint the device infers them from "
                     "doorbell writes")
    elif cint and not notes and not any(marked(r) for r in rows if r.policy in cint):
        notes.append("warning: no command under cint had a hint: does the guest's kernel give any? "
                     + _said(outcomes, "irq_hints"))
    notes += [_lone_batches(row) for row in rows if row.policy in cint and is_all_barriers(row)]
    if any(arm.policy.kind == "pointer" and not arm.engine.is_user for arm in settings.arms):
        notes.append("pointer: a driver that does not write the queues' interrupt pointers, as "
                     "here, gets an interrupt for each completion, as under default")
    return notes


#: From this share of a workload's commands on, and below so many I/Os an interrupt, an interrupt
#: for each Barrier is an interrupt for each command.
_MOST, _FEW = 0.9, 1.2


def is_all_barriers(row: sampling.Row) -> bool:
    """Whether nearly each command is the last of a batch of its own, so that cint is `default`."""
    merged, total = row.values.get("ios_per_irq"), sum(row.hints.values())
    return bool(row.job is None and merged and merged < _FEW and total
                and row.hints.get("barrier", 0) >= _MOST * total)


def _lone_batches(row: sampling.Row) -> str:
    share = 100 * row.hints["barrier"] / sum(row.hints.values())
    return (f"{row.workload}: under {row.policy} {share:.0f} % of the commands were Barriers, each "
            "the last of a batch of one, so that nothing was coalesced; --extras device has marks "
            "that serve such a job; so do batches, by iodepth_batch_submit= and "
            "iodepth_batch_complete_min= of fio")


def marked(row: sampling.Row) -> int:
    """Commands with a hint."""
    return sum(count for name, count in row.hints.items() if name != "none")


def _said(outcomes: Sequence[session.Outcome], fact: str) -> str:
    """What the guests say of a fact."""
    said = {o.facts.get(fact, "not there") for o in outcomes}
    return f"(nvme.{fact}: {', '.join(sorted(said))})"


def _scale_note(settings: Settings) -> str:
    text = f"virtual time: 1 instruction per ns, cpu-scale {settings.cpu_scale:g}"
    if settings.vcpus > 1:
        text = (f"virtual time: {settings.vcpus} CPUs with 1 instruction per {settings.vcpus} ns "
                f"each, cpu-scale {settings.cpu_scale:g} x {settings.vcpus}")
    if (settings.cpu_scale, settings.cost_ns) != tuple(CALIBRATED.values()):
        text += (f" (calibrated: {CALIBRATED['cpu_scale']:g} and "
                 f"{CALIBRATED['irq_cost_ns']:g} ns)")
    return text + "; figures are converted back"


def run_notes(settings: Settings, rows: Sequence[sampling.Row],
              failed: Sequence[tuple[comparison.Turn, CintError]]) -> list[str]:
    """How often each policy was run, what is missing, and where the rates are from."""
    notes = []
    if settings.repeat > 1 or settings.seed != 1:
        seeds = ", ".join(map(str, settings.seeds))
        notes.append(f"{settings.repeat} boots of each policy, seeds {seeds}"
                     if settings.repeat > 1 else f"seed {seeds}")
    notes += [f"warning: missing: {boot.name}: {problem.message}" for boot, problem in failed]
    notes += _agreement_notes(settings, rows)
    uneven: dict[str, float] = {}
    for row in rows:
        if not row.even and row.window_s is not None:
            uneven[row.workload] = min(row.window_s, uneven.get(row.workload, row.window_s))
    notes += [f"{name}: its jobs did not run all the time together; " + (
              f"rates are of the {seconds:.3g} s in which all of them ran" if seconds else
              "the rates of jobs are their own, that of all is of the time in which any ran")
              for name, seconds in uneven.items()]
    return notes


def _agreement_notes(settings: Settings, rows: Sequence[sampling.Row]) -> list[str]:
    """When runs ended that had no fixed time; of each that did not agree by then why."""
    runs = [row for row in rows if row.job is None]
    if not runs or not settings.rule:
        return []
    percent, most = 100 * settings.rule.error, units.format_time(settings.timing.runtime_s * 1e9)
    ended = [row.agreement["longest_s"] for row in runs
             if row.agreement and row.agreement["agreed"] == row.repeats]
    text = (f"runs ended where ten blocks of them agreed to {percent:g} %, or after {most}: "
            f"{len(ended)} of {len(runs)} agreed")
    if ended:
        ends = dict.fromkeys(f"{seconds:.2g}" for seconds in (min(ended), max(ended)))
        text += f", after {' to '.join(ends)} s"
    others: dict[str, list[str]] = {}
    for row in runs:
        why, more = _disagreement(settings, settings.rule, row)
        if why:
            others.setdefault(why, []).append(f"{row.workload} under {row.policy}{more}")
    return [text, *(f"{why}: {', '.join(names)}" for why, names in others.items())]


def _disagreement(settings: Settings, rule: agreeing.Rule, row: sampling.Row) -> tuple[str, str]:
    """Why a row's runs did not end by their agreement, if they did not, and a number to it."""
    one = row.agreement
    most = units.format_time(settings.timing.runtime_s * 1e9)
    alone = f"a job ended by itself, or went on to verify, before {most}"
    if one is None:
        return alone, ""
    if one["agreed"] == row.repeats:
        return "", ""
    if one["longest_s"] < agreeing.EARLY * settings.timing.runtime_s:
        return alone, f" ({one['longest_s']:.2g} s)"
    if one["error"] is None:
        return ("whether they agree is not known, since a tenth of the run is shorter than the "
                "policy's own time or has no I/O"), ""
    if one["error"] > rule.error:
        return "did not agree", f" ({100 * one['error']:.2g} %)"
    return f"agreed with fewer than {agreeing.LEAST_IOS} I/Os of a job", ""


def document_for(settings: Settings, guests: comparison.Guests, accel: host.Accel,
                 wall_s: float, label: str | None = None, *,
                 timer: best.Found | None = None,
                 line: Sequence[sampling.Row] = ()) -> documents.Document:
    """The content of results.json; ``line`` has rows of timers that were known already."""
    outcomes, samples = guests.outcomes, guests.samples
    rows = comparison.tabulate(settings, samples)
    notes = [*run_notes(settings, rows, guests.failed),
             *notes_for(settings, outcomes, accel, rows),
             *([timer.note()] if timer else [])]
    # Rows may have other images than the first, as those of --engine do.
    image = documents.image_versions(guests.ended[0].guest.machine.initramfs)
    fio = next((s.fio_version for s in samples if s.fio_version), "unknown")
    found: documents.Document = {
        "schema": documents.SCHEMA, "kind": "compare", "created": documents.utc_now(),
        "label": label, "repeat_command": settings.repeat_command, "wall_s": round(wall_s, 3),
        "quick": settings.quick, "tool": {"version": documents.tool_version()},
        "host": documents.host_info(),
        "versions": {"qemu": documents.qemu_version(),
                     "kernel": str(outcomes[0].hello.get("kernel", "unknown")),
                     "fio": str(fio).removeprefix("fio-"), "image": image},
        "time": "virtual" if settings.virtual else "real",
        "accel": {"name": accel.name, "cpu": accel.cpu, "reason": accel.reason},
        "scale": {"k": settings.k, "cpu_scale": settings.cpu_scale,
                  "table": scale.as_rows(settings.k)},
        "irq_cost": {"reported_ns": settings.cost_ns, "applied_ns": settings.cost_applied_ns,
                     "in_force": comparison.in_force(settings, outcomes)},
        "calibration": {"proposal": dict(CALIBRATED)},
        "parameters": parameters_for(settings), "baseline": settings.baseline,
        "policies": [_policy_entry(settings, arm, outcomes) for arm in settings.arms],
        "workloads": [entry for w in settings.workloads
                      for entry in _workload_entries(settings, w, samples)],
        "rows": [r.as_dict() for r in rows],
        "samples": [documents.sample_dict(s) for s in samples],
        "runs": [_run_entry(settings, one.boot, one.done) for one in guests.ended],
        "notes": notes}
    if timer:
        found["timer"] = timer.as_dict()
    if line:
        found["timers"] = [{"workload": row.workload, "policy": row.policy,
                            "ios_per_irq": row.values["ios_per_irq"],
                            "mean_us": row.values["mean_us"]} for row in line]
    return found


def parameters_for(settings: Settings) -> records.Parameters:
    """The parameters as asked for, reported times."""
    media = asdict(settings.media)
    found: records.Parameters = {
            "media": media | {"overrides": dict(settings.media.overrides)},
            "guest": settings.guest, "hints": settings.hints, "vcpus": settings.vcpus,
            "polling": any(arm.polling.polls for arm in settings.arms),
            "runtime_s": settings.timing.runtime_s, "ramp_s": settings.timing.ramp_s,
            "repeat": settings.repeat, "seeds": settings.seeds, "extras": settings.extras,
            "drive": str(settings.drive) if settings.drive else None,
            "device_opts": settings.device_opts}
    if settings.rule:
        found["auto_error"] = settings.rule.error
    return found


def _policy_entry(settings: Settings, arm: Arm,
                  outcomes: Sequence[session.Outcome]) -> records.Policy:
    """What is kept of a row; of its first boot that ran to its end, if any did."""
    outcome = next((o for o in outcomes if o.name == arm.name), session.Outcome(arm.name))
    policy = arm.policy
    props = settings.device_properties(policy)
    return {"name": arm.name, "kind": policy.kind, "label": arm.label,
            "polling": arm.polling.name, "engine": arm.engine.name,
            "steering": arm.steering.name, "hints": arm.hints,
            "latency": _latency_entry(settings, policy),
            "properties": dict(policy.properties), "applied": dict(props),
            "qemu": outcome.argv, "boot_wall_s": round(outcome.boot_wall_s, 3),
            "first_io_s": outcome.hello.get("first_io_s"), "facts": dict(outcome.facts),
            "kernel_trouble": outcome.trouble}


def _latency_entry(settings: Settings, policy: properties.Policy) -> records.Latency | None:
    """The policy of the queues for the realtime class, if that is another one."""
    own = policy.latency
    if own is None:
        return None
    return {"name": own.name, "kind": own.kind, "properties": dict(own.properties),
            "applied": properties.policy_properties(own, settings.k, settings.extras)}


def _run_entry(settings: Settings, boot: comparison.Turn, done: runner.Done) -> records.Run:
    """One boot: what decided it, where its outcome is from, and why there is none."""
    return {"policy": boot.arm.name, "repeat": boot.repeat,
            "seed": settings.seed + boot.repeat, "key": done.run.key(), "source": done.source,
            "failure": done.problem.message if done.problem else None}


def _workload_entries(settings: Settings, workload: Workload,
                      samples: Sequence[sampling.Sample]) -> list[records.Workload]:
    """A workload; if its jobs ran in several groups, each of them."""
    whole = _workload_entry(settings, workload)
    groups = {s.workload: s for s in samples if s.whole == workload.name and s.groups > 1}
    return [{**whole, "name": name, "title": f"{workload.title}, group {s.group} of {s.groups}: "
                                            f"{', '.join(s.jobs)}",
             "group": {"of": workload.name, "number": s.group, "groups": s.groups,
                       "jobs": list(s.jobs)}}
            for name, s in groups.items()] or [whole]


def _workload_entry(settings: Settings, workload: Workload) -> records.Workload:
    if workload.app:
        app = workload.app
        return {"name": workload.name, "title": workload.title, "latency_job": None, "fio": "",
                "scaled": [], "app": {"file": str(app.path), "packages": list(app.disk.packages),
                                      "release": app.disk.release, "run": app.run,
                                      "filesystem": app.disk.filesystem,
                                      "prepare": app.disk.prepare}}
    scaled = (workloads.scale_job_text(workload.template, settings.k)[1]
              if workload.own else [])
    return {"name": workload.name, "title": workload.title, "latency_job": workload.latency_job,
            "fio": workloads.render(workload, settings.timing, settings.k), "scaled": scaled}
