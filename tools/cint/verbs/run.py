# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint run`: an interactive guest with the cint device.

Without arguments of one's own it boots the project's kernel and image and
gives a shell on this terminal.  Arguments after ``--`` are the person's own
guest: QEMU gets them as they are, and the kernel and image stay out.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

from cint import host, paths, ui, units
from cint.device import properties
from cint.errors import EXIT_OK, CintError, UsageError
from cint.guest import agent, hints, kinds, polling, steering, vm
from cint.measure import comparison, settings
from cint.options import policies

DEFAULT_POLICY = "cint+ooo"
DEFAULT_MEMORY_MIB = 1024
OWN_MEMORY_MIB = 2048
GDB_PORT = 1234


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "run", help="start an interactive guest with the cint device",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Start a guest with a cint NVMe device on this terminal.\n"
        "Leave the guest's shell with 'exit', or end QEMU with Ctrl-A x.",
        epilog=f"policies: {properties.POLICY_HELP}\n"
        f"media: {', '.join(properties.PROFILES)}")
    add = parser.add_argument
    policies.add(parser, f"(default: {DEFAULT_POLICY})")
    add("--media", metavar="NAME", default="optane", help="media profile (default: optane)")
    add("--time", choices=("virtual", "real"), default="real",
        help="real (default) or virtual: one instruction per ns, which the CPUs share evenly; "
             "unscaled")
    add("--guest", choices=kinds.GUESTS, default="cint",
        help="cint (default): our kernel; distro: the distribution's own kernel, as it is")
    add("--hints", metavar="WHO",
        help="who gives hints: on (default) or off with our kernel, off (default) or module with "
             "--guest distro; docs/hints-module.md")
    add("--polling", metavar="MODE", default=polling.OFF,
        help=f"how threads that wait for their reads poll for them: {polling.VALID} "
             f"(default: {polling.OFF})")
    add("--steering", metavar="MODE", default=steering.OFF,
        help=f"queues for I/O of the realtime class, and what is moved between CPUs: "
             f"{steering.VALID} (default: {steering.OFF})")
    add("--vcpus", metavar="N", type=units.count(1, settings.MAX_VCPUS, "--vcpus"), default=1)
    add("--memory", metavar="MIB", type=units.count(64, 1 << 20, "--memory"),
        help=f"(default: {DEFAULT_MEMORY_MIB}; {OWN_MEMORY_MIB} for your own guest)")
    add("--drive", metavar="FILE", type=Path,
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
    add("own", nargs="*", metavar="-- QEMU-ARGUMENT",
        help="arguments of your own guest (after --)")


def policy_for(args: argparse.Namespace) -> properties.Policy:
    """The policy that the options say; only our kernel gives hints."""
    policies = properties.parse_policies(args.policy or DEFAULT_POLICY)
    if len(policies) > 1:
        raise UsageError("--policy: run takes one policy", hint="./cint compare takes several")
    if args.time == "virtual":
        properties.check_virtual(policies)
    given = not args.own and _hints(args) != hints.OFF
    return policies[0] if given else properties.inferred(policies[0])


def _hints(args: argparse.Namespace) -> str:
    """Who gives hints."""
    if args.own and args.hints is not None:
        raise UsageError(f"--hints {args.hints}: not together with arguments of your own guest")
    return hints.parse(args.hints or hints.VALID[args.guest][0], args.guest)


def _hint_words(args: argparse.Namespace) -> tuple[str, ...]:
    return () if args.own else hints.boot(_hints(args), args.guest, args.extras)


def machine_for(args: argparse.Namespace, accel: host.Accel) -> vm.Machine:
    """The guest that the options describe."""
    virtual = args.time == "virtual"
    own = tuple(args.own)
    mode, steers = _polling(args), _steering(args)
    if own and args.guest != "cint":
        raise UsageError(f"--guest {args.guest}: not together with arguments of your own guest")
    vm.check_drive(args.drive)
    props = properties.device_properties(policy_for(args), properties.parse_media(args.media), 1,
                                         virtual, args.extras)
    memory = args.memory or (OWN_MEMORY_MIB if own else DEFAULT_MEMORY_MIB)
    machine = vm.Machine(props, args.device_opts, vcpus=args.vcpus, memory_mib=memory,
                         virtual=virtual, accel=accel.name, cpu=accel.cpu,
                         backend=vm.Backend(args.drive), trace=tuple(args.trace),
                         own_guest=bool(own),
                         append=(*_debug_options(args), *_hint_words(args),
                                 *mode.boot(args.vcpus), *steers.boot()),
                         extra=(*_terminal(own), *_control(args), *_debug_stub(args),
                                *_plan(*hints.setup(_hints(args)), *mode.setup(1),
                                       *_steering_setup(args)), *own))
    return kinds.dress(machine, args.guest, _hints(args))


def _polling(args: argparse.Namespace) -> polling.Polling:
    """The mode that the options say; only our kernel has any."""
    mode = polling.parse(args.polling)
    if mode.polls and (args.own or args.guest != "cint"):
        raise UsageError(f"--polling {mode.name}: only this project's kernel has it",
                         hint="leave it out, or use --guest cint")
    return mode


def _steering(args: argparse.Namespace) -> steering.Steering:
    """The mode that the options say; only our kernel has any."""
    mode = steering.parse(args.steering)
    if mode.steers and (args.own or args.guest != "cint"):
        raise UsageError(f"--steering {mode.name}: only this project's kernel has it",
                         hint="leave it out, or use --guest cint")
    steering.check_split(policy_for(args), mode)
    return mode


def _steering_setup(args: argparse.Namespace) -> tuple[tuple[str, ...], ...]:
    return (*_steering(args).setup(),
            *steering.split_setup(policy_for(args), args.vcpus, 1, args.extras))


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
    if not args.qmp.absolute().parent.is_dir():
        raise UsageError(f"--qmp {args.qmp}: {args.qmp.parent} is no directory")
    place = str(args.qmp).replace(",", ",,")
    return ("-qmp", f"unix:{place},server=on,wait=off")


def gdb_line(machine: vm.Machine, port: int) -> str:
    """What to type in another terminal."""
    ours = machine.kernel == paths.KERNEL and not machine.own_guest
    symbols = [str(paths.VMLINUX.resolve())] if ours else []
    return shlex.join(["gdb", *symbols, "-ex", f"target remote :{port}"])


def _terminal(own: tuple[str, ...]) -> tuple[str, ...]:
    """Console on this terminal, unless the person's arguments say where to."""
    said = {"-nographic", "-display", "-serial", "-monitor", "-vnc", "-daemonize"}
    if said & {f"-{a.lstrip('-')}" for a in own if a.startswith("-")}:
        return ()
    return ("-display", "none", "-serial", "mon:stdio")


def run(args: argparse.Namespace) -> int:
    """Run the verb; the exit code is QEMU's."""
    properties.device_properties(policy_for(args), properties.parse_media(args.media), 1,
                                 args.time == "virtual", args.extras)
    _polling(args)
    _steering(args)
    if not args.print:
        from cint.build import setup  # noqa: PLC0415 - not needed for --print

        setup.ensure(args, ("qemu",) if args.own else kinds.targets(args.guest, [_hints(args)]))
    accel = comparison.choose_accel(args.time == "virtual")
    machine = machine_for(args, accel)
    argv = vm.machine_args(machine)
    if args.print:
        print(vm.shell_line(argv))
        return EXIT_OK
    vm.check_files(machine)
    if args.gdb:
        ui.info(f"waiting for gdb: {gdb_line(machine, args.gdb)}")
        ui.info("  there: hbreak nvme_irq, continue; breakpoints before the kernel has set up "
                "its pages must be hardware ones")
    ui.info(f"accelerator: {accel.name} ({accel.reason}); end with Ctrl-A x")
    sys.stdout.flush()
    try:
        os.execv(argv[0], argv)
    except OSError as err:
        raise CintError(f"{argv[0]} cannot be started: {err.strerror}") from None


