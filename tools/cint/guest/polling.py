# SPDX-License-Identifier: GPL-2.0-or-later
"""Polling in the guest, as ``--polling`` says: what its kernel is told before and after boot.

A thread that waits for its own read (fio's pvsync2 with ``hipri``, io_uring with ``hipri``)
asks the queue for completions instead of waiting for an interrupt. The modes differ in how
long it sleeps before it does so.
"""

from __future__ import annotations

from dataclasses import dataclass

from cint import units
from cint.device import scale
from cint.errors import UsageError
from cint.guest import agent

OFF, FIXED, IRQ_QUEUE = "off", "fixed", "irq-queue"
#: The only one by which rings sleep, too.
LEAST = "min"
#: Words of --polling, and what the kernel calls them (queue/io_poll_mode).
MODES = {
    "classic": "classic", FIXED: "fixed", "half-mean": "half-mean",
    "half-mean-size": "half-mean-size", LEAST: "min", "ehp": "ehp", "pas": "pas",
    "ours": "adaptive", IRQ_QUEUE: "classic",
}
#: Those that go by times which the kernel has gathered, and how long it does: guest seconds.
GATHERING = ("half-mean", "half-mean-size", LEAST, "ehp", "pas", "ours")
GATHERED_S = 0.1
VALID = ", ".join((OFF, *(f"{mode}:TIME" if mode == FIXED else mode for mode in MODES)))
MAX_FIXED_NS = 10_000_000
QUEUE = "/sys/block/nvme0n1/queue"


@dataclass(frozen=True)
class Polling:
    """One mode. ``name`` is as typed; ``fixed_ns`` is reported time."""

    name: str
    fixed_ns: int = 0

    @property
    def mode(self) -> str:
        """The word of --polling without its time."""
        return self.name.partition(":")[0]

    @property
    def polls(self) -> bool:
        """Whether anything is polled for."""
        return self.mode != OFF

    @property
    def period_s(self) -> float:
        """How long the kernel gathers times before it goes by them, guest seconds."""
        return GATHERED_S if self.mode in GATHERING else 0.0

    def boot(self, vcpus: int) -> tuple[str, ...]:
        """Options of the guest's kernel."""
        if not self.polls:
            return ()
        if self.mode == IRQ_QUEUE:
            return ("nvme.poll_irq_queues=1",)
        rings = ("io_uring_hybrid_iopoll=1",) if self.mode == LEAST else ()
        return (f"nvme.poll_queues={vcpus}", *rings)

    def settings(self, k: float) -> dict[str, str]:
        """Files of the namespace's queue directory, and what is written to them, in order."""
        if not self.polls:
            return {}
        if self.mode == FIXED:
            delay = scale.apply_int("guest", "io_poll_delay", self.fixed_ns, k)
            return {"io_poll_delay": str(max(round(delay / 1000), 1))}
        return {"io_poll_mode": MODES[self.mode]}

    def setup(self, k: float) -> tuple[tuple[str, ...], ...]:
        """Commands for the guest before its jobs; one that fails ends the run."""
        return tuple(agent.exec_argv(
            f"f={QUEUE}/{name}; [ -w $f ] || {{ echo the guest kernel has no $f >&2; exit 1; }}; "
            f"echo {value} >$f") for name, value in self.settings(k).items())


def parse(text: str) -> Polling:
    """One mode; :class:`UsageError` names what is valid."""
    word, colon, time = text.partition(":")
    if word == FIXED:
        if not time:
            raise UsageError(f"--polling {text}: give the time to sleep, such as fixed:2us")
        ns = units.parse_time(time, "--polling fixed", default_unit="us")
        if not 0 < ns <= MAX_FIXED_NS:
            raise UsageError(f"--polling {text}: from 1 ns to {units.format_time(MAX_FIXED_NS)}")
        return Polling(text, int(ns))
    if colon or (word != OFF and word not in MODES):
        raise UsageError(f"--polling {text}: there is no such mode"
                         f"{units.suggestion(word, (OFF, *MODES))}; valid: {VALID}")
    return Polling(word)
