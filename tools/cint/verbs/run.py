# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint run`: a guest with the cint device, to type in or for one command.

It boots the project's kernel and image and gives a shell on this terminal.
Words after ``--`` are a command that runs in the guest in place of the shell.
With ``--own`` they are the person's own guest: QEMU gets them as they are, and
the kernel and image stay out.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from cint import host, paths, ui, units
from cint.device import properties, queueconfig
from cint.errors import EXIT_OK, CintError, UsageError
from cint.guest import agent, appdisk, hints, inside, kinds, polling, shares, steering, vm
from cint.measure import comparison, settings
from cint.options import hinting, policies

DEFAULT_POLICY = "cint+ooo"
DEFAULT_MEMORY_MIB = 1024
OWN_MEMORY_MIB = 2048
GDB_PORT = 1234
#: Of the disk of --guest debian, in bytes; its file has holes.
DEBIAN_SIZE = 4 << 30
#: Memory that a guest needs for all but files that are copied to it.
LEAST_MIB = 192


def declare(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Start a guest with a cint NVMe device, with a shell on this terminal, or for\n"
        "one command, whose input, output and exit code are this one's.\n"
        "Leave the guest's shell with 'exit', or end QEMU with Ctrl-A x.")
    parser.epilog = (
        f"policies: {properties.POLICY_HELP}\n"
        f"media: {', '.join(properties.PROFILES)}")
    add = parser.add_argument
    policies.add(parser, f"(default: {DEFAULT_POLICY})")
    add("--media", metavar="NAME", type=properties.parse_media, default="optane",
        help="media profile (default: optane)")
    add("--time", choices=("virtual", "real"), default="real",
        help="real (default) or virtual: one instruction per ns, which the CPUs share evenly; "
             "unscaled")
    add("--guest", choices=(*kinds.GUESTS, kinds.DEBIAN), default="cint",
        help="cint (default): our kernel; distro: the distribution's own kernel, as it is; debian: "
             "our kernel, and a whole Debian on the namespace, which keeps nothing of what is "
             "written")
    add("--packages", metavar="LIST",
        help="with --guest debian: Debian's packages that it has, beside the essential ones, "
             "separated by commas; what they need comes with them")
    add("--hints", metavar="WHO",
        help="who gives hints: on (default) or off with our kernel, off (default) or module with "
             "--guest distro (docs/hints-module.md); preload:FILE with both (docs/preload.md)")
    add("--polling", metavar="MODE", type=polling.parse, default=polling.OFF,
        help=f"how threads that wait for their reads poll for them: {polling.VALID} "
             f"(default: {polling.OFF})")
    add("--steering", metavar="MODE", type=steering.parse, default=steering.OFF,
        help=f"queues for I/O of the realtime class, and what is moved between CPUs: "
             f"{steering.VALID} (default: {steering.OFF})")
    add("--vcpus", metavar="N", type=units.count(1, settings.MAX_VCPUS, "--vcpus"), default=1)
    add("--memory", metavar="MIB", type=units.count(64, 1 << 20, "--memory"),
        help=f"(default: {DEFAULT_MEMORY_MIB}; {OWN_MEMORY_MIB} for your own guest)")
    add("--drive", metavar="FILE", type=vm.raw_drive,
        help="raw file behind the NVMe namespace (default: none, reads give zeroes)")
    add("--device-opts", metavar="TEXT", default="",
        help="further properties for -device nvme, appended last")
    add("--trace", metavar="PATTERN", action="append", default=[],
        help="QEMU trace events to print; 'cint' means pci_nvme_cint_*, 'vcpus' QEMU's "
             "own of messages to vCPUs; may be repeated")
    add("--qmp", metavar="SOCKET", type=Path,
        help="a control socket for ./cint top and ./cint trace --qmp")
    add("--gdb", metavar="PORT", nargs="?", type=units.count(1, 65535, "--gdb"),
        const=GDB_PORT, help=f"wait for a debugger before the first instruction "
        f"(default port: {GDB_PORT}, on this machine only)")
    add("--print", action="store_true", help="print the QEMU command line and do nothing")
    add("--copy", metavar="PATH", type=Path, action="append", default=[],
        help="a file or directory that the guest gets in /root, where the command begins; may be "
             "repeated")
    add("--share", metavar="DIR", type=Path, action="append", default=[],
        help="a directory of this machine that the guest has in /root, where both see what either "
             "changes; may be repeated")
    add("--own", action="store_true",
        help="your own guest: what comes after -- are arguments of QEMU")
    add("words", nargs="*", metavar="-- COMMAND",
        help="run this in the guest in place of a shell, and give its exit code; with --own "
             "QEMU's arguments")


