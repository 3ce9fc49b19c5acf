# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts at the edges of the jobs of a person's own fio file, from inside the guest.

fio says what each job did in its own time, and the guest's agent counts once before all jobs
and once after. When jobs run one after the other, or some run longer than others, that does
not say what happened while which jobs ran. So fio itself runs a script at the start and at the
end of each job, which reads clock, CPU time, I/Os, interrupts and the device's log page, and
writes a line to fio's standard output. It takes about 15 ms of the guest's CPU time, outside of
the job's own.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cint.device import logpage
from cint.errors import CintError
from cint.guest import agent

SCRIPT_PATH = "/tmp/cint-edge"
#: Bytes of the log page's header and records of completion queues, of which a guest may have more
#: than one for each CPU.
LENGTH_PATH = "/tmp/cint-edge.length"
#: As the header says it: its own size, and size (u32) and number of the records.
_LENGTH = """\
nvme get-log /dev/nvme0 --log-id=0xd0 --log-len=64 --raw-binary 2>/dev/null |
    od -An -v -tu2 -j6 -N8 | awk '{{ print $1 + ($2 + 65536 * $3) * $4 }}' >{length}
"""
MARK = "cint-edge"
# What happens, and the process with fio's standard output. One printf, and less than a page of
# text: lines of several jobs do not mix.
_SCRIPT = """\
look() {{
  page=$(nvme get-log /dev/nvme0 --log-id=0xd0 --log-len=$(cat {length}) --raw-binary 2>/dev/null |
         gzip -c | base64 | tr -d '\\n')
}}
# The time that the look takes is not the job's: first before it, last behind it.
[ $1 = pre ] && look
now=$(awk '/^now at/ {{ print $3; exit }}' /proc/timer_list)
io=$(awk '{{ print $1 + $5 + $12 + $16 }}' /sys/block/nvme0n1/stat)
irq=$(awk '/nvme0q[1-9]/ {{ for (i = 2; i < NF; i++) if ($i ~ /^[0-9]+$/) n += $i }}
           END {{ print n + 0 }}' /proc/interrupts)
[ $1 = pre ] || look
printf 'cint-%s %s %s\\n{mark} %s %s %s %s %s\\n' $1 "$(cat /proc/uptime)" \\
       "$(head -n1 /proc/stat)" $1 $now $io $irq $page >>/proc/$2/fd/1
"""


@dataclass(frozen=True)
class Edge:
    """The start or the end of a job; counts are since the guest's start.

    ``cpu`` is None when the CPU's line is not there, ``page`` when the device has no log page.
    """

    start: bool
    time_ns: int
    ios: int
    interrupts: int
    page: bytes | None
    cpu: agent.Edge | None


def install() -> tuple[str, ...]:
    """The setup command that puts the script into the guest, once the guest has all its queues."""
    text = _SCRIPT.format(length=LENGTH_PATH, mark=MARK)
    return agent.exec_argv(f"cat >{SCRIPT_PATH} <<'END'\n{text}END\n"
                           + _LENGTH.format(length=LENGTH_PATH))


def fio_options() -> str:
    """The options of fio's section [global] that run the script."""
    return "".join(f"exec_{when}run=(sh {SCRIPT_PATH} {when} $PPID)\n" for when in ("pre", "post"))


def parse(text: str) -> list[Edge]:
    """The edges in a job's standard output, in order; :class:`CintError` if they are garbled."""
    cpus = {True: agent.parse_edges(text, "cint-pre"), False: agent.parse_edges(text, "cint-post")}
    seen = {True: 0, False: 0}
    found = []
    for words in (line.split() for line in text.splitlines() if line.startswith(f"{MARK} ")):
        try:
            start = {"pre": True, "post": False}[words[1]]
            packed = gzip.decompress(base64.b64decode(words[5], validate=True))
            cpu = cpus[start][seen[start]] if seen[start] < len(cpus[start]) else None
            if cpu and packed and (page := logpage.decode(packed)).instructions:
                cpu = replace(cpu, clock=(page.time_ns, page.instructions))
            now, ios, interrupts = (int(word) for word in words[2:5])
            found.append(Edge(start, now, ios, interrupts, packed or None, cpu))
        except (KeyError, IndexError, ValueError, binascii.Error, OSError, EOFError,
                zlib.error) as err:
            raise CintError(f"what the guest counted at a job's edge cannot be read ({err})") \
                from None
        seen[start] += 1
    return found


def by_group(edges: Sequence[Edge], groups: int) -> list[list[Edge]] | None:
    """The edges of each group of jobs; None when they are not of so many groups.

    A group begins where a job starts after others have ended, as behind fio's `stonewall`.
    """
    found: list[list[Edge]] = []
    for edge in edges:
        if edge.start and (not found or not found[-1][-1].start):
            found.append([])
        if not found:
            return None
        found[-1].append(edge)
    whole = len(found) == groups and all(
        sum(e.start for e in group) * 2 == len(group) for group in found)
    return found if whole else None
