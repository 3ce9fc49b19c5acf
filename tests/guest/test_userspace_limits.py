# SPDX-License-Identifier: GPL-2.0-or-later
"""The driver in user space where a controller, the kernel or a job file has less than is usual.

Each case works, or ends with a sentence that names what is missing.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Boot, machine
from waits import is_late, words

from cint import paths
from cint.guest import agent, session, vm

MIB = 1 << 20
#: Controllers besides the usual one, by serial number: options of the device, and of a namespace of
#: its own where the device is not to make one.
ODD = {
    "one-pair": ("max_ioqpairs=1", ""),
    "two-vectors": ("msix_qsize=2", ""),
    "one-vector": ("msix_qsize=1", ""),
    "short": ("mqes=31", ""),
    "blocks-4k": ("logical_block_size=4096,physical_block_size=4096", ""),
    "metadata": ("", "ms=8"),
    "detached": ("", "detached=on"),
}
USUAL = "cint"
#: The address of each, by serial number; all become vfio-pci's.
BIND = """
for n in /sys/class/nvme/nvme*; do
  a=$(basename $(readlink -f $n/device))
  echo $a > /tmp/$(tr -d ' ' < $n/serial)
done
for s in {names}; do cintio bind $(cat /tmp/$s) || exit 1; done
"""


def odd_controllers(root: Path) -> tuple[str, ...]:
    """QEMU's options for them."""
    args: list[str] = []
    for i, (name, (options, own)) in enumerate(ODD.items()):
        image = root / f"{name}.img"
        with image.open("wb") as file:
            file.truncate(64 * MIB)
        drive = f"drive=odd{i}"
        device = f"nvme,id={name},serial={name},cint=on,cint.policy=pointer"
        args += ["-blockdev", f"driver=file,node-name=odd{i},filename={image}"]
        args += ["-device", ",".join(filter(None, (device, options, "" if own else drive)))]
        if own:
            args += ["-device", f"nvme-ns,bus={name},nsid=1,{drive},{own}"]
    return tuple(args)


FIO = """\
[global]
ioengine=cintio
thread=1
bs=4k
size=1M
rw=randwrite
verify=crc32c
iodepth=16
iodepth_batch_complete_min=4
"""
AB = "[a]\n[b]\noffset=16M\n"


def fio(text: str, filename: str = "filename=$F\n") -> str:
    """A script that runs a job file on $A."""
    return ("F=$(echo $A | tr : .)\n"
            f"cat >/tmp/x.fio <<END\n{FIO}{filename}{text}END\n"
            "fio --eta=never --output-format=terse /tmp/x.fio")


CHECK = "cintio check $A --mode coalesced --min 4 --count 300"
#: Name, whose controller, script, and what it says when it fails; "" where it does not.
CONTROLLERS = (
    ("one pair", "one-pair", f"{CHECK} && cintio info $A | grep -x 'queues 1'", ""),
    ("two threads on one pair", "one-pair", f"{CHECK} --threads 2",
     "has 1 I/O queue pairs, and all are in use"),
    ("two jobs on one pair", "one-pair", fio(AB), "has 1 I/O queue pairs, and all are in use"),
    ("one job after the other", "one-pair", fio("[a]\n[b]\nstonewall\n[c]\nstonewall\n"), ""),
    ("two vectors", "two-vectors", f"{CHECK} && cintio info $A | grep -x 'queues 1'", ""),
    ("two threads on one vector", "two-vectors", f"{CHECK} --threads 2",
     "has 1 I/O queue pairs, and all are in use"),
    ("no vector for I/O", "one-vector", CHECK, "has 1 interrupt vectors; one for the admin queue"),
    ("short queues", "short", f"{CHECK} && {CHECK} --depth 31", ""),
    ("longer than they are", "short", f"{CHECK} --entries 33",
     "a queue of 33 entries: 0000:00:"),
    ("deeper than they are", "short", f"{CHECK} --depth 32",
     "--depth 32: a queue has 32 entries, and one stays free"),
    ("fio on short queues", "short", fio("iodepth=31\n[a]\n"), ""),
    ("fio deeper than they are", "short", fio("iodepth=32\n[a]\n"),
     "iodepth=32: the controller's queues have 32 entries"),
    ("large blocks", "blocks-4k", f"{CHECK} --blocks 3 && {fio(AB)}", ""),
    ("less than a block", "blocks-4k", fio("bs=512\n[a]\n"), "whole blocks: set bs"),
    ("some less than a block", "blocks-4k",
     fio("verify=0\nbssplit=4k/80:512/20\niodepth_batch=8\n[a]\n"), "whole blocks: set bs"),
    ("after that", "blocks-4k", CHECK, ""),
    ("metadata", "metadata", CHECK, "namespace 1 has metadata"),
    ("no namespace", "detached", CHECK, "has no namespace 1"),
    ("large and many", USUAL, f"{CHECK} --blocks 65535 --threads 8",
     "too few for 128 I/Os of 65535 blocks"),
    ("as many as fit and no more", USUAL, f"{CHECK} --blocks 1024 --depth 513",
     "too few for 513 I/Os of 1024 blocks"),
)
#: Five reads, a second apart by their times in us.
REPLAY = """now() { cut -d. -f1 /proc/uptime; }
(echo 'fio version 3 iolog'; echo 0 f add; echo 0 f open
 for t in 1 2 3 4 5; do echo ${t}000000 f read $((4096 * t)) 4096; done) >/tmp/log
start=$(now)
"""
JOBS = (
    ("beyond the end", USUAL, fio("verify=0\nsize=10G\nrw=read\nbs=128k\n[a]\n"), ""),
    ("beyond the end at random", USUAL,
     fio("verify=0\nsize=10G\nrw=randread\nio_size=4M\n[a]\n"), ""),
    ("from beyond the end", USUAL, fio("offset=1T\n[a]\n"),
     "offset 1099511627776: the namespace has 268435456 bytes"),
    ("no size of I/O", USUAL, fio("io_size=0\n[a]\n"), ""),
    ("trim", USUAL, fio("verify=0\nrw=randtrim\n[a]\n"), "does not trim"),
    ("trim and write", USUAL, fio("verify=0\nrw=trimwrite\n[a]\n"), "does not trim"),
    ("sync", USUAL, fio("sync=1\n[a]\n"), "has no sync="),
    ("offload", USUAL, fio("io_submit_mode=offload\n[a]\n"), "needs io_submit_mode=inline"),
    ("memory of one's own", USUAL, fio("mem=malloc\n[a]\n"), "conflicts with"),
    ("two controllers", USUAL, fio("[a]\nfilename=$F\n[b]\nfilename=$(tr : . </tmp/short)\n", ""),
     "share one controller: give all the same filename"),
    ("syncs", USUAL, fio("fsync=4\n[a]\n"), ""),
    ("deep", USUAL, fio("iodepth=1024\nsize=8M\n[a]\n"), ""),
    ("log", USUAL, REPLAY + fio("verify=0\niodepth=1\niodepth_batch_complete_min=1\n"
                                "read_iolog=/tmp/log\nreplay_redirect=$F\n[a]\n") +
     " && [ $(($(now) - start)) -ge 3 ]", ""),
    ("usual", USUAL, fio(AB), ""),
)
#: A group that belongs to somebody else than root, who may lock little memory.
OWNED = ("echo owner:x:1000:1000::/:/bin/sh >>/etc/passwd; "
         "chown 1000 /dev/vfio/$(basename $(readlink -f /sys/bus/pci/devices/$A/iommu_group)); "
         "chmod 666 /dev/vfio/vfio; ulimit -l {kib}; su -s /bin/sh owner -c \"{command}\"")
