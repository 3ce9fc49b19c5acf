# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs, their keys and the store: what decides a run, what is taken, what is noticed."""

from __future__ import annotations

import os
import pickle
import queue
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from cint import paths, steps
from cint.device import properties
from cint.errors import CintError
from cint.guest import agent, vm
from cint.measure import dispatch, plan, runner, store
from cint.measure.plan import Files, RunOutcome, RunPlan
from cint.measure.runner import CHECKED, RAN, STORED, Done, Reuse
from cint.measure.store import Store

FAKE = Path(__file__).with_name("fake_qemu.py")
JOBS = agent.Plan((agent.Job("sync", fio="[sync]\nruntime=1s\n", args=("--eta=never",)),),
                  (("sh", "-c", "true"),))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> vm.Machine:
    """A guest of the fake QEMU, with files of its own."""
    monkeypatch.setenv("PYTHONPATH", f"{FAKE.parent}:{FAKE.parents[1]}")
    files: dict[str, Any] = {}
    for name in ("qemu", "kernel", "initramfs"):
        files[name] = tmp_path / name
        files[name].write_bytes(FAKE.read_bytes() if name == "qemu" else name.encode())
        files[name].chmod(0o755)
    options = tmp_path / "cmdline.virtual"
    options.write_text("tsc=reliable\n")
    props = properties.device_properties(properties.parse_policy("adaptive"),
                                         properties.parse_media("optane"), 3, virtual=True)
    return vm.Machine(props, append=("nvme.irq_cost_ns=2220",), cmdline_virtual=options, **files)


def made(machine: vm.Machine, jobs: agent.Plan = JOBS) -> RunPlan:
    """The run of a plan on a machine."""
    return RunPlan.of("adaptive", machine, jobs, Files.of(machine))


# ---- the key ------------------------------------------------------------

def one_byte(path: Path) -> None:
    """Change the last byte of a file, and nothing else."""
    text = path.read_bytes()
    path.write_bytes(text[:-1] + bytes([text[-1] ^ 1]))


def changed_file(name: str) -> Callable[[vm.Machine, agent.Plan, pytest.MonkeyPatch], RunPlan]:
    """One byte of a file of the guest or of its firmware is another."""
    def change(machine: vm.Machine, jobs: agent.Plan, _: pytest.MonkeyPatch) -> RunPlan:
        one_byte(getattr(machine, name, None) or paths.FIRMWARE_DIRS[0] / name)
        return made(machine, jobs)
    return change


def other_machine(**more: Any) -> Callable[..., RunPlan]:
    """The machine has another value."""
    return lambda machine, jobs, _: made(replace(machine, **more), jobs)


def other_jobs(**more: Any) -> Callable[..., RunPlan]:
    """The plan's job has another value."""
    def change(machine: vm.Machine, jobs: agent.Plan, _: pytest.MonkeyPatch) -> RunPlan:
        return made(machine, replace(jobs, jobs=(replace(jobs.jobs[0], **more),)))
    return change


def other_constant(module: object, name: str, value: object) -> Callable[..., RunPlan]:
    """A value of the tool is another."""
    def change(machine: vm.Machine, jobs: agent.Plan, patch: pytest.MonkeyPatch) -> RunPlan:
        patch.setattr(module, name, value)
        return made(machine, jobs)
    return change


def other_property(machine: vm.Machine, jobs: agent.Plan, _: pytest.MonkeyPatch) -> RunPlan:
    """A property of the device has another value."""
    props = [(name, 33 if name == "cint.thr" else value) for name, value in machine.properties]
    return made(replace(machine, properties=props), jobs)


def other_options(machine: vm.Machine, jobs: agent.Plan, _: pytest.MonkeyPatch) -> RunPlan:
    """The kernel is given another option from its file."""
    machine.cmdline_virtual.write_text("tsc=unstable\n")
    return made(machine, jobs)


def other_setup(machine: vm.Machine, jobs: agent.Plan, _: pytest.MonkeyPatch) -> RunPlan:
    """The guest does something else before the jobs."""
    return made(machine, replace(jobs, setup=(("sh", "-c", "false"),)))


