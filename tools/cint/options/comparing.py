# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of `cint compare`, checked and put together."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cint import ui, units
from cint.device import properties, scale
from cint.errors import UsageError
from cint.guest import drivers, hints, kinds, polling, steering, vm
from cint.guest.drivers import Engine
from cint.guest.polling import Polling
from cint.guest.steering import Steering
from cint.measure import agreeing, apps, timers, workloads
from cint.measure.arms import Arm
from cint.measure.settings import (
    AGREE_RAMP_S,
    CALIBRATED,
    DEFAULT_COST_NS,
    DEFAULT_RAMP_S,
    DEFAULT_RUNTIME_S,
    DEFAULT_SCALE,
    MAX_COST_GUEST_NS,
    MAX_COST_NS,
    MAX_SEED,
    MAX_VCPUS,
    QUICK_RUNTIME_S,
    REAL_REPEAT,
    REAL_RUNTIME_S,
    REPEAT,
    Settings,
)
from cint.measure.workloads import Timing, Workload
from cint.options import hinting, policies, store

#: How the guest's kernel does I/O, in a row.
Mode = Polling | Steering


class _Once(argparse.Action):
    """An option that is refused when it is given again: the first would be dropped silently."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace,
                 values: Any, option_string: str | None = None) -> None:
        if getattr(namespace, self.dest) is not None:
            raise UsageError(f"{option_string}: one at a time",
                             hint="./cint compare once for each of them")
        setattr(namespace, self.dest, values)


def _runtime_typed(text: str) -> float | agreeing.Rule:
    rule = agreeing.parse(text)
    if rule:
        return rule
    try:
        seconds = units.parse_time(text, "--runtime", default_unit="s") / 1e9
    except UsageError as problem:
        raise UsageError(problem.message, hint=f"or {agreeing.AUTO}, in small letters, for runs "
                         "that end when blocks of them agree") from None
    if seconds <= 0:
        raise UsageError(f"--runtime {text}: a run needs more than no time")
    return seconds


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options, shared with tests."""
    policies.add(parser, "policies, separated by commas; static:time=best tries timers of 2 to "
                 "100 us and shows those that are best in a workload (by=iops, latency or "
                 "interrupts)")
    add = parser.add_argument
    add("--workload", metavar="LIST", type=units.each_once(workloads.parse, "--workload"),
        default=[], help=f"of {', '.join(workloads.BUILT_IN)} "
                         f"(default: {workloads.DEFAULT_WORKLOADS})")
    add("--fio", metavar="JOBFILE", type=workloads.load_job_file, action="append",
        default=[],
        help="your own fio job file instead; ${DEVICE} in it is the namespace; may be repeated")
    add("--job", metavar="JOB", action="append", default=[], help=workloads.JOB_HELP)
    add("--app", metavar="FILE", type=apps.load, action=_Once,
        help="your own program in a Debian of its own, as FILE says (docs/apps.md), and nothing "
             "else")
    add("--media", metavar="NAME", type=properties.parse_media, default="optane",
        help="media profile (default: optane)")
    add("--time", choices=("virtual", "real"), default="virtual",
        help="virtual (default): repeatable, independent of the host's load; "
             "real: KVM if it works, with the stock device as a further row")
    add("--guest", choices=kinds.GUESTS, default="cint",
        help="cint (default): our kernel; distro: the distribution's own kernel, as it is")
    add("--hints", metavar="LIST",
        help="who gives hints. With our kernel: on (default), or off: its driver passes none to "
             "the device, which then infers them under cint. With --guest distro: off (default), "
             "module (docs/hints-module.md). With either preload:FILE, by rules "
             "(docs/preload.md). Several, but for our kernel's off, are rows of each policy")
    add("--polling", metavar="LIST", type=units.each_once(polling.parse, "--polling"),
        default=polling.OFF,
        help=f"how threads that wait for their reads poll for them, each with each policy: "
             f"{polling.VALID} (default: {polling.OFF}); psync becomes pvsync2 with hipri in all "
             "rows then")
    add("--engine", metavar="LIST", type=units.each_once(drivers.parse, "--engine"),
        default=drivers.KERNEL,
        help=f"who drives the controller, each with each policy: {drivers.VALID} (default: "
             f"{drivers.KERNEL}); user: a process over VFIO, docs/userspace.md, with the policy "
             "pointer beside the default ones")
    add("--steering", metavar="LIST", type=units.each_once(steering.parse, "--steering"),
        default=steering.OFF,
        help=f"queues for I/O of the realtime class, and what is moved between CPUs, each with "
             f"each policy: {steering.VALID} (default: {steering.OFF}); see docs/blk-switch.md")
    add("--vcpus", metavar="N", type=units.count(1, MAX_VCPUS, "--vcpus"), default=1,
        help="CPUs of the guest (default: 1)")
    add("--runtime", metavar="TIME", type=_runtime_typed,
        help=f"of each job, in reported time; with --fio in place of the file's own runtime=, "
             "which is the default there. auto: until ten blocks of the run agree to 1%%, or to "
             f"what is typed, as in auto:0.5%%, at most {DEFAULT_RUNTIME_S:g}s, in real time "
             f"{REAL_RUNTIME_S:g}s (default: auto for the workloads named here in virtual time, "
             "else that time)")
    add("--repeat", metavar="N", type=units.count(1, 100, "--repeat"),
        help="boot a guest N times for each policy, each time with another seed, and print "
             f"medians and spread (default: {REPEAT}; {REAL_REPEAT} in real time)")
    add("--seed", metavar="N", type=units.count(1, MAX_SEED, "--seed"), default=1,
        help="of the first repeat's random numbers; the next repeats have N+1, N+2 ... "
             "(default: 1)")
    add("--cpu-scale", metavar="K", default=None,
        help=f"how much slower the guest's CPU is than the one it stands for "
             f"(default: {DEFAULT_SCALE:g}); 'calibrated': {CALIBRATED['cpu_scale']:g}, see "
             "./cint calibrate")
    add("--irq-cost", metavar="NS", default=None,
        help=f"cost of one interrupt, ns (default: {DEFAULT_COST_NS} in virtual time, else 0); "
             f"'calibrated': {CALIBRATED['irq_cost_ns']}, see ./cint calibrate")
    add("--drive", metavar="FILE", type=vm.raw_drive,
        help="raw file behind the namespace (default: none, reads give zeroes)")
    add("--device-opts", metavar="TEXT", default="",
        help="further properties for -device nvme, appended last")
    add("--trace", metavar="PATTERN", action="append", default=[],
        help="QEMU trace events for logs/POLICY/qemu.log; 'cint' means pci_nvme_cint_*, what "
             "./cint replay --from-trace and ./cint trace read, 'vcpus' QEMU's own of messages to "
             "vCPUs; may be repeated")
    add("--out", metavar="DIR", type=Path,
        help="directory for the results: new, empty, or of the same command, which goes on there")
    add("--label", metavar="TEXT", help="a name for the results, for ./cint results and diff")
    add("--json", action="store_true",
        help="print results.json, and nothing else, to standard output")
    add("--no-previous", action="store_true", help=argparse.SUPPRESS)  # no last result beside it
    add("--quick", action="store_true", help="very short jobs; not good enough for conclusions")
    add("--no-plots", action="store_true", help="make no PNG files (report.html has its own plots)")
    # Nobody needs to: the limit counts time in which QEMU had the CPU that it wanted.
    add("--boot-limit", metavar="S", type=units.count(1, 3600, "--boot-limit"),
        help=argparse.SUPPRESS)
    store.add_store_options(parser)
    store.add_cluster_option(parser)
    add("--dry-run", action="store_true",
        help="print QEMU's command lines, the kernel's, the fio jobs")


