# SPDX-License-Identifier: GPL-2.0-or-later
"""Looks at device and CPU while a job runs, from inside the guest.

A script in the guest, started by fio itself, reads at regular times the log
page D0h and the CPU's idle time (ns, from /proc/timer_list: /proc/stat has
10 ms only) and writes a line to fio's standard output.  A probe takes about
15 ms of the guest's CPU time, under every policy alike; :func:`busy_share`
leaves it out.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from cint.device import logpage
from cint.errors import CintError
from cint.guest import agent

SCRIPT_PATH = "/tmp/cint-probe"
MARK = "cint-probe"
# The header and the records of the admin queue and of one I/O queue.
_LOG_BYTES = 64 + 2 * logpage.RECORD_SIZE
# pid of fio, seconds to the first probe, seconds between two, how many.
_SCRIPT = f"""\
pid=$1 period=$3 left=$4
renice -n 19 -p $$ >/dev/null
clocks() {{
  awk '/^now at/ {{ n = $3 }} /idle_sleeptime/ {{ i = $(NF - 1) }}
    /iowait_sleeptime/ {{ print n, i, $(NF - 1); exit }}' /proc/timer_list
}}
page() {{
  nvme get-log /dev/nvme0 --log-id=0xd0 --log-len={_LOG_BYTES} --raw-binary |
    base64 | tr -d '\\n'
}}
sleep $2
while [ $left -gt 0 ]; do
  echo {MARK} $(clocks) $(page) $(clocks) >>/proc/$pid/fd/1
  left=$((left - 1))
  [ $left -gt 0 ] && sleep $period
done
"""


@dataclass(frozen=True)
class Probe:
    """One look at the counters of the I/O queue, at the device's ``time_ns``.

    ``began`` and ``ended`` are the guest's clock and its idle time so far (ns)
    just before and after the look, which takes CPU time of its own.
    """

    began: tuple[int, int]
    ended: tuple[int, int]
    time_ns: int
    cqes: int
    interrupts: int
    ratio: float | None


def busy_share(probes: Sequence[Probe]) -> float:
    """Share of time the CPU was not idle, the probes themselves left out."""
    pairs = list(pairwise(probes))
    time_ns = sum(after.began[0] - before.ended[0] for before, after in pairs)
    idle_ns = sum(after.began[1] - before.ended[1] for before, after in pairs)
    return 1 - idle_ns / time_ns


def install() -> tuple[str, ...]:
    """The setup command that puts the script into the guest."""
    return agent.exec_argv(f"cat >{SCRIPT_PATH} <<'END'\n{_SCRIPT}END\n")


def fio_option(first_s: float, period_s: float, count: int) -> str:
    """The fio option that starts the script with the job; guest seconds.

    The script gets the CPU only when nothing else wants it: otherwise completions
    would wait for it, and the commands in flight become fewer.
    """
    return f"exec_prerun=(sh {SCRIPT_PATH} $PPID {first_s:g} {period_s:g} {count} &)"


def parse(text: str) -> list[Probe]:
    """The probes in a job's standard output, in order."""
    lines = (line.split() for line in text.splitlines() if line.startswith(MARK))
    return [_probe(words) for words in lines]


def _probe(words: list[str]) -> Probe:
    try:
        clocks = [int(w) for w in (*words[1:4], *words[5:8])]
        page = logpage.decode(base64.b64decode(words[4], validate=True))
        began, ended = ((n, idle + iowait) for n, idle, iowait in (clocks[:3], clocks[3:]))
    except (ValueError, IndexError, binascii.Error) as err:
        raise CintError(f"a probe in the guest cannot be read ({err})") from None
    total = page.total()
    ratios = [r.ratio for r in page.records if r.cqid]
    return Probe(began, ended, page.time_ns, total.cqes, total.interrupts,
                 ratios[0] if ratios else None)
