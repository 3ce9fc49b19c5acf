# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of apps/ in figures: what of them is run, and the disks that their guests begin with."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from cint import paths
from cint.figures.figure import Figure
from cint.guest import appdisk
from cint.guest.appdisk import Disk
from cint.measure import apps, workloads
from cint.measure.apps import App
from cint.measure.workloads import Workload


@cache
def described(name: str) -> App:
    """The program of apps/NAME.toml."""
    return apps.load(paths.ROOT / "apps" / f"{name}.toml")


def part(program: str, name: str, title: str, run: str, limit_s: int) -> Workload:
    """Commands for the disk of apps/PROGRAM.toml, as a workload of this name.

    ``limit_s`` is how long they may run, in seconds of the guest's clock; the time that a figure
    takes is estimated by it.
    """
    return workloads.of_app(described(program).part(name, title, run, limit_s))


def tools(*names: str) -> App:
    """No program of apps/: a disk with these of the project's own (paths.GUEST), and no data."""
    disk = Disk(f"the figure's disk with {', '.join(names)}", appdisk.RELEASES[0], (), "ext4",
                512 << 20, tuple(paths.GUEST / name for name in names))
    return App(paths.ROOT, ", ".join(names), disk, "", 1, 512)


def disks(figures: Iterable[Figure]) -> list[Disk]:
    """The disks that the guests of these figures begin with, each once."""
    return list(dict.fromkeys(work.app.disk for figure in figures for group in figure.groups
                              for work in group.workloads if work.app))


def make_disks(figures: Iterable[Figure]) -> None:
    """Make those that are not there; what that costs is said before the first.

    Raises what :func:`appdisk.make` does.
    """
    wanted = disks(figures)
    for disk in wanted:
        appdisk.look_up(disk)
    for disk in wanted:
        appdisk.make(disk)


def missing(figure: Figure) -> list[Disk]:
    """Disks of the figure that are not there: what its guests would be is not known then."""
    return [disk for disk in disks([figure]) if not appdisk.place(disk).exists()]