LIMIT = "/sys/module/vfio_iommu_type1/parameters/dma_entry_limit"
BUSY = f"{CHECK} --count 1000000000 --min 8 >/tmp/busy 2>&1 &\n sleep 0.5\n"
ENDED = "kill -0 $! || exit 1; kill $!; wait; cat /tmp/busy; [ ! -s /tmp/busy ]"
KERNEL = (
    ("not root", USUAL, OWNED.format(kib="unlimited", command=CHECK), ""),
    ("not root, little memory", USUAL, OWNED.format(kib=64, command=CHECK),
     "cannot be locked in memory: raise RLIMIT_MEMLOCK"),
    ("few mappings", USUAL, f"L=$(cat {LIMIT}); echo 2 >{LIMIT}; {CHECK}; r=$?; echo $L >{LIMIT}; "
     "exit $r", "maps no more pieces of memory: raise vfio_iommu_type1's dma_entry_limit"),
    ("stopped and continued", USUAL,
     f"{BUSY}kill -STOP $!; sleep 5; kill -CONT $!; sleep 0.2; {ENDED} && {CHECK}", ""),
    ("in the middle of a sleep", USUAL, f"{BUSY}"
     f"for i in 1 2 3 4 5 6 7 8 9; do kill -STOP $!; kill -CONT $!; sleep 0.01; done; "
     f"{ENDED} && {CHECK}", ""),
    ("interrupted", USUAL, fio("time_based=1\nruntime=1000\n[a]\n") + " >/tmp/fio 2>&1 & sleep 1; "
     f"kill -INT $(pidof fio); wait; grep terminating /tmp/fio && {CHECK}", ""),
    ("bound again", USUAL, f"{BUSY}cintio bind $A; r=$?; sleep 0.2; {ENDED} && exit $r", ""),
    ("another has it", USUAL, f"{BUSY}{CHECK}; r=$?; kill -9 $!; wait; exit $r",
     "another process has 0000:"),
)


@pytest.mark.parametrize("cases", [CONTROLLERS, JOBS, KERNEL],
                         ids=["controllers", "jobs", "kernel"])
def test_limits(boot: Boot, disk: vm.Backend, tmp_path: Path,
                cases: tuple[tuple[str, str, str, str], ...]) -> None:
    host = machine("pointer", backend=disk, iommu=True)
    jobs = [agent.Job(name, argv=agent.exec_argv(
        f"A=$(cat /tmp/{whose})\n( {script} ) >/tmp/out 2>&1; echo $?; cat /tmp/out"),
        timeout_s=30) for name, whose, script, _ in cases]
    setup = agent.exec_argv(BIND.format(names=" ".join((USUAL, *ODD))))
    outcome = boot(replace(host, initramfs=paths.USERSPACE_INITRAMFS,
                           extra=odd_controllers(tmp_path)),
                   agent.Plan(jobs=tuple(jobs), setup=(setup,)), seconds=60)
    wrong = [problem for name, _, _, text in cases if (problem := wrong_about(outcome, name, text))]
    assert not wrong, "\n".join(wrong)


def wrong_about(outcome: session.Outcome, name: str, text: str) -> str:
    """It has worked and woken whom it had to, or failed with this text; else what it said."""
    status, _, said = str(outcome.results[name]["stdout"]).partition("\n")
    fine = (status == "0") == (not text) and text in said
    if fine and not any(map(is_late, words(said))):
        return ""
    return f"{name}: status {status}, not {text!r}: {said}"