def _numbers(args: argparse.Namespace, virtual: bool) -> tuple[float, int]:
    """The values of --cpu-scale, and of --irq-cost in ns."""
    chosen, cost = args.cpu_scale, args.irq_cost
    if chosen is not None and not virtual:
        raise UsageError("--cpu-scale: only with --time virtual")
    if args.guest == "distro" and cost not in (None, "0", "0ns"):
        raise UsageError(f"--irq-cost {cost}: the distribution's kernel has no nvme.irq_cost_ns",
                         hint="leave it out, or use --guest cint")
    if chosen is None:
        k = DEFAULT_SCALE if virtual else 1.0
    elif chosen == "calibrated":
        k = CALIBRATED["cpu_scale"]
    else:
        k = scale.parse(chosen, ", or 'calibrated'")
    if cost is None:
        return k, DEFAULT_COST_NS if virtual and args.guest != "distro" else 0
    if cost == "calibrated":
        return k, round(CALIBRATED["irq_cost_ns"])
    ns = units.whole(cost.removesuffix("ns"), 0, MAX_COST_NS)
    if ns is None:
        raise UsageError(f"--irq-cost {cost}: give ns from 0 (none) to {MAX_COST_NS}, "
                         "or 'calibrated'")
    return k, ns


def _timing(args: argparse.Namespace, virtual: bool, rule: agreeing.Rule | None) -> Timing:
    """The time of each job, or of the longest, and that before it."""
    runtime = DEFAULT_RUNTIME_S if virtual else REAL_RUNTIME_S
    if isinstance(args.runtime, float):
        runtime = args.runtime
    elif args.quick:
        runtime = QUICK_RUNTIME_S
    return Timing(runtime, min(AGREE_RAMP_S if rule else DEFAULT_RAMP_S, runtime / 4))


