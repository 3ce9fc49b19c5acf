# SPDX-License-Identifier: GPL-2.0-or-later
"""The driver in user space, in the guest: with an IOMMU and without, verified, in all modes."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from conftest import Boot, machine
from waits import LOST_US, is_late, slowest_us, words

from cint import paths
from cint.device import logpage
from cint.guest import agent, drivers, session, vm
from cint.measure import comparison, fiojson, metrics
from cint.options import comparing

#: Gives the controller to vfio-pci, without an IOMMU where there is none.
BIND = """
if [ ! -d /sys/kernel/iommu_groups/0 ]; then
  echo 1 > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode
  echo 64 > /proc/sys/vm/nr_hugepages
fi
A=$(basename $(readlink -f /sys/class/nvme/nvme0/device))
echo $A > /tmp/address
cintio bind $A
"""
WAYS = pytest.mark.parametrize("iommu", [True, False], ids=["iommu", "no-iommu"])
MODES = ("poll", "sleep", "adaptive", "interrupt", "coalesced")


def job(name: str, script: str) -> agent.Job:
    """A job for the shell, which knows the controller's address as $A."""
    return agent.Job(name, argv=agent.exec_argv(f"A=$(cat /tmp/address)\n{script}"),
                     timeout_s=600)


def run(boot: Boot, machine: vm.Machine, *jobs: agent.Job, bind: bool = True,
        seconds: float = 600) -> session.Outcome:
    """Boot, and give the controller to vfio-pci; a job says nothing for so long at most."""
    setup = (agent.exec_argv(BIND),) if bind else ()
    return boot(replace(machine, initramfs=paths.USERSPACE_INITRAMFS),
                agent.Plan(jobs=jobs, setup=setup), seconds=seconds)


@dataclass(frozen=True)
class Case:
    """A run of `cintio check`."""

    name: str
    options: str
    ios: int
    threads: int = 1


CASES = (
    *(Case(mode, f"--mode {mode} --sleep 40000 --depth 8 --min 4 --count 1000", 1000)
      for mode in MODES),
    Case("large", "--mode coalesced --blocks 1024 --depth 4 --min 2 --count 60", 60),
    Case("odd", "--mode interrupt --blocks 9 --depth 8 --min 2 --count 500", 500),
    Case("full", "--mode coalesced --depth 63 --entries 64 --min 63 --count 2000", 2000),
    Case("threads", "--mode coalesced --depth 8 --min 3 --threads 4 --count 500", 500, 4),
    *(Case(f"delay-{ns}", f"--mode coalesced --depth 16 --min 5 --count 500 --delay {ns}", 500)
      for ns in (1000, 10000, 50000, 200000)),
    Case("delay-interrupt", "--mode interrupt --depth 16 --min 5 --count 500 --delay 20000", 500),
    Case("hints", "--policy cint --records --hints --mode interrupt --count 1000", 1000),
    *(Case(f"policy-{policy}", f"--policy {policy} --mode interrupt --min 4 --count 500", 500)
      for policy in ("default", "static", "adaptive", "vic")),
)


@WAYS
def test_verified(boot: Boot, disk: vm.Backend, iommu: bool) -> None:
    """What was written is read, in all modes; nobody ever waits for max-hold, or for a second."""
    host = machine("pointer", "p3700", backend=disk, iommu=iommu)
    jobs = [job(case.name, f"cintio check $A {case.options}") for case in CASES]
    outcome = run(boot, host, *jobs, job("info", "cintio info $A"))
    assert f"iommu {'yes' if iommu else 'no'}" in str(outcome.results["info"]["stdout"])
    for case in CASES:
        queues = words(str(outcome.results[case.name]["stdout"]))
        assert len(queues) == case.threads
        for queue in queues:
            assert (queue["ios"], queue["cqes"]) == (case.ios, case.ios), case.name
            assert (queue["errors"], queue["rejects"]) == (0, 0), case.name
            assert queue["longest_us"] < LOST_US, (case.name, queue)
            if not case.name.startswith("policy-"):
                assert not is_late(queue), (case.name, queue)


def of(outcome: session.Outcome, name: str) -> dict[str, int]:
    """The only queue of a run."""
    queue, = words(str(outcome.results[name]["stdout"]))
    return queue