# ---- the guest ----------------------------------------------------------

@dataclass(frozen=True)
class Guest:
    """The guest that options ask for: a policy, who gives hints, whose kernel it is (one of
    kinds.GUESTS), and the disk of --guest debian.
    """

    policy: properties.Policy
    hints: str
    kernel: str
    disk: appdisk.Disk | None


def guest_for(args: argparse.Namespace) -> Guest:
    """The guest of the options; :class:`UsageError` of words that there are not."""
    kernel = "cint" if args.guest == kinds.DEBIAN else args.guest
    if args.own and args.hints is not None:
        raise UsageError(f"--hints {args.hints}: not together with --own")
    giver = hinting.parse(args.hints or hints.VALID[kernel][0], kernel)
    chosen = properties.parse_policies(args.policy or DEFAULT_POLICY)
    if len(chosen) > 1:
        raise UsageError("--policy: run takes one policy", hint="./cint compare takes several")
    if args.time == "virtual":
        properties.check_virtual(chosen)
    # Only our kernel gives hints.
    given = not args.own and giver != hints.OFF
    policy = chosen[0] if given else properties.inferred(chosen[0])
    return Guest(policy, giver, kernel, _disk(args))


def _disk(args: argparse.Namespace) -> appdisk.Disk | None:
    """The disk of --guest debian; :class:`UsageError` where a package's name cannot be one."""
    if args.guest != kinds.DEBIAN:
        if args.packages is not None:
            raise UsageError("--packages: only with --guest debian")
        return None
    names = tuple(word.strip() for word in (args.packages or "").split(",") if word.strip())
    disk = appdisk.Disk("--guest debian", appdisk.RELEASES[0], names, "ext4", DEBIAN_SIZE)
    appdisk.check(disk)
    return disk


def machine_for(args: argparse.Namespace, guest: Guest, accel: host.Accel) -> vm.Machine:
    """The machine that boots it."""
    own = tuple(args.words) if args.own else ()
    backend = (vm.Backend(appdisk.place(guest.disk), snapshot=True) if guest.disk else
               vm.Backend(args.drive))
    marks = () if args.own else hints.boot(guest.hints, guest.kernel, args.extras)
    machine = vm.Machine(_properties(args, guest), args.device_opts, vcpus=args.vcpus,
                         memory_mib=args.memory or (OWN_MEMORY_MIB if own else DEFAULT_MEMORY_MIB),
                         virtual=args.time == "virtual", accel=accel.name, cpu=accel.cpu,
                         backend=backend, trace=tuple(args.trace), own_guest=args.own,
                         append=(*_debug_options(args), *marks,
                                 *args.polling.boot(args.vcpus), *args.steering.boot()),
                         extra=(*_console(args, guest, own), *shares.args(args.share),
                                *_control(args), *_debug_stub(args), *own))
    return kinds.dress(machine, guest.kernel, guest.hints)


def _properties(args: argparse.Namespace, guest: Guest) -> list[tuple[str, properties.Value]]:
    """The device's properties."""
    return properties.device_properties(guest.policy, args.media, 1, args.time == "virtual",
                                        args.extras)


def _console(args: argparse.Namespace, guest: Guest, own: tuple[str, ...]) -> tuple[str, ...]:
    """QEMU's options: this terminal, and what goes before the shell; a command has neither."""
    if _command(args):
        return ()
    shell = (appdisk.shell_argv(),) if guest.disk else ()
    return (*_terminal(own), *_plan(*_setup(args, guest), *shell))


def _command(args: argparse.Namespace) -> list[str]:
    """What is to be run in the guest; nothing where there is to be a shell."""
    return [] if args.own else args.words


def _setup(args: argparse.Namespace, guest: Guest) -> tuple[tuple[str, ...], ...]:
    """Commands that prepare the guest."""
    if args.own:
        return ()
    return (*shares.setup(args.share), *hints.setup(guest.hints, guest.kernel),
            *args.polling.setup(1), *args.steering.setup(),
            *steering.split_setup(queueconfig.of_latency(guest.policy, 1, args.extras),
                                  args.vcpus),
            *((appdisk.mount_argv(guest.disk.filesystem),) if guest.disk else ()))


