# SPDX-License-Identifier: GPL-2.0-or-later
"""Host side of the guest agent's protocol.

The agent is /init of the guest.  It reads its plan from the fw_cfg file
``opt/cint/plan`` before anything else, runs it, and sends newline-delimited
JSON on the virtio-serial port ``cint.agent``.  While a measurement runs
nothing goes from the host to the guest, which is what makes runs in virtual
time repeat.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass
from typing import Any

from cint.errors import CintError

PLAN_FILE = "opt/cint/plan"
PORT_NAME = "cint.agent"
PROTOCOL = 1
MAX_LINE = 64 << 20
#: Bytes of each output of a job that are kept, its last ones (CHILD_OUTPUT_MAX there).
OUTPUT_LIMIT = 256 << 10
THEN = ("poweroff", "serve", "shell")

Message = dict[str, Any]


class AgentError(CintError):
    """The agent said that something is wrong, or said something unreadable."""


# ---- the plan -----------------------------------------------------------

@dataclass(frozen=True)
class Job:
    """One job of a plan: a fio job text or a command.

    ``timeout_s`` is in guest seconds.
    """

    name: str
    fio: str | None = None
    argv: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    cpus: str | None = None
    timeout_s: int = 120

    def as_dict(self) -> dict[str, Any]:
        """The job as the plan's JSON has it."""
        out: dict[str, Any] = {"name": self.name, "timeout_s": self.timeout_s}
        if self.fio is not None:
            out |= {"fio": self.fio, "args": list(self.args)}
        else:
            out["exec"] = list(self.argv)
        if self.cpus is not None:
            out["cpus"] = self.cpus
        return out


@dataclass(frozen=True)
class Plan:
    """Everything the guest does in one boot."""

    jobs: tuple[Job, ...] = ()
    setup: tuple[tuple[str, ...], ...] = ()
    then: str = "poweroff"

    def to_json(self) -> str:
        """The text of the fw_cfg file; ValueError of another ``then`` than THEN has."""
        if self.then not in THEN:
            raise ValueError(f"then={self.then}: must be one of {', '.join(THEN)}")
        return json.dumps({"version": PROTOCOL, "setup": [list(s) for s in self.setup],
                           "jobs": [j.as_dict() for j in self.jobs], "then": self.then})


# ---- messages -----------------------------------------------------------

def parse_line(line: bytes) -> Message:
    """Decode one line from the agent; raise :class:`AgentError` if it is not one."""
    try:
        message = json.loads(line)
    except (UnicodeDecodeError, json.JSONDecodeError) as err:
        shown = line[:80].decode("utf-8", "replace")
        raise AgentError(f"the guest agent sent a line that is not JSON ({err}): {shown!r}",
                         hint="rebuild the guest image: ./cint build") from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        if isinstance(message, dict) and "id" in message:
            return message
        raise AgentError("the guest agent sent a message without a type",
                         hint="rebuild the guest image: ./cint build")
    return message


class LineBuffer:
    """Cuts a byte stream into lines; the last incomplete one stays inside."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Add ``data`` and return the complete, non-empty lines."""
        *complete, rest = data.split(b"\n")
        if not complete:
            self._keep(rest)
            return []
        complete[0] = b"".join([*self._parts, complete[0]])
        self._parts, self._size = [], 0
        self._keep(rest)
        return [line for line in complete if line.strip()]

    def _keep(self, rest: bytes) -> None:
        self._parts.append(rest)
        self._size += len(rest)
        if self._size > MAX_LINE:
            raise AgentError(f"the guest agent sent a line longer than {MAX_LINE >> 20} MiB")


def check_hello(message: Message) -> None:
    """Refuse, by :class:`AgentError`, an agent of another version of the protocol."""
    if message.get("version") != PROTOCOL:
        raise AgentError(f"the guest agent speaks protocol {message.get('version')}, this tool "
                         f"speaks {PROTOCOL}", hint="rebuild the guest image: ./cint build")


# ---- snapshots ----------------------------------------------------------

@dataclass(frozen=True)
class Edge:
    """The CPUs' accounts at one moment; ticks of 10 ms.

    ``clock`` is the device's time in ns and how many instructions the CPUs have executed,
    where they are counted.
    """

    time_s: float
    cpu_ticks: dict[str, int]
    clock: tuple[int, int] | None = None


@dataclass(frozen=True)
class Snapshot:
    """Counters of the guest at one edge of a job."""

    monotonic_ns: int
    interrupts: dict[str, int]
    cpu_ticks: dict[str, int]
    nvme_log: bytes | None
    #: I/Os that the namespace's block device has ended; None where the guest has none.
    ios: int | None = None

    @property
    def edge(self) -> Edge:
        """The CPUs' accounts."""
        return Edge(self.monotonic_ns / 1e9, self.cpu_ticks)


