# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint top`: a live view of a running VM's completion queues, over QMP."""

from __future__ import annotations

import argparse
import json
import os
import select
import shutil
import sys
import termios
import time
import tty
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from cint import units
from cint.device import properties, words
from cint.errors import EXIT_OK, CintError, UsageError
from cint.guest import qmp
from cint.timeline import live

SCHEMA = 1
#: Of two readings.
SHORTEST_S = 0.05


def keys(policies: Iterable[str]) -> dict[str, str]:
    """A key for each policy: the first letter of its name that is free. q leaves."""
    found = {"q": ""}
    for policy in policies:
        free = next((letter for letter in policy if letter not in found), None)
        if free is not None:
            found[free] = policy
    del found["q"]
    return found


#: Keys that change the policy.
KEYS = keys(words.POLICIES)


def declare(parser: argparse.ArgumentParser) -> None:
    keys = ", ".join(f"{key} {policy}" for key, policy in KEYS.items())
    parser.description = (
        "Show, for each completion queue of a running VM, rates, CQEs an interrupt, "
        "mean hold,\nreasons, delta, thr, vIC's R, what an interrupt costs the guest, what the "
        "storm limiter\nholds and what is believed of who waits.")
    parser.epilog = (
        f"keys: {keys}: change the policy; q: leave\n"
        "examples:\n"
        "  ./cint run --qmp vm.sock\n"
        "  ./cint top vm.sock\n"
        "  ./cint top --once --json vm.sock")
    add = parser.add_argument
    add("socket", metavar="SOCKET", type=Path,
        help="QEMU's QMP socket (-qmp unix:SOCKET,server=on,wait=off)")
    add("--device", metavar="PATH", help="of several NVMe devices, this one's QOM path")
    add("--interval", metavar="TIME", type=_interval, default=1.0,
        help="time between two readings, in seconds where no unit is given (default: 1; from 50ms)")
    add("--once", action="store_true", help="print the numbers since the device began, and end")
    add("--json", action="store_true", help="with --once: one JSON document")


def _interval(text: str) -> float:
    """The seconds between two readings."""
    seconds = units.parse_time(text, "--interval", default_unit="s") / units.NS_PER["s"]
    if seconds < SHORTEST_S:
        raise UsageError(f"--interval {text}: must be at least {SHORTEST_S * 1e3:g}ms")
    return seconds


def _stats(control: qmp.Qmp, device: str) -> live.Stats:
    try:
        stats: live.Stats = control.get("cint-stats", device)
    except qmp.QmpGoneError:
        raise
    except qmp.QmpError as problem:
        if device not in qmp.devices(control):
            raise CintError(f"{device} was unplugged") from None
        raise CintError(f"{device} says nothing of its queues: {problem.message}") from None
    return stats


@contextmanager
def _keys() -> Iterator[None]:
    """Each key as it is pressed, where there is a terminal; the terminal as before afterwards."""
    if not sys.stdin.isatty():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _pressed(seconds: float) -> str:
    """The key that was pressed within so many seconds; empty if none was, or nobody can."""
    if not sys.stdin.isatty():
        time.sleep(seconds)
        return ""
    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    # Not by sys.stdin, whose buffer would swallow what is typed ahead.
    return (os.read(sys.stdin.fileno(), 1).decode(errors="replace") or "q") if ready else ""


def _have_meant(control: qmp.Qmp, device: str, policy: str) -> str:
    """Give a policy that does nothing as it is what its bare name means; what is to be said."""
    meant = properties.meant(policy)
    if all(control.get(name, device) for name in meant):
        return ""
    for name, value in meant.items():
        control.set(name, value, device)
    said = (words.BY_PROPERTY[name] for name in meant)
    return "".join(f", with {own.word}={own.shown(int(value))}"
                   for own, value in zip(said, meant.values(), strict=True))


def act(control: qmp.Qmp, device: str, key: str) -> str:
    """Do what a key says; the remark to show."""
    if key not in KEYS:
        return ""
    policy, more = KEYS[key], ""
    try:
        # Without a timer of its own a policy needs that one, which ./cint run has off.
        if policy in properties.TIMERLESS and control.get("cint.max-hold", device) == 0:
            control.set("cint.max-hold", properties.MAX_HOLD_NS, device)
            more = f", with max-hold={units.format_time(properties.MAX_HOLD_NS)}"
        more += _have_meant(control, device, policy)
        control.set("cint.policy", policy, device)
    except qmp.QmpGoneError:
        raise
    except qmp.QmpError as problem:
        return problem.message
    return f"policy changed to {policy}{more}"


def fit(lines: Sequence[str], columns: int, rows: int) -> list[str]:
    """The lines that a terminal of this size shows: the first and the last are kept."""
    shown = list(lines) if len(lines) <= rows else \
        [*lines[:max(rows - 2, 0)], f"... {len(lines) - rows + 1} lines more", lines[-1]]
    return [line[:columns] for line in shown[:max(rows, 1)]]


def _show(title: str, found: list[live.Queue], history: live.History,
          names: Mapping[str, str]) -> None:
    if not sys.stdout.isatty():
        print("\n".join([title, *live.as_text(found, history=history, names=names)]), flush=True)
        return
    # Asked each time: a terminal's size changes.
    size = shutil.get_terminal_size((120, 24))
    narrow = size.columns < live.NARROW
    keys_line = " ".join(key if narrow else f"{key}:{policy}" for key, policy in
                         {"q": "leave", **KEYS}.items())
    lines = [title, *live.as_text(found, size.columns, history, names), keys_line]
    print("\x1b[H\x1b[J" + "\n".join(fit(lines, size.columns, size.lines)), end="", flush=True)


def _typed(control: qmp.Qmp, device: str) -> tuple[str, dict[str, str]]:
    """The device's policy as it is typed, and what queues under it are called.

    A queue may have other parameters than the device, but for those that the name itself says.
    """
    kind = str(control.get("cint.policy", device))
    typed = properties.typed(kind, lambda name: control.get(name, device))
    return typed, {kind: typed} if typed in properties.ALIASES else {}


def _watch(control: qmp.Qmp, device: str, interval: float) -> None:
    before, remark, history = None, "", live.History()
    with _keys():
        while True:
            now = _stats(control, device)
            found = live.rows(before, now)
            history.add(found)
            typed, names = _typed(control, device)
            _show(f"{device.rpartition('/')[2]} {typed} {now['time-ns'] / 1e9:.1f} s {remark}",
                  found, history, names)
            before, key = now, _pressed(interval)
            if key == "q":
                return
            remark = act(control, device, key)


def run(args: argparse.Namespace) -> int:
    if args.json and not args.once:
        raise UsageError("--json: only with --once")
    control = qmp.connect(args.socket)
    try:
        device = qmp.choose(control, args.device)
        if not args.once:
            try:
                _watch(control, device, args.interval)
            except KeyboardInterrupt:
                pass
            finally:
                # What is said next, an error even, is below the last table.
                print(flush=True)
            return EXIT_OK
        found = live.rows(None, _stats(control, device))
        print(json.dumps({"schema": SCHEMA, "device": device,
                          "queues": [asdict(row) for row in found]}, indent=1)
              if args.json else "\n".join(live.as_text(
                  found, names=_typed(control, device)[1])))
        return EXIT_OK
    finally:
        control.close()
