# SPDX-License-Identifier: GPL-2.0-or-later
"""A small synchronous QMP client over an accepted socket."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from cint.errors import CintError

NVME_PATH = "/machine/peripheral/nvme0"
TIMEOUT_S = 20.0


class QmpError(CintError):
    """QEMU refused a command or closed the connection."""


class Qmp:
    """One QMP session; events are dropped.  Not to be shared between threads."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._socket.settimeout(TIMEOUT_S)
        self._file = connection.makefile("rwb")
        self._read("greeting")
        self.execute("qmp_capabilities")

    def _read(self, doing: str) -> dict[str, Any]:
        try:
            line = self._file.readline()
        except OSError as err:
            raise QmpError(f"QEMU did not answer to {doing} on its control socket "
                           f"({err})") from None
        if not line:
            raise QmpError(f"QEMU closed its control socket during {doing}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def execute(self, command: str, **arguments: Any) -> Any:
        """Run ``command`` and return its answer; raise :class:`QmpError`."""
        request: dict[str, Any] = {"execute": command}
        if arguments:
            request["arguments"] = arguments
        try:
            self._file.write(json.dumps(request).encode() + b"\n")
            self._file.flush()
        except OSError as err:
            raise QmpError(f"QEMU is gone ({err}); {command} was not sent") from None
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
    """A session over the socket of a VM that runs (-qmp unix:PATH,server,nowait)."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(str(path))
    except OSError as problem:
        connection.close()
        raise QmpError(f"{path}: {problem.strerror or problem}",
                       hint="start QEMU with -qmp unix:PATH,server=on,wait=off") from None
    try:
        return Qmp(connection)
    except QmpError:
        connection.close()
        raise


def devices(control: Qmp) -> list[str]:
    """The QOM paths of all NVMe controllers of the VM, with an id or without."""
    return [f"{place}/{one['name']}" for place in ("/machine/peripheral",
                                                   "/machine/peripheral-anon")
            for one in control.execute("qom-list", path=place) if one["type"] == "child<nvme>"]
