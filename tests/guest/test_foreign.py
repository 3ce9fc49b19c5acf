# SPDX-License-Identifier: GPL-2.0-or-later
"""What others have between a program and the driver, and what happens to their machines.

With ``--full``: real time, two CPUs, on a kernel that has dm-crypt, dm-thin, md, btrfs, multipath,
suspend and kexec, with lockdep and KASAN. One load, verified, of I/O that is polled
for, submitted in batches, and taken by a ring's own thread, goes through each context while things
happen to it. Nothing may be lost or time out, and the kernel may complain of nothing.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from marks import (
    DEFAULT,
    FSYNC,
    JOURNAL,
    READ,
    SYNC,
    WAIT,
    Marks,
    hint_machine,
    hintio,
    make_disk,
    marks,
    names,
    namespace,
)
from serving import Guest, serving
from test_chaos import NO_FAIR_SERVER

from cint import paths
from cint.guest import vm
from cint.guest.qmp import NVME_PATH

BOOT_LIMIT_S = 300
#: Of a script.
LIMIT_S = 400
MIB = 1 << 20
SIZE = 64 * MIB
SECTORS = SIZE // 512
BTRFS = "/mnt/btrfs"
#: The second controller, for QMP.
SECOND_PATH = "/machine/peripheral/nvme1"
#: Verified until it is told to end; it fails when anything in it does.
LOAD = """\
[global]
filename={file}
direct=1
bs=4k
rw=randwrite
verify=crc32c
verify_fatal=1
[polled]
ioengine=pvsync2
hipri=1
size=512k
[batches]
ioengine=libaio
iodepth=16
iodepth_batch=4
offset=1m
size=2m
[ring]
ioengine=io_uring
sqthread_poll=1
iodepth=8
offset=3m
size=2m
"""
START = """\
rm -f /tmp/stop /tmp/load.runs
until [ -e /tmp/stop ] && [ -e /tmp/load.runs ]; do
    fio --eta=never /tmp/load.fio || exit 1
    echo 1 >> /tmp/load.runs