def _names(found: Iterable[units.Named]) -> str:
    """What was typed for a list of these."""
    return ",".join(one.name for one in found)


def _policies(args: argparse.Namespace, givers: Sequence[str],
              virtual: bool) -> tuple[list[properties.Policy], timers.Sweep | None]:
    """The policies, and the sweep of the timer that some of them are of, if one was typed."""
    given = any(word != hints.OFF for word in givers)
    default = properties.DEFAULT_POLICIES if given else properties.HINTLESS_POLICIES
    if any(engine.is_user for engine in args.engine):
        default += ",pointer"
    text, sweep = timers.expand(args.policy or (default if virtual else f"stock,{default}"))
    policies = properties.parse_policies(text)
    if virtual:
        properties.check_virtual(policies)
    return policies, sweep


def _each_with(arms: Sequence[Arm], word: str, modes: Sequence[Mode], guest: str) -> list[Arm]:
    """Each row with each mode of the option `word`, which is also the name of Arm's field."""
    if guest == "distro" and any(mode.name != "off" for mode in modes):
        raise UsageError(f"--{word} {_names(modes)}: the distribution's kernel has none of these "
                         "modes", hint="leave it out, or use --guest cint")
    fields: list[dict[str, Any]] = [{word: mode} for mode in modes]
    return _not_too_many([replace(arm, **field) for arm in arms for field in fields], word)


def _with_hints(arms: Sequence[Arm], words: Sequence[str]) -> list[Arm]:
    """Each row with each who gives hints; where nobody does, the device infers them."""
    found = [replace(arm, hints=word, policy=properties.inferred(arm.policy)
                     if word == hints.OFF else arm.policy) for arm in arms for word in words]
    return _not_too_many(found, "hints")


def _with_engines(arms: Sequence[Arm], chosen: Sequence[Engine], guest: str) -> list[Arm]:
    """Each row with each engine of ``--engine``.

    How the kernel polls is nothing to a process that drives: such a row stands once.
    """
    if any(engine.is_user for engine in chosen) and guest == "distro":
        raise UsageError(f"--engine {_names(chosen)}: the image of the distribution's kernel has "
                         "no user-space driver", hint="leave it out, or use --guest cint")
    found = [replace(arm, engine=engine) for arm in arms for engine in chosen
             if not (engine.is_user and arm.polling.polls)]
    if not found:
        raise UsageError(f"--engine {_names(chosen)}: --polling is how the kernel polls; add the "
                         "engine kernel, or leave --polling out")
    return _not_too_many(found, "engine")


