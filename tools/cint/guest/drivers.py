# SPDX-License-Identifier: GPL-2.0-or-later
"""Who drives the controller in the guest, as ``--engine`` says: its kernel, or a process.

In the second case (docs/userspace.md) the controller is given to vfio-pci behind a virtual IOMMU,
and fio's engine ``cintio`` has it; that fio is in an image of its own.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, replace

from cint import paths, units
from cint.device import scale
from cint.errors import CintError, UsageError
from cint.guest import agent
from cint.guest.vm import Machine

KERNEL, USER, SLEEP = "kernel", "user", "sleep"
#: How the engine may wait for completions (its option interrupt_mode).
AUTO = "auto"
MODES = ("poll", "adaptive", "interrupt", "coalesced", SLEEP)
#: Those in which it sleeps until an interrupt; so may each job of its own.
SLEEPS = (AUTO, "interrupt", "coalesced")
VALID = "kernel, user, user:poll, user:sleep=TIME, user:adaptive, user:interrupt, user:coalesced"
MAX_SLEEP_NS = 10_000_000
#: The first PCI device of the guest's command line, as fio's filename.
FILENAME = "0000.00.01.0"
_BIND = ("A=$(basename $(readlink -f /sys/class/nvme/nvme0/device)); "
         f"[ $A = {FILENAME.replace('.', ':', 2)} ] || "
         "{ echo the controller is at $A >&2; exit 1; }; cintio bind $A")
_MARK, _CLOCK = "cint-user", "cint-clock"


@dataclass(frozen=True)
class Engine:
    """Who drives. ``name`` is as typed; ``sleep_ns`` is reported time, of the mode ``sleep``."""

    name: str = KERNEL
    mode: str = AUTO
    sleep_ns: int = 0

    @property
    def kind(self) -> str:
        """The word that a row has for its engine."""
        return self.name.partition(":")[0]

    @property
    def is_user(self) -> bool:
        """Whether it is a process and not the guest's kernel."""
        return self.kind == USER

    @property
    def sleeps(self) -> bool:
        """Whether a process of it sleeps until an interrupt, for all that is known."""
        return self.is_user and self.mode in SLEEPS

    def dress(self, machine: Machine) -> Machine:
        """The machine that it needs; what is said to the kernel's driver stays out."""
        if not self.is_user:
            return machine
        return replace(machine, initramfs=paths.USERSPACE_INITRAMFS, iommu=True, append=())

    def setup(self) -> tuple[tuple[str, ...], ...]:
        """Commands for the guest before its jobs."""
        return (agent.exec_argv(_BIND),) if self.is_user else ()

    def options(self, k: float, *, cost_ns: int, records: bool) -> str:
        """fio's options of each job; ``cost_ns`` is in guest time, all else is reported."""
        sleep = scale.apply_int("guest", "sleep_ns", self.sleep_ns, k)
        return (f"interrupt_mode={self.mode}\ncounts=1\n"
                + (f"sleep_ns={sleep}\n" if sleep else "")
                + (f"irq_cost_ns={cost_ns}\n" if cost_ns else "")
                + ("records=1\n" if records else ""))


def parse(text: str) -> Engine:
    """One engine; :class:`UsageError` names what is valid."""
    word, colon, mode = text.partition(":")
    if not colon and word in (KERNEL, USER):
        return Engine(word)
    mode, equals, time = mode.partition("=")
    if word != USER or mode not in MODES or (equals and mode != SLEEP):
        raise UsageError(f"--engine {text}: there is no such engine; valid: {VALID}")
    if mode != SLEEP:
        return Engine(text, mode)
    if not time:
        raise UsageError(f"--engine {text}: give the time to sleep, such as user:sleep=2us")
    ns = units.parse_time(time, "--engine user:sleep", default_unit="us")
    if not 0 < ns <= MAX_SLEEP_NS:
        raise UsageError(f"--engine {text}: from 1 ns to {units.format_time(MAX_SLEEP_NS)}")
    return Engine(text, mode, int(ns))


@dataclass(frozen=True)
class Counts:
    """The counts that fio's engine ``cintio`` prints at its end.

    Interrupts of the I/O queues' vectors as the guest's kernel counted them, the cost of each that
    the engine added (guest ns), the device's log page, None where it has none, and the device's
    time in ns and the CPUs' instructions when the last of its jobs began and the first ended.
    """

    interrupts: int
    cost_ns: int
    page: bytes | None
    clocks: tuple[tuple[int, int], tuple[int, int]] | None = None

    @property
    def cpu_share(self) -> float | None:
        """The share of that time in which one CPU was not halted."""
        if self.clocks is None:
            return None
        (began, first), (ended, last) = self.clocks
        return (last - first) / (ended - began) if last > first and ended > began else None


def counts(text: str) -> Counts | None:
    """The counts in a job's output, None if the kernel drove; CintError if they are garbled."""
    lines = [line.split() for line in text.splitlines() if line.startswith((_MARK, _CLOCK))]
    try:
        edges = {which: [(int(w[2]), int(w[3])) for w in lines if w[:2] == [_CLOCK, which]]
                 for which in ("start", "end")}
        for mark, *words in lines:
            if mark == _MARK:
                page = base64.b64decode(words[2], validate=True) if len(words) > 2 else None
                return Counts(int(words[0]), int(words[1]), page,
                              (max(edges["start"]), min(edges["end"])) if all(edges.values())
                              else None)
    except (ValueError, IndexError, binascii.Error) as err:
        raise CintError(f"what fio's engine counted cannot be read ({err})") from None
    return None