done
"""

# ---- tools that the image has not ---------------------------------------------------------------

TOOLS = "/mnt/tools"


def tool(name: str) -> str:
    """How a program of the host is run in the guest."""
    return f"{TOOLS}/lib/ld-linux-x86-64.so.2 --library-path {TOOLS}/lib {TOOLS}/{name}"


def tools_image(directory: Path, programs: tuple[str, ...], files: tuple[Path, ...] = ()) -> Path:
    """A file system with programs of the host, what they are linked with, and files."""
    root = directory / "root"
    (root / "lib").mkdir(parents=True)
    for name in programs:
        found = shutil.which(name, path="/usr/sbin:/sbin:/usr/bin:/bin")
        if found is None:
            pytest.fail(f"{name} is not installed: ./cint test guest --full installs it")
        shutil.copy(found, root / name)
        linked = subprocess.run(["ldd", found], check=True, capture_output=True, text=True).stdout
        for library in re.findall(r"(/\S+) \(0x", linked):
            shutil.copy(library, root / "lib" / Path(library).name)
    for file in files:
        shutil.copy(file, root / file.name)
    return make_disk(directory / "tools.img", "mkfs.ext4", "-q", "-d", str(root))


# ---- contexts -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Context:
    """A way through the kernel, and what happens meanwhile.

    ``setup`` makes what the load goes to, one ``files`` after the other.  ``meanwhile`` runs while
    it goes on, ``then`` when it has ended; both must succeed.
    """

    files: tuple[str, ...] = ("/tmp/ns1",)
    append: tuple[str, ...] = ("nvme.poll_queues=1",)
    setup: str = ""
    meanwhile: str = ""
    then: str = ""
    #: Whether reads that are waited for are urgent on the device.
    hints: bool = True


def dm(name: str, table: str) -> str:
    """A script that makes a mapped device and links it to /tmp/NAME."""
    return (f"{tool('dmsetup')} --noudevrules --noudevsync create {name} --table '{table}';"
            f"f=$(grep -lx {name} /sys/block/dm-*/dm/name);"
            f"ln -s /dev/$(basename $(dirname $(dirname $f))) /tmp/{name};")


def md(name: str, level: str, members: tuple[str, str]) -> str:
    """A script that makes an array of two members without superblocks."""
    lines = [f"echo {name} > /sys/module/md_mod/parameters/new_array",
             f"cd /sys/block/{name}/md", "echo none > metadata_version",
             f"echo {level} > level", "echo 2 > raid_disks", "echo 65536 > chunk_size",
             f"echo {SIZE // 1024} > component_size", "echo none > resync_start"]
    for slot, member in enumerate(members):
        lines += [f"d=$(basename $(readlink {member}))", "cat /sys/block/$d/dev > new_dev",
                  f"echo {SIZE // 1024} > dev-$d/size", f"echo {slot} > dev-$d/slot"]
    return ";".join([*lines, "echo active > array_state", "cd /", ""])


RESET = "echo 1 > /sys/class/nvme/nvme0/reset_controller;"
LIVE = "until grep -q live /sys/class/nvme/nvme0/state; do sleep 0.05; done;"
RESETS = f"for i in 1 2 3 4; do {RESET} {LIVE} sleep 0.3; done;"
CPU = "/sys/devices/system/cpu/cpu1/online"
KEY = "00" * 32
CONTEXTS = {
    "crypt": Context(
        ("/tmp/crypt",),
        setup=dm("crypt", f"0 {SECTORS} crypt aes-xts-plain64 {KEY} 0 /tmp/ns2 0")),
    "thin": Context(
        ("/tmp/thin",),
        setup=dm("pool", f"0 {SECTORS} thin-pool /tmp/ns3 /tmp/ns2 128 0")
        + f"{tool('dmsetup')} message pool 0 'create_thin 0';"
        + dm("thin", f"0 {SECTORS} thin /tmp/pool 0"),
        meanwhile=RESETS),
    "raid": Context(
        ("/dev/md_zero", "/dev/md_one"),
        setup=md("md_zero", "raid0", ("/tmp/ns2", "/tmp/ns3"))
        + md("md_one", "raid1", ("/tmp/ns4", "/tmp/ns5"))),
    "btrfs": Context(
        (f"{BTRFS}/load",),
        setup=f"mkdir -p {BTRFS}; mount -t btrfs /tmp/ns6 {BTRFS}; fallocate -l 8M {BTRFS}/load;",
        meanwhile=f"for i in 1 2 3 4 5 6; do echo $i > {BTRFS}/$i; sync; done", hints=False),
    "swap": Context(
        setup="mkdir -p /tmp/cg; mount -t cgroup2 none /tmp/cg;"
              "echo +memory > /tmp/cg/cgroup.subtree_control; mkdir /tmp/cg/small;"
              "echo 16M > /tmp/cg/small/memory.max; mkswap /tmp/ns2; swapon /tmp/ns2;",
        meanwhile="echo $$ > /tmp/cg/small/cgroup.procs; mkdir /tmp/t; mount -t tmpfs none /tmp/t;"
                  "dd if=/dev/urandom of=/tmp/t/a bs=1M count=24; cp /tmp/t/a /tmp/t/b;"
                  "cmp /tmp/t/a /tmp/t/b; umount /tmp/t; echo $$ > /tmp/cg/cgroup.procs",
        then="swapoff /tmp/ns2; awk '$1 == \"pswpin\" { exit $2 < 100 }' /proc/vmstat"),
    "passthrough": Context(
        meanwhile="for more in '' --fixedbufs=1 --hipri=1 '--fixedbufs=1 --hipri=1'; do"
                  " fio --name=a --filename=/tmp/ng2 --ioengine=io_uring_cmd --cmd_type=nvme"
                  " --rw=randwrite --bs=4k --size=1m --iodepth=8 --verify=crc32c --do_verify=1"
                  " --verify_fatal=1 $more; done"),
    "schedulers": Context(
        append=("nvme.blk_switch=3",),
        meanwhile="cd /tmp/disk1/queue; for s in $(tr -d [] < scheduler); do echo $s > scheduler;"
                  "for m in off prio request app; do echo $m > switch_mode; sleep 0.1; done; done",
        then="until [ $(cat /tmp/disk1/mq/*/switch_bytes | sort -u) = 0 ];"
             "do sleep 0.1; done"),
    "limits": Context(
        append=("nvme.blk_switch=3",),
        setup="mkdir -p /tmp/cg; mount -t cgroup2 none /tmp/cg;"
              "echo +io > /tmp/cg/cgroup.subtree_control; mkdir /tmp/cg/slow;"
              "dev=$(cat /tmp/disk1/dev); cd /tmp/cg/slow;"
              "echo $dev riops=200 wiops=200 > io.max; echo $dev target=1000 > io.latency;",
        meanwhile="echo $$ > /tmp/cg/slow/cgroup.procs; hintio --api=aio --batch=8 --count=256"
                  " --stride=64k /tmp/ns1; hintio --hipri --api=preadv2 --count=64 /tmp/ns1",
        then="[ $(cat /tmp/disk1/mq/*/switch_bytes | sort -u) = 0 ]"),
    "suspend": Context(
        meanwhile="for how in freezer devices platform core; do echo $how > /sys/power/pm_test;"
                  f"echo mem > /sys/power/state; {LIVE} sleep 0.5; done",
        # it ends at its first finding
        then="grep -q 'debug_locks: *1' /proc/lockdep_stats"),
    "hotplug": Context(
        append=("nvme.blk_switch=3", "nvme.poll_queues=1"),
        meanwhile=f"for i in 1 2 3 4 5 6; do echo 0 > {CPU}; {RESET} {LIVE}"
                  f"echo 1 > {CPU}; {RESET} {LIVE} sleep 0.2; done"),
    "threadirqs": Context(
        append=("nvme.blk_switch=1", "threadirqs"),
        meanwhile=RESETS),
    "preempt": Context(
        append=("nvme.blk_switch=3", "preempt=full"),
        meanwhile=RESETS,
        then="grep -q '(full)' /sys/kernel/debug/sched/preempt"),
}


def machine(kernel: Path, directory: Path, *append: str,
            files: tuple[Path, ...] = ()) -> vm.Machine:
    """A guest with the first namespace on a file and six more, the last with tools and files."""
    disks = [make_disk(directory / f"{n}.img", size=SIZE + MIB) for n in range(1, 6)]
    disks.append(make_disk(directory / "6.img", "mkfs.btrfs", "-q", size=256 * MIB))
    disks.append(tools_image(directory, ("dmsetup",), files))
    extra = [word for n, disk in enumerate(disks[1:], 2) for word in namespace(n, disk)]
    first = hint_machine("nvme_core.multipath=N", *append, extra=tuple(extra), kernel=kernel)
    return replace(first, backend=vm.Backend(disks[0]))


@contextmanager
def running(machine: vm.Machine, logs: Path, namespaces: int = 7, owner: str = "nvme0",
            allowed: Sequence[str] = ()) -> Iterator[Guest]:
    """A guest of that kernel with the tools in place; it may say what the patterns match."""
    with serving(machine, logs, BOOT_LIMIT_S, allowed) as guest:
        guest.shell(f"{names(namespaces, owner)} {NO_FAIR_SERVER} mkdir -p {TOOLS};"
                    f"mount -t ext4 -o ro /tmp/ns{namespaces} {TOOLS}")
        yield guest


def through(guest: Guest, file: str, meanwhile: str) -> None:
    """The load goes through a file while something happens."""
    # fio would make a file of it
    guest.shell(f"[ -e {file} ]")
    guest.write_file("/tmp/load.fio", LOAD.format(file=file).encode())
    guest.start("load", START)
    guest.shell(f"set -e; {meanwhile}", LIMIT_S)
    guest.shell("touch /tmp/stop")
    status, said = guest.end("load", LIMIT_S)
    assert status == 0, said


@pytest.mark.slow
@pytest.mark.parametrize("name", CONTEXTS)
def test_context(name: str, foreign_kernel: Path, tmp_path: Path, logs: Path) -> None:
    context = CONTEXTS[name]
    with running(machine(foreign_kernel, tmp_path, *context.append), logs) as guest:
        guest.shell(f"set -e; {context.setup}", LIMIT_S)
        for file in context.files:
            through(guest, file, context.meanwhile)
            if context.hints:
                found = marks(guest, hintio("--api=pread --count=8", file), SYNC)
                assert found == Marks(urgent=8), file
        guest.shell(f"set -e; {context.then}", LIMIT_S)


# ---- btrfs --------------------------------------------------------------------------------------

#: What somebody waits for on btrfs: a script, and the bits that mark it.
WAITS = {
    "fsync": (f"echo new > {BTRFS}/b; sync {BTRFS}/b", FSYNC | JOURNAL),
    "commit": (f"touch {BTRFS}/c; sync", JOURNAL),
    "metadata": (f"umount {BTRFS}; mount -t btrfs /tmp/ns6 {BTRFS}; ls {BTRFS}", WAIT),
    "read": (f"echo 3 > /proc/sys/vm/drop_caches; cat {BTRFS}/a", READ),
}
OTHERS = FSYNC | JOURNAL | READ | WAIT


@pytest.mark.slow
def test_btrfs_marks(foreign_kernel: Path, tmp_path: Path, logs: Path) -> None:
    """What a file system does by itself where somebody waits is urgent, by the bits that say so."""
    with running(machine(foreign_kernel, tmp_path), logs) as guest:
        guest.shell(f"mkdir -p {BTRFS}; mount -t btrfs /tmp/ns6 {BTRFS};"
                    f"dd if=/dev/urandom of={BTRFS}/a bs=4k count=64; sync")
        for name, (script, bits) in WAITS.items():
            assert marks(guest, script, bits).urgent >= 1, name
            assert marks(guest, script, DEFAULT & ~OTHERS).urgent == 0, name


# ---- several controllers, and none --------------------------------------------------------------


@dataclass(frozen=True)
class Subsystem(vm.Backend):
    """What two controllers share; its namespaces are devices of their own."""

    def args(self) -> list[str]:
        """QEMU's options."""
        return ["-device", "nvme-subsys,id=subsys0,nqn=subsys0"]