def test_modes_do_what_they_say(boot: Boot, disk: vm.Backend) -> None:
    """Interrupts and sleeps of each mode, where the medium is slower than the program."""
    options = "--depth 4 --min 4 --blocks 1 --count 400 --sleep 100000"
    jobs = [job(mode, f"cintio check $A --mode {mode} {options}") for mode in MODES]
    outcome = run(boot, machine("pointer", "p3700", backend=disk, iommu=True), *jobs)
    assert not any(is_late(of(outcome, mode)) for mode in MODES)
    assert of(outcome, "poll")["irqs"] <= 1
    assert of(outcome, "poll")["sleeps"] == 0
    for mode in ("sleep", "adaptive"):
        assert of(outcome, mode)["irqs"] <= 1
        assert of(outcome, mode)["sleeps"] >= 60, mode
    assert of(outcome, "interrupt")["irqs"] == 400
    assert of(outcome, "interrupt")["sleeps"] > 150
    # once for each four, all of which are asked for at once
    assert of(outcome, "coalesced")["irqs"] <= 101
    assert 90 <= of(outcome, "coalesced")["sleeps"] <= 101


#: Whoever waits for a part of what is outstanding, or for all. Faults lie between two steps: times
#: like the medium's make it likely that something happens there.
FAULTS = {
    "early": "--depth 16 --min 12 --count 503 --delay 200000",
    "early-all": "--depth 8 --min 8 --count 400 --delay 300000",
    "clamp": "--depth 16 --min 12 --count 503 --delay 1000",
    "clamp-all": "--depth 8 --min 8 --count 403 --delay 1000",
}


def test_faulty_driver_is_found_out(boot: Boot, disk: vm.Backend) -> None:
    """A driver that loses wake-ups waits until the controller, or the driver itself, looks."""
    jobs = [job(name, f"cintio check $A --mode coalesced {options} --fault {name.split('-')[0]}")
            for name, options in FAULTS.items()]
    outcome = run(boot, machine("pointer", "p3700", backend=disk, iommu=True), *jobs)
    seen = {name: of(outcome, name) for name in FAULTS}
    assert all(is_late(queue) and not queue["errors"] for queue in seen.values()), seen
    # one of these the controller does not see: it has sent its interrupt
    assert seen["early-all"]["max_hold"] == 0, seen


def test_urgent_overtakes(boot: Boot, disk: vm.Backend) -> None:
    """With status records, interrupts of the urgent class are sent and understood."""
    script = "cintio check $A --policy cint --records --hints --mode interrupt --count 1000"
    outcome = run(boot, machine("pointer", backend=disk, iommu=True), job("hints", script))
    queue = of(outcome, "hints")
    assert queue["urgent"] > 50
    assert (queue["ios"], queue["errors"], is_late(queue)) == (1000, 0, False)


BUSY = "cintio check $A --mode {} --min 4 --count 100000000 & sleep 0.4; "
#: How a controller goes from under a busy process: name, what happens, what it says.
LEAVING = (
    # the kernel asks for it: whoever polls hears that too, and then it is the kernel's again
    ("asked", BUSY.format("poll") + "echo 1 >$D/$A/remove; wait $!; r=$?; echo 1 >$D/../rescan; "
     "cintio bind $A && exit $r", "the kernel asks for 0000:"),
    # its registers answer no more, and nothing comes: QEMU has zeros where there is no device
    ("pulled", BUSY.format("coalesced") + "printf '\\0\\0' | "
     "dd of=$D/$A/config bs=1 seek=4 conv=notrunc; wait $!", "stopped or removed it"),
    ("plugged", "cintio check $A --mode coalesced --min 4 --count 200", ""),
)


