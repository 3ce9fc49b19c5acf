# SPDX-License-Identifier: GPL-2.0-or-later
"""Application steering by the kernel, and by steerd from user space, of the same loads.

Virtual time, two CPUs. The device counts the commands of each submission queue, which says where a
task ran when it sent them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest
from conftest import log_root, machine
from switching import DEVICE, L0, L1, NEVER, PARAMETERS, QUEUE, T0, T1

from cint.device import logpage
from cint.guest import agent, session

#: Each job is a look at the counters after so many seconds of the guest; the first is not judged.
LOOKS, LOOK_S = 4, 0.1
L = f"ionice -c 1 hintio --api=preadv2 --repeat=100000000 {DEVICE}"
T = f"hintio --api=aio --batch=16 --size=64k --count=2000000 --stride=4k {DEVICE}"
SMALL = f"hintio --api=pread --size=64k --repeat=100000000 {DEVICE}"
#: Of tasks: what, where they begin, and where they may run.
Task = tuple[str, int, int]
#: L has to stay on CPU 0, and T may go to CPU 1, which has a little to do: that is what Algorithm 2
#: has an answer to.
ONE: Sequence[Task] = ((L, 1, 1), (T, 1, 3), (SMALL, 2, 2))
#: The same T, but its cpuset has CPU 0 only, whatever its affinity is.
CPUSET = "/sys/fs/cgroup/narrow"
NARROW = f"sh -c 'echo $$ > {CPUSET}/cgroup.procs; exec {T}'"
IN_CPUSET: Sequence[Task] = ((L, 1, 1), (NARROW, 3, 3), (SMALL, 2, 2))
#: One of each class on each CPU: no CPU is better than the other.
EVEN: Sequence[Task] = ((L, 1, 3), (T, 1, 3), (L, 2, 3), (T, 2, 3))
#: Who steers: a mode of the kernel's, and options of steerd, if it is to run.
WAYS: Mapping[str, tuple[str, str | None]] = {
    "nobody": ("request", None),
    "kernel": ("app", None),
    "steerd": ("request", ""),
    "held": ("request", "--hold"),
    "apart": ("request", "--apart --hold"),
}
#: From the first that is "alone" on, the load balancer moves nobody.
PHASES: Mapping[str, tuple[Sequence[Task], str]] = {
    **{f"one-{way}": (ONE, way) for way in ("nobody", "kernel", "steerd", "held")},
    "cpuset-kernel": (IN_CPUSET, "kernel"),
    **{f"alone-{way}": (ONE, way) for way in ("nobody", "kernel", "steerd")},
    **{f"even-{way}": (EVEN, way) for way in ("nobody", "apart")},
}


@dataclass(frozen=True)
class Phase:
    """Commands by submission queue in each look that is judged, moves, and masks at the end."""

    looks: Sequence[Mapping[int, int]]
    moved: int
    masks: list[str]

    def total(self, queue: int) -> int:
        """Commands of a submission queue in all looks."""
        return sum(look[queue] for look in self.looks)

    def minority(self, look: int, one: int, other: int) -> float:
        """What of two queues' commands the one with fewer has, as a share."""
        counts = self.looks[look][one], self.looks[look][other]
        return min(counts) / max(1, sum(counts))


#: Makes the cpuset.
PREPARE = f"""\
mkdir -p /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup
echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control
mkdir {CPUSET}; echo 0 > {CPUSET}/cpuset.cpus
cat {CPUSET}/cpuset.cpus.effective
"""

#: From now on all tasks are too hot for the load balancer, however often it has failed.
HOT, TRIES = 0xffffffff, 1000000
TIE = f"""\
mount -t debugfs none /sys/kernel/debug
cd /sys/kernel/debug/sched
echo {HOT} > migration_cost_ns; echo Y > verbose
for tries in domains/cpu*/domain*/cache_nice_tries; do echo {TRIES} > $tries; done
cat migration_cost_ns domains/cpu*/domain*/cache_nice_tries
"""


def start(tasks: Sequence[Task], way: str) -> str:
    """A script that begins a phase."""
    mode, options = WAYS[way]
    lines = [f"echo {mode} > {QUEUE}/switch_mode", f"echo {NEVER} > {PARAMETERS}/threshold",
             f"cat {QUEUE}/switch_moved > /tmp/before", "rm -f /tmp/pids /tmp/steerd"]
    for command, first, _ in tasks:
        lines.append(f"taskset {first} {command} >/dev/null & echo $! >> /tmp/pids")
    lines += ["sleep 0.02", "set -- $(cat /tmp/pids)"]
    for _, first, allowed in tasks:
        lines.append(f"taskset -p {allowed} $1 >/dev/null; shift" if allowed != first else "shift")
    if options is not None:
        lines.append(f"steerd {options} hintio > /tmp/steerd & echo $! > /tmp/steerd.pid")
    return "\n".join(lines)


#: steerd ends first: whom it has held may run again where it could before.
END = f"""\
if [ -e /tmp/steerd ]; then
    kill $(cat /tmp/steerd.pid)
    while [ -d /proc/$(cat /tmp/steerd.pid) ]; do sleep 0.001; done
    cut -d' ' -f2 /tmp/steerd
else
    echo $(($(cat {QUEUE}/switch_moved) - $(cat /tmp/before)))
fi
grep -h Cpus_allowed: $(sed 's,.*,/proc/&/status,' /tmp/pids)
kill $(cat /tmp/pids)
while [ -n "$(pidof hintio)" ]; do sleep 0.01; done
"""


