# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows of a comparison, each a guest: a policy, and how the guest does I/O under it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cint.device import properties
from cint.guest import hints as giving
from cint.guest import polling as modes
from cint.guest.drivers import Engine
from cint.guest.polling import Polling
from cint.guest.steering import Steering

NOT_POLLED = Polling(modes.OFF)
KERNEL = Engine()
NOT_STEERED = Steering()
#: Who gives hints, in words.
_HINTS = {giving.MODULE: "hints by the module", "preload": "hints by rules"}


@dataclass(frozen=True, kw_only=True)
class Arm:
    """A policy; how the guest's kernel polls and steers; who drives; and who gives hints.

    What is not said is as usual: the kernel drives, with interrupts, and one queue for a CPU, and
    gives the hints that it has. ``hints`` is a word of cint.guest.hints.
    """

    policy: properties.Policy
    polling: Polling = NOT_POLLED
    engine: Engine = KERNEL
    steering: Steering = NOT_STEERED
    hints: str = giving.ON

    @property
    def name(self) -> str:
        """The name in tables and results: the policy's, and that of each mode that acts."""
        return "/".join([self.policy.name, *(name for name, _ in self._modes)])

    @property
    def rules(self) -> Path | None:
        """The file of rules by which hints are given."""
        return giving.rules_of(self.hints)

    @property
    def label(self) -> str:
        """The same in words."""
        return ", ".join([self.policy.label, *(label for _, label in self._modes)])

    @property
    def slug(self) -> str:
        """The name, made safe as a directory name."""
        return properties.slug(self.name)

    @property
    def _modes(self) -> list[tuple[str, str]]:
        """Name and label of what is not as usual."""
        return [
            *([(self.steering.name, f"steering: {self.steering.name}")]
              if self.steering.steers else []),
            *([(self.polling.name, f"polling: {self.polling.name}")]
              if self.polling.polls else []),
            *([(self.engine.name, f"driven by a process ({self.engine.mode})")]
              if self.engine.is_user else []),
            *([(giving.name(self.hints), _HINTS[self.hints.partition(":")[0]])]
              if self.hints not in (giving.ON, giving.OFF) else [])]