@WAYS
def test_errors_say_what_to_do(boot: Boot, disk: vm.Backend, iommu: bool) -> None:
    """Each obstacle has its sentence."""
    steps = [
        ("bound", "A=$(basename $(readlink -f /sys/class/nvme/nvme0/device)); cintio info $A",
         "has the kernel's driver nvme, not vfio-pci: cintio bind 0000:"),
        ("nothing", "cintio info 0000:1f:00.0", "there is no PCI function 0000:1f:00.0"),
        ("bind", BIND, ""),
        ("busy", "cintio check $A --mode coalesced --count 1000000 & sleep 0.1; cintio info $A; "
                 "r=$?; kill -9 $!; wait; exit $r", "another process has 0000:"),
        # a killed driver leaves nothing behind
        ("again", "cintio check $A --mode coalesced --count 200 && cintio unbind $A && "
                  "dd if=/dev/nvme0n1 of=/dev/null bs=64k count=16 iflag=direct 2>/dev/null", ""),
        ("reset", "A=$(cat /tmp/address); cintio bind $A; "
                  "cintio check $A --mode coalesced --count 1000000 --reset 30",
         "was reset: 16 commands of queue 1 are lost"),
        ("records", "cintio check $A --policy cint --records --hints --mode interrupt --threads 4 "
                    "--blocks 32 --count 1000000 --reset 30",
         "was reset: 16 commands of queue 4 are lost"),
        ("policy", "cintio check $A --mode coalesced --policy adaptive",
         "knows no interrupt pointer: give it the policy pointer"),
        ("node", "cd /dev/vfio; mv vfio away; cintio info $A; r=$?; mv away vfio; exit $r",
         "/dev/vfio/vfio: No such file or directory"),
        ("user", "echo nobody:x:65534:65534::/:/bin/sh >>/etc/passwd; "
                 "su -s /bin/sh nobody -c \"cintio info $A\"",
         "no permission to open /dev/vfio/"),
    ]
    if iommu:
        steps += LEAVING
    else:
        steps.insert(2, ("unsafe", "A=$(basename $(readlink -f /sys/class/nvme/nvme0/device)); "
                                   "cintio bind $A", "enable_unsafe_noiommu_mode"))
    wrapped = [job(name, f"D=/sys/bus/pci/devices\n( {script} ) >/tmp/out 2>&1; echo $?; "
                         "cat /tmp/out") for name, script, _ in steps]
    outcome = run(boot, machine("pointer", backend=disk, iommu=iommu), *wrapped, bind=False)
    for name, _, text in steps:
        status, _, said = str(outcome.results[name]["stdout"]).partition("\n")
        assert (status == "0") == (not text), (name, status, said)
        assert text in said, (name, said)


#: A kernel that has VFIO built in boots as one without.
NO_VFIO = "initcall_blacklist=vfio_init,vfio_iommu_type1_init,vfio_pci_init"


def test_kernel_without_vfio(boot: Boot, disk: vm.Backend) -> None:
    """Nobody takes the controller from the kernel's driver, which still works."""
    find = "A=$(basename $(readlink -f /sys/class/nvme/nvme0/device))\n"
    outcome = run(boot, replace(machine("pointer", backend=disk), append=(NO_VFIO,)),
                  job("info", f"{find} ! cintio info $A 2>&1"),
                  job("bind", f"{find} ! cintio bind $A 2>&1"),
                  job("read", "dd if=/dev/nvme0n1 of=/dev/null bs=64k count=16 iflag=direct "
                              "2>/dev/null"), bind=False)
    said = {name: str(outcome.results[name]["stdout"]) for name in ("info", "bind")}
    assert "there is no /dev/vfio/vfio: the kernel has no VFIO" in said["info"]
    assert "the kernel has no driver vfio-pci" in said["bind"]


def test_controller_without_pointer(boot: Boot, disk: vm.Backend) -> None:
    """A controller without cint is driven too, but for what it has not."""
    plain = vm.Machine((), backend=disk, iommu=True)
    outcome = run(boot, plain,
                  job("interrupt", "cintio check $A --mode interrupt --min 4 --count 500"),
                  job("coalesced", "cintio check $A --mode coalesced 2>&1 || true"))
    assert of(outcome, "interrupt")["ios"] == 500
    assert not is_late(of(outcome, "interrupt"))
    assert "has no interrupt pointer" in str(outcome.results["coalesced"]["stdout"])


# ---- fio on the driver ------------------------------------------------------

FIO = """
[global]
filename=0000.00.01.0
thread=1
bs=4k
size=4M
rw=randrw
verify=crc32c
iodepth=16
iodepth_batch_complete_min=8
clocksource=clock_gettime
"""
#: Beside the modes: hints with status records, and more at once than fio itself asks for.
FIO_CASES = {
    **{mode: f"interrupt_mode={mode}\nsleep_ns=20000\n" for mode in MODES},
    "auto": "",
    "hints": "policy=cint\nhint=urgent\nrecords=1\n",
    "batches": "policy=cint\nhint=barrier\niodepth_batch_submit=4\n",
    "complete-min": "complete_min=12\niodepth_batch_complete_min=1\n"
                    "iodepth_batch_complete_max=16\n",
}


def fio(name: str, options: str, more: str = "") -> agent.Job:
    """Two threads, each in its own part, and what they are told."""
    parts = "".join(f"[{part}]\nioengine=cintio\noffset={offset}\ncounts=1\n{options}"
                    for part, offset in (("a", "0"), ("b", "64M")))
    return agent.Job(name, fio=f"{FIO}{more}{parts}", args=("--eta=never",), timeout_s=300)