def shared_machine(kernel: Path, directory: Path, *append: str) -> vm.Machine:
    """Two controllers of a subsystem; all namespaces but the first are behind both."""
    disks = [make_disk(directory / "1.img", size=SIZE),
             make_disk(directory / "2.img", "mkfs.ext4", "-q", size=SIZE),
             tools_image(directory, ("dmsetup",))]
    first = hint_machine(*append, kernel=kernel)
    props = ",".join(f"{name}={value}" for name, value in first.properties)
    words = [word for n, disk in enumerate(disks, 1) for word in namespace(n, disk)]
    words[3] += ",shared=off"
    # an empty drive is none: in a subsystem a controller has no namespace of its own
    return replace(first, device_opts="subsys=subsys0,drive=", backend=Subsystem(),
                   extra=("-device", f"nvme,id=nvme1,serial=cint,subsys=subsys0,{props}", *words))


@pytest.mark.slow
def test_detach(foreign_kernel: Path, tmp_path: Path, logs: Path) -> None:
    """Namespaces go from under their readers and come back, beside one that stays."""
    attach = "nvme {}-ns /dev/nvme0 --namespace-id=2 --controllers=$c"
    script = ("c=$(cat /sys/class/nvme/nvme0/cntlid); n=$(readlink /tmp/ns2);"
              "(while [ ! -e /tmp/enough ]; do"
              " hintio --hipri --api=preadv2 --count=64 $n;"
              " hintio --api=uring --batch=8 --count=64 $n; sleep 0.01;"
              " done) 2>/dev/null >/dev/null & for i in 1 2 3 4 5 6; do"
              f" {attach.format('detach')}; nvme ns-rescan /dev/nvme0; sleep 0.2;"
              f" {attach.format('attach')}; nvme ns-rescan /dev/nvme0; sleep 0.2;"
              " done; touch /tmp/enough; wait")
    shared = shared_machine(foreign_kernel, tmp_path, "nvme_core.multipath=N", "nvme.blk_switch=3")
    with running(shared, logs, 3) as guest:
        through(guest, "/tmp/ns1", script)


