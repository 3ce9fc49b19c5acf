# SPDX-License-Identifier: GPL-2.0-or-later
"""What `cint trace` costs: `../build/venv/bin/python -m testkit.trace_load [EVENTS]`, in tools/.

Writes a log of so many events (a million), has cint-replay follow its commands, makes the summary
and the Perfetto file, and says the processor time of each and the most memory so far.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from cint.build import engine
from cint.timeline import events, perfetto, summary

_P = events.PREFIX
_CQ_SIZE, _BATCH, _TOLD = 1024, 8, 4


def _batch(queue: int, first: int, tail: int, at: int) -> Iterator[str]:
    """A batch of commands, an interrupt and a head for every `_TOLD` of them."""
    for i in range(_BATCH):
        yield (f"{_P}submit cqid {queue} sqid {queue} cid {(first + i) % 65536} "
               f"hints {int(i == _BATCH - 1):#x} sources 0x1 inflight {i + 1} at {at}\n")
    yield f"{_P}doorbell sqid {queue} count {_BATCH} at {at}\n"
    for i in range(_BATCH):
        yield f"{_P}media cqid {queue} sqid {queue} cid {(first + i) % 65536} due {at + 7000}\n"
    for i in range(_BATCH):
        now = at + 7000 + 500 * i
        yield (f"{_P}post cqid {queue} sqid {queue} cid {(first + i) % 65536} hints "
               f"{int(i == _BATCH - 1):#x} status 0x0 tail {(tail + i + 1) % _CQ_SIZE} at {now}\n")
        if i % _TOLD == _TOLD - 1:
            yield (f"{_P}irq cqid {queue} vector {queue} class full reason thr covered {_TOLD} "
                   f"oldest hold 1500 at {now}\n")
            yield f"{events.MSIX} raising MSI-X IRQ vector {queue}\n"
            yield (f"{events.APIC} dest {queue - 1} dest_mode 0 delivery_mode 0 vector 3{queue} "
                   "trigger_mode 0\n")
            yield f"{_P}head cqid {queue} head {(tail + i + 1) % _CQ_SIZE} at {now + 900}\n"


def log(count: int) -> Iterator[str]:
    """About `count` events of the device, of two queues, with those of vCPUs."""
    written, first, tails = 0, 0, [0, 0]
    while written < count:
        queue = first // _BATCH % 2
        for line in _batch(queue + 1, first, tails[queue], 20_000 * first // _BATCH):
            yield line
            written += line.startswith(_P)
        tails[queue] = (tails[queue] + _BATCH) % _CQ_SIZE
        first += _BATCH


def _memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _program_s() -> float:
    """Processor time of cint-replay: no other program runs meanwhile."""
    used = os.times()
    return used.children_user + used.children_system


def main(count: int) -> None:
    """Measure."""
    engine.build_replay()
    with tempfile.TemporaryDirectory(prefix="cint-bench-") as place:
        path = Path(place) / "log"
        with path.open("w", encoding="utf-8") as stream:
            stream.writelines(log(count))
        begun, before = time.process_time(), _program_s()
        trace = events.load(path)
        summary.summarize(trace)
        spent = _program_s() - before
        print(f"{trace.events} events: cint-replay {spent:.2f} s, "
              f"{trace.events / spent / 1e6:.1f} M events/s")
        print(f"the summary of its records {time.process_time() - begun:.2f} s, "
              f"{_memory_mb():.0f} MB")
        begun = time.process_time()
        with (Path(place) / "timeline").open("wb") as stream:
            perfetto.write(trace, stream)
        print(f"Perfetto file {time.process_time() - begun:.1f} s, {_memory_mb():.0f} MB, "
              f"{(Path(place) / 'timeline').stat().st_size / 1e6:.0f} MB long")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
