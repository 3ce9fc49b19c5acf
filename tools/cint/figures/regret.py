# SPDX-License-Identifier: GPL-2.0-or-later
"""What policies would have cost on the record of a guest, against the least there could be.

cint-replay says it (docs/replay.md, "How far from the best"); `./cint figure` has it built.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cint import paths
from cint.errors import CintError
from cint.figures import traces
from cint.figures.reading import Boot, Reader, points
from cint.figures.values import Data, Point
from cint.timeline.events import fields

#: Of the trace events, those that a record needs.
EVENTS = tuple(f"pci_nvme_cint_{name}" for name in ("submit", "doorbell", "post", "head"))
#: By cint-replay, the weights of those that nobody waits for.
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)


def name_of(policy: str, weight: float) -> str:
    """What a point calls the regret of a policy."""
    return f"regret.{policy}.{weight:g}"


def _of_job(log: str, first_ns: int, last_ns: int) -> Iterator[str]:
    """The lines of a job of the log."""
    for line in log.splitlines(keepends=True):
        found = fields(line)
        if found and first_ns <= int(found[1].get("at", -1)) <= last_ns:
            yield line


def _replay(record: Path, price_ns: int, policies: tuple[str, ...]) -> dict[str, list[float]]:
    words = [str(paths.REPLAY_ALONE), "--from-trace", "--json", "--irqs", "off", "--extras",
             "papers", "--cq", "1", "--hints", "off", "--optimal", str(price_ns),
             *(word for policy in policies for word in ("--policy", policy)), str(record)]
    done = subprocess.run(words, text=True, capture_output=True, check=False)
    if done.returncode:
        raise CintError(f"cint-replay: {done.stderr.strip()}")
    optimum = json.loads(done.stdout.splitlines()[-1])["summary"]["optimum"]
    return {f"{one['weight']:g}": one["regret"] for one in optimum["weights"]}


def reader(price_ns: int, *policies: str) -> Reader:
    """A reader: points as ever, with the regret of each of ``policies`` on that record.

    ``price_ns`` is an interrupt's, in the guest's time. The policies do not hear the record's
    hints, which say who waits.
    """
    def read(boot: Boot, data: Data) -> None:
        points(boot, data)
        for workload in boot.settings.workloads:
            for number, seed in enumerate(boot.seeds):
                span = traces.span(boot.message(workload, seed))
                with tempfile.NamedTemporaryFile("w", suffix=".log") as record:
                    record.writelines(_of_job(boot.log, *span))
                    record.flush()
                    found = _replay(Path(record.name), price_ns, policies)
                point: Point = {f"regret.{policy}.{weight}": regret
                                for weight, regrets in found.items()
                                for policy, regret in zip(policies, regrets, strict=True)}
                data.cells[boot.name][workload.name][number] |= point
    return read
