# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests for the tests: boot one, run a plan in it, keep its logs.

Logs are in the directory named by CINT_TEST_LOGS, else in build/logs/test/guest.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from cint import paths, steps
from cint.build import linux
from cint.device import properties
from cint.errors import CintError
from cint.guest import agent, session, vm
from cint.measure import comparison, runner, sampling, settings, workloads
from cint.measure.arms import Arm
from cint.measure.store import Store

#: One instruction per ns, a third of the machine that the papers measured.
SCALE = 3.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip all tests of guests when there is nothing to boot."""
    missing = [p for p in (paths.QEMU, paths.KERNEL, paths.INITRAMFS) if not p.exists()]
    if missing:
        mark = pytest.mark.skip(reason=f"{paths.display(missing[0])} is not built: ./cint build")
        for item in items:
            item.add_marker(mark)


#: What was noted and is no remark on a test yet.
_races: list[Path] = []


def note_races(logs: Sequence[Path]) -> None:
    """Note a guest's `boot_races`. In virtual time, where one thread has all vCPUs, are none."""
    _races.extend(logs)


@pytest.fixture(autouse=True)
def _tell_of_boot_races(request: pytest.FixtureRequest) -> Iterator[None]:
    """A guest whose boot QEMU's own fault ended is a remark on the test; it was started again."""
    yield
    # those of this test, and of a guest that was booted for its module: told once
    news, _races[:] = _races[:], []
    if news:
        logs = ", ".join(paths.display(log) for log in news)
        request.node.user_properties.append(
            ("remark", f"QEMU's own faults ended {len(news)} boot(s), see {logs}"))


def log_root() -> Path:
    """Where the guests' logs go."""
    return Path(os.environ.get("CINT_TEST_LOGS") or paths.TEST_LOGS / "guest")


@pytest.fixture
def logs(request: pytest.FixtureRequest) -> Path:
    """The directory for the logs of this test's guests."""
    return log_root() / re.sub(r"[^A-Za-z0-9.]+", "-", request.node.name).strip("-")


def disk_in(directory: Path) -> vm.Backend:
    """A namespace that keeps what is written, with nothing on it."""
    image = directory / "disk.img"
    with image.open("wb") as file:
        file.truncate(256 << 20)
    return vm.Backend(image)


@pytest.fixture
def disk(tmp_path: Path) -> vm.Backend:
    """One for a test."""
    return disk_in(tmp_path)


def built(kernel: linux.Kernel) -> Path:
    """A kernel that only slow tests need."""
    try:
        with steps.build_lock():
            linux.build(None, os.cpu_count() or 1, kernel)
    except CintError as problem:
        if kernel.image.exists():
            raise
        pytest.skip(f"no {kernel.what.removeprefix('the ')}: {problem.message}")
    return kernel.image


@pytest.fixture(scope="session")
def debug_kernel() -> Path:
    """The kernel that checks itself: lock order, sleeping where it may not, use after free."""
    return built(linux.DEBUG)


@pytest.fixture(scope="session")
def foreign_kernel() -> Path:
    """The debug kernel with dm-crypt, md, btrfs, multipath and others, suspend and kexec."""
    return built(linux.FOREIGN)


@pytest.fixture(scope="session")
def checked_kernel() -> Path:
    """The same without our patches, and with modules."""
    return built(linux.CHECKED)


@pytest.fixture(scope="session")
def race_kernel() -> Path:
    """The kernel that looks for data races."""
    return built(linux.RACES)


def needs_our_kernel() -> None:
    """Skip where guests boot a kernel of --linux-src."""
    if paths.KERNEL.resolve() != linux.MEASURED.directory / "vmlinux":
        pytest.skip("the kernel of --linux-src is not the distribution's with our patches")


@pytest.fixture(scope="session")
def plain_kernel() -> Path:
    """The kernel without our patches, entered as the measured one is."""
    needs_our_kernel()
    built(linux.PLAIN)
    return linux.PLAIN.directory / "vmlinux"


def make_settings(policies: str, jobs: Sequence[workloads.Workload], runtime_s: float,
                  cost_ns: int = settings.DEFAULT_COST_NS,
                  media: str = "optane") -> settings.Settings:
    """Settings of a comparison in virtual time, as ./cint compare would have them."""
    return settings.Settings(
        arms=[Arm(policy=policy) for policy in properties.parse_policies(policies)],
        workloads=jobs, media=properties.parse_media(media), virtual=True, vcpus=1,
        timing=workloads.Timing(runtime_s, runtime_s / 10), repeat=1, cpu_scale=SCALE,
        cost_ns=cost_ns, quick=False, drive=None, device_opts="", repeat_command="(a test)")


def tell(done: Sequence[runner.Done]) -> None:
    """Leave for `./cint test` where the runs are from."""
    with (log_root() / "runs.txt").open("a", encoding="utf-8") as file:
        file.writelines(f"{one.source} {one.run.key()} {one.run.name}\n" for one in done)


def run_samples(chosen: settings.Settings, directory: Path, *,
                stored: bool = True) -> list[sampling.Sample]:
    """Run a comparison and return all it measured; a noisy guest kernel is a failure.

    Unless ``stored``, whatever the store has is left alone.
    """
    asked = comparison.asked_for(comparison.compose(chosen))
    guests = comparison.run_guests(chosen, asked, directory, Store() if stored else None,
                                   runner.Reuse.from_environment())
    tell(guests.done)
    for _, problem in guests.failed:
        raise problem
    outcomes = guests.outcomes
    for outcome in outcomes:
        assert outcome.trouble == [], f"{outcome.name}: kernel messages"
    assert not chosen.cost_ns or comparison.in_force(chosen, outcomes), "no interrupt cost"
    return guests.samples


def run_policies(chosen: settings.Settings, directory: Path, *,
                 stored: bool = True) -> list[sampling.Row]:
    """The same as rows of the table."""
    return comparison.tabulate(chosen, run_samples(chosen, directory, stored=stored))


def value(rows: Sequence[sampling.Row], policy: str, workload: str, metric: str,
          job: str | None = None) -> float:
    """One number of the table."""
    found = [r.values.get(metric) for r in rows
             if (r.policy, r.workload, r.job) == (policy, workload, job)]
    assert len(found) == 1 and found[0] is not None, (policy, workload, metric)
    return found[0]


Boot = Callable[..., session.Outcome]


@pytest.fixture
def boot(logs: Path) -> Boot:
    """A function that runs a plan in a guest and checks the kernel's messages."""
    def run(machine: vm.Machine, plan: agent.Plan, name: str = "guest",
            seconds: float = 30.0) -> session.Outcome:
        outcome = session.run_task(session.Task(name, machine, plan, logs / name, seconds))
        note_races(outcome.boot_races)
        assert outcome.trouble == []
        return outcome
    return run


def machine(policy: str, media: str = "optane", virtual: bool = True, k: float = SCALE,
            **more: object) -> vm.Machine:
    """A guest with one policy."""
    chosen = comparison.choose_accel(virtual)
    props = properties.device_properties(properties.parse_policy(policy),
                                         properties.parse_media(media), k, virtual)
    return vm.Machine(props, virtual=virtual, accel=chosen.name, cpu=chosen.cpu,
                      **more)  # type: ignore[arg-type]
