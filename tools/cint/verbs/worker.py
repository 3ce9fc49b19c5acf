# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint worker`: this machine runs guests for others, or is where workers and clients meet.

Both are Dask's own programs; this verb installs what they need and makes them listen on the
loopback interface unless told otherwise, because a Dask worker runs whatever it is sent.
"""

from __future__ import annotations

import argparse
import errno
import ipaddress
import os
import socket
import sys
from pathlib import Path

from cint import bootstrap, host, paths, ui, units
from cint.build import packages
from cint.errors import CintError, UsageError
from cint.options import store

LOOPBACK = "127.0.0.1"
PORT = 8786
#: Dask's names of the files of a TLS certificate.
TLS = {"tls-ca-file": "certificate authority of all of them (PEM); with --tls-cert and --tls-key",
       "tls-cert": "this machine's certificate (PEM)", "tls-key": "its key (PEM)"}


def declare(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Set this machine up and run guests for clients of a Dask scheduler, or be\n"
        "that scheduler. Nothing is compiled: QEMU, firmware, kernel and image come from the\n"
        "client. End it with Ctrl-C.\n\n"
        "Whoever reaches a Dask scheduler or worker can run any program as you. They listen on\n"
        "the loopback interface unless --listen says otherwise; beyond a network that is yours\n"
        "alone, use TLS. See docs/cluster.md.")
    add = parser.add_argument
    add("address", nargs="?", metavar="ADDRESS", help="the scheduler, for example "
        f"tcp://{LOOPBACK}:{PORT}, or tls://...")
    add("--scheduler", action="store_true", help="be the scheduler")
    add("--listen", metavar="HOST", default=LOOPBACK,
        help=f"address of this machine that others reach it at (default: {LOOPBACK}, which only "
             "this machine does)")
    add("--port", metavar="N", type=units.count(0, 65535, "--port"),
        help=f"listen there (default: the scheduler {PORT}, a worker any)")
    add("--guests", metavar="N", type=units.count(1, 1024, "--guests"),
        help="run so many at a time (default: the CPUs)")
    add("--name", metavar="TEXT", help="what errors call this worker (default: its address)")
    for name, text in TLS.items():
        add(f"--{name}", metavar="FILE", type=Path, help=text)


def is_loopback(name: str) -> bool:
    """Whether only this machine reaches the address."""
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return name == "localhost"


def check(args: argparse.Namespace) -> None:
    """Refuse, by UsageError, what cannot work, or would listen where nobody asked for it."""
    if args.scheduler == bool(args.address):
        raise UsageError("give the scheduler's ADDRESS, or --scheduler to be one")
    given = [getattr(args, name.replace("-", "_")) for name in TLS]
    if any(given) and not all(given):
        raise UsageError("--tls-ca-file, --tls-cert and --tls-key go together")
    for path in given:
        if path is not None and not path.is_file():
            raise UsageError(f"{path}: there is no such file")
    if not args.address:
        return
    match = store.ADDRESS.fullmatch(store.address(args.address))
    assert match is not None
    if (match[1] == "tls") != all(given):
        raise UsageError(f"{args.address}: tls:// and --tls-ca-file, --tls-cert, --tls-key go "
                         "together")
    if is_loopback(args.listen) and not is_loopback(match[2]):
        raise UsageError(f"{args.address} cannot reach a worker at {args.listen}",
                         hint="--listen HOST: this machine's address in that network; read "
                              "docs/cluster.md first")


def check_listening(listen: str, port: int) -> None:
    """Refuse an address that is not this machine's, and a port that another program has.

    Port 0 is any that is free. Dask would end in a traceback. Raises :class:`UsageError` of the
    first, :class:`CintError` of the second.
    """
    try:
        found = socket.getaddrinfo(listen.strip("[]"), port, type=socket.SOCK_STREAM)
        with socket.socket(found[0][0], socket.SOCK_STREAM) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(found[0][4])
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE:
            raise CintError(f"--port {port}: another program listens there",
                            hint="--port N: another one; 0 is any") from None
        if problem.errno == errno.EACCES:
            raise UsageError(f"--port {port}: {problem.strerror}") from None
        raise UsageError(f"--listen {listen}: no address of this machine",
                         hint="ip address shows those that it has") from None


def command(args: argparse.Namespace) -> list[str]:
    """Dask's program with its options."""
    # Without the dashboard there still is a page of state: neither leaves this machine.
    words = ["--host", args.listen, "--no-dashboard", "--dashboard-address", f"{LOOPBACK}:0"]
    for name in TLS:
        path = getattr(args, name.replace("-", "_"))
        words += [f"--{name}", str(path)] if path else []
    if args.scheduler:
        protocol = ["--protocol", "tls"] if args.tls_cert else []
        port = PORT if args.port is None else args.port
        return _program("dask_scheduler", *words, *protocol, "--port", str(port))
    place = paths.BUILD / "worker"
    words += ["--nworkers", "1", "--nthreads", str(args.guests or host.cpu_count()), "--no-nanny",
              "--memory-limit", "0", "--death-timeout", "60", "--local-directory", str(place)]
    if args.port:
        words += ["--worker-port", str(args.port)]
    if args.name:
        words += ["--name", args.name]
    return _program("dask_worker", args.address, *words)


def _program(name: str, *words: str) -> list[str]:
    return [sys.executable, "-m", f"distributed.cli.{name}", *words]


def run(args: argparse.Namespace) -> int:
    """Run the verb: it becomes Dask's program."""
    check(args)
    check_listening(args.listen, (PORT if args.scheduler else 0) if args.port is None
                    else args.port)
    if not args.scheduler:
        packages.install(packages.RUNTIME)
        (paths.BUILD / "worker").mkdir(parents=True, exist_ok=True)
    bootstrap.ensure("cluster")
    if not is_loopback(args.listen) and not args.tls_cert:
        ui.warn(f"whoever reaches {args.listen} can run any program here as you",
                "TLS keeps strangers out: docs/cluster.md")
    argv = command(args)
    sys.stdout.flush()
    os.execv(argv[0], argv)