def urgent(guest: Guest) -> int:
    """The urgent commands that both controllers have had."""
    return sum(queue["cmds-urgent"] for path in (NVME_PATH, SECOND_PATH)
               for queue in guest.vm.qmp.get("cint-stats", path)["queues"] if queue["cqid"])


@pytest.mark.slow
def test_multipath(foreign_kernel: Path, tmp_path: Path, logs: Path) -> None:
    """Either path to a namespace is reset in turn; the other one has the I/O, and its hints."""
    resets = ("for i in 1 2 3 4; do for c in nvme0 nvme1; do cd /sys/class/nvme/$c;"
              " echo 1 > reset_controller; until grep -q live state; do sleep 0.05; done;"
              " sleep 0.2; done; done")
    shared = shared_machine(foreign_kernel, tmp_path, "nvme.poll_queues=1", "nvme.blk_switch=1")
    # The number of a subsystem is that of the controller which came first.
    with running(shared, logs, 3, "nvme[01]") as guest:
        # of three namespaces two are behind both controllers
        assert len(guest.shell("ls -d /sys/block/nvme*c*n*").split()) == 5
        through(guest, "/tmp/ns2", resets)
        before = urgent(guest)
        guest.shell(hintio("--api=pread --count=8", "/tmp/ns2"))
        assert urgent(guest) - before == 8