_QUEUE = re.compile(r"^\s*\d+:\s+((?:\d+\s+)+).*\b(nvme\d+q\d+)\s*$")
_CPU_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def parse_interrupts(text: str) -> dict[str, int]:
    """Interrupts of each NVMe queue (``nvme0q1``), summed over the CPUs."""
    counts: dict[str, int] = {}
    for line in text.splitlines():
        match = _QUEUE.match(line)
        if match:
            total = sum(int(n) for n in match[1].split())
            counts[match[2]] = counts.get(match[2], 0) + total
    return counts


def parse_cpu(text: str) -> dict[str, int]:
    """The total line of /proc/stat, in ticks of 10 ms."""
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if name == "cpu":
            values = [int(v) for v in rest.split()]
            return dict(zip(_CPU_FIELDS, values, strict=False))
    return {}


def parse_edges(text: str, label: str) -> list[Edge]:
    """Lines ``label <uptime> <idle> cpu <ticks...> vclock [<ns> <instructions>]`` of a job."""
    edges = []
    for line in text.splitlines():
        head, _, clock = line.partition(" vclock")
        words, ticks = head.split(), clock.split()
        if len(words) > 8 and words[0] == label and words[3] == "cpu":
            edges.append(Edge(float(words[1]), parse_cpu("cpu " + " ".join(words[4:])),
                              (int(ticks[0]), int(ticks[1])) if len(ticks) == 2 else None))
    return edges


#: Reads, writes, discards and flushes in /sys/block/*/stat.
_ENDED = (0, 4, 11, 15)


def parse_block(text: str | None) -> int | None:
    """I/Os that a block device has ended, from its file stat."""
    words = (text or "").split()
    return sum(int(words[i]) for i in _ENDED if i < len(words)) if words else None


def parse_snapshot(snap: Any) -> Snapshot:
    """Turn a SNAP object into a :class:`Snapshot`; :class:`AgentError` where it is none."""
    try:
        log = snap.get("nvme_log")
        return Snapshot(int(snap["monotonic_ns"]), parse_interrupts(snap["interrupts"]),
                        parse_cpu(snap["stat"]),
                        base64.b64decode(log, validate=True) if log else None,
                        parse_block(snap.get("block")))
    except (AttributeError, KeyError, TypeError, ValueError, binascii.Error) as err:
        raise AgentError(f"the guest agent sent a snapshot that cannot be read ({err!r})",
                         hint="rebuild the guest image: ./cint build") from None


@dataclass(frozen=True)
class Ran:
    """The leavings of a job that ran: the agent's looks before and after it, and its output."""

    before: Snapshot
    after: Snapshot
    stdout: str
    #: fio's document, of jobs of fio.
    fio: Any

    @classmethod
    def of(cls, message: Message) -> Ran:
        """Read its result; :class:`AgentError` where a look cannot be read."""
        return cls(parse_snapshot(message.get("before")), parse_snapshot(message.get("after")),
                   str(message.get("stdout") or ""), message.get("fio"))


def queue_interrupts(before: Snapshot, after: Snapshot, controller: str = "nvme0") -> int:
    """Interrupts of the I/O queues between two snapshots (queue 0 is the admin queue)."""
    total = 0
    for name, count in after.interrupts.items():
        owner, _, queue = name.rpartition("q")
        if owner == controller and queue != "0":
            total += count - before.interrupts.get(name, 0)
    return total


def all_queue_interrupts(snap: Snapshot) -> int:
    """Interrupts of the I/O queues since the guest's start."""
    return queue_interrupts(Snapshot(0, {}, {}, None), snap)


def result_failure(message: Message) -> str | None:
    """One line on why a job failed, or None when it worked."""
    name = message.get("name", "?")
    if message.get("timed_out"):
        return f"job '{name}' did not end within its time limit"
    if message.get("signal") is not None:
        return f"job '{name}' was killed by signal {message['signal']}"
    if message.get("exit") != 0:
        return f"job '{name}' failed with exit code {message.get('exit')}{_last_words(message)}"
    return None


def _last_words(message: Message) -> str:
    text = str(message.get("stderr") or message.get("stdout") or "").strip()
    return f": {text.splitlines()[-1][:200]}" if text else ""


_TROUBLE = re.compile(r"\bBUG\b|WARNING:|Oops|Call Trace|rcu.*stall|nobody cared|"
                      r"genctr mismatch|invalid id|could not locate request|"
                      r"(?i:timeout|timed out|completion polled|i/o error|soft lockup|hung.task)|"
                      r"completing in order")
# Lines that hold one of those words and mean no harm.
_HARMLESS = re.compile(r"Command line:|Kernel command line|watchdog: .*(disabled|enabled)|"
                       r"nvme\.io_timeout|default timeout|stall warnings timeout set to",
                       re.IGNORECASE)


def dmesg_trouble(text: str) -> list[str]:
    """Kernel messages that show a lost interrupt, a time-out, a splat, or a device not trusted."""
    return [line.strip() for line in text.splitlines()
            if _TROUBLE.search(line) and not _HARMLESS.search(line)]


def exec_argv(script: str) -> tuple[str, ...]:
    """A shell script as the agent's argv."""
    return ("sh", "-c", script)