def shell(name: str, script: str) -> agent.Job:
    """A job that is a script."""
    return agent.Job(name, argv=agent.exec_argv(script))


def commands(result: agent.Message, edge: str) -> dict[int, int]:
    """Of each I/O submission queue, at the beginning or the end of a job."""
    log = agent.parse_snapshot(result[edge]).nvme_log
    assert log is not None
    return {q.sqid: q.commands for q in logpage.decode(log).submission_queues}


def looks(phase: str) -> list[str]:
    """The names of its jobs."""
    return [f"{phase}-{n}" for n in range(LOOKS)]


@pytest.fixture(scope="module")
def found() -> Mapping[str, Phase]:
    """All phases, of one guest."""
    jobs = []
    for name, (tasks, way) in PHASES.items():
        if tasks is IN_CPUSET:
            jobs.append(shell("cpuset", PREPARE))
        if name == "alone-nobody":
            jobs.append(shell("tie", TIE))
        jobs += [shell(f"{name}-start", start(tasks, way)),
                 *(shell(look, f"sleep {LOOK_S}") for look in looks(name)),
                 shell(f"{name}-end", END)]
    guest = machine("default", k=1, vcpus=2, append=("nvme.blk_switch=3",))
    outcome = session.run_task(session.Task("steerd", guest, agent.Plan(tuple(jobs)),
                                            log_root() / "steerd"))
    assert outcome.trouble == []
    assert outcome.results["cpuset"]["stdout"] == "0\n"
    assert str(outcome.results["tie"]["stdout"]).split() == [f"{HOT}", f"{TRIES}", f"{TRIES}"]
    phases = {}
    for name in PHASES:
        judged = []
        for look in looks(name)[1:]:
            first, last = (commands(outcome.results[look], edge) for edge in ("before", "after"))
            judged.append({sqid: count - first[sqid] for sqid, count in last.items()})
        moved, *masks = str(outcome.results[f"{name}-end"]["stdout"]).splitlines()
        phases[name] = Phase(judged, int(moved), [line.split()[1] for line in masks])
        print(name, phases[name])
    return phases


def test_control(found: Mapping[str, Phase]) -> None:
    """By themselves T stays beside L, and the classes are mixed."""
    for name in PHASES:
        assert not name.endswith("nobody") or found[name].moved == 0
    one, alone, even = (found[f"{name}-nobody"] for name in ("one", "alone", "even"))
    assert one.total(T0) > one.total(T1) / 6, one
    assert min(look[T0] for look in alone.looks) > 0.9 * alone.total(T0) / len(alone.looks), alone
    for look in range(len(even.looks)):
        assert even.minority(look, T0, T1) > 0.3, even
        assert even.minority(look, L0, L1) > 0.3, even


def leaves(phase: Phase, nobody: Phase, left: float, gain: float) -> None:
    """Of T's commands so much is left beside L, and L does so much more."""
    assert phase.total(T0) <= left * nobody.total(T0), (phase, nobody)
    assert phase.total(L0) >= gain * nobody.total(L0), (phase, nobody)


@pytest.mark.parametrize("way", ["kernel", "steerd"])
def test_same_moves(found: Mapping[str, Phase], way: str) -> None:
    """Whoever it is that steers, T leaves L's CPU, and L has more of it.

    Nobody else moves a task here.
    """
    phase = found[f"alone-{way}"]
    assert 1 <= phase.moved <= 3, phase
    leaves(phase, found["alone-nobody"], left=0.2, gain=2)


@pytest.mark.parametrize("way", ["kernel", "steerd"])
def test_moves_again(found: Mapping[str, Phase], way: str) -> None:
    """Who is only moved is taken back by the load balancer, and moved again, time after time.

    Where T is for how much of the time is between those two.
    """
    assert found[f"one-{way}"].moved >= 5, found[f"one-{way}"]


def test_held(found: Mapping[str, Phase]) -> None:
    """Who is held is not taken back."""
    phase = found["one-held"]
    assert phase.moved > 0, phase
    leaves(phase, found["one-nobody"], left=0.05, gain=1.15)


def test_apart(found: Mapping[str, Phase]) -> None:
    """Each class has a CPU of its own, where Algorithm 2 has nothing to say, and keeps it."""
    phase = found["even-apart"]
    assert 2 <= phase.moved <= 6, phase
    for look in range(len(phase.looks)):
        assert phase.minority(look, T0, T1) < 0.1, phase
        assert phase.minority(look, L0, L1) < 0.1, phase
    both = found["even-nobody"]
    assert phase.total(L0) + phase.total(L1) > 1.5 * (both.total(L0) + both.total(L1))


@pytest.mark.parametrize("phase", PHASES)
def test_masks(found: Mapping[str, Phase], phase: str) -> None:
    """In the end everybody may run where it could before."""
    assert found[phase].masks == ["1" if command == NARROW else str(allowed)
                                  for command, _, allowed in PHASES[phase][0]]


def test_cpuset(found: Mapping[str, Phase]) -> None:
    """Who may leave L's CPU by its affinity, but not by its cpuset, stays there."""
    assert found["one-kernel"].moved > 0
    assert found["cpuset-kernel"].moved == 0
