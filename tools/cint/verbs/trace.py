# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint trace`: what a trace of the device tells; records one of a running VM."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from cint import bootstrap, paths, steps, ui, units
from cint.build import engine
from cint.device import properties
from cint.errors import EXIT_OK, CintError, UsageError
from cint.guest import qmp
from cint.results import distributions, documents, plots
from cint.timeline import events, summary

EVENTS = f"{events.PREFIX}*"
DEFAULT_LOG = Path("cint-trace.log")
RECORD_S = 2
IDLE = "the device had nothing to do meanwhile: record while the guest reads or writes"

EPILOG = """examples:
  ./cint compare --policy adaptive --workload mixed --runtime 30ms --trace cint --out mixed
  ./cint trace mixed/logs/adaptive/qemu.log
  ./cint trace --plot times.png mixed/logs/adaptive/qemu.log
  ./cint trace --perfetto timeline.pftrace mixed/logs/adaptive/qemu.log # open in ui.perfetto.dev
  ./cint trace --what-if default,cint mixed/logs/adaptive/qemu.log
  ./cint trace --qmp vm.sock --seconds 2 vm.log        # QEMU with -qmp unix:vm.sock,server,nowait
"""


def declare(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.description = (
        "Read QEMU's log of pci_nvme_cint_* trace events and print, for each "
        "completion queue,\ninterrupts by reason, CQEs an interrupt, and hold and reap times "
        "by hint. With --qmp the\nlog is first recorded from a running VM.")
    add = parser.add_argument
    add("log", metavar="LOG", nargs="?", type=Path,
        help=f"QEMU's log (with --qmp: where to write it; default: {DEFAULT_LOG})")
    add("--json", action="store_true", help="the summary as one JSON document")
    add("--plot", metavar="FILE", type=Path,
        help="also draw how hold and reap times are distributed, by queue and hint: PNG, SVG or "
             "PDF by the name's end")
    add("--perfetto", metavar="FILE", type=Path,
        help="also write a timeline that ui.perfetto.dev opens")
    add("--what-if", metavar="POLICIES", help="also replay the trace under these policies")
    add("--guest-time", action="store_true",
        help="times as the log has them; else those of a comparison's log are divided by its "
             "--cpu-scale, as in the comparison's table")
    add("--qmp", metavar="SOCKET", type=Path,
        help="record from the VM with this QMP socket; its QEMU writes LOG itself")
    add("--seconds", metavar="N", type=units.count(1, 3600, "--seconds"),
        help=f"with --qmp: record for so long (default: {RECORD_S})")


def _logfile(control: qmp.Qmp, place: str) -> None:
    """Have QEMU's log be written there; what its monitor prints is a refusal."""
    said = control.execute("human-monitor-command", **{"command-line": f"logfile {place}"})
    if said and str(said).strip():
        raise CintError(f"QEMU cannot write its log to {place}: {str(said).strip()}",
                        hint="QEMU opens the file itself: with its user's rights, in its own "
                             "name space, where a container or libvirt gives it one")


def _states(control: qmp.Qmp, pattern: str) -> dict[str, bool]:
    """Which trace events are on, of those that QEMU has."""
    try:
        found = control.execute("trace-event-get-state", name=pattern)
    except qmp.QmpGoneError:
        raise
    except qmp.QmpError:
        return {}
    return {one["name"]: one["state"] == "enabled" for one in found}


def _set(control: qmp.Qmp, states: dict[str, bool]) -> None:
    """Switch events by name or pattern; those of a pattern all at once."""
    for name, enabled in states.items():
        control.execute("trace-event-set-state", name=name, enable=enabled)


def _check_devices(control: qmp.Qmp) -> list[str]:
    """There has to be a device that says something; of several, the events name none."""
    found = qmp.devices(control)
    if not found:
        raise CintError("this VM has no NVMe device")
    speaking = [path for path in found if qmp.has_cint(control, path)]
    if not speaking:
        raise CintError(f"no NVMe device of this VM has cint on: {', '.join(found)}",
                        hint="it has to be -device nvme,cint=on of a QEMU with cint")
    if len(speaking) > 1:
        ui.warn(f"this VM has {len(speaking)} NVMe devices with cint, and trace events do not say "
                "whose they are: queues of the same number are mixed up")
    return speaking


def record(socket: Path, log: Path, seconds: float) -> None:
    """Have a QEMU write trace events to `log`; UsageError of its name, CintError without events."""
    place = log.resolve()
    if any(letter.isspace() or letter == "%" for letter in str(place)):
        # It ends a name at a blank, and puts its process's number in the place of %d.
        raise UsageError(f"{log}: QEMU's monitor takes no blanks and no % in the name of a log")
    control = qmp.connect(socket)
    try:
        if not _states(control, EVENTS):
            raise CintError(f"{socket}: this QEMU has no {EVENTS} trace events",
                            hint="build/qemu/qemu-system-x86_64 of ./cint build has them")
        devices = _check_devices(control)
        # The vCPUs' begin first: a message without its interrupt is passed over, but an interrupt
        # without its message would be taken for that of the next one.
        patterns = (*events.VCPU_EVENTS, EVENTS)
        before = {name: state for pattern in patterns
                  for name, state in _states(control, pattern).items()}
        _logfile(control, str(place))
        try:
            _set(control, dict.fromkeys(patterns, True))
            with ui.Progress(f"recording for {ui.duration(seconds)}"):
                time.sleep(seconds)
        finally:
            _restore(control, before, devices)
    finally:
        control.close()


def _restore(control: qmp.Qmp, before: dict[str, bool], devices: Sequence[str]) -> None:
    """The trace events as before; what was written by whoever went meanwhile is worth reading."""
    try:
        # All of the device's at once, so that the log ends with none half told of.
        _set(control, dict.fromkeys((EVENTS, *events.VCPU_EVENTS), False))
        # The log's name cannot be asked for.
        _logfile(control, "/dev/stderr")
        _set(control, {name: True for name, was_on in before.items() if was_on})
        for gone in set(devices) - set(qmp.devices(control)):
            ui.warn(f"{gone} was unplugged while it was recorded; its log goes as far as that")
    except qmp.QmpGoneError:
        ui.warn("the VM ended while it was recorded; its log goes as far as that")


def _plot(trace: events.Trace, log: Path, place: Path) -> None:
    """Curves of the hold and reap times; of many queues those with the most CQEs."""
    found = {cqid: queue.waits for cqid, queue in summary.queues(trace).items()}
    known = {cqid: sum(len(waits.hold) for waits in hints.values())
             for cqid, hints in found.items()}
    told = [cqid for cqid in found if known[cqid]]
    if not told:
        raise CintError(f"{log}: no interrupt of it tells of a CQE: there is nothing to plot")
    most = sorted(told, key=lambda cqid: -known[cqid])[:distributions.ROWS]
    if len(most) < len(told):
        ui.warn(f"the plot has the {len(most)} queues with the most CQEs, of {len(told)}")
    rows = [distributions.Lane(f"CQ {cqid}", {phase: {hint: waits.phases[phase] for hint, waits
                                                     in found[cqid].items()}
                                             for phase in summary.PHASES}) for cqid in sorted(most)]
    distributions.draw(rows, f"{paths.display(log)}: {sum(known[cqid] for cqid in most)} CQEs that "
                             "an interrupt told of", place)
    ui.info(f"plot: {paths.display(place)}")


def _timeline(trace: events.Trace, place: Path) -> None:
    from cint.timeline import perfetto  # noqa: PLC0415 - its package is in the environment alone

    try:
        with steps.replacing(place) as fresh, fresh.open("wb") as stream:
            perfetto.write(trace, stream)
    except OSError as problem:
        raise CintError(f"{place}: {problem.strerror}") from None
    ui.info(f"timeline: {paths.display(place)}; open it in https://ui.perfetto.dev")


def _what_if(log: Path, policies: str, guest_time: bool) -> int:
    """The trace under other policies, its times as those above."""
    sys.stdout.flush()
    words = ["replay", "--from-trace", "--irqs", "off", "--policy", policies,
             *(["--guest-time"] if guest_time else []), str(log)]
    return subprocess.run([sys.executable, "-P", "-m", "cint", *words], check=False).returncode


def _check_before_recording(args: argparse.Namespace, log: Path) -> None:
    """Refuse what would be refused when the trace is there, which may be hours later."""
    if args.what_if is not None:
        properties.parse_replayed(args.what_if)
    for place in (args.perfetto, args.qmp and log):
        if place is not None and not place.parent.is_dir():
            raise UsageError(f"{place}: {place.parent} is no directory")
    if args.plot is not None:
        plots.check_name("--plot", args.plot)


def run(args: argparse.Namespace) -> int:
    if args.log is None and args.qmp is None:
        raise UsageError("which log? give its name, or --qmp SOCKET to record one")
    if args.what_if is not None and args.json:
        raise UsageError("--what-if and --json do not go together")
    if args.seconds is not None and args.qmp is None:
        raise UsageError("--seconds: only with --qmp, which records")
    log = args.log or DEFAULT_LOG
    _check_before_recording(args, log)
    extras = (*(["plots"] if args.plot else []), *(["timeline"] if args.perfetto else []))
    if extras:
        bootstrap.ensure(*extras)
    if args.qmp is not None:
        engine.build_replay()
        record(args.qmp, log, args.seconds or RECORD_S)
        ui.info(f"recorded: {paths.display(log)}")
    scale = 1.0 if args.guest_time or args.qmp else documents.scale_of_log(log)
    trace = events.load(log, IDLE if args.qmp is not None else events.FROM_QEMU, scale)
    for remark in trace.remarks:
        ui.warn(remark)
    found = summary.summarize(trace, scale)
    print(json.dumps(found, indent=1) if args.json else summary.as_text(found))
    if args.plot is not None:
        _plot(trace, log, args.plot)
    if args.perfetto is not None:
        _timeline(trace, args.perfetto)
    if args.what_if is not None:
        print()
        return _what_if(log, args.what_if, args.guest_time)
    return EXIT_OK