#: A file of two extents, which a read of all of it takes in two bios, by turns on both paths. What
#: completes on the path of the second one is lost, and the path of the first one goes.
PATH_GOES = """
mkdir -p /mnt/two; mount -t ext4 /tmp/ns2 /mnt/two
for at in 0 2; do dd if=/dev/urandom of=/mnt/two/f bs=64k count=1 seek=$at conv=notrunc; done
umount /mnt/two; mount -t ext4 -o ro,noload /tmp/ns2 /mnt/two
echo round-robin | tee /sys/class/nvme-subsystem/nvme-subsys*/iopolicy > /dev/null
cd /sys/kernel/debug/fail_io_timeout; echo 100 > probability; echo -1 > times; echo 0 > verbose
cd /sys/block; head=$(basename $(readlink -f /tmp/ns2))
paths=$(ls | grep "^${head%n*}c[01]n${head##*n}$")
reads() { for path in $paths; do set -- $(cat $path/stat); echo $path $1; done; }
one() { dd if=/mnt/two/f of=/dev/null bs=4k count=1 iflag=direct; }
one; reads > /tmp/before; one; reads > /tmp/after
last=$(sort /tmp/before /tmp/after | uniq -u | cut -d' ' -f1 | uniq)
first=$(echo "$paths" | grep -v $last)
controller() { echo $1 | sed 's/.*c\\([01]\\)n.*/nvme\\1/'; }
echo 120000 > $last/queue/io_timeout; echo 1 > $last/io-timeout-fail
fio --name=r --filename=/mnt/two/f --readonly --rw=read --bs=192k --size=192k --ioengine=pvsync2 \
  --hipri=1 --direct=1 --number_ios=1 --invalidate=0 > /tmp/said 2>&1 &
reader=$!; sleep 4
cat $last/inflight
echo 1 > /sys/class/nvme/$(controller $first)/device/remove; sleep 4
echo 0 > $last/io-timeout-fail; echo 1 > /sys/class/nvme/$(controller $last)/reset_controller
wait $reader || cat /tmp/said
"""


@pytest.mark.slow
def test_path_goes(foreign_kernel: Path, tmp_path: Path, logs: Path) -> None:
    """Whoever polls holds on to nothing of a path whose bio is done."""
    shared = shared_machine(foreign_kernel, tmp_path, "nvme.poll_queues=1")
    with running(shared, logs, 3, "nvme[01]") as guest:
        inflight = guest.shell(f"set -e; {PATH_GOES}", LIMIT_S)
        assert inflight.split() == ["1", "0"], inflight


@pytest.mark.slow
def test_kexec(foreign_kernel: Path, tmp_path: Path, logs: Path) -> None:
    """The next kernel finds the controller as the last one leaves it, and the data."""
    disk = make_disk(tmp_path / "1.img", size=SIZE)
    files = (foreign_kernel, paths.INITRAMFS)
    tools = tools_image(tmp_path, ("kexec",), files)
    started = replace(hint_machine("nvme.blk_switch=3", extra=namespace(2, tools),
                                   kernel=foreign_kernel),
                      backend=vm.Backend(disk), memory_mib=2048)
    again = LOAD.replace("[global]", "[global]\nverify_only=1").format(file="/tmp/ns1")
    with running(started, logs, 2) as guest:
        through(guest, "/tmp/ns1", "true")
        guest.shell(f"{tool('kexec')} -l {TOOLS}/{foreign_kernel.name} --reuse-cmdline"
                    f" --initrd={TOOLS}/{paths.INITRAMFS.name}", LIMIT_S)
        guest.shell(f"(sleep 1; {tool('kexec')} -e) > /dev/null 2>&1 &")
        guest.vm.expect("done", BOOT_LIMIT_S, "the next kernel's agent does not serve")
        guest.shell(names(2))
        guest.fio("again", again)
        guest.shell("d=$(basename $(readlink /tmp/disk1));"
                    "grep -q SWITCH /sys/kernel/debug/block/$d/hctx0/flags")
