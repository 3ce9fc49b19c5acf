# SPDX-License-Identifier: GPL-2.0-or-later
"""The settings that decide the result of a comparison.

All times and rates here are reported ones, that is, those of the machine the
guest stands for; scale.py turns them into what guest and device are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cint.device import properties, scale
from cint.errors import CintError
from cint.guest import kinds, vm
from cint.measure import agreeing
from cint.measure.apps import App
from cint.measure.arms import Arm
from cint.measure.timers import Sweep
from cint.measure.workloads import Timing, Workload

DEFAULT_SCALE = 3.0
# The papers' cost of one interrupt: about 1500 cycles, 740 ns.
DEFAULT_COST_NS = 740
MAX_COST_NS = 100_000
DEFAULT_RUNTIME_S = 0.5
DEFAULT_RAMP_S = 0.05
#: Before a run that ends when its blocks agree, which one that had not settled would not.
AGREE_RAMP_S = 0.01
QUICK_RUNTIME_S = 0.1
REAL_RUNTIME_S = 5.0
#: Boots of each policy. In virtual time the same boot again would be the same; another
#: seed is not, and is asked for where it matters.
REPEAT, REAL_REPEAT = 1, 3
MAX_SEED = 10**6
MAX_VCPUS = 16
#: What `./cint calibrate` proposes for this tree: with these the guest's costs of an I/O and of an
#: interrupt are those of the papers' machine. The option value `calibrated`; a test measures them.
CALIBRATED = {"cpu_scale": 3.11, "irq_cost_ns": 455}
MAX_COST_GUEST_NS = 1_000_000  # what nvme.irq_cost_ns takes


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that decides the result; times are reported times."""

    arms: Sequence[Arm]
    workloads: Sequence[Workload]
    media: properties.Media
    virtual: bool
    vcpus: int
    timing: Timing
    repeat: int
    cpu_scale: float
    cost_ns: int
    quick: bool
    drive: Path | None
    device_opts: str
    repeat_command: str
    boot_limit_s: float = vm.BOOT_LIMIT_S
    guest: str = "cint"
    hints: bool = True
    #: Of the first repeat's random numbers; each further repeat has the next.
    seed: int = 1
    extras: str = properties.DEFAULT_EXTRAS
    trace: tuple[str, ...] = ()
    #: The timers that ``static:time=best`` stands for; they are among the rows.
    sweep: Sweep | None = None
    #: When runs end that need not go on for the time of `timing`; None: all of them do.
    rule: agreeing.Rule | None = None

    def rule_of(self, workload: Workload) -> agreeing.Rule | None:
        """The rule that a workload's runs end by, if they do."""
        return None if workload.app or workload.file else self.rule

    def device_properties(self, policy: properties.Policy,
                          seed: int = 1) -> list[tuple[str, properties.Value]]:
        """The properties of ``-device nvme`` under one of the policies, with a medium's seed."""
        return properties.with_media_seed(properties.device_properties(
            policy, self.media, self.k, self.virtual, self.extras), seed)

    @property
    def k(self) -> float:
        """The factor of scale.py: each of several CPUs has its share of the instructions."""
        return self.cpu_scale * self.vcpus if self.virtual else 1.0

    @property
    def app(self) -> App | None:
        """A person's own program, if that is the workload; of several parts of one the first.

        :class:`CintError` where the others begin with another disk: a guest has one.
        """
        first = self.workloads[0].app
        for workload in self.workloads[1:]:
            other = workload.app
            if (first and first.disk) != (other and other.disk):
                raise CintError(f"{self.workloads[0].name} and {workload.name}: not in one guest, "
                                "which begins with the disk of one program")
        return first

    @property
    def cost_applied_ns(self) -> int:
        """The value of nvme.irq_cost_ns."""
        return scale.apply_int("guest", "nvme.irq_cost_ns", self.cost_ns, self.k)

    @property
    def slot_ns(self) -> int:
        """How long each of several CPUs has its turn."""
        return scale.slot_ns(self.cost_ns, self.cpu_scale)

    @property
    def slice_permille(self) -> int:
        """The scheduler's slice in the guest, permille of what its kernel would take."""
        return scale.slice_permille(self.k, self.vcpus)

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets of setup.ensure() for its guests."""
        return kinds.targets(self.guest, [arm.hints for arm in self.arms],
                             disk=self.app is not None, agrees=self.rule is not None)

    @property
    def pure(self) -> bool:
        """Whether the same again gives the same, so that its runs can be taken from the store."""
        return self.virtual and self.drive is None

    @property
    def seeds(self) -> list[int]:
        """The seed of each repeat."""
        return [self.seed + repeat for repeat in range(self.repeat)]

    @property
    def baseline(self) -> str:
        """The row that ratios refer to."""
        names = [arm.name for arm in self.arms]
        return "default" if "default" in names else names[0]
