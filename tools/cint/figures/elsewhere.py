# SPDX-License-Identifier: GPL-2.0-or-later
"""A figure in guests other than its own: another kernel, and others who give the hints.

What is checked stays what the paper claims, of the guest with the first who is named; the others
stand beside it in the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cint.device import properties
from cint.errors import UsageError
from cint.figures.figure import Figure, Group, Run
from cint.guest import drivers, hints, polling, steering
from cint.measure import workloads
from cint.measure.workloads import Workload


def in_guest(figure: Figure, guest: str, words: Sequence[str]) -> Figure:
    """The figure in guests of this kind, where these give hints: words of cint.guest.hints.

    Runs that the figure has without hints stay without.
    """
    return replace(figure, groups=tuple(_group(figure, group, guest, words)
                                        for group in figure.groups))


def _group(figure: Figure, group: Group, guest: str, words: Sequence[str]) -> Group:
    runs = group.runs
    if callable(runs):
        raise UsageError(f"--hints: {figure.id} chooses runs by what it measured before; these "
                         "are of its own guests")
    if group.guest != guest:
        if guest != "distro":
            raise UsageError(f"--guest {guest}: {figure.id} is about the distribution's kernel")
        _check_distro(figure, group, runs)
        group = replace(group, guest=guest, cost_ns=0,
                        workloads=tuple(_wordless(work) for work in group.workloads))
    return replace(group, runs=tuple(_given(run, word, first=word == words[0])
                                     for run in runs for word in words
                                     if run.hints or word == words[0]))


def _wordless(work: Workload) -> Workload:
    """The jobs for a kernel that is told nothing: what says that nobody waits says nothing."""
    plain = workloads.for_guest(work, takes_hints=False)
    return replace(plain, template=plain.template.replace(workloads.UNMARKED, workloads.LIBAIO))


def _check_distro(figure: Figure, group: Group, runs: Sequence[Run]) -> None:
    """Refuse what asks for our kernel, or for what only its image has."""
    own = [name for name, is_so in (
        ("polling", any(run.polling != polling.OFF for run in runs)),
        ("a process that drives", any(run.engine != drivers.KERNEL for run in runs)),
        ("queues by class", any(run.steering != steering.OFF for run in runs)),
        ("options of our kernel", bool(group.append or group.preempt)),
        ("commands for our guest", bool(group.setup) or group.probed)) if is_so]
    if own:
        raise UsageError(f"--guest distro: {figure.id} needs our kernel and image: "
                         f"{', '.join(own)}", hint="leave it out")


def _given(run: Run, word: str, *, first: bool) -> Run:
    """A run where `word` gives hints, if any are given; without, the device infers them."""
    if not run.hints:
        return run
    title = run.title if first else f"{run.title}/{hints.name(word)}"
    if word != hints.OFF:
        return replace(run, name=title, who=word)
    policy = properties.parse_policy(run.policy)
    infers = properties.inferred(policy) is not policy
    separator = "," if ":" in run.policy else ":"
    return replace(run, name=title, hints=False,
                   policy=f"{run.policy}{separator}infer=all" if infers else run.policy)