@pytest.mark.parametrize(("iommu", "media"), [(True, "optane"), (False, "zssd")],
                         ids=["iommu", "no-iommu-zssd"])
def test_fio_verifies(boot: Boot, disk: vm.Backend, iommu: bool, media: str) -> None:
    """fio's own checksums hold in all modes, also where fio forks beside the I/O."""
    jobs = [fio(name, options, "exec_prerun=true\n") for name, options in FIO_CASES.items()]
    outcome = run(boot, machine("pointer", media, backend=disk, iommu=iommu), *jobs)
    for name in FIO_CASES:
        result = outcome.results[name]
        assert [(job["jobname"], job["error"], job["read"]["total_ios"])
                for job in result["fio"]["jobs"]] == [("a", 0, 1024), ("b", 0, 1024)], name
        said = drivers.counts(str(result["stdout"]))
        assert said is not None and said.page is not None
        queues = [r for r in logpage.decode(said.page).records if r.cqid]
        cqes = sum(r.counters["cqes"] for r in queues)
        assert len(queues) == 2 and cqes > 2 * 1024, name
        assert sum(r.reasons.get("max-hold", 0) for r in queues) == 0, name
        assert slowest_us(result["fio"]) < LOST_US, name
        polls = name in ("poll", "sleep", "adaptive")
        assert (said.interrupts == 0) == polls, (name, said.interrupts)
        if name in ("coalesced", "auto"):
            assert said.interrupts < cqes / 4, name
        if name == "complete-min":
            assert said.interrupts < cqes / 6


#: I/Os of each mode, half of them verifying reads; of two threads that write their part again and
#: again.
MANY = int(os.environ.get("CINT_VERIFY_IOS", "1000000"))
PART = 2048
MANY_FIO = f"""\
[global]
filename=0000.00.01.0
thread=1
bs=4k
size={4 * PART}k
loops={-(-MANY // (4 * PART))}
rw=randwrite
verify=crc32c
iodepth=32
iodepth_batch_complete_min=8
clocksource=clock_gettime
ioengine=cintio
counts=1
"""
#: A thread that waits for the other one's turn on the only CPU leaves completions for longer than
#: the usual 10 ms; one whose wake-up was lost looks by itself only after a second.
LATE_HOLD = "cint.max-hold=900000000"


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_fio_verifies_a_million(boot: Boot, disk: vm.Backend, mode: str) -> None:
    """Nothing is lost in many I/Os either, no wake-up among it."""
    text = f"{MANY_FIO}interrupt_mode={mode}\nsleep_ns=20000\n[a]\n[b]\noffset=64M\n"
    host = machine("pointer", "zssd", backend=disk, iommu=True, device_opts=LATE_HOLD)
    outcome = run(boot, host,
                  agent.Job("many", fio=text, args=("--eta=never",), timeout_s=3600),
                  seconds=3600)
    result = outcome.results["many"]
    done = [job[way]["total_ios"] for job in result["fio"]["jobs"] for way in ("read", "write")]
    assert min(done) >= MANY // 4
    assert sum(done) >= MANY
    said = drivers.counts(str(result["stdout"]))
    assert said is not None and said.page is not None
    queues = [r for r in logpage.decode(said.page).records if r.cqid]
    assert sum(r.counters["cqes"] for r in queues) == sum(done)
    assert sum(r.reasons.get("max-hold", 0) for r in queues) == 0
    assert slowest_us(result["fio"]) < LOST_US


#: How far apart two times are, at most, that fio counts as one.
BIN_NS = 512


def test_fio_spends_the_cost_of_interrupts(boot: Boot, disk: vm.Backend) -> None:
    """The usual lone read with an interrupt takes longer by what each interrupt is to cost.

    Not each: one whose interrupt is late is told of when the next one waits, which then finds its
    completion while the time is spent.
    """
    def alone(cost: int) -> agent.Job:
        text = (f"{FIO}[a]\nioengine=cintio\ninterrupt_mode=interrupt\nirq_cost_ns={cost}\n"
                "counts=1\nrw=randread\nverify=0\niodepth=1\n"
                "iodepth_batch_complete_min=1\n")
        return agent.Job(f"cost-{cost}", fio=text, args=("--eta=never",), timeout_s=100)

    outcome = run(boot, machine("default", "optane:spread=0", backend=disk, iommu=True), alone(0),
                  alone(20000))
    free, dear = (fiojson.percentile(job.bins, 50) for cost in (0, 20000)
                  for job in fiojson.parse(outcome.results[f"cost-{cost}"]["fio"]).values())
    assert free is not None
    assert dear is not None
    assert 20000 - BIN_NS <= dear - free <= 20500
    said = drivers.counts(str(outcome.results["cost-20000"]["stdout"]))
    assert said is not None and said.cost_ns == 20000


