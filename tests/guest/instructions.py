# SPDX-License-Identifier: GPL-2.0-or-later
"""Instructions of a system call, counted in a guest.

In virtual time an instruction takes a nanosecond, so the time in which the CPU was not idle is
their number. What a program needs to start is the same for few and for many calls.
"""

from __future__ import annotations

from dataclasses import dataclass

from cint.guest import agent

#: One command at a time, so slowly that each has an interrupt of its own: how many there are is no
#: matter of a few instructions.
MEDIUM = "custom:read-latency=20us,write-latency=20us,units=1"
#: Each kernel would measure the APIC's timer, which then ticks a little late or early in one of
#: them: that is one interrupt more for each tick. The other timer's frequency is known.
SAME_TICKS = "nolapic_timer"
#: The kernel has other things to do now and then: the least of several tries is the calls' alone.
TRIES = 4
_COUNT = f"""\
clock() {{{{
    awk '/^now at/ {{{{ n = $3 }}}} /idle_sleeptime/ {{{{ i = $(NF - 1) }}}}
        /iowait_sleeptime/ {{{{ print n - i - $(NF - 1); exit }}}}' /proc/timer_list
}}}}
{{setup}}
hintio {{few}} > /dev/null
for i in $(seq {TRIES}); do
    a=$(clock); hintio {{few}} > /dev/null
    b=$(clock); hintio {{many}} > /dev/null
    echo $a $b $(clock)
done
"""


@dataclass(frozen=True)
class Call:
    """What is counted: options of hintio with {n} for how many, the file, few and many of them.

    The many should take tens of millions of instructions: in 50 there are twelve ticks of the
    clock, or thirteen. ``counted`` of them are one call. ``setup`` is shell, run before.
    """

    options: str
    file: str
    few: int
    many: int
    counted: int = 1
    setup: str = ""

    def job(self, name: str) -> agent.Job:
        """What the guest does for it."""
        few, many = (f"{self.options.format(n=n)} {self.file}" for n in (self.few, self.many))
        return agent.Job(name, argv=agent.exec_argv(
            _COUNT.format(setup=self.setup, few=few, many=many)))

    def instructions(self, result: agent.Message) -> float:
        """Of one call, by what that job printed."""
        clocks = [tuple(map(int, line.split())) for line in str(result["stdout"]).splitlines()]
        assert len(clocks) == TRIES
        few, many = min(b - a for a, b, _ in clocks), min(c - b for _, b, c in clocks)
        return (many - few) * self.counted / (self.many - self.few)