def other_disk(machine: vm.Machine, jobs: agent.Plan, _: pytest.MonkeyPatch) -> RunPlan:
    """The guest begins with a disk."""
    disk = machine.kernel.with_name("disk")
    disk.write_bytes(b"disk")
    return made(replace(machine, backend=vm.Backend(disk, snapshot=True)), jobs)


INPUTS: dict[str, Callable[..., RunPlan]] = {
    **{name: changed_file(name) for name in ("qemu", "kernel", "initramfs", *plan.FIRMWARE,
                                                 plan.ENTRY[False])},
    "vcpus": other_machine(vcpus=2), "memory": other_machine(memory_mib=512),
    "cpu": other_machine(cpu="qemu64"), "machine's seed": other_machine(seed=2),
    "kernel's options": other_machine(append=("nvme.irq_cost_ns=2221",)),
    "kernel's options in virtual time": other_options,
    "device's options": other_machine(device_opts="mdts=3"), "property": other_property,
    "backend": other_machine(backend=vm.Backend(size=1 << 29)),
    "disk": other_disk, "trace": other_machine(trace=("cint",)), "IOMMU": other_machine(iommu=True),
    "second controller": other_machine(second=(("cint", "on"),)),
    "one that keeps what is written": other_machine(second=(("cint", "on"),), second_kept=True),
    "icount": other_constant(vm, "ICOUNT", "shift=1,sleep=off"),
    "agent's port": other_constant(agent, "PORT_NAME", "another"),
    "fio's job": other_jobs(fio="[sync]\nruntime=2s\n"),
    "fio's seed": other_jobs(fio="[sync]\nruntime=1s\nrandseed=2\n"),
    "fio's options": other_jobs(args=()), "name of a job": other_jobs(name="async"),
    "time limit": other_jobs(timeout_s=7), "CPUs of a job": other_jobs(cpus="0"),
    "setup": other_setup,
    "protocol": other_constant(agent, "PROTOCOL", 2), "version": other_constant(plan, "VERSION", 2),
}


@pytest.mark.parametrize(("text", "entry"), [(b"\x7fELF\2", "pvh.bin"),
                                             (b"MZ\xea", "linuxboot_dma.bin")])
def test_what_enters_the_kernel_is_part_of_the_run(machine: vm.Machine, text: bytes,
                                                   entry: str) -> None:
    machine.kernel.write_bytes(text)
    before = made(machine)
    assert {r for r, _ in before.files if "firmware" in r} == {
        f"firmware/{name}" for name in (*plan.FIRMWARE, entry)}
    one_byte(paths.FIRMWARE_DIRS[0] / entry)
    assert made(machine).key() != before.key()


@pytest.mark.parametrize("name", INPUTS)
def test_every_input_changes_the_key(machine: vm.Machine, monkeypatch: pytest.MonkeyPatch,
                                     name: str) -> None:
    before = made(machine).key()
    assert made(machine).key() == before
    assert INPUTS[name](machine, JOBS, monkeypatch).key() != before


def test_the_slots_of_several_cpus_change_the_key(machine: vm.Machine) -> None:
    slots = {made(replace(machine, vcpus=2, slot_ns=ns)).key() for ns in (1000, 1001)}
    assert len(slots) == 2


def test_every_field_of_a_machine_is_an_input() -> None:
    """A new field has to be looked at: is it in the key?"""
    fields = set(vm.Machine.__dataclass_fields__)
    assert fields == {"properties", "device_opts", "qemu", "kernel", "initramfs",
                      "cmdline_virtual", "append", "vcpus", "slot_ns", "memory_mib", "virtual",
                      "iommu", "accel", "cpu", "backend", "second", "second_kept", "trace",
                      "own_guest", "extra", "seed", "one_thread"}


def test_neither_place_nor_name_nor_time_is_in_the_key(machine: vm.Machine,
                                                       tmp_path: Path) -> None:
    there = tmp_path / "elsewhere"
    there.mkdir()
    copies: dict[str, Any] = {}
    for name in ("qemu", "kernel", "initramfs"):
        copies[name] = there / name
        copies[name].write_bytes(getattr(machine, name).read_bytes())
    moved = replace(machine, **copies)
    one = made(machine)
    other = RunPlan.of("another name", moved, JOBS, Files.of(moved), job_seconds=5,
                       boot_limit_s=7)
    assert one.key() == other.key()
    assert str(tmp_path) not in repr(other)


