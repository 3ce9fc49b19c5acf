# SPDX-License-Identifier: GPL-2.0-or-later
"""A small synchronous QMP client over an accepted socket."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from cint import units
from cint.errors import CintError, UsageError

NVME_PATH = "/machine/peripheral/nvme0"
TIMEOUT_S = 20.0
#: Of the greeting, where QEMU runs already: whoever has the socket is the only one who is greeted.
GREETING_S = 3.0


class QmpError(CintError):
    """QEMU refused a command or closed the connection."""


class QmpGoneError(QmpError):
    """There is nobody at the other end, nobody who answers, or nobody who speaks QMP."""


class Qmp:
    """One QMP session; events are dropped.  Not to be shared between threads."""

    def __init__(self, connection: socket.socket, greeting_s: float = TIMEOUT_S) -> None:
        self._socket = connection
        self._socket.settimeout(greeting_s)
        self._file = connection.makefile("rwb")
        if "QMP" not in self._read("greeting"):
            raise QmpGoneError("what answers on the control socket is no QMP server")
        self._socket.settimeout(TIMEOUT_S)
        self.execute("qmp_capabilities")

    def _read(self, doing: str) -> dict[str, Any]:
        try:
            line = self._file.readline()
        except OSError as err:
            raise QmpGoneError(f"QEMU did not answer to {doing} on its control socket "
                               f"({err})") from None
        if not line:
            raise QmpGoneError(f"QEMU closed its control socket during {doing}")
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            shown = line[:40].decode(errors="replace").strip()
            raise QmpGoneError(f"what answers on the control socket does not speak QMP: '{shown}'")
        return answer

    def execute(self, command: str, **arguments: Any) -> Any:
        """Run ``command``; its answer, a QmpError if it is refused, QmpGoneError without QEMU."""
        request: dict[str, Any] = {"execute": command}
        if arguments:
            request["arguments"] = arguments
        try:
            self._file.write(json.dumps(request).encode() + b"\n")
            self._file.flush()
        except OSError as err:
            raise QmpGoneError(f"QEMU is gone ({err}); {command} was not sent") from None
        while True:
            answer = self._read(command)
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise QmpError(f"QEMU refused {command}: {answer['error'].get('desc', '?')}")

    def get(self, name: str, path: str = NVME_PATH) -> Any:
        """Read a property of the NVMe device (or of the object at ``path``)."""
        return self.execute("qom-get", path=path, property=name)

    def set(self, name: str, value: Any, path: str = NVME_PATH) -> None:
        """Change a property of the NVMe device (or of the object at ``path``)."""
        self.execute("qom-set", path=path, property=name, value=value)

    def close(self) -> None:
        """Close the session."""
        try:
            self._file.close()
        except OSError:
            pass  # the peer may be gone with unsent data in the buffer
        self._socket.close()


def connect(path: Path) -> Qmp:
    """A session over a VM's QMP socket; UsageError where none is, QmpGoneError if none answers."""
    hint = "start QEMU with -qmp unix:PATH,server=on,wait=off"
    if not path.exists():
        raise UsageError(f"{path}: there is no such socket", hint=hint)
    if not path.is_socket():
        raise UsageError(f"{path}: that is no socket", hint=hint)
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(str(path))
    except OSError as problem:
        connection.close()
        raise QmpGoneError(f"{path}: {problem.strerror or problem}", hint=hint) from None
    try:
        return Qmp(connection, GREETING_S)
    except QmpError as problem:
        connection.close()
        raise QmpGoneError(f"{path}: {problem.message}",
                           hint=f"a QMP socket has one client at a time; {hint}") from None


def choose(control: Qmp, chosen: str | None) -> str:
    """The QOM path of the device that has cint on; CintError without, UsageError to choose."""
    found = devices(control)
    if not found:
        raise CintError("this VM has no NVMe device")
    if chosen is not None and chosen not in found:
        raise UsageError(f"--device {chosen}: there is none{units.suggestion(chosen, found)}",
                         hint=f"NVMe devices of this VM: {', '.join(found)}")
    fit = [path for path in found if has_cint(control, path)]
    if chosen is not None and chosen not in fit:
        raise CintError(f"{chosen} is a device without cint", hint=_NEEDED)
    if chosen is None and len(fit) > 1:
        raise UsageError(f"there are {len(fit)} NVMe devices with cint",
                         hint=f"choose with --device: {', '.join(fit)}")
    if not fit:
        raise CintError(f"no NVMe device of this VM has cint on: {', '.join(found)}", hint=_NEEDED)
    return chosen or fit[0]


_NEEDED = "it has to be -device nvme,cint=on of a QEMU with cint"


def has_cint(control: Qmp, path: str) -> bool:
    """Whether an NVMe device has cint, and has it on."""
    try:
        return bool(control.get("cint", path))
    except QmpGoneError:
        raise
    except QmpError:
        return False


def devices(control: Qmp) -> list[str]:
    """The QOM paths of all NVMe controllers of the VM, with an id or without."""
    return [f"{place}/{one['name']}" for place in ("/machine/peripheral",
                                                   "/machine/peripheral-anon")
            for one in control.execute("qom-list", path=place) if one["type"] == "child<nvme>"]