def test_fio_may_be_killed(boot: Boot, disk: vm.Backend) -> None:
    """Whoever comes after a fio that was killed, the kernel's driver too, has a sound device."""
    text = FIO.replace("size=4M", "size=32M")
    script = (f"cat >/tmp/k.fio <<'END'\n{text}time_based=1\nruntime=1000\n"
              "[a]\nioengine=cintio\nEND\n"
              "fio /tmp/k.fio >/tmp/killed 2>&1 & sleep 0.2; kill -0 $! && kill -9 $!; wait; "
              "cintio check $A --mode coalesced --min 4 --count 500")
    back = ("cintio unbind $A && dd if=/dev/nvme0n1 of=/dev/null bs=64k count=16 iflag=direct "
            "2>/dev/null")
    outcome = run(boot, machine("pointer", "p3700", backend=disk, iommu=True),
                  job("killed", script), fio("after", ""), job("back", back))
    assert of(outcome, "killed")["ios"] == 500
    assert (of(outcome, "killed")["errors"], is_late(of(outcome, "killed"))) == (0, False)


FIO_ERRORS = {
    "process": ("thread=0\n[a]\nioengine=cintio\n", "engine cintio needs thread=1"),
    "two": ("filename=0000.00.02.0\n[a]\nioengine=cintio\n", "needs one filename"),
    "nobody": ("[a]\nioengine=cintio\n", "no PCI function 0000:1f:00.0"),
    "deep": ("iodepth=5000\n[a]\nioengine=cintio\n", "iodepth=5000: the controller's queues"),
    "pointer": ("[a]\nioengine=cintio\npolicy=adaptive\ninterrupt_mode=coalesced\n",
                "knows no interrupt pointer: give it the policy pointer"),
    "trim": ("verify=0\nrw=trim\n[a]\nioengine=cintio\n", "does not trim"),
    "small": ("bs=100\nverify=0\n[a]\nioengine=cintio\n", "whole blocks: set bs"),
    "mode": ("[a]\nioengine=cintio\ninterrupt_mode=often\n", "failed parsing interrupt_mode"),
    "fine": ("[a]\nioengine=cintio\n", ""),
}


def test_fio_says_what_is_wrong(boot: Boot, disk: vm.Backend) -> None:
    """Each mistake in a job file has its sentence, and none is taken for a run that went well."""
    elsewhere = FIO.replace("0000.00.01.0", "0000.1f.00.0")
    scripts = [job(name, "cat >/tmp/e.fio <<'END'\n"
                         f"{elsewhere if name == 'nobody' else FIO}{text}END\n"
                         "fio --eta=never /tmp/e.fio >/tmp/out 2>&1; echo $?; cat /tmp/out")
               for name, (text, _) in FIO_ERRORS.items()]
    outcome = run(boot, machine("pointer", backend=disk, iommu=True), *scripts)
    for name, (_, text) in FIO_ERRORS.items():
        status, _, said = str(outcome.results[name]["stdout"]).partition("\n")
        assert (status == "0") == (not text), (name, status, said)
        assert text in said, (name, said)


def test_compare_has_the_same_columns_for_both_engines(tmp_path: Path) -> None:
    """A row of a process that drives says all that a row of the kernel's driver says."""
    parser = argparse.ArgumentParser()
    comparing.add_options(parser)
    chosen = comparing.settings_from(parser.parse_args(
        ["--engine", "kernel,user", "--policy", "pointer", "--workload", "async", "--quick",
         "--runtime", "20ms"]))
    asked = comparison.asked_for(comparison.compose(chosen))
    guests = comparison.run_guests(chosen, asked, tmp_path)
    assert not guests.failed
    assert comparison.in_force(chosen, guests.outcomes)
    kernel, user = comparison.tabulate(chosen, guests.samples)
    assert (kernel.engine, user.engine) == ("kernel", "user")
    for row in (kernel, user):
        assert all(row.values[name] is not None for name in metrics.NAMES), row
    # the kernel's driver knows no pointer
    assert [round(row.values["ios_per_irq"] or 0) for row in (kernel, user)] == [1, 16]
    assert user.values["guest_irqs"] == user.values["device_irqs"]
    assert user.reasons["pointer"] > 100 and "max-hold" not in user.reasons
