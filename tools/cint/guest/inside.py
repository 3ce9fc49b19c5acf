# SPDX-License-Identifier: GPL-2.0-or-later
"""A command in a guest, whose input, output and exit code are those of the tool.

Its three streams are virtio-serial ports of their own, which carry bytes as they are: the console
is the kernel's, and the agent's port has the messages. When the command has ended, the shell
around it writes a mark to both outputs, and the guest is ended once both marks are here. So
nothing of an output is lost, however slowly it is taken from the tool.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from cint import paths
from cint.errors import CintError
from cint.guest import agent
from cint.guest.vm import Machine, Vm, command

#: The ports by name: standard input, output and error.
PORTS = ("cint.stdin", "cint.stdout", "cint.stderr")
#: A job's own limit in the agent, and so the longest that a command may run.
LIMIT_S = 86400
#: Seconds of silence after the command's end in which the marks have to come.
DRAIN_S = 60.0
#: What a shell gives for a command that a signal ended, less the signal.
SIGNALLED = 128

SCRIPT = """
port() {{
  for p in /sys/class/virtio-ports/*; do
    [ "$(cat $p/name)" = $1 ] && echo /dev/${{p##*/}}
  done
}}
export DEVICE=/dev/nvme0n1
mkdir -p /root && cd /root || exit
exec 3>$(port {1}) 4>$(port {2})
"$@" <$(port {0}) >&3 2>&4 3>&- 4>&-
code=$?
printf %s {mark} >&3
printf %s {mark} >&4
exit $code
"""


@dataclass(frozen=True)
class Inside:
    """A command in the guest, the place of its logs, and seconds that the boot may take."""

    argv: Sequence[str]
    setup: tuple[tuple[str, ...], ...]
    logs: Path
    boot_limit_s: float


def script(mark: str) -> str:
    """The shell's part; its arguments are the command."""
    return SCRIPT.format(*PORTS, mark=mark)


class _Output:
    """One output of the command: what comes from QEMU goes on, up to the mark."""

    def __init__(self, listener: socket.socket, to: BinaryIO, mark: bytes) -> None:
        self._listener, self._to, self._mark = listener, to, mark
        self.ended = threading.Event()
        self.waiting = True
        self.refused: OSError | None = None
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        # QEMU may be started twice: a guest that its own fault ended at boot has no output.
        while not self.ended.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                self._pass_on(connection)

    def _pass_on(self, connection: socket.socket) -> None:
        held = b""
        while data := connection.recv(1 << 16):
            self.waiting = False
            held += data
            if self._mark in held:
                self._write(held.partition(self._mark)[0])
                self.ended.set()
                return
            keep = _beginning(held, self._mark)
            self._write(held[:len(held) - keep])
            held = held[len(held) - keep:]
            self.waiting = True
        self._write(held)

    def _write(self, data: bytes) -> None:
        """Write to whom the tool's output goes; one who has gone away ends the command."""
        if not data or self.refused:
            return
        try:
            self._to.write(data)
            self._to.flush()
        except OSError as problem:
            self.refused = problem
            self.ended.set()


def _drained(output: _Output) -> bool:
    """Wait for the mark, and for as long as it takes while somebody reads slowly."""
    silent_s = 0
    while silent_s < DRAIN_S and not output.ended.wait(1):
        silent_s = silent_s + 1 if output.waiting else 0
    return output.ended.is_set()


def _beginning(held: bytes, mark: bytes) -> int:
    """How many of the last bytes may be the mark's first ones."""
    longest = min(len(held), len(mark) - 1)
    return next((n for n in range(longest, 0, -1) if held.endswith(mark[:n])), 0)


class Streams:
    """The tool's ends of the three ports; use as a context manager."""

    def __init__(self, mark: str, out: BinaryIO, err: BinaryIO) -> None:
        # The path of a unix socket must be short.
        self._directory = Path(tempfile.mkdtemp(prefix="cint-"))
        listeners = [self._listen(name) for name in PORTS]
        self._input = listeners[0]
        self._listeners = listeners
        self.outputs = [_Output(listener, to, mark.encode())
                        for listener, to in zip(listeners[1:], (out, err), strict=True)]

    def _listen(self, name: str) -> socket.socket:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self._directory / name))
        listener.listen(2)
        return listener

    def __enter__(self) -> Streams:
        return self

    def __exit__(self, *_: object) -> None:
        for listener in self._listeners:
            listener.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def args(self) -> tuple[str, ...]:
        """QEMU's options: a controller with the three ports."""
        words = ["-device", "virtio-serial-pci,id=streams,ioeventfd=off"]
        for name in PORTS:
            place = paths.in_option(self._directory / name)
            words += ["-chardev", f"socket,id={name},path={place}",
                      "-device", f"virtserialport,bus=streams.0,chardev={name},name={name}"]
        return tuple(words)

    def feed(self, descriptor: int) -> None:
        """Begin to send what can be read from ``descriptor``, in a thread; its end is the end."""
        threading.Thread(target=self._feed, args=(descriptor,), daemon=True).start()

    def _feed(self, descriptor: int) -> None:
        self._input.settimeout(0)
        connection = None
        try:
            while True:  # the last one is that of the QEMU that runs
                connection, _ = self._input.accept()
        except OSError:
            if connection is None:
                return
        with connection:
            connection.setblocking(True)
            try:
                while data := os.read(descriptor, 1 << 16):
                    connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                connection.recv(1)  # until QEMU has taken all
            except OSError:
                return  # the command has ended, or nothing can be read: that is its end, too

    def drained(self) -> bool:
        """Wait until all that the command wrote has gone on; False if nothing comes any more."""
        return all(map(_drained, self.outputs))

    @property
    def refused(self) -> OSError | None:
        """Why an output of the tool takes nothing any more."""
        return next((output.refused for output in self.outputs if output.refused), None)


def run(machine: Machine, inside: Inside, descriptor: int, out: BinaryIO, err: BinaryIO) -> int:
    """Boot the machine, run the command, power off; the command's exit code.

    ``descriptor`` is its standard input. A command that a signal ended has 128 and the signal, as
    in a shell. Raises CintError where the guest fails, and OSError where ``out`` or ``err`` does.
    """
    mark = f"cint-end-{secrets.token_hex(8)}"
    plan = agent.Plan(setup=inside.setup, then="serve")
    with Streams(mark, out, err) as streams:
        whole = replace(machine, extra=(*machine.extra, *streams.args()))
        with Vm(command(whole), plan, inside.logs, inside.boot_limit_s) as guest:
            guest.expect("done", inside.boot_limit_s, "the guest does not get ready")
            guest.send(json.dumps({"id": 1, "cmd": "exec", "timeout_s": LIMIT_S, "argv": [
                "sh", "-c", script(mark), "sh", *inside.argv]}).encode())
            streams.feed(descriptor)
            result = _result(guest, streams)
            code = _code(result)
            if not result.get("signal") and not streams.drained():
                raise guest.failure("the command has ended, and its output is not all here")
            if streams.refused:
                raise streams.refused
            guest.send(json.dumps({"id": 2, "cmd": "poweroff"}).encode())
            guest.wait_exit()
    return code


def _result(guest: Vm, streams: Streams) -> agent.Message:
    """What the agent says of the command when it has ended."""
    while not streams.refused:
        message = guest.try_message(0.2)
        if message is not None and message.get("type") == "result":
            return message
    raise streams.refused


def _code(result: agent.Message) -> int:
    if result.get("timed_out"):
        raise CintError(f"the command did not end within {LIMIT_S} s")
    if result.get("signal"):
        return SIGNALLED + int(result["signal"])
    return int(result.get("exit", 1))