def test_a_file_that_was_changed_is_read_again(machine: vm.Machine) -> None:
    before = plan.digest(machine.kernel)
    one_byte(machine.kernel)
    assert plan.digest(machine.kernel) != before


needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


def compiled(directory: Path, text: str, *options: str) -> Path:
    """A program with debug information, which names the directory it was compiled in."""
    directory.mkdir()
    (directory / "one.c").write_text(text)
    subprocess.run(["cc", "-g", "-Wl,--build-id", *options, "-o", "program", "one.c"],
                   cwd=directory, check=True)
    return directory / "program"


PROGRAM = "static const char *said = \"read\"; int main(void) { return said[0] + %d; }\n"


@needs_compiler
@pytest.mark.parametrize(("text", "options", "same"), [
    (PROGRAM % 1, [], True),
    (PROGRAM % 1, ["-s"], True),
    (PROGRAM % 2, [], False),
    (PROGRAM.replace("read", "road") % 1, [], False),
    (PROGRAM % 1, ["-Wl,-Ttext-segment=0x500000", "-no-pie"], False),
], ids=["another directory", "stripped", "another instruction", "another constant",
        "another address"])
def test_a_program_counts_by_what_is_loaded(tmp_path: Path, text: str, options: list[str],
                                            same: bool) -> None:
    one = compiled(tmp_path / "one", PROGRAM % 1)
    other = compiled(tmp_path / "other", text, *options)
    assert one.read_bytes() != other.read_bytes()
    assert (plan.digest(one) == plan.digest(other)) is same


@needs_compiler
@pytest.mark.parametrize("size", [10, 70, 4000, -1])
def test_half_a_program_counts_as_a_file(tmp_path: Path, size: int) -> None:
    program = compiled(tmp_path / "one", PROGRAM % 1)
    os.truncate(program, size % program.stat().st_size)
    assert plan.digest(program) == steps.hash_file(program)


def test_the_command_line_is_that_of_the_machine(machine: vm.Machine) -> None:
    files = Files.of(machine)
    found = made(machine).command(files.places)
    assert found == vm.machine_args(machine, ("-L", str(paths.FIRMWARE_DIRS[0])))
    with pytest.raises(CintError, match=r"kernel with SHA-256 \S+ is not here"):
        made(machine).command({c: p for c, p in files.places.items() if p != machine.kernel})


def test_a_kernel_that_was_built_meanwhile_is_not_booted(machine: vm.Machine) -> None:
    run, places = made(machine), Files.of(machine).places
    machine.kernel.write_text("another kernel")
    with pytest.raises(CintError, match="kernel has changed meanwhile"):
        run.command(places)


@pytest.mark.parametrize(("more", "why"), [
    ({"virtual": False}, "real time"), ({"backend": vm.Backend(Path("/disk"))}, "drive"),
    ({"extra": ("-snapshot",)}, "options"), ({"own_guest": True}, "end by itself")])
def test_some_runs_are_never_kept(machine: vm.Machine, more: dict[str, Any],
                                  why: str) -> None:
    assert why in made(replace(machine, **more)).impure
    assert made(machine).impure == ""


# ---- the store ----------------------------------------------------------

def outcome(key: str = "ab" * 32, text: bytes = b"{}\n") -> RunOutcome:
    """Some outcome."""
    return RunOutcome(key, text, b"console", b"trace", ("qemu", "-m", "1"), 1.5, 2.5)


def test_what_is_kept_is_found() -> None:
    kept = Store()
    assert kept.get("ab" * 32) is None
    kept.put(outcome())
    assert kept.get("ab" * 32) == outcome()
    assert Store().get("ab" * 32) == outcome()
    assert [p.name for p in kept.path("ab" * 32).parent.iterdir()] == ["ab" * 32 + ".run"]