# ---- what is refused ----------------------------------------------------

def check(args: argparse.Namespace) -> None:
    """Refuse, by :class:`UsageError`, what does not go together, and files that are none."""
    words = args.words
    if args.own:
        _check_own(args)
    elif words and words[0].startswith("-"):
        raise UsageError(f"{words[0]}: that is no command of the guest",
                         hint="QEMU's arguments of your own guest: ./cint run --own -- "
                              f"{shlex.join(words)}")
    elif words and (args.gdb or args.print):
        option = "--gdb" if args.gdb else "--print"
        raise UsageError(f"{option}: not together with a command",
                         hint="leave the command out, and type it in the guest")
    elif not words and args.copy and args.print:
        raise UsageError("--copy: not together with --print: the image is made for one run")
    if args.guest == kinds.DEBIAN and args.drive is not None:
        raise UsageError("--drive: not together with --guest debian, which is on the namespace")
    policies.remark_units(args.policy)
    if args.qmp is not None and not args.qmp.absolute().parent.is_dir():
        raise UsageError(f"--qmp {args.qmp}: {args.qmp.parent} is no directory")
    if args.qmp is not None and args.qmp.exists() and not args.qmp.is_socket():
        raise UsageError(f"--qmp {args.qmp}: something else is there, which is no socket")
    vm.check_trace(args.trace)
    for source in args.copy:
        if not source.exists():
            raise UsageError(f"--copy {source}: there is no such file or directory")
    _check_shares(args)
    for option, mode in (("polling", args.polling), ("steering", args.steering)):
        if mode.name != "off" and (args.own or args.guest == "distro"):
            raise UsageError(f"--{option} {mode.name}: only this project's kernel has it",
                             hint="leave it out, or use --guest cint")


def _check_shares(args: argparse.Namespace) -> None:
    """Refuse directories that are none, and guests that cannot mount them."""
    if args.share and args.guest != "cint":
        raise UsageError(f"--share: not with --guest {args.guest}", hint="--copy has its files in "
                         "the guest's memory")
    shares.check(args.share, args.copy)


def _check_own(args: argparse.Namespace) -> None:
    if not args.words:
        raise UsageError("--own: the arguments of your own guest are missing",
                         hint="./cint run --own -- -drive file=my.qcow2,if=virtio")
    if args.guest != "cint":
        raise UsageError(f"--guest {args.guest}: not together with --own")
    if args.copy:
        raise UsageError("--copy: not together with --own: only the project's image takes files")
    if args.share:
        raise UsageError("--share: not together with --own: only the project's image mounts it",
                         hint="behind --: -virtfs local,path=DIR,mount_tag=share,"
                              "security_model=none, and in the guest: mount -t 9p share /mnt")


def _plan(*setup: tuple[str, ...]) -> tuple[str, ...]:
    """QEMU's options: what the guest does before its shell; commas are QEMU's own."""
    if not setup:
        return ()
    plan = agent.Plan(setup=setup, then="shell").to_json().replace(",", ",,")
    return ("-fw_cfg", f"name={agent.PLAN_FILE},string={plan}")


def _debug_options(args: argparse.Namespace) -> tuple[str, ...]:
    """Kernel options: the symbols' addresses hold only where the kernel was linked to."""
    return ("nokaslr",) if args.gdb else ()


def _debug_stub(args: argparse.Namespace) -> tuple[str, ...]:
    """QEMU's options: stopped, with a stub that only this machine reaches (-s is open to all)."""
    return ("-gdb", f"tcp:127.0.0.1:{args.gdb}", "-S") if args.gdb else ()


def _control(args: argparse.Namespace) -> tuple[str, ...]:
    """QEMU's options: the socket of --qmp."""
    if args.qmp is None:
        return ()
    place = str(args.qmp).replace(",", ",,")
    return ("-qmp", f"unix:{place},server=on,wait=off")


def gdb_line(machine: vm.Machine, port: int) -> str:
    """The line to type in another terminal."""
    ours = machine.kernel == paths.KERNEL and not machine.own_guest
    symbols = [str(paths.KERNEL.resolve())] if ours else []
    return shlex.join(["gdb", *symbols, "-ex", f"target remote :{port}"])


