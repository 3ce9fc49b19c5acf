# SPDX-License-Identifier: GPL-2.0-or-later
"""How far policies are from the best that there could be for a record, and what that is worth.

cint-replay says it (docs/replay.md, "How far from the best"); `./cint figure` has it built.
"""

import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from cint import paths
from cint.errors import CintError
from cint.figures import traces
from cint.figures.checks import at_least, at_most
from cint.figures.columns import IOPS, IRQS, MEAN, Column
from cint.figures.controls import instead, mistaken
from cint.figures.figure import COST_NS, CPU_SCALE, Figure, Group, Panel, Run, Series
from cint.figures.library import auto_loads as guessed
from cint.figures.library.auto_loads import ADAPTIVE, AUTO, DEFAULT, LIBAIO, MIXED
from cint.figures.reading import Booted, Reader, extended
from cint.figures.values import Data, Expr, against, value
from cint.timeline.events import fields

#: Of the trace events, those that a record needs.
EVENTS = tuple(f"pci_nvme_cint_{name}" for name in ("submit", "doorbell", "post", "head"))
#: By cint-replay, the weights of those that nobody waits for.
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
#: Short: each event is traced.
RUNTIME_S = 0.02


def name_of(policy: str, weight: float) -> str:
    """A point's name for the regret of a policy."""
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
    def read(boot: Booted, data: Data) -> None:
        for workload, seed, point in extended(boot, data):
            with tempfile.NamedTemporaryFile("w", suffix=".log") as record:
                record.writelines(_of_job(boot.log, *traces.span(boot.message(workload, seed))))
                record.flush()
                found = _replay(Path(record.name), price_ns, policies)
            point |= {f"regret.{policy}.{weight}": regret for weight, regrets in found.items()
                      for policy, regret in zip(policies, regrets, strict=True)}
    return read


# ---- the figure ----------------------------------------------------------

#: Of an interrupt, in the guest's time: what the guest is made to spend on it.
PRICE_NS = round(COST_NS * CPU_SCALE)
POLICIES = ("default", "adaptive", "auto")
#: The guest whose job is a thread and others says who waits; in the other one nobody waits.
RECORD, SILENT, LOOP = "record", "silent record", "loop/"
MANY = LIBAIO[2]


def of(policy: str, weight: float, cell: str) -> Expr:
    run = SILENT if cell == MANY.name else RECORD
    return value(name_of(policy, weight), run, cell)


def lines(cell: str, weights: Sequence[float]) -> tuple[Series, ...]:
    return tuple(Series(policy, [(weight, of(policy, weight, cell)) for weight in weights])
                 for policy in POLICIES)


FIGURE = Figure(
    "auto-regret", "auto", "How far from the best, and what that is worth",
    "not a figure of a paper; the optimum of dynamic TCP acknowledgement, with weights",
    "Where the others' waiting is worth nothing, auto is nearest to the best. As a ranking the "
    "distance is of no use: by it auto is worst for a job that has most reads under auto, since it "
    "knows nothing of what a guest does once it is told.",
    groups=(
        *(Group((run,), (work,), seeds=guessed.SEEDS, runtime_s=RUNTIME_S, trace=EVENTS,
                read=reader(PRICE_NS, *POLICIES))
          for run, work in ((Run("default", RECORD), MIXED),
                            (Run("default", SILENT, hints=False), MANY))),
        Group((DEFAULT, ADAPTIVE, AUTO), (MANY, MIXED), prefix=LOOP, seeds=guessed.SEEDS,
              runtime_s=RUNTIME_S),
    ),
    checks=(
        at_most("mixed, w = 0: regret of auto against adaptive's",
                of("auto", 0, "mixed") / of("adaptive", 0, "mixed"), 0.6,
                mistaken(of("auto", 0, "mixed"), of("adaptive", 0, "mixed"))),
        at_least("libaio 32, w = 1: regret of auto", of("auto", 1, MANY.name), 3,
                 mistaken(of("auto", 1, MANY.name), of("default", 1, MANY.name))),
        at_least("libaio 32, the closed loop: reads of auto against default",
                 against("iops", f"{LOOP}auto", f"{LOOP}default", MANY.name), 1.2,
                 instead(f"{LOOP}auto", f"{LOOP}default")),
    ),
    panels=(
        Panel("mixed", "cost, ratio to the least", lines("mixed", WEIGHTS), "lines",
              "weight of those that nobody waits for", log_y=True),
        Panel("libaio at depth 32", "cost, ratio to the least",
              lines(MANY.name, WEIGHTS[1:]), "lines",
              "weight of those that nobody waits for", log_y=True),
        Panel("the closed loop: reads a second", "ratio to default", tuple(
            Series(policy, [(cell, against("iops", LOOP + policy, f"{LOOP}default", cell))
                            for cell in (MANY.name, MIXED.name)]) for policy in POLICIES)),
    ),
    columns=(IOPS, MEAN, IRQS,
             *(Column(f"regret of {policy}, w = {weight:g}", name_of(policy, weight))
               for policy in POLICIES for weight in (0, 1))),
    notes=("Records are of default. In mixed the guest gives hints: these say who waits, and the "
           f"policies do not hear them. An interrupt costs {PRICE_NS} ns of the guest's.",
           "For libaio, where nobody waits, w = 0 has no line: one interrupt at the end is best "
           "then."),
)