@pytest.mark.parametrize("damage", [
    lambda text: b"", lambda text: text[:-1], lambda text: text + b"x",
    lambda text: text[:text.index(b"\n") + 5] + b"\0" + text[text.index(b"\n") + 6:],
    lambda text: text.replace(b'"key": "ab', b'"key": "cd'), lambda text: b"[]\n" + text,
    lambda text: text.replace(b'"sha256": "', b'"sha256": "0'), lambda text: text[:40]])
def test_damage_is_noticed(damage: Callable[[bytes], bytes],
                           capsys: pytest.CaptureFixture[str]) -> None:
    kept = Store()
    kept.put(outcome())
    path = kept.path("ab" * 32)
    path.write_bytes(damage(path.read_bytes()))
    assert kept.get("ab" * 32) is None
    assert "is damaged" in capsys.readouterr().err
    kept.put(outcome())
    assert kept.get("ab" * 32) == outcome()


def test_what_was_not_used_for_longest_goes() -> None:
    kept = Store(limit=1)
    keys = [f"{n:064x}" for n in range(4)]
    for n, key in enumerate(keys):
        kept.put(outcome(key))
        os.utime(kept.path(key), (n, n))
    size = kept.path(keys[0]).stat().st_size
    kept.limit = 2 * size
    assert kept.get(keys[0]) is not None  # used just now
    assert kept.prune() == 2 * size
    assert [kept.get(key) is not None for key in keys] == [True, False, False, True]


def put_many(directory: Path) -> int:
    """Write the same entries as another process does at the same time."""
    kept = Store(directory)
    for n in range(200):
        kept.put(outcome(f"{n % 5:064x}", b"x" * 10_000))
    return sum(kept.get(f"{n:064x}") is not None for n in range(5))


def test_two_processes_use_one_store(tmp_path: Path) -> None:
    with ProcessPoolExecutor(2) as pool:
        assert list(pool.map(put_many, [tmp_path / "s"] * 2)) == [5, 5]
    assert not list((tmp_path / "s").rglob(".*"))


# ---- many runs ----------------------------------------------------------