def _terminal(own: tuple[str, ...]) -> tuple[str, ...]:
    """Console on this terminal, unless the person's arguments say where to."""
    said = {"-nographic", "-display", "-serial", "-monitor", "-vnc", "-daemonize"}
    if said & {f"-{a.lstrip('-')}" for a in own if a.startswith("-")}:
        return ()
    return ("-display", "none", "-serial", "mon:stdio")


@contextmanager
def _with_files(machine: vm.Machine, sources: list[Path]) -> Iterator[vm.Machine]:
    """The machine with an image that has these files, which is gone afterwards."""
    if not sources:
        yield machine
        return
    with tempfile.TemporaryDirectory(prefix="cint-image-") as directory:
        image = Path(directory) / "initramfs"
        made = subprocess.run([sys.executable, "-B", str(paths.IMAGES / "overlay.py"),
                               "--base", str(machine.initramfs), "--out", str(image),
                               *map(str, sources)], stderr=subprocess.PIPE, text=True, check=False)
        if made.returncode:
            raise CintError(f"--copy: {made.stderr.strip().removeprefix('overlay: ')}")
        _check_room(machine, image)
        yield replace(machine, initramfs=image)


def _check_room(machine: vm.Machine, image: Path) -> None:
    """The archive and what comes out of it are in the guest's memory at once, for a moment."""
    needed = 2 * image.stat().st_size + (LEAST_MIB << 20)
    if needed > machine.memory_mib << 20:
        raise UsageError(f"--copy: the files need a guest of {-(-needed >> 20)} MiB, this one has "
                         f"{machine.memory_mib}", hint="see --memory")


def _run_inside(machine: vm.Machine, args: argparse.Namespace, guest: Guest) -> int:
    """Run the command in the guest; its logs stay where the guest fails or is traced."""
    logs = Path(tempfile.mkdtemp(prefix="cint-run-"))
    limit = kinds.BOOT_LIMIT_S if args.guest == "distro" else vm.BOOT_LIMIT_S
    words = appdisk.enter(args.words) if guest.disk else args.words
    what = inside.Inside(words, _setup(args, guest), logs, limit * args.vcpus)
    keep = bool(args.trace)
    try:
        return inside.run(machine, what, sys.stdin.fileno(), sys.stdout.buffer, sys.stderr.buffer)
    except CintError:
        keep = True
        raise
    finally:
        if keep:
            ui.info(f"logs: {logs}")
        else:
            shutil.rmtree(logs, ignore_errors=True)


def run(args: argparse.Namespace) -> int:
    """Run the verb; the exit code is QEMU's, or the command's."""
    check(args)
    guest = guest_for(args)
    _properties(args, guest)  # raises what the device would refuse
    steering.check_split(guest.policy, args.steering)
    if not args.print:
        _build(args, guest)
    accel = comparison.choose_accel(args.time == "virtual")
    machine = machine_for(args, guest, accel)
    if args.print:
        print(vm.shell_line(vm.machine_args(machine)))
        return EXIT_OK
    vm.check_files(machine)
    with _with_files(machine, args.copy) as machine:
        return _start(machine, args, guest, accel)


def _build(args: argparse.Namespace, guest: Guest) -> None:
    """Build what the guest needs."""
    from cint.build import setup  # noqa: PLC0415 - not needed for --print

    if guest.disk:
        appdisk.look_up(guest.disk)
    setup.ensure(args, ("qemu",) if args.own else kinds.targets(guest.kernel, [guest.hints]))
    hints.check_built([] if args.own else [guest.hints])
    if guest.disk:
        appdisk.make(guest.disk)


def _start(machine: vm.Machine, args: argparse.Namespace, guest: Guest,
           accel: host.Accel) -> int:
    if _command(args):
        return _run_inside(machine, args, guest)
    if args.gdb:
        ui.info(f"waiting for gdb: {gdb_line(machine, args.gdb)}")
        ui.info("  there: hbreak nvme_irq, continue; breakpoints before the kernel has set up "
                "its pages must be hardware ones")
    ui.info(f"accelerator: {accel.name} ({accel.reason}); end with Ctrl-A x")
    sys.stdout.flush()
    argv = vm.machine_args(machine)
    if args.copy:  # the image has to be removed afterwards
        return subprocess.run(argv, check=False).returncode
    try:
        os.execv(argv[0], argv)
    except OSError as err:
        raise CintError(f"{argv[0]} cannot be started: {err.strerror}") from None