def _not_too_many(arms: list[Arm], word: str) -> list[Arm]:
    if len(arms) > properties.MAX_POLICIES:
        raise UsageError(f"--{word}: {len(arms)} rows with these policies; "
                         f"at most {properties.MAX_POLICIES}")
    return arms


def _arms(args: argparse.Namespace, policies: Sequence[properties.Policy],
          givers: Sequence[str]) -> list[Arm]:
    """The rows: each policy with each way of doing I/O."""
    arms = _with_hints([Arm(policy=policy) for policy in policies], givers)
    arms = _each_with(arms, "steering", args.steering, args.guest)
    for arm in arms:
        steering.check_split(arm.policy, arm.steering)
    arms = _each_with(arms, "polling", args.polling, args.guest)
    arms = _with_engines(arms, args.engine, args.guest)
    if any(arm.rules and arm.engine.is_user for arm in arms):
        raise UsageError(f"--hints {args.hints}: a process that drives makes no calls to mark",
                         hint="leave --engine out")
    if (any(arm.steering.steers for arm in arms)
            and any(arm.polling.polls or arm.engine.is_user for arm in arms)):
        raise UsageError("--steering: not together with --polling or --engine")
    return arms


def _check_app(args: argparse.Namespace) -> None:
    """Refuse what a program of one's own does not go together with."""
    others = {"--workload": args.workload, "--fio": args.fio, "--job": args.job,
              "--runtime": args.runtime, "--quick": args.quick, "--drive": args.drive,
              "--cluster": args.cluster}
    for option, value in others.items():
        if value:
            raise UsageError(f"--app: not together with {option}",
                             hint="the file says what runs, and on what disk")
    if any(engine.is_user for engine in args.engine):
        raise UsageError(f"--app: not together with --engine {_names(args.engine)}: the disk has a "
                         "file system, which is the kernel's")


def _workloads(args: argparse.Namespace, arms: Sequence[Arm], timing: Timing) -> list[Workload]:
    """What runs in each guest."""
    if args.app is not None:
        _check_app(args)
        return [workloads.of_app(args.app)]
    chosen = [*args.workload] or ([] if args.fio or args.job else [
        workloads.BUILT_IN[name] for name in workloads.DEFAULT_WORKLOADS.split(",")])
    chosen += [workloads.lasting(own, args.runtime) if isinstance(args.runtime, float) else own
               for own in args.fio]
    chosen += [workloads.parse_job(text, timing) for text in args.job]
    seen: set[str] = set()
    for workload in chosen:
        if args.drive is None:
            workloads.check_kept(workload)
        for job, name in workload.renamed:
            ui.info(f"{workload.name}: the job '{job}' is called '{name}': fio has a shell write a "
                    "file of that name")
        if workload.name in seen:
            raise UsageError(f"two workloads are called '{workload.name}'",
                             hint="a job file is called after its name; give one another")
        seen.add(workload.name)
    if any(arm.engine.is_user for arm in arms):
        for workload in chosen:
            workloads.check_driven(workload)
    chosen = [workloads.for_guest(w, args.guest != "distro") for w in chosen]
    polled = any(arm.polling.polls for arm in arms)
    return [workloads.polled(w) for w in chosen] if polled else chosen


def _rule(args: argparse.Namespace, arms: Sequence[Arm]) -> agreeing.Rule | None:
    """The rule that runs end by, if they do.

    Where nothing is typed it is that of the workloads here in virtual time; what it does not go
    together with has a fixed time then, and is refused where it is typed.
    """
    rule = args.runtime if isinstance(args.runtime, agreeing.Rule) else None
    others = {"--fio": ("a job file says itself how long its jobs run", bool(args.fio)),
              "--quick": ("it says how long the jobs run", args.quick),
              "--guest distro": ("its image has no fio that ends runs", args.guest == "distro"),
              f"--engine {_names(args.engine)}": ("that fio does not end runs",
                                                  any(arm.engine.is_user for arm in arms)),
              f"--hints {args.hints}": ("the image with rules has no fio that ends runs",
                                        any(arm.rules for arm in arms))}
    for option, (why, there) in others.items():
        if rule and there:
            raise UsageError(f"--runtime {rule}: not together with {option}: {why}",
                             hint="give a time, such as --runtime 1s")
    fixed = (args.time == "real" or args.app is not None or bool(args.job)
             or any(there for _, there in others.values()))
    return agreeing.Rule() if args.runtime is None and not fixed else rule