class Guests:
    """Stands in for guests: answers of one's own, by the name of the run."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.answer = b"one\n"

    def __call__(self, run: RunPlan) -> RunOutcome:
        self.ran.append(run.name)
        if run.name == "bad":
            raise CintError("bad: it fails")
        if run.name == "broken":
            raise ValueError("a mistake")
        return outcome(run.key(), self.answer)


@pytest.fixture
def guests() -> Guests:
    return Guests()


def several(machine: vm.Machine, *names: str) -> list[RunPlan]:
    """Runs of these names, each another machine."""
    files = Files.of(machine)
    return [RunPlan.of(name, replace(machine, seed=n), JOBS, files)
            for n, name in enumerate(names, 1)]


def go(runs: Sequence[RunPlan], guests: Guests, reuse: Reuse | None = None,
       kept: Store | None = None) -> list[Done]:
    """All runs, with a store, in the order they were asked for."""
    with ThreadPoolExecutor(2) as pool:
        done = list(runner.run_all(runs, pool, guests, kept or Store(), reuse))
    return sorted(done, key=lambda one: one.index)


def sources(done: Sequence[Done]) -> list[str]:
    return [one.source for one in done]


def test_hit_and_miss(machine: vm.Machine, guests: Guests) -> None:
    runs = several(machine, "a", "b")
    first = go(runs[:1], guests)
    assert sources(first) == [RAN]
    assert runner.summary(first, Reuse()) == ""
    both = go(runs, guests)
    assert sources(both) == [STORED, RAN]
    assert guests.ran == ["a", "b"]
    assert runner.summary(both, Reuse()) == "1 of 2 runs from the store"
    assert [d.outcome for d in go(runs, guests)] == [d.outcome for d in both]


def test_one_byte_of_the_image_is_a_miss(machine: vm.Machine, guests: Guests) -> None:
    go([made(machine)], guests)
    one_byte(machine.initramfs)
    assert sources(go([made(machine)], guests)) == [RAN]


def test_a_failure_loses_only_itself(machine: vm.Machine, guests: Guests) -> None:
    done = go(several(machine, "a", "bad", "broken", "b"), guests)
    assert [one.problem is None for one in done] == [True, False, False, True]
    assert "ValueError: a mistake" in str(done[2].problem)
    assert sources(go(several(machine, "a", "bad", "broken", "b"), guests)) == [
        STORED, RAN, RAN, STORED]
    with pytest.raises(CintError, match="bad: it fails"):
        runner.outcomes(done)


def test_runs_of_one_key_run_once(machine: vm.Machine, guests: Guests) -> None:
    one, = several(machine, "a")
    done = go([one, replace(one, name="b")], guests)
    assert guests.ran == ["a"]
    assert [d.run.name for d in done] == ["a", "b"]


def test_real_time_is_never_taken(machine: vm.Machine, guests: Guests) -> None:
    real = [made(replace(machine, virtual=False))] * 2
    assert sources(go(real, guests) + go(real, guests)) == [RAN] * 4
    assert len(guests.ran) == 4
    assert list(Store().entries()) == []


def test_damage_is_run_again(machine: vm.Machine, guests: Guests) -> None:
    run = made(machine)
    go([run], guests)
    path = Store().path(run.key())
    path.write_bytes(path.read_bytes()[:-3])
    assert sources(go([run], guests)) == [RAN]
    assert sources(go([run], guests)) == [STORED]


def test_fresh_finds_the_same_bytes(machine: vm.Machine, guests: Guests) -> None:
    runs = several(machine, "a", "b")
    go(runs[:1], guests)
    done = go(runs, guests, Reuse(fresh=True))
    assert sources(done) == [CHECKED, RAN]
    assert runner.summary(done, Reuse(fresh=True)) == \
        "1 of 2 runs from the store; 1 run again: 1 with the same bytes"


def test_another_outcome_is_an_error_that_names_both(machine: vm.Machine, guests: Guests,
                                                     sandbox: Path) -> None:
    run = made(machine)
    go([run], guests)
    guests.answer = b"onE\n"
    done, = go([run], guests, Reuse(fresh=True))
    assert done.outcome is None
    assert f"adaptive: run {run.key()[:12]} is not what the store has: agent.log from byte 2" \
        in str(done.problem)
    base = sandbox / "build/logs/runs" / run.key()[:12]
    assert done.problem and f"{base}/stored/agent.log" in str(done.problem.hint)
    assert (base / "stored/agent.log").read_bytes() == b"one\n"
    assert (base / "fresh/agent.log").read_bytes() == b"onE\n"
    assert sources(go([run], guests)) == [STORED]


def test_full_runs_a_tenth_again(machine: vm.Machine, guests: Guests) -> None:
    runs = several(machine, *(f"r{n}" for n in range(30)))
    go(runs, guests)
    guests.ran.clear()
    reuse = Reuse.of(fresh=False, full=True, seed=5)
    done = go(runs, guests, reuse)
    drawn = sorted(guests.ran)
    assert len(drawn) == 3
    assert sources(done).count(CHECKED) == 3
    assert "30 of 30 runs from the store; 3 run again (drawn with seed 5): 3 with the same" \
        in runner.summary(done, reuse)
    guests.ran.clear()
    go(runs, guests, reuse)
    assert sorted(guests.ran) == drawn
    assert {tuple(sorted(Reuse(share=0.1, seed=s).again(range(30)))) for s in range(9)} != {()}
    assert len({tuple(sorted(Reuse(share=0.1, seed=s).again(range(30)))) for s in range(9)}) > 1
    assert Reuse(share=0.1).again([4]) == {4}
    assert Reuse(share=0.1).again([]) == set()


def test_what_the_tests_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for words, wanted in (("", Reuse()), ("fresh", Reuse(fresh=True)),
                          ("full:7", Reuse(share=runner.TENTH, seed=7))):
        monkeypatch.setenv("CINT_RUNS", words)
        assert Reuse.from_environment() == wanted


def test_a_store_that_cannot_be_written_loses_no_run(machine: vm.Machine, guests: Guests,
                                                     tmp_path: Path,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    done = go([made(machine)], guests, kept=Store(tmp_path / "file"))
    assert done[0].outcome is not None
    assert "cannot be kept" in capsys.readouterr().err


# ---- guests -------------------------------------------------------------

def test_a_guest_here(machine: vm.Machine, tmp_path: Path) -> None:
    run, places = made(machine), Files.of(machine).places

    def logs(one: RunPlan) -> Path:
        return tmp_path / "logs" / one.name

    first, = dispatch.run_here([run], places, logs, store=Store())
    assert (first.source, first.problem) == (RAN, None)
    wanted = {p.name: p.read_bytes() for p in logs(run).iterdir()}
    assert set(wanted) == {"agent.log", "console.log", "qemu.log"}
    for path in logs(run).iterdir():
        path.unlink()
    second, = dispatch.run_here([run], places, logs, store=Store())
    assert second.source == STORED
    assert {p.name: p.read_bytes() for p in logs(run).iterdir()} == wanted
    parsed = runner.outcomes([second])[0]
    assert parsed.argv[0] == str(machine.qemu)
    assert parsed.results["sync"]["fio"]["jobs"]


#: CPUs, runs, and how many have begun at first and after each one that has ended.
TURNS = (
    (2, 7, (2, 3, 4, 7)), (2, 3, (3,)), (2, 2, (2,)), (2, 4, (2, 4)), (1, 4, (1, 2, 3, 4)),
    (4, 11, (4, 5, 11)), (4, 6, (6,)), (4, 7, (4, 7)),
)


@pytest.mark.parametrize(("cpus", "runs", "begun"), TURNS)
def test_the_last_runs_begin_together(cpus: int, runs: int, begun: tuple[int, ...]) -> None:
    """No CPU is left idle by an odd one; the first ones are not held up by it."""
    turns = runner.Turns(cpus, runs)
    started: queue.Queue[int] = queue.Queue()
    ends = [threading.Event() for _ in range(runs)]

    def one(index: int) -> None:
        with turns:
            started.put(index)
            assert ends[index].wait(60)

    with ThreadPoolExecutor(turns.most) as pool:
        waiting = [pool.submit(one, index) for index in range(runs)]
        try:
            order: list[int] = []
            for ended, count in enumerate(begun):
                if ended:
                    ends[order[ended - 1]].set()
                while len(order) < count:
                    order.append(started.get(timeout=60))
                time.sleep(0.02)
                assert started.empty()
        finally:
            for end in ends:
                end.set()
        for future in waiting:
            future.result()


def test_more_runs_than_were_counted_take_their_turns() -> None:
    turns = runner.Turns(2, 1)
    with turns, turns, pytest.raises(TimeoutError), ThreadPoolExecutor(1) as pool:
        third = pool.submit(turns.__enter__)
        try:
            third.result(timeout=0.1)
        finally:
            turns.__exit__()


def test_a_run_travels(machine: vm.Machine) -> None:
    """To another process and back, the failure of a guest too."""
    run, places = made(machine), Files.of(machine).places
    assert pickle.loads(pickle.dumps(run)).key() == run.key()
    with ProcessPoolExecutor(1) as pool:
        there = pool.submit(runner.execute, run, places).result()
        bad = pool.submit(runner.execute, run, {}).exception()
    assert plan.difference(there, runner.execute(run, places)) is None
    assert there.argv[0] == str(machine.qemu)
    assert isinstance(bad, CintError)
    assert "is not here" in bad.message


def test_leaving_early_ends_the_guests(machine: vm.Machine, tmp_path: Path,
                                       monkeypatch: pytest.MonkeyPatch) -> None:
    runs = several(machine, "quick", "silent")
    places = Files.of(machine).places
    # The second hangs: only being cancelled ends it.
    plain = runner.execute

    def mixed(run: RunPlan, *words: Any) -> RunOutcome:
        monkeypatch.setenv("FAKE_GUEST", "silent" if run.name == "silent" else "ok")
        return plain(run, *words)

    monkeypatch.setattr(runner, "execute", mixed)
    monkeypatch.setattr(runner, "workers", lambda *_: 1)
    found = cast("Generator[Done]",
                 dispatch.run_here(runs, places, lambda run: tmp_path / run.name))
    assert next(found).run.name == "quick"
    found.close()


def test_the_limit_of_a_store_is_documented() -> None:
    text = (paths.ROOT / "docs/compare.md").read_text(encoding="utf-8")
    assert f"{store.LIMIT >> 30} GiB" in text