def _boot_limit(args: argparse.Namespace) -> float:
    if args.boot_limit is not None:
        return float(args.boot_limit)
    limit = kinds.BOOT_LIMIT_S if args.guest == "distro" else vm.BOOT_LIMIT_S
    # In virtual time the host goes through all CPUs' instructions, one CPU after the other.
    return limit * args.vcpus if args.time == "virtual" else limit


def settings_from(args: argparse.Namespace) -> Settings:
    """Check the options and put them together; raise :class:`UsageError`."""
    virtual = args.time == "virtual"
    store.check(args)
    if args.json and args.dry_run:
        raise UsageError("--json and --dry-run do not go together: nothing is measured")
    policies.remark_units(args.policy)
    cpu_scale, cost = _numbers(args, virtual)
    givers = hinting.parse_list(args.hints, args.guest)
    chosen_policies, sweep = _policies(args, givers, virtual)
    arms = _arms(args, chosen_policies, givers)
    rule = _rule(args, arms)
    timing = _timing(args, virtual, rule)
    settings = Settings(
        arms=arms, media=args.media, virtual=virtual, vcpus=args.vcpus,
        timing=timing, repeat=args.repeat or (REPEAT if virtual else REAL_REPEAT),
        cpu_scale=cpu_scale, cost_ns=cost, quick=args.quick, drive=args.drive,
        device_opts=args.device_opts,
        repeat_command=repeat_command(args), boot_limit_s=_boot_limit(args), guest=args.guest,
        hints=any(arm.hints != hints.OFF for arm in arms), seed=args.seed, extras=args.extras,
        trace=tuple(args.trace), sweep=sweep, rule=rule,
        workloads=_workloads(args, arms, timing))
    if settings.cost_applied_ns > MAX_COST_GUEST_NS:
        raise UsageError(f"--irq-cost {settings.cost_ns} at scale {settings.k:g} is more than "
                         f"{MAX_COST_GUEST_NS} ns in the guest", hint="lower one of them")
    # What the device would refuse, and what the scale makes too large, before anything is built.
    for arm in settings.arms:
        settings.device_properties(arm.policy)
    return settings


#: Options that decide the result, in the order of the repeat command.
_DECISIVE = ("policy", "extras", "polling", "engine", "steering", "workload", "fio", "job", "app",
             "media", "time", "guest", "hints", "vcpus", "runtime", "repeat", "seed", "cpu_scale",
             "irq_cost", "drive", "device_opts", "trace")
#: Those whose words stand for something with a name.
_NAMED = ("polling", "engine", "steering", "workload")
_DEFAULTS = {"extras": properties.DEFAULT_EXTRAS, "polling": polling.OFF,
             "engine": drivers.KERNEL, "steering": steering.OFF, "media": "optane",
             "time": "virtual",
             "guest": "cint", "vcpus": 1, "seed": 1, "device_opts": ""}


def repeat_command(args: argparse.Namespace) -> str:
    """The command that gives the same result, without options that do not matter."""
    words = ["./cint", "compare"]
    for name in _DECISIVE:
        value = getattr(args, name)
        if name in _NAMED:
            value = _names(value) or None
        elif name == "media":
            value = value.name
        elif name == "fio":
            value = [own.file for own in value]
        elif name == "app":
            value = value and value.path
        usual = hints.VALID[args.guest][0] if name == "hints" else _DEFAULTS.get(name)
        if value is None or value == usual:
            continue
        if value == "calibrated":
            value = CALIBRATED[{"irq_cost": "irq_cost_ns"}.get(name, name)]
        for one in value if isinstance(value, list) else [value]:
            text = f"{one:g}" if isinstance(one, float) else str(one)
            words += [f"--{name.replace('_', '-')}", text]
    if args.quick:
        words.append("--quick")
    return shlex.join(words)
